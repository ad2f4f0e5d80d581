//! Numbers in memory that begin where a vector of the processor may begin.

use std::ops::{Deref, DerefMut};

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
pub(crate) struct Aligned<T> {
    room: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// Takes `values`, without memory for a second list of their size where the system can extend theirs.
    pub(crate) fn new(values: Vec<T>, lines: usize) -> Self {
        let length = values.len();
        let mut room = values;
        room.reserve_exact(2 * Self::PAGE);
        // It moves no more: there is room for what is added.
        let start = Self::start(&room, lines);
        room.resize(start + length, T::default());
        room.copy_within(..length, start);
        Self { room, start, length }
    }

    /// So many zeros, in memory that is given out when it is first written to.
    pub(crate) fn zeros(length: usize, lines: usize) -> Self {
        let room = vec![T::default(); length + 2 * Self::PAGE];
        let start = Self::start(&room, lines);
        Self { room, start, length }
    }

    /// Numbers of a page.
    const PAGE: usize = PAGE / size_of::<T>();

    fn start(room: &[T], lines: usize) -> usize {
        room.as_ptr().align_offset(PAGE).min(Self::PAGE) + lines * LINE % PAGE / size_of::<T>()
    }

    /// The numbers alone.
    pub(crate) fn into_values(self) -> Vec<T> {
        let Self { mut room, start, length } = self;
        room.truncate(start + length);
        room.drain(..start);
        room
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.room[self.start..self.start + self.length]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.room[self.start..self.start + self.length]
    }
}

impl<T: PartialEq> PartialEq for Aligned<T> {
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
