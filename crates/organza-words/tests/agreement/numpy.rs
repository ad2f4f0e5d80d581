//! The same with numpy, where there is one.

use crate::record::{Case, record};
use crate::{assert_agree, exact};
use organza_mechanism::{By, SelectionSettings};
use std::io::Write;
use std::process::{Command, Stdio};

const SCRIPT: &str = include_str!("plain.py");

fn python(arguments: &[&str], input: &str) -> Result<String, String> {
    let mut child = Command::new("python3")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("python3: {error}"))?;
    child.stdin.take().unwrap().write_all(input.as_bytes()).map_err(|error| error.to_string())?;
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn numpy_agrees() {
    if let Err(reason) = python(&["-c", "import numpy"], "") {
        eprintln!("skipped, since python3 cannot import numpy: {}", reason.trim());
        return;
    }
    let paper =
        SelectionSettings::Exponential { by: By::Coordinate, draws: 7, epsilon: 0.5, cap: 0.05 };
    for selection in [SelectionSettings::Everything, paper, exact(By::Row)] {
        for (tied, bag, adam, second_clip, multiplier) in [
            (true, false, true, Some(0.08), 1.0),
            (false, false, false, None, 1e-12),
            (false, true, true, Some(0.08), 1e-12),
        ] {
            let selection = selection.clone();
            let case = Case { tied, bag, adam, second_clip, multiplier, ..Case::new(selection) };
            let record = record(&case);
            let transcript = serde_json::to_string(&record.transcript).unwrap();
            let after = python(&["-c", SCRIPT], &transcript).unwrap();
            assert_agree(&case, &record, &serde_json::from_str::<Vec<Vec<f64>>>(&after).unwrap());
        }
    }
}
