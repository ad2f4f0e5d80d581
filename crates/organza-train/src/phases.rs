//! What is released before the first step, and how one budget pays for all of it.

use crate::application::Failure;
use crate::schedule::CalibrationError;
use crate::session::SessionError;
use crate::settings::PrivacySettings;
use organza_accountant::calibrate::{Target, scale};
use organza_ledger::Event;

/// Something that an application releases before the first step.
///
/// The rule: phases come in the order of their list, steps last. The noise of a phase is the least at which all phases so
/// far cost no more than `until` of epsilon; steps spend what is left.
///
/// # Privacy
/// What a phase costs depends on settings and its noise alone, never on what earlier phases released.
pub struct Phase<'a> {
    /// By which its noise is asked for ([`Releases::noise`](crate::Releases::noise)).
    pub name: &'static str,
    /// What it releases, as the certificate names it.
    pub releases: Vec<&'static str>,
    /// The share of epsilon for all phases up to and with this one.
    pub until: f64,
    /// What it costs at a noise: the larger the noise, the less.
    pub events: Box<dyn Fn(f64) -> Result<Vec<Event>, Failure> + 'a>,
}

/// A phase whose noise is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Calibrated {
    pub(crate) name: &'static str,
    pub(crate) releases: Vec<&'static str>,
    pub(crate) noise: f64,
    pub(crate) events: Vec<Event>,
}

/// Finds the noise of each phase, unless it was `found` before, from the same settings.
///
/// # Errors
/// If a setting makes no sense at any noise, or no noise meets the budget.
pub(crate) fn calibrate(
    privacy: &PrivacySettings,
    phases: Vec<Phase<'_>>,
    found: &[(String, f64)],
) -> Result<Vec<Calibrated>, SessionError> {
    let mut before = Vec::new();
    let mut calibrated = Vec::new();
    for Phase { name, releases, until, events } in phases {
        // A first look, so that settings that make no sense are named as such.
        events(1.0)?;
        let noise = match found.iter().find(|(phase, _)| phase == name) {
            Some((_, noise)) => *noise,
            None => noise(privacy, &before, until, |noise| events(noise).ok())?,
        };
        let events = events(noise)?;
        before.extend(events.iter().cloned());
        calibrated.push(Calibrated { name, releases, noise, events });
    }
    Ok(calibrated)
}

/// The least noise at which `before` and what `events` makes of it cost at most `share` of epsilon; or
/// the noise that was asked for.
///
/// # Privacy
/// It depends on settings alone. The account composes all events of `before` with the new ones, so what
/// one phase leaves over is spent by the next.
pub(crate) fn noise(
    privacy: &PrivacySettings,
    before: &[Event],
    share: f64,
    events: impl Fn(f64) -> Option<Vec<Event>>,
) -> Result<f64, CalibrationError> {
    match (privacy.noise_multiplier, privacy.epsilon) {
        (Some(multiplier), _) => Ok(multiplier),
        (None, Some(epsilon)) => {
            let target = Target::new(share * epsilon, privacy.delta);
            let target = Target { neighbouring: privacy.neighbouring, ..target };
            let all = |noise| {
                let before = before.iter().cloned();
                Some(Event::Compose(before.chain(events(noise)?).collect()))
            };
            Ok(scale(&target, all)?.0)
        }
        (None, None) => Err(CalibrationError::NoBudget),
    }
}
