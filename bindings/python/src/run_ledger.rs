//! The ledger of a run, as it stands on the disk.

use crate::event::Event;
use crate::exceptions::ledger_error;
use organza_ledger::{Charge, Header, Replay};
use pyo3::prelude::*;
use std::path::PathBuf;

/// What stands on the ledger of a run.
#[derive(IntoPyObject)]
pub(crate) struct RunLedger {
    unit: String,
    neighbouring: String,
    delta: f64,
    public: Vec<(String, String)>,
    /// Purpose, first step, number of steps, event and key.
    charges: Vec<(String, u64, u64, Event, Option<String>)>,
    /// As an account prices them: equal ones counted together.
    events: Vec<Event>,
    torn: Option<String>,
}

/// Reads the ledger of a run, also while the run writes to it.
#[pyfunction]
pub(crate) fn read_ledger(py: Python<'_>, path: PathBuf) -> PyResult<RunLedger> {
    let replay = py.detach(|| Replay::read(&path)).map_err(ledger_error)?;
    let Header { unit, neighbouring, delta, public, .. } = replay.header;
    let events = Charge::events(&replay.charges);
    Ok(RunLedger {
        unit: unit.to_string(),
        neighbouring: neighbouring.to_string(),
        delta,
        public: public.into_iter().map(|fact| (fact.name, fact.value)).collect(),
        charges: (replay.charges.into_iter())
            .map(|charge| {
                let Charge { purpose, from_step, steps, event, key, .. } = charge;
                (purpose, from_step, steps, Event(event), key.map(String::from))
            })
            .collect(),
        events: events.into_iter().map(Event).collect(),
        torn: replay.torn.map(|torn| torn.to_string()),
    })
}
