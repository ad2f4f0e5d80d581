//! Noise that is owed has the law of noise that is drawn at every step.
//!
//! Rows of many independent coordinates are pulled to zero when it is their turn, and get noise at every step:
//! w <- (1 - rate pull) w - rate Z in a turn, w <- w - rate Z otherwise. So after any number of steps each
//! coordinate is normal, with a variance that a recursion gives. Chi-squared for the variance and the
//! covariance (five deviations) and Kolmogorov and Smirnov's test for the shape have false-alarm rates of
//! about 1e-6 each.

use super::ask;
use crate::OptimizerSettings;
use crate::tables::{Tables, Upkeep};
use organza_ledger::Neighbouring;
use organza_ledger::testing::paid;
use organza_mechanism::{
    Debt, DeferredGrid, Indebted, NoiseSettings, OwedNoise, Plan, PlanSettings, RandomSource,
    ReadRows, Sampler, SelectionSettings, Shape, Touched,
};

const DIMENSIONS: usize = 20_000;
/// How often it is each row's turn.
const PERIODS: [u64; 4] = [1, 3, 7, 40];
const STEPS: u64 = 81;
const MIDDLE: u64 = 40;
const RATE: f32 = 0.25;
const PULL: f32 = 2.0;

fn shape() -> Shape {
    Shape::table(PERIODS.len() as u64, DIMENSIONS as u64).unwrap()
}

fn sampler(seed: u64) -> Sampler {
    // The clip is out of reach, and the noise has a deviation of 1.
    let plan = Plan::new(PlanSettings {
        shape: shape(),
        neighbouring: Neighbouring::AddRemove,
        rate: 1.0,
        expected_batch: 1.0,
        clip: 1e5,
        selection: SelectionSettings::Everything,
        noise: NoiseSettings::Gaussian { multiplier: 1e-5, second_clip: None },
    });
    plan.unwrap().sampler("training", 1, &RandomSource::from_seed(seed))
}

fn owed(sampler: &Sampler) -> OwedNoise {
    let coordinates = (PERIODS.len() * DIMENSIONS) as u64;
    let grid = DeferredGrid::new(coordinates, STEPS, 3.0, 1e-6).unwrap();
    let deferral = sampler.defer(&grid).unwrap();
    let charge = deferral.charge();
    deferral.paid(paid(charge)).unwrap()
}

fn has_turn(row: usize, step: u64) -> bool {
    step.is_multiple_of(PERIODS[row])
}

/// What a run read: all rows in the middle, where it is the turn of two of them, and at the end.
struct Readings {
    middle: Vec<f32>,
    end: Vec<f32>,
}

/// Reads rows in the turn, and everything in the middle if that is scheduled.
fn run(upkeep: impl Fn(&Sampler) -> Upkeep, seed: u64) -> Readings {
    let sampler = sampler(seed);
    let paid = paid(sampler.charge(0..STEPS));
    let optimizer = OptimizerSettings::Sgd { learning_rate: RATE };
    let initial = vec![0.0; PERIODS.len() * DIMENSIONS];
    let mut tables = Tables::new(shape(), optimizer, upkeep(&sampler), initial).unwrap();
    let mut middle = Vec::new();
    for step in 0..STEPS {
        let mut reading = tables.read();
        if step == MIDDLE {
            middle.extend_from_slice(reading.all());
        }
        let turns = (0..PERIODS.len()).filter(|row| has_turn(*row, step)).map(|row| row as u32);
        ask(&mut reading, &turns.collect::<Vec<u32>>());
        let rows = reading.rows();
        let selected = sampler.batch(step, &paid).unwrap().sum(|_, gradient| {
            for row in (0..PERIODS.len()).filter(|row| has_turn(*row, step)) {
                let weights = rows.row(row as u32);
                let gradient = gradient.row(row as u32).unwrap();
                gradient.iter_mut().zip(weights).for_each(|(slope, w)| *slope = PULL * w);
            }
        });
        let selected = selected.select();
        drop(reading);
        match tables.owed_noise() {
            None => tables.apply(&selected.noise()),
            Some(owed) => tables.pay(selected.noise_touched(owed).unwrap()),
        }
    }
    Readings { middle, end: tables.into_parameters() }
}

