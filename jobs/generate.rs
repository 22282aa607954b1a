//! `undust generate`: man pages and shell completions, made from the command line that the jobs
//! declare.

use std::path::PathBuf;

use clap::{Args, Command, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;
use undust::io::output::{atomic_write, make_folder};

use crate::failure::Failure;
use crate::messages::data;
use crate::outputs::refuse_to_replace;
use crate::quiet::Quiet;

/// Writes man pages, or completions for a shell.
#[derive(Args, Debug)]
pub struct GenerateArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Man(ManArgs),
    Completions(CompletionsArgs),
}

/// Writes a man page for undust and one for each job: undust.1, undust-learn.1, and so on.
#[derive(Args, Debug)]
struct ManArgs {
    /// Folder for the pages; made where it is not there.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Replaces pages that are there.
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    quiet: Quiet,
}

/// Writes the completions of a shell to standard output.
///
/// Where they go: bash, ~/.local/share/bash-completion/completions/undust; zsh, a file _undust in a
/// folder of $fpath; fish, ~/.config/fish/completions/undust.fish; elvish and PowerShell, the file that
/// the shell runs at its start.
#[derive(Args, Debug)]
struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Runs the job.
///
/// # Errors
/// A page that exists already, and the error of the system.
pub fn run(args: GenerateArgs, mut command: Command) -> Result<(), Failure> {
    match args.what {
        What::Man(args) => man(&args, command),
        What::Completions(CompletionsArgs { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, env!("CARGO_PKG_NAME"), &mut script);
            data(&script).map_err(Failure::stdout)
        }
    }
}

fn man(args: &ManArgs, command: Command) -> Result<(), Failure> {
    let mut pages = Vec::new();
    collect(&built(command), &mut pages)?;
    let paths = || pages.iter().map(|(name, page)| (args.dir.join(name), page));
    if !args.overwrite {
        paths().try_for_each(|(path, _)| refuse_to_replace(&path))?;
    }
    make_folder(&args.dir)?;
    for (path, page) in paths() {
        atomic_write(&path, |file| file.write_all(page))?;
    }
    args.quiet.say(format_args!("{} man pages: {}", pages.len(), args.dir.display()));
    Ok(())
}

/// The whole command line; each job has its full name.
fn built(command: Command) -> Command {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    command
}

/// Adds the pages of a command and of those below it: file names and texts.
fn collect(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), Failure> {
    let page = Man::new(command.clone());
    let (name, mut text) = (page.get_filename(), Vec::new());
    page.render(&mut text)?;
    pages.push((name, text));
    command.get_subcommands().filter(|below| !below.is_hide_set()).try_for_each(|below| collect(below, pages))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let mut pages = Vec::new();
        collect(&built(crate::Cli::command()), &mut pages).unwrap();
        let page = |name: &str| {
            let found = pages.iter().find(|(of, _)| of == name).unwrap_or_else(|| panic!("no {name}"));
            String::from_utf8(found.1.clone()).unwrap()
        };
        assert!(page("undust.1").contains("EXIT CODES") || page("undust.1").contains("Exit codes"));
        assert!(page("undust-learn.1").contains("\\-\\-train\\-max"));
        assert!(page("undust-rules-seen.1").contains("undust\\-rules\\-seen"));
        let mut names: Vec<&String> = pages.iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), pages.len());
    }
}
