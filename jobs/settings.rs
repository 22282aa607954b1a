//! `learn --set NAME=VALUE`: parameters by name, and their table (`--set help`).

use std::ffi::OsStr;

use clap::builder::{StringValueParser, TypedValueParser, ValueParserFactory};
use clap::{Arg, Args, Command};
use undust::rules::Threshold;
use undust::site::Params;

/// Options of `learn`.
#[derive(Args, Debug)]
pub struct SetArgs {
    /// Sets a threshold of the method, for research; may be given several times. `help` lists names, ranges
    /// and what each decides. What is not the default is in the rule file and in summary.json.
    #[arg(long = "set", value_name = "NAME=VALUE|help")]
    set: Vec<Setting>,
}

impl SetArgs {
    /// True where a threshold is set.
    pub fn is_given(&self) -> bool {
        !self.set.is_empty()
    }

    /// Writes the options into the parameters.
    ///
    /// # Errors
    /// [`Params::set`], and a name that is given twice.
    pub fn fill(&self, params: &mut Params) -> Result<(), String> {
        for (at, Setting { name, value }) in self.set.iter().enumerate() {
            if self.set[..at].iter().any(|before| before.name == *name) {
                return Err(format!("--set {name}={value}: {name} is set twice"));
            }
            params.set(name, value)?;
        }
        Ok(())
    }
}

/// A parameter and its value, which it may have.
#[derive(Clone, Debug)]
pub struct Setting {
    name: String,
    value: String,
}

impl ValueParserFactory for Setting {
    type Parser = SettingParser;

    fn value_parser() -> SettingParser {
        SettingParser
    }
}

/// Parser of [`Setting`]. `help` ends the program with the table, as `--help` does: whatever else is
/// missing.
#[derive(Clone, Debug)]
pub struct SettingParser;

impl TypedValueParser for SettingParser {
    type Value = Setting;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Setting, clap::Error> {
        if value == "help" {
            // As the help of a command: a raw error would begin with `error:`.
            let help = Command::new("set").override_help(table());
            help.try_get_matches_from(["set", "--help"])?;
        }
        StringValueParser::new().try_map(|text| setting(&text)).parse_ref(command, arg, value)
    }
}

fn setting(text: &str) -> Result<Setting, String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE, or help")?;
    Params::default().set(name, value)?;
    Ok(Setting { name: name.to_owned(), value: value.to_owned() })
}

/// The table of all parameters that are set by name.
fn table() -> String {
    let mut out = String::from("Parameters of --set NAME=VALUE: name, default, allowed values, and what it decides.\n");
    for Threshold { name, default, range: [least, most], reason, .. } in Params::default().table() {
        out += &format!("\n{name} = {default} ({least} to {most})\n");
        wrap(&mut out, reason);
    }
    out.push('\n');
    wrap(&mut out, OTHERS);
    out
}

/// End of the table.
const OTHERS: &str = "Options of their own set the other parameters: --method and --selection, --fpr-max, \
                      --extend-to-domain, --platforms.";

/// Adds a text in lines of at most 100 characters, indented.
fn wrap(out: &mut String, text: &str) {
    let mut line = String::from("   ");
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > 100 {
            *out += &line;
            out.push('\n');
            line = String::from("   ");
        }
        line.push(' ');
        line += word;
    }
    *out += &line;
    out.push('\n');
}
