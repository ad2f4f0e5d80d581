//! Parquet and Arrow: the first byte says which.
#![no_main]

use libfuzzer_sys::fuzz_target;
use organza_data::table::TableForm;
use organza_fuzz::read_table;
use std::sync::Once;

/// The readers of batches panic at damaged files, which is caught and becomes an error.
static QUIET: Once = Once::new();

fuzz_target!(|bytes: &[u8]| {
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    if let Some((first, rest)) = bytes.split_first() {
        let form = if first % 2 == 0 { TableForm::Parquet } else { TableForm::Arrow };
        if std::panic::catch_unwind(|| read_table(rest, form)).is_err() {
            std::process::abort();
        }
    }
});
