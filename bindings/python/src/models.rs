//! Models of finished runs.

use crate::data::Data;
use crate::exceptions::{DataError, RunError, message};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use organza_cli::HandedData;
use organza_clicks::ClickReader;
use organza_data::Tokeniser;
use organza_data::settings::{DataSettings, StopWordList};
use organza_data::sparse::{LabelKind, SparseRows};
use organza_erm::{MODEL, READER, Reader};
use organza_model::vectors::{SavedModel, Vectors, read_words};
use organza_recommend::SavedRecommender;
use organza_train::Failure;
use organza_typeahead::Typeahead;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;

fn broken(error: impl std::error::Error) -> PyErr {
    RunError::new_err(message(&error))
}

/// A matrix by rows.
fn matrix<'py>(
    py: Python<'py>,
    values: &[f32],
    width: usize,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let rows = values.len().checked_div(width).unwrap_or(0);
    values.to_vec().into_pyarray(py).reshape([rows, width])
}

/// Word vectors.
#[pyclass(module = "organza._organza", frozen)]
pub(crate) struct WordModel {
    vectors: Vectors,
    places: HashMap<String, usize>,
    tokeniser: Tokeniser,
}

#[pymethods]
impl WordModel {
    #[new]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        py.detach(|| {
            let words = read_words(&folder.join("vocabulary.txt")).map_err(broken)?;
            let saved = SavedModel::read(&folder.join("model.safetensors")).map_err(broken)?;
            let vectors = saved.into_vectors(words).map_err(broken)?;
            let places = (0..).zip(vectors.words()).map(|(at, word)| (word.clone(), at)).collect();
            let settings = std::fs::read(folder.join("settings.json"))?;
            let settings: organza_words::settings::Settings =
                serde_json::from_slice(&settings).map_err(broken)?;
            // A list of words that were left out is needed no more: those words have no vectors.
            let data = DataSettings { stop_words: StopWordList::None, ..settings.data };
            let tokeniser = data.tokeniser().map_err(broken)?;
            Ok(Self { vectors, places, tokeniser })
        })
    }

    /// The mean of the vectors of the words of each text; zero if none is known.
    fn means<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<String>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (width, values) = (self.vectors.dimensions(), self.vectors.matrix());
        let mut means = vec![0.0; texts.len() * width];
        py.detach(|| {
            for (text, mean) in texts.iter().zip(means.chunks_mut(width.max(1))) {
                let mut found = 0.0_f32;
                self.tokeniser.each(text, |word| {
                    if let Some(place) = self.places.get(word) {
                        found += 1.0;
                        let vector = &values[place * width..][..width];
                        mean.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
                    }
                });
                mean.iter_mut().for_each(|sum| *sum /= found.max(1.0));
            }
        });
        means.into_pyarray(py).reshape([texts.len(), width])
    }

    fn words(&self) -> Vec<String> {
        self.vectors.words().to_vec()
    }

    fn vectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        matrix(py, self.vectors.matrix(), self.vectors.dimensions())
    }

    fn nearest(&self, word: &str, number: usize) -> PyResult<Vec<(String, f64)>> {
        let near = self.vectors.nearest(word, number);
        let near = near.map_err(|error| PyKeyError::new_err(error.to_string()))?;
        Ok(near.into_iter().map(|it| (it.word, it.cosine)).collect())
    }

    fn analogy(
        &self,
        first: &str,
        second: &str,
        third: &str,
        number: usize,
    ) -> PyResult<Vec<(String, f64)>> {
        let near = self.vectors.analogy([first, second, third], number);
        let near = near.map_err(|error| PyKeyError::new_err(error.to_string()))?;
        Ok(near.into_iter().map(|it| (it.word, it.cosine)).collect())
    }

    fn cosine(&self, left: &str, right: &str) -> PyResult<f64> {
        self.vectors.cosine(left, right).map_err(|error| PyKeyError::new_err(error.to_string()))
    }

    /// Where the first words stand on a plane.
    fn plane<'py>(&self, py: Python<'py>, words: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let places = py.detach(|| self.vectors.plane(words));
        let flat: Vec<f64> = places.iter().flat_map(|(x, y)| [*x, *y]).collect();
        flat.into_pyarray(py).reshape([places.len(), 2])
    }
}

