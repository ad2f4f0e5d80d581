//! Linear models as a victim: a fit by the public interface, with the files that a command writes.

use crate::words::{NOT_PRIVATE, PROMISED};
use organza_audit::attack::{Knowledge, Neighbour, Observation, Promised, Victim};
use organza_data::sparse::SparseRows;
use organza_erm::{Linear as Application, LinearData, Loss, Method, Settings};
use organza_ledger::Unit;
use organza_mechanism::SelectionRule;
use organza_train::{Session, SessionError};
use std::collections::BTreeMap;
use std::path::Path;

/// How many records all neighbours share; groups have two records each.
const RECORDS: u32 = 40;
/// The features that the differing records have, from the last one downwards.
const RARE: u32 = 5;

/// A fit to one of two sets of rows.
pub(crate) struct Linear {
    settings: Settings,
    features: u32,
}

impl Linear {
    /// Rows with or without the record (or the group of two) in question; where the relation is replacing, that record
    /// is another one instead.
    fn rows(&self, neighbour: Neighbour) -> SparseRows {
        let mut rows = SparseRows::new(Some(u64::from(self.features)));
        let mut push = |number: u32, entries: &mut [(u32, f32)]| {
            let group = format!("g{}", number / 2);
            let group = self.settings.by_group().then_some(group.as_str());
            rows.push(f64::from(number % 2), entries, group).expect("a good row");
        };
        let common = |number: u32| {
            let entry = |place: u32| ((number * 3 + place * 7) % 20, 0.4 - 0.1 * place as f32);
            (0..3).map(entry).collect::<BTreeMap<u32, f32>>().into_iter().collect::<Vec<_>>()
        };
        (0..RECORDS).for_each(|number| push(number, &mut common(number)));
        let rare: Vec<(u32, f32)> =
            (self.features - RARE..self.features).map(|it| (it, 0.44)).collect();
        let method = self.settings.method;
        match neighbour {
            Neighbour::With if self.settings.by_group() => {
                push(RECORDS, &mut rare.clone());
                push(RECORDS + 1, &mut rare.clone());
            }
            Neighbour::With => push(RECORDS, &mut rare.clone()),
            Neighbour::Without if method == Method::Corrected => {
                push(RECORDS, &mut common(RECORDS));
            }
            Neighbour::Without => {}
        }
        rows
    }

    pub(crate) fn knowledge(&self) -> Knowledge {
        let held = self.features - RARE..self.features;
        Knowledge::of_rows(held).with_rates(&[RATE as f32])
    }

    pub(crate) fn promised(&self) -> Promised {
        PROMISED
    }

    fn fit(&self, rows: &SparseRows, out: &Path) -> Result<(), SessionError> {
        let features = u64::from(self.features);
        let read = |settings: &Settings| Ok(LinearData::new(settings, rows, features)?);
        Session::<Application<'_>>::begin_with(self.settings.clone(), out, read)?
            .train(false, &mut ())?;
        Ok(())
    }
}

/// The step size, which is public.
const RATE: f64 = 0.3;

impl Victim for Linear {
    fn run(&self, neighbour: Neighbour, folder: &Path) -> Observation {
        let out = folder.join("run");
        let ended = self.fit(&self.rows(neighbour), &out);
        let ended = ended.map(|()| "finished".to_owned()).map_err(|error| error.to_string());
        Observation::of(&out, ended, &NOT_PRIVATE).expect("files that can be read")
    }
}

/// The choices of a command that fits linear models, each with its levels.
pub(crate) const LEVELS: [usize; 5] = [METHODS.len(), LOSSES.len(), 2, 2, 2];
const METHODS: [&str; 10] = [
    "objective",
    "dpsgd",
    "exponential",
    "sparse vector",
    "noisy max",
    "limited domain",
    "uniform",
    "corrected",
    "poisson-groups",
    "dpsgd by group",
];
const LOSSES: [Loss; 4] = [Loss::Logistic, Loss::Linear, Loss::Poisson, Loss::Sigmoid];

/// Whether a command can reach a combination: objective perturbation is for logistic regression.
pub(crate) fn is_reached(levels: &[usize]) -> bool {
    METHODS[levels[0]] != "objective" || LOSSES[levels[1]] == Loss::Logistic
}

/// Whether a combination is quick enough for the checks: searches for the noise of these selections are not, and are
/// made for one loss alone.
pub(crate) fn is_quick(levels: &[usize]) -> bool {
    !matches!(METHODS[levels[0]], "exponential" | "uniform") || levels[1] == 0
}

/// The victim of a combination, and its name.
pub(crate) fn combination(levels: &[usize]) -> (String, Linear) {
    let [method, loss, width, intercept, units] = *levels else {
        unreachable!("as many levels as there are choices")
    };
    let (name, loss) = (METHODS[method], LOSSES[loss]);
    let mut settings = Settings::new(loss);
    settings.method = match name {
        "objective" => Method::Objective,
        "dpsgd" | "dpsgd by group" => Method::Dpsgd,
        "corrected" => Method::Corrected,
        "poisson-groups" => Method::PoissonGroups,
        _ => Method::Sparse,
    };
    settings.selection = match name {
        "sparse vector" => SelectionRule::SparseVector,
        "noisy max" => SelectionRule::NoisyMax,
        "limited domain" => SelectionRule::LimitedDomain,
        "uniform" => SelectionRule::Uniform,
        _ => SelectionRule::Exponential,
    };
    settings.epsilon = PROMISED.epsilon;
    settings.delta = PROMISED.delta;
    settings.intercept = intercept == 0;
    if name == "dpsgd by group" {
        settings.unit = Unit::Group;
    }
    let groups = u64::from(RECORDS) / 2 + 1;
    let declared = if settings.by_group() { groups } else { u64::from(RECORDS) + 1 };
    settings.units = (units == 0).then_some(declared);
    settings.groups = (settings.method == Method::Corrected).then_some(5);
    settings.draws = Some(2);
    settings.steps = Some(3);
    // Every unit joins every batch.
    settings.batch = Some(declared as f64);
    settings.learning_rate = Some(RATE);
    let features = if width == 0 { 3_000 } else { 30 };
    let said = [
        "linear model",
        name,
        &loss.to_string(),
        ["wide", "narrow"][width],
        ["intercept", "no intercept"][intercept],
        ["units declared", "units released"][units],
    ]
    .join(", ");
    (said, Linear { settings, features })
}
