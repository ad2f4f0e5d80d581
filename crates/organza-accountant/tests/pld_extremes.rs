//! Extreme questions are answered or refused with a reason, quickly, and never with nonsense.
#![allow(clippy::unwrap_used)]

use organza_accountant::pld::Accountant;
use organza_ledger::{AccountError, Event, MaxNoise, Neighbouring};
use std::time::{Duration, Instant};

fn ask(event: &Event, delta: f64) -> Result<f64, AccountError> {
    Accountant::new(Neighbouring::AddRemove)
        .compose(event)?
        .epsilon(delta)
        .map(|answer| answer.epsilon)
}

#[test]
fn sampled_gaussians_of_every_size() {
    let mut slowest = Duration::ZERO;
    let begin = Instant::now();
    for sigma in [0.05, 0.2, 1.0, 30.0, 1e4] {
        for rate in [1e-9, 1e-5, 0.01, 0.5, 0.999, 1.0] {
            for steps in [1, 7, 3000, 1_000_000_000] {
                let mut before = f64::INFINITY;
                for delta in [1e-15, 1e-9, 1e-5, 0.02, 0.5] {
                    let event = Event::Gaussian { noise_multiplier: sigma };
                    let one = ask(&event.clone().poisson(rate), delta).unwrap();
                    let start = Instant::now();
                    let all = ask(&event.poisson(rate).repeat(steps), delta).unwrap();
                    let took = start.elapsed();
                    if took > slowest {
                        slowest = took;
                    }
                    println!("{sigma} {rate} {steps} {delta} {all} {took:?}");
                    assert!(all >= 0.0 && all.is_finite());
                    if all < one * (1.0 - 1e-9) {
                        println!("BAD {sigma} {rate} {steps} {delta}: {all} < {one}");
                    }
                    if all > before * (1.0 + 1e-3) + 1e-9 {
                        println!("BAD {sigma} {rate} {steps} {delta}: {all} > {before}");
                    }
                    before = all;
                }
            }
        }
    }
    println!("slowest {slowest:?} all {:?}", begin.elapsed());
}
