//! The part of a page that completes: a box to type in, in the browser and offline.

use crate::typeahead::Typeahead;
use organza_report::page::Section;
use serde_json::json;

const PART: &str = include_str!("box_to_type.html");

/// The box.
///
/// # Privacy
/// What it holds is the released model. What is typed stays in the browser.
pub(crate) fn section(typeahead: &Typeahead) -> Section {
    let model = typeahead.model();
    let orders = model.grams().orders().iter().enumerate().map(|(place, order)| {
        json!({
            "starts": order.starts(),
            "words": order.words(),
            "counts": order.counts().iter().map(|count| (count * 100.0).round() / 100.0).collect::<Vec<_>>(),
            "shorter": model.shorter(place),
        })
    });
    let data = json!({
        "words": typeahead.words(),
        "alone": model.alone(),
        "orders": orders.collect::<Vec<_>>(),
    });
    Section::new("Try it").widget(PART, &data)
}
