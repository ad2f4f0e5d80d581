//! What an attack has shown.

use super::decision::Rule;
use super::features::Features;
use serde::Serialize;
use statrs::function::beta::beta_reg;
use std::fmt;

/// The probability, at most, with which a lower bound is above the truth.
pub const FALSE_ALARM: f64 = 1e-6;

/// Halvings of an interval that is one wide: to the last place of a double.
const HALVINGS: u32 = 60;

/// What is promised about one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Promised {
    /// The bound on the privacy loss.
    pub epsilon: f64,
    /// The probability of exceeding it.
    pub delta: f64,
}

impl Promised {
    /// What the same promise says where the data sets differ in `units` units: k epsilon, and delta (1 + e^epsilon +
    /// ... + e^((k - 1) epsilon)).
    pub fn for_units(self, units: u32) -> Self {
        let factors = (0..units).map(|it| (f64::from(it) * self.epsilon).exp());
        Self { epsilon: f64::from(units) * self.epsilon, delta: self.delta * factors.sum::<f64>() }
    }
}

/// What an attack has shown: how well its decision did on runs that it had not seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What was attacked.
    pub name: String,
    /// What is promised about it.
    pub promised: Promised,
    /// The runs on each side that the decision was tested on.
    pub tested: u64,
    /// In how many of them the event happened on the side that it stands for.
    pub hits: u64,
    /// In how many of them it happened on the other side.
    pub misses: u64,
    /// The probability that a run with the unit has a higher score than one without; one half for no attack at all.
    pub auc: f64,
    /// No mechanism with this delta and an epsilon below this does so, with probability 1 - [`FALSE_ALARM`].
    pub lower_bound: f64,
    /// The numbers that decided, the most telling one first.
    pub telling: Vec<String>,
}

impl Verdict {
    /// Tests a decision on runs of both sides that it was not learned from.
    pub(crate) fn new(
        name: &str,
        promised: Promised,
        rule: &Rule,
        without: &[&Features],
        with: &[&Features],
    ) -> Self {
        let count = |runs: &[&Features]| runs.iter().filter(|it| rule.happened(it)).count() as u64;
        let of = |runs: &[&Features]| (count(runs), runs.len() as u64);
        let (hits, misses) =
            if rule.above { (of(with), of(without)) } else { (of(without), of(with)) };
        Self {
            name: name.to_owned(),
            promised,
            tested: without.len().min(with.len()) as u64,
            hits: hits.0,
            misses: misses.0,
            auc: auc(rule, without, with),
            lower_bound: epsilon_at_least(hits, misses, promised.delta, FALSE_ALARM),
            telling: rule.telling(),
        }
    }

    /// Whether the promise is refuted.
    pub fn refutes(&self) -> bool {
        self.lower_bound > self.promised.epsilon
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, tested, hits, misses, auc, lower_bound, .. } = self;
        let answer = if self.refutes() { "BROKEN" } else { "holds" };
        write!(
            formatter,
            "{answer:<6}  AUC {auc:.3}  epsilon at least {lower_bound:.3} of {:.3}  {hits:>4} against {misses:>4} of \
             {tested:>4}  {name}",
            self.promised.epsilon
        )?;
        match self.telling.first() {
            Some(first) if self.refutes() => write!(formatter, "  (by {first})"),
            _ => Ok(()),
        }
    }
}

/// The largest epsilon that is refuted, at the level `error`, by an event that happened in `likely` of its runs on one
/// side and in `unlikely` of those on the other, each (times, runs); zero if none is.
///
/// # Proof
/// An (epsilon, delta)-differentially private mechanism has p <= e^epsilon q + delta for the probabilities p and q of
/// any event on neighbours. With p at least its Clopper-Pearson bound, and q at most its own, each but for
/// probability `error` / 2, epsilon >= ln((p - delta) / q) but for probability `error`. The event has to be fixed before
/// the runs are looked at.
pub(crate) fn epsilon_at_least(
    likely: (u64, u64),
    unlikely: (u64, u64),
    delta: f64,
    error: f64,
) -> f64 {
    let least = least_probability(likely.0, likely.1, error / 2.0);
    let most = 1.0 - least_probability(unlikely.1 - unlikely.0, unlikely.1, error / 2.0);
    let quotient = (least - delta) / most;
    if quotient > 1.0 { quotient.ln() } else { 0.0 }
}

/// The Clopper-Pearson bound: the probability at which `times` or more of `runs` happen with probability `error`.
fn least_probability(times: u64, runs: u64, error: f64) -> f64 {
    if times == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        // Pr[Binomial(runs, p) >= times] is the regularised incomplete beta function.
        let chance = beta_reg(times as f64, (runs - times + 1) as f64, middle);
        if chance <= error { low = middle } else { high = middle }
    }
    low
}

/// The share of pairs of runs, one from each side, that scores put in the right order; half of those that they do not
/// put in any.
fn auc(rule: &Rule, without: &[&Features], with: &[&Features]) -> f64 {
    let scores =
        |runs: &[&Features]| -> Vec<f64> { runs.iter().map(|it| rule.score(it)).collect() };
    let (without, with) = (scores(without), scores(with));
    let right = with.iter().flat_map(|high| without.iter().map(move |low| (high, low)));
    let sum: f64 = right
        .map(|(high, low)| match high.total_cmp(low) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
        .sum();
    let pairs = (with.len() * without.len()) as f64;
    if pairs > 0.0 { sum / pairs } else { 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The binomial tail summed term by term, and halved for the bound, by Python.
    #[test]
    fn bounds_are_those_of_clopper_and_pearson() {
        let cases = [
            (50, 50, 5e-7, 0.748_134_013_389),
            (47, 50, 5e-7, 0.632_972_777_941),
            (90, 100, 5e-7, 0.688_462_169_278),
            (1, 10, 0.025, 0.002_528_578_544),
            (0, 10, 0.025, 0.0),
        ];
        for (times, runs, error, expected) in cases {
            let found = least_probability(times, runs, error);
            assert!((found - expected).abs() < 1e-9, "{times} of {runs}: {found} {expected}");
        }
    }

    #[test]
    fn an_epsilon_is_refuted_by_what_it_forbids() {
        assert_eq!(epsilon_at_least((10, 100), (10, 100), 0.0, FALSE_ALARM), 0.0);
        assert_eq!(epsilon_at_least((0, 0), (0, 0), 0.0, FALSE_ALARM), 0.0);
        let perfect = epsilon_at_least((100, 100), (0, 100), 0.0, FALSE_ALARM);
        // p >= x and q <= 1 - x, with x = (1e-6 / 2)^(1 / 100).
        let least = 5e-7_f64.powf(0.01);
        assert!((perfect - (least / (1.0 - least)).ln()).abs() < 1e-9, "{perfect}");
        assert!(epsilon_at_least((100, 100), (0, 100), 0.1, FALSE_ALARM) < perfect);
        // A delta that lets everything through is not refuted.
        assert_eq!(epsilon_at_least((100, 100), (0, 100), 1.0, FALSE_ALARM), 0.0);
    }

    #[test]
    fn a_promise_for_several_units_is_weaker() {
        let promised = Promised { epsilon: 0.1, delta: 1e-6 };
        assert_eq!(promised.for_units(1), promised);
        let two = promised.for_units(2);
        assert!((two.epsilon - 0.2).abs() < 1e-12);
        assert!((two.delta - 1e-6 * (1.0 + 0.1_f64.exp())).abs() < 1e-18);
    }
}
