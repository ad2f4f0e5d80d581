//! The Python package: built, installed into an environment of its own, and checked from Python.

use crate::{checks::shown, step::Step, workspace};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;

/// The package.
const PACKAGE: &str = "bindings/python";
/// What all checks of it need.
const REQUIREMENTS: &str = "requirements-test.txt";
/// The largest wheel that is published.
const LARGEST_WHEEL: u64 = 15 * 1024 * 1024;

/// An environment under `target`, with what the checks need in it.
struct Environment(PathBuf);

impl Environment {
    /// That of this name, with the requirements in files of the package.
    fn make(name: &str, requirements: &[&str]) -> Result<Self> {
        let environment = Self(workspace::target().join(name));
        if !environment.program("python").is_file() {
            let folder = environment.0.to_string_lossy().into_owned();
            shown(&Step::program("python3").arguments(&["-m", "venv", &folder])).context(
                "the Python package needs Python 3.10 or newer with its module venv (on Debian `sudo apt-get install \
                 python3-venv`); `cargo xtask test --without python` leaves this check out",
            )?;
        }
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        let mut install = environment.step("python").arguments(&install);
        for file in requirements {
            install = install.arguments(&["-r", &format!("{PACKAGE}/{file}")]);
        }
        shown(&install)?;
        Ok(environment)
    }

    fn program(&self, name: &str) -> PathBuf {
        self.0.join("bin").join(name)
    }

    fn step(&self, name: &str) -> Step {
        Step::program(self.program(name)).path_variable("VIRTUAL_ENV", &self.0)
    }

    /// Builds the package with what the tests of Rust have built, and installs it.
    fn install_package(&self) -> Result<()> {
        let manifest = format!("{PACKAGE}/Cargo.toml");
        let develop = ["develop", "--quiet", "--manifest-path", &manifest];
        shown(&self.step("maturin").arguments(&develop))
    }
}

/// Builds the package, and checks it.
pub(crate) fn check() -> Result<()> {
    let environment = Environment::make("python", &[REQUIREMENTS])?;
    environment.install_package()?;
    let settings = format!("{PACKAGE}/pyproject.toml");
    let sources = ["py_src", "tests", "examples"].map(|folder| format!("{PACKAGE}/{folder}"));
    let [package, tests, _] = &sources;
    // What needs PyTorch or engines, which are too large for every check, is checked by `cargo xtask torch` and `engines`.
    let torch = format!("{package}/organza/torch");
    let engines = format!("{package}/organza/distributed");
    for typed in ["mypy", "pyright"] {
        let how = match typed {
            "mypy" => ["--config-file", &settings],
            _ => ["--project", &settings],
        };
        let mut step = environment.step(typed).arguments(&how);
        if typed == "mypy" {
            let needs_torch = "organza/torch/|examples/clicks/|examples/torch_peers";
            step = step.arguments(&["--strict", "--exclude", needs_torch]);
            step = step.arguments(&sources.each_ref().map(String::as_str));
        }
        shown(&step)?;
    }
    let quiet = ["-m", "pytest", "-q", "-c", &settings, "--timeout", "300", "-n", "2"];
    let pytest =
        |places: &[&str]| shown(&environment.step("python").arguments(&quiet).arguments(places));
    pytest(&[tests])?;
    let without = [&torch, &format!("{engines}/ray.py"), &format!("{engines}/spark.py")]
        .map(|place| format!("--ignore={place}"));
    let [first, second, third] = without.each_ref().map(String::as_str);
    pytest(&["--doctest-modules", first, second, third, package])?;
    pytest(&["--doctest-glob=*.md", "docs/guide/python.md", "docs/guide/audit.md"])?;
    shown(&environment.step("python").arguments(&[&format!("{PACKAGE}/notebooks/run.py")]))
}

/// Checks what needs PyTorch, which is some gigabytes, in an environment of its own.
pub(crate) fn check_torch() -> Result<()> {
    let environment = Environment::make("torch", &[REQUIREMENTS, "requirements-torch.txt"])?;
    environment.install_package()?;
    let settings = format!("{PACKAGE}/pyproject.toml");
    let package = format!("{PACKAGE}/py_src/organza/torch");
    let tests = format!("{PACKAGE}/tests_torch");
    let examples = ["clicks", "torch_peers.py"].map(|name| format!("{PACKAGE}/examples/{name}"));
    let [clicks, peers] = examples.each_ref().map(String::as_str);
    let typed = ["--config-file", &settings, "--strict", &package, &tests, clicks, peers];
    shown(&environment.step("mypy").arguments(&typed))?;
    let pytest = ["-m", "pytest", "-q", "-c", &settings, "--timeout", "300", "--doctest-modules"];
    shown(&environment.step("python").arguments(&pytest).arguments(&[&package, &tests]))?;
    // Opacus warns of its own hooks.
    let guide = ["--doctest-glob=*.md", "-W", "ignore::UserWarning", "-W", "ignore::FutureWarning"];
    let guide = environment.step("python").arguments(&pytest).arguments(&guide);
    shown(&guide.arguments(&["docs/guide/pytorch.md"]))
}

/// Checks runs on Ray and Spark, and the recipes for Beam and Daft, in an environment of its own.
pub(crate) fn check_engines() -> Result<()> {
    shown(&Step::program("java").arguments(&["-version"])).context(
        "Spark needs Java 17 (on Debian `sudo apt-get install openjdk-17-jre-headless`)",
    )?;
    let environment = Environment::make("engines", &["requirements-engines.txt"])?;
    environment.install_package()?;
    let settings = format!("{PACKAGE}/pyproject.toml");
    let package = format!("{PACKAGE}/py_src/organza/distributed");
    let tests = format!("{PACKAGE}/tests_engines");
    let typed = ["--config-file", &settings, "--strict", &package, &tests];
    shown(&environment.step("mypy").arguments(&typed))?;
    // Engines warn of much that is none of our doing.
    let quiet = ["-m", "pytest", "-q", "-W", "default", "-p", "no:cacheprovider"];
    let pytest = environment.step("python").arguments(&quiet);
    // Workers of Spark are of the same environment.
    let python = environment.program("python");
    let pytest = pytest.path_variable("PYSPARK_PYTHON", &python);
    let pytest = pytest.arguments(&["-c", &settings, "--timeout", "1500"]);
    shown(&pytest.clone().arguments(&["--doctest-glob=*.md", "docs/guide/distributed.md"]))?;
    shown(&pytest.arguments(&[&tests]))
}

/// Builds the wheel that is published.
pub(crate) fn wheel() -> Result<()> {
    let environment = Environment::make("python", &[REQUIREMENTS])?;
    let folder = workspace::target().join("wheels");
    let (manifest, out) = (format!("{PACKAGE}/Cargo.toml"), folder.to_string_lossy().into_owned());
    let build = ["build", "--release", "--manifest-path", &manifest, "--out", &out];
    shown(&environment.step("maturin").arguments(&build))?;
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        let size = entry.metadata()?.len();
        println!("{} {:.1} MB", entry.path().display(), size as f64 / 1e6);
        if size > LARGEST_WHEEL {
            bail!("the wheel is larger than {LARGEST_WHEEL} bytes");
        }
    }
    Ok(())
}
