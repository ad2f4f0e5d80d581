//! Vectors on a plane, to look at.

use super::Vectors;

/// Far more than two directions that differ need to settle; a picture does not need more digits.
const ROUNDS: usize = 100;

impl Vectors {
    /// The first `words` words on the plane in which their vectors, at length 1, differ most: their first two
    /// principal components, found by orthogonal iteration.
    pub fn plane(&self, words: usize) -> Vec<(f64, f64)> {
        let mut rows: Vec<Vec<f64>> =
            (0..words.min(self.words.len())).map(|number| self.unit(number)).collect();
        let mut mean = vec![0.0; self.dimensions];
        for row in &rows {
            mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += value / rows.len() as f64);
        }
        for row in &mut rows {
            row.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
        }
        // Directions that no vector is likely to be at right angles to.
        let mut first: Vec<f64> = (1..=self.dimensions).map(|place| (place as f64).sin()).collect();
        let mut second: Vec<f64> =
            (1..=self.dimensions).map(|place| (place as f64).cos()).collect();
        for _ in 0..ROUNDS {
            first = length_one(turned(&rows, &first));
            second = turned(&rows, &second);
            let common = product(&first, &second);
            second.iter_mut().zip(&first).for_each(|(value, first)| *value -= common * first);
            second = length_one(second);
        }
        rows.iter().map(|row| (product(row, &first), product(row, &second))).collect()
    }
}

/// The covariance of rows times a direction.
fn turned(rows: &[Vec<f64>], direction: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; direction.len()];
    for row in rows {
        let share = product(row, direction);
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += share * value);
    }
    sum
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Zero stays zero.
fn length_one(mut direction: Vec<f64>) -> Vec<f64> {
    let length = product(&direction, &direction).sqrt();
    if length > 0.0 {
        direction.iter_mut().for_each(|value| *value /= length);
    }
    direction
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Words on a flat ellipse in four dimensions, off the origin in the fourth.
    #[test]
    fn the_plane_is_the_one_in_which_vectors_differ() {
        let words: Vec<String> = (0..12).map(|number| format!("w{number}")).collect();
        let turn = |number: usize| number as f64 * std::f64::consts::TAU / 12.0;
        let row = |number: usize| {
            let turn = turn(number);
            [0.0, 0.6 * turn.cos() as f32, 0.2 * turn.sin() as f32, 1.0]
        };
        let vectors = Vectors::new(words, 4, (0..12).flat_map(row).collect()).unwrap();
        let places = vectors.plane(12);
        // The long axis is the first, and opposite words stand opposite each other.
        let width = |part: fn(&(f64, f64)) -> f64| places.iter().map(part).fold(0.0, f64::max);
        assert!(width(|place| place.0.abs()) > 2.0 * width(|place| place.1.abs()));
        for number in 0..6 {
            let (one, other) = (places[number], places[number + 6]);
            assert!((one.0 + other.0).abs() < 0.02 && (one.1 + other.1).abs() < 0.02, "{places:?}");
        }
        assert_eq!(vectors.plane(5).len(), 5);
        let alike = Vectors::new(vec!["a".into(), "b".into()], 1, vec![1.0, 1.0]).unwrap();
        assert!(alike.plane(9).iter().all(|place| *place == (0.0, 0.0)));
    }
}
