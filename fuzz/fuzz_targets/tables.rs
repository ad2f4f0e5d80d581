//! CSV, TSV and JSON lines, plain or packed: the first byte says which.
#![no_main]

use libfuzzer_sys::fuzz_target;
use organza_data::table::TableForm;
use organza_fuzz::read_table;

fuzz_target!(|bytes: &[u8]| {
    if let Some((first, rest)) = bytes.split_first() {
        let forms = [TableForm::Commas, TableForm::Tabs, TableForm::JsonLines];
        read_table(rest, forms[usize::from(first % 3)]);
    }
});
