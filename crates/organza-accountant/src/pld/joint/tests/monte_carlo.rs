//! Mechanisms of real size: their privacy loss is sampled, with a stated chance of a false alarm.

use super::{Random, Setting};
use crate::pld::{Accountant, Pair};
use organza_ledger::{Event, Neighbouring};

/// The chance that one comparison fails although the claim holds.
const FALSE_ALARM: f64 = 1e-9;

/// The experiment of the paper that the joint account was made for.
const PUBLISHED: Setting = Setting::new(0.28379, 100, 100_000, 0.1, 0.75, 0.5);

/// A smaller one with a stronger preference: a saturated candidate weighs e times a zero one.
const SHARPER: Setting = Setting::new(2.0, 20, 5000, 0.5, 0.75, 0.5);

/// The published one with a second clip of 0.1, far below the record's bound.
const CLIPPED: Setting = PUBLISHED.clipped(0.2 / 0.75);

/// Candidates that look alike: how many, and their value with and without the record.
#[derive(Clone, Copy, Debug)]
struct Class {
    count: f64,
    with: f64,
    without: f64,
}

/// Neighbours as a few classes of candidates, the first of which the record does not touch.
fn neighbours(setting: &Setting) -> Vec<(&'static str, Vec<Class>)> {
    let (cap, l2) = (setting.cap, setting.l2);
    let others = |count: f64, value: f64| Class {
        count: setting.candidates as f64 - count,
        with: value,
        without: value,
    };
    let moved = |count: f64, without: f64, with: f64| Class { count, with, without };
    let many = (l2 / cap).powi(2).floor();
    let each = |count: f64| l2 / count.sqrt();
    vec![
        ("one candidate", vec![others(1.0, 0.0), moved(1.0, 0.0, l2)]),
        ("one, the other way", vec![others(1.0, 0.0), moved(1.0, l2, 0.0)]),
        ("ten candidates", vec![others(10.0, 0.0), moved(10.0, 0.0, each(10.0))]),
        ("as many as the cap allows", vec![others(many, 0.0), moved(many, 0.0, each(many))]),
        ("all others saturated", vec![others(1.0, 9.0), moved(1.0, -0.5 * l2, 0.5 * l2)]),
        (
            "some up, some down",
            vec![others(20.0, 0.0), moved(10.0, 0.0, each(20.0)), moved(10.0, each(20.0), 0.0)],
        ),
    ]
}

/// The privacy loss of one step, drawn with the record `present` or not.
fn loss(setting: &Setting, classes: &[Class], present: bool, random: &mut Random) -> f64 {
    let heavy = |value: f64| (setting.weight() * value.abs().min(setting.cap)).exp();
    let mut state = [(0.0, 0.0, 0.0, 0.0); 3];
    let (mut total, mut before) = (0.0, 0.0);
    for (place, class) in state.iter_mut().zip(classes) {
        *place = (class.count, heavy(class.with), heavy(class.without), class.with - class.without);
        total += place.0 * place.1;
        before += place.0 * place.2;
    }
    let (mut ratio, mut seen) = (1.0, 0.0);
    for _ in 0..setting.draws {
        let mut point = random.uniform() * if present { total } else { before };
        let mut chosen = 0;
        for (index, place) in state.iter().enumerate().take(classes.len()) {
            chosen = index;
            point -= place.0 * if present { place.1 } else { place.2 };
            if point < 0.0 {
                break;
            }
        }
        let (_, with, without, change) = state[chosen];
        ratio *= with / total * before / without;
        seen += change * change;
        state[chosen].0 -= 1.0;
        total -= with;
        before -= without;
    }
    let shift = setting.shift().of(seen.sqrt() / setting.l2);
    let centre = if present { 0.5 * shift } else { -0.5 * shift };
    ratio.ln() + shift * (random.normal() + centre)
}

/// A value that the mean of `count` numbers in \[0, 1\] exceeds, but for the chance of a false alarm:
/// the empirical Bernstein bound (Maurer, Pontil 2009).
fn surely(count: f64, sum: f64, squares: f64) -> f64 {
    let mean = sum / count;
    let variance = (squares / count - mean * mean).max(0.0) * count / (count - 1.0);
    let chance = (2.0 / FALSE_ALARM).ln();
    mean - (2.0 * variance * chance / count).sqrt() - 7.0 * chance / (3.0 * (count - 1.0))
}

