//! What contexts of one kind say of the word after them.

use organza_data::Writing;

/// By what a context is found.
#[derive(Clone, Debug, PartialEq)]
pub enum Context {
    /// So many symbols, as they are.
    Symbols(usize),
    /// The class of a symbol, by symbol, and the symbol after it.
    Class(Vec<u32>),
}

/// The contexts of one kind, each with a part of the probability for some words, in the order of words, and what it leaves to
/// shorter contexts.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub(crate) context: Context,
    /// The numbers of contexts, rising.
    pub(crate) keys: Vec<u64>,
    /// Where the words of each context begin, and at last where those of the last one end.
    pub(crate) starts: Vec<u32>,
    pub(crate) words: Vec<u32>,
    pub(crate) parts: Vec<f32>,
    /// What each context leaves.
    pub(crate) left: Vec<f32>,
}

impl Level {
    /// Without a context yet.
    pub(crate) fn new(context: Context) -> Self {
        Self {
            context,
            keys: Vec::new(),
            starts: vec![0],
            words: Vec::new(),
            parts: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Adds a context, of a larger number than those before, with (word, part of the probability) in the order of words; what they do not
    /// have is left to shorter contexts. One that says nothing is not kept.
    pub(crate) fn push(&mut self, key: u64, following: impl IntoIterator<Item = (u32, f32)>) {
        let before = self.words.len();
        let mut left = 1.0;
        for (word, part) in following {
            left -= f64::from(part);
            self.words.push(word);
            self.parts.push(part);
        }
        if self.words.len() > before {
            self.keys.push(key);
            self.starts.push(self.words.len() as u32);
            self.left.push(left.max(0.0) as f32);
        }
    }

    /// The number of a context that a row ends with; none if the row is too short, or is not about words.
    pub(crate) fn key(&self, row: &[u32], symbols: u32) -> Option<u64> {
        let length = self.length();
        let row = &row[row.len().checked_sub(length)?..];
        if row.contains(&Writing::OTHER) {
            return None;
        }
        let first = match &self.context {
            Context::Symbols(_) => *row.first()?,
            Context::Class(classes) => *classes.get(*row.first()? as usize)?,
        };
        let add = |key: u64, symbol: &u32| key * u64::from(symbols) + u64::from(*symbol);
        Some(row[1..].iter().fold(first.into(), add))
    }

    /// How many symbols a context has.
    pub fn length(&self) -> usize {
        match self.context {
            Context::Symbols(length) => length,
            Context::Class(_) => 2,
        }
    }

    /// The place of the context that a row ends with.
    pub(crate) fn place(&self, row: &[u32], symbols: u32) -> Option<usize> {
        self.keys.binary_search(&self.key(row, symbols)?).ok()
    }

    /// The words of a context, with their parts of the probability.
    pub(crate) fn following(&self, place: usize) -> impl ExactSizeIterator<Item = (u32, f32)> {
        let range = self.starts[place] as usize..self.starts[place + 1] as usize;
        self.words[range.clone()].iter().copied().zip(self.parts[range].iter().copied())
    }

    /// The part of the probability of a word.
    pub(crate) fn part(&self, place: usize, word: u32) -> f32 {
        let range = self.starts[place] as usize..self.starts[place + 1] as usize;
        let found = self.words[range.clone()].binary_search(&word);
        found.map_or(0.0, |at| self.parts[range.start + at])
    }

    /// Whether its tables fit each other, for so many symbols.
    pub(crate) fn fits(&self, symbols: u32) -> bool {
        let Self { context, keys, starts, words, parts, left } = self;
        let rising = keys.is_sorted_by(|one, other| one < other) && starts.is_sorted();
        let ends = starts.first() == Some(&0)
            && starts.last().map(|end| *end as usize) == Some(words.len());
        let sizes = starts.len() == keys.len() + 1
            && left.len() == keys.len()
            && parts.len() == words.len();
        let known = words.iter().all(|word| (Writing::FIRST_WORD..symbols).contains(word));
        let classes = match context {
            Context::Symbols(length) => (1..8).contains(length),
            Context::Class(classes) => classes.len() == symbols as usize,
        };
        let sorted = |ends: &[u32]| words[ends[0] as usize..ends[1] as usize].is_sorted();
        rising && ends && sizes && known && classes && starts.windows(2).all(sorted)
    }
}
