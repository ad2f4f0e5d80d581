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

/// What a run is, in a sentence.
pub(super) fn lead(certificate: &Certificate, released: &str) -> String {
    if certificate.private {
        format!(
            "Trained with differential privacy: the {released} hardly tell whether any one {} was in the \
             data.",
            certificate.unit
        )
    } else {
        format!("Trained without a guarantee of privacy: the {released} may give the data away.")
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
    let (Some(epsilon), Some(delta)) = (certificate.epsilon, certificate.delta) else {
        promise.not_promised = vec![format!(
            "Anything. The {released} may give away what was in the data, word by word."
        )];
        return promise;
    };
    let unit = certificate.unit;
    if seeded {
        promise.not_promised.push(
            "Anything to anyone who knows or guesses the seed: with it, the noise can be taken away."
                .to_owned(),
        );
    }
    promise.promised = vec![
        match certificate.neighbouring {
            Neighbouring::AddRemove => format!(
                "Whoever sees the released files, and even knows all the rest of the data, can hardly \
                 tell whether one {unit} was in it or not."
            ),
            Neighbouring::ReplaceOne => format!(
                "Whoever sees the released files, and even knows all the rest of the data, can hardly \
                 tell which of two possible {unit}s was in it."
            ),
        },
        format!(
            "In numbers: someone who has to guess between the two, each as likely as the other, is \
             right at most {} % of the time. A coin is right 50 %.",
            percent(best_guess(epsilon, delta))
        ),
        "It stays true whatever is computed from these files, by whomever, at any time.".to_owned(),
    ];
    promise.to_whom = vec![whom(unit, epsilon, delta)];
    if best_guess(epsilon, delta) > 0.99 {
        promise.not_promised.push(format!(
            "Much: an epsilon of {} leaves room for a guess that is nearly certain. Whether any attack \
             comes near it, only an audit can say.",
            cost(epsilon)
        ));
    }
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

/// A share in percent, rounded up, so that what is said still holds.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent > 99.99 { number(100.0) } else { number((10.0 * percent).ceil() / 10.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_rounded_up() {
        assert_eq!(percent(best_guess(3.0, 1e-6)), "95.3");
        assert_eq!(percent(0.5), "50");
        assert_eq!(percent(0.500_01), "50.1");
        assert_eq!(percent(best_guess(30.0, 1e-6)), "100");
    }
}
