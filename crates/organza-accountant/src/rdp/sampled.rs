//! The Renyi divergence of Gaussian noise on a Poisson batch, alone or after a private selection.

use super::integral::{Excess, log_excess};
use super::logarithms::{self, LogSum};
use super::{Direction, check_order};
use organza_ledger::{AccountError, Event};

/// Integer orders up to this one go by the binomial sum, which is as accurate and faster.
const LARGEST_BINOMIAL: f64 = 256.0;

/// The largest shift that is integrated; beyond it (noise multipliers below 0.01) panels become many.
const LARGEST_SHIFT: f64 = 100.0;

/// A selection's dominating pair in finitely many losses, all of them finite.
///
/// It is the law of the loss ln(dP/dQ) under Q: each atom has a Q-mass w and a loss l, the masses
/// w and w e^l both sum to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// (ln of the Q-mass, loss)
    atoms: Vec<(f64, f64)>,
}

impl Selection {
    /// No selection: the loss is always zero.
    pub fn nothing() -> Self {
        Self { atoms: vec![(0.0, 0.0)] }
    }

    /// The pair with these (Q-mass, loss).
    ///
    /// A pair with mass at an infinite loss has no finite Renyi divergence and cannot be one of
    /// these: spread that mass onto the largest finite loss, or use the account by privacy loss
    /// distributions.
    ///
    /// # Errors
    /// If a mass is negative, a number is not finite, or the Q- or P-masses miss one by over 1e-9.
    pub fn new(masses: &[(f64, f64)]) -> Result<Self, AccountError> {
        let mut sums = (0.0, 0.0);
        for (mass, loss) in masses {
            if !(*mass >= 0.0 && mass.is_finite() && loss.is_finite()) {
                return Err(AccountError::OutOfRange(format!(
                    "a selection pair has the mass {mass} at the loss {loss}"
                )));
            }
            sums.0 += mass;
            sums.1 += libm::exp(libm::log(*mass) + loss);
        }
        if (sums.0 - 1.0).abs() > 1e-9 || (sums.1 - 1.0).abs() > 1e-9 {
            return Err(AccountError::OutOfRange(format!(
                "the masses of a selection pair sum to {} and {}, not to 1",
                sums.0, sums.1
            )));
        }
        let atoms = masses.iter().map(|(mass, loss)| (libm::log(*mass), *loss)).collect();
        Ok(Self { atoms })
    }

    /// `times` answers of a randomised response, which dominate as many epsilon-private mechanisms.
    pub(super) fn responses(epsilon: f64, times: u32) -> Self {
        let truth = -libm::log1p(libm::exp(-epsilon));
        let lie = truth - epsilon;
        let mut log_choices = 0.0;
        let atoms = (0..=times)
            .map(|lies| {
                // Under Q a positive loss is the rare answer.
                let log_mass =
                    log_choices + f64::from(lies) * lie + f64::from(times - lies) * truth;
                let loss = (2.0 * f64::from(lies) - f64::from(times)) * epsilon;
                log_choices += libm::log(f64::from(times - lies) / f64::from(lies + 1));
                (log_mass, loss)
            })
            .collect();
        Self { atoms }
    }

    /// Both selections, one after the other.
    pub(super) fn followed_by(&self, next: &Self) -> Self {
        let atoms = self.atoms.iter().flat_map(|first| {
            next.atoms.iter().map(|second| (first.0 + second.0, first.1 + second.1))
        });
        Self { atoms: atoms.collect() }
    }
}

/// One step on a Poisson batch: `selection`, then Gaussian noise (unless its multiplier is infinite).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    rate: f64,
    /// The shift of the Gaussian in its own standard deviations: one over the noise multiplier.
    shift: f64,
    selection: Selection,
}

impl Step {
    pub(super) fn new(rate: f64, shift: f64, selection: Selection) -> Self {
        Self { rate, shift, selection }
    }

