//! How good the order of predictions is, and how true they are. *Not private*: all of it comes from labels without noise.

/// How many parts of the predictions, from the least to the largest, are compared with what came true.
const PARTS: usize = 10;

/// The area under the curve, from the ranks of class 1 among pairs of a score and a label that are sorted by their scores: the
/// probability that a row of class 1 is ranked above one of class 0, ties counted half. None if a class is empty.
pub fn area_under_curve(pairs: &[(f64, f64)]) -> Option<f64> {
    let is_one = |pair: &&(f64, f64)| pair.1 > 0.5;
    let ones = pairs.iter().filter(is_one).count() as f64;
    let zeros = pairs.len() as f64 - ones;
    let mut ranks = 0.0;
    let mut passed = 0;
    for tied in pairs.chunk_by(|one, other| one.0 == other.0) {
        let middle = passed as f64 + (tied.len() as f64 + 1.0) / 2.0;
        ranks += middle * tied.iter().filter(is_one).count() as f64;
        passed += tied.len();
    }
    (ones > 0.0 && zeros > 0.0).then(|| (ranks - ones * (ones + 1.0) / 2.0) / (ones * zeros))
}

/// The means of predictions and labels in each tenth of pairs of a score and a label that are sorted by their scores.
pub fn calibration(pairs: &[(f64, f64)], prediction: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mean = |part: &[(f64, f64)]| {
        let count = part.len() as f64;
        let predicted = part.iter().map(|(score, _)| prediction(*score)).sum::<f64>();
        (predicted / count, part.iter().map(|(_, label)| label).sum::<f64>() / count)
    };
    pairs.chunks(pairs.len().div_ceil(PARTS).max(1)).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_counts_pairs() {
        let rows = [(-1.0, 0.0), (0.1, 0.0), (0.4, 1.0), (0.4, 0.0), (0.9, 1.0)];
        // Pairs: 0.4 beats 0.1 and -1, ties with 0.4; 0.9 beats all three: 5.5 of 6.
        assert_eq!(area_under_curve(&rows), Some(5.5 / 6.0));
        assert_eq!(area_under_curve(&[(1.0, 1.0)]), None);
    }

    #[test]
    fn each_tenth_has_its_means() {
        let rows: Vec<(f64, f64)> =
            (0..20).map(|row| (f64::from(row), f64::from(row % 2))).collect();
        let parts = calibration(&rows, |score| score / 20.0);
        assert_eq!((parts.len(), parts[0], parts[9].1), (10, (0.025, 0.5), 0.5));
        assert!(calibration(&[], |score| score).is_empty());
    }
}