/// For each epsilon, a delta that the true one surely exceeds.
fn lower_bounds(losses: &[f64], epsilons: &[f64]) -> Vec<f64> {
    let bound = |epsilon: &f64| {
        let (mut sum, mut squares) = (0.0, 0.0);
        for loss in losses.iter().filter(|loss| **loss > *epsilon) {
            let value = -(epsilon - loss).exp_m1();
            sum += value;
            squares += value * value;
        }
        surely(losses.len() as f64, sum, squares)
    };
    epsilons.iter().map(bound).collect()
}

fn passes(claim: &Pair, epsilons: &[f64], bounds: &[f64]) -> bool {
    epsilons.iter().zip(bounds).all(|(epsilon, bound)| claim.delta(*epsilon) >= *bound)
}

#[test]
fn sampled_losses_stay_below_the_claim_and_above_the_twins() {
    // 13 epsilons, 18 neighbours: a false alarm in 1e-6 at the most.
    let epsilons: Vec<f64> = (0..13).map(|index| 0.05 * f64::from(index * index)).collect();
    let mut random = Random::new(3);
    let mut caught = [false; 6];
    for (setting, count) in [(&PUBLISHED, 400_000), (&SHARPER, 1_000_000), (&CLIPPED, 400_000)] {
        let claim = setting.claim();
        let twins = setting.twins();
        for (name, classes) in neighbours(setting) {
            let losses: Vec<f64> =
                (0..count).map(|_| loss(setting, &classes, true, &mut random)).collect();
            let bounds = lower_bounds(&losses, &epsilons);
            assert!(passes(&claim, &epsilons, &bounds), "{setting:?} {name} {bounds:?}");
            for (index, (_, twin)) in twins.iter().enumerate() {
                caught[index] |= !passes(twin, &epsilons, &bounds);
            }
        }
    }
    let names: Vec<_> = PUBLISHED.twins().iter().map(|twin| twin.0).collect();
    assert_eq!(caught, [true; 6], "{names:?}");
}

#[test]
fn sampled_runs_stay_below_the_account() {
    const RATE: f64 = 0.05;
    const STEPS: u64 = 100;
    let epsilons = [0.02, 0.1, 0.2, 0.4, 0.8, 1.5, 2.5];
    let account = |noise_multiplier: f64| {
        let selection = Event::Exponential {
            epsilon: SHARPER.range,
            draws: SHARPER.draws,
            candidates: Some(SHARPER.candidates),
            cap: Some(SHARPER.cap),
            l2: Some(SHARPER.l2),
        };
        let step = Event::Selected {
            by: Box::new(selection),
            sensitivity: None,
            noise: Box::new(Event::Gaussian { noise_multiplier }),
        };
        Accountant::new(Neighbouring::AddRemove)
            .compose(&step.poisson(RATE).repeat(STEPS))
            .expect("the event is sound")
    };
    let delta = |account: &Accountant, epsilon: f64| {
        account.delta(epsilon).expect("epsilon is in range").delta
    };
    let (claim, twin) =
        (account(SHARPER.noise_multiplier), account(1.5 * SHARPER.noise_multiplier));
    let mut random = Random::new(4);
    let mut caught = false;
    for (name, classes) in neighbours(&SHARPER).into_iter().take(2) {
        let mut run = |_| -> f64 {
            (0..STEPS)
                .map(|_| {
                    let present = random.uniform() < RATE;
                    let single = loss(&SHARPER, &classes, present, &mut random);
                    (RATE * single.exp_m1()).ln_1p()
                })
                .sum()
        };
        let losses: Vec<f64> = (0..60_000).map(&mut run).collect();
        for (epsilon, bound) in epsilons.iter().zip(lower_bounds(&losses, &epsilons)) {
            let claimed = delta(&claim, *epsilon);
            assert!(claimed >= bound, "{name} {epsilon}: {claimed} {bound}");
            caught |= delta(&twin, *epsilon) < bound;
        }
    }
    assert!(caught);
}
