//! The first parameters of a run: by chance, with a bias from word counts, or learned from pair counts.

use crate::phases::{COUNTS, Clips, CountNoises, Released, pair_counts, unit_sizes, word_counts};
use crate::prepare::initial;
use crate::settings::{CountsSettings, Method, Settings};
use crate::task::WordTask;
use organza_data::cooccurrence::{NoisyPairs, NoisyWords, PairTable};
use organza_ledger::{Neighbouring, PublicFact, Unit};
use organza_mechanism::CountNoise;
use organza_model::counts::{
    self, CountedPair, CountsError, CountsFit, NoiseLaw, NoisyCounts, learn_counts,
};
use organza_model::{ModelError, frequency_bias};
use organza_report::describe::{count, number};
use organza_report::digits::near;
use organza_train::settings::TrainingSettings;
use organza_train::{Failure, Releases, Start};

/// A dozen or two passes are enough; more are a sign that something is wrong with the counts.
const MOST_PASSES: usize = 200;

/// A cell of so many deviations of the noise is hardly ever noise alone: one empty cell in 30,000 is.
const CLEAR: f64 = 4.0;

/// Charges for the counts that were planned, releases them and learns from them.
///
/// # Privacy
/// The parameters are a function of chance and of released counts alone, hence a post-processing.
pub(crate) fn start(
    settings: &Settings,
    task: &WordTask,
    releases: &mut Releases<'_>,
) -> Result<Start, Failure> {
    let model = task.model();
    let mut parameters = initial(settings, model, releases.source());
    let mut released = vec![PublicFact::new("words", count(model.words().into()))];
    if Released::of(settings).steps && settings.method != Method::None {
        let TrainingSettings { clip, adaptive_clip, .. } = settings.training;
        let name =
            if adaptive_clip.is_some() { "first clip of a gradient" } else { "clip of a gradient" };
        released.push(PublicFact::new(name, number(clip)));
    }
    let Some(noise) = releases.noise(COUNTS) else {
        return Ok(Start { parameters, released, ..Start::default() });
    };
    let noises = CountNoises::new(settings, noise);
    let clips = clips(settings, task, &noises, releases)?;
    if settings.privacy.unit != Unit::Pair {
        released.push(PublicFact::new("clip of word counts", near(clips.words)));
    }
    let words = match noises.words {
        Some(noise) => {
            let plan = word_counts(settings, clips, model.words(), noise)?;
            let release = plan.release(releases.source());
            let charged = releases.charge(release.charge())?;
            Some(plan.count(task.samples(), task.train(), &release, charged)?)
        }
        None => None,
    };
    if let Some(words) = &words {
        model.set_bias(&mut parameters, &bias(words, task)?)?;
    }
    let (Some(noise), Some(words)) = (noises.pairs, &words) else {
        return Ok(Start { parameters, released, ..Start::default() });
    };
    let plan = pair_counts(settings, clips, model.words(), noise)?;
    let release = plan.release(releases.source());
    let charged = releases.charge(release.charge())?;
    let pairs = plan.count(task.samples(), task.train(), &release, charged)?;
    if settings.privacy.unit != Unit::Pair {
        released.push(PublicFact::new("clip of pair counts", near(clips.pairs)));
    }
    released.extend(table_facts(model.words(), &pairs));
    let dimensions = |rank: usize| {
        PublicFact::new(
            "dimensions above the noise",
            format!("{rank} of {}", settings.model.dimensions),
        )
    };
    match learn(settings, task, words, &pairs, noise) {
        Ok(fit) => {
            let CountsFit { parameters: learned, passes, rank, .. } = fit;
            released.push(dimensions(rank));
            let before = Some(parameters);
            Ok(Start { parameters: learned, before, passes: passes as u64, released })
        }
        // Pairs that are nothing but noise teach nothing: word counts are all there is.
        Err(CountsError::NoTotal) => {
            released.push(dimensions(0));
            Ok(Start { before: Some(parameters.clone()), parameters, passes: 0, released })
        }
        Err(error) => Err(error.into()),
    }
}

/// How much of a released table rises above its noise.
///
/// # Privacy
/// The plan follows from settings and released words and sizes; the cells are as released.
fn table_facts(words: u32, pairs: &NoisyPairs) -> Vec<PublicFact> {
    let deviation = pairs.histogram_plan().deviation();
    let (released, all) = (pairs.pairs().len() as u64, PairTable::new(words).cells());
    let above = pairs.pairs().iter().filter(|pair| pair.count > CLEAR * deviation).count() as u64;
    vec![
        PublicFact::new("cells of pair counts", format!("{} of {}", count(released), count(all))),
        PublicFact::new("noise of a cell", near(deviation)),
        PublicFact::new("cells above 4 x noise", count(above)),
    ]
}

/// The clips that were declared, or else such that about half of the units are within them.
fn clips(
    settings: &Settings,
    task: &WordTask,
    noises: &CountNoises,
    releases: &mut Releases<'_>,
) -> Result<Clips, Failure> {
    let released = match noises.sizes {
        Some(epsilon) => {
            let plan = unit_sizes(settings, epsilon)?;
            let release = plan.release(releases.source());
            let charged = releases.charge(release.charge())?;
            Some(plan.count(task.samples(), task.train(), &release, charged)?)
        }
        None => None,
    };
    let CountsSettings { word_clip, pair_clip, .. } = settings.counts;
    let or = |declared: Option<f64>, released: Option<f64>| declared.or(released).unwrap_or(1.0);
    Ok(Clips {
        words: or(word_clip, released.map(|sizes| sizes.words)),
        pairs: or(pair_clip, released.map(|sizes| sizes.pairs)),
    })
}

/// The biases that the word counts call for.
fn bias(words: &NoisyWords, task: &WordTask) -> Result<Vec<f32>, ModelError> {
    // Less than one is taken for one anyway, and counts that are all noise must not be refused.
    let counts: Vec<f64> = words.counts().iter().map(|count| count.max(1.0)).collect();
    frequency_bias(&counts, &task.negative_weights(), task.negative_count())
}

/// Learns from released counts: the data is not looked at.
fn learn(
    settings: &Settings,
    task: &WordTask,
    words: &NoisyWords,
    pairs: &NoisyPairs,
    noise: CountNoise,
) -> Result<CountsFit, CountsError> {
    let counted: Vec<CountedPair> = pairs
        .pairs()
        .iter()
        .map(|pair| CountedPair { first: pair.larger, second: pair.smaller, count: pair.count })
        .collect();
    let plan = pairs.histogram_plan();
    let noise = match (noise, settings.privacy.neighbouring) {
        (CountNoise::RoundedGaussian { .. }, _) => {
            NoiseLaw::Gaussian { deviation: plan.deviation() }
        }
        (CountNoise::DiscreteLaplace { epsilon }, Neighbouring::AddRemove) => {
            NoiseLaw::DiscreteLaplace { rate: epsilon }
        }
        // Replacing a pair takes one from a cell and adds one to another.
        (CountNoise::DiscreteLaplace { epsilon }, Neighbouring::ReplaceOne) => {
            NoiseLaw::DiscreteLaplace { rate: epsilon / 2.0 }
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
    learn_counts(task.model(), &counts, &asked)
}
