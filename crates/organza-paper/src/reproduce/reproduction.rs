//! What came out: `reproduction.json`.

use super::claims::{Claim, of_figure_1, of_figure_2, of_others};
use super::compared::Others;
use super::nearest::{Ended, Nearest};
use super::plan::REPEATS;
use super::printed::{self, DISTANCES, Distance};
use organza_audit::{AuditReport, RankSummary};
use organza_train::metrics::Point;
use organza_words::suite::Outcome;
use serde::Serialize;

/// The version of `reproduction.json`.
const VERSION: u64 = 1;

/// A panel of Figure 1.
#[derive(Clone, Debug, Serialize)]
pub struct Panel {
    /// Which.
    pub name: &'static str,
    /// What the paper says it costs.
    pub printed_epsilon: Option<f64>,
    /// How it ended.
    #[serde(flatten)]
    pub ended: Ended,
    /// The learning curve. *Not private.*
    pub curve: Vec<Point>,
}

/// A column of a row of Figure 2.
#[derive(Clone, Debug, Serialize)]
pub struct Canary {
    /// The column.
    pub column: &'static str,
    /// How often each phrase was inserted (n_c).
    pub repeats: u64,
    /// What was spent, by the tight account.
    pub epsilon: Option<f64>,
    /// Phrases that were inserted.
    pub inserted: RankSummary,
    /// Phrases that were never inserted, on the same model.
    pub control: RankSummary,
    /// What the paper prints of them.
    pub printed: Distance,
    /// What the paper prints of phrases that were never inserted.
    pub printed_control: Distance,
}

/// The sparse method at the paper's budget, by the tight account.
#[derive(Clone, Debug, Serialize)]
pub struct Tight {
    /// The share of the budget that selection has.
    pub share: f64,
    /// What was changed, in words.
    pub setting: String,
    /// Chosen among its neighbours on the validation set.
    pub chosen: bool,
    /// The noise.
    pub noise_multiplier: Option<f64>,
    /// The bounded range of a draw.
    pub selection_epsilon: Option<f64>,
    /// How it ended.
    #[serde(flatten)]
    pub ended: Ended,
}

/// All that came out. Everything but the epsilons is *not private*, and with its seed nothing is.
#[derive(Debug, Serialize)]
pub struct Reproduction {
    version: u64,
    /// Whether runs were shortened.
    pub quick: bool,
    /// The seed of all runs.
    pub seed: u64,
    /// Whether the paper's claims hold.
    pub claims: Vec<Claim>,
    /// Figure 1.
    pub figure1: Vec<Panel>,
    /// Figure 2.
    pub figure2: Vec<Canary>,
    /// The search for the nearest settings at which the paper's claim holds.
    pub nearest: Option<Nearest>,
    /// The same method with all of its budget.
    pub tight: Vec<Tight>,
    /// The two systems that the paper compares itself with.
    pub compared: Option<Others>,
    not_private: [&'static str; 6],
}

impl Panel {
    pub(crate) fn new(name: &'static str, outcome: Outcome) -> Self {
        let (printed_epsilon, ended) = (printed::epsilon(name), Ended::new(&outcome));
        Self { name, printed_epsilon, ended, curve: outcome.curve }
    }
}

impl Canary {
    /// Of the audit of a run; the column is counted as in the paper's table.
    pub(crate) fn new(
        (column, place): (&'static str, usize),
        repeats: u64,
        audit: AuditReport,
    ) -> Option<Self> {
        let ranks = audit.ranks?;
        let row = DISTANCES[REPEATS.iter().position(|it| *it == repeats)?];
        Some(Self {
            column,
            repeats,
            epsilon: audit.promise.epsilon,
            inserted: ranks.inserted,
            control: ranks.control,
            printed: row[place],
            printed_control: row[3],
        })
    }
}

impl Reproduction {
    /// Nothing yet.
    pub fn new(quick: bool, seed: u64) -> Self {
        Self {
            version: VERSION,
            quick,
            seed,
            claims: Vec::new(),
            figure1: Vec::new(),
            figure2: Vec::new(),
            nearest: None,
            tight: Vec::new(),
            compared: None,
            not_private: ["claims", "figure1", "figure2", "nearest", "tight", "compared"],
        }
    }

    /// Holds the paper's claims against what came out.
    pub fn judge(&mut self) {
        self.claims = of_figure_1(&self.figure1);
        self.claims.extend(of_figure_2(&self.figure2));
        self.claims.extend(self.compared.iter().flat_map(of_others));
    }
}
