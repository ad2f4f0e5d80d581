//! Makes steps on fixed rows with any number of features, to be measured: `step_cost FEATURES STEPS`.
//!
//! 1,000 rows have 20 features each, spread over all columns. A step visits one of 20 groups and releases at most 32
//! coordinates: it costs what those cost, whatever the number of features. What comes before and after the steps is
//! about the same for any number of them, so the difference of two measurements is theirs.

use organza_data::sparse::SparseRows;
use organza_erm::{Loss, Method, Settings, fit};
use std::io::{self, Write};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |place: usize, usual: u64| {
        std::env::args().nth(place).and_then(|word| word.parse().ok()).unwrap_or(usual)
    };
    let (features, steps) = (number(1, 10_000), number(2, 1_000));
    let mut rows = SparseRows::new(Some(features));
    let mut state = 1_u64;
    for row in 0..1_000_u32 {
        let mut entries: Vec<(u32, f32)> = Vec::new();
        while entries.len() < 20 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let column = ((u128::from(state) * u128::from(features)) >> 64) as u32;
            if entries.iter().all(|(other, _)| *other != column) {
                entries.push((column, 1.0));
            }
        }
        rows.push(f64::from(row % 2), &mut entries, None)?;
    }
    let mut settings = Settings::new(Loss::Logistic);
    settings.method = Method::Corrected;
    (settings.steps, settings.groups, settings.seed) = (Some(steps), Some(20), Some(1));
    let begun = Instant::now();
    fit(&settings, &rows, features)?;
    writeln!(io::stdout(), "{features} features, {steps} steps: {:?}", begun.elapsed())?;
    Ok(())
}
