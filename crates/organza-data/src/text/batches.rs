//! Lines gathered, and cut into words on all threads.

use crate::dictionary::Dictionary;
use crate::{Corpus, Line, Place, Tokeniser};
use rayon::prelude::*;
use std::path::PathBuf;

/// So many bytes of text are one batch, and so many batches a thread are read before they are cut.
const BATCH: usize = 1 << 20;
const BATCHES_A_THREAD: usize = 2;

/// Lines that wait to be cut.
///
/// Each batch numbers its words by itself; then, one batch after another, its words get the numbers that they would have if
/// all lines had been cut in turn. So threads change nothing.
#[derive(Default)]
pub(super) struct Batches {
    full: Vec<Batch>,
    last: Batch,
}

#[derive(Default)]
struct Batch {
    text: String,
    /// Where each line ends, and whether its tokens are parted already.
    lines: Vec<(usize, bool)>,
}

/// A batch in the numbers of its own words.
struct Cut {
    words: Vec<Box<str>>,
    tokens: Vec<u32>,
    /// How many tokens there are up to the end of each line.
    ends: Vec<usize>,
}

/// There are more distinct words than there are numbers.
pub(super) struct TooManyWords;

impl Batches {
    /// Adds a line; when there are enough of them, they are cut into words and added to `lines`.
    pub(super) fn add(
        &mut self,
        line: Line<'_>,
        tokeniser: &Tokeniser,
        words: &mut Dictionary,
        lines: &mut Corpus,
    ) -> Result<(), TooManyWords> {
        self.last.text.push_str(line.text);
        self.last.lines.push((self.last.text.len(), line.tokenised));
        if self.last.text.len() < BATCH {
            return Ok(());
        }
        self.full.push(std::mem::take(&mut self.last));
        if self.full.len() < BATCHES_A_THREAD * rayon::current_num_threads() {
            return Ok(());
        }
        self.cut(tokeniser, words, lines)
    }

    /// Cuts all that wait.
    pub(super) fn cut(
        &mut self,
        tokeniser: &Tokeniser,
        words: &mut Dictionary,
        lines: &mut Corpus,
    ) -> Result<(), TooManyWords> {
        self.full.push(std::mem::take(&mut self.last));
        let batches = std::mem::take(&mut self.full);
        let cut: Vec<Option<Cut>> = batches.par_iter().map(|batch| batch.cut(tokeniser)).collect();
        for cut in cut {
            let Cut { words: own, tokens, ends } = cut.ok_or(TooManyWords)?;
            let numbers: Option<Vec<u32>> = own.iter().map(|word| words.number(word)).collect();
            let numbers = numbers.ok_or(TooManyWords)?;
            let before = lines.tokens.len();
            lines.tokens.extend(tokens.into_iter().map(|token| numbers[token as usize]));
            lines.line_starts.extend(ends.into_iter().map(|end| (before + end) as u64));
        }
        Ok(())
    }
}

impl Batch {
    fn cut(&self, tokeniser: &Tokeniser) -> Option<Cut> {
        let nowhere = Place { file: PathBuf::new(), line: 0 };
        let mut words = Dictionary::default();
        let (mut tokens, mut ends) = (Vec::new(), Vec::with_capacity(self.lines.len()));
        let (mut start, mut full) = (0, false);
        for &(end, tokenised) in &self.lines {
            let line = Line { tokenised, ..Line::of(&self.text[start..end], "", &nowhere) };
            tokeniser.each_token(line, |token| match words.number(token) {
                Some(number) => tokens.push(number),
                None => full = true,
            });
            ends.push(tokens.len());
            start = end;
        }
        (!full).then(|| Cut { words: words.into_strings(), tokens, ends })
    }
}
