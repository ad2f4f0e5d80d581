//! From an event to its Renyi curve, or a refusal by name.

use super::capped::Capped;
use super::curve::Curve;
use super::general::Sampled;
use super::sampled::{Selection, Step};
use organza_ledger::{AccountError, Event, MaxNoise, Neighbouring, SelectedNoise};

/// The most losses of a discrete pair that are carried exactly.
const MOST_LOSSES: f64 = 160.0;

/// The largest loss of a discrete pair that is carried exactly.
const LARGEST_LOSS: f64 = 1e4;

/// What an event costs: a curve for all outcomes but a few, and the mass of those few.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Price {
    pub(super) curve: Curve,
    /// ln(1 - the probability of an exceptional outcome).
    pub(super) log_kept: f64,
    /// How far all that was released is from what is stated, in total variation.
    pub(super) total_variation: f64,
}

impl Price {
    pub(super) fn of(event: &Event, relation: Neighbouring) -> Result<Self, AccountError> {
        let mut parts = Parts::default();
        parts.add(event, 1.0, relation)?;
        let Parts { log_kept, total_variation, .. } = parts;
        Ok(Self { log_kept, total_variation, curve: parts.curve() })
    }
}

/// A composition, with the parts of which an exact pair is known kept apart.
#[derive(Clone, Debug, Default)]
struct Parts {
    /// The sum of 1 / (2 sigma^2) over Gaussians, which compose to one Gaussian exactly.
    rho: f64,
    /// Mechanisms known to be epsilon-private, and how many: randomised responses, exactly.
    responses: Vec<(f64, f64)>,
    /// Everything else, and how often.
    others: Vec<(f64, Curve)>,
    /// ln(1 - the exceptional mass of all together).
    log_kept: f64,
    /// The total variation of all that are only nearly as stated.
    total_variation: f64,
    /// Whether some part was on a Poisson batch of its own.
    sampled: bool,
}

impl Parts {
    fn add(
        &mut self,
        event: &Event,
        times: f64,
        relation: Neighbouring,
    ) -> Result<(), AccountError> {
        if times == 0.0 {
            return Ok(());
        }
        match event {
            Event::Gaussian { noise_multiplier } | Event::RoundedGaussian { noise_multiplier } => {
                self.rho += times * concentrated(*noise_multiplier);
            }
            Event::DiscreteGaussian { noise_multiplier } => {
                self.other(times, Curve::Concentrated { rho: concentrated(*noise_multiplier) });
            }
            Event::Laplace { noise_multiplier } => {
                self.other(times, Curve::Laplace { epsilon: 1.0 / noise_multiplier });
            }
            // At a sensitivity of one grid step this is a randomised response, which Laplace noise
            // of the same scale does not dominate.
            Event::DiscreteLaplace { noise_multiplier } => {
                self.pure(times, 1.0 / noise_multiplier);
            }
            Event::Pure { epsilon } => self.pure(times, *epsilon),
            Event::Added { epsilon } => {
                self.other(times, Curve::Constant { epsilon: *epsilon });
            }
            Event::Near { total_variation } => self.total_variation += times * total_variation,
            Event::Approximate { epsilon, delta } => {
                self.pure(times, *epsilon);
                self.lose(times, *delta);
            }
            // Without draws nothing is selected, and nothing is released.
            Event::Exponential { draws: 0, .. } => {}
            Event::Exponential {
                epsilon,
                draws,
                candidates: Some(candidates),
                cap: Some(cap),
                l2: Some(l2),
            } => {
                let capped = Capped::new(*epsilon, *draws, *candidates, *cap, *l2);
                self.other(times, Curve::Capped(capped));
            }
            Event::Exponential { epsilon, draws, .. } => {
                self.other(times * *draws as f64, Curve::BoundedRange { range: *epsilon });
            }
            Event::Selected { by, sensitivity, noise } => {
                let selected = SelectedNoise::new(by, *sensitivity, noise)?;
                if selected.draws > 0 {
                    self.other(times, Curve::Capped(Capped::with_noise(&selected)));
                }
            }
            Event::UniformMask { share, event } => self.mask(*share, event, times, relation)?,
            Event::SparseVector {
                threshold_epsilon,
                query_epsilon,
                hits,
                refreshed,
                value_epsilon,
            } => {
                let hits = *hits as f64;
                if *refreshed {
                    self.pure(times * hits, threshold_epsilon + query_epsilon);
                } else if hits > 0.0 {
                    // One threshold for all hits: each of them spends a query's epsilon (Lyu, Su and
                    // Li 2017, Theorem 4, with noise of scale 2 c / epsilon_2 on queries).
                    self.pure(times, threshold_epsilon + hits * query_epsilon);
                }
                if let Some(epsilon) = value_epsilon {
                    self.other(times * hits, Curve::Laplace { epsilon: *epsilon });
                }
            }
            Event::NoisyMax { epsilon, draws, noise } => {
                let times = times * *draws as f64;
                match noise {
                    MaxNoise::Gumbel => self.other(times, Curve::BoundedRange { range: *epsilon }),
                    MaxNoise::Laplace | MaxNoise::Exponential => self.pure(times, *epsilon),
                }
            }
            Event::LimitedDomain { epsilon, delta, draws } => {
                self.other(times * *draws as f64, Curve::BoundedRange { range: *epsilon });
                self.lose(times, *delta);
            }
            Event::Cluster { groups, event } => {
                let mut inside = Self::default();
                inside.add(event, 1.0, relation)?;
                self.visible(1.0 / *groups as f64, inside, times);
            }
            Event::Compose(events) => {
                events.iter().try_for_each(|event| self.add(event, times, relation))?;
            }
            Event::Repeat { times: more, event } => {
                self.add(event, times * *more as f64, relation)?;
            }
            Event::Poisson { rate, event } => self.poisson(*rate, event, times, relation)?,
        }
        Ok(())
    }

