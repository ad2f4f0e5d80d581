//! The tools that checks need, installed where they are missing.

use crate::step::Step;
use anyhow::{Context, Result, anyhow};
use std::{env, path::PathBuf};

/// Makes sure that a component of the toolchain is there, such as `clippy`.
pub(crate) fn require_component(component: &str, subcommand: &str) -> Result<()> {
    if Step::cargo(&[subcommand, "--version"]).stdout().is_some() {
        return Ok(());
    }
    println!("{component} is missing: installing it");
    Step::program("rustup").arguments(&["component", "add", component]).run().with_context(|| {
        format!("install {component} the way your Rust toolchain was installed, then try again")
    })
}

/// What the test of pages needs, by the names of Debian.
const BROWSER_PACKAGES: [&str; 3] = ["chromium", "chromium-driver", "fonts-dejavu-core"];

/// The driver of Chromium, and Chromium; installed where they are missing and that is possible.
pub(crate) fn browser() -> Result<(PathBuf, PathBuf)> {
    let found = || Some((find("chromedriver")?, find("chromium")?));
    if let Some(both) = found() {
        return Ok(both);
    }
    println!("chromium or chromedriver is missing: installing {}", BROWSER_PACKAGES.join(" and "));
    let is_root =
        Step::program("id").arguments(&["-u"]).stdout().is_some_and(|id| id.trim() == "0");
    let install = || -> Result<()> {
        Step::program("apt-get").arguments(&["update", "--quiet"]).run()?;
        let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
        Step::program("apt-get").arguments(&install).arguments(&BROWSER_PACKAGES).run()
    };
    let outcome = if is_root { install() } else { Err(anyhow!("only root can install them")) };
    outcome.and_then(|()| found().context("they are installed, yet not found")).with_context(|| {
        format!(
            "pages can only be tested in a browser: install it (on Debian \
             `sudo apt-get install {}`), or leave this check out by \
             `cargo xtask test --without browser`",
            BROWSER_PACKAGES.join(" ")
        )
    })
}

/// A program by its name, where the shell would find it.
fn find(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}
