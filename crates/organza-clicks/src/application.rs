//! Click models as an application of the engine.

use crate::data::{ClickData, ReleasedRows};
use crate::layout::Layout;
use crate::model::ClickModel;
use crate::moments::LinearStart;
use crate::one_shot::{OneShot, RELEASES, Units};
use crate::quality::Quality;
use crate::reader::{ClickReader, READER};
use crate::settings::{Method, Settings};
use crate::task::ClickTask;
use organza_data::sparse::{CategoryRelease, Column, Columns, SparseRows};
use organza_ledger::PublicFact;
use organza_mechanism::Purpose;
use organza_mechanism::sample::fill_normal_f32;
use organza_train::{Application, Certificate, Failure, Phase, Releases, RunFolder, Start};

/// The name of the phase.
const COUNTS: &str = "counts";
/// The rate of clicks that steps begin with where nothing was released: a guess from what is commonly known.
const FIRST_RATE: f32 = 0.25;
/// The deviation of the first entries of vectors.
const DEVIATION: f32 = 0.05;

/// A click model on rows.
#[derive(Debug)]
pub struct ClickRun {
    task: ClickTask,
    start: Option<LinearStart>,
    /// How new rows are read, if these were.
    reader: Option<String>,
    /// What is to be said about categories that were released.
    statement: Option<String>,
}

/// What a finished run hands over.
#[derive(Clone, Debug)]
pub struct FittedClicks {
    /// The model.
    pub model: ClickModel,
    /// How good it is on the rows that it was made of. *Not private.*
    pub train: Quality,
    /// The same on those to measure with. *Not private.*
    pub test: Option<Quality>,
}

impl ClickRun {
    fn first(&self, releases: &Releases<'_>) -> Vec<f32> {
        let layout = &self.task.layout;
        let mut parameters = vec![0.0; layout.len()];
        let width = layout.width();
        let mut random = releases.source().substream(Purpose::Initialisation, 0, 0);
        let (table, dense) = parameters.split_at_mut(layout.rows() as usize * width);
        for row in table.chunks_exact_mut(width) {
            let (_, vector) = row.split_at_mut(1);
            fill_normal_f32(vector, &mut random);
            vector.iter_mut().for_each(|entry| *entry *= DEVIATION);
        }
        match &self.start {
            None => dense[0] = libm::logf(FIRST_RATE / (1.0 - FIRST_RATE)),
            Some(start) => {
                let rows = table.chunks_exact_mut(width).zip(&start.categories);
                rows.for_each(|(row, weight)| row[0] = *weight as f32);
                let weights = [start.intercept].into_iter().chain(start.numbers.iter().copied());
                dense.iter_mut().zip(weights).for_each(|(place, weight)| *place = weight as f32);
            }
        }
        parameters
    }
}

impl Application for ClickRun {
    type Settings = Settings;
    type Data = ClickData;
    type Task = ClickTask;
    type Model = FittedClicks;

    fn read(settings: &Settings) -> Result<ClickData, Failure> {
        ClickData::read(settings)
    }

    fn nobody(settings: &Settings) -> Result<ClickData, Failure> {
        ClickData::of_nobody(settings)
    }

    fn fingerprint(data: &ClickData) -> Result<[u8; 32], Failure> {
        data.fingerprint()
    }

    fn public_facts(settings: &Settings, data: &ClickData) -> Result<Vec<PublicFact>, Failure> {
        let Columns { features, .. } = &data.columns;
        let numbers = features.iter().filter(|it| matches!(it, Column::Logarithmic { .. })).count();
        let mut facts = vec![PublicFact::new(
            "numbers",
            format!("{numbers}, with a declared largest value each"),
        )];
        if !data.has_secrets() {
            let layout = Layout::new(&data.columns, settings.vectors())?;
            let (rows, columns) = (layout.rows(), layout.columns.len());
            facts.push(PublicFact::new(
                "categories",
                format!("{rows} buckets of {columns} columns, by a public hash"),
            ));
        }
        Ok(facts)
    }

