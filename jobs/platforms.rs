//! `--platforms`: role of the catalogue of platforms in learning.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use undust::platforms::Catalogue;
use undust::platforms::read::entries;
use undust::rules::platforms::{Entry, Platforms};
use undust::site::{Params, Stage};

/// Options of `learn`.
#[derive(Args, Debug)]
pub struct PlatformArgs {
    /// How rules that vendors document for their programs take part; may be given several times. By default
    /// a line of a program that the URLs show is a candidate, and the records decide. `provisional`: lines
    /// act before any evidence, also on sites without labels, until one cluster contradicts them, and are
    /// marked. `off`: none takes part.
    /// The id of a program (phpbb-2): every site runs it at its root. Anything else is a FILE of programs
    /// and lines of your own (docs/platforms.md).
    #[arg(long, value_name = "HOW|PROGRAM|FILE")]
    platforms: Vec<String>,
}

impl PlatformArgs {
    /// True where the option is given.
    pub fn is_given(&self) -> bool {
        !self.platforms.is_empty()
    }

    /// Writes the option into the parameters.
    ///
    /// # Errors
    /// The fault of a file, or the allowed values.
    pub fn fill(&self, params: &mut Params) -> Result<(), String> {
        let (mut platforms, mut own) = (Platforms::default(), Vec::new());
        if let Some(other) = self.platforms.iter().find(|value| *value != "off")
            && self.platforms.iter().any(|value| value == "off")
        {
            return Err(format!("--platforms off leaves out all lines, --platforms {other} asks for some: give one"));
        }
        for value in &self.platforms {
            match value.as_str() {
                "off" => params.without = params.without.and(Stage::Platforms),
                "provisional" => platforms.provisional = true,
                name if Catalogue::built_in().program(name).is_some() => platforms.named.push(name.to_owned()),
                file => own.extend(read(Path::new(file))?),
            }
        }
        Catalogue::with(&own).map_err(|error| format!("--platforms: {error}"))?;
        platforms.named.sort();
        platforms.own = Arc::new(own);
        params.platforms = platforms;
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<Entry>, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        format!("--platforms {name}: neither `provisional`, `off`, a program of the catalogue, nor a file: {error}")
    })?;
    entries(&text).map_err(|error| format!("--platforms {name}: {error}"))
}
