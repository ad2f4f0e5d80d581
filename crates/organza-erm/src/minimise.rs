//! The minimiser of a regularised mean loss, by Newton's method with conjugate gradients.

use crate::design::Design;
use crate::loss::Loss;
use crate::sum::Sum;

/// More Newton steps than any problem here has needed, by a factor of five; a search that must not give up takes
/// plain gradient steps after them.
const MOST_STEPS: usize = 200;
/// The most products with the curvature in one Newton step.
const MOST_PRODUCTS: usize = 500;
/// How much the objective may rise by rounding alone, relative to it: sums of millions of terms.
const ROUNDING: f64 = 1e-10;

/// (1 / n) sum of losses + (l2 / 2) |w|^2 + linear w, over dense coordinates with the intercept last.
#[derive(Clone, Debug)]
pub(crate) struct Objective<'a> {
    /// The rows.
    pub(crate) design: &'a Design<'a>,
    /// Which of the models that are fitted to them it is.
    pub(crate) model: usize,
    /// The loss of each.
    pub(crate) loss: Loss,
    /// What the sum of losses is divided by (n): a constant, where the number of rows is private.
    pub(crate) divisor: f64,
    /// The weight of the squared norm.
    pub l2: f64,
    /// Whether the intercept counts in the squared norm.
    pub(crate) intercept_in_norm: bool,
    /// The linear term, if there is one.
    pub(crate) linear: Option<&'a [f64]>,
}

/// What is found at a point.
struct Place {
    /// The margin of each row, left for [`Objective::product`].
    margins: Vec<f64>,
    /// Room for the gradient's sums.
    sums: Vec<Sum>,
    gradient: Vec<f64>,
}

impl Place {
    fn new(design: &Design<'_>) -> Self {
        let size = design.coordinates() as usize;
        Self {
            margins: vec![0.0; design.len()],
            sums: vec![Sum::default(); size],
            gradient: vec![0.0; size],
        }
    }
}

