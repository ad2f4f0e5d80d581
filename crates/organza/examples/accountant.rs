//! What a training costs, and how much noise a budget asks for.
#![allow(clippy::print_stdout)]

use organza::accountant::Accountant;
use organza::accountant::calibrate::{Target, Training};
use organza::ledger::{Event, Neighbouring};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let step = Event::Gaussian { noise_multiplier: 1.0 }.poisson(0.01);
    let account = Accountant::new(Neighbouring::AddRemove).compose(&step.repeat(1_000))?;
    let cost = account.epsilon(1e-6)?.epsilon;
    println!("1,000 steps with noise of multiplier 1: epsilon {cost:.3} at delta 1e-6");

    let training = Training { rate: 0.01, steps: 1_000, selection: None };
    let found = training.noise_multiplier(&Target::new(1.0, 1e-6))?;
    println!("noise of multiplier {:.3} keeps it to epsilon 1", found.noise_multiplier);
    assert!(found.noise_multiplier > 1.0);
    Ok(())
}
