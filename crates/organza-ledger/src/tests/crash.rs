//! A machine that crashes at any moment: a confirmed charge is never lost.

use super::samples::{Summing, header, pure, replay, text_of};
use crate::storage::Storage;
use crate::{Budget, BudgetError, Charge, Ledger, LedgerError, Neighbouring};
use proptest::prelude::*;
use std::io::{Error, Result};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A disk with a cache in front of it.
#[derive(Clone, Debug, Default)]
struct Disk {
    durable: Vec<u8>,
    cached: Vec<u8>,
    /// How many bytes may still be written before the disk is full.
    room: Option<usize>,
    /// Whether a sync fails.
    sync_fails: bool,
    /// A broken twin: a sync that returns at once.
    sync_does_nothing: bool,
}

#[derive(Debug)]
struct SharedDisk(Arc<Mutex<Disk>>);

impl Storage for SharedDisk {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let mut disk = self.0.lock().unwrap();
        let room = disk.room.unwrap_or(usize::MAX);
        let fits = bytes.len().min(room);
        disk.cached.extend_from_slice(&bytes[..fits]);
        disk.room = disk.room.map(|room| room - fits);
        if fits < bytes.len() { Err(Error::other("no space left")) } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<()> {
        let mut disk = self.0.lock().unwrap();
        if disk.sync_fails {
            return Err(Error::other("input/output error"));
        }
        if !disk.sync_does_nothing {
            let cached = std::mem::take(&mut disk.cached);
            disk.durable.extend(cached);
        }
        Ok(())
    }
}

fn ledger_on(disk: Disk) -> (Ledger, Arc<Mutex<Disk>>) {
    let text = text_of(&[]);
    let disk = Arc::new(Mutex::new(Disk { durable: text.clone(), ..disk }));
    let storage = Box::new(SharedDisk(disk.clone()));
    (Ledger::continuing(replay(&text).unwrap(), Path::new("ledger.jsonl"), storage), disk)
}

fn charge(ledger: &mut Ledger, step: u64) -> std::result::Result<(), BudgetError> {
    let budget = Budget::new(1e9, header().delta, Neighbouring::AddRemove).unwrap();
    let charge = Charge::block("training", step..step + 1, pure(0.125));
    budget.charge(ledger, &Summing(Neighbouring::AddRemove), charge).map(|_| ())
}

/// Charges until something fails, crashes, and looks for every confirmed charge on what the disk
/// kept: all that was synced, and any beginning of the rest.
fn confirmed_charges_survive(disk: Disk, steps: u64, kept: f64) -> std::result::Result<(), String> {
    let (mut ledger, disk) = ledger_on(disk);
    let confirmed = (0..steps).take_while(|step| charge(&mut ledger, *step).is_ok()).count();
    let disk = disk.lock().unwrap();
    let kept = (disk.cached.len() as f64 * kept) as usize;
    let after = [&disk.durable[..], &disk.cached[..kept]].concat();
    let found = replay(&after).map_err(|error| error.to_string())?.charges.len();
    if found < confirmed {
        return Err(format!("{confirmed} confirmed, {found} found"));
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_crash_loses_no_confirmed_charge(
        steps in 0..6_u64,
        room in prop::option::of(0..1_000_usize),
        sync_fails in any::<bool>(),
        kept in 0.0..=1.0_f64,
    ) {
        let disk = Disk { room, sync_fails, ..Disk::default() };
        confirmed_charges_survive(disk, steps, kept).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn a_ledger_that_does_not_sync_is_caught() {
    let twin = Disk { sync_does_nothing: true, ..Disk::default() };
    assert!(confirmed_charges_survive(twin, 3, 0.9).is_err());
    assert!(confirmed_charges_survive(Disk::default(), 3, 0.9).is_ok());
}

#[test]
fn after_a_failed_write_nothing_more_is_charged() {
    for disk in
        [Disk { room: Some(200), ..Disk::default() }, Disk { sync_fails: true, ..Disk::default() }]
    {
        let (mut ledger, disk) = ledger_on(disk);
        let failed = (0..9).map_while(|step| charge(&mut ledger, step).ok()).count() as u64;
        {
            let mut disk = disk.lock().unwrap();
            disk.room = None;
            disk.sync_fails = false;
        }
        let again = charge(&mut ledger, failed);
        assert!(matches!(again, Err(BudgetError::Ledger(LedgerError::Broken(_)))), "{again:?}");
        assert_eq!(ledger.charges().len() as u64, failed);
    }
}
