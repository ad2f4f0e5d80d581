//! Tables as a file that others read: safetensors.

use organza_model::tensor_header;
use safetensors::Dtype;
use std::collections::BTreeMap;
use std::io;

/// Room for the header of a file in which tables are kept while they are trained.
pub(crate) const HEAD: usize = 1 << 16;
/// The bytes that say how long a header is.
const LENGTH: usize = 8;

/// The header of tables of (rows, dimensions): a tensor for each, `table0` and so on.
pub(crate) fn header(tables: &[(u64, u64)], metadata: &BTreeMap<String, String>) -> Vec<u8> {
    let names: Vec<String> = (0..tables.len()).map(|number| format!("table{number}")).collect();
    let tensors = names.iter().zip(tables).map(|(name, (rows, dimensions))| {
        (name.as_str(), Dtype::F32, vec![*rows as usize, *dimensions as usize])
    });
    tensor_header(metadata, tensors)
}

/// The same header with blanks behind, as the format allows, so that it takes all of its room.
///
/// # Errors
/// If it is too long.
pub(crate) fn in_room(header: &[u8]) -> io::Result<Vec<u8>> {
    if header.len() > HEAD {
        let what = format!("metadata of more than {HEAD} bytes does not fit: give less");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let mut header = header.to_vec();
    header.resize(HEAD, b' ');
    header[..LENGTH].copy_from_slice(&((HEAD - LENGTH) as u64).to_le_bytes());
    Ok(header)
}
