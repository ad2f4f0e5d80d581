//! What is not of this run, step, range or sum is refused.

use super::*;

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
