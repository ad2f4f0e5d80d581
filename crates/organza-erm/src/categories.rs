//! Categories that may be secret: released, paid for, before anything else.

use crate::settings::Settings;
use organza_data::sparse::{CategoryRelease, Columns, UnreleasedRows};
use organza_mechanism::Groups;
use organza_train::{Failure, Phase, Releases};

/// The columns with the categories that many units have, and what is said about them.
pub(crate) struct ReleasedColumns {
    pub(crate) columns: Columns,
    /// None without privacy.
    pub(crate) statement: Option<String>,
}

/// What the release of a table's private categories costs. Steps and noise that follow depend on how many features come
/// of it, so it is charged as what decides.
pub(crate) fn phase<'a>(settings: &'a Settings, table: &'a UnreleasedRows) -> Phase<'a> {
    let of = categories_of(settings);
    Phase {
        name: CategoryRelease::PURPOSE,
        releases: vec!["categories"],
        until: CategoryRelease::EPSILON_SHARE,
        events: Box::new(move |noise| Ok(vec![of.plan(table.columns(), noise)?.event()])),
    }
}

/// Releases the categories of a table's private columns; all of them as they are without privacy.
///
/// # Privacy
/// The unit is that of the method: see [`CategoryRelease`]. It costs at most a tenth of epsilon at the whole delta; what follows is
/// calibrated to the rest by composition.
pub(crate) fn release(
    settings: &Settings,
    table: &UnreleasedRows,
    groups: Option<&Groups>,
    releases: &mut Releases<'_>,
) -> Result<ReleasedColumns, Failure> {
    let Some(noise) = releases.noise(CategoryRelease::PURPOSE) else {
        let columns = table.columns().with_categories(table.raw_categories());
        return Ok(ReleasedColumns { columns, statement: None });
    };
    let source = releases.source().clone();
    let charge = |charge| releases.charge(charge).map_err(Failure::from);
    let of = categories_of(settings);
    let (columns, statement) = of.release(table, groups, noise, &source, charge)?;
    Ok(ReleasedColumns { columns, statement: Some(statement) })
}

fn categories_of(settings: &Settings) -> CategoryRelease {
    CategoryRelease {
        unit: settings.unit(),
        by_group: settings.by_group(),
        neighbouring: settings.method.neighbouring(),
        delta: settings.delta,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::data::FitError;
    use crate::fit::fit_table;
    use crate::loss::Loss;
    use crate::settings::Method;
    use crate::settings::Settings;
    use organza_accountant::Accountant;
    use organza_data::sparse::{Categories, Column, Columns, LabelKind, UnreleasedRows};
    use organza_data::sparse::{read_table, read_unreleased};
    use organza_train::SessionError;
    use std::fmt::Write;
    use std::path::Path;

    const ROWS: u32 = 6_000;

    /// Cities that half of the rows have, one of a single row, and a label that follows the city.
    fn write_table(path: &Path) {
        let mut text = "label,user,city\n".to_owned();
        for row in 0..ROWS {
            let (city, label) = match row {
                17 => ("Atlantis", 1),
                _ if row % 2 == 0 => ("Ulm", u32::from(row % 10 != 0)),
                _ => ("Bonn", u32::from(row % 9 == 0)),
            };
            writeln!(text, "{label},{},{city}", row / 2).unwrap();
        }
        std::fs::write(path, text).unwrap();
    }

    fn columns(grouped: bool) -> Columns {
        let city = Column::Categorical { name: "city".into(), categories: Categories::Private };
        let group = grouped.then(|| "user".to_owned());
        Columns { label: Some("label".into()), group, features: vec![city], ..Columns::default() }
    }

    fn table(path: &Path, grouped: bool) -> UnreleasedRows {
        read_unreleased(path, None, &columns(grouped), LabelKind::Binary).unwrap()
    }

    fn settings(method: Method) -> Settings {
        let mut settings = Settings::new(Loss::Logistic);
        (settings.method, settings.epsilon, settings.delta) = (method, 1.0, 1e-5);
        settings.seed = Some(5);
        settings.steps = (method != Method::Objective).then_some(4);
        settings
    }

    fn names(columns: &Columns) -> Vec<String> {
        match &columns.features[0] {
            Column::Categorical { categories: Categories::Listed(names), .. } => names.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn common_categories_show_and_that_of_one_record_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write_table(&path);
        let methods = [Method::Objective, Method::Dpsgd, Method::Corrected, Method::PoissonGroups];
        for method in methods {
            let grouped = method == Method::PoissonGroups;
            let settings = settings(method);
            let fitted = fit_table(&settings, table(&path, grouped)).unwrap();
            let mut found = names(fitted.columns.as_ref().unwrap());
            found.sort();
            assert_eq!(found, ["Bonn", "Ulm"], "{method}");
            assert_eq!(fitted.model.features(), 3, "{method}");

            let events = &fitted.certificate.events;
            let account = |take: usize| {
                let mut account = Accountant::new(method.neighbouring());
                for event in events.iter().take(take) {
                    account = account.compose(event).unwrap();
                }
                account.epsilon(1e-5).unwrap().epsilon
            };
            assert!((0.09..=0.1).contains(&account(1)), "{method}: {}", account(1));
            let all = account(usize::MAX);
            assert!((0.98..=1.0).contains(&all), "{method}: {all}");
            let said = &fitted.certificate.conditions;
            assert!(said.iter().any(|it| it.starts_with("2 private categories")), "{said:?}");
        }
    }

    #[test]
    fn raw_counts_would_show_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write_table(&path);
        let fitted = fit_table(&settings(Method::None), table(&path, false)).unwrap();
        assert_eq!(names(fitted.columns.as_ref().unwrap()), ["Ulm", "Bonn", "Atlantis"]);
        assert_eq!(fitted.certificate.epsilon, None, "and there is no guarantee");
    }

    #[test]
    fn new_rows_are_read_by_the_released_categories() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write_table(&path);
        let settings = settings(Method::Objective);
        let fitted = fit_table(&settings, table(&path, false)).unwrap();
        std::fs::write(&path, "city\nUlm\nBonn\nAtlantis\nUtopia\n").unwrap();
        let new =
            read_table(&path, None, fitted.columns.as_ref().unwrap(), LabelKind::Ignored).unwrap();
        let said: Vec<f64> = new.iter().map(|row| fitted.model.predict(&row)[0]).collect();
        assert!(said[0] > 0.5 && said[1] < 0.5 && said[2] == said[3], "{said:?}");
    }

    #[test]
    fn without_the_groups_of_rows_or_a_budget_nothing_is_released() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write_table(&path);
        for method in [Method::PoissonGroups, Method::Printed] {
            let refused = fit_table(&settings(method), table(&path, false));
            let Err(SessionError::Application(failure)) = refused else { panic!("{method}") };
            match *failure.downcast::<FitError>().unwrap() {
                FitError::NoGroups => assert_eq!(method, Method::PoissonGroups),
                FitError::Setting(error) => assert_eq!(error.setting, "--method"),
                other => panic!("{other}"),
            }
        }
    }
}
