//! A whole text as numbers, before it has a vocabulary.

use crate::corpus::Users;
use crate::dictionary::{Dictionary, LARGEST};
use crate::{Corpus, DataError, Line, LineProblem, TextSource, TextStart, Tokeniser, Vocabulary};
use sha2::{Digest, Sha256};

/// How a line is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// All of it is text.
    #[default]
    Lines,
    /// `user <tab> text`: the first column names whose text it is.
    Users,
}

/// A text read once, each distinct word a number: what a [`VocabularySource`] looks at.
///
/// [`VocabularySource`]: crate::VocabularySource
///
/// # Privacy
/// This is the data itself.
#[derive(Debug)]
pub struct TokenisedText {
    words: Vec<Box<str>>,
    lines: Corpus,
}

impl TokenisedText {
    /// Reads all of a source, in one pass.
    ///
    /// # Errors
    /// Whatever the source finds wrong; a line without a user, where users are expected.
    pub fn read(
        source: &dyn TextSource,
        tokeniser: &Tokeniser,
        layout: Layout,
    ) -> Result<Self, DataError> {
        let mut words = Dictionary::default();
        let mut users = (layout == Layout::Users).then(|| (Dictionary::default(), Vec::new()));
        let mut lines = Corpus::empty();
        source.each_line(&mut |mut line| {
            let too_many = |what| {
                let place = line.place.clone();
                move || DataError::TooMany { place, what, limit: LARGEST }
            };
            if let Some((dictionary, of_line)) = &mut users {
                let (user, text) = user_and_text(line)?;
                of_line.push(dictionary.number(user).ok_or_else(too_many("users"))?);
                line.text = text;
            }
            if lines.texts.last().is_none_or(|text| text.name != line.name) {
                let first_line = lines.line_count();
                lines.texts.push(TextStart { name: line.name.to_owned(), first_line });
            }
            let mut full = false;
            tokeniser.each_token(line, |token| match words.number(token) {
                Some(number) => lines.tokens.push(number),
                None => full = true,
            });
            if full {
                return Err(too_many("words")());
            }
            lines.line_starts.push(lines.tokens.len() as u64);
            Ok(())
        })?;
        lines.users =
            users.map(|(dictionary, of_line)| Users { of_line, names: dictionary.into_strings() });
        let words = words.into_strings();
        lines.vocabulary_size = words.len();
        Ok(Self { words, lines })
    }

    /// The distinct words; a word's number is its place here.
    pub fn words(&self) -> &[Box<str>] {
        &self.words
    }

    /// The lines, as numbers of words.
    pub fn lines(&self) -> &Corpus {
        &self.lines
    }

    /// SHA-256 of all words and lines: it tells whether a run goes on with the same data.
    ///
    /// # Privacy
    /// As that of a [`Corpus`], it belongs with the private files of a run.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        self.words.iter().for_each(|word| hash.update(Sha256::digest(word.as_bytes())));
        hash.update(self.lines.fingerprint());
        hash.finalize().into()
    }

    /// The text in the numbers of a vocabulary. Other words are dropped *before* any window is laid,
    /// so that a window reaches over them; lines stay lines, even if nothing is left of them.
    pub fn into_corpus(self, vocabulary: &Vocabulary) -> Corpus {
        let numbers: Vec<_> = self.words.iter().map(|word| vocabulary.id(word)).collect();
        self.lines.renumbered(&numbers, vocabulary.len())
    }
}

fn user_and_text(line: Line<'_>) -> Result<(&str, &str), DataError> {
    let problem = |problem| DataError::line(line.place, problem);
    let (user, text) = line.text.split_once('\t').ok_or_else(|| problem(LineProblem::NoUser))?;
    let user = user.trim();
    if user.is_empty() { Err(problem(LineProblem::EmptyUser)) } else { Ok((user, text)) }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Place;
    use crate::source::Visit;

    /// Lines for tests, each with the name of its text.
    pub(crate) struct Fixed<'a>(pub(crate) Vec<(&'a str, &'a str)>);

    impl TextSource for Fixed<'_> {
        fn each_line(&self, visit: &mut Visit<'_>) -> Result<(), DataError> {
            for (index, (name, text)) in self.0.iter().enumerate() {
                let place = Place { file: (*name).into(), line: index as u64 + 1 };
                visit(Line { text, name, place: &place, tokenised: false })?;
            }
            Ok(())
        }
    }

    pub(crate) fn read(lines: &[&str], layout: Layout) -> Result<TokenisedText, DataError> {
        let lines = lines.iter().map(|line| ("text", *line)).collect();
        TokenisedText::read(&Fixed(lines), &Tokeniser::default(), layout)
    }

    #[test]
    fn words_outside_the_vocabulary_leave_no_gap() {
        let text = read(&["a x b", "x", "b b y a"], Layout::Lines).unwrap();
        assert_eq!(text.words().len(), 4);
        assert_eq!(text.lines().counts(), [2, 2, 3, 1]);
        let vocabulary = Vocabulary::new(["b", "unseen", "a"].map(Box::from).into()).unwrap();
        let corpus = text.into_corpus(&vocabulary);
        let lines: Vec<_> = (0..3).map(|line| corpus.line(line).to_vec()).collect();
        assert_eq!(lines, [vec![2, 0], vec![], vec![0, 0, 2]]);
        assert_eq!(corpus.counts(), [3, 0, 2]);
    }

    #[test]
    fn a_user_stands_before_the_tab() {
        let text =
            read(&["ann\tone two", "bob\tthree", " ann \tfour\tfive"], Layout::Users).unwrap();
        assert_eq!(text.lines().user_count(), Some(2));
        let users: Vec<_> = (0..3).map(|line| text.lines().user_of_line(line)).collect();
        assert_eq!(users, [Some(0), Some(1), Some(0)]);
        assert_eq!(text.lines().line(2).len(), 2);

        let missing = read(&["ann\tone", "no user"], Layout::Users).unwrap_err().to_string();
        assert!(missing.starts_with("`text` line 2: no tab"), "{missing}");
        let empty = read(&[" \tone"], Layout::Users).unwrap_err().to_string();
        assert!(empty.starts_with("`text` line 1: nothing stands before the tab"), "{empty}");
    }
}
