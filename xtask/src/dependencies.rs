//! What may enter the dependency tree: with all features, on all systems, tests and build scripts included.

use crate::workspace;
use anyhow::{Result, bail};
use serde_json::Value;
use spdx::{Expression, LicenseReq, ParseMode};
use std::collections::BTreeMap;

/// Permissive licenses only, so that Organza can be used under MIT or Apache-2.0 as a whole.
const LICENSES: [&str; 9] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Zlib",
];
/// Packages that may have one license more.
const EXCEPTIONS: [(&str, &str); 1] = [
    // In the public domain, and used at build time alone, to seed a hash.
    ("tiny-keccak", "CC0-1.0"),
];
/// The only place that packages may come from, other than this repository.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Looks at every package that cargo may use.
pub(crate) fn check() -> Result<()> {
    let metadata = workspace::metadata(&["--all-features"])?;
    let packages = workspace::list(&metadata["packages"]);
    for (name, versions) in versions(packages) {
        if versions.len() > 1 {
            println!(
                "warning: {name} is there in {} versions: {}",
                versions.len(),
                versions.join(", ")
            );
        }
    }
    let problems: Vec<String> = packages.iter().flat_map(problems).collect();
    if packages.is_empty() || !problems.is_empty() {
        bail!("{} packages\n{}", packages.len(), problems.join("\n"));
    }
    println!("{} packages", packages.len());
    Ok(())
}

/// What is wrong with a package, as `cargo metadata` describes it.
fn problems(package: &Value) -> Vec<String> {
    let name = workspace::text(&package["name"]);
    let mut problems = Vec::new();
    let license = workspace::text(&package["license"]);
    if !is_allowed(name, license) {
        problems.push(format!("{name} has the license {license:?}, which is not allowed"));
    }
    let source = &package["source"];
    if !source.is_null() && source != REGISTRY {
        problems.push(format!("{name} comes from {source}, not from crates.io"));
    }
    for dependency in workspace::list(&package["dependencies"]) {
        if dependency["req"] == "*" {
            problems.push(format!("{name} takes any version of {}", dependency["name"]));
        }
    }
    problems
}

/// Whether what a license asks for can be met by those that are allowed.
fn is_allowed(name: &str, license: &str) -> bool {
    let is_listed = |wanted: &LicenseReq| {
        let wanted = wanted.to_string();
        LICENSES.contains(&wanted.as_str()) || EXCEPTIONS.contains(&(name, &wanted))
    };
    // Old packages write "MIT/Apache-2.0".
    Expression::parse_mode(license, ParseMode::LAX).is_ok_and(|license| license.evaluate(is_listed))
}

/// The versions of each package, by its name.
fn versions(packages: &[Value]) -> BTreeMap<&str, Vec<&str>> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let name = workspace::text(&package["name"]);
        versions.entry(name).or_default().push(workspace::text(&package["version"]));
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(change: Value) -> Value {
        let mut package = json!({
            "name": "leaf", "version": "1.0.0", "license": "MIT OR Apache-2.0", "source": REGISTRY,
            "dependencies": [{"name": "twig", "req": "^1.2"}],
        });
        for (key, value) in change.as_object().into_iter().flatten() {
            package[key] = value.clone();
        }
        package
    }

    #[test]
    fn packages_that_keep_the_rules_pass() {
        for change in [
            json!({}),
            json!({"source": null}),
            json!({"license": "MIT/Apache-2.0"}),
            json!({"license": "MIT OR GPL-3.0-only"}),
            json!({"license": "(MIT OR Apache-2.0) AND Unicode-3.0"}),
            json!({"license": "Apache-2.0 WITH LLVM-exception"}),
            json!({"license": "CC0-1.0", "name": "tiny-keccak"}),
        ] {
            assert_eq!(problems(&package(change.clone())), Vec::<String>::new(), "{change}");
        }
    }

    #[test]
    fn each_broken_rule_is_found() {
        for (change, said) in [
            (json!({"license": "GPL-3.0-only"}), "GPL-3.0-only"),
            (json!({"license": "MIT AND GPL-3.0-or-later"}), "GPL-3.0-or-later"),
            (json!({"license": "MIT WITH LLVM-exception"}), "LLVM-exception"),
            (json!({"license": "CC0-1.0"}), "CC0-1.0"),
            (json!({"license": "as you like"}), "as you like"),
            (json!({"license": null}), "license \"\""),
            (json!({"source": "git+https://github.com/a/leaf#0123"}), "git+https"),
            (json!({"source": "registry+https://example.org/index"}), "example.org"),
            (json!({"dependencies": [{"name": "twig", "req": "*"}]}), "any version of \"twig\""),
        ] {
            let found = problems(&package(change.clone()));
            assert!(found.len() == 1 && found[0].contains(said), "{change}: {found:?}");
        }
    }

    #[test]
    fn two_versions_of_a_package_are_seen() {
        let packages = [package(json!({})), package(json!({"version": "2.0.0"}))];
        assert_eq!(versions(&packages)["leaf"], ["1.0.0", "2.0.0"]);
    }
}
