//! Its training by DP-SGD: the engine samples writers, clips the gradient of each, and adds noise.

use super::{DIMENSIONS, INPUTS, Network, Tables, context};
use organza_data::Writing;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{below, fill_normal_f32, unit};
use organza_mechanism::{ReadRows, WriteRows};
use organza_model::kernels::{add_scaled, dot};
use organza_train::settings::TrainingSettings;
use organza_train::{Losses, OptimizerSettings, Task};

/// The deviation of the first entries of vectors of symbols.
const DEVIATION: f32 = 0.5;
/// Of a writer so many words are predicted in a step, against so many candidates.
const TARGETS: usize = 128;
const OTHERS: usize = 64;

/// How steps go: public numbers that do well on blogs of ten thousand writers.
pub(crate) fn training() -> TrainingSettings {
    TrainingSettings {
        batch: 1_000.0,
        epochs: 30.0,
        clip: 0.1,
        optimizer: OptimizerSettings::adam(0.02),
        evaluations: 1,
        ..TrainingSettings::default()
    }
}

/// The training of a [`Network`]. Before the first step all v are 0, so that a model that has learned nothing offers the most frequent words.
///
/// # Privacy
/// The unit is a writer. In a step some words of their text are predicted, against K candidates that are drawn by q, which was
/// released before. For a word t the sum over all words is estimated without bias by what t has of it and the candidates c
/// other than t:
///
/// ```text
/// loss = ln Z - ln q_t - v_t h,    Z = q_t exp(v_t h) + sum over c of exp(v_c h) / K
/// ```
///
/// The gradient is the mean over these words. It depends on this writer, on q and on the weights, and the engine clips it as one.
#[derive(Debug, Default)]
pub struct NextWord {
    tables: Tables,
    /// What everybody wrote; nothing where there are no steps.
    writing: Writing,
    /// How frequent each symbol is without a context.
    alone: Vec<f32>,
    /// The sums of these, up to each word and with it.
    sums: Vec<f64>,
}

impl NextWord {
    /// On a text, where so frequent each symbol is without a context.
    pub(crate) fn new(writing: Writing, alone: &[f32]) -> Self {
        let mut sum = 0.0;
        let words = alone.iter().skip(Writing::FIRST_WORD as usize);
        let sums = words.map(|part| {
            sum += f64::from(*part);
            sum
        });
        let sums = sums.collect();
        Self {
            tables: Tables { symbols: alone.len() as u32 },
            writing,
            alone: alone.to_vec(),
            sums,
        }
    }

    fn has_steps(&self) -> bool {
        self.tables.symbols > 0
    }

    /// The first parameters.
    pub(crate) fn start(&self, random: &mut PrivateRandom) -> Vec<f32> {
        if !self.has_steps() {
            return vec![0.0];
        }
        let [vectors, hidden, words] = self.tables.sizes().map(|(rows, width)| rows * width);
        let mut parameters = vec![0.0; vectors + hidden];
        fill_normal_f32(&mut parameters, random);
        let (first, second) = parameters.split_at_mut(vectors);
        first.iter_mut().for_each(|entry| *entry *= DEVIATION);
        // As long as what a unit sees, whatever its number of inputs.
        second.iter_mut().for_each(|entry| *entry /= (INPUTS as f32).sqrt() * DEVIATION);
        parameters.resize(vectors + hidden + words, 0.0);
        parameters
    }

    /// What was trained; none where there are no steps.
    pub(crate) fn network(&self, parameters: Vec<f32>) -> Option<Network> {
        Network::new(self.tables.symbols, parameters).filter(|_| self.has_steps())
    }
}

impl Task for NextWord {
    fn tables(&self) -> Vec<(u64, u64)> {
        match self.has_steps() {
            true => self.tables.sizes().map(|(rows, width)| (rows as u64, width as u64)).to_vec(),
            false => vec![(1, 1)],
        }
    }

    fn units(&self) -> u64 {
        self.writing.units() as u64
    }

    /// The candidates, then the places in the writer's row that are predicted, if these are words.
    fn draw(&self, number: u64, random: &mut PrivateRandom, draw: &mut Vec<u32>) {
        let places = self.writing.unit(number as usize).len().saturating_sub(1);
        if let (Some(total), true) = (self.sums.last(), places > 0) {
            let candidate = |_| {
                let at = unit(random) * total;
                let word = self.sums.partition_point(|sum| *sum <= at).min(self.sums.len() - 1);
                Writing::FIRST_WORD + word as u32
            };
            draw.extend((0..OTHERS).map(candidate));
            draw.extend((0..TARGETS.min(places)).map(|_| 1 + below(places as u64, random) as u32));
        }
    }

