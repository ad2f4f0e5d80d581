//! A certificate in plain words.

use crate::describe::number;
use crate::digits::cost;
use crate::page::{Promise, best_guess};
use organza_ledger::{Neighbouring, Unit};
use organza_train::Certificate;

/// What is promised, in a line.
pub fn headline(certificate: &Certificate) -> String {
    let Certificate { epsilon, delta, unit, neighbouring, .. } = certificate;
    match (epsilon, delta) {
        (Some(epsilon), Some(delta)) => {
            let digits = if *epsilon < 0.1 { 8 } else { 4 };
            format!(
                "epsilon {epsilon:.digits$} at delta {} for each {unit} ({neighbouring})",
                number(*delta)
            )
        }
        _ => "without privacy: there is no guarantee".to_owned(),
    }
}

/// What someone who sees (`epsilon`, `delta`)-private files can do about a question that one unit decides, in words that
/// follow the share of best guesses that are right.
fn certainty(epsilon: f64, delta: f64) -> &'static str {
    match best_guess(epsilon, delta) {
        ..0.6 => "can hardly tell",
        ..0.75 => "can do little better than guess",
        ..0.9 => "can guess, but hardly be sure",
        ..=NEARLY_CERTAIN => "may come to suspect, but cannot be certain",
        _ => "may become nearly certain",
    }
}

/// Guesses that are right more often leave nothing to promise in words.
const NEARLY_CERTAIN: f64 = 0.99;

/// What a run is, in a sentence.
pub(super) fn lead(certificate: &Certificate, released: &str) -> String {
    match (certificate.epsilon, certificate.delta) {
        (Some(epsilon), Some(delta)) if certificate.private => format!(
            "Trained with differential privacy: anyone who sees the {released} {} whether any one {} was in the data.",
            certainty(epsilon, delta),
            certificate.unit
        ),
        _ => {
            format!(
                "Trained without a guarantee of privacy: the {released} may give the data away."
            )
        }
    }
}

/// What is promised, to whom, and what is not.
pub(super) fn promise(certificate: &Certificate, released: &str, seeded: bool) -> Promise {
    let mut promise = Promise {
        headline: headline(certificate),
        holds: certificate.private,
        conditions: certificate.conditions.clone(),
        ..Promise::default()
    };
    let (epsilon, delta) = match (certificate.epsilon, certificate.delta) {
        (Some(epsilon), Some(delta)) if certificate.private => (epsilon, delta),
        (epsilon, delta) => {
            promise.not_promised = vec![if seeded {
                "Anything to anyone who knows or guesses the seed: with it, the noise can be taken away."
                    .to_owned()
            } else {
                format!(
                    "Anything. The {released} may give away what was in the data, word by word."
                )
            }];
            if let (Some(epsilon), Some(delta)) = (epsilon, delta) {
                promise.headline = "no guarantee".to_owned();
                promise.conditions.push(format!(
                    "as charged, and with noise from a secret key, what was released would come to epsilon {} at delta {}",
                    cost(epsilon),
                    cost(delta)
                ));
            }
            return promise;
        }
    };
    let unit = certificate.unit;
    let can = certainty(epsilon, delta);
    let question = match certificate.neighbouring {
        Neighbouring::AddRemove => format!("whether one {unit} was in it or not"),
        Neighbouring::ReplaceOne => format!("which of two possible {unit}s was in it"),
    };
    let guess = best_guess(epsilon, delta);
    if guess <= NEARLY_CERTAIN {
        promise.promised.push(format!(
            "Someone who sees the released files, and even knows all the rest of the data, {can} {question}."
        ));
    } else {
        promise.not_promised.push(format!(
            "Much: someone who sees the released files, and knows all the rest of the data, {can} {question}. Whether any \
             attack comes near that, only an audit can say."
        ));
    }
    promise.promised.push(format!(
        "In numbers: someone who has to guess between the two, each as likely as the other, is right at most {} % of \
         the time. A coin is right 50 %.",
        percent(guess)
    ));
    promise.promised.push(
        "It stays true whatever is computed from these files, by whomever, at any time.".to_owned(),
    );
    promise.to_whom = vec![whom(unit, epsilon, delta)];
    promise.not_promised.push(format!(
        "That nothing is learned about people. What holds for many is learned, with or without any \
         one {unit}: that is what training is for."
    ));
    if let Some(total) = &certificate.dataset {
        promise.promised.push(format!(
            "All runs on the data set `{}` up to this one promise epsilon {} at delta {} together, and no run may \
             take it beyond {} at {}.",
            total.dataset,
            cost(total.epsilon),
            cost(total.delta),
            cost(total.epsilon_budget),
            cost(total.delta_budget)
        ));
    }
    for fact in &certificate.public {
        promise.not_promised.push(format!(
            "Anything about {}, which was declared public: {}.",
            fact.name, fact.value
        ));
    }
    if !certificate.not_private.is_empty() {
        promise.not_promised.push(format!(
            "Anything about what is not private: {}.",
            certificate.not_private.join("; ")
        ));
    }
    promise
}

