//! The first parameters of a run: by chance, with a bias from word counts, or learned from pair counts.

use crate::folder::RunFolder;
use crate::metrics::Metrics;
use crate::phases::{Clips, CountPhases, pair_counts, unit_sizes, word_counts};
use crate::prepare::initial;
use crate::run::{Observer, Outcome, Purse};
use crate::session::SessionError;
use crate::settings::{CountsSettings, Settings};
use crate::task::Task;
use crate::words::WordTask;
use organza_data::cooccurrence::{NoisyPairs, NoisyWords};
use organza_ledger::{Neighbouring, Unit};
use organza_mechanism::{self as mechanism, RandomSource};
use organza_model::counts::{
    self, CountNoise, CountedPair, CountsError, CountsFit, NoisyCounts, learn_counts,
};
use organza_model::frequency_bias;
use std::time::Instant;

/// A dozen or two passes are enough; more are a sign that something is wrong with the counts.
const MOST_PASSES: usize = 200;

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
        let clips = clips(settings, task, phases, source, purse.as_deref_mut())?;
        let words = match (phases.words, purse.as_deref_mut()) {
            (Some(noise), Some(purse)) => {
                let plan = word_counts(settings, clips, model.words(), noise)?;
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
            let plan = pair_counts(settings, clips, model.words(), noise)?;
            let release = plan.release(source);
            let charged = purse.charge(release.charge())?;
            let pairs = plan.count(task.samples(), task.train(), &release, charged)?;
            match learn(settings, task, words, &pairs, noise) {
                Ok(fit) => {
                    passes = fit.passes as u64;
                    frequencies = Some(std::mem::replace(&mut parameters, fit.parameters));
                }
                // Pairs that are nothing but noise teach nothing: word counts are all there is.
                Err(SessionError::Counts(CountsError::NoTotal)) => {
                    frequencies = Some(parameters.clone());
                }
                Err(error) => return Err(error),
            }
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
        if metrics.is_empty()
            && let Some(frequencies) = &self.frequencies
        {
            metrics.add(0, task.evaluate(frequencies), observer)?;
        }
        metrics.add(self.passes, task.evaluate(&self.parameters), observer)?;
        Ok(Outcome::Done { parameters: self.parameters, seconds: self.seconds })
    }
}

/// The clips that were declared, or else such that about half of the units are within them.
fn clips(
    settings: &Settings,
    task: &WordTask,
    phases: &CountPhases,
    source: &RandomSource,
    purse: Option<&mut Purse<'_>>,
) -> Result<Clips, SessionError> {
    let released = match (phases.sizes, purse) {
        (Some(epsilon), Some(purse)) => {
            let plan = unit_sizes(settings, epsilon)?;
            let release = plan.release(source);
            let charged = purse.charge(release.charge())?;
            Some(plan.count(task.samples(), task.train(), &release, charged)?)
        }
        _ => None,
    };
    let CountsSettings { word_clip, pair_clip, .. } = settings.counts;
    let or = |declared: Option<f64>, released: Option<f64>| declared.or(released).unwrap_or(1.0);
    Ok(Clips {
        words: or(word_clip, released.map(|sizes| sizes.words)),
        pairs: or(pair_clip, released.map(|sizes| sizes.pairs)),
    })
}

/// The biases that the word counts call for.
fn bias(words: &NoisyWords, task: &WordTask) -> Result<Vec<f32>, SessionError> {
    // Less than one is taken for one anyway, and counts that are all noise must not be refused.
    let counts: Vec<f64> = words.counts().iter().map(|count| count.max(1.0)).collect();
    Ok(frequency_bias(&counts, &task.negative_weights(), task.negative_count())?)
}

/// Learns from released counts: the data is not looked at.
fn learn(
    settings: &Settings,
    task: &WordTask,
    words: &NoisyWords,
    pairs: &NoisyPairs,
    noise: mechanism::CountNoise,
) -> Result<CountsFit, SessionError> {
    let counted: Vec<CountedPair> = pairs
        .pairs()
        .iter()
        .map(|pair| CountedPair { first: pair.larger, second: pair.smaller, count: pair.count })
        .collect();
    let plan = pairs.histogram_plan();
    let noise = match (noise, settings.privacy.neighbouring) {
        (mechanism::CountNoise::RoundedGaussian { .. }, _) => {
            CountNoise::Gaussian { deviation: plan.deviation() }
        }
        (mechanism::CountNoise::DiscreteLaplace { epsilon }, Neighbouring::AddRemove) => {
            CountNoise::DiscreteLaplace { rate: epsilon }
        }
        // Replacing a pair takes one from a cell and adds one to another.
        (mechanism::CountNoise::DiscreteLaplace { epsilon }, Neighbouring::ReplaceOne) => {
            CountNoise::DiscreteLaplace { rate: epsilon / 2.0 }
        }
    };
    let counts = NoisyCounts {
        pairs: &counted,
        noise,
        bar: plan.bar(),
        pairs_per_count: pairs.pairs_per_count(),
        word_counts: words.counts(),
        word_deviation: words.deviation(),
        clipped: settings.privacy.unit != Unit::Pair,
    };
    let asked = counts::CountsSettings {
        negatives: task.negative_count(),
        negative_weights: &task.negative_weights(),
        most_passes: MOST_PASSES,
    };
    Ok(learn_counts(task.model(), &counts, &asked)?)
}
