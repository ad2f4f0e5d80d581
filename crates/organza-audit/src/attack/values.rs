//! What a set of released numbers looks like, down to the last bit.

use super::features::Knowledge;
use std::collections::HashSet;

/// More values than these are not looked at for gaps and equal ones.
const LOOKED_AT: usize = 4_096;
/// How far from a whole number of steps a value may be that is on a grid: what its own rounding explains.
const OFF_GRID: f64 = 1e-3;
/// Numbers of trailing zeros that are told apart.
const ZEROS: [u32; 4] = [1, 2, 4, 8];

/// Calls `tell` with a name and a number for each thing that `rows` show.
pub(crate) fn describe(
    rows: &[&[f64]],
    precision: u32,
    knowledge: &Knowledge,
    tell: &mut dyn FnMut(String, f64),
) {
    let values: Vec<f64> = rows.iter().flat_map(|row| row.iter().copied()).collect();
    if values.is_empty() {
        return;
    }
    sizes(&values, tell);
    bits(&values, precision, tell);
    products(rows, precision, knowledge, tell);
    for grid in &knowledge.grids {
        let on_grid = |value: &f64| {
            let steps = value / grid;
            (steps - steps.round()).abs() < OFF_GRID
        };
        tell(format!("on the grid of {grid:e}"), share(&values, on_grid));
    }
    equal(rows, &values, tell);
    lattice(&values, tell);
}

