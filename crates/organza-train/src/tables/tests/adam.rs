//! Adam kept up to date when it is read against the loop over all coordinates.

use super::ask;
use crate::OptimizerSettings;
use crate::tables::{AdamSettings, List, Reading, Tables, Upkeep};
use organza_ledger::Neighbouring;
use organza_ledger::testing::paid;
use organza_mechanism::{
    NoiseSettings, Plan, PlanSettings, RandomSource, ReadRows, SelectionSettings, Shape,
};

const STEPS: u64 = 10_000;

/// Adam as in the paper of Kingma and Ba, in double precision, one coordinate at a time.
struct PlainAdam {
    adam: AdamSettings,
    steps: i32,
    weights: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl PlainAdam {
    fn new(adam: AdamSettings, initial: &[f32]) -> Self {
        let zeros = vec![0.0; initial.len()];
        let weights = initial.iter().map(|weight| f64::from(*weight)).collect();
        Self { adam, steps: 0, weights, first: zeros.clone(), second: zeros }
    }

    fn step(&mut self, gradient: &[f32]) {
        self.steps += 1;
        let (beta1, beta2) = (self.adam.beta1(), self.adam.beta2());
        let (rate, epsilon) = (f64::from(self.adam.learning_rate), f64::from(self.adam.epsilon));
        for (index, slope) in gradient.iter().enumerate() {
            let slope = f64::from(*slope);
            self.first[index] = beta1 * self.first[index] + (1.0 - beta1) * slope;
            self.second[index] = beta2 * self.second[index] + (1.0 - beta2) * slope * slope;
            let first = self.first[index] / (1.0 - beta1.powi(self.steps));
            let second = self.second[index] / (1.0 - beta2.powi(self.steps));
            self.weights[index] -= rate * first / (second.sqrt() + epsilon);
        }
    }
}

/// A number in [0, 1) that looks random.
fn noise(step: u64, index: usize) -> f64 {
    let mixed = (step * 1_000_003 + index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ (mixed >> 29)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// What coordinate `index` gets in `step`, if anything: each coordinate has a habit of its own.
fn slope(step: u64, index: usize, size: f64) -> Option<f32> {
    let draw = noise(step, index);
    let value = (noise(step, index + 1_000) - 0.5) * size;
    let selected = match index % 8 {
        // Often, now and then, seldom, with gaps so long that all decays, at the start only, never.
        0 => draw < 0.5,
        1 => draw < 0.02,
        2 => draw < 0.002,
        3 => step % 3_333 == 7,
        4 => step < 40 && draw < 0.3,
        5 => return None,
        // Zeros that were selected all the same, and values of many sizes.
        6 => return (draw < 0.1).then_some(0.0),
        _ => return (draw < 0.05).then_some((value * 10_f64.powi((step % 13) as i32 - 9)) as f32),
    };
    selected.then_some(value as f32)
}

fn settings(beta1: f32, beta2: f32, epsilon: f32) -> OptimizerSettings {
    OptimizerSettings::Adam { learning_rate: 0.01, beta1, beta2, epsilon }
}

fn adam(optimizer: OptimizerSettings) -> AdamSettings {
    let OptimizerSettings::Adam { learning_rate, beta1, beta2, epsilon } = optimizer else {
        panic!("not Adam")
    };
    AdamSettings { learning_rate, beta1, beta2, epsilon }
}

fn tables(optimizer: OptimizerSettings, upkeep: Upkeep) -> Tables {
    let initial = (0..32).map(|index| noise(0, index) as f32 - 0.5).collect();
    Tables::new(Shape::table(4, 8).unwrap(), optimizer, upkeep, initial).unwrap()
}

/// The largest difference from the plain loop over all steps that are looked at, relative to the weight, or
/// to how far its coordinate has moved since the start if that is more.
fn error(optimizer: OptimizerSettings, upkeep: Upkeep, size: f64, steps: u64) -> f64 {
    let mut tables = tables(optimizer, upkeep);
    let initial = tables.read().all().to_vec();
    let mut plain = PlainAdam::new(adam(optimizer), &initial);
    let mut moved = vec![0.0_f64; 32];
    let mut worst = 0.0_f64;
    for step in 0..steps {
        let slopes: Vec<Option<f32>> = (0..32).map(|index| slope(step, index, size)).collect();
        plain.step(&slopes.iter().map(|slope| slope.unwrap_or(0.0)).collect::<Vec<_>>());
        tables.step(|visit| {
            for (index, slope) in slopes.iter().enumerate() {
                if let Some(slope) = slope {
                    visit(index as u64, &[*slope]);
                }
            }
        });
        if step % 7 == 0 || step + 1 == steps || step < 60 {
            let mut reading = tables.read();
            for (index, (weight, exact)) in reading.all().iter().zip(&plain.weights).enumerate() {
                moved[index] = moved[index].max((exact - f64::from(initial[index])).abs());
                let difference = (f64::from(*weight) - exact).abs();
                worst = worst.max(difference / exact.abs().max(moved[index]).max(1e-30));
            }
        }
    }
    worst
}

#[test]
fn adam_when_read_is_adam_at_every_step() {
    for (beta1, beta2) in [(0.9, 0.999), (0.8, 0.99), (0.9, 0.9999)] {
        for epsilon in [1e-8, 1e-3] {
            // Slopes far above, about and far below epsilon.
            for size in [1.0, 1e-4, 1e-7, 1e-12, 1e-20] {
                let error = error(settings(beta1, beta2, epsilon), Upkeep::WhenRead, size, STEPS);
                assert!(error < 1e-5, "{beta1} {beta2} {epsilon} {size}: {error}");
            }
        }
    }
}

#[test]
fn adam_at_every_step_is_adam() {
    let error = error(settings(0.9, 0.999, 1e-8), Upkeep::EveryStep, 1.0, 1_000);
    assert!(error < 2e-5, "{error}");
}

/// The comparison sees coordinates that are left at rest, and moves that are not those of this time.
#[test]
fn resting_places_are_not_weights() {
    let mut tables = tables(settings(0.9, 0.999, 1e-8), Upkeep::WhenRead);
    tables.step(|visit| visit(0, &[1.0]));
    let resting = tables.weights[0];
    let mut reading = tables.read();
    ask(&mut reading, &[0]);
    assert!((reading.rows().row(0)[0] - resting).abs() > 0.05);
}

/// No bit depends on what was read, or when.
#[test]
fn reading_leaves_no_trace() {
    let run = |reads: fn(u64, &mut Reading<'_>)| {
        let mut tables = tables(settings(0.9, 0.999, 1e-8), Upkeep::WhenRead);
        for step in 0..3_000 {
            let mut reading = tables.read();
            reads(step, &mut reading);
            drop(reading);
            tables.step(|visit| {
                for index in 0..32 {
                    if let Some(slope) = slope(step, index, 1e-5) {
                        visit(index as u64, &[slope]);
                    }
                }
            });
        }
        let states = tables.state();
        let state: Vec<u32> = states
            .iter()
            .flat_map(|state| match *state {
                (_, List::Floats(values)) => values.iter().map(|it| it.to_bits()).collect(),
                (_, List::Counts(values)) => values.to_vec(),
                (_, List::Doubles(_)) => Vec::new(),
            })
            .collect();
        state
    };
    let unread = run(|_, _| {});
    let read = run(|step, reading| {
        ask(reading, &[step % 3, step % 4, step % 3].map(|row| row as u32));
        reading.rows().row(3);
    });
    assert_eq!(unread, read);
    let all = run(|_, reading| {
        reading.all();
    });
    assert_eq!(unread, all);
}

#[test]
fn runs_of_any_length_give_the_same_bits() {
    let gradient: Vec<f32> = (0..32).map(|index| noise(9, index) as f32).collect();
    let run = |length: usize| {
        let mut tables = tables(settings(0.9, 0.999, 1e-8), Upkeep::WhenRead);
        for _ in 0..5 {
            tables.step(|visit| {
                for (place, part) in gradient.chunks(length).enumerate() {
                    visit((place * length) as u64, part);
                }
            });
        }
        tables.into_parameters()
    };
    assert_eq!(run(1), run(32));
    assert_eq!(run(1), run(7));
}

#[test]
fn moments_never_become_denormal() {
    for upkeep in [Upkeep::EveryStep, Upkeep::WhenRead] {
        let mut tables = tables(settings(0.9, 0.999, 1e-8), upkeep);
        for step in 0..3_000 {
            let values = if step == 0 { [1e-10, 1.0, -1.0, 1e-20] } else { [0.0; 4] };
            tables.step(|visit| visit(0, &values));
            for state in tables.state() {
                if let (_, List::Floats(values)) = state {
                    assert!(
                        values.iter().all(|value| *value == 0.0 || value.is_normal()),
                        "{step}"
                    );
                }
            }
        }
    }
}

/// A dense release of several blocks, the last not full, moves what a loop over all its runs moves.
#[test]
fn blocks_of_noise_go_where_they_belong() {
    let shape = Shape::table(3_001, 7).unwrap();
    let plan = Plan::new(PlanSettings {
        shape: shape.clone(),
        neighbouring: Neighbouring::AddRemove,
        rate: 1.0,
        expected_batch: 2.0,
        clip: 1.0,
        selection: SelectionSettings::Everything,
        noise: NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None },
    });
    let plan = plan.unwrap();
    for optimizer in [settings(0.9, 0.999, 1e-8), OptimizerSettings::Sgd { learning_rate: 0.1 }] {
        let fresh = || {
            let initial = vec![0.5; 3_001 * 7];
            Tables::new(shape.clone(), optimizer, Upkeep::EveryStep, initial).unwrap()
        };
        let (mut blocks, mut runs) = (fresh(), fresh());
        let sampler = plan.sampler("training", 1, &RandomSource::from_seed(6));
        let paid = paid(sampler.charge(0..3));
        for step in 0..3 {
            let batch = sampler.batch(step, &paid).unwrap();
            let sum = batch.sum(|_, gradient| gradient.row(2_999).unwrap().fill(0.1));
            let noised = sum.select().noise();
            assert!(noised.blocks() > 2);
            blocks.apply(&noised);
            runs.step(|visit| noised.visit(visit));
        }
        let parameters = blocks.into_parameters();
        assert_eq!(parameters, runs.into_parameters());
        assert!(parameters.iter().all(|parameter| *parameter != 0.5), "every coordinate moves");
    }
}
