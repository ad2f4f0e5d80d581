//! A text as lines of numbers.

use sha2::{Digest, Sha256};
use std::ops::Range;

/// Where a text begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextStart {
    /// Its name.
    pub name: String,
    /// Its first line, counted from 0 through all texts.
    pub first_line: u64,
}

/// Whose lines they are.
#[derive(Debug)]
pub(crate) struct Users {
    pub(crate) of_line: Vec<u32>,
    pub(crate) names: Vec<Box<str>>,
}

/// Lines of word ids, one after another: 4 bytes a token and 8 bytes a line.
///
/// # Privacy
/// This is the data itself.
#[derive(Debug)]
pub struct Corpus {
    pub(crate) tokens: Vec<u32>,
    /// Where each line begins, and at last where the last one ends.
    pub(crate) line_starts: Vec<u64>,
    pub(crate) texts: Vec<TextStart>,
    pub(crate) users: Option<Users>,
    pub(crate) vocabulary_size: usize,
}

impl Corpus {
    pub(crate) fn empty() -> Self {
        Self {
            tokens: Vec::new(),
            line_starts: vec![0],
            texts: Vec::new(),
            users: None,
            vocabulary_size: 0,
        }
    }

    /// The number of lines, those without tokens included.
    pub fn line_count(&self) -> u64 {
        self.line_starts.len() as u64 - 1
    }

    /// The tokens of a line; none if there is no such line.
    pub(crate) fn line(&self, line: u64) -> &[u32] {
        let bounds =
            usize::try_from(line).ok().and_then(|line| self.line_starts.get(line..)?.get(..2));
        match bounds {
            Some(bounds) => &self.tokens[bounds[0] as usize..bounds[1] as usize],
            None => &[],
        }
    }

    /// The number of users, where they are known.
    pub(crate) fn user_count(&self) -> Option<u64> {
        self.users.as_ref().map(|users| users.names.len() as u64)
    }

    /// The number of the user whose line this is, where users are known.
    pub(crate) fn user_of_line(&self, line: u64) -> Option<u32> {
        self.users.as_ref()?.of_line.get(usize::try_from(line).ok()?).copied()
    }

    /// The name of a user.
    pub(crate) fn user_name(&self, user: u32) -> Option<&str> {
        self.users.as_ref()?.names.get(user as usize).map(|name| &**name)
    }