/// A recommender. Items are numbered as in `names`.
#[pyclass(module = "organza._organza", frozen)]
pub(crate) struct RecommenderModel(SavedRecommender);

type Scores<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f32>>);

fn scored<'py>(py: Python<'py>, found: Vec<organza_recommend::Scored>) -> Scores<'py> {
    let (items, scores): (Vec<u32>, Vec<f32>) =
        found.into_iter().map(|it| (it.item, it.score)).unzip();
    (items.into_pyarray(py), scores.into_pyarray(py))
}

#[pymethods]
impl RecommenderModel {
    #[new]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        py.detach(|| SavedRecommender::read(&folder).map(Self).map_err(broken))
    }

    fn names(&self) -> Vec<String> {
        self.0.names.clone()
    }

    fn titles(&self) -> Vec<Option<String>> {
        self.0.titles.clone()
    }

    /// How many persons have each item, as it was released.
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.counts.clone().into_pyarray(py)
    }

    fn vectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        matrix(py, self.0.model.vectors(), self.0.model.likeness())
    }

    fn recommend<'py>(&self, py: Python<'py>, history: Vec<u32>, number: usize) -> Scores<'py> {
        let history = self.known(history);
        scored(py, py.detach(|| self.0.model.recommend(&history, number)))
    }

    /// The scores of all items for each history, a row a history.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        histories: Vec<Vec<u32>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let items = self.0.model.items();
        let all: Vec<f32> = py.detach(|| {
            histories.into_iter().flat_map(|it| self.0.model.scores(&self.known(it))).collect()
        });
        let rows = all.len().checked_div(items).unwrap_or(0);
        all.into_pyarray(py).reshape([rows, items])
    }

    fn because<'py>(&self, py: Python<'py>, history: Vec<u32>, item: u32) -> Scores<'py> {
        let history = self.known(history);
        scored(py, self.0.model.because(&history, item))
    }

    fn similar<'py>(&self, py: Python<'py>, item: u32, number: usize) -> PyResult<Scores<'py>> {
        if item as usize >= self.0.model.items() || self.0.model.likeness() == 0 {
            let problem = "nothing is known about what this item is like";
            return Err(PyKeyError::new_err(problem));
        }
        Ok(scored(py, py.detach(|| self.0.model.similar_items(item, number))))
    }

    /// The eigenvalues that stand out of the noise, and where noise ends; none where nothing was chosen by them.
    fn spectrum<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyArray1<f64>>, f64)> {
        let choice = self.0.choice.as_ref()?;
        Some((choice.eigenvalues.clone().into_pyarray(py), choice.edge))
    }
}

impl RecommenderModel {
    fn known(&self, history: Vec<u32>) -> Vec<u32> {
        let items = self.0.model.items();
        history.into_iter().filter(|item| (*item as usize) < items).collect()
    }
}

/// What completes text.
#[pyclass(module = "organza._organza", frozen)]
pub(crate) struct TypeaheadModel(Typeahead);

#[pymethods]
impl TypeaheadModel {
    #[new]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        py.detach(|| Typeahead::open(&folder).map(Self).map_err(broken))
    }

    fn words(&self) -> Vec<String> {
        self.0.words().to_vec()
    }

    fn complete(&self, typed: &str, number: usize) -> Vec<(String, f32)> {
        let next = self.0.complete(typed, number);
        next.into_iter().map(|it| (it.word.to_owned(), it.probability)).collect()
    }

    fn phrases(&self, typed: &str, number: usize, words: usize) -> Vec<(String, f32)> {
        let phrases = self.0.phrases(typed, number, words);
        phrases.into_iter().map(|it| (it.text, it.probability)).collect()
    }
}

