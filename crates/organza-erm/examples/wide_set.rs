//! Writes a wide synthetic set of rows in libsvm form, grouped by user: `wide_set FEATURES ROWS SEED`.
//!
//! A row has 20 features of value 1: ten of the first 200, whose weights make its label, and ten of all
//! others, which say nothing. A user has ten rows.

use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{coin, normal, uniform_subset};
use organza_mechanism::{Purpose, RandomSource};
use std::io::{self, BufWriter, Write};

const COMMON: u64 = 200;
const EACH: u64 = 10;

fn main() -> io::Result<()> {
    let number = |place: usize, usual: u64| {
        std::env::args().nth(place).and_then(|word| word.parse().ok()).unwrap_or(usual)
    };
    let (features, rows, seed) = (number(1, 1_000_000), number(2, 20_000), number(3, 1));
    let weights: Vec<f64> = {
        // The same truth whatever the seed, so that a test set can be drawn beside a training set.
        let random = &mut RandomSource::from_seed(0).substream(Purpose::Data, 0, 0);
        (0..COMMON).map(|_| normal(random)).collect()
    };
    let source = RandomSource::from_seed(seed);
    let mut out = BufWriter::new(io::stdout().lock());
    for row in 0..rows {
        let random: &mut PrivateRandom = &mut source.substream(Purpose::Data, 1, row);
        let common = uniform_subset(COMMON, EACH, random);
        let rare = uniform_subset(features - COMMON, EACH, random);
        let margin: f64 = common.iter().map(|feature| weights[*feature as usize]).sum::<f64>();
        let label = u8::from(coin(1.0 / (1.0 + (-0.6 * margin).exp()), random));
        write!(out, "{label} qid:{}", row / EACH)?;
        let rare = rare.iter().map(|feature| COMMON + feature);
        for feature in common.iter().copied().chain(rare) {
            write!(out, " {}:1", feature + 1)?;
        }
        writeln!(out)?;
    }
    out.flush()
}
