//! Objective perturbation: one minimum of a randomly tilted objective.

use crate::design::Design;
use crate::loss::Loss;
use crate::minimise::Objective;
use organza_accountant::calibrate::{CalibrateError, Target, scale};
use organza_accountant::normal::gaussian_epsilon;
use organza_ledger::{Charged, Event, Neighbouring};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::fill_normal;
use organza_mechanism::{NotPaid, RandomSource, Release};

/// Which part of the randomness is for the tilt, and which for the noise on the minimum.
const TILT: u64 = 0;
const OUTPUT: u64 = 1;
/// How many parts a fit has.
const PARTS: u64 = 2;
/// Deviation of the noise on the minimum over what an inexact search can move it by.
const OUTPUT_MULTIPLIER: f64 = 1_000.0;
/// The share of delta for the tilt; the rest is for the noise on the minimum.
const TILT_DELTA: f64 = 0.9;
/// The norm that the gradient of the summed objective has to be brought below, at the least, for rows of norm 1.
const TOLERANCE: f64 = 1e-6;
/// So many records more than were released or declared do no harm.
const SPARE_RECORDS: f64 = 1e6;
/// Half of the distance from 1 to the next number: what a rounding errs by (u).
const ROUNDING: f64 = f64::EPSILON / 2.0;

/// Largest over smallest curvature, beyond which Newton's steps may fail and gradient steps take for ever.
const WORST_CONDITION: f64 = 1e8;

