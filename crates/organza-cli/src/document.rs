//! Files that hold an event, or a question about one.

use crate::input::Input;
use crate::position;
use clap::ValueEnum;
use organza_ledger::{Event, EventError, Neighbouring, SELECTED_FORM};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, error::Category};
use std::fmt;
use thiserror::Error;

/// The version of the question format that this program reads and writes.
const VERSION: u64 = 2;

const SYNTAX_HELP: &str = "correct the JSON at this place";
const END_HELP: &str = "the text ends too early: close every brace, bracket and quote";
const QUESTION_HELP: &str = "a question holds `version`, `event`, `neighbouring`, `accountant` \
    and one of `delta` or `epsilon`; an event is an object with one key, its kind";
const EVENT_HELP: &str = "an event is an object with one key, its kind, and the fields of that \
    kind, such as {\"gaussian\": {\"noise_multiplier\": 0.5}}";

/// What such a file holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Document {
    /// An event on its own.
    Event(Event),
    /// A question to an accountant.
    Question(Question),
}

/// What an accountant is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// The version of the format.
    pub(crate) version: u64,
    /// What was, or will be, released.
    pub(crate) event: Event,
    /// The relation that the answer shall speak about.
    #[serde(default)]
    pub(crate) neighbouring: Neighbouring,
    /// Who shall answer.
    #[serde(default)]
    pub(crate) accountant: Accountant,
    /// Asks for epsilon at this delta.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delta: Option<f64>,
    /// Asks for delta at this epsilon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) epsilon: Option<f64>,
}

/// The ways to price events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Accountant {
    /// Privacy loss distributions.
    #[default]
    Pld,
    /// Renyi divergences.
    Rdp,
    /// The theorems of the paper, as printed.
    Theorem,
}

impl fmt::Display for Accountant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

/// Why a file holds neither.
#[derive(Debug, Error)]
pub(crate) enum DocumentError {
    /// Not JSON, or not of the right shape.
    #[error("{name}:{line}:{column}: {message}\n{excerpt}help: {help}")]
    Json {
        /// The file.
        name: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// What is wrong.
        message: String,
        /// The line of the file with the place marked.
        excerpt: String,
        /// What to do.
        help: &'static str,
    },
    /// A parameter of an event makes no sense.
    #[error("{name}")]
    Event {
        /// The file.
        name: String,
        /// Which, and what it must be.
        source: EventError,
    },
    /// The event had another meaning in the first version.
    #[error("{name}: {}", position::EXPLANATION)]
    Position {
        /// The file.
        name: String,
    },
    /// A field of the question makes no sense.
    #[error("{name}: `{field}` is {value}, but {expected}")]
    Question {
        /// The file.
        name: String,
        /// Which.
        field: &'static str,
        /// What it was.
        value: String,
        /// What would do.
        expected: String,
    },
}

impl Document {
    /// Parses and checks.
    pub(crate) fn from_input(input: &Input) -> Result<Self, DocumentError> {
        let fields: Map<String, Value> = parse(input, EVENT_HELP)?;
        let document = match (fields.get("version"), fields.contains_key("event")) {
            (None, false) => {
                let event = parse(input, EVENT_HELP)?;
                // Without a version it cannot be told which of the two meanings was meant.
                if position::is_noise_after_selection(&event) {
                    return Err(DocumentError::Position { name: input.name.clone() });
                }
                Self::Event(event)
            }
            (version, _) => {
                // Before the fields, because another version may have others.
                check_version(&input.name, version)?;
                Self::Question(parse(input, QUESTION_HELP)?)
            }
        };
        document.check(&input.name)?;
        Ok(document)
    }

    /// What it is, in a word.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Event(_) => "event",
            Self::Question(_) => "question",
        }
    }

    /// The event in it.
    pub(crate) fn event(&self) -> &Event {
        match self {
            Self::Event(event) => event,
            Self::Question(question) => &question.event,
        }
    }

    /// Whether it is a question without an end.
    pub(crate) fn asks_nothing(&self) -> bool {
        matches!(self, Self::Question(Question { delta: None, epsilon: None, .. }))
    }

    fn check(&self, name: &str) -> Result<(), DocumentError> {
        let checked = self.event().check();
        checked.map_err(|source| DocumentError::Event { name: name.to_owned(), source })?;
        let Self::Question(question) = self else { return Ok(()) };
        let fail = |field, value: f64, expected: &str| {
            Err(question_error(name, field, format!("{value:?}"), expected))
        };
        match (question.delta, question.epsilon) {
            (Some(delta), Some(_)) => {
                fail("delta", delta, "`epsilon` is given too: keep one, the other is the answer")
            }
            (Some(delta), None) if !(0.0..1.0).contains(&delta) => {
                fail("delta", delta, "must be at least 0 and below 1")
            }
            (None, Some(epsilon)) if epsilon.is_nan() || epsilon < 0.0 => {
                fail("epsilon", epsilon, "must be zero or more")
            }
            _ => Ok(()),
        }
    }
}

