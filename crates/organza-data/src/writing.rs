//! What everybody wrote, word after word: for models of what comes next.

use crate::split::Sides;
use crate::{DataError, Phrase, SENTENCE_END, TokenisedText, Vocabulary};
use organza_ledger::Unit;
use std::ops::Range;

/// The rows of all units, one after another: words of a vocabulary, and what stands between them.
///
/// # Privacy
/// This is the data itself.
#[derive(Clone, Debug, Default)]
pub struct Writing {
    tokens: Vec<u32>,
    /// Where each unit begins, and at last where the last one ends.
    starts: Vec<usize>,
    /// The number of numbers.
    symbols: u32,
}

impl Writing {
    /// The number of the end of a sentence, with which every row begins.
    pub const END: u32 = 0;
    /// The number of a word outside the vocabulary.
    pub const OTHER: u32 = 1;
    /// The number of the first word of the vocabulary; others follow.
    pub const FIRST_WORD: u32 = 2;

    /// Rows of numbers below `symbols`, a unit each.
    pub fn of_rows<R: IntoIterator<Item = u32>>(
        symbols: u32,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        let mut writing = Self { tokens: Vec::new(), starts: vec![0], symbols };
        writing.append(rows);
        writing
    }

    /// Adds rows, a unit each.
    fn append<R: IntoIterator<Item = u32>>(&mut self, rows: impl IntoIterator<Item = R>) {
        for row in rows {
            self.tokens.extend(row.into_iter().filter(|symbol| *symbol < self.symbols));
            self.starts.push(self.tokens.len());
        }
    }

    /// Adds phrases of words of the vocabulary, each as a sentence that is all that one more unit wrote.
    pub fn append_phrases(&mut self, phrases: &[Phrase]) {
        let word = |id: u32| id.saturating_add(Self::FIRST_WORD);
        let row = |[one, two, three]: &Phrase| {
            [Self::END, word(*one), word(*two), word(*three), Self::END]
        };
        self.append(phrases.iter().map(row));
    }

    /// The number of units. *Not private.*
    pub fn units(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The number of numbers: words, the end of a sentence and the word outside.
    pub fn symbols(&self) -> u32 {
        self.symbols
    }

    /// The row of a unit.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn unit(&self, unit: usize) -> &[u32] {
        &self.tokens[self.starts[unit]..self.starts[unit + 1]]
    }

    /// The rows of some units.
    pub fn rows(&self, units: Range<usize>) -> impl Iterator<Item = &[u32]> {
        units.map(|unit| self.unit(unit))
    }
}

impl Sides {
    /// What the units of training wrote, and those that test: in the numbers of a vocabulary, every unit in one row. Lines and
    /// sentences end with [`Writing::END`].
    ///
    /// # Errors
    /// When the text is another one.
    pub fn writing(
        &self,
        text: TokenisedText,
        vocabulary: &Vocabulary,
    ) -> Result<[Writing; 2], DataError> {
        let number = |word: &str| match word {
            SENTENCE_END => Writing::END,
            word => vocabulary.id(word).map_or(Writing::OTHER, |id| id + Writing::FIRST_WORD),
        };
        let numbers: Vec<u32> = text.words().iter().map(|word| number(word)).collect();
        let symbols = vocabulary.len() as u32 + Writing::FIRST_WORD;
        let lines = text.lines();
        let (sides, found) = (self.sides(), lines.line_count());
        if sides.len() as u64 != found {
            return Err(DataError::OtherText { sides: sides.len() as u64, lines: found });
        }
        let of_side = |is_test: bool| {
            let mut order: Vec<u64> = (0..)
                .zip(&sides)
                .filter(|(_, test)| **test == is_test)
                .map(|(line, _)| line)
                .collect();
            if self.unit() != Unit::Line {
                order.sort_by_key(|line| lines.user_of_line(*line));
            }
            let same = |one: &u64, other: &u64| {
                self.unit() != Unit::Line && lines.user_of_line(*one) == lines.user_of_line(*other)
            };
            let row = |of_unit: &[u64]| {
                let mut row = vec![Writing::END];
                for &line in of_unit {
                    row.extend(lines.line(line).iter().map(|word| numbers[*word as usize]));
                    if row.last() != Some(&Writing::END) {
                        row.push(Writing::END);
                    }
                }
                row
            };
            Writing::of_rows(symbols, order.chunk_by(same).map(row))
        };
        Ok([of_side(false), of_side(true)])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::split::Shares;
    use crate::text::tests::Fixed;
    use crate::{Layout, Tokeniser};

    #[test]
    fn a_phrase_is_a_unit_more() {
        let mut writing = Writing::of_rows(5, [vec![0, 2, 0], vec![0, 4, 3, 0]]);
        writing.append_phrases(&[[0, 1, 2], [2, 2, 0]]);
        let rows: Vec<&[u32]> = writing.rows(0..writing.units()).collect();
        let expected: [&[u32]; 4] = [&[0, 2, 0], &[0, 4, 3, 0], &[0, 2, 3, 4, 0], &[0, 4, 4, 2, 0]];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_unit_is_one_row() {
        let lines = [("t", "u\ta b! c"), ("t", "v\tx a."), ("t", "u\tb. a x"), ("t", "w\t")];
        let tokeniser = Tokeniser { sentences: true, ..Tokeniser::default() };
        let rows = |layout, unit, test| {
            let text = TokenisedText::read(&Fixed(lines.to_vec()), &tokeniser, layout).unwrap();
            let vocabulary = Vocabulary::new(["a", "b"].map(Box::from).into()).unwrap();
            let sides = Sides::by_unit(&text, unit, Shares { validation: 0.0, test }, 1).unwrap();
            sides.writing(text, &vocabulary).unwrap().map(|side| {
                assert_eq!(side.symbols(), 4);
                side.rows(0..side.units()).map(<[u32]>::to_vec).collect::<Vec<_>>()
            })
        };
        let [train, test] = rows(Layout::Users, Unit::User, 0.0);
        assert_eq!(train, [vec![0, 2, 3, 0, 1, 0, 3, 0, 2, 1, 0], vec![0, 1, 2, 0], vec![0]]);
        assert!(test.is_empty());
        let [train, _] = rows(Layout::Lines, Unit::Line, 0.0);
        assert_eq!(train[1], [0, 1, 1, 2, 0]);
        assert_eq!(train.len(), 4);
        let [train, test] = rows(Layout::Users, Unit::User, 0.5);
        assert_eq!(train.len() + test.len(), 3);
    }
}
