//! The place of a run on the ledger of its data set.

use crate::folder::RunFolder;
use crate::session::SessionError;
use crate::settings::Settings;
use organza_ledger::{DataSetError, Reserved, Share};
use organza_mechanism::RandomSource;

impl Settings {
    /// What a run with these settings asks of the ledger of its data set: its whole budget. None without a budget.
    ///
    /// # Privacy
    /// Every charge of the run goes through a [`Budget`](organza_ledger::Budget) of just this epsilon and delta, so
    /// the run keeps to it whatever it releases on the way.
    pub fn share(&self) -> Option<Share> {
        let privacy = &self.privacy;
        Some(Share {
            purpose: format!("train {}", self.method),
            epsilon: privacy.epsilon?,
            delta: privacy.delta,
            unit: privacy.unit,
            neighbouring: privacy.neighbouring,
        })
    }
}

/// Refuses a run for which there is no place, before any data is read.
pub(crate) fn check(settings: &Settings) -> Result<(), DataSetError> {
    match (&settings.ledger, settings.share()) {
        (Some(ledger), Some(share)) => ledger.check(&[share]),
        _ => Ok(()),
    }
}

/// Takes the place of the run with this key, or finds it again. Nothing may be released before.
pub(crate) fn reserve(
    settings: &Settings,
    source: &RandomSource,
) -> Result<Option<Reserved>, DataSetError> {
    match (&settings.ledger, settings.share()) {
        (Some(ledger), Some(share)) => ledger.reserve(&share, source.fingerprint()).map(Some),
        _ => Ok(None),
    }
}

/// As [`reserve`], for a run that begins in `folder`: if it is refused, nothing of it is left there.
pub(crate) fn reserve_first(
    settings: &Settings,
    source: &RandomSource,
    folder: &RunFolder,
) -> Result<Option<Reserved>, SessionError> {
    match reserve(settings, source) {
        Ok(reserved) => Ok(reserved),
        Err(refused) => {
            folder.discard()?;
            Err(refused.into())
        }
    }
}
