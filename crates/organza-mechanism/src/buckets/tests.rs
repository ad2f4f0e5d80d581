//! Parts of batches: joined they are the whole, and nothing but all of them once is joined.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::ranges::{GatheredBatch, PaidStep, RangeKeys, RangeSum, ReadPart};
use crate::{
    AdaptiveClip, By, NoiseSettings, Plan, PlanSettings, RandomSource, ReleasedClip, Sampler,
    SelectionSettings, Shape,
};
use organza_ledger::Neighbouring;
use organza_ledger::testing::paid;
use std::ops::Range;

const UNITS: u64 = 3_000;

/// So few rows are one range.
fn shape() -> Shape {
    Shape::tables(&[(500, 3), (4, 7)]).unwrap()
}

fn plan(selection: SelectionSettings) -> Plan {
    Plan::new(PlanSettings {
        shape: shape(),
        neighbouring: Neighbouring::AddRemove,
        rate: 0.2,
        expected_batch: 600.0,
        clip: 1.0,
        selection,
        noise: NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None },
    })
    .unwrap()
}

/// Counts units at rows, so that parts hold counts.
fn by_counts() -> SelectionSettings {
    let (draws, domain, rows_per_unit) = (5, 50, 2);
    SelectionSettings::LimitedDomain { draws, domain, rows_per_unit, epsilon: 1.0, delta: 1e-3 }
}

/// The part of some buckets, by a worker that has all units, in this order, on three threads or one.
fn part(sampler: &Sampler, order: &BatchOrder, buckets: Range<u16>, turned: bool) -> Vec<u8> {
    let mut numbers: Vec<u64> = (0..UNITS).collect();
    if turned {
        numbers.reverse();
    }
    let names = numbers.iter().map(|number| number.to_be_bytes());
    let units = BucketUnits::by_name(names, buckets.clone());
    let keys = BucketKeys::from_bytes(&sampler.bucket_keys(buckets).expose()).unwrap();
    let worker = BucketSampler::new(sampler.worker_settings().unwrap(), shape(), keys, units);
    let batch = worker.unwrap().batch(&BatchOrder::from_bytes(&order.to_bytes()).unwrap()).unwrap();
    let mut drawn = Vec::new();
    for places in [0..batch.count() / 2, batch.count() / 2..batch.count()] {
        batch.draw(places, |unit, random| drawn.push((unit, random.word())));
    }
    assert!(drawn.iter().map(|(unit, _)| *unit).eq(batch.units()));
    let each = if turned { batch.count().div_ceil(3) } else { usize::MAX };
    batch.sum(each, |place, unit, gradient| {
        assert_eq!(drawn[place].0, unit);
        let number = numbers[unit as usize] as u32;
        for row in [number % 40, 40 + number % 460, 500 + number % 4] {
            let values = gradient.row(row).unwrap();
            values.iter_mut().zip(0..).for_each(|(value, at)| *value += (number * (at + 3)) as f32);
            // What chance decides is in the sum as well.
            values[0] -= (drawn[place].1 % 1_000) as f32;
        }
        if number.is_multiple_of(97) {
            gradient.row(3).unwrap()[0] = f32::NAN;
        }
    })
}

fn opened(sampler: &Sampler, step: u64) -> PaidStep {
    at_clip(sampler, step, None)
}

fn at_clip(sampler: &Sampler, step: u64, clip: Option<ReleasedClip>) -> PaidStep {
    sampler.open(step, &paid(sampler.charge(step..step + 1)), clip).unwrap()
}

/// The batch of a step on all rows, with the keys of these.
fn gathered(sampler: &Sampler, step: &PaidStep) -> (GatheredBatch, RangeKeys) {
    let keys = sampler.range_keys(0..1);
    let range = sampler.range_settings(None).unwrap().ranges(&keys).unwrap().remove(0);
    (range.gather(&keys.opened(&step.opening(0..1)).unwrap()).unwrap(), keys)
}

/// Reads what a worker hands over, which is of one range.
fn read(batch: &GatheredBatch, bytes: &[u8]) -> Result<ReadPart, PartError> {
    let parts = parts_of(bytes)?;
    assert_eq!(parts.iter().map(|(range, _)| *range).collect::<Vec<u16>>(), [0]);
    batch.read(parts[0].1)
}

fn add(batch: &mut GatheredBatch, bytes: &[u8]) -> Result<Range<u16>, PartError> {
    let part = read(batch, bytes)?;
    batch.take(part)
}

/// The joined sum of parts of these buckets, in this order, with all that releases it.
struct Joined {
    sum: RangeSum,
    step: PaidStep,
    keys: RangeKeys,
}

fn joined(plan: &Plan, cuts: &[u16], turned: bool) -> Joined {
    let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
    let step = opened(&sampler, 7);
    let (mut batch, keys) = gathered(&sampler, &step);
    let ends = cuts.iter().copied().chain([BUCKETS]);
    let mut ranges: Vec<Range<u16>> =
        [0].iter().chain(cuts).copied().zip(ends).map(|(start, end)| start..end).collect();
    if turned {
        ranges.reverse();
    }
    for buckets in ranges {
        let bytes = part(&sampler, &step.order(), buckets.clone(), turned);
        assert_eq!(add(&mut batch, &bytes), Ok(buckets));
    }
    Joined { sum: batch.join().unwrap(), step, keys }
}

fn released(joined: Joined) -> (u64, Vec<(u64, Vec<u32>)>) {
    let Joined { sum, mut step, keys } = joined;
    step.offer(&sum.offer()).unwrap();
    let digest = step.digest();
    let decision = keys.decided(&step.decide().unwrap().for_ranges(0..1)).unwrap();
    let mut values = Vec::new();
    sum.chosen(&decision).unwrap().noise().visit(|first, run| {
        values.push((first, run.iter().map(|value| value.to_bits()).collect()));
    });
    (digest, values)
}

