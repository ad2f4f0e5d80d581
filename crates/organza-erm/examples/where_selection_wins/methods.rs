//! The methods that are compared, with the settings that each of them tries, and runs of them.

use crate::people::{Learner, People, Size};
use organza_ledger::Unit;
use organza_mechanism::{By, SelectionRule};
use organza_train::settings::{EngineSettings, Steps};
use organza_train::{OptimizerSettings, Session};
use std::error::Error;
use std::sync::Arc;

pub(crate) const DELTA: f64 = 1e-6;
/// A cap that bounds nothing, in clips of a unit.
const NO_CAP: f64 = 1e6;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Method {
    /// Noise on every coordinate.
    DpSgd,
    /// The same, and then what its noise explains is taken off the released table, which is free.
    Shrunk,
    /// Private selection, where units are clipped as a whole, as in the paper, or at each candidate as well.
    Selected { rule: SelectionRule, by: By, clips_candidates: bool },
}

impl Method {
    pub(crate) fn selected(rule: SelectionRule, clips_candidates: bool) -> Self {
        Self::Selected { rule, by: By::Coordinate, clips_candidates }
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::DpSgd => "DP-SGD".to_owned(),
            Self::Shrunk => "DP-SGD, shrunk".to_owned(),
            Self::Selected { rule, clips_candidates: false, .. } => rule.name().to_owned(),
            Self::Selected { rule, .. } => format!("{rule}, each clipped"),
        }
    }
}

/// One of the settings that a method tries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// The part of the people in a step.
    part: f64,
    steps: u64,
    rate: f32,
    /// Of Adam, instead of plain gradient descent.
    adam: bool,
    /// How many candidates are selected: a number, or a part of all.
    draws: f64,
    /// How many rows are kept of a released table, by their noisy norms; without it Stein's estimate decides.
    kept: Option<usize>,
    /// The share of the budget for selection.
    share: f64,
    /// The cap on scores in clips of a unit; for the sparse vector technique the threshold on the averaged gradient.
    level: f64,
}

const fn setting(part: f64, steps: u64, rate: f32) -> Setting {
    Setting { part, steps, rate, adam: false, kept: None, draws: 1.0, share: 0.5, level: NO_CAP }
}

const fn chosen(part: f64, steps: u64, rate: f32, draws: f64, share: f64, level: f64) -> Setting {
    Setting { draws, share, level, ..setting(part, steps, rate) }
}

/// Six settings for each method. One step on everybody has no learning rate: areas do not know the scale of a model.
const DENSE: [Setting; 6] = [
    setting(1.0, 1, 1.0),
    setting(1.0, 4, 0.1),
    setting(1.0, 4, 1.0),
    setting(0.1, 40, 0.03),
    setting(0.1, 40, 0.3),
    Setting { adam: true, ..setting(0.1, 40, 0.01) },
];
const AFTERWARDS: [Setting; 6] = [
    setting(1.0, 1, 1.0),
    Setting { kept: Some(20), ..setting(1.0, 1, 1.0) },
    Setting { kept: Some(40), ..setting(1.0, 1, 1.0) },
    setting(1.0, 4, 0.1),
    Setting { kept: Some(40), ..setting(1.0, 4, 0.1) },
    setting(0.1, 40, 0.03),
];
const BY_SCORE: [Setting; 6] = [
    chosen(1.0, 1, 1.0, 20.0, 0.5, NO_CAP),
    chosen(1.0, 1, 1.0, 20.0, 0.8, NO_CAP),
    chosen(1.0, 1, 1.0, 40.0, 0.5, NO_CAP),
    chosen(1.0, 4, 3.0, 10.0, 0.5, NO_CAP),
    // Nearly DP-SGD.
    chosen(1.0, 4, 0.3, 0.5, 0.1, NO_CAP),
    // As in the paper: small batches, scores that a record or two saturate, a weak selection of many.
    chosen(0.02, 100, 0.3, 0.1, 0.1, 2.0),
];
/// For rules that look at all touched rows for each of their draws, or at counts.
const FEW: [Setting; 6] = [
    chosen(1.0, 1, 1.0, 10.0, 0.5, NO_CAP),
    chosen(1.0, 1, 1.0, 20.0, 0.3, NO_CAP),
    chosen(1.0, 1, 1.0, 20.0, 0.5, NO_CAP),
    chosen(1.0, 1, 1.0, 20.0, 0.8, NO_CAP),
    chosen(1.0, 1, 1.0, 40.0, 0.5, NO_CAP),
    chosen(1.0, 4, 3.0, 10.0, 0.5, NO_CAP),
];
const BY_THRESHOLD: [Setting; 6] = [
    chosen(1.0, 1, 1.0, 20.0, 0.5, 0.005),
    chosen(1.0, 1, 1.0, 20.0, 0.5, 0.01),
    chosen(1.0, 1, 1.0, 20.0, 0.8, 0.005),
    chosen(1.0, 1, 1.0, 20.0, 0.8, 0.01),
    chosen(1.0, 1, 1.0, 20.0, 0.8, 0.02),
    chosen(1.0, 1, 1.0, 40.0, 0.8, 0.01),
];
const BY_CHANCE: [Setting; 6] = [
    chosen(1.0, 1, 1.0, 0.5, 0.5, NO_CAP),
    chosen(1.0, 1, 1.0, 0.1, 0.5, NO_CAP),
    chosen(1.0, 4, 0.3, 0.5, 0.5, NO_CAP),
    chosen(1.0, 4, 0.3, 0.1, 0.5, NO_CAP),
    chosen(0.1, 40, 0.3, 0.1, 0.5, NO_CAP),
    chosen(0.02, 100, 0.3, 0.1, 0.5, NO_CAP),
];

