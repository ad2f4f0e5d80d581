//! Plain text and libsvm, plain or packed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use organza_data::source::open;
use organza_data::sparse::{Grouped, LabelKind, read_libsvm};
use organza_data::{Layout, TokenisedText, Tokeniser};
use organza_fuzz::file;

fuzz_target!(|bytes: &[u8]| {
    let file = file(bytes);
    let _ = read_libsvm(file.path(), None, LabelKind::Binary, Grouped::ByName);
    let text = open(file.path()).and_then(|source| {
        TokenisedText::read(source.as_ref(), &Tokeniser::default(), Layout::Users)
    });
    let _ = text;
});