    fn gradient(
        &self,
        unit: u64,
        draw: &[u32],
        weights: &dyn ReadRows,
        gradient: &mut dyn WriteRows,
    ) {
        let Some((others, places)) = draw.split_at_checked(OTHERS) else { return };
        let row = self.writing.unit(unit as usize);
        let part = 1.0 / places.len() as f32;
        // The vectors of candidates and their gradients, by entry.
        let mut columns = [[0.0; OTHERS]; DIMENSIONS];
        for (place, word) in others.iter().enumerate() {
            let vector = weights.row(self.tables.word(*word));
            columns.iter_mut().zip(vector).for_each(|(column, entry)| column[place] = *entry);
        }
        let mut back_columns = [[0.0; OTHERS]; DIMENSIONS];
        let mut back_hidden = [[0.0; INPUTS + 1]; DIMENSIONS];
        for place in places {
            let (before, word) = (&row[..*place as usize], row[*place as usize]);
            if word < Writing::FIRST_WORD {
                continue;
            }
            let inputs = self.tables.inputs(before, weights);
            let activations = self.tables.activations(&inputs, weights);
            let own = weights.row(self.tables.word(word));
            let own_score = self.alone[word as usize].ln() + dot(own, &activations);
            let mut chances = [-(OTHERS as f32).ln(); OTHERS];
            for (column, activation) in columns.iter().zip(activations) {
                add_scaled(&mut chances, activation, column);
            }
            for (chance, _) in chances.iter_mut().zip(others).filter(|(_, it)| **it == word) {
                *chance = f32::NEG_INFINITY;
            }
            let most = chances.iter().copied().fold(own_score, f32::max);
            chances.iter_mut().for_each(|chance| *chance = (*chance - most).exp());
            let own_chance = (own_score - most).exp();
            let total = own_chance + chances.iter().sum::<f32>();
            chances.iter_mut().for_each(|chance| *chance *= part / total);
            let miss = part * (own_chance / total - 1.0);
            add_scaled(gradient.row(self.tables.word(word)), miss, &activations);
            let mut back: [f32; DIMENSIONS] =
                std::array::from_fn(|entry| dot(&columns[entry], &chances));
            add_scaled(&mut back, miss, own);
            for (column, activation) in back_columns.iter_mut().zip(activations) {
                add_scaled(column, activation, &chances);
            }
            let mut back_inputs = [0.0; INPUTS];
            for (place, sum) in back_hidden.iter_mut().enumerate() {
                let slope = back[place] * (1.0 - activations[place] * activations[place]);
                add_scaled(&mut sum[..INPUTS], slope, &inputs);
                sum[INPUTS] += slope;
                let hidden = weights.row(self.tables.hidden(place));
                add_scaled(&mut back_inputs, slope, hidden.get(..INPUTS).unwrap_or_default());
            }
            for (back, symbol) in back_inputs.chunks_exact(DIMENSIONS).zip(context(before)) {
                add_scaled(gradient.row(symbol), 1.0, back);
            }
        }
        for (place, word) in others.iter().enumerate() {
            let sums = gradient.row(self.tables.word(*word)).iter_mut().zip(&back_columns);
            sums.for_each(|(sum, column)| *sum += column[place]);
        }
        for (place, sum) in back_hidden.iter().enumerate() {
            add_scaled(gradient.row(self.tables.hidden(place)), 1.0, sum);
        }
    }

    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_mechanism::{FlatRows, PlainSum, Purpose, RandomSource, Shape};

    /// As the doc comments have it.
    fn loss(task: &NextWord, draw: &[u32], parameters: &[f64]) -> f64 {
        let sizes = task.tables.sizes();
        let rows = |table: usize| {
            let first: usize = sizes[..table].iter().map(|(rows, width)| rows * width).sum();
            parameters[first..].chunks(sizes[table].1).take(sizes[table].0).collect::<Vec<_>>()
        };
        let [vectors, hidden, words] = [rows(0), rows(1), rows(2)];
        let row = task.writing.unit(0);
        let (others, places) = draw.split_at(OTHERS);
        let of_place = |place: &u32| {
            let place = *place as usize;
            if row[place] < Writing::FIRST_WORD {
                return 0.0;
            }
            let second = if place > 1 { row[place - 2] } else { Writing::END };
            let inputs = [second, row[place - 1]].map(|symbol| vectors[symbol as usize]).concat();
            let unit = |unit: &&[f64]| {
                let inner: f64 = unit.iter().zip(&inputs).map(|(one, other)| one * other).sum();
                (inner + unit[INPUTS]).tanh()
            };
            let units: Vec<f64> = hidden.iter().map(unit).collect();
            let score = |word: u32| -> f64 {
                let vector = words[(word - Writing::FIRST_WORD) as usize];
                vector.iter().zip(&units).map(|(one, other)| one * other).sum()
            };
            let own = f64::from(task.alone[row[place] as usize]) * score(row[place]).exp();
            let others = others.iter().filter(|other| **other != row[place]);
            let others: f64 = others.map(|other| score(*other).exp() / OTHERS as f64).sum();
            (own + others).ln() - own.ln()
        };
        places.iter().map(of_place).sum::<f64>() / places.len() as f64
    }

