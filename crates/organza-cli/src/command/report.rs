//! `organza report`: the page of a run, made again.

use crate::output::{GOOD, Output};
use crate::running::page;
use crate::summary::REPORT;
use clap::Args;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  organza report run
  xdg-open run/report.html

To publish a page, delete run/metrics.jsonl, run/summary.json and run/outcome.json first, which are not private, \
with run/figures and run/tables: the page is then made without them.";

/// Make the page of a finished run again
///
/// report.html shows what is promised, what was learned and where the budget went. It is
/// one file that needs no other. Each figure is written to figures/ as SVG, each table to tables/ as
/// CSV. All of it comes from the files in the folder of the run; the data is not read.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Report {
    /// The folder of a finished run
    run: PathBuf,
}

impl Report {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let page = page(&self.run)?;
        page.write(&self.run, REPORT)?;
        let report = self.run.join(REPORT);
        let private = page.is_private();
        output.result(&Written { report, private })
    }
}

/// What was written.
#[derive(Serialize)]
struct Written {
    report: PathBuf,
    /// Whether all that it shows is private.
    private: bool,
}

impl fmt::Display for Written {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.report.display();
        let mark = if self.private {
            ""
        } else {
            ", which is not private: it is for those who hold the data"
        };
        writeln!(formatter, "{GOOD}wrote {report}{GOOD:#}{mark}")
    }
}
