//! Sums that keep what their roundings lose.

/// A sum with what its additions have lost so far, which is known exactly (Knuth's two-sum) and added at the end.
///
/// With u = 2^-53, a sum S of n terms whose sizes add up to A errs by at most u |S| + (n u / (1 - n u))^2 A, in any
/// order and whatever the terms (Ogita, Rump and Oishi 2005, proposition 4.5), where plain additions may err by n u A.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    whole: f64,
    lost: f64,
}

impl Sum {
    /// Adds a term.
    #[inline(always)]
    pub(crate) fn add(&mut self, term: f64) {
        let whole = self.whole + term;
        let taken = whole - self.whole;
        self.lost += (self.whole - (whole - taken)) + (term - taken);
        self.whole = whole;
    }

    /// The sum.
    #[inline(always)]
    pub(crate) fn value(self) -> f64 {
        self.whole + self.lost
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<T: IntoIterator<Item = f64>>(terms: T) -> Self {
        let mut sum = Self::default();
        terms.into_iter().for_each(|term| sum.add(term));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_roundings_in_one_direction_are_kept() {
        let terms = || std::iter::repeat_n(0.1_f64, 1_000_000);
        let exact = 0.1 * 1e6;
        let bound = 2.0 * f64::EPSILON * exact;
        let found = terms().collect::<Sum>().value();
        assert!((found - exact).abs() <= bound, "{found}");
        let plain: f64 = terms().sum();
        assert!((plain - exact).abs() > 1e4 * bound, "plain additions have to be seen: {plain}");
    }

    #[test]
    fn what_cancels_leaves_the_rest() {
        let found = [1e16, 1.0, 1.0, -1e16, 0.5].into_iter().collect::<Sum>().value();
        assert_eq!(found, 2.5);
    }
}