    /// How often each word occurs. Exact, hence *not private*.
    pub(crate) fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.vocabulary_size];
        for &token in &self.tokens {
            counts[token as usize] += 1;
        }
        counts
    }

    /// The same texts in the order of the SHA-256 of their names (as hexadecimal or as bytes, which
    /// is the same order): an order that anybody finds again and that has nothing to do with genre.
    /// Texts of equal names stay in their order. Takes the memory of a second copy for a moment.
    pub fn ordered_by_name_hash(self) -> Self {
        let mut order: Vec<usize> = (0..self.texts.len()).collect();
        order.sort_by_cached_key(|&text| Sha256::digest(&self.texts[text].name));
        let mut ordered = Self::empty();
        ordered.vocabulary_size = self.vocabulary_size;
        ordered.tokens.reserve_exact(self.tokens.len());
        ordered.line_starts.reserve_exact(self.line_starts.len());
        let mut of_line = Vec::new();
        for text in order {
            let name = self.texts[text].name.clone();
            ordered.texts.push(TextStart { name, first_line: ordered.line_count() });
            for line in self.lines_of_text(text) {
                ordered.tokens.extend_from_slice(self.line(line));
                ordered.line_starts.push(ordered.tokens.len() as u64);
                of_line.extend(self.user_of_line(line));
            }
        }
        ordered.users = self.users.map(|users| Users { of_line, names: users.names });
        ordered
    }

    fn lines_of_text(&self, text: usize) -> Range<u64> {
        let end = self.texts.get(text + 1).map_or(self.line_count(), |next| next.first_line);
        self.texts[text].first_line..end
    }

    /// SHA-256 of everything that training sees: it tells whether a run goes on with the same data.
    ///
    /// # Privacy
    /// Whoever can guess all of the data can check the guess with it, so it belongs with the private
    /// files of a run.
    pub(crate) fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut number = |value: u64| hash.update(value.to_le_bytes());
        number(self.vocabulary_size as u64);
        number(self.line_count());
        self.line_starts.iter().for_each(|&start| number(start));
        self.tokens.iter().for_each(|&token| number(token.into()));
        number(self.texts.len() as u64);
        self.texts.iter().for_each(|text| number(text.first_line));
        for text in &self.texts {
            hash.update(Sha256::digest(&text.name));
        }
        if let Some(users) = &self.users {
            users.of_line.iter().for_each(|user| hash.update(user.to_le_bytes()));
            users.names.iter().for_each(|name| hash.update(Sha256::digest(name.as_bytes())));
        }
        hash.finalize().into()
    }

    /// The same lines in other numbers, in place; what has no number is dropped.
    pub(crate) fn renumbered(mut self, numbers: &[Option<u32>], vocabulary_size: usize) -> Self {
        let mut kept = 0;
        let mut begin = 0;
        for line in 1..self.line_starts.len() {
            let end = self.line_starts[line] as usize;
            for token in begin..end {
                if let Some(number) = numbers[self.tokens[token] as usize] {
                    self.tokens[kept] = number;
                    kept += 1;
                }
            }
            self.line_starts[line] = kept as u64;
            begin = end;
        }
        self.tokens.truncate(kept);
        self.tokens.shrink_to_fit();
        self.vocabulary_size = vocabulary_size;
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::text::tests::Fixed;
    use crate::{Corpus, Layout, TokenisedText, Tokeniser, Vocabulary};

    fn corpus(lines: &[(&'static str, &'static str)], layout: Layout) -> Corpus {
        let source = Fixed(lines.to_vec());
        let text = TokenisedText::read(&source, &Tokeniser::default(), layout).unwrap();
        let vocabulary = Vocabulary::new(["a", "b", "c"].map(Box::from).into()).unwrap();
        text.into_corpus(&vocabulary)
    }

    #[test]
    fn texts_are_ordered_by_the_hash_of_their_names() {
        // SHA-256 of "ca01" begins with ad21, of "ca02" with 63f4, of "ca03" with 6843.
        let lines = [("ca01", "u\ta b"), ("ca02", "v\tb"), ("ca02", "u\tc c"), ("ca03", "w\tc a")];
        let ordered = corpus(&lines, Layout::Users).ordered_by_name_hash();
        let texts: Vec<_> =
            ordered.texts.iter().map(|text| (text.name.as_str(), text.first_line)).collect();
        assert_eq!(texts, [("ca02", 0), ("ca03", 2), ("ca01", 3)]);
        let lines: Vec<_> = (0..4).map(|line| ordered.line(line).to_vec()).collect();
        assert_eq!(lines, [vec![1], vec![2, 2], vec![2, 0], vec![0, 1]]);
        let names: Vec<_> = (0..4)
            .map(|line| ordered.user_name(ordered.user_of_line(line).unwrap()).unwrap())
            .collect();
        assert_eq!(names, ["v", "u", "w", "u"]);
        assert!(ordered.line(4).is_empty() && ordered.line(u64::MAX).is_empty());
    }

    #[test]
    fn the_fingerprint_sees_every_part() {
        let base = || [("t", "u\ta b"), ("t", "v\tc c")];
        let print =
            |lines: &[(&'static str, &'static str)]| corpus(lines, Layout::Users).fingerprint();
        let first = print(&base());
        assert_eq!(first, print(&base()));
        for (line, changed) in [
            (0, ("t", "u\ta c")),
            (0, ("t", "w\ta b")),
            (0, ("s", "u\ta b")),
            (1, ("t", "u\tc c")),
            (1, ("t", "v\tc")),
        ] {
            let mut other = base();
            other[line] = changed;
            assert_ne!(first, print(&other), "{changed:?}");
        }
    }
}