impl Method {
    pub(crate) fn settings(self) -> &'static [Setting] {
        match self {
            Self::DpSgd => &DENSE,
            Self::Shrunk => &AFTERWARDS,
            Self::Selected { rule: SelectionRule::SparseVector, .. } => &BY_THRESHOLD,
            Self::Selected { rule: SelectionRule::Uniform, .. } => &BY_CHANCE,
            Self::Selected { rule: SelectionRule::Exponential, .. } => &BY_SCORE,
            Self::Selected { .. } => &FEW,
        }
    }

    /// The area under the curve, on people to test on, of a run on `people`.
    pub(crate) fn run(
        self,
        people: &Arc<People>,
        size: Size,
        epsilon: f64,
        setting: &Setting,
        seed: u64,
    ) -> Result<f64, Box<dyn Error>> {
        let mut settings = EngineSettings::new("people", Unit::User, epsilon, DELTA);
        settings.units_are_public = true;
        settings.seed = Some(seed);
        let batch = setting.part * people.number() as f64;
        let training = &mut settings.training;
        (training.batch, training.steps, training.clip) = (batch, Some(setting.steps), size.norm());
        training.optimizer = OptimizerSettings::Sgd { learning_rate: setting.rate };
        if setting.adam {
            training.optimizer = OptimizerSettings::adam(setting.rate);
        }
        (training.evaluations, training.checkpoints) = (1, 1);
        if let Self::Selected { rule, by, clips_candidates } = self {
            settings.steps = Some(Steps::Selected);
            let (dimensions, all) = match by {
                By::Row => (1, size.rows),
                By::Coordinate => (size.dimensions, size.rows * size.dimensions),
            };
            // What a person's gradient has in a row at the start, and about that in each number of it.
            let each = 0.5 / (dimensions as f64).sqrt();
            settings.training.candidate_clip = clips_candidates.then_some(each);
            let of = if setting.draws < 1.0 { all } else { dimensions };
            let selection = &mut settings.selection;
            (selection.rule, selection.by, selection.share) = (rule, by, setting.share);
            selection.draws = Some((setting.draws * of as f64).round() as u64);
            let by_threshold = rule == SelectionRule::SparseVector;
            let cap = if by_threshold { NO_CAP } else { setting.level };
            (selection.cap, selection.threshold) = (cap * size.norm() / batch, setting.level);
        }
        let run = Session::<Learner>::fit(settings, people.clone())?;
        let mut table = run.model;
        if self == Self::Shrunk {
            let events = serde_json::to_value(&run.certificate.events)?;
            let multiplier = noise_multiplier(&events).ok_or("no event is of Gaussian noise")?;
            let each = multiplier * size.norm() / batch;
            let steps = f64::from(setting.rate) * (setting.steps as f64).sqrt();
            shrink(&mut table, size.dimensions as usize, each * steps, setting.kept);
        }
        Ok(people.area(&table))
    }
}

/// The multiplier of the first Gaussian noise among events.
fn noise_multiplier(events: &serde_json::Value) -> Option<f64> {
    match events {
        serde_json::Value::Array(all) => all.iter().find_map(noise_multiplier),
        serde_json::Value::Object(fields) => {
            let own = fields.get("noise_multiplier").and_then(serde_json::Value::as_f64);
            own.or_else(|| fields.values().find_map(noise_multiplier))
        }
        _ => None,
    }
}

/// Leaves the longest rows, `kept` of them, and makes all others zero. Without such a number it takes the norm t off each row, or
/// all of it where it is shorter: for the t of the least risk by Stein's estimate, which with d numbers a row and the known deviation s of their noise is
///
/// ```text
/// sum over rows of |w|^2 - d s^2 where |w| <= t, and of d s^2 + t^2 - 2 s^2 t (d - 1) / |w| elsewhere.
/// ```
///
/// # Privacy
/// It sees the released table and public numbers alone.
fn shrink(table: &mut [f32], dimensions: usize, deviation: f64, kept: Option<usize>) {
    let variance = deviation * deviation;
    let whole = dimensions as f64 * variance;
    let norm = |row: &[f32]| row.iter().map(|it| f64::from(*it).powi(2)).sum::<f64>().sqrt();
    let mut norms: Vec<f64> = table.chunks(dimensions).map(norm).collect();
    norms.sort_unstable_by(f64::total_cmp);
    if let Some(kept) = kept {
        let least = norms[norms.len().saturating_sub(kept)];
        let others = table.chunks_mut(dimensions).filter(|row| norm(row) < least);
        others.for_each(|row| row.fill(0.0));
        return;
    }
    let risk = |t: f64| -> f64 {
        let below = norms.partition_point(|norm| *norm <= t);
        let (within, beyond) = norms.split_at(below);
        let shrunk =
            |norm: &f64| whole + t * t - 2.0 * variance * t * (dimensions as f64 - 1.0) / norm;
        within.iter().map(|norm| norm * norm - whole).sum::<f64>()
            + beyond.iter().map(shrunk).sum::<f64>()
    };
    let highest = (dimensions as f64).sqrt() + 8.0;
    let levels = (0..=80).map(|level| deviation * highest * f64::from(level) / 80.0);
    let best = levels.min_by(|one, other| risk(*one).total_cmp(&risk(*other))).unwrap_or(0.0);
    for row in table.chunks_mut(dimensions) {
        let left = (1.0 - best / norm(row)).max(0.0) as f32;
        row.iter_mut().for_each(|value| *value *= left);
    }
}
