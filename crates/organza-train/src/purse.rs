//! What pays: a ledger, what may be spent, and what prices it.

use organza_ledger::{Account, AccountError, Budget, BudgetError, Charge, Charged, Ledger};

/// A ledger with a budget.
///
/// # Privacy
/// Nothing is released but against the proof of a charge, and there is no other way to one.
pub struct Purse {
    ledger: Ledger,
    budget: Budget,
    account: Box<dyn Account + Send + Sync>,
}

impl Purse {
    /// What is charged to `ledger` keeps to `budget`, at the prices of `account`.
    pub fn new(
        ledger: Ledger,
        budget: Budget,
        account: impl Account + Send + Sync + 'static,
    ) -> Self {
        Self { ledger, budget, account: Box::new(account) }
    }

    /// Makes a charge. The same charge again, of a run that goes on, costs nothing.
    ///
    /// # Errors
    /// If the budget does not allow for it, or the ledger cannot be written.
    pub fn charge(&mut self, charge: Charge) -> Result<Charged, BudgetError> {
        self.budget.charge(&mut self.ledger, self.account.as_ref(), charge)
    }

    /// All that was charged.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What all of it costs, at the delta of the ledger.
    ///
    /// # Errors
    /// If the account has no answer.
    pub fn spent(&self) -> Result<f64, AccountError> {
        self.account.epsilon(&self.ledger.events(), self.ledger.header().delta)
    }
}
