//! Ranges together are the whole: what is selected, clipped again and released; and nothing is drawn that no driver has charged.
#![allow(clippy::unwrap_used)]

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

/// All rules: what is selected from the sizes of all ranges is what would be selected in one place.
#[test]
fn the_selection_is_that_of_one_place() {
    let (draws, epsilon, cap) = (40, 3.0, 0.3);
    let mut rules = vec![SelectionSettings::LimitedDomain {
        draws,
        domain: 200,
        rows_per_unit: 2,
        epsilon,
        delta: 1e-3,
    }];
    for by in [By::Row, By::Coordinate] {
        rules.push(SelectionSettings::Exponential { by, draws, epsilon: 0.01, cap });
        rules.push(SelectionSettings::Exponential { by, draws, epsilon: 30.0, cap });
        rules.push(SelectionSettings::Uniform { by, draws });
        let noise = MaxNoise::Laplace;
        rules.push(SelectionSettings::NoisyMax { by, draws, epsilon, noise, cap: Some(cap) });
        for (threshold_epsilon, cap) in [(9.0, None), (0.5, Some(cap))] {
            rules.push(SelectionSettings::SparseVector {
                by,
                hits: draws,
                order: PassOrder::FromRandom,
                threshold: 0.1,
                threshold_epsilon,
                query_epsilon: threshold_epsilon,
                cap,
            });
        }
    }
    for rule in rules {
        let (sampler, sums, step, _) = all(rule.clone());
        let expected = in_one_place(&sampler, 2).select();
        let decision = step.decide().unwrap();
        assert_eq!(decision.selection(), expected.selection(), "{rule:?}");
        // And what ranges make of it, by halves as two holders have them.
        let Choice::Some { by, indices } = expected.selection() else { panic!("it selects") };
        let mut found = Vec::new();
        for sum in sums {
            let half = if sum.range < 2 { 0..2 } else { 2..5 };
            let keys = sampler.range_keys(half.clone());
            let first = offer::first_of(&shape(), *by, sum.first);
            let own = keys.decided(&decision.for_ranges(half)).unwrap();
            let selected = sum.chosen(&own).unwrap();
            let Choice::Some { indices, .. } = selected.selection() else { panic!("as above") };
            found.extend(indices.iter().map(|index| index + first));
        }
        assert_eq!(found, *indices, "{rule:?}");
    }
}

/// What ranges release is what one place releases, but for the noise, which is small here: also where all that was selected is clipped to a
/// ball. In the twin each range has a ball of its own, and more comes through.
#[test]
fn the_second_clip_is_that_of_one_place() {
    let by = By::Row;
    let drawn = SelectionSettings::Exponential { by, draws: 60, epsilon: 3.0, cap: 0.3 };
    let norm = |values: &[(u64, f32)]| {
        values.iter().map(|(_, value)| f64::from(*value).powi(2)).sum::<f64>().sqrt()
    };
    for (selection, most) in [(SelectionSettings::Everything, 0.1), (drawn, 0.01)] {
        for second_clip in [Some(most), Some(0.8), None] {
            let plan = plan(selection.clone(), 1e-7, second_clip);
            let mut expected = Vec::new();
            let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
            in_one_place(&sampler, 2).select().noise().visit(|first, run| {
                expected.extend((first..).zip(run.iter().copied()));
            });
            let released = |own_ball: bool| {
                let (_, sums, step, keys) = of_plan(&plan);
                let decision = keys.decided(&step.decide().unwrap().for_ranges(0..5)).unwrap();
                let mut found: Vec<(u64, f32)> = Vec::new();
                for sum in sums {
                    let first = offer::first_of(&shape(), By::Coordinate, sum.first);
                    let mut selected = sum.chosen(&decision).unwrap();
                    if own_ball {
                        selected.squares = None;
                    }
                    selected.noise().visit(|start, run| {
                        found.extend((first + start..).zip(run.iter().copied()));
                    });
                }
                found
            };
            let found = released(false);
            assert_eq!(found.len(), expected.len());
            for (own, other) in found.iter().zip(&expected) {
                assert_eq!(own.0, other.0);
                assert!((own.1 - other.1).abs() < 1e-5, "{own:?} {other:?}");
            }
            if second_clip == Some(most) {
                let (whole, twin) = (norm(&found), norm(&released(true)));
                assert!((whole / most - 1.0).abs() < 0.01 && twin > 1.5 * most, "{whole} {twin}");
            }
        }
    }
}

