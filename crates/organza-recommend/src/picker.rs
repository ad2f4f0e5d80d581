//! The part of a page that recommends: pick items, and see what goes with them, in the browser and offline.

use crate::pairs::Pair;
use crate::saved::SavedRecommender;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use organza_report::page::Section;
use serde_json::json;

const PART: &str = include_str!("picker.html");
/// The page carries at most so many numbers of the model; the most frequent items come first.
const MOST_NUMBERS: usize = 1 << 20;

/// So many items are on the map.
const MOST_PLACES: usize = 300;

/// Where items are on the map, within -1 and 1: the two leading entries of their vectors, relative to their norms; none for
/// items without neighbours.
fn places(saved: &SavedRecommender, items: usize) -> Vec<Option<[f32; 2]>> {
    let place = |item: u32| {
        let vector = saved.model.vector(item);
        let norm = vector.iter().map(|entry| entry * entry).sum::<f32>().sqrt();
        let [first, second, ..] = vector else { return None };
        (norm > 0.0).then(|| [first / norm, second / norm])
    };
    let places: Vec<Option<[f32; 2]>> = (0..items as u32).map(place).collect();
    let most = [0, 1].map(|axis| {
        let sizes = places.iter().flatten().map(|place| place[axis].abs());
        sizes.fold(f32::MIN_POSITIVE, f32::max)
    });
    let fill = |[across, up]: [f32; 2]| [across / most[0], up / most[1]];
    places.into_iter().map(|place| place.map(fill)).collect()
}

/// The picker; none if there are no items.
///
/// # Privacy
/// What it holds is the released model. What is picked stays in the browser.
pub(crate) fn section(saved: &SavedRecommender) -> Option<Section> {
    let model = &saved.model;
    let dimensions = model.dimensions();
    let items = model.items().min(MOST_NUMBERS / (2 * dimensions.max(1)));
    if items == 0 {
        return None;
    }
    let titles: Vec<&str> = (0..items as u32).map(|item| saved.title(item)).collect();
    let bytes = |values: &[f32]| {
        let bytes: Vec<u8> =
            values[..items * dimensions].iter().flat_map(|value| value.to_le_bytes()).collect();
        STANDARD.encode(bytes)
    };
    let shown = |pair: &&Pair| (pair.asking.max(pair.found) as usize) < items;
    let pairs = model.pairs().all().iter().filter(shown);
    let pairs: Vec<_> = pairs.map(|pair| (pair.asking, pair.found, pair.score)).collect();
    let data = json!({
        "titles": titles,
        "dimensions": dimensions,
        "places": places(saved, items.min(MOST_PLACES)),
        "asking": bytes(model.asking()),
        "found": bytes(model.found()),
        "pairs": pairs,
        "prior": model.prior(),
    });
    Some(Section::new("Try it").widget(PART, &data))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::fit::{Choice, Score};
    use crate::model::Recommender;
    use organza_report::page::Page;

    fn saved(titles: &[&str]) -> SavedRecommender {
        let number = titles.len();
        let values = |each: usize| (0..number * each).map(|it| it as f32).collect();
        SavedRecommender {
            model: Recommender::new(3, values(3), values(3), values(2)),
            names: titles.iter().map(|title| title.to_string()).collect(),
            titles: vec![None; number],
            counts: vec![1.0; number],
            choice: Some(Choice {
                score: Score::LowRank,
                ridge: 1.0,
                block: number,
                eigenvalues: vec![3.0, 2.0],
                edge: 1.0,
                popularity: 1.0,
                risk: 0.5,
            }),
        }
    }

    #[test]
    fn a_title_is_never_markup() {
        let hostile = "</script><img src=x onerror=alert(1)>";
        let section = section(&saved(&[hostile, "tent"])).unwrap();
        let html = Page::new("a page").section(section).html();
        assert!(!html.contains("<img") && html.contains("\\u003cimg"), "{html}");
        // The picker's data, the picker and the page's own.
        assert_eq!(html.matches("</script>").count(), 3);
        for outside in ["src=\"http", "href=\"http", "url(", "@import", "fetch("] {
            assert!(!html.contains(outside), "{outside}");
        }
    }

    #[test]
    fn without_items_there_is_nothing_to_pick() {
        assert!(section(&saved(&[])).is_none());
    }

    #[test]
    fn the_map_is_filled() {
        let all = places(&saved(&["a", "b", "c"]), 3);
        assert!(all[0].is_some_and(|place| place[0] == 0.0));
        let most = all.iter().flatten().map(|place| place[1]).fold(0.0, f32::max);
        assert_eq!(most, 1.0);
    }
}
