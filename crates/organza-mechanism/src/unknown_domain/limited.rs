//! The limited-domain top-k of Durfee and Rogers, on items.

use crate::random::PrivateRandom;
use crate::sample::gumbel;

/// Items in the order of noisy counts, among the `domain` items of the largest counts, down to a noisy
/// bar: at most `draws` of them, perhaps none (after Durfee and Rogers 2019, Algorithm 1).
///
/// # Privacy
/// As for rows, where the proof stands (`select::limited_domain`): counts that one unit raises by one in
/// at most c items, add-remove, and the bar h + 1 + ln(min(c, domain) draws / delta) / epsilon above the
/// count h at rank `domain` + 1. Ties in the domain go to the lesser item, a rule that does not look at
/// the data. The order of the result is the order of the draws, which the event pays for. The Gumbel
/// noise is idealised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LimitedItems {
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) domain: u64,
    pub(super) draws: u64,
    pub(super) items_per_unit: u64,
}

impl LimitedItems {
    /// The items that are shown, by their places in `counts`, which are in the order of the items.
    pub(super) fn select(&self, counts: &[u64], random: &mut PrivateRandom) -> Vec<usize> {
        let mut places: Vec<usize> = (0..counts.len()).collect();
        places.sort_by_key(|place| std::cmp::Reverse(counts[*place]));
        let domain = usize::try_from(self.domain).unwrap_or(usize::MAX);
        let beyond = places.get(domain).map_or(0, |place| counts[*place]);
        places.truncate(domain);
        places.sort_unstable();

        let strangers = self.items_per_unit.min(self.domain) as f64;
        let offset = 1.0 + libm::log(strangers * self.draws as f64 / self.delta) / self.epsilon;
        let bar = self.epsilon * (beyond as f64 + offset) + gumbel(random);
        let mut noisy: Vec<(f64, usize)> = places
            .into_iter()
            .map(|place| (self.epsilon * counts[place] as f64 + gumbel(random), place))
            .filter(|(score, _)| *score > bar)
            .collect();
        noisy.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
        let draws = usize::try_from(self.draws).unwrap_or(usize::MAX);
        noisy.into_iter().take(draws).map(|(_, place)| place).collect()
    }
}
