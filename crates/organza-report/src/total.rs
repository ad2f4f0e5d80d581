//! What all runs in a folder cost together, in words.

use crate::digits::cost;
use organza_train::suite::{Price, Total, counted};

/// What is promised of all private runs together, and where that comes from.
pub fn in_words(total: &Total) -> String {
    let Total { price, runs, without_guarantee, .. } = *total;
    let mut words = match price {
        Some(Price { epsilon, delta }) => format!(
            "{} together: epsilon {} at delta {}",
            counted(runs, "private run"),
            cost(epsilon),
            cost(delta)
        ),
        None if runs == 0 => "nothing is promised".to_owned(),
        None => format!("{} that protect different things have no total", counted(runs, "run")),
    };
    if price.is_some() {
        words += &earlier_in_words(total);
    }
    if without_guarantee > 0 {
        let runs = counted(without_guarantee, "run");
        words += &format!("; nothing is promised of {runs} without privacy or with a seed");
    }
    words
}

/// How many runs the last command found in the folder, if any.
pub fn earlier_in_words(total: &Total) -> String {
    match total.earlier {
        0 => String::new(),
        earlier => format!(", {earlier} of them from earlier commands in this folder"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_promises_nothing_or_something_else_is_said() {
        let nothing = Total { price: None, runs: 0, earlier: 0, without_guarantee: 0 };
        assert_eq!(in_words(&nothing), "nothing is promised");
        let price = Some(Price { epsilon: 1.07, delta: 1e-6 });
        let one = Total { price, runs: 1, without_guarantee: 2, ..nothing };
        let words = in_words(&one);
        assert!(words.starts_with("1 private run together: epsilon 1.07 at delta 1e-6"), "{words}");
        let end = "nothing is promised of 2 runs without privacy or with a seed";
        assert!(words.ends_with(end), "{words}");
        let other = in_words(&Total { runs: 2, ..nothing });
        assert!(other.starts_with("2 runs that protect different things"), "{other}");
    }
}
