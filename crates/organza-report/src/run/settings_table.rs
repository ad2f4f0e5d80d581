//! The settings of a run as a table.

use crate::describe::number;
use crate::page::{Section, Table};
use serde::Serialize;
use serde_json::Value;

/// All settings that are set and were used, by the names that they have in the file.
pub(super) fn section(
    settings: &impl Serialize,
    made: Option<String>,
    again: Option<String>,
    unused: &[&str],
) -> Section {
    let mut rows = Vec::new();
    // Through text, in which a number of single precision has no more digits than it was given.
    let text = serde_json::to_string(settings).unwrap_or_default();
    flatten("", &serde_json::from_str(&text).unwrap_or_default(), &mut rows);
    let within = |name: &str, part: &str| {
        name.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    rows.retain(|(name, _)| !unused.iter().any(|part| within(name, part)));
    let mut table = Table::new("settings", ["setting", "value"]);
    for (name, value) in rows {
        table = table.row([name.into(), value.into()]);
    }
    let again = again.map(|command| format!("Repeat it with `{command}`."));
    let told: Vec<String> = made.into_iter().chain(again).collect();
    let section = Section::new("Settings");
    if told.is_empty() { section } else { section.text(told.join(" ")) }.table(table)
}

/// Values by their path; what is not set is left out.
fn flatten(path: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, rows);
            }
        }
        Value::Null => {}
        Value::String(text) => rows.push((path.to_owned(), text.clone())),
        Value::Bool(flag) => {
            rows.push((path.to_owned(), if *flag { "yes" } else { "no" }.to_owned()))
        }
        Value::Number(value) => {
            let shown = value.as_f64().map_or_else(|| value.to_string(), number);
            rows.push((path.to_owned(), shown));
        }
        Value::Array(_) => rows.push((path.to_owned(), value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_names_of_the_file() {
        let mut rows = Vec::new();
        let settings =
            serde_json::json!({"a": {"b": 1e-6, "c": null}, "d": "x", "e": [1], "f": true});
        flatten("", &settings, &mut rows);
        let shown: Vec<String> =
            rows.iter().map(|(name, value)| format!("{name} {value}")).collect();
        assert_eq!(shown, ["a.b 1e-6", "d x", "e [1]", "f yes"]);
    }

    #[test]
    fn only_what_was_used_is_shown_with_the_digits_it_was_given() {
        #[derive(Serialize)]
        struct Beta {
            beta: f32,
            beta_two: f32,
        }
        let show = |unused: &[&str]| {
            let section = section(&Beta { beta: 0.9, beta_two: 0.99 }, None, None, unused);
            crate::page::Page::new("p").section(section).html()
        };
        let all = show(&[]);
        assert!(all.contains(">0.9<") && all.contains(">0.99<"), "{all}");
        let used = show(&["beta"]);
        assert!(!used.contains(">0.9<") && used.contains(">0.99<"), "{used}");
    }
}
