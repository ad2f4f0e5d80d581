//! Where tables are kept: in memory, or in files of a folder, mapped into it.

use super::aligned::Aligned;
use bytemuck::Pod;
use organza_mapped::Mapped;
use std::io;
use std::path::Path;

/// Numbers that are made at a time.
pub(super) const PIECE: usize = 1 << 18;

/// Where tables are kept, with all that an optimizer knows of each coordinate. What is known of each row is kept in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Storage<'a> {
    /// In memory.
    Memory,
    /// In files of this folder, which are removed at the end.
    Disk(&'a Path),
}

impl Storage<'_> {
    /// So many zeros; in memory they begin so many lines after the beginning of a page.
    pub(super) fn zeros<T: Pod>(self, length: usize, lines: usize) -> io::Result<Aligned<T>> {
        match self {
            Self::Memory => Ok(Aligned::zeros(length, lines)),
            // Written out: a file with holes could find the disk full when a step touches one.
            Self::Disk(folder) => {
                Mapped::new(folder, 0, length, PIECE, |_| Ok(())).map(Aligned::on_disk)
            }
        }
    }
}

/// What fills pieces of first weights.
type Fill<'a> = dyn FnMut(&mut [f32]) + 'a;

/// First weights that are made piece by piece, for tables that do not fit into memory.
///
/// # Privacy
/// As [`Start`](crate::Start): a function of chance and of what was released.
pub struct FirstWeights<'a> {
    largest: f32,
    fill: Box<Fill<'a>>,
}

impl<'a> FirstWeights<'a> {
    /// Weights of a size up to `largest`. `fill` is called with one list after another, in the order of coordinates:
    /// each has 2^18 weights but the last, so that noise which is drawn in blocks of a power of two is the same as
    /// for all at once.
    pub fn new(largest: f32, fill: impl FnMut(&mut [f32]) + 'a) -> Self {
        Self { largest, fill: Box::new(fill) }
    }

    /// How large they may be.
    pub(crate) fn largest(&self) -> f32 {
        self.largest
    }

    /// Fills the next piece; the first weight that is too large, or no number, is an error.
    pub(super) fn fill(&mut self, piece: &mut [f32]) -> Result<(), f32> {
        (self.fill)(piece);
        let fits = |weight: &&f32| weight.abs() <= self.largest;
        match piece.iter().find(|weight| !fits(weight)) {
            Some(weight) => Err(*weight),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for FirstWeights<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("FirstWeights")
            .field("largest", &self.largest)
            .finish_non_exhaustive()
    }
}

/// The size of the largest weight; no number if one of them is none.
pub(crate) fn largest_of(weights: &[f32]) -> f32 {
    let larger = |largest: f32, size: f32| if size <= largest { largest } else { size };
    let sizes = weights.iter().map(|weight| weight.abs());
    sizes.fold(0.0, |largest, size| if largest.is_nan() { largest } else { larger(largest, size) })
}
