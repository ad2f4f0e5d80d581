//! What all runs in a folder cost together, whoever began them and when.

use super::grids::Grid;
use crate::settings::Settings;
use organza_accountant::Accountant;
use organza_ledger::{Account, AccountError, Charge, LedgerError, Neighbouring, Replay, Unit};
use organza_report::digits::cost;
use organza_train::FolderError;
use serde::Serialize;
use std::path::Path;
use thiserror::Error;

/// The price of a folder of runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Total {
    /// All private runs; none if there are none, or if they protect different things.
    #[serde(flatten)]
    pub price: Option<Price>,
    /// The private runs.
    pub runs: usize,
    /// Those among them that the last command did not begin.
    pub earlier: usize,
    /// Runs that promise nothing: without privacy, with a seed, or with settings that cannot be read.
    pub without_guarantee: usize,
}

/// A bound on a privacy loss, and the probability of exceeding it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Price {
    /// The bound.
    pub epsilon: f64,
    /// The probability.
    pub delta: f64,
}

/// Why a folder of runs has no price.
#[derive(Debug, Error)]
pub enum TotalError {
    /// It cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A ledger in it cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A ledger in it cannot be priced.
    #[error(transparent)]
    Account(#[from] AccountError),
}

/// A private run, finished or not.
struct Run {
    /// The number of the grid that it belongs to.
    grid: Option<usize>,
    ledger: Replay,
    /// What it may still come to, or might have come to had other numbers been released; none if its events were
    /// all fixed beforehand and it is finished, or if it has no budget.
    budget: Option<f64>,
}

impl Total {
    /// Prices every ledger in the folders of `folder`.
    ///
    /// # Privacy
    /// The choice of a model, and of settings, is a function of all models, so it costs what all of them cost. Runs
    /// that one command fixed together are priced jointly at the least of their deltas, or at their
    /// sum where events have a delta of their own that leaves nothing of the least, or where the account refuses by
    /// adding up epsilons and deltas. What one command began after the results of another was chosen by someone who
    /// has seen them, for which tight composition does not hold, so grids are added up, epsilons and deltas: the proof
    /// is that of [`DataSetLedger`](organza_ledger::DataSetLedger). A run that was never finished counts with its
    /// whole budget, since when it was stopped may depend on what it released; without a budget (a noise multiplier)
    /// with what it has charged, which holds if it was stopped for another reason. So does a run in which a release decided
    /// what later events are ([`Event::decides`](organza_ledger::Event::decides)): its budget holds for every outcome.
    ///
    /// # Errors
    /// If a file cannot be read or an event cannot be priced.
    pub fn of(folder: &Path) -> Result<Self, TotalError> {
        let grids = Grid::read(folder);
        let mut runs = Vec::new();
        let mut total = Self { price: None, runs: 0, earlier: 0, without_guarantee: 0 };
        for entry in std::fs::read_dir(folder).map_err(FolderError::file("read", folder))? {
            let path = entry.map_err(FolderError::file("read", folder))?.path();
            let ledger = path.join("ledger.jsonl");
            let settings = std::fs::read(path.join("settings.json")).ok();
            if settings.is_none() && !ledger.exists() {
                continue;
            }
            let settings = settings.and_then(|it| serde_json::from_slice::<Settings>(&it).ok());
            let private = settings.filter(|it| it.seed.is_none() && ledger.exists());
            let Some(settings) = private else {
                total.without_guarantee += 1;
                continue;
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let ledger = Replay::read(&ledger)?;
            let decided = ledger.charges.iter().any(|charge| charge.event.decides());
            let finished = path.join("certificate.json").exists() && !decided;
            runs.push(Run {
                grid: grids.iter().position(|grid| grid.has(&name, &settings)),
                ledger,
                budget: settings.privacy.epsilon.filter(|_| !finished),
            });
        }
        let last = grids.len().checked_sub(1);
        total.runs = runs.len();
        total.earlier = runs.iter().filter(|run| run.grid.is_none() || run.grid != last).count();
        total.price = sum(&runs, grids.len())?;
        Ok(total)
    }

    /// What is promised of all private runs together, and where that comes from.
    pub fn in_words(&self) -> String {
        let Self { price, runs, without_guarantee, .. } = *self;
        let mut words = match price {
            Some(Price { epsilon, delta }) => format!(
                "{} together: epsilon {} at delta {}",
                super::counted(runs, "private run"),
                cost(epsilon),
                cost(delta)
            ),
            None if runs == 0 => "nothing is promised".to_owned(),
            None => format!(
                "{} that protect different things have no total",
                super::counted(runs, "run")
            ),
        };
        if price.is_some() {
            words += &self.earlier_in_words();
        }
        if without_guarantee > 0 {
            let runs = super::counted(without_guarantee, "run");
            words += &format!("; nothing is promised of {runs} without privacy or with a seed");
        }
        words
    }

    /// How many runs the last command found in the folder, if any.
    pub fn earlier_in_words(&self) -> String {
        match self.earlier {
            0 => String::new(),
            earlier => format!(", {earlier} of them from earlier commands in this folder"),
        }
    }
}

/// All grids and single runs, added up; none if there is nothing, or no one thing, to add.
fn sum(runs: &[Run], grids: usize) -> Result<Option<Price>, AccountError> {
    let promise = |run: &Run| (run.ledger.header.unit, run.ledger.header.neighbouring);
    let Some(first) = runs.first().map(promise) else { return Ok(None) };
    if runs.iter().any(|run| promise(run) != first) {
        return Ok(None);
    }
    let mut all = Price { epsilon: 0.0, delta: 0.0 };
    let mut add = |part: &[&Run]| -> Result<(), AccountError> {
        let price = together(part, first)?;
        all = Price { epsilon: all.epsilon + price.epsilon, delta: all.delta + price.delta };
        Ok(())
    };
    for grid in 0..grids {
        let part: Vec<&Run> = runs.iter().filter(|run| run.grid == Some(grid)).collect();
        if !part.is_empty() {
            add(&part)?;
        }
    }
    for run in runs.iter().filter(|run| run.grid.is_none()) {
        add(&[run])?;
    }
    Ok(Some(all))
}

/// Runs that were fixed together.
fn together(runs: &[&Run], (_, neighbouring): (Unit, Neighbouring)) -> Result<Price, AccountError> {
    let account = Accountant::new(neighbouring);
    let price = |runs: &[&Run], delta: f64| {
        let events = Charge::events(runs.iter().flat_map(|run| &run.ledger.charges));
        Account::epsilon(&account, &events, delta).map(|epsilon| Price { epsilon, delta })
    };
    let deltas = || runs.iter().map(|run| run.ledger.header.delta);
    let sum = deltas().sum();
    if runs.iter().all(|run| run.budget.is_none()) {
        let least = deltas().fold(f64::INFINITY, f64::min);
        if let Some(price) = [least, sum].into_iter().find_map(|delta| price(runs, delta).ok()) {
            return Ok(price);
        }
    }
    let mut epsilon = 0.0;
    for run in runs {
        let spent = price(&[run], run.ledger.header.delta)?.epsilon;
        epsilon += run.budget.map_or(spent, |budget| spent.max(budget));
    }
    Ok(Price { epsilon, delta: sum })
}

#[cfg(test)]
mod tests;
