//! Looks for a place where private selection beats DP-SGD at equal epsilon: `where_selection_wins`.
//!
//! Each method tries its settings on one set, and is judged with the best of them on three others. It prints the tables of
//! docs/guide/choosing-a-method.md, of which `guide_pictures` makes a picture. Words choose among the parts `width`, `each`,
//! `people`, `rules` and `rows`; without any all are run.

mod methods;
mod people;

use methods::{Method, Setting};
use organza_mechanism::{By, SelectionRule};
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

/// Those that are compared everywhere, from the one that does best mostly.
fn compared() -> Vec<Method> {
    vec![
        Method::selected(SelectionRule::Exponential, true),
        Method::Shrunk,
        Method::DpSgd,
        Method::selected(SelectionRule::Exponential, false),
    ]
}

fn main() -> Result<(), Box<dyn Error>> {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    let runs = |part: &str| parts.is_empty() || parts.iter().any(|it| it == part);
    if runs("width") {
        let widths = [1_000, 10_000, 100_000, 1_000_000];
        for epsilon in EPSILONS {
            // Tuned at one width, but for what depends on it.
            let sizes = widths.map(|rows| Size { rows, ..USUAL });
            let rows = compare(&compared(), &sizes, epsilon, Some(USUAL))?;
            show("rows of the table", epsilon, &widths, &rows)?;
        }
    }
    if runs("each") {
        let each = [25, 100, 400, 1_600];
        let rows = compare(&compared(), &each.map(|each| Size { each, ..USUAL }), 3.0, None)?;
        show("rows of a person", 3.0, &each, &rows)?;
    }
    if runs("people") {
        let people = [1_250, 5_000, 20_000];
        let rows = compare(&compared(), &people.map(|people| Size { people, ..USUAL }), 1.0, None)?;
        show("people", 1.0, &people, &rows)?;
    }
    if runs("rules") {
        let rules =
            SelectionRule::ALL.map(|rule| [false, true].map(|each| Method::selected(rule, each)));
        show("rules", 3.0, &[USUAL.rows], &compare(&rules.concat(), &[USUAL], 3.0, None)?)?;
    }
    if runs("rows") {
        let size = Size { dimensions: 8, ..USUAL };
        for (by, others) in
            [(By::Row, [Method::DpSgd, Method::Shrunk].as_slice()), (By::Coordinate, &[])]
        {
            let rule = SelectionRule::Exponential;
            let selected = [false, true].map(|clips_candidates| Method::Selected {
                rule,
                by,
                clips_candidates,
            });
            let methods = [others, &selected].concat();
            show(
                &format!("rows of 8, by {by}"),
                3.0,
                &[size.rows],
                &compare(&methods, &[size], 3.0, None)?,
            )?;
        }
    }
    Ok(())
}

/// The median areas of methods at each size, with the settings that were best on another set; and what the truth has. That set has
/// the size, or the size `tuned` for all but what is done to a released table, which follows how many rows there are.
fn compare(
    methods: &[Method],
    sizes: &[Size],
    epsilon: f64,
    tuned: Option<Size>,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows: Vec<Row> = methods.iter().map(|method| (method.name(), Vec::new())).collect();
    rows.push((TRUTH.to_owned(), Vec::new()));
    let mut best: Vec<Option<&Setting>> = vec![None; methods.len()];
    for size in sizes {
        for (method, best) in methods.iter().zip(&mut best) {
            match tuned.filter(|_| *method != Method::Shrunk) {
                Some(_) if best.is_some() => {}
                Some(tuned) => *best = Some(tune(*method, tuned, epsilon)?),
                None => *best = Some(tune(*method, *size, epsilon)?),
            }
        }
        let mut areas = vec![Vec::new(); rows.len()];
        for seed in JUDGED_ON {
            let people = Arc::new(People::new(*size, seed));
            for (place, (method, setting)) in methods.iter().zip(&best).enumerate() {
                let Some(setting) = setting else { continue };
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

/// The setting that does best on a set of this size, which nothing is judged on.
fn tune(method: Method, size: Size, epsilon: f64) -> Result<&'static Setting, Box<dyn Error>> {
    let people = Arc::new(People::new(size, TUNED_ON));
    let run = |setting| method.run(&people, size, epsilon, setting, TUNED_ON);
    let areas: Result<Vec<f64>, _> = method.settings().iter().map(run).collect();
    let areas = areas?;
    let tried = areas.iter().zip(method.settings());
    let best = tried.max_by(|one, other| one.0.total_cmp(other.0));
    let chosen = best.ok_or("a method has no settings")?.1;
    let areas: Vec<String> = areas.iter().map(|area| format!("{area:.3}")).collect();
    writeln!(std::io::stderr(), "{}: {} -> {chosen:?}", method.name(), areas.join(" "))?;
    Ok(chosen)
}

/// Prints the table.
fn show(over: &str, epsilon: f64, places: &[u64], rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let line = |name: &str, cells: Vec<String>| format!("| {name} | {} |", cells.join(" | "));
    let places = places.iter().map(u64::to_string).collect::<Vec<_>>();
    let rule = "---|".repeat(places.len());
    writeln!(
        out,
        "\n{}\n|---|{rule}",
        line(&format!("test AUC over {over}, epsilon {epsilon}"), places)
    )?;
    for (name, areas) in rows {
        writeln!(out, "{}", line(name, areas.iter().map(|area| format!("{area:.3}")).collect()))?;
    }
    Ok(())
}
