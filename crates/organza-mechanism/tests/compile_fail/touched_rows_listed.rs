//! Which rows a batch touched is secret: they cannot be listed, and are no values to read.
use organza_mechanism::{Noised, TouchedRows};

fn optimize(_: Noised) {}

fn peek(rows: TouchedRows) {
    rows.visit(|_, values| drop(values[0]));
    optimize(rows);
}

fn main() {}