fn share(values: &[f64], is: impl Fn(&f64) -> bool) -> f64 {
    values.iter().filter(|value| is(value)).count() as f64 / values.len() as f64
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

fn sizes(values: &[f64], tell: &mut dyn FnMut(String, f64)) {
    let sizes = || values.iter().map(|value| value.abs());
    tell("zeros".into(), share(values, |it| *it == 0.0));
    tell("negative zeros".into(), share(values, |it| *it == 0.0 && it.is_sign_negative()));
    tell("not finite".into(), share(values, |it| !it.is_finite()));
    tell("negative".into(), share(values, |it| *it < 0.0));
    tell("mean".into(), mean(values.iter().copied()));
    tell("mean size".into(), mean(sizes()));
    tell("mean square".into(), mean(values.iter().map(|it| it * it)));
    tell("largest".into(), sizes().fold(0.0, f64::max));
    let smallest = sizes().filter(|it| *it > 0.0).fold(f64::INFINITY, f64::min);
    tell("smallest".into(), smallest);
}

fn bits(values: &[f64], precision: u32, tell: &mut dyn FnMut(String, f64)) {
    let parts: Vec<(i32, u32)> =
        values.iter().filter_map(|value| exponent_and_zeros(*value, precision)).collect();
    if parts.is_empty() {
        return;
    }
    let lowest = |(exponent, zeros): &(i32, u32)| f64::from(*exponent + *zeros as i32);
    tell("exponent".into(), mean(parts.iter().map(|it| f64::from(it.0))));
    tell("trailing zeros".into(), mean(parts.iter().map(|it| f64::from(it.1))));
    for least in ZEROS {
        let many = parts.iter().map(|it| f64::from(u8::from(it.1 >= least)));
        tell(format!("{least} trailing zeros or more"), mean(many));
    }
    tell("place of the last bit".into(), mean(parts.iter().map(lowest)));
    let last = parts.iter().map(lowest).fold(f64::INFINITY, f64::min);
    tell("place of the lowest last bit".into(), last);
    let odd = parts.iter().filter(|it| lowest(it) == last).count() as f64;
    tell("values with the lowest last bit".into(), odd / parts.len() as f64);
}

/// The exponent of a finite number that is not zero, and the trailing zeros of its mantissa of `precision` bits.
fn exponent_and_zeros(value: f64, precision: u32) -> Option<(i32, u32)> {
    if value == 0.0 || !value.is_finite() {
        return None;
    }
    let bits = value.abs().to_bits();
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let exponent = (bits >> 52) as i32 - 1_023;
    Some((exponent, mantissa.trailing_zeros().saturating_sub(52 - precision)))
}

fn products(
    rows: &[&[f64]],
    precision: u32,
    knowledge: &Knowledge,
    tell: &mut dyn FnMut(String, f64),
) {
    for rate in &knowledge.rates {
        let is: fn(f64, f32) -> bool =
            if precision == 23 { is_product_of_singles } else { is_product_of_doubles };
        let of_row = |row: &&[f64]| share(row, |value| is(*value, *rate));
        let shares: Vec<f64> = rows.iter().map(of_row).collect();
        tell(format!("products of {rate}"), mean(shares.iter().copied()));
        let least = shares.iter().copied().fold(1.0, f64::min);
        tell(format!("fewest products of {rate} in a row"), least);
        let whole = shares.iter().filter(|share| **share == 1.0).count();
        tell(format!("rows of products of {rate}"), whole as f64 / shares.len() as f64);
    }
}

/// Whether `value` is fl(rate x) for a single-precision x: not every number is.
fn is_product_of_singles(value: f64, rate: f32) -> bool {
    let near = (value / f64::from(rate)) as f32;
    [near, near.next_up(), near.next_down()].iter().any(|it| f64::from(rate * it) == value)
}

/// Whether `value` is fl(rate x) for a double-precision x.
fn is_product_of_doubles(value: f64, rate: f32) -> bool {
    let rate = f64::from(rate);
    let near = value / rate;
    [near, near.next_up(), near.next_down()].iter().any(|it| rate * it == value)
}

/// Which values are exactly the same: in a row, between rows, and anywhere.
fn equal(rows: &[&[f64]], values: &[f64], tell: &mut dyn FnMut(String, f64)) {
    let neighbours = rows.iter().flat_map(|row| row.windows(2));
    let same = neighbours.map(|pair| f64::from(u8::from(pair[0] == pair[1])));
    tell("equal to the next in its row".into(), mean(same));
    let looked_at = &values[..values.len().min(LOOKED_AT)];
    let distinct: HashSet<u64> = looked_at.iter().map(|value| value.to_bits()).collect();
    tell("distinct values".into(), distinct.len() as f64 / looked_at.len() as f64);
    let sizes: HashSet<u64> = looked_at.iter().map(|value| value.abs().to_bits()).collect();
    tell("distinct sizes".into(), sizes.len() as f64 / looked_at.len() as f64);
    let bits = |row: &&[f64]| row.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
    let distinct: HashSet<Vec<u64>> = rows.iter().take(LOOKED_AT).map(bits).collect();
    tell("distinct rows".into(), distinct.len() as f64 / rows.len().min(LOOKED_AT) as f64);
}

/// Whether values stand at whole multiples of one distance.
fn lattice(values: &[f64], tell: &mut dyn FnMut(String, f64)) {
    let looked_at = values[..values.len().min(LOOKED_AT)].iter();
    let mut sorted: Vec<f64> = looked_at.copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let gaps: Vec<f64> =
        sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0).collect();
    let smallest = gaps.iter().copied().fold(f64::INFINITY, f64::min);
    tell("smallest gap".into(), smallest);
    if !gaps.is_empty() {
        let whole = |gap: &f64| {
            let times = gap / smallest;
            (times - times.round()).abs() < OFF_GRID * times.max(1.0)
        };
        tell("gaps that are multiples of the smallest".into(), share(&gaps, whole));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn described(rows: &[&[f64]], knowledge: &Knowledge) -> BTreeMap<String, f64> {
        let mut told = BTreeMap::new();
        describe(rows, 23, knowledge, &mut |name, value| {
            assert!(told.insert(name, value).is_none(), "each name once");
        });
        told
    }

    #[test]
    fn bits_are_those_of_the_precision() {
        assert_eq!(exponent_and_zeros(1.5, 52), Some((0, 51)));
        assert_eq!(exponent_and_zeros(1.5, 23), Some((0, 22)));
        assert_eq!(exponent_and_zeros(-f64::from(0.3_f32), 23), Some((-2, 1)));
        assert_eq!(exponent_and_zeros(0.0, 23), None);
        assert_eq!(exponent_and_zeros(f64::NAN, 23), None);
    }

    /// About three numbers of ten are no product of .3: a mantissa of 1.2 skips one in six where it does not
    /// carry, and every second where it does.
    #[test]
    fn products_are_told_from_other_numbers() {
        let number = |place: u32| f32::from_bits(0x3f00_0000 + place * 7_919);
        let products = (0..1_000).filter(|it| {
            assert!(is_product_of_singles(f64::from(0.3 * number(*it)), 0.3));
            is_product_of_singles(f64::from(number(*it)), 0.3)
        });
        assert!((500..900).contains(&products.count()));
        assert!(is_product_of_doubles(f64::from(0.3_f32) * 1.1, 0.3));
        assert!((0..1_000).all(|it| is_product_of_singles(f64::from(number(it)), 0.25)));
    }

    #[test]
    fn sets_of_values_are_described() {
        let knowledge = Knowledge { grids: vec![0.5], ..Knowledge::default() };
        let told = described(&[&[1.0, 1.0, -0.0, 0.25], &[1.0, 1.0, -0.0, 0.25]], &knowledge);
        assert_eq!(told["zeros"], 0.25);
        assert_eq!(told["negative zeros"], 0.25);
        assert_eq!(told["on the grid of 5e-1"], 0.75);
        assert_eq!(told["distinct values"], 3.0 / 8.0);
        assert_eq!(told["distinct rows"], 0.5);
        assert_eq!(told["equal to the next in its row"], 1.0 / 3.0);
        assert_eq!(told["smallest gap"], 0.25);
        assert_eq!(told["gaps that are multiples of the smallest"], 1.0);
        assert!(described(&[], &knowledge).is_empty());
    }
}
