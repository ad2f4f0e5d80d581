//! The cells of an order: what could be released, by what was released before.

use crate::grams::{Grams, NONE, Order};
use organza_data::Writing;

/// The n-grams that may be released next, numbered without a gap.
///
/// # Privacy
/// Bigrams: any word after any word and after the end of a sentence, by the vocabulary alone. Longer n-grams: those that two n-grams
/// of the order before make, x1 .. xn and x2 .. xn+1, which were both *released*. So the candidates are a function of the past
/// release and of no text; their cells get noise whether they occur or not.
#[derive(Debug)]
pub(crate) enum Candidates<'a> {
    Bigrams { symbols: u32 },
    Longer { grams: &'a Grams, last: &'a Order, offsets: Vec<u64> },
}

impl<'a> Candidates<'a> {
    /// Those of the order beyond the last.
    pub(crate) fn next(grams: &'a Grams) -> Self {
        let Some(last) = grams.orders.last() else {
            return Self::Bigrams { symbols: grams.symbols() };
        };
        let mut total = 0;
        let mut offsets = Vec::with_capacity(last.len() + 1);
        offsets.push(0);
        for place in 0..last.len() as u32 {
            total += last.places(last.suffix(place)).len() as u64;
            offsets.push(total);
        }
        Self::Longer { grams, last, offsets }
    }

    /// How many there are.
    pub(crate) fn cells(&self) -> u64 {
        match self {
            Self::Bigrams { symbols } => {
                let words = u64::from(*symbols - Writing::FIRST_WORD);
                words * (words + 1)
            }
            Self::Longer { offsets, .. } => offsets.last().copied().unwrap_or_default(),
        }
    }

    /// The context and the word of a cell.
    pub(crate) fn of_cell(&self, cell: u64) -> (u32, u32) {
        match self {
            Self::Bigrams { symbols } => {
                let words = u64::from(*symbols - Writing::FIRST_WORD);
                let (context, word) = ((cell / words) as u32, (cell % words) as u32);
                let context = if context == 0 { Writing::END } else { context + 1 };
                (context, word + Writing::FIRST_WORD)
            }
            Self::Longer { last, offsets, .. } => {
                let context = offsets.partition_point(|offset| *offset <= cell) - 1;
                let places = last.places(last.suffix(context as u32));
                let place = places.start + (cell - offsets[context]) as usize;
                (context as u32, last.words()[place])
            }
        }
    }

    /// The cells of what a unit wrote, in order and each once.
    pub(crate) fn of_row(&self, row: &[u32], cells: &mut Vec<u64>) {
        cells.clear();
        match self {
            Self::Bigrams { symbols } => {
                let words = u64::from(*symbols - Writing::FIRST_WORD);
                cells.extend(row.windows(2).filter_map(|pair| {
                    let is_cell = pair[0] != Writing::OTHER && pair[1] >= Writing::FIRST_WORD;
                    let context = u64::from(pair[0].saturating_sub(1));
                    is_cell.then(|| context * words + u64::from(pair[1] - Writing::FIRST_WORD))
                }));
            }
            Self::Longer { grams, last, offsets } => {
                // The place of the last n-gram, and of the one before it.
                let mut before = NONE;
                for end in 0..row.len() {
                    let gram = place(grams, &row[..=end]);
                    if before != NONE && gram != NONE {
                        let first = last.places(last.suffix(before)).start as u64;
                        cells.push(offsets[before as usize] + u64::from(gram) - first);
                    }
                    before = gram;
                }
            }
        }
        cells.sort_unstable();
        cells.dedup();
    }
}

/// The place in the last order of the n-gram that a row ends with; [`NONE`] if it was not released.
fn place(grams: &Grams, row: &[u32]) -> u32 {
    let length = grams.orders.len() + 1;
    let Some(first) = row.len().checked_sub(length) else { return NONE };
    let row = &row[first..];
    let mut place = row[0];
    for (order, word) in grams.orders.iter().zip(&row[1..]) {
        place = order.place(place, *word);
        if place == NONE {
            break;
        }
    }
    place
}
