//! How far Adam still moves a coordinate that gets no gradient any more.
//!
//! After t steps let a coordinate have the moments m and v, and let its gradient be zero from then on.
//! With j = u - t, r = b1 / sqrt(b2), the bias corrections c_u = (1 - b2^u)^(-1/2) and
//! K_u = 1 / ((1 - b1^u) c_u), Adam's step u > t moves it by
//!
//! ```text
//! lr / (1 - b1^u) * m b1^j / (sqrt(v b2^j) c_u + eps)  =  m / sqrt(v) * w_u / (1 + y a_u),
//! w_u = lr K_u r^j,     a_u = b2^(-j/2) / c_u,     y = eps / sqrt(v).
//! ```
//!
//! All that is still to come is the sum over u > t: a function of y alone, the same for all
//! coordinates. With the mean A of the a_u under the weights w_u (their total is S), and M_k their
//! central moments, an expansion around A gives
//!
//! ```text
//! sum = S sqrt(v) / (sqrt(v) + eps A) * (1 + e^2 M_2 - e^3 M_3 + e^4 M_4 - ...),   e = eps / (sqrt(v) + eps A).
//! ```
//!
//! The a_u hardly vary over the few dozen steps that have weight (by half a percent, for the usual
//! decays), so what is left out, of the order of (e sqrt(M_2))^5, is far below single precision; in
//! the first steps of a run, when the bias correction still changes fast, it may not be, and the sum
//! is then taken term by term.

use super::adam::AdamSettings;

/// How many steps are prepared at a time.
const BLOCK: u64 = 1_024;
/// Terms are left out when their weights have fallen to this share.
const LEFT_OUT: f64 = 1e-18;
/// After so many steps that a move has fallen to 2^-30 of its beginning a coordinate is at rest.
const AT_REST: f64 = 1.0 / (1_u64 << 30) as f64;
/// The fifth central moment of the most spread-out weights that occur (those of an exponential
/// variable, in deviations) times the fifth power of this is 1e-7.
const SPREAD: f64 = 0.018_7;

/// What is still to come after one time, for every coordinate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Future {
    /// S.
    pub(crate) total: f64,
    /// A.
    pub(crate) centre: f64,
    /// M_2, M_3, M_4.
    pub(crate) central: [f64; 3],
}

/// The futures of a stretch of times, prepared in blocks: the same whenever they are asked for, so that
/// a run that goes on has the same bits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    settings: AdamSettings,
    live: u64,
    /// The time of the first entry of `futures`.
    first: u64,
    futures: Vec<Future>,
}

impl Series {
    /// None if moves do not die out within a block: these decays have no use for a series.
    pub(crate) fn new(settings: AdamSettings) -> Option<Self> {
        let ratio = settings.ratio();
        let live = (AT_REST.ln() / ratio.ln()).ceil();
        // The fourth moment falls by b1 / b2^(5/2) a step, and has to fall as well.
        let falls = settings.beta1() / settings.beta2().powf(2.5);
        let good = settings.epsilon > 0.0 && ratio > 0.0 && live < BLOCK as f64 && falls < 0.99;
        let live = live as u64;
        good.then_some(Self { settings, live, first: 0, futures: Vec::new() })
    }

    /// After so many steps without a gradient a coordinate is at rest.
    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    /// Prepares what is asked of the times up to `time`: those that a coordinate still moves from.
    pub(crate) fn prepare(&mut self, time: u64) {
        let start = (time / BLOCK * BLOCK).saturating_sub(self.live + 1);
        let end = (time / BLOCK + 1) * BLOCK;
        if self.first == start && self.futures.len() as u64 == end - start {
            return;
        }
        self.first = start;
        self.futures.clear();
        self.futures.resize((end - start) as usize, Future::default());
        let (ratio, root) = (self.settings.ratio(), self.settings.beta2().sqrt());
        // w_u a_u^k falls by this from one step to the one before.
        let factors: [f64; 5] = std::array::from_fn(|power| ratio / root.powi(power as i32));
        let slowest = factors[4];
        let beyond = (LEFT_OUT.ln() / slowest.ln()).ceil() as u64;
        let mut raw = [0.0; 5];
        for time in (start..end + beyond).rev() {
            let (weight, inverse) = self.settings.corrections(time + 1);
            let mut term = f64::from(self.settings.learning_rate) * weight;
            for (moment, factor) in raw.iter_mut().zip(factors) {
                *moment = factor * (term + *moment);
                term *= inverse;
            }
            if time < end {
                self.futures[(time - start) as usize] = Future::from_raw(raw);
            }
        }
    }

