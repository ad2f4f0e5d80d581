//! Settings of any kind: refused with advice, or a plan that runs.

use crate::support::{batch_of, cases};
use organza_ledger::{MaxNoise, Neighbouring};
use organza_mechanism::{
    By, NoiseSettings, NumericSparse, Plan, PlanError, PlanSettings, SelectionSettings, Shape,
};
use proptest::prelude::*;

/// Good numbers, and those that nobody should give.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => 0.01_f64..10.0,
        2 => (-300.0_f64..300.0).prop_map(|power| 10.0_f64.powf(power)),
        1 => prop::sample::select(vec![
            0.0, -0.0, -1.0, 1.0, 1e-60, 1e60, 1e-150, 1e150, f64::MIN_POSITIVE, f64::MAX,
            f64::INFINITY, f64::NEG_INFINITY, f64::NAN,
        ]),
        1 => any::<f64>(),
    ]
}

fn probability() -> impl Strategy<Value = f64> {
    prop_oneof![3 => 0.001_f64..1.0, 1 => Just(1.0), 1 => number()]
}

fn how_many() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 1_u64..10, 1 => Just(0), 1 => 10_u64..1_000, 1 => any::<u64>()]
}

fn by() -> impl Strategy<Value = By> {
    prop::sample::select(vec![By::Coordinate, By::Row])
}

fn shape() -> impl Strategy<Value = Shape> {
    let sizes =
        vec![vec![(1, 1)], vec![(5, 2)], vec![(30, 1), (2, 7)], vec![((1 << 32) - 1, 1 << 30)]];
    prop::sample::select(sizes).prop_map(|sizes| Shape::tables(&sizes).unwrap())
}

fn selection() -> impl Strategy<Value = SelectionSettings> {
    let noise =
        prop::sample::select(vec![MaxNoise::Gumbel, MaxNoise::Laplace, MaxNoise::Exponential]);
    let cap = || prop::option::of(number());
    prop_oneof![
        Just(SelectionSettings::Everything),
        (by(), how_many(), number(), number()).prop_map(|(by, draws, epsilon, cap)| {
            SelectionSettings::Exponential { by, draws, epsilon, cap }
        }),
        (by(), how_many(), number(), number(), number(), cap()).prop_map(
            |(by, hits, threshold, threshold_epsilon, query_epsilon, cap)| {
                SelectionSettings::SparseVector {
                    by,
                    hits,
                    order: Default::default(),
                    threshold,
                    threshold_epsilon,
                    query_epsilon,
                    cap,
                }
            }
        ),
        (by(), how_many(), number(), noise, cap()).prop_map(|(by, draws, epsilon, noise, cap)| {
            SelectionSettings::NoisyMax { by, draws, epsilon, noise, cap }
        }),
        (how_many(), how_many(), how_many(), number(), probability()).prop_map(
            |(draws, domain, rows_per_unit, epsilon, delta)| {
                SelectionSettings::LimitedDomain { draws, domain, rows_per_unit, epsilon, delta }
            }
        ),
        (by(), how_many()).prop_map(|(by, draws)| SelectionSettings::Uniform { by, draws }),
    ]
}

fn noise() -> impl Strategy<Value = NoiseSettings> {
    prop_oneof![
        3 => (number(), prop::option::of(number())).prop_map(|(multiplier, second_clip)| {
            NoiseSettings::Gaussian { multiplier, second_clip }
        }),
        1 => number().prop_map(|epsilon| NoiseSettings::Laplace { epsilon }),
    ]
}

fn settings() -> impl Strategy<Value = PlanSettings> {
    let neighbouring =
        prop::sample::select(vec![Neighbouring::AddRemove, Neighbouring::ReplaceOne]);
    (shape(), neighbouring, probability(), number(), number(), selection(), noise()).prop_map(
        |(shape, neighbouring, rate, expected_batch, clip, selection, noise)| PlanSettings {
            shape,
            neighbouring,
            rate,
            expected_batch,
            clip,
            selection,
            noise,
        },
    )
}

/// An error names its setting, its value, why, and a number or a choice that would do.
fn advises(error: &PlanError) -> bool {
    let text = error.to_string();
    let remedies = ["give ", "use ", "keep "];
    text.starts_with(&format!("`{}` is {}: ", error.setting, error.value))
        && !error.reason.is_empty()
        && remedies.iter().any(|remedy| error.remedy.starts_with(remedy))
}

/// The first block of a step of four units, two of which touch the first and the last row. A selection
/// of very many is left out: it takes the room that it was asked for.
fn step(plan: &Plan) -> Result<(), TestCaseError> {
    let draws = match plan.settings().selection {
        SelectionSettings::Exponential { draws, .. }
        | SelectionSettings::NoisyMax { draws, .. }
        | SelectionSettings::Uniform { draws, .. }
        | SelectionSettings::SparseVector { hits: draws, .. } => draws,
        _ => 0,
    };
    let shape = plan.settings().shape.clone();
    if draws > 100 || shape.widest() > 1_000 {
        return Ok(());
    }
    let last = (shape.rows() - 1) as u32;
    let sum = batch_of(plan, 4, 1).sum(|unit, gradient| {
        if unit % 2 == 0 {
            gradient.row(0).unwrap().fill(0.5);
            gradient.row(last).unwrap()[0] += unit as f32 - 1.0;
        }
    });
    let noised = sum.select().noise();
    noised.block(0, |first, run| assert!(first + run.len() as u64 <= shape.coordinates()));
    prop_assert!(plan.noise_deviation() > 0.0);
    Ok(())
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn any_settings_are_refused_with_advice_or_run(
        settings in settings(),
        candidates in prop::option::of(number()),
    ) {
        let plan = Plan::new(settings).and_then(|plan| match candidates {
            Some(clip) => plan.clipping_candidates(clip),
            None => Ok(plan),
        });
        match plan {
            Err(error) => prop_assert!(advises(&error), "{error}"),
            Ok(plan) => {
                prop_assert!(plan.step_event().check().is_ok(), "{:?}", plan.step_event());
                step(&plan)?;
            }
        }
    }

    #[test]
    fn numeric_sparse_settings_are_refused_or_make_a_plan(
        threshold in number(),
        hits in how_many(),
        epsilon in number(),
        delta in probability(),
        sensitivity in number(),
        failure in probability(),
    ) {
        let rule = NumericSparse { threshold, hits, epsilon, delta };
        match rule.lemma_threshold(sensitivity, 1_000, failure) {
            Err(error) => prop_assert!(advises(&error), "{error}"),
            Ok(threshold) => prop_assert!(threshold.is_finite() && threshold > 0.0),
        }
        let plan = rule.settings().and_then(|(selection, noise)| {
            let mut settings = crate::support::settings(selection, None);
            settings.noise = noise;
            Plan::new(settings)
        });
        match plan {
            Err(error) => prop_assert!(advises(&error), "{error}"),
            Ok(plan) => {
                prop_assert!(plan.step_event().check().is_ok());
                step(&plan)?;
            }
        }
    }
}
