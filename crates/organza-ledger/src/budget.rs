//! The budget: no charge is made that would exceed it.

use crate::{Account, AccountError, Charge, ChargeError, Event, Ledger, LedgerError, Neighbouring};
use thiserror::Error;

/// How much privacy may be spent in all.
///
/// # Privacy
/// [`Budget::charge`] is the only way to make a charge. It first asks the account what everything
/// together would cost, then writes and syncs the charge, and only then hands out [`Charged`].
/// So at any time the whole ledger, and with it all that was ever released, is within the budget,
/// whatever happens to the process in between.
///
/// Which charge comes next may depend on what was released before. Stopping early is always covered.
/// Choosing *other events* because of earlier results is covered only by an account whose bound is a
/// privacy filter (as sums of Rényi divergences are); events that a plan fixed in advance need none.
/// Across runs, which people choose one after another, a [`DataSetLedger`](crate::DataSetLedger) is the filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    pub(crate) epsilon: f64,
    delta: f64,
    neighbouring: Neighbouring,
}

/// The proof that a charge is on the ledger, and on the disk where the ledger is a file.
///
/// # Privacy
/// Only [`Budget::charge`] makes one, and it cannot be copied. Whoever releases something takes it as an
/// argument, and checks that it covers the step, the event, the purpose, the relation and the key. It is worth
/// as much as the [`Account`] that priced it.
///
/// ```compile_fail,E0451
/// # let charge = organza_ledger::Charge::once("x", organza_ledger::Event::Pure { epsilon: 1.0 });
/// let forged = organza_ledger::Charged { charge, spent: None };
/// ```
#[must_use = "the steps are paid for: run them"]
#[derive(Debug, PartialEq)]
pub struct Charged {
    charge: Charge,
    /// None for a copy.
    spent: Option<f64>,
}

