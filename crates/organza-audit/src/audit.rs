//! From the folder of a run to what an audit found.

use crate::bound::lower_bound;
use crate::chi_squared::{BINS, uniformity};
use crate::guess::guess;
use crate::perplexity::PhraseModel;
use crate::phrases::Phrases;
use crate::rank::{Among, Rank, ranks};
use crate::report::{
    AuditReport, Audited, Gap, LowerBoundEvidence, Promise, REPORT_VERSION, RankEvidence,
    RankSummary,
};
use organza_data::{Canaries, Phrase};
use organza_mechanism::RandomSource;
use organza_model::ModelError;
use organza_model::vectors::{SavedModel, VectorsError};
use organza_report::page::PageError;
use organza_train::{FolderError, RunFolder, metrics};
use organza_typeahead::{SavedError, Typeahead};
use serde::de::DeserializeOwned;
use std::path::Path;
use thiserror::Error;

/// The paper's line between what it calls significant and what not.
const SIGNIFICANT: f64 = 0.01;
/// The probability that a lower bound is too high.
const ERROR: f64 = 0.05;
/// A vocabulary of this size still lets all phrases of a first word be enumerated in seconds.
const MOST_WORDS_FOR_ALL: u32 = 5_000;

/// How an audit is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditOptions {
    /// What phrases are ranked among.
    pub among: Among,
}

impl Default for AuditOptions {
    /// As in the paper: 10,000 random phrases.
    fn default() -> Self {
        Self { among: Among::Sampled(10_000) }
    }
}

/// Why a run cannot be audited.
#[derive(Debug, Error)]
pub enum AuditError {
    /// The run is not there, or not finished.
    #[error(
        "{0} holds no finished run: train one with `organza train` or `organza typeahead`, or go on with `organza resume`"
    )]
    NotFinished(String),
    /// Nothing was put into its data.
    #[error(
        "{run} was trained without canaries, so there is nothing to look for: train with `{command} --canaries 1000 \
         --canary-repeats 9`, or with `{command} --tossed-canaries 2000`"
    )]
    NoCanaries {
        /// The folder of the run.
        run: String,
        /// The command that makes such runs.
        command: &'static str,
    },
    /// Its model knows no phrases.
    #[error(
        "{0} is not a run of word embeddings or of a typeahead: an audit looks for phrases, and other models know none"
    )]
    NoPhrases(String),
    /// A file of the run.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The model's file.
    #[error(transparent)]
    Vectors(#[from] VectorsError),
    /// The file of a typeahead.
    #[error(transparent)]
    Typeahead(#[from] SavedError),
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The page.
    #[error(transparent)]
    Page(#[from] PageError),
    /// A file of the run is not what it should be.
    #[error("{0}")]
    Format(String),
    /// Training has diverged.
    #[error("the model holds values that are not finite: train again with a smaller learning rate")]
    NotFinite,
    /// There are too many phrases to enumerate.
    #[error(
        "a vocabulary of {0} words has too many phrases to rank among all of them (at most \
         {MOST_WORDS_FOR_ALL} words): leave --exact out"
    )]
    TooManyToEnumerate(u32),
    /// Nothing to compare with.
    #[error("--continuations is {0}, but must be from 9 to 100,000,000")]
    Continuations(u64),
}

/// Audits the finished run in `path`. The same run and options give the same report.
///
/// # Errors
/// If there is no finished run, it has no canaries, or a file of it cannot be used.
pub fn audit(path: &Path, options: AuditOptions) -> Result<AuditReport, AuditError> {
    let shown = || path.display().to_string();
    let folder = RunFolder::open(path).map_err(|_| AuditError::NotFinished(shown()))?;
    let certificate = folder.file("certificate.json");
    if !certificate.is_file() {
        return Err(AuditError::NotFinished(shown()));
    }
    let run = Run::open(&folder)?.ok_or_else(|| AuditError::NoPhrases(shown()))?;
    let promise: Promise = json(&folder, &certificate)?;
    let no_canaries = || AuditError::NoCanaries { run: shown(), command: run.model.command() };
    let canaries: Canaries = folder.canaries()?.ok_or_else(no_canaries)?;
    let evidence = match run.model {
        Audited::WordVectors => {
            let saved = SavedModel::read(&folder.file("model.safetensors"))?;
            if !saved.parameters.iter().all(|value| value.is_finite()) {
                return Err(AuditError::NotFinite);
            }
            check(&canaries, saved.model.words(), options)?;
            let scores = PhraseModel::new(&saved.model, &saved.parameters)?;
            let gap = metrics::read(&folder)?
                .last()
                .and_then(|point| gap(point.losses.train, point.losses.test));
            Evidence { gap, ..evidence(&scores, &canaries, &run, &promise, options) }
        }
        Audited::Typeahead => {
            let typeahead = Typeahead::open(path)?;
            check(&canaries, typeahead.model().words(), options)?;
            evidence(typeahead.model(), &canaries, &run, &promise, options)
        }
    };
    let Evidence { ranks, lower_bound, gap } = evidence;
    // What is computed from a model that is not private is not private either.
    let fields = [
        ("ranks", ranks.is_some() && !promise.private),
        ("lower_bound", lower_bound.is_some() && !promise.private),
        ("gap", gap.is_some()),
    ];
    let not_private =
        fields.iter().filter(|(_, is_so)| *is_so).map(|(name, _)| (*name).to_owned()).collect();
    let (version, model) = (REPORT_VERSION, run.model);
    Ok(AuditReport { version, model, promise, ranks, lower_bound, gap, not_private })
}

