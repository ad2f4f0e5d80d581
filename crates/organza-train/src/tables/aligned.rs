//! Numbers that begin where a vector of the processor may begin, in memory or on a disk.

use bytemuck::Pod;
use organza_mapped::{Ahead, Mapped};
use std::ops::{Deref, DerefMut, Range};

/// Bytes of a page of memory.
const PAGE: usize = 4_096;
/// Bytes of a line of a cache, and of the widest vector.
const LINE: usize = 64;

/// A list of numbers that begins so many lines after the beginning of a page.
///
/// A vector that lies across two lines takes two accesses; and where lists that are walked together begin at the
/// same place of their pages, processors take what is written to one for what is read of another. Either
/// doubles the time of a pass over a table and its moments.
#[derive(Debug)]
pub(crate) struct Aligned<T>(Room<T>);

#[derive(Debug)]
enum Room<T> {
    Memory { room: Vec<T>, start: usize, length: usize },
    Disk { mapped: Mapped<T>, ahead: Ahead },
}

impl<T: Pod> Aligned<T> {
    /// Takes `values`, without memory for a second list of their size where the system can extend theirs.
    pub(crate) fn new(values: Vec<T>, lines: usize) -> Self {
        let length = values.len();
        let mut room = values;
        room.reserve_exact(2 * Self::PAGE);
        // It moves no more: there is room for what is added.
        let start = Self::start(&room, lines);
        room.resize(start + length, T::zeroed());
        room.copy_within(..length, start);
        Self(Room::Memory { room, start, length })
    }

    /// So many zeros, in memory that is given out when it is first written to.
    pub(crate) fn zeros(length: usize, lines: usize) -> Self {
        let room = vec![T::zeroed(); length + 2 * Self::PAGE];
        let start = Self::start(&room, lines);
        Self(Room::Memory { room, start, length })
    }

    /// Those of a file, which begin with a page.
    pub(crate) fn on_disk(mapped: Mapped<T>) -> Self {
        Self(Room::Disk { mapped, ahead: Ahead::default() })
    }

    /// The file, if they are on a disk.
    pub(crate) fn file(&self) -> Option<&Mapped<T>> {
        match &self.0 {
            Room::Memory { .. } => None,
            Room::Disk { mapped, .. } => Some(mapped),
        }
    }

    /// The file, if they are on a disk, for good.
    pub(crate) fn into_file(self) -> Result<Mapped<T>, Self> {
        match self.0 {
            Room::Memory { .. } => Err(self),
            Room::Disk { mapped, .. } => Ok(mapped),
        }
    }

    /// Has the disk fetch what will be touched soon, all at once; what is in memory is there.
    pub(crate) fn fetch(&mut self, places: impl Iterator<Item = Range<usize>>) {
        if let Room::Disk { mapped, ahead } = &mut self.0 {
            mapped.fetch(ahead, places);
        }
    }

    /// Numbers of a page.
    const PAGE: usize = PAGE / size_of::<T>();

    fn start(room: &[T], lines: usize) -> usize {
        room.as_ptr().align_offset(PAGE).min(Self::PAGE) + lines * LINE % PAGE / size_of::<T>()
    }

    /// The numbers alone.
    pub(crate) fn into_values(self) -> Vec<T> {
        match self.0 {
            Room::Memory { mut room, start, length } => {
                room.truncate(start + length);
                room.drain(..start);
                room
            }
            Room::Disk { mapped, .. } => mapped.numbers().to_vec(),
        }
    }
}

impl<T: Pod> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Room::Memory { room, start, length } => &room[*start..*start + *length],
            Room::Disk { mapped, .. } => mapped.numbers(),
        }
    }
}

impl<T: Pod> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Room::Memory { room, start, length } => &mut room[*start..*start + *length],
            Room::Disk { mapped, .. } => mapped.numbers_mut(),
        }
    }
}

impl<T: Pod + PartialEq> PartialEq for Aligned<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_begin_at_their_lines_and_keep_their_values() {
        for length in [0, 1, 63, 1_000, 100_000] {
            for lines in [0, 1, 20, 63] {
                let values: Vec<f32> = (0..length).map(|value| value as f32).collect();
                let mut aligned = Aligned::new(values.clone(), lines);
                assert_eq!(aligned[..], values);
                assert_eq!(aligned.as_ptr().addr() % PAGE, LINE * lines);
                aligned.iter_mut().for_each(|value| *value += 1.0);
                let moved: Vec<f32> = values.iter().map(|value| value + 1.0).collect();
                assert_eq!(aligned.into_values(), moved);
                let zeros = Aligned::<f32>::zeros(length, lines);
                assert_eq!(zeros.as_ptr().addr() % PAGE, LINE * lines);
                assert_eq!(zeros.into_values(), vec![0.0; length]);
            }
        }
    }
}
