//! Normals in bulk: their law, their tails, that none depends on another, and broken twins.

use crate::sampler_checks::worst;
use crate::support::{FALSE_ALARM, chi_squared, kolmogorov_smirnov, random};
use organza_ledger::Neighbouring;
use organza_ledger::testing::paid;
use organza_mechanism::random::{PrivateRandom, Purpose};
use organza_mechanism::sample::{fill_normal, fill_normal_f32, normal};
use organza_mechanism::{
    NoiseSettings, Plan, PlanSettings, RandomSource, SelectionSettings, Shape,
};
use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::SQRT_2;

/// How many normals a block of the sampler holds: sines in its first half, cosines in the other.
const BLOCK: usize = 256;
const CELLS: usize = 12;

fn below(x: f64) -> f64 {
    0.5 * erfc(-x / SQRT_2)
}

/// The probability of more than `x` deviations on either side.
fn beyond(x: f64) -> f64 {
    erfc(x / SQRT_2)
}

/// The borders of `CELLS` equally likely cells.
fn borders() -> Vec<f64> {
    let share = |cell: usize| cell as f64 / CELLS as f64;
    (1..CELLS).map(|cell| -SQRT_2 * erfc_inv(2.0 * share(cell))).collect()
}

/// The p-value of independence of the pairs, from counts in 12 x 12 equally likely cells.
fn joint_check(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let borders = borders();
    let cell = |x: f64| borders.iter().map(|border| usize::from(x > *border)).sum::<usize>();
    let mut counts = vec![0; CELLS * CELLS];
    for (one, other) in pairs {
        counts[CELLS * cell(one) + cell(other)] += 1;
    }
    chi_squared(&counts, &[1.0 / (CELLS * CELLS) as f64; CELLS * CELLS])
}

/// The distribution function, and independence of what is 1, half a block and a block apart.
fn law_check(mut fill: impl FnMut(&mut [f64], &mut PrivateRandom), test: u64) -> f64 {
    let mut samples = vec![0.0; 2_000_000];
    fill(&mut samples, &mut random(test));
    let independent = |gap: usize| {
        let pairs = samples.chunks_exact(2 * gap).flat_map(|chunk| {
            let (one, other) = chunk.split_at(gap);
            one.iter().copied().zip(other.iter().copied())
        });
        joint_check(pairs)
    };
    let gaps = [independent(1), independent(BLOCK / 2), independent(BLOCK)];
    worst(&[gaps[0], gaps[1], gaps[2], kolmogorov_smirnov(&mut samples, below)])
}

/// How many of `draws` lie between half deviations, up to 5.5; and the largest.
fn tail_check(draws: u64, mut fill: impl FnMut(&mut [f64], &mut PrivateRandom), test: u64) -> f64 {
    let mut random = random(test);
    let mut between = [0; 12];
    let mut largest: f64 = 0.0;
    let mut samples = [0.0; 8_192];
    for _ in 0..draws / samples.len() as u64 {
        fill(&mut samples, &mut random);
        for sample in samples.map(f64::abs) {
            largest = largest.max(sample);
            between[((2.0 * sample) as usize).min(11)] += 1;
        }
    }
    let total = between.iter().sum::<u64>() as f64;
    let chance = |level: u32| beyond(0.5 * f64::from(level));
    let chances: Vec<f64> = (0..12)
        .map(|level| chance(level) - if level < 11 { chance(level + 1) } else { 0.0 })
        .collect();
    // The largest of n: below x with probability (1 - tail(x))^n.
    let largest_below = (total * (-beyond(largest)).ln_1p()).exp();
    let largest_above = -(total * (-beyond(largest)).ln_1p()).exp_m1();
    worst(&[chi_squared(&between, &chances), 2.0 * largest_below.min(largest_above)])
}

fn singles(values: &mut [f64], random: &mut PrivateRandom) {
    values.fill_with(|| normal(random));
}

fn single_precision(values: &mut [f64], random: &mut PrivateRandom) {
    for values in values.chunks_mut(8_192) {
        let mut floats = [0.0_f32; 8_192];
        let floats = &mut floats[..values.len()];
        fill_normal_f32(floats, random);
        values.iter_mut().zip(floats).for_each(|(value, float)| *value = f64::from(*float));
    }
}

