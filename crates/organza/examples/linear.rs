//! Logistic regression on sparse rows at epsilon 1.
#![allow(clippy::print_stdout)]

use organza::data::sparse::SparseRows;
use organza::erm::LogisticRegression;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // People who saw feature 0 answer yes, those who saw feature 1 no; feature 2 tells nothing.
    let mut rows = SparseRows::new(Some(3));
    for number in 0..5_000_u32 {
        let yes = number % 2;
        rows.push(f64::from(yes), &mut [(1 - yes, 1.0), (2, 0.5)], None)?;
    }
    let fit = LogisticRegression::new().epsilon(1.0).delta(1e-5).fit(&rows)?;
    println!("weights {:.2?}, epsilon {:?}", fit.model.weights, fit.certificate.epsilon);
    assert!(fit.model.weights[0] > 0.5 && fit.model.weights[1] < -0.5);
    Ok(())
}
