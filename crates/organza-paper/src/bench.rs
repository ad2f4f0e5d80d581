//! How long a step takes, on samples that need no data.
//!
//! One table of word vectors in both roles, the paper's model, and 200,000 samples of a word, a word beside it
//! and eight negatives, all drawn by Zipf's law, of all rows or of fewer that lie evenly among them. The steps are those of training, made by the same functions;
//! nothing is charged, because there is no data that could leak.

use organza_ledger::{
    Account, AccountError, Budget, BudgetError, Event, Header, Ledger, Neighbouring, Unit,
};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{fill_normal_f32, unit};
use organza_mechanism::{Purpose, RandomSource, ReadRows, SelectionRule, WriteRows};
use organza_model::{Layout, ModelError, Sample, Scratch, WordVectors};
use organza_train::settings::{EngineSettings, Steps};
use organza_train::{
    CalibrationError, FirstWeights, FolderError, Losses, OptimizerSettings, Purse, RunError,
    RunPlan, Stepper, StepperOnDisk, Task,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;
use thiserror::Error;

/// The samples.
const SAMPLES: usize = 200_000;
/// A word, the word beside it, and eight negatives.
const WORDS: usize = 10;
/// Room for so many times is made beforehand, so that measuring allocates nothing.
const MOST_KEPT: usize = 1 << 16;
/// A median needs so many steps.
const LEAST_STEPS: usize = 3;
/// How fine a grid is on which noise waits; the noise itself is the paper's.
const EPSILON: f64 = 1.0;
/// The deviation of the first vectors, and more than any of them has.
const DEVIATION: f32 = 0.1;
const LARGEST: f32 = 2.0;
/// The model of tables on a disk, which is removed when it was measured.
const MODEL: &str = "organza-bench.safetensors";

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchSettings {
    /// Where steps put their noise; nowhere without privacy.
    pub noise: Option<Steps>,
    /// How coordinates are selected (method `sparse`).
    pub select: SelectionRule,
    /// How many coordinates (rows, for limited-domain selection) are selected.
    pub draws: u64,
    /// How parameters move.
    pub optimizer: OptimizerSettings,
    /// The rows of the table.
    pub vocabulary: u64,
    /// How many of the rows occur, evenly spread; all if none is given. Zipf's law gives a batch more distinct
    /// words on a wider table, and a number that stays shows what the width itself costs.
    pub words: Option<u64>,
    /// The length of a row.
    pub dimensions: usize,
    /// The expected number of samples in a batch.
    pub batch: f64,
    /// The steps that are measured, at the most.
    pub steps: u64,
    /// The steps before them, which are not, at the most.
    pub warmup: u64,
    /// Neither the steps nor the warm-up take longer, but for three steps that are always measured.
    pub seconds: f64,
    /// How many threads there are; 0 for as many as the machine has.
    pub threads: usize,
    /// Gives the same samples and the same steps again.
    pub seed: u64,
    /// The folder in which tables are kept, if not in memory.
    pub tables_on_disk: Option<PathBuf>,
}

impl Default for BenchSettings {
    /// The paper's table, batch and selection.
    fn default() -> Self {
        Self {
            noise: Some(Steps::Selected),
            select: SelectionRule::Exponential,
            draws: 100,
            optimizer: OptimizerSettings::adam(0.001),
            vocabulary: 1_000,
            words: None,
            dimensions: 100,
            batch: 20.0,
            steps: 2_000,
            warmup: 300,
            seconds: f64::INFINITY,
            threads: 1,
            seed: 1,
            tables_on_disk: None,
        }
    }
}

/// How long each step took.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchResult {
    /// Milliseconds, step by step.
    pub milliseconds: Vec<f64>,
    /// What tables on a disk took besides.
    pub on_disk: Option<OnDisk>,
}

/// What tables on a disk take besides steps, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnDisk {
    /// Until the first weights were written.
    pub first: f64,
    /// Until all rows were brought up to date where they stood, and the file was that of the model.
    pub export: f64,
}

impl BenchResult {
    /// The median over all steps; no number if there was none.
    pub fn median(&self) -> f64 {
        let mut sorted = self.milliseconds.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.get(middle) {
            None => f64::NAN,
            Some(upper) if sorted.len().is_multiple_of(2) => (sorted[middle - 1] + upper) / 2.0,
            Some(value) => *value,
        }
    }
}

