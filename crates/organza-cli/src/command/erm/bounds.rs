//! `organza linear bounds`: what Theorems 1 and 2 say of a problem, as printed and as it holds.

use crate::digits::{cost, near};
use crate::output::{DOUBT, GOOD, Output};
use crate::usage::UsageError;
use clap::Args;
use organza_paper::bounds::{Problem, Statement};
use serde::Serialize;
use std::fmt;

/// Print the bounds of the paper's Theorems 1 and 2, and what holds in their place
#[derive(Args, Debug)]
pub(super) struct Bounds {
    /// The number of records (n)
    #[arg(long)]
    records: u64,
    /// The number of groups (m)
    #[arg(long)]
    groups: u64,
    /// The number of coordinates (p)
    #[arg(long)]
    coordinates: u64,
    /// How many coordinates the gradient of a group touches (c1)
    #[arg(long)]
    sparsity: u64,
    /// The largest coordinate of a record's gradient (c2)
    #[arg(long, value_name = "SIZE", default_value_t = 1.0)]
    coordinate: f64,
    /// The norm of a record's gradient (G)
    #[arg(long, value_name = "NORM", default_value_t = 1.0)]
    gradient: f64,
    /// The smoothness of the loss (K)
    #[arg(long, default_value_t = 0.25)]
    smoothness: f64,
    /// How far the weights are from the best ones (D_w)
    #[arg(long, default_value_t = 1.0)]
    distance: f64,
    /// How far the first loss is from the best one (D_L)
    #[arg(long, default_value_t = 0.7)]
    gap: f64,
    /// The budget
    #[arg(long, default_value_t = 1.0)]
    epsilon: f64,
    /// Its delta
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// The number of steps (T) [default: the theorem's, and the best for what holds]
    #[arg(long)]
    steps: Option<u64>,
}

/// Both statements.
#[derive(Serialize)]
struct Report {
    problem: Problem,
    printed: Statement,
    corrected: Statement,
}

impl Bounds {
    pub(super) fn run(&self, output: &Output) -> anyhow::Result<()> {
        let problem = self.problem()?;
        let printed = problem.printed(self.steps);
        let corrected = problem.corrected(self.steps)?;
        output.result(&Report { problem, printed, corrected })?;
        Ok(())
    }

    fn problem(&self) -> Result<Problem, UsageError> {
        let wrong = |flag: &str, expected: &str| {
            Err(UsageError::new(format!("`{flag}` must be {expected}"), format!("change `{flag}`")))
        };
        let counts = [
            ("--records", self.records),
            ("--groups", self.groups),
            ("--coordinates", self.coordinates),
            ("--sparsity", self.sparsity),
            ("--steps", self.steps.unwrap_or(1)),
        ];
        let sizes = [
            ("--coordinate", self.coordinate),
            ("--gradient", self.gradient),
            ("--smoothness", self.smoothness),
            ("--distance", self.distance),
            ("--gap", self.gap),
            ("--epsilon", self.epsilon),
        ];
        if let Some((flag, _)) = counts.iter().find(|(_, value)| *value == 0) {
            return wrong(flag, "at least 1");
        }
        if let Some((flag, _)) = sizes.iter().find(|(_, it)| !(*it > 0.0 && it.is_finite())) {
            return wrong(flag, "above 0 and finite");
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return wrong("--delta", "above 0 and below 1");
        }
        if self.groups > self.records {
            return wrong("--groups", "no larger than --records");
        }
        Ok(Problem {
            records: self.records,
            groups: self.groups,
            coordinates: self.coordinates,
            sparsity: self.sparsity.min(self.coordinates),
            coordinate: self.coordinate,
            gradient: self.gradient,
            smoothness: self.smoothness,
            distance: self.distance,
            gap: self.gap,
            epsilon: self.epsilon,
            delta: self.delta,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { printed, corrected, .. } = self;
        let row = |name: &str, value: &dyn Fn(&Statement) -> String| {
            format!("{name:<42}{:>14}{:>14}", value(printed), value(corrected))
        };
        let price = |value: Option<f64>| value.map_or("-".to_owned(), cost);
        let print = |value: f64| near(value);
        writeln!(formatter, "{:<42}{:>14}{:>14}", "", "as printed", "corrected")?;
        for line in [
            row("steps (T)", &|it| it.steps.to_string()),
            row("epsilon of a step (epsilon')", &|it| print(it.step_epsilon)),
            row("delta of a step (delta')", &|it| print(it.step_delta)),
            row("threshold (alpha)", &|it| print(it.threshold)),
            row("error of a step's gradient", &|it| print(it.error)),
            row("step size, convex", &|it| print(it.convex_step)),
            row("step size, any smooth loss", &|it| print(it.smooth_step)),
            row("mean excess loss, convex, at most", &|it| print(it.convex_bound)),
            row("mean squared gradient, at most", &|it| print(it.smooth_bound)),
            row("epsilon: claimed", &|it| print(it.claimed_epsilon)),
            row("epsilon: of NumericSparse, accounted", &|it| price(it.sparse_epsilon)),
            row("epsilon: of some such step, accounted", &|it| price(it.worst_epsilon)),
        ] {
            writeln!(formatter, "{line}")?;
        }
        writeln!(formatter, "\nConditions of Theorem 1, as printed:")?;
        for condition in &printed.conditions {
            let (style, word) = if condition.holds { (GOOD, "holds") } else { (DOUBT, "fails") };
            writeln!(formatter, "- {style}{word}{style:#}: {}", condition.what)?;
        }
        writeln!(
            formatter,
            "\nThe printed column is not sound: a record's group is visited or not for all to see, which\n\
             makes delta rarer and leaves epsilon as it is. Bounds hold with the constants of the proof,\n\
             with probability 1 - T / n, for the unit record (replace-one)."
        )
    }
}
