//! What one unit contributes: its rest beside the direction, and the factor that gives its cells norm 1.

/// The norm of a unit's cells, in bits of steps.
pub(super) const NORM_BITS: u32 = 43;
/// The largest entry of a row. Entries are to be near it: they are all the precision there is.
pub const LARGEST_ENTRY: u32 = 1 << 13;
/// The largest entry of a direction: small beside that of a row, so that the multiple of it is a good one.
pub const LARGEST_DIRECTION: u32 = 1 << 7;

/// A direction, with the sums that every unit needs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Direction {
    pub(super) entries: Vec<i64>,
    squares: i128,
    fourths: i128,
}

impl Direction {
    pub(super) fn new(columns: usize, entries: &[u32]) -> Self {
        let mut entries: Vec<i64> = entries
            .iter()
            .take(columns)
            .map(|entry| i64::from((*entry).min(LARGEST_DIRECTION)))
            .collect();
        entries.resize(columns, 0);
        let power = |power: u32| entries.iter().map(|entry| i128::from(*entry).pow(power)).sum();
        Self { squares: power(2), fourths: power(4), entries }
    }
}

/// How a unit enters the sums: `factor` (u - `multiple` p)(u - `multiple` p)'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scaled {
    pub(super) factor: u64,
    pub(super) multiple: i64,
}

/// The factor and the multiple of a row, whose columns have to be in their order, each once; none if the row is not of
/// this kind, or nothing is left beside the direction.
///
/// # Proof
/// With z = u - a p over *all* columns, q = sum of z_i^2 and f = sum of z_i^4, the squares of all unordered cells
/// z_i z_j, i <= j, sum to n = (q^2 + f) / 2: the square of q counts every pair of different columns
/// twice and the diagonal once. All of this is computed in whole numbers: a column at which u is zero has z_i = -a p_i,
/// so q and f are those of a p, corrected at the columns of the row. Entries are at most 2^13, those of p at most 2^7, and
/// a |p| at most |u| + |p| / 2, so for 2^14 columns |z|^2 < 2^44 and n < 2^88: nothing overflows. With the factor
/// F = floor(2^43 / ceil(sqrt n)) the cells F z_i z_j are whole numbers, and their L2 norm is F sqrt n <= 2^43. There is
/// no rounding beyond the floor, which makes it smaller.
pub(super) fn scaled(direction: &Direction, row: &[(u32, u32)]) -> Option<Scaled> {
    let columns = direction.entries.len();
    let ordered = row.is_sorted_by(|one, next| one.0 < next.0);
    let fits = |(column, entry): &(u32, u32)| {
        (*column as usize) < columns && (1..=LARGEST_ENTRY).contains(entry)
    };
    if !ordered || !row.iter().all(fits) {
        return None;
    }
    let pairs = || {
        row.iter().map(|(column, entry)| {
            (i128::from(direction.entries[*column as usize]), i128::from(*entry))
        })
    };
    let along: i128 = pairs().map(|(direction, entry)| direction * entry).sum();
    // The nearest whole multiple: what is left is about as short as it can be.
    let multiple = match direction.squares {
        0 => 0,
        squares => (2 * along + squares) / (2 * squares),
    };
    let (mut squares, mut fourths) =
        (multiple.pow(2) * direction.squares, multiple.pow(4) * direction.fourths);
    for (direction, entry) in pairs() {
        let (rest, without) = (entry - multiple * direction, multiple * direction);
        squares += rest.pow(2) - without.pow(2);
        fourths += rest.pow(4) - without.pow(4);
    }
    let norm_squared = ((squares * squares + fourths) / 2).unsigned_abs();
    let root = norm_squared.isqrt();
    let norm = if root * root < norm_squared { root + 1 } else { root };
    let factor = (1_u128 << NORM_BITS).checked_div(norm)?;
    Some(Scaled { factor: u64::try_from(factor).ok()?, multiple: i64::try_from(multiple).ok()? })
}
