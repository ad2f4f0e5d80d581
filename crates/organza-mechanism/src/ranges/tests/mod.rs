//! Ranges together are the whole: what is selected, clipped again and released; and nothing is drawn that no driver has charged.
#![allow(clippy::unwrap_used)]

mod law;
mod refused;

use super::*;
use crate::batch::BatchSum;
use crate::buckets::{BUCKETS, BucketSampler, BucketUnits, PartError, parts_of};
use crate::grid::Grid;
use crate::memory::Lease;
use crate::{
    AdaptiveClip, By, Choice, DeferredGrid, NoiseSettings, PassOrder, Plan, PlanSettings,
    RandomSource, ReleasedClip, Sampler, SelectionSettings, UnitGradient,
};
use organza_ledger::testing::paid;
use organza_ledger::{MaxNoise, Neighbouring};

const UNITS: u64 = 400;

/// Five ranges, of which one holds rows of two tables, and one rows of a table that is dense.
fn shape() -> Shape {
    Shape::tables(&[(1_500, 3), (3_600, 5), (700, 2)]).unwrap().with_dense(1).unwrap()
}

fn plan(selection: SelectionSettings, multiplier: f64, second_clip: Option<f64>) -> Plan {
    Plan::new(PlanSettings {
        shape: shape(),
        neighbouring: Neighbouring::AddRemove,
        rate: 1.0,
        expected_batch: 20.0,
        clip: 1.0,
        selection,
        noise: NoiseSettings::Gaussian { multiplier, second_clip },
    })
    .unwrap()
}

fn gradient(unit: u64, gradient: &mut UnitGradient) {
    let unit = unit as u32;
    for row in [unit * 7 % 5_100, unit * unit % 5_100, 5_100 + unit % 9, 3] {
        let values = gradient.row(row).unwrap();
        values.iter_mut().zip(1..).for_each(|(value, place)| {
            *value += ((unit * place) % 17) as f32 - 8.0;
        });
    }
}

/// The sum of all units in one place.
fn in_one_place(sampler: &Sampler, step: u64) -> BatchSum {
    in_one_place_at(sampler, step, *sampler.run.plan.grid())
}

fn in_one_place_at(sampler: &Sampler, step: u64, grid: Grid) -> BatchSum {
    let run = sampler.run.clone();
    let mut memory = Lease::new(&run.pool, 0);
    memory.add_units(0..UNITS, &grid, gradient);
    BatchSum { step, grid, run, memory }
}

/// The sums of ranges of these keys in a step.
fn in_ranges(sampler: &Sampler, step: &PaidStep, keys: &RangeKeys) -> Vec<RangeSum> {
    of_units(sampler, step, keys, UNITS, gradient)
}

/// The same of so many units with these gradients.
fn of_units(
    sampler: &Sampler,
    step: &PaidStep,
    keys: &RangeKeys,
    units: u64,
    gradient: impl Fn(u64, &mut UnitGradient) + Sync,
) -> Vec<RangeSum> {
    let names = (0..units).map(u64::to_be_bytes);
    let names = BucketUnits::by_name(names, 0..BUCKETS);
    let settings = sampler.worker_settings().unwrap();
    let worker =
        BucketSampler::new(settings, shape(), sampler.bucket_keys(0..BUCKETS), names).unwrap();
    let batch = worker.batch(&step.order()).unwrap();
    assert_eq!(batch.count() as u64, units);
    let bytes = batch.sum(100, |_, unit, to| gradient(unit, to));
    let parts = parts_of(&bytes).unwrap();
    let paid = keys.opened(&step.opening(0..5)).unwrap();
    let ranges = sampler.range_settings(None).unwrap().ranges(keys).unwrap();
    let sum = |range: &RowRange| {
        let mut batch = range.gather(&paid).unwrap();
        assert!(batch.read(parts[(usize::from(range.number()) + 1) % parts.len()].1).is_err());
        let part = batch.read(parts[usize::from(range.number())].1).unwrap();
        batch.take(part).unwrap();
        batch.join().unwrap()
    };
    ranges.iter().map(sum).collect()
}

fn opened(sampler: &Sampler, step: u64) -> PaidStep {
    at_clip(sampler, step, None)
}

fn at_clip(sampler: &Sampler, step: u64, clip: Option<ReleasedClip>) -> PaidStep {
    sampler.open(step, &paid(sampler.charge(step..step + 1)), clip).unwrap()
}

fn all(selection: SelectionSettings) -> (Sampler, Vec<RangeSum>, PaidStep, RangeKeys) {
    let plan = plan(selection, 1.0, None);
    of_plan(&plan)
}

fn of_plan(plan: &Plan) -> (Sampler, Vec<RangeSum>, PaidStep, RangeKeys) {
    let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
    let mut step = opened(&sampler, 2);
    let keys = RangeKeys::from_bytes(&sampler.range_keys(0..99).expose()).unwrap();
    let sums = in_ranges(&sampler, &step, &keys);
    // The last first: order says nothing.
    sums.iter().rev().for_each(|sum| {
        step.offer(&sum.offer()).unwrap();
    });
    (sampler, sums, step, keys)
}

#[test]
fn rows_are_cut_evenly_and_found() {
    for rows in [1, 5, 1_023, 2_048, 5_800, 262_143, 262_144, 3_000_000, 4_294_967_295] {
        let cut = RowRanges::of(&Shape::table(rows, 1).unwrap());
        let count = cut.count();
        assert!((1..=256).contains(&count) && u64::from(count) <= rows);
        assert_eq!((cut.rows(0).start, u64::from(cut.rows(count - 1).end)), (0, rows));
        for range in 0..count {
            let own = cut.rows(range);
            assert!(!own.is_empty());
            for row in [own.start, own.end - 1] {
                assert_eq!(cut.of_row(row), range, "{rows} {row}");
            }
            assert!(range + 1 == count || cut.rows(range + 1).start == own.end);
        }
        for of in [1, 2, 3, 300] {
            let places: Vec<_> = (0..of).map(|number| cut.of_place(number, of)).collect();
            let joined: Vec<u16> = places.into_iter().flatten().collect();
            assert!(joined.iter().copied().eq(0..count));
        }
    }
}
