//! The JSON of every event, letter by letter: it never changes once it was released.

use super::samples::any_event;
use crate::{Event, MaxNoise, Neighbouring, Unit};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn samples() -> Vec<(Event, &'static str)> {
    let gaussian = || Event::Gaussian { noise_multiplier: 0.5 };
    let exponential =
        |candidates, cap, l2| Event::Exponential { epsilon: 0.27, draws: 100, candidates, cap, l2 };
    let selected = |sensitivity| Event::Selected {
        by: Box::new(exponential(Some(100_000), Some(0.1), Some(0.75))),
        sensitivity,
        noise: Box::new(gaussian()),
    };
    let sparse = |value_epsilon| Event::SparseVector {
        threshold_epsilon: 0.1,
        query_epsilon: 0.2,
        hits: 50,
        refreshed: true,
        value_epsilon,
    };
    let noisy_max = |noise| Event::NoisyMax { epsilon: 0.1, draws: 1, noise };
    vec![
        (gaussian(), r#"{"gaussian":{"noise_multiplier":0.5}}"#),
        (
            Event::RoundedGaussian { noise_multiplier: 0.5 },
            r#"{"rounded_gaussian":{"noise_multiplier":0.5}}"#,
        ),
        (
            Event::DiscreteGaussian { noise_multiplier: 3.0 },
            r#"{"discrete_gaussian":{"noise_multiplier":3.0}}"#,
        ),
        (Event::Laplace { noise_multiplier: 2.0 }, r#"{"laplace":{"noise_multiplier":2.0}}"#),
        (
            Event::DiscreteLaplace { noise_multiplier: 2.0 },
            r#"{"discrete_laplace":{"noise_multiplier":2.0}}"#,
        ),
        (Event::Pure { epsilon: 0.1 }, r#"{"pure":{"epsilon":0.1}}"#),
        (Event::Added { epsilon: 0.1 }, r#"{"added":{"epsilon":0.1}}"#),
        (Event::Near { total_variation: 1e-9 }, r#"{"near":{"total_variation":1e-9}}"#),
        (
            Event::Approximate { epsilon: 0.1, delta: 1e-7 },
            r#"{"approximate":{"epsilon":0.1,"delta":1e-7}}"#,
        ),
        (exponential(None, None, None), r#"{"exponential":{"epsilon":0.27,"draws":100}}"#),
        (
            exponential(Some(100_000), Some(0.1), Some(0.75)),
            r#"{"exponential":{"epsilon":0.27,"draws":100,"candidates":100000,"cap":0.1,"l2":0.75}}"#,
        ),
        (
            selected(None),
            r#"{"selected":{"by":{"exponential":{"epsilon":0.27,"draws":100,"candidates":100000,"cap":0.1,"l2":0.75}},"noise":{"gaussian":{"noise_multiplier":0.5}}}}"#,
        ),
        (
            selected(Some(0.2)),
            r#"{"selected":{"by":{"exponential":{"epsilon":0.27,"draws":100,"candidates":100000,"cap":0.1,"l2":0.75}},"sensitivity":0.2,"noise":{"gaussian":{"noise_multiplier":0.5}}}}"#,
        ),
        (
            Event::UniformMask { share: 0.001, event: Box::new(gaussian()) },
            r#"{"uniform_mask":{"share":0.001,"event":{"gaussian":{"noise_multiplier":0.5}}}}"#,
        ),
        (
            sparse(Some(0.05)),
            r#"{"sparse_vector":{"threshold_epsilon":0.1,"query_epsilon":0.2,"hits":50,"refreshed":true,"value_epsilon":0.05}}"#,
        ),
        (
            sparse(None),
            r#"{"sparse_vector":{"threshold_epsilon":0.1,"query_epsilon":0.2,"hits":50,"refreshed":true}}"#,
        ),
        (
            noisy_max(MaxNoise::Gumbel),
            r#"{"noisy_max":{"epsilon":0.1,"draws":1,"noise":"gumbel"}}"#,
        ),
        (
            noisy_max(MaxNoise::Laplace),
            r#"{"noisy_max":{"epsilon":0.1,"draws":1,"noise":"laplace"}}"#,
        ),
        (
            noisy_max(MaxNoise::Exponential),
            r#"{"noisy_max":{"epsilon":0.1,"draws":1,"noise":"exponential"}}"#,
        ),
        (
            Event::LimitedDomain { epsilon: 0.1, delta: 1e-8, draws: 10 },
            r#"{"limited_domain":{"epsilon":0.1,"delta":1e-8,"draws":10}}"#,
        ),
        (
            Event::Cluster { groups: 10, event: Box::new(gaussian()) },
            r#"{"cluster":{"groups":10,"event":{"gaussian":{"noise_multiplier":0.5}}}}"#,
        ),
        (
            Event::Compose(vec![gaussian(), Event::Pure { epsilon: 0.1 }]),
            r#"{"compose":[{"gaussian":{"noise_multiplier":0.5}},{"pure":{"epsilon":0.1}}]}"#,
        ),
        (
            gaussian().repeat(200_000),
            r#"{"repeat":{"times":200000,"event":{"gaussian":{"noise_multiplier":0.5}}}}"#,
        ),
        (
            gaussian().poisson(1e-4),
            r#"{"poisson":{"rate":0.0001,"event":{"gaussian":{"noise_multiplier":0.5}}}}"#,
        ),
    ]
}

#[test]
fn every_kind_has_its_exact_text() {
    for (event, text) in samples() {
        assert_eq!(serde_json::to_string(&event).unwrap(), text);
        assert_eq!(serde_json::from_str::<Event>(text).unwrap(), event);
        assert_eq!(event.check(), Ok(()));
        assert!(text.starts_with(&format!("{{\"{}\":", event.kind())), "{text}");
    }
}

#[test]
fn no_kind_is_left_out_above() {
    let error = serde_json::from_str::<Event>(r#"{"teleport":{}}"#).unwrap_err().to_string();
    assert!(error.starts_with("unknown variant `teleport`"), "{error}");
    // The names between backticks: the unknown one first, then all that are known.
    let known: BTreeSet<_> = error.split('`').skip(3).step_by(2).collect();
    assert_eq!(known, samples().iter().map(|(event, _)| event.kind()).collect());
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