/// The variances in the middle and at the end, and the covariance of the two.
fn law(row: usize) -> [f64; 3] {
    let (mut variance, mut covariance, mut middle) = (0.0, 0.0, 0.0);
    for step in 0..STEPS {
        if step == MIDDLE {
            (middle, covariance) = (variance, variance);
        }
        let kept = if has_turn(row, step) { 1.0 - f64::from(RATE * PULL) } else { 1.0 };
        variance = kept * kept * variance + f64::from(RATE * RATE);
        covariance *= kept;
    }
    [middle, variance, covariance]
}

/// The largest distance of an empirical distribution from the normal one.
fn distance_from_normal(values: &[f32], variance: f64) -> f64 {
    let mut sorted: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let distances = (0..).zip(&sorted).map(|(place, value)| {
        let below = normal_distribution(value / variance.sqrt());
        (below - f64::from(place) / count).abs().max((f64::from(place + 1) / count - below).abs())
    });
    distances.fold(0.0, f64::max)
}

/// The distribution function of the normal law, by Simpson's rule on the density.
fn normal_distribution(x: f64) -> f64 {
    let (pieces, end) = (200, x.abs().min(9.0));
    let width = end / f64::from(pieces);
    let density = |at: f64| (-0.5 * at * at).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let sum: f64 = (0..pieces)
        .map(|piece| {
            let left = f64::from(piece) * width;
            density(left) + 4.0 * density(left + width / 2.0) + density(left + width)
        })
        .sum();
    0.5 + (sum * width / 6.0).copysign(x)
}

/// What does not have its law, if anything.
fn objection(readings: &Readings) -> Option<String> {
    let count = DIMENSIONS as f64;
    for row in 0..PERIODS.len() {
        let part = |values: &[f32]| values[row * DIMENSIONS..(row + 1) * DIMENSIONS].to_vec();
        let (middle, end) = (part(&readings.middle), part(&readings.end));
        let [variance, last, covariance] = law(row);
        let product = |one: &[f32], other: &[f32]| {
            let terms =
                one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other));
            terms.sum::<f64>() / count
        };
        // The deviation of a product of two normals, over their number.
        let bound = |covariance: f64, one: f64, other: f64| {
            5.0 * ((one * other + covariance * covariance) / count).sqrt()
        };
        for (name, found, law, bound) in [
            ("middle", product(&middle, &middle), variance, bound(variance, variance, variance)),
            ("end", product(&end, &end), last, bound(last, last, last)),
            ("both", product(&middle, &end), covariance, bound(covariance, variance, last)),
        ] {
            if (found - law).abs() > bound {
                return Some(format!("row {row}, {name}: {found}, not {law}"));
            }
        }
        for (values, variance) in [(&middle, variance), (&end, last)] {
            // sqrt(ln(2 / 1e-6) / 2).
            if distance_from_normal(values, variance) > 2.69 / count.sqrt() {
                return Some(format!("row {row} is not normal"));
            }
        }
    }
    None
}

#[test]
fn owed_noise_has_the_law_of_dense_noise() {
    let owed = run(|sampler| Upkeep::Owed(owed(sampler)), 3);
    assert_eq!(objection(&owed), None);
    let dense = run(|_| Upkeep::EveryStep, 4);
    assert_eq!(objection(&dense), None);
}

/// What can go wrong in a table with debts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// A row owes the noise of one step less than it should.
    TooLittle,
    /// A turn reads its row as it stands.
    ReadUnsettled,
    /// Every settling has the same name.
    SameDraw,
}

/// A table with debts that has faults.
struct Broken {
    fault: Fault,
    owed: OwedNoise,
    steps: u64,
    settled: Vec<u64>,
    wholes: Vec<i32>,
}

impl Broken {
    fn settle(&mut self, row: usize) {
        let mut owes = self.steps - self.settled[row];
        if self.fault == Fault::TooLittle && owes > 1 {
            owes -= 1;
        }
        let name = if self.fault == Fault::SameDraw { 0 } else { self.steps };
        let place = row * DIMENSIONS..(row + 1) * DIMENSIONS;
        let debt = Debt { row: row as u32, steps: owes as u32, place };
        self.owed.settling(name).take_off(&[debt], 0, &mut self.wholes);
        self.settled[row] = self.steps;
    }

    fn weights(&self) -> Vec<f32> {
        let scale = f64::from(RATE) * self.owed.unit();
        self.wholes.iter().map(|whole| (f64::from(*whole) * scale) as f32).collect()
    }
}

impl Indebted for Broken {
    fn take(&mut self, touched: &Touched<'_>) {
        for place in 0..touched.count() {
            let row = touched.row(place) as usize;
            self.settle(row);
            touched.gradients(place..place + 1, |_, start, gradient| {
                let wholes = self.wholes[row * DIMENSIONS + start..].iter_mut();
                wholes.zip(gradient).for_each(|(whole, slope)| *whole -= slope);
            });
            self.settled[row] = self.steps + 1;
        }
    }
}

