//! Word vectors, with pairs of the validation part as what was declared public.

use super::application::{Compared, ComparedSettings, WithPublic};
use organza_data::Negatives;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::{ReadRows, WriteRows};
use organza_model::{Sample, Scratch, WordVectors};
use organza_train::{Failure, Losses, Task};
use organza_words::settings::Settings;
use organza_words::suite::WordRun;
use organza_words::{WordTask, Words};
use std::cell::RefCell;

/// Samples of text that were declared public, each with its negatives: all that it knows of the text.
#[derive(Clone, Debug)]
pub struct PublicPairs {
    model: WordVectors,
    negatives: Negatives,
    negative_count: u32,
    /// Inputs and output of each.
    samples: Vec<(Vec<u32>, u32)>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Task for PublicPairs {
    fn tables(&self) -> Vec<(u64, u64)> {
        self.model.tables()
    }

    fn units(&self) -> u64 {
        self.samples.len() as u64
    }

    fn draw(&self, _: u64, random: &mut PrivateRandom, draw: &mut Vec<u32>) {
        let start = draw.len();
        draw.resize(start + self.negative_count as usize, 0);
        self.negatives.fill(&mut draw[start..], random);
    }

    fn gradient(
        &self,
        unit: u64,
        draw: &[u32],
        weights: &dyn ReadRows,
        gradient: &mut dyn WriteRows,
    ) {
        let Some((inputs, positive)) = self.samples.get(unit as usize) else { return };
        let sample = Sample { inputs, positive: *positive, negatives: draw };
        SCRATCH.with_borrow_mut(|scratch| {
            let result = self.model.gradient(weights, sample, 1.0, scratch, gradient);
            debug_assert!(result.is_ok(), "the samples are of the model's vocabulary");
        });
    }

    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN }
    }
}

impl WithPublic for WordTask {
    type Public = PublicPairs;

    fn public(&self, most: u64) -> Result<PublicPairs, Failure> {
        let model = *self.model();
        let negatives = Negatives::uniform(model.words() as usize).ok_or("there are no words")?;
        let samples = self.validation_samples(most);
        if samples.is_empty() {
            return Err("there are no validation samples to be declared public".into());
        }
        Ok(PublicPairs { model, negatives, negative_count: self.negative_count(), samples })
    }

    fn public_samples() -> &'static str {
        "samples of the validation part"
    }
}

impl WordRun for ComparedSettings<Settings> {
    type Application = Compared<Words>;
}
