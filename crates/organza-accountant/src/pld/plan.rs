//! From nested events to a flat list of steps.
//!
//! A run is a list of phases: `times` steps, each of which uses one Poisson batch for all that its
//! [`Batch`] names (a rate of one is no sampling). Repetition outside of a `poisson` is repetition
//! with fresh batches; repetition inside happens on the same batch and is composed before sampling.

use super::sparse_vector::SparseVector;
use organza_ledger::{AccountError, Event, MaxNoise, SelectedNoise};

/// The largest number of uses that is counted.
const MOST_USES: u64 = 1 << 40;
/// The largest number of different phases.
const MOST_PHASES: usize = 256;

/// All that was charged.
#[derive(Clone, Debug, Default)]
pub(super) struct Charged {
    pub(super) phases: Vec<Phase>,
    /// What is added as it is: the epsilons of releases on which the rest may depend. For each of
    /// their outcomes and at every level e, of either sign, the rest has delta(e), so all together
    /// have it at e + `added` (the proof stands at [`Event::Added`]).
    pub(super) added: f64,
    /// How far all that was released is from what is stated, in total variation ([`Event::Near`]).
    pub(super) total_variation: f64,
}

/// A number of steps on batches of their own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phase {
    pub(super) times: u64,
    pub(super) rate: f64,
    pub(super) batch: Batch,
}

/// What is done, adaptively, to one batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Batch {
    /// The squared shift of all Gaussians together: they compose exactly.
    pub(super) shift_square: f64,
    /// Everything else, with its multiplicity.
    pub(super) parts: Vec<(Part, u64)>,
}

/// A mechanism with a dominating pair of its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Laplace { noise_multiplier: f64 },
    Approximate { epsilon: f64, delta: f64 },
    BoundedRange { epsilon: f64, draws: u64, delta: f64 },
    SparseVector(SparseVector),
    CappedSelection(CappedSelection),
    Selected(SelectedNoise),
    Masked { share: f64, noise_multiplier: f64 },
    Cluster { groups: u64, batch: Batch },
    Sampled { rate: f64, batch: Batch },
}

/// Exponential selection of which the cap, the change in L2 and the number of candidates are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CappedSelection {
    pub(super) epsilon: f64,
    pub(super) draws: u64,
    pub(super) candidates: u64,
    pub(super) cap: f64,
    pub(super) l2: f64,
}

/// Adds `event`, `times` times, to what was charged.
pub(super) fn flatten(
    event: &Event,
    times: u64,
    charged: &mut Charged,
) -> Result<(), AccountError> {
    match event {
        Event::Added { epsilon } => {
            charged.added += times as f64 * epsilon;
            Ok(())
        }
        Event::Near { total_variation } => {
            charged.total_variation += times as f64 * total_variation;
            Ok(())
        }
        Event::Compose(events) => {
            events.iter().try_for_each(|event| flatten(event, times, charged))
        }
        Event::Repeat { times: more, event } => flatten(event, product(times, *more)?, charged),
        Event::Poisson { rate, event } => {
            let (mut rate, mut inner) = (*rate, event.as_ref());
            // Thinning twice is thinning once at the product of the rates.
            while let Event::Poisson { rate: again, event } = inner {
                rate *= again;
                inner = event;
            }
            let mut batch = Batch::default();
            add(inner, 1, &mut batch)?;
            push(Phase { times, rate, batch }, &mut charged.phases)
        }
        _ => {
            let mut batch = Batch::default();
            add(event, 1, &mut batch)?;
            push(Phase { times, rate: 1.0, batch }, &mut charged.phases)
        }
    }
}

/// Adds a phase to those that are equal, and unsampled Gaussians to one another.
fn push(phase: Phase, phases: &mut Vec<Phase>) -> Result<(), AccountError> {
    if phase.times == 0 || phase.rate <= 0.0 || phase.batch == Batch::default() {
        return Ok(());
    }
    if phase.rate >= 1.0 && phase.batch.parts.is_empty() {
        let shift_square = phase.times as f64 * phase.batch.shift_square;
        if let Some(same) =
            phases.iter_mut().find(|other| other.rate >= 1.0 && other.batch.parts.is_empty())
        {
            same.batch.shift_square += shift_square;
        } else {
            let batch = Batch { shift_square, parts: Vec::new() };
            phases.push(Phase { times: 1, rate: 1.0, batch });
        }
        return Ok(());
    }
    if let Some(same) =
        phases.iter_mut().find(|other| other.rate == phase.rate && other.batch == phase.batch)
    {
        same.times = same
            .times
            .checked_add(phase.times)
            .filter(|sum| *sum <= MOST_USES)
            .ok_or_else(too_many)?;
        return Ok(());
    }
    if phases.len() >= MOST_PHASES {
        return Err(AccountError::OutOfRange(format!(
            "the run has more than {MOST_PHASES} different kinds of steps"
        )));
    }
    phases.push(phase);
    Ok(())
}

