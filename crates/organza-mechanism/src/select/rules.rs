//! The rules of selection: all that is known of each, beside its mechanism, which has a file of its own.

mod exponential;
mod limited_domain;
mod noisy_max;
mod sparse_vector;
mod uniform;

use self::exponential::Exponential;
use self::limited_domain::LimitedDomain;
use self::noisy_max::NoisyMax;
pub use self::sparse_vector::PassOrder;
use self::sparse_vector::SparseVector;
use self::uniform::Uniform;
use super::{Everything, Selection, Selector, Workspace, most_of};
use crate::plan::{PlanError, PlanSettings, Sensitivity, count, positive, probability};
use crate::scores::By;
use crate::shape::Shape;
use organza_ledger::{Event, MaxNoise, Neighbouring};
use serde::{Deserialize, Serialize};

/// The delta of one limited-domain selection that a [`Selection`] asks for.
const LIMITED_DOMAIN_DELTA: f64 = 1e-10;
/// The rows of a unit that count in it, at the most.
const LIMITED_DOMAIN_ROWS: u64 = 32;

/// The rules by which a [`Selection`] can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelectionRule {
    /// The exponential mechanism.
    Exponential,
    /// The sparse vector technique.
    SparseVector,
    /// Report noisy max with Laplace noise.
    NoisyMax,
    /// The limited-domain top-k, by row.
    LimitedDomain,
    /// A uniform mask.
    Uniform,
}

impl SelectionRule {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Exponential, Self::SparseVector, Self::NoisyMax, Self::LimitedDomain, Self::Uniform];

    /// Its name, in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exponential => "exponential",
            Self::SparseVector => "sparse-vector",
            Self::NoisyMax => "noisy-max",
            Self::LimitedDomain => "limited-domain",
            Self::Uniform => "uniform",
        }
    }

    /// The epsilon of a draw that costs about as much as Gaussian noise of multiplier 1: a draw of bounded range e
    /// counts e^2 / 4, one of pure differential privacy e^2. None where draws cost nothing.
    pub(super) fn unit_draw(self) -> Option<f64> {
        match self {
            Self::Exponential | Self::LimitedDomain => Some(2.0),
            Self::SparseVector | Self::NoisyMax => Some(1.0),
            Self::Uniform => None,
        }
    }

    /// What it selects, where not everything can be selected by it.
    pub(super) fn only_by(self) -> Option<By> {
        (self == Self::LimitedDomain).then_some(By::Row)
    }

    /// The exact settings of `draws` draws of this epsilon.
    pub(super) fn settings(
        self,
        asked: &Selection,
        shape: &Shape,
        draws: u64,
        epsilon: f64,
    ) -> SelectionSettings {
        let (by, largest) = (asked.by, asked.cap);
        let cap = largest.is_finite().then_some(largest);
        match self {
            Self::Exponential => {
                SelectionSettings::Exponential { by, draws, epsilon, cap: largest }
            }
            Self::SparseVector => SelectionSettings::SparseVector {
                by,
                hits: draws,
                order: PassOrder::FromFirst,
                threshold: asked.threshold,
                threshold_epsilon: epsilon / 2.0,
                query_epsilon: epsilon / 2.0,
                cap,
            },
            Self::NoisyMax => {
                let noise = MaxNoise::Laplace;
                SelectionSettings::NoisyMax { by, draws, epsilon, noise, cap }
            }
            Self::LimitedDomain => SelectionSettings::LimitedDomain {
                draws,
                domain: draws.saturating_mul(10).min(shape.candidates(By::Row)),
                rows_per_unit: LIMITED_DOMAIN_ROWS.min(shape.candidates(By::Row)),
                epsilon,
                delta: LIMITED_DOMAIN_DELTA,
            },
            Self::Uniform => SelectionSettings::Uniform { by, draws },
        }
    }
}

