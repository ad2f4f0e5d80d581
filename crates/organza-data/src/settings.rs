//! Where text comes from, how it is cut and which words it has, as it stands in the settings of a run.

use crate::shard::{Shard, ShardText};
use crate::source::{TextColumns, of_table, open, open_columns, refuse_table};
use crate::table::Table;
use crate::{
    CanarySettings, DEFAULT_LINES, DataError, DeclaredPublic, FromFile, Layout, StopWords,
    Synthetic, TextSource, TokenisedText, Tokeniser, VocabularyRelease, VocabularySource, Words,
};
use organza_ledger::{PublicFact, Unit};
use serde::{Deserialize, Deserializer, Serialize};
use std::path::PathBuf;

/// The seed of the built-in corpus and of splits, which are no secrets.
pub const PUBLIC_SEED: u64 = 20_210_301;

/// Where text comes from and how it is cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSettings {
    /// A file, a folder, a Brown package, or `-`; without it the built-in corpus.
    pub path: Option<PathBuf>,
    /// The columns of a table; none if the data is plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<TextColumns>,
    /// Whether a line that cannot be used ends the run with an error, which tells that it is there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// How many distinct words the built-in corpus can have, if not the usual number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synthetic_words: Option<usize>,
    /// How many lines the built-in corpus has, if not the usual number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synthetic_lines: Option<u64>,
    /// What a token is; `ascii: true` in older files.
    #[serde(alias = "ascii", deserialize_with = "tokens_or_ascii")]
    pub tokens: Tokens,
    /// Tokens keep their capitals.
    pub keep_case: bool,
    /// Which words are left out; `drop_stop_words: true` in older files.
    #[serde(alias = "drop_stop_words", deserialize_with = "list_or_english")]
    pub stop_words: StopWordList,
    /// Where the words come from.
    pub vocabulary: VocabularyOrigin,
    /// How many words.
    pub vocabulary_size: Option<usize>,
    /// How often a word occurs at least.
    pub minimum_count: Option<u64>,
    /// How training, validation and test data are parted.
    pub split: SplitSettings,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tokens {
    /// Unicode words, ideographs and emoji.
    Unicode,
    /// Runs of a to z.
    Ascii,
    /// Whatever stands between white space.
    Whitespace,
    /// What a regular expression finds.
    Pattern(String),
}

/// Which words are left out for saying little.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopWordList {
    /// None.
    None,
    /// The English ones.
    English,
    /// Those of a public file, one a line.
    File(PathBuf),
}

/// A setting as it is now, or as it was when it could only be given or not.
#[derive(Deserialize)]
#[serde(untagged)]
enum Given<T> {
    Now(T),
    Before(bool),
}

fn tokens_or_ascii<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tokens, D::Error> {
    Ok(match Given::deserialize(deserializer)? {
        Given::Now(tokens) => tokens,
        Given::Before(ascii) => {
            if ascii {
                Tokens::Ascii
            } else {
                Tokens::Unicode
            }
        }
    })
}

fn list_or_english<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StopWordList, D::Error> {
    Ok(match Given::deserialize(deserializer)? {
        Given::Now(list) => list,
        Given::Before(dropped) => {
            if dropped {
                StopWordList::English
            } else {
                StopWordList::None
            }
        }
    })
}

/// Where the words come from, which is part of privacy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VocabularyOrigin {
    /// A public file of words, one a line.
    File(PathBuf),
    /// They are counted from the data and declared public.
    DeclaredPublic,
    /// They are released with a charge: a word that few units have stays secret.
    Private {
        /// At most so many distinct words of a unit count.
        words_per_unit: u64,
        /// A public file of words, one a line, that are in the vocabulary anyway: others come on top.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<PathBuf>,
    },
}

impl VocabularyOrigin {
    /// A private vocabulary with the usual bound on a unit.
    pub fn private() -> Self {
        Self::Private { words_per_unit: 1_024, file: None }
    }
}

/// How training, validation and test data are parted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitSettings {
    /// Each unit by a hash of itself: these shares validate and test.
    Units {
        /// The share that validates.
        validation: f64,
        /// The share that tests.
        test: f64,
    },
    /// The paper's sizes, of shuffled pairs.
    PaperShuffled,
    /// The paper's sizes, whole texts held out.
    WholeTexts,
}

