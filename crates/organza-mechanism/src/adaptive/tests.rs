//! The joint mechanism has the multiplier that is charged, and the clip goes where it should.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::{BatchSum, NoiseSettings, Sampler, SelectionSettings, Shape};
use organza_ledger::testing::paid;
use organza_ledger::{Charged, Event};

const MULTIPLIER: f64 = 0.7;

fn settings(neighbouring: Neighbouring, expected_batch: f64) -> PlanSettings {
    PlanSettings {
        shape: Shape::table(3, 2).unwrap(),
        neighbouring,
        rate: 1.0,
        expected_batch,
        clip: 2.0,
        selection: SelectionSettings::Everything,
        noise: NoiseSettings::Gaussian { multiplier: MULTIPLIER, second_clip: None },
    }
}

fn adapting(settings: PlanSettings, quantile: f64) -> Plan {
    let clip = settings.clip;
    Plan::new(settings).unwrap().adapting(AdaptiveClip::new(quantile, clip)).unwrap()
}

fn sampler(plan: &Plan, units: u64, steps: u64) -> (Sampler, Charged) {
    let sampler = plan.sampler("training", units, &RandomSource::from_seed(5));
    let charged = paid(sampler.charge(0..steps));
    (sampler, charged)
}

/// The sum of units of these lengths, all in one direction, at the clip of the plan.
fn sum(plan: &Plan, lengths: &[f32]) -> BatchSum {
    let (sampler, charged) = sampler(plan, lengths.len() as u64, 1);
    let batch = sampler.batch(0, &charged).unwrap();
    batch.sum(|unit, gradient| gradient.row(1).unwrap()[0] = lengths[unit as usize])
}

/// Deviations of the noise on gradients, in grid steps, and on the count.
fn deviations(plan: &Plan) -> (f64, f64) {
    let steps = plan.noise_deviation() / plan.grid().step();
    let normal = plan.adaptive().unwrap().noise.deviation();
    // Before it was rounded.
    (steps, (normal * normal - 1.0 / 12.0).sqrt())
}

/// How far apart two sums are in units of the noise: a Gaussian mechanism has at most 1 / z.
fn distance(one: &BatchSum, other: &BatchSum, (gradients, count): (f64, f64)) -> f64 {
    let ((one, within), (other, also_within)) = (one.before_noise(), other.before_noise());
    let length = one.len().max(other.len());
    let at = |values: &[i64], place: usize| values.get(place).copied().unwrap_or(0) as f64;
    let squares = (0..length).map(|place| (at(&one, place) - at(&other, place)).powi(2));
    let of_gradients = squares.sum::<f64>().sqrt() / gradients;
    let of_count = (within - also_within) as f64 / count;
    of_gradients.hypot(of_count)
}

/// The largest distance among neighbours, with noise of these deviations.
fn worst(plan: &Plan, deviations: (f64, f64)) -> f64 {
    let relation = plan.settings().neighbouring;
    let lengths = [0.0, 0.5, 1.999, 2.0, 2.001, 50.0, -2.0, -2.001, -50.0, f32::NAN];
    let common = [1.0, 3.0];
    let mut worst = 0.0_f64;
    for one in lengths {
        let with = sum(plan, &[common[0], common[1], one]);
        match relation {
            Neighbouring::AddRemove => {
                worst = worst.max(distance(&with, &sum(plan, &common), deviations));
            }
            Neighbouring::ReplaceOne => {
                for other in lengths {
                    let replaced = sum(plan, &[common[0], common[1], other]);
                    worst = worst.max(distance(&with, &replaced, deviations));
                }
            }
        }
    }
    worst
}

