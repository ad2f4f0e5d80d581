//! Selection of bounded range joined with noise at the paper's run, from the optimal pair of all draws.
#![allow(clippy::unwrap_used)]

use organza_accountant::rdp::Direction;
use organza_accountant::rdp::convert::best_epsilon;
use organza_accountant::rdp::sampled::{self, Selection};

/// The best adaptive composition of `draws` draws of bounded range `range` (Dong, Durfee and Rogers
/// 2020, section 6): V_j(e) = sup over t of p_t V_(j-1)(e - t) + (1 - p_t) V_(j-1)(e - t + range), by trying
/// only t on the grid of `cells` per range; the values at losses 0, h, 2h, ... up to `reach` cells.
fn profile(range: f64, draws: u32, cells: usize, reach: usize) -> Vec<f64> {
    let step = range / cells as f64;
    let mut values = vec![0.0; reach + 1];
    for _ in 0..draws {
        let at = |index: i64| {
            let above = values.get(index.unsigned_abs() as usize).copied().unwrap_or(0.0);
            if index >= 0 {
                return above;
            }
            let threshold = (index as f64 * step).exp();
            1.0 - threshold + threshold * above
        };
        values = (0..=reach as i64)
            .map(|index| {
                (0..=cells as i64)
                    .map(|offset| {
                        let high = offset as f64 * step;
                        let likely = (high - range).exp_m1() / (-range).exp_m1();
                        likely * at(index - offset)
                            + (1.0 - likely) * at(index - offset + cells as i64)
                    })
                    .fold(0.0, f64::max)
            })
            .collect();
    }
    values
}

/// The symmetric pair with that profile at the losses of the grid, as (Q-mass, loss).
fn pair(profile: &[f64], step: f64) -> Vec<(f64, f64)> {
    let last = profile.len() - 1;
    let mut atoms = Vec::new();
    for index in 1..=last {
        let left = (profile[index] - profile[index - 1]) / -(-step).exp_m1();
        let right =
            if index < last { (profile[index + 1] - profile[index]) / step.exp_m1() } else { 0.0 };
        let mass = (right - left).max(0.0);
        let loss = index as f64 * step;
        atoms.push((mass * (-loss).exp(), loss));
        atoms.push((mass, -loss));
    }
    let rest = 1.0 - atoms.iter().map(|(mass, _)| mass).sum::<f64>();
    atoms.push((rest, 0.0));
    atoms
}

#[test]
fn the_papers_run_by_bounded_range() {
    let range = 0.283_786_953_672_762_13;
    let profile = profile(range, 100, 8, 360);
    let step = range / 8.0;
    let atoms = pair(&profile, step);
    let selection = Selection::new(&atoms).unwrap();
    let curve: Vec<(f64, f64)> = [1.9, 2.05, 2.2, 2.35, 2.5]
        .into_iter()
        .map(|order| {
            let one = sampled::joint(order, 1e-4, 0.5, &selection, Direction::Remove).unwrap();
            (order, 200_000.0 * one)
        })
        .collect();
    let (epsilon, order) = best_epsilon(&curve, 1e-5).unwrap();
    assert!((8.2..8.4).contains(&epsilon), "{epsilon} at {order}");
    // Sampling the two parts apart and adding them up would claim less, wrongly: they share a batch.
    let apart: Vec<(f64, f64)> = curve
        .iter()
        .map(|(order, _)| {
            let alone = sampled::joint(*order, 1e-4, 1e6, &selection, Direction::Remove).unwrap();
            (*order, 200_000.0 * (alone + sampled::gaussian(*order, 1e-4, 0.5).unwrap()))
        })
        .collect();
    let (apart, _) = best_epsilon(&apart, 1e-5).unwrap();
    assert!(apart < 0.95 * epsilon, "{apart} {epsilon}");
}
