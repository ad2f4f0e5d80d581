//! What pays for a fit: the budget, with a ledger file or without.

use crate::groups::Groups;
use crate::settings::{Method, Settings};
use organza_accountant::Accountant;
use organza_ledger::{
    AccountError, Budget, BudgetError, Charge, Charged, Event, Header, Ledger, LedgerError,
    PublicFact,
};
use std::path::Path;
use thiserror::Error;

/// Why something cannot be paid for.
#[derive(Debug, Error)]
pub enum PurseError {
    /// The budget refuses.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The account.
    #[error(transparent)]
    Account(#[from] AccountError),
}

/// What charges are relative to, and what was declared.
pub(crate) fn header(
    settings: &Settings,
    groups: Option<&Groups>,
    width: Option<String>,
) -> Header {
    let Settings { method, delta, units, .. } = *settings;
    let mut header = Header::new(method.neighbouring(), method.unit(), delta);
    if let Some(width) = width {
        header = header.declare_public("features", width);
    }
    if let Some(units) = units {
        header = header.declare_public("units", units.to_string());
    }
    match (method, groups) {
        (Method::Corrected | Method::Printed, Some(groups)) => {
            header.declare_public("groups", groups.len().to_string())
        }
        _ => header,
    }
}

/// A budget and what was charged to it. Without a file the charges live as long as this does, and go
/// onto the certificate.
pub(crate) struct Purse {
    ledger: Ledger,
    budget: Budget,
    account: Accountant,
    spent: f64,
}

impl Purse {
    /// The budget of `settings`; what [`Method::Printed`] costs has no bound, and is only told.
    pub(crate) fn open(
        settings: &Settings,
        header: Header,
        ledger: Option<&Path>,
    ) -> Result<Self, PurseError> {
        let neighbouring = settings.method.neighbouring();
        let epsilon = if settings.method == Method::Printed { f64::MAX } else { settings.epsilon };
        Ok(Self {
            budget: Budget::new(epsilon, settings.delta, neighbouring)?,
            ledger: match ledger {
                Some(path) => Ledger::create(path, header)?,
                None => Ledger::in_memory(header)?,
            },
            account: Accountant::new(neighbouring),
            spent: 0.0,
        })
    }

    /// Makes a charge, or refuses: nothing is released but against the proof of it.
    pub(crate) fn charge(&mut self, charge: Charge) -> Result<Charged, PurseError> {
        let paid = self.budget.charge(&mut self.ledger, &self.account, charge)?;
        self.spent = paid.spent().unwrap_or(self.spent);
        Ok(paid)
    }

    /// All that was charged.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.ledger.events()
    }

    /// What all of it costs.
    pub(crate) fn spent(&self) -> f64 {
        self.spent
    }

    /// What was declared public.
    pub(crate) fn public(&self) -> &[PublicFact] {
        &self.ledger.header().public
    }
}
