//! Steps whose gradients are computed by other processes, on this machine or on others: workers hold units, holders hold rows of the
//! tables, a lead holds the key and the ledger.
//!
//! ```text
//! StepLead ─job(buckets)────────▶ StepWorker     once: what the plan says, and the keys of these buckets
//!          ─holder_job(ranges)──▶ RowHolder      once: what the plan says, rows, and the keys of their noise
//!
//!          ─opening()───────────▶ holder         this step was paid for
//!          ─order()─────────────▶ worker         who joins, what chance decides, which rows their gradients read
//!          ◀─Asks──────────────── worker
//!          ─rows(asks)──────────▶ holder ─▶ worker     gradients, clipped, summed as whole numbers
//!                                 worker ─Part─▶ holder    gathered, each bucket once
//!          ◀─offers────────────── holder         sizes of what may be selected, digests of sums
//!          ─decide()────────────▶ holder         what is selected: noise, move
//! ```
//!
//! All messages are bytes, so that anything may carry them: pipes ([`LocalWorkers`]), actors of an engine, a network. A [`StepDriver`] is a lead
//! that holds all rows itself.
//!
//! # Privacy
//! **A worker** sees the data of its own units, who of them joined each batch, and the rows that their gradients read, as they
//! are after steps that were released. It has no key but those of its buckets, so it can neither see who joins elsewhere nor
//! take noise off; see [`organza_mechanism::buckets`]. It is trusted to clip: a worker that does not follow its program can
//! put anything into its part.
//!
//! **A holder** sees the sums of its rows without noise, and which of its rows are read, and has the keys of the noise on them and on no others; see
//! [`organza_mechanism::ranges`]. It has no data, no key of a bucket, and draws noise only for steps that the lead has sealed.
//!
//! **The lead** has the key of the run, and sees which rows are read, and the sizes of touched rows where there is a selection, or their sums where single
//! coordinates are selected. It is the one that all trust, as in a run
//! on one machine; but it needs no data. Its folder holds what that of any run holds, the states of holders among it.
//!
//! **Messages** to workers hold rows of released tables, and jobs hold keys. Messages to holders and to the lead hold which rows were read,
//! sums without noise, or sizes of them: all of them are as private as the data, their lengths too.
//! Nothing here encrypts them: whatever carries them has to.
//!
//! **Once.** Each step is charged before its order is given, and its noise is drawn when all parts are there, each bucket
//! once, and when the digest of all sums is on the lead's disk. Late parts, parts that come twice and parts of other steps are refused, and change
//! nothing. A lead that was killed makes the steps since its checkpoint again, of the same sums or not at all; so it does when a holder died, whose
//! rows since then are lost.
//!
//! **Bits.** They follow the seed, the settings and the data, and neither the number of workers, holders and threads nor who was killed
//! when. They differ from those of [`Session::train`](crate::Session::train), which draws batches of units by number,
//! under another purpose.

mod driver;
mod error;
mod frames;
mod holder;
mod holder_messages;
mod lead;
mod local;
mod messages;
mod saved;
mod worker;

pub use driver::StepDriver;
pub use error::RemoteError;
pub use frames::{WorkerError, serve};
pub use holder::RowHolder;
pub use holder_messages::{HolderJob, HolderState, part_for_holders};
pub use lead::StepLead;
pub use local::{LocalWorkers, StepTraffic};
pub use messages::{Job, MessageError, Reply};
pub use organza_mechanism::buckets::{BUCKETS, bucket};
pub use organza_mechanism::ranges::RowRanges;
pub use worker::StepWorker;

use std::ops::Range;

/// The buckets of worker `number` of `of`: all of them are somebody's, within one the same number each.
pub fn buckets_of(number: usize, of: usize) -> Range<u16> {
    let of = of.clamp(1, usize::from(BUCKETS));
    let start = |number: usize| (number.min(of) * usize::from(BUCKETS) / of) as u16;
    start(number)..start(number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_is_somebodys() {
        for of in [1, 2, 3, 7, 4_096] {
            let ranges: Vec<Range<u16>> = (0..of).map(|number| buckets_of(number, of)).collect();
            assert_eq!((ranges[0].start, ranges[of - 1].end), (0, BUCKETS));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(ranges.iter().all(|range| !range.is_empty()));
        }
        assert!(buckets_of(7, 3).is_empty());
    }
}
