//! The one-run bound against a mechanism that is watched from inside: worst-case gradients, every update
//! visible. A sound run is not flagged; less noise than claimed and a missing clip are.
#![allow(clippy::unwrap_used, missing_docs)]

use organza_accountant::Accountant;
use organza_accountant::calibrate::{Target, scale};
use organza_audit::{Guessed, guess, lower_bound};
use organza_data::Guesses;
use organza_ledger::testing::paid;
use organza_ledger::{Account, Neighbouring};
use organza_mechanism::{
    NoiseSettings, Plan, PlanSettings, Purpose, RandomSource, SelectionSettings, Shape,
};
use std::sync::LazyLock;

const CANARIES: u64 = 6_000;
const GUESSES: Guesses = Guesses { inserted: 600, left_out: 600 };
const STEPS: u64 = 8;
const RATE: f64 = 0.5;
const CLIP: f64 = 1.0;
const CLAIMED: f64 = 1.0;
const DELTA: f64 = 1e-5;
const ERROR: f64 = 0.05;
/// A canary's gradient, in clips: whoever chooses it need not keep to the clip.
const GRADIENT: f32 = 4.0;

/// A plan over a table in which each canary owns a row.
fn plan(clip: f64, multiplier: f64) -> Plan {
    Plan::new(PlanSettings {
        shape: Shape::table(CANARIES, 1).unwrap(),
        neighbouring: Neighbouring::AddRemove,
        rate: RATE,
        expected_batch: RATE * CANARIES as f64 / 2.0,
        clip,
        selection: SelectionSettings::Everything,
        noise: NoiseSettings::Gaussian { multiplier, second_clip: None },
    })
    .unwrap()
}

/// The noise with which the run is (1, 1e-5)-differentially private by the account, and hardly more.
static NOISE: LazyLock<f64> = LazyLock::new(|| {
    let run = |multiplier| Some(plan(CLIP, multiplier).step_event().clone().repeat(STEPS));
    scale(&Target::new(CLAIMED, DELTA), run).unwrap().0
});

/// What the claim is about.
fn sound() -> Plan {
    plan(CLIP, *NOISE)
}

/// A quarter of the noise.
fn too_little_noise() -> Plan {
    plan(CLIP, *NOISE / 4.0)
}

/// The noise of the sound plan on sums that nothing has clipped: the type of a sum has no way around the
/// clip, so it is one that no gradient here reaches.
fn without_clip() -> Plan {
    let never_reached = 100.0 * CLIP;
    let plan = plan(never_reached, *NOISE * CLIP / never_reached);
    assert!((plan.noise_deviation() / sound().noise_deviation() - 1.0).abs() < 1e-9);
    plan
}

/// Tosses a fair coin for each canary, makes all steps, and guesses by the sum of the updates of each
/// canary's own row, to which its likelihood ratio is close where the noise is large.
fn attack(plan: &Plan, seed: u64) -> Guessed {
    let source = RandomSource::from_seed(seed);
    let mut coins = source.named("coins").substream(Purpose::Data, 0, 0);
    let inserted: Vec<bool> = (0..CANARIES).map(|_| coins.word() & 1 == 1).collect();
    // A unit for each canary that is in, and none for the others; the rate does not depend on them.
    let rows: Vec<u32> =
        (0..).zip(&inserted).filter(|(_, is_in)| **is_in).map(|(row, _)| row).collect();
    let sampler = plan.sampler("training", rows.len() as u64, &source);
    let paid = paid(sampler.charge(0..STEPS));
    let mut scores = vec![0.0; CANARIES as usize];
    for step in 0..STEPS {
        let sum = sampler.batch(step, &paid).unwrap().sum(|unit, gradient| {
            gradient.row(rows[unit as usize]).unwrap()[0] = GRADIENT * CLIP as f32;
        });
        sum.select().noise().visit(|first, values| {
            for (score, value) in scores[first as usize..].iter_mut().zip(values) {
                *score += f64::from(*value);
            }
        });
    }
    let scored: Vec<(f64, bool)> = scores.into_iter().zip(inserted).collect();
    guess(&scored, GUESSES)
}

fn bound(plan: &Plan, seed: u64) -> f64 {
    let Guessed { canaries, guesses, correct } = attack(plan, seed);
    assert_eq!((canaries, guesses), (CANARIES, 1_200));
    lower_bound(canaries, guesses, correct, DELTA, ERROR)
}

#[test]
fn the_claim_is_what_the_accountant_says() {
    let epsilon = |plan: &Plan| {
        let run = plan.step_event().clone().repeat(STEPS);
        Account::epsilon(&Accountant::new(Neighbouring::AddRemove), &[run], DELTA).unwrap()
    };
    let claimed = epsilon(&sound());
    assert!((0.99..=CLAIMED).contains(&claimed), "{claimed}");
    assert!(epsilon(&too_little_noise()) > 3.0 * CLAIMED);
}

/// Forty sound runs. At the stated rate of one in twenty, more than 12 bounds above the claim have a
/// probability below 1e-6.
#[test]
fn a_sound_run_is_not_flagged_beyond_the_stated_rate() {
    let bounds: Vec<f64> = (0..40).map(|seed| bound(&sound(), seed)).collect();
    let flagged = bounds.iter().filter(|bound| **bound > CLAIMED).count();
    assert!(flagged <= 12, "{flagged}: {bounds:?}");
    // The attack is worth its name: it sees something of a sound run too.
    let mean = bounds.iter().sum::<f64>() / 40.0;
    assert!((0.1..CLAIMED).contains(&mean), "{mean}");
}

#[test]
fn too_little_noise_is_flagged() {
    for seed in 100..105 {
        let found = bound(&too_little_noise(), seed);
        assert!(found > CLAIMED, "{found}");
    }
}

#[test]
fn a_missing_clip_is_flagged() {
    for seed in 200..205 {
        let found = bound(&without_clip(), seed);
        assert!(found > CLAIMED, "{found}");
    }
}
