//! What a mask that hits the record costs, in proportion to the share it lets through.

use super::noise;

/// A convex, falling majorant of m(b) = sup V(b; shift x)/x^2 over 0 < x <= 1, for b > 1: chords
/// between points at increasing logarithms of b.
pub(super) struct Hits {
    shift: f64,
    logs: Vec<f64>,
    values: Vec<f64>,
}

impl Hits {
    /// Points from `from` (above 0) to `to`, for noise that the whole record shifts by `shift`.
    pub(super) fn new(shift: f64, from: f64, to: f64) -> Self {
        let mut logs = vec![from];
        let mut log = from;
        while log < to {
            // m falls like a power near 1 and like a Gaussian tail further out.
            log += (0.03 * log).min(shift / 100.0).max(to / 4096.0);
            logs.push(log);
        }
        let mut values: Vec<f64> = logs.iter().map(|log| noise::steepest(*log, shift)).collect();
        // m is convex, its points only up to round-off: where they are not, the left one is raised.
        let mut next_slope = 0.0;
        for index in (0..values.len() - 1).rev() {
            let gap = logs[index + 1] - logs[index];
            let back = -libm::expm1(-gap);
            values[index] = values[index].max(values[index + 1] - next_slope * back);
            next_slope = (values[index + 1] - values[index]) / libm::expm1(gap);
        }
        Self { shift, logs, values }
    }

    /// Adds `weight` x m_s(e^log) to each of `sums`, at logarithms `first`, `first` + `step`, .., and
    /// returns the weighted value at the threshold 0, or nothing if the table does not reach.
    ///
    /// m_s is m from the last point b0 on where m(b0) >= shift/(4 s sqrt(2 pi)), and its first chord,
    /// extended, before. It satisfies V(b; shift x) <= V(b; shift s) + x^2 m_s(b) for all b and x:
    /// from b0 on by the definition of m; before it, V(b; shift x) <= V(b; shift s) where x <= s, and
    /// where x > s the difference is at most shift (x - s)/sqrt(2 pi) <= x^2 shift/(4 s sqrt(2 pi)),
    /// because dV/dshift <= 1/sqrt(2 pi) and (x - s)/x^2 <= 1/(4 s).
    pub(super) fn add(
        &self,
        share: f64,
        weight: f64,
        first: f64,
        step: f64,
        sums: &mut [f64],
    ) -> Option<f64> {
        let least = self.shift / (4.0 * share * (2.0 * std::f64::consts::PI).sqrt());
        let start =
            self.values.iter().take_while(|value| **value >= least).count().checked_sub(1)?;
        if start + 1 >= self.values.len() {
            return None;
        }
        let top = self.values.len() - 1;
        let mut segment = start;
        for (index, sum) in sums.iter_mut().enumerate() {
            let log = first + index as f64 * step;
            while segment + 1 < top && log > self.logs[segment + 1] {
                segment += 1;
            }
            *sum += weight
                * if log >= self.logs[top] { self.values[top] } else { self.on(segment, log) };
        }
        Some(weight * self.on(start, f64::NEG_INFINITY))
    }

    /// The line through points `segment` and its successor, at e^`log`.
    fn on(&self, segment: usize, log: f64) -> f64 {
        let (from, to) = (self.logs[segment], self.logs[segment + 1]);
        let share = libm::expm1(log - from) / libm::expm1(to - from);
        self.values[segment] * (1.0 - share) + self.values[segment + 1] * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::hockey_stick;

    #[test]
    fn the_inequality_behind_the_theorem_holds_everywhere() {
        for shift in [0.05, 1.0, 2.0, 10.0] {
            let hits = Hits::new(shift, 1e-4 * shift, 0.5 * shift * shift + 11.0 * shift);
            for share in [0.02, 0.1, 0.4, 0.9] {
                let (first, step) = (-3.0 * shift, 0.01 * shift);
                let mut sums = vec![0.0; 1200];
                let zero = hits.add(share, 1.0, first, step, &mut sums).expect("the table reaches");
                assert!(zero >= sums[0]);
                for (index, sum) in sums.iter().enumerate() {
                    let threshold = (first + step * index as f64).exp();
                    let base = hockey_stick(threshold, shift * share);
                    for x in (0..=100).map(|i| f64::from(i) / 100.0) {
                        let value = hockey_stick(threshold, shift * x);
                        assert!(value <= (base + x * x * sum) * (1.0 + 1e-11) + 1e-16);
                    }
                }
                for pair in sums.windows(2) {
                    assert!(pair[1] <= pair[0] * (1.0 + 1e-12));
                }
            }
        }
    }
}
