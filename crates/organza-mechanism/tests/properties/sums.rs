//! A sum depends on its units alone: not on their order, the parts or the threads.

use crate::support::{any_value, batch, cases, released, selections, settings, sum, unit, write};
use organza_mechanism::{PartSum, Plan};
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn order_parts_and_threads_do_not_show(
        units in prop::collection::vec(unit(any_value()), 0..12),
        turn in 0_usize..12,
        parts in 0_usize..15,
        kind in 0_usize..9,
        second_clip in prop::option::of(0.01..2.0),
    ) {
        let plan = Plan::new(settings(selections()[kind].clone(), second_clip)).unwrap();
        let whole = sum(&plan, &units);
        let not_finite = whole.not_finite();
        let whole = released(whole);

        let mut turned = units.clone();
        turned.rotate_left(turn.min(units.len()));
        turned.reverse();
        prop_assert_eq!(&released(sum(&plan, &turned)), &whole);

        let mut sums: Vec<PartSum> = std::thread::scope(|scope| {
            let threads: Vec<_> = batch(&plan, &units)
                .split(parts)
                .into_iter()
                .map(|part| {
                    let units = &units;
                    scope.spawn(move || part.sum(|unit, rows| write(&units[unit as usize], rows)))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let turn = turn % sums.len();
        sums.rotate_left(turn);
        let joined = PartSum::join(sums).unwrap();
        prop_assert_eq!(joined.not_finite(), not_finite);
        prop_assert_eq!(&released(joined), &whole);
    }

    #[test]
    fn a_missing_or_doubled_part_is_refused(
        units in prop::collection::vec(unit(any_value()), 0..12),
        parts in 2_usize..6,
        which in 0_usize..6,
    ) {
        let plan = Plan::new(settings(selections()[0].clone(), None)).unwrap();
        let sums = || -> Vec<PartSum> {
            let parts = batch(&plan, &units).split(parts);
            parts.into_iter().map(|part| part.sum(|unit, rows| write(&units[unit as usize], rows))).collect()
        };
        let which = which % parts;
        let mut missing = sums();
        missing.remove(which);
        prop_assert!(PartSum::join(missing).is_none());
        let mut doubled = sums();
        doubled.push(sums().remove(which));
        prop_assert!(PartSum::join(doubled).is_none());
        let mut replaced = sums();
        replaced[which] = sums().remove((which + 1) % parts);
        prop_assert!(PartSum::join(replaced).is_none());
    }
}

#[test]
fn parts_of_different_drawings_are_refused() {
    let plan = Plan::new(settings(selections()[0].clone(), None)).unwrap();
    let parts = |step: u64| -> Vec<PartSum> {
        let batch = crate::support::batch_of(&plan, 3, step);
        batch.split(2).into_iter().map(|part| part.sum(|_, _| ())).collect()
    };
    assert!(PartSum::join(parts(1)).is_some());
    for step in [1, 2] {
        // Also of the same step, drawn twice: a unit might stand in both parts.
        let mixed = [parts(1).swap_remove(0), parts(step).swap_remove(1)];
        assert!(PartSum::join(mixed).is_none());
    }
    assert!(PartSum::join([]).is_none());
}
