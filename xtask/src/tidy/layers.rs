//! Rule: crates depend downwards only, along the rows of the diagram in ARCHITECTURE.md.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Problem;

/// The rows from bottom to top. A crate may use every row below its own, and no other crate of its own row.
const ROWS: &[(&str, &[&str])] = &[
    ("contracts: models and policy", &["model", "policy"]),
    ("contracts: sessions", &["session"]),
    ("contracts: tools", &["tool"]),
    ("adapters: processes and files", &["sandbox", "workspace"]),
    (
        "adapters",
        &["acp", "index", "lsp", "mcp", "providers", "store", "telemetry"],
    ),
    ("pure engines", &["edit", "prompt"]),
    ("edit prediction", &["predict"]),
    ("project context", &["context", "search"]),
    ("composition", &["agent", "eval", "review", "toolbox"]),
    ("host", &["host"]),
    ("front ends", &["server", "tui"]),
    ("backends", &["backends"]),
    ("headless runs", &["headless"]),
    ("analysis of sessions and models", &["analysis"]),
    ("binary", &["cli"]),
];

/// Crates that avoid more than the rows above them, with the reason.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    ("agent", ADAPTERS, "a whole turn must run in memory"),
    ("edit", ADAPTERS, "edits are computed on text, not on disk"),
    (
        "predict",
        ADAPTERS,
        "predictions are computed on text, without a model or files",
    ),
    ("prompt", ADAPTERS, "same inputs, same bytes"),
    ("server", &["agent"], "front ends use commands and events, not the loop"),
    ("tui", &["agent"], "front ends use commands and events, not the loop"),
];

const ADAPTERS: &[&str] = &[
    "acp",
    "index",
    "lsp",
    "mcp",
    "providers",
    "sandbox",
    "store",
    "telemetry",
    "workspace",
];

/// Test support: any crate may use it in tests, and `cli` uses it for the scripted model of `hew demo`.
const TESTKIT: &str = "testkit";
const TESTKIT_USERS: &[&str] = &["cli"];
/// The crates that test support may use: contracts only, so that a crate's tests do not build unrelated crates.
const TESTKIT_USES: &[&str] = &["model", "policy", "session", "tool"];

/// Repository tasks. They use no product crate, so that they build in seconds on a fresh clone.
const XTASK: &str = "xtask";

/// A package of the workspace and its edges to other packages of the workspace.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    /// Folder from the root, with forward slashes.
    pub(super) folder: String,
    pub(super) edges: Vec<Edge>,
}

/// A dependency on another package of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) to: String,
    pub(super) kind: Kind,
}

/// Where a dependency is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In the product or its build script.
    Product,
    /// In tests, examples and benches.
    Test,
}

/// Parses the workspace's packages from the output of `cargo metadata --no-deps`.
pub(super) fn packages(metadata: &Value) -> Result<Vec<Package>> {
    let root = metadata["workspace_root"]
        .as_str()
        .context("cargo metadata has no workspace_root")?;
    let list = metadata["packages"]
        .as_array()
        .context("cargo metadata has no packages")?;
    let names: Vec<&str> = list.iter().filter_map(|package| package["name"].as_str()).collect();
    list.iter().map(|package| read_package(package, root, &names)).collect()
}

fn read_package(package: &Value, root: &str, names: &[&str]) -> Result<Package> {
    let name = package["name"].as_str().context("a package without a name")?;
    let manifest = package["manifest_path"]
        .as_str()
        .context("a package without a manifest path")?;
    let folder = manifest.strip_prefix(root).unwrap_or(manifest).replace('\\', "/");
    let folder = folder
        .trim_start_matches('/')
        .trim_end_matches("/Cargo.toml")
        .to_owned();
    let mut edges = Vec::new();
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        // A registry package may share a name with a workspace crate; only path dependencies belong to the workspace.
        let Some(to) = dependency["name"]
            .as_str()
            .filter(|to| names.contains(to) && dependency["path"].is_string())
        else {
            continue;
        };
        let kind = if dependency["kind"] == "dev" {
            Kind::Test
        } else {
            Kind::Product
        };
        edges.push(Edge {
            to: to.to_owned(),
            kind,
        });
    }
    Ok(Package {
        name: name.to_owned(),
        folder,
        edges,
    })
}

/// Checks that each crate has a row and that each edge goes down.
pub(super) fn check(packages: &[Package]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in packages {
        let place = format!("{}/Cargo.toml", package.folder);
        if row(&package.name).is_none() && package.name != TESTKIT && package.name != XTASK {
            problems.push(Problem::new(
                &place,
                "this crate has no row in xtask/src/tidy/layers.rs; add it to one",
            ));
            continue;
        }
        for edge in &package.edges {
            if let Some(why) = violation(&package.name, edge) {
                problems.push(Problem::new(
                    &place,
                    format!("`{}` may not use `{}`: {why}", package.name, edge.to),
                ));
            }
        }
    }
    problems
}