/// Who is protected, and who less: two units that come and go together have
/// (2 epsilon, (1 + e^epsilon) delta), by the triangle of their neighbours.
fn whom(unit: Unit, epsilon: f64, delta: f64) -> String {
    let fewer = |what: &str| {
        let (twice, wider) = (2.0 * epsilon, delta * (1.0 + epsilon.exp()));
        if wider >= 1.0 {
            return format!("Someone with several {what} is promised nothing.");
        }
        format!(
            "Someone with several {what} is promised less: two of them together have epsilon {} at \
             delta {}.",
            cost(twice),
            cost(wider)
        )
    };
    match unit {
        Unit::Pair => format!(
            "Each pair of a word and a word near it. A line holds many pairs, and a person writes \
             many lines: of all promises this is the weakest. {}",
            fewer("pairs")
        ),
        Unit::Line => {
            format!("Each line of the data, such as a review or a message. {}", fewer("lines"))
        }
        Unit::User => "Each person, with everything that came from them.".to_owned(),
        Unit::Document => {
            format!("Each document, with all of its lines. {}", fewer("documents"))
        }
        Unit::Record => format!("Each record of the data. {}", fewer("records")),
        Unit::Group => format!("Each group of records. {}", fewer("groups")),
    }
}

/// A share in percent, rounded up, so that what is said still holds: to a tenth, or as finely as it takes to stay below
/// a hundred.
fn percent(share: f64) -> String {
    let rounded = |digits: i32| (100.0 * share * 10_f64.powi(digits)).ceil() / 10_f64.powi(digits);
    number((1..=6).map(rounded).find(|percent| *percent < 100.0).unwrap_or(100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_rounded_up() {
        assert_eq!(percent(best_guess(3.0, 1e-6)), "95.3");
        assert_eq!(percent(0.5), "50");
        assert_eq!(percent(0.500_01), "50.1");
        assert_eq!(percent(best_guess(8.0, 1e-6)), "99.97");
        assert_eq!(percent(best_guess(30.0, 1e-6)), "100");
    }

    fn certificate(epsilon: f64, private: bool) -> Certificate {
        let text = serde_json::json!({
            "version": 2, "method": "dpsgd", "private": private, "epsilon": epsilon, "delta": 1e-6,
            "neighbouring": "add-remove", "unit": "line", "accountant": "pld", "steps": 1,
            "events": [], "public": [], "conditions": [], "not_private": []
        });
        serde_json::from_value(text).expect("a certificate")
    }

    /// Whatever is said in words never sounds stronger for a larger epsilon, and nothing is said to be hidden
    /// where a guess is right 99 times of 100.
    #[test]
    fn words_follow_the_number() {
        let scale = [
            "can hardly tell",
            "little better than guess",
            "hardly be sure",
            "cannot be certain",
            "nearly certain",
        ];
        let place = |text: &str| scale.iter().position(|words| text.contains(words));
        let mut last = 0;
        for epsilon in (1..=200).map(|step| 0.1 * f64::from(step)) {
            let certificate = certificate(epsilon, true);
            let lead = lead(&certificate, "vectors");
            let said = place(&lead).unwrap_or_else(|| panic!("{epsilon}: {lead}"));
            assert!(said >= last, "{epsilon}: {lead}");
            last = said;
            let promise = promise(&certificate, "vectors", false);
            let promised = promise.promised.join(" ");
            let is_weak = best_guess(epsilon, 1e-6) > 0.99;
            assert_eq!(place(&promised), (!is_weak).then_some(said), "{epsilon}: {promised}");
            assert_eq!(place(&promise.not_promised.join(" ")).is_some(), is_weak, "{epsilon}");
        }
        assert_eq!(last, scale.len() - 1);
        for (epsilon, words) in [(0.1, 0), (1.0, 1), (2.0, 2), (3.0, 3), (8.0, 4)] {
            assert_eq!(place(certainty(epsilon, 1e-6)), Some(words), "epsilon {epsilon}");
        }
        // All may be told with probability delta, however small epsilon is.
        assert_eq!(place(certainty(0.1, 0.99)), Some(scale.len() - 1));
    }

    #[test]
    fn a_run_from_a_seed_promises_nothing() {
        let promise = promise(&certificate(3.0, false), "vectors", true);
        assert!(!promise.holds && promise.promised.is_empty() && promise.to_whom.is_empty());
        assert_eq!(promise.headline, "no guarantee");
        assert!(promise.conditions[0].contains("epsilon 3"), "{:?}", promise.conditions);
    }
}