    fn phases<'a>(settings: &'a Settings, data: &'a ClickData) -> Result<Vec<Phase<'a>>, Failure> {
        let method = settings.method;
        let categories = data.has_secrets().then(|| Phase {
            name: CategoryRelease::PURPOSE,
            releases: vec!["categories"],
            until: CategoryRelease::EPSILON_SHARE,
            events: Box::new(|noise| {
                Ok(vec![settings.private_categories().plan(&data.columns, noise)?.event()])
            }),
        });
        let before = categories.as_ref().map_or(0.0, |phase| phase.until);
        let counts = method.releases_counts().then(|| Phase {
            name: COUNTS,
            releases: RELEASES.to_vec(),
            until: match method {
                Method::OneShot => 1.0,
                _ => before + (1.0 - before) * settings.rules.start_share,
            },
            events: Box::new(|noise| Ok(plan(settings, noise).events()?)),
        });
        Ok(categories.into_iter().chain(counts).collect())
    }

    fn prepare(
        settings: &Settings,
        data: ClickData,
        releases: &mut Releases<'_>,
    ) -> Result<Self, Failure> {
        let ReleasedRows { data, statement } = data.released(settings, releases)?;
        let reader = settings.data.as_ref().map(|named| {
            let columns = data.columns.clone();
            serde_json::to_string_pretty(&ClickReader { columns, ..named.reader.clone() })
        });
        let task = ClickTask::new(settings, data)?;
        let start = match releases.noise(COUNTS) {
            None => None,
            Some(noise) => {
                let source = releases.source().clone();
                let ClickTask { layout, rows, units, .. } = &task;
                let data = Units { layout, rows, units };
                let charge = |charge| releases.charge(charge).map_err(Failure::from);
                Some(plan(settings, noise).release(data, &source, charge)?)
            }
        };
        Ok(Self { task, start, reader: reader.transpose()?, statement })
    }

    fn task(&self) -> &ClickTask {
        &self.task
    }

    fn first_files(&self, folder: &RunFolder) -> Result<(), Failure> {
        if let Some(reader) = &self.reader {
            folder.write(&folder.file(READER), format!("{reader}\n").as_bytes())?;
        }
        Ok(())
    }

    fn start(&self, _: &Settings, releases: &mut Releases<'_>) -> Result<Start, Failure> {
        Ok(Start { parameters: self.first(releases), ..Start::default() })
    }

    fn not_private() -> impl Iterator<Item = &'static str> {
        [
            "metrics.jsonl: train, test",
            "summary.json: quality, remarks, timings, memory",
            "report.html, figures, tables: what is marked there",
            "timings",
        ]
        .into_iter()
    }

    fn remarks(&self) -> Vec<String> {
        let rows = &self.task.rows;
        let empty = rows.is_empty().then(|| "there were no rows to learn from".to_owned());
        let left_out = (!rows.left_out().is_empty()).then(|| rows.left_out().to_string());
        empty.into_iter().chain(left_out).collect()
    }

    fn certify(&self, settings: &Settings, certificate: &mut Certificate) {
        certificate.model = Some(settings.model.to_string().into());
        certificate.conditions.extend(self.statement.clone());
    }

    fn finish(
        self,
        parameters: Vec<f32>,
        certificate: &Certificate,
        folder: Option<&RunFolder>,
    ) -> Result<FittedClicks, Failure> {
        let ClickTask { layout, rows, test, .. } = self.task;
        let model = ClickModel { layout, parameters };
        if let Some(folder) = folder {
            model.write(folder, &certificate.metadata())?;
        }
        let quality = |rows: &SparseRows| Quality::of(&model, rows);
        let (train, test) = (quality(&rows), test.as_ref().map(quality));
        Ok(FittedClicks { model, train, test })
    }
}

fn plan(settings: &Settings, noise: f64) -> OneShot {
    OneShot::new(settings.rules, settings.neighbouring(), noise)
}

/// Fits a click model in memory.
///
/// # Errors
/// If settings make no sense.
pub fn fit(settings: Settings, data: ClickData) -> Result<(FittedClicks, Certificate), Failure> {
    let finished = crate::Session::fit(settings, data)?;
    Ok((finished.model, finished.certificate))
}
