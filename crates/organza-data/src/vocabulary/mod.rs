//! Vocabularies, and where they come from, which is part of privacy.

mod private;
#[cfg(test)]
mod private_tests;

pub use private::{
    PrivateVocabulary, PrivateVocabularyPlan, PrivateVocabularySettings, PrivateWords,
};

use crate::source::TextPath;
use crate::{DataError, LineProblem, SENTENCE_END, TextSource, TokenisedText};
use organza_ledger::PublicFact;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Distinct words; a word's id is its place.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    words: Vec<Box<str>>,
    ids: HashMap<Box<str>, u32>,
}

impl Vocabulary {
    /// A vocabulary of these words in this order; a word that comes again is left out.
    ///
    /// # Errors
    /// When there are fewer than two distinct words: a model has nothing to tell apart then.
    pub(crate) fn new(words: Vec<Box<str>>) -> Result<Self, DataError> {
        let mut ids = HashMap::with_capacity(words.len());
        let mut kept = Vec::with_capacity(words.len());
        for word in words {
            let Ok(id) = u32::try_from(kept.len()) else { break };
            if !ids.contains_key(&word) {
                ids.insert(word.clone(), id);
                kept.push(word);
            }
        }
        let found = kept.len();
        if found < 2 {
            Err(DataError::VocabularyTooSmall { found })
        } else {
            Ok(Self { words: kept, ids })
        }
    }

    /// The number of words, at least 2.
    #[expect(clippy::len_without_is_empty, reason = "a vocabulary is never empty")]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// The words, by id.
    pub fn words(&self) -> &[Box<str>] {
        &self.words
    }

    /// The id of a word.
    pub(crate) fn id(&self, word: &str) -> Option<u32> {
        self.ids.get(word).copied()
    }
}

/// A vocabulary, and what its origin obliges to say.
#[derive(Clone, Debug)]
pub struct VocabularyRelease {
    /// The vocabulary.
    pub vocabulary: Vocabulary,
    /// What has to stand on the certificate: what is taken for public, in words.
    pub fact: PublicFact,
}

/// Where a vocabulary comes from.
///
/// # Privacy
/// A rare word in a vocabulary can give away that one person's text is in the data. So a vocabulary
/// either comes from elsewhere, or is declared public by a person and named on the certificate, or is
/// released by a mechanism, which is a [`PrivateVocabularyPlan`] and no such source: its event depends on settings
/// alone, so that it can be charged first, and it releases nothing without the proof of the charge.
pub trait VocabularySource {
    /// The vocabulary for a text.
    ///
    /// # Errors
    /// When it cannot be made as the settings ask.
    fn vocabulary(&self, text: &TokenisedText) -> Result<VocabularyRelease, DataError>;
}

/// A public file with one word a line. The text is not looked at.
#[derive(Clone, Debug)]
pub struct FromFile {
    path: PathBuf,
}

impl FromFile {
    /// The file, which is not read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

/// The words of a file, one a line, each once.
pub(crate) fn word_list(path: &Path) -> Result<Vec<Box<str>>, DataError> {
    let mut words = Vec::new();
    let mut lines: HashMap<Box<str>, u64> = HashMap::new();
    TextPath::new(path).each_line(&mut |line| {
        if let Some(problem) = line.problem {
            return Err(DataError::line(line.place, problem.clone()));
        }
        let word = line.text.trim();
        let shown = || word.chars().take(40).collect();
        if word.contains(char::is_whitespace) {
            return Err(DataError::line(line.place, LineProblem::ManyWords(shown())));
        }
        if let Some(first) = lines.insert(word.into(), line.place.line) {
            let problem = LineProblem::DoubledWord { word: shown(), first };
            return Err(DataError::line(line.place, problem));
        }
        words.push(word.into());
        Ok(())
    })?;
    Ok(words)
}

impl VocabularySource for FromFile {
    fn vocabulary(&self, _text: &TokenisedText) -> Result<VocabularyRelease, DataError> {
        let vocabulary = Vocabulary::new(word_list(&self.path)?)?;
        let mut hash = Sha256::new();
        for word in vocabulary.words() {
            hash.update(word.as_bytes());
            hash.update(b"\n");
        }
        let print: String = hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy();
        let fact = PublicFact::new(
            "vocabulary",
            format!(
                "{} words from the file `{name}`, which was declared public (its words have the SHA-256 \
             {print}...)",
                vocabulary.len()
            ),
        );
        Ok(VocabularyRelease { vocabulary, fact })
    }
}

/// The most frequent words of the text itself, declared public by a person, as the paper does.
///
/// # Privacy
/// Nothing protects this vocabulary, nor the order of its words: the certificate says so, and the
/// guarantee holds for a person who believes the declaration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclaredPublic {
    /// How many words: exactly as many without a minimum count, at most as many with one.
    pub size: Option<usize>,
    /// How often a word occurs at least.
    pub minimum_count: Option<u64>,
}

impl DeclaredPublic {
    /// Exactly the `size` most frequent words; equally frequent ones in the order of the words.
    pub fn most_frequent(size: usize) -> Self {
        Self { size: Some(size), minimum_count: None }
    }

