//! So are counts over cells, and items.
use organza_mechanism::{Histogram, ItemCounts, Release};

fn release(histogram: Histogram, items: ItemCounts<u32>, release: &Release) {
    let _ = histogram.noise(release);
    let _ = items.noise();
}

fn main() {}
