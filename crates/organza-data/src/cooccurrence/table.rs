//! The cells of unordered pairs, numbered without a gap.

/// All pairs {a, b} of so many words, each word with itself included: cell a (a + 1) / 2 + b for a >= b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairTable {
    words: u32,
}

impl PairTable {
    /// The pairs of `words` words.
    pub fn new(words: u32) -> Self {
        Self { words }
    }

    /// The number of cells.
    pub fn cells(&self) -> u64 {
        u64::from(self.words) * (u64::from(self.words) + 1) / 2
    }

    /// The cell of two words, in either order.
    pub(crate) fn cell(&self, one: u32, other: u32) -> u64 {
        let (larger, smaller) = (u64::from(one.max(other)), u64::from(one.min(other)));
        larger * (larger + 1) / 2 + smaller
    }

    /// The words of a cell, the larger number first.
    pub(crate) fn words_of(&self, cell: u64) -> (u32, u32) {
        // The largest a with a (a + 1) / 2 <= cell; 128 bits, because 8 cells need 67.
        let larger = ((8 * u128::from(cell) + 1).isqrt() - 1) / 2;
        let smaller = u128::from(cell) - larger * (larger + 1) / 2;
        (larger as u32, smaller as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::PairTable;

    #[test]
    fn cells_are_numbered_without_a_gap() {
        let table = PairTable::new(50);
        let mut next = 0;
        for larger in 0..50 {
            for smaller in 0..=larger {
                assert_eq!(table.cell(larger, smaller), next);
                assert_eq!(table.cell(smaller, larger), next);
                assert_eq!(table.words_of(next), (larger, smaller));
                next += 1;
            }
        }
        assert_eq!(table.cells(), next);
        let largest = PairTable::new(u32::MAX);
        assert_eq!(largest.words_of(largest.cells() - 1), (u32::MAX - 1, u32::MAX - 1));
        assert_eq!(largest.words_of(largest.cells() - u64::from(u32::MAX)), (u32::MAX - 1, 0));
    }
}
