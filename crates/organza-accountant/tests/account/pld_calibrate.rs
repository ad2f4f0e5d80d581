//! Calibration: never above the target, close below it, quick.
#![allow(clippy::unwrap_used)]

use organza_accountant::calibrate::{self, CalibrateError, Target};
use organza_accountant::pld::Guarantee;
use organza_ledger::Event;
use organza_mechanism::{Selection, Split};
use std::time::{Duration, Instant};

/// The noise multiplier of steps that select nothing.
fn multiplier(rate: f64, steps: u64, target: &Target) -> Result<(f64, Guarantee), CalibrateError> {
    let step = |noise_multiplier| Some(Event::Gaussian { noise_multiplier });
    calibrate::scale_of_steps(target, rate, steps, step)
}

/// Draws of bounded range, and noise.
fn selected(split: Split) -> Option<Event> {
    let Split { noise_multiplier, draw } = split;
    let (candidates, cap, l2) = (None, None, None);
    let draws = Event::Exponential { epsilon: draw?, draws: 100, candidates, cap, l2 };
    Some(Event::Compose(vec![draws, Event::Gaussian { noise_multiplier }]))
}

#[test]
fn the_plain_gaussian_is_exact() {
    // Balle and Wang's condition, solved to 50 digits.
    for (epsilon, delta, truth) in [
        (1.0, 1e-5, 3.730_631_634_815_942),
        (0.1, 1e-6, 36.304_690_426_195_78),
        (8.0, 1e-5, 0.600_229_072_198_951_6),
        (30.0, 1e-5, 0.214_720_146_527_358_2),
        (0.5, 1e-9, 10.673_896_815_080_026),
    ] {
        let target = Target { tolerance: 1e-10, ..Target::new(epsilon, delta) };
        let (found, cost) = multiplier(1.0, 1, &target).unwrap();
        assert!(cost.epsilon <= epsilon);
        let relative = found / truth - 1.0;
        assert!((-1e-12..1e-9).contains(&relative), "{epsilon} {relative:e}");
    }
}

#[test]
fn sampled_noise_meets_the_target_from_below() {
    for (rate, steps, delta, epsilon, truth) in [
        (0.01, 1000, 1e-5, 1.0, 1.414_630_839_345_669_7),
        (0.01, 1000, 1e-5, 8.0, 0.586_259_901_165_87),
        (0.001, 20_000, 1e-6, 3.0, 0.634_461_440_079_655_9),
        (0.05, 400, 1e-5, 2.0, 2.186_468_120_805_214_4),
        (1e-4, 200_000, 1e-5, 30.0, 0.3019),
        (1e-4, 200_000, 1e-5, 1.0, 0.5770),
    ] {
        let start = Instant::now();
        let (found, cost) = multiplier(rate, steps, &Target::new(epsilon, delta)).unwrap();
        assert!(start.elapsed() < Duration::from_secs(3));
        assert!(cost.epsilon <= epsilon);
        assert!(cost.epsilon >= epsilon * (1.0 - 1e-3));
        assert!((found / truth - 1.0).abs() < 5e-4, "{found} {truth}");
    }
}

#[test]
fn a_share_of_the_budget_selects() {
    for (epsilon, share, multiplier, range) in [
        (30.0, 0.1, 0.3184, 0.2094),
        (8.0, 0.25, 0.4541, 0.2543),
        (3.0, 0.5, 0.6804, 0.2940),
        (1.0, 0.1, 0.6085, 0.1096),
    ] {
        let selection = Selection { share, ..Selection::default() };
        let (start, target) = (Instant::now(), Target::new(epsilon, 1e-5));
        let step = |together| selected(selection.split(100, together));
        let (together, cost) = calibrate::scale_of_steps(&target, 1e-4, 200_000, step).unwrap();
        let found = selection.split(100, together);
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        assert!(cost.epsilon <= epsilon);
        assert!(cost.epsilon >= epsilon * (1.0 - 1e-3));
        assert!((found.noise_multiplier / multiplier - 1.0).abs() < 4e-3, "{found:?}");
        assert!((found.draw.unwrap() / range - 1.0).abs() < 4e-3, "{found:?}");
    }
}

#[test]
fn steps_rates_and_ranges() {
    let target = Target::new(2.0, 1e-6);
    let step = Event::Gaussian { noise_multiplier: 0.8 }.poisson(1e-3);
    let (times, cost) = calibrate::times(&step, &target).unwrap();
    assert!(cost.epsilon <= 2.0 && cost.epsilon > 2.0 * (1.0 - 1e-3), "{times} {cost:?}");
    let noise = Event::Gaussian { noise_multiplier: 0.8 };
    let (rate, cost) = calibrate::rate(&noise, times, &target).unwrap();
    assert!(cost.epsilon <= 2.0 && (rate / 1e-3 - 1.0).abs() < 2e-3, "{rate} {cost:?}");
    let run = |draw| {
        let split = Split { noise_multiplier: 0.9, draw: Some(draw) };
        Some(selected(split)?.poisson(1e-3).repeat(4000))
    };
    let (draw, cost) = calibrate::draw_epsilon(&target, run).unwrap();
    assert!(cost.epsilon <= 2.0 && cost.epsilon > 1.998, "{draw} {cost:?}");
}

#[test]
fn what_cannot_be_met_is_said() {
    let target = Target::new(0.1, 1e-6);
    let costly = Event::Pure { epsilon: 1.0 };
    assert!(matches!(calibrate::times(&costly, &target), Err(CalibrateError::Unreachable { .. })));
    assert!(multiplier(1e-3, 10, &Target::new(-1.0, 1e-6)).is_err());
    assert!(multiplier(1e-3, 10, &Target::new(1.0, 0.0)).is_err());
    assert!(multiplier(0.0, 10, &target).is_err());
    // Noise cannot buy back what a failing release costs: a rate can.
    let failing = Event::Approximate { epsilon: 0.1, delta: 1e-3 };
    let (rate, cost) = calibrate::rate(&failing, 10, &Target::new(1.0, 1e-5)).unwrap();
    assert!(rate < 1.001e-3 && cost.epsilon <= 1.0, "{rate} {cost:?}");
}
