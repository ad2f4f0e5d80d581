//! The short way round: format, lints and unit tests of what has changed.

use crate::{checks, step::Step, workspace};
use anyhow::{Context, Result};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::Instant,
};

/// Neither has a library, and together they depend on everything, with every feature that the tests of the
/// workspace need. Cargo builds a package with the features that the chosen packages ask for: with these
/// always among them, nothing is built twice.
const EVERY_FEATURE: [&str; 2] = ["organza-cli", "xtask"];

/// Checks what differs from the branch `main`, or from the last commit of `main` itself.
pub(crate) fn run() -> Result<()> {
    let start = Instant::now();
    let metadata = workspace::metadata(&["--no-deps"])?;
    let packages = workspace::list(&metadata["packages"]);
    let changed = changed_packages(packages, &workspace::root(), &changed_files()?);
    if changed.is_empty() {
        println!("No package has changed: there is nothing to check.");
        return Ok(());
    }
    let names: Vec<&str> = changed.iter().map(|package| name(package)).collect();
    println!("changed: {}", names.join(", "));
    checks::format()?;
    checks::clippy()?;
    checks::shown(&unit_tests(&changed))?;
    println!("\nGood, {:.1} s; `cargo xtask test` does the rest.", start.elapsed().as_secs_f64());
    Ok(())
}

/// The files that differ from where this branch left `main`, and those that are new.
fn changed_files() -> Result<Vec<PathBuf>> {
    let git = |arguments: &[&str]| Step::program("git").arguments(arguments).stdout();
    let base = ["main", "origin/main"].iter().find_map(|main| git(&["merge-base", "HEAD", main]));
    let base = base.as_deref().map_or("HEAD", str::trim);
    let differ = git(&["diff", "--name-only", "--no-renames", "--relative", "-z", base]);
    let new = git(&["ls-files", "--others", "--exclude-standard", "-z"]);
    let both = differ.zip(new).context(
        "git does not say what has changed: `cargo xtask test hygiene format lints` and \
         `cargo test -p <package> --lib` do without it",
    )?;
    let split = |names: String| names.split_terminator('\0').map(PathBuf::from).collect::<Vec<_>>();
    Ok([split(both.0), split(both.1)].concat())
}

/// The packages that these files belong to; all of them where the workspace itself has changed.
fn changed_packages<'a>(packages: &'a [Value], root: &Path, files: &[PathBuf]) -> Vec<&'a Value> {
    let is_all = files.iter().any(|file| file == Path::new("Cargo.toml"));
    let has_changed = |package: &&Value| {
        let manifest = Path::new(workspace::text(&package["manifest_path"]));
        let folder = manifest.parent().unwrap_or(root);
        is_all || files.iter().any(|file| root.join(file).starts_with(folder))
    };
    packages.iter().filter(has_changed).collect()
}

/// The tests beside the code of these packages.
fn unit_tests(packages: &[&Value]) -> Step {
    let mut arguments = vec!["test"];
    for package in packages {
        arguments.extend(["--package", name(package)]);
        for target in workspace::list(&package["targets"]) {
            match workspace::text(&target["kind"][0]) {
                "lib" if !arguments.contains(&"--lib") => arguments.push("--lib"),
                "bin" => arguments.extend(["--bin", workspace::text(&target["name"])]),
                _ => {}
            }
        }
    }
    for package in EVERY_FEATURE {
        if !arguments.contains(&package) {
            arguments.extend(["--package", package]);
        }
    }
    Step::cargo(&arguments)
}

fn name(package: &Value) -> &str {
    workspace::text(&package["name"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn packages() -> [Value; 3] {
        let package = |name: &str, kind: &str| {
            json!({
                "name": name, "manifest_path": format!("/project/crates/{name}/Cargo.toml"),
                "targets": [{"kind": [kind], "name": name}, {"kind": ["test"], "name": "long"}],
            })
        };
        [package("leaf", "lib"), package("leaf-twig", "lib"), package("tool", "bin")]
    }

    fn changed(files: &[&str]) -> Vec<String> {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let packages = packages();
        let changed = changed_packages(&packages, Path::new("/project"), &files);
        changed.into_iter().map(|package| name(package).to_owned()).collect()
    }

    #[test]
    fn a_file_changes_its_own_package_alone() {
        assert_eq!(changed(&["crates/leaf/src/lib.rs", "docs/guide.md"]), ["leaf"]);
        assert_eq!(changed(&["crates/leaf-twig/tests/long.rs"]), ["leaf-twig"]);
        assert!(changed(&["README.md"]).is_empty());
        assert_eq!(changed(&["Cargo.toml"]), ["leaf", "leaf-twig", "tool"]);
    }

    #[test]
    fn libraries_and_programs_are_tested_without_their_long_tests() {
        let packages = packages();
        let step = |chosen: &[usize]| {
            let chosen: Vec<&Value> = chosen.iter().map(|&index| &packages[index]).collect();
            unit_tests(&chosen).to_string()
        };
        let every = "--package organza-cli --package xtask";
        assert_eq!(
            step(&[0, 1]),
            format!("cargo test --package leaf --lib --package leaf-twig {every}")
        );
        assert_eq!(step(&[2]), format!("cargo test --package tool --bin tool {every}"));
    }
}
