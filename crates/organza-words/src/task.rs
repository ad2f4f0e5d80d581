//! Word vectors as a task: samples of text, negatives, and the gradient of a unit.

use organza_data::split::Split;
use organza_data::{Negatives, Objective, Samples, Units, frequency_loss};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::Subset;
use organza_mechanism::{ReadRows, WriteRows};
use organza_model::{ExpectedLoss, HeldOutSample, ModelError, Sample, Scratch, WordVectors};
use organza_train::{Losses, Task};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How many samples of each part are evaluated at the most; a bag of words costs a pass over the
/// vocabulary each, a pair only for each distinct input.
const EVALUATED_PAIRS: u64 = 200_000;
const EVALUATED_BAGS: u64 = 2_000;

/// Word vectors on text.
#[derive(Debug)]
pub struct WordTask {
    samples: Samples,
    split: Split,
    model: WordVectors,
    negatives: Negatives,
    negative_count: u32,
    per_unit: u64,
    held: [HeldOut; 3],
}

/// Samples to evaluate on: distinct ones, with how often they occur.
type HeldOut = Vec<(Vec<u32>, u32, f64)>;

/// Memory of one thread.
#[derive(Default)]
struct Memory {
    chosen: Subset,
    scratch: Scratch,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

impl WordTask {
    /// Joins text, split, model and negatives. A unit's gradient is the mean over at most `per_unit`
    /// of its samples.
    pub fn new(
        samples: Samples,
        split: Split,
        model: WordVectors,
        negatives: Negatives,
        negative_count: u32,
        per_unit: u64,
    ) -> Self {
        let most = match samples.objective() {
            Objective::SkipGram => EVALUATED_PAIRS,
            Objective::ContinuousBag => EVALUATED_BAGS,
        };
        let held = [&split.train, &split.validation, &split.test]
            .map(|units| held_out(&samples, units, most));
        Self { samples, split, model, negatives, negative_count, per_unit: per_unit.max(1), held }
    }

    /// The model.
    pub fn model(&self) -> &WordVectors {
        &self.model
    }

    /// All samples of the text. *Not private.*
    pub(crate) fn samples(&self) -> &Samples {
        &self.samples
    }

    /// The units that train. *Not private.*
    pub(crate) fn train(&self) -> &Units {
        &self.split.train
    }

    /// At most `most` samples of the validation part, spread evenly, as inputs and output: for whoever declares them public.
    /// *Not private.*
    pub fn validation_samples(&self, most: u64) -> Vec<(Vec<u32>, u32)> {
        let units = &self.split.validation;
        let stride = units.sample_count().div_ceil(most.max(1)).max(1) as usize;
        let samples = units.every(&self.samples, stride);
        samples.map(|sample| (sample.inputs().collect(), sample.output)).collect()
    }

    /// Negatives a sample.
    pub fn negative_count(&self) -> u32 {
        self.negative_count
    }

    /// The probability of each word as a negative.
    pub(crate) fn negative_weights(&self) -> Vec<f64> {
        (0..self.negatives.len() as u32).map(|word| self.negatives.probability(word)).collect()
    }

    /// The loss of word frequencies alone on the test samples, if there are any. *Not private.*
    pub fn frequency_loss(&self) -> Option<f64> {
        let train = self.split.train.output_counts(&self.samples);
        let test = self.split.test.output_counts(&self.samples);
        frequency_loss(&train, &test, self.negative_count, &self.negatives)
    }

    /// How many samples of a unit its gradient is of.
    fn samples_of(&self, unit: u64) -> u64 {
        self.split.train.samples_in(unit).min(self.per_unit)
    }

    /// The samples that were drawn, each as the number of its inputs, its output, its inputs and its negatives.
    fn drawn<'a>(&self, mut draw: &'a [u32]) -> impl Iterator<Item = Sample<'a>> {
        let negatives = self.negative_count as usize;
        std::iter::from_fn(move || {
            let [inputs, positive, rest @ ..] = draw else { return None };
            let (inputs, rest) = rest.split_at_checked(*inputs as usize)?;
            let (negatives, rest) = rest.split_at_checked(negatives)?;
            draw = rest;
            Some(Sample { inputs, positive: *positive, negatives })
        })
    }

    fn mean_loss(&self, rows: &dyn ReadRows, held: &HeldOut) -> Result<f64, ModelError> {
        let weights = self.negative_weights();
        let held: Vec<HeldOutSample<'_>> = held
            .iter()
            .map(|(inputs, positive, weight)| HeldOutSample {
                inputs,
                positive: *positive,
                weight: *weight,
            })
            .collect();
        ExpectedLoss::new(&self.model, &weights, self.negative_count)?.mean(rows, &held)
    }
}

