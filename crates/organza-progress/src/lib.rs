//! What long work is at, for whoever watches it.
//!
//! Code that takes long says so by a [`Stage`]: it begins, moves on and ends. A watcher of its thread may look on;
//! without one a stage costs next to nothing.
//!
//! ```
//! use organza_progress::{Stage, Size};
//!
//! let stage = Stage::begin("counting pairs", Size::Hidden(3));
//! for _unit in 0..3 {
//!     stage.add(1);
//! }
//! assert_eq!(stage.part(), Some(1.0));
//! ```
//!
//! # Privacy
//! How long a stage takes, and how far it has come by now, follows the data: all of it is *not private*, and no part of
//! what is released. So that nobody prints it by mistake, sizes that only the data knows are [hidden](Size::Hidden): a
//! watcher sees the part that is done.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

thread_local! {
    /// Who watches what this thread does, if anybody does.
    static WATCHER: RefCell<Option<Arc<dyn Watch>>> = const { RefCell::new(None) };
}

/// How finely the part of a hidden size is told.
const HUNDREDTHS: f64 = 100.0;

/// Sees what long work is at. Any thread may call it.
pub trait Watch: Send + Sync {
    /// After a stage has begun.
    fn begun(&self, stage: &Stage);

    /// After it has moved.
    fn moved(&self, stage: &Stage);

    /// When it ends.
    fn ended(&self, stage: &Stage);
}

/// How much there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Nobody knows.
    Unknown,
    /// So many of what the data alone knows: only the part that is done is to be seen, by whole hundredths.
    Hidden(u64),
    /// So many bytes of a file.
    Bytes(u64),
    /// At most so many, as settings and releases say, of things of this name.
    Public(u64, &'static str),
}

/// A part of a program's work. It ends when it is dropped.
pub struct Stage {
    name: Cow<'static, str>,
    size: Size,
    done: AtomicU64,
    begun: Instant,
    watcher: Option<Arc<dyn Watch>>,
}

impl Stage {
    /// Begins a stage.
    pub fn begin(name: impl Into<Cow<'static, str>>, size: Size) -> Self {
        Self::watched_by(WATCHER.with_borrow(Clone::clone), name, size)
    }

    /// Begins a stage that somebody in particular sees, or nobody.
    pub fn watched_by(
        watcher: Option<Arc<dyn Watch>>,
        name: impl Into<Cow<'static, str>>,
        size: Size,
    ) -> Self {
        let (done, begun) = (AtomicU64::new(0), Instant::now());
        let stage = Self { name: name.into(), size, done, begun, watcher };
        stage.tell(|watcher| watcher.begun(&stage));
        stage
    }

    /// Moves on.
    pub fn add(&self, more: u64) {
        self.done.fetch_add(more, Ordering::Relaxed);
        self.tell(|watcher| watcher.moved(self));
    }

    /// What is being done, as in "counting pairs".
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How much there is to do.
    pub fn size(&self) -> Size {
        self.size
    }

    /// How much is done, where that may be seen.
    pub fn done(&self) -> Option<u64> {
        (!matches!(self.size, Size::Hidden(_))).then(|| self.done.load(Ordering::Relaxed))
    }

    /// The part that is done, from 0 to 1, where the whole is known. Of a hidden size it is told by whole hundredths: more digits
    /// would tell the size.
    pub fn part(&self) -> Option<f64> {
        let (whole, is_hidden) = match self.size {
            Size::Unknown => return None,
            Size::Hidden(whole) => (whole, true),
            Size::Bytes(whole) | Size::Public(whole, _) => (whole, false),
        };
        let done = self.done.load(Ordering::Relaxed);
        let part = if whole == 0 { 1.0 } else { (done as f64 / whole as f64).min(1.0) };
        Some(if is_hidden { (part * HUNDREDTHS).floor() / HUNDREDTHS } else { part })
    }

    /// How long it has been under way.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn tell(&self, tell: impl FnOnce(&dyn Watch)) {
        if let Some(watcher) = &self.watcher {
            tell(watcher.as_ref());
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.tell(|watcher| watcher.ended(self));
    }
}

/// Bytes that move a stage on as they are read.
pub struct Reader<R> {
    input: R,
    stage: Stage,
}

impl<R> Reader<R> {
    /// Reads `input` as the stage that `stage` is.
    pub fn new(input: R, stage: Stage) -> Self {
        Self { input, stage }
    }
}

impl<R: std::io::Read> std::io::Read for Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.stage.add(read as u64);
        Ok(read)
    }
}

/// From now on `watcher` sees every stage that begins on this thread, in place of anybody before. Each thread of a pool has to
/// call it: so several runs of one program are watched apart.
pub fn watch(watcher: Arc<dyn Watch>) {
    WATCHER.set(Some(watcher));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, PoisonError};

    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    impl Notes {
        fn note(&self, what: &str, stage: &Stage) {
            let note = format!("{what} {} {:?} {:?}", stage.name(), stage.done(), stage.part());
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(note);
        }
    }

    impl Watch for Notes {
        fn begun(&self, stage: &Stage) {
            self.note("begun", stage);
        }

        fn moved(&self, stage: &Stage) {
            self.note("moved", stage);
        }

        fn ended(&self, stage: &Stage) {
            self.note("ended", stage);
        }
    }

    #[test]
    fn a_watcher_sees_phases_of_its_thread_and_no_hidden_size() {
        let notes = Arc::new(Notes::default());
        watch(notes.clone());
        let hidden = Stage::begin("counting", Size::Hidden(777));
        hidden.add(200);
        drop(hidden);
        drop(Stage::begin("waiting", Size::Unknown));
        let read = Stage::begin("reading", Size::Bytes(8));
        let mut reader = Reader::new(&b"12345678"[..], read);
        let copied = std::io::copy(&mut reader, &mut std::io::sink());
        assert_eq!(copied.ok(), Some(8));
        drop(reader);
        let elsewhere = || Stage::begin("unseen", Size::Unknown).add(1);
        assert!(std::thread::spawn(elsewhere).join().is_ok());
        let seen = notes.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert_eq!(
            seen,
            [
                "begun counting None Some(0.0)",
                "moved counting None Some(0.25)",
                "ended counting None Some(0.25)",
                "begun waiting Some(0) None",
                "ended waiting Some(0) None",
                "begun reading Some(0) Some(0.0)",
                "moved reading Some(8) Some(1.0)",
                "moved reading Some(8) Some(1.0)",
                "ended reading Some(8) Some(1.0)",
            ]
        );
    }
}
