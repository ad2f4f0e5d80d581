//! A clip on what one unit contributes to each candidate of a selection.

use crate::gradient::UnitGradient;
use crate::plan::{NoiseSettings, Plan, PlanError, positive};
use crate::scores::By;
use organza_ledger::Neighbouring;
use serde::{Deserialize, Serialize};

/// Smaller clips than this would come too near to the least floats.
const LEAST: f64 = 1e-30;
/// What a clip is shrunk by, to cover the rounding of floats.
const MARGIN: f64 = 1.0 / (1 << 20) as f64;

/// The clip of a unit's gradient at each candidate: S, for its size in a coordinate, or for the norm of a row.
///
/// # Privacy
/// It comes before the clip of the whole gradient, S1, which only shrinks: both bounds hold for what a unit adds to the sum.
/// With b the expected batch and k the number of candidates that a step selects, at the most, a unit that comes or goes moves
///
/// ```text
/// one score                              by at most s = min(S1, S) / b and by no more than the cap,
/// the difference of two changes          by at most 2 s, beside sqrt2 S1 / b and twice the cap,
/// what a fixed selection sees of the sum by at most min(S1, sqrt(k) S) / b in L2,
/// ```
///
/// and one that is replaced by twice that. The first two hold because a score is 1-Lipschitz in what it scores, the
/// third because squares of at most S^2 are added up. Scores and the noise of a selection are therefore relative to these bounds:
/// a unit whose gradient spreads over many more candidates than are selected is hidden by less noise. Scores of
/// [limited-domain](crate::SelectionRule::LimitedDomain) selection are counts, which it leaves as they are. A joint
/// account of selection and noise takes the weight of a score from the cap and S1; where S is what bounds the range of a draw, the
/// event states the bounded range alone.
///
/// # Proof for floats
/// A clipped value is at most S (1 - 2^-20) as a float, so at most S (1 - 2^-21). A row that is longer is scaled in
/// double precision to the norm S (1 - 2^-20), with errors of 2^-52 for each value and n 2^-52 for the norm of n, and
/// rounding to floats makes it longer by at most 2^-24 of that and sqrt(n) 2^-150: no more than S altogether for n up to 2^28. The factor
/// that takes it to the grid is at most 2^30 / S1, and truncation only shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CandidateClip {
    by: By,
    /// S.
    pub(crate) clip: f64,
    /// S, less the margin.
    most: f32,
}

impl CandidateClip {
    /// Clips the rows that a selection chooses among. What is not a number stays, and makes the whole gradient count as zero.
    pub(crate) fn apply(&self, gradient: &mut UnitGradient) {
        let most = self.most;
        gradient.change_selectable(|values| match self.by {
            By::Coordinate => {
                for value in values.iter_mut().filter(|value| value.is_finite()) {
                    *value = value.clamp(-most, most);
                }
            }
            By::Row => {
                let squares = values.iter().map(|value| f64::from(*value) * f64::from(*value));
                let norm = squares.sum::<f64>().sqrt();
                if norm.is_finite() && norm > f64::from(most) {
                    let factor = f64::from(most) / norm;
                    for value in values {
                        *value = (f64::from(*value) * factor) as f32;
                    }
                }
            }
        });
    }

    /// How far a unit moves one candidate of the averaged gradient.
    pub(crate) fn change(&self, neighbouring: Neighbouring, expected_batch: f64) -> f64 {
        let units = match neighbouring {
            Neighbouring::AddRemove => 1.0,
            Neighbouring::ReplaceOne => 2.0,
        };
        units * self.clip / expected_batch
    }
}

impl Plan {
    /// The clip of a unit's gradient at each candidate, if there is one.
    pub fn candidate_clip(&self) -> Option<f64> {
        self.clips_candidates().map(|candidates| candidates.clip)
    }

