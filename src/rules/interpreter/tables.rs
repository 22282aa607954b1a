//! Tables of a site as they act: without the entries that never decide, for readers that apply them
//! as they are written.

use super::Interpreter;
use crate::rules::value_ranges::ValueRange;
use crate::url::NormalUrl;

/// A value range that acts: see [`Interpreter::acting_ranges`].
#[derive(Debug)]
pub(crate) struct ActingRange<'r> {
    /// The key whose value counts.
    pub key: String,
    /// A URL without the key is the page, too.
    pub absent: bool,
    /// Text before the number at the end of the value; `None` where the value is the number, or is not
    /// tested.
    pub text: Option<String>,
    /// A URL of the page, in normal form.
    pub like: NormalUrl,
    /// Numbers and page.
    pub value_range: &'r ValueRange,
}

impl<'r> Interpreter<'r> {
    /// Exceptions of rules of the site, in the order of the rule file: the page in normal form, and the id
    /// of the rule or `*`.
    pub(crate) fn acting_exceptions(&self) -> Vec<[String; 2]> {
        let known = |id: &str| id == "*" || self.rules.rules.iter().any(|rule| rule.id == id);
        let acting = self.rules.exceptions.iter().filter(|[_, rule]| known(rule));
        let normal = |[page, rule]: &[String; 2]| {
            Some([NormalUrl::new(page.as_bytes()).ok()?.as_str().to_owned(), rule.clone()])
        };
        acting.filter_map(normal).collect()
    }

    /// Look-ups whose page is its own canonical URL, in the order of the rule file; of those that the rules
    /// reduce to the same pairs, the first decides. Cost: the rules are applied to each.
    pub(crate) fn acting_look_ups(&self) -> Vec<&'r [String; 2]> {
        let acts = |[from, to]: &&'r [String; 2]| {
            let pairs = self.normal(from).map(|url| self.reduce(&url, &mut Vec::new()).pairs.identity());
            pairs.is_some_and(|pairs| self.lookups.get(&pairs) == Some(&to.as_str()))
        };
        self.rules.aliases.iter().filter(acts).collect()
    }

    /// Value ranges whose page is its own canonical URL, in the order in which they are tried.
    pub(crate) fn acting_ranges(&self) -> Vec<ActingRange<'r>> {
        let range = |range: &super::Range<'r>| {
            Some(ActingRange {
                key: range.key.to_string(),
                absent: range.absent,
                text: range.text.as_deref().map(super::text),
                like: NormalUrl::new(range.value_range.like.as_bytes()).ok()?,
                value_range: range.value_range,
            })
        };
        self.ranges.iter().filter_map(range).collect()
    }
}
