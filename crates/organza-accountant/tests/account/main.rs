//! What the accountants answer: reference figures, properties, extremes, and one against the other.
//!
//! One test crate, because each would be linked against everything again.

mod adaptive;
mod added;
mod joint_account;
mod meaning;
mod near;
mod pld_calibrate;
mod pld_extremes;
mod pld_group;
mod pld_properties;
mod pld_vectors;
mod rdp_account;
mod rdp_against_pld;
mod rdp_capped;
mod rdp_events;
mod rdp_group;
mod rdp_joint;
mod rdp_sampled;
mod released;

use organza_ledger::Event;

fn gaussian(noise_multiplier: f64) -> Event {
    Event::Gaussian { noise_multiplier }
}
