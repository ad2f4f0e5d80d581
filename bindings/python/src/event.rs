//! Privacy events as Python objects.

use crate::exceptions::{SettingsError, settings_error};
use organza_ledger::{Event as Inner, MaxNoise};
use organza_report::describe::Tree;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use serde_json::{Map, Number, Value};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a mechanism releases, in the terms that determine its privacy loss. It is checked, and never changes.
#[pyclass(frozen, eq, module = "organza.accounting", from_py_object)]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event(pub(crate) Inner);

impl Event {
    /// The event, if its parameters make sense.
    pub(crate) fn checked(event: Inner) -> PyResult<Self> {
        event.check().map_err(settings_error)?;
        Ok(Self(event))
    }

    fn parse(value: Value) -> PyResult<Self> {
        // Without the place in a text that nobody wrote.
        Self::checked(serde_json::from_value(value).map_err(settings_error)?)
    }

    fn parts_of_sum(&self) -> Vec<Inner> {
        match &self.0 {
            Inner::Compose(events) => events.clone(),
            event => vec![event.clone()],
        }
    }
}

#[pymethods]
impl Event {
    /// Reads the JSON form that ledgers and the command line use.
    #[new]
    fn new(json: &str) -> PyResult<Self> {
        Self::checked(serde_json::from_str(json).map_err(settings_error)?)
    }

    #[staticmethod]
    fn from_json(json: &str) -> PyResult<Self> {
        Self::new(json)
    }

    /// The event of this kind with these fields.
    #[staticmethod]
    #[pyo3(name = "_make")]
    fn make(kind: &str, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut values = Map::new();
        for (name, value) in fields {
            let name: String = name.extract()?;
            if !value.is_none() {
                let value = json_value(kind, &name, &value)?;
                values.insert(name, value);
            }
        }
        Self::parse(Value::Object(Map::from_iter([(kind.to_owned(), Value::Object(values))])))
    }

    /// All of these, each free to depend on the results of those before it.
    #[staticmethod]
    #[pyo3(name = "_compose")]
    fn compose(events: Vec<Self>) -> PyResult<Self> {
        Self::checked(Inner::Compose(events.into_iter().map(|event| event.0).collect()))
    }

    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(settings_error)
    }

    fn repeat(&self, times: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(times) = times.extract() else {
            return Err(SettingsError::new_err(format!(
                "event `repeat`: `times` is {}, but must be a whole number, zero or more",
                times.repr()?
            )));
        };
        Self::checked(self.0.clone().repeat(times))
    }

    fn poisson(&self, rate: f64) -> PyResult<Self> {
        Self::checked(self.0.clone().poisson(rate))
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    #[getter]
    fn parts(&self) -> Vec<Self> {
        self.0.parts().into_iter().cloned().map(Self).collect()
    }

    fn __add__(&self, other: &Self) -> PyResult<Self> {
        let parts = [self.parts_of_sum(), other.parts_of_sum()].concat();
        Self::checked(Inner::Compose(parts))
    }

    /// So that `sum(events)` composes them: it begins with 0.
    fn __radd__(&self, other: u64) -> PyResult<Self> {
        if other != 0 {
            return Err(PyTypeError::new_err("an event is added to events only"));
        }
        Ok(self.clone())
    }

    fn __repr__(&self) -> String {
        code(&self.0)
    }

    fn __str__(&self) -> String {
        Tree(&self.0).to_string().trim_end().to_owned()
    }

    fn __hash__(&self) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        self.to_json()?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __getnewargs__(&self) -> PyResult<(String,)> {
        Ok((self.to_json()?,))
    }
}

/// A field of an event. A whole number stays one, since some fields take nothing else.
fn json_value(kind: &str, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let wrong = |shown: String, expected: &str| {
        SettingsError::new_err(format!(
            "event `{kind}`: `{name}` is {shown}, but must be {expected}"
        ))
    };
    if let Ok(event) = value.extract::<Event>() {
        return serde_json::to_value(event.0).map_err(settings_error);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.extract()?));
    }
    if let Ok(whole) = value.extract::<u64>() {
        return Ok(Value::Number(whole.into()));
    }
    let Ok(number) = value.extract::<f64>() else {
        return Err(wrong(value.repr()?.extract()?, "a number"));
    };
    let finite = Number::from_f64(number).map(Value::Number);
    finite.ok_or_else(|| wrong(number.to_string(), "finite"))
}

/// The event as Python code, in the words of `organza.accounting`.
fn code(event: &Inner) -> String {
    let named = |fields: &[(&str, Option<String>)]| {
        let given = fields.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        given.map(|(name, value)| format!(", {name}={value}")).collect::<String>()
    };
    let number = |value: Option<f64>| value.map(|value| format!("{value:?}"));
    match event {
        Inner::Gaussian { noise_multiplier }
        | Inner::RoundedGaussian { noise_multiplier }
        | Inner::DiscreteGaussian { noise_multiplier }
        | Inner::Laplace { noise_multiplier }
        | Inner::DiscreteLaplace { noise_multiplier } => {
            format!("{}({noise_multiplier:?})", event.kind())
        }
        Inner::Pure { epsilon } | Inner::Added { epsilon } => {
            format!("{}({epsilon:?})", event.kind())
        }
        Inner::Near { total_variation } => format!("near({total_variation:?})"),
        Inner::Approximate { epsilon, delta } => format!("approximate({epsilon:?}, {delta:?})"),
        Inner::Exponential { epsilon, draws, candidates, cap, l2 } => {
            let candidates = candidates.map(|number| number.to_string());
            let rest =
                named(&[("candidates", candidates), ("cap", number(*cap)), ("l2", number(*l2))]);
            format!("exponential({epsilon:?}, draws={draws}{rest})")
        }
        Inner::Selected { by, sensitivity, noise } => {
            let rest = named(&[("sensitivity", number(*sensitivity))]);
            format!("selected({}, {}{rest})", code(by), code(noise))
        }
        Inner::UniformMask { share, event } => format!("uniform_mask({share:?}, {})", code(event)),
        Inner::SparseVector {
            threshold_epsilon,
            query_epsilon,
            hits,
            refreshed,
            value_epsilon,
        } => {
            let refreshed = if *refreshed { "True" } else { "False" };
            let rest = named(&[("value_epsilon", number(*value_epsilon))]);
            format!(
                "sparse_vector({threshold_epsilon:?}, {query_epsilon:?}, hits={hits}, \
                 refreshed={refreshed}{rest})"
            )
        }
        Inner::NoisyMax { epsilon, draws, noise } => {
            let noise = match noise {
                MaxNoise::Gumbel => "gumbel",
                MaxNoise::Laplace => "laplace",
                MaxNoise::Exponential => "exponential",
            };
            format!("noisy_max({epsilon:?}, draws={draws}, noise='{noise}')")
        }
        Inner::LimitedDomain { epsilon, delta, draws } => {
            format!("limited_domain({epsilon:?}, {delta:?}, draws={draws})")
        }
        Inner::Cluster { groups, event } => format!("cluster({groups}, {})", code(event)),
        Inner::Compose(events) => {
            format!("compose({})", events.iter().map(code).collect::<Vec<_>>().join(", "))
        }
        Inner::Repeat { times, event } => format!("{}.repeat({times})", code(event)),
        Inner::Poisson { rate, event } => format!("{}.poisson({rate:?})", code(event)),
    }
}
