//! Numbers of a numpy array that Rust reads where they are.

use numpy::{Element, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A type of which every pattern of bits is a number, which `bool` is not.
pub(crate) trait Number: Element {}

impl Number for f32 {}
impl Number for f64 {}
impl Number for i8 {}
impl Number for i32 {}
impl Number for i64 {}
impl Number for u8 {}

/// The numbers of a contiguous array, which is kept as long as they are read.
pub(crate) struct Lent<T> {
    pointer: *const T,
    length: usize,
    shape: Vec<usize>,
    _owner: Py<PyAny>,
}

// SAFETY: the numbers are plain values that are only read, and the array that owns them lives as long as this does. Python may
// write to an array while it is fitted, from another thread, as it may with any library that reads arrays without the lock:
// what is read then is one of the values that were there. Only `resize(refcheck=False)` takes the memory away, and numpy says
// that whoever calls it has to know that nobody else uses the array.
#[allow(unsafe_code)]
unsafe impl<T: Sync> Send for Lent<T> {}
#[allow(unsafe_code)]
unsafe impl<T: Sync> Sync for Lent<T> {}

impl<T: Number> Lent<T> {
    /// The numbers of an array, if they are of this type and stand one after another, where such numbers may stand.
    pub(crate) fn of(array: &Bound<'_, PyAny>) -> Option<Self> {
        let array = array.cast::<PyArrayDyn<T>>().ok()?;
        if !array.is_c_contiguous() {
            return None;
        }
        let (pointer, length) = (array.data().cast_const(), array.len());
        if !pointer.is_aligned() {
            return None;
        }
        let owner = array.clone().into_any().unbind();
        Some(Self { pointer, length, shape: array.shape().to_vec(), _owner: owner })
    }
}

impl<T> Lent<T> {
    /// The numbers.
    pub(crate) fn values(&self) -> &[T] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: the array is contiguous and has so many values of this type, and `owner` keeps it.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.pointer, self.length)
        }
    }

    /// The lengths of its axes.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }
}
