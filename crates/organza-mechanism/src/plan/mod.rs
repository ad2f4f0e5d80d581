//! The plan: settings that were checked, and all that follows from them.

mod error;
mod numeric_sparse;
mod settings;

pub use error::PlanError;
pub(crate) use error::{count, positive, probability};
pub use numeric_sparse::NumericSparse;
pub use settings::{NoiseSettings, PlanSettings};

use crate::adaptive::Adaptive;
use crate::batch::Sampler;
use crate::candidate_clip::CandidateClip;
use crate::grid::Grid;
use crate::groups::Units;
use crate::noise::Noise;
use crate::random::RandomSource;
use crate::scores::By;
use crate::select::{SelectionSettings, Selector, build};
use crate::shape::Shape;
use organza_ledger::{Event, Neighbouring};
use std::sync::Arc;

/// A checked plan of private steps. The sampler that draws batches, the selector, the noise and the
/// event all come from it, so they cannot disagree. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Plan(Arc<Checked>);

#[derive(Clone, Debug)]
struct Checked {
    settings: PlanSettings,
    shape: Arc<Shape>,
    grid: Grid,
    selector: Arc<dyn Selector>,
    noise: Noise,
    step_event: Event,
    /// How many groups there are, where a step looks at all of one.
    groups: Option<u64>,
    /// A clip that follows a quantile.
    adaptive: Option<Adaptive>,
    /// A clip at each candidate of the selection.
    candidates: Option<CandidateClip>,
}

impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.0.settings == other.0.settings
                && self.0.groups == other.0.groups
                && self.adaptive_clip() == other.adaptive_clip()
                && self.candidate_clip() == other.candidate_clip()
    }
}

/// What one unit can do to the averaged gradient, for the plan's neighbouring relation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sensitivity {
    /// The change of the vector in L2: S1 / b, or twice that for replace-one.
    pub(crate) change: f64,
    /// The change of one candidate; infinite where only that of the whole is bounded.
    pub(crate) of_candidate: f64,
    pub(crate) grid: Grid,
    pub(crate) neighbouring: Neighbouring,
}

impl Sensitivity {
    fn of(settings: &PlanSettings, grid: Grid, candidates: Option<CandidateClip>) -> Self {
        let share = settings.clip / settings.expected_batch;
        let change = match settings.neighbouring {
            Neighbouring::AddRemove => share,
            Neighbouring::ReplaceOne => 2.0 * share,
        };
        let of_candidate = candidates.map_or(f64::INFINITY, |candidates| {
            candidates.change(settings.neighbouring, settings.expected_batch)
        });
        Self { change, of_candidate, grid, neighbouring: settings.neighbouring }
    }
}

impl Plan {
    /// Checks the settings.
    ///
    /// # Errors
    /// Names the setting, why it cannot be, and what would do.
    pub fn new(settings: PlanSettings) -> Result<Self, PlanError> {
        Self::checked(settings, None)
    }

    /// The plan of these settings, with a clip at each candidate.
    pub(crate) fn checked(
        settings: PlanSettings,
        candidates: Option<CandidateClip>,
    ) -> Result<Self, PlanError> {
        if !(settings.rate > 0.0 && settings.rate <= 1.0) {
            return Err(PlanError::new(
                "rate",
                settings.rate,
                "each unit joins a batch with this probability",
                "give a number above 0 and at most 1, such as batch size / number of units",
            ));
        }
        positive("expected_batch", settings.expected_batch)?;
        positive("clip", settings.clip)?;

        let grid = Grid::new(settings.clip, settings.expected_batch);
        let sensitivity = Sensitivity::of(&settings, grid, candidates);
        let selector = build(&settings, sensitivity)?;
        let shape = Arc::new(settings.shape.clone());
        let most = most_selected(selector.as_ref(), &shape);
        let seen = match shape.has_dense() {
            false => sensitivity.of_selected(selector.most(u64::MAX, 1)),
            true => f64::INFINITY,
        };
        let noise = Noise::new(grid, settings.neighbouring, settings.noise, most, seen)?;
        let noise_event = noise.event(selector.as_ref())?;
        if let (true, NoiseSettings::Laplace { epsilon }) = (shape.has_dense(), settings.noise) {
            let reason = "Laplace noise is accounted for on selected values, and dense tables are never selected";
            let noise = format!("Laplace with epsilon {epsilon}");
            return Err(PlanError::new("noise", noise, reason, "use Gaussian noise"));
        }
        let step_event = match shape.has_dense() {
            false => selector.event(noise_event, noise.kept()),
            true => selector.event_beside_dense(noise_event),
        };
        let step_event = step_event.poisson(settings.rate);
        let (selector, groups, adaptive) = (selector.into(), None, None);
        Ok(Self(Arc::new(Checked {
            settings,
            shape,
            grid,
            selector,
            noise,
            step_event,
            groups,
            adaptive,
            candidates,
        })))
    }