/// Fills of all lengths about a block, one after another.
fn by_lengths(values: &mut [f64], random: &mut PrivateRandom) {
    let mut rest = values;
    for length in [1, 2, 3, 127, 128, 129, 255, 256, 257, 1_000].into_iter().cycle() {
        let (now, later) = rest.split_at_mut(length.min(rest.len()));
        if now.is_empty() {
            break;
        }
        fill_normal(now, random);
        rest = later;
    }
}

#[test]
fn normals_have_their_law() {
    for (test, p_value) in [
        law_check(fill_normal, 400),
        law_check(single_precision, 401),
        law_check(singles, 402),
        law_check(by_lengths, 403),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(p_value > FALSE_ALARM, "{test}: {p_value}");
    }
}

#[test]
fn tails_are_complete() {
    let p_value = tail_check(100_000_000, fill_normal, 410);
    assert!(p_value > FALSE_ALARM, "{p_value}");
}

#[test]
fn tails_are_complete_in_single_precision_and_one_by_one() {
    let p_value = tail_check(20_000_000, single_precision, 411);
    assert!(p_value > FALSE_ALARM, "{p_value}");
    let p_value = tail_check(20_000_000, singles, 412);
    assert!(p_value > FALSE_ALARM, "{p_value}");
}

#[test]
fn a_wrong_deviation_is_caught() {
    for scale in [2.0 / 3.0, 3.0 / 2.0, 1.007] {
        let scaled = |values: &mut [f64], random: &mut PrivateRandom| {
            fill_normal(values, random);
            values.iter_mut().for_each(|value| *value *= scale);
        };
        assert!(law_check(scaled, 420) < FALSE_ALARM);
        assert!(tail_check(10_000_000, scaled, 421) < FALSE_ALARM);
    }
}

#[test]
fn cut_tails_are_caught() {
    let clamped = |values: &mut [f64], random: &mut PrivateRandom| {
        fill_normal(values, random);
        values.iter_mut().for_each(|value| *value = value.clamp(-4.0, 4.0));
    };
    assert!(tail_check(10_000_000, clamped, 422) < FALSE_ALARM);
    let redrawn = |values: &mut [f64], random: &mut PrivateRandom| {
        fill_normal(values, random);
        for value in values {
            while value.abs() > 4.8 {
                *value = normal(random);
            }
        }
    };
    assert!(tail_check(40_000_000, redrawn, 423) < FALSE_ALARM);
    // Of 32 bits a radius reaches 6.7 deviations, of 14 only 4.6.
    let coarse = |values: &mut [f64], random: &mut PrivateRandom| {
        for value in values {
            let radius = (-2.0 * (((random.word() >> 50) as f64 + 0.5) / 16_384.0).ln()).sqrt();
            let angle = random.word() as f64 * (std::f64::consts::TAU / u64::MAX as f64);
            *value = radius * angle.sin();
        }
    };
    assert!(tail_check(20_000_000, coarse, 424) < FALSE_ALARM);
}

#[test]
fn noise_used_twice_within_a_block_is_caught() {
    // Both halves of the pair from one quarter of the circle: each normal is right, the pair is not.
    let one_quarter = |values: &mut [f64], random: &mut PrivateRandom| {
        fill_normal(values, random);
        for block in values.chunks_exact_mut(BLOCK) {
            let (one, other) = block.split_at_mut(BLOCK / 2);
            one.iter().zip(other).for_each(|(one, other)| *other = other.abs() * one.signum());
        }
    };
    assert!(law_check(one_quarter, 430) < FALSE_ALARM);
    let repeated = |values: &mut [f64], random: &mut PrivateRandom| {
        for two_blocks in values.chunks_mut(2 * BLOCK) {
            let middle = BLOCK.min(two_blocks.len());
            fill_normal(two_blocks, random);
            let (one, other) = two_blocks.split_at_mut(middle);
            other.iter_mut().zip(one).for_each(|(other, one)| *other = *one);
        }
    };
    assert!(law_check(repeated, 431) < FALSE_ALARM);
}

