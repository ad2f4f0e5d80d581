//! The exponential mechanism, drawn without replacement (the paper's Algorithm 4).

use super::{Selector, Workspace, most_of};
use crate::random::PrivateRandom;
use crate::sample::{below, exponential, unit};
use crate::scores::{By, Candidates, Scores, add_untouched};
use organza_ledger::Event;

/// What one Gumbel costs, in proposals of the rejection method (measured).
const GUMBEL_COST: f64 = 1.0;

/// Exactly `draws` draws without replacement, each proportional to exp(weight x score) over the
/// candidates that are left.
///
/// # Privacy
/// One draw's log-probability ratio between neighbours has range `epsilon` = weight x R, where R =
/// min(2 S0, sqrt2 C) bounds the range of the change of scores: two scores change by at most S0 each
/// in opposite directions, and by at most sqrt2 C together, since their squares sum to C^2 at most.
/// The draws are an adaptive composition of such draws. R is less where a clip bounds what a unit adds to each candidate: then the
/// event states the bounded range alone. Otherwise, with cap, L2 bound and number of candidates
/// on the event, an accountant may use all three, and that the noise lies on the selection alone.
#[derive(Debug)]
pub(crate) struct Exponential {
    pub(crate) by: By,
    pub(crate) draws: u64,
    /// The weight of a grid step of score.
    pub(crate) weight: f64,
    /// S0, in grid steps.
    pub(crate) cap: f64,
    /// The bounded range of one draw.
    pub(crate) epsilon: f64,
    pub(crate) candidates: u64,
    /// S0, in the averaged gradient.
    pub(crate) largest: f64,
    /// C: how far a unit moves the averaged gradient.
    pub(crate) change: f64,
    /// Whether a clip at each candidate is what bounds the range, and not cap or C.
    pub(crate) is_by_candidate: bool,
}

impl Selector for Exponential {
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
        let scores = Scores::new(candidates, self.by, self.cap);
        draw(&scores, self.draws, self.weight, self.cap, random, workspace, selected);
    }

    fn event(&self, noise: Event, kept: f64) -> Event {
        if self.is_by_candidate {
            return self.event_beside_dense(noise);
        }
        Event::Selected {
            by: Box::new(self.draws_event()),
            sensitivity: (kept < 1.0).then_some(kept * self.change),
            noise: Box::new(noise),
        }
    }

    fn event_beside_dense(&self, noise: Event) -> Event {
        Event::Compose(vec![self.draws_event(), noise])
    }

    fn most(&self, coordinates: u64, widest: u64) -> u64 {
        most_of(self.by, self.draws, coordinates, widest)
    }
}

impl Exponential {
    fn draws_event(&self) -> Event {
        // An account takes the weight of a score from these.
        let known = |number| (!self.is_by_candidate).then_some(number);
        Event::Exponential {
            epsilon: self.epsilon,
            draws: self.draws,
            candidates: (!self.is_by_candidate).then_some(self.candidates),
            cap: known(self.largest),
            l2: known(self.change),
        }
    }
}

/// Puts `draws` candidates without replacement into `selected`, each proportional to exp(weight x score);
/// ascending.
pub(crate) fn draw(
    scores: &Scores<'_>,
    draws: u64,
    weight: f64,
    cap: f64,
    random: &mut PrivateRandom,
    workspace: &mut Workspace,
    selected: &mut Vec<u64>,
) {
    let candidates = scores.candidates();
    let draws = draws.min(candidates);
    // Draw i is accepted with probability at least e^(-weight cap) (candidates - i) / candidates.
    let share_left = (candidates - draws) as f64 / candidates as f64;
    let proposals = draws as f64 * libm::exp(weight * cap) / share_left;
    if proposals <= GUMBEL_COST * (scores.touched_count() + draws) as f64 {
        by_rejection(scores, draws, weight, cap, random, workspace, selected);
    } else {
        by_gumbel(scores, draws, weight, random, workspace, selected);
    }
    selected.sort_unstable();
}

/// Proposes uniformly and accepts with probability exp(weight (score - cap)), passing over what was
/// drawn before: a proposal that is accepted has the law of the next draw.
fn by_rejection(
    scores: &Scores<'_>,
    draws: u64,
    weight: f64,
    cap: f64,
    random: &mut PrivateRandom,
    workspace: &mut Workspace,
    selected: &mut Vec<u64>,
) {
    // Most proposals score zero: their exponential is taken once.
    let lowest = libm::exp(-weight * cap);
    let drawn = &mut workspace.drawn;
    drawn.clear();
    while (drawn.numbers().len() as u64) < draws {
        let candidate = below(scores.candidates(), random);
        let chance = unit(random);
        if chance < lowest || {
            let score = scores.score(candidate);
            score > 0.0 && chance < libm::exp(weight * (score - cap))
        } {
            drawn.insert(candidate);
        }
    }
    selected.extend_from_slice(drawn.numbers());
}

/// Gives each candidate an exponential clock of rate exp(weight x score) and takes the first to ring:
/// the same law as the largest scores with Gumbel noise, which is that of the draws.
///
/// The clocks of untouched candidates all have rate 1: their i-th ring comes an exponential over
/// (number left) after the one before, and which of them rings is uniform.
fn by_gumbel(
    scores: &Scores<'_>,
    draws: u64,
    weight: f64,
    random: &mut PrivateRandom,
    workspace: &mut Workspace,
    selected: &mut Vec<u64>,
) {
    let Workspace { rows, touched, runs, noisy: rings, drawn, .. } = workspace;
    scores.touched(rows, touched);
    rings.clear();
    rings.extend(
        touched.iter().map(|(candidate, score)| {
            (libm::log(exponential(random)) - weight * score, *candidate)
        }),
    );
    let kept = rings.len().min(draws as usize);
    if kept > 0 && kept < rings.len() {
        rings.select_nth_unstable_by(kept - 1, |one, other| one.0.total_cmp(&other.0));
    }
    rings.truncate(kept);
    rings.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));

    let mut rings = rings.iter().peekable();
    let pool = scores.candidates() - scores.touched_count();
    let mut clock = 0.0;
    let mut untouched_rings = 0;
    let mut next_untouched = next_ring(&mut clock, pool, random);
    while selected.len() as u64 + untouched_rings < draws {
        match rings.peek() {
            Some((ring, candidate)) if *ring <= next_untouched => {
                selected.push(*candidate);
                rings.next();
            }
            _ => {
                untouched_rings += 1;
                next_untouched = next_ring(&mut clock, pool - untouched_rings, random);
            }
        }
    }
    if untouched_rings > 0 {
        drawn.draw(pool, untouched_rings, random);
        scores.runs(rows, runs);
        add_untouched(runs, drawn.numbers(), selected);
    }
}

/// The logarithm of the time of the next ring among `left` clocks of rate 1; never, if none is left.
fn next_ring(clock: &mut f64, left: u64, random: &mut PrivateRandom) -> f64 {
    if left == 0 {
        return f64::INFINITY;
    }
    *clock += exponential(random) / left as f64;
    libm::log(*clock)
}
