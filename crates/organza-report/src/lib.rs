//! What a person looks at: charts, numbers rounded to the safe side, events in words.
#![forbid(unsafe_code)]

pub mod chart;
pub mod describe;
pub mod digits;
