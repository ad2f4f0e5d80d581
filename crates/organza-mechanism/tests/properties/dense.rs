//! Dense tables get noise in every step, whatever is selected of the others, and cost what noise on all of them costs.

use crate::support::{
    Rows, TABLES, cases, finite_value, released, selections_of, settings, sum, unit,
};
use organza_ledger::Event;
use organza_mechanism::{By, Choice, NoiseSettings, Plan, PlanSettings, SelectionSettings, Shape};
use proptest::prelude::*;

/// The second table is dense.
fn dense_shape() -> Shape {
    Shape::tables(&TABLES).unwrap().with_dense(1).unwrap()
}

fn dense_settings(selection: SelectionSettings) -> PlanSettings {
    PlanSettings { shape: dense_shape(), ..settings(selection, None) }
}

proptest! {
    #![proptest_config(cases(60))]

    /// What is selected is of the first table, in order and each once; all of the second follows.
    #[test]
    fn no_selection_leaves_them_out_or_takes_them_twice(
        units in prop::collection::vec(unit(finite_value()), 0..6),
        number in 0..selections_of(&dense_shape()).len(),
    ) {
        let plan = Plan::new(dense_settings(selections_of(&dense_shape())[number].clone())).unwrap();
        let (choice, runs) = released(sum(&plan, &units));
        let Choice::Some { by, indices } = choice else { return Ok(()) };
        let (before, all) = match by {
            By::Row => (40, 60),
            By::Coordinate => (120, 220),
        };
        prop_assert!(indices.is_sorted_by(|one, other| one < other));
        let dense: Vec<u64> = indices.iter().copied().filter(|index| *index >= before).collect();
        prop_assert_eq!(dense, (before..all).collect::<Vec<_>>());
        let noised = runs.iter().map(|(first, run)| {
            let end = first + run.len() as u64;
            end.max(120) - (*first).max(120).min(end.max(120))
        });
        prop_assert_eq!(noised.sum::<u64>(), 100);
    }
}

/// A unit may put all of its gradient there, where no selection hides any of it: the account is that of selection and of noise,
/// one after the other. The broken twin, a plan that does not know of them, has the joint account, which is for noise on
/// what is selected alone.
#[test]
fn they_are_not_hidden_by_a_selection() {
    for selection in selections_of(&dense_shape()) {
        let plan = Plan::new(dense_settings(selection.clone())).unwrap();
        let twin = Plan::new(settings(selection.clone(), None)).unwrap();
        let joint = |event: &Event| match event {
            Event::Poisson { event, .. } => {
                matches!(**event, Event::Selected { .. } | Event::UniformMask { .. })
            }
            _ => false,
        };
        assert!(!joint(plan.step_event()), "{selection:?}");
        let hides = matches!(
            selection,
            SelectionSettings::Exponential { .. } | SelectionSettings::Uniform { .. }
        );
        assert_eq!(joint(twin.step_event()), hides, "{selection:?}");
    }
}

/// The second clip bounds what was selected and the dense part together, by noise that knows how many they are.
#[test]
fn they_count_where_rounding_costs_noise() {
    let selection =
        SelectionSettings::Exponential { by: By::Row, draws: 3, epsilon: 1.0, cap: 1.0 };
    let plan = Plan::new(dense_settings(selection)).unwrap();
    assert_eq!(plan.most_selected(), 3 * 3 + 100);
    let units: Vec<Rows> = vec![vec![(50, vec![3.0; 5])]];
    assert!(released(sum(&plan, &units)).1.iter().any(|(first, _)| *first >= 120));
}

#[test]
fn laplace_noise_is_refused() {
    let selection = SelectionSettings::SparseVector {
        by: By::Coordinate,
        hits: 2,
        order: Default::default(),
        threshold: 0.3,
        threshold_epsilon: 1.0,
        query_epsilon: 1.0,
        cap: None,
    };
    let noise = NoiseSettings::Laplace { epsilon: 1.0 };
    let settings = dense_settings(selection);
    assert!(Plan::new(PlanSettings { noise, ..settings.clone() }).is_err());
    let shape = Shape::tables(&TABLES).unwrap();
    assert!(Plan::new(PlanSettings { noise, shape, ..settings }).is_ok());
}

#[test]
fn there_is_another_table_beside_them() {
    assert!(Shape::tables(&TABLES).unwrap().with_dense(2).is_err());
    let shape = dense_shape();
    assert_eq!((shape.candidates(By::Row), shape.candidates(By::Coordinate)), (40, 120));
}