    /// The same plan with units that add at most `clip` to each candidate of the selection, a coordinate or a row: scores and
    /// noise that need less to hide a unit whose gradient spreads over many.
    ///
    /// Dense tables are not candidates and are not clipped by it; beside them the noise stays as it is.
    ///
    /// # Errors
    /// If the clip makes no sense, the plan does not select, its noise is not Gaussian, or it visits groups.
    pub fn clipping_candidates(&self, clip: f64) -> Result<Self, PlanError> {
        const SETTING: &str = "candidate clip";
        positive(SETTING, clip)?;
        if clip < LEAST {
            let remedy = "give a number of at least 1e-30";
            return Err(PlanError::new(SETTING, clip, "floats have no room below it", remedy));
        }
        let Some(by) = self.selector().by() else {
            let reason = "noise on everything hides the whole gradient, however it is spread";
            return Err(PlanError::new(SETTING, clip, reason, "give none, or use a selection"));
        };
        let is_gaussian = matches!(self.settings().noise, NoiseSettings::Gaussian { .. });
        if !is_gaussian || self.groups().is_some() {
            let reason = "it is accounted for with Gaussian noise on Poisson batches only";
            return Err(PlanError::new(SETTING, clip, reason, "give none"));
        }
        let most = (clip * (1.0 - MARGIN)) as f32;
        Self::checked(self.settings().clone(), Some(CandidateClip { by, clip, most }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlanSettings, SelectionSettings, Shape};
    use organza_ledger::Event;

    fn plan(selection: SelectionSettings, noise: NoiseSettings) -> Plan {
        let settings = PlanSettings {
            shape: Shape::table(1_000, 3).expect("a good shape"),
            neighbouring: Neighbouring::AddRemove,
            rate: 0.1,
            expected_batch: 10.0,
            clip: 1.0,
            selection,
            noise,
        };
        Plan::new(settings).expect("a good plan")
    }

    const NOISE: NoiseSettings = NoiseSettings::Gaussian { multiplier: 2.0, second_clip: None };

    /// A joint account would take too small a weight from the cap and the clip of the whole.
    #[test]
    fn draws_that_it_bounds_are_charged_by_their_range_alone() {
        let (by, epsilon, cap) = (By::Coordinate, 0.5, 1e3);
        let whole = plan(SelectionSettings::Exponential { by, draws: 4, epsilon, cap }, NOISE);
        let noise = Event::Gaussian { noise_multiplier: 2.0 };
        let (candidates, l2) = (None, None);
        let draws = Event::Exponential { epsilon, draws: 4, candidates, cap: None, l2 };
        let clipped = whole.clipping_candidates(0.25).expect("a good clip");
        let alone = Event::Compose(vec![draws, noise]).poisson(0.1);
        assert_eq!(clipped.step_event(), &alone);
        let ratio = clipped.noise_deviation() / whole.noise_deviation();
        assert!((ratio - 0.5).abs() < 1e-12, "{ratio}");
        // A clip that bounds nothing changes nothing.
        let loose = whole.clipping_candidates(0.8).expect("a good clip");
        assert_eq!(loose.step_event(), whole.step_event());
        assert_eq!(loose.noise_deviation(), whole.noise_deviation());
        assert_eq!((loose.candidate_clip(), whole.candidate_clip()), (Some(0.8), None));
    }

    #[test]
    fn it_is_refused_where_nothing_is_selected_or_it_makes_no_sense() {
        let refused = |plan: &Plan, clip| plan.clipping_candidates(clip).is_err();
        assert!(refused(&plan(SelectionSettings::Everything, NOISE), 0.1));
        let uniform = SelectionSettings::Uniform { by: By::Row, draws: 5 };
        let uniform = plan(uniform, NOISE);
        for clip in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-40] {
            assert!(refused(&uniform, clip), "{clip}");
        }
        assert!(!refused(&uniform, 0.1));
        let (threshold_epsilon, query_epsilon) = (1.0, 1.0);
        let numeric = SelectionSettings::SparseVector {
            by: By::Coordinate,
            hits: 3,
            threshold: 0.1,
            threshold_epsilon,
            query_epsilon,
            cap: None,
            order: crate::PassOrder::FromFirst,
        };
        assert!(refused(&plan(numeric, NoiseSettings::Laplace { epsilon: 1.0 }), 0.1));
    }
}