impl std::fmt::Display for SelectionRule {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The exact settings of a selection, as a plan takes them. Scores, caps and thresholds are in the units of the averaged
/// gradient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SelectionSettings {
    /// Not at all: dense noise, as in DP-SGD.
    Everything,
    /// The exponential mechanism without replacement (the paper's Algorithm 4).
    Exponential {
        /// Coordinates or rows.
        by: By,
        /// The exact number selected: floor(gamma p).
        draws: u64,
        /// The bounded range of one draw (eta).
        epsilon: f64,
        /// The cap on scores (S0).
        cap: f64,
    },
    /// The sparse vector technique with a refreshed threshold.
    SparseVector {
        /// Coordinates or rows.
        by: By,
        /// The number of hits after which it stops.
        hits: u64,
        /// Where a pass begins.
        order: PassOrder,
        /// The threshold on scores.
        threshold: f64,
        /// Sensitivity over the scale of the threshold's noise.
        threshold_epsilon: f64,
        /// Twice the sensitivity over the scale of a query's noise.
        query_epsilon: f64,
        /// The cap on scores (S0), if any.
        cap: Option<f64>,
    },
    /// Report noisy max, several times with fresh noise.
    NoisyMax {
        /// Coordinates or rows.
        by: By,
        /// The exact number selected.
        draws: u64,
        /// The guarantee of one draw.
        epsilon: f64,
        /// The noise on scores.
        noise: MaxNoise,
        /// The cap on scores (S0), if any.
        cap: Option<f64>,
    },
    /// The limited-domain top-k of Durfee and Rogers, on the number of units that touch a row.
    LimitedDomain {
        /// The largest number of rows selected.
        draws: u64,
        /// How many rows of the largest counts are considered.
        domain: u64,
        /// In how many rows a unit counts.
        rows_per_unit: u64,
        /// The bounded range of one draw.
        epsilon: f64,
        /// The probability that a row outside the common domain shows.
        delta: f64,
    },
    /// A uniform mask.
    Uniform {
        /// Coordinates or rows.
        by: By,
        /// The exact number selected.
        draws: u64,
    },
}

impl Sensitivity {
    /// How far one score moves at the most: min(S0, C), and no more than a candidate does.
    pub(crate) fn of_score(&self, cap: Option<f64>) -> f64 {
        cap.unwrap_or(f64::INFINITY).min(self.change).min(self.of_candidate)
    }

    /// The range of the change of scores: min(2 S0, sqrt2 C), and no more than twice what a candidate changes.
    pub(crate) fn range(&self, cap: Option<f64>) -> f64 {
        self.range_of_whole(cap).min(2.0 * self.of_candidate)
    }

    /// Whether the clip at each candidate is what bounds that range.
    fn is_by_candidate(&self, cap: Option<f64>) -> bool {
        2.0 * self.of_candidate < self.range_of_whole(cap)
    }

    fn range_of_whole(&self, cap: Option<f64>) -> f64 {
        (2.0 * cap.unwrap_or(f64::INFINITY)).min(std::f64::consts::SQRT_2 * self.change)
    }

    /// How far the sum moves at `count` candidates, in grid steps; infinite where only the whole is bounded.
    pub(crate) fn of_selected(&self, count: u64) -> f64 {
        self.grid.steps((count as f64).sqrt() * self.of_candidate)
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
                candidates: shape.candidates(by),
                largest: cap,
                change: sensitivity.change,
                is_by_candidate: sensitivity.is_by_candidate(Some(cap)),
            })
        }
        SelectionSettings::SparseVector {
            by,
            hits,
            order,
            threshold,
            threshold_epsilon,
            query_epsilon,
            cap,
        } => {
            let hits = count("hits", hits, shape.candidates(by), "candidates")?;
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
                order,
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
            let rows = shape.candidates(By::Row);
            let domain = count("domain", domain, rows, "rows")?;
            let draws = count("draws", draws, domain, "rows in the domain")?;
            let rows_per_unit = count("rows_per_unit", rows_per_unit, rows, "rows")?;
            positive("selection epsilon", epsilon)?;
            probability("selection delta", delta)?;
            let rows_per_unit = rows_per_unit as usize;
            Box::new(LimitedDomain { draws, domain, rows_per_unit, epsilon, delta })
        }
        SelectionSettings::Uniform { by, draws } => {
            let draws = draws_of(draws, by, shape)?;
            let share = draws as f64 / shape.candidates(by) as f64;
            Box::new(Uniform { by, draws, share })
        }
    })
}

fn draws_of(draws: u64, by: By, shape: &Shape) -> Result<u64, PlanError> {
    let of_what = match by {
        By::Coordinate => "coordinates",
        By::Row => "rows",
    };
    count("draws", draws, shape.candidates(by), of_what)
}

fn check_cap(cap: Option<f64>) -> Result<(), PlanError> {
    cap.map_or(Ok(()), |cap| positive("cap", cap).map(drop))
}