impl Task for WordTask {
    fn tables(&self) -> Vec<(u64, u64)> {
        self.model.tables()
    }

    fn units(&self) -> u64 {
        self.split.train.len()
    }

    fn draw(&self, unit: u64, random: &mut PrivateRandom, draw: &mut Vec<u32>) {
        let (count, number) = (self.split.train.samples_in(unit), self.samples_of(unit));
        MEMORY.with_borrow_mut(|Memory { chosen, .. }| {
            if number < count {
                chosen.draw(count, number, random);
            }
            for place in 0..number {
                let index = if number < count { chosen.numbers()[place as usize] } else { place };
                let Some(sample) = self.split.train.sample(&self.samples, unit, index) else {
                    continue;
                };
                let start = draw.len();
                draw.extend([0, sample.output]);
                draw.extend(sample.inputs());
                let end = draw.len();
                draw[start] = (end - start - 2) as u32;
                draw.resize(end + self.negative_count as usize, 0);
                self.negatives.fill(&mut draw[end..], random);
            }
        });
    }

    fn reads(&self, _: u64, draw: &[u32], visit: &mut dyn FnMut(u32)) {
        self.drawn(draw).for_each(|sample| self.model.rows_of(sample, &mut *visit));
    }

    fn gradient(
        &self,
        unit: u64,
        draw: &[u32],
        weights: &dyn ReadRows,
        gradient: &mut dyn WriteRows,
    ) {
        let weight = 1.0 / self.samples_of(unit) as f32;
        MEMORY.with_borrow_mut(|Memory { scratch, .. }| {
            for sample in self.drawn(draw) {
                let result = self.model.gradient(weights, sample, weight, scratch, gradient);
                debug_assert!(result.is_ok(), "the samples are of the model's vocabulary");
            }
        });
    }

    fn evaluate(&self, weights: &dyn ReadRows) -> Losses {
        let [train, validation, test] = [0, 1, 2]
            .map(|part: usize| self.mean_loss(weights, &self.held[part]).unwrap_or(f64::NAN));
        Losses { train, validation, test }
    }
}

/// At most `most` samples, spread evenly, equal ones together.
fn held_out(samples: &Samples, units: &Units, most: u64) -> HeldOut {
    let stride = units.sample_count().div_ceil(most).max(1) as usize;
    let mut distinct: BTreeMap<(Vec<u32>, u32), f64> = BTreeMap::new();
    for sample in units.every(samples, stride) {
        *distinct.entry((sample.inputs().collect(), sample.output)).or_default() += 1.0;
    }
    distinct.into_iter().map(|((inputs, output), weight)| (inputs, output, weight)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use organza_data::split::{Shares, Sides};
    use organza_data::{DeclaredPublic, Synthetic, TokenisedText, Tokeniser, VocabularySource};
    use organza_ledger::Unit;
    use organza_model::Layout;
    use organza_train::testing::Poisoned;

    const WORDS: usize = 60;
    const NEGATIVES: u32 = 4;

    fn task(objective: Objective, layout: Layout, unit: Unit, per_unit: u64) -> WordTask {
        let source = Synthetic::new(3, 60);
        let lines = organza_data::Layout::Lines;
        let text = TokenisedText::read(&source, &Tokeniser::default(), lines).expect("text");
        let shares = Shares { validation: 0.0, test: 0.0 };
        let sides = Sides::by_unit(&text, unit, shares, 1).expect("sides");
        let words =
            DeclaredPublic::most_frequent(WORDS).vocabulary(&text).expect("words").vocabulary;
        let samples = Samples::new(text.into_corpus(&words), objective, 2).expect("samples");
        let split = sides.split(&samples).expect("a split");
        let model = WordVectors::new(layout, WORDS as u64, 3).expect("a model");
        let negatives = Negatives::uniform(WORDS).expect("negatives");
        WordTask::new(samples, split, model, negatives, NEGATIVES, per_unit)
    }

    #[test]
    fn word_vectors_read_what_they_tell() {
        for objective in [Objective::SkipGram, Objective::ContinuousBag] {
            for layout in [Layout::Tied, Layout::TwoTables] {
                // A sample a unit, some of a unit's samples, and all of them.
                for (unit, per_unit) in [(Unit::Pair, 1), (Unit::Line, 3), (Unit::Line, 1_000)] {
                    let task = task(objective, layout, unit, per_unit);
                    let poisoned = Poisoned::new(&task);
                    assert!(task.units() >= 20);
                    poisoned.check(0..20);
                    let rows: usize = (0..20).map(|unit| poisoned.reads(unit).len()).sum();
                    assert!(rows > 20 * NEGATIVES as usize, "{objective:?} {layout:?} {unit:?}");
                }
            }
        }
    }
}
