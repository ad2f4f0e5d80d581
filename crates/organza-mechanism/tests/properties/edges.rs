//! Steps with next to nothing in them.

use crate::support::{batch_of, selections, settings, sum, values};
use organza_mechanism::{By, Plan, SelectionSettings, Shape};

#[test]
fn an_empty_batch_is_an_ordinary_step() {
    for selection in selections() {
        for second_clip in [None, Some(0.5)] {
            let plan = Plan::new(settings(selection.clone(), second_clip)).unwrap();
            let empty = sum(&plan, &[]).select();
            let without_rows = sum(&plan, &[vec![], vec![]]).select();
            assert_eq!(empty.selection(), without_rows.selection());
            let empty = values(&empty.noise());
            assert_eq!(empty, values(&without_rows.noise()));
            if selection == SelectionSettings::Everything {
                assert!(empty.iter().any(|(_, run)| run.iter().any(|value| *value != 0.0)));
            }
        }
    }
}

#[test]
fn gradients_that_are_not_finite_count_as_zero() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for selection in selections() {
            let plan = Plan::new(settings(selection, None)).unwrap();
            let good = vec![(3, vec![0.5, 0.1, 0.2])];
            let spoilt = vec![(3, vec![0.5, bad, 0.2]), (50, vec![1.0; 5])];
            let without = sum(&plan, &[good.clone(), vec![]]);
            let with = sum(&plan, &[good, spoilt]);
            assert_eq!((without.not_finite(), with.not_finite()), (0, 1));
            let (without, with) = (without.select(), with.select());
            assert_eq!(without.selection(), with.selection());
            assert_eq!(values(&without.noise()), values(&with.noise()));
        }
    }
}

#[test]
fn one_coordinate_is_enough() {
    for by in [By::Coordinate, By::Row] {
        for selection in [
            SelectionSettings::Everything,
            SelectionSettings::Exponential { by, draws: 1, epsilon: 1.0, cap: 1.0 },
            SelectionSettings::Uniform { by, draws: 1 },
        ] {
            let mut settings = settings(selection, None);
            settings.shape = Shape::table(1, 1).unwrap();
            let plan = Plan::new(settings).unwrap();
            let rows = vec![(0, vec![0.25])];
            let noised = sum(&plan, &[rows]).select().noise();
            let runs = values(&noised);
            assert!(runs.len() == 1 && runs[0].0 == 0 && runs[0].1.len() == 1);
        }
    }
}

#[test]
fn a_row_beyond_the_last_does_not_exist() {
    let plan = Plan::new(settings(SelectionSettings::Everything, None)).unwrap();
    batch_of(&plan, 1, 0).sum(|_, gradient| {
        assert!(gradient.row(59).is_some());
        assert!(gradient.row(60).is_none() && gradient.row(u32::MAX).is_none());
    });
}
