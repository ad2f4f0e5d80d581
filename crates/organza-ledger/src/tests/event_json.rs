//! The JSON of every event, letter by letter, as it stands in the reference: it never changes once it was released.

use super::samples::{any_event, documented};
use crate::{Event, Neighbouring, Unit};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn every_kind_has_its_exact_text() {
    for (kind, text) in documented() {
        let event: Event = serde_json::from_str(text).unwrap();
        let letters: String = text.split_whitespace().collect();
        assert_eq!(serde_json::to_string(&event).unwrap(), letters);
        assert_eq!((event.kind(), event.check()), (kind, Ok(())), "{text}");
    }
}

#[test]
fn no_kind_is_without_an_example() {
    let error = serde_json::from_str::<Event>(r#"{"teleport":{}}"#).unwrap_err().to_string();
    assert!(error.starts_with("unknown variant `teleport`"), "{error}");
    // The names between backticks: the unknown one first, then all that are known.
    let known: BTreeSet<_> = error.split('`').skip(3).step_by(2).collect();
    assert_eq!(known, documented().iter().map(|(kind, _)| *kind).collect());
}

#[test]
fn other_spellings_of_the_same_number_are_the_same_event() {
    let event = Event::Gaussian { noise_multiplier: 0.5 }.poisson(1e-4);
    let text =
        r#" {"poisson": {"event": {"gaussian": {"noise_multiplier": 5e-1}}, "rate": 1e-4}} "#;
    assert_eq!(serde_json::from_str::<Event>(text).unwrap(), event);
}

#[test]
fn what_is_not_an_event_is_an_error() {
    for text in [
        "null",
        "{}",
        "[]",
        r#""pure""#,
        r#"{"pure":{}}"#,
        r#"{"pure":{"epsilon":NaN}}"#,
        r#"{"pure":{"epsilon":1e999}}"#,
        r#"{"pure":{"epsilon":null}}"#,
        r#"{"pure":{"epsilon":"0.1"}}"#,
        r#"{"pure":{"epsilon":0.1,"epsilon":0.2}}"#,
        r#"{"pure":{"epsilon":0.1,"delta":0.2}}"#,
        r#"{"pure":{"epsilon":0.1},"laplace":{"noise_multiplier":1.0}}"#,
        r#"{"Pure":{"epsilon":0.1}}"#,
        r#"{"noisy_max":{"epsilon":0.1,"draws":1,"noise":"cauchy"}}"#,
        r#"{"noisy_max":{"epsilon":0.1,"draws":-1,"noise":"gumbel"}}"#,
        r#"{"repeat":{"times":1.5,"event":{"pure":{"epsilon":0.1}}}}"#,
    ] {
        assert!(serde_json::from_str::<Event>(text).is_err(), "{text}");
    }
    let deep = "{\"compose\":[".repeat(10_000);
    assert!(serde_json::from_str::<Event>(&deep).is_err());
}

#[test]
fn relations_and_units_are_shown_as_they_are_written() {
    for relation in [Neighbouring::AddRemove, Neighbouring::ReplaceOne] {
        assert_eq!(serde_json::to_string(&relation).unwrap(), format!("\"{relation}\""));
    }
    for unit in [Unit::Pair, Unit::Line, Unit::User, Unit::Record, Unit::Group] {
        assert_eq!(serde_json::to_string(&unit).unwrap(), format!("\"{unit}\""));
    }
}

proptest! {
    /// `Debug` shows a float by the shortest text that names it alone, and the sign of zero, so
    /// equal texts mean equal bits.
    #[test]
    fn an_event_comes_back_bit_by_bit(event in any_event()) {
        prop_assert_eq!(event.check(), Ok(()));
        let text = serde_json::to_string(&event).unwrap();
        let back: Event = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(format!("{back:?}"), format!("{event:?}"));
    }

    #[test]
    fn a_float_comes_back_bit_by_bit(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
        let text = serde_json::to_string(&Event::Pure { epsilon: value }).unwrap();
        let Event::Pure { epsilon } = serde_json::from_str(&text).unwrap() else {
            return Err(TestCaseError::fail("another kind"));
        };
        prop_assert_eq!(epsilon.to_bits(), value.to_bits());
    }
}
