//! From settings to a task: text is read, cut into words and parted.

use crate::canaries::{self, Planted};
use crate::settings::{Method, Settings, SplitSettings};
use crate::task::WordTask;
use organza_data::settings::PUBLIC_SEED;
use organza_data::split::{Shares, Sides, Sizes, in_order, shuffled};
use organza_data::{
    Canaries, DataError, Negatives, Samples, TextSource, TokenisedText, Vocabulary,
};
use organza_ledger::{PublicFact, Unit};
use organza_mechanism::{NoisyCount, Purpose, RandomSource};
use organza_model::{ModelError, WordVectors};
use organza_train::Task;
use thiserror::Error;

/// What text, words and model came to.
#[derive(Debug)]
pub(crate) struct TrainingText {
    /// What is trained.
    pub task: WordTask,
    /// The words.
    pub vocabulary: Vocabulary,
    /// What was put into the training data, to be audited for.
    pub canaries: Option<Planted>,
    /// What a run without privacy would have refused, such as a text without anything to learn from. *Not private*: it
    /// is told when the run is done.
    pub remarks: Vec<String>,
}

impl TrainingText {
    /// The true number of training units that are somebody's, hence *not private*.
    pub(crate) fn own_units(&self) -> u64 {
        let planted = self.canaries.as_ref().map_or(0, |planted| planted.units);
        self.task.units() - planted
    }
}

/// Why there is nothing to train.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// The text cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The model cannot be made.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Nothing is left to train on.
    #[error("no unit is left to train on: the text is too short for its split")]
    NoUnits,
    /// No source of words is left, although nothing releases them.
    #[error("there are no words")]
    NoWords,
    /// The two do not go together.
    #[error("{0}")]
    Settings(String),
}

/// Refuses the data, or says so afterwards.
///
/// # Privacy
/// Whether a run fails is seen by everybody, and so is when. What one unit can bring about must not end a private
/// run: it goes on, if need be with nothing to train on, spends what it would have spent and writes the same files.
struct Remarks {
    refuse: bool,
    said: Vec<String>,
}

impl Remarks {
    fn new(settings: &Settings) -> Self {
        Self { refuse: settings.method == Method::None, said: Vec::new() }
    }

    fn take<E: Into<PrepareError>>(&mut self, outcome: Result<(), E>) -> Result<(), PrepareError> {
        match outcome.map_err(Into::into) {
            Err(error) if !self.refuse => self.said.push(error.to_string()),
            outcome => return outcome,
        }
        Ok(())
    }
}

/// Reads the text.
///
/// # Privacy
/// It may be refused where it cannot be read as text. A line that is text and has no user is left out
/// ([`organza_data::LeftOut`]); only a run that is not private, or whose relation is replace-one, refuses it: there the
/// guarantee is for data in which every unit is one, because their number is taken for public. So does one that was asked to
/// be strict, and its certificate says so.
///
/// # Errors
/// What is wrong with the text, and what to do.
pub fn read_text(
    settings: &Settings,
    source: &dyn TextSource,
) -> Result<TokenisedText, PrepareError> {
    let data = &settings.data;
    let text = data.read(source, settings.privacy.unit, &data.tokeniser()?)?;
    let is_public = NoisyCount::is_public(settings.privacy.neighbouring);
    if settings.method == Method::None || is_public || data.strict {
        text.left_out().refuse()?;
    }
    if settings.method == Method::None {
        check_text(settings, &text)?;
    }
    Ok(text)
}

fn check_text(settings: &Settings, text: &TokenisedText) -> Result<(), DataError> {
    match (text.lines().line_count(), &settings.data.path) {
        (0, Some(path)) => Err(DataError::NoText(path.clone())),
        _ => Ok(()),
    }
}

/// The facts that are taken for public beside the words.
///
/// # Errors
/// If the split does not go with the unit.
pub(crate) fn public_facts(settings: &Settings) -> Result<Vec<PublicFact>, PrepareError> {
    let mut facts = Vec::new();
    let of_pairs = !matches!(settings.data.split, SplitSettings::Units { .. });
    if of_pairs && settings.privacy.unit != Unit::Pair {
        let wanted = "the paper's split is of single pairs: use --unit pair with this preset";
        return Err(PrepareError::Settings(wanted.to_owned()));
    }
    // A pair is no part of the text that can be there or not: the sides of pairs follow whole lines.
    if settings.privacy.unit == Unit::Pair {
        let value = "the guarantee is for the training pairs, after the split".to_owned();
        facts.push(PublicFact::new("split", value));
    }
    facts.extend(settings.data.stop_words_fact());
    facts.extend(canaries::fact(settings));
    Ok(facts)
}