/// Objective perturbation of logistic regression, calibrated.
///
/// With rows x of norm at most R (the intercept's 1 included), it minimises
///
/// ```text
/// J(w) = sum of f(x w, y) + (lambda / 2) |w|^2 + b w,      b ~ N(0, s^2 I),
/// ```
///
/// over all w, and releases the minimum with a little noise (Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and
/// Thakurta 2012; the Gaussian account follows Redberg, Koskela and Wang 2023).
///
/// # Privacy
/// *Conditions*: f is convex and twice continuously differentiable in the margin with |f'| <= 1,
/// 0 <= f'' <= 1/4, the slope of a record never changes its sign (f' = s(m) - y lies in (-1, 0) for
/// y = 1 and in (0, 1) for y = 0), |x| <= R, lambda > 0, add-remove.
///
/// *Claim*: with c = ln(1 + R^2 / (4 lambda)) and A = R / s, the exact minimum is (epsilon, delta)-private for
/// every epsilon >= c with delta = V(epsilon - c), where V(e) = Phi(A/2 - e/A) - e^e Phi(-A/2 - e/A) is the profile of
/// the Gaussian mechanism with noise multiplier 1 / A.
///
/// *Proof.* Let D' = D + (x, y). At the minimum b = -grad L_D(w) - lambda w, a continuously differentiable bijection
/// of w (its derivative -H_D, H_D = hess L_D + lambda I >= lambda I, is symmetric and definite, and
/// L_D + lambda |w|^2 / 2 is strongly convex), so w has the density p_D(w) = g(b_D(w)) det H_D(w), g the density of b. With
/// f', f'' of the new record at w: b_D' = b_D - f' x and H_D' = H_D + f'' x x^T, hence
///
/// ```text
/// ln p_D'(w) / p_D(w) = (|b_D|^2 - |b_D'|^2) / (2 s^2) + ln(1 + f'' x^T H_D^-1 x),
/// ```
///
/// where the last term d lies in [0, c]. Put a = |f'| |x| / s in [0, A], which depends on w, and
/// h(a) = a u + a^2 / 2, convex in a with h(0) = 0, so that h(a) <= max(0, h(A)).
/// *Remove* (the law of D' over that of D): b_D = b_D' + f' x makes the loss h(a) + d with
/// u = sign(f') x b_D' / (s |x|), a standard normal under D' because the sign is fixed. Where h(A) <= 0 the loss is
/// at most c <= epsilon; elsewhere it is at most h(A) + c. So delta = E (1 - e^(epsilon - loss))+ is at most
/// E (1 - e^(epsilon - c - A u - A^2 / 2))+ = V(epsilon - c).
/// *Add*: the loss is h(a) - d with u = -sign(f') x b_D / (s |x|), and d >= 0: the same bound without c. QED.
///
/// *An inexact minimum.* J is lambda-strongly convex, so a point v with |grad J(v)| <= t is within t / lambda of the
/// minimum w. What is released is v + N(0, r^2 I) = w + ((v - w) + N(0, r^2 I)): the release of w, followed by that of
/// v - w with Gaussian noise. Given w and the data b is known, hence v is, and v - w lies in a ball of radius t / lambda
/// whatever the data, so its sensitivity is at most 2 t / lambda. The event is the composition of both. The search
/// reaches t whatever the data ([`Objective::minimise_surely`]), so that there is no failure which could tell of them. How
/// long it takes does depend on them, as all timings do.
///
/// *Rounding.* The search ends where the *computed* gradient has a norm of at most t / 2, so t has to be twice what that errs by.
/// Its sums keep what their roundings lose, so that at a point v it errs by no more than E(|v|) = a + c |v|,
///
/// ```text
/// a = u (n R (10 + n^2 u) + 4 |b|),      c = u (3 n R^2 / 4 + 4 lambda),      u = 2^-53,
/// ```
///
/// whatever the rows and their roundings (`Objective::evaluate` has the terms). The minimum is not far: J(w) <= J(0) =
/// n ln 2 and f >= 0 make lambda |w|^2 / 2 <= n ln 2 + |b| |w|, hence |w| <= W = 2 |b| / lambda + sqrt(2 n ln 2 / lambda). With
/// t = max(1e-6 R, 4 (a + c W)) and c <= lambda / 64, without which nothing is calibrated: |v| <= W + (t / 2 + E(|v|)) / lambda
/// gives |v| <= 1.02 (W + 3 t / (4 lambda)), so E(|v|) <= a + 1.02 c W + t / 80 < t / 2. Here n stands for 10^6 (10^4 / epsilon,
/// if that is more) and twice the released or declared number of records, which a released one falls short of with probability below e^-50,
/// and |b| for s (sqrt(p) + 10), which is longer with probability e^-50 too: t depends on public numbers alone. Rows have at most 10^7 entries.
///
/// Noise is drawn in double precision and taken for real Gaussian, and that the search ends is proved for real numbers:
/// both are idealised, and the certificate says so.
#[derive(Clone, Debug)]
pub(crate) struct Perturbation {
    /// The weight of the squared norm beside the *sum* of losses (lambda).
    pub(crate) lambda: f64,
    /// The deviation of each coordinate of the tilt (s).
    pub(crate) deviation: f64,
    /// The norm that the gradient of the summed objective is brought below (t).
    pub(crate) tolerance: f64,
    /// The deviation of the noise on each coordinate of the minimum (r).
    pub(crate) output_deviation: f64,
    /// What it costs.
    pub(crate) event: Event,
}

impl Perturbation {
    /// The part of epsilon that the curvature takes: c = ln(1 + R^2 / (4 lambda)).
    pub(crate) fn curvature_cost(norm: f64, lambda: f64) -> f64 {
        libm::log1p(Loss::Logistic.curvature_bound(0.0) * norm * norm / lambda)
    }

    /// The smallest lambda at which curvature takes no more than `cost`.
    pub(crate) fn least_lambda(norm: f64, cost: f64) -> f64 {
        Loss::Logistic.curvature_bound(0.0) * norm * norm / libm::expm1(cost)
    }

