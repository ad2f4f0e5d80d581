//! Values by name, one below another: to the right of zero or to the left of it.

use super::frame::{point, title, told};
use super::{COLORS, Draw, Tips, WIDTH};
use crate::escape::escaped;
use std::fmt::{self, Write};

const TOP: f64 = 34.0;
const ROW: f64 = 24.0;
const THICK: f64 = 15.0;
const MARGIN: f64 = 4.0;
/// Where names end: longer ones are cut.
const NAMES: f64 = 132.0;
/// The space of one letter of a name, and of the figure beside a bar.
const LETTER: f64 = 7.2;
const FIGURE: f64 = 56.0;

/// Values by name, such as the coefficients of a model.
#[derive(Clone, Debug)]
pub struct NamedBars {
    /// What they show.
    pub title: String,
    /// What the values measure.
    pub measure: String,
    /// Names and values, from top to bottom.
    pub values: Vec<(String, f64)>,
}

impl NamedBars {
    fn finite(&self) -> impl Iterator<Item = &(String, f64)> {
        self.values.iter().filter(|(_, value)| value.is_finite())
    }

    fn words(&self, (name, value): &(String, f64)) -> String {
        format!("{name}: {} {}", self.measure, told(*value))
    }
}

impl Draw for NamedBars {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        self.finite().map(|value| self.words(value)).collect::<Vec<_>>().join(", ") + "."
    }

    fn height(&self) -> f64 {
        TOP + ROW * self.finite().count() as f64 + 6.0
    }

    fn write(&self, svg: &mut String, tips: Tips) -> fmt::Result {
        title(svg, &self.title)?;
        let least = self.finite().map(|(_, value)| *value).fold(0.0, f64::min);
        let most = self.finite().map(|(_, value)| *value).fold(0.0, f64::max);
        // Room for the figure at the end of the longest bar, on each side that has bars.
        let left = NAMES + 8.0 + if least < 0.0 { FIGURE } else { 0.0 };
        let right = WIDTH - MARGIN - if most > 0.0 { FIGURE } else { 0.0 };
        let span = if most > least { most - least } else { 1.0 };
        let place = |value: f64| left + (value - least) / span * (right - left);
        let zero = place(0.0);
        for (row, value) in self.finite().enumerate() {
            let (name, size) = value;
            let (y, end) = (TOP + ROW * row as f64, place(*size));
            let (series, anchor, gap) =
                if *size < 0.0 { (1, "end", -5.0) } else { (0, "start", 5.0) };
            writeln!(
                svg,
                "<text x=\"{NAMES}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                y + 12.0,
                escaped(&cut(name)),
                end + gap,
                y + 12.0,
                told(*size)
            )?;
            let shape = format!(
                "<rect class=\"point bar s{series}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" \
                 height=\"{THICK}\" rx=\"2\" fill=\"{}\"",
                zero.min(end),
                (end - zero).abs().max(1.0),
                COLORS[series]
            );
            point(svg, &shape, ((zero + end) / 2.0, y), &self.words(value), tips)?;
        }
        let floor = self.height() - 6.0;
        writeln!(svg, "<path class=\"axis\" d=\"M{zero:.1} {:.1}V{floor:.1}\"/>", TOP - 4.0)
    }
}

/// A name that fits beside the bars: its beginning and its end tell more than its middle.
fn cut(name: &str) -> String {
    let most = (NAMES / LETTER) as usize;
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most {
        return name.to_owned();
    }
    let (head, tail) = (most / 2, most - most / 2 - 1);
    letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - tail..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::inline;

    #[test]
    fn bars_go_to_both_sides_of_zero_and_tell_their_values() {
        let values = [("age", 1.5), ("hours", -0.5), ("nothing", f64::NAN)];
        let values = values.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let named = NamedBars { title: "t".to_owned(), measure: "coefficient".to_owned(), values };
        let svg = inline(&named);
        assert!(svg.contains("data-tip=\"age: coefficient 1.5\""), "{svg}");
        assert!(svg.contains("class=\"point bar s1\""), "a value below zero has another color");
        assert!(!svg.contains("nothing") && !svg.contains("NaN"), "{svg}");
        let start = |series: &str| {
            let bar = svg.split(&format!("bar {series}\" x=\"")).nth(1).unwrap_or_default();
            bar.split('"').next().unwrap_or_default().parse::<f64>().unwrap_or(f64::NAN)
        };
        assert!(start("s1") < start("s0"), "what is below zero begins left of it");
    }

    #[test]
    fn long_names_are_cut_in_their_middle() {
        assert_eq!(cut("age"), "age");
        let name = cut("occupation=Machine-operator-inspector");
        assert!(name.starts_with("occupatio") && name.ends_with("spector"), "{name}");
        assert!(name.chars().count() as f64 * LETTER <= NAMES);
    }
}
