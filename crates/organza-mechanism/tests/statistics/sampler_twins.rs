//! Broken samplers that the checks must catch.

use crate::sampler_checks::{
    below_check, binomial_law, exponential_check, geometric_law, gumbel_check, laplace_check,
    unit_check, whole_number_check,
};
use crate::support::{FALSE_ALARM, random};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{exponential, geometric, gumbel, laplace, normal};

fn is_caught(p_value: f64) {
    assert!(p_value < FALSE_ALARM, "{p_value}");
}

#[test]
fn a_wrong_scale_is_caught() {
    for (test, scale) in [2.0 / 3.0, 3.0 / 2.0, 1.01].into_iter().enumerate() {
        let random = || random(200 + test as u64);
        is_caught(exponential_check(|it| scale * exponential(it), &mut random()));
        is_caught(laplace_check(|it| scale * laplace(it), &mut random()));
        is_caught(gumbel_check(|it| scale * gumbel(it), &mut random()));
    }
}

#[test]
fn a_cut_tail_is_caught() {
    is_caught(exponential_check(|it| exponential(it).min(9.0), &mut random(210)));
    let redrawn = |it: &mut _| {
        loop {
            let sample = exponential(it);
            if sample < 9.0 {
                return sample;
            }
        }
    };
    is_caught(exponential_check(redrawn, &mut random(211)));
    // A uniform number with too few bits cuts its logarithm.
    let coarse = |it: &mut PrivateRandom| -(((it.word() >> 51) as f64 + 0.5) / 8_192.0).ln();
    is_caught(exponential_check(coarse, &mut random(212)));
    is_caught(laplace_check(|it| laplace(it).clamp(-9.0, 9.0), &mut random(213)));
    is_caught(gumbel_check(|it| gumbel(it).min(9.0), &mut random(214)));
}

#[test]
fn a_coarse_unit_is_caught() {
    let of_float = |it: &mut PrivateRandom| ((it.word() >> 40) as f64 + 0.5) / 16_777_216.0;
    is_caught(unit_check(of_float, &mut random(215)));
    let closed = |it: &mut PrivateRandom| (it.word() >> 44) as f64 / 1_048_576.0;
    is_caught(unit_check(closed, &mut random(216)));
}

#[test]
fn an_unfair_sign_is_caught() {
    let leaning =
        |it: &mut PrivateRandom| laplace(it).abs() * if it.word() % 100 < 51 { 1.0 } else { -1.0 };
    is_caught(laplace_check(leaning, &mut random(220)));
}

#[test]
fn a_biased_modulo_is_caught() {
    let modulo = |bound: u64, it: &mut PrivateRandom| it.word() % bound;
    is_caught(below_check(3 << 62, modulo, &mut random(221)));
    let off_by_one = |bound: u64, it: &mut PrivateRandom| it.word() % (bound + 1);
    is_caught(below_check(1_000, off_by_one, &mut random(222)));
}

#[test]
fn a_geometric_off_by_one_is_caught() {
    for (test, probability) in [0.9, 0.3, 0.02].into_iter().enumerate() {
        let law = geometric_law(probability);
        let mut random = random(230 + test as u64);
        let trials = |it: &mut _| geometric(probability, it) + 1;
        is_caught(whole_number_check(&law, 500_000, trials, &mut random));
    }
}

#[test]
fn a_binomial_by_the_normal_law_is_caught() {
    for (test, (trials, probability)) in
        [(100, 0.2), (1_000, 0.3), (1_000, 0.01)].into_iter().enumerate()
    {
        let law = binomial_law(trials, probability);
        let mean = trials as f64 * probability;
        let deviation = (mean * (1.0 - probability)).sqrt();
        let rounded = |it: &mut _| (mean + deviation * normal(it)).round().max(0.0) as u64;
        let mut random = random(240 + test as u64);
        is_caught(whole_number_check(&law, 1_000_000, rounded, &mut random));
    }
}
