//! How many units of a group join a Poisson batch.

/// The law Binomial(m, q), by its logarithms.
#[derive(Clone, Debug)]
pub(super) struct Binomial {
    /// -ln of the probability that none joins.
    pub(super) absent: f64,
    /// For each number that may join, the logarithm of its probability over that of none.
    pub(super) odds: Vec<f64>,
    /// The sizes of the numbers that these, and those before them, were computed from: they are
    /// wrong by at most four [`f64::EPSILON`] times as much.
    pub(super) sizes: Vec<f64>,
}

impl Binomial {
    /// For a `rate` above zero and below one.
    pub(super) fn new(records: u64, rate: f64) -> Self {
        let (log_rate, log_rest) = (libm::log(rate), libm::log1p(-rate));
        // A compensated sum, or thousands of roundings would add up.
        let (mut choices, mut carried, mut most) = (0.0_f64, 0.0_f64, 0.0_f64);
        let (odds, sizes) = (0..=records)
            .map(|joined| {
                let count = joined as f64;
                most = most.max(choices);
                let found = (
                    choices + count * (log_rate - log_rest),
                    2.0 * most + count * (log_rate.abs() + log_rest.abs()),
                );
                let more = libm::log((records - joined) as f64 / (count + 1.0)) - carried;
                let sum = choices + more;
                carried = (sum - choices) - more;
                choices = sum;
                found
            })
            .unzip();
        Self { absent: -(records as f64) * log_rest, odds, sizes }
    }

    /// The probability that `joined` join.
    pub(super) fn mass(&self, joined: usize) -> f64 {
        libm::exp(self.odds[joined] - self.absent)
    }
}
