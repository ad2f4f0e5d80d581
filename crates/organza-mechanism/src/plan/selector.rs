//! From settings of a selection to a selector, its scales and its event.

use super::{
    PlanError, PlanSettings, SelectionSettings, Sensitivity, count, positive, probability,
};
use crate::scores::By;
use crate::select::{
    Everything, Exponential, LimitedDomain, NoisyMax, Selector, SparseVector, Uniform,
};
use crate::shape::Shape;
use organza_ledger::{Event, MaxNoise, Neighbouring};

impl Sensitivity {
    /// How far one score moves at the most: min(S0, C).
    pub(crate) fn of_score(&self, cap: Option<f64>) -> f64 {
        cap.unwrap_or(f64::INFINITY).min(self.change)
    }

    /// The range of the change of scores: min(2 S0, sqrt2 C).
    pub(crate) fn range(&self, cap: Option<f64>) -> f64 {
        (2.0 * cap.unwrap_or(f64::INFINITY)).min(std::f64::consts::SQRT_2 * self.change)
    }
}

pub(crate) fn build(
    settings: &PlanSettings,
    sensitivity: Sensitivity,
) -> Result<Box<dyn Selector>, PlanError> {
    let shape = &settings.shape;
    let grid = sensitivity.grid;
    Ok(match settings.selection {
        SelectionSettings::Everything => Box::new(Everything),
        SelectionSettings::Exponential { by, draws, epsilon, cap } => {
            let draws = draws_of(draws, by, shape)?;
            positive("selection epsilon", epsilon)?;
            positive("cap", cap)?;
            let weight = epsilon / sensitivity.range(Some(cap));
            Box::new(Exponential {
                by,
                draws,
                weight: weight * grid.step(),
                cap: grid.steps(cap),
                epsilon,
                candidates: candidates(by, shape),
                largest: cap,
                change: sensitivity.change,
            })
        }
        SelectionSettings::SparseVector {
            by,
            hits,
            threshold,
            threshold_epsilon,
            query_epsilon,
            cap,
        } => {
            let hits = count("hits", hits, candidates(by, shape), "candidates")?;
            positive("threshold_epsilon", threshold_epsilon)?;
            positive("query_epsilon", query_epsilon)?;
            check_cap(cap)?;
            if !threshold.is_finite() {
                let reason = "the threshold on scores must be a number";
                return Err(PlanError::new("threshold", threshold, reason, "give a finite one"));
            }
            let score = grid.steps(sensitivity.of_score(cap));
            Box::new(SparseVector {
                by,
                hits,
                cap: cap.map_or(f64::INFINITY, |cap| grid.steps(cap)),
                threshold: grid.steps(threshold),
                threshold_scale: score / threshold_epsilon,
                query_scale: 2.0 * score / query_epsilon,
                threshold_epsilon,
                query_epsilon,
            })
        }
        SelectionSettings::NoisyMax { by, draws, epsilon, noise, cap } => {
            let draws = draws_of(draws, by, shape)?;
            positive("selection epsilon", epsilon)?;
            check_cap(cap)?;
            let range = match noise {
                MaxNoise::Gumbel => sensitivity.range(cap),
                MaxNoise::Laplace | MaxNoise::Exponential => 2.0 * sensitivity.of_score(cap),
            };
            Box::new(NoisyMax {
                by,
                draws,
                noise,
                cap: cap.map_or(f64::INFINITY, |cap| grid.steps(cap)),
                scale: grid.steps(range / epsilon),
                event: Event::NoisyMax { epsilon, draws, noise },
            })
        }
        SelectionSettings::LimitedDomain { draws, domain, rows_per_unit, epsilon, delta } => {
            if sensitivity.neighbouring == Neighbouring::ReplaceOne {
                return Err(PlanError::new(
                    "neighbouring",
                    sensitivity.neighbouring,
                    "limited-domain selection needs counts that move in one direction",
                    "use add-remove, or another selection",
                ));
            }
            let domain = count("domain", domain, shape.rows(), "rows")?;
            let draws = count("draws", draws, domain, "rows in the domain")?;
            let rows_per_unit = count("rows_per_unit", rows_per_unit, shape.rows(), "rows")?;
            positive("selection epsilon", epsilon)?;
            probability("selection delta", delta)?;
            let rows_per_unit = rows_per_unit as usize;
            Box::new(LimitedDomain { draws, domain, rows_per_unit, epsilon, delta })
        }
        SelectionSettings::Uniform { by, draws } => {
            let draws = draws_of(draws, by, shape)?;
            let share = draws as f64 / candidates(by, shape) as f64;
            Box::new(Uniform { by, draws, share })
        }
    })
}

fn candidates(by: By, shape: &Shape) -> u64 {
    match by {
        By::Coordinate => shape.coordinates(),
        By::Row => shape.rows(),
    }
}

fn draws_of(draws: u64, by: By, shape: &Shape) -> Result<u64, PlanError> {
    let of_what = match by {
        By::Coordinate => "coordinates",
        By::Row => "rows",
    };
    count("draws", draws, candidates(by, shape), of_what)
}

fn check_cap(cap: Option<f64>) -> Result<(), PlanError> {
    cap.map_or(Ok(()), |cap| positive("cap", cap).map(drop))
}