/// One unit more moves what all ranges release together by S1 / b and no more, although it has rows in all of them. In the twin it is clipped in
/// each range by itself.
#[test]
fn a_unit_moves_all_ranges_together_by_its_clip() {
    let plan = plan(SelectionSettings::Everything, 1.0, None);
    let cut = RowRanges::of(&shape());
    let wide = |ranges: Range<u16>, to: &mut UnitGradient| {
        for range in ranges {
            to.row(cut.rows(range).start).unwrap()[1] = 100.0;
        }
    };
    let released = |units: u64, last: &(dyn Fn(u64, &mut UnitGradient) + Sync)| {
        let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
        let mut step = opened(&sampler, 2);
        let keys = sampler.range_keys(0..5);
        let sums = of_units(&sampler, &step, &keys, units, |unit, to| match unit {
            ..50 => gradient(unit, to),
            _ => last(unit, to),
        });
        sums.iter().for_each(|sum| {
            step.offer(&sum.offer()).unwrap();
        });
        let decision = keys.decided(&step.decide().unwrap().for_ranges(0..5)).unwrap();
        let mut values: Vec<f32> = Vec::new();
        for sum in sums {
            sum.chosen(&decision).unwrap().noise().visit(|_, run| values.extend_from_slice(run));
        }
        values
    };
    let without = released(50, &|_, _| ());
    let moved = |with: Vec<f32>| {
        let squares = with.iter().zip(&without).map(|(one, other)| f64::from(one - other).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let most = 1.0 / 20.0;
    let whole = moved(released(51, &|_, to| wide(0..5, to)));
    assert!((0.99..1.001).contains(&(whole / most)), "{whole}");
    let parted = |unit: u64, to: &mut UnitGradient| wide(unit as u16 - 50..unit as u16 - 49, to);
    let twin = moved(released(55, &parted));
    assert!(twin > 2.0 * most, "{twin}");
}

/// The joint clip of the next step follows all units, as in one place.
#[test]
fn the_clip_adapts_as_in_one_place() {
    let adapting = AdaptiveClip::new(0.5, 1.0);
    let plan = plan(SelectionSettings::Everything, 1.0, None).adapting(adapting).unwrap();
    let (sampler, sums, step, keys) = of_plan(&plan);
    let expected = in_one_place(&sampler, 2).select().noise().next_clip();
    let decision = step.decide().unwrap();
    assert!(expected.is_some() && decision.next_clip() == expected);
    let own = keys.decided(&decision.for_ranges(0..5)).unwrap();
    for sum in sums {
        // It is released once, and not by each range.
        assert_eq!(sum.chosen(&own).unwrap().noise().next_clip(), None);
    }
}

/// Ranges sum on the grid of the clip that was released, and release as one place does, but for the noise, which is next to none here. The twin
/// takes the clip of the plan.
#[test]
fn ranges_release_at_the_clip_of_the_step() {
    let adapting = AdaptiveClip::new(0.5, 1.0);
    let plan = plan(SelectionSettings::Everything, 0.005, None).adapting(adapting).unwrap();
    let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
    let keys = sampler.range_keys(0..5);
    let values = |sum: BatchSum| {
        let mut values = Vec::new();
        sum.select().noise().visit(|_, run| values.extend_from_slice(run));
        values
    };
    let far = |one: &[f32], other: &[f32]| {
        assert_eq!(one.len(), other.len());
        one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max)
    };
    for (step, clip) in [(3, 0.125), (4, 2.0)] {
        let clip = ReleasedClip::saved(clip);
        let mut paid_step = at_clip(&sampler, step, Some(clip));
        let sums = in_ranges(&sampler, &paid_step, &keys);
        sums.iter().for_each(|sum| {
            paid_step.offer(&sum.offer()).unwrap();
        });
        let decision = keys.decided(&paid_step.decide().unwrap().for_ranges(0..5)).unwrap();
        let mut found: Vec<f32> = Vec::new();
        for sum in sums {
            sum.chosen(&decision).unwrap().noise().visit(|_, run| found.extend_from_slice(run));
        }
        let expected = values(in_one_place_at(&sampler, step, plan.grid_at(clip)));
        // Noise of a deviation of at most 5e-4 in each of two releases, of 23,900 numbers.
        assert!(far(&found, &expected) < 6e-3, "{clip:?}");
        assert!(far(&found, &values(in_one_place(&sampler, step))) > 0.05, "the twin");
    }
}

/// The noise, the grid and the event of ranges are those of all rows, also after the settings have gone as text to another machine. In the twins,
/// ranges that know nothing of an adaptive clip have too little noise, and those that are taken for whole tables other noise.
#[test]
fn ranges_have_the_noise_of_all_rows() {
    let by = By::Row;
    let drawn = SelectionSettings::Exponential { by, draws: 60, epsilon: 3.0, cap: 0.3 };
    let everything = plan(SelectionSettings::Everything, 1.0, None);
    let replaced = PlanSettings {
        neighbouring: Neighbouring::ReplaceOne,
        ..plan(drawn.clone(), 1.0, Some(0.1)).settings().clone()
    };
    let narrow = PlanSettings {
        shape: Shape::tables(&[(1_500, 3), (3_600, 5)]).unwrap(),
        ..plan(drawn.clone(), 1.0, None).settings().clone()
    };
    let plans = [
        everything.clone(),
        everything.adapting(AdaptiveClip::new(0.5, 1.0)).unwrap(),
        plan(SelectionSettings::Everything, 1.0, Some(0.1)),
        plan(drawn, 2.0, Some(0.1)),
        Plan::new(replaced).unwrap(),
        Plan::new(narrow).unwrap().clipping_candidates(0.05).unwrap(),
    ];
    for plan in plans {
        let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
        let keys = RangeKeys::from_bytes(&sampler.range_keys(0..9).expose()).unwrap();
        let text = serde_json::to_string(&sampler.range_settings(None).unwrap()).unwrap();
        let settings: RangeSettings = serde_json::from_str(&text).unwrap();
        for range in settings.ranges(&keys).unwrap() {
            let own = range.plan();
            assert_eq!((own.noise(), own.grid()), (plan.noise(), plan.grid()));
            assert_eq!(own.step_event(), plan.step_event());
            assert_eq!(own.noise_deviation(), plan.noise_deviation());
        }
        if plan.adaptive().is_some() || plan.clips_candidates().is_some() {
            let twin = RangeSettings { adaptive: None, candidates: None, ..settings };
            let twin = twin.ranges(&keys).unwrap().remove(0);
            assert_ne!(twin.plan().noise(), plan.noise());
        }
    }
}

/// Two parts of the same buckets, which a worker made before and after its data changed, one for each of two holders: each is clipped by itself,
/// and together they move the step by more than the clip. Without the digest of the whole part nobody would see it.
#[test]
fn ranges_take_the_same_parts_or_nothing_is_decided() {
    let plan = plan(SelectionSettings::Everything, 1.0, None);
    let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
    let keys = sampler.range_keys(0..5);
    let changed = |unit: u64, to: &mut UnitGradient| {
        gradient(unit, to);
        // Of another unit's rows, which only the first range holds.
        if unit == 7 {
            to.row(1).unwrap()[0] += 1e-3;
        }
    };
    let same = |unit: u64, to: &mut UnitGradient| gradient(unit, to);
    let mut mixed = opened(&sampler, 2);
    let fresh = || RangeKeys::from_bytes(&keys.expose()).unwrap();
    let before = of_units(&sampler, &mixed, &fresh(), UNITS, same);
    let after = of_units(&sampler, &mixed, &fresh(), UNITS, changed);
    // What is counted is the same, and so are the sums of most ranges.
    assert_eq!(before[2].digest, after[2].digest);
    assert_ne!(before[0].digest, after[0].digest);
    mixed.offer(&before[0].offer()).unwrap();
    mixed.offer(&before[1].offer()).unwrap();
    for range in [2_u16, 3, 4] {
        let refused = mixed.offer(&after[usize::from(range)].offer());
        assert_eq!(refused, Err(PartError::OtherParts { range }));
    }
    assert!(mixed.decide().is_none());
}

/// The noise of ranges is of keys of their own: the same place in two ranges has other noise. The twin gives all ranges one key.
#[test]
fn no_two_ranges_have_the_same_noise() {
    let released = |keys: &dyn Fn(Vec<u8>) -> Vec<u8>| -> Vec<Vec<u32>> {
        let plan = plan(SelectionSettings::Everything, 1.0, None);
        let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
        let mut step = opened(&sampler, 2);
        let keys = RangeKeys::from_bytes(&keys(sampler.range_keys(0..5).expose())).unwrap();
        let sums = in_ranges(&sampler, &step, &keys);
        sums.iter().for_each(|sum| {
            step.offer(&sum.offer()).unwrap();
        });
        let decision = keys.decided(&step.decide().unwrap().for_ranges(0..5)).unwrap();
        let bits = |sum: RangeSum| {
            let mut bits = Vec::new();
            sum.chosen(&decision).unwrap().noise().visit(|_, run| {
                bits.extend(run.iter().map(|value| value.to_bits()));
            });
            bits
        };
        sums.into_iter().map(bits).collect()
    };
    // Most coordinates were touched by nobody.
    let alike = |ranges: &[Vec<u32>]| {
        let pairs = (0..5).flat_map(|one| (0..one).map(move |other| (one, other)));
        let alike = |(one, other): (usize, usize)| {
            ranges[one].iter().zip(&ranges[other]).filter(|(one, other)| one == other).count()
        };
        pairs.map(alike).max().unwrap()
    };
    let found = released(&|keys| keys);
    assert!(found.iter().all(|range| range.len() > 1_000));
    assert!(alike(&found) < 5, "{}", alike(&found));
    let one_key = |keys: Vec<u8>| {
        let (before, ranges) = keys.split_at(32 + 2);
        [before, &ranges[..32].repeat(ranges.len() / 32)].concat()
    };
    assert!(alike(&released(&one_key)) > 1_000);
}

#[test]
fn nothing_is_drawn_that_no_driver_has_charged() {
    let (sampler, mut sums, step, keys) = all(SelectionSettings::Everything);
    let ranges = sampler.range_settings(None).unwrap().ranges(&keys).unwrap();
    // An order without a seal, with that of another run, or changed.
    let order = step.order().to_bytes();
    assert_eq!(keys.opened(&order).unwrap_err(), PartError::NotSealed);
    let plan = plan(SelectionSettings::Everything, 1.0, None);
    let other = plan.sampler("training", 0, &RandomSource::from_seed(6));
    let foreign = opened(&other, 3).opening(0..5);
    assert_eq!(keys.opened(&foreign).unwrap_err(), PartError::NotSealed);
    let curve = plan.sampler("curve", 0, &RandomSource::from_seed(5));
    assert_eq!(keys.opened(&opened(&curve, 3).opening(0..5)).unwrap_err(), PartError::NotSealed);
    let good = step.opening(0..5);
    assert!(keys.decided(&good).is_err(), "an opening is no decision");
    // For whoever holds other rows.
    assert_eq!(keys.opened(&step.opening(2..5)).unwrap_err(), PartError::NotSealed);
    for place in 0..good.len() {
        let mut changed = good.clone();
        changed[place] ^= 1;
        assert_eq!(keys.opened(&changed).unwrap_err(), PartError::NotSealed, "{place}");
    }
    // Each step once.
    let paid = keys.opened(&good).unwrap();
    let again = ranges[1].gather(&paid).unwrap_err();
    assert_eq!(again, PartError::DrawnBefore { step: 2 });
    // Another sum than the one that was decided of, as it would be after a worker has changed.
    let decision = step.decide().unwrap();
    let sealed = decision.for_ranges(0..5);
    let own = keys.decided(&sealed).unwrap();
    let mut changed = sums.remove(1);
    changed.digest ^= 1;
    assert_eq!(changed.chosen(&own).unwrap_err(), PartError::OtherSum);
    assert!(keys.opened(&sealed).is_err(), "a decision is no opening");
    assert_eq!(keys.decided(&decision.for_ranges(2..5)).unwrap_err(), PartError::NotSealed);
    // One of fewer ranges does for those alone.
    let of_two = keys.decided(&decision.for_ranges(0..2)).unwrap();
    assert_eq!(sums[2].check(&of_two), Err(PartError::OtherSum));
    assert_eq!(sums[0].check(&of_two), Ok(()));
    let later = opened(&sampler, 3);
    let mut later_sums = in_ranges(&sampler, &later, &keys);
    let late = PartError::OtherStep { expected: 3, found: 2 };
    assert_eq!(later_sums.remove(0).chosen(&own).unwrap_err(), late);
    for place in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[place] ^= 1;
        assert_eq!(keys.decided(&changed).unwrap_err(), PartError::NotSealed, "{place}");
    }
    assert_eq!(keys.decided(&sealed[..7]).unwrap_err(), PartError::NotSealed);
}

