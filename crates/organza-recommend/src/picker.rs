//! The part of a page that recommends: pick items, and see what goes with them, in the browser and offline.

use crate::saved::SavedRecommender;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

const PART: &str = include_str!("picker.html");
/// The page carries at most so many numbers of the model; the most frequent items come first.
const MOST_NUMBERS: usize = 1 << 20;

/// So many items are on the map.
const MOST_PLACES: usize = 300;

/// Where items are on the map: the two leading entries of their vectors, of norm 1; none for items without neighbours.
fn places(saved: &SavedRecommender, items: usize) -> Vec<Option<[f32; 2]>> {
    let place = |item: u32| {
        let vector = saved.model.vector(item);
        let norm = vector.iter().map(|entry| entry * entry).sum::<f32>().sqrt();
        let [first, second, ..] = vector else { return None };
        (norm > 0.0).then(|| [first / norm, second / norm])
    };
    (0..items as u32).map(place).collect()
}

/// The page with the picker in front.
///
/// # Privacy
/// What it holds is the released model. What is picked stays in the browser.
pub(crate) fn with_picker(html: &str, saved: &SavedRecommender) -> String {
    let model = &saved.model;
    let dimensions = model.dimensions();
    let items = model.items().min(MOST_NUMBERS / (2 * dimensions.max(1)));
    if items == 0 {
        return html.to_owned();
    }
    let titles: Vec<&str> = (0..items as u32).map(|item| saved.title(item)).collect();
    let bytes = |values: &[f32]| {
        let bytes: Vec<u8> =
            values[..items * dimensions].iter().flat_map(|value| value.to_le_bytes()).collect();
        STANDARD.encode(bytes)
    };
    let data = json!({
        "titles": titles,
        "dimensions": dimensions,
        "places": places(saved, items.min(MOST_PLACES)),
        "asking": bytes(model.asking()),
        "found": bytes(model.found()),
    });
    // Nothing in a title can end the script that holds it.
    let data = data.to_string().replace('<', "\\u003c");
    html.replacen("<main>\n", &format!("<main>\n{}", PART.replace("MODEL_DATA", &data)), 1)
}
