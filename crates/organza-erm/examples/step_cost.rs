//! Makes steps on fixed rows with any number of features, to be measured: `step_cost FEATURES STEPS`.
//!
//! 1,000 rows have 20 features each, spread over all columns. A step visits one of 20 groups and releases at most 32
//! coordinates: it costs what those cost, whatever the number of features. What comes before the steps is the same for
//! any number of them, so the difference of two measurements is theirs alone.

use organza_data::sparse::SparseRows;
use organza_erm::{
    Constraint, Descent, Design, Groups, Loss, Method, ScheduleInputs, Settings, Visits, Weights,
};
use organza_mechanism::RandomSource;
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
    (settings.method, settings.steps) = (Method::Corrected, Some(200));
    let design = Design::bounded(&rows, features, settings.model, &settings.input());
    let coordinates = design.coordinates();
    let known = ScheduleInputs {
        settings: &settings,
        coordinates,
        units: 1_000.0,
        groups: 20,
        before: Vec::new(),
    };
    let schedule = known.schedule()?;
    let groups = Groups::blocks(1_000, 20);
    let (visits, region) = (Visits::OneGroup(&groups), Constraint::Ball(10.0));
    let descent = Descent {
        design: &design,
        loss: Loss::Logistic,
        schedule: &schedule,
        visits,
        l2: 1e-4,
        region,
    };
    let mut weights = Weights::new(features, region);
    let source = RandomSource::from_seed(1);
    let batches = descent.batches(&source)?;
    // The price of the steps says nothing here: the rows are made up.
    let paid = organza_ledger::testing::paid(batches.charge(0..steps));
    let begun = Instant::now();
    for step in 0..steps {
        descent.step(step, &batches, &paid, &mut weights)?;
    }
    writeln!(io::stdout(), "{features} features, {steps} steps: {:?}", begun.elapsed())?;
    Ok(())
}