impl Default for DataSettings {
    /// The built-in corpus, cut into Unicode words; of other text the words are released with a charge.
    fn default() -> Self {
        Self {
            path: None,
            columns: None,
            strict: false,
            synthetic_words: None,
            synthetic_lines: None,
            tokens: Tokens::Unicode,
            keep_case: false,
            stop_words: StopWordList::None,
            vocabulary: VocabularyOrigin::private(),
            vocabulary_size: None,
            minimum_count: None,
            split: SplitSettings::Units { validation: 0.05, test: 0.05 },
        }
    }
}

/// How lines are laid out where `unit` is protected as one.
fn layout(unit: Unit) -> Layout {
    match unit {
        Unit::User => Layout::Users,
        Unit::Document => Layout::Documents,
        _ => Layout::Lines,
    }
}

impl Tokens {
    /// What a token is.
    ///
    /// # Errors
    /// If it is no regular expression.
    pub fn words(&self) -> Result<Words, DataError> {
        Ok(match self {
            Self::Unicode => Words::Unicode,
            Self::Ascii => Words::Ascii,
            Self::Whitespace => Words::Whitespace,
            Self::Pattern(expression) => Words::pattern(expression)?,
        })
    }
}

impl DataSettings {
    /// How lines become tokens.
    ///
    /// # Errors
    /// If what a token is cannot be read, or the file of stop words.
    pub fn tokeniser(&self) -> Result<Tokeniser, DataError> {
        Ok(Tokeniser {
            words: self.tokens.words()?,
            lower_case: !self.keep_case,
            stop_words: match &self.stop_words {
                StopWordList::None => StopWords::Keep,
                StopWordList::English => StopWords::English,
                StopWordList::File(path) => StopWords::from_file(path)?,
            },
            sentences: false,
        })
    }

    /// The text that these settings name.
    ///
    /// # Errors
    /// If there is none, or nobody says which columns of a table to read.
    pub fn source(&self, unit: Unit) -> Result<Box<dyn TextSource>, DataError> {
        Ok(match &self.path {
            Some(path) => match &self.columns {
                Some(columns) => open_columns(path, columns.clone())?,
                None => {
                    refuse_table(path, unit == Unit::User)?;
                    open(path)?
                }
            },
            None => {
                let lines = self.synthetic_lines.unwrap_or(DEFAULT_LINES);
                let words = self.synthetic_words.unwrap_or(Synthetic::WORDS);
                Box::new(Synthetic::new(PUBLIC_SEED, lines).with_words(words))
            }
        })
    }

    /// The text in the columns that these settings name of a table that a program hands over.
    pub fn handed_over(&self, table: Table) -> Box<dyn TextSource> {
        let text = || TextColumns { text: "text".to_owned(), user: None, format: None };
        of_table(table, self.columns.clone().unwrap_or_else(text))
    }

    /// Reads text in which `unit` is protected as one.
    ///
    /// # Errors
    /// What is wrong with the text, and what to do.
    pub fn read(
        &self,
        source: &dyn TextSource,
        unit: Unit,
        tokeniser: &Tokeniser,
    ) -> Result<TokenisedText, DataError> {
        TokenisedText::read(source, tokeniser, layout(unit))
    }

    /// The lines of a source that are in a shard, where `unit` is protected as one.
    pub fn of_shard(
        &self,
        source: Box<dyn TextSource>,
        unit: Unit,
        shard: Shard,
    ) -> Box<dyn TextSource> {
        Box::new(ShardText { source, layout: layout(unit), shard })
    }

