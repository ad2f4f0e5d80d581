//! A dominating pair of distributions, as masses on a uniform grid of privacy losses.

/// A pair (P, Q) that dominates a mechanism: for every threshold a, H_a(P||Q) = E_Q\[(dP/dQ - a)+\]
/// is at least that of the mechanism's outputs on neighbouring inputs.
///
/// P is the law with the unit, Q the law without it. The loss log(dP/dQ) takes the values
/// `(lowest + i) * step` with P-mass `masses[i]`, hence Q-mass `masses[i] * exp(-loss)`.
///
/// Domination is the convex order of dP/dQ under Q, so every operation on a pair has to be a
/// mean-preserving spread of that ratio at the worst; rounding a loss is never needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The distance between neighbouring losses.
    pub step: f64,
    /// The index of the lowest loss.
    pub lowest: i64,
    /// The P-mass at each loss.
    pub masses: Vec<f64>,
    /// The P-mass where Q has none (loss plus infinity).
    pub infinite: f64,
    /// The Q-mass where P has none (loss minus infinity).
    pub only_without: f64,
}

impl Pair {
    /// The pair of a mechanism that releases nothing.
    pub fn identity(step: f64) -> Self {
        Self { step, lowest: 0, masses: vec![1.0], infinite: 0.0, only_without: 0.0 }
    }

    /// The loss at position `index`.
    pub fn loss(&self, index: usize) -> f64 {
        (self.lowest + index as i64) as f64 * self.step
    }

    /// H at exp(`epsilon`): the delta of one use.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let above: f64 = (0..self.masses.len())
            .rev()
            .map(|index| (self.loss(index), self.masses[index]))
            .take_while(|(loss, _)| *loss > epsilon)
            .map(|(loss, mass)| -libm::expm1(epsilon - loss) * mass)
            .sum();
        above + self.infinite
    }
}