    /// The same plan and event, with `noise` on gradients, and what `adaptive` releases beside them.
    pub(crate) fn with_adaptive(&self, adaptive: Adaptive, noise: Noise) -> Self {
        Self(Arc::new(Checked { noise, adaptive: Some(adaptive), ..(*self.0).clone() }))
    }

    /// The same plan for steps that look at one of `groups` fixed groups each, picked uniformly, and at all of its
    /// units.
    ///
    /// # Privacy
    /// The choice may be known: what [`Event::Cluster`] states. Each unit is in one group, whatever the others are: where
    /// units are replaced, blocks of a fixed number stay as they are. One unit more or less would move their borders.
    ///
    /// # Errors
    /// If there is no group, the plan samples units (all of a group join), or it is for units that are added or removed.
    pub fn in_groups(&self, groups: u64) -> Result<Self, PlanError> {
        if groups == 0 {
            let remedy = "give at least one group";
            return Err(PlanError::new("groups", groups, "a step looks at one of them", remedy));
        }
        if self.settings().neighbouring != Neighbouring::ReplaceOne {
            let reason = "one unit more or less would move the borders of groups";
            let relation = self.settings().neighbouring;
            return Err(PlanError::new("neighbouring", relation, reason, "take replace-one"));
        }
        let Event::Poisson { rate: 1.0, event } = self.step_event() else {
            // The batch would be a sample of the group.
            let (rate, remedy) = (self.rate(), "give the rate 1");
            return Err(PlanError::new("rate", rate, "all units of a group join its step", remedy));
        };
        let step_event = Event::Cluster { groups, event: event.clone() };
        Ok(Self(Arc::new(Checked { step_event, groups: Some(groups), ..(*self.0).clone() })))
    }

    /// The plan for some of the rows, which are tables of this shape: with the same grid and noise, whose clips adapt elsewhere. Its
    /// selector and event stay those of all rows.
    pub(crate) fn of_rows(&self, shape: Shape) -> Self {
        let settings = PlanSettings { shape: shape.clone(), ..self.0.settings.clone() };
        let (shape, adaptive) = (Arc::new(shape), None);
        Self(Arc::new(Checked { settings, shape, adaptive, ..(*self.0).clone() }))
    }

    /// The settings, as they were checked.
    pub fn settings(&self) -> &PlanSettings {
        &self.0.settings
    }

    /// What one step releases.
    pub fn step_event(&self) -> &Event {
        &self.0.step_event
    }

    /// A sampler of `units`, whose randomness comes from `source` under the name of `purpose`: all
    /// samplers of one purpose and source share it, so a step that one has drawn is refused by the others.
    /// The number of units is private unless it was declared public; batches do not show it.
    pub fn sampler(
        &self,
        purpose: &str,
        units: impl Into<Units>,
        source: &RandomSource,
    ) -> Sampler {
        Sampler::new(self.clone(), purpose, units.into(), source)
    }

    /// How many groups there are, where a step looks at all of one.
    pub fn groups(&self) -> Option<u64> {
        self.0.groups
    }

    /// The standard deviation (the scale, for Laplace noise) of the noise on the averaged gradient.
    pub fn noise_deviation(&self) -> f64 {
        self.0.noise.deviation()
    }

    /// The most coordinates that a step can select.
    pub fn most_selected(&self) -> u64 {
        most_selected(self.selector(), &self.0.shape)
    }

    pub(crate) fn rate(&self) -> f64 {
        self.0.settings.rate
    }

    pub(crate) fn shared_shape(&self) -> Arc<Shape> {
        self.0.shape.clone()
    }

    pub(crate) fn grid(&self) -> &Grid {
        &self.0.grid
    }

    pub(crate) fn adaptive(&self) -> Option<&Adaptive> {
        self.0.adaptive.as_ref()
    }

    pub(crate) fn clips_candidates(&self) -> Option<CandidateClip> {
        self.0.candidates
    }

    pub(crate) fn selects_everything(&self) -> bool {
        self.0.settings.selection == SelectionSettings::Everything
    }

    pub(crate) fn selector(&self) -> &dyn Selector {
        self.0.selector.as_ref()
    }

    pub(crate) fn noise(&self) -> &Noise {
        &self.0.noise
    }

    pub(crate) fn rows_per_unit(&self) -> usize {
        self.0.selector.rows_per_unit()
    }
}

/// The most coordinates that get noise in a step that selects: those that a selection can hold, and dense ones.
fn most_selected(selector: &dyn Selector, shape: &Shape) -> u64 {
    let dense = shape.dense(By::Coordinate);
    let selected = selector.most(shape.coordinates(), shape.widest());
    selected.saturating_add(dense.end - dense.start).min(shape.coordinates())
}
