//! A bound by Renyi divergences lies above the tight figure of the same run, and not too far above.
#![allow(clippy::unwrap_used)]

use organza_accountant::rdp::Accountant;
use organza_ledger::{Event, Neighbouring};

/// The epsilon of `steps` steps on batches of rate `rate`.
fn epsilon(step: Event, rate: f64, steps: u64, delta: f64) -> f64 {
    let run = step.poisson(rate).repeat(steps);
    Accountant::new(Neighbouring::AddRemove).compose(&run).unwrap().epsilon(delta).unwrap()
}

fn between(ours: f64, tight: f64, loosest: f64) {
    assert!(ours >= tight && ours <= loosest * tight, "{ours} for {tight}");
}

#[test]
fn sampled_gaussians() {
    for (rate, noise_multiplier, steps, delta, tight) in [
        (0.01, 1.0, 1000, 1e-5, 1.828_236_439_8),
        (0.001, 0.8, 10_000, 1e-6, 0.947_195_161_1),
        (0.1, 2.0, 100, 1e-6, 2.675_035_300_1),
        (0.004, 1.1, 2500, 1e-5, 0.885_181_799_7),
        (0.0001, 0.5, 200_000, 1e-5, 2.417_893_628_3),
        (0.0001, 0.32, 200_000, 1e-5, 22.347_901_787),
        (0.02, 5.0, 5000, 1e-7, 1.371_832_297_4),
    ] {
        between(epsilon(Event::Gaussian { noise_multiplier }, rate, steps, delta), tight, 1.9);
    }
}

#[test]
fn sampled_laplace_noise() {
    for (noise_multiplier, rate, steps, delta, tight) in [
        (1.0, 1.0, 10, 1e-5, 9.989_961_087_9),
        (5.0, 1.0, 100, 1e-6, 10.276_276_621_9),
        (1.0, 0.01, 1000, 1e-5, 1.116_641_651_3),
        (0.5, 0.05, 200, 1e-6, 7.748_215_829_4),
    ] {
        between(epsilon(Event::Laplace { noise_multiplier }, rate, steps, delta), tight, 1.4);
    }
}

#[test]
fn selections_joined_with_noise() {
    // Whether draws are only known to be private, then draws, range, and the run.
    for (pure, range, draws, noise_multiplier, rate, steps, delta, tight) in [
        (true, 0.3, 10, 1.0, 0.01, 200, 1e-6, 2.822_948_116_8),
        (true, 0.1, 50, 0.8, 0.001, 5000, 1e-5, 0.995_988_515_4),
        (true, 0.283_786_953_7, 100, 0.5, 0.0001, 200_000, 1e-5, 36.899_104_818_2),
        (false, 0.3, 10, 1.0, 0.01, 200, 1e-6, 1.588_619_761_2),
        (false, 0.283_786_953_7, 100, 0.5, 0.0001, 200_000, 1e-5, 6.679_699_953_7),
        (false, 0.2, 64, 0.7, 0.002, 3000, 1e-6, 3.533_247_691_4),
    ] {
        let selection = if pure {
            Event::Pure { epsilon: range }.repeat(draws)
        } else {
            Event::Exponential { epsilon: range, draws, candidates: None, cap: None, l2: None }
        };
        let step = Event::Compose(vec![selection, Event::Gaussian { noise_multiplier }]);
        between(epsilon(step, rate, steps, delta), tight, 1.9);
    }
}
