//! The sparse vector technique: the first few candidates that clear a noisy threshold.

use super::{Selector, Workspace, most_of};
use crate::random::PrivateRandom;
use crate::sample::{Hazard, below, coin, exponential, laplace, laplace_above};
use crate::scores::{By, Candidates, Run, Scores};
use organza_ledger::Event;
use serde::{Deserialize, Serialize};

/// Above this many proposals a hit, touched and untouched candidates are crossed separately.
const PROPOSALS_A_HIT: f64 = 4.0;

/// Where a pass over the candidates begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PassOrder {
    /// At the first one, so that those with low numbers have the first say.
    #[default]
    FromFirst,
    /// At one that is drawn uniformly in every step, and around: all have the same say.
    FromRandom,
}

/// Passes the candidates once, from the first or from one that chance picks, and selects those whose noisy score clears a noisy
/// threshold, with fresh threshold noise after each hit, and stops at `hits` hits.
///
/// # Privacy
/// Between two hits this is AboveThreshold (Dwork and Roth 2014, Theorem 3.23): threshold noise of
/// scale D / e1 and query noise of scale 2 D / e2, D the sensitivity of a score, make one hit
/// (e1 + e2)-differentially private, however many candidates fail before it. Fresh noise makes the
/// hits an adaptive composition, and the stop bounds their number. All of it holds for every order of the candidates, hence for
/// one that is drawn without a look at the data, published or not.
#[derive(Debug)]
pub(crate) struct SparseVector {
    pub(crate) by: By,
    pub(crate) order: PassOrder,
    pub(crate) hits: u64,
    /// S0 in grid steps, or infinity.
    pub(crate) cap: f64,
    /// The threshold, in grid steps.
    pub(crate) threshold: f64,
    /// The scale of the threshold's noise, in grid steps.
    pub(crate) threshold_scale: f64,
    /// The scale of a query's noise, in grid steps.
    pub(crate) query_scale: f64,
    pub(crate) threshold_epsilon: f64,
    pub(crate) query_epsilon: f64,
}

impl Selector for SparseVector {
    fn by(&self) -> Option<By> {
        Some(self.by)
    }

    fn select(
        &self,
        candidates: Candidates<'_>,
        random: &mut PrivateRandom,
        workspace: &mut Workspace,
        selected: &mut Vec<u64>,
    ) {
        above_threshold(self, candidates, random, workspace, selected);
    }

    fn event(&self, noise: Event, _: f64) -> Event {
        let mut selection = Event::SparseVector {
            threshold_epsilon: self.threshold_epsilon,
            query_epsilon: self.query_epsilon,
            hits: self.hits,
            refreshed: true,
            value_epsilon: None,
        };
        match (&mut selection, noise) {
            (Event::SparseVector { value_epsilon, .. }, Event::Laplace { noise_multiplier }) => {
                *value_epsilon = Some(1.0 / noise_multiplier);
                selection
            }
            (_, noise) => Event::Compose(vec![selection, noise]),
        }
    }

    fn most(&self, coordinates: u64, widest: u64) -> u64 {
        most_of(self.by, self.hits, coordinates, widest)
    }

    fn values(&self) -> bool {
        self.by == By::Coordinate
    }
}

/// The hits, ascending.
///
/// Given the noisy threshold, candidates hit independently: an untouched one with the probability
/// that noise alone clears it, a touched one with at most the probability of the largest score. So
/// hits are proposed by geometric skips at the larger probability and thinned to the true one; one
/// exponential carries the skip across runs of different probability.
fn above_threshold(
    rule: &SparseVector,
    candidates: Candidates<'_>,
    random: &mut PrivateRandom,
    workspace: &mut Workspace,
    hits: &mut Vec<u64>,
) {
    let scores = Scores::new(candidates, rule.by, rule.cap);
    let highest = if rule.cap.is_finite() { rule.cap } else { scores.highest() };
    let Workspace { rows, runs, .. } = workspace;
    if libm::exp(highest / rule.query_scale) <= PROPOSALS_A_HIT {
        // Scores matter little beside the noise: take all candidates as if touched.
        runs.clear();
        runs.push(Run { first: 0, length: scores.candidates(), touched: true });
    } else {
        scores.runs(rows, runs);
    }
    if rule.order == PassOrder::FromRandom {
        rotate(runs, below(scores.candidates(), random));
    }
    let mut level = Level::draw(rule, highest, random);
    let mut patience = exponential(random);
    for &run in &*runs {
        let mut next = 0;
        while (hits.len() as u64) < rule.hits {
            let hazard = if run.touched { level.touched } else { level.untouched };
            let Some(failures) = hazard.cross(run.length - next, &mut patience) else { break };
            let candidate = run.first + next + failures;
            next += failures + 1;
            patience = exponential(random);
            if !run.touched || level.accepts(rule, scores.score(candidate), random) {
                hits.push(candidate);
                level = Level::draw(rule, highest, random);
            }
        }
    }
    hits.sort_unstable();
}

/// The same candidates, from `first` on and around.
fn rotate(runs: &mut Vec<Run>, first: u64) {
    let place = runs.partition_point(|run| run.first + run.length <= first);
    let Some(run) = runs.get_mut(place) else { return };
    let before = first - run.first;
    if before > 0 {
        let head = Run { length: before, ..*run };
        (run.first, run.length) = (first, run.length - before);
        runs.insert(place, head);
        runs.rotate_left(place + 1);
    } else {
        runs.rotate_left(place);
    }
}

/// A noisy threshold, and how easily it is cleared.
struct Level {
    threshold: f64,
    touched: Hazard,
    untouched: Hazard,
    envelope: f64,
}

impl Level {
    fn draw(rule: &SparseVector, highest: f64, random: &mut PrivateRandom) -> Self {
        let threshold = rule.threshold + rule.threshold_scale * laplace(random);
        let above = |score: f64| (threshold - score) / rule.query_scale;
        Self {
            threshold,
            touched: Hazard::of_laplace_above(above(highest)),
            untouched: Hazard::of_laplace_above(above(0.0)),
            envelope: laplace_above(above(highest)),
        }
    }

    /// Whether a proposal at the envelope's probability is a hit at the score's own.
    fn accepts(&self, rule: &SparseVector, score: f64, random: &mut PrivateRandom) -> bool {
        let clears = laplace_above((self.threshold - score) / rule.query_scale);
        coin(clears / self.envelope, random)
    }
}