    fn other(&mut self, times: f64, curve: Curve) {
        self.others.push((times, curve));
    }

    fn pure(&mut self, times: f64, epsilon: f64) {
        if epsilon > 0.0 && times > 0.0 {
            self.responses.push((epsilon, times));
        }
    }

    fn lose(&mut self, times: f64, delta: f64) {
        self.log_kept += times * libm::log1p(-delta);
    }

    /// Noise behind a uniform mask.
    ///
    /// # Proof
    /// Given the mask, Gaussian noise sees the share s^2 of the square of its sensitivity, so the moment is
    /// e^(a (a-1) s^2 / (2 sigma^2)), convex in s^2. As s^2 lies in \[0, 1\] and its mean over masks is at
    /// most `share`, the moment is at most 1 - share + share e^(a (a-1) / (2 sigma^2)), as if the
    /// mechanism ran with that probability. Any order, and so also the moments that the rule for
    /// sampling uses. It needs a change that does not depend on the mask: in a composition behind
    /// one mask a later part could aim at it, so there is one event of noise. Other noise than
    /// Gaussian is priced as if nothing were hidden.
    fn mask(
        &mut self,
        share: f64,
        event: &Event,
        times: f64,
        relation: Neighbouring,
    ) -> Result<(), AccountError> {
        match event {
            Event::Gaussian { noise_multiplier }
            | Event::RoundedGaussian { noise_multiplier }
            | Event::DiscreteGaussian { noise_multiplier } => {
                let curve = Curve::Concentrated { rho: concentrated(*noise_multiplier) };
                self.other(times, Curve::Visible { share, event: Box::new(curve) });
                Ok(())
            }
            noise if noise.is_noise() => self.add(noise, times, relation),
            _ => Err(AccountError::Unsupported {
                kind: event.kind().into(),
                reason: "behind a `uniform_mask` there is one event of noise: of several, a later \
                         one could aim at the mask"
                    .into(),
            }),
        }
    }

    /// A mechanism that runs with probability `share`, which is seen.
    fn visible(&mut self, share: f64, inside: Self, times: f64) {
        self.sampled |= inside.sampled;
        self.lose(times, share * inside.lost());
        self.other(times, Curve::Visible { share, event: Box::new(inside.curve()) });
    }

    fn poisson(
        &mut self,
        rate: f64,
        event: &Event,
        times: f64,
        relation: Neighbouring,
    ) -> Result<(), AccountError> {
        let mut inside = Self::default();
        inside.add(event, 1.0, relation)?;
        if inside.sampled {
            return Err(AccountError::Unsupported {
                kind: "poisson".into(),
                reason: "a batch of a batch; state one rate, the product of both".into(),
            });
        }
        if relation == Neighbouring::ReplaceOne && rate < 1.0 {
            // Neighbours that differ in who the unit is do not bound what its absence shows, so
            // all that holds is what an observer of its joining would see.
            self.visible(rate, inside, times);
            self.sampled = true;
            return Ok(());
        }
        self.sampled = true;
        let lost = inside.lost();
        self.lose(times, rate * lost);
        let curve = match inside.selection() {
            Some(selection) => {
                let step = Step::new(rate, (2.0 * inside.rho).sqrt(), selection);
                Curve::Exact { step, rate, lost }
            }
            None => Curve::Sampled(Sampled::new(rate, lost, inside.curve())),
        };
        self.other(times, curve);
        Ok(())
    }

    /// The probability of an exceptional outcome.
    fn lost(&self) -> f64 {
        -libm::expm1(self.log_kept)
    }

    /// The exact discrete pair of everything but the Gaussians, if it is known and small.
    fn selection(&self) -> Option<Selection> {
        if !self.others.is_empty() {
            return None;
        }
        let mut losses = 1.0;
        let mut largest = 0.0;
        for (epsilon, times) in &self.responses {
            losses *= times + 1.0;
            largest += epsilon * times;
        }
        if losses > MOST_LOSSES || largest > LARGEST_LOSS {
            return None;
        }
        let nothing = Selection::nothing();
        Some(self.responses.iter().fold(nothing, |selection, (epsilon, times)| {
            selection.followed_by(&Selection::responses(*epsilon, *times as u32))
        }))
    }

    fn curve(self) -> Curve {
        let mut parts = self.others;
        parts.extend(
            self.responses.into_iter().map(|(epsilon, times)| (times, Curve::Pure { epsilon })),
        );
        if self.rho > 0.0 {
            parts.push((1.0, Curve::Concentrated { rho: self.rho }));
        }
        Curve::Sum(parts)
    }
}

fn concentrated(noise_multiplier: f64) -> f64 {
    0.5 / (noise_multiplier * noise_multiplier)
}
