//! What pays for a fit: the budget, with a ledger file or without.

use crate::groups::Groups;
use crate::settings::{Method, Settings};
use organza_accountant::Accountant;
use organza_ledger::{
    Account, AccountError, Budget, BudgetError, Charge, Charged, Event, Header, Ledger,
    LedgerError, PublicFact,
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
    /// There is not enough left, and no ledger to say more.
    #[error("the budget of epsilon {budget} is too small: with `{purpose}` it would be {asked}")]
    Exceeded {
        /// What the refused charge is for.
        purpose: String,
        /// Epsilon with the refused charge.
        asked: f64,
        /// The budget.
        budget: f64,
    },
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
    header: Header,
    ledger: Option<Ledger>,
    memory: Vec<Event>,
    budget: Budget,
    epsilon: f64,
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
            ledger: ledger.map(|path| Ledger::create(path, header.clone())).transpose()?,
            header,
            memory: Vec::new(),
            epsilon,
            account: Accountant::new(neighbouring),
            spent: 0.0,
        })
    }

    /// Makes a charge, or refuses: nothing of it may be released before this has returned. With a
    /// ledger there is a proof of it.
    pub(crate) fn charge(&mut self, charge: Charge) -> Result<Option<Charged>, PurseError> {
        if let Some(ledger) = &mut self.ledger {
            let paid = self.budget.charge(ledger, &self.account, charge)?;
            self.spent = Account::epsilon(&self.account, &ledger.events(), self.header.delta)?;
            return Ok(Some(paid));
        }
        let mut events = self.memory.clone();
        events.push(match charge.steps {
            1 => charge.event,
            steps => charge.event.repeat(steps),
        });
        let asked = Account::epsilon(&self.account, &events, self.header.delta)?;
        if asked > self.epsilon {
            let (purpose, budget) = (charge.purpose, self.epsilon);
            return Err(PurseError::Exceeded { purpose, asked, budget });
        }
        (self.memory, self.spent) = (events, asked);
        Ok(None)
    }

    /// All that was charged.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.ledger.as_ref().map_or_else(|| self.memory.clone(), Ledger::events)
    }

    /// What all of it costs.
    pub(crate) fn spent(&self) -> f64 {
        self.spent
    }

    /// What was declared public.
    pub(crate) fn public(&self) -> &[PublicFact] {
        &self.header.public
    }
}
