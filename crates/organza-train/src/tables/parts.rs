//! Parts of a table that are worked on side by side.

use std::ops::Range;

/// So many parts are not worth a second thread.
const FEW: usize = 128;

/// So many parts are fetched together; more would not stay in the nearest cache.
pub(super) const FETCHED: usize = 64;
/// Bytes of a line of a cache.
const LINE: usize = 64;

/// Whether so many parts are divided among threads, and so have to ascend.
pub(super) fn are_divided(count: usize) -> bool {
    count > FEW && rayon::current_num_threads() > 1
}

/// Calls `visit` with all numbers below `count`, a few consecutive ones at a time, on all threads; it takes the
/// values from some first one on, and finds those of each number at its place less the first. Places do not overlap,
/// and ascend if they [`are_divided`].
pub(super) fn each_few_parts<Place, Visit>(
    count: usize,
    values: &mut [f32],
    place: &Place,
    visit: &Visit,
) where
    Place: Fn(usize) -> Range<usize> + Sync,
    Visit: Fn(Range<usize>, usize, &mut [f32]) + Sync,
{
    split(0..count, values, 0, place, visit);
}

/// `values` are those from `first` on.
fn split<Place, Visit>(
    parts: Range<usize>,
    values: &mut [f32],
    first: usize,
    place: &Place,
    visit: &Visit,
) where
    Place: Fn(usize) -> Range<usize> + Sync,
    Visit: Fn(Range<usize>, usize, &mut [f32]) + Sync,
{
    if !are_divided(parts.len()) {
        for start in parts.clone().step_by(FETCHED) {
            let few = start..parts.end.min(start + FETCHED);
            let places = few.clone().map(place);
            fetch(places.map(|place| &values[place.start - first..place.end - first]));
            visit(few, first, values);
        }
        return;
    }
    let middle = parts.start + parts.len() / 2;
    let cut = place(middle).start;
    let (before, after) = values.split_at_mut(cut - first);
    rayon::join(
        || split(parts.start..middle, before, first, place, visit),
        || split(middle..parts.end, after, cut, place, visit),
    );
}

/// Brings `parts` into the cache, all at once: whoever works on one after another would wait for each.
pub(super) fn fetch<'a, T: Copy + 'a>(parts: impl Iterator<Item = &'a [T]>) {
    let lines = parts.flat_map(|part| part.iter().step_by(LINE / size_of::<T>()));
    lines.for_each(|value| {
        std::hint::black_box(*value);
    });
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
                    each_few_parts(count, &mut values, &place, &|parts, first, values| {
                        for part in parts {
                            let place = place(part);
                            let values = &mut values[place.start - first..place.end - first];
                            values.iter_mut().for_each(|value| *value += 1.0 + part as f32);
                        }
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
