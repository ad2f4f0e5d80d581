//! Bars side by side: a histogram, with a line to compare it with.

use super::frame::{BOTTOM, LEFT, Legend, RIGHT, horizontal_label, point, title, told, vertical};
use super::ruler::{Ruler, Scale};
use super::{COLORS, Draw, Tips, WIDTH};
use crate::escape::escaped;
use std::fmt::{self, Write};

const SPACE: f64 = 210.0;
/// The share of its place that a bar takes.
const FILLED: f64 = 0.82;
/// How far the axis goes beyond the line to compare with.
const ROOM: f64 = 1.12;
/// The space of one letter of a caption.
const LETTER: f64 = 7.5;

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What it counts, such as `1-1000`.
    pub label: String,
    /// Its height.
    pub value: f64,
}

/// Bars side by side, from zero.
#[derive(Clone, Debug)]
pub struct Bars {
    /// What they show.
    pub title: String,
    /// What the bars stand for.
    pub horizontal: String,
    /// What their heights measure.
    pub vertical: String,
    /// The bars, from left to right.
    pub bars: Vec<Bar>,
    /// A height to compare them with, and its name, such as `expected`.
    pub reference: Option<(f64, String)>,
}

impl Bars {
    fn reference(&self) -> Option<(f64, &str)> {
        let (height, name) = self.reference.as_ref()?;
        height.is_finite().then_some((*height, name.as_str()))
    }
}

impl Draw for Bars {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let bars = self.bars.iter().filter(|bar| bar.value.is_finite());
        let mut words: Vec<String> =
            bars.map(|bar| format!("{}: {}", bar.label, told(bar.value))).collect();
        if let Some((height, name)) = self.reference() {
            words.push(format!("{name}: {}", told(height)));
        }
        format!("{} by {}. {}.", self.vertical, self.horizontal, words.join(", "))
    }

    fn height(&self) -> f64 {
        Legend::new(&[]).floor() + SPACE + BOTTOM
    }

    fn write(&self, svg: &mut String, tips: Tips) -> fmt::Result {
        let top = Legend::new(&[]).floor();
        let floor = top + SPACE;
        let heights = self.bars.iter().map(|bar| bar.value);
        // A little room above, for the name of the line.
        let all = heights.chain(self.reference().map(|(height, _)| ROOM * height));
        let up = Ruler::new(Scale::Linear, all, (floor, top));
        title(svg, &self.title)?;
        vertical(svg, &self.vertical, &up, top, floor)?;
        horizontal_label(svg, &self.horizontal, self.height())?;
        let level = up.zero().unwrap_or(floor);
        let place = (WIDTH - RIGHT - LEFT) / self.bars.len().max(1) as f64;
        let longest = self.bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
        // Where captions would touch, only some are written.
        let stride = ((LETTER * (longest + 1) as f64 / place).ceil() as usize).max(1);
        for (index, bar) in self.bars.iter().enumerate() {
            let left = LEFT + place * (index as f64 + (1.0 - FILLED) / 2.0);
            let middle = LEFT + place * (index as f64 + 0.5);
            if index % stride == 0 {
                writeln!(
                    svg,
                    "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    floor + 18.0,
                    escaped(&bar.label)
                )?;
            }
            if !bar.value.is_finite() {
                continue;
            }
            let y = up.place(bar.value);
            let shape = format!(
                "<rect class=\"point bar s0\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
                 height=\"{:.1}\" fill=\"{}\"",
                y.min(level),
                place * FILLED,
                (level - y).abs(),
                COLORS[0]
            );
            let words = format!(
                "{}: {}\n{}: {}",
                self.horizontal,
                bar.label,
                self.vertical,
                told(bar.value)
            );
            point(svg, &shape, (middle, y), &words, tips)?;
        }
        let Some((height, name)) = self.reference() else { return Ok(()) };
        let (y, right) = (up.place(height), WIDTH - RIGHT);
        writeln!(
            svg,
            "<path class=\"line s1\" stroke=\"{}\" stroke-dasharray=\"6 4\" \
             d=\"M{LEFT} {y:.1}H{right}\"/>\
             <text class=\"over\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            COLORS[1],
            right - 4.0,
            y - 6.0,
            escaped(&format!("{name}: {}", told(height)))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::inline;

    #[test]
    fn bars_stand_on_zero_and_tell_their_values() {
        let bars = Bars {
            title: "ranks".to_owned(),
            horizontal: "rank".to_owned(),
            vertical: "canaries".to_owned(),
            bars: [200.0, 100.0, 0.0]
                .into_iter()
                .enumerate()
                .map(|(index, value)| Bar { label: format!("{index}"), value })
                .collect(),
            reference: Some((100.0, "uniform".to_owned())),
        };
        let svg = inline(&bars);
        assert_eq!(svg.matches("data-tip=").count(), 3);
        assert!(svg.contains("data-tip=\"rank: 0\ncanaries: 200\""), "{svg}");
        let height = |share: f64| format!("height=\"{:.1}\"", share * SPACE);
        for share in [1.0, 0.5, 0.0] {
            assert_eq!(svg.matches(&height(share)).count(), 1, "{share}: {svg}");
        }
        assert!(bars.description().contains("0: 200, 1: 100, 2: 0, uniform: 100"));
    }
}
