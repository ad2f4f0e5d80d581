//! The search for the setting nearest to the printed one at which the paper's claim holds.
//!
//! Short runs, judged on the validation set: the claim is that the sparse method beats DP-SGD at the same
//! epsilon as the paper counts it, all else being equal. A sparse run that merely stands still while
//! DP-SGD walks away is told apart from one that learns.

use super::plan::{Base, Change};
use organza_train::Losses;
use organza_words::suite::{NamedSettings, Outcome, Suite, SuiteError};
use serde::Serialize;

/// A setting that was tried with both methods. Losses are *not private*.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    #[serde(skip)]
    pub(crate) change: Change,
    /// What was changed, in words.
    pub setting: String,
    /// The loss before the first step.
    pub start: f64,
    /// The loss of the sparse method.
    pub sparse: f64,
    /// The loss of DP-SGD.
    pub dp_sgd: f64,
    /// The sparse method ends below DP-SGD.
    pub beats: bool,
    /// The sparse method ends below where it started.
    pub learns: bool,
}

/// The nearest setting, at full length. Losses are *not private*.
#[derive(Clone, Debug, Serialize)]
pub struct Confirmed {
    #[serde(skip)]
    pub(crate) change: Change,
    /// What was changed, in words.
    pub setting: String,
    /// The sparse method.
    pub sparse: Ended,
    /// DP-SGD.
    pub dp_sgd: Ended,
    /// Whether the sparse method ends below DP-SGD on the test data.
    pub beats: bool,
    /// Whether it ends below where it started.
    pub learns: bool,
}

/// How a run ended.
#[derive(Clone, Debug, Serialize)]
pub struct Ended {
    /// What was spent, by the tight account.
    pub epsilon: Option<f64>,
    /// The test loss before the first step.
    pub start_test_loss: f64,
    /// The training loss.
    pub train_loss: f64,
    /// The validation loss.
    pub validation_loss: f64,
    /// The test loss.
    pub test_loss: f64,
    /// How long it took.
    pub seconds: f64,
}

impl Ended {
    pub(super) fn new<S>(outcome: &Outcome<S>) -> Self {
        let Losses { train, validation, test } = outcome.losses();
        Self {
            epsilon: outcome.epsilon,
            start_test_loss: outcome.curve.first().map_or(f64::NAN, |point| point.losses.test),
            train_loss: train,
            validation_loss: validation,
            test_loss: test,
            seconds: outcome.seconds,
        }
    }

    /// Test loss less training loss.
    pub(crate) fn gap(&self) -> f64 {
        self.test_loss - self.train_loss
    }
}

/// All that was tried, and at full length the nearest setting at which the claim holds, and the nearest
/// at which it holds because the sparse method learns; they may be one, and there may be none.
#[derive(Clone, Debug, Serialize)]
pub struct Nearest {
    /// The steps of a short run.
    pub steps: u64,
    /// All that was tried.
    pub tried: Vec<Tried>,
    /// What holds at full length.
    pub nearest: Vec<Confirmed>,
}

impl Nearest {
    /// Searches with short runs, then makes the two long ones.
    pub(super) fn search(base: &Base, suite: &Suite) -> Result<Self, SuiteError> {
        let scale = base.scale();
        let changes = &Change::CANDIDATES[..scale.candidates];
        let sparse = changes.iter().map(|change| base.changed_sparse(*change, true));
        // Changes that differ in selection alone share their DP-SGD.
        let mut runs: Vec<NamedSettings> = sparse.collect();
        let mut baselines = Vec::new();
        for change in changes {
            let run = base.changed_baseline(*change, true);
            let place = runs.iter().position(|it| it.name == run.name);
            baselines.push(place.unwrap_or(runs.len()));
            if place.is_none() {
                runs.push(run);
            }
        }
        let outcomes = suite.run(&runs)?;
        let tried: Vec<Tried> = changes
            .iter()
            .enumerate()
            .map(|(number, change)| tried(*change, &outcomes[number], &outcomes[baselines[number]]))
            .collect();
        let mut confirmed = Vec::new();
        for change in nearest(&tried) {
            let runs = [base.changed_sparse(change, false), base.changed_baseline(change, false)];
            let outcomes = suite.run(&runs)?;
            let (sparse, dp_sgd) = (Ended::new(&outcomes[0]), Ended::new(&outcomes[1]));
            confirmed.push(Confirmed {
                change,
                setting: change.to_string(),
                beats: sparse.test_loss < dp_sgd.test_loss,
                learns: sparse.test_loss < sparse.start_test_loss,
                sparse,
                dp_sgd,
            });
        }
        Ok(Self { steps: scale.search_steps, tried, nearest: confirmed })
    }
}

fn tried(change: Change, sparse: &Outcome, dp_sgd: &Outcome) -> Tried {
    let start = sparse.curve.first().map_or(f64::NAN, |point| point.losses.validation);
    let (sparse, dp_sgd) = (sparse.losses().validation, dp_sgd.losses().validation);
    let setting = change.to_string();
    Tried { change, setting, start, sparse, dp_sgd, beats: sparse < dp_sgd, learns: sparse < start }
}

/// The first at which the sparse method beats DP-SGD, and the first at which it does so and learns.
fn nearest(tried: &[Tried]) -> Vec<Change> {
    let first = |holds: fn(&&Tried) -> bool| tried.iter().find(holds).map(|it| it.change);
    let mut found: Vec<Change> = first(|it| it.beats).into_iter().collect();
    found.extend(first(|it| it.beats && it.learns));
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: Change, (start, sparse, dp_sgd): (f64, f64, f64)) -> Tried {
        let (beats, learns) = (sparse < dp_sgd, sparse < start);
        Tried { change, setting: change.to_string(), start, sparse, dp_sgd, beats, learns }
    }

    #[test]
    fn learning_is_told_apart_from_standing_still() {
        let [printed, still, learns, ..] = Change::CANDIDATES;
        let fails = with(printed, (37.0, 38.0, 33.0));
        let stands = with(still, (6.2, 6.3, 7.0));
        let best = with(learns, (6.3, 6.2, 7.0));
        assert_eq!(nearest(std::slice::from_ref(&fails)), []);
        assert_eq!(nearest(&[fails.clone(), stands.clone()]), [still]);
        assert_eq!(nearest(&[fails.clone(), best.clone()]), [learns]);
        assert_eq!(nearest(&[fails, stands, best]), [still, learns]);
    }
}
