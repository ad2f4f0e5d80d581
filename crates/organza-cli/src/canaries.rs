//! The flags that put phrases into the data, to be audited for.

use crate::text::set;
use clap::Args;
use organza_data::CanarySettings;

/// What is put into the data, to be audited for.
#[derive(Args, Debug)]
#[command(next_help_heading = "Audit")]
pub(crate) struct CanaryOptions {
    /// Insert this many random phrases of three words, for the test of ranks by `organza audit`
    #[arg(long, value_name = "PHRASES")]
    canaries: Option<u64>,
    /// How often each of them is inserted [default: 1]
    #[arg(long, value_name = "TIMES")]
    canary_repeats: Option<u64>,
    /// Insert each of this many random phrases once or not at all, by a fair coin, for the lower
    /// bound on epsilon by `organza audit` (word embeddings: unit line)
    #[arg(long, value_name = "PHRASES")]
    tossed_canaries: Option<u64>,
}

impl CanaryOptions {
    /// Changes what was given, and nothing else.
    pub(crate) fn change(&self, canaries: &mut Option<CanarySettings>) {
        let none = CanarySettings { repeated: 0, repeats: 1, tossed: 0 };
        let mut changed = canaries.unwrap_or(none);
        set(&mut changed.repeated, &self.canaries);
        set(&mut changed.repeats, &self.canary_repeats);
        set(&mut changed.tossed, &self.tossed_canaries);
        let any = changed.repeated > 0 || changed.tossed > 0;
        *canaries = any.then_some(changed);
    }
}
