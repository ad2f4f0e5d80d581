//! Looks for a place where private selection beats DP-SGD at equal epsilon: `where_selection_wins PICTURE.svg`.
//!
//! Each method tries its settings on one set, and is judged with the best of them on three others. The tables are those of
//! docs/guide/choosing-a-method.md, and the picture shows them. Words after the picture's name choose among the parts
//! `width`, `each`, `people`, `rules`, `rows`; without any all are run.

mod methods;
mod people;

use methods::Method;
use organza_mechanism::{By, SelectionRule};
use organza_report::chart::{Axis, Chart, Line, picture};
use people::{People, Size};
use std::error::Error;
use std::io::Write;
use std::sync::Arc;

const TUNED_ON: u64 = 100;
const JUDGED_ON: [u64; 3] = [1, 2, 3];
const USUAL: Size = Size { people: 5_000, rows: 100_000, each: 400, dimensions: 1 };
const EPSILONS: [f64; 3] = [1.0, 3.0, 8.0];
const TRUTH: &str = "the truth";

/// One line of a table: a name, and an area for each place.
type Row = (String, Vec<f64>);

fn compared() -> Vec<Method> {
    vec![
        Method::DpSgd,
        Method::Shrunk,
        Method::selected(SelectionRule::Exponential, false),
        Method::selected(SelectionRule::Uniform, false),
        Method::selected(SelectionRule::Exponential, true),
    ]
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("name the file of the picture")?;
    let parts: Vec<String> = words.collect();
    let runs = |part: &str| parts.is_empty() || parts.iter().any(|it| it == part);
    let mut charts = Vec::new();
    if runs("width") {
        let widths = [1_000, 10_000, 100_000, 1_000_000];
        for epsilon in EPSILONS {
            // Tuned at one width: most of what a setting is good for is the same at all.
            let sizes = widths.map(|rows| Size { rows, ..USUAL });
            let rows = compare(&compared(), &sizes, epsilon, Some(USUAL))?;
            let places = widths.map(|width| width as f64);
            charts.push(shown(&format!("Epsilon {epsilon}"), "rows of the table", &places, &rows)?);
        }
    }
    if runs("each") {
        let each = [25, 100, 400, 1_600];
        let sizes = each.map(|each| Size { each, ..USUAL });
        let rows = compare(&compared(), &sizes, 3.0, None)?;
        charts.push(shown("Epsilon 3", "rows of a person", &each.map(|it| it as f64), &rows)?);
    }
    if runs("people") {
        let people = [1_250, 5_000, 20_000];
        let sizes = people.map(|people| Size { people, ..USUAL });
        let rows = compare(&compared(), &sizes, 1.0, None)?;
        charts.push(shown("Epsilon 1", "people", &people.map(|it| it as f64), &rows)?);
    }
    if runs("rules") {
        let rules =
            SelectionRule::ALL.map(|rule| [false, true].map(|each| Method::selected(rule, each)));
        for epsilon in [3.0] {
            let rows = compare(&rules.concat(), &[USUAL], epsilon, None)?;
            shown(&format!("Rules, epsilon {epsilon}"), "rows of the table", &[1e5], &rows)?;
        }
    }
    if runs("rows") {
        let size = Size { dimensions: 8, ..USUAL };
        for by in [By::Row, By::Coordinate] {
            let rule = SelectionRule::Exponential;
            let selected = |clips_candidates| Method::Selected { rule, by, clips_candidates };
            let methods = [Method::DpSgd, Method::Shrunk, selected(false), selected(true)];
            let from = if by == By::Row { 0 } else { 2 };
            let rows = compare(&methods[from..], &[size], 3.0, None)?;
            shown(&format!("Rows of 8, by {by}, epsilon 3"), "rows of the table", &[1e5], &rows)?;
        }
    }
    if !charts.is_empty() {
        std::fs::write(file, picture(&charts))?;
    }
    Ok(())
}

/// The median areas of methods at each size, with the settings that were best on another set of that size, or of the size
/// `tuned`; and what the truth has.
fn compare(
    methods: &[Method],
    sizes: &[Size],
    epsilon: f64,
    tuned: Option<Size>,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows: Vec<Row> = methods.iter().map(|method| (method.name(), Vec::new())).collect();
    rows.push((TRUTH.to_owned(), Vec::new()));
    let mut best = Vec::new();
    for size in sizes {
        if best.is_empty() || tuned.is_none() {
            best.clear();
            let tuned = tuned.unwrap_or(*size);
            let people = Arc::new(People::new(tuned, TUNED_ON));
            for method in methods {
                let areas = method.settings().iter().map(|setting| {
                    Ok((method.run(&people, tuned, epsilon, setting, TUNED_ON)?, setting))
                });
                let areas = areas.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
                let first = areas.iter().max_by(|one, other| one.0.total_cmp(&other.0));
                let chosen = first.ok_or("a method has no settings")?.1;
                let all: Vec<String> = areas.iter().map(|(area, _)| format!("{area:.3}")).collect();
                writeln!(std::io::stderr(), "{}: {} -> {chosen:?}", method.name(), all.join(" "))?;
                best.push(chosen);
            }
        }
        let mut areas = vec![Vec::new(); rows.len()];
        for seed in JUDGED_ON {
            let people = Arc::new(People::new(*size, seed));
            for (place, (method, setting)) in methods.iter().zip(&best).enumerate() {
                areas[place].push(method.run(&people, *size, epsilon, setting, seed)?);
            }
            areas[methods.len()].push(people.area(&people.truth));
        }
        for ((_, row), areas) in rows.iter_mut().zip(&mut areas) {
            areas.sort_unstable_by(f64::total_cmp);
            row.push(areas[areas.len() / 2]);
        }
    }
    Ok(rows)
}

/// Prints the table, and makes a chart of it.
fn shown(title: &str, over: &str, places: &[f64], rows: &[Row]) -> Result<Chart, Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let cells = |cells: Vec<String>| cells.join(" | ");
    writeln!(out, "\n**{title}**\n")?;
    writeln!(
        out,
        "| test AUC over {over} | {} |",
        cells(places.iter().map(f64::to_string).collect())
    )?;
    writeln!(out, "|---|{}", "---|".repeat(places.len()))?;
    for (name, areas) in rows {
        let areas = areas.iter().map(|area| format!("{area:.3}")).collect();
        writeln!(out, "| {name} | {} |", cells(areas))?;
    }
    let line =
        |(name, areas): &Row| Line::new(name, places.iter().copied().zip(areas.iter().copied()));
    Ok(Chart {
        title: format!("{title}: test AUC"),
        horizontal: Axis::logarithmic(over),
        vertical: Axis::fitted("AUC"),
        lines: rows.iter().map(line).collect(),
        mark: None,
    })
}