impl Objective<'_> {
    /// The objective and, in `place`, its gradient and the margins.
    ///
    /// *Rounding*, for the logistic loss, n rows of norm at most R and at most 10^7 entries, and u = 2^-53. A margin errs by 3 u R |w|
    /// (products, and a [`Sum`] of them), a slope by a quarter of that and 5 u, a term by that times |x| and 2 u; a sum of n terms by u of
    /// itself and (n u)^2 n R, as a vector, because the sizes of all terms add up to a vector no longer than n R; what is added to it by
    /// 4 u (l2 |w| + |linear|) and 2 u n R. So the gradient of the *summed* objective, divisor times this one, errs by no more than
    ///
    /// ```text
    /// u (n R (10 + n^2 u + 3 R |w| / 4) + 4 lambda |w| + 4 |b|),      lambda = l2 divisor, b = linear divisor,
    /// ```
    ///
    /// whatever the rows are and however their roundings go together.
    fn evaluate(&self, at: &[f64], place: &mut Place) -> f64 {
        let Place { margins, sums, gradient } = place;
        sums.fill(Sum::default());
        let mut value = Sum::default();
        for (index, place) in margins.iter_mut().enumerate() {
            let products = self.design.entries(index).map(|(column, it)| at[column as usize] * it);
            let margin = products.collect::<Sum>().value();
            let label = self.design.label(index, self.model);
            *place = margin;
            value.add(self.loss.value(margin, label));
            let slope = self.loss.slope(margin, label) / self.divisor;
            for (column, entry) in self.design.entries(index) {
                sums[column as usize].add(slope * entry);
            }
        }
        for (slope, sum) in gradient.iter_mut().zip(sums) {
            *slope = sum.value();
        }
        let mut value = value.value() / self.divisor;
        let penalised = self.penalised();
        for (slope, weight) in gradient[..penalised].iter_mut().zip(at) {
            *slope += self.l2 * weight;
            value += 0.5 * self.l2 * weight * weight;
        }
        if let Some(linear) = self.linear {
            for ((slope, weight), term) in gradient.iter_mut().zip(at).zip(linear) {
                *slope += term;
                value += term * weight;
            }
        }
        value
    }

    /// The curvature at `margins` times `direction`.
    fn product(&self, margins: &[f64], direction: &[f64], result: &mut [f64]) {
        result.fill(0.0);
        for (index, margin) in margins.iter().enumerate() {
            let along = self.design.margin(index, direction);
            let bend = self.loss.curvature(*margin) * along / self.divisor;
            for (column, entry) in self.design.entries(index) {
                result[column as usize] += bend * entry;
            }
        }
        let penalised = self.penalised();
        for (result, along) in result[..penalised].iter_mut().zip(direction) {
            *result += self.l2 * along;
        }
    }

    /// A bound on the curvature's eigenvalues where the loss has one at every margin (not Poisson's): that of the loss
    /// times the sum of squared row norms, and l2.
    pub(crate) fn smoothness(&self) -> f64 {
        let squares: f64 = (0..self.design.len())
            .flat_map(|index| self.design.entries(index))
            .map(|(_, value)| value * value)
            .sum();
        self.loss.curvature_bound(0.0) * squares / self.divisor + self.l2
    }

    fn penalised(&self) -> usize {
        let all = self.design.coordinates() as usize;
        if self.intercept_in_norm { all } else { self.design.features() as usize }
    }

    /// Searches from zero until the gradient's norm is at most `tolerance`, or nothing improves. The intercept comes last.
    pub(crate) fn minimise(&self, tolerance: f64) -> Vec<f64> {
        self.search(tolerance, None)
    }

    /// Searches from zero until the gradient's norm is at most `tolerance`, and never gives up: for an objective
    /// whose curvature has no eigenvalue outside l2 to `smoothness`, l2 above 0 and on all coordinates.
    ///
    /// *It ends.* Where Newton's step does not make the gradient g shorter, a step of -g / smoothness does: the gradient
    /// after it is (I - H / smoothness) g, H the mean curvature on the way, so its norm is at most
    /// (1 - l2 / smoothness) |g|. After 200 rounds there are only such steps. This holds for real numbers; `tolerance` has to be above what
    /// the gradient errs by rounding.
    pub(crate) fn minimise_surely(&self, tolerance: f64, smoothness: f64) -> Vec<f64> {
        self.search(tolerance, Some(smoothness))
    }

    /// With a smoothness, until it ends; without, until nothing improves or for `MOST_STEPS`.
    fn search(&self, tolerance: f64, smoothness: Option<f64>) -> Vec<f64> {
        let mut at = vec![0.0; self.design.coordinates() as usize];
        let mut next = at.clone();
        let mut place = Place::new(self.design);
        let mut value = self.evaluate(&at, &mut place);
        let mut gradient = place.gradient.clone();
        let mut margins = place.margins.clone();
        let first = norm(&gradient);
        let mut steps = 0;
        while smoothness.is_some() || steps < MOST_STEPS {
            steps += 1;
            let slope_norm = norm(&gradient);
            // What is no number, of labels that are none, ends it as well.
            if slope_norm <= tolerance || slope_norm.is_nan() {
                break;
            }
            let exactness = (slope_norm / first).sqrt().min(0.1) * slope_norm;
            let direction = self.direction(&margins, &gradient, exactness);
            let descent = dot(&gradient, &direction);
            let mut stride = 1.0;
            let improved = loop {
                for ((next, at), along) in next.iter_mut().zip(&at).zip(&direction) {
                    *next = at + stride * along;
                }
                let found = self.evaluate(&next, &mut place);
                let slack = ROUNDING * value.abs();
                let falls = found <= value + 1e-4 * stride * descent;
                // Within rounding of the minimum only the gradient tells progress.
                let flattens = found <= value + slack && norm(&place.gradient) <= 0.5 * slope_norm;
                if falls || flattens {
                    break Some(found);
                }
                stride *= 0.5;
                if stride < 1e-12 {
                    break None;
                }
            };
            value = match (improved, smoothness) {
                // After so many Newton steps only what is proved to shorten the gradient counts.
                (Some(found), _) if steps < MOST_STEPS => found,
                (Some(found), None) => found,
                (None, None) => break,
                (_, Some(smoothness)) => {
                    for ((next, at), slope) in next.iter_mut().zip(&at).zip(&gradient) {
                        *next = at - slope / smoothness;
                    }
                    self.evaluate(&next, &mut place)
                }
            };
            std::mem::swap(&mut at, &mut next);
            std::mem::swap(&mut gradient, &mut place.gradient);
            std::mem::swap(&mut margins, &mut place.margins);
        }
        at
    }

    /// About -(curvature)^-1 gradient, by conjugate gradients down to a residual of `exactness`.
    fn direction(&self, margins: &[f64], gradient: &[f64], exactness: f64) -> Vec<f64> {
        let mut direction = vec![0.0; gradient.len()];
        let mut residual: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
        let mut search = residual.clone();
        let mut bent = vec![0.0; gradient.len()];
        let mut squares = dot(&residual, &residual);
        for _ in 0..MOST_PRODUCTS {
            self.product(margins, &search, &mut bent);
            let curvature = dot(&search, &bent);
            if curvature <= 1e-14 * dot(&search, &search) {
                break;
            }
            let stride = squares / curvature;
            for (place, along) in direction.iter_mut().zip(&search) {
                *place += stride * along;
            }
            for (left, bent) in residual.iter_mut().zip(&bent) {
                *left -= stride * bent;
            }
            let left = dot(&residual, &residual);
            if left.sqrt() <= exactness {
                break;
            }
            let turn = left / squares;
            for (along, left) in search.iter_mut().zip(&residual) {
                *along = left + turn * *along;
            }
            squares = left;
        }
        if direction.iter().all(|along| *along == 0.0) {
            return gradient.iter().map(|slope| -slope).collect();
        }
        direction
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_data::sparse::SparseRows;
    use std::borrow::Cow;

    /// 300 rows of 8 features and the labels of three models, from a linear congruential generator.
    fn data(loss: Loss) -> SparseRows {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let mut rows = SparseRows::new(Some(8));
        for _ in 0..300 {
            let (mut entries, mut margin) = (Vec::new(), 0.0);
            for column in 0..8_u32 {
                if next() % 3 == 0 {
                    let value = (next() % 1_000) as f64 / 500.0 - 1.0;
                    margin += value * (f64::from(column) - 3.5) / 2.0;
                    entries.push((column, value as f32));
                }
            }
            let draw = (next() % 100_000) as f64 / 100_000.0;
            let label = match loss {
                Loss::Linear => margin + draw,
                Loss::Poisson => (libm::exp(0.5 * margin) * 2.0 * draw).floor(),
                _ => f64::from(u8::from(draw < crate::loss::sigmoid(margin - 0.5))),
            };
            rows.push(label, &mut entries, None).unwrap();
        }
        rows
    }

    /// Coefficients of scikit-learn 1.7 on the same data, L2 1e-3 and an unpenalised intercept (last).
    const REFERENCE: [(Loss, [f64; 9]); 3] = [
        (
            Loss::Logistic,
            [
                -1.293_607_864,
                -1.098_492_101,
                -0.425_703_801,
                -0.815_770_524,
                0.013_252_849,
                0.506_336_091,
                1.710_688_700,
                0.844_230_957,
                -0.379_320_659,
            ],
        ),
        (
            Loss::Linear,
            [
                -1.779_362_775,
                -1.238_598_394,
                -0.733_728_052,
                -0.178_021_715,
                0.297_390_705,
                0.722_753_162,
                1.174_327_631,
                1.829_567_254,
                0.501_241_379,
            ],
        ),
        (
            Loss::Poisson,
            [
                -1.390_758_647,
                -0.922_068_648,
                -0.549_577_110,
                -0.189_015_144,
                0.355_730_946,
                0.792_276_005,
                0.700_818_716,
                1.489_920_773,
                -0.665_758_306,
            ],
        ),
    ];

    /// The norm of the gradient at a point.
    fn steepness(objective: &Objective<'_>, at: &[f64]) -> f64 {
        let mut place = Place::new(objective.design);
        objective.evaluate(at, &mut place);
        norm(&place.gradient)
    }

    #[test]
    fn minima_are_those_of_scikit_learn() {
        for (loss, expected) in REFERENCE {
            let rows = data(loss);
            let design = Design::new(Cow::Borrowed(&rows), 8, None, true);
            let objective = Objective {
                design: &design,
                model: 0,
                loss,
                divisor: 300.0,
                l2: 1e-3,
                intercept_in_norm: false,
                linear: None,
            };
            let minimum = objective.minimise(1e-11);
            assert!(steepness(&objective, &minimum) <= 1e-11, "{loss}");
            for (found, expected) in minimum.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-5, "{loss}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_sure_search_ends_even_by_gradient_steps_alone() {
        let rows = data(Loss::Logistic);
        let design = Design::new(Cow::Borrowed(&rows), 8, Some(1.0), true);
        // Noise of 1e5 on each coordinate: far from zero, where Newton's steps saturate.
        let linear: Vec<f64> = (0..9).map(|at| if at % 2 == 0 { 1e5 } else { -1e5 }).collect();
        for linear in [None, Some(linear.as_slice())] {
            let objective = Objective {
                design: &design,
                model: 0,
                loss: Loss::Logistic,
                divisor: 1.0,
                l2: 2.0,
                intercept_in_norm: true,
                linear,
            };
            let smoothness = 0.25 * 2.0 * 300.0 + 2.0;
            let sure = objective.minimise_surely(1e-7, smoothness);
            assert!(steepness(&objective, &sure) <= 1e-7);
            let mut at = vec![0.0; 9];
            let mut place = Place::new(&design);
            let mut before = f64::INFINITY;
            for _ in 0..3_000 {
                objective.evaluate(&at, &mut place);
                let now = norm(&place.gradient);
                let rounding = 1e-9;
                assert!(now <= (1.0 - 2.0 / smoothness) * before + rounding, "{now} {before}");
                before = now;
                for (weight, slope) in at.iter_mut().zip(&place.gradient) {
                    *weight -= slope / smoothness;
                }
            }
            assert!(before <= 1e-7, "{before}");
            for (one, other) in at.iter().zip(&sure) {
                assert!((one - other).abs() <= 1e-6, "{one} {other}");
            }
        }
    }

    /// Rows that are all alike round alike: the case that independent roundings leave out.
    #[test]
    fn a_gradient_errs_by_no_more_than_its_bound() {
        let (count, value) = (200_000_usize, 49.3_f32);
        let mut rows = SparseRows::new(Some(1));
        (0..count).for_each(|_| rows.push(0.0, &mut [(0, value)], None).unwrap());
        let design = Design::new(Cow::Borrowed(&rows), 1, None, false);
        let objective = Objective {
            design: &design,
            model: 0,
            loss: Loss::Logistic,
            divisor: 1.0,
            l2: 0.0,
            intercept_in_norm: true,
            linear: None,
        };
        let (number, norm) = (count as f64, f64::from(value));
        for weight in [0.013, -0.021] {
            let mut place = Place::new(&design);
            objective.evaluate(&[weight], &mut place);
            let term = Loss::Logistic.slope(weight * norm, 0.0) * norm;
            let unit = f64::EPSILON / 2.0;
            let bound = unit * number * norm * (10.0 + 0.75 * norm * weight.abs());
            let error = |found: f64| (found - term * number).abs();
            assert!(error(place.gradient[0]) <= bound, "{weight}: {:?}", place.gradient);
            let plain: f64 = std::iter::repeat_n(term, count).sum();
            assert!(error(plain) > bound, "{weight}: plain additions have to be seen: {plain}");
        }
    }

    #[test]
    fn gradients_are_finite_differences_of_the_objective() {
        for loss in [Loss::Linear, Loss::Logistic, Loss::Poisson, Loss::Sigmoid] {
            let rows = data(if loss == Loss::Sigmoid { Loss::Logistic } else { loss });
            let design = Design::new(Cow::Borrowed(&rows), 8, Some(1.0), true);
            let linear: Vec<f64> = (0..9).map(|at| 0.01 * f64::from(at)).collect();
            let objective = Objective {
                design: &design,
                model: 0,
                loss,
                divisor: 250.0,
                l2: 0.1,
                intercept_in_norm: true,
                linear: Some(&linear),
            };
            let at: Vec<f64> = (0..9).map(|index| 0.3 - 0.1 * f64::from(index)).collect();
            let mut place = Place::new(&design);
            objective.evaluate(&at, &mut place);
            let gradient = place.gradient.clone();
            for index in 0..9 {
                let mut value = |change: f64| {
                    let mut moved = at.clone();
                    moved[index] += change;
                    objective.evaluate(&moved, &mut place)
                };
                let slope = (value(1e-5) - value(-1e-5)) / 2e-5;
                assert!((slope - gradient[index]).abs() < 1e-8, "{loss} {index}");
            }
        }
    }
}
