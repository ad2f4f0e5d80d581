//! What is released, before anything is made of it: for tests that compare neighbours.

use crate::histories::Histories;
use crate::release::{Names, NoisyItems, ReleasePlan, Rules};
use organza_ledger::testing::paid;
use organza_ledger::{Charge, Charged, Neighbouring};
use organza_mechanism::{PlanError, RandomSource};
use std::error::Error;

type Failed = Box<dyn Error + Send + Sync>;

fn plan(noise: f64) -> Result<ReleasePlan, PlanError> {
    ReleasePlan::new(Rules::default(), Names::Public, Neighbouring::AddRemove, noise)
}

fn charge(charge: Charge) -> Result<Charged, Failed> {
    Ok(paid(charge))
}

fn items(histories: &Histories, noise: f64, seed: u64) -> Result<NoisyItems, Failed> {
    let source = RandomSource::from_seed(seed);
    plan(noise)?.release_items(histories, &mut Vec::new(), &source, charge)
}

/// The noisy count of every item.
///
/// # Errors
/// If the noise makes no sense.
pub fn counts(histories: &Histories, noise: f64, seed: u64) -> Result<Vec<f64>, Failed> {
    let NoisyItems { items, counts, .. } = items(histories, noise, seed)?;
    let mut all = vec![0.0; histories.items()];
    items.iter().zip(counts).for_each(|(item, count)| all[*item as usize] = count);
    Ok(all)
}

/// The noisy cells of a table whose items, weights and direction follow the counts that were released of `counted`: rows from
/// their diagonal on.
///
/// # Errors
/// If the noise makes no sense.
pub fn cells(
    histories: &Histories,
    counted: &Histories,
    noise: f64,
    seed: u64,
) -> Result<Vec<Vec<f64>>, Failed> {
    let items = plan(noise)?.kept(items(counted, noise, seed)?);
    let source = RandomSource::from_seed(seed);
    let released =
        plan(noise)?.release_pairs::<Failed>(histories, &items, false, &source, charge)?;
    let size = released.table.nrows();
    let row = |row: usize| (row..size).map(|column| released.table[(row, column)]).collect();
    Ok((0..size).map(row).collect())
}
