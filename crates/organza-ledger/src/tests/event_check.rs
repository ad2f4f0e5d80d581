//! Events whose parameters make no sense are refused by name.

use super::samples::documented;
use crate::{Event, MaxNoise};

/// Every kind that has this parameter, with this value for it and good ones for all others.
fn with(field: &'static str, value: f64) -> Vec<Event> {
    let good = kinds("", 0.0);
    kinds(field, value)
        .into_iter()
        .zip(good)
        .filter(|(one, good)| one != good)
        .map(|it| it.0)
        .collect()
}

fn kinds(field: &'static str, value: f64) -> Vec<Event> {
    let pick = |name: &str, good: f64| if name == field { value } else { good };
    let nothing = || Box::new(Event::Compose(Vec::new()));
    let noise_multiplier = pick("noise_multiplier", 1.0);
    let epsilon = pick("epsilon", 0.1);
    let delta = pick("delta", 1e-6);
    vec![
        Event::Gaussian { noise_multiplier },
        Event::RoundedGaussian { noise_multiplier },
        Event::DiscreteGaussian { noise_multiplier },
        Event::Laplace { noise_multiplier },
        Event::DiscreteLaplace { noise_multiplier },
        Event::Pure { epsilon },
        Event::Added { epsilon },
        Event::Near { total_variation: pick("total_variation", 1e-9) },
        Event::Approximate { epsilon, delta },
        Event::Exponential {
            epsilon,
            draws: 3,
            candidates: Some(5),
            cap: Some(pick("cap", 0.1)),
            l2: Some(pick("l2", 0.75)),
        },
        Event::UniformMask {
            share: pick("share", 0.5),
            event: Box::new(Event::Laplace { noise_multiplier: 1.0 }),
        },
        Event::Selected {
            by: Box::new(Event::Exponential {
                epsilon: 0.1,
                draws: 3,
                candidates: Some(5),
                cap: Some(0.1),
                l2: Some(0.75),
            }),
            sensitivity: Some(pick("sensitivity", 0.5)),
            noise: Box::new(Event::Gaussian { noise_multiplier: 1.0 }),
        },
        Event::SparseVector {
            threshold_epsilon: pick("threshold_epsilon", 0.1),
            query_epsilon: pick("query_epsilon", 0.1),
            hits: 3,
            refreshed: true,
            value_epsilon: Some(pick("value_epsilon", 0.1)),
        },
        Event::NoisyMax { epsilon, draws: 3, noise: MaxNoise::Gumbel },
        Event::LimitedDomain { epsilon, delta, draws: 3 },
        Event::Poisson { rate: pick("rate", 0.5), event: nothing() },
    ]
}

#[test]
fn every_parameter_out_of_range_is_named() {
    let strictly_positive = [
        "noise_multiplier",
        "cap",
        "l2",
        "sensitivity",
        "threshold_epsilon",
        "query_epsilon",
        "value_epsilon",
    ];
    let zero_allowed = ["epsilon", "delta", "share", "rate"];
    for field in strictly_positive.into_iter().chain(zero_allowed) {
        let mut bad = vec![-1e-300, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        match field {
            "delta" => bad.push(1.0),
            "share" | "rate" => bad.push(1.0 + f64::EPSILON),
            "epsilon" => {}
            _ => bad.push(0.0),
        }
        for value in bad {
            assert!(!with(field, value).is_empty());
            for event in with(field, value) {
                let error = event.check().expect_err("out of range");
                assert_eq!((error.kind, error.field), (event.kind(), field), "{value}");
                let nested = Event::Compose(vec![event.clone().poisson(0.1).repeat(3)]);
                assert_eq!(nested.check().expect_err("out of range").field, field);
            }
        }
    }
}

/// Whatever kind there is: no number of its example may be below zero.
#[test]
fn no_number_of_any_kind_is_negative() {
    for (kind, text) in documented() {
        let example: serde_json::Value = serde_json::from_str(text).unwrap();
        let fields = example[kind].as_object().into_iter().flatten();
        for (field, _) in fields.filter(|(_, value)| value.is_number()) {
            let mut negative = example.clone();
            negative[kind][field] = (-1.0).into();
            // A count below zero is not even read.
            let Ok(event) = serde_json::from_value::<Event>(negative) else { continue };
            let error = event.check().expect_err("out of range");
            assert_eq!((error.kind, error.field), (kind, field.as_str()));
        }
    }
}

#[test]
fn the_bounds_themselves_are_allowed() {
    for (field, value) in
        [("epsilon", 0.0), ("delta", 0.0), ("share", 0.0), ("share", 1.0), ("rate", 1.0)]
    {
        for event in with(field, value) {
            assert_eq!(event.check(), Ok(()), "{event:?}");
        }
    }
}

/// Inside a batch, a group or a mask the proof of basic composition does not hold.
#[test]
fn what_decides_sees_the_whole_data_set() {
    let deciding = || Event::Added { epsilon: 0.1 };
    let whole = Event::Compose(vec![deciding().repeat(2), Event::Pure { epsilon: 0.1 }]);
    assert_eq!(whole.check(), Ok(()));
    let event = || Box::new(whole.clone());
    for part in [deciding().poisson(0.1).repeat(3), Event::Cluster { groups: 3, event: event() }] {
        let error = part.check().expect_err("a part of the data");
        assert_eq!((error.kind, error.field), ("added", "place"));
    }
    assert_eq!(
        deciding().poisson(0.1).check().expect_err("a batch").to_string(),
        "event `added`: `place` is inside `poisson`, but must be outside batches, groups and masks"
    );
}

#[test]
fn counts_that_make_no_sense_are_named() {
    let cluster = Event::Cluster { groups: 0, event: Box::new(Event::Pure { epsilon: 0.1 }) };
    assert_eq!(
        cluster.check().expect_err("no groups").to_string(),
        "event `cluster`: `groups` is 0, but must be at least 1"
    );
    let exponential = |draws, candidates| Event::Exponential {
        epsilon: 0.1,
        draws,
        candidates: Some(candidates),
        cap: None,
        l2: None,
    };
    assert_eq!(exponential(5, 5).check(), Ok(()));
    assert_eq!(exponential(6, 5).check().expect_err("too many").field, "draws");
    assert_eq!(exponential(0, 0).check().expect_err("none").field, "candidates");
}

/// Of several mechanisms behind one mask a later one could aim at what it let through.
#[test]
fn behind_a_mask_there_is_noise_and_nothing_else() {
    let noise = || Event::Gaussian { noise_multiplier: 1.0 };
    let masked = |event: Event| Event::UniformMask { share: 0.001, event: Box::new(event) };
    assert_eq!(masked(noise()).check(), Ok(()));
    for event in [
        Event::Compose(vec![noise(), noise()]),
        Event::Compose(vec![noise()]),
        noise().repeat(2),
        noise().repeat(1),
        noise().poisson(0.1),
        masked(noise()),
        Event::Pure { epsilon: 0.1 },
        Event::Added { epsilon: 0.1 },
    ] {
        let error = masked(event.clone()).check().expect_err("more than noise");
        assert_eq!((error.kind, error.field), ("uniform_mask", "event"), "{event:?}");
    }
}
