//! Numbers for people, rounded to the safe side.

use crate::describe::number;

/// How many digits a person is shown.
const SHOWN: usize = 4;

/// A cost: four digits, rounded up, so that what is shown still holds.
pub fn cost(value: f64) -> String {
    number(above(value, SHOWN))
}

/// The nearest number of four digits, for what is no bound.
pub fn near(value: f64) -> String {
    number(nearest(value, SHOWN))
}

/// The smallest number of so many digits that is not below `value`.
pub fn above(value: f64, digits: usize) -> f64 {
    let rounded = nearest(value, digits);
    if rounded < value { nearest(value + unit(value, digits), digits) } else { rounded }
}

/// The largest number of so many digits that is not above `value`.
pub fn below(value: f64, digits: usize) -> f64 {
    let rounded = nearest(value, digits);
    if rounded > value { nearest(value - unit(value, digits), digits) } else { rounded }
}

/// Through decimal text, because that is what will be read.
fn nearest(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// One in the last of the digits.
fn unit(value: f64, digits: usize) -> f64 {
    let exponent = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    10_f64.powf(exponent + 1.0 - digits as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn costs_are_rounded_up() {
        assert_eq!(cost(2.417_01), "2.418");
        assert_eq!(cost(2.418), "2.418");
        assert_eq!(cost(0.0), "0");
        assert_eq!(cost(9.999_9), "10");
        assert_eq!(cost(1.000_01e-9), "1.001e-9");
        assert_eq!(near(24.204_9), "24.2");
        assert_eq!(below(0.283_799, 4), 0.2837);
    }

    proptest! {
        #[test]
        fn rounding_keeps_its_side_and_is_close(value in 1e-30_f64..1e30, digits in 3_usize..9) {
            let (low, high) = (below(value, digits), above(value, digits));
            prop_assert!(low <= value && value <= high);
            prop_assert!(high - low <= 1.001 * 10_f64.powi(2 - digits as i32) * value);
        }
    }
}