    /// The epsilon of a tilt and its least deviation (s), with rows of norm `norm`, so many `fits` to the same rows, and
    /// what was charged `before`.
    ///
    /// # Errors
    /// If lambda is so small that its cost alone exceeds the budget, or a number is not above 0 and finite.
    pub(crate) fn tilt(
        norm: f64,
        lambda: f64,
        fits: usize,
        target: &Target,
        before: &[Event],
    ) -> Result<(f64, f64), CalibrateError> {
        // A lambda below zero would seem to cost less than nothing.
        let is_sound = |value: f64| value > 0.0 && value.is_finite();
        if !(is_sound(norm) && is_sound(lambda)) {
            return Err(unreachable(format!(
                "lambda {lambda} (--l2 times the records) and the norm {norm} have to be above 0 and finite"
            )));
        }
        let event = |epsilon: f64| {
            let all = before.iter().cloned().chain(events(epsilon, target.delta, fits));
            Event::Compose(all.collect())
        };
        let (inverse, _) = scale(target, |inverse| Some(event(target.epsilon / inverse)))?;
        let epsilon = target.epsilon / inverse;
        let left = epsilon - Self::curvature_cost(norm, lambda);
        if left <= 0.0 {
            return Err(unreachable(format!(
                "the curvature alone costs {:.4} of epsilon {epsilon:.4}: raise --l2 or --epsilon",
                Self::curvature_cost(norm, lambda)
            )));
        }
        Ok((epsilon, norm * smallest_multiplier(left, tilt_delta(target.delta, fits))))
    }

    /// The least noise that keeps it within `target`, with rows of norm `norm` and what was charged `before`;
    /// `records` is about how many there are, by declaration or release, and shapes the tolerance alone, with the number
    /// of `coordinates`. More than two classes take so many `fits`, each of one class or of another: every record is in
    /// all of them, so that the event is that of all together.
    ///
    /// # Errors
    /// If lambda is so small that its cost alone exceeds the budget, that rounding hides it or that no search finds the
    /// minimum; if a number is not above 0 and finite.
    pub(crate) fn calibrate(
        norm: f64,
        lambda: f64,
        records: f64,
        coordinates: u64,
        fits: usize,
        target: &Target,
        before: &[Event],
    ) -> Result<Self, CalibrateError> {
        let (epsilon, deviation) = Self::tilt(norm, lambda, fits, target, before)?;
        let most = 2.0 * records + SPARE_RECORDS.max(1e4 / target.epsilon);
        let longest_tilt = deviation * ((coordinates as f64).sqrt() + 10.0);
        let Some(tolerance) = tolerance(norm, lambda, most, longest_tilt) else {
            return Err(unreachable(format!(
                "lambda {lambda} is lost in the rounding of sums of {most} records: raise --l2"
            )));
        };
        let steepest = 2.0 * records * Loss::Logistic.curvature_bound(0.0) * norm * norm;
        if steepest > WORST_CONDITION * lambda {
            return Err(unreachable(format!(
                "lambda {lambda} (--l2 times the records) is so small that the search for the minimum might not \
                 end: raise --l2, or lower --bound"
            )));
        }
        let output_deviation = OUTPUT_MULTIPLIER * 2.0 * tolerance / lambda;
        let event = Event::Compose(events(epsilon, target.delta, fits).collect());
        Ok(Self { lambda, deviation, tolerance, output_deviation, event })
    }

    /// The release under a purpose, which names its charge and its noise; for add-remove neighbours, as the claim is.
    pub(crate) fn release(&self, purpose: &str, source: &RandomSource) -> Release {
        Release::new(purpose, self.event.clone(), Neighbouring::AddRemove, source)
    }

    /// The released coordinates of each model, the intercept last. Rows of `design` must have at most the norm that it was
    /// calibrated for, and labels 0 and 1: only [`crate::fit`] calls it, with rows of which both are made true.
    /// `divisor` only scales numbers.
    ///
    /// # Errors
    /// If the charge is not for this release, or it was made before.
    pub(crate) fn minima(
        &self,
        design: &Design<'_>,
        divisor: f64,
        release: &Release,
        paid: Charged,
    ) -> Result<Vec<Vec<f64>>, NotPaid> {
        let random = release.random(paid, &self.event)?;
        let shard = |model: usize, part: u64| random.shard(PARTS * model as u64 + part);
        Ok((0..design.models())
            .map(|model| {
                self.minimum_of(model, design, divisor, [shard(model, TILT), shard(model, OUTPUT)])
            })
            .collect())
    }

