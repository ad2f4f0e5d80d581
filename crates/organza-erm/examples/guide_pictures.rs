//! Draws pictures of the guide from the tables in it, of linear models and of where selection wins:
//! `guide_pictures docs/guide docs/images`.
//!
//! So a picture shows what the table beside it says, and nothing is drawn that is not written there.

use organza_report::chart::{Axis, Chart, Line, picture};
use std::error::Error;
use std::path::{Path, PathBuf};

/// A table of the guide: the heads of its columns, and rows of a name and figures.
struct Table {
    heads: Vec<String>,
    rows: Vec<Row>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(guide), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("give the folder of the guide and that of the pictures".into());
    };
    linear_models(&tables(&std::fs::read_to_string(guide.join("linear-models.md"))?), &folder)?;
    selection(&tables(&std::fs::read_to_string(guide.join("choosing-a-method.md"))?), &folder)
}

/// The table number `place` of those that have `text` in their heads.
fn find<'a>(tables: &'a [Table], text: &str, place: usize) -> Result<&'a Table, String> {
    let mut found = tables.iter().filter(|table| table.heads.concat().contains(text));
    found.nth(place).ok_or(format!("the guide has no table number {place} with `{text}`"))
}

/// The pictures of the guide to linear models.
fn linear_models(tables: &[Table], folder: &Path) -> Result<(), Box<dyn Error>> {
    let find = |text: &str, place: usize| find(tables, text, place);
    // Of two figures in a cell the second is the AUC.
    let by_epsilon = |title: &str, table: &Table| Chart {
        title: title.to_owned(),
        horizontal: Axis::logarithmic("epsilon"),
        vertical: Axis::fitted("AUC"),
        lines: lines(&by_method(table), &[0.5, 1.0, 3.0, 8.0], 1),
        mark: None,
    };
    let methods = [
        by_epsilon("a9a: test AUC", find("epsilon 0.5", 0)?),
        by_epsilon("wide set, p = 10^6: test AUC", find("epsilon 0.5", 1)?),
    ];
    let by_width = |title: &str, vertical: Axis, table: &Table| Chart {
        title: title.to_owned(),
        horizontal: Axis::logarithmic("features (p)"),
        vertical,
        lines: lines(&by_method(table), &[1e3, 1e4, 1e5, 1e6], 0),
        mark: None,
    };
    let widths = [
        by_width("Test AUC over the width", Axis::fitted("AUC"), find("test AUC", 0)?),
        by_width(
            "Distance from the non-private weights",
            Axis::logarithmic("distance"),
            find("distance from", 0)?,
        ),
    ];
    std::fs::write(folder.join("erm-methods.svg"), picture(&methods))?;
    std::fs::write(folder.join("erm-width.svg"), picture(&widths))?;
    Ok(())
}

/// The picture of where selection wins: a chart for each table of areas over something.
fn selection(tables: &[Table], folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut charts = Vec::new();
    for table in tables {
        let Some(over) = table.heads[0].strip_prefix("test AUC over ") else { continue };
        let (over, epsilon) = over.split_once(", ").unwrap_or((over, ""));
        let places: Vec<f64> =
            table.heads[1..].iter().flat_map(|head| head.replace(',', "").parse()).collect();
        charts.push(Chart {
            title: format!("Test AUC, {epsilon}"),
            horizontal: Axis::logarithmic(over),
            vertical: Axis::fitted("AUC"),
            lines: lines(&table.rows, &places, 0),
            mark: None,
        });
    }
    if charts.is_empty() {
        return Err("the guide has no table of test AUC over anything".into());
    }
    std::fs::write(folder.join("where-selection-wins.svg"), picture(&charts))?;
    Ok(())
}

/// A name and the figures of each cell.
type Row = (String, Vec<Vec<f64>>);

/// The rows by the names of their methods, without flags.
fn by_method(table: &Table) -> Vec<Row> {
    let word = |text: &str| text.split([' ', '`', ',']).next().unwrap_or_default().to_owned();
    let named = |(name, cells): &Row| {
        let whole = name.trim_start_matches('`');
        let select = whole.split_once("--select ").map(|(_, rule)| rule);
        (select.map_or_else(|| word(whole), word), cells.clone())
    };
    table.rows.iter().map(named).collect()
}

/// One curve a row, of the figure number `figure` in each cell. Of the rows of one name the first is drawn, and only where
/// every cell has a figure.
fn lines(rows: &[Row], places: &[f64], figure: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (name, cells) in rows {
        let points: Vec<(f64, f64)> = places
            .iter()
            .zip(cells)
            .filter_map(|(place, cell)| Some((*place, *cell.get(figure)?)))
            .collect();
        if points.len() == places.len() && !lines.iter().any(|line| line.name == *name) {
            lines.push(Line::new(name.clone(), points));
        }
    }
    lines
}

/// The tables of a Markdown text.
fn tables(text: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let Some(cells) = line.strip_prefix('|') else {
            inside = false;
            continue;
        };
        let cells: Vec<String> =
            cells.trim_end().trim_end_matches('|').split('|').map(|it| it.trim().into()).collect();
        match tables.last_mut().filter(|_| inside) {
            _ if cells.iter().all(|cell| cell.starts_with("---")) => {}
            Some(table) => {
                let numbers = |cell: &String| cell.split(' ').flat_map(str::parse).collect();
                let figures = cells[1..].iter().map(numbers).collect();
                table.rows.push((cells[0].clone(), figures));
            }
            None => tables.push(Table { heads: cells, rows: Vec::new() }),
        }
        inside = true;
    }
    tables
}
