//! The joint account as a user meets it: published figures, limits, monotonicity, extremes.
#![allow(clippy::unwrap_used)]

use crate::gaussian;
use organza_accountant::normal;
use organza_accountant::pld::joint::{CappedSelection, uniform_mask};
use organza_accountant::pld::{Accountant, Pair, bounded_range, gaussian};
use organza_ledger::{Event, Neighbouring};
use proptest::prelude::*;

const TAIL: f64 = 1e-24;
const BILLIONS: u64 = 1_000_000_000_000;

fn exponential(epsilon: f64, draws: u64, candidates: u64, cap: f64, l2: f64) -> Event {
    let (candidates, cap, l2) = (Some(candidates), Some(cap), Some(l2));
    Event::Exponential { epsilon, draws, candidates, cap, l2 }
}

/// Noise on what this selects.
fn selected(by: Event, noise_multiplier: f64) -> Event {
    Event::Selected {
        by: Box::new(by),
        sensitivity: None,
        noise: Box::new(gaussian(noise_multiplier)),
    }
}

fn published() -> Event {
    exponential(0.28379, 100, 100_000, 0.1, 0.75)
}

fn epsilon(step: Event, rate: f64, steps: u64, delta: f64) -> f64 {
    let run = step.poisson(rate).repeat(steps);
    let account = Accountant::new(Neighbouring::AddRemove).compose(&run).unwrap();
    account.epsilon(delta).unwrap().epsilon
}

fn masked(share: f64, noise_multiplier: f64) -> Event {
    Event::UniformMask { share, event: Box::new(gaussian(noise_multiplier)) }
}

#[test]
fn the_published_run() {
    let long_run = |step: Event| epsilon(step, 1e-4, 200_000, 1e-5);
    let joint = long_run(selected(published(), 0.5));
    assert!((0.316..0.3215).contains(&joint), "{joint}");
    let mask = long_run(masked(0.001, 0.5));
    assert!((0.25..0.262).contains(&mask), "{mask}");
    let whole = long_run(masked(1.0, 0.5));
    assert!((2.4179..2.4186).contains(&whole), "{whole}");
    assert_eq!(long_run(masked(0.0, 0.5)), 0.0);
}

/// A lower bound on the epsilon at `delta` of any sound account of the published run: all gradients
/// but the record's are zero, the record has one coordinate, and of the draws only whether that
/// coordinate was among them is looked at. Losses are rounded down throughout.
fn floor(delta: f64) -> f64 {
    let (rate, steps, draws, candidates) = (1e-4, 200_000.0, 100, 100_000);
    let (shift, step, length) = (2.0, 2e-6, 1usize << 22);
    let weight = (0.28379 / 2.0f64).exp();
    let without = f64::from(draws) / f64::from(candidates);
    let missed: f64 = (0..draws)
        .map(|draw| f64::from(candidates - draw - 1))
        .map(|others| others / (others + weight))
        .product();
    let with = 1.0 - missed;
    let miss = (rate * (missed / (1.0 - without) - 1.0)).ln_1p();
    let mut law = vec![0.0; length];
    let spacing = 1e-4;
    for cell in 0..200_000 {
        let low = -10.0 + f64::from(cell) * spacing;
        let mass = (1.0 - rate) * without * normal::between(low, low + spacing)
            + rate * with * normal::between(low - shift, low + spacing - shift);
        let ratio = with / without * (shift * low - 0.5 * shift * shift).exp();
        let loss = (rate * (ratio - 1.0)).ln_1p() - miss;
        let index = ((loss / step).floor() as i64).min(length as i64 / 2 - 1);
        law[index.rem_euclid(length as i64) as usize] += mass;
    }
    law[0] += (1.0 - rate) * (1.0 - without) + rate * missed;
    assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-6);
    let mut planner = realfft::RealFftPlanner::<f64>::new();
    let forward = planner.plan_fft_forward(length);
    let backward = planner.plan_fft_inverse(length);
    let mut spectrum = forward.make_output_vec();
    forward.process(&mut law, &mut spectrum).unwrap();
    for value in &mut spectrum {
        let (size, angle) = (value.norm().powf(steps), value.arg() * steps);
        *value = realfft::num_complex::Complex::from_polar(size, angle);
    }
    spectrum[0].im = 0.0;
    spectrum.last_mut().unwrap().im = 0.0;
    backward.process(&mut spectrum, &mut law).unwrap();
    let at = |epsilon: f64| -> f64 {
        (0..length / 2)
            .map(|index| (index as f64 * step + steps * miss, law[index] / length as f64))
            .filter(|(loss, _)| *loss > epsilon)
            .map(|(loss, mass)| mass * -(epsilon - loss).exp_m1())
            .sum()
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        if at(middle) > delta { low = middle } else { high = middle }
    }
    low
}

