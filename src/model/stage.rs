//! Stages of a run, and what they count: one list for the names of `compare --without`, of the progress
//! line, of metrics and of `summary.json`, for the operators of the dataflow, and for docs/architecture.md.
//!
//! A stage may be part of another one. Those that are part of none are the phases of a run, which progress reports.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Borrow;
use std::cmp::Ordering;

/// Declares [`Stage`] and [`Count`] from rows of what a stage does, its names, its file, the stage that it is part of,
/// the effect of leaving it out, and its counts. A row without that effect is a stage that cannot be left out.
macro_rules! stages {
    ($($(#[doc = $about:literal])+ $stage:ident $text:literal $file:literal $(in $whole:ident)?
        $(without $effect:literal)? [$($count:ident $name:literal),*])+) => {
        /// A stage of a run, in the order of a run of `learn`; behind these, those of other jobs. Stages that are
        /// part of one stage act together where it is a loop.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Stage {
            $($(#[doc = $about])+ $stage,)+
        }

        impl Stage {
            /// All stages, in order.
            pub const ALL: &[Stage] = &[$(Stage::$stage,)+];

            /// What the list says of the stage.
            pub fn description(self) -> Description {
                match self {
                    $(Stage::$stage => Description {
                        text: $text,
                        about: concat!($($about),+).trim_ascii(),
                        file: $file,
                        part_of: None$(.or(Some(Stage::$whole)))?,
                        without: None$(.or(Some($effect)))?,
                        counts: &[$(Count::$count,)*],
                    },)+
                }
            }
        }

        /// A count of a stage.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Count {
            $($(#[doc = concat!("`", $name, "`")] $count,)*)+
        }

        impl Count {
            /// Its name.
            pub fn text(self) -> &'static str {
                match self {
                    $($(Count::$count => $name,)*)+
                }
            }

            /// The stage that counts it.
            pub fn stage(self) -> Stage {
                match self {
                    $($(Count::$count => Stage::$stage,)*)+
                }
            }
        }
    };
}

stages! {
    /// Options are checked, and inputs are found.
    Starting "starting" "jobs/learn.rs" []
    /// Records without labels are clustered by the pages that they hold.
    Clustering "clustering" "src/dataflow/clusters.rs" []
    /// The first pass over all records.
    Reading "reading" "src/dataflow/read.rs" [Records "read: records", Sites "read: sites"]
    /// URLs get their normal forms and sites, and are drawn by hashes of URL and label.
    Sample "sample" "src/dataflow/sample.rs" in Reading
        [SampledUrls "sample: URLs", Conflicts "sample: URLs with several labels"]
    /// Rows become training sets, one a site.
    GroupBySite "group-by-site" "src/dataflow/group_by_site.rs" in Reading []
    /// The rules of each site are learned from its training set.
    Learning "learning" "src/dataflow/stages.rs" []
    /// Figures on URLs that took no part in learning.
    CrossFit "cross-fit" "src/site/held_out.rs" in Learning []
    /// URLs become pairs of key and value, and these become columns.
    Tokenize "tokenize" "src/site/encode.rs" in Learning
        [PublishedRows "published-rows", PublishedLeftOut "published-left-out"]
    /// Whether fragments are keys.
    Fragments "fragments" "src/site/fragments.rs" in Tokenize []
    /// Splits at `:,=!`, `;` and `?`, of a path or list in the query, of the last part of a value (`value_ends.rs`)
    /// and of a number or word at the end of a path
    /// (`endings.rs`), by hold-out.
    Tokens "tokens" "src/site/tokens.rs" in Tokenize without "no such split" []
    /// Sequential covering: operations on keys, adopted one by one.
    Cover "cover" "src/site/passes.rs" in Learning [Urls "urls", EvidenceTables "evidence tables"]
    /// String functions of values (`FAMILIES`).
    Functions "functions" "src/site/operations.rs" in Cover without "no function is proposed" []
    /// Lines of recognised programs.
    Platforms "platforms" "src/site/lines.rs" in Cover without "no program is recognised"
        [LinesOfPlatforms "lines of platforms"]
    /// Ignores of keys that differ together.
    Joint "joint" "src/site/joint.rs" in Cover
        without "ignores of one key alone, and no `defaults`, which are read from joint ignores" []
    /// Operations under a condition that does not look right by chance among those tried, exclusions of values, values
    /// ignored where a key is present (`adopt.rs`, too), pairs of values outside some sections (`section_pairs.rs`),
    /// values beside which a parameter was hardly shown (`unshown.rs`).
    Conditions "conditions" "src/site/conditions.rs" in Cover
        without "none of these, and neither `prefixes` nor classes under a condition, which need a condition" []
    /// Paths of which the front names the page, whatever follows or behind listed words.
    Prefixes "prefixes" "src/site/prefixes.rs" in Cover without "no such split" []
    /// Values of one key that mean the same.
    Classes "classes" "src/site/classes.rs" in Cover without "no classes of one key" []
    /// Values of several keys together that mean none of them.
    Defaults "defaults" "src/site/defaults.rs" in Cover without "none" []
    /// Less evidence for a pattern of URLs that lies in a constant page as a whole.
    Soft404s "sinks" "src/site/soft_404.rs" in Cover without "it needs all of the evidence" []
    /// What the share of wrong labels that operations show explains is not counted against a rule
    /// (`Bound::unexplained` of `evidence.rs` applies it).
    Noise "noise" "src/site/noise.rs" in Cover without "nothing is added to the bounds" []
    /// The pattern tree over the rows that are left (WWW10 5.1).
    GrowTree "grow-tree" "src/site/tree.rs" in Learning [TreeNodes "tree nodes", PublishedNodes "published-nodes"]
    /// Pairs of forms that share clusters, by an inverted index, and candidate rules between them (WWW10 5.2).
    FindCandidates "find-candidates" "src/site/candidates.rs" in Learning
        [FormsFound "forms", PairsOfForms "pairs of forms", Candidates "candidates",
         PublishedCandidates "published-candidates", PublishedQualified "published-qualified"]
    /// Rules between forms (`candidates.rs` and `select.rs`, too; `overlap.rs` refuses those whose pages are not found
    /// there, `shown.rs` holds them to the values that were shown).
    Forms "forms" "src/site/forms.rs" in FindCandidates without "no candidates, so no such rule" []
    /// Forms of their own for the values of a key that show pages of another form.
    Parts "parts" "src/site/parts.rs" in FindCandidates without "forms are what the pattern tree makes" []
    /// What URLs show beside the rules: keys, tree, crawler traps.
    Profile "profile" "src/site/profile.rs" in Learning []
    /// Order of destinations (WWW10 5.3); as a loop of the dataflow in `src/dataflow/walk.rs`.
    EnergyWalk "energy-walk" "src/site/energy.rs" in Learning without "fewest unmapped keys, then volume" []
    /// Rules between forms are chosen by energy, and chained.
    SelectRules "select-rules" "src/site/select.rs" in Learning
        [Moves "moves", PublishedDeployed "published-deployed"]
    /// Rules are added and withdrawn by the URLs as all rules reduce them.
    /// Those that join nothing once others are gone are withdrawn (`withdraw_idle` of `scopes.rs`).
    RefineRules "refine-rules" "src/site/undust.rs" in Learning [JoinNothing "rules that join nothing"]
    /// Directories that serve the same (`siblings.rs` refuses those that chance explains).
    Mirrors "mirrors" "src/site/mirrors.rs" in RefineRules without "no mirror rules" [MirrorRules "mirrors"]
    /// Scripts that can be left out, and parameters that hold the rest of a path (`mirrors.rs`, and `twins.rs` of
    /// `src/rules`, too).
    Fronts "fronts" "src/site/fronts.rs" in RefineRules
        without "mirror rules between directories beside each other alone" []
    /// Under 1,000 URLs, a rule is withdrawn that too few of its clusters show to be right, or kept to the scripts that
    /// do (`scripts.rs`), a parameter without which no page was met keeps one value (`absence.rs`), and one of numbers
    /// needs 64 clusters (`small_operations.rs`).
    SmallSamples "small-samples" "src/site/small_samples.rs" in RefineRules
        without "neither; the other thresholds of small samples (`min_constant_small`, `min_clusters_form_small`) stay"
        [TooLittleToShow "rules with too little to show"]
    /// Rules that change the origin act on feeds only where some show that it is right.
    Feeds "feeds" "src/site/feeds.rs" in RefineRules without "they act on all feeds"
        [KeptFromFeeds "rules kept from feeds"]
    /// Scopes that are right by chance are narrowed, or their rules withdrawn (`scopes.rs` finds the URLs outside a
    /// scope by one constraint, `pages.rs` separates pages from their variants, `proven_values.rs` tests the values of
    /// a list at once).
    Chance "chance" "src/site/chance.rs" in RefineRules without "neither"
        [ExplainedByChance "rules that chance explains"]
    /// The rules of an earlier result come first, and new ones beside them that do not move too many of its canonical
    /// URLs.
    Previous "previous" "src/site/relearn.rs" in RefineRules
        [Kept "rules of the earlier result", MoveTooManyUrls "rules that move too many URLs",
         WouldMerge "URLs that all new rules would merge", WouldMove "URLs that all new rules would move"]
    /// Pages for which a rule does not hold (`learn_exceptions`).
    Exceptions "exceptions" "src/site/lookups.rs" in RefineRules without "none" [ExceptionPages "exceptions"]
    /// Single URLs (`learn`).
    LookUps "look-ups" "src/site/lookups.rs" in RefineRules without "none; value ranges stay" [Aliases "look-ups"]
    /// Value ranges (`points.rs` tokenizes and groups the URLs, `leads.rs` decides on the page of a range).
    ValueRanges "spans" "src/site/value_ranges.rs" in RefineRules without "none" []
    /// With `--extend-to-domain`, rules act on hosts that no record has.
    Extension "extension" "src/site/extend.rs" in RefineRules [ExtendedRules "extended rules"]
    /// A pass of the proof over all records, which applies the rules.
    Proving "proving" "src/dataflow/proof.rs" []
    /// Rules are judged on all records, and hold, are narrowed or are withdrawn (`rate.rs` for the pair rate of a
    /// site).
    Proof "proof" "src/dataflow/verdict.rs" in Proving without "rules stay as learned"
        [Passes "proof: passes", Withdrawn "proof: rules withdrawn", Narrowed "proof: rules narrowed",
         FellBack "proof: sites fallen back", WithoutRecords "proof: sites without records"]
    /// Rows of a pass are sorted and counted.
    Weighing "weighing" "src/dataflow/tally.rs" []
    /// `normalize` applies rules to URLs.
    Applying "applying" "jobs/normalize.rs" []
    /// `evaluate` counts rules against clusters.
    Evaluating "evaluating" "jobs/evaluate.rs" []
    /// `compress-index` merges the documents of an index.
    Compressing "compressing" "jobs/compress_index.rs" []
}

/// A stage as the list has it.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Name.
    pub text: &'static str,
    /// What it does.
    pub about: &'static str,
    /// The file that holds it.
    pub file: &'static str,
    /// The stage that it is part of; `None` for a phase.
    pub part_of: Option<Stage>,
    /// Effect of leaving it out; `None` where it cannot be left out.
    pub without: Option<&'static str>,
    /// What it counts.
    pub counts: &'static [Count],
}

impl Stage {
    /// Name on the command line, in files and in reports.
    pub fn text(self) -> &'static str {
        self.description().text
    }

    /// The phase that it is part of, or is.
    pub fn phase(self) -> Stage {
        self.description().part_of.map_or(self, Stage::phase)
    }

    /// The phases, in order.
    pub fn phases() -> impl Iterator<Item = Stage> {
        Stage::ALL.iter().copied().filter(|stage| stage.description().part_of.is_none())
    }

    /// The stages that can be left out, in order.
    pub fn optional() -> impl Iterator<Item = Stage> {
        Stage::ALL.iter().copied().filter(|stage| stage.description().without.is_some())
    }
}

