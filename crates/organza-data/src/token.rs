//! Lines as tokens.

use crate::vocabulary::word_list;
use crate::{DataError, Line, Place};
use regex::Regex;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// What a token is. None holds white space, because the files of a run could not.
#[derive(Clone, Debug, Default)]
pub enum Words {
    /// The words of Unicode's Annex 29: letters and digits of any script, with inner apostrophes, each ideograph by
    /// itself; and emoji.
    #[default]
    Unicode,
    /// Letters a to z only. In running text every longest run of them is a token (`don't` gives
    /// `don` and `t`, as many lists of stop words expect); where tokens are parted already, those
    /// that have other characters (`don't`, `1961`, `.`) are left out whole.
    Ascii,
    /// Whatever stands between white space.
    Whitespace,
    /// What a regular expression finds in it.
    Pattern(Regex),
}

impl Words {
    /// What this regular expression finds.
    ///
    /// # Errors
    /// If it is none.
    pub fn pattern(expression: &str) -> Result<Self, DataError> {
        Regex::new(expression).map(Self::Pattern).map_err(|error| DataError::Pattern {
            expression: expression.to_owned(),
            // The last line says what is wrong, those before where.
            problem: error.to_string().lines().last().unwrap_or_default().to_owned(),
        })
    }
}

/// Which words are left out for saying little.
#[derive(Clone, Debug, Default)]
pub enum StopWords {
    /// None.
    #[default]
    Keep,
    /// NLTK's English list, as the crate `stop-words` has it: 198 words.
    English,
    /// A list of one's own, which says nothing about the data.
    Own(HashSet<Box<str>>),
}

impl StopWords {
    /// The list in a file, one word a line.
    ///
    /// # Errors
    /// If it cannot be read, or a line has several words.
    pub fn from_file(path: &Path) -> Result<Self, DataError> {
        let words = word_list(path)?;
        Ok(Self::Own(words.iter().map(|word| plain(word).into()).collect()))
    }

    fn has(&self, token: &str) -> bool {
        match self {
            Self::Keep => false,
            Self::English => is_english_stop_word(token),
            Self::Own(words) => words.contains(token) || words.contains(plain(token).as_str()),
        }
    }
}

/// In small letters, with a plain apostrophe.
fn plain(word: &str) -> String {
    word.to_lowercase().replace('\u{2019}', "'")
}

/// How lines become tokens. The same for every line, so it releases nothing.
#[derive(Clone, Debug)]
pub struct Tokeniser {
    /// What a token is.
    pub words: Words,
    /// Whether tokens are lower-cased.
    pub lower_case: bool,
    /// Which are left out; capitals and the form of an apostrophe make no difference here.
    pub stop_words: StopWords,
    /// Whether ends of sentences are tokens, each of them [`SENTENCE_END`]; the end of a line is one too.
    pub sentences: bool,
}

/// The token that ends a sentence: no word is empty.
pub const SENTENCE_END: &str = "";

impl Default for Tokeniser {
    /// Unicode words, lower-cased, stop words kept.
    fn default() -> Self {
        Self {
            words: Words::Unicode,
            lower_case: true,
            stop_words: StopWords::Keep,
            sentences: false,
        }
    }
}

impl Tokeniser {
    /// The setting of the paper, and of the `brown-1k` protocol: a to z, lower-cased, without
    /// English stop words.
    pub const PAPER: Self = Self {
        words: Words::Ascii,
        lower_case: true,
        stop_words: StopWords::English,
        sentences: false,
    };

    /// Shows the tokens of a text, in order.
    pub fn each(&self, text: &str, visit: impl FnMut(&str)) {
        let nowhere = Place { file: PathBuf::new(), line: 0 };
        self.each_token(Line::of(text, "", &nowhere), visit);
    }

    /// Shows the tokens of a line, in order.
    pub(crate) fn each_token(&self, line: Line<'_>, mut visit: impl FnMut(&str)) {
        let lowered;
        let text = if self.lower_case {
            lowered = line.text.to_lowercase();
            &lowered
        } else {
            line.text
        };
        if !self.sentences {
            return self.each_word(text, line.tokenised, visit);
        }
        let mut is_open = false;
        for sentence in sentences(text) {
            self.each_word(sentence, line.tokenised, |word| {
                is_open = true;
                visit(word);
            });
            if std::mem::take(&mut is_open) {
                visit(SENTENCE_END);
            }
        }
    }