/// What an audit has to know of the settings of a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    model: Audited,
    /// How many units one insertion of a phrase is.
    units_of_phrase: u64,
    delta: f64,
}

impl Run {
    /// By its settings; none if they are not those of a model of phrases.
    fn open(folder: &RunFolder) -> Result<Option<Self>, AuditError> {
        let bytes = folder.read(&folder.file("settings.json"))?.unwrap_or_default();
        if let Ok(settings) = serde_json::from_slice::<organza_words::settings::Settings>(&bytes) {
            let (units_of_phrase, delta) = (settings.units_of_phrase(), settings.privacy.delta);
            return Ok(Some(Self { model: Audited::WordVectors, units_of_phrase, delta }));
        }
        let settings = serde_json::from_slice::<organza_typeahead::Settings>(&bytes).ok();
        Ok(settings.map(|settings| Self {
            model: Audited::Typeahead,
            units_of_phrase: 1,
            delta: settings.privacy.delta,
        }))
    }
}

fn check(canaries: &Canaries, words: u32, options: AuditOptions) -> Result<(), AuditError> {
    match options.among {
        Among::All if words > MOST_WORDS_FOR_ALL => {
            return Err(AuditError::TooManyToEnumerate(words));
        }
        Among::Sampled(number) if !(9..=100_000_000).contains(&number) => {
            return Err(AuditError::Continuations(number));
        }
        _ => {}
    }
    let tossed = canaries.tossed.iter().map(|tossed| &tossed.phrase);
    let mut phrases = canaries.repeated.iter().chain(&canaries.controls).chain(tossed).flatten();
    if canaries.version != 1 || phrases.any(|word| *word >= words) {
        let problem = "private/canaries.json does not fit the model, or is of another version";
        return Err(AuditError::Format(problem.to_owned()));
    }
    Ok(())
}

/// What an audit found.
struct Evidence {
    ranks: Option<RankEvidence>,
    lower_bound: Option<LowerBoundEvidence>,
    gap: Option<Gap>,
}

/// What phrases say.
fn evidence(
    scores: &impl Phrases,
    canaries: &Canaries,
    run: &Run,
    promise: &Promise,
    options: AuditOptions,
) -> Evidence {
    let source = RandomSource::from_seed(canaries.audit_seed);
    let units = run.units_of_phrase * canaries.repeats;
    let delta = promise.delta.unwrap_or(run.delta);
    Evidence {
        ranks: rank_evidence(scores, canaries, units, options, &source),
        lower_bound: bound_evidence(scores, canaries, delta, promise.epsilon, options, &source),
        gap: None,
    }
}

fn rank_evidence(
    scores: &impl Phrases,
    canaries: &Canaries,
    units_of_a_phrase: u64,
    options: AuditOptions,
    source: &RandomSource,
) -> Option<RankEvidence> {
    let of = |name: &str, phrases: &[Phrase]| {
        summary(&ranks(scores, phrases, options.among, &source.named(name)))
    };
    let inserted = of("inserted", &canaries.repeated)?;
    let control = of("control", &canaries.controls)?;
    Some(RankEvidence {
        repeats: canaries.repeats,
        units_of_a_phrase,
        among: options.among,
        inserted,
        control,
        heuristic_epsilon: 1.0 / canaries.repeats as f64,
    })
}

fn summary(ranks: &[Rank]) -> Option<RankSummary> {
    let mut histogram = [0; BINS];
    ranks.iter().for_each(|rank| histogram[rank.bin()] += 1);
    let uniformity = uniformity(&histogram)?;
    let exposures = || ranks.iter().map(|rank| rank.exposure);
    Some(RankSummary {
        phrases: ranks.len() as u64,
        histogram,
        uniformity,
        rejects: uniformity.p_value < SIGNIFICANT,
        mean_exposure: exposures().sum::<f64>() / ranks.len() as f64,
        largest_exposure: exposures().fold(0.0, f64::max),
    })
}

/// Scores tossed canaries by where they stand among phrases of the same first word, so that no score
/// depends on how well the model knows that word, and guesses by the two ends of that order.
fn bound_evidence(
    scores: &impl Phrases,
    canaries: &Canaries,
    delta: f64,
    promised: Option<f64>,
    options: AuditOptions,
    source: &RandomSource,
) -> Option<LowerBoundEvidence> {
    if canaries.tossed.is_empty() {
        return None;
    }
    let phrases: Vec<Phrase> = canaries.tossed.iter().map(|tossed| tossed.phrase).collect();
    let positions = ranks(scores, &phrases, options.among, &source.named("tossed"));
    let scored: Vec<(f64, bool)> = positions
        .iter()
        .zip(&canaries.tossed)
        .map(|(rank, tossed)| (rank.position, tossed.inserted))
        .collect();
    let guessed = guess(&scored, canaries.guesses);
    let epsilon = lower_bound(guessed.canaries, guessed.guesses, guessed.correct, delta, ERROR);
    let refutes_promise = promised.is_some_and(|promised| epsilon > promised);
    Some(LowerBoundEvidence {
        guessed,
        delta,
        confidence: 1.0 - ERROR,
        epsilon,
        promised,
        refutes_promise,
    })
}

fn gap(train: f64, test: f64) -> Option<Gap> {
    let gap = test - train;
    gap.is_finite().then_some(Gap { train, test, gap })
}

fn json<T: DeserializeOwned>(folder: &RunFolder, path: &Path) -> Result<T, AuditError> {
    let bytes = folder.read(path)?.unwrap_or_default();
    serde_json::from_slice(&bytes)
        .map_err(|error| AuditError::Format(format!("{} cannot be read: {error}", path.display())))
}
