//! Settings that were not checked make no sampler.
use organza_mechanism::PlanSettings;

fn sampler(settings: &PlanSettings) {
    let _ = settings.sampler("training", 100);
}

fn main() {}
