#![allow(clippy::unwrap_used)]
use super::row::{Direction, NORM_BITS, scaled};
use super::*;
use crate::RandomSource;
use crate::wide::WideNumbers;
use organza_ledger::Neighbouring;
use organza_ledger::testing::paid;
use proptest::prelude::*;

const COLUMNS: u32 = 9;

type Row = Vec<(u32, u32)>;

fn rows() -> impl Strategy<Value = Row> {
    let entry = prop_oneof![Just(LARGEST_ENTRY), 1..=LARGEST_ENTRY];
    prop::collection::btree_map(0..COLUMNS, entry, 0..9).prop_map(|row| row.into_iter().collect())
}

fn directions() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0..=LARGEST_DIRECTION, COLUMNS as usize)
}

fn plan(multiplier: f64) -> GramPlan {
    let neighbouring = Neighbouring::AddRemove;
    GramPlan::new(GramSettings { columns: COLUMNS, neighbouring, multiplier }).unwrap()
}

/// The rest of a row beside the direction.
fn rest(direction: &[u32], row: &Row, multiple: i64) -> Vec<i128> {
    let mut rest: Vec<i128> =
        direction.iter().map(|entry| -i128::from(multiple) * i128::from(*entry)).collect();
    row.iter().for_each(|(column, entry)| rest[*column as usize] += i128::from(*entry));
    rest
}

/// The cells of a unit by their definition; without the diagonal in the norm for a broken twin.
fn cells_of(direction: &[u32], row: &Row) -> Vec<i128> {
    let Some(scaled) = scaled(&Direction::new(COLUMNS as usize, direction), row) else {
        return vec![0; 45];
    };
    let rest = rest(direction, row, scaled.multiple);
    let pairs = (0..9).flat_map(|one| (one..9).map(move |other| (one, other)));
    pairs.map(|(one, other)| i128::from(scaled.factor) * rest[one] * rest[other]).collect()
}

fn square(cells: &[i128]) -> i128 {
    cells.iter().map(|cell| cell * cell).sum()
}

proptest! {
    /// The bound holds to the last bit, and is nearly met.
    #[test]
    fn the_cells_of_a_unit_have_norm_one(row in rows(), direction in directions()) {
        let square = square(&cells_of(&direction, &row));
        let bound = 1_i128 << (2 * NORM_BITS);
        prop_assert!(square <= bound);
        let left = rest(&direction, &row, 0).iter().any(|entry| *entry != 0);
        let along_only = square == 0;
        prop_assert!(!left || along_only || square as f64 > 0.99 * bound as f64);
    }

    /// What is summed sparsely is what the definition says, and units are added in any order and on any thread.
    #[test]
    fn sums_are_those_of_rests(
        all in prop::collection::vec(rows(), 0..6),
        direction in directions(),
        part in 0_usize..6,
    ) {
        let plan = plan(1.0);
        let sum = |rows: &[Row]| {
            let mut sum = plan.sum(&direction);
            rows.iter().for_each(|row| sum.add(row));
            sum
        };
        let (first, second) = all.split_at(part.min(all.len()));
        let together = sum(second).merge(sum(first)).finished();
        prop_assert_eq!(&sum(&all).finished(), &together);
        let mut expected = vec![0_i128; 45];
        for row in &all {
            expected.iter_mut().zip(cells_of(&direction, row)).for_each(|(to, cell)| *to += cell);
        }
        let together: Vec<i128> = (0..45).map(|place| together.get(place)).collect();
        prop_assert_eq!(together, expected);
    }

    /// Two units differ by no more than sqrt2: what replace-one is charged for.
    #[test]
    fn two_units_are_within_the_root_of_two(one in rows(), other in rows(), direction in directions()) {
        let (one, other) = (cells_of(&direction, &one), cells_of(&direction, &other));
        let difference: Vec<i128> = one.iter().zip(&other).map(|(one, other)| one - other).collect();
        prop_assert!(square(&difference) <= 1 << (2 * NORM_BITS + 1));
    }
}

#[test]
fn a_norm_without_the_diagonal_is_caught() {
    let (row, direction): (Row, _) = (vec![(0, LARGEST_ENTRY), (1, LARGEST_ENTRY)], vec![0; 9]);
    let cells = cells_of(&direction, &row);
    // One cell off the diagonal has the whole norm, and two on it come on top.
    let broken: Vec<i128> = cells.iter().map(|cell| cell * (1 << NORM_BITS) / cells[1]).collect();
    assert!(square(&cells) <= 1 << (2 * NORM_BITS) && square(&broken) > 2 << (2 * NORM_BITS));
}

