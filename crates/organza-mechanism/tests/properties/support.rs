//! Plans and gradients to try properties on.

use organza_ledger::testing::paid;
use organza_ledger::{MaxNoise, Neighbouring};
use organza_mechanism::{
    Batch, BatchSum, By, Choice, NoiseSettings, Noised, Plan, PlanSettings, RandomSource,
    Selection, SelectionRule, SelectionSettings, Shape, UnitGradient,
};
use proptest::prelude::*;

/// The gradient of a unit: rows, the same perhaps twice, and values to add there.
pub type Rows = Vec<(u32, Vec<f32>)>;

pub const TABLES: [(u64, u64); 2] = [(40, 3), (20, 5)];
pub const ROWS: u32 = 60;

/// Everything is drawn from this seed, so that two runs of one plan differ in their data alone.
pub fn source() -> RandomSource {
    RandomSource::from_seed(77)
}

pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

pub fn settings(selection: SelectionSettings, second_clip: Option<f64>) -> PlanSettings {
    PlanSettings {
        shape: Shape::tables(&TABLES).unwrap(),
        neighbouring: Neighbouring::AddRemove,
        rate: 1.0,
        expected_batch: 4.0,
        clip: 1.5,
        selection,
        noise: NoiseSettings::Gaussian { multiplier: 0.7, second_clip },
    }
}

/// One selection by each rule, and some more.
pub fn selections() -> Vec<SelectionSettings> {
    selections_of(&Shape::tables(&TABLES).unwrap())
}

pub fn selections_of(shape: &Shape) -> Vec<SelectionSettings> {
    let (by, epsilon) = (By::Coordinate, 1.0);
    let noisy_max = |noise| SelectionSettings::NoisyMax { by, draws: 4, epsilon, noise, cap: None };
    let asked = |rule| Selection { rule, draws: Some(6), ..Selection::default() };
    let mut selections = Vec::from(SelectionRule::ALL.map(|rule| asked(rule).settings(shape, 2.0)));
    selections.extend([
        SelectionSettings::Everything,
        SelectionSettings::Exponential { by, draws: 9, epsilon, cap: 0.2 },
        SelectionSettings::Exponential { by: By::Row, draws: 3, epsilon: 9.0, cap: 3.0 },
        SelectionSettings::SparseVector {
            by: By::Row,
            hits: 5,
            order: Default::default(),
            threshold: 0.3,
            threshold_epsilon: 1.0,
            query_epsilon: 5.0,
            cap: None,
        },
        noisy_max(MaxNoise::Gumbel),
        noisy_max(MaxNoise::Laplace),
        noisy_max(MaxNoise::Exponential),
        SelectionSettings::LimitedDomain {
            draws: 5,
            domain: 20,
            rows_per_unit: 2,
            epsilon: 1.0,
            delta: 0.1,
        },
        SelectionSettings::Uniform { by: By::Row, draws: 7 },
    ]);
    selections
}

/// A number of any size, or none.
pub fn any_value() -> impl Strategy<Value = f32> {
    prop_oneof![8 => -2.0_f32..2.0, 1 => any::<f32>(), 1 => Just(0.0)]
}

pub fn finite_value() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -2.0_f32..2.0,
        1 => any::<f32>().prop_filter("finite", |value| value.is_finite()),
    ]
}

pub fn unit(value: impl Strategy<Value = f32>) -> impl Strategy<Value = Rows> {
    let row = (0..ROWS, prop::collection::vec(value, 5));
    prop::collection::vec(row, 0..6)
}

pub fn write(rows: &Rows, gradient: &mut UnitGradient) {
    for (row, values) in rows {
        let target = gradient.row(*row).unwrap();
        target.iter_mut().zip(values).for_each(|(target, value)| *target += value);
    }
}

/// The batch of a step of all of `units`, paid for.
pub fn batch_of(plan: &Plan, units: u64, step: u64) -> Batch {
    let sampler = plan.sampler("training", units, &source());
    sampler.batch(step, &paid(sampler.charge(step..step + 1))).unwrap()
}

pub fn batch(plan: &Plan, units: &[Rows]) -> Batch {
    batch_of(plan, units.len() as u64, 5)
}

pub fn sum(plan: &Plan, units: &[Rows]) -> BatchSum {
    batch(plan, units).sum(|unit, gradient| write(&units[unit as usize], gradient))
}

/// All values with the first coordinate of each run.
pub fn values(noised: &Noised) -> Vec<(u64, Vec<f32>)> {
    let mut runs = Vec::new();
    noised.visit(|first, run| runs.push((first, run.to_vec())));
    runs
}

/// What a step releases, the values as bits.
pub fn released(sum: BatchSum) -> (Choice, Vec<(u64, Vec<u32>)>) {
    let selected = sum.select();
    let selection = selected.selection().clone();
    let bits = |run: Vec<f32>| run.into_iter().map(f32::to_bits).collect();
    let runs = values(&selected.noise());
    (selection, runs.into_iter().map(|(first, run)| (first, bits(run))).collect())
}
