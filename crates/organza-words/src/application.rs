//! Word vectors as an application of the engine.

use crate::canaries::Planted;
use crate::export;
use crate::phases::{Released, phases};
use crate::prepare::{TrainingText, prepare, public_facts, read_text};
use crate::settings::{Method, Settings, SplitSettings};
use crate::start::start;
use crate::task::WordTask;
use crate::vocabulary::release_words;
use organza_data::{NoText, TextSource, TokenisedText, VocabularyRelease};
use organza_ledger::PublicFact;
use organza_model::vectors::Vectors;
use organza_progress::{Size, Stage};
use organza_train::{Application, Certificate, Failure, Phase, Releases, RunFolder, Start};

/// Word vectors on text.
#[derive(Debug)]
pub struct Words(TrainingText);

/// A text, with the words that need no charge: all, or those that others come on top of.
#[derive(Debug)]
pub struct Text {
    tokens: TokenisedText,
    public: Option<VocabularyRelease>,
}

/// What a finished run hands over.
#[derive(Clone, Debug)]
pub struct WordModel {
    /// The vectors of the words, as they were written.
    pub vectors: Vectors,
    /// The loss of word frequencies alone on the test samples; not a number if there are none. *Not private.*
    pub frequency_loss: f64,
}

impl Text {
    /// Reads the text of a source.
    ///
    /// # Errors
    /// What is wrong with it, and what to do.
    pub fn read(settings: &Settings, source: &dyn TextSource) -> Result<Self, Failure> {
        let tokens = read_text(settings, source)?;
        let private = settings.method != Method::None;
        Ok(Self { public: settings.data.public_words(&tokens, private)?, tokens })
    }
}

impl Application for Words {
    type Settings = Settings;
    type Data = Text;
    type Task = WordTask;
    type Model = WordModel;

    fn read(settings: &Settings) -> Result<Text, Failure> {
        Text::read(settings, settings.data.source(settings.privacy.unit)?.as_ref())
    }

    fn nobody(settings: &Settings) -> Result<Text, Failure> {
        if let Some(problem) = settings.data.problem_of_shards(settings.canaries) {
            return Err(problem.into());
        }
        if !matches!(settings.data.split, SplitSettings::Units { .. }) {
            return Err("the paper's split is of data in one place: take another preset".into());
        }
        Text::read(settings, &NoText)
    }

    fn fingerprint(text: &Text) -> Result<[u8; 32], Failure> {
        Ok(text.tokens.fingerprint())
    }

    fn public_facts(settings: &Settings, text: &Text) -> Result<Vec<PublicFact>, Failure> {
        let words = text.public.as_ref().map(|release| release.fact.clone());
        Ok(words.into_iter().chain(public_facts(settings)?).collect())
    }

    fn phases<'a>(settings: &'a Settings, _: &'a Text) -> Result<Vec<Phase<'a>>, Failure> {
        Ok(phases(settings))
    }

    fn prepare(
        settings: &Settings,
        text: Text,
        releases: &mut Releases<'_>,
    ) -> Result<Self, Failure> {
        let Text { tokens, public } = text;
        let words = match public {
            Some(release) if !Released::of(settings).vocabulary => release.vocabulary,
            public => {
                let public = public.as_ref().map_or(&[][..], |it| it.vocabulary.words());
                release_words(settings, &tokens, public, releases)?
            }
        };
        let _stage = Stage::begin("cutting the text into samples", Size::Unknown);
        Ok(Self(prepare(settings, tokens, words, releases.source())?))
    }

    fn task(&self) -> &WordTask {
        &self.0.task
    }

    fn own_units(&self) -> u64 {
        self.0.own_units()
    }

    fn first_files(&self, folder: &RunFolder) -> Result<(), Failure> {
        if let Some(Planted { canaries, .. }) = &self.0.canaries {
            folder.write_canaries(canaries)?;
        }
        Ok(())
    }

    fn start(&self, settings: &Settings, releases: &mut Releases<'_>) -> Result<Start, Failure> {
        start(settings, &self.0.task, releases)
    }

    fn not_private() -> impl Iterator<Item = &'static str> {
        [
            "metrics.jsonl: train, validation, test",
            "summary.json: losses, remarks, timings, memory",
            "outcome.json, in runs of tune, compare and reproduce: losses, timings",
            "report.html, figures, tables: what is marked there",
            "timings",
        ]
        .into_iter()
    }

    fn remarks(&self) -> Vec<String> {
        self.0.remarks.clone()
    }

    fn finish(
        self,
        parameters: Vec<f32>,
        certificate: &Certificate,
        folder: Option<&RunFolder>,
    ) -> Result<WordModel, Failure> {
        let TrainingText { task, vocabulary, .. } = self.0;
        let words = vocabulary.words().iter().map(|word| word.to_string()).collect();
        let vectors = export::write(folder, task.model(), words, parameters, certificate)?;
        Ok(WordModel { vectors, frequency_loss: task.frequency_loss().unwrap_or(f64::NAN) })
    }
}
