//! The paper's Algorithm 3 in dense double precision, from a transcript.

use super::record::{Sample, Transcript};

fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

/// Where the parts of a word stand among the parameters.
struct Places<'a>(&'a Transcript);

impl Places<'_> {
    fn input(&self, word: usize, dimension: usize) -> usize {
        word * self.0.dimensions + dimension
    }

    fn output(&self, word: usize, dimension: usize) -> usize {
        let word = if self.0.tied { word } else { self.0.words + word };
        word * self.0.dimensions + dimension
    }

    fn bias(&self, word: usize) -> Option<usize> {
        (!self.0.tied).then(|| 2 * self.0.words * self.0.dimensions + word)
    }
}

/// The gradient of one sample: - ln sigmoid(x . y + b) for the positive, - ln sigmoid(-(x . y + b)) for
/// each negative, x the mean of the inputs.
fn sample_gradient(transcript: &Transcript, weights: &[f64], sample: &Sample) -> Vec<f64> {
    let places = Places(transcript);
    let mut gradient = vec![0.0; weights.len()];
    let share = 1.0 / sample.inputs.len() as f64;
    let mean: Vec<f64> = (0..transcript.dimensions)
        .map(|place| {
            sample.inputs.iter().map(|word| share * weights[places.input(*word, place)]).sum()
        })
        .collect();
    let positive = std::iter::once((sample.positive, 1.0));
    for (word, label) in positive.chain(sample.negatives.iter().map(|word| (*word, 0.0))) {
        let bias = places.bias(word).map_or(0.0, |place| weights[place]);
        let products = (0..transcript.dimensions)
            .map(|place| mean[place] * weights[places.output(word, place)]);
        let slope = sigmoid(products.sum::<f64>() + bias) - label;
        for place in 0..transcript.dimensions {
            gradient[places.output(word, place)] += slope * mean[place];
            for input in &sample.inputs {
                gradient[places.input(*input, place)] +=
                    share * slope * weights[places.output(word, place)];
            }
        }
        if let Some(place) = places.bias(word) {
            gradient[place] += slope;
        }
    }
    gradient
}

fn clipped(mut vector: Vec<f64>, bound: f64) -> Vec<f64> {
    let norm = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    let scale = 1.0 / (norm / bound).max(1.0);
    vector.iter_mut().for_each(|value| *value *= scale);
    vector
}

/// The average over the batch of clipped gradients of units.
fn averaged(transcript: &Transcript, weights: &[f64], units: &[Vec<Sample>]) -> Vec<f64> {
    let mut average = vec![0.0; weights.len()];
    for samples in units {
        let mut unit = vec![0.0; weights.len()];
        for sample in samples {
            for (sum, value) in unit.iter_mut().zip(sample_gradient(transcript, weights, sample)) {
                *sum += value / samples.len() as f64;
            }
        }
        for (sum, value) in average.iter_mut().zip(clipped(unit, transcript.clip)) {
            *sum += value / transcript.batch;
        }
    }
    average
}

/// The parameters after every step, and the averaged gradient before selection in every step.
fn all(transcript: &Transcript) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let mut weights = transcript.initial.clone();
    let size = weights.len();
    let (mut first, mut second) = (vec![0.0; size], vec![0.0; size]);
    let (mut after, mut gradients) = (Vec::new(), Vec::new());
    for (time, step) in (1..).zip(&transcript.steps) {
        let average = averaged(transcript, &weights, &step.units);
        gradients.push(average.clone());
        let everything: Vec<usize> = (0..size).collect();
        let mask = step.mask.as_ref().unwrap_or(&everything);
        let selected: Vec<f64> = mask.iter().map(|place| average[*place]).collect();
        let selected = match transcript.second_clip {
            Some(bound) => clipped(selected, bound),
            None => selected,
        };
        let mut update = vec![0.0; size];
        for (number, place) in mask.iter().enumerate() {
            update[*place] = selected[number] + step.noise.get(number).copied().unwrap_or(0.0);
        }
        for place in 0..size {
            weights[place] -= match transcript.adam {
                None => transcript.learning_rate * update[place],
                Some([beta1, beta2, epsilon]) => {
                    first[place] = beta1 * first[place] + (1.0 - beta1) * update[place];
                    second[place] = beta2 * second[place] + (1.0 - beta2) * update[place].powi(2);
                    let mean = first[place] / (1.0 - beta1.powi(time));
                    let square = second[place] / (1.0 - beta2.powi(time));
                    transcript.learning_rate * mean / (square.sqrt() + epsilon)
                }
            };
        }
        after.push(weights.clone());
    }
    (after, gradients)
}

/// The parameters after every step.
pub(crate) fn run(transcript: &Transcript) -> Vec<Vec<f64>> {
    all(transcript).0
}

/// In every step the coordinates of the `count` largest values, or of the rows of the largest norm.
pub(crate) fn largest(transcript: &Transcript, count: usize, by_row: bool) -> Vec<Vec<usize>> {
    let tables = if transcript.tied { 1 } else { 2 } * transcript.words * transcript.dimensions;
    let of_gradient = |gradient: Vec<f64>| {
        let candidates: Vec<Vec<usize>> = if by_row {
            let vectors = (0..tables).collect::<Vec<_>>();
            let vectors = vectors.chunks(transcript.dimensions).map(<[usize]>::to_vec);
            vectors.chain((tables..gradient.len()).map(|bias| vec![bias])).collect()
        } else {
            (0..gradient.len()).map(|place| vec![place]).collect()
        };
        let size = |candidate: &Vec<usize>| {
            candidate.iter().map(|place| gradient[*place].powi(2)).sum::<f64>()
        };
        let mut sorted = candidates;
        sorted.sort_by(|one, other| size(other).total_cmp(&size(one)));
        let mut taken = sorted[..count].concat();
        taken.sort_unstable();
        taken
    };
    all(transcript).1.into_iter().map(of_gradient).collect()
}
