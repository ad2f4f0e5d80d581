//! Eigenvalues of a small symmetric matrix, by Jacobi's rotations.

/// More sweeps than any matrix needs: convergence is quadratic after the first few.
const MOST_SWEEPS: usize = 30;

/// Eigenvalues and eigenvectors of a symmetric matrix, given and returned by rows: row r of the second
/// result is the eigenvector of value r. In no particular order.
///
/// Each rotation makes one pair of entries off the diagonal zero and lowers the sum of squares off the
/// diagonal by theirs, so that sum falls to zero; eigenvectors are orthonormal to rounding.
pub(super) fn symmetric_eigen(size: usize, mut matrix: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
    let mut vectors = vec![0.0; size * size];
    for place in 0..size {
        vectors[place * size + place] = 1.0;
    }
    for _ in 0..MOST_SWEEPS {
        let (mut off, mut all) = (0.0, 0.0);
        for row in 0..size {
            for column in 0..size {
                let square = matrix[row * size + column].powi(2);
                all += square;
                off += if row == column { 0.0 } else { square };
            }
        }
        if off <= 1e-22 * all {
            break;
        }
        for first in 0..size {
            for second in first + 1..size {
                rotate(size, &mut matrix, &mut vectors, first, second);
            }
        }
    }
    ((0..size).map(|place| matrix[place * size + place]).collect(), vectors)
}

/// Turns the plane of two coordinates so that their common entry vanishes.
fn rotate(size: usize, matrix: &mut [f64], vectors: &mut [f64], first: usize, second: usize) {
    let common = matrix[first * size + second];
    if common == 0.0 {
        return;
    }
    let half = (matrix[second * size + second] - matrix[first * size + first]) / (2.0 * common);
    // The smaller of the two angles: the other would undo the work of former rotations.
    let tangent = half.signum() / (half.abs() + half.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    for row in 0..size {
        let (one, other) = (matrix[row * size + first], matrix[row * size + second]);
        matrix[row * size + first] = cosine * one - sine * other;
        matrix[row * size + second] = sine * one + cosine * other;
    }
    for values in [matrix, vectors] {
        let (head, tail) = values.split_at_mut(second * size);
        let one = &mut head[first * size..(first + 1) * size];
        for (one, other) in one.iter_mut().zip(&mut tail[..size]) {
            (*one, *other) = (cosine * *one - sine * *other, sine * *one + cosine * *other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_and_values_make_the_matrix() {
        let size = 23;
        let entry = |row: usize, column: usize| {
            let (low, high) = (row.min(column) as f64, row.max(column) as f64);
            (low * 1.3 + high * 2.9).sin() + if row == column { low } else { 0.0 }
        };
        let matrix: Vec<f64> =
            (0..size * size).map(|place| entry(place / size, place % size)).collect();
        let (values, vectors) = symmetric_eigen(size, matrix);
        for row in 0..size {
            for column in 0..size {
                let mut made = 0.0;
                let mut product = 0.0;
                for place in 0..size {
                    made += values[place]
                        * vectors[place * size + row]
                        * vectors[place * size + column];
                    product += vectors[row * size + place] * vectors[column * size + place];
                }
                assert!((made - entry(row, column)).abs() < 1e-10);
                let identity = if row == column { 1.0 } else { 0.0 };
                assert!((product - identity).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn equal_and_zero_values_do_no_harm() {
        let (values, _) = symmetric_eigen(2, vec![1.0, 1.0, 1.0, 1.0]);
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted[0].abs() < 1e-15 && (sorted[1] - 2.0).abs() < 1e-15);
        assert_eq!(symmetric_eigen(3, vec![0.0; 9]).0, vec![0.0; 3]);
    }
}
