//! Linear models as an application of the engine.

use crate::categories;
use crate::data::{LinearData, Rows};
use crate::groups::GroupSparsity;
use crate::model::LinearModel;
use crate::reader::Reader;
use crate::schedule::LinearSchedule;
use crate::score::{Scores, score};
use crate::settings::{Method, Settings};
use crate::start;
use crate::task::LinearTask;
use organza_data::sparse::{Columns, SparseRows};
use organza_ledger::PublicFact;
use organza_train::{
    Application, Certificate, Failure, Phase, Releases, RunFolder, Schedule, Start, fingerprint,
};
use std::borrow::Cow;

/// The file of a model.
pub const MODEL: &str = "model.safetensors";
/// The file that says how new rows are read.
pub const READER: &str = "reader.json";

/// A linear model on rows.
#[derive(Debug)]
pub struct Linear<'a> {
    pub(crate) task: LinearTask<'a>,
    /// How many groups there are, where a step visits one.
    groups: Option<u64>,
    /// With released categories, if there were any to release.
    columns: Option<Columns>,
    /// How new rows are read, if these were.
    reader: Option<Reader>,
    /// What was released before the steps.
    statement: Option<String>,
}

/// What a finished fit hands over.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The model.
    pub model: LinearModel,
    /// The columns with their categories, by which new rows are read, where categories were released.
    pub columns: Option<Columns>,
    /// How new rows are read, if these were.
    pub reader: Option<Reader>,
    /// How many coordinates the gradients of groups touch, where there are groups. *Not private.*
    pub sparsity: Option<GroupSparsity>,
    /// Figures of the model on the rows that it was fitted to. *Not private.*
    pub train: Scores,
    /// The same on those to measure with. *Not private.*
    pub test: Option<Scores>,
}

impl<'a> Application for Linear<'a> {
    type Settings = Settings;
    type Data = LinearData<'a>;
    type Task = LinearTask<'a>;
    type Model = Fitted;

