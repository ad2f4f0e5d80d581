//! What a reproduction came to, for people.

use crate::output::{DOUBT, GOOD};
use organza_audit::RankSummary;
use organza_paper::reproduce::{Canary, Claim, Ended, Panel, Reproduction, Tight};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// All that came out, and the folder that it is in.
#[derive(Serialize)]
pub(super) struct Shown {
    #[serde(flatten)]
    pub(super) found: Reproduction,
    #[serde(skip)]
    pub(super) folder: PathBuf,
}

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, folder } = self;
        if found.quick {
            writeln!(
                formatter,
                "{DOUBT}shortened by --quick: these figures mean nothing{DOUBT:#}\n"
            )?;
        }
        for Claim { says, holds, because } in &found.claims {
            let (style, verdict) = if *holds { (GOOD, "holds") } else { (DOUBT, "does not hold") };
            writeln!(formatter, "{style}{verdict:14}{style:#} {says}\n{:15}{because}*", "")?;
        }
        if !found.figure1.is_empty() {
            let columns = ("run", "printed", "epsilon", "training*", "test*");
            writeln!(
                formatter,
                "\n{:20}{:>9}{:>10}{:>11}{:>11}",
                columns.0, columns.1, columns.2, columns.3, columns.4
            )?;
        }
        let optional = |value: Option<f64>, digits: usize| {
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
        };
        for Panel { name, printed_epsilon, ended, .. } in &found.figure1 {
            let (printed, epsilon) = (optional(*printed_epsilon, 0), optional(ended.epsilon, 4));
            let Ended { train_loss, test_loss, .. } = ended;
            writeln!(
                formatter,
                "{name:20}{printed:>9}{epsilon:>10}{train_loss:>11.3}{test_loss:>11.3}"
            )?;
        }
        if !found.figure2.is_empty() {
            writeln!(
                formatter,
                "\n{:>4} {:14}{:>20}{:>20}{:>20}",
                "n_c", "run", "printed (p)", "inserted* (p)", "control* (p)"
            )?;
        }
        for Canary { column, repeats, inserted, control, printed, .. } in &found.figure2 {
            let cell = |distance: f64, p_value: f64| format!("{distance:.4} ({p_value:.2})");
            let of = |summary: &RankSummary| {
                cell(summary.uniformity.distance, summary.uniformity.p_value)
            };
            let printed = cell(printed.distance, printed.p_value);
            writeln!(
                formatter,
                "{repeats:>4} {column:14}{printed:>20}{:>20}{:>20}",
                of(inserted),
                of(control)
            )?;
        }
        for it in found.nearest.iter().flat_map(|it| &it.nearest) {
            let how = if it.learns { "by learning" } else { "by standing still" };
            writeln!(
                formatter,
                "\nnearest setting at which sparse beats DP-SGD ({how}): {}\n\
                 sparse {:.3}* at epsilon {}, DP-SGD {:.3}* at epsilon {}, from {:.3}*",
                it.setting,
                it.sparse.test_loss,
                optional(it.sparse.epsilon, 4),
                it.dp_sgd.test_loss,
                optional(it.dp_sgd.epsilon, 4),
                it.sparse.start_test_loss
            )?;
        }
        if found.nearest.as_ref().is_some_and(|it| it.nearest.is_empty()) {
            writeln!(formatter, "\nno setting that was tried lets sparse beat DP-SGD")?;
        }
        if !found.tight.is_empty() {
            writeln!(formatter)?;
        }
        for Tight { share, setting, ended, chosen, .. } in &found.tight {
            let mark = if *chosen { "  (chosen)" } else { "" };
            writeln!(
                formatter,
                "epsilon 30 by the tight account, {share} for selection, {setting}: test loss {:.3}*{mark}",
                ended.test_loss
            )?;
        }
        for run in found.compared.iter().flat_map(|it| &it.runs) {
            let place = if run.method == "dp-sgd" { "\n" } else { "" };
            writeln!(
                formatter,
                "{place}epsilon {} by the tight account, {:18} test loss {:.3}*",
                run.budget, run.method, run.ended.test_loss
            )?;
        }
        writeln!(
            formatter,
            "\n* not private: from the data without noise, and the seed is known\n"
        )?;
        writeln!(formatter, "{}/report.html    all of it on one page", folder.display())
    }
}
