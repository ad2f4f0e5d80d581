//! A small run of the library, recorded with all that it drew.

use organza_data::split::{Shares, Sides, Split};
use organza_data::{
    DeclaredPublic, Layout, Negatives, Objective, Samples, Synthetic, TokenisedText, Tokeniser,
    VocabularySource,
};
use organza_ledger::testing::paid;
use organza_ledger::{Account, AccountError, Budget, Event, Header, Ledger, Neighbouring, Unit};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{poisson_subset, uniform_subset};
use organza_mechanism::{
    Batch, By, Choice, NoiseSettings, Plan, PlanSettings, Purpose, RandomSource, SelectionSettings,
    Shape,
};
use organza_model::WordVectors;
use organza_train::{
    Losses, OptimizerSettings, Outcome, Purse, ReadRows, RunFolder, RunPlan, StepMethod, Task,
    WriteRows, run,
};
use organza_words::WordTask;
use serde::Serialize;
use std::sync::Mutex;

const WORDS: usize = 14;
const DIMENSIONS: usize = 3;
const NEGATIVES: u32 = 4;
const STEPS: u64 = 6;
const SEED: u64 = 5;

/// What is run.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) private: bool,
    pub(crate) tied: bool,
    pub(crate) bag: bool,
    pub(crate) adam: bool,
    pub(crate) unit: Unit,
    pub(crate) per_unit: u64,
    pub(crate) selection: SelectionSettings,
    pub(crate) multiplier: f64,
    pub(crate) second_clip: Option<f64>,
}

impl Case {
    /// Skip-gram on lines with two tables and SGD, with noise below the grid.
    pub(crate) fn new(selection: SelectionSettings) -> Self {
        Self {
            private: true,
            tied: false,
            bag: false,
            adam: false,
            unit: Unit::Line,
            per_unit: 7,
            selection,
            multiplier: 1e-12,
            second_clip: None,
        }
    }
}

/// All that is needed to repeat a run without the library.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Transcript {
    pub(crate) tied: bool,
    pub(crate) words: usize,
    pub(crate) dimensions: usize,
    pub(crate) initial: Vec<f64>,
    /// The clip of a unit (S1); none is written as a number that is never reached.
    pub(crate) clip: f64,
    pub(crate) second_clip: Option<f64>,
    pub(crate) batch: f64,
    pub(crate) learning_rate: f64,
    pub(crate) adam: Option<[f64; 3]>,
    pub(crate) steps: Vec<Step>,
}

/// What one step drew.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Step {
    pub(crate) units: Vec<Vec<Sample>>,
    /// The selected coordinates; none for all of them.
    pub(crate) mask: Option<Vec<usize>>,
    /// The noise on the selected coordinates, or nothing.
    pub(crate) noise: Vec<f64>,
}

/// Input words, the word beside them, and negatives.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) inputs: Vec<usize>,
    pub(crate) positive: usize,
    pub(crate) negatives: Vec<usize>,
}

/// A transcript, and the parameters that the library had after every step.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) transcript: Transcript,
    pub(crate) parameters: Vec<Vec<f32>>,
}

fn data(case: &Case) -> (Samples, Split) {
    let text =
        TokenisedText::read(&Synthetic::new(3, 60), &Tokeniser::default(), Layout::Lines).unwrap();
    let shares = Shares { validation: 0.0, test: 0.0 };
    let sides = Sides::by_unit(&text, case.unit, shares, 1).unwrap();
    let words = DeclaredPublic::most_frequent(WORDS).vocabulary(&text).unwrap().vocabulary;
    let objective = if case.bag { Objective::ContinuousBag } else { Objective::SkipGram };
    let samples = Samples::new(text.into_corpus(&words), objective, 2).unwrap();
    let split = sides.split(&samples).unwrap();
    (samples, split)
}

/// Passes everything on, and keeps the parameters that it is asked to evaluate.
struct Watched {
    task: WordTask,
    seen: Mutex<Vec<Vec<f32>>>,
}

impl Task for Watched {
    fn tables(&self) -> Vec<(u64, u64)> {
        self.task.tables()
    }