fn check_version(name: &str, version: Option<&Value>) -> Result<(), DocumentError> {
    if version.and_then(Value::as_u64) == Some(VERSION) {
        return Ok(());
    }
    let value = version.map_or_else(|| "missing".to_owned(), Value::to_string);
    let mut expected =
        format!("this program reads version {VERSION}: write \"version\": {VERSION}");
    if version.and_then(Value::as_u64) == Some(1) {
        expected += &format!(
            ", and where a `gaussian` stood directly after an `exponential` with `cap` and meant \
             noise on what was selected, {SELECTED_FORM}"
        );
    }
    Err(question_error(name, "version", value, &expected))
}

fn question_error(name: &str, field: &'static str, value: String, expected: &str) -> DocumentError {
    DocumentError::Question { name: name.to_owned(), field, value, expected: expected.to_owned() }
}

/// Parses the whole text, with errors that show the place; `shape` says what is expected there.
fn parse<T: DeserializeOwned>(input: &Input, shape: &'static str) -> Result<T, DocumentError> {
    // Some editors put a byte order mark before UTF-8 text.
    let text = input.text.trim_start_matches('\u{feff}');
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line().max(1), error.column().max(1));
        let full = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = full.strip_suffix(&place).unwrap_or(&full);
        DocumentError::Json {
            name: input.name.clone(),
            line,
            column,
            message: message.replace("unknown variant", "unknown name"),
            excerpt: excerpt(text, line, column),
            help: match error.classify() {
                Category::Data => shape,
                Category::Eof => END_HELP,
                Category::Syntax | Category::Io => SYNTAX_HELP,
            },
        }
    })
}

/// The line with a mark under the column (in bytes, counted from 1), unless it is too long to show.
fn excerpt(text: &str, line: usize, column: usize) -> String {
    const WIDEST: usize = 100;
    let Some(shown) = text.lines().nth(line - 1).map(str::trim_end) else { return String::new() };
    if shown.is_empty() || shown.chars().count() > WIDEST || shown.contains(char::is_control) {
        return String::new();
    }
    let before = shown.char_indices().take_while(|(index, _)| index + 1 < column).count();
    let margin = " ".repeat(line.to_string().len());
    format!("{margin} |\n{line} | {shown}\n{margin} | {}^\n", " ".repeat(before))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Document, DocumentError> {
        Document::from_input(&Input { name: "test.json".to_owned(), text: text.to_owned() })
    }

    #[test]
    fn defaults_are_filled_in_and_the_normal_form_is_stable() {
        let document = read(r#"{"event": {"pure": {"epsilon": 1}}, "version": 2}"#).unwrap();
        let normal = serde_json::to_string(&document).unwrap();
        assert_eq!(
            normal,
            r#"{"version":2,"event":{"pure":{"epsilon":1.0}},"neighbouring":"add-remove","accountant":"pld"}"#
        );
        assert_eq!(read(&normal).unwrap(), document);
    }

    #[test]
    fn a_byte_order_mark_is_no_error() {
        assert!(read("\u{feff}{\"pure\": {\"epsilon\": 1}}").is_ok());
    }

    #[test]
    fn the_version_is_checked_before_the_fields() {
        for version in ["1", "0", "3", "-2", "2.0", "\"2\"", "null"] {
            let text = format!(r#"{{"version": {version}, "novelty": true}}"#);
            assert!(read(&text).unwrap_err().to_string().contains("`version` is"), "{version}");
        }
        let missing = read(r#"{"event": {"pure": {"epsilon": 1}}}"#).unwrap_err();
        assert!(missing.to_string().contains("`version` is missing"));
        let first = read(r#"{"event": {"pure": {"epsilon": 1}}, "version": 1}"#).unwrap_err();
        assert!(first.to_string().contains(SELECTED_FORM), "{first}");
    }

    #[test]
    fn a_question_has_one_end() {
        let ask = |end: &str| {
            read(&format!(r#"{{"version": 2, "event": {{"pure": {{"epsilon": 1}}}}, {end}}}"#))
        };
        assert!(ask(r#""delta": 1e-5"#).is_ok());
        assert!(ask(r#""epsilon": 0"#).is_ok());
        for wrong in [r#""delta": 1"#, r#""delta": -1"#, r#""epsilon": -1"#] {
            assert!(ask(wrong).unwrap_err().to_string().contains("must be"), "{wrong}");
        }
        let both = ask(r#""delta": 0, "epsilon": 1"#).unwrap_err();
        assert!(both.to_string().contains("keep one"));
    }

    #[test]
    fn the_mark_stands_under_the_place_even_after_wide_letters() {
        let shown = excerpt("{\"é\": x}", 1, 8);
        assert_eq!(shown, "  |\n1 | {\"é\": x}\n  |       ^\n");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,60}|[\\[\\]{}\":,0-9a-z\n é]{0,80}") {
            let _ = read(&text);
        }

        #[test]
        fn no_change_of_a_good_file_makes_it_panic(at in 0_usize..120, put in any::<char>()) {
            let good = r#"{"version": 2, "event": {"repeat": {"times": 3, "event":
                {"poisson": {"rate": 0.5, "event": {"pure": {"epsilon": 0.1}}}}}}, "delta": 1e-9}"#;
            let changed: String =
                good.chars().enumerate().map(|(i, old)| if i == at { put } else { old }).collect();
            if let Ok(document) = read(&changed) {
                let normal = serde_json::to_string(&document).unwrap();
                prop_assert_eq!(read(&normal).unwrap(), document);
            }
        }
    }
}
