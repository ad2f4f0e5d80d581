//! The header of a safetensors file.

use safetensors::Dtype;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The first bytes of a safetensors file: the length of its header, and the header. Tensors are given by name, type and
/// shape, in the order of their values, which follow.
///
/// By hand, because the library keeps metadata in a hash map, whose order changes from run to run, and so would the bytes of
/// the file.
pub fn tensor_header<'a>(
    metadata: &BTreeMap<String, String>,
    tensors: impl IntoIterator<Item = (&'a str, Dtype, Vec<usize>)>,
) -> Vec<u8> {
    let mut entries = Map::new();
    entries.insert("__metadata__".to_owned(), json!(metadata));
    let mut start = 0;
    for (name, dtype, shape) in tensors {
        let end = start + shape.iter().product::<usize>() * dtype.bitsize() / 8;
        let entry = json!({ "dtype": dtype, "shape": shape, "data_offsets": [start, end] });
        entries.insert(name.to_owned(), entry);
        start = end;
    }
    let mut header = Value::Object(entries).to_string().into_bytes();
    // Values begin at a multiple of eight bytes, as the format asks.
    header.resize(header.len().next_multiple_of(8), b' ');
    [&(header.len() as u64).to_le_bytes()[..], &header].concat()
}
