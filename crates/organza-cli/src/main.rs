//! The `organza` command line tool.
#![forbid(unsafe_code)]

mod answer;
mod arguments;
mod canaries;
mod command;
mod curves;
mod document;
mod files;
mod group;
mod input;
mod memory;
mod names;
mod neighbours;
mod output;
mod position;
mod progress;
mod running;
mod stages;
mod summary;
mod text;
mod training;
mod usage;

use crate::{arguments::Arguments, output::Output};
use organza_report::{chart, describe, digits};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_command_line();
    let output = Output::new(&arguments.output);
    match arguments.command.run(&output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output.failure(&error),
    }
}