    /// What is to come after `time`, which was prepared.
    pub(crate) fn after(&self, time: u64) -> Future {
        self.futures[(time - self.first) as usize]
    }

    /// How far a coordinate with moment `first` and root of the second moment `root` still moves after
    /// `time`, which was prepared, if it gets no more gradient.
    pub(crate) fn distance(&self, time: u64, first: f64, root: f64) -> f64 {
        if first == 0.0 {
            return 0.0;
        }
        let epsilon = f64::from(self.settings.epsilon);
        let future = self.after(time);
        if future.expands(epsilon, root) {
            first * future.expansion(epsilon, root)
        } else {
            first * self.term_by_term(time, root)
        }
    }

    /// The sum itself, over sqrt(v).
    pub(crate) fn term_by_term(&self, time: u64, root: f64) -> f64 {
        let settings = self.settings;
        let (mut first, mut root, mut sum) = (1.0, root, 0.0);
        let decay = settings.beta2().sqrt();
        for step in time + 1..=time + self.live + 1 {
            first *= settings.beta1();
            root *= decay;
            let (weight, inverse) = settings.corrections(step);
            sum += weight * first / (root + f64::from(settings.epsilon) * inverse);
        }
        f64::from(settings.learning_rate) * sum
    }
}

impl Future {
    fn from_raw(raw: [f64; 5]) -> Self {
        let total = raw[0];
        let [_, one, two, three, four] = raw.map(|moment| moment / total);
        let central = [
            two - one * one,
            three - 3.0 * one * two + 2.0 * one.powi(3),
            four - 4.0 * one * three + 6.0 * one * one * two - 3.0 * one.powi(4),
        ];
        Self { total, centre: one, central }
    }

    /// The largest e = eps / (sqrt(v) + eps A) that the expansion is good for.
    pub(crate) fn reach(&self) -> f64 {
        SPREAD / self.central[0].max(0.0).sqrt()
    }

    fn expands(&self, epsilon: f64, root: f64) -> bool {
        epsilon <= self.reach() * (root + epsilon * self.centre)
    }

    /// The sum over sqrt(v), by the expansion.
    fn expansion(&self, epsilon: f64, root: f64) -> f64 {
        let inverse = (root + epsilon * self.centre).recip();
        let share = epsilon * inverse;
        let [second, third, fourth] = self.central;
        let series = 1.0 + share * share * (second - share * (third - share * fourth));
        self.total * inverse * series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(beta1: f32, beta2: f32) -> AdamSettings {
        AdamSettings { learning_rate: 0.01, beta1, beta2, epsilon: 1e-8 }
    }

    #[test]
    fn the_expansion_is_the_sum() {
        for (beta1, beta2) in [(0.9, 0.999), (0.9, 0.99), (0.8, 0.9999), (0.5, 0.9)] {
            let mut series = Series::new(settings(beta1, beta2)).expect("decays that die out");
            for time in [0, 1, 2, 5, 20, 100, 700, 1_023, 1_024, 1_500, 100_000] {
                series.prepare(time);
                let epsilon = 1e-8_f64;
                for power in -6..=12 {
                    let root = epsilon * 10_f64.powi(power);
                    let future = series.after(time);
                    let exact = series.term_by_term(time, root);
                    if future.expands(epsilon, root) {
                        let error = future.expansion(epsilon, root) / exact - 1.0;
                        assert!(error.abs() < 3e-7, "{beta1} {beta2} {time} {power}: {error}");
                    }
                    assert!((series.distance(time, 2.0, root) / (2.0 * exact) - 1.0).abs() < 3e-7);
                }
            }
            // After the start, the expansion holds for every coordinate with the usual decays.
            series.prepare(2_000);
            assert!(beta2 < 0.999 || series.after(2_000).expands(1e-8, 0.0));
        }
    }

    #[test]
    fn blocks_agree_where_they_overlap() {
        let mut series = Series::new(settings(0.9, 0.999)).expect("decays that die out");
        series.prepare(1_023);
        let before = series.after(1_000);
        series.prepare(1_024);
        let after = series.after(1_000);
        assert!((before.total / after.total - 1.0).abs() < 1e-14);
        assert!((before.centre / after.centre - 1.0).abs() < 1e-14);
    }

    #[test]
    fn decays_that_do_not_die_out_have_no_series() {
        assert!(Series::new(settings(0.999, 0.99)).is_none());
        assert!(Series::new(settings(0.99, 0.999)).is_none());
        assert!(Series::new(settings(0.0, 0.999)).is_none());
        assert!(Series::new(AdamSettings { epsilon: 0.0, ..settings(0.9, 0.999) }).is_none());
    }
}
