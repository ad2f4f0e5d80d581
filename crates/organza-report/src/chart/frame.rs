//! What all charts have: a title, axes, a legend, and points that tell their values.

use super::ruler::Ruler;
use super::{COLORS, Tips, WIDTH};
use crate::describe::count;
use crate::digits::near;
use crate::escape::escaped;
use std::fmt::{self, Write};

pub(super) const LEFT: f64 = 62.0;
pub(super) const RIGHT: f64 = 18.0;
pub(super) const BOTTOM: f64 = 52.0;
const HEADER: f64 = 38.0;
const LEGEND_ROW: f64 = 20.0;
const LETTER: f64 = 7.2;
const SAMPLE: f64 = 34.0;
const DASHES: [&str; 6] = ["none", "6 4", "2 3", "8 3 2 3", "12 4", "1 5"];

/// The attributes of a series, which a page can override. When colors come round again, dashes are others.
pub(super) fn stroke(series: usize) -> String {
    let color = COLORS[series % COLORS.len()];
    let dash = DASHES[(series + series / COLORS.len()) % DASHES.len()];
    format!("stroke=\"{color}\" stroke-dasharray=\"{dash}\"")
}

/// Writes the title.
pub(super) fn title(svg: &mut String, title: &str) -> fmt::Result {
    writeln!(svg, "<text class=\"title\" x=\"4\" y=\"20\">{}</text>", escaped(title))
}

/// The rows of a legend: the series in each and where they begin.
pub(super) struct Legend<'a>(Vec<Vec<(usize, &'a str, f64)>>);

impl<'a> Legend<'a> {
    /// A legend for the names; one name alone needs none.
    pub(super) fn new(names: &[&'a str]) -> Self {
        let mut rows: Vec<Vec<(usize, &str, f64)>> = Vec::new();
        let mut place = WIDTH;
        for (series, name) in names.iter().enumerate().filter(|_| names.len() > 1) {
            let length = SAMPLE + LETTER * name.chars().count() as f64;
            if place + length > WIDTH {
                rows.push(Vec::new());
                place = 4.0;
            }
            if let Some(row) = rows.last_mut() {
                row.push((series, name, place));
            }
            place += length + 8.0;
        }
        Self(rows)
    }

    /// Where the space below the title and the legend begins.
    pub(super) fn floor(&self) -> f64 {
        HEADER + LEGEND_ROW * self.0.len() as f64
    }

    pub(super) fn write(&self, svg: &mut String) -> fmt::Result {
        for (index, row) in self.0.iter().enumerate() {
            let y = HEADER + 4.0 + LEGEND_ROW * index as f64;
            for (series, name, place) in row {
                writeln!(
                    svg,
                    "<path class=\"line s{}\" {} d=\"M{place:.1} {:.1}h24\"/>\
                     <text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                    series % COLORS.len(),
                    stroke(*series),
                    y - 4.0,
                    place + 29.0,
                    escaped(name)
                )?;
            }
        }
        Ok(())
    }
}

/// Writes the lines and captions of the left axis.
pub(super) fn vertical(
    svg: &mut String,
    label: &str,
    up: &Ruler,
    top: f64,
    floor: f64,
) -> fmt::Result {
    let right = WIDTH - RIGHT;
    for tick in up.ticks() {
        let y = up.place(tick);
        writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 7.0,
            y + 4.5,
            up.caption(tick)
        )?;
    }
    // What stands on zero stands on the axis.
    let level = up.zero().unwrap_or(floor);
    writeln!(
        svg,
        "<path class=\"axis\" fill=\"none\" d=\"M{LEFT} {top}V{floor}M{LEFT} {level:.1}H{right}\"/>"
    )?;
    writeln!(
        svg,
        "<text transform=\"translate(12 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        (top + floor) / 2.0,
        escaped(label)
    )
}

/// Writes the caption below the chart.
pub(super) fn horizontal_label(svg: &mut String, label: &str, height: f64) -> fmt::Result {
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    writeln!(
        svg,
        "<text x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        height - 10.0,
        escaped(label)
    )
}

/// A point that tells its values: `shape` is an element without its end.
pub(super) fn point(
    svg: &mut String,
    shape: &str,
    (x, y): (f64, f64),
    told: &str,
    tips: Tips,
) -> fmt::Result {
    let told = escaped(told);
    match tips {
        Tips::Attributes => {
            writeln!(svg, "{shape} data-x=\"{x:.1}\" data-y=\"{y:.1}\" data-tip=\"{told}\"/>")
        }
        Tips::Titles => {
            let element = shape.trim_start_matches('<').split(' ').next().unwrap_or_default();
            writeln!(svg, "{shape}><title>{told}</title></{element}>")
        }
    }
}

/// A value as it is told: whole numbers in full, others by four digits.
pub(super) fn told(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        count(value as u64)
    } else {
        near(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_series_look_different() {
        let mut strokes: Vec<String> = (0..COLORS.len() * DASHES.len()).map(stroke).collect();
        strokes.sort();
        strokes.dedup();
        assert_eq!(strokes.len(), COLORS.len() * DASHES.len());
    }
}
