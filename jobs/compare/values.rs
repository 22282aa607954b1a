//! Values of the arguments of `compare`.

use clap::ValueEnum;
use undust::baselines::Name;
use undust::baselines::catalogue::CatalogueRow;
use undust::site::Stage;

/// The protocol.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum How {
    #[default]
    Www10,
    Sigir2017,
}

/// Departures of undust that are switches of the published method (docs/method.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Departure {
    /// Salient values by their number of clusters, not by eq. 5.
    SalientByFrequency,
    /// An absent key is no value.
    AbsenceNoValue,
    /// No pairs of a node and its ancestor.
    NoNestedPairs,
    /// Overlap among duplicated URLs only.
    OverlapOfDuplicated,
    /// Keys map by agreement within clusters.
    MappingByAgreement,
    /// False-positive rate of URLs, not of pairs.
    FprPerUrl,
    /// Upper Wilson bound of that rate.
    FprWilson,
    /// Rules of a destination to itself are kept.
    SelfRulesKept,
    /// Concatenated rules must qualify again.
    ChainsProvenAgain,
}

/// A row of the catalogue as an argument.
#[derive(Clone, Copy, Debug)]
pub struct NamedRow(pub CatalogueRow);

/// The method of a name.
pub fn method(text: &str) -> Result<Name, String> {
    let known = || Name::ALL.map(|name| name.to_string()).join(", ");
    Name::parse(text).ok_or_else(|| format!("no such method; there are {}", known()))
}

/// The stage of undust of a name.
pub fn stage(text: &str) -> Result<Stage, String> {
    Stage::optional().find(|stage| stage.text() == text).ok_or_else(|| format!("no such stage; there are {}", stages()))
}

/// Help text of `--without`.
pub fn without_help() -> String {
    format!("Stages of undust that are left out, by comma, to measure what they are for: {}", stages())
}

/// Names of all stages that can be left out.
fn stages() -> String {
    Stage::optional().map(Stage::text).collect::<Vec<_>>().join(", ")
}

/// The row of the catalogue of a name.
pub fn row(text: &str) -> Result<NamedRow, String> {
    let known = || CatalogueRow::ALL.map(|(_, name)| name).join(", ");
    CatalogueRow::parse(text).map(NamedRow).ok_or_else(|| format!("no such row; there are {}", known()))
}
