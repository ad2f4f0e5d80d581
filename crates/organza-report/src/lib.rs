//! What a person looks at: charts, self-contained pages, numbers rounded to the safe side, events in
//! words.
//!
//! [`page::Page`] is filled section by section and written as one HTML file, with each figure as SVG
//! and each table as CSV beside it; [`run::RunFiles`] fills one from the files of a training run.
#![forbid(unsafe_code)]

pub mod chart;
pub mod describe;
pub mod digits;
mod escape;
pub mod page;
pub mod run;