/// Why nothing can be measured.
#[derive(Debug, Error)]
pub enum BenchError {
    /// The table cannot be made.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The plan cannot be made.
    #[error(transparent)]
    Plan(#[from] CalibrationError),
    /// The tables cannot be made.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There are not so many words.
    #[error(
        "{words} words do not fit on {rows} rows: there must be one at least, and no more than rows"
    )]
    Words {
        /// What was asked for.
        words: u64,
        /// The rows of the table.
        rows: u64,
    },
    /// The batch is none.
    #[error("a batch of {0} does not fit: it must be positive and at most {SAMPLES}")]
    Batch(f64),
    /// The file of tables on a disk cannot be removed.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The threads cannot be started.
    #[error("the threads cannot be started: {0}")]
    Threads(String),
}

/// Makes the steps and measures them; calls `after_steps` while tables are still there.
///
/// # Errors
/// If the settings make no sense, threads cannot be started, or the disk has no room.
pub fn bench(
    settings: &BenchSettings,
    after_steps: impl FnOnce() + Send,
) -> Result<BenchResult, BenchError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
        .map_err(|error| BenchError::Threads(error.to_string()))?;
    pool.install(|| {
        let begun = Instant::now();
        let mut steps = made(settings)?;
        let first = begun.elapsed().as_secs_f64();
        let late = |begun: Instant| begun.elapsed().as_secs_f64() > settings.seconds;
        let begun = Instant::now();
        for _ in (0..settings.warmup).take_while(|_| !late(begun)) {
            steps.make()?;
        }
        let mut milliseconds =
            Vec::with_capacity(usize::try_from(settings.steps).unwrap_or(0).min(MOST_KEPT));
        let begun = Instant::now();
        for _ in 0..settings.steps {
            let step = Instant::now();
            steps.make()?;
            milliseconds.push(step.elapsed().as_secs_f64() * 1e3);
            if milliseconds.len() >= LEAST_STEPS && late(begun) {
                break;
            }
        }
        after_steps();
        let begun = Instant::now();
        let on_disk = match steps {
            Made::InMemory(_) => None,
            Made::OnDisk(steps) => {
                let model = steps.export(&BTreeMap::new())?;
                let export = begun.elapsed().as_secs_f64();
                std::fs::remove_file(&model).map_err(FolderError::file("delete", &model))?;
                Some(OnDisk { first, export })
            }
        };
        Ok(BenchResult { milliseconds, on_disk })
    })
}

/// Steps, wherever their tables are.
enum Made {
    InMemory(Stepper<BenchTask>),
    OnDisk(StepperOnDisk<BenchTask>),
}

impl Made {
    fn make(&mut self) -> Result<(), RunError> {
        match self {
            Self::InMemory(steps) => steps.make(),
            Self::OnDisk(steps) => steps.make(),
        }
    }
}

/// Steps that nobody pays for, because nobody is in the samples.
fn made(bench: &BenchSettings) -> Result<Made, BenchError> {
    if !(bench.batch > 0.0 && bench.batch <= SAMPLES as f64) {
        return Err(BenchError::Batch(bench.batch));
    }
    let mut settings = EngineSettings::new("bench", Unit::Pair, EPSILON, 1e-5);
    settings.private = bench.noise.is_some();
    settings.steps = bench.noise.or(Some(Steps::Everywhere));
    settings.selection.epsilon = Some(0.283_79);
    settings.privacy.noise_multiplier = Some(0.5);
    (settings.training.clip, settings.training.second_clip) = (15.0, Some(1.0));
    settings.selection.rule = bench.select;
    settings.selection.draws = Some(bench.draws);
    settings.training.batch = bench.batch;
    settings.training.optimizer = bench.optimizer;
    settings.training.steps = Some(bench.warmup.saturating_add(bench.steps));
    settings.training.average = false;
    let source = RandomSource::from_seed(bench.seed);
    let words = bench.words.unwrap_or(bench.vocabulary);
    if words == 0 || words > bench.vocabulary {
        return Err(BenchError::Words { words, rows: bench.vocabulary });
    }
    let task = BenchTask::new(bench.vocabulary, words, bench.dimensions, &source)?;
    let plan = RunPlan::new(&settings, task.tables(), task.units(), Vec::new())?;
    let mut random = source.substream(Purpose::Initialisation, 0, 0);
    let relation = settings.privacy.neighbouring;
    let ledger = Ledger::in_memory(Header::new(relation, Unit::Pair, 0.0))
        .map_err(BudgetError::from)
        .map_err(RunError::from)?;
    let budget = Budget::new(0.0, 0.0, relation).map_err(RunError::from)?;
    let mut purse = Purse::new(ledger, budget, Nobody(relation));
    let purse = Some(&mut purse);
    let Some(folder) = &bench.tables_on_disk else {
        let initial =
            task.model.initial_normal(DEVIATION, |values| fill_normal_f32(values, &mut random));
        return Ok(Made::InMemory(Stepper::new("bench", task, plan, source, initial, purse)?));
    };
    let first = FirstWeights::new(LARGEST, |values| {
        fill_normal_f32(values, &mut random);
        values.iter_mut().for_each(|value| *value *= DEVIATION);
    });
    let path = folder.join(MODEL);
    let steps = StepperOnDisk::new("bench", task, plan, source, first, &path, purse)?;
    Ok(Made::OnDisk(steps))
}

