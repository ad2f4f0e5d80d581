//! Settings that make sense, before anything is read or written.

use crate::phases::{Released, words_decide};
use crate::settings::{Method, SETTINGS_VERSION, Settings, SplitSettings, VocabularyOrigin};
use organza_data::{CanarySettings, Objective};
use organza_ledger::Unit;
use organza_model::Layout;
use organza_train::SettingError;
use organza_train::check::{
    BETWEEN, POSITIVE, at_least_one, is_between, is_positive, no_problem, optional, require,
};
use organza_train::settings::RunSettings;

/// More than any vectors of words have.
const MOST_DIMENSIONS: usize = 1 << 16;

const _: () = assert!(SETTINGS_VERSION == 4, "a message names the only version there is");

impl Settings {
    /// Checks everything that can be checked without the data.
    ///
    /// # Errors
    /// Names the first setting that makes no sense.
    pub fn check(&self) -> Result<(), SettingError> {
        let Self { data, model, .. } = self;
        require("version", self.version, self.version == SETTINGS_VERSION, "4")?;
        if let SplitSettings::Units { validation, test } = data.split {
            let fits = validation >= 0.0 && test >= 0.0 && validation + test < 1.0;
            let shares = format!("{validation} and {test}");
            require("data.split", shares, fits, "two shares of 0 or more, together below 1")?;
        }
        no_problem(data.problem(self.privacy.unit))?;
        let fits = (1..=MOST_DIMENSIONS).contains(&model.dimensions);
        require("--dimensions", model.dimensions, fits, "from 1 to 65536")?;
        at_least_one("--window", u64::from(model.window))?;
        at_least_one("--negatives", u64::from(model.negatives))?;
        let is_deviation = |deviation: &f32| *deviation >= 0.0 && deviation.is_finite();
        let expected = "0 or more and finite";
        optional("--initial-deviation", model.initial_deviation, is_deviation, expected)?;

        self.engine().check()?;
        let expected = "--epsilon with a private vocabulary and --method sparse or --optimizer sgd: what steps cost would \
                        follow the number of words that happen to be released; or declare the words public with \
                        --vocabulary-file or --vocabulary declared-public";
        let noisy = self.privacy.noise_multiplier.is_some() && words_decide(self);
        require("--noise-multiplier", "given", !noisy, expected)?;
        if let Some(canaries) = self.canaries {
            check_canaries(canaries, self)?;
        }

        self.check_counts()
    }

    fn check_counts(&self) -> Result<(), SettingError> {
        let Self { data, model, counts, .. } = self;
        if matches!(data.vocabulary, VocabularyOrigin::Private { .. }) {
            let share = counts.vocabulary_share;
            require("--vocabulary-share", share, is_between(share), BETWEEN)?;
        }
        // A bag has as many words as the window is wide, on both sides; the release is for pairs of two.
        let bags = model.architecture == Objective::ContinuousBag;
        let tied = model.layout == Layout::Tied;
        let unbounded = bags && Released::of(self).vocabulary && self.privacy.unit == Unit::Pair;
        let expected = "line or user with --architecture cbow and a private vocabulary, in which a \
                        unit of one bag moves the counts of many words; or declare the words public \
                        with --vocabulary-file or --vocabulary declared-public";
        require("--unit", self.privacy.unit, !unbounded, expected)?;
        let shares = [counts.word_share, counts.fine_tuning_share];
        for (flag, share) in ["--word-share", "--fine-tuning-share"].into_iter().zip(shares) {
            require(flag, share, share == 0.0 || is_between(share), "0 or more and below 1")?;
        }
        let all = counts.vocabulary_share + shares[0] + shares[1];
        require("the sum of all shares", all, all < 1.0, "below 1")?;
        optional("--pair-clip", counts.pair_clip, is_positive, POSITIVE)?;
        optional("--word-clip", counts.word_clip, is_positive, POSITIVE)?;
        optional("--bar", counts.bar, |bar| bar.is_finite() && *bar >= 0.0, "0 or more")?;
        if self.method == Method::Counts {
            require("--layout", "tied", !tied, "two-tables with --method counts")?;
            require("--architecture", "cbow", !bags, "skip-gram with --method counts")?;
            require("--word-share", shares[0], shares[0] > 0.0, "above 0 with --method counts")?;
        }
        let bias = shares[0] > 0.0 && tied && self.method != Method::None;
        require("--word-share", shares[0], !bias, "0 with --layout tied, which has no bias")
    }
}

