//! Made-up people with many rows each, of which few say anything, and the model that learns from them.

use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{coin, fill_normal_f32, uniform_subset};
use organza_mechanism::{Purpose, RandomSource, ReadRows, WriteRows};
use organza_train::settings::EngineSettings;
use organza_train::{Application, Certificate, Failure, Losses, Releases, RunFolder, Start, Task};
use std::sync::Arc;

/// The rows that say something, and how likely a person has each of them.
const TELLING: u64 = 20;
const LIKELY: f64 = 0.25;
/// Rows that say nothing and are as frequent, where people have enough rows.
const COMMON: u64 = 400;
const TESTED: u64 = 4_000;

/// How wide a set is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) people: u64,
    pub(crate) rows: u64,
    /// How many rows that say nothing a person has, about.
    pub(crate) each: u64,
    pub(crate) dimensions: u64,
}

impl Size {
    /// The norm of most people's gradients at the start: half of a unit in each row.
    pub(crate) fn norm(self) -> f64 {
        0.5 * (self.each as f64 + TELLING as f64 * LIKELY).sqrt()
    }
}

#[derive(Clone, Debug)]
struct Person {
    rows: Vec<u32>,
    /// Of norm 1, as long as a row.
    features: Vec<f32>,
    label: f32,
}

/// Rows and labels of people to learn from and of others to test on. A label is 1 with the probability
/// sigmoid(sum over the person's rows of (row, features)).
#[derive(Debug)]
pub(crate) struct People {
    size: Size,
    train: Vec<Person>,
    test: Vec<Person>,
    pub(crate) truth: Vec<f32>,
}

impl People {
    /// The set number `seed`.
    pub(crate) fn new(size: Size, seed: u64) -> Self {
        let source = RandomSource::from_seed(seed);
        let dimensions = size.dimensions as usize;
        let mut truth = vec![0.0; (size.rows * size.dimensions) as usize];
        let random = &mut source.substream(Purpose::Data, 0, 0);
        for number in 0..TELLING {
            let row = telling(size, number) * dimensions;
            let values = direction(dimensions, random);
            // Signs alternate, so that the number of a person's rows says nothing.
            let sign = if number % 2 == 0 { 1.0 } else { -1.0 };
            // In more than one dimension about two thirds of it lie along a person's features.
            let length = if dimensions > 1 { 1.5 * sign } else { sign };
            let values = values.iter().map(|value| length * value.abs());
            truth[row..row + dimensions].iter_mut().zip(values).for_each(|(it, to)| *it = to);
        }
        let persons = |part: u64, count: u64| {
            let person =
                |number| person(size, &truth, &mut source.substream(Purpose::Data, part, number));
            (0..count).map(person).collect()
        };
        let (train, test) = (persons(1, size.people), persons(2, TESTED));
        Self { size, train, test, truth }
    }

    /// How many people there are to learn from.
    pub(crate) fn number(&self) -> u64 {
        self.train.len() as u64
    }

    /// The area under the curve of what these parameters say about the people to test on.
    pub(crate) fn area(&self, parameters: &[f32]) -> f64 {
        let dimensions = self.size.dimensions as usize;
        let margin = |person: &Person| {
            let row = |row: &u32| &parameters[*row as usize * dimensions..][..dimensions];
            person.rows.iter().map(|it| dot(row(it), &person.features)).sum::<f64>()
        };
        let pair = |person: &Person| (margin(person), f64::from(person.label));
        let mut pairs: Vec<(f64, f64)> = self.test.iter().map(pair).collect();
        pairs.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        organza_model::ranking::area_under_curve(&pairs).unwrap_or(f64::NAN)
    }
}

/// Where the telling row of this number stands: they are spread over the table.
fn telling(size: Size, number: u64) -> usize {
    (number * (size.rows / TELLING)) as usize
}

fn person(size: Size, truth: &[f32], random: &mut PrivateRandom) -> Person {
    let mut rows: Vec<u32> = (0..TELLING)
        .filter(|_| coin(LIKELY, random))
        .map(|number| telling(size, number) as u32)
        .collect();
    let step = size.rows / TELLING;
    // The others are numbered past the telling ones: common rows are the first of them.
    let place = |other: u64| (other + 1 + other / (step - 1)) as u32;
    let common = LIKELY.min(size.each as f64 / (4 * COMMON) as f64);
    rows.extend((0..COMMON).filter(|_| coin(common, random)).map(place));
    let rare = size.each - (common * COMMON as f64).round() as u64;
    let tail = TELLING * (step - 1) - COMMON;
    rows.extend(uniform_subset(tail, rare, random).iter().map(|other| place(COMMON + other)));
    let dimensions = size.dimensions as usize;
    let features =
        direction(dimensions, random).iter().map(|value| value.abs()).collect::<Vec<_>>();
    let at = |row: &u32| &truth[*row as usize * dimensions..][..dimensions];
    let margin: f64 = rows.iter().map(|row| dot(at(row), &features)).sum();
    let label = coin(1.0 / (1.0 + (-margin).exp()), random);
    Person { rows, features, label: f32::from(u8::from(label)) }
}

/// A direction of so many dimensions, uniformly.
fn direction(dimensions: usize, random: &mut PrivateRandom) -> Vec<f32> {
    let mut values = vec![0.0; dimensions];
    fill_normal_f32(&mut values, random);
    let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.iter().map(|value| value / norm).collect()
}

fn dot(one: &[f32], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(one, other)| f64::from(one * other)).sum()
}

/// The model, from zeros on.
pub(crate) struct Learner(Arc<People>);

impl Task for Learner {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(self.0.size.rows, self.0.size.dimensions)]
    }

    fn units(&self) -> u64 {
        self.0.number()
    }

    fn reads(&self, unit: u64, _: &[u32], visit: &mut dyn FnMut(u32)) {
        self.0.train[unit as usize].rows.iter().for_each(|row| visit(*row));
    }

    fn gradient(&self, unit: u64, _: &[u32], table: &dyn ReadRows, gradient: &mut dyn WriteRows) {
        let person = &self.0.train[unit as usize];
        let margin: f64 =
            person.rows.iter().map(|row| dot(table.row(*row), &person.features)).sum();
        let slope = 1.0 / (1.0 + (-margin as f32).exp()) - person.label;
        for row in &person.rows {
            let values = gradient.row(*row).iter_mut();
            values.zip(&person.features).for_each(|(sum, feature)| *sum += slope * feature);
        }
    }

    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN }
    }
}

impl Application for Learner {
    type Settings = EngineSettings;
    type Data = Arc<People>;
    type Task = Self;
    type Model = Vec<f32>;

    fn read(_: &EngineSettings) -> Result<Arc<People>, Failure> {
        Err("the people are in memory".into())
    }

    fn fingerprint(_: &Arc<People>) -> Result<[u8; 32], Failure> {
        Err("these runs are not gone on with".into())
    }

    fn prepare(
        _: &EngineSettings,
        people: Arc<People>,
        _: &mut Releases<'_>,
    ) -> Result<Self, Failure> {
        Ok(Self(people))
    }

    fn task(&self) -> &Self {
        self
    }

    fn start(&self, _: &EngineSettings, _: &mut Releases<'_>) -> Result<Start, Failure> {
        Ok(Start { parameters: vec![0.0; self.0.truth.len()], ..Start::default() })
    }

    fn finish(
        self,
        parameters: Vec<f32>,
        _: &Certificate,
        _: Option<&RunFolder>,
    ) -> Result<Vec<f32>, Failure> {
        Ok(parameters)
    }
}