/// Adds `event`, `times` times on the same batch, to `batch`.
fn add(event: &Event, times: u64, batch: &mut Batch) -> Result<(), AccountError> {
    let part = match event {
        Event::Gaussian { noise_multiplier } | Event::RoundedGaussian { noise_multiplier } => {
            batch.shift_square += times as f64 * noise_multiplier.powi(-2);
            return Ok(());
        }
        Event::DiscreteGaussian { .. } => {
            return Err(AccountError::Unsupported {
                kind: event.kind().into(),
                reason: "no pair is known that dominates it (the Gaussian pair does not); the rdp \
                         accountant prices it by concentrated differential privacy"
                    .into(),
            });
        }
        Event::Added { .. } | Event::Near { .. } => {
            return Err(AccountError::Unsupported {
                kind: event.kind().into(),
                reason: "it speaks of other events, and only where it sees the whole data set"
                    .into(),
            });
        }
        Event::Laplace { noise_multiplier } => {
            Part::Laplace { noise_multiplier: *noise_multiplier }
        }
        Event::DiscreteLaplace { noise_multiplier } => {
            Part::Approximate { epsilon: 1.0 / noise_multiplier, delta: 0.0 }
        }
        Event::Pure { epsilon } => Part::Approximate { epsilon: *epsilon, delta: 0.0 },
        Event::Approximate { epsilon, delta } => {
            Part::Approximate { epsilon: *epsilon, delta: *delta }
        }
        // Without draws nothing is selected, and nothing is released.
        Event::Exponential { draws: 0, .. } => return Ok(()),
        Event::Exponential {
            epsilon,
            draws,
            candidates: Some(candidates),
            cap: Some(cap),
            l2: Some(l2),
        } => Part::CappedSelection(CappedSelection {
            epsilon: *epsilon,
            draws: *draws,
            candidates: *candidates,
            cap: *cap,
            l2: *l2,
        }),
        Event::Exponential { epsilon, draws, .. } => {
            Part::BoundedRange { epsilon: *epsilon, draws: *draws, delta: 0.0 }
        }
        Event::Selected { by, sensitivity, noise } => {
            let selected = SelectedNoise::new(by, *sensitivity, noise)?;
            if selected.draws == 0 {
                return Ok(());
            }
            Part::Selected(selected)
        }
        Event::LimitedDomain { epsilon, delta, draws } => {
            Part::BoundedRange { epsilon: *epsilon, draws: *draws, delta: *delta }
        }
        Event::NoisyMax { epsilon, draws, noise: MaxNoise::Gumbel } => {
            Part::BoundedRange { epsilon: *epsilon, draws: *draws, delta: 0.0 }
        }
        Event::NoisyMax { epsilon, draws, noise: MaxNoise::Laplace | MaxNoise::Exponential } => {
            let part = Part::Approximate { epsilon: *epsilon, delta: 0.0 };
            insert(part, product(times, *draws)?, batch);
            return Ok(());
        }
        Event::SparseVector {
            threshold_epsilon,
            query_epsilon,
            hits,
            refreshed,
            value_epsilon,
        } => Part::SparseVector(SparseVector {
            threshold_epsilon: *threshold_epsilon,
            query_epsilon: *query_epsilon,
            hits: *hits,
            refreshed: *refreshed,
            value_epsilon: *value_epsilon,
        }),
        Event::UniformMask { share, event } => match event.as_ref() {
            Event::Gaussian { noise_multiplier } | Event::RoundedGaussian { noise_multiplier } => {
                Part::Masked { share: *share, noise_multiplier: *noise_multiplier }
            }
            // The mask does not depend on the data: noise behind it costs no more than without it.
            noise if noise.is_noise() => return add(noise, times, batch),
            _ => {
                return Err(AccountError::Unsupported {
                    kind: event.kind().into(),
                    reason: "behind a `uniform_mask` there is one event of noise: of several, a \
                             later one could aim at the mask"
                        .into(),
                });
            }
        },
        Event::Cluster { groups, event } => {
            Part::Cluster { groups: *groups, batch: batch_of(event)? }
        }
        Event::Poisson { rate, event } => Part::Sampled { rate: *rate, batch: batch_of(event)? },
        Event::Repeat { times: more, event } => return add(event, product(times, *more)?, batch),
        Event::Compose(events) => {
            return events.iter().try_for_each(|event| add(event, times, batch));
        }
    };
    insert(part, times, batch);
    Ok(())
}

fn batch_of(event: &Event) -> Result<Batch, AccountError> {
    let mut batch = Batch::default();
    add(event, 1, &mut batch)?;
    Ok(batch)
}

fn insert(part: Part, times: u64, batch: &mut Batch) {
    if times == 0 {
        return;
    }
    match batch.parts.iter_mut().find(|(other, _)| *other == part) {
        Some((_, count)) => *count = count.saturating_add(times),
        None => batch.parts.push((part, times)),
    }
}

fn product(times: u64, more: u64) -> Result<u64, AccountError> {
    times.checked_mul(more).filter(|uses| *uses <= MOST_USES).ok_or_else(too_many)
}

fn too_many() -> AccountError {
    AccountError::OutOfRange(format!("more than {MOST_USES} uses of one mechanism"))
}
