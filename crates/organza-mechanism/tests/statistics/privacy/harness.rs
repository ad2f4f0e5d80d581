//! The empirical privacy loss: a lower confidence bound on epsilon, from runs on two neighbours.
//!
//! A mechanism is run on both neighbours, and each output is mapped to a class. Half of the runs choose
//! the event, a set of classes, that tells the neighbours apart best; the other half tests it, so that
//! the choice does not bias the test. With P and Q the laws on the neighbours, every event A of an
//! (epsilon, delta)-private mechanism has P(A) <= e^epsilon Q(A) + delta, so that with confidence
//! epsilon >= ln((at_least(P(A)) - delta) / at_most(Q(A))).

use crate::support::{FALSE_ALARM, at_least, at_most};
use std::collections::BTreeMap;

/// That a mechanism is (epsilon, delta)-differentially private.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Claim {
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
}

/// The claim of pure differential privacy.
pub(crate) fn pure(epsilon: f64) -> Claim {
    Claim { epsilon, delta: 0.0 }
}

/// Which of the two neighbours is the likely one for the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The event is likelier with the unit: it is told that the unit is there.
    Remove,
    /// The event is likelier without the unit: it is told that the unit is not there.
    Add,
}

/// How often each class came up: with the unit, without it.
type Counts<Class> = BTreeMap<Class, [u64; 2]>;

/// What many runs on two neighbours showed.
pub(crate) struct Audit<Class> {
    name: &'static str,
    /// Runs on each neighbour in each half.
    half: u64,
    choosing: Counts<Class>,
    testing: Counts<Class>,
}

impl<Class: Ord> Audit<Class> {
    /// Runs the mechanism `runs` times on each neighbour; a run gets its number, and no number twice.
    pub(crate) fn new(
        name: &'static str,
        runs: u64,
        mut with: impl FnMut(u64) -> Class,
        mut without: impl FnMut(u64) -> Class,
    ) -> Self {
        let half = runs / 2;
        let mut audit = Self { name, half, choosing: Counts::new(), testing: Counts::new() };
        for run in 0..2 * half {
            let counts = if run < half { &mut audit.choosing } else { &mut audit.testing };
            counts.entry(with(run)).or_default()[0] += 1;
            counts.entry(without(2 * half + run)).or_default()[1] += 1;
        }
        audit
    }

    /// A lower bound on epsilon at `delta`, in one direction, that is too high with probability `risk`.
    pub(crate) fn bound(&self, direction: Direction, delta: f64, risk: f64) -> f64 {
        let (likely, rare) = match direction {
            Direction::Remove => (0, 1),
            Direction::Add => (1, 0),
        };
        let event = self.choose(likely, rare, delta);
        let count = |side: usize| -> u64 {
            event.iter().filter_map(|class| self.testing.get(class)).map(|pair| pair[side]).sum()
        };
        let above = at_least(count(likely), self.half, risk / 2.0) - delta;
        if above <= 0.0 {
            return f64::NEG_INFINITY;
        }
        (above / at_most(count(rare), self.half, risk / 2.0)).ln()
    }

    /// The event for which the bound promises to be highest: by Neyman and Pearson, the classes whose
    /// ratio of probabilities lies above some level.
    fn choose(&self, likely: usize, rare: usize, delta: f64) -> Vec<&Class> {
        let ratio = |pair: &[u64; 2]| (pair[likely] as f64 + 0.5) / (pair[rare] as f64 + 0.5);
        let mut classes: Vec<(&Class, &[u64; 2])> = self.choosing.iter().collect();
        classes.sort_by(|one, other| ratio(other.1).total_cmp(&ratio(one.1)));
        let runs = self.half as f64;
        let mut sums = [0.0; 2];
        let mut best = (f64::NEG_INFINITY, 0);
        for (place, (_, pair)) in classes.iter().enumerate() {
            sums[0] += pair[likely] as f64;
            sums[1] += pair[rare] as f64;
            // Roughly what the bounds will be: five deviations, and never below what no success says.
            let above = (sums[0] - 5.0 * sums[0].sqrt()) / runs - delta;
            let below = (sums[1] + 5.0 * sums[1].sqrt() + 15.0) / runs;
            let promise = if above > 0.0 { (above / below).ln() } else { f64::NEG_INFINITY };
            if promise > best.0 {
                best = (promise, place + 1);
            }
        }
        classes.truncate(best.1);
        classes.into_iter().map(|(class, _)| class).collect()
    }

