//! Report noisy max: the candidate whose noisy score is largest.

use super::exponential::draw;
use super::{Selector, Workspace, most_of};
use crate::random::PrivateRandom;
use crate::sample::{exponential, laplace};
use crate::scores::{By, Candidates, Scores, add_untouched};
use organza_ledger::{Event, MaxNoise};

/// `draws` winners one after another, each the largest of the scores that are left with fresh noise.
///
/// # Privacy
/// Laplace noise of scale 2 D / epsilon, D the sensitivity of a score, makes one winner
/// epsilon-differentially private (Dwork and Roth 2014, Claim 3.9, with the factor 2 that scores
/// need that can move either way), and so does one-sided exponential noise of that scale
/// (permute-and-flip, McKenna and Sheldon 2020; Ding et al. 2021). Gumbel noise is the exponential
/// mechanism, with bounded range epsilon. Only the winner is published, never its noisy score, and
/// noise is fresh for each winner: taking several at once with Laplace noise is not covered.
#[derive(Debug)]
pub(crate) struct NoisyMax {
    pub(crate) by: By,
    pub(crate) draws: u64,
    pub(crate) noise: MaxNoise,
    /// S0 in grid steps, or infinity.
    pub(crate) cap: f64,
    /// The scale of the noise, in grid steps.
    pub(crate) scale: f64,
    pub(crate) event: Event,
}

impl Selector for NoisyMax {
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
        match self.noise {
            MaxNoise::Gumbel => {
                let weight = 1.0 / self.scale;
                draw(&scores, self.draws, weight, self.cap, random, workspace, selected);
            }
            MaxNoise::Laplace | MaxNoise::Exponential => {
                self.peel(&scores, random, workspace, selected);
            }
        }
    }

    fn event(&self, noise: Event, _: f64) -> Event {
        Event::Compose(vec![self.event.clone(), noise])
    }

    fn most(&self, coordinates: u64, widest: u64) -> u64 {
        most_of(self.by, self.draws, coordinates, widest)
    }
}

impl NoisyMax {
    fn peel(
        &self,
        scores: &Scores<'_>,
        random: &mut PrivateRandom,
        workspace: &mut Workspace,
        selected: &mut Vec<u64>,
    ) {
        let Workspace { rows, touched, runs, drawn, .. } = workspace;
        scores.touched(rows, touched);
        let pool = scores.candidates() - touched.len() as u64;
        let mut untouched_winners = 0;
        for _ in 0..self.draws.min(scores.candidates()) {
            let left = pool - untouched_winners;
            let rival = self.scale * self.largest_noise(left, random);
            let mut best = (rival, None);
            for (place, (_, score)) in touched.iter().enumerate() {
                let noisy = score + self.scale * self.one_noise(random);
                // With no rival left the first candidate leads, whatever its noise.
                if noisy > best.0 || (left == 0 && best.1.is_none()) {
                    best = (noisy, Some(place));
                }
            }
            match best.1 {
                Some(place) => selected.push(touched.swap_remove(place).0),
                None => untouched_winners += 1,
            }
        }
        drawn.draw(pool, untouched_winners, random);
        scores.runs(rows, runs);
        add_untouched(runs, drawn.numbers(), selected);
        selected.sort_unstable();
    }

    fn one_noise(&self, random: &mut PrivateRandom) -> f64 {
        match self.noise {
            MaxNoise::Laplace => laplace(random),
            MaxNoise::Exponential | MaxNoise::Gumbel => exponential(random),
        }
    }

    /// The largest of `count` noises of scale 1, by inverting its distribution function F^count: -ln F
    /// at it is an exponential over `count`. The tail 1 - F follows without cancellation and, as the
    /// exponential has all its digits near zero, without an end.
    fn largest_noise(&self, count: u64, random: &mut PrivateRandom) -> f64 {
        if count == 0 {
            return f64::NEG_INFINITY;
        }
        let log_below = -exponential(random) / count as f64;
        let tail = -libm::expm1(log_below);
        match self.noise {
            MaxNoise::Laplace if tail > 0.5 => log_below + std::f64::consts::LN_2,
            MaxNoise::Laplace => -libm::log(2.0 * tail),
            MaxNoise::Exponential | MaxNoise::Gumbel => -libm::log(tail),
        }
    }
}
