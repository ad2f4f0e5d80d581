//! How long the usual questions take.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use organza_accountant::calibrate::{Target, scale_of_steps};
use organza_accountant::pld::Accountant;
use organza_ledger::{Event, Neighbouring};
use std::hint::black_box;

fn epsilon(event: &Event) -> f64 {
    Accountant::new(Neighbouring::AddRemove)
        .compose(black_box(event))
        .and_then(|account| account.epsilon(1e-5))
        .map_or(f64::NAN, |answer| answer.epsilon)
}

fn questions(criterion: &mut Criterion) {
    let run = |step: Event| step.poisson(1e-4).repeat(200_000);
    let noise = Event::Gaussian { noise_multiplier: 0.5 };
    let draws =
        Event::Exponential { epsilon: 0.283_79, draws: 100, candidates: None, cap: None, l2: None };
    let sampled = run(noise.clone());
    criterion.bench_function("sampled gaussian", |bench| bench.iter(|| epsilon(&sampled)));
    let selected = run(Event::Compose(vec![draws, noise]));
    criterion.bench_function("bounded range and noise", |bench| bench.iter(|| epsilon(&selected)));
    let step = |noise_multiplier| Some(Event::Gaussian { noise_multiplier });
    criterion.bench_function("calibrate", |bench| {
        bench.iter(|| scale_of_steps(&Target::new(3.0, 1e-5), 1e-4, 200_000, step));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = questions
}
criterion_main!(benches);
