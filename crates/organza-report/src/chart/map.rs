//! Names on a plane: those that are alike stand close together.

use super::frame::{point, title};
use super::{COLORS, Draw, Tips, WIDTH};
use crate::escape::escaped;
use std::fmt::{self, Write};

const TOP: f64 = 32.0;
const SPACE: f64 = 330.0;
const MARGIN: f64 = 10.0;
/// The letters of names on a phone, and on a screen that shows the map larger: the width and height of one.
const LARGE: (f64, f64) = (8.0, 14.0);
const SMALL: (f64, f64) = (4.95, 9.0);
/// How far the name of a place is from it.
const GAP: f64 = 4.0;

/// One name and where it stands.
#[derive(Clone, Debug)]
pub struct Place {
    /// The name.
    pub name: String,
    /// Where it stands, in any measure.
    pub at: (f64, f64),
    /// What is told about it, such as its neighbours.
    pub told: String,
    /// Which other places it is close to, by their numbers.
    pub near: Vec<usize>,
}

/// Names on a plane. Names are written where they do not hide each other, those of the first places first.
#[derive(Clone, Debug)]
pub struct Map {
    /// What it shows.
    pub title: String,
    /// The places, from the most important on.
    pub places: Vec<Place>,
}

/// A name beside its place.
struct Label {
    at: (f64, f64),
    anchor: &'static str,
    /// Whether it is written on small screens as well.
    everywhere: bool,
}

/// Left, right, upper and lower end.
type Area = (f64, f64, f64, f64);

impl Map {
    /// Where places are drawn; none where they stand nowhere.
    fn drawn(&self) -> Vec<Option<(f64, f64)>> {
        let finite = |place: &Place| place.at.0.is_finite() && place.at.1.is_finite();
        let range = |part: fn(&Place) -> f64| {
            let parts = self.places.iter().filter(|place| finite(place)).map(part);
            parts.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
                (least.min(value), most.max(value))
            })
        };
        let (across, up) = (range(|place| place.at.0), range(|place| place.at.1));
        let share = |value: f64, (least, most): (f64, f64)| {
            if most > least { (value - least) / (most - least) } else { 0.5 }
        };
        let drawn = |place: &Place| {
            let x = MARGIN + share(place.at.0, across) * (WIDTH - 2.0 * MARGIN);
            let y = TOP + MARGIN + (1.0 - share(place.at.1, up)) * (SPACE - 2.0 * MARGIN);
            finite(place).then_some((x, y))
        };
        self.places.iter().map(drawn).collect()
    }

    /// The names that are written: first those that large letters have room for, then those for which small ones do.
    fn labels(&self, drawn: &[Option<(f64, f64)>]) -> Vec<Option<Label>> {
        let mut labels: Vec<Option<Label>> = self.places.iter().map(|_| None).collect();
        for (letter, everywhere) in [(LARGE, true), (SMALL, false)] {
            let area = |index: usize, label: &Label| {
                area(&self.places[index].name, label.at, label.anchor, letter)
            };
            let written = labels.iter().enumerate();
            let mut taken: Vec<Area> =
                written.filter_map(|(index, label)| Some(area(index, label.as_ref()?))).collect();
            for (index, place) in drawn.iter().enumerate() {
                let Some((x, y)) = place.filter(|_| labels[index].is_none()) else { continue };
                let middle = 0.35 * letter.1;
                let sides = [
                    ((x, y - GAP), "middle"),
                    ((x, y + GAP + 0.8 * letter.1), "middle"),
                    ((x + GAP, y + middle), "start"),
                    ((x - GAP, y + middle), "end"),
                ];
                let label = sides.into_iter().find_map(|(at, anchor)| {
                    let label = Label { at, anchor, everywhere };
                    let own = area(index, &label);
                    let inside =
                        own.0 >= 0.0 && own.1 <= WIDTH && own.2 >= TOP && own.3 <= TOP + SPACE;
                    (inside && !taken.iter().any(|other| meet(own, *other))).then_some((label, own))
                });
                if let Some((label, own)) = label {
                    taken.push(own);
                    labels[index] = Some(label);
                }
            }
        }
        labels
    }
}

/// What a name covers in letters of this size.
fn area(name: &str, (x, y): (f64, f64), anchor: &str, (width, height): (f64, f64)) -> Area {
    // A little more than the letters, so that names do not read as one.
    let length = width * (name.chars().map(breadth).sum::<f64>() + 0.8);
    let left = match anchor {
        "middle" => x - length / 2.0,
        "end" => x - length,
        _ => x,
    };
    (left, left + length, y - 0.85 * height, y + 0.25 * height)
}

