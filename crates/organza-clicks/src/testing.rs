//! Small data, and what is released of it before anything is made of it: for tests.

use crate::buckets::Buckets;
use crate::data::ClickData;
use crate::layout::Layout;
use crate::moments::Design;
use crate::one_shot::{OneShot, Units};
use crate::reader::features;
use crate::settings::Rules;
use crate::task::ClickTask;
use organza_data::sparse::{Columns, SparseRows};
use organza_ledger::testing::paid;
use organza_ledger::{Charge, Charged, Neighbouring, Unit};
use organza_mechanism::RandomSource;
use std::error::Error;

type Failed = Box<dyn Error + Send + Sync>;

/// A row: two numbers, two categories from 0 to 3 and from 4 to 7, and whether it was clicked.
pub type SmallRow = ([f32; 2], [u32; 2], f64);

/// Rows of users.
pub fn data(users: &[(&str, &[SmallRow])]) -> ClickData {
    let mut rows = SparseRows::new(Some(10));
    for (name, own) in users {
        for (numbers, categories, label) in *own {
            let numbers = (0..).zip(numbers).map(|(place, value)| (place, *value));
            let mut entries: Vec<(u32, f32)> =
                numbers.chain(categories.iter().map(|category| (2 + category, 1.0))).collect();
            let _ = rows.push(*label, &mut entries, Some(name));
        }
    }
    let named = |names: [&str; 2]| names.map(str::to_owned);
    let numbers = named(["seen", "paid"]).map(|name| (name, 10.0));
    let features = features(numbers, named(["ad", "site"]), 4);
    ClickData::new(rows, None, Columns { features, ..Columns::default() })
}

/// The task of such rows.
///
/// # Panics
/// If their columns are not those of a click model, or they name no users.
#[allow(clippy::expect_used)]
pub fn task(data: ClickData, dimensions: usize) -> ClickTask {
    let layout = Layout::new(&data.columns, dimensions).expect("good columns");
    let units = data.units(Unit::User).expect("users");
    ClickTask { layout, rows: data.rows, test: None, units, most: usize::MAX }
}

fn plan(noise: f64) -> OneShot {
    OneShot::new(Rules::default(), Neighbouring::AddRemove, noise)
}

fn charge(charge: Charge) -> Result<Charged, Failed> {
    Ok(paid(charge))
}

/// The noisy clicks and views of all buckets.
///
/// # Errors
/// If the noise makes no sense.
pub fn buckets(data: &ClickData, noise: f64, seed: u64) -> Result<Vec<f64>, Failed> {
    let (layout, units) = (Layout::new(&data.columns, 0)?, data.units(Unit::User)?);
    let data = Units { layout: &layout, rows: &data.rows, units: &units };
    let source = RandomSource::from_seed(seed);
    Ok(plan(noise).release_buckets::<Failed>(data, &source, &mut charge)?.0)
}

/// The noisy moments of data, where the design follows what was released of `counted`.
///
/// # Errors
/// If the noise makes no sense.
pub fn moments(
    data: &ClickData,
    counted: &ClickData,
    noise: f64,
    seed: u64,
) -> Result<Vec<f64>, Failed> {
    let (layout, units) = (Layout::new(&data.columns, 0)?, data.units(Unit::User)?);
    let counts = Buckets::of(&layout, &buckets(counted, noise, seed)?, noise);
    let design = Design::new(&layout, &counts);
    let data = Units { layout: &layout, rows: &data.rows, units: &units };
    let source = RandomSource::from_seed(seed);
    Ok(plan(noise).release_moments::<Failed>(data, &design, &source, &mut charge)?.0)
}
