//! Counts, moments and steps of click models, with a user more.

use crate::drawn::{SEED, batch};
use crate::{Compared, l2, worst};
use organza_clicks::ClickData;
use organza_clicks::testing::{SmallRow, buckets, data, moments, task};
use organza_ledger::Neighbouring;
use organza_mechanism::{FlatRows, NoiseSettings, Plan, PlanSettings, SelectionSettings, Shape};
use organza_train::Task;

/// Little noise, so that the design of the moments is what the counts say.
const NOISE: f64 = 0.05;
/// Below the gradient of the user in question.
const CLIP: f64 = 0.2;
const BATCH: f64 = 15.0;
const STEPS: u64 = 8;

type User = (String, Vec<SmallRow>);

fn row(number: u32) -> SmallRow {
    let numbers = [(number % 7) as f32 / 7.0, (number % 3) as f32 / 3.0];
    (numbers, [number % 3, 4 + number * number % 3], f64::from(u8::from(number % 4 == 1)))
}

/// Users that all neighbours share.
fn shared() -> Vec<User> {
    let rows = |user: u32| (0..1 + user % 5).map(|at| row(user * 7 + at)).collect();
    (0..40).map(|user| (format!("u{user}"), rows(user))).collect()
}

/// The rows of the user in question: one, the same many times, or all kinds.
fn users() -> [Vec<SmallRow>; 3] {
    let clicked = ([1.0, 1.0], [3, 7], 1.0);
    [
        vec![clicked],
        vec![clicked; 500],
        (0..200).map(|at| ([0.5, 0.1], [at % 4, 4 + at % 3], f64::from(at % 2))).collect(),
    ]
}

fn of(users: &[User]) -> ClickData {
    let named: Vec<(&str, &[SmallRow])> =
        users.iter().map(|(name, rows)| (name.as_str(), rows.as_slice())).collect();
    data(&named)
}

/// A user whose rows are all there, bounded as one.
fn together(rows: &[SmallRow]) -> Vec<User> {
    vec![("last".to_owned(), rows.to_vec())]
}

/// The broken twin: each row is bounded as if it were of a user of its own.
fn apart(rows: &[SmallRow]) -> Vec<User> {
    rows.iter().enumerate().map(|(at, row)| (format!("last{at}"), vec![*row])).collect()
}

/// How far what is released of neighbours is apart.
fn compared(last: &[User]) -> [Compared; 2] {
    let without = of(&shared());
    let with = of(&[shared(), last.to_vec()].concat());
    let [one, other] = [&without, &with].map(|data| buckets(data, NOISE, SEED).unwrap());
    let counted = Compared::new("clicks and views", l2(&one, &other), 1.0);
    // What the second release follows is the first, of either neighbour.
    let moments = [&without, &with].into_iter().map(|first| {
        let [one, other] = [&without, &with].map(|data| moments(data, first, NOISE, SEED).unwrap());
        Compared::new("second moments", l2(&one, &other), 1.0)
    });
    [counted, worst(moments)]
}

#[test]
fn counts_and_moments_move_by_no_more_than_one() {
    for rows in users() {
        for compared in compared(&together(&rows)) {
            assert!(!worst([compared.clone()]).violates(), "{compared}");
        }
    }
    let [counted, _] = compared(&together(&users()[1]));
    assert!(counted.found > 0.9, "the bound is nearly met: {counted}");
}

#[test]
fn a_user_who_is_bounded_row_by_row_is_caught() {
    for compared in compared(&apart(&users()[1])) {
        eprint!("twin: ");
        assert!(worst([compared]).violates());
    }
}

/// What a step releases at some parameters, with the noise of its number.
fn step(data: ClickData, dimensions: usize, number: u64) -> Vec<f64> {
    let task = task(data, dimensions);
    let shape = task.shape().unwrap();
    let count = shape.coordinates() as usize;
    let plan = Plan::new(PlanSettings {
        shape,
        neighbouring: Neighbouring::AddRemove,
        rate: 0.5,
        expected_batch: BATCH,
        clip: CLIP,
        selection: SelectionSettings::Everything,
        noise: NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None },
    });
    let weights: Vec<f32> = (0..count).map(|place| (place % 5) as f32 / 10.0 - 0.2).collect();
    let weights = FlatRows::new(Shape::tables(&task.tables()).unwrap(), &weights);
    let sum = batch(&plan.unwrap(), task.units(), number)
        .sum(|unit, gradient| task.gradient(unit, &[], &weights, gradient));
    let mut released = vec![0.0; count];
    sum.select().noise().visit(|first, run| {
        let place = released[first as usize..].iter_mut();
        place.zip(run).for_each(|(to, value)| *to = f64::from(*value));
    });
    released
}

fn steps(last: &[User], dimensions: usize) -> Vec<Compared> {
    let of_step = |number: u64| {
        let [one, other] = [Vec::new(), last.to_vec()]
            .map(|last| step(of(&[shared(), last].concat()), dimensions, number));
        let name = format!("step {number} with vectors of {dimensions}");
        Compared::new(name, l2(&one, &other), CLIP / BATCH)
    };
    (0..STEPS).map(of_step).collect()
}

#[test]
fn a_step_moves_by_no_more_than_the_clip_of_a_user() {
    for dimensions in [0, 3] {
        let all = steps(&together(&users()[2]), dimensions);
        assert!(all.iter().any(|it| it.found == 0.0), "the user does not join every batch");
        assert!(all.iter().any(|it| it.found > 0.9 * it.stated), "and counts where it joins");
        let worst = worst(all);
        assert!(!worst.violates(), "{worst}");
    }
}

#[test]
fn a_step_that_clips_row_by_row_is_caught() {
    eprint!("twin: ");
    assert!(worst(steps(&apart(&users()[2]), 0)).violates());
}