fn violation(from: &str, edge: &Edge) -> Option<String> {
    let to = edge.to.as_str();
    if from == XTASK {
        return Some("tasks use no product crate".into());
    }
    if to == TESTKIT {
        let allowed = edge.kind == Kind::Test || TESTKIT_USERS.contains(&from);
        return (!allowed).then(|| "test support is a dev-dependency".into());
    }
    if from == TESTKIT {
        return (!TESTKIT_USES.contains(&to)).then(|| "test support uses contracts only".into());
    }
    if let Some((_, _, why)) = FORBIDDEN
        .iter()
        .find(|(name, avoided, _)| *name == from && avoided.contains(&to))
    {
        return Some((*why).into());
    }
    let (Some((own, own_name)), Some((other, other_name))) = (row(from), row(to)) else {
        return Some(format!("`{to}` has no row"));
    };
    (other >= own).then(|| format!("the row \"{other_name}\" is not below \"{own_name}\""))
}

fn row(name: &str) -> Option<(usize, &'static str)> {
    let index = ROWS.iter().position(|(_, crates)| crates.contains(&name))?;
    ROWS.get(index).map(|(row, _)| (index, *row))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(from: &str, to: &str, kind: Kind) -> Vec<String> {
        let edges = vec![Edge { to: to.into(), kind }];
        let package = Package {
            name: from.into(),
            folder: format!("crates/{from}"),
            edges,
        };
        check(&[package]).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn downward_edges_are_allowed() {
        let allowed = [
            ("session", "model"),
            ("tool", "session"),
            ("tool", "policy"),
            ("workspace", "session"),
            ("store", "workspace"),
            ("mcp", "sandbox"),
            ("prompt", "session"),
            ("agent", "prompt"),
            ("toolbox", "edit"),
            ("toolbox", "workspace"),
            ("toolbox", "prompt"),
            ("tui", "session"),
            ("server", "mcp"),
            ("host", "agent"),
            ("host", "review"),
            ("cli", "host"),
            ("cli", "testkit"),
            ("testkit", "model"),
        ];
        for (from, to) in allowed {
            assert_eq!(
                violations(from, to, Kind::Product),
                Vec::<String>::new(),
                "{from} -> {to}"
            );
        }
    }

    #[test]
    fn edges_that_go_up_or_sideways_are_found_in_product_and_tests_alike() {
        let bad = [
            ("model", "session"),
            ("session", "tool"),
            ("model", "policy"),
            ("sandbox", "store"),
            ("store", "providers"),
            ("agent", "toolbox"),
            ("toolbox", "agent"),
            ("agent", "store"),
            ("agent", "workspace"),
            ("prompt", "workspace"),
            ("edit", "workspace"),
            ("tui", "agent"),
            ("server", "agent"),
            ("agent", "cli"),
            ("review", "agent"),
            ("host", "tui"),
            ("testkit", "store"),
            ("xtask", "model"),
            ("cli", "xtask"),
        ];
        for (from, to) in bad {
            for kind in [Kind::Product, Kind::Test] {
                assert_eq!(violations(from, to, kind).len(), 1, "{from} -> {to} {kind:?}");
            }
        }
    }

    #[test]
    fn test_support_is_for_tests_except_in_the_binary() {
        assert_eq!(violations("agent", "testkit", Kind::Test), Vec::<String>::new());
        assert_eq!(
            violations("agent", "testkit", Kind::Product),
            ["`agent` may not use `testkit`: test support is a dev-dependency"]
        );
    }

    #[test]
    fn a_crate_without_a_row_is_reported() {
        let package = Package {
            name: "novelty".into(),
            folder: "crates/novelty".into(),
            edges: vec![],
        };
        assert!(check(&[package])[0].message.contains("no row"));
    }

    #[test]
    fn no_crate_is_in_two_rows() {
        let mut names: Vec<&str> = ROWS.iter().flat_map(|(_, crates)| crates.iter().copied()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn metadata_gives_packages_with_their_workspace_edges() {
        let metadata = serde_json::json!({
            "workspace_root": "/src/hew",
            "packages": [
                { "name": "model", "manifest_path": "/src/hew/crates/model/Cargo.toml", "dependencies": [
                    { "name": "serde", "kind": null },
                    { "name": "testkit", "kind": "dev", "path": "/src/hew/crates/testkit" } ] },
                { "name": "testkit", "manifest_path": "/src/hew/crates/testkit/Cargo.toml", "dependencies": [
                    { "name": "model", "kind": null } ] },
            ]
        });
        let expected = [
            Package {
                name: "model".into(),
                folder: "crates/model".into(),
                edges: vec![Edge {
                    to: "testkit".into(),
                    kind: Kind::Test,
                }],
            },
            // The second `model` has no path: it is another package of the same name.
            Package {
                name: "testkit".into(),
                folder: "crates/testkit".into(),
                edges: vec![],
            },
        ];
        assert_eq!(packages(&metadata).unwrap(), expected);
    }
}
