//! Units in buckets join batches exactly as the plan's event states; broken twins are caught.

use crate::support::{FALSE_ALARM, chi_squared};
use organza_ledger::Neighbouring;
use organza_ledger::testing::paid;
use organza_mechanism::buckets::{BUCKETS, BucketKeys, BucketSampler, BucketUnits, bucket};
use organza_mechanism::{
    NoiseSettings, Plan, PlanSettings, RandomSource, Sampler, SelectionSettings, Shape,
};
use std::collections::BTreeMap;

const RATE: f64 = 0.3;
const STEPS: u64 = 60_000;

fn sampler(seed: u64) -> Sampler {
    let plan = Plan::new(PlanSettings {
        shape: Shape::table(4, 2).unwrap(),
        neighbouring: Neighbouring::AddRemove,
        rate: RATE,
        expected_batch: 1.0,
        clip: 1.0,
        selection: SelectionSettings::Everything,
        noise: NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None },
    });
    plan.unwrap().sampler("training", 0, &RandomSource::from_seed(seed))
}

/// Six names in a range of few buckets: three in one bucket, two in another, one alone.
fn names() -> (Vec<[u8; 8]>, std::ops::Range<u16>) {
    let mut by_bucket: BTreeMap<u16, Vec<[u8; 8]>> = BTreeMap::new();
    for number in 0..200_000_u64 {
        let name = number.to_be_bytes();
        by_bucket.entry(bucket(&name)).or_default().push(name);
    }
    let take = |bucket: u16, count: usize| by_bucket[&bucket][..count].to_vec();
    ([take(100, 3), take(101, 2), take(140, 1)].concat(), 100..141)
}

/// How often each set of the six joins, and the words that the first two units of the first bucket and the first of the second
/// draw: the p-value that all are as independent as they should be.
fn law(seed: u64, twin: impl Fn(Vec<u8>) -> Vec<u8>) -> [f64; 2] {
    let sampler = sampler(seed);
    let (names, buckets) = names();
    let units = BucketUnits::by_name(&names, buckets.clone());
    let keys = BucketKeys::from_bytes(&twin(sampler.bucket_keys(buckets).expose())).unwrap();
    let shape = Shape::table(4, 2).unwrap();
    let worker =
        BucketSampler::new(sampler.worker_settings().unwrap(), shape, keys, units).unwrap();
    let mut order = sampler.open(0, &paid(sampler.charge(0..1)), None).unwrap().order();
    let mut counts = vec![0; 64];
    let mut pairs = vec![0; 64];
    for step in 0..STEPS {
        order.step = step;
        let batch = worker.batch(&order).unwrap();
        counts[batch.units().map(|unit| 1 << unit).sum::<usize>()] += 1;
        let mut drawn = [None; 6];
        batch.draw(0..batch.count(), |unit, random| drawn[unit as usize] = Some(random.word() % 8));
        for (one, other) in [(0, 1), (0, 3), (1, 4), (3, 5)] {
            if let (Some(one), Some(other)) = (drawn[one], drawn[other]) {
                pairs[(8 * one + other) as usize] += 1;
            }
        }
    }
    let chance = |set: u32| {
        let joined = set.count_ones() as i32;
        RATE.powi(joined) * (1.0 - RATE).powi(6 - joined)
    };
    let chances: Vec<f64> = (0..64).map(chance).collect();
    [chi_squared(&counts, &chances), chi_squared(&pairs, &[1.0 / 64.0; 64])]
}

/// All 64 sets of units in three buckets have the law of Poisson sampling, whoever is in whose bucket, and what chance decides
/// of two units is independent.
#[test]
fn units_in_buckets_join_independently() {
    for p_value in law(700, |keys| keys) {
        assert!(p_value > FALSE_ALARM, "{p_value}");
    }
}

/// One key for all buckets: units at the same places of two buckets join alike, and draw alike.
#[test]
fn one_key_for_all_buckets_is_caught() {
    let same = |keys: Vec<u8>| {
        let (first, keys) = keys.split_at(2);
        [first, &keys[..32].repeat(keys.len() / 32)].concat()
    };
    for p_value in law(700, same) {
        assert!(p_value < FALSE_ALARM, "{p_value}");
    }
}

/// Names of all kinds are spread over the buckets evenly; the twin, the last bits of a name, is not.
#[test]
fn names_are_spread_evenly() {
    let spread = |bucket_of: &dyn Fn(u64) -> u16| {
        let mut counts = vec![0; usize::from(BUCKETS)];
        (0..400_000).for_each(|unit| counts[usize::from(bucket_of(unit))] += 1);
        chi_squared(&counts, &vec![1.0 / f64::from(BUCKETS); usize::from(BUCKETS)])
    };
    let numbers = |unit: u64| bucket(&(4 * unit).to_be_bytes());
    let words = |unit: u64| bucket(format!("user{unit}@example.org").as_bytes());
    for bucket_of in [&numbers as &dyn Fn(u64) -> u16, &words] {
        let p_value = spread(bucket_of);
        assert!(p_value > FALSE_ALARM, "{p_value}");
    }
    assert!(spread(&|unit| (4 * unit % u64::from(BUCKETS)) as u16) < FALSE_ALARM);
}
