//! hew's own format: a folder with `task.toml`, and its files inline or in the folders `project`, `hidden` and `solution`.

use super::TASK_FILE;
use crate::error::Error;
use crate::files::read_text;
use crate::task::{Task, TaskLimits, TreeLayer};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The content of `task.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    /// By default, the content of `prompt.md`.
    prompt: Option<String>,
    check: String,
    language: Option<String>,
    kind: Option<String>,
    setup: Option<String>,
    answer: Option<String>,
    repository: Option<String>,
    revision: Option<String>,
    solution_command: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    network: bool,
    #[serde(default)]
    limits: TaskLimits,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    hidden: BTreeMap<String, String>,
    #[serde(default)]
    solution: BTreeMap<String, String>,
}

pub(super) fn read(folder: &Path, id: &str) -> Result<Task, Error> {
    let path = folder.join(TASK_FILE);
    let file: TaskFile = toml::from_str(&read_text(&path)?).map_err(|error| Error::task(&path, error.to_string()))?;
    let prompt = match file.prompt {
        Some(prompt) => prompt,
        None => read_text(&folder.join("prompt.md"))?,
    };
    let mut project = Vec::new();
    match (file.repository, file.revision) {
        (Some(repository), revision) => project.push(TreeLayer::Revision {
            repository: located(folder, repository),
            revision: revision.unwrap_or_else(|| "HEAD".into()),
        }),
        (None, Some(_)) => return Err(Error::task(&path, "`revision` needs `repository`")),
        (None, None) => {}
    }
    project.extend(layers(folder, "project", file.files));
    let mut solution = layers(folder, "solution", file.solution);
    solution.extend(file.solution_command.map(TreeLayer::Command));
    Ok(Task {
        id: id.into(),
        prompt: prompt.trim().into(),
        language: file.language,
        kind: file.kind,
        project,
        setup: file.setup,
        hidden: layers(folder, "hidden", file.hidden),
        check: file.check,
        solution,
        answer: file.answer,
        limits: file.limits,
        needs: file.needs,
        network: file.network,
    })
}

/// A folder next to `task.toml`, and inline files.
fn layers(folder: &Path, name: &str, inline: BTreeMap<String, String>) -> Vec<TreeLayer> {
    let path = folder.join(name);
    let folder = path.is_dir().then(|| TreeLayer::folder(path));
    let inline = (!inline.is_empty()).then_some(TreeLayer::Inline(inline));
    folder.into_iter().chain(inline).collect()
}

/// A repository's address, or its absolute path if it is a folder.
fn located(folder: &Path, repository: String) -> String {
    let path = folder.join(&repository);
    match path.is_dir() {
        true => path.canonicalize().unwrap_or(path).display().to_string(),
        false => repository,
    }
}
