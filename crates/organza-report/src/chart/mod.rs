//! Charts as SVG: curves, bars, values by name, maps and one stacked bar. Each is drawn the same way into a page, where a
//! script shows values near the pointer, and into a file of its own, where viewers show them.

mod bars;
mod frame;
mod lines;
mod map;
mod named;
mod ruler;
mod stack;

pub use bars::{Bar, Bars};
pub use lines::{Chart, Line};
pub use map::{Map, Place};
pub use named::NamedBars;
pub use ruler::{Axis, Scale};
pub use stack::{Piece, Stack};

use crate::escape::escaped;
use std::fmt::{self, Write};

/// The width of every chart. A phone of 360 pixels shows it nearly at its own size, so that its text
/// stays readable there.
pub(crate) const WIDTH: f64 = 400.0;
/// The charts of a file that stand side by side.
const COLUMNS: usize = 3;

/// Colors that are readable on light and on dark ground; a page has its own for each.
pub(crate) const COLORS: [&str; 6] =
    ["#3182bd", "#d9822b", "#3f9f6b", "#a06ab4", "#c4514d", "#7a7f87"];
/// What a chart looks like in a file of its own.
const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#7a7f87}\
.title{font-size:15px;font-weight:600}\
.grid{stroke:#8a8f98;stroke-opacity:.25}\
.axis{stroke:#8a8f98}\
.line{fill:none;stroke-width:2;stroke-linejoin:round}\
.word{font-size:8px}";

/// Where the values of points are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tips {
    /// In attributes, for the script of a page.
    Attributes,
    /// In titles, for any viewer of SVG files.
    Titles,
}

/// Something that can be drawn.
pub trait Draw: fmt::Debug + Send + Sync {
    /// What it shows.
    fn title(&self) -> &str;

    /// What it shows in words, for whoever cannot see it.
    fn description(&self) -> String;

    /// Its height; the width is `WIDTH`.
    fn height(&self) -> f64;

    /// The class of the element around it in a page, where it looks or behaves in a way of its own.
    fn class(&self) -> &'static str {
        "chart"
    }

    /// Writes it, without the element around it.
    ///
    /// # Errors
    /// Only where `svg` refuses, which a string never does.
    fn write(&self, svg: &mut String, tips: Tips) -> fmt::Result;
}

/// The charts as one SVG file, up to three side by side.
pub fn picture<D: Draw>(charts: &[D]) -> String {
    picture_of(&charts.iter().map(|chart| chart as &dyn Draw).collect::<Vec<_>>())
}

/// A picture of charts of any kinds.
pub(crate) fn picture_of(charts: &[&dyn Draw]) -> String {
    let mut svg = String::new();
    // Writing into a string cannot fail.
    let _ = write_picture(&mut svg, charts);
    svg
}

fn write_picture(svg: &mut String, charts: &[&dyn Draw]) -> fmt::Result {
    let width = WIDTH * charts.len().clamp(1, COLUMNS) as f64;
    let tallest = |row: &[&dyn Draw]| row.iter().map(|chart| chart.height()).fold(0.0, f64::max);
    let height: f64 = charts.chunks(COLUMNS).map(tallest).sum();
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<style>{STYLE}</style>"
    )?;
    let mut top = 0.0;
    for row in charts.chunks(COLUMNS) {
        for (column, chart) in row.iter().enumerate() {
            writeln!(svg, "<g transform=\"translate({} {top})\">", WIDTH * column as f64)?;
            writeln!(svg, "<title>{}</title>", escaped(chart.title()))?;
            writeln!(svg, "<desc>{}</desc>", escaped(&chart.description()))?;
            chart.write(svg, Tips::Titles)?;
            writeln!(svg, "</g>")?;
        }
        top += tallest(row);
    }
    writeln!(svg, "</svg>")
}

/// The chart as an element of a page, which has the colors and the script.
pub(crate) fn inline(chart: &dyn Draw) -> String {
    let height = chart.height();
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg class=\"{}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" tabindex=\"0\" aria-label=\"{}. {}\">",
        chart.class(),
        escaped(chart.title()),
        escaped(&chart.description())
    );
    let _ = chart.write(&mut svg, Tips::Attributes);
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_hostile_charts_are_still_documents() {
        let axis = |scale| Axis { label: "a < b & c".to_owned(), scale };
        for scale in [Scale::Linear, Scale::Logarithmic, Scale::Fitted] {
            let chart = Chart {
                title: "<script>".to_owned(),
                horizontal: axis(scale),
                vertical: axis(scale),
                lines: vec![
                    Line { name: "none".to_owned(), points: Vec::new() },
                    Line {
                        name: "one".to_owned(),
                        points: vec![(0.0, f64::NAN), (f64::INFINITY, 1.0)],
                    },
                ],
                mark: None,
            };
            check(&picture(&[chart]));
        }
        let bars = Bars {
            title: "<script>".to_owned(),
            horizontal: "\"'".to_owned(),
            vertical: "&".to_owned(),
            bars: vec![
                Bar { label: "<b>".to_owned(), value: f64::NAN },
                Bar { label: "<b>".to_owned(), value: f64::INFINITY },
            ],
            reference: Some((f64::NAN, "<".to_owned())),
        };
        check(&picture(&[bars]));
        let piece = Piece { name: "<".to_owned(), value: f64::NAN, is_rest: false };
        let stack =
            Stack { title: "<script>".to_owned(), measure: "<".to_owned(), pieces: vec![piece] };
        check(&picture(&[stack]));
        check(&picture::<Chart>(&[]));
    }

    fn check(svg: &str) {
        assert!(svg.ends_with("</svg>\n") && !svg.contains("<script>"), "{svg}");
        assert!(!svg.contains("none</text>"), "a line without points has no place: {svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn charts_stand_in_rows_of_three() {
        let stack = Stack { title: "t".to_owned(), measure: "m".to_owned(), pieces: Vec::new() };
        let height = stack.height();
        let svg = picture(&vec![stack; 4]);
        assert!(svg.contains(&format!("width=\"1200\" height=\"{}\"", 2.0 * height)), "{svg}");
        assert!(svg.contains(&format!("translate(0 {height})")), "{svg}");
    }
}
