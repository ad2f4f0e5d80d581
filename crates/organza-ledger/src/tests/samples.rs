//! What the tests have in common: an account that adds up, and random events and charges.

use crate::line::Line;
use crate::{
    Account, AccountError, Charge, Event, Header, KeyFingerprint, LedgerError, MaxNoise,
    Neighbouring, Replay, Unit,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::path::Path;

/// Adds up `pure` events: basic composition.
pub(super) struct Summing(pub(super) Neighbouring);

impl Account for Summing {
    fn neighbouring(&self) -> Neighbouring {
        self.0
    }

    fn epsilon(&self, events: &[Event], delta: f64) -> Result<f64, AccountError> {
        events.iter().map(|event| self.cost(event, delta)).sum()
    }
}

impl Summing {
    fn cost(&self, event: &Event, delta: f64) -> Result<f64, AccountError> {
        match event {
            Event::Pure { epsilon } => Ok(*epsilon),
            Event::Repeat { times, event } => Ok(*times as f64 * self.cost(event, delta)?),
            Event::Compose(events) => self.epsilon(events, delta),
            other => Err(AccountError::Unsupported {
                kind: other.kind().to_owned(),
                reason: "only `pure` events add up".to_owned(),
            }),
        }
    }
}

pub(super) fn pure(epsilon: f64) -> Event {
    Event::Pure { epsilon }
}

pub(super) fn header() -> Header {
    Header::new(Neighbouring::AddRemove, Unit::Line, 1e-6).declare_public("units", "200000")
}

/// The file that holds exactly these charges.
pub(super) fn text_of(charges: &[Charge]) -> Vec<u8> {
    let lines = charges.iter().cloned().map(Line::Charge);
    let (mut text, mut checksum) = (Vec::new(), 0);
    for line in [Line::Header(header())].into_iter().chain(lines) {
        let (next, next_checksum) = line.encode(checksum).unwrap();
        text.extend(next);
        checksum = next_checksum;
    }
    text
}

pub(super) fn replay(text: &[u8]) -> Result<Replay, LedgerError> {
    Replay::from_reader(&mut &text[..], Path::new("ledger.jsonl"))
}

/// The published examples of events: the kind in whose section each stands, and its text.
pub(super) fn documented() -> Vec<(&'static str, &'static str)> {
    let page = include_str!("../../../../docs/reference/events.md");
    let kinds = page.split("\n## Questions").take(1).flat_map(|it| it.split("\n### `").skip(1));
    kinds
        .filter_map(|section| section.split_once('`'))
        .flat_map(|(kind, section)| {
            let examples = section.split("```json\n").skip(1);
            examples.filter_map(move |text| Some((kind, text.split_once("```")?.0)))
        })
        .collect()
}

/// Any float of the range, not only round ones.
fn positive() -> impl Strategy<Value = f64> {
    any::<f64>()
        .prop_map(f64::abs)
        .prop_filter("in range", |value| *value > 0.0 && value.is_finite())
}

fn probability() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..1.0_f64, (0.0..700.0_f64).prop_map(|power| (-power).exp() * 0.999)]
}

/// Any event that passes its check.
pub(super) fn any_event() -> BoxedStrategy<Event> {
    let noise =
        Just(MaxNoise::Gumbel).prop_union(Just(MaxNoise::Laplace)).or(Just(MaxNoise::Exponential));
    let simple = prop_oneof![
        positive().prop_map(|noise_multiplier| Event::Gaussian { noise_multiplier }),
        positive().prop_map(|noise_multiplier| Event::RoundedGaussian { noise_multiplier }),
        positive().prop_map(|noise_multiplier| Event::DiscreteGaussian { noise_multiplier }),
        positive().prop_map(|noise_multiplier| Event::Laplace { noise_multiplier }),
        positive().prop_map(|noise_multiplier| Event::DiscreteLaplace { noise_multiplier }),
        positive().prop_map(|epsilon| Event::Pure { epsilon }),
        (positive(), probability())
            .prop_map(|(epsilon, delta)| Event::Approximate { epsilon, delta }),
        (positive(), any::<u64>(), any::<bool>(), option::of(positive()), option::of(positive()))
            .prop_map(|(epsilon, draws, bounded, cap, l2)| Event::Exponential {
                epsilon,
                draws,
                candidates: bounded.then_some(draws.max(1)),
                cap,
                l2,
            }),
        (positive(), positive(), any::<u64>(), any::<bool>(), option::of(positive())).prop_map(
            |(threshold_epsilon, query_epsilon, hits, refreshed, value_epsilon)| {
                Event::SparseVector {
                    threshold_epsilon,
                    query_epsilon,
                    hits,
                    refreshed,
                    value_epsilon,
                }
            }
        ),
        (positive(), any::<u64>(), noise).prop_map(|(epsilon, draws, noise)| Event::NoisyMax {
            epsilon,
            draws,
            noise
        }),
        (positive(), probability(), any::<u64>())
            .prop_map(|(epsilon, delta, draws)| Event::LimitedDomain { epsilon, delta, draws }),
    ];
    // Whatever is documented, where it may stand inside a part of the data.
    let documented: Vec<Event> = documented()
        .into_iter()
        .map(|(_, text)| serde_json::from_str::<Event>(text).unwrap())
        .filter(|event| event.clone().poisson(0.5).check().is_ok())
        .collect();
    let gaussian = || positive().prop_map(|noise_multiplier| Event::Gaussian { noise_multiplier });
    let simple = prop_oneof![
        8 => simple,
        1 => proptest::sample::select(documented),
        1 => (probability(), gaussian())
            .prop_map(|(share, noise)| Event::UniformMask { share, event: Box::new(noise) }),
        1 => (positive(), any::<u64>(), positive(), positive(), any::<bool>(), gaussian()).prop_map(
            |(epsilon, draws, cap, l2, clipped, noise)| Event::Selected {
                by: Box::new(Event::Exponential {
                    epsilon,
                    draws,
                    candidates: Some(draws.max(1)),
                    cap: Some(cap),
                    l2: Some(l2),
                }),
                sensitivity: clipped.then_some(l2),
                noise: Box::new(noise),
            }
        ),
    ];
    let anywhere = simple.prop_recursive(4, 12, 3, |event| {
        prop_oneof![
            (1_u64.., event.clone())
                .prop_map(|(groups, event)| Event::Cluster { groups, event: Box::new(event) }),
            vec(event.clone(), 0..3).prop_map(Event::Compose),
            (any::<u64>(), event.clone()).prop_map(|(times, event)| event.repeat(times)),
            (probability(), event).prop_map(|(rate, event)| event.poisson(rate)),
        ]
    });
    // It may not stand inside a part of the data, so it stands beside the rest.
    prop_oneof![
        4 => anywhere.clone(),
        1 => (positive(), anywhere).prop_map(|(epsilon, event)| {
            Event::Compose(vec![Event::Added { epsilon }, event])
        }),
    ]
    .boxed()
}

/// Any charge that passes its check.
pub(super) fn any_charge() -> BoxedStrategy<Charge> {
    let key = option::of(any::<[u8; 16]>().prop_map(KeyFingerprint::new));
    let relation = option::of(Just(Neighbouring::AddRemove));
    let steps = 1..=u64::from(u32::MAX);
    ("[a-zé\"\\\\ ]{1,20}", any::<u32>(), steps, any_event(), key, relation)
        .prop_map(|(purpose, from_step, steps, event, key, neighbouring)| Charge {
            purpose,
            from_step: from_step.into(),
            steps,
            event,
            key,
            neighbouring,
        })
        .boxed()
}
