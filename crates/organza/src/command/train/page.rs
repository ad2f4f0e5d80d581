//! `report.html`: one page that needs no other file.

use super::summary::Summary;
use crate::describe::Tree;
use organza_train::Finished;
use organza_train::metrics::Point;
use organza_train::settings::Settings;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;\
padding:0 1rem;color:#222;background:#fff}h1,h2{line-height:1.2}table{border-collapse:collapse}\
td{padding:.15rem 1rem .15rem 0}.mark{color:#a33;font-size:.85rem}pre{background:#f4f4f4;\
padding:.8rem;overflow:auto;font-size:.85rem}svg{width:100%;height:auto}";

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 280.0;
const MARGIN: f64 = 48.0;

/// The page of a finished run.
pub(super) fn html(settings: &Settings, finished: &Finished, summary: &Summary) -> String {
    let certificate = &finished.certificate;
    let private = match (certificate.private, settings.seed) {
        (true, _) => "",
        (false, Some(_)) => {
            "<p class=mark>Not private: the noise of this run came from a seed.</p>"
        }
        (false, None) => "<p class=mark>Not private: this run was made without privacy.</p>",
    };
    let rows: String = summary
        .rows()
        .iter()
        .map(|(name, value, is_private)| {
            let mark = if *is_private { "" } else { "not private" };
            format!("<tr><td>{name}<td>{value}<td class=mark>{mark}\n")
        })
        .collect();
    let public: String = certificate
        .public
        .iter()
        .map(|fact| format!("<li>{}: {}\n", escaped(&fact.name), escaped(&fact.value)))
        .collect();
    let conditions: String =
        certificate.conditions.iter().map(|it| format!("<li>{}\n", escaped(it))).collect();
    let events: String =
        certificate.events.iter().map(|event| escaped(&Tree(event).to_string())).collect();
    let list = |title: &str, items: String| match items.as_str() {
        "" => String::new(),
        items => format!("<h2>{title}</h2>\n<ul>\n{items}</ul>\n"),
    };
    format!(
        "<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n<title>Organza: a run</title>\n\
         <style>{STYLE}</style>\n<h1>Word vectors, {} steps of {}</h1>\n<p>{}\n{private}\n\
         <table>\n{rows}</table>\n<h2>Learning curve</h2>\n\
         <p class=mark>Not private: losses come from the data without noise.\n{}\n{}{}\
         <h2>What was released</h2>\n<pre>{}</pre>\n</html>\n",
        summary.steps(),
        settings.method,
        escaped(&super::summary::promise(certificate)),
        curve(&finished.curve, finished.frequency_loss),
        list("Declared public", public),
        list("What the guarantee takes for granted", conditions),
        if events.is_empty() { "everything: there was no privacy".to_owned() } else { events },
    )
}

/// The losses over steps, as a picture.
fn curve(points: &[Point], frequency_loss: f64) -> String {
    type Part = (&'static str, &'static str, fn(&Point) -> f64);
    let parts: [Part; 3] = [
        ("training", "#4477aa", |point| point.losses.train),
        ("validation", "#ee7733", |point| point.losses.validation),
        ("test", "#228833", |point| point.losses.test),
    ];
    let finite = |value: &f64| value.is_finite();
    let all = points.iter().flat_map(|point| parts.map(|(_, _, loss)| loss(point)));
    let all: Vec<f64> = all.chain([frequency_loss]).filter(finite).collect();
    let (low, high) = all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(*value), high.max(*value))
    });
    if !low.is_finite() {
        return "<p>There is no loss to show.".to_owned();
    }
    let steps = points.last().map_or(1, |point| point.step).max(1) as f64;
    let across = |step: f64| MARGIN + (WIDTH - 2.0 * MARGIN) * step / steps;
    let range = (high - low).max(1e-9);
    let down = |loss: f64| MARGIN / 2.0 + (HEIGHT - 1.5 * MARGIN) * (high - loss) / range;
    let mut picture = format!(
        "<svg viewBox='0 0 {WIDTH} {HEIGHT}' role=img aria-label='losses over steps' \
         font-size=12 fill=none>\n"
    );
    for part in 0..=4 {
        let loss = low + range * f64::from(part) / 4.0;
        let (y, right) = (down(loss), WIDTH - MARGIN);
        picture += &format!(
            "<path d='M{MARGIN} {y:.1}H{right}' stroke='#ddd'/>\
             <text x='{:.0}' y='{:.1}' text-anchor=end fill='#555'>{loss:.3}</text>\n",
            MARGIN - 6.0,
            y + 4.0
        );
    }
    for (name, color, loss) in parts {
        let places: Vec<String> = points
            .iter()
            .filter(|point| loss(point).is_finite())
            .map(|point| format!("{:.1},{:.1}", across(point.step as f64), down(loss(point))))
            .collect();
        picture += &format!(
            "<polyline points='{}' stroke='{color}' stroke-width=2><title>{name}</title></polyline>\n",
            places.join(" ")
        );
    }
    if frequency_loss.is_finite() {
        let (y, right) = (down(frequency_loss), WIDTH - MARGIN);
        picture +=
            &format!("<path d='M{MARGIN} {y:.1}H{right}' stroke='#777' stroke-dasharray=4 />\n");
    }
    let legend = parts.map(|(name, color, _)| (name, color)).into_iter();
    for (place, (name, color)) in legend.chain([("word frequencies", "#777")]).enumerate() {
        let x = MARGIN + 110.0 * place as f64;
        let y = HEIGHT - 8.0;
        picture += &format!("<text x='{x}' y='{y}' fill='{color}'>{name}</text>\n");
    }
    picture += &format!(
        "<text x='{:.0}' y='{:.0}' text-anchor=end fill='#555'>{steps} steps</text>\n</svg>\n",
        WIDTH - MARGIN,
        HEIGHT - MARGIN + 18.0
    );
    picture
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "&#39;")
}
