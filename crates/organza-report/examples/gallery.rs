//! A page with one of everything: `cargo run -p organza-report --example gallery -- FOLDER`.

use organza_report::chart::{Axis, Bar, Bars, Chart, Line, Map, NamedBars, Piece, Place, Stack};
use organza_report::page::{Cell, Fact, Figure, Page, Promise, Section, Table};
use std::error::Error;
use std::path::PathBuf;

const WHY: &str = "an example of a number that came from data without noise";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("gallery"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let curves = Figure::new("curves", curves("Curves")).caption("Values are shown on the way.");
    let panels = Figure::new("panels", histogram(0.0))
        .panel(histogram(4.0))
        .panel(histogram(12.0))
        .caption("Panels stand side by side where there is room.")
        .not_private(WHY);
    let table = Table::new("table", ["word", "cosine", "loss"])
        .row(["bread".into(), 0.912_345.into(), Cell::from(0.61).not_private(WHY)])
        .row(["a `word`".into(), f64::NAN.into(), 200_000.into()])
        .caption("What is not a number is a dash.");
    Page::new("One of everything")
        .lead("What a page can hold, from `organza-report`.")
        .warning("A warning nobody may overlook.")
        .fact(Fact::new("epsilon", "2.418").note("at delta 1e-6"))
        .fact(Fact::new("test loss", "0.6123").not_private(WHY))
        .section(Section::new("Curves").text("A paragraph.").figure(curves))
        .section(Section::new("Bars").figure(panels))
        .section(Section::new("A stack").figure(Figure::new("stack", stack())))
        .section(Section::new("Values by name").figure(Figure::new("named", named())))
        .section(Section::new("A map").figure(Figure::new("map", map())))
        .section(Section::new("A table").table(table).note("A remark that stands out."))
        .section(Section::new("A promise").promise(promise()))
        .section(Section::new("Text").text("one").code("organza train\n└─ a tree"))
        .write(&folder, "report.html")?;
    Ok(())
}

fn curves(title: &str) -> Chart {
    let line = |name: &str, end: f64, speed: f64| {
        let points = (0..=20).map(|index| {
            let share = f64::from(index) / 20.0;
            (1_000.0 * share, end + (0.693 - end) * (-speed * share).exp())
        });
        Line::new(name, points)
    };
    Chart {
        title: title.to_owned(),
        horizontal: Axis::linear("steps"),
        vertical: Axis::fitted("loss"),
        lines: vec![
            line("training", 0.58, 4.0),
            line("validation", 0.60, 4.0),
            line("test", 0.605, 4.0),
            Line::new("word frequencies", [(0.0, 0.63), (1_000.0, 0.63)]),
        ],
        mark: None,
    }
}

fn histogram(slope: f64) -> Bars {
    let bar = |index: u32| Bar {
        label: (index + 1).to_string(),
        value: 100.0 + slope * (4.5 - f64::from(index)),
    };
    Bars {
        title: format!("Ranks, slope {slope}"),
        horizontal: "tenth of the ranks".to_owned(),
        vertical: "canaries".to_owned(),
        bars: (0..10).map(bar).collect(),
        reference: Some((100.0, "expected".to_owned())),
    }
}

fn stack() -> Stack {
    let piece = |name: &str, value, is_rest| Piece { name: name.to_owned(), value, is_rest };
    Stack {
        title: "Where a budget went".to_owned(),
        measure: "epsilon".to_owned(),
        pieces: vec![
            piece("number of units", 0.03, false),
            piece("training", 2.4, false),
            piece("left", 0.57, true),
        ],
    }
}

fn named() -> NamedBars {
    let values = [("age", 1.6), ("hours", 0.5), ("occupation=Machine-operator-inspector", -0.3)];
    NamedBars {
        title: "Coefficients".to_owned(),
        measure: "coefficient".to_owned(),
        values: values.map(|(name, value)| (name.to_owned(), value)).to_vec(),
    }
}

fn map() -> Map {
    let place = |index: usize| {
        let (turn, far) = (2.4 * index as f64, (index as f64).sqrt());
        let (at, told) =
            ((far * turn.cos(), far * turn.sin()), "nearest: the next 0.90".to_owned());
        Place { name: format!("word{index}"), at, told, near: vec![(index + 1) % 200] }
    };
    Map { title: "Words on a spiral".to_owned(), places: (0..200).map(place).collect() }
}

fn promise() -> Promise {
    Promise {
        headline: "epsilon 2.418 at delta 1e-6 for each line".to_owned(),
        holds: true,
        promised: vec!["Someone who sees the vectors can hardly tell one line.".to_owned()],
        to_whom: vec!["Each line of the text.".to_owned()],
        not_promised: vec!["Anything about what all lines share.".to_owned()],
        conditions: vec!["The key of the noise is secret.".to_owned()],
    }
}
