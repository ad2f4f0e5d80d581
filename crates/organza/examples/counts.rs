//! How often each answer was given, with exact noise on the counts and epsilon 1 for each person.
#![allow(clippy::print_stdout)]

use organza::accountant::Accountant;
use organza::ledger::{Budget, Header, Ledger, Neighbouring, Unit};
use organza::mechanism::{Bound, CountNoise, HistogramPlan, HistogramSettings};
use organza::mechanism::{RandomSource, UnitCounts};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (neighbouring, delta) = (Neighbouring::AddRemove, 1e-6);
    let plan = HistogramPlan::new(HistogramSettings {
        dense: 0,
        cells: 5,
        neighbouring,
        bound: Bound::Norm(2.0),
        noise: CountNoise::RoundedGaussian { multiplier: 5.0 },
        bar: None,
    })?;
    let mut counts = plan.histogram();
    let mut person = UnitCounts::new();
    for number in 0..1_000 {
        person.add(number % 4, 1.0);
        person.add((number / 2) % 3, 1.0);
        counts.add(&mut person);
    }

    let source = RandomSource::from_operating_system()?;
    let release = plan.release("answers", &source);
    let mut ledger = Ledger::in_memory(Header::new(neighbouring, Unit::User, delta))?;
    let budget = Budget::new(1.0, delta, neighbouring)?;
    let paid = budget.charge(&mut ledger, &Accountant::new(neighbouring), release.charge())?;
    let noisy = counts.noise(&release, paid)?;
    noisy.cells().for_each(|(answer, count)| println!("answer {answer}: about {count:.0}"));
    assert!(noisy.is_private() && noisy.len() == 5);
    Ok(())
}
