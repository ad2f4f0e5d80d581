//! The commands: one file each, one arm each.

mod account;
mod calibrate;
mod completions;
mod event;

use crate::output::Output;
use clap::Subcommand;

/// What the tool can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Account(account::Account),
    Calibrate(calibrate::Calibrate),
    Event(event::Event),
    Completions(completions::Completions),
}

impl Command {
    /// Does it.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        match self {
            Self::Account(command) => command.run(output),
            Self::Calibrate(command) => command.run(output),
            Self::Event(command) => command.run(output),
            Self::Completions(command) => command.run(output),
        }
    }
}
