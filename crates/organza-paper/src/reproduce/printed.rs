//! What the paper prints: "Wide Network Learning with Differential Privacy" (Zhang, Mironov, Hejazinia 2021),
//! section 5. Its figures are pictures without numbers; what stands in text and tables is here.

use serde::Serialize;

/// A cell of the table of chi-squared distances: the distance and Pearson's p-value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distance {
    /// The chi-squared statistic over the number of phrases.
    pub distance: f64,
    /// Pearson's.
    pub p_value: f64,
}

const fn cell(distance: f64, p_value: f64) -> Distance {
    Distance { distance, p_value }
}

/// The table of chi-squared distances: for n_c = 3, 9 and 15 non-private, DP-SGD, sparse and random.
pub(super) const DISTANCES: [[Distance; 4]; 3] = [
    [cell(2.62, 0.0), cell(0.007, 0.63), cell(0.005, 0.85), cell(0.005, 0.86)],
    [cell(3.24, 0.0), cell(0.004, 0.88), cell(0.007, 0.68), cell(0.010, 0.33)],
    [cell(3.27, 0.0), cell(0.011, 0.31), cell(0.026, 0.0), cell(0.002, 0.98)],
];

/// The table of hyper-parameters: name, DP-SGD, sparse.
pub(super) const HYPER_PARAMETERS: [(&str, Option<f64>, Option<f64>); 7] = [
    ("batch size b", Some(20.0), Some(20.0)),
    ("learning rate", Some(0.001), Some(0.001)),
    ("epochs", Some(20.0), Some(20.0)),
    ("first clip S1", Some(15.0), Some(15.0)),
    ("second clip S2", None, Some(1.0)),
    ("share selected gamma", None, Some(0.001)),
    ("cap of scores S0", None, Some(0.1)),
];

/// The epsilon that the paper gives to a panel of Figure 1; none where it gives none.
pub(super) fn epsilon(panel: &str) -> Option<f64> {
    let without = ["non-private", "dp-sgd-0.5"];
    (!without.contains(&panel)).then_some(super::plan::BUDGET)
}

#[cfg(test)]
mod tests {
    use super::*;
    use organza_audit::uniformity;

    /// The distance is the chi-squared statistic over 1,000 phrases: only then do the printed p-values
    /// follow from the printed distances, within their rounding.
    #[test]
    fn printed_p_values_follow_from_printed_distances() {
        for row in DISTANCES {
            for Distance { distance, p_value } in row {
                let between = |distance: f64| p_of(1_000.0 * distance);
                let low = between(distance + 0.000_5) - 0.005;
                let high = between((distance - 0.000_5).max(0.0)) + 0.005;
                assert!((low..=high).contains(&p_value), "{distance}: {low} to {high}");
            }
        }
    }

    /// The p-value of a statistic with nine degrees of freedom, by a histogram that has it nearly: two
    /// bins off by d have the statistic d^2 / 50000 of 1,000,000.
    fn p_of(statistic: f64) -> f64 {
        let off = (statistic * 50_000.0).sqrt().round() as u64;
        let mut histogram = [100_000; 10];
        histogram[0] += off;
        histogram[1] -= off;
        uniformity(&histogram).map_or(f64::NAN, |it| it.p_value)
    }
}
