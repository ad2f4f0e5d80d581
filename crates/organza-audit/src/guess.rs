//! Guesses about coins, from scores.

use organza_data::Guesses;
use serde::{Deserialize, Serialize};

/// How guesses about tossed canaries came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guessed {
    /// All canaries, those without a guess included.
    pub canaries: u64,
    /// The guesses that were made.
    pub guesses: u64,
    /// How many of them were right.
    pub correct: u64,
}

/// Guesses that the canaries with the largest scores were inserted and those with the smallest were left
/// out, as many of each as `guesses` says, and counts what was right. Canaries are (score, inserted).
///
/// The numbers of guesses have to be fixed before anybody looks; among equal scores, the order in which
/// the canaries stand decides, which knows nothing of the coins. Guesses that there are no canaries for
/// are not made. A score that is no number stands last among those left out.
pub fn guess(canaries: &[(f64, bool)], guesses: Guesses) -> Guessed {
    let mut sorted: Vec<(f64, bool)> = canaries.to_vec();
    let place = |score: f64| if score.is_nan() { f64::NEG_INFINITY } else { score };
    sorted.sort_by(|left, right| place(right.0).total_cmp(&place(left.0)));
    let most = sorted.len() as u64;
    let inserted = guesses.inserted.min(most);
    let left_out = guesses.left_out.min(most - inserted);
    let right_in = sorted.iter().take(inserted as usize).filter(|(_, is_in)| *is_in).count();
    let right_out = sorted.iter().rev().take(left_out as usize).filter(|(_, is_in)| !is_in).count();
    Guessed { canaries: most, guesses: inserted + left_out, correct: (right_in + right_out) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_order_are_guessed_and_the_middle_is_not() {
        let canaries = [(0.1, true), (5.0, true), (-3.0, false), (4.0, false), (f64::NAN, true)];
        let of = |inserted, left_out| guess(&canaries, Guesses { inserted, left_out });
        assert_eq!(of(1, 0), Guessed { canaries: 5, guesses: 1, correct: 1 });
        assert_eq!(of(2, 0), Guessed { canaries: 5, guesses: 2, correct: 1 });
        assert_eq!(of(2, 2), Guessed { canaries: 5, guesses: 4, correct: 2 });
        assert_eq!(of(9, 9), Guessed { canaries: 5, guesses: 5, correct: 3 });
        assert_eq!(guess(&[], Guesses { inserted: 3, left_out: 3 }).guesses, 0);
    }
}