/// Noise of pairs of steps and of shards must be independent; `noise` gives that of one step and shard.
fn substream_check(noise: impl Fn(u64, u64) -> Vec<f64>) -> f64 {
    let steps = (0..200).map(|pair| (noise(2 * pair, 0), noise(2 * pair + 1, 0)));
    let shards = (0..200).map(|pair| (noise(pair, 2), noise(pair, 3)));
    let joint = |(one, other): (Vec<f64>, Vec<f64>)| one.into_iter().zip(other);
    worst(&[joint_check(steps.flat_map(joint)), joint_check(shards.flat_map(joint))])
}

#[test]
fn substreams_are_independent_and_reuse_is_caught() {
    let source = RandomSource::from_seed(440);
    let noise = |step: u64, shard: u64| {
        let mut values = vec![0.0; 1_000];
        fill_normal(&mut values, &mut source.substream(Purpose::Data, step, shard));
        values
    };
    let p_value = substream_check(noise);
    assert!(p_value > FALSE_ALARM, "{p_value}");
    assert!(substream_check(|step, shard| noise(step / 2, shard)) < FALSE_ALARM);
    assert!(substream_check(|step, shard| noise(step, shard / 2)) < FALSE_ALARM);
    // A stream that goes on one draw later is no fresh one either, once the shift is undone.
    let shifted = |step: u64, shard: u64| {
        let mut values = vec![0.0; 1_000 + (step % 2) as usize * BLOCK];
        fill_normal(&mut values, &mut source.substream(Purpose::Data, step / 2, shard));
        values.split_off((step % 2) as usize * BLOCK)
    };
    let undone = |step: u64, shard: u64| {
        let values = shifted(step, shard);
        if step.is_multiple_of(2) { values[BLOCK..].to_vec() } else { values }
    };
    assert!(substream_check(undone) < FALSE_ALARM);
}

/// The noise of a dense release of no data, in units of the plan's deviation.
fn released(multiplier: f64, step: u64) -> (Vec<f64>, f64) {
    let plan = Plan::new(PlanSettings {
        shape: Shape::table(3_000, 100).unwrap(),
        neighbouring: Neighbouring::AddRemove,
        rate: 0.5,
        expected_batch: 10.0,
        clip: 2.0,
        selection: SelectionSettings::Everything,
        noise: NoiseSettings::Gaussian { multiplier, second_clip: None },
    })
    .unwrap();
    let sampler = plan.sampler("training", 0, &RandomSource::from_seed(450));
    let sum = sampler.batch(step, &paid(sampler.charge(step..step + 1))).unwrap().sum(|_, _| ());
    let mut values = Vec::new();
    sum.select().noise().visit(|first, run| {
        assert_eq!(first, values.len() as u64);
        values.extend(run.iter().map(|value| f64::from(*value)));
    });
    (values, plan.noise_deviation())
}

/// Noise of this deviation is multiplier x clip / expected batch, with its sigma tested both ways.
#[test]
fn a_dense_release_has_the_noise_of_its_plan() {
    let multiplier = 0.8;
    let (one, deviation) = released(multiplier, 1);
    let (other, _) = released(multiplier, 2);
    assert!((deviation - multiplier * 2.0 / 10.0).abs() < 1e-12);
    assert_eq!(one.len(), 300_000);
    let law = |factor: f64| {
        let mut samples: Vec<f64> = one.iter().map(|value| factor * value / deviation).collect();
        kolmogorov_smirnov(&mut samples, below)
    };
    assert!(law(1.0) > FALSE_ALARM);
    assert!(law(2.0 / 3.0) < FALSE_ALARM && law(3.0 / 2.0) < FALSE_ALARM);

    let scaled = |values: &[f64]| values.iter().map(|value| value / deviation).collect::<Vec<_>>();
    let (one, other) = (scaled(&one), scaled(&other));
    let steps = || one.iter().copied().zip(other.iter().copied());
    // Blocks of a release have substreams of their own.
    let blocks = || one.iter().copied().zip(one[8_192..].iter().copied());
    assert!(joint_check(steps()) > FALSE_ALARM && joint_check(blocks()) > FALSE_ALARM);
    assert!(joint_check(one.iter().copied().zip(one.iter().copied())) < FALSE_ALARM);
}
