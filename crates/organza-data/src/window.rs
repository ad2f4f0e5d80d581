//! The pairs of a line by their number, in closed form.
//!
//! In a line of n tokens the target t has min(t, w) contexts to the left and min(n - 1 - t, w) to the
//! right within a window of w. Numbered target by target, contexts from left to right, the pairs
//! before target t are L(t) + L(n) - L(n - t), where L(t) = sum over s < t of min(s, w), which is
//! t (t - 1) / 2 up to t = w + 1 and grows by w from there on. So no pair has to be listed to be found.

/// The pairs of a line within a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineWindow {
    tokens: u64,
    window: u64,
}

impl LineWindow {
    pub(crate) fn new(tokens: usize, window: u32) -> Self {
        let tokens = tokens as u64;
        Self { tokens, window: u64::from(window).min(tokens) }
    }

    /// L(t): the contexts on one side of the first `targets` tokens.
    fn one_side(self, targets: u64) -> u64 {
        let ramp = targets.min(self.window + 1);
        // `ramp` is at least 1 wherever there is more than the ramp.
        ramp * ramp.saturating_sub(1) / 2 + (targets - ramp) * self.window
    }

    /// The pairs whose target is one of the first `targets` tokens.
    fn before(self, targets: u64) -> u64 {
        self.one_side(targets) + self.one_side(self.tokens) - self.one_side(self.tokens - targets)
    }

    /// The number of pairs.
    pub(crate) fn pairs(self) -> u64 {
        2 * self.one_side(self.tokens)
    }

    /// The places of the tokens of a pair: target and context. `pair` is below [`Self::pairs`].
    pub(crate) fn pair(self, pair: u64) -> (usize, usize) {
        let (mut low, mut high) = (0, self.tokens);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.before(middle) <= pair { low = middle } else { high = middle }
        }
        let first = low.saturating_sub(self.window);
        let context = first + (pair - self.before(low));
        let context = if context < low { context } else { context + 1 };
        (low as usize, context as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(tokens: usize, window: usize) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for target in 0..tokens {
            let last = (target + window).min(tokens - 1);
            for context in target.saturating_sub(window)..=last {
                if context != target {
                    pairs.push((target, context));
                }
            }
        }
        pairs
    }

    proptest! {
        #[test]
        fn numbers_and_pairs_agree_with_a_list(tokens in 0_usize..40, window in 0_u32..50) {
            let expected = naive(tokens, window as usize);
            let line = LineWindow::new(tokens, window);
            prop_assert_eq!(line.pairs(), expected.len() as u64);
            let found: Vec<_> = (0..line.pairs()).map(|pair| line.pair(pair)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn long_lines_and_wide_windows_do_not_overflow() {
        let line = LineWindow::new(1 << 24, u32::MAX);
        assert_eq!(line.pairs(), (1 << 24) * ((1 << 24) - 1));
        assert_eq!(line.pair(line.pairs() - 1), ((1 << 24) - 1, (1 << 24) - 2));
    }
}
