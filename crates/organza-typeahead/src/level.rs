//! What contexts of one kind say of the word after them.

use organza_data::Writing;

/// Other words that have less than this of the probability together have nothing.
const LEAST_OTHERS: f64 = 1e-4;

/// By what a context is found.
#[derive(Clone, Debug, PartialEq)]
pub enum Context {
    /// So many symbols, as they are.
    Symbols(usize),
    /// So many symbols, of which the first counts by its class.
    Class {
        /// The class of each symbol.
        of_symbol: Vec<u32>,
        /// How many symbols.
        length: usize,
    },
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

    /// Adds a context with the probabilities of some words, in the order of words; the others share what is left as they do in `others`,
    /// the probabilities of all words after the next shorter context.
    pub(crate) fn push_among(
        &mut self,
        key: u64,
        listed: &[(u32, f32)],
        others: impl Fn(u32) -> f32,
    ) {
        let own: f64 = listed.iter().map(|(_, it)| f64::from(*it)).sum();
        let theirs: f64 = listed.iter().map(|(word, _)| f64::from(others(*word))).sum();
        // Where there are next to no others, those that are listed share everything.
        let (left, scale) = match 1.0 - theirs < LEAST_OTHERS {
            true => (0.0, 1.0 / own.max(f64::MIN_POSITIVE)),
            false => ((1.0 - own).max(0.0) / (1.0 - theirs), 1.0),
        };
        let part = |(word, it): &(u32, f32)| {
            (*word, (scale * f64::from(*it) - left * f64::from(others(*word))) as f32)
        };
        self.push(key, listed.iter().map(part));
        if let (Some(last), false) = (self.left.last_mut(), listed.is_empty()) {
            *last = left as f32;
        }
    }

    /// The same, where the probabilities of all words are a list, from the first word.
    pub(crate) fn push_listed(&mut self, key: u64, listed: &[(u32, f32)], others: &[f32]) {
        self.push_among(key, listed, |word| others[(word - Writing::FIRST_WORD) as usize]);
    }

    /// Adds a context with the probabilities of all words, from the first word, of which those are listed that differ from `others` by more than
    /// `least`.
    pub(crate) fn push_over(&mut self, key: u64, row: &[f32], others: &[f32], least: f32) {
        let all = (Writing::FIRST_WORD..).zip(row.iter().zip(others));
        let listed = all.filter(|(_, (one, other))| (*one - *other).abs() > least);
        let listed: Vec<(u32, f32)> = listed.map(|(word, (one, _))| (word, *one)).collect();
        self.push_listed(key, &listed, others);
    }

    /// The number of a context that a row ends with; none if the row is too short, or is not about words.
    pub(crate) fn key(&self, row: &[u32], symbols: u32) -> Option<u64> {
        let length = self.length();
        let row = &row[row.len().checked_sub(length)?..];
        let first = match &self.context {
            Context::Symbols(_) => *row.first()?,
            Context::Class { of_symbol, .. } => *of_symbol.get(*row.first()? as usize)?,
        };
        let add = |key: u64, symbol: &u32| key * u64::from(symbols) + u64::from(*symbol);
        Some(row[1..].iter().fold(first.into(), add))
    }

    /// How many symbols a context has.
    pub fn length(&self) -> usize {
        match self.context {
            Context::Symbols(length) | Context::Class { length, .. } => length,
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

    /// The same without parts of a probability up to this.
    pub(crate) fn above(&self, least: f32) -> Self {
        let mut level = Self::new(self.context.clone());
        for (place, key) in self.keys.iter().enumerate() {
            level.push(*key, self.following(place).filter(|(_, part)| part.abs() > least));
            if level.keys.last() == Some(key) {
                level.left[level.keys.len() - 1] = self.left[place];
            }
        }
        level
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
            Context::Class { of_symbol, length } => {
                of_symbol.len() == symbols as usize && (1..8).contains(length)
            }
        };
        let sorted = |ends: &[u32]| words[ends[0] as usize..ends[1] as usize].is_sorted();
        rising && ends && sizes && known && classes && starts.windows(2).all(sorted)
    }
}