    /// The released coordinates of one model, with randomness for the tilt and for the noise on the minimum.
    fn minimum_of(
        &self,
        model: usize,
        design: &Design<'_>,
        divisor: f64,
        [mut tilting, mut adding]: [PrivateRandom; 2],
    ) -> Vec<f64> {
        let size = design.coordinates() as usize;
        let mut tilt = vec![0.0; size];
        fill_normal(&mut tilt, &mut tilting);
        tilt.iter_mut().for_each(|draw| *draw *= self.deviation / divisor);
        let objective = Objective {
            design,
            model,
            loss: Loss::Logistic,
            divisor,
            l2: self.lambda / divisor,
            intercept_in_norm: true,
            linear: Some(&tilt),
        };
        // Half of the tolerance is left to the rounding of the gradient itself.
        let tolerance = 0.5 * self.tolerance / divisor;
        let mut coordinates = objective.minimise_surely(tolerance, objective.smoothness());
        let mut noise = vec![0.0; size];
        fill_normal(&mut noise, &mut adding);
        for (coordinate, draw) in coordinates.iter_mut().zip(&noise) {
            *coordinate += self.output_deviation * draw;
        }
        coordinates
    }
}

/// What is released by so many fits: each time the tilted minimum, and the noise on it.
fn events(epsilon: f64, delta: f64, fits: usize) -> impl Iterator<Item = Event> {
    let tilt = Event::Approximate { epsilon, delta: tilt_delta(delta, fits) };
    let both = [tilt, Event::Gaussian { noise_multiplier: OUTPUT_MULTIPLIER }];
    std::iter::repeat_n(both, fits).flatten()
}

/// The delta of a tilt.
fn tilt_delta(delta: f64, fits: usize) -> f64 {
    TILT_DELTA * delta / fits as f64
}

fn unreachable(reason: String) -> CalibrateError {
    CalibrateError::Unreachable { parameter: "deviation of the tilt", reason }
}

/// Twice what the computed gradient errs by and as much again, so that half of it is left for the search (t); none where lambda is too
/// small for it.
fn tolerance(norm: f64, lambda: f64, records: f64, tilt: f64) -> Option<f64> {
    let sum = records * norm * (10.0 + records * records * ROUNDING);
    let fixed = ROUNDING * (sum + 4.0 * tilt);
    let by_weight = ROUNDING * (0.75 * records * norm * norm + 4.0 * lambda);
    let weights = 2.0 * tilt / lambda + (2.0 * std::f64::consts::LN_2 * records / lambda).sqrt();
    let tolerance = (4.0 * (fixed + by_weight * weights)).max(TOLERANCE * norm);
    (records >= 0.0 && by_weight <= lambda / 64.0 && tolerance.is_finite()).then_some(tolerance)
}

