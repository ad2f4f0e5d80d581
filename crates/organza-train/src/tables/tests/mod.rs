//! Every way of keeping tables against the plain one.
#![allow(clippy::unwrap_used)]

mod adam;
mod on_disk;
mod owed;
mod projected;
mod unannounced;

use super::Reading;

/// Asks for rows.
fn ask(reading: &mut Reading<'_>, rows: &[u32]) {
    reading.ask(1, |_, draws| draws.rows.extend_from_slice(rows));
}
