//! What is released, before anything is made of it: for tests that compare neighbours.

use crate::model::Model;
use crate::release::{ReleasePlan, Released, STAGES};
use organza_data::Writing;
use organza_ledger::testing::paid;
use organza_ledger::{Charge, Charged, Neighbouring};
use organza_mechanism::RandomSource;
use std::error::Error;

type Failed = Box<dyn Error + Send + Sync>;

/// How many stages there are.
pub const NUMBER: usize = STAGES.len();

/// Releases all stages at a noise each, and makes a model of them. The writings are those that the stages count.
///
/// # Errors
/// If the noise makes no sense.
pub fn released(
    words: &[String],
    writings: [&Writing; NUMBER],
    noise: f64,
    seed: u64,
) -> Result<(Model, Vec<Released>), Failed> {
    let noise = noise / (NUMBER as f64).sqrt();
    let plan = ReleasePlan::new(&[1.0; NUMBER], Neighbouring::AddRemove, noise);
    let charge = |charge: Charge| -> Result<Charged, Failed> { Ok(paid(charge)) };
    plan.release(words, writings, &RandomSource::from_seed(seed), charge)
}

/// What one stage releases of a text, where those before it were released of another.
///
/// # Errors
/// If the noise makes no sense.
pub fn stage(
    words: &[String],
    number: usize,
    before: &Writing,
    writing: &Writing,
    noise: f64,
    seed: u64,
) -> Result<Released, Failed> {
    let writings = std::array::from_fn(|stage| if stage == number { writing } else { before });
    let (_, mut all) = released(words, writings, noise, seed)?;
    Ok(all.swap_remove(number))
}
