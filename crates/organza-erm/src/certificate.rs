//! The certificate of a fit: what is promised, for whom, and what it was spent on.

use crate::loss::Loss;
use crate::settings::{Method, Settings};
use organza_ledger::{Event, Neighbouring, PublicFact, SharedTotal, Unit};
use serde::Serialize;

/// What a fit promises. The form is that of a training run's certificate, with the model beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certificate {
    /// The version of the form.
    pub version: u64,
    /// The model.
    pub model: Loss,
    /// The method.
    pub method: Method,
    /// Whether there is a guarantee at all.
    pub private: bool,
    /// The bound on the privacy loss of what was released; none without privacy. The price of the events, or, where one
    /// of them decided what others are, the budget that all outcomes keep to.
    pub epsilon: Option<f64>,
    /// The probability of exceeding it.
    pub delta: Option<f64>,
    /// What a theorem claims that does not hold, for [`Method::Printed`] only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_epsilon: Option<f64>,
    /// The relation that the guarantee speaks about.
    pub neighbouring: Neighbouring,
    /// What is protected as one.
    pub unit: Unit,
    /// The accountant that priced it.
    pub accountant: &'static str,
    /// The number of steps; 0 where there is one release.
    pub steps: u64,
    /// What was released.
    pub events: Vec<Event>,
    /// What was declared public, and hence is used without a charge.
    pub public: Vec<PublicFact>,
    /// What all runs on the data set may have spent, up to this one, if it is on the ledger of a data set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<SharedTotal>,
    /// What the guarantee takes for granted.
    pub conditions: Vec<String>,
    /// What comes from the data without a charge.
    pub not_private: Vec<String>,
}

impl Certificate {
    /// What holds for every fit with these settings.
    pub(crate) fn conditions(settings: &Settings) -> Vec<String> {
        let mut conditions: Vec<&str> = match settings.method {
            Method::None => vec!["no privacy was asked for: there is no guarantee"],
            Method::Objective => vec![
                "noise idealised as real Gaussian, drawn in double precision",
                "there are no more rows than a million and twice the released or declared number; that the search ends is \
                 proved for real numbers",
            ],
            Method::Dpsgd => vec!["noise of steps exact: real Gaussian, rounded to a grid"],
            Method::Sparse => vec![
                "noise of steps exact: real Gaussian, rounded to a grid",
                "selection idealised: drawn in double precision",
            ],
            Method::PoissonGroups => vec!["noise idealised as real Laplace, rounded to a grid"],
            Method::Corrected => vec![
                "noise idealised as real Laplace, rounded to a grid",
                "which group a record belongs to is public, and so is which group a step visits",
            ],
            Method::Printed => vec![
                "as printed, not sound: the noise follows Theorem 1, which takes one of m fixed groups for \
                 a sample that amplifies; epsilon is what an accountant finds that the noise is worth, and \
                 may exceed what was asked for",
                "the test that ends Algorithm 1 stands inside its loop, without which nothing is private",
                "which group a record belongs to is public, and so is which group a step visits",
            ],
        };
        let seeded;
        if let Some(seed) = settings.seed {
            seeded = format!(
                "not private: the randomness came from seed {seed}, which whoever knows it can repeat"
            );
            conditions.push(&seeded);
        }
        conditions.into_iter().map(str::to_owned).collect()
    }
}