/// The smallest multiplier of Gaussian noise whose epsilon at `delta` is at most `epsilon`.
fn smallest_multiplier(epsilon: f64, delta: f64) -> f64 {
    let (mut low, mut high) = (1e-3, 1e-3);
    while gaussian_epsilon(high, delta) > epsilon {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if gaussian_epsilon(middle, delta) > epsilon { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_accountant::Accountant;
    use organza_data::sparse::SparseRows;
    use organza_ledger::testing::paid;
    use std::borrow::Cow;

    const LAMBDA: f64 = 2.0;
    const RUNS: u64 = 20_000;

    fn rows(labels: &[f64]) -> SparseRows {
        let mut rows = SparseRows::new(Some(1));
        labels.iter().for_each(|label| rows.push(*label, &mut [(0, 1.0)], None).unwrap());
        rows
    }

    /// How often the released weight is above 0.5.
    fn share_above(perturbation: &Perturbation, rows: &SparseRows, purpose: &str) -> f64 {
        let design = Design::new(Cow::Borrowed(rows), 1, Some(1.0), false);
        let runs = RUNS;
        let above = (0..runs).filter(|run| {
            let release = perturbation.release(purpose, &RandomSource::from_seed(*run));
            perturbation.minima(&design, 1.0, &release, paid(release.charge())).unwrap()[0][0] > 0.5
        });
        above.count() as f64 / runs as f64
    }

    /// The probability of an output set may grow by e^epsilon and delta at the most when a record comes
    /// or goes. Both shares err by more than 5.2 deviations with probability below 1e-6 in all.
    fn violates(perturbation: &Perturbation, epsilon: f64, delta: f64) -> bool {
        let (with, without) = (rows(&[1.0, 1.0]), rows(&[1.0]));
        let more = share_above(perturbation, &with, "with");
        let less = share_above(perturbation, &without, "without");
        let error = |share: f64| 5.2 * (share * (1.0 - share) / RUNS as f64).sqrt() + 1e-3;
        more - error(more) > epsilon.exp() * (less + error(less)) + delta
    }

    #[test]
    fn a_release_keeps_its_promise_and_one_with_less_noise_does_not() {
        let target = Target::new(1.0, 1e-2);
        let sound = Perturbation::calibrate(1.0, LAMBDA, 2.0, 1, 1, &target, &[]).unwrap();
        assert!(!violates(&sound, 1.0, 1e-2));
        let broken = Perturbation { deviation: sound.deviation / 6.0, ..sound };
        assert!(violates(&broken, 1.0, 1e-2), "the test has to see a sixth of the noise");
    }

    /// delta at `epsilon` of the exact minimum of one feature, by the change of variables and numerical
    /// integration: other records of both classes, and one of class 1 more or less.
    fn exact_delta(epsilon: f64, lambda: f64, deviation: f64, others: u32) -> f64 {
        let density = |at: f64, extra: bool| {
            let records = (0..others).map(|place| f64::from(place % 2)).chain(extra.then_some(1.0));
            let (mut tilt, mut bend) = (-lambda * at, lambda);
            for label in records {
                tilt -= Loss::Logistic.slope(at, label);
                bend += Loss::Logistic.curvature(at);
            }
            (-0.5 * (tilt / deviation).powi(2)).exp() * bend
                / (deviation * (2.0 * std::f64::consts::PI).sqrt())
        };
        let step = 1e-3 * deviation.max(1.0) / lambda;
        let places = || (-13_000..13_000).map(|place| f64::from(place) * step);
        let whole: f64 = places().map(|at| density(at, true) * step).sum();
        assert!((whole - 1.0).abs() < 1e-6, "a density: {whole}");
        let profile = |first: bool| -> f64 {
            let above = |at| density(at, first) - epsilon.exp() * density(at, !first);
            places().map(|at| above(at).max(0.0) * step).sum()
        };
        profile(true).max(profile(false))
    }

    #[test]
    fn the_claimed_profile_bounds_the_exact_one() {
        for (epsilon, lambda, others) in [(0.5, 2.0, 0), (1.0, 0.5, 3), (2.0, 0.2, 1)] {
            let delta = 1e-3;
            let cost = Perturbation::curvature_cost(1.0, lambda);
            let deviation = smallest_multiplier(epsilon - cost, delta);
            let exact = exact_delta(epsilon, lambda, deviation, others);
            assert!(exact <= delta, "{epsilon} {lambda}: {exact}");
            let broken = exact_delta(epsilon, lambda, deviation / 4.0, others);
            assert!(broken > delta, "a quarter of the noise has to be seen: {broken}");
        }
    }

    #[test]
    fn the_event_costs_no_more_than_the_target() {
        let before = [Event::Added { epsilon: 0.01 }];
        let target = Target::new(1.0, 1e-5);
        let perturbation = Perturbation::calibrate(1.5, 30.0, 1e3, 1, 1, &target, &before).unwrap();
        let all = Event::Compose(before.iter().cloned().chain([perturbation.event]).collect());
        let account = Accountant::new(Neighbouring::AddRemove).compose(&all).unwrap();
        let spent = account.epsilon(1e-5).unwrap().epsilon;
        assert!((0.99..=1.0).contains(&spent), "{spent}");
        let tight =
            Perturbation::calibrate(1.5, 1e-3, 1e3, 1, 1, &target, &[]).unwrap_err().to_string();
        assert!(tight.contains("raise --l2"), "{tight}");
    }

    /// Every record is in the fit of every class. The broken twin, three fits with the noise of one, costs more than the target.
    #[test]
    fn several_fits_share_the_target() {
        let target = Target::new(1.0, 1e-5);
        let cost_at = |event: &Event, delta: f64| {
            let account = Accountant::new(Neighbouring::AddRemove).compose(event).unwrap();
            account.epsilon(delta).map_or(f64::INFINITY, |it| it.epsilon)
        };
        let cost = |event: &Event| cost_at(event, 1e-5);
        let three = Perturbation::calibrate(1.0, 30.0, 1e3, 1, 3, &target, &[]).unwrap();
        assert!((0.98..=1.0).contains(&cost(&three.event)), "{}", cost(&three.event));
        let one = Perturbation::calibrate(1.0, 30.0, 1e3, 1, 1, &target, &[]).unwrap();
        assert!(three.deviation > one.deviation);
        let twin = Event::Compose(vec![one.event; 3]);
        assert!(cost(&twin).is_infinite(), "their deltas alone are more");
        assert!(cost_at(&twin, 4e-5) > 2.0, "{}", cost_at(&twin, 4e-5));
    }

    #[test]
    fn the_tolerance_is_above_rounding_for_any_norm_and_number_of_records() {
        let target = Target::new(1.0, 1e-5);
        for (norm, records) in [(1.0, 1e3), (1e3, 1e3), (1e3, 1e6), (1.0, 1e8), (1e-3, 1e6)] {
            // As `fit` has it: the curvature takes a tenth, and 1e-4 beside the mean loss at the least.
            let lambda = Perturbation::least_lambda(norm, 0.1).max(1e-4 * records);
            let found =
                Perturbation::calibrate(norm, lambda, records, 100, 1, &target, &[]).unwrap();
            // Of all sums of weights within reach, those of the slopes alone.
            let weights = (2.0 * records * 2_f64.ln() / lambda).sqrt();
            let errs = records * norm * (10.0 + 0.75 * norm * weights) * f64::EPSILON / 2.0;
            assert!(found.tolerance >= 2.0 * errs, "{norm} {records}: {}", found.tolerance);
            assert!(found.tolerance >= 1e-6 * norm, "{norm}: {}", found.tolerance);
            // And what it adds stays far below what the tilt moves.
            let moved = found.deviation / lambda;
            assert!(found.output_deviation < 0.01 * moved, "{norm} {records}: {found:?}");
        }
    }

    #[test]
    fn numbers_that_would_hide_the_noise_are_refused() {
        let target = Target::new(1.0, 1e-5);
        let nan = f64::NAN;
        for (norm, lambda) in
            [(1.0, -0.3), (1.0, nan), (1.0, 0.0), (1.0, f64::INFINITY), (nan, 1.0), (-1.0, 1.0)]
        {
            let refused = Perturbation::calibrate(norm, lambda, 10.0, 1, 1, &target, &[]);
            assert!(refused.is_err(), "{norm} {lambda}");
        }
        for records in [nan, -1e9, f64::INFINITY] {
            assert!(Perturbation::calibrate(1.0, 1.0, records, 1, 1, &target, &[]).is_err());
        }
        let generous = Target::new(100.0, 1e-5);
        let lost = Perturbation::calibrate(1.0, 1e-12, 10.0, 1, 1, &generous, &[]).unwrap_err();
        assert!(lost.to_string().contains("lost in the rounding"), "{lost}");
        let endless = Perturbation::calibrate(1.0, 1e-8, 10.0, 1, 1, &generous, &[]).unwrap_err();
        assert!(endless.to_string().contains("might not end"), "{endless}");
    }
}
