//! Where descent begins; and the whole of a fit, for methods without steps.

use crate::minimise::Objective;
use crate::perturbation::Perturbation;
use crate::settings::{L2, Method, Settings};
use crate::task::LinearTask;
use organza_accountant::calibrate::Target;
use organza_ledger::PublicFact;
use organza_report::describe::{count, number};
use organza_report::digits::near;
use organza_train::{Failure, Releases, Start, Task};

/// The gradient norm at which a search without privacy ends.
const EXACT: f64 = 1e-10;
/// The share of the budget that the curvature of objective perturbation may take.
const CURVATURE_SHARE: f64 = 0.1;
/// Lambda over the tilt that a row sees: where no data speaks, the tilt moves a margin by the inverse.
const TILT_SHRINKAGE: f64 = 2.0;
/// The least weight of the squared norm beside the mean loss, for objective perturbation.
const OBJECTIVE_L2: f64 = 1e-4;
/// The purpose of objective perturbation.
const OBJECTIVE: &str = "objective";

/// The first coordinates of each model: zero, or the minimum.
pub(crate) fn start(
    settings: &Settings,
    task: &LinearTask<'_>,
    releases: &mut Releases<'_>,
) -> Result<Start, Failure> {
    let coordinates = match settings.method {
        Method::None => exact(settings, task),
        Method::Objective => perturbed(settings, task, releases)?,
        _ => vec![vec![0.0; usize::try_from(task.design.coordinates())?]; task.design.models()],
    };
    let parameters = (0..coordinates.first().map_or(0, Vec::len))
        .flat_map(|column| coordinates.iter().map(move |model| model[column] as f32))
        .collect();
    let mut released = vec![PublicFact::new("features", count(task.design.features()))];
    match settings.method {
        Method::None => {}
        Method::Objective => {
            let bound = settings.row_bound().unwrap_or(f64::INFINITY);
            released.push(PublicFact::new("bound on a row", number(bound)));
        }
        _ => released.push(PublicFact::new("clip of a gradient", near(settings.record_clip()))),
    }
    Ok(Start { parameters, released, ..Start::default() })
}

/// The minimum without privacy.
fn exact(settings: &Settings, task: &LinearTask<'_>) -> Vec<Vec<f64>> {
    let objective = |model| Objective {
        design: &task.design,
        model,
        loss: settings.model,
        divisor: task.design.len() as f64,
        l2: settings.l2.unwrap_or(L2),
        intercept_in_norm: false,
        linear: None,
    };
    (0..task.design.models()).map(|model| objective(model).minimise(EXACT)).collect()
}

/// The minimum of a tilted objective, which is charged.
fn perturbed(
    settings: &Settings,
    task: &LinearTask<'_>,
    releases: &mut Releases<'_>,
) -> Result<Vec<Vec<f64>>, Failure> {
    let units = releases.units(task.units())? as f64;
    let Settings { epsilon, delta, l2, .. } = *settings;
    let norm = settings.input().whole_norm();
    let (target, before) = (Target::new(epsilon, delta), releases.before());
    let fits = task.design.models();
    let lambda = match l2 {
        Some(l2) => l2 * units,
        None => {
            let least = Perturbation::least_lambda(norm, CURVATURE_SHARE * epsilon / fits as f64);
            let (_, deviation) = Perturbation::tilt(norm, least, fits, &target, before)?;
            least.max(norm * deviation * TILT_SHRINKAGE).max(OBJECTIVE_L2 * units)
        }
    };
    let size = task.design.coordinates();
    let perturbation = Perturbation::calibrate(norm, lambda, units, size, fits, &target, before)?;
    let release = perturbation.release(OBJECTIVE, releases.source());
    let paid = releases.charge(release.charge())?;
    Ok(perturbation.minima(&task.design, units, &release, paid)?)
}
