//! Typeahead as an application of the engine: what is released, and, for one method, steps.

use crate::network::NextWord;
use crate::plain;
use crate::quality::{Quality, quality};
use crate::release::{ReleasePlan, Released, STAGES};
use crate::settings::{Method, Settings, VOCABULARY_DELTA};
use crate::typeahead::Typeahead;
use organza_data::settings::{PUBLIC_SEED, SplitSettings, VocabularyOrigin};
use organza_data::split::{Shares, Sides};
use organza_data::{
    Canaries, DataError, NoText, PrivateVocabularyPlan, PrivateVocabularySettings, TextSource,
    TokenisedText, Tokeniser, Vocabulary, VocabularyRelease, Writing,
};
use organza_ledger::{PublicFact, Unit};
use organza_mechanism::{ItemRule, NoisyCount, Purpose};
use organza_progress::{Size, Stage};
use organza_train::{Application, Certificate, Failure, Phase, Releases, RunFolder, Start};

/// The names of the phases.
const VOCABULARY: &str = "vocabulary";
const GRAMS: &str = "n-grams";
/// Quality is measured on about so many words.
const MOST_WORDS: usize = 200_000;

/// A text, with the words that need no charge: all, or those that others come on top of.
#[derive(Debug)]
pub struct Text {
    tokens: TokenisedText,
    tokeniser: Tokeniser,
    public: Option<VocabularyRelease>,
}

/// A typeahead on text.
#[derive(Debug)]
pub struct TypeaheadRun {
    typeahead: Typeahead,
    task: NextWord,
    stages: Vec<Released>,
    test: Writing,
    canaries: Option<Canaries>,
    remarks: Vec<String>,
    released: Vec<PublicFact>,
}

/// What a finished run hands over.
#[derive(Clone, Debug)]
pub struct FittedTypeahead {
    /// What completes.
    pub typeahead: Typeahead,
    /// What was released.
    pub released: Vec<Released>,
    /// How good it is on writers that were held out; none if nobody was. *Not private.*
    pub quality: Option<Quality>,
}

impl Text {
    /// Reads the text of a source.
    ///
    /// # Errors
    /// What is wrong with it, and what to do.
    pub fn read(settings: &Settings, source: &dyn TextSource) -> Result<Self, Failure> {
        let data = &settings.data;
        let tokeniser = Tokeniser { sentences: true, ..data.tokeniser()? };
        let tokens = data.read(source, settings.privacy.unit, &tokeniser)?;
        let private = settings.method.is_private();
        let counted = NoisyCount::is_public(settings.neighbouring());
        if !private || counted || data.strict {
            tokens.left_out().refuse()?;
        }
        Ok(Self { public: data.public_words(&tokens, private)?, tokens, tokeniser })
    }
}

impl Application for TypeaheadRun {
    type Settings = Settings;
    type Data = Text;
    type Task = NextWord;
    type Model = FittedTypeahead;

    fn read(settings: &Settings) -> Result<Text, Failure> {
        Text::read(settings, settings.data.source(settings.privacy.unit)?.as_ref())
    }

    fn nobody(settings: &Settings) -> Result<Text, Failure> {
        if let Some(problem) = settings.data.problem_of_shards(settings.canaries) {
            return Err(problem.into());
        }
        Text::read(settings, &NoText)
    }

    fn fingerprint(text: &Text) -> Result<[u8; 32], Failure> {
        Ok(text.tokens.fingerprint())
    }

    fn public_facts(settings: &Settings, text: &Text) -> Result<Vec<PublicFact>, Failure> {
        let words = text.public.as_ref().map(|release| release.fact.clone());
        let unit = match settings.privacy.unit {
            Unit::User => "writer".to_owned(),
            unit => unit.to_string(),
        };
        let counted = format!("each insertion is a {unit} of its own");
        let canaries = settings.canaries.map(|canaries| canaries.fact(&counted));
        let facts = words.into_iter().chain(settings.data.stop_words_fact());
        Ok(facts.chain(canaries).collect())
    }

    fn phases<'a>(settings: &'a Settings, _: &'a Text) -> Result<Vec<Phase<'a>>, Failure> {
        let words = settings.data.has_own_words().then(|| Phase {
            name: VOCABULARY,
            releases: vec![VOCABULARY],
            until: settings.rules.vocabulary_share,
            events: Box::new(|noise| Ok(vec![vocabulary_plan(settings, noise)?.event()])),
        });
        let grams = Phase {
            name: GRAMS,
            releases: STAGES[..settings.shares().len()].to_vec(),
            until: settings.stages_until(),
            events: Box::new(|noise| Ok(plan(settings, noise).events()?)),
        };
        Ok(words.into_iter().chain([grams]).collect())
    }

