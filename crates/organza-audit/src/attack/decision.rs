//! Which numbers tell, and the one decision that is made of them.

use super::features::Features;
use super::verdict::{FALSE_ALARM, epsilon_at_least};
use std::collections::BTreeSet;

/// So many numbers vote at the most.
const MOST_VOTES: usize = 8;
/// The errors at which thresholds are compared on the runs that are learned from, the second where the first
/// says nothing: these are no claims.
const LEARNING_ERRORS: [f64; 2] = [FALSE_ALARM, 0.05];

/// A decision that was learned from runs: a score, a threshold, and what the score's side of it stands for.
///
/// A number of a run counts by its place among those of all runs that were learned from, so that it does not matter
/// how it is distributed. The numbers that differ most between the sides vote, each by how far its difference is
/// above what the largest of that many useless numbers would show.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    votes: Vec<Vote>,
    threshold: f64,
    /// Whether scores above the threshold are the event, and stand for the unit being there; otherwise scores up to
    /// the threshold are, and stand for its not being there.
    pub(crate) above: bool,
}

/// A number that tells.
#[derive(Clone, Debug, PartialEq)]
struct Vote {
    name: String,
    weight: f64,
    /// The number in all runs that were learned from, in ascending order.
    known: Vec<f64>,
}

impl Vote {
    /// The place of `value` among the known ones, from -1/2 to 1/2; that of equal ones is their middle.
    fn place(&self, value: f64) -> f64 {
        let below = self.known.partition_point(|known| *known < value);
        let up_to = self.known.partition_point(|known| *known <= value);
        (below + up_to) as f64 / (2 * self.known.len()) as f64 - 0.5
    }
}

impl Rule {
    /// Learns from runs of both sides; `delta` is that of the promise.
    pub(crate) fn learn(without: &[&Features], with: &[&Features], delta: f64) -> Self {
        let names: BTreeSet<&str> =
            without.iter().chain(with).flat_map(|features| features.names()).collect();
        let mut votes: Vec<Vote> = names
            .into_iter()
            .filter_map(|name| {
                let of = |runs: &[&Features]| -> Vec<f64> {
                    runs.iter().map(|features| features.value(name)).collect()
                };
                vote(name, &of(without), &of(with))
            })
            .collect();
        votes.sort_by(|one, other| other.weight.abs().total_cmp(&one.weight.abs()));
        // The largest of m standard normals.
        let useless = (2.0 * (votes.len().max(2) as f64).ln()).sqrt();
        votes.truncate(MOST_VOTES);
        let telling = votes.iter().filter(|vote| vote.weight.abs() > useless).count();
        votes.truncate(telling.max(1));
        if telling > 0 {
            for vote in &mut votes {
                vote.weight = vote.weight.signum() * (vote.weight.abs() - useless);
            }
        }
        let rule = Self { votes, threshold: 0.0, above: true };
        let scores = |runs: &[&Features]| -> Vec<f64> {
            runs.iter().map(|features| rule.score(features)).collect()
        };
        let (threshold, above) = best_threshold(&scores(without), &scores(with), delta);
        Self { threshold, above, ..rule }
    }

    /// How much a run looks as if the unit were there.
    pub(crate) fn score(&self, features: &Features) -> f64 {
        self.votes.iter().map(|vote| vote.weight * vote.place(features.value(&vote.name))).sum()
    }

    /// Whether the event of this decision happened in a run.
    pub(crate) fn happened(&self, features: &Features) -> bool {
        (self.score(features) > self.threshold) == self.above
    }

    /// The numbers that decide, the most telling one first.
    pub(crate) fn telling(&self) -> Vec<String> {
        self.votes.iter().map(|vote| vote.name.clone()).collect()
    }
}

/// A number with its rank-sum statistic in deviations; none if it is the same in all runs.
fn vote(name: &str, without: &[f64], with: &[f64]) -> Option<Vote> {
    let mut known: Vec<f64> = without.iter().chain(with).copied().collect();
    known.sort_unstable_by(f64::total_cmp);
    if known.first() == known.last() {
        return None;
    }
    let mut vote = Vote { name: name.to_owned(), weight: 0.0, known };
    let mean = |values: &[f64]| {
        values.iter().map(|value| vote.place(*value)).sum::<f64>() / values.len() as f64
    };
    let (one, other) = (without.len() as f64, with.len() as f64);
    let deviation = ((one + other) / (12.0 * one * other)).sqrt();
    let weight = (mean(with) - mean(without)) / deviation;
    vote.weight = weight;
    (weight != 0.0).then_some(vote)
}

/// The threshold, and the side of it, that would prove the largest epsilon if these runs were those it is tested on;
/// of several, the one that is farthest from any score.
fn best_threshold(without: &[f64], with: &[f64], delta: f64) -> (f64, bool) {
    let mut scores: Vec<f64> = without.iter().chain(with).copied().collect();
    scores.sort_unstable_by(f64::total_cmp);
    scores.dedup();
    let mut best = ([f64::NEG_INFINITY; 2], 0.0, 0.0, true);
    for pair in scores.windows(2) {
        let (threshold, gap) = (0.5 * (pair[0] + pair[1]), pair[1] - pair[0]);
        let count = |scores: &[f64]| scores.iter().filter(|it| **it > threshold).count() as u64;
        let (low, high) = (count(without), count(with));
        let (one, other) = (without.len() as u64, with.len() as u64);
        let above =
            LEARNING_ERRORS.map(|error| epsilon_at_least((high, other), (low, one), delta, error));
        let below = LEARNING_ERRORS
            .map(|error| epsilon_at_least((one - low, one), (other - high, other), delta, error));
        for (bounds, is_above) in [(above, true), (below, false)] {
            if (bounds, gap) > (best.0, best.1) {
                best = (bounds, gap, threshold, is_above);
            }
        }
    }
    (best.2, best.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(count: u64, values: impl Fn(u64) -> Vec<(&'static str, f64)>) -> Vec<Features> {
        (0..count)
            .map(|run| {
                let mut features = Features::default();
                values(run).into_iter().for_each(|(name, value)| features.add(name, value));
                features
            })
            .collect()
    }

    #[test]
    fn what_tells_decides() {
        let noise = |run: u64| (run * 37 % 11) as f64;
        let without = runs(20, |run| vec![("noise", noise(run)), ("constant", 1.0)]);
        let with = runs(20, |run| {
            vec![("noise", noise(run + 5)), ("constant", 1.0), ("there", f64::from(run as u32))]
        });
        let without: Vec<&Features> = without.iter().collect();
        let with: Vec<&Features> = with.iter().collect();
        let rule = Rule::learn(&without, &with, 0.0);
        assert_eq!(rule.telling(), ["there"]);
        assert!(with.iter().all(|run| rule.happened(run) == rule.above));
        assert!(without.iter().all(|run| rule.happened(run) != rule.above));
    }

    #[test]
    fn nothing_to_learn_from_is_no_harm() {
        let same = runs(4, |_| vec![("constant", 1.0)]);
        let same: Vec<&Features> = same.iter().collect();
        let rule = Rule::learn(&same, &same, 0.0);
        assert!(rule.telling().is_empty() && rule.score(same[0]) == 0.0);
    }
}