    fn units(&self) -> u64 {
        self.task.units()
    }

    fn draw(&self, unit: u64, random: &mut PrivateRandom, draw: &mut Vec<u32>) {
        self.task.draw(unit, random, draw);
    }

    fn gradient(
        &self,
        unit: u64,
        draw: &[u32],
        weights: &dyn ReadRows,
        gradient: &mut dyn WriteRows,
    ) {
        self.task.gradient(unit, draw, weights, gradient);
    }

    fn evaluate(&self, weights: &dyn ReadRows) -> Losses {
        let rows = (0..).map(|row| weights.row(row)).take_while(|row| !row.is_empty());
        self.seen.lock().unwrap().push(rows.flatten().copied().collect());
        // Ever better, so that a run without privacy keeps its last parameters.
        let validation = -(self.seen.lock().unwrap().len() as f64);
        Losses { train: 0.0, validation, test: 0.0 }
    }
}

/// Asks for nothing: these runs are not private and claim nothing.
struct Free;

impl Account for Free {
    fn neighbouring(&self) -> Neighbouring {
        Neighbouring::AddRemove
    }

    fn epsilon(&self, _: &[Event], _: f64) -> Result<f64, AccountError> {
        Ok(0.0)
    }
}

pub(crate) fn record(case: &Case) -> Record {
    let (samples, split) = data(case);
    let layout =
        if case.tied { organza_model::Layout::Tied } else { organza_model::Layout::TwoTables };
    let model = WordVectors::new(layout, WORDS as u64, DIMENSIONS).unwrap();
    let negatives = Negatives::uniform(WORDS).unwrap();
    let task = WordTask::new(samples, split, model, negatives, NEGATIVES, case.per_unit);
    let units = task.units();
    let task = Watched { task, seen: Mutex::new(Vec::new()) };

    let rate = if case.unit == Unit::Pair { 0.05 } else { 0.2 };
    let settings = PlanSettings {
        shape: Shape::tables(&task.tables()).unwrap(),
        neighbouring: Neighbouring::AddRemove,
        rate,
        expected_batch: rate * units as f64,
        clip: 0.8,
        selection: case.selection.clone(),
        noise: NoiseSettings::Gaussian {
            multiplier: case.multiplier,
            second_clip: case.second_clip,
        },
    };
    let (clip, expected_batch) = (settings.clip, settings.expected_batch);
    let plan = Plan::new(settings).unwrap();
    let source = RandomSource::from_seed(SEED);
    let mut random = source.substream(Purpose::Initialisation, 0, 0);
    let initial = model.initial_normal(0.7, |values| {
        organza_mechanism::sample::fill_normal_f32(values, &mut random);
    });
    let (learning_rate, adam) = (0.25, [0.9, 0.999, 1e-5]);
    let optimizer = if case.adam {
        let [beta1, beta2, epsilon] = adam.map(|constant| constant as f32);
        OptimizerSettings::Adam { learning_rate: learning_rate as f32, beta1, beta2, epsilon }
    } else {
        OptimizerSettings::Sgd { learning_rate: learning_rate as f32 }
    };
    let method = if case.private {
        StepMethod::Private(plan.clone())
    } else {
        StepMethod::NotPrivate { rate, expected_batch }
    };
    train(
        &task,
        &RunPlan {
            method,
            steps: STEPS,
            optimizer,
            deferred: None,
            average: false,
            evaluate_every: 1,
            checkpoint_every: 4,
        },
        &source,
        initial.clone(),
    );

    let parameters = task.seen.into_inner().unwrap();
    assert_eq!(parameters.len() as u64, STEPS + 1);
    assert_eq!(parameters[0], initial);
    let steps = (0..STEPS)
        .map(|step| recorded(case, &task.task, &plan, &source, step, &parameters[step as usize]))
        .collect();
    let transcript = Transcript {
        tied: case.tied,
        words: WORDS,
        dimensions: DIMENSIONS,
        initial: initial.iter().map(|value| f64::from(*value)).collect(),
        clip: if case.private { clip } else { f64::MAX },
        second_clip: case.second_clip.filter(|_| case.private),
        batch: expected_batch,
        learning_rate,
        adam: case.adam.then_some(adam),
        steps,
    };
    Record { transcript, parameters: parameters[1..].to_vec() }
}

