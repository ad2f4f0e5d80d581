//! Independent checks: the true profile of a small or simulated mechanism never passes the claim,
//! and does pass the claims of broken twins.

mod enumeration;
mod monte_carlo;

use organza_mechanism::random::PrivateRandom;
use organza_mechanism::{Purpose, RandomSource, sample};

use super::facts::Facts;
use super::{Shift, selected, step};
use crate::pld::Pair;

/// How far profiles are followed.
const TAIL: f64 = 1e-26;

/// A mechanism to check: draws by capped scores, then noise on what was drawn.
#[derive(Clone, Copy, Debug)]
struct Setting {
    range: f64,
    draws: u64,
    candidates: u64,
    cap: f64,
    l2: f64,
    noise_multiplier: f64,
    /// What a second clip leaves of `l2`; the multiplier is relative to that.
    kept: f64,
}

impl Setting {
    const fn new(range: f64, draws: u64, candidates: u64, cap: f64, l2: f64, noise: f64) -> Self {
        Self { range, draws, candidates, cap, l2, noise_multiplier: noise, kept: 1.0 }
    }

    /// The same with a second clip of this share of `l2` / 2.
    const fn clipped(self, kept: f64) -> Self {
        Self { kept, ..self }
    }

    fn shift(&self) -> Shift {
        Shift { most: 1.0 / self.noise_multiplier, kept: self.kept }
    }

    /// The deviation of the noise.
    fn deviation(&self) -> f64 {
        self.noise_multiplier * self.kept * self.l2
    }

    /// The factor on the scores in the log-weights.
    fn weight(&self) -> f64 {
        self.range / (2.0 * self.cap).min(2.0f64.sqrt() * self.l2)
    }

    fn facts(&self) -> Facts {
        Facts::new(self.range, self.draws, self.candidates, self.cap, self.l2).expect("it is sound")
    }

    fn claim(&self) -> Pair {
        let facts = self.facts();
        step::curve(&facts, &selected(&facts, TAIL), self.shift(), TAIL).pair()
    }

    /// Claims by theorems that are wrong in one place each.
    fn twins(&self) -> Vec<(&'static str, Pair)> {
        let right = self.facts();
        let shift = self.shift();
        let half = Shift { most: 0.5 * shift.most, ..shift };
        let proportional = Shift { kept: 1.0, ..shift };
        let others = (self.candidates - self.draws + 1) as f64;
        let even = Facts {
            likeliest: 1.0 / others,
            drift: (right.reach / others.sqrt()).min(right.drift),
            hits: self.draws as f64 / others,
            ..right
        };
        let lossless = Facts { jump: 0.0, drift: 0.0, ..right };
        let once = Facts { hits: right.likeliest / self.draws as f64, ..right };
        let selection = selected(&right, TAIL);
        let free = Pair::identity(1.0);
        vec![
            ("equal weights", step::curve(&even, &selection, shift, TAIL).pair()),
            ("a hit without loss", step::curve(&lossless, &selection, shift, TAIL).pair()),
            ("too few hits", step::curve(&once, &selection, shift, TAIL).pair()),
            ("twice the noise", step::curve(&right, &selection, half, TAIL).pair()),
            ("free selection", step::curve(&lossless, &free, shift, TAIL).pair()),
            // As if the clip shortened every change, and not only the long ones.
            ("in proportion", step::curve(&right, &selection, proportional, TAIL).pair()),
        ]
    }
}

/// A fixed stream of random numbers.
struct Random(PrivateRandom);

impl Random {
    fn new(seed: u64) -> Self {
        Self(RandomSource::from_seed(seed).substream(Purpose::Data, 0, 0))
    }

    /// Uniform on (0, 1).
    fn uniform(&mut self) -> f64 {
        sample::unit(&mut self.0)
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