#[test]
fn no_account_can_lie_below_the_floor_and_ours_is_close_to_it() {
    let floor = floor(1e-5);
    let joint = epsilon(selected(published(), 0.5), 1e-4, 200_000, 1e-5);
    assert!((0.3145..0.3175).contains(&floor), "{floor}");
    assert!(joint >= floor && joint <= 1.02 * floor, "{floor} {joint}");
    // Twins that price the run too low, by the record's share or by the weights, fall below it.
    let blind = epsilon(masked(0.001, 0.5), 1e-4, 200_000, 1e-5);
    assert!(blind < floor);
}

#[test]
fn without_noise_to_speak_of_it_is_the_selection() {
    let sharp = exponential(1.0, 20, 1000, 0.5, 0.75);
    let alone = epsilon(sharp.clone(), 0.01, 500, 1e-6);
    let faint = epsilon(selected(sharp, 1e4), 0.01, 500, 1e-6);
    assert!((faint / alone - 1.0).abs() < 1e-2, "{alone} {faint}");
}

#[test]
fn one_unsampled_use_is_the_pair_itself() {
    let selection = CappedSelection::new(1.0, 10, 500, 0.3, 1.0).unwrap();
    let pair = selection.with_noise(0.7, 1.0, TAIL).unwrap();
    let event = selected(exponential(1.0, 10, 500, 0.3, 1.0), 0.7);
    let account = Accountant::new(Neighbouring::AddRemove).compose(&event).unwrap();
    for epsilon in [0.1, 1.0, 3.0] {
        let (whole, one) = (account.delta(epsilon).unwrap().delta, pair.delta(epsilon));
        assert!((whole / one - 1.0).abs() < 1e-3, "{epsilon}: {whole} {one}");
    }
}

fn assert_sound(pair: &Pair, what: &str) {
    let (with, without) = pair.totals();
    assert!((with - 1.0).abs() < 1e-6 && (without - 1.0).abs() < 1e-6, "{what}: {with} {without}");
    assert!(pair.masses.iter().all(|mass| *mass >= 0.0), "{what}");
    assert!(pair.masses.len() < 40_000, "{what}: {}", pair.masses.len());
    for epsilon in [0.0, 0.1, 1.0, 10.0, 700.0] {
        let delta = pair.delta(epsilon);
        assert!((0.0..=1.0 + 1e-6).contains(&delta), "{what}: {delta}");
    }
}