/// What neighbours differ by is what one Gaussian of the plan's multiplier allows, and next to all of it; noise that is not
/// divided, a count with the noise of half its sensitivity, or with none to speak of, is beyond it.
#[test]
fn sum_and_count_together_are_one_gaussian() {
    for relation in [Neighbouring::AddRemove, Neighbouring::ReplaceOne] {
        let plan = adapting(settings(relation, 3.0), 0.5);
        let plain = Plan::new(settings(relation, 3.0)).unwrap();
        assert_eq!(plan.step_event(), plain.step_event());
        let gaussian = Event::Gaussian { noise_multiplier: MULTIPLIER };
        assert_eq!(*plan.step_event(), gaussian.poisson(1.0));

        let (gradients, count) = deviations(&plan);
        let change = count_change(relation);
        let together = (gradients / (change * crate::grid::STEPS_OF_CLIP)).powi(-2)
            + (count / change).powi(-2);
        assert!((together.powf(-0.5) / MULTIPLIER - 1.0).abs() < 1e-12);

        let allowed = 1.0 / MULTIPLIER;
        let found = worst(&plan, (gradients, count));
        // Of a replaced unit one side at the clip and the other beyond it are as far apart as can be.
        assert!(found <= allowed && found > 0.999 * allowed, "{found} {allowed}");
        let undivided = plain.noise_deviation() / plain.grid().step();
        for twin in [(undivided, count), (gradients, count / 2.0), (gradients, 1e-3)] {
            assert!(worst(&plan, twin) > 1.001 * allowed, "{twin:?}");
        }
    }
}

/// What was counted, with its noise, as the next clip tells it.
fn counted(plan: &Plan, clip: f64, next: ReleasedClip) -> f64 {
    let AdaptiveClip { quantile, rate, .. } = plan.adaptive().unwrap().settings;
    let part = quantile - (next.value() / clip).ln() / rate;
    (2.0 * part - 1.0) * plan.settings().expected_batch
}

/// Mean and variance of the released count are those of the mechanism, within five deviations of each (false alarms below
/// 2e-6 in all); without its noise, or with half of it, they are not.
#[test]
fn the_count_has_its_noise() {
    const STEPS: u64 = 20_000;
    let plan = adapting(settings(Neighbouring::AddRemove, 40.0), 0.3);
    let (sampler, charged) = sampler(&plan, 30, STEPS);
    let mut seen = Vec::new();
    for step in 0..STEPS {
        let batch = sampler.batch(step, &charged).unwrap();
        // Ten of thirty are beyond the clip.
        let sum = batch.sum(|unit, gradient| {
            gradient.row(0).unwrap()[0] = if unit.is_multiple_of(3) { 9.0 } else { 1.0 };
        });
        seen.push(counted(&plan, 2.0, sum.select().noise().next_clip().unwrap()));
    }
    let count = STEPS as f64;
    let mean = seen.iter().sum::<f64>() / count;
    let variance = seen.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let expected = plan.adaptive().unwrap().noise.deviation().powi(2);
    assert!((mean - 10.0).abs() < 5.0 * (expected / count).sqrt(), "{mean}");
    let agrees = |law: f64| (variance / law - 1.0).abs() < 5.0 * (2.0 / count).sqrt();
    assert!(agrees(expected), "{variance} {expected}");
    assert!(!agrees(expected / 4.0) && !agrees(1e-9));
    // Whole numbers, up to the rounding of the logarithm.
    assert!(seen.iter().all(|value| (value - value.round()).abs() < 1e-6));
}

