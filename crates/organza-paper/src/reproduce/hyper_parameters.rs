//! The paper's table of hyper-parameters, beside the settings that the runs have.

use super::printed::HYPER_PARAMETERS;
use organza_report::page::{Cell, Table};
use organza_words::settings::Settings;

/// The table; what is used comes from the settings of the runs.
pub(super) fn table(settings: &Settings) -> Table {
    let Settings { training, selection, .. } = settings;
    // Through its decimal digits, so that .001 in single precision is .001.
    let learning_rate: f64 =
        training.optimizer.learning_rate().to_string().parse().unwrap_or(f64::NAN);
    let used = [
        (Some(training.batch), Some(training.batch)),
        (Some(learning_rate), Some(learning_rate)),
        (Some(training.epochs), Some(training.epochs)),
        (Some(training.clip), Some(training.clip)),
        (None, training.second_clip),
        (None, Some(selection.gamma)),
        (None, Some(selection.cap)),
    ];
    let columns = ["setting", "DP-SGD, printed", "DP-SGD, here", "sparse, printed", "sparse, here"];
    let mut table = Table::new("hyper-parameters", columns);
    for ((name, dp_sgd, sparse), (dp_sgd_used, sparse_used)) in HYPER_PARAMETERS.iter().zip(used) {
        let cell = |value: Option<f64>| Cell::from(value.unwrap_or(f64::NAN));
        table = table.row([
            (*name).into(),
            cell(*dp_sgd),
            cell(dp_sgd_used),
            cell(*sparse),
            cell(sparse_used),
        ]);
    }
    table.caption(
        "Beside it, in the text: 1,000 words, vectors of length 100 for both roles, a window of 4, 8 \
         negatives; 200,000, 100,000 and 200,000 samples. Where vectors start is not printed: N(0, 1), \
         as the tool it used does.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_have_the_printed_settings() {
        let printed = table(&Settings::paper());
        let shown = format!("{printed:?}");
        for (name, ..) in HYPER_PARAMETERS {
            assert!(shown.contains(name), "{name}");
        }
        let Settings { training, selection, .. } = Settings::paper();
        let sparse = HYPER_PARAMETERS.map(|(_, _, value)| value);
        assert_eq!(sparse[0], Some(training.batch));
        assert_eq!(training.optimizer, organza_train::OptimizerSettings::adam(0.001));
        assert_eq!(sparse[2], Some(training.epochs));
        assert_eq!(sparse[3], Some(training.clip));
        assert_eq!(sparse[4], training.second_clip);
        assert_eq!((sparse[5], sparse[6]), (Some(selection.gamma), Some(selection.cap)));
    }
}
