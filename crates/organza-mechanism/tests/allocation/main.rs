//! After a few steps, a step asks for no memory.
#![allow(missing_docs, clippy::unwrap_used)]
#![allow(unreachable_pub, reason = "a test crate has no outside")]

mod counting;

use counting::{Counting, allocations};
use organza_ledger::testing::paid;
use organza_ledger::{Charged, MaxNoise, Neighbouring};
use organza_mechanism::{
    By, Debt, DeferredGrid, Indebted, NoiseSettings, PlainSum, Plan, PlanSettings, RandomSource,
    Sampler, Selection, SelectionRule, SelectionSettings, Shape, Touched, UnitGradient,
};
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROWS: u64 = 2_000;
const DIMENSIONS: u64 = 20;
const UNITS: u64 = 30;

fn selections() -> Vec<SelectionSettings> {
    let mut selections = vec![
        SelectionSettings::Everything,
        SelectionSettings::LimitedDomain {
            draws: 50,
            domain: 200,
            rows_per_unit: 3,
            epsilon: 5.0,
            delta: 0.1,
        },
    ];
    let shape = Shape::table(ROWS, DIMENSIONS).unwrap();
    selections.extend(SelectionRule::ALL.map(|rule| {
        Selection { rule, draws: Some(5), ..Selection::default() }.settings(&shape, 1.0)
    }));
    for by in [By::Coordinate, By::Row] {
        let noisy_max =
            |noise| SelectionSettings::NoisyMax { by, draws: 5, epsilon: 1.0, noise, cap: None };
        let sparse_vector = |cap, query_epsilon| SelectionSettings::SparseVector {
            by,
            hits: 50,
            order: Default::default(),
            threshold: 0.05,
            threshold_epsilon: 1.0,
            query_epsilon,
            cap,
        };
        selections.extend([
            SelectionSettings::Exponential { by, draws: 100, epsilon: 0.3, cap: 0.1 },
            SelectionSettings::Exponential { by, draws: 100, epsilon: 60.0, cap: 0.1 },
            sparse_vector(None, 30.0),
            sparse_vector(Some(0.01), 0.1),
            noisy_max(MaxNoise::Gumbel),
            noisy_max(MaxNoise::Laplace),
            noisy_max(MaxNoise::Exponential),
            SelectionSettings::Uniform { by, draws: 100 },
        ]);
    }
    selections
}

/// A sampler whose steps are paid for.
fn sampler(selection: SelectionSettings, second_clip: Option<f64>) -> (Sampler, Charged) {
    let plan = Plan::new(PlanSettings {
        shape: Shape::table(ROWS, DIMENSIONS).unwrap(),
        neighbouring: Neighbouring::AddRemove,
        rate: 0.5,
        expected_batch: UNITS as f64 / 2.0,
        clip: 1.0,
        selection,
        noise: NoiseSettings::Gaussian { multiplier: 0.5, second_clip },
    });
    let sampler = plan.unwrap().sampler("training", UNITS, &RandomSource::from_seed(6));
    let paid = paid(sampler.charge(0..1 << 20));
    (sampler, paid)
}

fn gradient(step: u64, unit: u64, gradient: &mut UnitGradient) {
    for place in 0..10 {
        let row = (unit * 7 + place * place * 131 + step % 5) % ROWS;
        gradient.row(row as u32).unwrap().fill(0.01 * (place as f32 - 4.0));
    }
}

/// More than the batches need, so that the memory has grown to its size.
const WARM_UP: u64 = 100;

/// Steps that are watched.
const WATCHED: u64 = 50;
/// Noise so near a half that it is rounded by enclosures takes memory for them, in few of the steps.
const FEW: u64 = 10;

/// How many of the steps asked for memory.
fn steps(mut step: impl FnMut(u64)) -> u64 {
    (0..WARM_UP).for_each(&mut step);
    (WARM_UP..WARM_UP + WATCHED).map(|it| u64::from(allocations(|| step(it)) > 0)).sum()
}

#[test]
fn a_step_with_any_selection_asks_for_no_memory() {
    for selection in selections() {
        for second_clip in [None, Some(0.05)] {
            let (sampler, paid) = sampler(selection.clone(), second_clip);
            let asked = steps(|step| {
                let sum = sampler
                    .batch(step, &paid)
                    .unwrap()
                    .sum(|unit, target| gradient(step, unit, target));
                sum.select().noise().visit(|_, values| {
                    black_box(values[0]);
                });
            });
            assert!(asked <= FEW, "{selection:?}: {asked}");
        }
    }
}

#[test]
fn a_step_that_leaves_noise_for_later_asks_for_no_memory() {
    struct Nothing;
    impl Indebted for Nothing {
        fn take(&mut self, touched: &Touched<'_>) {
            touched.gradients(0..touched.count(), |_, _, values| {
                black_box(values[0]);
            });
        }
    }
    let (sampler, paid) = sampler(SelectionSettings::Everything, None);
    let grid = DeferredGrid::new(ROWS * DIMENSIONS, 1 << 20, 1.0, 1e-6).unwrap();
    let deferral = sampler.defer(&grid).unwrap();
    let charge = deferral.charge();
    let owed = deferral.paid(organza_ledger::testing::paid(charge)).unwrap();
    let mut row = [0; DIMENSIONS as usize];
    let debts = [Debt { row: 3, steps: 7, place: 0..DIMENSIONS as usize }];
    let asked = steps(|step| {
        owed.settling(step).take_off(&debts, 0, &mut row);
        let sum =
            sampler.batch(step, &paid).unwrap().sum(|unit, target| gradient(step, unit, target));
        sum.select().noise_touched(&owed).unwrap().pay_into(&mut Nothing);
    });
    assert!(asked <= FEW, "{asked}");
}

#[test]
fn a_plain_sum_asks_for_no_memory() {
    let mut sum = PlainSum::new(Shape::table(ROWS, DIMENSIONS).unwrap());
    let asked = steps(|step| {
        for unit in 0..UNITS {
            sum.row(((unit * 7 + step) % ROWS) as u32).unwrap()[0] += 1.0;
        }
        sum.drain(0.5, true, |_, values| {
            black_box(values[0]);
        });
    });
    assert_eq!(asked, 0);
}

/// The count would see a step that does not give its memory back.
#[test]
fn a_step_that_keeps_its_memory_is_caught() {
    let (sampler, paid) = sampler(SelectionSettings::Everything, None);
    let asked = steps(|step| {
        let sum =
            sampler.batch(step, &paid).unwrap().sum(|unit, target| gradient(step, unit, target));
        std::mem::forget(sum.select().noise());
    });
    assert_eq!(asked, WATCHED);
}