/// Why a charge was not made.
#[derive(Debug, Error)]
pub enum BudgetError {
    /// The budget itself makes no sense.
    #[error("a budget's `{field}` is {value}, but must be {expected}")]
    Setting {
        /// The offending field.
        field: &'static str,
        /// What it was.
        value: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// The budget, the ledger and the account do not speak about the same neighbours.
    #[error(
        "the budget is for {budget} neighbours, the ledger for {ledger} and the account for \
         {account}: all must be the same"
    )]
    Neighbouring {
        /// The budget's relation.
        budget: Neighbouring,
        /// The ledger's relation.
        ledger: Neighbouring,
        /// The account's relation.
        account: Neighbouring,
    },
    /// The event was stated for other neighbours than the budget is.
    #[error(
        "`{purpose}` is stated for {stated} neighbours, but the budget is for {budget}: make its plan \
         for {budget}"
    )]
    ChargedFor {
        /// What the charge is for.
        purpose: String,
        /// The relation that its event is stated for.
        stated: Neighbouring,
        /// The budget's relation.
        budget: Neighbouring,
    },
    /// The budget and the ledger do not speak about the same delta.
    #[error(
        "the budget is stated at delta {budget}, the ledger at {ledger}: both must be the same"
    )]
    Delta {
        /// The budget's delta.
        budget: f64,
        /// The ledger's delta.
        ledger: f64,
    },
    /// There is not enough left.
    #[error(
        "the budget is too small: {steps} steps of `{purpose}` would bring epsilon from {spent} to \
         {asked} at delta {delta} ({neighbouring}), but the budget is {epsilon}, of which {left} is \
         left. Take fewer steps, more noise or a smaller batch, or allow a larger epsilon"
    )]
    Exceeded {
        /// What the refused charge is for.
        purpose: String,
        /// The number of steps of the refused charge.
        steps: u64,
        /// Epsilon of everything, the refused charge with it.
        asked: f64,
        /// Epsilon of all charges that were made.
        spent: f64,
        /// What is left of the budget.
        left: f64,
        /// The budget.
        epsilon: f64,
        /// The delta at which all of these are stated.
        delta: f64,
        /// The relation for which all of these are stated.
        neighbouring: Neighbouring,
    },
    /// The charge makes no sense.
    #[error(transparent)]
    Charge(#[from] ChargeError),
    /// The account gives no answer.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The ledger cannot take the charge.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Budget {
    /// A budget of (`epsilon`, `delta`) for the relation `neighbouring`.
    ///
    /// # Errors
    /// If epsilon is negative or infinite, or delta no probability below 1.
    pub fn new(epsilon: f64, delta: f64, neighbouring: Neighbouring) -> Result<Self, BudgetError> {
        let setting = |field, value, expected| Err(BudgetError::Setting { field, value, expected });
        if !(0.0..f64::INFINITY).contains(&epsilon) {
            return setting("epsilon", epsilon, "zero or more, and finite");
        }
        if !(0.0..1.0).contains(&delta) {
            return setting("delta", delta, "at least 0 and below 1");
        }
        Ok(Self { epsilon, delta, neighbouring })
    }

    /// Epsilon of all charges on the ledger.
    ///
    /// # Errors
    /// If the ledger or the account speaks about something else, or the account gives no answer.
    pub fn spent(&self, ledger: &Ledger, account: &dyn Account) -> Result<f64, BudgetError> {
        self.agree(ledger, account)?;
        self.price(account, &ledger.events())
    }

    /// Makes a charge, if the budget allows it. A copy of what was charged before (see
    /// [`Charged::spent`]) is confirmed without a new charge.
    ///
    /// # Errors
    /// [`BudgetError::Exceeded`] if it is too much, in which case nothing is written; otherwise what
    /// the account or the ledger says. Without [`Charged`] nothing may be released.
    pub fn charge(
        &self,
        ledger: &mut Ledger,
        account: &dyn Account,
        charge: Charge,
    ) -> Result<Charged, BudgetError> {
        charge.check()?;
        self.agree(ledger, account)?;
        if let Some(stated) = charge.neighbouring.filter(|stated| *stated != self.neighbouring) {
            let (purpose, budget) = (charge.purpose, self.neighbouring);
            return Err(BudgetError::ChargedFor { purpose, stated, budget });
        }
        if ledger.is_copy(&charge)? {
            return Ok(Charged { charge, spent: None });
        }
        let asked = self.price(account, &ledger.events_with(&charge))?;
        if asked > self.epsilon {
            let spent = self.price(account, &ledger.events())?;
            return Err(BudgetError::Exceeded {
                purpose: charge.purpose,
                steps: charge.steps,
                asked,
                spent,
                left: (self.epsilon - spent).max(0.0),
                epsilon: self.epsilon,
                delta: self.delta,
                neighbouring: self.neighbouring,
            });
        }
        ledger.append(charge.clone())?;
        Ok(Charged { charge, spent: Some(asked) })
    }

    /// Whether budget, ledger and account speak about the same thing.
    fn agree(&self, ledger: &Ledger, account: &dyn Account) -> Result<(), BudgetError> {
        let header = ledger.header();
        let account = account.neighbouring();
        if self.neighbouring != header.neighbouring || self.neighbouring != account {
            let (budget, ledger) = (self.neighbouring, header.neighbouring);
            return Err(BudgetError::Neighbouring { budget, ledger, account });
        }
        if self.delta != header.delta {
            return Err(BudgetError::Delta { budget: self.delta, ledger: header.delta });
        }
        Ok(())
    }

    fn price(&self, account: &dyn Account, events: &[Event]) -> Result<f64, BudgetError> {
        let epsilon = account.epsilon(events, self.delta)?;
        if epsilon.is_nan() {
            // It is not above any budget, so that everything would pass.
            return Err(
                AccountError::OutOfRange("the account's answer is not a number".into()).into()
            );
        }
        Ok(epsilon)
    }
}

impl Charged {
    /// What was paid for.
    pub fn charge(&self) -> &Charge {
        &self.charge
    }

    /// Epsilon of all charges up to this one; none for a copy, which an earlier charge with the same key paid for.
    ///
    /// # Privacy
    /// Run again with the same key, from the same state, on the same data and with the same settings,
    /// a step draws the same noise and yields the same bits. A copy of what was released tells nothing
    /// new, so it costs nothing. The ledger has checked key, purpose, steps and event; state, data
    /// and settings are for the caller to check before anything of this is released.
    pub fn spent(&self) -> Option<f64> {
        self.spent
    }
}
