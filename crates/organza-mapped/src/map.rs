//! The mapping itself: the one module with `unsafe`.

use memmap2::{Advice, MmapMut};
use std::fs::File;
use std::io::Result;
use std::ops::Range;

/// Bytes of a file as a slice.
#[derive(Debug)]
pub(crate) struct Map(MmapMut);

impl Map {
    /// Maps all of `file`.
    ///
    /// The caller has made the file under a fresh name, and holds a lock on it for as long as the map lives. See below.
    #[allow(unsafe_code)]
    pub(crate) fn new(file: &File) -> Result<Self> {
        // SAFETY: a slice of a file is sound as long as nothing but its holder changes the bytes or shortens the file.
        // - Within this process, the file is made under a name that did not exist before and mapped once, here;
        //   whoever owns the map owns its only handle, and does nothing with it but to sync, rename and remove the
        //   file.
        // - Other processes find it under a random name only, in mode 600, and locked. Other users cannot open it. A process
        //   of the same user that ignores lock and name could change it, as it could write to this process's memory
        //   through the system; nothing is promised against either.
        // - Numbers of all bit patterns are values of the types that it is read as, so that even then no value is invalid.
        // - All bytes were written before, so that a disk without room is an error of that write, and no signal here.
        let map = unsafe { MmapMut::map_mut(file)? };
        Ok(Self(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// Says that pages are touched in no order, or else in order. It is advice: where it is not taken, nothing but
    /// time is lost.
    pub(crate) fn in_order(&self, ordered: bool) {
        #[cfg(unix)]
        let _ = self.0.advise(if ordered { Advice::Sequential } else { Advice::Random });
    }

    /// Asks for bytes that will be touched soon, and does not wait for them.
    pub(crate) fn will_need(&self, bytes: Range<usize>) {
        #[cfg(unix)]
        let _ = self.0.advise_range(Advice::WillNeed, bytes.start, bytes.len());
    }

    /// Waits until all that was changed is on the disk.
    pub(crate) fn sync(&self) -> Result<()> {
        self.0.flush()
    }
}
