//! Look-ups of an earlier result (`learn --previous`), and what is left of them.
//!
//! A look-up names the page that represents a cluster, one that was met. The records of another run need not have it:
//! of a page in nine languages, half of which are one text, each sample shows others. If each run chose among its own,
//! the page would have another canonical URL after each. So a page stays that an earlier result led other URLs to,
//! as long as the records have one of these and none says that the page is another now.

use super::Training;
use super::reduced::Identity;
use super::tails::{behind_origin, has_no_other_names, on_origin_of};
use crate::model::hash64;
use crate::rules::origins::of as origin;
use crate::rules::{RuleSet, Scratch, SiteRules};
use crate::url::{NormalRef, NormalUrl};
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, HashMap, HashSet};

/// An earlier result, with and without its look-ups.
pub(super) struct Earlier {
    all: RuleSet,
    without_look_ups: RuleSet,
    scratch: Scratch,
}

impl Earlier {
    /// Compiles the rules twice.
    pub fn new(previous: &SiteRules) -> Earlier {
        let without = SiteRules { aliases: Vec::new(), ..previous.clone() };
        Earlier {
            all: RuleSet::new(vec![previous.clone()]),
            without_look_ups: RuleSet::new(vec![without]),
            scratch: Scratch::default(),
        }
    }

    /// Canonical URL of the earlier result.
    pub fn canonical(&mut self, url: NormalRef<'_>) -> &[u8] {
        self.all.apply_normal(url, Some(0), &mut self.scratch).url
    }

    /// Page of the same origin that a look-up led this URL to, which the earlier rules left as it is.
    fn look_up(&mut self, url: &NormalUrl) -> Option<NormalUrl> {
        if self.without_look_ups.apply_normal(url.by_ref(), Some(0), &mut self.scratch).url != url.as_bytes() {
            return None;
        }
        let page = self.canonical(url.by_ref());
        let is_led = page != url.as_bytes() && origin(page) == origin(url.as_bytes());
        is_led.then(|| NormalUrl::new(page).expect("canonical URLs are in normal form"))
    }

    /// The pages that look-ups led URLs of one cluster to, and this cluster; in the order of the bytes.
    fn pages(&mut self, identities: &[Identity]) -> Vec<(NormalUrl, u32)> {
        let mut pages: BTreeMap<Vec<u8>, (NormalUrl, Option<u32>)> = BTreeMap::new();
        for identity in identities.iter().filter(|identity| identity.pure) {
            if let Some(page) = self.look_up(&identity.composed) {
                let entry = pages.entry(page.as_bytes().to_vec());
                let (_, cluster) = entry.or_insert((page, Some(identity.majority)));
                *cluster = cluster.filter(|&of| of == identity.majority);
            }
        }
        pages.into_values().filter_map(|(page, cluster)| Some((page, cluster?))).collect()
    }

    /// Keeps the pages that look-ups led URLs of one cluster to: each represents the URLs that the new rules, which
    /// `set` applies, reduce to the same as it; where there are none, it is added, without records. It goes where a
    /// record of it says that it is another page, leads elsewhere, or is none. Returns how many stay.
    ///
    /// O(rows + identities), each with the time of applying rules.
    pub fn keep_pages(&mut self, identities: &mut Vec<Identity>, training: &Training, set: &RuleSet) -> u64 {
        let pages = self.pages(identities);
        if pages.is_empty() {
            return 0;
        }
        let by_url: HashMap<u64, usize, FixedState> =
            identities.iter().enumerate().map(|(at, of)| (hash64(of.composed.as_bytes()), at)).collect();
        let mut scratch = Scratch::default();
        let mut reduced =
            |url: NormalRef<'_>| NormalUrl::new(set.apply_normal(url, Some(0), &mut scratch).url).unwrap_or_default();
        // Records may have the page on another origin.
        let tails: HashSet<u64, FixedState> = pages.iter().map(|(page, _)| tail(page.by_ref())).collect();
        let mut of_others: HashMap<(u64, u64), Vec<u32>, FixedState> = HashMap::default();
        for row in 0..training.len() {
            let Some(url) = training.normal(row).filter(|&url| tails.contains(&tail(url))) else { continue };
            let cluster = if training.elsewhere[row] { u32::MAX } else { training.clusters[row] };
            of_others.entry((tail(url), hash64(reduced(url).as_bytes()))).or_default().push(cluster);
        }
        let (mut represented, mut kept): (HashSet<u64, FixedState>, u64) = Default::default();
        for (page, cluster) in pages {
            let composed = reduced(page.by_ref());
            let at = hash64(composed.as_bytes());
            // A page has no parameter that rules leave out.
            if !has_no_other_names(behind_origin(page.as_bytes()), behind_origin(composed.as_bytes())) {
                continue;
            }
            let said = of_others.get(&(tail(page.by_ref()), at));
            // Of pages that the new rules join the first one stays.
            if said.is_some_and(|said| said.iter().any(|&of| of != cluster)) || !represented.insert(at) {
                continue;
            }
            // The origin is that of the new rules.
            let page = on_origin_of(&composed, behind_origin(page.as_bytes()));
            if let Some(&at) = by_url.get(&at) {
                let identity = &mut identities[at];
                if identity.pure && identity.majority == cluster && identity.fetchable {
                    identity.page = page;
                    kept += 1;
                }
                continue;
            }
            kept += 1;
            identities.push(Identity {
                composed,
                rows: Vec::new(),
                majority: cluster,
                pure: true,
                fetchable: true,
                listed: true,
                is_requested: true,
                source: page.clone(),
                page,
            });
        }
        kept
    }
}

/// Hash of path and query.
fn tail(url: NormalRef<'_>) -> u64 {
    hash64(behind_origin(url.as_bytes()))
}