#[test]
fn rows_of_another_kind_count_as_empty() {
    let plan = plan(1.0);
    for row in [
        vec![(0, 0)],
        vec![(0, LARGEST_ENTRY + 1)],
        vec![(COLUMNS, 1)],
        vec![(1, 1), (0, 1)],
        vec![(1, 1), (1, 1)],
        vec![],
    ] {
        let mut sum = plan.sum(&[1; 9]);
        sum.add(&row);
        assert_eq!(sum.finished(), WideNumbers::zeros(45), "{row:?}");
    }
}

#[test]
fn what_lies_along_the_direction_is_left_out() {
    let mut sum = plan(1.0).sum(&[2, 1]);
    sum.add(&[(0, 4_000), (1, 2_000)]);
    assert_eq!(sum.finished(), WideNumbers::zeros(45));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for (columns, multiplier) in [(0, 1.0), (1 << 15, 1.0), (3, 0.0), (3, f64::NAN), (3, 1e9)] {
        let neighbouring = Neighbouring::ReplaceOne;
        assert!(GramPlan::new(GramSettings { columns, neighbouring, multiplier }).is_err());
    }
}

/// The mean square of the noise over what it should be: 400 x 400 cells are within 2.5 % but once in 10^11.
fn ratio(released: f64, stated: f64) -> f64 {
    let neighbouring = Neighbouring::AddRemove;
    let plan = |multiplier| GramPlan::new(GramSettings { columns: 400, neighbouring, multiplier });
    let plan_made = plan(released).unwrap();
    let release = plan_made.release("pairs", &RandomSource::from_seed(5));
    let sum = plan_made.sum(&[3; 400]);
    let charged = paid(release.charge());
    let noisy = sum.noise(&release, charged).unwrap();
    let cells: Vec<f64> = (0..400)
        .flat_map(|row| noisy.row(row).iter().map(|cell| f64::from(*cell)).collect::<Vec<_>>())
        .collect();
    assert_eq!(noisy.cell(3, 7), noisy.cell(7, 3));
    let square = cells.iter().map(|cell| cell * cell).sum::<f64>() / cells.len() as f64;
    square / plan(stated).unwrap().deviation().powi(2)
}

/// False-alarm rate below 1e-6: chi-squared with 80,200 degrees of freedom leaves 2.5 % once in 10^6 at the most.
#[test]
fn noise_has_the_deviation_that_is_charged() {
    for stated in [0.7, 30.0] {
        assert!((ratio(stated, stated) - 1.0).abs() < 0.025);
        for wrong in [2.0 / 3.0, 1.5] {
            assert!((ratio(wrong * stated, stated) - 1.0).abs() > 0.025, "a wrong sigma");
        }
    }
}

#[test]
fn the_noise_is_the_same_with_any_number_of_threads() {
    let cells = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let neighbouring = Neighbouring::AddRemove;
            let settings = GramSettings { columns: 300, neighbouring, multiplier: 1.0 };
            let plan = GramPlan::new(settings).unwrap();
            let release = plan.release("pairs", &RandomSource::from_seed(5));
            let charged = paid(release.charge());
            let mut sum = plan.sum(&[]);
            sum.add(&[(0, 1), (299, 1)]);
            let noisy = sum.noise(&release, charged).unwrap();
            (0..300).flat_map(|row| noisy.row(row).to_vec()).collect::<Vec<_>>()
        })
    };
    assert_eq!(cells(1), cells(3));
}

/// Sums that no 64 bits hold, as those of many million units, are released as they are. The twin knows them modulo 2^64 alone: one more
/// unit, and a cell of a million of them is that of none.
#[test]
fn sums_beyond_64_bits_are_released_as_they_are() {
    let plan = plan(1.0);
    let released = |sum: i128| {
        let release = plan.release("pairs", &RandomSource::from_seed(5));
        let charged = paid(release.charge());
        let random = release.random(charged, &plan.event()).unwrap();
        let mut sums = WideNumbers::zeros(45);
        (0..45).for_each(|place| sums.add(place, sum));
        NoisyGram::new(plan.clone(), &sums, &random, false).row(0).to_vec()
    };
    let unit = 1_i128 << NORM_BITS;
    let noise = released(0);
    for units in [1 << 19, 1 << 20, (1 << 21) - 1, 1 << 21, 3_000_000, 1_000_000_000] {
        for sign in [1, -1] {
            let cells = released(sign * units * unit);
            for (cell, noise) in cells.iter().zip(&noise) {
                let away = f64::from(*cell) - f64::from(*noise) - (sign * units) as f64;
                // Noise is cut to its grid, and cells to single precision.
                assert!(away.abs() <= 2.0 + units as f64 * 1e-7, "{units}: {cell} and {noise}");
            }
            let wrapped = i128::from((sign * units * unit) as i64);
            let is_caught = released(wrapped)[0].abs() < 0.99 * units as f32;
            assert_eq!(is_caught, units > 1 << 20 && wrapped != sign * units * unit, "{units}");
        }
    }
}
