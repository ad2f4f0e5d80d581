//! The certificate: what is promised, for whom, and what it was spent on.

use crate::books::UNITS;
use crate::phases::Calibrated;
use crate::purse::Purse;
use crate::run::RunPlan;
use crate::settings::EngineSettings;
use organza_ledger::{
    AccountError, Event, Ledger, Neighbouring, PublicFact, SELECTED_FORM, SharedTotal, Unit,
};
use organza_mechanism::{DEFERRED_NOISE, NoiseSettings, Plan, SelectionSettings};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The version of certificates that is read and written.
const VERSION: u64 = 2;

/// What a strict run tells without a charge.
const STRICT: &str = "a record that cannot be used would have ended the run with an error (--strict): that there was none is shown \
                      without a charge, and is not covered by the promise";
/// What is said where epsilon is not the price of the events.
pub const DECIDED: &str = "a released number decided the noise of what follows: epsilon is the budget, which holds \
                           whatever number is released, and not the price of the events that came of this one";

/// What a run promises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The version of the format.
    #[serde(deserialize_with = "known_version")]
    pub version: u64,
    /// The model, where an application has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Cow<'static, str>>,
    /// The method, as the application names it.
    pub method: Cow<'static, str>,
    /// Whether there is a guarantee at all.
    pub private: bool,
    /// The bound on the privacy loss; none without privacy. The price of the events, or, where one of them decided
    /// what others are, the budget that all outcomes keep to.
    pub epsilon: Option<f64>,
    /// The probability of exceeding it.
    pub delta: Option<f64>,
    /// What a theorem claims that does not hold, where a method is shown for the sake of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_epsilon: Option<f64>,
    /// The relation that the guarantee speaks about.
    pub neighbouring: Neighbouring,
    /// What is protected as one.
    pub unit: Unit,
    /// The accountant that priced it.
    pub accountant: Cow<'static, str>,
    /// The number of steps.
    pub steps: u64,
    /// What was released.
    pub events: Vec<Event>,
    /// What was released in figures: functions of settings and of releases that stand among the events.
    #[serde(default)]
    pub released: Vec<PublicFact>,
    /// What was declared public, and hence is used without a charge.
    pub public: Vec<PublicFact>,
    /// What all runs on the data set may have spent, up to this one, if it is on the ledger of a data set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<SharedTotal>,
    /// What the guarantee takes for granted.
    pub conditions: Vec<String>,
    /// What comes from the data without a charge, in the files of the run.
    pub not_private: Vec<String>,
}

/// Refuses certificates of another version, whose events may mean something else.
fn known_version<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
    match u64::deserialize(input)? {
        VERSION => Ok(VERSION),
        1 => Err(D::Error::custom(format!(
            "a certificate of version 1, in which a `gaussian` after a capped `exponential` meant \
             what is {SELECTED_FORM} in version {VERSION}: read it with the program that wrote it"
        ))),
        other => Err(D::Error::custom(format!(
            "a certificate of version {other}, but this program reads version {VERSION}"
        ))),
    }
}

