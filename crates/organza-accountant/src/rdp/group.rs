//! Sampled Gaussian noise, for a person with several records.

use super::Direction;
use super::general::add_log_moment;
use super::integral::Excess;
use super::logarithms::{self, LogSum};
use organza_ledger::{AccountError, Event};

/// The most records of one person; the cost of an answer grows with them.
const MOST_RECORDS: u64 = 1000;

/// The steepest log ratio that is integrated: beyond it panels become too many to be worth it.
const STEEPEST: f64 = 100.0;

/// The Renyi divergence of integer order `order` of Gaussian noise on a Poisson batch when a person
/// with `records` records is added or removed; the larger of both directions.
///
/// # Proof
/// Each record joins on its own, so the output with the person is the mixture R = sum over subsets S
/// of p_S r_S, where r_S is the likelihood ratio of a Gaussian whose mean moved by some v_S with
/// |v_S| <= |S| in units of the sensitivity, m = 1 / noise multiplier.
/// * Remove: for Gaussian ratios E_Q\[r_S1 ... r_Sa\] = exp(m^2 sum over i < j of <v_Si, v_Sj>), which is
///   largest when all v_S point one way with |v_S| = |S|. Hence E_Q R^a is at most
///   E_z\[(sum over j of Binomial(g, q)(j) e^(j m z - j^2 m^2 / 2))^a\].
/// * Add: R >= (1-q)^g, the weight of the empty subset, and E (R-1)^2 <= E R^2 - 1 as above; the worst
///   case of a convex power with these two bounds is the one used for general mechanisms. Also, by
///   concavity, ln R >= sum of p_S ln r_S, which is Gaussian with mean -m^2 E|v_S|^2 / 2 and variance
///   m^2 |E v_S|^2, so that D_a <= m^2 (a (g q)^2 + g q (1-q)) / 2. The smaller of both.
/// * In both directions no more than what an observer of the number of joined records has, by joint
///   convexity: sum over j of Binomial(g, q)(j) e^(a (a-1) j^2 m^2 / 2).
///
/// Where g m exceeds 100, only the last of these is used.
///
/// # Errors
/// If the order is below 2, there are more than 1000 records, or a parameter is out of range.
pub fn group_divergence(
    order: u32,
    rate: f64,
    noise_multiplier: f64,
    records: u64,
) -> Result<f64, AccountError> {
    Event::Gaussian { noise_multiplier }.poisson(rate).check()?;
    if order < 2 || records > MOST_RECORDS {
        return Err(AccountError::OutOfRange(format!(
            "order {order} for {records} records: orders start at 2, records end at {MOST_RECORDS}"
        )));
    }
    if records == 0 || rate == 0.0 {
        return Ok(0.0);
    }
    let size = records as f64;
    let order = f64::from(order);
    let shift = 1.0 / noise_multiplier;
    if rate >= 1.0 {
        return Ok(0.5 * order * size * size * shift * shift);
    }
    let mixture = Mixture::new(rate, shift, records as u32);
    let seen = mixture.seen_log_moment(order);
    let joins = -libm::expm1(size * libm::log1p(-rate));
    if size * shift > STEEPEST || joins >= 1.0 {
        return Ok(seen / (order - 1.0));
    }
    let remove = logarithms::one_more(mixture.log_excess(order));
    let second = logarithms::one_more(mixture.log_excess(2.0) - 2.0 * libm::log(joins));
    let mean = size * rate;
    let concave = 0.5 * shift * shift * (order * mean * mean + mean * (1.0 - rate));
    let add = add_log_moment(order, joins, second).min((order - 1.0) * concave);
    Ok(remove.max(add).min(seen) / (order - 1.0))
}

/// A binomial mixture of shifted Gaussians.
struct Mixture {
    shift: f64,
    /// ln of the probability that 0, 1, 2, ... records join.
    log_masses: Vec<f64>,
}

impl Mixture {
    fn new(rate: f64, shift: f64, records: u32) -> Self {
        let mut log_choices = 0.0;
        let log_masses = (0..=records)
            .map(|joined| {
                let log_mass = log_choices
                    + f64::from(joined) * libm::log(rate)
                    + f64::from(records - joined) * libm::log1p(-rate);
                log_choices += libm::log(f64::from(records - joined) / f64::from(joined + 1));
                log_mass
            })
            .collect();
        Self { shift, log_masses }
    }

    /// The log moment for whoever sees how many records joined.
    fn seen_log_moment(&self, order: f64) -> f64 {
        let mut sum = LogSum::new();
        for (joined, log_mass) in self.log_masses.iter().enumerate() {
            let moved = joined as f64 * self.shift;
            sum.add(log_mass + logarithms::one_less(0.5 * order * (order - 1.0) * moved * moved));
        }
        logarithms::one_more(sum.ln())
    }

    fn log_excess(&self, order: f64) -> f64 {
        let slope = self.shift * (self.log_masses.len() - 1) as f64;
        let mut excess = Excess::new(order, Direction::Remove);
        excess.add_part(0.0, slope, 1.0 / slope, |z| self.log_ratio(z));
        excess.ln()
    }

    fn log_ratio(&self, z: f64) -> f64 {
        let parts = || {
            self.log_masses.iter().enumerate().map(|(joined, log_mass)| {
                let moved = joined as f64 * self.shift;
                (*log_mass, moved * (z - 0.5 * moved))
            })
        };
        if parts().any(|(log_mass, loss)| log_mass + loss > 30.0) {
            let mut sum = LogSum::new();
            parts().for_each(|(log_mass, loss)| sum.add(log_mass + loss));
            return sum.ln();
        }
        // Where the ratio is near one, the sum of its deviations keeps the digits.
        let deviation: f64 = parts()
            .map(|(log_mass, loss)| {
                if loss > 30.0 {
                    libm::exp(log_mass + loss) - libm::exp(log_mass)
                } else {
                    libm::exp(log_mass) * libm::expm1(loss)
                }
            })
            .sum();
        libm::log1p(deviation.max(-1.0))
    }
}
