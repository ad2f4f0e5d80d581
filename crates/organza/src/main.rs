//! The `organza` command line tool.
#![forbid(unsafe_code)]

mod arguments;
mod command;
mod describe;
mod document;
mod input;
mod neighbours;
mod output;

use crate::{arguments::Arguments, output::Output};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_command_line();
    let output = Output::new(&arguments.output);
    match arguments.command.run(&output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output.failure(&error),
    }
}