impl Count {
    /// Its name in `summary.json`, where those of learning are sums over sites.
    pub fn in_summary(self) -> String {
        match self.stage().phase() {
            Stage::Learning => format!("learn: {}", self.text()),
            _ => self.text().to_owned(),
        }
    }
}

// By name: maps of counts are written in the order of names.
impl Ord for Count {
    fn cmp(&self, other: &Count) -> Ordering {
        self.text().cmp(other.text())
    }
}

impl PartialOrd for Count {
    fn partial_cmp(&self, other: &Count) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Borrow<str> for Count {
    fn borrow(&self) -> &str {
        self.text()
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.text())
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Count, D::Error> {
        let name = String::deserialize(from)?;
        let mut all = Stage::ALL.iter().flat_map(|stage| stage.description().counts);
        all.find(|count| count.text() == name).copied().ok_or_else(|| de::Error::custom(format!("no count {name:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn names_are_unique_and_parts_follow_their_whole() {
        let names: BTreeSet<&str> = Stage::ALL.iter().map(|stage| stage.text()).collect();
        assert_eq!(names.len(), Stage::ALL.len());
        for (at, stage) in Stage::ALL.iter().enumerate() {
            let Description { part_of, about, .. } = stage.description();
            assert!(part_of.is_none_or(|whole| Stage::ALL[..at].contains(&whole)), "{stage:?}");
            assert!(about.ends_with('.') && about.len() > 20, "{stage:?}: {about}");
        }
        let phases: Vec<Stage> = Stage::ALL.iter().map(|stage| stage.phase()).collect();
        let runs: Vec<Stage> = phases.chunk_by(|a, b| a == b).map(|run| run[0]).collect();
        assert_eq!(runs, Stage::phases().collect::<Vec<_>>(), "the stages of a phase are together");
    }

    #[test]
    fn counts_are_written_by_name_and_in_the_order_of_names() {
        let counts: Vec<Count> = Stage::ALL.iter().flat_map(|stage| stage.description().counts).copied().collect();
        let map: BTreeMap<Count, u64> = counts.iter().map(|&count| (count, 1)).collect();
        let names: BTreeMap<String, u64> = counts.iter().map(|count| (count.text().to_owned(), 1)).collect();
        assert_eq!((map.len(), names.len()), (counts.len(), counts.len()));
        let text = serde_json::to_string(&map).unwrap();
        assert_eq!(text, serde_json::to_string(&names).unwrap());
        assert_eq!(serde_json::from_str::<BTreeMap<Count, u64>>(&text).unwrap(), map);
        assert!(serde_json::from_str::<Count>("\"nothing\"").is_err());
        assert_eq!((map.get("tree nodes"), map.get("nothing")), (Some(&1), None));
        assert_eq!(Count::FormsFound.in_summary(), "learn: forms");
        assert_eq!(Count::Passes.in_summary(), "proof: passes");
    }
}
