//! Epsilon over delta and over the number of steps, drawn.

use crate::{
    answer::{Measure, Query},
    chart::{self, Axis, Chart, Line},
    describe::count,
    digits::cost,
    document::Accountant,
    files,
};
use organza_accountant::pld;
use organza_ledger::{Event, Neighbouring};
use std::path::Path;

/// The number of points on a curve.
const POINTS: usize = 25;
/// Far below what an eye can see, and far quicker than the precision of a figure to quote.
const PRECISION: f64 = 1e-3;
/// How far beyond the asked number of steps the curve goes.
const BEYOND: f64 = 1.5;

/// Writes the curves of `event` with the answer, a (delta, epsilon), marked.
pub(crate) fn draw(
    path: &Path,
    event: &Event,
    neighbouring: Neighbouring,
    answer: (f64, f64),
) -> anyhow::Result<()> {
    let mut charts = vec![over_delta(neighbouring, event, answer)];
    if let Event::Repeat { times, event } = event {
        charts.push(over_steps(neighbouring, event, *times, answer));
    }
    files::write(path, chart::picture(&charts))
}

/// Both curves over the places, each an event and a delta: epsilon where there is one.
fn lines(neighbouring: Neighbouring, places: &[(f64, Event, f64)]) -> Vec<Line> {
    let tight = |event: &Event, delta: f64| {
        let account = pld::Accountant::new(neighbouring).precision(PRECISION).compose(event);
        account.ok()?.epsilon(delta).ok().map(|guarantee| guarantee.epsilon)
    };
    let renyi = |event: &Event, delta: f64| {
        let asked = Measure::EpsilonAt { delta };
        let answer = Accountant::Rdp.answer(Query { event, neighbouring, asked });
        answer.ok().map(|answer| answer.epsilon)
    };
    let along = |name: &str, price: &dyn Fn(&Event, f64) -> Option<f64>| {
        let points = places.iter();
        let points = points.filter_map(|(at, event, delta)| Some((*at, price(event, *delta)?)));
        Line { name: name.to_owned(), points: points.collect() }
    };
    vec![along("pld", &tight), along("rdp", &renyi)]
}

fn over_delta(neighbouring: Neighbouring, event: &Event, (delta, epsilon): (f64, f64)) -> Chart {
    let low = (delta / 100.0).clamp(1e-30, 1e-12);
    let high = (delta * 100.0).clamp(1e-3, 0.5);
    let places: Vec<_> = (0..POINTS)
        .map(|index| {
            let delta = low * (high / low).powf(share(index));
            (delta, event.clone(), delta)
        })
        .collect();
    Chart {
        title: "epsilon over delta".to_owned(),
        horizontal: Axis::logarithmic("delta"),
        vertical: Axis::linear("epsilon"),
        lines: lines(neighbouring, &places),
        mark: Some((delta, epsilon, format!("({}, {})", cost(epsilon), cost(delta)))),
    }
}

fn over_steps(
    neighbouring: Neighbouring,
    step: &Event,
    times: u64,
    (delta, epsilon): (f64, f64),
) -> Chart {
    let most = BEYOND * times as f64;
    let places: Vec<_> = (0..POINTS)
        .map(|index| {
            // Closer together at the start, where the curve bends.
            let steps = (most * share(index).powi(2)).round();
            (steps, step.clone().repeat(steps as u64), delta)
        })
        .collect();
    Chart {
        title: "epsilon over steps".to_owned(),
        horizontal: Axis::linear(format!("steps, at delta {}", cost(delta))),
        vertical: Axis::linear("epsilon"),
        lines: lines(neighbouring, &places),
        mark: Some((times as f64, epsilon, format!("{} at {}", cost(epsilon), count(times)))),
    }
}

fn share(index: usize) -> f64 {
    index as f64 / (POINTS - 1) as f64
}
