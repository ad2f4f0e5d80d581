//! What pays for a fit: the budget, with a ledger file or without.

use crate::groups::Groups;
use crate::settings::{Method, Settings};
use organza_accountant::Accountant;
use organza_ledger::{Budget, BudgetError, Header, Ledger};
use organza_train::Purse;
use std::path::Path;

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

/// The budget of `settings`; what [`Method::Printed`] costs has no bound, and is only told. Without a file the charges
/// live as long as the purse does, and go onto the certificate.
pub(crate) fn purse(
    settings: &Settings,
    header: Header,
    ledger: Option<&Path>,
) -> Result<Purse, BudgetError> {
    let neighbouring = settings.method.neighbouring();
    let epsilon = if settings.method == Method::Printed { f64::MAX } else { settings.epsilon };
    let budget = Budget::new(epsilon, settings.delta, neighbouring)?;
    let ledger = match ledger {
        Some(path) => Ledger::create(path, header)?,
        None => Ledger::in_memory(header)?,
    };
    Ok(Purse::new(ledger, budget, Accountant::new(neighbouring)))
}
