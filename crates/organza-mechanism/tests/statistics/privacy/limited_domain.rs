//! Limited-domain selection: (draws x epsilon, delta), and what the bar's offset is for.

use super::harness::{Audit, Claim};
use super::pipeline::{Pipeline, Unit, gaussian, settings};
use crate::support::random;
use organza_mechanism::SelectionSettings;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::gumbel;

const DELTA: f64 = 0.001;

fn audit(
    name: &'static str,
    seed: u64,
    runs: u64,
    draws: u64,
    with: &[Unit],
    without: &[Unit],
) -> Audit<Vec<u64>> {
    let rows = with[0].len() as u64;
    let selection = SelectionSettings::LimitedDomain {
        draws,
        domain: rows - 1,
        rows_per_unit: rows,
        epsilon: 1.0,
        delta: DELTA,
    };
    let pipeline = Pipeline::new(seed, settings(rows, selection, gaussian(1.0)));
    Audit::new(name, runs, |run| pipeline.select(with, run), |run| pipeline.select(without, run))
}

fn claim(draws: u64) -> [Claim; 1] {
    [Claim { epsilon: draws as f64, delta: DELTA }]
}

/// Fourteen units touch all rows of the domain; one more touches the first row alone.
fn one_row_more() -> [Vec<Unit>; 2] {
    let mut common = vec![0.1_f32; 9];
    common[8] = 0.0;
    let mut joining = vec![0.0; 9];
    joining[0] = 0.1;
    let without = vec![common; 14];
    let with = [without.clone(), vec![joining]].concat();
    [with, without]
}

#[test]
fn the_top_row_is_private() {
    let [with, without] = one_row_more();
    audit("limited domain, one draw", 1_700, 300_000, 1, &with, &without).holds(&claim(1), 0.5);
}

#[test]
fn two_top_rows_are_private() {
    let [with, without] = one_row_more();
    audit("limited domain, two draws", 1_701, 300_000, 2, &with, &without).holds(&claim(2), 0.25);
}

/// A row that nobody else touches.
#[test]
fn a_row_of_one_unit_shows_with_probability_delta() {
    let with: [Unit; 1] = [vec![0.1, 0.0]];
    let audit = audit("limited domain, a stranger", 1_702, 1_000_000, 1, &with, &[]);
    audit.holds(&claim(1), f64::NEG_INFINITY);
    // Without the allowance of delta it is told for certain.
    audit.is_caught(&[Claim { epsilon: 1.0, delta: 0.0 }]);
}

/// The twin: the bar stands at the first count outside the domain.
#[test]
fn a_bar_without_its_offset_is_caught() {
    let shows = |count: f64, random: &mut PrivateRandom| {
        let bar = gumbel(random);
        count > 0.0 && count + gumbel(random) > bar
    };
    let (mut one, mut other) = (random(1_703), random(1_704));
    Audit::new(
        "limited domain without the offset",
        100_000,
        |_| shows(1.0, &mut one),
        |_| shows(0.0, &mut other),
    )
    .is_caught(&claim(1));
}
