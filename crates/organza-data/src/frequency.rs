//! The loss of word frequencies alone: what any model of words in context has to beat.

use crate::Negatives;

/// The mean loss, on test samples, of the model whose logits are the same for all inputs and were
/// fitted to the training samples; negatives count in expectation, so nothing is drawn.
///
/// With p the share of an output word in training, q its probability as one of k negatives, the
/// expected training loss of a logit b for this word is p softplus(-b) + k q softplus(b). Its
/// derivative is -p sigmoid(-b) + k q sigmoid(b), which is 0 at b = ln(p / (k q)). A word that was
/// never seen counts as seen once, so that its logit is finite. On test samples with shares h:
///
/// ```text
/// loss = sum over words of  h softplus(-b) + k q softplus(b)
/// ```
///
/// `train` and `test` say how often each word is the one to be predicted
/// ([`Units::output_counts`](crate::Units::output_counts)). The result is *not private*, and none where the vocabularies
/// differ, or there are no test samples or no negatives, without which every model can have loss 0.
pub fn frequency_loss(
    train: &[u64],
    test: &[u64],
    negative_count: u32,
    negatives: &Negatives,
) -> Option<f64> {
    let one_vocabulary = train.len() == test.len() && train.len() == negatives.len();
    let tested = test.iter().sum::<u64>() as f64;
    if !one_vocabulary || negative_count == 0 || tested == 0.0 {
        return None;
    }
    let trained = train.iter().map(|&count| count.max(1)).sum::<u64>() as f64;
    let words = train.iter().zip(test).zip(0..);
    Some(
        words
            .map(|((&train, &test), word)| {
                let expected_negatives = f64::from(negative_count) * negatives.probability(word);
                let logit = (train.max(1) as f64 / trained / expected_negatives).ln();
                test as f64 / tested * softplus(-logit) + expected_negatives * softplus(logit)
            })
            .sum(),
    )
}

/// ln(1 + e^x), without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Three words, two negatives, uniform: k q = 2/3. Training shares 1/2, 3/8, 1/8 (the last word
    /// was not seen and counts once) give logits ln(3/4), ln(9/16), ln(3/16). With softplus(ln r) =
    /// ln(1 + r) and test shares 1/2, 1/4, 1/4 the loss is
    /// 1/2 ln(7/3) + 2/3 ln(7/4) + 1/4 ln(25/9) + 2/3 ln(25/16) + 1/4 ln(19/3) + 2/3 ln(19/16).
    #[test]
    fn a_case_by_hand() {
        let negatives = Negatives::uniform(3).unwrap();
        let loss = frequency_loss(&[4, 3, 0], &[2, 1, 1], 2, &negatives).unwrap();
        let by_hand = 0.5 * (7.0_f64 / 3.0).ln()
            + 2.0 / 3.0 * (7.0_f64 / 4.0).ln()
            + 0.25 * (25.0_f64 / 9.0).ln()
            + 2.0 / 3.0 * (25.0_f64 / 16.0).ln()
            + 0.25 * (19.0_f64 / 3.0).ln()
            + 2.0 / 3.0 * (19.0_f64 / 16.0).ln();
        assert!((loss - by_hand).abs() < 1e-12, "{loss} {by_hand}");
        assert!((loss - 1.925_687).abs() < 1e-6, "{loss}");
    }

    /// No other logits do better on the training samples themselves.
    #[test]
    fn it_is_the_best_constant() {
        let negatives = Negatives::uniform(3).unwrap();
        let counts = [7, 2, 5];
        let best = frequency_loss(&counts, &counts, 4, &negatives).unwrap();
        for other in [[8, 2, 5], [7, 3, 5], [7, 2, 4], [1, 1, 1]] {
            assert!(frequency_loss(&other, &counts, 4, &negatives).unwrap() > best);
        }
    }

    #[test]
    fn what_has_no_loss_is_refused() {
        let negatives = Negatives::uniform(2).unwrap();
        let loss =
            |train: &[u64], test: &[u64], count| frequency_loss(train, test, count, &negatives);
        assert!(loss(&[1, 1], &[1, 1], 8).is_some());
        assert_eq!(loss(&[1, 1], &[0, 0], 8), None);
        assert_eq!(loss(&[1, 1], &[1, 1], 0), None);
        assert_eq!(loss(&[1], &[1, 1], 8), None);
    }
}
