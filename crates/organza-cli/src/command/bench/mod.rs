//! `organza bench`: what a step costs on this machine.

mod measured;
mod sweep;

use crate::output::Output;
use clap::Args;
use organza_mechanism::SelectionRule;
use organza_words::settings::Method;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use sweep::Sweep;

const ABOUT: &str = "\
Measure what a step costs on this machine, without data

One table of --vocabulary x --dim parameters serves both roles, as in the paper. Each of 200,000 made-up \
samples has a target, a context word and 8 negatives, which all follow Zipf's law. The steps are those of \
training; the median of their times is shown, after a warm-up.

A sweep measures widths from 1,000 rows to --vocabulary, each in a process of its own.";

const EXAMPLES: &str = "\
Examples:
  organza bench --method sparse --draws 100 --vocabulary 100000 --dim 100
  organza bench --method dpsgd --optimizer sgd --vocabulary 10000000 --dim 64
  organza bench --method dpsgd --optimizer sgd --vocabulary 100000000 --dim 64 --tables-on-disk /data
  organza bench --sweep --svg width.svg";

/// Measure what a step costs on this machine, without data
#[derive(Args, Clone, Debug)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
pub(crate) struct Bench {
    #[command(flatten)]
    what: What,
    /// Measure all widths from 1,000 rows to --vocabulary, and all methods unless one is named
    #[arg(long, help_heading = "Sweep")]
    sweep: bool,
    /// Draw the sweep as SVG into this file
    #[arg(long, value_name = "FILE", requires = "sweep", help_heading = "Sweep")]
    svg: Option<PathBuf>,
    /// Draw the lines of other tools beside it: JSON, {"name": [[rows, milliseconds], ...], ...}
    #[arg(long, value_name = "FILE", requires = "svg", help_heading = "Sweep")]
    beside: Option<PathBuf>,
}

/// What is measured.
#[derive(Args, Clone, Debug)]
struct What {
    /// No privacy, noise on everything, or private selection first [default: sparse; all in a sweep]
    #[arg(long, value_parser = crate::names::method_parser())]
    method: Option<Method>,
    /// How `sparse` selects
    #[arg(long, value_name = "RULE", default_value = "exponential", value_parser = crate::names::rule_parser())]
    select: SelectionRule,
    /// How many coordinates `sparse` selects in a step
    #[arg(long, default_value_t = 100)]
    draws: u64,
    /// The rows of the table [default: 100,000; 10,000,000 in a sweep]
    #[arg(long, value_name = "ROWS")]
    vocabulary: Option<u64>,
    /// How many of the rows occur, evenly spread, so that width alone shows [default: all]
    #[arg(long, value_name = "NUMBER")]
    words: Option<u64>,
    /// The length of a row [default: 100; 64 in a sweep]
    #[arg(long)]
    dim: Option<usize>,
    /// The expected number of samples in a batch
    #[arg(long, value_name = "SAMPLES", default_value_t = 20.0)]
    batch: f64,
    /// How many steps are measured, at the most
    #[arg(long, default_value_t = 2_000)]
    steps: u64,
    /// How many steps come before them, at the most
    #[arg(long, value_name = "STEPS", default_value_t = 300)]
    warmup: u64,
    /// Stop measuring after this long, but make at least three steps
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    seconds: f64,
    /// How many threads
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    threads: NonZeroUsize,
    /// Keep the tables in a file in this folder, for those that are larger than memory, and measure the export as well
    #[arg(long, value_name = "FOLDER", conflicts_with = "sweep")]
    tables_on_disk: Option<PathBuf>,
    /// How parameters move [default: adam; in a sweep sgd for dpsgd]
    #[arg(long, value_parser = crate::names::optimizer_parser())]
    optimizer: Option<organza_train::OptimizerName>,
}

impl Bench {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        if self.sweep {
            let sweep = Sweep::measure(&self, output)?;
            if let Some(path) = &self.svg {
                sweep.draw(path, self.beside.as_deref())?;
            }
            return output.result(&sweep);
        }
        output.result(&self.what.measure()?)
    }
}