    fn each_word(&self, text: &str, tokenised: bool, mut visit: impl FnMut(&str)) {
        let mut keep = |token: &str| {
            if !token.is_empty() && !self.stop_words.has(token) {
                visit(token);
            }
        };
        match (&self.words, tokenised) {
            // Unicode joins a space and a combining mark after it, hence the white space first.
            (Words::Unicode, _) => text.split_whitespace().for_each(|part| {
                if part.is_ascii() {
                    part.unicode_words().for_each(&mut keep);
                } else {
                    part.split_word_bounds().filter_map(word_or_emoji).for_each(&mut keep);
                }
            }),
            (Words::Ascii, false) => {
                text.split(|letter: char| !letter.is_ascii_alphabetic()).for_each(keep);
            }
            (Words::Ascii, true) => text
                .split_whitespace()
                .filter(|token| token.bytes().all(|byte| byte.is_ascii_alphabetic()))
                .for_each(keep),
            (Words::Whitespace, _) => text.split_whitespace().for_each(keep),
            (Words::Pattern(pattern), _) => text
                .split_whitespace()
                .flat_map(|part| pattern.find_iter(part))
                .for_each(|found| keep(found.as_str())),
        }
    }
}

/// The sentences of a text: up to a line break, to one of the marks that end sentences, or to a full stop, but for one that stands
/// within a word or a number, such as `3.5`.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut letters = rest.char_indices().peekable();
        let mut last = ' ';
        while let Some((_, letter)) = letters.next() {
            let next = letters.peek().map(|(place, next)| (*place, *next));
            let ends = match letter {
                '\n' | '!' | '?' | '…' | '。' | '！' | '？' => true,
                '.' => last == '.' || next.is_none_or(|(_, next)| !next.is_alphanumeric()),
                _ => false,
            };
            last = letter;
            if ends && let Some((place, _)) = next {
                let (sentence, after) = rest.split_at(place);
                rest = after;
                return Some(sentence);
            }
        }
        (!rest.is_empty()).then(|| std::mem::take(&mut rest))
    })
}

/// What stands between two word bounds, if it is a word or an emoji, which is the same with and without its last
/// variation selector.
fn word_or_emoji(segment: &str) -> Option<&str> {
    if segment.contains(char::is_alphanumeric) {
        return Some(segment);
    }
    let is_emoji = |letter| {
        matches!(letter, '\u{231a}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
            | '\u{1f000}'..='\u{1faff}')
    };
    segment.starts_with(is_emoji).then(|| segment.trim_end_matches('\u{fe0f}'))
}

static ENGLISH: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| stop_words::get("en").iter().copied().collect());

/// The longest word of the list, in bytes.
const LONGEST_STOP_WORD: usize = 10;

