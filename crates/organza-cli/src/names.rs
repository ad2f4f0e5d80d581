//! Values by their names, as settings files have them.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use organza_data::table::TableForm;
use organza_mechanism::SelectionRule;
use organza_train::OptimizerName;
use organza_words::settings::Method;
use serde::de::DeserializeOwned;

/// A name that a settings file would have for the same value.
pub(crate) fn named<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    names: impl IntoIterator<Item = &'static str>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names)
        .try_map(|name| serde_json::from_value(serde_json::Value::String(name)))
}

/// The names of the forms of tables.
pub(crate) fn form_parser() -> impl TypedValueParser<Value = TableForm> {
    named(["csv", "tsv", "json", "parquet", "arrow"])
}

/// The names of the methods of training.
pub(crate) fn method_parser() -> impl TypedValueParser<Value = Method> {
    named(["counts", "dpsgd", "sparse", "none"])
}

/// The names of the rules of selection.
pub(crate) fn rule_parser() -> impl TypedValueParser<Value = SelectionRule> {
    named(SelectionRule::ALL.map(SelectionRule::name))
}

/// The names of the optimizers.
pub(crate) fn optimizer_parser() -> impl TypedValueParser<Value = OptimizerName> {
    PossibleValuesParser::new(OptimizerName::all()).try_map(OptimizerName::try_from)
}
