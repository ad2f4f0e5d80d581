//! Line charts as SVG: axes with ticks, a grid, a legend and a marked point. The colors are readable
//! on light and on dark ground, and the ground is left to the page.

use crate::describe::{count, number};
use std::fmt::{self, Write};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 52.0;
const COLORS: [&str; 4] = ["#3182bd", "#d9822b", "#3f9f6b", "#a06ab4"];
const DASHES: [&str; 4] = ["none", "6 4", "2 3", "8 3 2 3"];
const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#7a7f87}\
.title{font-size:14px;font-weight:600}\
.grid{stroke:#8a8f98;stroke-opacity:.25}\
.axis{stroke:#8a8f98}\
.line{fill:none;stroke-width:2;stroke-linejoin:round}";

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
    /// By their logarithm; only positive values can be shown.
    Logarithmic,
}

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is measured along it.
    pub label: String,
    /// How it is spread.
    pub scale: Scale,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// Curves over one pair of axes.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The axis at the bottom.
    pub horizontal: Axis,
    /// The axis at the left.
    pub vertical: Axis,
    /// The curves; those without points are left out.
    pub lines: Vec<Line>,
    /// A point to point out, with its caption.
    pub mark: Option<(f64, f64, String)>,
}

/// The charts side by side, as one SVG document.
pub fn picture(charts: &[Chart]) -> String {
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = write_picture(&mut svg, charts);
    svg
}

fn write_picture(svg: &mut String, charts: &[Chart]) -> fmt::Result {
    let width = WIDTH * charts.len() as f64;
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\">\n<style>{STYLE}</style>"
    )?;
    for (index, chart) in charts.iter().enumerate() {
        writeln!(svg, "<g transform=\"translate({} 0)\">", WIDTH * index as f64)?;
        chart.write(svg)?;
        writeln!(svg, "</g>")?;
    }
    writeln!(svg, "</svg>")
}

impl Chart {
    fn write(&self, svg: &mut String) -> fmt::Result {
        let points = || {
            let marked = self.mark.iter().map(|(across, up, _)| (*across, *up));
            self.lines.iter().flat_map(|line| line.points.iter().copied()).chain(marked)
        };
        let across = Ruler::new(
            self.horizontal.scale,
            points().map(|(across, _)| across),
            (LEFT, WIDTH - RIGHT),
        );
        let up =
            Ruler::new(self.vertical.scale, points().map(|(_, up)| up), (HEIGHT - BOTTOM, TOP));
        writeln!(svg, "<title>{}</title>", escaped(&self.title))?;
        writeln!(
            svg,
            "<text class=\"title\" x=\"{LEFT}\" y=\"22\">{}</text>",
            escaped(&self.title)
        )?;
        self.write_axes(svg, &across, &up)?;
        self.write_lines(svg, &across, &up)?;
        self.write_mark(svg, &across, &up)
    }

    fn write_axes(&self, svg: &mut String, across: &Ruler, up: &Ruler) -> fmt::Result {
        let (right, floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for tick in up.ticks() {
            let y = up.place(tick);
            writeln!(
                svg,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                y + 4.0,
                up.caption(tick)
            )?;
        }
        for tick in across.ticks() {
            let x = across.place(tick);
            writeln!(
                svg,
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{floor}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                floor + 18.0,
                across.caption(tick)
            )?;
        }
        writeln!(svg, "<path class=\"axis\" fill=\"none\" d=\"M{LEFT} {TOP}V{floor}H{right}\"/>")?;
        let middle = (LEFT + right) / 2.0;
        writeln!(
            svg,
            "<text x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 12.0,
            escaped(&self.horizontal.label)
        )?;
        let height = (TOP + floor) / 2.0;
        writeln!(
            svg,
            "<text transform=\"translate(16 {height}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(&self.vertical.label)
        )
    }

    fn write_lines(&self, svg: &mut String, across: &Ruler, up: &Ruler) -> fmt::Result {
        let shown = self.lines.iter().filter(|line| !line.points.is_empty());
        let mut legend = WIDTH - RIGHT;
        for (index, line) in shown.enumerate() {
            let (color, dash) = (COLORS[index % COLORS.len()], DASHES[index % DASHES.len()]);
            let mut path = String::new();
            let drawable = line.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
            for (place, (x, y)) in drawable.enumerate() {
                let pen = if place == 0 { 'M' } else { 'L' };
                write!(path, "{pen}{:.1} {:.1}", across.place(*x), up.place(*y))?;
            }
            let style = format!("stroke=\"{color}\" stroke-dasharray=\"{dash}\"");
            writeln!(svg, "<path class=\"line\" {style} d=\"{path}\"/>")?;
            // From the right, because the title stands at the left.
            legend -= 30.0 + 8.0 * line.name.chars().count() as f64;
            writeln!(
                svg,
                "<path class=\"line\" {style} d=\"M{legend:.1} 18h20\"/>\
                 <text x=\"{:.1}\" y=\"22\">{}</text>",
                legend + 24.0,
                escaped(&line.name)
            )?;
        }
        Ok(())
    }

    fn write_mark(&self, svg: &mut String, across: &Ruler, up: &Ruler) -> fmt::Result {
        let Some((x, y, caption)) = &self.mark else { return Ok(()) };
        let (x, y) = (across.place(*x), up.place(*y));
        // Where the curve is not: right of one that falls, left of one that rises.
        let is_falling = self.lines.first().is_some_and(|line| {
            let ends = line.points.first().zip(line.points.last());
            ends.is_some_and(|(first, last)| last.1 < first.1)
        });
        let width = 6.5 * caption.chars().count() as f64;
        let (anchor, side, lift) = if is_falling {
            ("start", (x + 8.0).min(WIDTH - 4.0 - width), -8.0)
        } else {
            ("end", x - 8.0, if y < TOP + 16.0 { 16.0 } else { -10.0 })
        };
        writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            COLORS[0],
            side,
            y + lift,
            escaped(caption)
        )
    }
}