/// Prepares all that training needs. Canaries, where settings ask for them, come from `source`: the same
/// ones from the same key.
///
/// # Privacy
/// Private training fails by settings and released words alone; see [`Remarks`].
///
/// # Errors
/// What is wrong with the settings, or without privacy with the text, and what to do.
pub(crate) fn prepare(
    settings: &Settings,
    text: TokenisedText,
    vocabulary: Vocabulary,
    source: &RandomSource,
) -> Result<TrainingText, PrepareError> {
    let data = &settings.data;
    let unit = settings.privacy.unit;
    let whole_texts = matches!(data.split, SplitSettings::WholeTexts);
    let mut remarks = Remarks::new(settings);
    remarks.take(check_text(settings, &text))?;
    if !text.left_out().is_empty() {
        remarks.said.push(text.left_out().to_string());
    }
    let sides = match data.split {
        SplitSettings::Units { validation, test } => {
            Some(Sides::by_unit(&text, unit, Shares { validation, test }, PUBLIC_SEED)?)
        }
        SplitSettings::WholeTexts | SplitSettings::PaperShuffled => None,
    };
    let corpus = text.into_corpus(&vocabulary);
    let corpus = if whole_texts { corpus.ordered_by_name_hash() } else { corpus };
    let samples = Samples::new(corpus, settings.model.architecture, settings.model.window)?;
    if samples.count() == 0 {
        remarks.take(Err(DataError::NoSamples))?;
    }
    let split = match sides {
        Some(sides) => sides.split(&samples)?,
        None => {
            remarks.take(Sizes::PAPER.check(samples.count()))?;
            let public = RandomSource::from_seed(PUBLIC_SEED);
            match whole_texts {
                true => in_order(&samples, Sizes::PAPER),
                false => {
                    shuffled(&samples, Sizes::PAPER, &mut public.substream(Purpose::Data, 0, 0))
                }
            }
        }
    };
    if split.train.is_empty() {
        remarks.take(Err(PrepareError::NoUnits))?;
    }
    let (samples, split, canaries) = match settings.canaries {
        None => (samples, split, None),
        Some(asked) => {
            let canaries = Canaries::draw(asked, vocabulary.len(), source);
            let (samples, split, planted) = canaries::plant(canaries, samples, split, source)?;
            (samples, split, Some(planted))
        }
    };
    let words = vocabulary.len();
    let model = WordVectors::new(settings.model.layout, words as u64, settings.model.dimensions)?;
    let negatives = Negatives::uniform(words).ok_or(PrepareError::NoWords)?;
    let per_unit = settings.privacy.per_unit;
    let task = WordTask::new(samples, split, model, negatives, settings.model.negatives, per_unit);
    Ok(TrainingText { task, vocabulary, canaries, remarks: remarks.said })
}

/// The first parameters: independent of the data.
pub fn initial(settings: &Settings, model: &WordVectors, source: &RandomSource) -> Vec<f32> {
    let mut random = source.substream(Purpose::Initialisation, 0, 0);
    match settings.model.initial_deviation {
        Some(deviation) => model.initial_normal(deviation, |values| {
            organza_mechanism::sample::fill_normal_f32(values, &mut random);
        }),
        None => model.initial_uniform(|values| {
            values.fill_with(|| organza_mechanism::sample::unit(&mut random) as f32);
        }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_split_is_a_public_fact_with_pairs() {
        let stated = |unit| {
            let mut settings = Settings::standard();
            settings.privacy.unit = unit;
            let facts = public_facts(&settings).unwrap();
            facts.iter().any(|fact| fact.name == "split" && fact.value.contains("training pairs"))
        };
        assert!(stated(Unit::Pair));
        assert!(!stated(Unit::Line) && !stated(Unit::User));
    }
}
