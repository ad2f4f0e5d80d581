//! The settings of a run, as they stand in `settings.json`.

use crate::canaries;
use crate::phases::Released;
pub use organza_data::settings::{
    DataSettings, SplitSettings, StopWordList, Tokens, VocabularyOrigin,
};
use organza_data::{CanarySettings, Objective};
use organza_ledger::{LedgerSettings, Neighbouring, Unit};
use organza_mechanism::Selection;
use organza_model::Layout;
use organza_train::settings::{
    EngineSettings, PrivacySettings, RunSettings, Steps, TrainingSettings,
};
use organza_train::{OptimizerSettings, SettingError};
use serde::{Deserialize, Serialize};

/// The version of the settings file that this library reads and writes.
pub(crate) const SETTINGS_VERSION: u64 = 4;

/// All that determines a run, beside the data and the key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The version of the format.
    pub version: u64,
    /// Where text comes from and how it is cut.
    pub data: DataSettings,
    /// What is trained.
    pub model: ModelSettings,
    /// How steps are made.
    pub method: Method,
    /// How coordinates or rows are selected (method `sparse`).
    pub selection: Selection,
    /// What is promised.
    pub privacy: PrivacySettings,
    /// How the budget is split, and what counts it pays for.
    pub counts: CountsSettings,
    /// How training goes.
    pub training: TrainingSettings,
    /// Phrases that are put into the training data, to be audited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canaries: Option<CanarySettings>,
    /// The ledger of the data set, where several runs share one budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerSettings>,
    /// A seed makes the run reproducible and *not private*.
    pub seed: Option<u64>,
}

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// One table for both roles, as in the paper, or two tables with a bias.
    pub layout: Layout,
    /// The context from the word, or a word from the mean of its context.
    pub architecture: Objective,
    /// The length of a vector.
    pub dimensions: usize,
    /// How many words to each side are context.
    pub window: u32,
    /// Negatives a sample, uniform over the vocabulary.
    pub negatives: u32,
    /// The deviation of the first vectors; without it word2vec's uniform start.
    pub initial_deviation: Option<f32>,
}

/// How steps are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Without privacy.
    None,
    /// Word and pair counts are released once; training on them costs nothing more.
    Counts,
    /// Noise on every coordinate.
    Dpsgd,
    /// Private selection, noise on what was selected: the paper's Algorithm 3.
    Sparse,
}

impl std::fmt::Display for Method {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(formatter)
    }
}

/// What is released before the first step, and what part of the budget it gets.
///
/// The rule: phases come in the order vocabulary, counts of words and pairs, steps. The noise of a phase is the
/// least at which all phases so far cost no more than their shares of epsilon together; the last phase
/// spends what is left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountsSettings {
    /// The share of a private vocabulary.
    pub vocabulary_share: f64,
    /// The share of word counts, which set the output bias; 0 for none.
    pub word_share: f64,
    /// The share of private steps after method `counts`; 0 for none.
    pub fine_tuning_share: f64,
    /// The L2 bound of a unit's table of pair counts, for units that have many pairs; without it, the
    /// median of a noisy histogram of norms, which is charged.
    pub pair_clip: Option<f64>,
    /// The L2 bound of a unit's word counts, likewise.
    pub word_clip: Option<f64>,
    /// Cells whose noisy count is below so many deviations of the noise are not released; without it,
    /// all cells of small vocabularies are, and a bar is chosen by the number of cells for others.
    pub bar: Option<f64>,
}

impl RunSettings for Settings {
    fn engine(&self) -> EngineSettings {
        let released = Released::of(self);
        let place = match self.method {
            Method::Sparse => Steps::Selected,
            Method::None | Method::Counts | Method::Dpsgd => Steps::Everywhere,
        };
        EngineSettings {
            name: ["train".into(), self.method.to_string().into()],
            private: self.method != Method::None,
            steps: released.steps.then_some(place),
            selection: self.selection,
            privacy: self.privacy,
            training: self.training,
            units_are_public: !released.units,
            added_units: canaries::public_units(self),
            strict: self.data.strict,
            ledger: self.ledger.clone(),
            seed: self.seed,
        }
    }

    fn ledger(&mut self) -> Option<&mut LedgerSettings> {
        self.ledger.as_mut()
    }

    fn moved(&mut self, now: &Self) {
        self.data.path.clone_from(&now.data.path);
    }

    fn check(&self) -> Result<(), SettingError> {
        Self::check(self)
    }
}

impl Settings {
    /// The method for whom nothing else was said: `counts`, which learns most at a small epsilon, unless the
    /// model is one that counts cannot teach.
    pub fn default_method(&self) -> Method {
        let taught = (self.model.layout, self.model.architecture)
            == (Layout::TwoTables, Objective::SkipGram);
        if self.method == Method::Counts && !taught { Method::Dpsgd } else { self.method }
    }

