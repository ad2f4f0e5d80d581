//! A whole text as numbers, before it has a vocabulary.

mod batches;

use crate::corpus::Users;
use crate::dictionary::{Dictionary, LARGEST};
use crate::{
    Corpus, DataError, LeftOut, Line, LineProblem, TextSource, TextStart, Tokeniser, Vocabulary,
};
use batches::Batches;
use sha2::{Digest, Sha256};

/// How a line is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// All of it is text.
    #[default]
    Lines,
    /// A column names whose text it is; of plain text the first, `user <tab> text`.
    Users,
    /// All lines of a file are one document.
    Documents,
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
    left_out: LeftOut,
}

impl TokenisedText {
    /// Reads all of a source, in one pass. A line without a user, where users are expected, is nobody's, and is left
    /// out ([`TokenisedText::left_out`]).
    ///
    /// # Errors
    /// Whatever the source finds wrong.
    pub fn read(
        source: &dyn TextSource,
        tokeniser: &Tokeniser,
        layout: Layout,
    ) -> Result<Self, DataError> {
        let mut words = Dictionary::default();
        let mut users = (layout != Layout::Lines).then(|| (Dictionary::default(), Vec::new()));
        let mut lines = Corpus::empty();
        let mut batches = Batches::default();
        let mut count = 0;
        let mut last = None;
        let mut left_out = LeftOut::default();
        source.each_line(&mut |mut line| {
            let too_many = |what| {
                let place = line.place.clone();
                move || DataError::TooMany { place, what, limit: LARGEST }
            };
            if let Some(problem) = line.problem {
                left_out.add(line.place, problem.clone());
                return Ok(());
            }
            if let Some((dictionary, of_line)) = &mut users {
                let (user, text) = match user_and_text(line, layout) {
                    Ok(found) => found,
                    Err(problem) => {
                        left_out.add(line.place, problem);
                        return Ok(());
                    }
                };
                of_line.push(dictionary.number(user).ok_or_else(too_many("users"))?);
                line.text = text;
            }
            if lines.texts.last().is_none_or(|text| text.name != line.name) {
                lines.texts.push(TextStart { name: line.name.to_owned(), first_line: count });
            }
            count += 1;
            let added = batches.add(line, tokeniser, &mut words, &mut lines);
            added.map_err(|_| too_many("words")())?;
            last = Some(line.place.clone());
            Ok(())
        })?;
        let cut = batches.cut(tokeniser, &mut words, &mut lines);
        if let (Err(_), Some(place)) = (cut, last) {
            return Err(DataError::TooMany { place, what: "words", limit: LARGEST });
        }
        lines.users =
            users.map(|(dictionary, of_line)| Users { of_line, names: dictionary.into_strings() });
        let words = words.into_strings();
        lines.vocabulary_size = words.len();
        Ok(Self { words, lines, left_out })
    }

    /// The lines that could not be used. *Not private.*
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// The distinct words; a word's number is its place here.
    pub(crate) fn words(&self) -> &[Box<str>] {
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

/// Whose a line is, and its text.
pub(crate) fn user_and_text(line: Line<'_>, layout: Layout) -> Result<(&str, &str), LineProblem> {
    let (user, text) = match (layout, line.user) {
        (Layout::Documents, _) => (line.name, line.text),
        (_, Some(user)) => (user, line.text),
        (_, None) => line.text.split_once('\t').ok_or(LineProblem::NoUser)?,
    };
    let user = user.trim();
    if user.is_empty() { Err(LineProblem::EmptyUser) } else { Ok((user, text)) }
}

#[cfg(test)]
pub(crate) mod tests;
