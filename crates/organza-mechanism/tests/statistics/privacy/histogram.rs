//! Counts: the bound of a unit, the noise, and the bar after it.

use super::claims::{exact, gaussian_delta};
use super::harness::{Audit, pure};
use super::pipeline::bin;
use crate::paid::Paid;
use crate::support::random;
use organza_ledger::Neighbouring;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::IntegerNoise;
use organza_mechanism::{Bound, CountNoise, HistogramPlan, HistogramSettings, UnitCounts};

const RUNS: u64 = 100_000;
const BAR: i64 = 3;

pub(super) type Cells = Vec<(u64, f64)>;

fn plan(bound: Bound, noise: CountNoise, bar: Option<f64>) -> HistogramPlan {
    let neighbouring = Neighbouring::AddRemove;
    HistogramPlan::new(HistogramSettings { dense: 0, cells: 4, neighbouring, bound, noise, bar })
        .unwrap()
}

fn release(plan: &HistogramPlan, paid: &Paid<'_>, number: u64, units: &[&[(u64, f64)]]) -> Cells {
    let (release, charged) = paid.number(number);
    let mut histogram = plan.histogram();
    let mut unit = UnitCounts::new();
    for counts in units {
        counts.iter().for_each(|(cell, amount)| unit.add(*cell, *amount));
        histogram.add(&mut unit);
    }
    histogram.noise(&release, charged).unwrap().cells().collect()
}

pub(super) fn audit<Class: Ord>(
    name: &'static str,
    seed: u64,
    plan: &HistogramPlan,
    [with, without]: [&[&[(u64, f64)]]; 2],
    see: impl Fn(&Cells) -> Class,
) -> Audit<Class> {
    let paid = Paid::new(seed, |source| plan.release("counts", source));
    Audit::new(
        name,
        RUNS,
        |run| see(&release(plan, &paid, run, with)),
        |run| see(&release(plan, &paid, run, without)),
    )
}

/// The noisy count of a cell, if it shows.
pub(super) fn value(cells: &Cells, cell: u64) -> Option<i64> {
    cells.iter().find(|(shown, _)| *shown == cell).map(|(_, count)| (*count as i64).clamp(-9, 12))
}

fn laplace(bar: Option<f64>) -> HistogramPlan {
    plan(Bound::Total(1), CountNoise::DiscreteLaplace { epsilon: 1.0 }, bar)
}

/// The unit is the only one of its cell, and gives fifty times what it may.
#[test]
fn counts_are_private_and_the_bound_is_kept() {
    let with: [&[(u64, f64)]; 3] = [&[(1, 1.0)], &[(1, 1.0)], &[(2, 50.0), (3, 7.0)]];
    let neighbours: [&[&[(u64, f64)]]; 2] = [&with, &with[..2]];
    let see = |cells: &Cells| (value(cells, 2), value(cells, 3).is_some());
    audit("counts above a bar", 2_200, &laplace(Some(2.0)), neighbours, see)
        .holds(&[pure(1.0)], 0.85);
    audit("counts of all cells", 2_201, &laplace(None), neighbours, |cells| value(cells, 2))
        .holds(&[pure(1.0)], 0.85);
}

#[test]
fn clipped_counts_are_private() {
    let noise = CountNoise::RoundedGaussian { multiplier: 1.0 };
    let plan = plan(Bound::Norm(2.0), noise, None);
    let with: [&[(u64, f64)]; 2] = [&[(1, 1.0)], &[(0, 30.0), (1, 40.0)]];
    let along = |cells: &Cells| bin((0.6 * cells[0].1 + 0.8 * cells[1].1) / 2.0, 0.1);
    let claims = exact(&[0.0005, 0.01, 0.1, 0.3], |epsilon| gaussian_delta(1.0, epsilon));
    audit("clipped counts", 2_202, &plan, [&with, &with[..1]], along).holds(&claims, 0.85);
    // The same on half of the clip's noise is not what it says.
    let noise = CountNoise::RoundedGaussian { multiplier: 0.5 };
    let half = self::plan(Bound::Norm(2.0), noise, None);
    audit("clipped counts, half the noise", 2_203, &half, [&with, &with[..1]], along)
        .is_caught(&claims);
}

/// Two laws of what a broken release shows.
fn twin<Class: Ord>(
    name: &'static str,
    seed: u64,
    show: impl Fn(bool, &mut PrivateRandom) -> Class,
) -> Audit<Class> {
    let (mut one, mut other) = (random(seed), random(seed + 1));
    Audit::new(name, RUNS, |_| show(true, &mut one), |_| show(false, &mut other))
}

fn noise() -> IntegerNoise {
    IntegerNoise::discrete_laplace(1.0).unwrap()
}

#[test]
fn a_bound_that_is_skipped_is_caught() {
    twin("counts without the bound", 2_210, |with, it| {
        (if with { 3 } else { 0 } + noise().draw(it)).clamp(-9, 12)
    })
    .is_caught(&[pure(1.0)]);
}

#[test]
fn a_bar_before_the_noise_is_caught() {
    twin("counts, the bar before the noise", 2_212, |with, it| {
        let count = if with { BAR } else { BAR - 1 };
        (count >= BAR).then(|| (count + noise().draw(it)).clamp(-9, 12))
    })
    .is_caught(&[pure(1.0)]);
}

#[test]
fn empty_cells_that_never_show_are_caught() {
    twin("counts of occupied cells alone", 2_214, |with, it| {
        with.then(|| 1 + noise().draw(it)).filter(|noisy| *noisy >= BAR)
    })
    .is_caught(&[pure(1.0)]);
}

/// Two cells that show, of which one is occupied: the twin lists the occupied ones first.
#[test]
fn the_order_of_a_release_tells_nothing() {
    let with: [&[(u64, f64)]; 1] = [&[(2, 1.0)]];
    let order = |cells: &Cells| cells.iter().map(|(cell, _)| *cell).collect::<Vec<u64>>();
    audit("counts in order", 2_216, &laplace(Some(1.0)), [&with, &[]], order)
        .holds(&[pure(1.0)], 0.5);
    twin("occupied cells first", 2_217, |with, it| {
        let occupied = |cell: &u64| with && *cell == 2;
        let shows = |cell: &u64, it: &mut _| i64::from(occupied(cell)) + noise().draw(it) >= 1;
        let mut cells: Vec<u64> = (0..4).filter(|cell| shows(cell, it)).collect();
        cells.sort_by_key(|cell| !occupied(cell));
        cells
    })
    .is_caught(&[pure(1.0)]);
}
