//! The method `platforms` of a comparison: the rules that vendors document for the programs that a site
//! runs, and nothing else. Result of `undust learn --platforms provisional` on a crawl without labels.
//!
//! Programs are recognised from the URLs of the training records; their labels are not used.

use crate::baselines::rule_set::SiteRuleSet;
use crate::baselines::{Figures, Learned, Method, Sample, Selected};
use crate::dataflow::alone;
use crate::dataflow::sample::SampleParams;
use crate::model::Record;
use crate::rules::SiteRules;
use crate::rules::platforms::Platforms as Lines;
use crate::site::Params;

/// The method.
#[derive(Clone, Copy, Debug)]
pub struct Platforms;

impl Method for Platforms {
    fn learn(&self, sample: &Sample<'_>) -> Box<dyn Learned> {
        let site = &sample.records.site;
        let record = |&row: &usize| Record {
            url: sample.records.get(row).0,
            cluster: None,
            site: Some(site.as_bytes()),
            elsewhere: false,
        };
        let records: Vec<Record<'_>> = sample.train.iter().map(record).collect();
        let platforms = Lines { provisional: true, ..Lines::default() };
        let params = Params { platforms, ..Params::default() };
        let mut rules = alone::learn(site, &records, &SampleParams::default(), &params).rules;
        rules.rules.retain(|rule| rule.line.is_some());
        Box::new(Documented(rules))
    }
}

/// The lines of a site.
struct Documented(SiteRules);

impl Learned for Documented {
    fn figures(&self) -> Figures {
        Figures { raw: self.0.rules.len() as u64, ..Figures::default() }
    }

    fn select(&self, _: f64) -> Selected {
        SiteRuleSet::selected(self.0.clone(), self.0.rules.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::protocol::Records;

    /// A phpBB 2 of 120 topics with sessions, all labels wrong.
    fn forum(path: &str) -> Records {
        let mut records = Records::new("forum.example");
        for topic in 0..120 {
            for more in ["", "&sid=0123456789abcdef0123456789abcdef"] {
                let url = format!("http://forum.example/{path}viewtopic.php?t={topic}{more}");
                records.push(url.as_bytes(), url.as_bytes(), false);
            }
            let url = format!("http://forum.example/{path}viewforum.php?f={topic}");
            records.push(url.as_bytes(), b"one", false);
            let url = format!("http://forum.example/{path}profile.php?mode=viewprofile&u={topic}");
            records.push(url.as_bytes(), b"one", false);
        }
        records
    }

    fn canonical(records: &Records, url: &str) -> (String, usize) {
        let rows: Vec<usize> = (0..records.len()).collect();
        let mut rules = Platforms.learn(&Sample::new(records, &rows)).select(0.01).rules;
        let mut out = Vec::new();
        rules.canonicalize(url.as_bytes(), &mut out);
        (String::from_utf8(out).expect("text"), rules.report().len())
    }

    #[test]
    fn lines_of_a_recognised_program_act_whatever_the_labels_say() {
        let topic = "http://forum.example/board/viewtopic.php?t=7";
        let (found, rules) = canonical(&forum("board/"), &format!("{topic}&sid=0123456789abcdef0123456789abcdef"));
        assert_eq!(found, topic);
        assert!(rules > 0);
    }

    #[test]
    fn without_a_program_there_is_no_rule() {
        let mut records = Records::new("plain.example");
        for page in 0..200 {
            for url in [format!("http://plain.example/{page}"), format!("http://plain.example/{page}?sid=1")] {
                records.push(url.as_bytes(), format!("{page}").as_bytes(), false);
            }
        }
        let url = "http://plain.example/7?sid=1";
        assert_eq!(canonical(&records, url), (url.to_owned(), 0));
    }
}
