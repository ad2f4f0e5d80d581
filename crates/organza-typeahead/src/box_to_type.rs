//! The part of a page that completes: a box to type in, in the browser and offline.

use crate::level::Context;
use crate::typeahead::Typeahead;
use organza_report::page::Section;
use serde_json::json;

const PART: &str = include_str!("box_to_type.html");

/// The page carries what at most so many words add after contexts.
const MOST_PARTS: usize = 150_000;

/// The box.
///
/// # Privacy
/// What it holds is the released model. What is typed stays in the browser.
pub(crate) fn section(typeahead: &Typeahead) -> Section {
    let model = &typeahead.model().at_most(MOST_PARTS);
    let levels = model.levels().iter().map(|level| {
        let classes = match &level.context {
            Context::Symbols(_) => None,
            Context::Class { of_symbol, .. } => Some(of_symbol),
        };
        json!({
            "length": level.length(),
            "classes": classes,
            "keys": level.keys,
            "starts": level.starts,
            "words": level.words,
            "parts": level.parts.iter().map(rounded).collect::<Vec<_>>(),
            "left": level.left.iter().map(rounded).collect::<Vec<_>>(),
        })
    });
    let data = json!({
        "words": typeahead.words(),
        "lowerCase": typeahead.lower_case(),
        "alone": model.alone().iter().map(rounded).collect::<Vec<_>>(),
        "levels": levels.collect::<Vec<_>>(),
    });
    Section::new("Try it").widget(PART, &data)
}

/// As many digits as are seen.
fn rounded(part: &f32) -> f64 {
    (f64::from(*part) * 1e7).round() / 1e7
}