/// Prices everything at nothing: the samples are made up, and nobody is in them.
struct Nobody(Neighbouring);

impl Account for Nobody {
    fn neighbouring(&self) -> Neighbouring {
        self.0
    }

    fn epsilon(&self, _: &[Event], _: f64) -> Result<f64, AccountError> {
        Ok(0.0)
    }
}

/// Samples drawn by Zipf's law.
struct BenchTask {
    model: WordVectors,
    samples: Vec<[u32; WORDS]>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl BenchTask {
    /// `words` is from one to `vocabulary`.
    fn new(
        vocabulary: u64,
        words: u64,
        dimensions: usize,
        source: &RandomSource,
    ) -> Result<Self, ModelError> {
        let model = WordVectors::new(Layout::Tied, vocabulary, dimensions)?;
        let mut random = source.substream(Purpose::Data, 0, 0);
        // Both fit: the model has refused a vocabulary that does not.
        let (words, apart) = (words as u32, (vocabulary / words) as u32);
        let samples = (0..SAMPLES)
            .map(|_| std::array::from_fn(|_| apart * zipf(words, &mut random)))
            .collect();
        Ok(Self { model, samples })
    }
}

/// A word of number k - 1 with probability in proportion to 1 / k.
///
/// floor(x) with x in proportion to 1 / x on [1, words + 1) is k with probability in proportion to
/// ln(1 + 1 / k), which is at least ln 2 / k: k is taken with probability ln 2 / (k ln(1 + 1 / k)).
fn zipf(words: u32, random: &mut PrivateRandom) -> u32 {
    let range = (f64::from(words) + 1.0).ln();
    loop {
        let rank = (unit(random) * range).exp().floor().clamp(1.0, f64::from(words));
        if unit(random) * rank * rank.recip().ln_1p() < std::f64::consts::LN_2 {
            return rank as u32 - 1;
        }
    }
}

impl Task for BenchTask {
    fn tables(&self) -> Vec<(u64, u64)> {
        self.model.tables()
    }

    fn units(&self) -> u64 {
        self.samples.len() as u64
    }

    fn reads(&self, unit: u64, _: &[u32], visit: &mut dyn FnMut(u32)) {
        self.samples[unit as usize].iter().for_each(|row| visit(*row));
    }

    fn gradient(&self, unit: u64, _: &[u32], weights: &dyn ReadRows, gradient: &mut dyn WriteRows) {
        let [target, context, negatives @ ..] = &self.samples[unit as usize];
        let sample = Sample { inputs: &[*target], positive: *context, negatives };
        let result = SCRATCH.with_borrow_mut(|scratch| {
            self.model.gradient(weights, sample, 1.0, scratch, gradient)
        });
        debug_assert!(result.is_ok(), "the samples are of the model's vocabulary");
    }

    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_method_is_measured() {
        for noise in [None, Some(Steps::Everywhere), Some(Steps::Selected)] {
            for optimizer in
                [OptimizerSettings::adam(0.001), OptimizerSettings::Sgd { learning_rate: 0.1 }]
            {
                let (steps, warmup) = (5, 2);
                let settings =
                    BenchSettings { noise, optimizer, steps, warmup, ..BenchSettings::default() };
                let result = bench(&settings, || ()).unwrap();
                assert_eq!(result.milliseconds.len(), 5);
                assert!(result.median() > 0.0);
            }
        }
        assert!(bench(&BenchSettings { batch: 0.0, ..BenchSettings::default() }, || ()).is_err());
        assert!(
            bench(&BenchSettings { vocabulary: 0, ..BenchSettings::default() }, || ()).is_err()
        );
        for words in [Some(0), Some(1_001)] {
            assert!(bench(&BenchSettings { words, ..BenchSettings::default() }, || ()).is_err());
        }
    }

