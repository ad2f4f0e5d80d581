//! Broken twins: tables that give membership away by their rounding, their divisor, their zeros or their grid. Each
//! must be caught, and the sound way of the same table must not.

use crate::words::PROMISED;
use organza_audit::attack::{Attack, Knowledge, Neighbour, Observation, Table, Verdict};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{below, fill_normal_f32};
use organza_mechanism::{Purpose, RandomSource};

const ROWS: usize = 200;
const COLUMNS: usize = 16;
/// The rows that the unit in question touches.
const HELD: [usize; 5] = [190, 191, 192, 193, 194];
/// Rows that the units touch which both neighbours have.
const SHARED: usize = 40;
/// How many units there are without the one in question.
const UNITS: usize = 49;
/// The deviation of the noise of a step, in whole steps of its grid.
const DEVIATION: f32 = 600.0;
/// The grid of the released gradient.
const GRID: f32 = 1.0 / 65_536.0;

/// A run: its rows, its chance, and whether the unit is there.
struct Run {
    weights: Vec<f32>,
    random: PrivateRandom,
    with: bool,
}

impl Run {
    fn new(neighbour: Neighbour, deviation: f32) -> Self {
        let source = RandomSource::from_operating_system().expect("randomness");
        let mut random = source.substream(Purpose::Data, 0, 0);
        let mut weights = vec![0.0; ROWS * COLUMNS];
        fill_normal_f32(&mut weights, &mut random);
        weights.iter_mut().for_each(|weight| *weight *= deviation);
        Self { weights, random, with: neighbour == Neighbour::With }
    }

    /// Normals in whole steps, of a deviation in steps.
    fn noise(&mut self, deviation: f32) -> Vec<f32> {
        let mut noise = vec![0.0; COLUMNS];
        fill_normal_f32(&mut noise, &mut self.random);
        noise.iter_mut().for_each(|it| *it = (*it * deviation).round());
        noise
    }

    /// The rows that a batch touches, which the unit joins where it is there and `joins`.
    fn touched(&self, joins: bool) -> Vec<usize> {
        let held = HELD.into_iter().filter(move |_| self.with && joins);
        (0..SHARED).chain(held).collect()
    }

    fn row(&mut self, row: usize) -> &mut [f32] {
        &mut self.weights[row * COLUMNS..(row + 1) * COLUMNS]
    }

    fn seen(self) -> Observation {
        Observation::default().with_table("weights", Table::of_singles(COLUMNS, &self.weights))
    }
}

/// Noise that waits, in floats: a touched row takes w - rate (release), a row that was not touched one addition of
/// all that it owes when it is settled.
fn owed(run: &mut Run, steps: u32, rate: f32, share: u64) {
    let mut settled = [0; ROWS];
    let settle = |run: &mut Run, settled: &mut [u32; ROWS], row: usize, now: u32| {
        let owes = ((now - settled[row]) as f32).sqrt() * DEVIATION * rate;
        let noise = run.noise(owes);
        if now > settled[row] {
            run.row(row).iter_mut().zip(noise).for_each(|(weight, it)| *weight += it * GRID);
        }
        settled[row] = now;
    };
    for step in 0..steps {
        let joins = below(share, &mut run.random) == 0;
        for row in run.touched(joins) {
            settle(run, &mut settled, row, step);
            let noise = run.noise(DEVIATION);
            run.row(row)
                .iter_mut()
                .zip(noise)
                .for_each(|(weight, it)| *weight -= rate * (it * GRID));
            settled[row] = step + 1;
        }
    }
    (0..ROWS).for_each(|row| settle(run, &mut settled, row, steps));
}

/// Whole-number tables: every row has the noise of every step in one grid, and is a float when it is read.
fn whole(run: &mut Run, steps: u32, rate: f32) {
    for row in 0..ROWS {
        let noise = run.noise((steps as f32).sqrt() * DEVIATION);
        run.row(row).iter_mut().zip(noise).for_each(|(weight, it)| *weight -= rate * (it * GRID));
    }
}

