//! What came out: `reproduction.json`, and the same for people.

use super::claims::{Claim, of_figure_1, of_figure_2};
use super::nearest::{Ended, Nearest};
use super::plan::REPEATS;
use super::printed::{self, DISTANCES, Distance};
use crate::output::{DOUBT, GOOD};
use crate::suite::Outcome;
use organza_audit::{AuditReport, RankSummary};
use organza_train::metrics::Point;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// The version of `reproduction.json`.
const VERSION: u64 = 1;

/// A panel of Figure 1.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Panel {
    pub(super) name: &'static str,
    /// What the paper says it costs.
    pub(super) printed_epsilon: Option<f64>,
    #[serde(flatten)]
    pub(super) ended: Ended,
    /// The learning curve. *Not private.*
    pub(super) curve: Vec<Point>,
}

/// A column of a row of Figure 2.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Canary {
    pub(super) column: &'static str,
    pub(super) repeats: u64,
    pub(super) epsilon: Option<f64>,
    pub(super) inserted: RankSummary,
    /// Phrases that were never inserted, on the same model.
    pub(super) control: RankSummary,
    pub(super) printed: Distance,
    pub(super) printed_control: Distance,
}

/// The sparse method at the paper's budget, by the tight account.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Tight {
    /// The share of the budget that selection has.
    pub(super) share: f64,
    pub(super) setting: String,
    /// Chosen among its neighbours on the validation set.
    pub(super) chosen: bool,
    pub(super) noise_multiplier: Option<f64>,
    pub(super) selection_epsilon: Option<f64>,
    #[serde(flatten)]
    pub(super) ended: Ended,
}

/// All that came out. Everything but the epsilons is *not private*, and with its seed nothing is.
#[derive(Debug, Serialize)]
pub(super) struct Reproduction {
    version: u64,
    pub(super) quick: bool,
    pub(super) seed: u64,
    /// Whether the paper's claims hold.
    pub(super) claims: Vec<Claim>,
    pub(super) figure1: Vec<Panel>,
    pub(super) figure2: Vec<Canary>,
    pub(super) nearest: Option<Nearest>,
    pub(super) tight: Vec<Tight>,
    not_private: [&'static str; 5],
    #[serde(skip)]
    folder: PathBuf,
}

impl Panel {
    pub(super) fn new(name: &'static str, outcome: Outcome) -> Self {
        let (printed_epsilon, ended) = (printed::epsilon(name), Ended::new(&outcome));
        Self { name, printed_epsilon, ended, curve: outcome.curve }
    }
}

impl Canary {
    /// Of the audit of a run; the column is counted as in the paper's table.
    pub(super) fn new(
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
    pub(super) fn new(folder: &Path, quick: bool, seed: u64) -> Self {
        Self {
            version: VERSION,
            quick,
            seed,
            claims: Vec::new(),
            figure1: Vec::new(),
            figure2: Vec::new(),
            nearest: None,
            tight: Vec::new(),
            not_private: ["claims", "figure1", "figure2", "nearest", "tight"],
            folder: folder.to_owned(),
        }
    }

    /// Holds the paper's claims against what came out.
    pub(super) fn judge(&mut self) {
        self.claims = of_figure_1(&self.figure1);
        self.claims.extend(of_figure_2(&self.figure2));
    }
}

impl fmt::Display for Reproduction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.quick {
            writeln!(
                formatter,
                "{DOUBT}shortened by --quick: these figures mean nothing{DOUBT:#}\n"
            )?;
        }
        for Claim { says, holds, because } in &self.claims {
            let (style, verdict) = if *holds { (GOOD, "holds") } else { (DOUBT, "does not hold") };
            writeln!(formatter, "{style}{verdict:14}{style:#} {says}\n{:15}{because}*", "")?;
        }
        if !self.figure1.is_empty() {
            let columns = ("run", "printed", "epsilon", "training*", "test*");
            writeln!(
                formatter,
                "\n{:20}{:>9}{:>10}{:>11}{:>11}",
                columns.0, columns.1, columns.2, columns.3, columns.4
            )?;
        }
        let optional = |value: Option<f64>, digits: usize| {
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
        };
        for Panel { name, printed_epsilon, ended, .. } in &self.figure1 {
            let (printed, epsilon) = (optional(*printed_epsilon, 0), optional(ended.epsilon, 4));
            let Ended { train_loss, test_loss, .. } = ended;
            writeln!(
                formatter,
                "{name:20}{printed:>9}{epsilon:>10}{train_loss:>11.3}{test_loss:>11.3}"
            )?;
        }
        if !self.figure2.is_empty() {
            writeln!(
                formatter,
                "\n{:>4} {:14}{:>20}{:>20}{:>20}",
                "n_c", "run", "printed (p)", "inserted* (p)", "control* (p)"
            )?;
        }
        for Canary { column, repeats, inserted, control, printed, .. } in &self.figure2 {
            let cell = |distance: f64, p_value: f64| format!("{distance:.4} ({p_value:.2})");
            let of = |summary: &RankSummary| {
                cell(summary.uniformity.distance, summary.uniformity.p_value)
            };
            let printed = cell(printed.distance, printed.p_value);
            writeln!(
                formatter,
                "{repeats:>4} {column:14}{printed:>20}{:>20}{:>20}",
                of(inserted),
                of(control)
            )?;
        }
        for found in self.nearest.iter().flat_map(|it| &it.nearest) {
            let how = if found.learns { "by learning" } else { "by standing still" };
            writeln!(
                formatter,
                "\nnearest setting at which sparse beats DP-SGD ({how}): {}\n\
                 sparse {:.3}* at epsilon {}, DP-SGD {:.3}* at epsilon {}, from {:.3}*",
                found.setting,
                found.sparse.test_loss,
                optional(found.sparse.epsilon, 4),
                found.dp_sgd.test_loss,
                optional(found.dp_sgd.epsilon, 4),
                found.sparse.start_test_loss
            )?;
        }
        if self.nearest.as_ref().is_some_and(|it| it.nearest.is_empty()) {
            writeln!(formatter, "\nno setting that was tried lets sparse beat DP-SGD")?;
        }
        if !self.tight.is_empty() {
            writeln!(formatter)?;
        }
        for Tight { share, setting, ended, chosen, .. } in &self.tight {
            let mark = if *chosen { "  (chosen)" } else { "" };
            writeln!(
                formatter,
                "epsilon 30 by the tight account, {share} for selection, {setting}: test loss {:.3}*{mark}",
                ended.test_loss
            )?;
        }
        writeln!(
            formatter,
            "\n* not private: from the data without noise, and the seed is known\n"
        )?;
        writeln!(formatter, "{}/report.html    all of it on one page", self.folder.display())
    }
}
