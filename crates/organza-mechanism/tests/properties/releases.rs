//! What a release adds to its sum does not depend on the data, and one unit moves it no further than the
//! sensitivity that the noise is in proportion to.

use crate::support::{
    Rows, batch_of, cases, finite_value, selections, settings, sum, unit, values, write,
};
use organza_mechanism::{NoiseSettings, Plan, SelectionSettings, Shape};
use proptest::prelude::*;

/// A dense release as one vector.
fn dense(plan: &Plan, units: &[Rows]) -> Vec<f64> {
    let noised = sum(plan, units).select().noise();
    values(&noised).into_iter().flat_map(|(_, run)| run).map(f64::from).collect()
}

/// The clipped average of the units, in double precision.
fn average(plan: &Plan, units: &[Rows]) -> Vec<f64> {
    let settings = plan.settings();
    let shape = &settings.shape;
    let mut sums = vec![0.0; shape.coordinates() as usize];
    for unit in units {
        let mut gradient = vec![0.0_f32; sums.len()];
        for (row, values) in unit {
            let (first, dimensions) = shape.row(*row).unwrap();
            let target = &mut gradient[first as usize..first as usize + dimensions];
            target.iter_mut().zip(values).for_each(|(target, value)| *target += value);
        }
        if gradient.iter().any(|value| !value.is_finite()) {
            continue;
        }
        let norm = gradient.iter().map(|it| f64::from(*it) * f64::from(*it)).sum::<f64>().sqrt();
        let factor = 1.0 / (norm / settings.clip).max(1.0) / settings.expected_batch;
        sums.iter_mut().zip(&gradient).for_each(|(sum, it)| *sum += factor * f64::from(*it));
    }
    sums
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

fn difference(one: &[f64], other: &[f64]) -> Vec<f64> {
    one.iter().zip(other).map(|(one, other)| one - other).collect()
}

fn dense_plan(second_clip: Option<f64>) -> Plan {
    Plan::new(settings(SelectionSettings::Everything, second_clip)).unwrap()
}

proptest! {
    #![proptest_config(cases(100))]

    /// Releases of two data sets with one seed differ by what their sums differ by: the noise is the
    /// same, and each unit is clipped to S1 and nothing else.
    #[test]
    fn noise_does_not_depend_on_the_data(
        one in prop::collection::vec(unit(finite_value()), 0..6),
        other in prop::collection::vec(unit(finite_value()), 0..6),
    ) {
        let plan = dense_plan(None);
        let seen = difference(&dense(&plan, &one), &dense(&plan, &other));
        let expected = difference(&average(&plan, &one), &average(&plan, &other));
        for (seen, expected) in seen.iter().zip(&expected) {
            prop_assert!((seen - expected).abs() < 2e-6, "{seen} {expected}");
        }
    }

    /// One unit more moves the release by at most min(S1 / b, 2 S2); and no data by more than S2.
    #[test]
    fn the_second_clip_bounds_a_release(
        units in prop::collection::vec(unit(finite_value()), 0..6),
        more in unit(finite_value()),
        second_clip in 0.001_f64..1.0,
    ) {
        let plan = dense_plan(Some(second_clip));
        let nothing = dense(&plan, &[]);
        let without = dense(&plan, &units);
        let with = dense(&plan, &[units.clone(), vec![more]].concat());
        // Released values are floats of a few tenths: 160 of them err by 1e-7 in all.
        let slack = 1e-6;
        let share = plan.settings().clip / plan.settings().expected_batch;
        let moved = norm(&difference(&with, &without));
        prop_assert!(moved <= share.min(2.0 * second_clip) * (1.0 + 1e-5) + slack, "{moved}");
        let length = norm(&difference(&without, &nothing));
        prop_assert!(length <= second_clip * (1.0 + 1e-5) + slack, "{length}");
        // The projection keeps the direction, and what is inside the ball as it is.
        let average = average(&plan, &units);
        let shrink = (second_clip / norm(&average)).min(1.0);
        for (seen, value) in difference(&without, &nothing).iter().zip(&average) {
            prop_assert!((seen - shrink * value).abs() < 2e-6);
        }
    }

    /// A value of a sparse release is the sum's at its coordinate, with the noise of its place.
    #[test]
    fn sparse_releases_hold_what_was_selected(
        units in prop::collection::vec(unit(finite_value()), 0..6),
        kind in 1_usize..9,
    ) {
        let mut settings = settings(selections()[kind].clone(), None);
        // Hardly any noise, so that the values themselves can be read.
        settings.noise = NoiseSettings::Gaussian { multiplier: 1e-6, second_clip: None };
        let plan = Plan::new(settings).unwrap();
        let average = average(&plan, &units);
        let noised = sum(&plan, &units).select().noise();
        for (first, run) in values(&noised) {
            for (value, expected) in run.iter().zip(&average[first as usize..]) {
                prop_assert!((f64::from(*value) - expected).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn blocks_give_the_same_bits_in_any_order() {
    let mut settings = settings(SelectionSettings::Everything, None);
    settings.shape = Shape::tables(&[(9_000, 3), (7, 5)]).unwrap();
    let plan = Plan::new(settings).unwrap();
    let rows: Rows = (0..9_007).step_by(700).map(|row| (row, vec![0.5, -0.25, 1.0])).collect();
    let sum = batch_of(&plan, 1, 5).sum(|_, gradient| write(&rows, gradient));
    let noised = sum.select().noise();
    assert_eq!(noised.blocks(), 27_035_u64.div_ceil(8_192));
    let block = |number: u64| {
        let mut bits = Vec::new();
        noised.block(number, |first, run| {
            bits.push((first, run.iter().map(|value| value.to_bits()).collect::<Vec<_>>()));
        });
        bits
    };
    let in_order: Vec<_> = (0..noised.blocks()).map(block).collect();
    for number in (0..noised.blocks()).rev().chain([2, 0, 2, 3, 1]) {
        assert_eq!(block(number), in_order[number as usize]);
    }
    let length: usize = in_order.iter().flatten().map(|(_, run)| run.len()).sum();
    assert_eq!(length, 27_035);
    // No two blocks share their noise.
    assert_ne!(in_order[0][0].1[..100], in_order[1][0].1[..100]);
    // Beyond the end there is nothing, and no panic.
    for beyond in [noised.blocks(), 1 << 40, u64::MAX] {
        assert!(block(beyond).iter().all(|(_, run)| run.is_empty()));
    }
}