    fn read(settings: &Settings) -> Result<LinearData<'a>, Failure> {
        Ok(LinearData::read(settings)?)
    }

    fn fingerprint(data: &LinearData<'a>) -> Result<[u8; 32], Failure> {
        Ok(fingerprint(&data.rows)?)
    }

    fn public_facts(_: &Settings, data: &LinearData<'a>) -> Result<Vec<PublicFact>, Failure> {
        Ok(data.public_facts())
    }

    fn phases<'b>(
        settings: &'b Settings,
        data: &'b LinearData<'a>,
    ) -> Result<Vec<Phase<'b>>, Failure> {
        Ok(match &data.rows {
            Rows::Unreleased(table) => vec![categories::phase(settings, table)],
            Rows::Known(..) => Vec::new(),
        })
    }

    fn prepare(
        settings: &Settings,
        data: LinearData<'a>,
        releases: &mut Releases<'_>,
    ) -> Result<Self, Failure> {
        let LinearData { rows, test, named, groups } = data;
        let (rows, features, columns, statement) = match rows {
            Rows::Known(rows, features) => (rows, features, None, None),
            Rows::Unreleased(table) => {
                let released = categories::release(settings, &table, named.as_deref(), releases)?;
                let categories::ReleasedColumns { columns, statement } = released;
                let rows = Cow::Owned(table.with_columns(&columns));
                (rows, columns.width(), Some(columns), statement)
            }
        };
        let test = test.map(|test| match (test, &columns) {
            (Rows::Unreleased(table), Some(columns)) => table.with_columns(columns),
            (Rows::Known(rows, _), _) => rows.into_owned(),
            (Rows::Unreleased(_), None) => SparseRows::default(),
        });
        let known = settings.data.as_ref().and_then(|data| data.reader.columns.as_ref());
        let classes = columns.as_ref().or(known).map(|columns| columns.classes.names().to_vec());
        let classes = classes.unwrap_or_default();
        let reader = settings.data.as_ref().map(|data| {
            let reader = data.reader.clone().with_features(features);
            columns.iter().fold(reader, |reader, columns| reader.with_columns(columns.clone()))
        });
        let task =
            LinearTask { test, ..LinearTask::new(settings, rows, features, named, classes)? };
        Ok(Self { task, groups, columns, reader, statement })
    }

    fn task(&self) -> &LinearTask<'a> {
        &self.task
    }

    fn schedule(&self, settings: &Settings, units: u64) -> Result<Box<dyn Schedule + '_>, Failure> {
        let (features, units) = (self.task.design.features(), units as f64);
        let settings = settings.clone();
        let models = self.task.design.models();
        Ok(Box::new(LinearSchedule { settings, features, units, groups: self.groups, models }))
    }

    fn first_files(&self, folder: &RunFolder) -> Result<(), Failure> {
        if let Some(reader) = &self.reader {
            let text = serde_json::to_string_pretty(reader)? + "\n";
            folder.write(&folder.file(READER), text.as_bytes())?;
        }
        Ok(())
    }

    fn start(&self, settings: &Settings, releases: &mut Releases<'_>) -> Result<Start, Failure> {
        start::start(settings, &self.task, releases)
    }

    fn not_private() -> impl Iterator<Item = &'static str> {
        [
            "metrics.jsonl: train, validation, test",
            "summary.json: losses, scores, sparsity of groups, remarks, timings, memory",
            "report.html, figures, tables: what is marked there",
            "timings",
        ]
        .into_iter()
    }

    fn remarks(&self) -> Vec<String> {
        let rows = self.task.design.rows();
        let empty = rows.is_empty().then(|| "there were no rows to fit".to_owned());
        let left_out = (!rows.left_out().is_empty()).then(|| rows.left_out().to_string());
        empty.into_iter().chain(left_out).collect()
    }

    fn certify(&self, settings: &Settings, certificate: &mut Certificate) {
        certificate.model = Some(settings.model.to_string().into());
        if settings.method == Method::Printed {
            certificate.private = false;
            certificate.claimed_epsilon = Some(settings.epsilon);
        }
        let conditions = match settings.method {
            Method::Objective => &OBJECTIVE[..],
            Method::Printed => &PRINTED,
            _ => &[],
        };
        let own = conditions.iter().map(|condition| (*condition).to_owned());
        certificate.conditions.extend(own.chain(self.statement.clone()));
    }

    fn finish(
        self,
        parameters: Vec<f32>,
        certificate: &Certificate,
        folder: Option<&RunFolder>,
    ) -> Result<Fitted, Failure> {
        let Self { task, groups, columns, reader, .. } = self;
        let model = task.model(parameters.iter().map(|value| f64::from(*value)).collect());
        if let Some(folder) = folder {
            model.write(&folder.file(MODEL), &certificate.metadata())?;
            let name = |feature| reader.as_ref().and_then(|reader| reader.feature_name(feature));
            let columns = reader.as_ref().and_then(|reader| reader.columns.as_ref());
            // Buckets have no names that mean something, and there are many; the model has them.
            let shown = |feature| columns.is_none_or(|columns| !columns.is_bucket(feature));
            model.write_csv(&folder.file("coefficients.csv"), name, shown)?;
        }
        let LinearTask { design, test, named, .. } = &task;
        let sparsity = (groups.is_some() || named.is_some())
            .then(|| GroupSparsity::of(design, named.as_deref(), groups.unwrap_or(0)));
        let train = score(&model, design.rows());
        let test = test.as_ref().map(|rows| score(&model, rows));
        Ok(Fitted { model, columns, reader, sparsity, train, test })
    }
}

const OBJECTIVE: [&str; 2] = [
    "noise idealised as real Gaussian, drawn in double precision",
    "there are no more rows than a million and twice the released or declared number; that the search ends is proved \
     for real numbers",
];
const PRINTED: [&str; 2] = [
    "as printed, not sound: the noise follows Theorem 1, which takes one of m fixed groups for a sample that \
     amplifies; epsilon is what an accountant finds that the noise is worth, and may exceed what was asked for",
    "the test that ends Algorithm 1 stands inside its loop, without which nothing is private",
];