#[test]
fn offers_are_taken_once_and_where_they_belong() {
    let by = By::Row;
    let drawn = SelectionSettings::Exponential { by, draws: 9, epsilon: 1.0, cap: 0.1 };
    let plan = plan(drawn, 1.0, None);
    let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
    let keys = sampler.range_keys(0..5);
    let mut step = opened(&sampler, 2);
    let sums = in_ranges(&sampler, &step, &keys);
    let offers: Vec<Vec<u8>> = sums.iter().map(RangeSum::offer).collect();
    for end in 0..offers[3].len() {
        assert!(step.offer(&offers[3][..end]).is_err(), "{end}");
    }
    assert_eq!(step.offer(&offers[3]), Ok(3));
    assert_eq!(step.offer(&offers[3]), Err(PartError::DoubleRange { range: 3 }));
    let mut elsewhere = offers[1].clone();
    elsewhere[32..34].copy_from_slice(&2_u16.to_le_bytes());
    assert!(step.offer(&elsewhere).is_err(), "its candidates are of another range");
    let mut of_others = offers[1].clone();
    of_others[42] ^= 1;
    assert!(step.offer(&of_others).is_err(), "a unit more than in other ranges");
    assert_eq!(step.missing(), [0..3, 4..5]);
    let mut other = opened(&sampler, 4);
    let late = PartError::OtherStep { expected: 4, found: 2 };
    assert_eq!(other.offer(&offers[0]), Err(late));
    assert!(other.decide().is_none(), "no range has made an offer");
    for range in [0, 1, 2, 4] {
        step.offer(&offers[range]).unwrap();
    }
    assert!(step.decide().is_some());
}

