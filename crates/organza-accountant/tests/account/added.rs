//! A release on whose outcome the rest depends.

use organza_accountant::{pld, rdp};
use organza_ledger::{Account, Event, Neighbouring};

const RELATION: Neighbouring = Neighbouring::AddRemove;

fn delta(events: &[Event], epsilon: f64) -> f64 {
    let account = pld::Accountant::new(RELATION);
    let account = events.iter().try_fold(account, |account, event| account.compose(event));
    account.and_then(|account| account.delta(epsilon)).expect("supported").delta
}

fn training() -> Event {
    Event::Gaussian { noise_multiplier: 0.8 }.poisson(0.01).repeat(1_000)
}

/// The largest parameter at which `first` and then `rest` keep to the target.
fn calibrated(first: &Event, rest: impl Fn(f64) -> Event, (epsilon, most): (f64, f64)) -> Event {
    let (mut low, mut high) = (0.0, 0.999);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        let met = delta(&[first.clone(), rest(middle)], epsilon) <= most;
        if met { low = middle } else { high = middle }
    }
    rest(low)
}

/// The true delta where a randomised response is followed by `up` or `down`, as it came out.
fn chosen_by_response(response: f64, epsilon: f64, up: &Event, down: &Event) -> f64 {
    let high = 1.0 / (1.0 + (-response).exp());
    let rest = |event: &Event, level: f64| delta(std::slice::from_ref(event), level);
    high * rest(up, epsilon - response) + (1.0 - high) * rest(down, epsilon + response)
}

/// After a response of loss +e the rest is chosen to have a large epsilon, after one of loss -e to
/// have a delta: each of both alone meets the target, and together they miss it, unless the response is
/// charged as what decides.
#[test]
fn the_rest_may_be_chosen_by_what_decides() {
    let (response, target) = (0.2, (1.0, 1e-3));
    let chosen = |first: &Event| {
        let up = calibrated(first, |epsilon| Event::Pure { epsilon }, target);
        let down = calibrated(first, |delta| Event::Approximate { epsilon: 0.0, delta }, target);
        chosen_by_response(response, target.0, &up, &down)
    };
    let sound = chosen(&Event::Added { epsilon: response });
    assert!((0.9 * target.1..=1.001 * target.1).contains(&sound), "{sound}");
    // The broken twin: charged by tight composition, as if the rest had been fixed beforehand.
    let twin = chosen(&Event::Pure { epsilon: response });
    assert!(twin > 1.4 * target.1, "{twin}");
}

/// The true delta where two words are released by a randomised response, then a number, and then `rest` as that number
/// says. The number follows the words, or it is a fair coin.
fn chosen_by_number(words: f64, epsilon: f64, rest: &[Event; 2], follows: bool) -> f64 {
    let high = 1.0 / (1.0 + (-words).exp());
    let outcomes = [(high, words), (1.0 - high, -words)];
    let at = |event: &Event, loss: f64| delta(std::slice::from_ref(event), epsilon - loss);
    let by_outcome = outcomes.iter().enumerate().map(|(place, (share, loss))| {
        let coin = 0.5 * (at(&rest[0], *loss) + at(&rest[1], *loss));
        share * if follows { at(&rest[place], *loss) } else { coin }
    });
    by_outcome.sum()
}

/// A number that decides must not follow what was released before it, unless that is charged as what decides as well:
/// else delta is spent on those words that make a number likely, for every number anew.
#[test]
fn a_number_that_decides_follows_no_words_or_these_decide_too() {
    let (words, number, target) = (0.1, 1e-6, (1.0, 1e-3));
    let plan = |words: Event| {
        let first = Event::Compose(vec![words, Event::Added { epsilon: number }]);
        let up = calibrated(&first, |epsilon| Event::Pure { epsilon }, target);
        let down = calibrated(&first, |delta| Event::Approximate { epsilon: 0.0, delta }, target);
        [up, down]
    };
    let tight = plan(Event::Pure { epsilon: words });
    let within = |found: f64| (0.5 * target.1..=1.001 * target.1).contains(&found);
    let independent = chosen_by_number(words, target.0, &tight, false);
    assert!(within(independent), "{independent}");
    let deciding = chosen_by_number(words, target.0, &plan(Event::Added { epsilon: words }), true);
    assert!(within(deciding), "{deciding}");
    // The broken twin: the number follows the words, and these are charged by tight composition.
    let twin = chosen_by_number(words, target.0, &tight, true);
    assert!(twin > 1.4 * target.1, "{twin}");
}

#[test]
fn it_is_added_as_it_is() {
    for relation in [Neighbouring::AddRemove, Neighbouring::ReplaceOne] {
        let accounts: [&dyn Account; 2] =
            [&pld::Accountant::new(relation), &rdp::Accountant::new(relation)];
        for account in accounts {
            let alone = account.epsilon(&[training()], 1e-6).expect("supported");
            let both = [Event::Added { epsilon: 0.03 }, training()];
            let both = account.epsilon(&both, 1e-6).expect("supported");
            assert!((both - alone - 0.03).abs() < 1e-8, "{both} {alone}");
            assert!(both >= alone + 0.03, "{both} {alone}");
            let twice = [training(), Event::Added { epsilon: 0.03 }.repeat(2)];
            let twice = account.epsilon(&twice, 1e-6).expect("supported");
            assert!((twice - alone - 0.06).abs() < 1e-8, "{twice} {alone}");
        }
    }
}

#[test]
fn delta_is_that_of_the_rest_at_what_is_left() {
    let deciding = Event::Added { epsilon: 0.5 };
    let both = [deciding.clone(), training()];
    for level in [0.0, 0.1, 1.0] {
        let (found, rest) = (delta(&both, 0.5 + level), delta(&[training()], level));
        assert!((found / rest - 1.0).abs() < 1e-6, "{level}: {found} {rest}");
    }
    // Below its own epsilon delta goes on to rise, as that of every pair does.
    let (below, at) = (delta(&both, 0.4), delta(&both, 0.5));
    assert!(below > at && below < at + 0.1, "{below} {at}");
    let alone = delta(std::slice::from_ref(&deciding), 0.2);
    assert!((alone + (-0.3_f64).exp_m1()).abs() < 1e-12, "{alone}");
    assert_eq!(delta(std::slice::from_ref(&deciding), 0.51), 0.0);
}