    /// ln E of the `order`-th power of the likelihood ratio.
    ///
    /// For Q-masses w_j at losses l_j it is the logarithm of
    /// sum_j w_j E_z\[(1 - q + q e^(l_j + m z - m^2/2))^a\], m = 1/sigma, and for `Add` the same with
    /// 1 - a for a. The linear part of the power has expectation one over all atoms together, so the
    /// rest is summed and integrated alone.
    pub(super) fn log_moment(&self, order: f64, direction: Direction) -> f64 {
        if self.rate <= 0.0 {
            return 0.0;
        }
        if self.rate >= 1.0 {
            return self.unsampled(order, direction);
        }
        let lone = self.selection.atoms.len() == 1;
        if lone
            && direction == Direction::Remove
            && order <= LARGEST_BINOMIAL
            && order.fract() == 0.0
        {
            return logarithms::one_more(binomial_excess(order as u32, self.rate, |power| {
                0.5 * f64::from(power) * f64::from(power - 1) * self.shift * self.shift
            }));
        }
        if self.shift == 0.0 {
            return logarithms::one_more(
                self.discrete_excess(order, direction, |loss| mixture_log_ratio(self.rate, loss)),
            );
        }
        if self.shift > LARGEST_SHIFT {
            // What whoever sees the unit join has, by convexity: no less than the truth.
            return logarithms::mixed(self.rate, self.unsampled(order, direction));
        }
        let mut excess = Excess::new(order, direction);
        for (log_mass, loss) in &self.selection.atoms {
            let centre = loss - 0.5 * self.shift * self.shift;
            excess.add_part(*log_mass, self.shift, 1.0 / self.shift, |z| {
                mixture_log_ratio(self.rate, centre + self.shift * z)
            });
        }
        logarithms::one_more(excess.ln())
    }

    fn unsampled(&self, order: f64, direction: Direction) -> f64 {
        let gaussian = 0.5 * order * (order - 1.0) * self.shift * self.shift;
        gaussian + logarithms::one_more(self.discrete_excess(order, direction, |loss| loss))
    }

    fn discrete_excess(
        &self,
        order: f64,
        direction: Direction,
        log_ratio: impl Fn(f64) -> f64,
    ) -> f64 {
        let mut sum = LogSum::new();
        for (log_mass, loss) in &self.selection.atoms {
            sum.add(log_mass + log_excess(order, direction, log_ratio(*loss)));
        }
        sum.ln()
    }
}

/// ln(1 - q + q e^loss), accurate near zero and for any loss.
pub(super) fn mixture_log_ratio(rate: f64, loss: f64) -> f64 {
    if loss > 30.0 {
        return libm::log(rate) + loss + libm::log1p((1.0 - rate) / rate * libm::exp(-loss));
    }
    let deviation = rate * libm::expm1(loss);
    if deviation < -0.5 {
        return libm::log((1.0 - rate) + rate * libm::exp(loss));
    }
    libm::log1p(deviation)
}

/// ln( sum over l = 2..`order` of C(order, l) q^l (1-q)^(order-l) (e^m(l) - 1) ), where e^m(l) is the
/// l-th moment before sampling: the moment after sampling, minus one, without cancellation, because
/// the same sum without the moments is one, and the moments at 0 and 1 are one.
pub(super) fn binomial_excess(order: u32, rate: f64, log_moment: impl Fn(u32) -> f64) -> f64 {
    let (log_in, log_out) = (libm::log(rate), libm::log1p(-rate));
    let mut log_choices = 0.0;
    let mut sum = LogSum::new();
    for power in 1..=order {
        log_choices += libm::log(f64::from(order - power + 1) / f64::from(power));
        if power >= 2 {
            let out = order - power;
            let log_out = if out == 0 { 0.0 } else { f64::from(out) * log_out };
            sum.add(
                log_choices
                    + f64::from(power) * log_in
                    + log_out
                    + logarithms::one_less(log_moment(power)),
            );
        }
    }
    sum.ln()
}

/// The Renyi divergence of order `order` of Gaussian noise on a Poisson batch, in the direction
/// in which the unit is removed: D(with || without), the larger of the two.
///
/// Gaussians are each other's mirror image, so by Theorem 5 of Mironov, Talwar and Zhang (2019) the
/// other direction never costs more. Any real order above 1; the relative error is below 1e-9, also
/// where the value itself is 1e-7 or less.
///
/// # Errors
/// If the order is not above 1, or the rate or the multiplier is out of range.
pub fn gaussian(order: f64, rate: f64, noise_multiplier: f64) -> Result<f64, AccountError> {
    joint(order, rate, noise_multiplier, &Selection::nothing(), Direction::Remove)
}

/// The Renyi divergence of `selection` and then Gaussian noise, both on the *same* Poisson batch.
///
/// The two are one mechanism on the batch: their pairs are composed first and sampled once,
/// A = sum_j w_j c_j^a A_a(q e^(l_j) / c_j, sigma) with c_j = 1 - q + q e^(l_j), at any real order.
/// Take the larger of both directions unless the pair is its own mirror image, when it is `Remove`.
///
/// # Errors
/// If the order is not above 1, or the rate or the multiplier is out of range.
pub fn joint(
    order: f64,
    rate: f64,
    noise_multiplier: f64,
    selection: &Selection,
    direction: Direction,
) -> Result<f64, AccountError> {
    check_order(order)?;
    Event::Gaussian { noise_multiplier }.poisson(rate).check()?;
    let step = Step::new(rate, 1.0 / noise_multiplier, selection.clone());
    Ok(step.log_moment(order, direction) / (order - 1.0))
}