    /// Rows are brought up to date, gradients summed and noise drawn on several threads here.
    #[test]
    fn neither_threads_nor_a_disk_show_in_large_batches() {
        let sgd = OptimizerSettings::Sgd { learning_rate: 0.1 };
        let adam = OptimizerSettings::adam(0.001);
        for (noise, optimizer, waits) in [
            (Some(Steps::Everywhere), sgd, true),
            (Some(Steps::Selected), adam, true),
            (Some(Steps::Selected), sgd, false),
            (None, adam, true),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let settings = |on_disk: bool| BenchSettings {
                noise,
                optimizer,
                vocabulary: 40_000,
                dimensions: 8,
                batch: 400.0,
                draws: 1_000,
                tables_on_disk: on_disk.then(|| folder.path().to_owned()),
                ..BenchSettings::default()
            };
            let trained = |threads: usize, on_disk: bool| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let mut steps = made(&settings(on_disk)).unwrap();
                    (0..40).for_each(|_| steps.make().unwrap());
                    match steps {
                        Made::InMemory(steps) => {
                            assert_eq!(steps.waits(), waits, "{noise:?}: until rows are read");
                            steps.into_parameters()
                        }
                        Made::OnDisk(steps) => values(&steps.export(&BTreeMap::new()).unwrap()),
                    }
                })
            };
            let one = trained(1, false);
            for (threads, on_disk) in [(3, false), (1, true), (3, true)] {
                assert!(one == trained(threads, on_disk), "{noise:?} {threads} {on_disk}");
            }
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    /// The values of a safetensors file, which is removed.
    fn values(path: &std::path::Path) -> Vec<f32> {
        let bytes = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let values = bytes[8 + header..].chunks_exact(4);
        values.map(|value| f32::from_le_bytes(value.try_into().unwrap())).collect()
    }

    #[test]
    fn tables_on_a_disk_are_measured_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let settings = BenchSettings {
            noise: Some(Steps::Everywhere),
            optimizer: OptimizerSettings::Sgd { learning_rate: 0.1 },
            vocabulary: 2_000,
            tables_on_disk: Some(folder.path().to_owned()),
            steps: 5,
            warmup: 2,
            ..BenchSettings::default()
        };
        let mut files = 0;
        let measured =
            bench(&settings, || files = std::fs::read_dir(folder.path()).unwrap().count());
        assert!(measured.unwrap().on_disk.is_some_and(|it| it.first > 0.0 && it.export > 0.0));
        assert_eq!(files, 1);
        // Adam would move every row at every step.
        let dense = BenchSettings { optimizer: OptimizerSettings::adam(0.1), ..settings };
        assert!(matches!(bench(&dense, || ()), Err(BenchError::Run(RunError::OnDisk(_)))));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn samples_read_what_they_tell() {
        let task = BenchTask::new(1_000, 1_000, 3, &RandomSource::from_seed(1)).unwrap();
        organza_train::testing::Poisoned::new(&task).check(0..50);
    }

    #[test]
    fn few_words_lie_evenly_among_the_rows() {
        let source = RandomSource::from_seed(1);
        let dense = BenchTask::new(40, 40, 2, &source).unwrap();
        let spread = BenchTask::new(1_000, 40, 2, &source).unwrap();
        for (dense, spread) in dense.samples.iter().zip(&spread.samples) {
            assert_eq!(dense.map(|row| 25 * row), *spread);
        }
    }

    /// Chi-squared of the first ranks against Zipf's law, at a false-alarm rate of 1e-6 (9 degrees of
    /// freedom); one rank more, as if counted from two, is seen.
    #[test]
    fn words_follow_the_law_of_zipf() {
        let mut random = RandomSource::from_seed(5).substream(Purpose::Data, 0, 0);
        let (words, draws) = (50, 200_000);
        let mut counts = vec![0.0; words];
        for _ in 0..draws {
            counts[zipf(words as u32, &mut random) as usize] += 1.0;
        }
        let statistic = |shift: usize| {
            let weights = (1..=words).map(|rank| 1.0 / (rank + shift) as f64);
            let total: f64 = weights.clone().sum();
            let expected = weights.map(|weight| f64::from(draws) * weight / total);
            let terms = counts.iter().zip(expected).take(10);
            terms.map(|(count, expected)| (count - expected).powi(2) / expected).sum::<f64>()
        };
        assert!(statistic(0) < 44.8, "{}", statistic(0));
        assert!(statistic(1) > 44.8);
    }
}
