//! Words that are released with a charge.

use crate::phases::{VOCABULARY, vocabulary_plan};
use crate::prepare::PrepareError;
use crate::settings::Settings;
use organza_data::{TokenisedText, Vocabulary};
use organza_progress::{Size, Stage};
use organza_train::{Failure, Releases};

/// Charges for the words that come on top of `public` ones, then releases them.
pub(crate) fn release_words(
    settings: &Settings,
    text: &TokenisedText,
    public: &[Box<str>],
    releases: &mut Releases<'_>,
) -> Result<Vocabulary, Failure> {
    let noise = releases.noise(VOCABULARY).ok_or(PrepareError::NoWords)?;
    let plan = vocabulary_plan(settings, noise)?;
    let release = plan.release(releases.source());
    let charged = releases.charge(release.charge())?;
    let _stage = Stage::begin("gathering words", Size::Unknown);
    Ok(plan.paid(release, charged).words(text, public)?.vocabulary)
}
