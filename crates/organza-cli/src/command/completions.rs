//! `organza completions`: a completion script for a shell.

use crate::{arguments::Arguments, output::Output};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde::Serialize;
use std::fmt;

const EXAMPLES: &str = "\
Examples:
  organza completions bash > ~/.local/share/bash-completion/completions/organza
  organza completions zsh  > ~/.zfunc/_organza        (with ~/.zfunc in $fpath)
  organza completions fish > ~/.config/fish/completions/organza.fish";

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        // Into memory first: the generator panics where a write fails, and pipes do close early.
        let mut bytes = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "organza", &mut bytes);
        let script = String::from_utf8(bytes)?;
        output.result(&Script { shell: self.shell.to_string(), script })
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
