//! How much of a comparison the predictions of outside methods cover.

use super::table::Table;
use crate::baselines::results::{Comparison, Coverage};

/// A row a file of predictions; `None` without any.
pub fn table(comparison: &Comparison) -> Option<Table> {
    if comparison.predictions.is_empty() {
        return None;
    }
    let title = "Predictions of outside methods";
    let note = "Lines of URL and canonical URL; rejected lines are none. Not in the corpus: URLs that no labelled record \
                has. Missing: distinct test URLs without a line, which keep themselves as canonical URL.";
    let head = ["method", "seed", "lines", "rejected", "repeated", "not in the corpus", "missing"];
    let mut table = Table::new("predictions", title, note, &head);
    for of in &comparison.predictions {
        let seed = of.seed.map_or("all".to_owned(), |seed| seed.to_string());
        let numbers = [of.lines, of.rejected, of.duplicated, of.unknown, missing(comparison, of)];
        let numbers = numbers.map(|number| number.to_string());
        table.row([of.method.to_string(), seed].into_iter().chain(numbers));
    }
    Some(table)
}

/// Test URLs of all sites without a prediction; where one file is for all seeds, those of the first.
fn missing(comparison: &Comparison, of: &Coverage) -> u64 {
    let at = of.seed.and_then(|seed| comparison.seeds.iter().position(|&other| other == seed)).unwrap_or(0);
    let runs = comparison.sites.iter().flat_map(|site| &site.runs);
    runs.filter(|run| run.method == of.method && run.seed == at).filter_map(|run| run.missing).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::results::{Run, Site};
    use crate::baselines::{Figures, Name, name::Label};

    #[test]
    fn missing_urls_are_those_of_the_seed() {
        let method = Name::Outside(Label::new("net").expect("a label"));
        let run = |method, seed, missing| Run {
            method,
            seed,
            figures: Figures::default(),
            fits: Vec::new(),
            detection: None,
            missing,
        };
        let runs = vec![run(Name::Undust, 0, None), run(method, 0, Some(1)), run(method, 1, Some(20))];
        let sites = vec![Site { runs: runs.clone(), ..Site::default() }, Site { runs, ..Site::default() }];
        let file = |seed| Coverage { method, seed, lines: 9, rejected: 8, duplicated: 7, unknown: 6 };
        let predictions = vec![file(None), file(Some(5)), file(Some(4))];
        let mut comparison = Comparison { seeds: vec![4, 5], sites, predictions, ..Comparison::default() };
        let table = table(&comparison).expect("a table");
        let rows: Vec<String> = table.rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows, ["net all 9 8 7 6 2", "net 5 9 8 7 6 40", "net 4 9 8 7 6 2"]);
        comparison.predictions.clear();
        assert_eq!(super::table(&comparison), None);
    }
}
