//! Fits that are stopped go on, and end as if they had not been.
#![allow(clippy::unwrap_used, missing_docs)]

use organza_data::sparse::SparseRows;
use organza_erm::{Linear, LinearData, LinearModel, Loss, Method, Settings};
use organza_ledger::Ledger;
use organza_train::metrics::Point;
use organza_train::{Ended, Observer, Session};
use std::path::Path;

/// Stops after so many steps.
struct Until(u64, u64);

impl Observer for Until {
    fn step(&mut self, done: u64, _: u64) {
        self.1 = done;
    }

    fn point(&mut self, _: &Point) {}

    fn interrupted(&self) -> bool {
        self.1 >= self.0
    }
}

fn rows(wide: u32) -> SparseRows {
    let mut rows = SparseRows::new(Some(u64::from(wide)));
    for row in 0..600_u32 {
        let mut entries = [(row % 7, 0.5), (7 + row * 31 % (wide - 7), 0.5)];
        rows.push(f64::from(row % 2), &mut entries, Some(&(row / 4).to_string())).unwrap();
    }
    rows
}

fn trained(method: Method, wide: u32, path: &Path, stops: &[u64]) -> (LinearModel, usize) {
    let mut settings = Settings::new(Loss::Logistic);
    (settings.method, settings.seed, settings.epsilon) = (method, Some(3), 3.0);
    (settings.steps, settings.batch, settings.l2) = (Some(12), Some(4.0), Some(1e-2));
    settings.draws = Some(3);
    let grouped = matches!(method, Method::Corrected | Method::PoissonGroups);
    let rows = if grouped { rows(wide) } else { ungrouped(&rows(wide)) };
    let read = |settings: &Settings| Ok(LinearData::new(settings, &rows, u64::from(wide))?);
    let mut session = Session::<Linear<'_>>::begin_with(settings, path, read).unwrap();
    for stop in stops {
        let ended = session.train(false, &mut Until(*stop, 0)).unwrap();
        assert!(matches!(ended, Ended::Interrupted { .. }));
        session = Session::<Linear<'_>>::resume_with(path, None, read).unwrap();
    }
    let Ended::Finished(finished) = session.train(false, &mut ()).unwrap() else { unreachable!() };
    let (ledger, _) = Ledger::open(&path.join("ledger.jsonl")).unwrap();
    assert_eq!(finished.certificate.events, ledger.events());
    (finished.model.model, ledger.charges().len())
}

fn ungrouped(rows: &SparseRows) -> SparseRows {
    let mut alone = SparseRows::new(rows.declared_features());
    for row in rows.iter() {
        let mut entries: Vec<(u32, f32)> = row.entries().collect();
        alone.push(row.label, &mut entries, None).unwrap();
    }
    alone
}

#[test]
fn stopped_fits_end_with_the_same_bits_and_pay_once() {
    let place = tempfile::tempdir().unwrap();
    let methods = [Method::Dpsgd, Method::Sparse, Method::Corrected, Method::PoissonGroups];
    // Weights that are all kept up to date, and such that wait until they are read.
    for (method, wide) in methods.into_iter().flat_map(|it| [(it, 20), (it, 40_000)]) {
        let path = |name: &str| place.path().join(format!("{method}-{wide}-{name}"));
        let whole = trained(method, wide, &path("whole"), &[]);
        let parts = trained(method, wide, &path("parts"), &[1, 5, 6, 9]);
        assert!(whole == parts, "{method} {wide}");
        assert!(whole.0.weights.iter().any(|weight| *weight != 0.0), "{method} {wide}");
    }
}