    fn statement(self, found: usize) -> String {
        let which = if self.size.is_some() { "the most frequent words" } else { "all words" };
        let often = self
            .minimum_count
            .map_or(String::new(), |count| format!(" that occur {count} times or more"));
        format!(
            "{which}{often} ({found}), counted from the data without protection and declared public, \
             as is their order"
        )
    }
}

impl VocabularySource for DeclaredPublic {
    fn vocabulary(&self, text: &TokenisedText) -> Result<VocabularyRelease, DataError> {
        let counts = text.lines().counts();
        let mut words: Vec<_> = text.words().iter().zip(&counts).collect();
        let minimum = self.minimum_count.unwrap_or(1);
        words.retain(|(word, count)| **count >= minimum && &***word != SENTENCE_END);
        words.sort_unstable_by(|one, other| other.1.cmp(one.1).then_with(|| one.0.cmp(other.0)));
        if let Some(asked) = self.size {
            let found = words.len();
            if asked > found && found >= 2 && self.minimum_count.is_none() {
                return Err(DataError::VocabularyTooLarge { asked, found });
            }
            words.truncate(asked);
        }
        let vocabulary =
            Vocabulary::new(words.into_iter().map(|(word, _)| word.clone()).collect())?;
        let fact = PublicFact::new("vocabulary", self.statement(vocabulary.len()));
        Ok(VocabularyRelease { vocabulary, fact })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Layout;
    use crate::text::tests::read;
    use std::fs;

    fn text() -> TokenisedText {
        read(&["d c b a", "c b a z", "b a z"], Layout::Lines).unwrap()
    }

    fn words(source: &dyn VocabularySource) -> Result<(Vec<String>, String), DataError> {
        let release = source.vocabulary(&text())?;
        assert_eq!(release.fact.name, "vocabulary");
        let words = release.vocabulary.words().iter().map(|word| word.to_string()).collect();
        Ok((words, release.fact.value))
    }

    #[test]
    fn frequent_words_come_first_and_ties_by_word() {
        let (all, said) = words(&DeclaredPublic::most_frequent(5)).unwrap();
        assert_eq!(all, ["a", "b", "c", "z", "d"]);
        assert!(
            said.starts_with("the most frequent words (5), counted from the data without"),
            "{said}"
        );
        assert_eq!(words(&DeclaredPublic::most_frequent(3)).unwrap().0, ["a", "b", "c"]);
        let (all, said) =
            words(&DeclaredPublic { minimum_count: Some(2), ..DeclaredPublic::default() }).unwrap();
        assert_eq!(all, ["a", "b", "c", "z"]);
        assert!(said.starts_with("all words that occur 2 times or more (4), counted"), "{said}");
        let both = DeclaredPublic { size: Some(10), minimum_count: Some(3) };
        assert_eq!(words(&both).unwrap().0, ["a", "b"]);
    }

    #[test]
    fn a_size_that_cannot_be_had_is_refused() {
        let error = words(&DeclaredPublic::most_frequent(6)).unwrap_err().to_string();
        assert!(error.contains("a vocabulary of 6 words") && error.contains("only 5"), "{error}");
        for source in [
            DeclaredPublic::most_frequent(1),
            DeclaredPublic { minimum_count: Some(4), ..DeclaredPublic::default() },
        ] {
            let error = words(&source).unwrap_err();
            assert!(matches!(error, DataError::VocabularyTooSmall { .. }), "{error}");
        }
        for line in ["one one ONE", "... !"] {
            let text = read(&[line, line], Layout::Lines).unwrap();
            let error = DeclaredPublic::most_frequent(1000).vocabulary(&text).unwrap_err();
            assert!(matches!(error, DataError::VocabularyTooSmall { .. }), "{error}");
        }
    }

    #[test]
    fn ids_are_places() {
        let vocabulary = Vocabulary::new(["x", "y", "x", "z"].map(Box::from).into()).unwrap();
        assert_eq!(vocabulary.len(), 3);
        for id in 0..3 {
            assert_eq!(vocabulary.id(&vocabulary.words()[id as usize]), Some(id));
        }
        assert_eq!(vocabulary.id("w"), None);
    }

    #[test]
    fn a_file_has_one_word_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words.txt");
        let put = |text: &str| {
            fs::write(&path, text).unwrap();
            words(&FromFile::new(&path))
        };
        let (all, said) = put("zebra\nb\r\n\nélan\n").unwrap();
        assert_eq!(all, ["zebra", "b", "élan"]);
        assert!(
            said.starts_with("3 words from the file `words.txt`, which was declared public"),
            "{said}"
        );
        assert_ne!(said, put("zebra\nb\nelan\n").unwrap().1);
        let refused = |text: &str| put(text).unwrap_err().to_string();
        assert!(refused("a\nb\na\n").contains("line 3: `a` is in line 1 already"));
        assert!(refused("a\ntwo words\n").contains("line 2: `two words` holds white space"));
        assert!(refused("").contains("has 0 word(s)"));
        assert!(refused("one\n").contains("at least 2"));
    }
}
