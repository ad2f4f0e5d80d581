//! A guarantee in plain words: what is promised, to whom, and what is not.

use crate::escape::prose;

/// A guarantee in plain words.
#[derive(Clone, Debug, Default)]
pub struct Promise {
    /// The guarantee in a line.
    pub headline: String,
    /// Whether there is a guarantee at all.
    pub holds: bool,
    /// What is promised.
    pub promised: Vec<String>,
    /// To whom.
    pub to_whom: Vec<String>,
    /// What is not.
    pub not_promised: Vec<String>,
    /// What it takes for granted.
    pub conditions: Vec<String>,
}

impl Promise {
    pub(super) fn html(&self) -> String {
        let part = |heading: &str, class: &str, items: &[String]| {
            if items.is_empty() {
                return String::new();
            }
            let items: String =
                items.iter().map(|item| format!("<li>{}</li>\n", prose(item))).collect();
            format!("<div class=\"{class}\"><h3>{heading}</h3>\n<ul>\n{items}</ul></div>\n")
        };
        format!(
            "<div class=\"promise {}\">\n<p class=\"headline\">{}</p>\n<div class=\"terms\">\n{}{}{}{}\
             </div>\n</div>\n",
            if self.holds { "holds" } else { "fails" },
            prose(&self.headline),
            part("What this promises", "yes", &self.promised),
            part("To whom", "yes", &self.to_whom),
            part("What it does not promise", "no", &self.not_promised),
            part("What it takes for granted", "if", &self.conditions),
        )
    }
}

/// The share of guesses that are right, at best, for whoever has to tell two neighbouring data sets
/// apart, each as likely as the other, from what is (`epsilon`, `delta`)-private.
///
/// # Proof
/// For a test with false-alarm rate a and power p, (epsilon, delta) gives p <= e^epsilon a + delta
/// and, for the complements, 1 - a <= e^epsilon (1 - p) + delta. Added up,
/// (p - a)(1 + e^epsilon) <= e^epsilon - 1 + 2 delta, and the guess is right with probability
/// (1 + p - a) / 2 <= (e^epsilon + delta) / (1 + e^epsilon).
pub(crate) fn best_guess(epsilon: f64, delta: f64) -> f64 {
    // Divided by e^epsilon, which may be beyond all numbers.
    let small = (-epsilon).exp();
    ((1.0 + delta * small) / (1.0 + small)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::best_guess;

    #[test]
    fn a_guess_is_a_coin_without_epsilon_and_certain_without_bound() {
        assert_eq!(best_guess(0.0, 0.0), 0.5);
        assert_eq!(best_guess(f64::INFINITY, 0.0), 1.0);
        // Randomised response tells the truth with probability e^epsilon / (1 + e^epsilon).
        assert!((best_guess(3_f64.ln(), 0.0) - 0.75).abs() < 1e-15);
        // With probability delta all is told: a coin otherwise.
        assert!((best_guess(0.0, 0.1) - 0.55).abs() < 1e-15);
        assert_eq!(best_guess(1.0, 1.0), 1.0);
    }
}
