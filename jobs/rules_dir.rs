//! The rules of a job: `--rules DIR`, their overrides, and their greatest age.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use undust::io::rules::{OpenedRules, RuleFile, open_seen, read_overrides};
use undust::model::hash128;
use undust::rules::age::{Day, parse_age};
use undust::rules::file::{FORMAT, Header};
use undust::rules::filter::SeenFilter;
use undust::rules::overrides::Overrides;
use undust::rules::{RuleSet, SiteRules};

use crate::cluster::digest_of;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::messages::warn;

/// Location of the rules.
#[derive(Args, Debug)]
pub struct RulesDir {
    /// Folder that `undust learn` wrote, or its rule file; for applying also the file of `undust rules
    /// compile`.
    #[arg(long, value_name = "DIR")]
    rules: PathBuf,
    /// Takes the folder of a run that failed or is still going (it holds no _SUCCESS).
    #[arg(long)]
    allow_partial: bool,
    /// Disables the rules that this file names, instead of those in overrides.jsonl beside the rules.
    #[arg(long, value_name = "FILE")]
    overrides: Option<PathBuf>,
    /// Leaves out rules that are provisional: those that the catalogue of platforms alone vouches for
    /// (`learn --platforms provisional`).
    #[arg(long)]
    no_provisional: bool,
    /// Applies no rule learned from data older than this (90d, 12w, 6m, 2y): URLs then get their normal form
    /// only. The date is that of the newest data, as `learn` recorded it.
    #[arg(long, value_name = "SPAN", value_parser = parse_age)]
    max_age: Option<i64>,
    /// The day that --max-age counts from, instead of today's.
    #[arg(long, value_name = "DATE", requires = "max_age")]
    today: Option<Day>,
}

impl RulesDir {
    /// The folder or file.
    pub fn path(&self) -> &Path {
        &self.rules
    }

    /// The file of --overrides.
    pub fn overrides_path(&self) -> Option<&Path> {
        self.overrides.as_deref()
    }

    /// Reads them; only rules that are too old are left out.
    pub fn read(&self) -> Result<RuleFile, Failure> {
        let mut file = RuleFile::open(&self.rules, self.allow_partial)?;
        if let Some(overrides) = self.overrides()? {
            file.overrides = overrides;
        }
        if self.no_provisional {
            file.sites.iter_mut().for_each(SiteRules::leave_out_provisional);
        }
        if self.too_old(&file.header)? {
            file.sites.clear();
        }
        Ok(file)
    }

    /// Digest on which all processes of a run must agree: the rules, and those left out.
    ///
    /// # Errors
    /// Errors of [`read`](Self::read).
    pub fn digest(&self) -> Result<String, Failure> {
        if OpenedRules::open(&self.rules, self.allow_partial)?.is_compiled() {
            let unread = |error| Failure::new(Exit::Failed, format!("{}: {error}", self.rules.display()));
            let bytes = std::fs::read(&self.rules).map_err(unread)?;
            let opened = self.opened()?.map(|file| (file.header, format!("{:?}", file.overrides)));
            return Ok(digest_of(&(opened, hash128(&bytes).to_string(), self.no_provisional)));
        }
        let file = self.read()?;
        Ok(digest_of(&(&file.header, &file.sites, format!("{:?}", file.overrides))))
    }

    /// Opens them for applying, without disabled and too old ones.
    pub fn open(&self) -> Result<RuleSet, Failure> {
        Ok(self.opened()?.map(OpenedRules::compile).transpose()?.unwrap_or_default())
    }

    /// Opens them as [`open`](Self::open) does, without reading the sites. `None` where the rules are too
    /// old.
    pub fn opened(&self) -> Result<Option<OpenedRules>, Failure> {
        let mut file = OpenedRules::open(&self.rules, self.allow_partial)?;
        file.no_provisional = self.no_provisional;
        if let Some(overrides) = self.overrides()? {
            file.overrides = overrides;
        }
        Ok(if self.too_old(&file.header)? { None } else { Some(file) })
    }

    /// The set of seen canonical URLs beside them, where there is one.
    pub fn seen(&self) -> Result<Option<SeenFilter>, Failure> {
        Ok(open_seen(&self.rules, self.allow_partial)?)
    }

    /// The overrides of the option.
    fn overrides(&self) -> Result<Option<Overrides>, Failure> {
        let Some(path) = &self.overrides else { return Ok(None) };
        if !path.exists() {
            return Err(Failure::usage(format!("{}: no such file; --overrides names one", path.display())));
        }
        Ok(Some(read_overrides(path)?))
    }

    /// Whether the rules are too old to be applied; also warns of an older format.
    fn too_old(&self, header: &Header) -> Result<bool, Failure> {
        if header.format.major < FORMAT.major {
            warn(format!(
                "{}: rules of format {}: seen members are left out of account, and canonical URLs may differ; learn again",
                self.rules.display(),
                header.format.major
            ));
        }
        let Some(most) = self.max_age else { return Ok(false) };
        let Some(learned) = &header.learned else {
            return Err(Failure::usage(format!(
                "{}: these rules do not say how old their data are; learn them with --data-date, or go without --max-age",
                self.rules.display()
            )));
        };
        let newest: Day = learned.to.parse()?;
        let today = self.today.unwrap_or_else(|| {
            Day::from_unix(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
        });
        let age = today.since(newest);
        if age > most {
            warn(format!(
                "{}: learned from data up to {newest}, {age} days old, and --max-age allows {most}: no rule is applied",
                self.rules.display()
            ));
        }
        Ok(age > most)
    }
}
