//! `organza tune`: many settings, one after another, and what the choice costs.

mod grid;
mod price;
mod ranking;

use super::train::{BudgetAndMethod, Options};
use crate::output::Output;
use crate::progress::suite;
use crate::usage::UsageError;
use anyhow::Context;
use clap::{Args, ValueEnum};
use grid::{Point, Try, grid};
use organza_audit::{AuditOptions, audit};
use organza_train::RunFolder;
use organza_words::suite::{NamedSettings, Outcome, Total, shared_total};
use price::Price;
use ranking::{Ranking, Trial};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const ABOUT: &str = "\
Try settings, rank them, and say what the choice costs

Each combination of the values given with --try is trained once; all other flags are those of `organza \
train` and hold for all. The same command goes on where it was stopped.

Privacy. Picking the best of N models means looking at N models:
- the epsilon of one trial holds for one trial. All of them together cost the composition of them all, \
and so does the best of them: that is what is printed as the price of tuning. It counts every run in the folder; \
those of earlier commands are added, since this one was given by someone who has seen them.
- a validation loss is computed from the validation data without noise. So --rank-by validation-loss is \
refused, unless --validation-public declares that those units are nobody's secret. With another vocabulary or window losses \
do not compare: --rank-by signal takes how far each is from that of word frequencies.
- --rank-by chi-squared ranks by how far the ranks of canaries are from uniform, less is better. Canaries are \
synthetic and the models are private: it needs no validation data.
- with --data-public all of the data is nobody's secret, and tuning is free. This is the way to choose \
settings for private data: tune on public data that resembles it.

Not private: outcome.json and metrics.jsonl in the folder of each run hold exact losses and timings.";

const EXAMPLES: &str = "\
Examples:
  organza tune --data brown.tgz --preset paper --method dpsgd --data-public \\
               --try learning-rate=0.001,0.01 --try batch=20,500
  organza tune --data notes.txt --epsilon 1 --try share=0.1,0.3 --method sparse \\
               --rank-by chi-squared --canaries 1000 --canary-repeats 9";

/// Try settings, rank them, and say what the choice costs
#[derive(Args, Debug)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
pub(crate) struct Tune {
    /// A flag of `organza train` and the values to try; may be given several times
    #[arg(long = "try", value_name = "FLAG=A,B", required = true)]
    tries: Vec<Try>,
    /// What makes one setting better than another
    #[arg(long, value_enum, value_name = "SCORE", default_value = "validation-loss")]
    rank_by: Score,
    /// Declare that the validation data is public
    #[arg(long)]
    validation_public: bool,
    /// Declare that all of the data is public
    #[arg(long)]
    data_public: bool,
    #[command(flatten)]
    asked: BudgetAndMethod,
    #[command(flatten)]
    options: Options,
    /// The folder of all runs
    #[arg(long, value_name = "FOLDER", default_value = "organza-tune")]
    out: PathBuf,
    /// How many threads; the results are the same with any number [default: one a core]
    #[arg(long, value_name = "NUMBER")]
    threads: Option<NonZeroUsize>,
}

/// What makes one setting better than another: less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Score {
    ValidationLoss,
    /// How far the validation loss is above that of word frequencies (below zero, if something was learned)
    Signal,
    ChiSquared,
}

impl std::fmt::Display for Score {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::ValidationLoss => "validation loss",
            Self::Signal => "validation loss above word frequencies",
            Self::ChiSquared => "chi-squared distance",
        })
    }
}

impl Tune {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<()> {
        let settings = self.options.settings(&self.asked)?;
        let points = grid(&settings, &self.tries)?;
        self.refuse(&points)?;
        if settings.seed.is_some() {
            output.note("with --seed the noise can be repeated: these runs are NOT private");
        }
        let runs: Vec<NamedSettings> = points
            .iter()
            .map(|point| NamedSettings { name: point.name(), settings: point.settings.clone() })
            .collect();
        let suite = suite(&self.out, self.threads, output)?;
        let outcomes = suite.run(&runs)?;
        let mut trials = Vec::new();
        for (point, outcome) in points.iter().zip(&outcomes) {
            let folder = suite.path(&point.name());
            let score = self.score(&folder, outcome)?;
            trials.push(Trial::new(point, &folder, outcome, score));
        }
        let total = Total::of(&self.out)?;
        let price = Price::of(&total, self.data_public);
        let dataset = shared_total(&settings)?;
        let ranking = Ranking::new(self.rank_by, trials, price, total).on(dataset);
        ranking.write(&self.out)?;
        output.result(&ranking)
    }

    /// What cannot be done soundly, or not at all.
    fn refuse(&self, points: &[Point]) -> Result<(), UsageError> {
        let declared = self.validation_public || self.data_public;
        let changed = self.tries.iter().find_map(Try::changes_the_measure);
        if let Some(flag) = changed.filter(|_| self.rank_by == Score::ValidationLoss) {
            return Err(UsageError::new(
                format!(
                    "losses with another `--{flag}` are measured on other words or pairs, and do not compare"
                ),
                "rank by what was learned beyond word frequencies: --rank-by signal",
            ));
        }
        if self.rank_by != Score::ChiSquared && !declared {
            return Err(UsageError::new(
                "a choice by validation loss releases something of the validation data, which nothing \
                 charges for",
                "add --validation-public if that data is nobody's secret; or --rank-by chi-squared, \
                 which needs none; or tune on public data that resembles yours, with --data-public",
            ));
        }
        let has_canaries =
            |point: &Point| point.settings.canaries.is_some_and(|canaries| canaries.repeated > 0);
        if self.rank_by == Score::ChiSquared && !points.iter().all(has_canaries) {
            return Err(UsageError::new(
                "without canaries there is no chi-squared distance",
                "add --canaries 1000 --canary-repeats 9",
            ));
        }
        Ok(())
    }

    fn score(&self, folder: &std::path::Path, outcome: &Outcome) -> anyhow::Result<f64> {
        match self.rank_by {
            Score::ValidationLoss => return Ok(outcome.losses().validation),
            Score::Signal => return Ok(outcome.losses().validation - outcome.frequency_loss),
            Score::ChiSquared => {}
        }
        let report =
            audit(folder, AuditOptions::default()).with_context(|| folder.display().to_string())?;
        report.write(&RunFolder::open(folder)?)?;
        Ok(report.ranks.map_or(f64::NAN, |ranks| ranks.inserted.uniformity.distance))
    }
}
