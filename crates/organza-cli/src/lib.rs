//! The `organza` command line tool, and the door by which the Python package runs its commands.
//!
//! A program that has data at hand runs a command by [`run_on`]: flags say what to do, as they do on the command line, and the
//! data comes from the program. So the same flags and the same seed give the same bits from wherever they come.
#![forbid(unsafe_code)]

mod answer;
mod arguments;
mod caller;
mod canaries;
mod command;
mod curves;
mod document;
mod files;
mod group;
mod handed;
mod input;
mod memory;
mod names;
mod neighbours;
mod output;
mod position;
mod progress;
mod running;
pub mod shard;
mod stages;
mod summary;
mod text;
mod training;
mod usage;
pub mod workers;

pub use caller::Caller;
pub use handed::HandedData;
pub use running::page;
pub use usage::UsageError;

use crate::{arguments::Arguments, output::Output};
use organza_report::{chart, describe, digits};
use std::ffi::OsString;
use std::sync::Arc;

/// Does what the command line asks for, and gives the exit code; on wrong usage it ends the program.
pub fn main(words: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = Arguments::from_command_line(words.into_iter().collect());
    let output = Output::new(&arguments.output);
    match arguments.command.run(&output) {
        Ok(()) => 0,
        Err(error) => output.failure(&error),
    }
}

/// Runs a command on data that a program hands over; nothing is printed, and the program ends by itself.
///
/// # Errors
/// What is wrong with the flags or the data, or that `caller` stopped it.
pub fn run_on(
    words: impl IntoIterator<Item = OsString>,
    handed: HandedData,
    caller: Arc<Caller>,
) -> anyhow::Result<()> {
    let arguments = Arguments::parsed(words.into_iter().collect())?;
    let output = Output::for_program(&arguments.output, caller);
    arguments.command.run_on(handed, &output)
}