    #[test]
    fn the_gradient_is_that_of_the_loss() {
        let alone = [0.0, 0.0, 0.4, 0.3, 0.2, 0.1];
        let row = [0, 2, 3, 1, 4, 5, 0, 3, 3, 2, 5];
        let task = NextWord::new(Writing::of_rows(6, [row]), &alone);
        let mut random = RandomSource::from_seed(1).substream(Purpose::Data, 0, 0);
        let mut draw = Vec::new();
        task.draw(0, &mut random, &mut draw);
        assert_eq!(draw.len(), OTHERS + 10);
        let mut parameters = task.start(&mut random);
        let [_, _, (words, width)] = task.tables.sizes();
        let outputs = parameters.len() - words * width;
        assert!(parameters[outputs..].iter().all(|it| *it == 0.0));
        fill_normal_f32(&mut parameters[outputs..], &mut random);
        let shape = Shape::tables(&task.tables()).unwrap();
        let mut sum = PlainSum::new(shape.clone());
        task.gradient(0, &draw, &FlatRows::new(shape, &parameters), &mut sum);
        let mut gradient = vec![0.0; parameters.len()];
        sum.drain(1.0, true, |first, row| {
            gradient[first as usize..][..row.len()].copy_from_slice(row)
        });
        let exact: Vec<f64> = parameters.iter().map(|value| f64::from(*value)).collect();
        for (place, slope) in gradient.iter().enumerate() {
            let at = |by: f64| {
                let mut moved = exact.clone();
                moved[place] += by;
                loss(&task, &draw, &moved)
            };
            let expected = (at(1e-4) - at(-1e-4)) / 2e-4;
            assert!((expected - f64::from(*slope)).abs() < 1e-5, "{place}: {expected} {slope}");
        }
        assert!(gradient.iter().any(|slope| slope.abs() > 0.1));
    }

    /// The candidates follow the released frequencies, by which they are weighed: a chi-squared of 3 degrees of freedom, which
    /// is above 30.7 with a chance of 1e-6.
    #[test]
    fn candidates_are_drawn_as_frequent_as_words_are() {
        let alone = [0.0, 0.0, 0.4, 0.3, 0.2, 0.1];
        let task = NextWord::new(Writing::of_rows(6, [[0, 2]]), &alone);
        let mut random = RandomSource::from_seed(2).substream(Purpose::Data, 0, 0);
        let (mut counts, mut draw) = ([0.0; 6], Vec::new());
        for _ in 0..200 {
            draw.clear();
            task.draw(0, &mut random, &mut draw);
            assert_eq!((draw.len(), draw[OTHERS]), (OTHERS + 1, 1));
            draw[..OTHERS].iter().for_each(|word| counts[*word as usize] += 1.0);
        }
        let distance = |frequencies: [f32; 4]| -> f64 {
            let expected = frequencies.map(|it| f64::from(it) * 200.0 * OTHERS as f64);
            counts[2..].iter().zip(expected).map(|(it, mean)| (it - mean).powi(2) / mean).sum()
        };
        assert!(distance([0.4, 0.3, 0.2, 0.1]) < 30.7);
        assert!(distance([0.25; 4]) > 30.7);
    }

    /// Without a context there are two ends of sentences, and probabilities of all words are one.
    #[test]
    fn a_network_that_has_learned_nothing_offers_frequent_words() {
        let alone = [0.0, 0.0, 0.4, 0.3, 0.2, 0.1];
        let task = NextWord::new(Writing::of_rows(6, [[0, 2]]), &alone);
        let mut random = RandomSource::from_seed(3).substream(Purpose::Data, 0, 0);
        let network = task.network(task.start(&mut random)).unwrap();
        for row in [&[][..], &[0], &[0, 1, 5]] {
            let probabilities = network.probabilities(row, &alone);
            for (one, other) in probabilities.iter().zip(&alone[2..]) {
                assert!((one - other).abs() < 1e-6, "{probabilities:?}");
            }
        }
        assert!(NextWord::default().network(NextWord::default().start(&mut random)).is_none());
    }
}
