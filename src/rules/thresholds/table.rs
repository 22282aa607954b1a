//! The table itself, about in the order of learning: rows of reason, name, type, default and range.
//! Reasons are prose for hover, `learn --set help` and docs/method.md alike.

use super::row::{Threshold, parse};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Largest value of thresholds without a natural one: more than a site has of anything.
const MANY: u64 = 1_000_000;

thresholds! {
    /// Good observations that a rule needs, with or without a prior.
    min_good: u64 = 3, 1..=MANY;
    /// Clusters that must support a rule, unless they are constant pages.
    min_clusters: usize = 3, 1..=MANY as usize;
    /// Equal parts of the good of a rule of which one cluster counts for one at most: no page with hundreds of
    /// variants proves a rule for three.
    support_parts: u64 = 3, 1..=MANY;
    /// Clusters that must support ignoring several keys under one condition: chosen among sets times
    /// conditions, the best candidate reaches three by luck. On a crawl of a repository browser, from 3
    /// to 5: pair fpr .0109 to .0049, recall .9972 to .9991; other corpora within .001 of saved share.
    min_clusters_chosen: u64 = 5, 1..=MANY;
    /// Good observations, none bad, that prove a form all of whose rows are one page, from one cluster.
    min_constant: u64 = 9, 1..=MANY;
    /// Distinct training URLs under which a sample is small: it holds all right merges of its clusters,
    /// and hardly any two clusters that a wrong rule would join.
    small_sample: usize = 1_000, 0..=MANY as usize;
    /// `min_constant` of a page from one cluster or two in a small sample. On 108 samples of 50 to 500
    /// URLs: with 9, pages are lost or URLs wrong beyond 0.5 % in 51 of them, with 40 in 45; saved .608
    /// and .596.
    min_constant_small: u64 = 40, 1..=MANY;
    /// Clusters that must support a rule between forms in a small sample. With 3, too much is wrong in 51
    /// of the 108 samples, with 5 in 47; saved .608 and .596.
    min_clusters_form_small: u64 = 5, 1..=MANY;
    /// Upper Wilson bound of the share of bad of an operation on keys, in thousandths: with z = 1 nine
    /// good without a bad one pass, 24 with one, 37 with two. Also in the proof.
    operation_permille: u64 = 100, 1..=999;
    /// z of the Wilson bound of operations on keys, in halves. Also in the proof.
    operation_half_z: u64 = 2, 0..=10;
    /// Largest share of bad among the observations of an operation on keys, in thousandths. Also in the
    /// proof.
    operation_raw_permille: u64 = 20, 0..=1_000;
    /// Upper Wilson bound of the share of bad of a rule between forms or of a mirror, in thousandths. Also
    /// in the proof.
    form_permille: u64 = 100, 1..=999;
    /// z of the Wilson bound of rules between forms and of mirrors, in halves: forms are compared in
    /// whole, so few observations are surer. Also in the proof.
    form_half_z: u64 = 1, 0..=10;
    /// Largest share of bad among the observations of a rule between forms or of a mirror, in thousandths.
    /// Also in the proof.
    form_raw_permille: u64 = 10, 0..=1_000;
    /// Upper Wilson bound of the share of bad of values that mean the same, in thousandths.
    classes_permille: u64 = 100, 1..=999;
    /// z of the Wilson bound of values that mean the same, in halves.
    classes_half_z: u64 = 2, 0..=10;
    /// Largest share of bad among the observations of values that mean the same, in thousandths.
    classes_raw_permille: u64 = 20, 0..=1_000;
    /// Expected share of bad observations, as a multiple of the label noise of the site. With 2 the compression of
    /// noisy synthetic sites is .928 of the oracle's.
    noise_factor: u64 = 3, 0..=100;
    /// Prior good observations of catalogue operations and of well-known tracking names: three observed
    /// ones are then enough.
    prior: u64 = 8, 0..=MANY;
    /// Prior good observations of parameters whose names mean tracking everywhere (`gclid`, `utm_source`). What this is
    /// more than `prior` counts as clusters that are for it, too: one is then enough where nothing is against it.
    prior_tracker: u64 = 10, 0..=MANY;
    /// Prior good observations of classes of hosts.
    host_prior: u64 = 4, 0..=MANY;
    /// Prior good observations of a parameter with one value that is one with another value, or without it
    /// (`view=print`), if nothing contradicts it. Samples of 200 URLs in whole clusters save .555
    /// without (0) instead of .562, at the same recall.
    substitution_prior: u64 = 4, 0..=MANY;
    /// Clusters that must show such a parameter for its prior to count.
    substitution_min_clusters: usize = 5, 1..=MANY as usize;
    /// Values of a parameter, absence among them, up to which one is such a token: among many pairs of
    /// values some are right on all of a few pages by chance.
    substitution_most_values: usize = 4, 0..=MANY as usize;
    /// Merges of such a parameter that its rate predicts for a host or directory, from which on none there
    /// is against it: nine, as for others, are rarely predicted of five.
    substitution_expected: f64 = 3.0, 0.0..=1e6;
    /// Good observations that one bad one costs in the order in which proposals are adopted.
    bad_cost: i64 = 10, 0..=MANY as i64;

    /// URLs of the sample that have a character where it would cut, for the cut to be tried.
    cut_min_urls: usize = 20, 1..=MANY as usize;
    /// Share of the URLs with such a character in the sample, in thousandths, for the cut to be tried.
    cut_min_permille: usize = 20, 0..=1_000;
    /// URLs with a semicolon in the query for the cut at it to be tried: rarer than other delimiters, and
    /// surer.
    cut_min_semicolons: usize = 8, 1..=MANY as usize;
    /// Share of the URLs with a semicolon in the query in the sample, in thousandths, for the cut to be
    /// tried.
    cut_min_semicolons_permille: usize = 2, 0..=1_000;
    /// Share of the queries with a semicolon, half of all or more, that are pairs of name and value between these, in
    /// hundredths, from which on they are cut unless the hold-out shows that it merges wrongly. In one sample of 500
    /// URLs the hold-out was too small to show the cut, and leaving out the first parameter of a code browser left out
    /// all: .17 wrong.
    cut_pairs_percent: usize = 90, 1..=100;
    /// Names that differ in their digits alone, for them to be tried as one key: one name is learned as
    /// well by itself.
    cut_family_names: usize = 3, 1..=MANY as usize;
    /// Clusters that must hold URLs with and without a last segment (`/a/b/view`, `/a/b`), for it to be tried as an
    /// ending; or URLs that differ in the end of a value or in what stands before it, for that to be tried.
    cut_ending_clusters: usize = 3, 1..=MANY as usize;
    /// Clusters that may hold a last segment where the URL without it is another page, or differs in its slash at the
    /// end, too, as a share of those that hold both, in hundredths.
    cut_ending_percent: usize = 5, 0..=100;
    /// URLs with a word joined to a name whose page without it is known, at least, as a share of those with the
    /// word, in hundredths: below it the page without the word is mostly none (`rose.html.en` on a site without
    /// `rose.html`).
    cut_ending_known_percent: usize = 25, 0..=100;
    /// Parts of the clusters, each judged by what was learned on the others. Four samples of 1,500 URLs of
    /// a wiki are cut at `:` with 8 parts; with 4 two of them are (saved share .936, .926), with 2 none
    /// (.913). Twice the parts take twice the time.
    cut_folds: u64 = 4, 2..=64;
    /// Good observations on the parts held out that a cut must bring.
    cut_min_gain: u64 = 9, 0..=MANY;
    /// Good observations that a cut must bring as a share of the sample, in thousandths.
    cut_min_gain_permille: u64 = 2, 0..=1_000;
    /// Good observations that one more bad one costs a cut, and that one bad less is worth to it.
    cut_bad_cost: u64 = 10, 0..=MANY;

    /// Clusters under a first directory for it to be a section by itself, as many as make a value salient
    /// in the pattern tree.
    section_min_salient: usize = 8, 1..=MANY as usize;
    /// Share of the clusters of a site under a first directory for it to be a section by itself, in
    /// thousandths.
    section_salient_permille: usize = 10, 0..=1_000;
    /// Share of the clusters of a directory such as `users` that members with `section_min_salient` of their own must
    /// have for each member to be a tenant, in thousandths. A list by this name has 31 of 1,000 in two messages with
    /// many views: with 0, canonical URLs of a sample of crawl-lists lie on both of its hosts.
    section_members_permille: usize = 50, 0..=1_000;
    /// Clusters of evidence that a section needs to be for an operation, or against it: one may be a page
    /// that changed between two fetches.
    section_min_clusters: usize = 2, 1..=MANY as usize;
    /// Sections that a rule lists at most; a rule that would need more of them is refused.
    section_most_listed: usize = 64, 1..=MANY as usize;

    /// Links that join values of a key to one set, each an observation that two mean the same, that are proof
    /// for all values: as many as pass the bound of operations with nothing bad. Behind a front of a path also the
    /// clusters that show each of fewer values.
    breadth_links: usize = 9, 1..=MANY as usize;
    /// Pages with a value that came before which prove that no value of a key matters, where nine of ten link it
    /// with others than before. Of small samples no nine titles are in one set (1,000 URLs of a made site of titles
    /// that change: saved 0 without, 1 with 18, 0 with 27). Of values in sets of four, 18 pages look like this in
    /// one of 150 cases.
    breadth_recurring: usize = 18, 1..=MANY as usize;
    /// Share of these pages that must link such a value with values that it was not linked with before, in
    /// hundredths: two spellings of a directory come again with each other, any title with any other.
    breadth_recurring_percent: usize = 90, 0..=100;
    /// Tolerated shortfall of the rows whose values have evidence of their own against their expectation,
    /// in millionths of all rows (docs/method.md, "How wide a rule may be").
    breadth_slack_ppm: u64 = 200_000, 0..=1_000_000;
    /// Names of a family that must have merge evidence of their own: two are a coincidence (`p1=`, `p2=`).
    breadth_names: usize = 3, 1..=MANY as usize;
    /// Share of the rows from which on a value is frequent, in thousandths: each frequent value must have
    /// evidence of its own.
    breadth_frequent_permille: u64 = 50, 1..=1_000;
    /// Largest share of the meetings of a frequent value that are with other clusters.
    breadth_max_against: f64 = 0.2, 0.0..=1.0;
    /// Rows of a value that are expected to meet their cluster before it counts that none does: with 5,
    /// one value in 150 has none by chance.
    breadth_alone: f64 = 5.0, 0.0..=1e6;
    /// Values of a part of the path, an extension or a host up to which a rule without `breadth_links`
    /// lists them, so that values never met are kept.
    breadth_most_listed: usize = 64, 0..=MANY as usize;
    /// Values of a parameter that must be met before it is ignored whatever its value.
    breadth_any_values: usize = 2, 1..=MANY as usize;
    /// Share of the rows of a key whose value comes again, in thousandths, up to which its values are random:
    /// ignored without `breadth_links`, since random values are not linked.
    breadth_repeated_permille: u64 = 100, 0..=1_000;
    /// Rows of a host, or of a value beside a parameter, that are expected to meet their cluster for it to be
    /// judged; it is against an operation where one in as many does.
    breadth_host_rows: f64 = 8.0, 1.0..=1e6;
    /// Share of the rows with a key that may lie outside a constant page for the key to be ignored because
    /// of that page, in thousandths of those on it: the few public pages beside a form.
    constant_page_others_permille: u64 = 100, 0..=MANY;

    /// Rows that a value needs to be tried as a condition.
    condition_min_rows: u32 = 5, 1..=MANY as u32;
    /// Share of the rows from which on a value is no condition, in hundredths: nearly all have it.
    condition_max_percent: u64 = 95, 1..=101;
    /// Chance, in thousandths, up to which an operation that fails elsewhere is adopted under a condition:
    /// that some condition of those tried looks as good where it is wrong at random. Without (1,000),
    /// crawl-docs saves .920 with .0009 of the URLs wrong, with 50 .930 and .0002; crawl-bugs .935 and
    /// .0020, .923 and .0005; the others are as before. Of 64 sites made to mislead 7 have 37 URLs wrong
    /// without, 5 have 17 with it. In the proof the same of a test that narrows a rule, unless the rule has a prior
    /// and is to be withdrawn.
    condition_chance_permille: u64 = 50, 0..=1_000;
    /// Bad observations from which on values of another key may be excepted from an operation.
    exclusion_min_bad: u64 = 2, 1..=MANY;
    /// Clusters in which the keys of a set must differ together for ignoring them to be tried.
    joint_min_clusters: u32 = 3, 1..=MANY as u32;
    /// Pairs of one cluster that replace several clusters: on a constant page all evidence is of one.
    joint_min_pairs: u32 = 9, 1..=MANY as u32;
    /// Good observations under a condition for classes of values to be searched there.
    classes_min_near: u64 = 9, 0..=MANY;
    /// Chance, in thousandths, up to which a pair of values is taken as one where most pairs of the key are not:
    /// that some pair looks as good by chance. Of 72 made sites with revisions 7 have 31 URLs wrong without
    /// (1,000), 3 have 17 with 50, 1 has 2 with 10, 2 have 3 with 1. No crawl differs between 50 and 1.
    classes_chance_permille: u64 = 10, 0..=1_000;
    /// Clusters that must show a value beside another for a table to list it: with 2 one is left without
    /// any one of them.
    min_carriers: usize = 2, 1..=MANY as usize;

    /// Share of the URLs of a site that make a proven constant page a sink, in thousandths.
    sink_min_permille: u64 = 10, 0..=1_000;
    /// URLs of other forms that a sink holds.
    sink_min_others: u64 = 50, 0..=MANY;
    /// Good observations, none bad, that prove that one more form ends in a sink.
    sink_min_good: u64 = 4, 1..=MANY;

    /// Observations that an operation needs to count for the label noise of a site.
    noise_min_observations: u64 = 60, 1..=MANY;
    /// Observations that operations with a prior need together to bound the label noise.
    noise_min_sure: u64 = 30, 1..=MANY;
    /// Share of bad beyond which an operation is wrong and no evidence of noise, in thousandths; also the most
    /// noise that the operations with a prior show together.
    noise_max_witness_permille: u64 = 100, 0..=1_000;
    /// Least noise that an operation without a prior shows that is the only one, in thousandths, if it shows as much.
    noise_min_alone_permille: u64 = 10, 0..=1_000;
    /// Share of the bad observations that a condition must hold to tell wrong from noise, in hundredths.
    /// Without, on crawl-photos 6 bad of 300, all on one start, allow 5 % wrong to every operation. With 80 in place of
    /// 50, 12 kinds of made sites with wrong labels have 607 wrong URLs in place of 371.
    noise_min_held_percent: u64 = 50, 1..=100;
    /// Probability above which a condition that holds the bad observations is chance: hundreds are tried.
    noise_max_chance: f64 = 1e-5, 0.0..=1.0;
    /// Rows of a page that is not pure for it to say whether an operation is wrong: of fewer rows hardly any can
    /// show two other clusters.
    noise_variants_rows: usize = 4, 2..=MANY as usize;
    /// Pages that must show that labels are wrong for operations without a prior to show how often. With 1, a page of
    /// four URLs whose two parameters matter together only would excuse any rule of its site.
    noise_min_refuted: usize = 2, 1..=MANY as usize;
    /// Share of these pages among all of which some rows have other labels, in hundredths. Of crawls with one label of
    /// 67 wrong it is 13 to 83, of 34 programs with right labels at most 7 where there are two.
    noise_min_refuted_percent: usize = 10, 0..=100;
    /// Standard deviations above its mean up to which noise explains what is bad of an operation. With 2, on nineteen
    /// made sites with one label of 67 wrong, .018 more is saved and 1.67 times as many URLs are wrong.
    noise_deviations: u64 = 1, 0..=MANY;
    /// Standard deviations above its mean up to which noise explains what is bad of an operation of the catalogue.
    noise_deviations_sure: u64 = 3, 0..=MANY;
    /// Share of bad beyond which noise explains nothing of it, in thousandths.
    noise_max_explained_permille: u64 = 250, 0..=1_000;

    /// URLs that have one of two parameters first for it to come first in the usual order, in thousandths of those
    /// that have the other first; else their names decide.
    order_often_permille: u64 = 3_000, 1_000..=MANY;
    /// Times less often than the most frequent value that another may be met and represent all. On halves
    /// of crawls against two thirds, with 1 all canonical URLs of crawl-kb move by the host alone, and
    /// 33 % of crawl-docs and 56 % of crawl-lists by parts of the path; with 2, 2 % and 29 %.
    value_near: u32 = 2, 1..=MANY as u32;
    /// Times less often than with an extension that files may come without one for it to be left out: else
    /// rules make URLs that nobody has seen (93 % of the canonical URLs of crawl-docs, 70 % of university).
    extension_often: u32 = 2, 1..=MANY as u32;
    /// Times more often than all other extensions that one must come to represent files without one.
    extension_rare: u32 = 10, 1..=MANY as u32;
    /// Pages for each page with the representative of a part of the path, and for each with two values,
    /// above which that part names pages and is kept (crawl-forum: of 531 titles 517 have one form).
    names_pages: usize = 20, 1..=MANY as usize;
    /// Share of the pages under several values of a key that must be under values that differ by more than case and
    /// punctuation for a rule to write one value into all URLs, in hundredths. Without, all canonical URLs of a made
    /// site whose titles come in two spellings are URLs that its server does not have.
    spelling_percent: u64 = 10, 0..=100;
    /// Times more URLs that write a default out than leave it out for its line of the catalogue to be
    /// refused (crawl-store: 15 % of the canonical URLs moved for 8 URLs of 3,338).
    line_written: u64 = 10, 1..=MANY;

    /// Rows under which a node of the pattern tree is a leaf.
    tree_min_rows: usize = 40, 2..=MANY as usize;
    /// Clusters that a value needs to be salient in the pattern tree.
    tree_min_salient: u32 = 8, 1..=MANY as u32;
    /// Share of the clusters of a node that a value needs to be salient in the pattern tree, in
    /// thousandths.
    tree_salient_permille: u64 = 10, 0..=1_000;
    /// Share of common clusters in which two mapped keys of two forms agree, in hundredths (Algorithm 3 of
    /// WWW10, by clusters instead of value sets; its threshold).
    agreement_percent: u32 = 80, 1..=100;
    /// Such a share for keys of which a page has many values: a page of twenty posts has twenty URLs in each
    /// form, and a crawl met few of them in both (a made forum: saved .653 -> .692).
    agreement_some_percent: u32 = 10, 1..=100;
    /// Share of common clusters that show several values of one of the keys, in hundredths, from which on a page
    /// has many. Without it, of a shop that renumbered all but its oldest tenth every page was another's.
    agreement_several_percent: u32 = 20, 0..=100;
    /// Common clusters of two forms, and pages with URLs of both, for a rule between them.
    form_min_clusters: usize = 3, 1..=MANY as usize;
    /// Clusters that must support a rule between forms that leaves out a key whose numbers lead to one cluster
    /// each: as many as the bound of 10 % needs. Of posts, four of five may be on the first page of their
    /// topic, and five that are say nothing (a made forum: wrong URLs .0093 -> .0014).
    form_min_numbered: u64 = 9, 0..=MANY;
    /// URLs that make a form without a varying key a constant page.
    form_min_constant_urls: u64 = 5, 1..=MANY;
    /// Probability of following a rule, rather than restarting, in the energy walk; that of PageRank.
    energy_damping: f64 = 0.85, 0.0..=0.99;
    /// Times less often than the form of most energy that another may come and still be the destination.
    form_near: u64 = 2, 1..=MANY;
    /// Times rarer than the URLs that would move to it that a destination may be: beyond, rules write URLs
    /// that a crawl hardly meets (crawl-blog: 1,300 URLs to a form seen seven times). Also the times that
    /// the URLs below a front may be more than those with twins, where the front moves one way.
    form_rarer: usize = 5, 1..=MANY as usize;
    /// Clusters that must show two directories to be mirrors: a rule moves all URLs below one of them. With 3, 54 of
    /// 2,257 merged URLs of made sites whose hosts share some directories alone were wrong, with 5 35 of 2,141, and
    /// half as many canonical URLs are none of the site; university saves .4808 in place of .4843.
    mirror_min_clusters: usize = 5, 1..=MANY as usize;
    /// Names of files and directories with twins that speak for all others below a front which moves one
    /// way: as many as links that prove a key (`breadth_links`).
    mirror_names: usize = 9, 1..=MANY as usize;
    /// Such names where they are those of half of the URLs below the front: with one name the rule would
    /// be about that name.
    mirror_min_names: usize = 2, 1..=MANY as usize;
    /// Share of the URLs whose names have such evidence where they are that few, in hundredths: other names would
    /// be the most.
    mirror_covered_percent: u64 = 50, 0..=100;
    /// Rules between forms that one mirror rule replaces: one alone says nothing of other depths.
    front_min_forms: usize = 2, 1..=MANY as usize;

    /// Clusters that must show a rule to be right for each cluster in which it acts and joins nothing, in
    /// a small sample. On 132 samples: without tests of small samples 42 miss (saved .539, recall .9888),
    /// with them 25 (.504, .9967).
    small_shown: usize = 4, 0..=MANY as usize;
    /// Clusters that show a rule to be right from which on no other cluster withdraws it in a small
    /// sample. With 24 misses are 26 of 132 (saved .505), with 40 or more 24 (.502): threads of a
    /// mailing list that are one message long say nothing of the others. Rules on lists and versions are asked
    /// whatever the number: of a repository browser .042 of the merged URLs were wrong in two samples of 500.
    small_sure: usize = 40, 0..=MANY as usize;
    /// Clusters that must support leaving out a parameter whose numbers lead to one cluster each, or whose name is that
    /// of the length of a list or of what a program does (`action`), or whose values switch something on or off (`y`,
    /// `n`), in a small sample. With 24, 24 of 132 samples miss
    /// (saved .505), with 64 23 (.501). Of 129 samples of 500 URLs of 43 programs .0053 of the merged URLs are wrong
    /// (.631 saved) where such names are as others, .0042 as they are (.619).
    small_min_numbered: u64 = 64, 0..=MANY;
    /// Clusters that must support leaving out a parameter whose values are numbers, in a small sample. With 0, 24 of
    /// 132 samples miss, with 9 21.
    small_min_of_numbers: u64 = 9, 0..=MANY;
    /// Clusters that must support leaving out a parameter whose name is that of the order or place in a list or of a
    /// version, or one of its repeats, taking one language or country for another, or giving a part of the path that is
    /// no number one value, in a small sample: of most lists there is one page, whatever their order, and a page that
    /// nobody translated is one in all languages. Of 66 samples of 500 URLs of 22 programs .0105 of the merged URLs are
    /// wrong (.4944 saved), with 64 .0080 (.4778).
    small_min_of_lists: u64 = 20, 0..=MANY;
    /// Right merges of a parameter of lists or versions for each wrong one, in a small sample: of whole clusters it
    /// holds few wrong ones. In a sample of a shop one of 124 was wrong, and of its other URLs 364.
    small_wrong_of_lists: u64 = 256, 0..=MANY;
    /// Chance, in thousandths, up to which a script at which a rule shows too little is left out of its scope in a
    /// small sample: that some script looks like it, were it as the others. With 50, .10 of the merged URLs are wrong
    /// in one more of 528 samples of 44 crawls. From 300 to 900, samples of 200 URLs of 43 crawls save .533 for .535,
    /// and .0037 of their merged URLs are wrong for .0040.
    small_chance_permille: u64 = 900, 0..=1_000;
    /// Share of the clusters of feeds that a rule on the origin joins, in hundredths of that of other pages, below
    /// which it is kept from them in a small sample. Of feeds that name their own host .30 to .56 as many were joined,
    /// of those that do not .60 to .75.
    feeds_least_percent: u64 = 60, 0..=100;
    /// Values from which on a parameter can be one whose numbers lead to one cluster each.
    small_min_numbers: usize = 9, 1..=MANY as usize;
    /// Rows of a site from which on no scope is tested against chance: there are few pages that one does not
    /// know another of.
    chance_most_rows: usize = 30_000, 0..=MANY as usize;
    /// URLs of a site whose canonical URL may be another than in an earlier result, in thousandths, for what new rules
    /// merge: canonical URLs are keys of indexes and crawlers. Without a bound (1000) .174 of the URLs of 31 crawls
    /// that were learned twice move in place of .044, and .694 of the duplicates are saved in place of .661.
    moved_permille: u64 = 2, 0..=1_000;
    /// Values of a parameter up to which it makes variants of a page, not pages.
    page_most_values: usize = 16, 0..=MANY as usize;
    /// Clusters up to which URLs that differ in such parameters alone are one page.
    page_most_clusters: usize = 32, 0..=MANY as usize;
    /// Letters and digits from which on a value is a token drawn at random: 64 bits in hexadecimal digits.
    small_opaque: usize = 16, 1..=MANY as usize;
    /// Share of the values of a key that must hold such a token for all to be random, in hundredths: a few are
    /// empty or placeholders.
    small_opaque_percent: usize = 90, 1..=100;
    /// URLs that a value of random tokens in every URL must have on average for them to be sessions of visitors, which
    /// are left out: a token of one page may be what the page is shown for.
    session_urls: u64 = 10, 1..=MANY;

    /// Pages that must be known in both forms where a rule writes a value or moves a form, of those that
    /// chance predicts, in thousandths. With 500, crawl-lists saves .028 more and crawl-photos .008, but .16 of the
    /// canonical URLs of crawl-lists were not met in the crawl instead of .01, and .24 to .25 of them move with
    /// another sample instead of .01: of two lists with a fifth of their messages in common, .44 to .66 are found.
    overlap_permille: u64 = 700, 0..=1_000;
    /// Pages that chance predicts in both forms from which on these tell.
    overlap_min_pages: u64 = 9, 1..=MANY;
    /// Pages that chance predicts in both ends of a chain of forms, from which on none there says that the
    /// ends are of different pages: one time in twenty none of three is there by chance.
    overlap_none_pages: u64 = 3, 1..=MANY;
    /// URLs a value up to which the values of a key are titles and not directories.
    overlap_title_rows: usize = 4, 0..=MANY as usize;

    /// Share of URLs outside the majority of their page above which labels are too noisy for look-ups and
    /// exceptions, in thousandths.
    look_up_max_impure_permille: u64 = 10, 0..=1_000;
    /// Share of the URLs of a page outside its largest cluster up to which it is no exception, in thousandths: one
    /// keeps all its URLs apart. With 0, one label in 200 of phpbb-forum wrong takes .99 saved to .41, since four of
    /// 1,459 log-ins have one.
    exception_min_permille: u64 = 10, 0..=1_000;
    /// Canonical URLs of a cluster from which on one that was met unchanged represents them. With few,
    /// the ones met are chance (crawl-lists: 11 % of the canonical URLs move, 0.6 % without).
    look_up_many: usize = 9, 1..=MANY as usize;
    /// Upper Wilson bound of the share of wrong predictions of value ranges, in thousandths: a wrong one
    /// is a page lost.
    span_permille: u64 = 50, 1..=999;
    /// z of the Wilson bound of value ranges, in halves.
    span_half_z: u64 = 2, 0..=10;
    /// Largest share of wrong predictions of value ranges, in thousandths.
    span_raw_permille: u64 = 20, 0..=1_000;
    /// Predictions of one group of values that count, so that no page dominates the site.
    span_max_trials: u64 = 4, 1..=MANY;
    /// Clusters of a group from which on as many predictions of each cluster count: the posts of a whole forum
    /// (`?pid=17`) are one group, those of a topic another for each topic.
    span_many_clusters: usize = 16, 1..=MANY as usize;
    /// Upper Wilson bound of the share of wrong predictions in such a group, in thousandths: with z = 2 of 130 none
    /// may be wrong. Posts of one topic may lie between those of another: with the bound of other ranges, of 627 made
    /// forums whose topics interrupt one another, or that have strays, 63 had up to a tenth of the merges wrong.
    span_many_permille: u64 = 30, 1..=999;
    /// z of the Wilson bound of value ranges in such a group, in halves.
    span_many_half_z: u64 = 4, 0..=10;
    /// Largest share of wrong predictions in such a group, in thousandths: of thousands the Wilson bound alone would
    /// bear two of a hundred. One of 319 passes, two do not.
    span_many_raw_permille: u64 = 5, 0..=1_000;
    /// Farthest that a known number says something of other numbers.
    span_max_distance: u64 = 1 << 20, 0..=1 << 50;
    /// Share of the predictions that must be right among those as far as a distance and down to half as far, in
    /// hundredths, for ranges to reach so far: near ones, which are many, say little of far ones.
    span_far_percent: u64 = 80, 0..=100;

    /// Hosts that must be for a rule, none against it, to extend it to the domain: as many as pass the
    /// bound of operations.
    extend_min_hosts: usize = 9, 1..=MANY as usize;
    /// Clusters of evidence that a host needs to be for a rule, or against it.
    extend_min_clusters: usize = 2, 1..=MANY as usize;

    /// Merges of a rule in the proof below which it is withdrawn only if at least half of them are wrong.
    proof_min_observations: u64 = 3, 0..=MANY;
    /// Right merges of an operation of the catalogue in the proof beside which one wrong merge more than noise explains
    /// does not withdraw it: one page that changed between two fetches says less than the name of a session.
    proof_one_wrong: u64 = 20, 0..=MANY;
    /// Label noise of a site, in thousandths, from which on the proof bounds wrong URLs instead of wrong
    /// pairs: one split cluster of 300 URLs makes more wrong pairs than all rules.
    proof_noisy_permille: u32 = 10, 0..=1_000;
    /// Values that occur twice or more from which on drift of labels is told from wrong merges.
    proof_min_recurring: u64 = 9, 1..=MANY;
    /// Clusters that merge wrongly in a section or with a value for it to be against a rule in the proof:
    /// one may be an error of the labels. At most 4 are counted.
    narrow_min_clusters: usize = 2, 1..=4;
    /// Share of the wrong merges of a rule that a test must hold to narrow it, in hundredths.
    narrow_min_held_percent: u64 = 80, 1..=100;
    /// Share of the clusters that a rule with a prior merges that must be right and left of it where a test narrows it
    /// and no chance is asked, in hundredths: some rare value is right by chance. With 0, rules on a tracker that
    /// matters on pages drawn at random are kept to such values, and of what they merge up to a third is wrong.
    narrow_min_kept_percent: u64 = 50, 0..=100;
    /// Clusters of wrong merges that a test must hold to narrow a rule, and wrong merges beyond noise from which on a
    /// rule that passes its bound is narrowed, too.
    narrow_min_held_clusters: usize = 3, 1..=MANY as usize;
}