/// The clip comes to the quantile of made-up norms, from far below and far above it, and stays within its bounds.
#[test]
fn the_clip_follows_the_quantile() {
    const UNITS: u64 = 400;
    // Norms from e^-3 to e^3: the quantile q is at e^(6 q - 3).
    let norm = |unit: u64| ((unit as f64 + 0.5) / UNITS as f64 * 6.0 - 3.0).exp() as f32;
    for quantile in [0.2, 0.5, 0.9] {
        for first in [0.01, 300.0] {
            let plan = PlanSettings {
                rate: 0.25,
                clip: first,
                ..settings(Neighbouring::AddRemove, 0.25 * UNITS as f64)
            };
            let plan = adapting(plan, quantile);
            let (sampler, charged) = sampler(&plan, UNITS, 400);
            let (mut clip, mut parts) = (None, Vec::new());
            for step in 0..400 {
                let mut batch = sampler.batch(step, &charged).unwrap();
                if let Some(clip) = clip {
                    batch = batch.at_clip(clip);
                }
                let sum = batch.sum(|unit, gradient| gradient.row(0).unwrap()[1] = norm(unit));
                let next = sum.select().noise().next_clip().unwrap();
                parts.push((next.value().ln() + 3.0) / 6.0);
                clip = Some(next);
            }
            let last = &parts[300..];
            let mean = last.iter().sum::<f64>() / last.len() as f64;
            assert!((mean - quantile).abs() < 0.03, "{quantile} from {first}: {mean}");
        }
    }
    let narrow = AdaptiveClip { quantile: 0.9, rate: 5.0, floor: 1.5, ceiling: 2.5 };
    let plan = Plan::new(settings(Neighbouring::AddRemove, 3.0)).unwrap().adapting(narrow).unwrap();
    for (length, bound) in [(1e-3, 1.5), (1e3, 2.5)] {
        let (sampler, charged) = sampler(&plan, 300, 1);
        let batch = sampler.batch(0, &charged).unwrap().at_clip(ReleasedClip::saved(f64::NAN));
        let sum = batch.sum(|_, gradient| gradient.row(0).unwrap()[0] = length);
        assert_eq!(sum.select().noise().next_clip(), Some(ReleasedClip(bound)));
    }
}

/// A release at another clip is the same whole numbers in other steps: gradients within it are not scaled, and noise is
/// in proportion to it.
#[test]
fn a_step_is_in_units_of_its_clip() {
    let plan = adapting(settings(Neighbouring::AddRemove, 1.0), 0.5);
    let at = |clip: f64, length: f32| {
        let (sampler, charged) = sampler(&plan, 1, 1);
        let batch = sampler.batch(0, &charged).unwrap().at_clip(ReleasedClip::saved(clip));
        let mut released = Vec::new();
        let sum = batch.sum(|_, gradient| gradient.row(2).unwrap()[1] = length);
        sum.select().noise().visit(|_, values| released.extend_from_slice(values));
        released
    };
    for (one, eight) in at(2.0, 0.5).iter().zip(at(16.0, 4.0)) {
        assert_eq!(8.0 * one, eight);
    }
    let (noise, with) = (at(16.0, 0.0), at(16.0, 4.0));
    assert!((with[5] - noise[5] - 4.0).abs() < 1e-3 && with[..5] == noise[..5]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let plan = |settings: PlanSettings, adaptive| Plan::new(settings).unwrap().adapting(adaptive);
    let good = settings(Neighbouring::AddRemove, 3.0);
    for quantile in [0.0, 1.0, -0.5, f64::NAN] {
        assert!(plan(good.clone(), AdaptiveClip::new(quantile, 2.0)).is_err());
    }
    let half = AdaptiveClip::new(0.5, 2.0);
    assert!(plan(good.clone(), half).is_ok());
    assert!(plan(good.clone(), AdaptiveClip { floor: 3.0, ..half }).is_err());
    assert!(plan(good.clone(), AdaptiveClip { rate: 0.0, ..half }).is_err());
    let selection = SelectionSettings::Uniform { by: crate::By::Row, draws: 1 };
    assert!(plan(PlanSettings { selection, ..good.clone() }, half).is_err());
    let noise = NoiseSettings::Gaussian { multiplier: 1.0, second_clip: Some(0.1) };
    assert!(plan(PlanSettings { noise, ..good.clone() }, half).is_err());
    // A table of whole numbers has one grid.
    let grid = crate::DeferredGrid::new(6, 10, 1.0, 1e-6).unwrap();
    let source = RandomSource::from_seed(1);
    let defers = |plan: Plan| plan.sampler("training", 1, &source).defer(&grid).is_some();
    assert!(defers(Plan::new(good.clone()).unwrap()) && !defers(plan(good, half).unwrap()));
}
