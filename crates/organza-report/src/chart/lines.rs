//! Curves over one pair of axes.

use super::frame::{
    BOTTOM, LEFT, Legend, RIGHT, horizontal_label, point, stroke, title, told, vertical,
};
use super::ruler::{Axis, Ruler};
use super::{COLORS, Draw, Tips, WIDTH};
use crate::escape::escaped;
use std::fmt::{self, Write};

/// The height of the space for curves.
const SPACE: f64 = 210.0;
/// How far the axis goes beyond the marked point, whose caption stands there.
const ROOM: f64 = 1.12;

/// One curve.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

impl Line {
    /// A curve by its name.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), points: points.into_iter().collect() }
    }

    /// The points that have a place.
    fn drawable(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite())
    }
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

impl Chart {
    fn shown(&self) -> Vec<&Line> {
        self.lines.iter().filter(|line| line.drawable().next().is_some()).collect()
    }

    fn legend(&self) -> Legend<'_> {
        let names: Vec<&str> = self.shown().iter().map(|line| line.name.as_str()).collect();
        Legend::new(&names)
    }

    fn write_horizontal(
        &self,
        svg: &mut String,
        across: &Ruler,
        top: f64,
        floor: f64,
    ) -> fmt::Result {
        for tick in across.ticks() {
            let x = across.place(tick);
            writeln!(
                svg,
                "<path class=\"grid\" d=\"M{x:.1} {top}V{floor}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                floor + 18.0,
                across.caption(tick)
            )?;
        }
        horizontal_label(svg, &self.horizontal.label, self.height())
    }

    fn write_lines(&self, svg: &mut String, across: &Ruler, up: &Ruler, tips: Tips) -> fmt::Result {
        let shown = self.shown();
        for (series, line) in shown.iter().enumerate() {
            let mut path = String::new();
            for (place, (x, y)) in line.drawable().enumerate() {
                let pen = if place == 0 { 'M' } else { 'L' };
                write!(path, "{pen}{:.1} {:.1}", across.place(x), up.place(y))?;
            }
            let class = series % COLORS.len();
            writeln!(svg, "<path class=\"line s{class}\" {} d=\"{path}\"/>", stroke(series))?;
        }
        // After all curves, so that no curve lies over a point.
        for (series, line) in shown.iter().enumerate() {
            let class = series % COLORS.len();
            for (x, y) in line.drawable() {
                let name = if shown.len() > 1 { format!("{}\n", line.name) } else { String::new() };
                let words = format!(
                    "{name}{}: {}\n{}: {}",
                    self.horizontal.label,
                    told(x),
                    self.vertical.label,
                    told(y)
                );
                let (x, y) = (across.place(x), up.place(y));
                let shape = format!(
                    "<circle class=\"point s{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" \
                     fill=\"{}\" opacity=\"0\"",
                    COLORS[class]
                );
                point(svg, &shape, (x, y), &words, tips)?;
            }
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
        let width = 7.0 * caption.chars().count() as f64;
        let (anchor, side, lift) = if is_falling {
            ("start", (x + 8.0).min(WIDTH - 4.0 - width), -8.0)
        } else {
            let side = (x - 8.0).max(LEFT + 6.0 + width);
            ("end", side, -10.0)
        };
        writeln!(
            svg,
            "<circle class=\"mark s0\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            COLORS[0],
            side,
            y + lift,
            escaped(caption)
        )
    }
}

impl Draw for Chart {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let lines = self.shown();
        let ends = lines.iter().filter_map(|line| {
            let (first, last) = (line.drawable().next()?, line.drawable().last()?);
            Some(format!(
                "{} goes from {} at {} to {} at {}.",
                line.name,
                told(first.1),
                told(first.0),
                told(last.1),
                told(last.0)
            ))
        });
        let over = format!("{} over {}.", self.vertical.label, self.horizontal.label);
        std::iter::once(over).chain(ends).collect::<Vec<_>>().join(" ")
    }

    fn height(&self) -> f64 {
        self.legend().floor() + SPACE + BOTTOM
    }

    fn write(&self, svg: &mut String, tips: Tips) -> fmt::Result {
        let points = || {
            let marked = self.mark.iter().map(|(across, up, _)| (*across, ROOM * up));
            self.lines.iter().flat_map(|line| line.points.iter().copied()).chain(marked)
        };
        let legend = self.legend();
        let top = legend.floor();
        let floor = top + SPACE;
        let across =
            Ruler::new(self.horizontal.scale, points().map(|(x, _)| x), (LEFT, WIDTH - RIGHT));
        let up = Ruler::new(self.vertical.scale, points().map(|(_, y)| y), (floor, top));
        title(svg, &self.title)?;
        legend.write(svg)?;
        vertical(svg, &self.vertical.label, &up, top, floor)?;
        self.write_horizontal(svg, &across, top, floor)?;
        self.write_lines(svg, &across, &up, tips)?;
        self.write_mark(svg, &across, &up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{inline, picture};

    fn chart() -> Chart {
        Chart {
            title: "loss".to_owned(),
            horizontal: Axis::linear("steps"),
            vertical: Axis::fitted("loss"),
            lines: vec![
                Line::new("training", [(0.0, 0.7), (100.0, 0.5)]),
                Line::new("test", [(0.0, 0.7), (100.0, f64::NAN), (200.0, 0.61)]),
            ],
            mark: None,
        }
    }

    #[test]
    fn every_point_tells_its_values_once() {
        let (page, file) = (inline(&chart()), picture(&[chart()]));
        assert_eq!(page.matches("data-tip=").count(), 4, "{page}");
        assert!(page.contains("data-tip=\"test\nsteps: 200\nloss: 0.61\""), "{page}");
        assert!(!page.contains("<title>"), "the browser would show a second tip");
        assert_eq!(file.matches("</title></circle>").count(), 4, "{file}");
        assert!(!file.contains("data-"), "{file}");
    }

    #[test]
    fn it_says_what_it_shows() {
        assert_eq!(
            chart().description(),
            "loss over steps. training goes from 0.7 at 0 to 0.5 at 100. test goes from 0.7 at 0 to \
             0.61 at 200."
        );
    }
}
