//! Rows that a task reads without having said so: the same bits as if it had, however tables are kept.

use super::ask;
use crate::OptimizerSettings;
use crate::step::private_step;
use crate::tables::{Constraint, Projection, Tables, Upkeep};
use crate::task::{Losses, Task};
use organza_ledger::Neighbouring;
use organza_ledger::testing::paid;
use organza_mechanism::{
    DeferredGrid, FlatRows, NoiseSettings, OwedNoise, Plan, PlanSettings, RandomSource, ReadRows,
    Sampler, SelectionSettings, Shape, WriteRows,
};

const ROWS: u32 = 500;
const DIMENSIONS: usize = 5;
const UNITS: u64 = 300;
pub(super) const STEPS: u64 = 30;

/// Who asks for a row.
pub(super) type Asks = fn(u32) -> bool;
pub(super) const ALWAYS: Asks = |_| true;
pub(super) const SOMETIMES: Asks = |row| row.is_multiple_of(3);
pub(super) const NEVER: Asks = |_| false;

pub(super) fn shape() -> Shape {
    Shape::table(u64::from(ROWS), DIMENSIONS as u64).unwrap()
}

pub(super) fn sampler() -> Sampler {
    let plan = Plan::new(PlanSettings {
        shape: shape(),
        neighbouring: Neighbouring::AddRemove,
        rate: 0.6,
        expected_batch: 10.0,
        clip: 1.0,
        selection: SelectionSettings::Everything,
        noise: NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None },
    });
    plan.unwrap().sampler("training", UNITS, &RandomSource::from_seed(4))
}

/// The right to leave noise for later.
pub(super) fn owed(sampler: &Sampler) -> OwedNoise {
    let grid = DeferredGrid::new(shape().coordinates(), STEPS, 3.0, 1e-6).unwrap();
    let deferral = sampler.defer(&grid).unwrap();
    let charge = deferral.charge();
    deferral.paid(paid(charge)).unwrap()
}

/// The first weight of a coordinate.
pub(super) fn first(coordinate: u32) -> f32 {
    (coordinate as f32).sin()
}

/// Tables of each kind: plain, at rest, and with debts.
fn kinds(sampler: &Sampler) -> [Tables; 5] {
    let owed = owed(sampler);
    let (sgd, adam) = (OptimizerSettings::Sgd { learning_rate: 0.1 }, OptimizerSettings::adam(0.1));
    let projected = OptimizerSettings::Projected(Projection {
        learning_rate: 0.1,
        l2: 0.5,
        shrinking: shape().coordinates() - 1,
        constraint: Constraint::Ball(3.0),
        average_from: STEPS / 2,
    });
    let kinds = [
        (sgd, Upkeep::EveryStep),
        (adam, Upkeep::EveryStep),
        (projected, Upkeep::WhenRead),
        (adam, Upkeep::WhenRead),
        (sgd, Upkeep::Owed(owed)),
    ];
    kinds.map(|(optimizer, upkeep)| {
        let initial = (0..ROWS * DIMENSIONS as u32).map(first).collect();
        Tables::new(shape(), optimizer, upkeep, initial).unwrap()
    })
}

/// Units pull their rows to zero, and say of some that they read them. Few rows move in a step of the noise alone.
pub(super) struct Pull(pub(super) Asks);

impl Pull {
    fn rows(unit: u64, draw: &[u32]) -> [u32; 3] {
        // The last is beyond the table.
        [unit as u32 % ROWS, draw[0], ROWS + draw[0]]
    }
}

impl Task for Pull {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(u64::from(ROWS), DIMENSIONS as u64)]
    }

    fn units(&self) -> u64 {
        UNITS
    }

    fn draw(
        &self,
        _: u64,
        random: &mut organza_mechanism::random::PrivateRandom,
        draw: &mut Vec<u32>,
    ) {
        draw.push((random.word() % u64::from(ROWS)) as u32);
    }

    fn reads(&self, unit: u64, draw: &[u32], visit: &mut dyn FnMut(u32)) {
        Self::rows(unit, draw).into_iter().filter(|row| self.0(*row)).for_each(visit);
    }

    fn gradient(
        &self,
        unit: u64,
        draw: &[u32],
        weights: &dyn ReadRows,
        gradient: &mut dyn WriteRows,
    ) {
        for row in Self::rows(unit, draw) {
            let values = weights.row(row);
            assert_eq!(values.len(), if row < ROWS { DIMENSIONS } else { 0 });
            let slopes = gradient.row(row).iter_mut();
            slopes.zip(values).for_each(|(slope, value)| *slope += value);
        }
    }

    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: 0.0, validation: 0.0, test: 0.0 }
    }
}