/// Attacks a table with `runs` runs a side, prints the verdict and returns it.
fn attacked(name: &str, runs: u64, victim: impl Fn(Neighbour) -> Run + Sync) -> Verdict {
    let place = tempfile::tempdir().expect("a folder");
    let grid = f64::from(GRID) / (UNITS + 1) as f64;
    let knowledge = Knowledge::of_rows(HELD).with_rates(&[0.3, 10.0]).with_grids(&[grid]);
    let attack = Attack { name: name.to_owned(), runs, knowledge, promised: PROMISED };
    let victim = |neighbour: Neighbour, _: &std::path::Path| victim(neighbour).seen();
    let verdict = attack.run(&victim, place.path(), &|| ()).expect("an attack");
    eprintln!("{verdict}");
    verdict
}

#[test]
fn noise_that_waits_in_floats_is_caught() {
    let once = attacked("twin: owed noise in floats, one step", 60, |neighbour| {
        let mut run = Run::new(neighbour, 0.0);
        owed(&mut run, 1, 0.3, 1);
        run
    });
    assert!(once.refutes() && once.auc > 0.99, "{once}");
    let often = attacked("twin: owed noise in floats, 400 steps", 100, |neighbour| {
        let mut run = Run::new(neighbour, 0.05);
        owed(&mut run, 400, 10.0, 3);
        run
    });
    assert!(often.refutes() && often.auc > 0.9, "{often}");
}

/// A false alarm has probability 1e-6.
#[test]
fn whole_numbers_are_not() {
    for (name, steps, rate, start) in [("one step", 1, 0.3, 0.0), ("400 steps", 400, 10.0, 0.05)] {
        let verdict = attacked(&format!("sound: whole numbers, {name}"), 100, |neighbour| {
            let mut run = Run::new(neighbour, start);
            whole(&mut run, steps, rate);
            run
        });
        assert!(!verdict.refutes(), "{verdict}");
    }
}

#[test]
fn a_batch_divided_by_its_true_size_is_caught() {
    let verdict = attacked("twin: divided by the true size of the batch", 60, |neighbour| {
        let mut run = Run::new(neighbour, 0.0);
        let size = (UNITS + usize::from(run.with)) as f32;
        for row in 0..ROWS {
            let noise = run.noise(DEVIATION);
            run.row(row).iter_mut().zip(noise).for_each(|(weight, it)| *weight = it * GRID / size);
        }
        run
    });
    assert!(verdict.refutes(), "{verdict}");
}

#[test]
fn a_table_settled_only_where_it_was_touched_is_caught() {
    let verdict = attacked("twin: settled only where it was touched", 60, |neighbour| {
        let mut run = Run::new(neighbour, 0.002);
        for row in run.touched(true) {
            let noise = run.noise(DEVIATION);
            run.row(row)
                .iter_mut()
                .zip(noise)
                .for_each(|(weight, it)| *weight -= 0.3 * (it * GRID));
        }
        run
    });
    assert!(verdict.refutes(), "{verdict}");
}

/// Noise of the same deviation, whose grid is coarser in rows of larger sums.
#[test]
fn a_noise_grid_that_depends_on_the_row_is_caught() {
    let verdict = attacked("twin: a grid that depends on the row", 60, |neighbour| {
        let mut run = Run::new(neighbour, 0.0);
        let touched = run.touched(true);
        for row in 0..ROWS {
            let coarser = if touched.contains(&row) { 4.0 } else { 1.0 };
            let noise = run.noise(DEVIATION / coarser);
            run.row(row)
                .iter_mut()
                .zip(noise)
                .for_each(|(weight, it)| *weight = it * coarser * GRID);
        }
        run
    });
    assert!(verdict.refutes(), "{verdict}");
}
