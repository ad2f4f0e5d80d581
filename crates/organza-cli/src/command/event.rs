//! `organza event`: privacy events, checked and put into words.

use crate::{
    describe::{Tree, number},
    document::Document,
    input::Input,
    output::{GOOD, Output},
};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::{fmt, path::PathBuf};

const EXAMPLES: &str = "\
Examples:
  organza event check step.json
  echo '{\"gaussian\": {\"noise_multiplier\": 0.5}}' | organza event check -

An event is a JSON object with one key, its kind: gaussian, laplace, exponential, poisson, \
repeat, compose and so on. A question wraps one: {\"version\": 2, \"event\": ..., \
\"neighbouring\": \"add-remove\", \"accountant\": \"pld\", \"delta\": 1e-5}.";

/// Check privacy events and put them into words
#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub(crate) struct Event {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Check(Check),
}

/// Check an event, or a question about one, and say it in words
///
/// Every parameter is checked, all the way down. With --json the result is the same document in
/// its normal form: defaults filled in, fields in order.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
struct Check {
    /// The file, or - for standard input
    file: PathBuf,
}

impl Event {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        match self.action {
            Action::Check(check) => check.run(output),
        }
    }
}

impl Check {
    fn run(self, output: &Output) -> anyhow::Result<()> {
        let input = Input::read(&self.file)?;
        output.detail(format_args!("read {} bytes from {}", input.text.len(), input.name));
        let document = Document::from_input(&input)?;
        if document.asks_nothing() {
            output.note("the question asks nothing yet: give it `delta` or `epsilon`");
        }
        output.result(&Checked { name: input.name, document })
    }
}

/// A document that passed, and its source.
#[derive(Serialize)]
#[serde(transparent)]
struct Checked {
    #[serde(skip)]
    name: String,
    document: Document,
}

impl fmt::Display for Checked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, document } = self;
        let kind = document.kind();
        writeln!(formatter, "{name}: {GOOD}a valid {kind}{GOOD:#}\n")?;
        write!(formatter, "{}", Tree(document.event()))?;
        let Document::Question(question) = document else { return Ok(()) };
        writeln!(formatter, "\nneighbouring  {}", question.neighbouring)?;
        writeln!(formatter, "accountant    {}", question.accountant)?;
        match (question.delta, question.epsilon) {
            (Some(delta), _) => {
                writeln!(formatter, "asks for      epsilon at delta {}", number(delta))
            }
            (_, Some(epsilon)) => {
                writeln!(formatter, "asks for      delta at epsilon {}", number(epsilon))
            }
            (None, None) => Ok(()),
        }
    }
}
