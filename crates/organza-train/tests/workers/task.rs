//! A task that reads rows by chance, some without having said so.

use organza_ledger::Unit;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::{By, Selection};
use organza_train::remote::{Job, Reply, StepDriver, StepWorker, buckets_of};
use organza_train::settings::{EngineSettings, Steps};
use organza_train::{Losses, OptimizerSettings, ReadRows, Refinement, Simple, Task, WriteRows};
use std::path::Path;

pub const UNITS: u64 = 3_000;
pub const ROWS: u32 = 5_000;

/// People who pull two rows towards each other, one of their own and one drawn.
#[derive(Clone, Default, serde::Serialize)]
pub struct Pairs {
    people: Vec<u64>,
    /// 1 where all is right.
    factor: f32,
    /// Whether something is made of released gradients.
    #[serde(skip)]
    refined: bool,
}

impl Pairs {
    /// Nobody, with a refinement.
    pub fn refined() -> Self {
        Self { refined: true, ..Self::default() }
    }
}

/// One that makes nothing else of them.
struct Nothing;

impl Refinement for Nothing {
    fn every(&self) -> u64 {
        1
    }

    fn look(&mut self, _: &dyn ReadRows, _: &mut PrivateRandom) {}

    fn refine(&self, _: &mut [f32]) {}
}

impl Task for Pairs {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(u64::from(ROWS), 8)]
    }

    fn units(&self) -> u64 {
        self.people.len() as u64
    }

    fn draw(&self, unit: u64, random: &mut PrivateRandom, draw: &mut Vec<u32>) {
        draw.push(self.people[unit as usize] as u32 * 7 % ROWS);
        draw.push((random.word() % u64::from(ROWS / 10)) as u32);
    }

    fn reads(&self, unit: u64, draw: &[u32], visit: &mut dyn FnMut(u32)) {
        visit(draw[0]);
        if !self.people[unit as usize].is_multiple_of(3) {
            visit(draw[1]);
        }
    }

    fn gradient(&self, _: u64, draw: &[u32], weights: &dyn ReadRows, gradient: &mut dyn WriteRows) {
        for (one, other) in [(draw[0], draw[1]), (draw[1], draw[0])] {
            let (here, there) = (weights.row(one), weights.row(other));
            for (slope, (here, there)) in gradient.row(one).iter_mut().zip(here.iter().zip(there)) {
                *slope += self.factor * (here - there);
            }
        }
    }

    fn refinement(&self) -> Option<Box<dyn Refinement>> {
        self.refined.then(|| Box::new(Nothing) as Box<dyn Refinement>)
    }

    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN }
    }
}

/// How steps are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Noise is left for later until rows are read.
    Owed,
    /// Rows are selected, and rest between.
    Selected,
    /// The clip follows the gradients.
    Adapting,
}

pub const METHODS: [Method; 3] = [Method::Owed, Method::Selected, Method::Adapting];

impl Method {
    pub fn of(name: &str) -> Self {
        METHODS.into_iter().find(|method| method.name() == name).unwrap()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Owed => "owed",
            Self::Selected => "selected",
            Self::Adapting => "adapting",
        }
    }

    pub fn settings(self) -> EngineSettings {
        let mut settings = EngineSettings::new("pairs", Unit::User, 3.0, 1e-6);
        settings.privacy.units = Some(UNITS);
        settings.seed = Some(3);
        let training = &mut settings.training;
        (training.batch, training.clip) = (80.0, 1.0);
        (training.steps, training.checkpoints) = (Some(12), 3);
        training.optimizer = OptimizerSettings::Sgd { learning_rate: 0.5 };
        match self {
            Self::Owed => assert!(settings.may_defer()),
            Self::Selected => {
                training.optimizer = OptimizerSettings::adam(0.1);
                settings.steps = Some(Steps::Selected);
                settings.selection =
                    Selection { by: By::Row, draws: Some(40), ..Selection::default() };
            }
            Self::Adapting => training.adaptive_clip = Some(0.5),
        }
        settings
    }

    /// All people with their names, out of order: a worker takes those of its buckets.
    pub fn shard(self, factor: f32) -> (Pairs, Vec<[u8; 8]>) {
        let people: Vec<u64> = (0..UNITS).map(|place| place * 1_789 % UNITS).collect();
        let names = people.iter().map(|person| person.to_be_bytes()).collect();
        (Pairs { people, factor, refined: false }, names)
    }

    pub fn driver(self, path: &Path) -> StepDriver<Simple<Pairs>> {
        StepDriver::open(self.settings(), Pairs::default(), path).unwrap()
    }

    pub fn worker(
        self,
        driver: &StepDriver<Simple<Pairs>>,
        number: usize,
        of: usize,
    ) -> StepWorker<Pairs> {
        let job = driver.job(buckets_of(number, of));
        let (pairs, names) = self.shard(1.0);
        StepWorker::new(pairs, names, &Job::from_bytes(&job.to_bytes()).unwrap()).unwrap()
    }
}

/// The part of a worker in the step under way.
pub fn part(
    driver: &mut StepDriver<Simple<Pairs>>,
    worker: &mut StepWorker<Pairs>,
    order: &[u8],
) -> Vec<u8> {
    let mut reply = worker.order(order).unwrap();
    for _ in 0..3 {
        match reply {
            Reply::Part(part) => return part,
            Reply::Asks(asks) => reply = worker.rows(&driver.rows(&asks).unwrap()).unwrap(),
        }
    }
    panic!("what was missing was sent")
}

/// The model of a finished run.
pub fn bits(driver: StepDriver<Simple<Pairs>>) -> Vec<u32> {
    let run = driver.finish(false).unwrap();
    assert!(run.certificate.epsilon <= Some(3.0));
    run.model.into_iter().map(f32::to_bits).collect()
}

/// Makes all steps that are left by workers of this process.
pub fn finish(method: Method, mut driver: StepDriver<Simple<Pairs>>, of: usize) -> Vec<u32> {
    let mut workers: Vec<StepWorker<Pairs>> =
        (0..of).map(|number| method.worker(&driver, number, of)).collect();
    while let Some(order) = driver.order().unwrap() {
        // The last first: order says nothing.
        for worker in workers.iter_mut().rev() {
            let part = part(&mut driver, worker, &order);
            driver.add(&part).unwrap();
        }
        driver.make().unwrap();
    }
    bits(driver)
}

/// What a run by one worker of this process gives.
pub fn expected(method: Method) -> Vec<u32> {
    let place = tempfile::tempdir().unwrap();
    finish(method, method.driver(&place.path().join("run")), 1)
}
