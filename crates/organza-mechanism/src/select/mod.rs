//! Private selection: which few coordinates or rows a step updates.
//!
//! Every selector is exact in distribution and costs what the touched rows and the selection cost,
//! never what the model is wide.

mod rules;
mod selection;

pub(crate) use rules::build;
pub use rules::{PassOrder, SelectionRule, SelectionSettings};
pub use selection::{Selection, Split};

use crate::random::PrivateRandom;
use crate::sample::Subset;
use crate::scores::{By, Candidates, Run};
use organza_ledger::Event;
use std::fmt::Debug;

/// What was selected: a released result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Everything, as in DP-SGD.
    All,
    /// These coordinates or rows, in ascending order.
    Some {
        /// What the numbers number.
        by: By,
        /// The selected ones.
        indices: Vec<u64>,
    },
}

/// A private selection rule with all its settings, made by a plan.
pub(crate) trait Selector: Debug + Send + Sync {
    /// What it chooses among; `None` if it takes everything.
    fn by(&self) -> Option<By>;

    /// Puts what is selected into `selected`, which is empty, in ascending order: by a mechanism whose
    /// privacy loss [`Selector::event`] states.
    fn select(
        &self,
        candidates: Candidates<'_>,
        random: &mut PrivateRandom,
        workspace: &mut Workspace,
        selected: &mut Vec<u64>,
    );

    /// The event of selecting once and then adding `noise` to what was selected, before sampling. A unit
    /// moves what gets the noise by at most the part `kept` of what it moves the whole vector.
    fn event(&self, noise: Event, kept: f64) -> Event;

    /// The same where the noise lies on dense tables too, whatever is selected: selection, and then noise on all that a unit
    /// may move. What a selection hides from the noise, it does not hide there.
    fn event_beside_dense(&self, noise: Event) -> Event {
        self.event(noise, 1.0)
    }

    /// The most coordinates that a selection can hold, of `coordinates` in rows of `widest` at most.
    fn most(&self, coordinates: u64, widest: u64) -> u64;

    /// Whether it looks at the data.
    fn looks(&self) -> bool {
        true
    }

    /// How many rows of a unit are counted, for rules that look at counts.
    fn rows_per_unit(&self) -> usize {
        0
    }

    /// Whether the event can state Laplace noise on each selected value.
    fn values(&self) -> bool {
        false
    }
}

/// Memory of selectors, used again from step to step; each empties what it uses.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    rows: Vec<u32>,
    touched: Vec<(u64, f64)>,
    runs: Vec<Run>,
    /// Candidates with noisy scores.
    noisy: Vec<(f64, u64)>,
    counts: Vec<(u32, u64)>,
    drawn: Subset,
}

impl Workspace {
    /// Memory for a list of rows.
    pub(crate) fn rows(&mut self) -> &mut Vec<u32> {
        &mut self.rows
    }
}

/// No selection: dense noise, as in DP-SGD.
#[derive(Debug)]
pub(crate) struct Everything;

impl Selector for Everything {
    fn by(&self) -> Option<By> {
        None
    }

    fn select(
        &self,
        _: Candidates<'_>,
        _: &mut PrivateRandom,
        _: &mut Workspace,
        _: &mut Vec<u64>,
    ) {
    }

    fn event(&self, noise: Event, _: f64) -> Event {
        noise
    }

    fn most(&self, coordinates: u64, _: u64) -> u64 {
        coordinates
    }
}

/// The most coordinates in `count` candidates.
fn most_of(by: By, count: u64, coordinates: u64, widest: u64) -> u64 {
    match by {
        By::Coordinate => count,
        By::Row => count.saturating_mul(widest),
    }
    .min(coordinates)
}
