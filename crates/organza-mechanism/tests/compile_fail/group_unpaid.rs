//! Nor is a group visited without one.
use organza_mechanism::GroupSampler;

fn step(sampler: &GroupSampler) {
    let _ = sampler.batch(0, |_| 10);
}

fn main() {}
