//! Mechanisms in their plainest form, with every constant free: right ones, and twins with a flaw.

use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{laplace, unit};

/// One draw proportional to exp(weight x score).
pub(crate) fn exponential_draw(scores: &[f64], weight: f64, random: &mut PrivateRandom) -> usize {
    let weights: Vec<f64> = scores.iter().map(|score| (weight * score).exp()).collect();
    let mut left = unit(random) * weights.iter().sum::<f64>();
    for (candidate, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return candidate;
        }
    }
    weights.len() - 1
}

/// What the sparse vector technique says of one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    /// Below the threshold.
    Below,
    /// Above it.
    Above,
    /// Above it, with the noisy value that was compared, in bins.
    Value(i64),
}

/// The sparse vector technique with everything free that its published variants differ in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseVector {
    pub(crate) threshold: f64,
    pub(crate) threshold_scale: f64,
    /// Zero for no noise.
    pub(crate) query_scale: f64,
    /// Whether the threshold gets fresh noise after each hit.
    pub(crate) refreshed: bool,
    /// The number of hits after which it stops, if it does.
    pub(crate) stop: Option<usize>,
    /// Whether the noisy value of a hit is published, in bins of this width.
    pub(crate) publishes: Option<f64>,
}

impl SparseVector {
    /// The answers to `queries`, until it stops.
    pub(crate) fn answers(&self, queries: &[f64], random: &mut PrivateRandom) -> Vec<Answer> {
        let level =
            |random: &mut PrivateRandom| self.threshold + self.threshold_scale * laplace(random);
        let mut threshold = level(random);
        let mut answers = Vec::with_capacity(queries.len());
        let mut hits = 0;
        for query in queries {
            let noisy = query + self.query_scale * laplace(random);
            if noisy < threshold {
                answers.push(Answer::Below);
                continue;
            }
            answers.push(match self.publishes {
                Some(width) => Answer::Value((noisy / width).floor() as i64),
                None => Answer::Above,
            });
            hits += 1;
            if self.stop == Some(hits) {
                break;
            }
            if self.refreshed {
                threshold = level(random);
            }
        }
        answers
    }
}
