//! What it costs to look at many models and keep the best.

use anyhow::Context;
use organza_accountant::Accountant;
use organza_train::Certificate;
use serde::Serialize;
use std::path::Path;

/// What tuning costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Price {
    /// All of the data was declared public.
    Free,
    /// All trials together, and hence whatever is chosen of them by looking at them.
    Composed {
        /// The bound on the privacy loss.
        epsilon: f64,
        /// The probability of exceeding it.
        delta: f64,
    },
    /// At least one trial was not private, so nothing is promised.
    NoGuarantee,
}

impl Price {
    /// The price of all trials.
    ///
    /// # Privacy
    /// The choice of the best model and of its settings is a function of all models and of scores that
    /// are public or made from the models alone. By post-processing it costs no more than the models
    /// together: the composition of what was charged for each, priced jointly at the least of their
    /// deltas, or at their sum where events have a delta of their own that leaves nothing of the least.
    /// Where that account refuses, epsilons and deltas are added up (basic composition), which holds
    /// for all mechanisms.
    pub(super) fn of(certificates: &[Certificate], is_public: bool) -> Self {
        if is_public {
            return Self::Free;
        }
        let parts: Option<Vec<(f64, f64)>> =
            certificates.iter().map(|it| it.private.then_some((it.epsilon?, it.delta?))).collect();
        let Some(parts) = parts else { return Self::NoGuarantee };
        let deltas = || parts.iter().map(|(_, delta)| *delta);
        let (least, sum) = (deltas().fold(f64::INFINITY, f64::min), deltas().sum());
        let added = parts.iter().map(|(epsilon, _)| epsilon).sum();
        let joint = [least, sum].into_iter().find_map(|delta| joint(certificates, delta));
        joint.unwrap_or(Self::Composed { epsilon: added, delta: sum })
    }
}

fn joint(certificates: &[Certificate], delta: f64) -> Option<Price> {
    let neighbouring = certificates.first()?.neighbouring;
    if certificates.iter().any(|it| it.neighbouring != neighbouring) {
        return None;
    }
    let mut account = Accountant::new(neighbouring);
    for event in certificates.iter().flat_map(|it| &it.events) {
        account = account.compose(event).ok()?;
    }
    let epsilon = account.epsilon(delta).ok()?.epsilon;
    Some(Price::Composed { epsilon, delta })
}

/// The certificate of a finished run.
pub(super) fn certificate(folder: &Path) -> anyhow::Result<Certificate> {
    let path = folder.join("certificate.json");
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} cannot be read", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn certificate(noise_multiplier: f64) -> Certificate {
        let event = organza_ledger::Event::Gaussian { noise_multiplier };
        let account = Accountant::new(organza_ledger::Neighbouring::AddRemove);
        let epsilon = account.compose(&event).unwrap().epsilon(1e-6).unwrap().epsilon;
        serde_json::from_value(json!({
            "version": 2, "method": "dpsgd", "private": true, "epsilon": epsilon, "delta": 1e-6,
            "neighbouring": "add-remove", "unit": "line", "accountant": "pld", "steps": 1,
            "events": [event], "public": [], "conditions": [], "not_private": []
        }))
        .unwrap()
    }

    #[test]
    fn a_certificate_of_another_version_is_refused() {
        for (version, said) in [(1, organza_ledger::SELECTED_FORM), (3, "version 3")] {
            let mut text = serde_json::to_value(certificate(4.0)).unwrap();
            text["version"] = json!(version);
            let error = serde_json::from_value::<Certificate>(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    /// Four Gaussians of multiplier 4 are one of multiplier 2: the best of four trials costs twice a
    /// trial's multiplier, never one trial alone.
    #[test]
    fn the_best_of_many_costs_as_much_as_all() {
        let (one, all) = (certificate(4.0), certificate(2.0));
        let price = Price::of(&vec![one.clone(); 4], false);
        let Price::Composed { epsilon, delta } = price else { panic!("{price:?}") };
        assert_eq!(delta, 1e-6);
        assert!((epsilon / all.epsilon.unwrap() - 1.0).abs() < 1e-3, "{epsilon}");
        assert!(epsilon > 1.9 * one.epsilon.unwrap());
        assert_eq!(Price::of(&vec![one.clone(); 4], true), Price::Free);
        let broken = Certificate { private: false, ..one.clone() };
        assert_eq!(Price::of(&[one, broken], false), Price::NoGuarantee);
    }

    /// What the account refuses is added up.
    #[test]
    fn what_cannot_be_priced_together_is_added() {
        let one = certificate(4.0);
        let other = Certificate {
            neighbouring: organza_ledger::Neighbouring::ReplaceOne,
            ..certificate(4.0)
        };
        let sum = one.epsilon.unwrap() + other.epsilon.unwrap();
        let price = Price::of(&[one, other], false);
        assert_eq!(price, Price::Composed { epsilon: sum, delta: 2e-6 });
    }
}