fn is_english_stop_word(token: &str) -> bool {
    // Two bytes of room for a typographic apostrophe.
    if token.len() > LONGEST_STOP_WORD + 2 {
        return false;
    }
    if token.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return ENGLISH.contains(token);
    }
    ENGLISH.contains(plain(token).as_str())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    fn tokens(tokeniser: Tokeniser, text: &str, tokenised: bool) -> Vec<String> {
        let place = Place { file: "x".into(), line: 1 };
        let line = Line { tokenised, ..Line::of(text, "x", &place) };
        let mut all = Vec::new();
        tokeniser.each_token(line, |token| all.push(token.to_owned()));
        all
    }

    fn with(words: Words, lower_case: bool, stop_words: StopWords) -> Tokeniser {
        Tokeniser { words, lower_case, stop_words, sentences: false }
    }

    #[test]
    fn words_of_unicode() {
        let text = "Don't stop: Größe 3.5, ÉTÉ — Привет!";
        let lower = tokens(Tokeniser::default(), text, false);
        assert_eq!(lower, ["don't", "stop", "größe", "3.5", "été", "привет"]);
        assert_eq!(tokens(Tokeniser::default(), "a \u{11c92}b", false), ["a", "\u{11c92}", "b"]);
        let kept = tokens(with(Words::Unicode, false, StopWords::Keep), text, false);
        assert_eq!(kept, ["Don't", "stop", "Größe", "3.5", "ÉTÉ", "Привет"]);
    }

    #[test]
    fn ideographs_and_emoji_are_words() {
        let all = |text| tokens(Tokeniser::default(), text, false);
        assert_eq!(all("我爱北京 ok"), ["我", "爱", "北", "京", "ok"]);
        assert_eq!(
            all("great\u{1f600}\u{1f600} \u{2764}\u{fe0f} \u{2764} «no»—¿…"),
            ["great", "\u{1f600}", "\u{1f600}", "\u{2764}", "\u{2764}", "no"]
        );
        // One picture of several: a family, a flag.
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        assert_eq!(all(&format!("{family}\u{1f1e9}\u{1f1ea}")), [family, "\u{1f1e9}\u{1f1ea}"]);
    }

    #[test]
    fn sentences_end() {
        let all = |text| {
            let tokeniser = Tokeniser { sentences: true, ..Tokeniser::default() };
            tokens(tokeniser, text, false).join(" ").replace("  ", "|")
        };
        assert_eq!(all("See you. At 3.5 p.m.? \"Yes!\" ok"), "see you|at 3.5 p.m|yes|ok ");
        assert_eq!(all("so...i went\nhome.. www.x.org"), "so|i went|home|www.x.org ");
        assert_eq!(all("...!? \n"), "");
        assert_eq!(all("我爱。 ok"), "我 爱|ok ");
    }

    #[test]
    fn tokens_of_ones_own() {
        let text = "See C++ and #rust, e-mail me@x.org";
        let all = |words| tokens(with(words, true, StopWords::Keep), text, false);
        assert_eq!(all(Words::Whitespace), ["see", "c++", "and", "#rust,", "e-mail", "me@x.org"]);
        let tags = Words::pattern(r"[#\w][\w+-]*|x*").unwrap();
        assert_eq!(all(tags), ["see", "c++", "and", "#rust", "e-mail", "me", "x", "org"]);
        let error = Words::pattern("[a-").unwrap_err().to_string();
        assert!(error.contains("`[a-`") && error.contains("--tokens"), "{error}");
        // A pattern that takes white space finds none.
        assert_eq!(all(Words::pattern(r"(?s).+").unwrap()), all(Words::Whitespace));
    }

    #[test]
    fn stop_words_of_ones_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stop.txt");
        std::fs::write(&path, "Movie\ndon't\n").unwrap();
        let own = StopWords::from_file(&path).unwrap();
        for lower_case in [true, false] {
            let tokeniser = with(Words::Unicode, lower_case, own.clone());
            assert_eq!(tokens(tokeniser, "MOVIE the movie Don\u{2019}t don't", false), ["the"]);
        }
        std::fs::write(&path, "two words\n").unwrap();
        assert!(StopWords::from_file(&path).is_err());
        assert!(StopWords::from_file(&folder.path().join("none")).is_err());
    }

    #[test]
    fn letters_run_in_text_and_stand_whole_in_tokens() {
        let ascii = with(Words::Ascii, true, StopWords::Keep);
        let text = "The term-end jury's report , 1961 É ok";
        let running = ["the", "term", "end", "jury", "s", "report", "ok"];
        assert_eq!(tokens(ascii.clone(), text, false), running);
        assert_eq!(tokens(ascii, text, true), ["the", "report", "ok"]);
        let kept = with(Words::Ascii, false, StopWords::Keep);
        assert_eq!(tokens(kept, text, true), ["The", "report", "ok"]);
    }

    #[test]
    fn stop_words_go_in_any_dress() {
        for lower_case in [true, false] {
            let tokeniser = with(Words::Unicode, lower_case, StopWords::English);
            assert_eq!(
                tokens(tokeniser, "THE don't Don\u{2019}t yourselves SHOULDN\u{2019}T", false),
                [""; 0]
            );
        }
        assert_eq!(tokens(Tokeniser::PAPER, "We don't know the county", false), ["know", "county"]);
    }

    /// The list decides which words a paper's setting keeps, so a release of the crate that changes it
    /// must not go unnoticed. Of its 198 words only the 153 without an apostrophe can match a to z.
    #[test]
    fn the_list_stays_as_it_is() {
        let mut list = stop_words::get("en").to_vec();
        list.sort_unstable();
        assert_eq!(list.len(), 198);
        assert_eq!(list.iter().filter(|word| !word.contains('\'')).count(), 153);
        assert_eq!(list.iter().map(|word| word.len()).max(), Some(LONGEST_STOP_WORD));
        let digest = Sha256::digest(format!("{}\n", list.join("\n")));
        assert_eq!(digest[..8], [0x5c, 0xb3, 0xb9, 0xdd, 0x23, 0xc8, 0xf9, 0xda]);
    }

    proptest! {
        #[test]
        fn tokens_are_never_empty_or_spaced(text in "\\PC{0,60}", tokenised: bool, lower_case: bool, ascii: bool) {
            let words = if ascii { Words::Ascii } else { Words::Unicode };
            for stop_words in [StopWords::Keep, StopWords::English] {
                for token in tokens(with(words.clone(), lower_case, stop_words), &text, tokenised) {
                    prop_assert!(!token.is_empty());
                    prop_assert!(!token.contains(char::is_whitespace));
                    prop_assert!(!ascii || token.bytes().all(|byte| byte.is_ascii_alphabetic()));
                }
            }
        }
    }
}
