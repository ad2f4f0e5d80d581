//! A uniform mask: selection that does not look at the data.

use super::{Selector, Workspace, most_of};
use crate::random::PrivateRandom;
use crate::scores::{By, Candidates};
use organza_ledger::Event;

/// Exactly `draws` candidates, each set of that size equally likely.
///
/// # Privacy
/// The mask is independent of the data and costs nothing; it even hides most of a record from the
/// noise that follows: in expectation only the share `draws` / candidates of the square of its
/// change is seen. With C the change of the whole vector and D the sensitivity after a second clip, the
/// mask M lets the noise see min(|M v|, D) of it, of whose square over D^2 the mean is at most
/// min(1, share (C / D)^2).
#[derive(Debug)]
pub(crate) struct Uniform {
    pub(crate) by: By,
    pub(crate) draws: u64,
    pub(crate) share: f64,
}

impl Selector for Uniform {
    fn by(&self) -> Option<By> {
        Some(self.by)
    }

    fn select(
        &self,
        candidates: Candidates<'_>,
        random: &mut PrivateRandom,
        workspace: &mut Workspace,
        selected: &mut Vec<u64>,
    ) {
        let candidates = candidates.shape().candidates(self.by);
        workspace.drawn.draw(candidates, self.draws, random);
        selected.extend_from_slice(workspace.drawn.numbers());
    }

    fn event(&self, noise: Event, kept: f64) -> Event {
        let share = (self.share / (kept * kept)).min(1.0);
        Event::UniformMask { share, event: Box::new(noise) }
    }

    fn looks(&self) -> bool {
        false
    }

    fn event_beside_dense(&self, noise: Event) -> Event {
        noise
    }

    fn most(&self, coordinates: u64, widest: u64) -> u64 {
        most_of(self.by, self.draws, coordinates, widest)
    }
}
