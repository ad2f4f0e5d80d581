//! Theorem 3 of the paper, and what it would have said about a run.

use super::{AsPrinted, Claim, Objection, printed};
use organza_ledger::{AccountError, Event};

/// The quantities of Theorem 3, for a run at `rate` b/n over `steps` steps T:
///
/// ( 4 q sqrt(T ln(1 / (2 q T delta'))) (epsilon' + 2 sqrt(2 ln(1.25 / delta')) / sigma), 4 q T delta' ),
/// if q (epsilon' + 2 sqrt(2 ln(1.25 / delta')) / sigma) <= 1 / sqrt(T).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TheoremThree {
    /// The rate q at which records join a batch.
    pub rate: f64,
    /// The number of steps T.
    pub steps: f64,
    /// The delta' of each part of a step.
    pub step_delta: f64,
}

impl TheoremThree {
    /// The theorem for a total `delta`: delta' = delta / (4 q T).
    pub fn for_delta(rate: f64, steps: f64, delta: f64) -> Self {
        Self { rate, steps, step_delta: delta / (4.0 * rate * steps) }
    }

    /// What the epsilons of one step are multiplied by: 4 q sqrt(T ln(1 / (2 q T delta'))).
    pub fn factor(&self) -> f64 {
        let logarithm = -libm::log(2.0 * self.rate * self.steps * self.step_delta);
        4.0 * self.rate * (self.steps * logarithm).sqrt()
    }

    /// The epsilon of the noise in one step before sampling, 2 sqrt(2 ln(1.25 / delta')) / sigma: Lemma 3
    /// with the sensitivity of replacing a record, twice that of removing one.
    pub fn noise_epsilon(&self, noise_multiplier: f64) -> f64 {
        2.0 * printed::gaussian_epsilon(noise_multiplier, self.step_delta).figure
    }

    /// The epsilon' that a selection may have for a share `budget` of the total epsilon.
    pub fn selection_epsilon(&self, budget: f64) -> f64 {
        budget / self.factor()
    }

    /// Theorem 3, as printed.
    pub fn claim(&self, selection_epsilon: f64, noise_multiplier: f64) -> AsPrinted<Claim> {
        let step = selection_epsilon + self.noise_epsilon(noise_multiplier);
        let within_its_conditions = self.rate * step <= 1.0 / self.steps.sqrt();
        let objections: &'static [Objection] = if within_its_conditions {
            &[
                Objection::AmplificationIsTooLow,
                Objection::GaussianBeyondOne,
                Objection::RelationsMixed,
            ]
        } else {
            &[
                Objection::AssumptionFails,
                Objection::AmplificationIsTooLow,
                Objection::GaussianBeyondOne,
                Objection::RelationsMixed,
            ]
        };
        AsPrinted {
            figure: Claim {
                epsilon: self.factor() * step,
                delta: 4.0 * self.rate * self.steps * self.step_delta,
            },
            within_its_conditions,
            objections,
        }
    }
}

/// What Theorem 3 would have said about a run: `repeat` of `poisson` of Gaussian noise, alone or after
/// an `exponential` selection, on what it selected or not. **As printed, not sound.**
///
/// The selection's epsilon' is taken back from its draws as Algorithm 4 sets them:
/// epsilon'' sqrt(2 k ln(1 / delta')), where epsilon'' is the range of a draw, or larger by
/// sqrt(2) cap / l2 where the scores' L2 bound and not their cap limits the range.
///
/// # Errors
/// If the event is not of that form, or delta is out of range.
pub fn as_printed(event: &Event, delta: f64) -> Result<AsPrinted<Claim>, AccountError> {
    event.check()?;
    if !(delta > 0.0 && delta < 1.0) {
        return Err(AccountError::OutOfRange(format!(
            "delta is {delta}, but must lie between 0 and 1"
        )));
    }
    let (steps, event) = match event {
        Event::Repeat { times, event } => (*times as f64, event.as_ref()),
        other => (1.0, other),
    };
    let Event::Poisson { rate, event } = event else {
        return Err(unlike(event));
    };
    let (selection, noise) = match event.as_ref() {
        Event::Selected { by, noise, .. } => (Some(by.as_ref()), noise.as_ref()),
        Event::Compose(parts) => match parts.as_slice() {
            [noise] => (None, noise),
            [selection, noise] => (Some(selection), noise),
            _ => return Err(unlike(event)),
        },
        noise => (None, noise),
    };
    let Event::Gaussian { noise_multiplier } = noise else {
        return Err(unlike(noise));
    };
    let theorem = TheoremThree::for_delta(*rate, steps, delta);
    if !(*rate > 0.0 && steps > 0.0 && theorem.step_delta < 1.0) {
        return Err(AccountError::OutOfRange(
            "the theorem needs a rate and steps above zero, and delta below 4 q T".into(),
        ));
    }
    let selection_epsilon = match selection {
        None => 0.0,
        Some(Event::Exponential { epsilon, draws, cap, l2, .. }) => {
            let limited = match (cap, l2) {
                (Some(cap), Some(l2)) => (l2 / (std::f64::consts::SQRT_2 * cap)).min(1.0),
                _ => 1.0,
            };
            let spread = (-2.0 * *draws as f64 * libm::log(theorem.step_delta)).sqrt();
            epsilon / limited * spread
        }
        Some(other) => return Err(unlike(other)),
    };
    Ok(theorem.claim(selection_epsilon, *noise_multiplier))
}

fn unlike(event: &Event) -> AccountError {
    AccountError::Unsupported {
        kind: event.kind().into(),
        reason:
            "Theorem 3 speaks about repeated Poisson batches with a Gaussian, alone or after an \
                 exponential selection"
                .into(),
    }
}
