//! `report.html`: one page that needs no other file.

use super::summary::Summary;
use crate::describe::Tree;
use organza_erm::Fit;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;\
padding:0 1rem;color:#222;background:#fff}h1,h2{line-height:1.2}table{border-collapse:collapse}\
td{padding:.15rem 1rem .15rem 0}.mark{color:#a33;font-size:.85rem}pre{background:#f4f4f4;\
padding:.8rem;overflow:auto;font-size:.85rem}.bar{height:.8rem;background:#4477aa}.minus{background:#ee7733}";

/// How many coefficients are shown.
const SHOWN: usize = 20;
/// The width of the longest bar, in rem.
const WIDEST: f64 = 18.0;

/// The page of a fit.
pub(super) fn html(fit: &Fit, summary: &Summary, name: &dyn Fn(u64) -> Option<String>) -> String {
    let certificate = &fit.certificate;
    let rows: String = summary
        .rows()
        .iter()
        .map(|(name, value, is_private)| {
            let mark = if *is_private { "" } else { "not private" };
            format!("<tr><td>{name}<td>{value}<td class=mark>{mark}\n")
        })
        .collect();
    let doubts =
        summary.doubts().map_or(String::new(), |it| format!("<p class=mark>{}.\n", escaped(&it)));
    let shared = certificate.dataset.as_ref();
    let shared = shared.map_or(String::new(), |it| format!("<p>{}.\n", escaped(&it.to_string())));
    let item = |text: String| format!("<li>{}\n", escaped(&text));
    let public: String = certificate
        .public
        .iter()
        .map(|fact| item(format!("{}: {}", fact.name, fact.value)))
        .collect();
    let conditions: String = certificate.conditions.iter().cloned().map(item).collect();
    let events: String =
        certificate.events.iter().map(|event| escaped(&Tree(event).to_string())).collect();
    let list = |title: &str, items: String| match items.as_str() {
        "" => String::new(),
        items => format!("<h2>{title}</h2>\n<ul>\n{items}</ul>\n"),
    };
    format!(
        "<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n<title>Organza: a fit</title>\n\
         <style>{STYLE}</style>\n<h1>A {} model by {}</h1>\n<p>{}\n{shared}{doubts}<table>\n{rows}</table>\n\
         <h2>The largest coefficients</h2>\n<table>\n{}</table>\n{}{}\
         <h2>What was released</h2>\n<pre>{}</pre>\n</html>\n",
        certificate.model,
        certificate.method,
        escaped(summary.promise()),
        coefficients(fit, name),
        list("Declared public", public),
        list("What the guarantee takes for granted", conditions),
        if events.is_empty() { "everything: there was no privacy".to_owned() } else { events },
    )
}

/// The largest coefficients as bars.
fn coefficients(fit: &Fit, name: &dyn Fn(u64) -> Option<String>) -> String {
    let mut all: Vec<(usize, f64)> = fit.model.weights.iter().copied().enumerate().collect();
    let by_size = |one: &(usize, f64), other: &(usize, f64)| {
        other.1.abs().total_cmp(&one.1.abs()).then(one.0.cmp(&other.0))
    };
    let shown = SHOWN.min(all.len());
    if shown > 0 && shown < all.len() {
        all.select_nth_unstable_by(shown - 1, by_size);
    }
    all.truncate(shown);
    all.sort_unstable_by(by_size);
    let longest = all.first().map_or(1.0, |(_, weight)| weight.abs()).max(1e-300);
    let bar = |(index, weight): &(usize, f64)| {
        let name = name(*index as u64).unwrap_or_else(|| format!("feature {}", index + 1));
        let side = if *weight < 0.0 { " minus" } else { "" };
        let width = WIDEST * weight.abs() / longest;
        format!(
            "<tr><td>{}<td>{weight:.4}<td><div class='bar{side}' style='width:{width:.2}rem'></div>\n",
            escaped(&name)
        )
    };
    all.iter().map(bar).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