fn train(task: &Watched, plan: &RunPlan, source: &RandomSource, initial: Vec<f32>) {
    let place = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&place.path().join("run")).unwrap();
    let header = Header::new(Neighbouring::AddRemove, Unit::Line, 1e-6);
    let ledger = Ledger::create(&folder.file("ledger.jsonl"), header).unwrap();
    let budget = Budget::new(1.0, 1e-6, Neighbouring::AddRemove).unwrap();
    let mut purse = Purse::new(ledger, budget, Free);
    let outcome = run(task, plan, &folder, source, initial, Some(&mut purse), &mut ()).unwrap();
    assert!(matches!(outcome, Outcome::Done { .. }));
}

/// The batch of a step once more, by the key: the source itself draws it once.
fn again(plan: &Plan, task: &WordTask, source: &RandomSource, step: u64) -> Batch {
    let source = RandomSource::resume(source.key().clone(), source.origin());
    let sampler = plan.sampler("training", task.units(), &source);
    sampler.batch(step, &paid(sampler.charge(step..step + 1))).unwrap()
}

/// What the library drew in one step, from the same source.
fn recorded(
    case: &Case,
    task: &WordTask,
    plan: &Plan,
    source: &RandomSource,
    step: u64,
    parameters: &[f32],
) -> Step {
    let (samples, split) = data(case);
    let negatives = Negatives::uniform(WORDS).unwrap();
    let rate = plan.settings().rate;
    let joined: Vec<u64> = if case.private {
        again(plan, task, source, step).units().to_vec()
    } else {
        poisson_subset(task.units(), rate, &mut source.substream(Purpose::Batch, step, 0)).collect()
    };
    let of_unit = |unit: &u64| {
        let mut random = source.substream(Purpose::Negatives, step, *unit);
        let count = split.train.samples_in(*unit);
        let chosen = if count <= case.per_unit {
            (0..count).collect()
        } else {
            uniform_subset(count, case.per_unit, &mut random)
        };
        let sample = |index: u64| {
            let sample = split.train.sample(&samples, *unit, index).unwrap();
            let mut drawn = vec![0; NEGATIVES as usize];
            negatives.fill(&mut drawn, &mut random);
            Sample {
                inputs: sample.inputs().map(|word| word as usize).collect(),
                positive: sample.output as usize,
                negatives: drawn.into_iter().map(|word| word as usize).collect(),
            }
        };
        chosen.into_iter().map(sample).collect()
    };
    let units = joined.iter().map(of_unit).collect();
    if !case.private {
        return Step { units, mask: None, noise: Vec::new() };
    }

    // The selection as it was released: the same gradients, the same bits.
    let draws = source.step(Purpose::Negatives, step);
    let sum = again(plan, task, source, step).sum(|unit, gradient| {
        let mut draw = Vec::new();
        task.draw(unit, &mut draws.shard(unit), &mut draw);
        task.gradient(unit, &draw, &task.model().rows(parameters).unwrap(), gradient);
    });
    let selected = sum.select();
    let shape = &plan.settings().shape;
    let mask = match selected.selection() {
        Choice::All => None,
        Choice::Some { by: By::Coordinate, indices } => {
            Some(indices.iter().map(|index| *index as usize).collect())
        }
        Choice::Some { by: By::Row, indices } => {
            let rows = indices.iter().map(|row| shape.row(*row as u32).unwrap());
            let places = rows.flat_map(|(first, length)| first as usize..first as usize + length);
            Some(places.collect())
        }
    };
    // The noise alone: the same step on gradients that are all zero.
    let mut noise = Vec::new();
    if case.multiplier > 1e-6 {
        let nothing = again(plan, task, source, step).sum(|_, _| {});
        let released = nothing.select().noise();
        released.visit(|_, values| noise.extend(values.iter().map(|value| f64::from(*value))));
    }
    Step { units, mask, noise }
}