/// The parameters of all kinds of tables after training.
fn trained(asks: Asks, threads: usize) -> Vec<Vec<f32>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    (0..5)
        .map(|kind| {
            let (sampler, source) = (sampler(), RandomSource::from_seed(4));
            let paid = paid(sampler.charge(0..STEPS));
            let mut tables = kinds(&sampler).into_iter().nth(kind).unwrap();
            for step in 0..STEPS {
                pool.install(|| {
                    let tables = &mut tables;
                    private_step(&Pull(asks), &sampler, &paid, &source, step, tables, &mut None)
                        .unwrap();
                });
            }
            tables.into_parameters()
        })
        .collect()
}

#[test]
fn a_task_that_forgets_to_ask_is_trained_with_the_same_bits() {
    let all = trained(ALWAYS, 1);
    for (asks, threads) in [(SOMETIMES, 1), (NEVER, 1), (NEVER, 2), (SOMETIMES, 2)] {
        assert_eq!(all, trained(asks, threads), "{threads} threads");
    }
}

/// What a loop reads of the rows of each step: through the tables, or, in the twin, what stands there.
fn read(tables: &mut Tables, sampler: &Sampler, asks: Asks, is_twin: bool) -> Vec<f32> {
    let paid = paid(sampler.charge(0..STEPS));
    let mut seen = Vec::new();
    for step in 0..STEPS {
        let turns = [step as u32 % 7, 10 + step as u32 % 3, 20];
        let asked: Vec<u32> = turns.into_iter().filter(|row| asks(*row)).collect();
        let mut reading = tables.read();
        ask(&mut reading, &asked);
        let rows = reading.rows();
        let selected = sampler.batch(step, &paid).unwrap().sum(|unit, gradient| {
            if unit == 0 {
                turns.iter().for_each(|row| gradient.row(*row).unwrap().fill(0.1));
            }
        });
        turns.iter().for_each(|row| seen.extend_from_slice(rows.row(*row)));
        drop(reading);
        if is_twin {
            seen.truncate(seen.len() - turns.len() * DIMENSIONS);
            let standing = FlatRows::new(shape(), &tables.weights);
            turns.iter().for_each(|row| seen.extend_from_slice(standing.row(*row)));
        }
        let selected = selected.select();
        match tables.owed_noise() {
            None => tables.apply(&selected.noise()),
            Some(owed) => tables.pay(selected.noise_touched(owed).unwrap()),
        }
    }
    seen
}

#[test]
fn unsettled_rows_would_be_seen() {
    for (kind, is_lazy) in [false, false, true, true, true].into_iter().enumerate() {
        let seen = |asks: Asks, is_twin: bool| {
            let sampler = sampler();
            read(&mut kinds(&sampler)[kind], &sampler, asks, is_twin)
        };
        let asked = seen(ALWAYS, false);
        assert_eq!(asked, seen(NEVER, false));
        assert_eq!(asked, seen(SOMETIMES, false));
        assert_eq!(asked != seen(NEVER, true), is_lazy, "the twin, kind {kind}");
    }
}

/// Whoever forgets a reading leaves nothing lent and nothing owed: what was read late is settled before the next step.
#[test]
fn a_forgotten_reading_is_ended() {
    let mut ends = [false, true].map(|forgets| {
        let sampler = sampler();
        let [.., mut resting, mut owed] = kinds(&sampler);
        let paid = paid(sampler.charge(0..3));
        for step in 0..3 {
            for tables in [&mut resting, &mut owed] {
                let mut reading = tables.read();
                ask(&mut reading, &[3]);
                assert_eq!(reading.rows().row(4).len(), DIMENSIONS);
                if forgets {
                    std::mem::forget(reading);
                }
            }
            let sum = |step| {
                let batch = sampler.batch(step, &paid).unwrap();
                batch.sum(|_, gradient| gradient.row(9).unwrap().fill(0.1)).select()
            };
            let right = owed.owed_noise().unwrap().clone();
            owed.pay(sum(step).noise_touched(&right).unwrap());
            resting.step(|visit| visit(step, &[1.0]));
        }
        [resting.into_parameters(), owed.into_parameters()]
    });
    let [remembered, forgotten] = &mut ends;
    assert_eq!(remembered, forgotten);
}
