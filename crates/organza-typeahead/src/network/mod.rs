//! A small network that predicts the next word, to compare with.

mod task;

pub use task::NextWord;
pub(crate) use task::training;

use organza_data::Writing;
use organza_mechanism::ReadRows;
use organza_model::kernels::{add_scaled, dot};

/// The length of the vector of a symbol, and the number of hidden units.
const DIMENSIONS: usize = 16;
/// So many symbols are looked at.
const CONTEXT: usize = 2;
/// The length of what a hidden unit sees: the vectors of these symbols.
const INPUTS: usize = CONTEXT * DIMENSIONS;

/// Where the parameters stand: vectors of symbols, then the weights of each hidden unit with its offset last, then what each word asks
/// of the hidden units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tables {
    symbols: u32,
}

impl Tables {
    fn sizes(self) -> [(usize, usize); 3] {
        let words = self.symbols.saturating_sub(Writing::FIRST_WORD).max(1);
        [
            (self.symbols as usize, DIMENSIONS),
            (DIMENSIONS, INPUTS + 1),
            (words as usize, DIMENSIONS),
        ]
    }

    fn coordinates(self) -> usize {
        self.sizes().iter().map(|(rows, width)| rows * width).sum()
    }

    fn hidden(self, place: usize) -> u32 {
        self.symbols + place as u32
    }

    fn word(self, word: u32) -> u32 {
        self.hidden(DIMENSIONS) + (word - Writing::FIRST_WORD)
    }

    /// The vectors of the last symbols of a row, one after another; before its beginning a sentence ends.
    fn inputs(self, row: &[u32], weights: &dyn ReadRows) -> [f32; INPUTS] {
        let mut inputs = [0.0; INPUTS];
        for (vector, symbol) in inputs.chunks_exact_mut(DIMENSIONS).zip(context(row)) {
            add_scaled(vector, 1.0, weights.row(symbol));
        }
        inputs
    }

    fn activations(self, inputs: &[f32], weights: &dyn ReadRows) -> [f32; DIMENSIONS] {
        std::array::from_fn(|place| match weights.row(self.hidden(place)).split_last() {
            Some((offset, weights)) => (dot(weights, inputs) + offset).tanh(),
            None => 0.0,
        })
    }
}

fn context(row: &[u32]) -> [u32; CONTEXT] {
    let symbol = |back: usize| row.len().checked_sub(back).and_then(|place| row.get(place));
    std::array::from_fn(|place| *symbol(CONTEXT - place).unwrap_or(&Writing::END))
}

/// A trained network. With vectors x of the last two symbols, hidden units h_i = tanh(u_i x + a_i) and how frequent word w
/// is without a context, q_w:
///
/// ```text
/// p(w | x) = q_w exp(v_w h) / sum over words c of q_c exp(v_c h)
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    tables: Tables,
    parameters: Vec<f32>,
}

impl Network {
    /// The parameters of a network for so many symbols; none if there are too many or too few.
    pub(crate) fn new(symbols: u32, parameters: Vec<f32>) -> Option<Self> {
        let tables = Tables { symbols };
        (parameters.len() == tables.coordinates()).then_some(Self { tables, parameters })
    }

    /// Its parameters, in one list.
    pub(crate) fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// The probability of each word after a row, from the first word. `alone` are those of symbols without a context.
    pub(crate) fn probabilities(&self, row: &[u32], alone: &[f32]) -> Vec<f32> {
        let inputs = self.tables.inputs(row, self);
        let activations = self.tables.activations(&inputs, self);
        let [before, hidden, _] = self.tables.sizes().map(|(rows, width)| rows * width);
        let words = self.parameters[before + hidden..].chunks_exact(DIMENSIONS);
        let scores: Vec<f32> = words.map(|vector| dot(vector, &activations)).collect();
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let frequencies = alone.iter().skip(Writing::FIRST_WORD as usize);
        let weights =
            frequencies.zip(scores).map(|(frequency, score)| frequency * (score - most).exp());
        let mut probabilities: Vec<f32> = weights.collect();
        let total: f32 = probabilities.iter().sum();
        probabilities.iter_mut().for_each(|it| *it /= total.max(f32::MIN_POSITIVE));
        probabilities
    }
}

impl ReadRows for Network {
    fn row(&self, row: u32) -> &[f32] {
        let (mut place, mut first) = (row as usize, 0);
        for (rows, width) in self.tables.sizes() {
            if place < rows {
                return &self.parameters[first + place * width..][..width];
            }
            place -= rows;
            first += rows * width;
        }
        &[]
    }
}
