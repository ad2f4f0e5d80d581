//! The limited-domain top-k of Durfee and Rogers: rows that many units touch.

use super::{Selector, Workspace, most_of};
use crate::random::PrivateRandom;
use crate::sample::gumbel;
use crate::scores::{By, Candidates};
use organza_ledger::Event;

/// Rows in the order of noisy counts, among the `domain` rows of the largest counts, down to a noisy
/// bar: at most `draws` of them, perhaps none (after Durfee and Rogers 2019, Algorithm 1).
///
/// # Privacy
/// For add-remove and counts that one unit raises by one in at most D = `rows_per_unit` rows. Counts
/// and bar get Gumbel noise, so the result is a sequence of at most k = `draws` draws, each with
/// weights exp(epsilon x count) on rows and exp(epsilon x bar) on stopping. Let h be the count at rank
/// `domain` + 1; the bar is h + 1 + ln(min(D, domain) k / delta) / epsilon.
///
/// A *stranger* is a row that is in the domain of one neighbour and not of the other. There are at most
/// min(D, domain) of them, since a row leaves a domain only for one whose count changed. Let i be a
/// stranger in the domain of X, and j one that is in that of X' instead: then i has lost to j in X'
/// and j to i in X. If X' has one unit more, count(i) <= count'(i) <= count'(j) <= count(j) + 1 <=
/// h + 1; if it has one less, count(i) - 1 <= count'(i) <= count'(j) <= count(j) <= h. (If no such j
/// exists because the domain is not full, count(i) is 1 and h is 0.) So all strangers together weigh
/// at most delta / k times the bar, which is a candidate until it is drawn: a draw hits a stranger
/// with probability at most delta / k. A draw that hits no stranger has the law of a draw from the
/// common rows and the bar, whose scores all move in one direction by at most one: bounded range
/// epsilon. With densities p = a p0, q = b q0 on sequences without strangers, a and b at least
/// (1 - delta/k)^k >= 1 - delta: for every threshold t >= 1, 1 - H_t(P||Q) >= integral of
/// min(a p0, t b q0) >= (1 - delta) (1 - H_t(P0||Q0)), which is the profile of k draws of bounded range
/// epsilon with an exceptional mass of delta.
#[derive(Debug)]
pub(crate) struct LimitedDomain {
    pub(crate) draws: u64,
    pub(crate) domain: u64,
    pub(crate) rows_per_unit: usize,
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
}

impl Selector for LimitedDomain {
    fn by(&self) -> Option<By> {
        Some(By::Row)
    }

    fn select(
        &self,
        candidates: Candidates<'_>,
        random: &mut PrivateRandom,
        workspace: &mut Workspace,
        selected: &mut Vec<u64>,
    ) {
        let Workspace { counts, noisy, .. } = workspace;
        candidates.counted_rows(counts);
        // Ties go to the lower row: a rule that does not look at the data.
        counts.sort_unstable_by_key(|(row, count)| (std::cmp::Reverse(*count), *row));
        let beyond = counts.get(self.domain as usize).map_or(0, |(_, count)| *count);
        counts.truncate(self.domain as usize);
        counts.sort_unstable();

        let strangers = (self.rows_per_unit as u64).min(self.domain);
        let odds = strangers as f64 * self.draws as f64 / self.delta;
        let offset = 1.0 + libm::log(odds) / self.epsilon;
        let bar = self.epsilon * (beyond as f64 + offset) + gumbel(random);
        noisy.clear();
        for (row, count) in counts {
            let score = self.epsilon * *count as f64 + gumbel(random);
            if score > bar {
                noisy.push((score, u64::from(*row)));
            }
        }
        noisy.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
        selected.extend(noisy.iter().take(self.draws as usize).map(|(_, row)| *row));
        selected.sort_unstable();
    }

    fn event(&self, noise: Event, _: f64) -> Event {
        let Self { epsilon, delta, draws, .. } = *self;
        Event::Compose(vec![Event::LimitedDomain { epsilon, delta, draws }, noise])
    }

    fn most(&self, coordinates: u64, widest: u64) -> u64 {
        most_of(By::Row, self.draws, coordinates, widest)
    }

    fn rows_per_unit(&self) -> usize {
        self.rows_per_unit
    }
}
