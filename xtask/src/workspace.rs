//! Where things are.

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

/// Where the checks keep the tools that they install.
pub(crate) fn tools() -> PathBuf {
    target().join("tools")
}

/// The cargo that started us, so that all steps use the same toolchain.
pub(crate) fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))
}