#[test]
fn extremes_answer() {
    for (draws, candidates) in
        [(0, 1), (1, 1), (7, 7), (3, BILLIONS), (1_000_000, BILLIONS), (BILLIONS, BILLIONS)]
    {
        for cap in [1e-12, 0.3, 1e12] {
            for range in [0.0, 1e-9, 0.3, 20.0] {
                let selection = CappedSelection::new(range, draws, candidates, cap, 1.0).unwrap();
                if draws < 1000 {
                    assert_sound(&selection.pair(TAIL), "selection");
                }
                // A million draws of which bounded range alone is of use take a second each.
                let noises: &[f64] = if draws > 1000 { &[1.0] } else { &[0.05, 1.0, 1e4] };
                for noise_multiplier in noises.iter().copied() {
                    for kept in if draws > 1000 { &[1.0][..] } else { &[1.0, 0.1, 1e-200] } {
                        let pair = selection.with_noise(noise_multiplier, *kept, TAIL).unwrap();
                        let what =
                            format!("{draws} {candidates} {cap} {range} {noise_multiplier} {kept}");
                        assert_sound(&pair, &what);
                    }
                }
            }
        }
    }
    for share in [0.0, 1e-12, 1e-3, 0.5, 1.0] {
        for noise_multiplier in [0.05, 1.0, 1e4] {
            assert_sound(&uniform_mask(share, noise_multiplier, TAIL).unwrap(), "mask");
        }
    }
    for (range, noise_multiplier) in [(1e-310, 1.0), (1e-310, 1e308), (0.1, 1e308), (0.0, 1e308)] {
        let selection = CappedSelection::new(range, 3, 9, 1.0, 1.0).unwrap();
        assert_sound(&selection.with_noise(noise_multiplier, 1.0, TAIL).unwrap(), "faint");
        assert_sound(&uniform_mask(0.5, noise_multiplier, TAIL).unwrap(), "faint");
    }
    assert!(CappedSelection::new(0.1, 2, 1, 1.0, 1.0).is_err());
    assert!(CappedSelection::new(0.1, 1, 2, 0.0, 1.0).is_err());
    let selection = CappedSelection::new(0.1, 1, 2, 1.0, 1.0).unwrap();
    for noise_multiplier in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
        assert!(selection.with_noise(noise_multiplier, 1.0, TAIL).is_err());
        assert!(uniform_mask(0.5, noise_multiplier, TAIL).is_err());
    }
    for kept in [0.0, -0.5, 1.1, f64::NAN] {
        assert!(selection.with_noise(1.0, kept, TAIL).is_err());
    }
    assert!(uniform_mask(1.5, 1.0, TAIL).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn it_falls_with_noise_and_rises_with_draws_and_is_never_above_bounded_range(
        range in 0.01f64..3.0,
        draws in 1u64..60,
        more in 1u64..40,
        spare in 0u64..5000,
        cap in 0.02f64..2.0,
        noise_multiplier in 0.3f64..4.0,
        kept in prop_oneof![Just(1.0), 0.05f64..1.0],
    ) {
        let candidates = draws + more + spare;
        let pair = |draws: u64, noise_multiplier: f64| {
            let selection = CappedSelection::new(range, draws, candidates, cap, 1.0).unwrap();
            selection.with_noise(noise_multiplier, kept, TAIL).unwrap()
        };
        let base = pair(draws, noise_multiplier);
        let louder = pair(draws, 1.3 * noise_multiplier);
        let longer = pair(draws + more, noise_multiplier);
        let classic = bounded_range::pair(range, draws, TAIL);
        let classic = classic.convolve(&gaussian::pair(noise_multiplier, classic.step, TAIL));
        for epsilon in [0.0, 0.3, 1.0, 2.5, 6.0] {
            let delta = base.delta(epsilon);
            prop_assert!(louder.delta(epsilon) <= delta * 1.001 + 1e-15);
            prop_assert!(longer.delta(epsilon) >= delta * 0.98 - 1e-15);
            prop_assert!(delta <= classic.delta(epsilon) * 1.01 + 1e-15);
        }
    }

    #[test]
    fn a_mask_costs_more_the_more_it_lets_through(
        share in 1e-6f64..1.0,
        noise_multiplier in 0.2f64..10.0,
    ) {
        let narrow = uniform_mask(0.5 * share, noise_multiplier, TAIL).unwrap();
        let wide = uniform_mask(share, noise_multiplier, TAIL).unwrap();
        for epsilon in [0.0f64, 0.1, 1.0, 4.0] {
            let (less, more) = (narrow.delta(epsilon), wide.delta(epsilon));
            prop_assert!(less <= more * 1.001);
            // The mixture of the whole record and nothing is one of the laws that it covers.
            let whole = normal::hockey_stick(epsilon.exp(), 1.0 / noise_multiplier);
            prop_assert!(more >= share * whole * (1.0 - 1e-9));
            prop_assert!(more <= whole * 1.01 + 1e-12);
        }
    }
}

#[test]
fn it_rises_with_the_rate_and_the_steps() {
    let step = || selected(exponential(0.5, 20, 2000, 0.2, 1.0), 0.7);
    let base = epsilon(step(), 0.01, 400, 1e-6);
    assert!(epsilon(step(), 0.01, 800, 1e-6) > base);
    assert!(epsilon(step(), 0.02, 400, 1e-6) > base);
    assert!(epsilon(step(), 0.01, 400, 1e-7) > base);
}