fn run_with(fault: Fault) -> Readings {
    let sampler = sampler(5);
    let paid = paid(sampler.charge(0..STEPS));
    let owed = owed(&sampler);
    let wholes = vec![0; PERIODS.len() * DIMENSIONS];
    let mut table = Broken { fault, owed, steps: 0, settled: vec![0; PERIODS.len()], wholes };
    let mut middle = Vec::new();
    for step in 0..STEPS {
        let turns: Vec<usize> = (0..PERIODS.len()).filter(|row| has_turn(*row, step)).collect();
        if step == MIDDLE {
            (0..PERIODS.len()).for_each(|row| table.settle(row));
            middle = table.weights();
        }
        if fault != Fault::ReadUnsettled {
            turns.iter().for_each(|row| table.settle(*row));
        }
        let weights = table.weights();
        let selected = sampler.batch(step, &paid).unwrap().sum(|_, gradient| {
            for row in &turns {
                let weights = &weights[row * DIMENSIONS..(row + 1) * DIMENSIONS];
                let gradient = gradient.row(*row as u32).unwrap();
                gradient.iter_mut().zip(weights).for_each(|(slope, w)| *slope = PULL * w);
            }
        });
        let touched = selected.select().noise_touched(&table.owed).unwrap();
        touched.pay_into(&mut table);
        table.steps += 1;
    }
    (0..PERIODS.len()).for_each(|row| table.settle(row));
    Readings { middle, end: table.weights() }
}

#[test]
fn faults_of_tables_with_debts_are_seen() {
    assert_eq!(objection(&run_with(Fault::None)), None);
    for fault in [Fault::TooLittle, Fault::ReadUnsettled, Fault::SameDraw] {
        assert!(objection(&run_with(fault)).is_some(), "{fault:?}");
    }
}

/// What a table holds is whole numbers, so weights are multiples of one public scale, whatever was touched: the forms
/// that rounding to floats would leave are not there. And reading changes no number.
#[test]
fn weights_are_a_function_of_whole_numbers() {
    let sampler = sampler(9);
    let noise = owed(&sampler);
    let scale = f64::from(RATE) * noise.unit();
    let optimizer = OptimizerSettings::Sgd { learning_rate: RATE };
    let initial = vec![0.3; PERIODS.len() * DIMENSIONS];
    let mut tables = Tables::new(shape(), optimizer, Upkeep::Owed(noise), initial).unwrap();
    let numbers = |tables: &Tables| format!("{:?}", tables.state()[0]);
    let is_whole = |weight: f32| {
        let whole = (f64::from(weight) / scale).round();
        (whole * scale) as f32 == weight
    };
    ask(&mut tables.read(), &[0]);
    let before = numbers(&tables);
    let mut reading = tables.read();
    ask(&mut reading, &[0]);
    assert_eq!(reading.rows().row(1).len(), DIMENSIONS);
    reading.all();
    ask(&mut reading, &[2]);
    let all = reading.all();
    assert!(all.iter().all(|weight| (weight - 0.3).abs() < 1e-3 && is_whole(*weight)));
    drop(reading);
    assert_eq!(before, numbers(&tables));
    let paid = paid(sampler.charge(0..STEPS));
    for step in 0..3 {
        let batch = sampler.batch(step, &paid).unwrap();
        // A row that nobody has read is settled before it moves.
        let sum = batch.sum(|_, gradient| gradient.row(step as u32).unwrap().fill(0.1));
        let owed = tables.owed_noise().unwrap().clone();
        tables.pay(sum.select().noise_touched(&owed).unwrap());
    }
    let parameters = tables.into_parameters();
    assert!(parameters.iter().all(|weight| is_whole(*weight)));
    let moved = |row: usize| {
        let row = &parameters[row * DIMENSIONS..(row + 1) * DIMENSIONS];
        row.iter().map(|weight| f64::from(*weight)).sum::<f64>() / DIMENSIONS as f64 - 0.3
    };
    // Noise of three steps has a mean of deviation .25 sqrt 3 / sqrt 20,000 = .003; five of them.
    for (row, expected) in [(0, -0.025), (1, -0.025), (2, -0.025), (3, 0.0)] {
        assert!((moved(row) - expected).abs() < 0.015, "{row}: {}", moved(row));
    }
}
