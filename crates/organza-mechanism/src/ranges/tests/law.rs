//! What ranges release together is what one place releases.

use super::*;

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
    let (draws, epsilon) = (900, 3.0);
    let coordinates =
        SelectionSettings::Exponential { by: By::Coordinate, draws, epsilon, cap: 0.3 };
    let uniform = SelectionSettings::Uniform { by, draws };
    let most_used = SelectionSettings::LimitedDomain {
        draws: 60,
        domain: 200,
        rows_per_unit: 2,
        epsilon,
        delta: 1e-3,
    };
    let rules = [
        (SelectionSettings::Everything, 0.1),
        (drawn, 0.01),
        (coordinates, 0.01),
        (uniform, 0.01),
        (most_used, 0.01),
    ];
    for (selection, most) in rules {
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
                assert!((whole / most - 1.0).abs() < 0.01 && twin > 1.4 * most, "{whole} {twin}");
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