/// Noise that is left for later is left on the grid of all tables, or not at all.
#[test]
fn ranges_owe_what_all_rows_owe() {
    let shape = Shape::table(9_000, 4).unwrap();
    let settings = PlanSettings {
        shape: shape.clone(),
        ..plan(SelectionSettings::Everything, 1.0, None).settings().clone()
    };
    let plan = Plan::new(settings).unwrap();
    let sampler = plan.sampler("training", 0, &RandomSource::from_seed(5));
    let grid = DeferredGrid::new(shape.coordinates(), 100, 3.0, 1e-6).unwrap();
    let deferral = sampler.defer(&grid).unwrap();
    let charged = paid(deferral.charge());
    let owed = deferral.paid(charged).unwrap();
    let keys = sampler.range_keys(0..8);
    let ranges = sampler.range_settings(Some(&owed)).unwrap().ranges(&keys).unwrap();
    assert_eq!(ranges.len(), 8);
    for range in &ranges {
        let own = range.owed().unwrap();
        assert_eq!((own.unit(), own.deviation()), (owed.unit(), owed.deviation()));
    }
    assert!(sampler.range_settings(None).unwrap().ranges(&keys).unwrap()[0].owed().is_none());
    let other = plan.sampler("curve", 0, &RandomSource::from_seed(5));
    assert!(other.range_settings(Some(&owed)).is_none(), "it was paid for another purpose");
}

#[test]
fn nothing_private_is_printed() {
    let (sampler, sums, step, keys) = all(SelectionSettings::Everything);
    let range = &sampler.range_settings(None).unwrap().ranges(&keys).unwrap()[1];
    let own = format!("{keys:?} {range:?} {:?} {step:?}", sums[1]);
    assert_eq!(
        own,
        "RangeKeys(0..5) RowRange(1, rows 1160..2320) RangeSum(step 2, range 1) PaidStep(2)"
    );
    let decision = step.decide().unwrap();
    let told = keys.decided(&decision.for_ranges(0..5)).unwrap();
    assert_eq!(format!("{decision:?} {told:?}"), "Decision(step 2) RangeDecision(step 2)");
}