    /// Why the text cannot be counted in shards, if it cannot; where `canaries` are put into it, it cannot.
    pub fn problem_of_shards(&self, canaries: Option<CanarySettings>) -> Option<&'static str> {
        let counted = self.vocabulary == VocabularyOrigin::DeclaredPublic;
        if self.path.is_none() {
            return Some(
                "the built-in corpus is made in one place: shards are of data of your own",
            );
        }
        if counted {
            return Some(
                "words that are counted and declared public are counted in one place: name them with --vocabulary-file, or \
                 leave out --vocabulary to release them with a charge",
            );
        }
        canaries.map(|_| "canaries are put into data that lies in one place: leave them out")
    }

    /// The words that need no charge: those of the built-in corpus or of a public file, those that were declared
    /// public, and all of a run that is not `private`. Where words are released, those of a public file are in anyway.
    ///
    /// # Errors
    /// What is wrong with the file or the text.
    pub fn public_words(
        &self,
        text: &TokenisedText,
        private: bool,
    ) -> Result<Option<VocabularyRelease>, DataError> {
        let counted =
            DeclaredPublic { size: self.vocabulary_size, minimum_count: self.minimum_count };
        let built_in = "the words of the built-in corpus, which is synthetic";
        let exposed = "the words of the data without protection: this run is not private";
        let (release, fact) = match &self.vocabulary {
            VocabularyOrigin::File(path) => (FromFile::new(path).vocabulary(text)?, None),
            _ if self.path.is_none() => (counted.vocabulary(text)?, Some(built_in)),
            VocabularyOrigin::DeclaredPublic => (counted.vocabulary(text)?, None),
            VocabularyOrigin::Private { .. } if !private => {
                (counted.vocabulary(text)?, Some(exposed))
            }
            VocabularyOrigin::Private { file: None, .. } => return Ok(None),
            VocabularyOrigin::Private { file: Some(path), .. } => {
                let mut release = FromFile::new(path).vocabulary(text)?;
                release.fact.value += "; others are released with a charge, and come on top";
                (release, None)
            }
        };
        let fact = fact.map_or(release.fact, |value| PublicFact::new("vocabulary", value));
        Ok(Some(VocabularyRelease { vocabulary: release.vocabulary, fact }))
    }

    /// The first setting that makes no sense where `unit` is protected as one: its flag, what it is, and what it must be.
    pub fn problem(&self, unit: Unit) -> Option<(&'static str, String, &'static str)> {
        let named = self.columns.as_ref().is_none_or(|columns| columns.user.is_some());
        let synthetic = self.synthetic_words.unwrap_or(Synthetic::WORDS);
        let (size, least) = (self.vocabulary_size, self.minimum_count);
        let (all, per_unit) = match self.vocabulary {
            VocabularyOrigin::File(_) => (true, 1),
            VocabularyOrigin::DeclaredPublic => (false, 1),
            VocabularyOrigin::Private { words_per_unit, .. } => (false, words_per_unit),
        };
        let kept = size.or(least.map(|count| count as usize));
        let text = |value: Option<u64>| value.unwrap_or_default().to_string();
        let rules = [
            (
                named || unit != Unit::User,
                "--unit",
                unit.to_string(),
                "another unit, or --user-column given: nothing says whose text a row of the table is",
            ),
            (
                (Synthetic::WORDS..=Synthetic::MOST_WORDS).contains(&synthetic),
                "--synthetic-words",
                synthetic.to_string(),
                "from 300 to 10000000",
            ),
            (
                self.synthetic_lines != Some(0),
                "--synthetic-lines",
                text(self.synthetic_lines),
                "at least 1",
            ),
            (
                size.is_none_or(|size| size >= 2),
                "--vocabulary-size",
                text(size.map(|size| size as u64)),
                "at least 2",
            ),
            (least != Some(0), "--minimum-count", text(least), "at least 1"),
            (
                !all || kept.is_none(),
                "--vocabulary-size or --minimum-count",
                text(kept.map(|kept| kept as u64)),
                "left out with --vocabulary-file, whose words are all kept; or --vocabulary private as well, for other \
                 words on top",
            ),
            (per_unit >= 1, "--words-per-unit", per_unit.to_string(), "at least 1"),
        ];
        let broken = rules.into_iter().find(|(holds, ..)| !holds);
        broken.map(|(_, setting, value, expected)| (setting, value, expected))
    }

    /// Whether the words come from the data and are not declared public.
    pub fn has_own_words(&self) -> bool {
        matches!(self.vocabulary, VocabularyOrigin::Private { .. }) && self.path.is_some()
    }

    /// The fact that the words of a file are left out, if they are.
    pub fn stop_words_fact(&self) -> Option<PublicFact> {
        let StopWordList::File(path) = &self.stop_words else { return None };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let value =
            format!("the words of the file `{name}`, which was declared public, are left out");
        Some(PublicFact::new("stop words", value))
    }
}