    /// The same with `method`, and with what suits that method where methods differ: counts teach as many
    /// dimensions as rise above the noise, and need word counts; steps pay with noise for each dimension.
    pub fn suited_to(mut self, method: Method) -> Self {
        self.method = method;
        self.model.dimensions = match method {
            Method::Counts => 100,
            _ if self.model.layout == Layout::Tied => self.model.dimensions,
            _ => 16,
        };
        self.counts.word_share = match (method, self.privacy.unit) {
            (Method::Counts, Unit::Pair) => 0.15,
            (Method::Counts, _) => 0.1,
            _ => 0.0,
        };
        if self.data.split == SplitSettings::WholeTexts {
            self.suit_to_brown();
        }
        self
    }

    /// What did best on the validation pairs of the Brown corpus, at epsilon 3, among eight settings of
    /// `dpsgd` and six of `sparse`: large batches, whose noise weighs least, and for `sparse` half of all
    /// coordinates, because what is not selected is lost.
    fn suit_to_brown(&mut self) {
        if matches!(self.method, Method::Dpsgd | Method::Sparse) {
            self.training.batch = 16_000.0;
            self.training.epochs = 60.0;
            self.training.optimizer = OptimizerSettings::Sgd { learning_rate: 20.0 };
        }
        if self.method == Method::Sparse {
            self.selection.gamma = 0.5;
            self.selection.share = 0.01;
        }
    }

    /// What `organza train` does when nothing is said: the built-in corpus at epsilon 3.
    pub fn standard() -> Self {
        let settings = Self {
            version: SETTINGS_VERSION,
            data: DataSettings::default(),
            model: ModelSettings {
                layout: Layout::TwoTables,
                architecture: Objective::SkipGram,
                dimensions: 16,
                window: 4,
                negatives: 8,
                initial_deviation: None,
            },
            method: Method::Counts,
            selection: Selection::default(),
            privacy: PrivacySettings {
                unit: Unit::Line,
                per_unit: 16,
                neighbouring: Neighbouring::AddRemove,
                epsilon: Some(3.0),
                delta: 1e-6,
                noise_multiplier: None,
                units: None,
            },
            counts: CountsSettings {
                vocabulary_share: 0.1,
                word_share: 0.1,
                fine_tuning_share: 0.0,
                pair_clip: None,
                word_clip: None,
                bar: None,
            },
            training: TrainingSettings::default(),
            canaries: None,
            ledger: None,
            seed: None,
        };
        settings.suited_to(Method::Counts)
    }

    /// Section 5 of the paper, to the letter: one table of 1,000 x 100, batches of 20, Adam .001, 20
    /// epochs, S1 15, S2 1, S0 .1, gamma .001, delta 1e-5; the selection epsilon is what its
    /// Theorem 3 gives for a budget of 10.
    pub fn paper() -> Self {
        let mut settings = Self::standard();
        settings.data.tokens = Tokens::Ascii;
        settings.data.stop_words = StopWordList::English;
        settings.data.vocabulary = VocabularyOrigin::DeclaredPublic;
        settings.data.vocabulary_size = Some(1_000);
        settings.data.split = SplitSettings::PaperShuffled;
        settings.model = ModelSettings {
            layout: Layout::Tied,
            architecture: Objective::SkipGram,
            dimensions: 100,
            window: 4,
            negatives: 8,
            initial_deviation: Some(1.0),
        };
        let mut settings = settings.suited_to(Method::Dpsgd);
        settings.selection.epsilon = Some(0.283_79);
        settings.privacy = PrivacySettings {
            unit: Unit::Pair,
            per_unit: 1,
            neighbouring: Neighbouring::AddRemove,
            epsilon: None,
            delta: 1e-5,
            noise_multiplier: Some(0.5),
            units: Some(200_000),
        };
        settings.training = TrainingSettings {
            batch: 20.0,
            epochs: 20.0,
            steps: None,
            clip: 15.0,
            adaptive_clip: None,
            candidate_clip: None,
            second_clip: Some(1.0),
            optimizer: OptimizerSettings::adam(0.001),
            average: false,
            evaluations: 20,
            checkpoints: 20,
        };
        settings
    }

    /// The Brown corpus with whole texts held out: two tables of 16 dimensions, the words of the paper.
    ///
    /// Plain gradient descent learns more here than Adam, which moves rare and common words alike and
    /// so fits the noise of the rare ones.
    pub fn brown_1k() -> Self {
        let mut settings = Self::paper();
        settings.data.split = SplitSettings::WholeTexts;
        settings.model = ModelSettings {
            layout: Layout::TwoTables,
            dimensions: 16,
            initial_deviation: None,
            ..settings.model
        };
        settings.selection.epsilon = None;
        settings.privacy.epsilon = Some(3.0);
        settings.privacy.noise_multiplier = None;
        settings.training = TrainingSettings {
            batch: 4_000.0,
            epochs: 30.0,
            clip: 1.0,
            adaptive_clip: None,
            second_clip: None,
            optimizer: OptimizerSettings::Sgd { learning_rate: 10.0 },
            average: true,
            ..settings.training
        };
        settings.suited_to(Method::Counts)
    }
}