/// From values to places along one axis.
struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    /// Where the lowest and the highest value stand.
    ends: (f64, f64),
}

impl Ruler {
    fn new(scale: Scale, values: impl Iterator<Item = f64>, ends: (f64, f64)) -> Self {
        let usable = |value: &f64| match scale {
            Scale::Linear => value.is_finite(),
            Scale::Logarithmic => value.is_finite() && *value > 0.0,
        };
        let (least, most) = values
            .filter(usable)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        let (low, high) = match scale {
            Scale::Logarithmic if least < most => (least, most),
            Scale::Logarithmic => (1e-9, 1.0),
            Scale::Linear if most > 0.0 => (0.0, most),
            Scale::Linear => (0.0, 1.0),
        };
        Self { scale, low, high, ends }
    }

    fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => {
                (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
            }
        };
        self.ends.0 + share.clamp(0.0, 1.0) * (self.ends.1 - self.ends.0)
    }

    /// A tick's value, without the rounding of its computation.
    fn caption(&self, tick: f64) -> String {
        let rounded: f64 = format!("{tick:.6e}").parse().unwrap_or(tick);
        match self.scale {
            Scale::Logarithmic => format!("{rounded:e}"),
            Scale::Linear if (1e3..1e7).contains(&rounded) && rounded.fract() == 0.0 => {
                count(rounded as u64)
            }
            Scale::Linear => number(rounded),
        }
    }

    /// Four to eight round values.
    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let rough = (self.high - self.low) / 5.0;
                let power = 10_f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0]
                    .into_iter()
                    .map(|factor| factor * power)
                    .find(|step| *step >= rough * (1.0 - 1e-9))
                    .unwrap_or(rough);
                let steps = ((self.high / step) * (1.0 + 1e-9)).floor() as u32;
                (0..=steps).map(|index| f64::from(index) * step).collect()
            }
            Scale::Logarithmic => {
                let (first, last) = (
                    (self.low.log10() - 1e-9).ceil() as i32,
                    (self.high.log10() + 1e-9).floor() as i32,
                );
                let stride = ((last - first) / 7 + 1).max(1);
                (first..=last)
                    .filter(|power| power.rem_euclid(stride) == 0)
                    .map(|power| 10_f64.powi(power))
                    .collect()
            }
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruler(scale: Scale, values: &[f64]) -> Ruler {
        Ruler::new(scale, values.iter().copied(), (0.0, 100.0))
    }

    #[test]
    fn ticks_are_round_and_few() {
        let ticks = ruler(Scale::Linear, &[0.1, 2.418]).ticks();
        assert_eq!(ticks, [0.0, 0.5, 1.0, 1.5, 2.0]);
        let decades = ruler(Scale::Logarithmic, &[1e-12, 1e-3]);
        let captions: Vec<_> = decades.ticks().iter().map(|tick| decades.caption(*tick)).collect();
        assert_eq!(captions, ["1e-12", "1e-10", "1e-8", "1e-6", "1e-4"]);
        let steps = ruler(Scale::Linear, &[300_000.0]);
        assert_eq!(steps.caption(steps.ticks()[2]), "200,000");
        for most in [1e-9, 0.3, 7.0, 300_000.0, 1e12] {
            let count = ruler(Scale::Linear, &[most]).ticks().len();
            assert!((3..=8).contains(&count), "{count} ticks up to {most}");
        }
    }

    #[test]
    fn places_run_from_end_to_end_and_never_beyond() {
        let ruler = ruler(Scale::Logarithmic, &[1e-4, 1e-2]);
        for (value, place) in [(1e-4, 0.0), (1e-3, 50.0), (1e-2, 100.0), (1.0, 100.0), (0.0, 0.0)] {
            assert!((ruler.place(value) - place).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn empty_and_hostile_charts_are_still_documents() {
        let axis = |scale| Axis { label: "a < b & c".to_owned(), scale };
        let chart = Chart {
            title: "<script>".to_owned(),
            horizontal: axis(Scale::Logarithmic),
            vertical: axis(Scale::Linear),
            lines: vec![
                Line { name: "none".to_owned(), points: Vec::new() },
                Line {
                    name: "one".to_owned(),
                    points: vec![(0.0, f64::NAN), (f64::INFINITY, 1.0)],
                },
            ],
            mark: None,
        };
        let svg = picture(&[chart]);
        assert!(
            svg.ends_with("</svg>\n") && !svg.contains("<script>") && !svg.contains("none</text>")
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
