//! Pages that are asked for before they are touched.

use std::ops::Range;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4_096;
const BITS: usize = u64::BITS as usize;
/// A page is asked for again after so many rounds: in between it is taken to be in memory, because asking for one that is
/// costs about as much as the noise of a row.
const ROUNDS: u32 = 512;

/// Pages of a file that will be touched, and those that were asked for lately.
///
/// # Privacy
/// Which pages are asked for follows which rows a batch reads, and shows in nothing but the time that a step takes.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    /// A bit for each page that was asked for in the current rounds.
    lately: Vec<u64>,
    pages: Vec<usize>,
    rounds: u32,
}

impl Ahead {
    /// Calls `ask` with the bytes of all pages on which `places` lie and that were not asked for lately: in ascending
    /// order, those that lie side by side as one. It is one round.
    pub(crate) fn ask(
        &mut self,
        places: impl Iterator<Item = Range<usize>>,
        mut ask: impl FnMut(Range<usize>),
    ) {
        self.rounds += 1;
        if self.rounds == ROUNDS {
            self.rounds = 0;
            self.lately.fill(0);
        }
        self.pages.clear();
        for place in places.filter(|place| !place.is_empty()) {
            for page in place.start / PAGE..=(place.end - 1) / PAGE {
                if page / BITS >= self.lately.len() {
                    self.lately.resize(page / BITS + 1, 0);
                }
                let (word, bit) = (&mut self.lately[page / BITS], 1 << (page % BITS));
                if *word & bit == 0 {
                    *word |= bit;
                    self.pages.push(page);
                }
            }
        }
        self.pages.sort_unstable();
        for side_by_side in self.pages.chunk_by(|page, next| page + 1 == *next) {
            let first = side_by_side[0];
            ask(first * PAGE..(first + side_by_side.len()) * PAGE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(ahead: &mut Ahead, places: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut asked = Vec::new();
        ahead.ask(places.iter().cloned(), |bytes| asked.push(bytes));
        asked
    }

    #[test]
    fn pages_are_asked_for_once_and_those_side_by_side_together() {
        let mut ahead = Ahead::default();
        let places = [9 * PAGE + 5..9 * PAGE + 6, 10..20, PAGE - 1..PAGE + 1, 7..7, 30..40];
        let page = |first: usize, count: usize| first * PAGE..(first + count) * PAGE;
        assert_eq!(asked(&mut ahead, &places), [page(0, 2), page(9, 1)]);
        assert_eq!(asked(&mut ahead, &places), []);
        assert_eq!(asked(&mut ahead, &[8 * PAGE..10 * PAGE, 7..7]), [page(8, 1)]);
        let first = (3..=ROUNDS).find(|_| !asked(&mut ahead, &places).is_empty());
        assert_eq!(first, Some(ROUNDS - 1), "again, when they may have gone");
    }
}
