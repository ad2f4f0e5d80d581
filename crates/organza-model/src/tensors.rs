//! Lists of numbers in a safetensors file.

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Numbers that are turned into bytes at a time.
const BLOCK: usize = 1 << 14;

/// A number as it stands in a file.
pub trait Number: Copy + 'static {
    /// Its kind.
    const KIND: Dtype;

    /// Appends its bytes.
    fn write(self, bytes: &mut Vec<u8>);

    /// The number of these bytes.
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($type:ty, $kind:expr) => {
        impl Number for $type {
            const KIND: Dtype = $kind;
            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
            fn read(bytes: &[u8]) -> Self {
                bytes.try_into().map(Self::from_le_bytes).unwrap_or_default()
            }
        }
    };
}
number!(f32, Dtype::F32);
number!(f64, Dtype::F64);
number!(u32, Dtype::U32);
number!(u64, Dtype::U64);

/// The numbers of a tensor; none if it holds others.
pub fn numbers<T: Number>(tensor: &TensorView<'_>) -> Option<Vec<T>> {
    let words = tensor.data().chunks_exact(size_of::<T>());
    (tensor.dtype() == T::KIND).then(|| words.map(T::read).collect())
}

/// Tensors to be written as one file, without copying them.
#[derive(Default)]
pub struct Tensors<'a>(Vec<Tensor<'a>>);

struct Tensor<'a> {
    name: String,
    kind: Dtype,
    shape: Vec<usize>,
    values: Box<dyn Values + 'a>,
}

trait Values {
    fn write(&self, to: &mut dyn Write) -> io::Result<()>;
}

impl<T: Number> Values for &[T] {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(BLOCK * size_of::<T>());
        self.chunks(BLOCK).try_for_each(|block| {
            bytes.clear();
            block.iter().for_each(|value| value.write(&mut bytes));
            to.write_all(&bytes)
        })
    }
}

impl<'a> Tensors<'a> {
    /// Adds one behind the others. Values are aligned where those of wider kinds come first.
    pub fn add<T: Number>(
        &mut self,
        name: impl Into<String>,
        shape: impl Into<Vec<usize>>,
        values: &'a [T],
    ) {
        let (name, shape, values) = (name.into(), shape.into(), Box::new(values));
        self.0.push(Tensor { name, kind: T::KIND, shape, values });
    }

    /// Adds one with a single dimension.
    pub fn list<T: Number>(&mut self, name: impl Into<String>, values: &'a [T]) {
        self.add(name, [values.len()], values);
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write(&self, metadata: &BTreeMap<String, String>, to: &mut dyn Write) -> io::Result<()> {
        let tensors = self.0.iter().map(|it| (it.name.as_str(), it.kind, it.shape.clone()));
        to.write_all(&tensor_header(metadata, tensors))?;
        self.0.iter().try_for_each(|tensor| tensor.values.write(to))
    }
}

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
