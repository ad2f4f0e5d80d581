//! The first parameters of a run: by chance, with a bias from word counts, or learned from pair counts.

use crate::folder::RunFolder;
use crate::metrics::Metrics;
use crate::phases::{CountPhases, pair_counts, word_counts};
use crate::prepare::initial;
use crate::run::{Observer, Outcome, Purse};
use crate::session::SessionError;
use crate::settings::Settings;
use crate::task::Task;
use crate::words::WordTask;
use organza_data::cooccurrence::{NoisyPairs, NoisyWords, PairWeights};
use organza_mechanism::RandomSource;
use organza_model::counts::{CountSettings, CountedPair, NoisyCounts, learn_counts};
use organza_model::frequency_bias;
use std::time::Instant;

/// Parameters before the first step.
///
/// # Privacy
/// They are a function of chance and of released counts alone, hence a post-processing.
pub(crate) struct First {
    pub(crate) parameters: Vec<f32>,
    /// Parameters that know of word counts alone, where pair counts taught more.
    frequencies: Option<Vec<f32>>,
    passes: u64,
    seconds: f64,
}

impl First {
    /// Charges for the counts that were planned, releases them and learns from them.
    pub(crate) fn new(
        settings: &Settings,
        task: &WordTask,
        phases: &CountPhases,
        source: &RandomSource,
        mut purse: Option<&mut Purse<'_>>,
    ) -> Result<Self, SessionError> {
        let begun = Instant::now();
        let model = task.model();
        let mut parameters = initial(settings, model, source);
        let (mut passes, mut frequencies) = (0, None);
        let words = match (phases.words, purse.as_deref_mut()) {
            (Some(noise), Some(purse)) => {
                let plan = word_counts(settings, model.words(), noise)?;
                let release = plan.release(source);
                let charged = purse.charge(release.charge())?;
                Some(plan.count(task.samples(), task.train(), &release, charged)?)
            }
            _ => None,
        };
        if let Some(words) = &words {
            model.set_bias(&mut parameters, &bias(words, task)?)?;
        }
        if let (Some(noise), Some(words), Some(purse)) = (phases.pairs, &words, purse) {
            let plan = pair_counts(settings, model.words(), noise, PairWeights::default())?;
            let release = plan.release(source);
            let charged = purse.charge(release.charge())?;
            let pairs = plan.count(task.samples(), task.train(), &release, charged)?;
            let fit = learn(task, words, &pairs)?;
            passes = fit.passes as u64;
            frequencies = Some(std::mem::replace(&mut parameters, fit.parameters));
        }
        Ok(Self { parameters, frequencies, passes, seconds: begun.elapsed().as_secs_f64() })
    }

    /// Parameters that are the result of the run, because there are no steps. The curve has two points: word
    /// counts alone, and all.
    pub(crate) fn into_result(
        self,
        task: &WordTask,
        folder: &RunFolder,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, SessionError> {
        let mut metrics = Metrics::open(folder, 0)?;
        if metrics.is_empty() && let Some(frequencies) = &self.frequencies {
            metrics.add(0, task.evaluate(frequencies), observer)?;
        }
        metrics.add(self.passes, task.evaluate(&self.parameters), observer)?;
        Ok(Outcome::Done { parameters: self.parameters, seconds: self.seconds })
    }
}
