//! What it costs that laws are only nearly those that are stated: the term of [`Event::Near`](organza_ledger::Event).

use organza_ledger::AccountError;

/// Covers the rounding of the few operations here.
const RESERVE: f64 = 1.0 + 1e-12;
/// How much larger than the last epsilon the next one is expected to be at the most, when the term grows with it.
const SLACK: f64 = 0.01;
/// More rounds than it ever takes where there is an answer.
const ROUNDS: usize = 64;

/// (1 + e^epsilon) b.
pub(crate) fn mass(total_variation: f64, epsilon: f64) -> f64 {
    if total_variation == 0.0 {
        0.0
    } else {
        (1.0 + libm::exp(epsilon)) * total_variation * RESERVE
    }
}

/// An answer of `stated` at so much less than `delta` as the term takes at the answer's own epsilon.
///
/// # Proof
/// `stated` gives, for a delta d, an epsilon e at which the laws that are stated have it. An answer is taken only if
/// d + (1 + e^e) b is at most `delta`.
pub(crate) fn answer<Answer>(
    total_variation: f64,
    delta: f64,
    stated: impl Fn(f64) -> Result<Answer, AccountError>,
    epsilon_of: impl Fn(&Answer) -> f64,
) -> Result<Answer, AccountError> {
    if total_variation == 0.0 {
        return stated(delta);
    }
    let mut expected = 0.0;
    for _ in 0..ROUNDS {
        let left = (delta - mass(total_variation, expected)).next_down();
        if left <= 0.0 {
            break;
        }
        let answer = stated(left)?;
        let epsilon = epsilon_of(&answer);
        if epsilon <= expected {
            return Ok(answer);
        }
        expected = epsilon + SLACK;
    }
    Err(AccountError::OutOfRange(format!(
        "a total variation of {total_variation:e} leaves nothing of delta {delta:e}"
    )))
}
