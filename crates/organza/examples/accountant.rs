//! What a training costs, and how much noise a budget asks for.
#![allow(clippy::print_stdout)]

use organza::accountant::Accountant;
use organza::accountant::calibrate::{Target, scale};
use organza::ledger::{Event, Neighbouring};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let step = Event::Gaussian { noise_multiplier: 1.0 }.poisson(0.01);
    let account = Accountant::new(Neighbouring::AddRemove).compose(&step.repeat(1_000))?;
    let cost = account.epsilon(1e-6)?.epsilon;
    println!("1,000 steps with noise of multiplier 1: epsilon {cost:.3} at delta 1e-6");

    let steps =
        |noise_multiplier| Some(Event::Gaussian { noise_multiplier }.poisson(0.01).repeat(1_000));
    let (multiplier, _) = scale(&Target::new(1.0, 1e-6), steps)?;
    println!("noise of multiplier {multiplier:.3} keeps it to epsilon 1");
    assert!(multiplier > 1.0);
    Ok(())
}