/// How broad a letter is beside an `a`, about, in the usual fonts.
fn breadth(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'I' | '\'' | '.' => 0.5,
        'f' | 'r' | 't' | '-' => 0.7,
        'm' | 'M' | 'W' => 1.6,
        'w' => 1.35,
        '\u{2e80}'.. => 1.7,
        _ if letter.is_uppercase() => 1.2,
        _ => 1.0,
    }
}

fn meet(one: Area, other: Area) -> bool {
    one.0 < other.1 && other.0 < one.1 && one.2 < other.3 && other.2 < one.3
}

impl Draw for Map {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        let told = self.places.iter().take(10);
        let told: Vec<String> = told
            .map(|place| format!("{}: {}", place.name, place.told.replace('\n', " ")))
            .collect();
        format!("A map of {} names, of which the first are {}.", self.places.len(), told.join("; "))
    }

    fn height(&self) -> f64 {
        TOP + SPACE
    }

    fn class(&self) -> &'static str {
        "map"
    }

    fn write(&self, svg: &mut String, tips: Tips) -> fmt::Result {
        title(svg, &self.title)?;
        writeln!(
            svg,
            "<rect class=\"grid\" x=\"1\" y=\"{TOP}\" width=\"{:.0}\" height=\"{:.0}\" rx=\"6\" \
             fill=\"none\"/>",
            WIDTH - 2.0,
            SPACE - 1.0
        )?;
        let drawn = self.drawn();
        for (place, at) in self.places.iter().zip(&drawn) {
            let Some((x, y)) = *at else { continue };
            let near: Vec<String> = place.near.iter().map(usize::to_string).collect();
            let near = match tips {
                Tips::Attributes => format!(" data-near=\"{}\"", near.join(" ")),
                Tips::Titles => String::new(),
            };
            let shape = format!(
                "<circle class=\"point s0\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill=\"{}\"{near}",
                COLORS[0]
            );
            point(svg, &shape, (x, y), &format!("{}\n{}", place.name, place.told), tips)?;
        }
        for (place, label) in self.places.iter().zip(self.labels(&drawn)) {
            let Some(Label { at: (x, y), anchor, everywhere }) = label else { continue };
            let class = if everywhere { "over word" } else { "over word more" };
            writeln!(
                svg,
                "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
                escaped(&place.name)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{inline, picture};

    /// Four hundred places on a spiral.
    fn map() -> Map {
        let place = |index: usize| {
            let turn = index as f64 * 2.4;
            let at = ((index as f64).sqrt() * turn.cos(), (index as f64).sqrt() * turn.sin());
            let told = "nearest: another 0.90".to_owned();
            Place { name: format!("word{index}"), at, told, near: vec![index + 1] }
        };
        let nowhere = Place { name: "<lost>".to_owned(), at: (f64::NAN, 0.0), ..place(0) };
        Map { title: "words".to_owned(), places: (0..400).map(place).chain([nowhere]).collect() }
    }

    #[test]
    fn names_do_not_hide_each_other() {
        let map = map();
        let labels = map.labels(&map.drawn());
        for (letter, more) in [(LARGE, false), (SMALL, true)] {
            let shown = labels.iter().enumerate();
            let areas: Vec<Area> = shown
                .filter_map(|(index, label)| Some((index, label.as_ref()?)))
                .filter(|(_, label)| more || label.everywhere)
                .map(|(index, label)| area(&map.places[index].name, label.at, label.anchor, letter))
                .collect();
            assert!(areas.len() > if more { 60 } else { 20 }, "{} names", areas.len());
            for (index, one) in areas.iter().enumerate() {
                assert!(!areas[index + 1..].iter().any(|other| meet(*one, *other)));
            }
        }
        assert!(labels[0].as_ref().is_some_and(|label| label.everywhere), "the first comes first");
    }

    #[test]
    fn every_place_tells_its_neighbours_and_needs_no_script() {
        let (page, file) = (inline(&map()), picture(&[map()]));
        assert_eq!(page.matches("data-tip=").count(), 400, "one stands nowhere");
        assert!(page.contains("data-near=\"1\"") && page.contains("class=\"map\""));
        assert_eq!(file.matches("</title></circle>").count(), 400);
        assert!(!file.contains("data-") && !file.contains("NaN") && !file.contains("<lost>"));
    }
}
