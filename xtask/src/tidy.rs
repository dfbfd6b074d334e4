//! `cargo xtask tidy`: repository rules that the compiler cannot check.
//!
//! Each rule is a pure function in its own file, from plain data to a list of [`Problem`]s, so that its tests can show
//! it failing. The repository is read here, once.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{no_arguments, tools};

mod code;
mod documented;
mod layers;
mod links;
mod manifests;
mod map;
pub(crate) mod names;
mod sources;
mod testdata;
mod traces;

/// A violation: where it is, and how to fix it.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    place: String,
    message: String,
}

impl Problem {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
        }
    }
}

/// A file of the repository: its path from the root with forward slashes, and its text.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

#[cfg(test)]
impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }
}

/// Runs the checks and reports success.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    no_arguments("tidy", args)?;
    check(root)?;
    println!("tidy: no problems");
    Ok(())
}

/// Applies every rule to the repository. Fails with the list of all problems.
pub(crate) fn check(root: &Path) -> Result<()> {
    let files = read_files(root)?;
    let packages = layers::packages(&cargo_metadata(root)?)?;
    let crates: Vec<&str> = packages
        .iter()
        .filter(|package| package.folder.starts_with("crates/"))
        .map(|p| p.name.as_str())
        .collect();
    let architecture = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();

    let mut problems = layers::check(&packages);
    problems.extend(map::check(&architecture, &crates, &files));
    problems.extend(sources::check(&files, &crates));
    problems.extend(names::check(&files));
    problems.extend(code::check(&files));
    problems.extend(traces::check(&files));
    problems.extend(manifests::check(&files));
    problems.extend(testdata::check(&files));
    problems.extend(documented::check(&files));
    problems.extend(links::check(&files));

    for problem in &problems {
        println!("{}: {}", problem.place, problem.message);
    }
    match problems.len() {
        0 => Ok(()),
        1 => bail!("1 problem, see above"),
        count => bail!("{count} problems, see above"),
    }
}

fn cargo_metadata(root: &Path) -> Result<serde_json::Value> {
    let mut command = Command::new(tools::cargo());
    command
        .current_dir(root)
        .args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = command.output().context("cannot start `cargo metadata`")?;
    if !output.status.success() {
        bail!(
            "`cargo metadata` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    serde_json::from_slice(&output.stdout).context("`cargo metadata` did not print JSON")
}

/// All files that git tracks or would track.
pub(crate) fn read_files(root: &Path) -> Result<Vec<File>> {
    let paths = match git_files(root) {
        Some(paths) => paths,
        None => walk(root)?,
    };
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        // A deleted file stays listed until the deletion is committed.
        let Ok(bytes) = fs::read(root.join(&path)) else {
            continue;
        };
        files.push(File {
            path,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The paths that git tracks or would track. `None` outside a checkout or if git is not installed.
fn git_files(root: &Path) -> Option<Vec<String>> {
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").current_dir(root).args(args).output().ok()?;
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Some(
        text.split('\0')
            .filter(|path| !path.is_empty())
            .map(String::from)
            .collect(),
    )
}

fn walk(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            let name = entry.file_name();
            let kind = entry.file_type()?;
            if kind.is_dir() && name != "target" && name != ".tools" && name != ".git" {
                folders.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                found.push(path.strip_prefix(root)?.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_finds_sources_and_skips_build_output() {
        let root = crate::project_root().unwrap();
        let found = walk(&root).unwrap();
        assert!(found.iter().any(|path| path == "xtask/src/tidy.rs"));
        assert!(
            !found
                .iter()
                .any(|path| path.starts_with("target/") || path.starts_with(".git/"))
        );
    }
}
