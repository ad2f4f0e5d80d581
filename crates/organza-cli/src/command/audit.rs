//! `organza audit`: what a trained model gives away, seen from outside.

use crate::output::Output;
use clap::Args;
use organza_audit::{Among, AuditOptions, audit};
use organza_train::RunFolder;
use std::path::PathBuf;

const PROMISE: &str = "\
Audit word embeddings or a typeahead that were trained with canaries

Three kinds of evidence: the ranks of phrases that were inserted several times (--canaries), beside \
phrases that never were; a lower bound on epsilon from phrases inserted once or not, each by a fair coin \
(--tossed-canaries); and, of word embeddings, the gap between training and test loss. The result is printed and written to \
audit.json and audit.html in the folder of the run.

Canaries are synthetic and the model of a private run is private, so ranks and the bound cost nothing. \
Losses are not private, and are marked.

No audit replaces the account: finding nothing proves nothing. A lower bound above the promised epsilon \
does prove something, at its confidence.";

const EXAMPLES: &str = "\
Examples:
  organza train --canaries 1000 --canary-repeats 9 --tossed-canaries 2000 --out run
  organza audit run
  organza audit run --exact --json
  organza typeahead --canaries 1000 --canary-repeats 9 --tossed-canaries 2000 --out keyboard
  organza audit keyboard";

/// Audit a run that was trained with canaries
#[derive(Args, Debug)]
#[command(long_about = PROMISE, after_help = EXAMPLES)]
pub(crate) struct Audit {
    /// The folder of a finished run
    run: PathBuf,
    /// Rank each phrase among this many random ones
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000, conflicts_with = "exact")]
    continuations: u64,
    /// Rank each phrase among all that begin with its first word
    #[arg(long)]
    exact: bool,
}

impl Audit {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let among = if self.exact { Among::All } else { Among::Sampled(self.continuations) };
        let report = audit(&self.run, AuditOptions { among })?;
        report.write(&RunFolder::open(&self.run)?)?;
        output.result(&report)
    }
}
