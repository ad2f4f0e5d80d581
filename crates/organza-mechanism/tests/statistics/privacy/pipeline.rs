//! The real pipeline as a mechanism: units in, what is released out.

use organza_ledger::testing::paid;
use organza_ledger::{Charged, Neighbouring};
use organza_mechanism::{
    By, Choice, NoiseSettings, Plan, PlanSettings, RandomSource, Selected, SelectionSettings, Shape,
};

/// The gradient of one unit: a value for each coordinate, from the first on. The model is one table
/// of dimension 1, so that rows and coordinates are the same. Zeros are not written.
pub(crate) type Unit = Vec<f32>;

/// What one step releases.
#[derive(Debug)]
pub(crate) struct Released {
    pub(crate) selected: Vec<u64>,
    /// The noised value of each selected coordinate; of each coordinate, without selection.
    pub(crate) values: Vec<f32>,
}

/// Steps of one plan with seeded randomness, in any order and as often as a test asks: each from a source of its
/// own, since one source draws a step once.
pub(crate) struct Pipeline {
    plan: Plan,
    seed: u64,
    paid: Charged,
}

/// The plan that the tests vary: clip 1, no division, every unit in the batch.
pub(crate) fn settings(
    coordinates: u64,
    selection: SelectionSettings,
    noise: NoiseSettings,
) -> PlanSettings {
    PlanSettings {
        shape: Shape::table(coordinates, 1).expect("a good shape"),
        neighbouring: Neighbouring::AddRemove,
        rate: 1.0,
        expected_batch: 1.0,
        clip: 1.0,
        selection,
        noise,
    }
}

/// Gaussian noise without a second clip.
pub(crate) fn gaussian(multiplier: f64) -> NoiseSettings {
    NoiseSettings::Gaussian { multiplier, second_clip: None }
}

impl Pipeline {
    pub(crate) fn new(seed: u64, settings: PlanSettings) -> Self {
        Self::of(seed, Plan::new(settings).expect("a good plan"))
    }

    /// Units that add at most `clip` to each candidate.
    pub(crate) fn clipping_candidates(seed: u64, settings: PlanSettings, clip: f64) -> Self {
        let plan = Plan::new(settings).expect("a good plan");
        Self::of(seed, plan.clipping_candidates(clip).expect("a good clip"))
    }

    fn of(seed: u64, plan: Plan) -> Self {
        let sampler = plan.sampler("training", 0, &RandomSource::from_seed(seed));
        let paid = paid(sampler.charge(0..1 << 40));
        Self { plan, seed, paid }
    }

    /// One step on all of `units`.
    pub(crate) fn step(&self, units: &[Unit], step: u64) -> Released {
        let selected = self.selected(units, step);
        let indices = indices(&selected);
        let mut values = Vec::new();
        selected.noise().visit(|_, run| values.extend_from_slice(run));
        Released { selected: indices, values }
    }

    /// One step without its noise, where the selection alone is audited.
    pub(crate) fn select(&self, units: &[Unit], step: u64) -> Vec<u64> {
        indices(&self.selected(units, step))
    }

    fn selected(&self, units: &[Unit], step: u64) -> Selected {
        let source = RandomSource::from_seed(self.seed);
        let sampler = self.plan.sampler("training", units.len() as u64, &source);
        let sum = sampler.batch(step, &self.paid).expect("paid").sum(|unit, gradient| {
            for (row, value) in units[unit as usize].iter().enumerate() {
                if *value != 0.0 {
                    gradient.row(row as u32).expect("inside the shape")[0] += *value;
                }
            }
        });
        sum.select()
    }
}

fn indices(selected: &Selected) -> Vec<u64> {
    match selected.selection() {
        Choice::All => Vec::new(),
        Choice::Some { indices, .. } => indices.clone(),
    }
}

/// The neighbours on which selection leaks most: one score rises by `cap` from zero while all others
/// fall by `cap` to zero, when the last unit joins. Its norm is `cap` sqrt(`coordinates`), which must be
/// below the clip; the rising one stands last, where sparse vector passes all others first.
pub(crate) fn opposite_scores(coordinates: usize, cap: f32) -> [Vec<Unit>; 2] {
    let mut others = vec![cap; coordinates];
    others[coordinates - 1] = 0.0;
    let mut joining = vec![-cap; coordinates];
    joining[coordinates - 1] = cap;
    [vec![others.clone(), joining], vec![others]]
}

/// Which bin of width `width` a value lies in; the far tails share one.
pub(crate) fn bin(value: f64, width: f64) -> i64 {
    (value / width).floor().clamp(-1_000.0, 1_000.0) as i64
}

/// By coordinate: what all of these tests select by.
pub(crate) const BY: By = By::Coordinate;
