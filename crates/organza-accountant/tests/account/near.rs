//! Laws that are only nearly those that are stated.
#![allow(clippy::unwrap_used)]

use organza_accountant::{pld, rdp};
use organza_ledger::{AccountError, Event, Neighbouring};

const RELATION: Neighbouring = Neighbouring::AddRemove;

fn pld(events: &[Event]) -> pld::Accountant {
    let account = pld::Accountant::new(RELATION);
    events.iter().try_fold(account, |account, event| account.compose(event)).unwrap()
}

fn rdp(events: &[Event]) -> rdp::Accountant {
    let account = rdp::Accountant::new(RELATION);
    events.iter().try_fold(account, |account, event| account.compose(event)).unwrap()
}

/// Randomised response of epsilon e, moved by b towards the answer that tells on one side, and away from it on
/// the other: P(S) - e^e Q(S) is (1 + e^e) b. The twin that takes b from each side, whatever epsilon, is too low.
#[test]
fn the_worst_that_a_total_variation_does_is_counted() {
    let (epsilon, b): (f64, f64) = (3.0, 1e-6);
    let ratio = epsilon.exp();
    let (told, other) = (ratio / (1.0 + ratio) + b, 1.0 / (1.0 + ratio) - b);
    let true_delta = told - ratio * other;
    let events = [Event::Pure { epsilon }, Event::Near { total_variation: b }];
    let found = pld(&events).delta(epsilon).unwrap().delta;
    assert!(found >= true_delta * (1.0 - 1e-9) && found < true_delta * 1.001, "{found}");
    assert!(rdp(&events).delta(epsilon).unwrap() >= true_delta * (1.0 - 1e-9));
    let twin = pld(&[events[0].clone(), Event::Approximate { epsilon: 0.0, delta: 2.0 * b }]);
    assert!(twin.delta(epsilon).unwrap().delta < true_delta / 2.0);
}

/// Epsilon and delta are answers to one another, with the term at the epsilon that is claimed; a term that is next
/// to nothing changes next to nothing, and one that leaves nothing of delta is refused.
#[test]
fn the_term_follows_the_epsilon_that_is_claimed() {
    let steps = Event::Gaussian { noise_multiplier: 0.5 }.poisson(1e-4).repeat(200_000);
    let with = |total_variation: f64| [steps.clone(), Event::Near { total_variation }];
    let alone = pld(std::slice::from_ref(&steps)).epsilon(1e-5).unwrap().epsilon;
    let faint = pld(&with(1e-15)).epsilon(1e-5).unwrap().epsilon;
    assert!((alone..alone * 1.0001).contains(&faint), "{alone} {faint}");
    for total_variation in [1e-9, 1e-8, 1e-7] {
        let account = pld(&with(total_variation));
        let epsilon = account.epsilon(1e-5).unwrap().epsilon;
        assert!(epsilon > alone);
        let left = 1e-5 - (1.0 + epsilon.exp()) * total_variation;
        assert!(
            pld(std::slice::from_ref(&steps)).epsilon(left).unwrap().epsilon <= epsilon * 1.0001
        );
        assert!(account.delta(epsilon).unwrap().delta <= 1.001e-5);
        let renyi = rdp(&with(total_variation)).epsilon(1e-5).unwrap();
        assert!(renyi > rdp(std::slice::from_ref(&steps)).epsilon(1e-5).unwrap());
    }
    let refused = pld(&with(1e-5)).epsilon(1e-5);
    assert!(matches!(refused, Err(AccountError::OutOfRange(_))), "{refused:?}");
    assert!(rdp(&with(1e-5)).epsilon(1e-5).is_err());
}

/// Several add up, and a group of records has the same two laws on its two data sets, so the same term at its epsilon.
#[test]
fn they_add_up_and_do_not_grow_with_a_group() {
    let gaussian = Event::Gaussian { noise_multiplier: 4.0 };
    let near = |total_variation| Event::Near { total_variation };
    let two = pld(&[gaussian.clone(), near(1e-8).repeat(2)]).delta(1.0).unwrap().delta;
    let one = pld(&[gaussian.clone(), near(2e-8)]).delta(1.0).unwrap().delta;
    assert_eq!(two, one);
    let group = |events: &[Event]| pld(events).group(3).delta(1.0).unwrap().delta;
    let term = group(&[gaussian.clone(), near(1e-4)]) - group(&[gaussian]);
    assert!((term / ((1.0 + 1_f64.exp()) * 1e-4) - 1.0).abs() < 1e-6, "{term}");
}

#[test]
fn it_speaks_of_everything() {
    let near = Event::Near { total_variation: 1e-9 };
    assert!(near.clone().poisson(0.1).check().is_err());
    assert!(pld::Accountant::new(RELATION).compose(&near.clone().poisson(0.1)).is_err());
    assert!(rdp::Accountant::new(RELATION).compose(&near.poisson(0.1)).is_err());
}
