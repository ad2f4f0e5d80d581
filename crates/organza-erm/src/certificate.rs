//! The certificate of a fit: what is promised, for whom, and what it was spent on.

use crate::settings::{Method, Settings};
use organza_ledger::{AccountError, Event, Ledger};
use organza_train::{Certificate, DECIDED, Purse};

/// The certificate of a fit: that of every run, with the model beside it.
pub(crate) fn certificate(
    settings: &Settings,
    purse: Option<&Purse>,
    steps: u64,
) -> Result<Certificate, AccountError> {
    let Settings { method, delta, seed, epsilon, .. } = *settings;
    let ledger = purse.map(Purse::ledger);
    let events = ledger.map(Ledger::events).unwrap_or_default();
    let mut conditions = conditions(settings);
    let decided = method != Method::Printed && events.iter().any(Event::decides);
    if decided {
        conditions.push(DECIDED.to_owned());
    }
    let spent = purse.map(Purse::spent).transpose()?;
    let not_private = [
        "losses, accuracy, AUC, deviance",
        "sparsity of groups",
        "remarks about the data",
        "timings",
    ];
    Ok(Certificate {
        version: Certificate::VERSION,
        model: Some(settings.model.to_string().into()),
        method: method.to_string().into(),
        private: !matches!(method, Method::None | Method::Printed) && seed.is_none(),
        epsilon: if decided { spent.and(Some(epsilon)) } else { spent },
        delta: spent.map(|_| delta),
        claimed_epsilon: (method == Method::Printed).then_some(epsilon),
        neighbouring: method.neighbouring(),
        unit: method.unit(),
        accountant: "pld".into(),
        steps,
        events,
        public: ledger.map(|ledger| ledger.header().public.clone()).unwrap_or_default(),
        dataset: None,
        conditions,
        not_private: not_private.map(str::to_owned).to_vec(),
    })
}

/// What holds for every fit with these settings.
fn conditions(settings: &Settings) -> Vec<String> {
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