#[test]
fn parts_of_any_buckets_make_the_same_sum_and_release() {
    let by = By::Coordinate;
    let drawn = SelectionSettings::Exponential { by, draws: 9, epsilon: 1.0, cap: 0.1 };
    for selection in [SelectionSettings::Everything, by_counts(), drawn] {
        let plan = plan(selection);
        let whole = joined(&plan, &[], false);
        assert!(whole.sum.memory.sum.not_finite() > 0);
        let within = whole.sum.memory.sum.within();
        let released_whole = released(whole);
        assert!(!released_whole.1.is_empty());
        for (cuts, turned) in [(&[][..], true), (&[2_048], false), (&[1, 700, 4_095], true)] {
            let joined = joined(&plan, cuts, turned);
            assert_eq!(joined.sum.memory.sum.within(), within, "{cuts:?}");
            assert!(released(joined) == released_whole, "{cuts:?}");
        }
    }
}

#[test]
fn a_part_is_taken_once_and_where_it_belongs() {
    let plan = plan(SelectionSettings::Everything);
    let source = RandomSource::from_seed(5);
    let sampler = plan.sampler("training", 0, &source);
    let step = opened(&sampler, 3);
    let (mut batch, _) = gathered(&sampler, &step);
    let order = step.order();
    let made = |order: &BatchOrder, buckets| part(&sampler, order, buckets, false);
    let half = made(&order, 0..2_048);
    assert_eq!(add(&mut batch, &half), Ok(0..2_048));
    // Twice, as it is or in other parts: the broken twin would count its units twice.
    for buckets in [0..2_048, 0..1, 2_047..2_050, 0..BUCKETS] {
        let again = made(&order, buckets.clone());
        assert_eq!(add(&mut batch, &again), Err(PartError::Double { buckets }));
    }
    let late = BatchOrder { step: 2, ..order };
    let other = PartError::OtherStep { expected: 3, found: 2 };
    assert_eq!(add(&mut batch, &made(&late, 2_048..BUCKETS)), Err(other));
    let clip = BatchOrder { clip: 2.0, ..order };
    let other = PartError::OtherStep { expected: 3, found: 3 };
    assert_eq!(add(&mut batch, &made(&clip, 2_048..BUCKETS)), Err(other));
    let foreign = plan.sampler("training", 0, &RandomSource::from_seed(6));
    let foreign_order = opened(&foreign, 3).order();
    let bytes = part(&foreign, &foreign_order, 2_048..BUCKETS, false);
    assert_eq!(add(&mut batch, &bytes), Err(PartError::OtherRun));
    let curve = plan.sampler("curve", 0, &source);
    let bytes = part(&curve, &opened(&curve, 3).order(), 2_048..BUCKETS, false);
    assert_eq!(add(&mut batch, &bytes), Err(PartError::OtherRun), "another purpose");
    assert_eq!(add(&mut batch, &made(&order, 2_048..4_000)), Ok(2_048..4_000));
    assert_eq!(batch.missing().first(), Some(&(4_000..BUCKETS)));
    assert_eq!(batch.missing().len(), 1);
    assert!(batch.join().is_none(), "units of these buckets are missing");
    assert!(sampler.open(3, &paid(sampler.charge(3..4)), None).is_err(), "its turn has passed");
}

#[test]
fn what_is_damaged_is_refused() {
    let plan = plan(by_counts());
    let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
    let step = opened(&sampler, 3);
    let (mut batch, _) = gathered(&sampler, &step);
    let bytes = part(&sampler, &step.order(), 0..40, false);
    assert_eq!(parts_of(&[]), Ok(Vec::new()), "of no range");
    for end in 1..bytes.len() {
        assert!(matches!(parts_of(&bytes[..end]), Err(PartError::Damaged(_))), "{end}");
    }
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x40;
        assert!(read(&batch, &damaged).is_err(), "{place}");
    }
    assert_eq!(add(&mut batch, &bytes), Ok(0..40));
}

/// A clip that was released goes to the workers with the order.
#[test]
fn workers_clip_to_what_was_released() {
    let plan = plan(SelectionSettings::Everything).adapting(AdaptiveClip::new(0.5, 1.0)).unwrap();
    let sums = [0.01, 1.0].map(|clip| {
        let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
        let step = at_clip(&sampler, 3, Some(ReleasedClip::saved(clip)));
        let (mut batch, _) = gathered(&sampler, &step);
        let bytes = part(&sampler, &step.order(), 0..BUCKETS, false);
        add(&mut batch, &bytes).unwrap();
        batch.join().unwrap().memory.sum.all_values().collect::<Vec<i64>>()
    });
    // All gradients are beyond both clips, and in steps of the clip the same.
    assert_eq!(sums[0], sums[1]);
}

#[test]
fn nothing_private_is_printed() {
    let plan = plan(SelectionSettings::Everything);
    let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
    let keys = sampler.bucket_keys(3..5);
    assert_eq!(format!("{keys:?} {:?}", opened(&sampler, 1)), "BucketKeys(3..5) PaidStep(1)");
    let units = BucketUnits::by_name(["one", "other"], 3..5);
    let settings = sampler.worker_settings().unwrap();
    let worker = BucketSampler::new(settings.clone(), shape(), keys.clone(), units).unwrap();
    assert_eq!(format!("{worker:?}"), "BucketSampler(BucketUnits(3..5))");
    let others = BucketUnits::by_name(["one"], 3..6);
    assert!(BucketSampler::new(settings.clone(), shape(), keys.clone(), others.clone()).is_err());
    let other = Shape::table(500, 3).unwrap();
    assert!(BucketSampler::new(settings, other, keys, others).is_err());
}
