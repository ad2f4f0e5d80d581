//! A histogram above a bar has the law of noise on all cells and the bar after it.

use crate::paid::Paid;
use crate::support::{FALSE_ALARM, chi_squared, two_samples};
use organza_ledger::Neighbouring;
use organza_mechanism::{Bound, CountNoise, HistogramPlan, HistogramSettings, UnitCounts};

const CELLS: u64 = 6;
const BAR: i64 = 2;

fn plan(bound: Bound, noise: CountNoise, bar: Option<f64>) -> HistogramPlan {
    let neighbouring = Neighbouring::AddRemove;
    HistogramPlan::new(HistogramSettings {
        dense: 0,
        cells: CELLS,
        neighbouring,
        bound,
        noise,
        bar,
    })
    .unwrap()
}

/// The released cells of one run; the cells 1 and 4 have the counts 3 and 1.
fn run(plan: &HistogramPlan, paid: &Paid<'_>, number: u64) -> Vec<(u64, f64)> {
    let (release, charged) = paid.number(number);
    let mut histogram = plan.histogram();
    let mut unit = UnitCounts::new();
    for cell in [1, 4, 1, 1] {
        unit.add(cell, 1.0);
        histogram.add(&mut unit);
    }
    histogram.noise(&release, charged).unwrap().cells().collect()
}

/// Which cells show, as bits, and the sum of the values that show, up to 20.
fn class(cells: &[(u64, f64)]) -> usize {
    let mask = cells.iter().fold(0, |mask, (cell, _)| mask | 1 << cell);
    let sum: f64 = cells.iter().map(|(_, count)| count).sum();
    mask * 21 + (sum as usize).min(20)
}

fn classes(plan: &HistogramPlan, seed: u64, cut: impl Fn(&mut Vec<(u64, f64)>)) -> Vec<u64> {
    let paid = Paid::new(seed, |source| plan.release("counts", source));
    let mut counts = vec![0; 64 * 21];
    for number in 0..60_000 {
        let mut cells = run(plan, &paid, number);
        assert!(cells.is_sorted_by(|one, other| one.0 < other.0));
        cut(&mut cells);
        counts[class(&cells)] += 1;
    }
    counts
}

#[test]
fn sparse_and_dense_have_one_law() {
    let laplace = (Bound::Total(1), CountNoise::DiscreteLaplace { epsilon: 0.7 });
    // Counts of 1 have 2^20 steps, and the noise 1.5 times as many.
    let gaussian = (Bound::Norm(1.0), CountNoise::RoundedGaussian { multiplier: 1.5 });
    for (test, (bound, noise)) in (2_100..).step_by(10).zip([laplace, gaussian]) {
        let dense = plan(bound, noise, None);
        let sparse = plan(bound, noise, Some(BAR as f64));
        let below = |cells: &mut Vec<(u64, f64)>| cells.retain(|(_, count)| *count >= BAR as f64);
        let one = classes(&sparse, test, |_| ());
        let other = classes(&dense, test + 1, below);
        assert!(two_samples(&one, &other) > FALSE_ALARM);
        // Twins: empty cells never show; one of them always does.
        let never = |cells: &mut Vec<_>| cells.retain(|(cell, _)| [1, 4].contains(cell));
        assert!(two_samples(&classes(&sparse, test + 2, never), &other) < FALSE_ALARM);
        let always = |cells: &mut Vec<(u64, f64)>| {
            if !cells.iter().any(|(cell, _)| *cell == 5) {
                cells.push((5, BAR as f64));
            }
        };
        assert!(two_samples(&classes(&sparse, test + 3, always), &other) < FALSE_ALARM);
    }
}

/// Where the first cells have no bar, they have the law of noise on all cells, and the others that of the bar after it.
#[test]
fn the_first_cells_have_no_bar() {
    const FIRST: u64 = 3;
    let (bound, noise) = (Bound::Norm(1.0), CountNoise::RoundedGaussian { multiplier: 1.5 });
    let settings = plan(bound, noise, Some(BAR as f64)).settings().clone();
    let mixed = HistogramPlan::new(HistogramSettings { dense: FIRST, ..settings }).unwrap();
    let dense = plan(bound, noise, None);
    let from = |first: u64| {
        move |cells: &mut Vec<(u64, f64)>| {
            cells.retain(|(cell, count)| *cell < first || *count >= BAR as f64);
        }
    };
    let one = classes(&mixed, 2_150, |_| ());
    assert!(two_samples(&one, &classes(&dense, 2_151, from(FIRST))) > FALSE_ALARM);
    // Twins: one cell more has no bar, or one less.
    for first in [FIRST - 1, FIRST + 1] {
        assert!(two_samples(&one, &classes(&dense, 2_152 + first, from(first))) < FALSE_ALARM);
    }
}

/// What is said about the bar is true: how often cells show.
#[test]
fn cells_show_as_often_as_is_said() {
    let runs = 60_000;
    for (test, noise) in (2_130..).zip([0.4, 1.5]) {
        let plan = plan(Bound::Total(1), CountNoise::DiscreteLaplace { epsilon: noise }, Some(2.0));
        let paid = Paid::new(test, |source| plan.release("counts", source));
        let mut shown = [0_u64; CELLS as usize];
        for number in 0..runs {
            for (cell, _) in run(&plan, &paid, number) {
                shown[cell as usize] += 1;
            }
        }
        for (cell, count) in [(0, 0.0), (1, 3.0), (4, 1.0)] {
            let chance = plan.chance_above(count);
            let p = chi_squared(&[shown[cell], runs - shown[cell]], &[chance, 1.0 - chance]);
            assert!(p > FALSE_ALARM, "{cell} {p}");
        }
    }
}