    /// The bound at each claim's delta, with the false-alarm rate split among all of `claims`.
    fn bounds(&self, claims: &[(Direction, Claim)]) -> Vec<f64> {
        let risk = FALSE_ALARM / claims.len() as f64;
        let bounds: Vec<f64> = claims
            .iter()
            .map(|(direction, claim)| self.bound(*direction, claim.delta, risk))
            .collect();
        for ((direction, claim), bound) in claims.iter().zip(&bounds) {
            report(self.name, *direction, *claim, *bound);
        }
        bounds
    }

    /// Asserts that no bound exceeds its claim, and that some bound reaches `share` of its claim, so
    /// that the neighbours are worth the test.
    pub(crate) fn holds_for(&self, claims: &[(Direction, Claim)], share: f64) {
        let bounds = self.bounds(claims);
        for ((direction, claim), bound) in claims.iter().zip(&bounds) {
            assert!(*bound <= claim.epsilon, "{}: {direction:?}, {claim:?}: {bound}", self.name);
        }
        let reached = claims
            .iter()
            .zip(&bounds)
            .map(|((_, claim), bound)| bound / claim.epsilon)
            .fold(f64::NEG_INFINITY, f64::max);
        assert!(reached >= share, "{}: only {reached} of the claim is reached", self.name);
    }

    /// [`Audit::holds_for`] for claims that are for both directions.
    pub(crate) fn holds(&self, claims: &[Claim], share: f64) {
        self.holds_for(&both(claims), share);
    }

    /// Asserts that some claim is refuted: what a broken mechanism must come to.
    pub(crate) fn is_caught(&self, claims: &[Claim]) {
        self.is_caught_for(&both(claims));
    }

    /// [`Audit::is_caught`] for claims that are for one direction each.
    pub(crate) fn is_caught_for(&self, claims: &[(Direction, Claim)]) {
        let bounds = self.bounds(claims);
        let caught = claims.iter().zip(&bounds).any(|((_, claim), bound)| *bound > claim.epsilon);
        assert!(caught, "{}: nothing shows above {claims:?}: {bounds:?}", self.name);
    }
}

fn both(claims: &[Claim]) -> Vec<(Direction, Claim)> {
    let each = |direction| claims.iter().map(move |claim| (direction, *claim));
    each(Direction::Remove).chain(each(Direction::Add)).collect()
}

/// Shown by `cargo test -- --nocapture`.
#[expect(clippy::print_stderr, reason = "the bounds reached are what a reader wants to compare")]
fn report(name: &str, direction: Direction, claim: Claim, bound: f64) {
    let Claim { epsilon, delta } = claim;
    eprintln!("{name}: {direction:?}: epsilon {bound:.3} of {epsilon:.3} at delta {delta:.1e}");
}

/// The bounds themselves are right: on laws that are known they hold, and come close.
#[test]
fn a_biased_coin_is_measured() {
    use crate::support::random;
    use organza_mechanism::sample::coin;

    let mut one = random(9_000);
    let mut other = random(9_001);
    let epsilon = (0.6_f64 / 0.2).ln();
    let runs = 200_000;
    let audit = Audit::new("coin", runs, |_| coin(0.6, &mut one), |_| coin(0.2, &mut other));
    audit.holds(&[pure(epsilon)], 0.95);
    // At delta .2 the event says (.6 - .2) / .2 one way and (.8 - .2) / .4 the other.
    let claims = [(2.0_f64).ln(), (1.5_f64).ln()].map(|epsilon| Claim { epsilon, delta: 0.2 });
    audit.holds_for(&[(Direction::Remove, claims[0]), (Direction::Add, claims[1])], 0.9);
    audit.is_caught(&[pure(0.95 * epsilon)]);
}
