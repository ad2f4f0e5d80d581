//! `organza completions`: a completion script for a shell.

use crate::{arguments::Arguments, output::Output};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;
use serde::Serialize;
use std::fmt;

const EXAMPLES: &str = "\
Examples:
  organza completions bash > ~/.local/share/bash-completion/completions/organza
  organza completions zsh  > ~/.zfunc/_organza        (with ~/.zfunc in $fpath)
  organza completions fish > ~/.config/fish/completions/organza.fish
  organza completions man  > ~/.local/share/man/man1/organza.1";

/// Print a completion script for a shell, or the manual page
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell, or `man` for the manual page
    #[arg(value_parser = shells())]
    shell: String,
}

/// What there is a text for.
fn shells() -> PossibleValuesParser {
    let shells = Shell::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(shells.chain([PossibleValue::new("man")]))
}

impl Completions {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        // Into memory first: the generator panics where a write fails, and pipes do close early.
        let mut bytes = Vec::new();
        let mut command = Arguments::command();
        match self.shell.parse::<Shell>() {
            Ok(shell) => clap_complete::generate(shell, &mut command, "organza", &mut bytes),
            Err(_) => clap_mangen::Man::new(command).render(&mut bytes)?,
        }
        let script = String::from_utf8(bytes)?;
        output.result(&Script { shell: self.shell, script })
    }
}

#[derive(Serialize)]
struct Script {
    shell: String,
    script: String,
}

impl fmt::Display for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.script)
    }
}
