#![forbid(unsafe_code)]
mod candidates;
mod grams;
mod release;