/// A linear model.
#[pyclass(module = "organza._organza", frozen)]
pub(crate) struct LinearModel {
    model: organza_erm::LinearModel,
    reader: Option<Reader>,
}

#[pymethods]
impl LinearModel {
    #[new]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        py.detach(|| {
            let model = organza_erm::LinearModel::read(&folder.join(MODEL)).map_err(broken)?;
            let reader = std::fs::read(folder.join(READER)).ok();
            let reader = reader.map(|bytes| serde_json::from_slice(&bytes)).transpose();
            Ok(Self { model, reader: reader.map_err(broken)? })
        })
    }

    /// The weights, a row a class where there are more than two.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let models = self.model.models();
        let features = self.model.features() as usize;
        let by_class = (0..models).flat_map(|model| {
            (0..features).map(move |feature| self.model.weights[feature * models + model])
        });
        by_class.collect::<Vec<f64>>().into_pyarray(py).reshape([models, features])
    }

    fn intercepts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.model.intercepts.clone().into_pyarray(py)
    }

    fn classes(&self) -> Vec<String> {
        self.model.classes.clone()
    }

    /// The names of features, where columns have names.
    fn feature_names(&self) -> Option<Vec<String>> {
        let reader = self.reader.as_ref()?;
        (0..self.model.features()).map(|feature| reader.feature_name(feature)).collect()
    }

    /// What is predicted for each row: a number, or one for each of more than two classes.
    fn predict<'py>(&self, py: Python<'py>, data: &Data) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (handed, feeding) = data.take()?;
        let rows = py.detach(|| self.rows(handed));
        if let Some(error) = feeding.raised() {
            return Err(error);
        }
        let rows = rows?;
        let models = self.model.models();
        let all: Vec<f64> =
            py.detach(|| rows.iter().flat_map(|row| self.model.predict(&row)).collect());
        let number = rows.len();
        all.into_pyarray(py).reshape([number, models])
    }
}

/// A click model, and how its rows are read.
#[pyclass(module = "organza._organza", frozen)]
pub(crate) struct ClickModel {
    model: organza_clicks::ClickModel,
    reader: ClickReader,
}

#[pymethods]
impl ClickModel {
    #[new]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| {
            let reader = ClickReader::of_run(&folder)?;
            let model = organza_clicks::ClickModel::read(&folder, &reader.columns)?;
            Ok::<_, Failure>(Self { model, reader })
        });
        opened.map_err(|error| RunError::new_err(error.to_string()))
    }

    /// The probability of a click, for each row of a table.
    fn predict<'py>(&self, py: Python<'py>, data: &Data) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (handed, feeding) = data.take()?;
        let said = py.detach(|| {
            let HandedData::Table(table) = handed else { return Err("give a table".into()) };
            let rows = self.reader.to_predict(&table)?;
            Ok::<Vec<f64>, Failure>(rows.iter().map(|row| self.model.predict(&row)).collect())
        });
        match feeding.raised() {
            Some(error) => Err(error),
            None => said
                .map(|said| said.into_pyarray(py))
                .map_err(|error| DataError::new_err(error.to_string())),
        }
    }
}

impl LinearModel {
    fn rows(&self, handed: HandedData) -> PyResult<SparseRows> {
        match (handed, self.reader.as_ref().and_then(|reader| reader.columns.as_ref())) {
            (HandedData::Rows(rows, _), _) => Ok(rows),
            (HandedData::Table(table), Some(columns)) => {
                let rows = organza_data::sparse::rows_of(&table, columns, LabelKind::Ignored, None);
                let rows = rows.map_err(|error| DataError::new_err(error.to_string()))?;
                let rows = rows.with_columns(columns);
                rows.left_out().refuse().map_err(|error| DataError::new_err(error.to_string()))?;
                Ok(rows)
            }
            _ => Err(DataError::new_err("give a matrix, as when it was fitted")),
        }
    }
}