impl Certificate {
    pub(crate) fn new(
        settings: &EngineSettings,
        phases: &[Calibrated],
        purse: Option<&Purse>,
        plan: Option<&RunPlan>,
    ) -> Result<Self, AccountError> {
        let ledger = purse.map(Purse::ledger);
        let spent = purse.map(Purse::spent).transpose()?;
        let events = ledger.map(Ledger::events).unwrap_or_default();
        let decided = events.iter().any(Event::decides);
        // Without a budget there is then nothing that could be claimed.
        let epsilon = if decided { spent.and(settings.privacy.epsilon) } else { spent };
        let private = epsilon.is_some() && settings.seed.is_none();
        let charges = ledger.map(Ledger::charges).unwrap_or_default();
        let mut conditions = match settings.private {
            true => {
                let counted = charges.iter().any(|charge| charge.purpose == UNITS);
                let private = plan.and_then(|plan| plan.method.plan());
                noises(phases, counted, private)
            }
            false => vec!["no privacy was asked for: there is no guarantee".to_owned()],
        };
        if charges.iter().any(|charge| charge.purpose.starts_with(DEFERRED_NOISE)) {
            conditions.push(
                "noise of rows that no unit touched drawn for several steps at once: a total variation \
                 from the noise of every step that is proved, and charged as a part of delta"
                    .into(),
            );
        }
        if decided {
            conditions.push(DECIDED.to_owned());
        }
        if settings.strict && settings.private {
            conditions.push(STRICT.to_owned());
        }
        if let Some(seed) = settings.seed {
            conditions.push(format!(
                "not private: the randomness came from seed {seed}, with which anyone can repeat it"
            ));
        }
        let [_, method] = settings.name.clone();
        Ok(Self {
            version: VERSION,
            model: None,
            method,
            private,
            epsilon,
            delta: epsilon.map(|_| settings.privacy.delta),
            claimed_epsilon: None,
            neighbouring: settings.privacy.neighbouring,
            unit: settings.privacy.unit,
            accountant: "pld".into(),
            steps: plan.map_or(0, |plan| plan.steps),
            events,
            released: Vec::new(),
            public: ledger.map(|ledger| ledger.header().public.clone()).unwrap_or_default(),
            dataset: None,
            conditions,
            not_private: Vec::new(),
        })
    }
}

impl Certificate {
    /// What stands in the files of a model itself, so that it does not go without its promise.
    pub fn metadata(&self) -> BTreeMap<String, String> {
        let number = |value: Option<f64>| value.map_or("none".to_owned(), |it| it.to_string());
        BTreeMap::from([
            ("epsilon".to_owned(), number(self.epsilon)),
            ("delta".to_owned(), number(self.delta)),
            ("neighbouring".to_owned(), self.neighbouring.to_string()),
            ("unit".to_owned(), self.unit.to_string()),
            ("method".to_owned(), self.method.to_string()),
            ("private".to_owned(), self.private.to_string()),
        ])
    }

    /// What this run takes of a budget that it shares with others: its events, or, where some of them
    /// were chosen by what others released, its promise as a whole.
    pub fn promised_events(&self) -> Vec<Event> {
        match (self.epsilon, self.delta) {
            (Some(epsilon), Some(delta)) if self.events.iter().any(Event::decides) => {
                vec![Event::Approximate { epsilon, delta }]
            }
            _ => self.events.clone(),
        }
    }
}

/// How the noise of each phase, of the number of units if it was `counted`, and of steps is drawn: in exactly the law
/// that is charged, but for selection and Laplace noise, which double precision computes.
fn noises(phases: &[Calibrated], counted: bool, plan: Option<&Plan>) -> Vec<String> {
    let released = phases.iter().flat_map(|phase| phase.releases.iter().copied());
    let released: Vec<&str> = released.chain(counted.then_some("the number of units")).collect();
    let mut noises = Vec::new();
    if !released.is_empty() {
        noises.push(format!("noise of {} exact: the law that is charged", released.join(", ")));
    }
    let Some(plan) = plan else { return noises };
    let settings = plan.settings();
    noises.push(
        match settings.noise {
            NoiseSettings::Gaussian { .. } => {
                "noise of steps exact: real Gaussian, rounded to a grid"
            }
            NoiseSettings::Laplace { .. } => "noise idealised as real Laplace, rounded to a grid",
        }
        .to_owned(),
    );
    if settings.selection != SelectionSettings::Everything {
        noises.push("selection idealised: drawn in double precision".to_owned());
    }
    if plan.groups().is_some() {
        let public =
            "which group a record belongs to is public, and so is which group a step visits";
        noises.push(public.to_owned());
    }
    noises
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_of_another_version_is_refused() {
        for (version, said) in [(1, SELECTED_FORM), (3, "version 3")] {
            let text = serde_json::json!({
                "version": version, "method": "dpsgd", "private": true, "epsilon": 1.0, "delta": 1e-6,
                "neighbouring": "add-remove", "unit": "line", "accountant": "pld", "steps": 1,
                "events": [], "public": [], "conditions": [], "not_private": []
            });
            let error = serde_json::from_value::<Certificate>(text).expect_err("another version");
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
