//! The flags that say which text, and which words.

use crate::names::form_parser;
use clap::{Args, ValueEnum};
use organza_data::DataError;
use organza_data::settings::{DataSettings, StopWordList, Tokens, VocabularyOrigin};
use organza_data::source::TextColumns;
use organza_data::table::TableForm;
use std::path::PathBuf;

/// Takes what was given.
pub(crate) fn set<T: Clone>(place: &mut T, given: &Option<T>) {
    if let Some(value) = given {
        *place = value.clone();
    }
}

pub(crate) fn set_some<T: Clone>(place: &mut Option<T>, given: &Option<T>) {
    if given.is_some() {
        place.clone_from(given);
    }
}

/// Which text.
#[derive(Args, Debug)]
pub(crate) struct TextOptions {
    /// The text: a file, a folder, a .gz file, the Brown corpus as .tgz, or - for standard input;
    /// without it the built-in corpus, which is synthetic
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// The column of a table (CSV, TSV, JSON lines, Parquet, Arrow) that holds the text
    #[arg(long, value_name = "COLUMN", requires = "data")]
    text_column: Option<String>,
    /// The column that names whose text a row is
    #[arg(long, value_name = "COLUMN", requires = "text_column")]
    user_column: Option<String>,
    /// The form of the table [default: by the name of the file]
    #[arg(long, requires = "text_column", value_parser = form_parser())]
    format: Option<TableForm>,
    /// End with an error at a line that cannot be used, instead of leaving it out: the error shows that it is there, which
    /// the promise does not cover
    #[arg(long)]
    strict: bool,
}

impl TextOptions {
    /// Changes what was given, and nothing else; tells whether a column names whose text it is.
    pub(crate) fn change(&self, data: &mut DataSettings) -> bool {
        let Some(path) = &self.data else { return false };
        data.path = Some(path.clone());
        (data.synthetic_words, data.synthetic_lines) = (None, None);
        data.strict |= self.strict;
        let (user, format) = (self.user_column.clone(), self.format);
        let columns = |text| TextColumns { text, user, format };
        data.columns = self.text_column.clone().map(columns);
        self.user_column.is_some()
    }
}

/// Which words there are.
#[derive(Args, Debug)]
#[command(next_help_heading = "Words")]
pub(crate) struct WordOptions {
    /// Release the words with a charge, or count them without protection and declare them public, which
    /// is printed on the certificate [default: private]
    #[arg(long, value_enum, value_name = "ORIGIN")]
    vocabulary: Option<Vocabulary>,
    /// At most this many distinct words of a unit count for a private vocabulary [default: 1024]
    #[arg(long, value_name = "WORDS")]
    words_per_unit: Option<u64>,
    /// A public list of words, one a line: the whole vocabulary, or with --vocabulary private a part of it that needs no
    /// charge
    #[arg(long, value_name = "FILE")]
    vocabulary_file: Option<PathBuf>,
    /// Keep this many of the most frequent words
    #[arg(long, value_name = "WORDS")]
    vocabulary_size: Option<usize>,
    /// Keep words that occur at least this often
    #[arg(long, value_name = "TIMES")]
    minimum_count: Option<u64>,
    /// What a word is: unicode (words of any script, ideographs, emoji), ascii (runs of a to z), whitespace (whatever stands
    /// between), or a regular expression that finds words [default: unicode]
    #[arg(long, value_name = "RULE", value_parser = tokens)]
    tokens: Option<Tokens>,
    /// The same as --tokens ascii
    #[arg(long, value_name = "BOOL", conflicts_with = "tokens", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    ascii: Option<bool>,
    /// Keep capitals
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    keep_case: Option<bool>,
    /// Leave out English stop words
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    drop_stop_words: Option<bool>,
    /// Leave out the words of a list of your own, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "drop_stop_words")]
    stop_words: Option<PathBuf>,
}

fn tokens(rule: &str) -> Result<Tokens, DataError> {
    Ok(match rule {
        "unicode" => Tokens::Unicode,
        "ascii" => Tokens::Ascii,
        "whitespace" => Tokens::Whitespace,
        expression => {
            organza_data::Words::pattern(expression)?;
            Tokens::Pattern(expression.to_owned())
        }
    })
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Vocabulary {
    Private,
    DeclaredPublic,
}

impl WordOptions {
    /// Changes what was given, and nothing else.
    pub(crate) fn change(&self, data: &mut DataSettings) {
        match (self.vocabulary, &self.vocabulary_file) {
            (None, Some(path)) => {
                data.vocabulary = VocabularyOrigin::File(path.clone());
                (data.vocabulary_size, data.minimum_count) = (None, None);
            }
            (Some(Vocabulary::DeclaredPublic), _) => {
                data.vocabulary = VocabularyOrigin::DeclaredPublic;
            }
            (Some(Vocabulary::Private), _) => data.vocabulary = VocabularyOrigin::private(),
            (None, None) => {}
        }
        if let VocabularyOrigin::Private { words_per_unit, file } = &mut data.vocabulary {
            set(words_per_unit, &self.words_per_unit);
            set_some(file, &self.vocabulary_file);
        }
        set_some(&mut data.vocabulary_size, &self.vocabulary_size);
        set_some(&mut data.minimum_count, &self.minimum_count);
        set(
            &mut data.tokens,
            &self.ascii.map(|ascii| if ascii { Tokens::Ascii } else { Tokens::Unicode }),
        );
        set(&mut data.tokens, &self.tokens);
        set(&mut data.keep_case, &self.keep_case);
        let english = |dropped| if dropped { StopWordList::English } else { StopWordList::None };
        set(&mut data.stop_words, &self.drop_stop_words.map(english));
        set(&mut data.stop_words, &self.stop_words.clone().map(StopWordList::File));
    }

    /// Flags that say nothing about the vocabulary that was asked for.
    pub(crate) fn contradiction(&self, data: &DataSettings) -> Option<String> {
        let declared = matches!(self.vocabulary, Some(Vocabulary::DeclaredPublic));
        if declared && self.vocabulary_file.is_some() {
            let problem = "--vocabulary declared-public counts the words of the data, and --vocabulary-file names others: leave \
                           one of them out, or take --vocabulary private for other words on top of those of the file";
            return Some(problem.to_owned());
        }
        let private = matches!(data.vocabulary, VocabularyOrigin::Private { .. });
        let problem = "--words-per-unit is for words that are released: add --vocabulary private, or leave it out";
        (self.words_per_unit.is_some() && !private).then(|| problem.to_owned())
    }
}
