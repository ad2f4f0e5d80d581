//! Where things are.

use crate::step::Step;
use anyhow::{Context, Result};
use serde_json::Value;
use std::{env, ffi::OsString, path::PathBuf};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// Where everything that is built goes.
pub(crate) fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target")))
}

/// The cargo that started us, so that all steps use the same toolchain.
pub(crate) fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))
}

/// What cargo says about the packages of the workspace and those that they depend on.
pub(crate) fn metadata(options: &[&str]) -> Result<Value> {
    let step = Step::cargo(&["metadata", "--format-version", "1"]).arguments(options);
    let said = step.stdout().with_context(|| format!("`{step}` failed"))?;
    serde_json::from_str(&said).with_context(|| format!("`{step}` speaks no JSON"))
}

/// The items of a list, none where there is no list.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text, empty where there is none.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
