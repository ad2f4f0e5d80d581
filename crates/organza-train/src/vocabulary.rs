//! Where the words of a run come from: they are public, or they are released with a charge.

use crate::phases;
use crate::planned::budget;
use crate::prepare::public_words;
use crate::run::RunError;
use crate::session::SessionError;
use crate::settings::{Settings, VocabularyOrigin};
use organza_accountant::Accountant;
use organza_data::{
    DataError, PrivateVocabularyPlan, TokenisedText, Vocabulary, VocabularyRelease,
    VocabularySource,
};
use organza_ledger::Ledger;
use organza_mechanism::RandomSource;

/// The words, or how they will be released.
pub(crate) enum Words {
    /// They need no charge.
    Public(VocabularyRelease),
    /// They are private.
    Private(PrivateVocabularyPlan),
}

impl Words {
    pub(crate) fn new(settings: &Settings, text: &TokenisedText) -> Result<Self, SessionError> {
        match (public_words(settings, text)?, &settings.data.vocabulary) {
            (None, VocabularyOrigin::Private { words_per_unit }) => {
                Ok(Self::Private(phases::vocabulary(settings, *words_per_unit)?))
            }
            (Some(release), _) => Ok(Self::Public(release)),
            (None, _) => Err(SessionError::Changed("there are no words".to_owned())),
        }
    }
}

/// Charges for the words, then releases them. With the same key it is the same release again, which costs nothing.
pub(crate) fn release_words(
    settings: &Settings,
    plan: PrivateVocabularyPlan,
    text: &TokenisedText,
    source: &RandomSource,
    ledger: Option<&mut Ledger>,
) -> Result<Vocabulary, SessionError> {
    let ledger = ledger.ok_or(RunError::NoPurse)?;
    let account = Accountant::new(settings.privacy.neighbouring);
    let release = plan.release(source);
    let charged = budget(settings)?.charge(ledger, &account, release.charge())?;
    match plan.paid(release, charged).vocabulary(text) {
        Ok(release) => Ok(release.vocabulary),
        Err(DataError::VocabularyTooSmall { found }) => Err(SessionError::HiddenWords { found }),
        Err(other) => Err(other.into()),
    }
}
