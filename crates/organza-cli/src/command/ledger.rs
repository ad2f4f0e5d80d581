//! `organza ledger`: one budget for all runs on a data set.

use crate::describe::number;
use crate::digits::{below, cost};
use crate::names::named;
use crate::output::{GOOD, Output};
use clap::{Args, Subcommand};
use organza_ledger::{
    DataSet, DataSetLedger, Event, Header, KeyFingerprint, LedgerSettings, Neighbouring,
    SharedTotal, Unit,
};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

const ABOUT: &str = "\
One budget for all runs on a data set

A ledger of a data set is a file that `organza train`, `linear`, `tune` and `compare` take with --ledger. Each run reserves \
its whole --epsilon and --delta there before it releases anything, and is refused if the sums would exceed \
what `create` fixed. A run that goes on after it was stopped does not pay again; one that is never finished keeps its \
share. Several processes may use the file at the same time.

Epsilons and deltas are added, because the settings of a run are chosen by someone who has seen the runs before it: \
tight composition does not cover that. So give runs a --delta well below that of the ledger.

The file holds the name that you give, budgets, and a public name of each run's key: nothing of the data. It must be kept: a \
lost or older copy forgets what was spent.";

const EXAMPLES: &str = "\
Examples:
  organza ledger create reviews.ledger --dataset reviews --epsilon 8 --delta 1e-5
  organza train --data reviews.txt --epsilon 3 --ledger reviews.ledger
  organza ledger show reviews.ledger";

/// One budget for all runs on a data set
#[derive(Args, Debug)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
pub(crate) struct Ledger {
    #[command(subcommand)]
    ask: Ask,
}

/// The ledger of the data set, for every command that makes runs.
#[derive(Args, Debug)]
pub(super) struct LedgerOptions {
    /// The ledger of the data set, made by `organza ledger create`: its runs share one budget, and this one is
    /// refused if there is not enough left
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// The name that the data set of the ledger must have
    #[arg(long, value_name = "NAME", requires = "ledger")]
    dataset: Option<String>,
}

impl LedgerOptions {
    /// What was given.
    pub(super) fn settings(&self) -> Option<LedgerSettings> {
        let (path, dataset) = (self.ledger.clone()?, self.dataset.clone());
        Some(LedgerSettings { path, dataset })
    }
}

#[derive(Debug, Subcommand)]
enum Ask {
    Create(Create),
    Show(Show),
}

/// Make the ledger of a data set, and fix what all runs together may spend
#[derive(Args, Debug)]
struct Create {
    /// The file to make
    file: PathBuf,
    /// The name of the data set, as you call it
    #[arg(long, value_name = "NAME")]
    dataset: String,
    /// What all runs together may spend
    #[arg(long)]
    epsilon: f64,
    /// The sum of the deltas of all runs
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// What is protected as one, by every run
    #[arg(
        long,
        default_value = "line",
        value_parser = named::<Unit>(["pair", "line", "document", "user", "record", "group"])
    )]
    unit: Unit,
    /// What neighbouring data sets are, for every run
    #[arg(
        long,
        value_name = "RELATION",
        default_value = "add-remove",
        value_parser = named::<Neighbouring>(["add-remove", "replace-one"])
    )]
    neighbouring: Neighbouring,
}

/// Show what each run has reserved, the total, and what is left
#[derive(Args, Debug)]
struct Show {
    /// The ledger of a data set
    file: PathBuf,
}

impl Ledger {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let ledger = match self.ask {
            Ask::Create(Create { file, dataset: name, epsilon, delta, unit, neighbouring }) => {
                let header = Header::new(neighbouring, unit, delta);
                DataSetLedger::create(&file, header, DataSet { name, epsilon })?
            }
            Ask::Show(Show { file }) => DataSetLedger::open(&file)?,
        };
        output.result(&Shown::new(&ledger)?)
    }
}

/// What stands on the ledger of a data set.
#[derive(Debug, Serialize)]
struct Shown {
    unit: Unit,
    neighbouring: Neighbouring,
    runs: Vec<Row>,
    total: SharedTotal,
    epsilon_left: f64,
    delta_left: f64,
}

/// What a run has reserved.
#[derive(Debug, Serialize)]
struct Row {
    key: Option<KeyFingerprint>,
    purpose: String,
    epsilon: f64,
    delta: f64,
}

impl Shown {
    fn new(ledger: &DataSetLedger) -> anyhow::Result<Self> {
        let Header { unit, neighbouring, delta, .. } = *ledger.header();
        let DataSet { name, epsilon } = ledger.dataset().clone();
        let mut total = SharedTotal {
            dataset: name,
            runs: 0,
            epsilon: 0.0,
            delta: 0.0,
            epsilon_budget: epsilon,
            delta_budget: delta,
        };
        let mut runs = Vec::new();
        for (charge, so_far) in ledger.shares()? {
            if let Event::Approximate { epsilon, delta } = charge.event {
                runs.push(Row { key: charge.key, purpose: charge.purpose, epsilon, delta });
            }
            total = so_far;
        }
        let left = |budget: f64, taken: f64| below((budget - taken).max(0.0), 9);
        let epsilon_left = left(epsilon, total.epsilon);
        let delta_left = left(delta, total.delta);
        Ok(Self { unit, neighbouring, runs, total, epsilon_left, delta_left })
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unit, neighbouring, runs, total, epsilon_left, delta_left } = self;
        writeln!(formatter, "{GOOD}{total}{GOOD:#}")?;
        writeln!(formatter, "for each {unit} ({neighbouring}); epsilons and deltas are added\n")?;
        if !runs.is_empty() {
            writeln!(formatter, "{:10}{:24}{:>10}{:>12}", "run", "what", "epsilon", "delta")?;
        }
        for Row { key, purpose, epsilon, delta } in runs {
            // The beginning of the name that the charges of the run carry on its own ledger.
            let key = key.map_or(String::new(), |key| key.to_string().chars().take(8).collect());
            let (epsilon, delta) = (cost(*epsilon), cost(*delta));
            writeln!(formatter, "{key:10}{purpose:24}{epsilon:>10}{delta:>12}")?;
        }
        let (epsilon, delta) = (number(*epsilon_left), number(*delta_left));
        writeln!(formatter, "{:34}{epsilon:>10}{delta:>12}", "left")
    }
}