    fn prepare(
        settings: &Settings,
        text: Text,
        releases: &mut Releases<'_>,
    ) -> Result<Self, Failure> {
        let Text { tokens, tokeniser, public } = text;
        let mut remarks = Vec::new();
        if !tokens.left_out().is_empty() {
            remarks.push(tokens.left_out().to_string());
        }
        let vocabulary = match (public, releases.noise(VOCABULARY)) {
            (public, Some(noise)) => {
                let public = public.as_ref().map_or(&[][..], |it| it.vocabulary.words());
                release_words(settings, &tokens, public, noise, releases)?
            }
            (Some(release), None) => release.vocabulary,
            (None, None) => return Err("there are no words".into()),
        };
        let test = match settings.data.split {
            SplitSettings::Units { test, .. } => test,
            _ => 0.0,
        };
        let shares = Shares { validation: 0.0, test };
        let sides = Sides::by_unit(&tokens, settings.privacy.unit, shares, PUBLIC_SEED)?;
        let words: Vec<String> = vocabulary.words().iter().map(|word| word.to_string()).collect();
        let [mut train, test] = sides.writing(tokens, &vocabulary)?;
        let canaries =
            settings.canaries.map(|it| Canaries::draw(it, vocabulary.len(), releases.source()));
        if let Some(canaries) = &canaries {
            train.append_phrases(&canaries.inserted());
        }
        let (model, stages) = match releases.noise(GRAMS) {
            None => (plain::model(&train, settings.order()), Vec::new()),
            Some(noise) => {
                let source = releases.source().clone();
                let charge = |charge| releases.charge(charge).map_err(Failure::from);
                plan(settings, noise).release(&words, [&train; STAGES.len()], &source, charge)?
            }
        };
        let task = match settings.method {
            Method::Dpsgd => NextWord::new(train, model.alone()),
            _ => NextWord::default(),
        };
        let fact = |stage: &Released| PublicFact::new(&stage.name, stage.counts.len().to_string());
        let released = stages.iter().map(fact).collect();
        let typeahead = Typeahead::new(model, words, tokeniser);
        Ok(Self { typeahead, task, stages, test, canaries, remarks, released })
    }

    fn task(&self) -> &NextWord {
        &self.task
    }

    fn first_files(&self, folder: &RunFolder) -> Result<(), Failure> {
        Ok(self.canaries.iter().try_for_each(|canaries| folder.write_canaries(canaries))?)
    }

    fn start(&self, _: &Settings, releases: &mut Releases<'_>) -> Result<Start, Failure> {
        let mut random = releases.source().substream(Purpose::Initialisation, 0, 0);
        let parameters = self.task.start(&mut random);
        Ok(Start { released: self.released.clone(), parameters, ..Start::default() })
    }

    fn not_private() -> impl Iterator<Item = &'static str> {
        [
            "summary.json: quality, remarks, timings, memory",
            "report.html, tables: what is marked there",
            "timings",
        ]
        .into_iter()
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn finish(
        self,
        parameters: Vec<f32>,
        certificate: &Certificate,
        folder: Option<&RunFolder>,
    ) -> Result<FittedTypeahead, Failure> {
        let Self { mut typeahead, task, stages, test, .. } = self;
        if let Some(network) = task.network(parameters) {
            typeahead = typeahead.with_network(network);
        }
        let quality = (test.units() > 0).then(|| quality(&test, typeahead.model(), MOST_WORDS));
        if let Some(folder) = folder {
            let _stage = Stage::begin("writing the model", Size::Unknown);
            Released::write(&stages, folder, &certificate.metadata())?;
            typeahead.write(folder, &certificate.metadata())?;
        }
        Ok(FittedTypeahead { typeahead, released: stages, quality })
    }
}

/// Fits a typeahead in memory.
///
/// # Errors
/// If settings make no sense, or the text cannot be read.
pub fn fit(settings: Settings) -> Result<(FittedTypeahead, Certificate), Failure> {
    settings.check()?;
    let text = TypeaheadRun::read(&settings)?;
    let finished = crate::Session::fit(settings, text)?;
    Ok((finished.model, finished.certificate))
}

fn plan(settings: &Settings, noise: f64) -> ReleasePlan {
    ReleasePlan::new(settings.shares(), settings.neighbouring(), noise)
}

/// How words are released: a writer divides a weight of 1 among them in every round.
fn vocabulary_plan(settings: &Settings, noise: f64) -> Result<PrivateVocabularyPlan, DataError> {
    let words_per_unit = match settings.data.vocabulary {
        VocabularyOrigin::Private { words_per_unit, .. } => words_per_unit,
        VocabularyOrigin::File(_) | VocabularyOrigin::DeclaredPublic => 1,
    };
    let delta = VOCABULARY_DELTA * settings.privacy.delta;
    PrivateVocabularyPlan::new(PrivateVocabularySettings {
        unit: settings.privacy.unit,
        window: 1,
        neighbouring: settings.neighbouring(),
        size: settings.data.vocabulary_size,
        words_per_unit,
        rule: ItemRule::AdaptiveGaussian { multiplier: noise, delta },
    })
}

/// Charges for the words that come on top of `public` ones, then releases them.
fn release_words(
    settings: &Settings,
    text: &TokenisedText,
    public: &[Box<str>],
    noise: f64,
    releases: &mut Releases<'_>,
) -> Result<Vocabulary, Failure> {
    let plan = vocabulary_plan(settings, noise)?;
    let release = plan.release(releases.source());
    let charged = releases.charge(release.charge())?;
    let _stage = Stage::begin("gathering words", Size::Unknown);
    Ok(plan.paid(release, charged).words(text, public)?.vocabulary)
}
