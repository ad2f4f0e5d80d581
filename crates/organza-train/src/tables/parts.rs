//! Parts of a table that are worked on side by side.

use std::ops::Range;

/// So many parts are not worth a second thread.
pub(super) const FEW: usize = 128;

/// Calls `visit` with each number below `count` and the values at its place, on all threads. Places do not
/// overlap, and ascend if there are more than [`FEW`].
pub(super) fn each_part<Place, Visit>(
    count: usize,
    values: &mut [f32],
    place: &Place,
    visit: &Visit,
) where
    Place: Fn(usize) -> Range<usize> + Sync,
    Visit: Fn(usize, &mut [f32]) + Sync,
{
    split(0..count, values, 0, place, visit);
}

/// `values` are those from `start` on.
fn split<Place, Visit>(
    parts: Range<usize>,
    values: &mut [f32],
    start: usize,
    place: &Place,
    visit: &Visit,
) where
    Place: Fn(usize) -> Range<usize> + Sync,
    Visit: Fn(usize, &mut [f32]) + Sync,
{
    if parts.len() <= FEW || rayon::current_num_threads() == 1 {
        for part in parts {
            let place = place(part);
            visit(part, &mut values[place.start - start..place.end - start]);
        }
        return;
    }
    let middle = parts.start + parts.len() / 2;
    let cut = place(middle).start;
    let (before, after) = values.split_at_mut(cut - start);
    rayon::join(
        || split(parts.start..middle, before, start, place, visit),
        || split(middle..parts.end, after, cut, place, visit),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_visited_once_whatever_the_number_of_threads() {
        for count in [0, 1, FEW, FEW + 1, 1_000] {
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let mut values = vec![0.0; 7 * 1_000];
                // Parts of five with gaps of two.
                let place = |part: usize| 7 * part + 1..7 * part + 6;
                pool.expect("threads").install(|| {
                    each_part(count, &mut values, &place, &|part, values| {
                        assert_eq!(values.len(), 5);
                        values.iter_mut().for_each(|value| *value += 1.0 + part as f32);
                    });
                });
                for (place, value) in values.iter().enumerate() {
                    let (part, inside) = (place / 7, place % 7);
                    let visited = part < count && (1..6).contains(&inside);
                    assert_eq!(*value, if visited { 1.0 + part as f32 } else { 0.0 });
                }
            }
        }
    }
}
