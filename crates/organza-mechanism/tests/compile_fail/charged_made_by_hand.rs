//! Only a budget makes the proof of a charge.
use organza_ledger::{Charge, Charged};

fn forged(charge: Charge) -> Charged {
    Charged { charge, spent: None }
}

fn main() {}
