//! The tools that checks need, installed where they are missing.

use crate::{step::Step, workspace};
use anyhow::{Context, Result, anyhow, bail};
use std::{env, ffi::OsString, fs, path::PathBuf, time::Instant};

/// The version whose configuration `deny.toml` is written for.
const DENY_VERSION: &str = "0.20.2";

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

/// A cargo-deny of the right version, built if need be.
pub(crate) fn cargo_deny() -> Result<OsString> {
    let tools = workspace::tools();
    let name = format!("cargo-deny{}", env::consts::EXE_SUFFIX);
    let own = tools.join("bin").join(name).into_os_string();
    for candidate in [own.clone(), OsString::from("cargo-deny")] {
        if is_deny(&candidate) {
            return Ok(candidate);
        }
    }
    println!(
        "cargo-deny {DENY_VERSION} is missing: building it, once, which takes a minute or two"
    );
    let start = Instant::now();
    let build = tools.join("build");
    let (Some(root), Some(target)) = (tools.to_str(), build.to_str()) else {
        bail!("the target folder has a name that is not UTF-8: set CARGO_TARGET_DIR to another");
    };
    // Without optimisation it takes less than half the work to build (85 against 186 seconds of one
    // core) and still checks our tree in under a second.
    Step::cargo(&["install", "cargo-deny", "--version", DENY_VERSION, "--locked", "--debug"])
        .arguments(&["--quiet", "--no-track", "--root", root, "--target-dir", target])
        .run()?;
    fs::remove_dir_all(&build).context("cannot remove the build files of cargo-deny")?;
    println!("cargo-deny is ready after {:.0} s", start.elapsed().as_secs_f64());
    Ok(own)
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

fn is_deny(program: &OsString) -> bool {
    let version = Step::program(program).arguments(&["--version"]).stdout();
    version.is_some_and(|version| version.trim() == format!("cargo-deny {DENY_VERSION}"))
}
