//! Epsilon over delta and over the number of steps, drawn.

use crate::{
    answer::Asked,
    chart::{self, Axis, Chart, Line, Scale},
    describe::count,
    digits::cost,
    document::Accountant,
};
use anyhow::Context;
use organza_accountant::pld;
use organza_ledger::{Event, Neighbouring};
use std::{fs, path::Path};

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
    let priced = Priced { neighbouring };
    let mut charts = vec![over_delta(&priced, event, answer)];
    if let Event::Repeat { times, event } = event {
        charts.push(over_steps(&priced, event, *times, answer));
    }
    let picture = chart::picture(&charts);
    fs::write(path, picture).with_context(|| format!("cannot write {}", path.display()))
}

/// How a point is computed.
struct Priced {
    neighbouring: Neighbouring,
}

impl Priced {
    /// Epsilon by loss distributions, where there is one.
    fn tight(&self, event: &Event, delta: f64) -> Option<f64> {
        let account = pld::Accountant::new(self.neighbouring).precision(PRECISION);
        account.compose(event).ok()?.epsilon(delta).ok().map(|guarantee| guarantee.epsilon)
    }

    /// Epsilon by Renyi divergences, where there is one.
    fn renyi(&self, event: &Event, delta: f64) -> Option<f64> {
        let answer = Accountant::Rdp.answer(event, self.neighbouring, Asked::EpsilonAt { delta });
        answer.ok().map(|answer| answer.epsilon)
    }

    /// Both curves over the places, each an event and a delta.
    fn lines(&self, places: &[(f64, Event, f64)]) -> Vec<Line> {
        let along = |price: &dyn Fn(&Event, f64) -> Option<f64>| -> Vec<(f64, f64)> {
            let points = places.iter();
            points.filter_map(|(at, event, delta)| Some((*at, price(event, *delta)?))).collect()
        };
        vec![
            Line {
                name: "pld".to_owned(),
                points: along(&|event, delta| self.tight(event, delta)),
            },
            Line {
                name: "rdp".to_owned(),
                points: along(&|event, delta| self.renyi(event, delta)),
            },
        ]
    }
}

fn over_delta(priced: &Priced, event: &Event, (delta, epsilon): (f64, f64)) -> Chart {
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
        horizontal: Axis { label: "delta".to_owned(), scale: Scale::Logarithmic },
        vertical: Axis { label: "epsilon".to_owned(), scale: Scale::Linear },
        lines: priced.lines(&places),
        mark: Some((delta, epsilon, format!("({}, {})", cost(epsilon), cost(delta)))),
    }
}

fn over_steps(priced: &Priced, step: &Event, times: u64, (delta, epsilon): (f64, f64)) -> Chart {
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
        horizontal: Axis {
            label: format!("steps, at delta {}", cost(delta)),
            scale: Scale::Linear,
        },
        vertical: Axis { label: "epsilon".to_owned(), scale: Scale::Linear },
        lines: priced.lines(&places),
        mark: Some((times as f64, epsilon, format!("{} at {}", cost(epsilon), count(times)))),
    }
}

fn share(index: usize) -> f64 {
    index as f64 / (POINTS - 1) as f64
}
