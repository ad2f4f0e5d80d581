//! Settings that make sense, before anything is read or written.

use crate::settings::{EngineSettings, Steps};
use thiserror::Error;

/// A setting that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{setting} is {value}, but must be {expected}")]
pub struct SettingError {
    /// The flag that changes it, or its name in `settings.json`.
    pub setting: &'static str,
    /// What it is.
    pub value: String,
    /// What it must be.
    pub expected: &'static str,
}

/// What most numbers have to be.
pub const POSITIVE: &str = "above 0 and finite";
/// What numbers of things have to be.
pub const AT_LEAST_ONE: &str = "at least 1";
/// What shares have to be.
pub const BETWEEN: &str = "above 0 and below 1";

impl EngineSettings {
    /// Checks everything that can be checked without the data.
    ///
    /// # Errors
    /// Names the first setting that makes no sense.
    pub fn check(&self) -> Result<(), SettingError> {
        let Self { selection, privacy, training, .. } = self;
        optional("--draws", selection.draws, |draws| *draws >= 1, AT_LEAST_ONE)?;
        let is_share = selection.gamma > 0.0 && selection.gamma <= 1.0;
        require("--gamma", selection.gamma, is_share, "above 0 and at most 1")?;
        optional("--selection-epsilon", selection.epsilon, is_positive, POSITIVE)?;
        require("--share", selection.share, is_between(selection.share), BETWEEN)?;
        positive("--score-cap", selection.cap)?;
        require("--threshold", selection.threshold, selection.threshold.is_finite(), "finite")?;

        at_least_one("--per-unit", privacy.per_unit)?;
        optional("--epsilon", privacy.epsilon, is_positive, POSITIVE)?;
        require("--delta", privacy.delta, is_between(privacy.delta), BETWEEN)?;
        optional("--noise-multiplier", privacy.noise_multiplier, is_positive, POSITIVE)?;
        optional("--units", privacy.units, |units| *units >= 1, AT_LEAST_ONE)?;
        if self.private {
            let said = privacy.epsilon.is_some() || privacy.noise_multiplier.is_some();
            require("--epsilon", "not given", said, "given, or --noise-multiplier in its place")?;
        }
        self.check_noise()?;
        self.check_ledger()?;
        positive("--batch", training.batch)?;
        positive("--epochs", training.epochs)?;
        optional("--steps", training.steps, |steps| *steps >= 1, AT_LEAST_ONE)?;
        positive("--clip", training.clip)?;
        let adapts = self.private && self.steps == Some(Steps::Everywhere);
        let is_part = |part: &f64| adapts && *part > 0.0 && *part < 1.0;
        let expected = "between 0 and 1, and left out where steps select or are not private: caps and second clips \
                        are lengths that would have to follow the clip";
        optional("--adaptive-clip", training.adaptive_clip, is_part, expected)?;
        optional("--candidate-clip", training.candidate_clip, is_positive, POSITIVE)?;
        optional("--second-clip", training.second_clip, is_positive, POSITIVE)?;
        positive("--learning-rate", f64::from(training.optimizer.learning_rate()))
    }

    /// Refuses noise instead of a budget where the number of units, which is released, decides what later events are.
    ///
    /// # Privacy
    /// There is then no level that every outcome keeps to: what the steps cost would follow the number that happened to
    /// be released, and the least of it be claimed as readily as the most ([`Event::decides`]).
    ///
    /// [`Event::decides`]: organza_ledger::Event::decides
    fn check_noise(&self) -> Result<(), SettingError> {
        let expected = "given with --noise-multiplier, which sets the noise but no budget: what steps cost would \
                        follow the number of units that happens to be released; declare the number public with \
                        --units, or give --epsilon in place of the noise";
        let fits = self.privacy.noise_multiplier.is_none() || !self.releases_units();
        require("--units", "not given", fits, expected)
    }

    /// What stands on the ledger of a data set keeps to a budget that is known beforehand.
    fn check_ledger(&self) -> Result<(), SettingError> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let path = ledger.path.display();
        let expected = "left out of runs without privacy (--method none, or `none` among --methods), which no budget \
                        covers";
        require("--ledger", path, self.private, expected)?;
        let path = ledger.path.display();
        let expected = "left out of runs with --seed, which are not private: no budget covers them";
        require("--ledger", path, self.seed.is_none(), expected)?;
        let expected = "given with --ledger, instead of --noise-multiplier: what a run may spend is reserved before it \
                        begins";
        require("--epsilon", "not given", self.privacy.epsilon.is_some(), expected)
    }
}

/// Whether a number is above 0 and finite.
pub fn is_positive(value: &f64) -> bool {
    *value > 0.0 && value.is_finite()
}

/// Whether a number is above 0 and below 1.
pub fn is_between(value: f64) -> bool {
    value > 0.0 && value < 1.0
}

/// Refuses a number that is not above 0 and finite.
///
/// # Errors
/// Names the setting.
pub fn positive(setting: &'static str, value: f64) -> Result<(), SettingError> {
    require(setting, value, is_positive(&value), POSITIVE)
}

/// Refuses zero.
///
/// # Errors
/// Names the setting.
pub fn at_least_one(setting: &'static str, value: u64) -> Result<(), SettingError> {
    require(setting, value, value >= 1, AT_LEAST_ONE)
}

/// Refuses a value that is given and does not fit.
///
/// # Errors
/// Names the setting.
pub fn optional<T: ToString>(
    setting: &'static str,
    value: Option<T>,
    fits: impl Fn(&T) -> bool,
    expected: &'static str,
) -> Result<(), SettingError> {
    match value {
        Some(value) if !fits(&value) => require(setting, value.to_string(), false, expected),
        _ => Ok(()),
    }
}

/// A setting that makes no sense: its flag, what it is, and what it must be.
pub type Problem = (&'static str, String, &'static str);

/// Refuses what a part of the settings says of itself.
///
/// # Errors
/// Names the setting.
pub fn no_problem(problem: Option<Problem>) -> Result<(), SettingError> {
    problem.map_or(Ok(()), |(setting, value, expected)| require(setting, value, false, expected))
}

/// Refuses a value that does not fit.
///
/// # Errors
/// Names the setting.
pub fn require(
    setting: &'static str,
    value: impl ToString,
    fits: bool,
    expected: &'static str,
) -> Result<(), SettingError> {
    match fits {
        true => Ok(()),
        false => Err(SettingError { setting, value: value.to_string(), expected }),
    }
}