fn check_canaries(canaries: CanarySettings, settings: &Settings) -> Result<(), SettingError> {
    let privacy = settings.privacy;
    // Only there a canary that is in the data or not is what the promise speaks of.
    let is_line = canaries.tossed == 0 || privacy.unit == Unit::Line;
    let expected = "line with --tossed-canaries: each of them is one line";
    require("--unit", privacy.unit, is_line, expected)?;
    no_problem(canaries.problem(privacy.neighbouring))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_ledger::LedgerSettings;

    #[test]
    fn the_presets_make_sense() {
        for settings in [Settings::standard(), Settings::paper(), Settings::brown_1k()] {
            settings.check().unwrap();
        }
    }

    /// The release of a vocabulary for pairs is charged for two words of a unit, and a bag has more.
    #[test]
    fn bags_are_no_pairs_for_a_private_vocabulary() {
        let refused = |unit, architecture, vocabulary| {
            let mut settings = Settings::standard().suited_to(Method::Dpsgd);
            settings.data.path = Some("text.txt".into());
            settings.data.vocabulary = vocabulary;
            settings.privacy.unit = unit;
            settings.model.architecture = architecture;
            settings.check().map_err(|error| error.setting)
        };
        let private = VocabularyOrigin::private;
        assert_eq!(refused(Unit::Pair, Objective::ContinuousBag, private()), Err("--unit"));
        assert_eq!(refused(Unit::Pair, Objective::SkipGram, private()), Ok(()));
        assert_eq!(refused(Unit::Line, Objective::ContinuousBag, private()), Ok(()));
        assert_eq!(
            refused(Unit::Pair, Objective::ContinuousBag, VocabularyOrigin::DeclaredPublic),
            Ok(())
        );
    }

    /// Noise in place of a budget, where the number of units is released: its cost would follow that number.
    #[test]
    fn noise_without_a_budget_needs_a_declared_number() {
        let refused = |method, units, vocabulary: VocabularyOrigin, epsilon| {
            let mut settings = Settings::standard().suited_to(method);
            settings.data.path = Some("text.txt".into());
            settings.data.vocabulary = vocabulary;
            settings.privacy.epsilon = epsilon;
            settings.privacy.noise_multiplier = Some(1.0);
            settings.privacy.units = units;
            settings.check().map_err(|error| error.setting)
        };
        let (public, private) = (VocabularyOrigin::DeclaredPublic, VocabularyOrigin::private());
        for epsilon in [None, Some(3.0)] {
            let dpsgd = |units| refused(Method::Dpsgd, units, private.clone(), epsilon);
            assert_eq!((dpsgd(None), dpsgd(Some(1_000))), (Err("--units"), Ok(())));
            let sparse = |words: &VocabularyOrigin| {
                refused(Method::Sparse, Some(1_000), words.clone(), epsilon)
            };
            assert_eq!((sparse(&private), sparse(&public)), (Err("--noise-multiplier"), Ok(())));
            assert_eq!(refused(Method::Counts, None, private.clone(), epsilon), Ok(()));
        }
        let mut plain = Settings::standard().suited_to(Method::None);
        plain.privacy.noise_multiplier = Some(1.0);
        assert_eq!(plain.check(), Ok(()));
    }

    /// Settings that were written when tokens were ASCII or not, and stop words English or none.
    #[test]
    fn older_settings_are_read() {
        let mut old = serde_json::to_value(Settings::paper()).unwrap();
        let data = old["data"].as_object_mut().unwrap();
        assert!(data.remove("tokens").is_some() && data.remove("stop_words").is_some());
        data.insert("ascii".into(), true.into());
        data.insert("drop_stop_words".into(), true.into());
        data.insert("vocabulary".into(), serde_json::json!({"private": {"words_per_unit": 64}}));
        let read: Settings = serde_json::from_value(old).unwrap();
        let vocabulary = VocabularyOrigin::Private { words_per_unit: 64, file: None };
        let mut expected = Settings::paper();
        expected.data.vocabulary = vocabulary;
        assert_eq!(read, expected);
        let now = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&now).unwrap(), read);
    }

    /// All words of a file are kept, unless others come on top of them.
    #[test]
    fn a_file_of_words_has_its_own_size() {
        let checked = |vocabulary| {
            let mut settings = Settings::standard();
            (settings.data.vocabulary, settings.data.vocabulary_size) = (vocabulary, Some(9));
            settings.check().map_err(|error| error.setting)
        };
        let file = std::path::PathBuf::from("words.txt");
        let refused = checked(VocabularyOrigin::File(file.clone()));
        assert_eq!(refused, Err("--vocabulary-size or --minimum-count"));
        let on_top = VocabularyOrigin::Private { words_per_unit: 64, file: Some(file) };
        assert_eq!(checked(on_top), Ok(()));
    }

    fn canaries(repeats: u64, tossed: u64) -> Option<CanarySettings> {
        Some(CanarySettings { repeated: 5, repeats, tossed })
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let named = |change: fn(&mut Settings)| {
            let mut settings = Settings::standard();
            change(&mut settings);
            settings.check().unwrap_err().setting
        };
        assert_eq!(named(|it| it.privacy.epsilon = Some(0.0)), "--epsilon");
        assert_eq!(named(|it| it.privacy.epsilon = Some(f64::NAN)), "--epsilon");
        assert_eq!(named(|it| it.privacy.epsilon = None), "--epsilon");
        assert_eq!(named(|it| it.privacy.delta = 1.0), "--delta");
        assert_eq!(named(|it| it.privacy.delta = 0.0), "--delta");
        assert_eq!(named(|it| it.privacy.noise_multiplier = Some(-1.0)), "--noise-multiplier");
        assert_eq!(named(|it| it.training.batch = 0.0), "--batch");
        assert_eq!(named(|it| it.training.clip = f64::INFINITY), "--clip");
        assert_eq!(named(|it| it.training.steps = Some(0)), "--steps");
        assert_eq!(named(|it| it.selection.gamma = 1.5), "--gamma");
        assert_eq!(named(|it| it.model.window = 0), "--window");
        assert_eq!(named(|it| it.version = 1), "version");
        let ledger = || Some(LedgerSettings { path: "ledger".into(), dataset: None });
        let changes: [fn(&mut Settings); 2] =
            [|it| it.method = Method::None, |it| it.seed = Some(1)];
        for change in changes {
            let mut settings = Settings { ledger: ledger(), ..Settings::standard() };
            assert_eq!(settings.check(), Ok(()));
            change(&mut settings);
            assert_eq!(settings.check().unwrap_err().setting, "--ledger");
        }
        let mut noisy = Settings { ledger: ledger(), ..Settings::standard() };
        (noisy.privacy.epsilon, noisy.privacy.noise_multiplier) = (None, Some(1.0));
        assert_eq!(noisy.check().unwrap_err().setting, "--epsilon");
        assert_eq!(named(|it| it.canaries = canaries(0, 0)), "--canary-repeats");
        assert_eq!(named(|it| it.canaries = canaries(1, 9)), "--tossed-canaries");
        let with_unit = |unit| {
            let mut settings = Settings::standard();
            settings.canaries = canaries(1, 10);
            settings.privacy.unit = unit;
            settings.check().map_err(|error| error.setting)
        };
        assert_eq!(with_unit(Unit::Line), Ok(()));
        assert_eq!(with_unit(Unit::Pair), Err("--unit"));
        assert_eq!(with_unit(Unit::User), Err("--unit"));
    }
}
