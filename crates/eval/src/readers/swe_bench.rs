//! SWE-bench instances in a JSON file, given checkouts of their repositories.

use crate::command::quoted;
use crate::error::Error;
use crate::files::read_text;
use crate::suite::{ReadTask, SkippedTask};
use crate::task::{Task, TaskLimits, TreeLayer};
use serde::{Deserialize, Deserializer};
use std::path::{Path, PathBuf};

/// An instance; other fields are ignored.
#[derive(Debug, Deserialize)]
struct Instance {
    instance_id: String,
    repo: String,
    base_commit: String,
    problem_statement: String,
    #[serde(default)]
    patch: String,
    #[serde(default)]
    test_patch: String,
    #[serde(rename = "FAIL_TO_PASS", default, deserialize_with = "names")]
    fail_to_pass: Vec<String>,
    #[serde(rename = "PASS_TO_PASS", default, deserialize_with = "names")]
    pass_to_pass: Vec<String>,
    /// The command that runs the tests, which are appended to it.
    test_cmd: Option<String>,
}

/// A list, or a string with a JSON list.
fn names<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        List(Vec<String>),
        Text(String),
    }
    match Names::deserialize(input)? {
        Names::List(names) => Ok(names),
        Names::Text(text) => serde_json::from_str(&text).map_err(serde::de::Error::custom),
    }
}

/// Reads a JSON array or JSON lines.
pub(crate) fn read(path: &Path, checkouts: Option<&Path>, tasks: &mut Vec<ReadTask>) -> Result<(), Error> {
    let text = read_text(path)?;
    let invalid = |error: serde_json::Error| Error::task(path, error.to_string());
    let instances: Vec<Instance> = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(&text).map_err(invalid)?,
        false => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            lines
                .map(serde_json::from_str)
                .collect::<Result<_, _>>()
                .map_err(invalid)?
        }
    };
    tasks.extend(instances.into_iter().map(|instance| task(instance, checkouts)));
    Ok(())
}

fn task(instance: Instance, checkouts: Option<&Path>) -> ReadTask {
    let Some(checkout) = checkouts.and_then(|folder| checkout(folder, &instance)) else {
        let reason = format!("there is no checkout of {} (--checkouts)", instance.repo);
        return Err(SkippedTask {
            id: instance.instance_id,
            reason,
        });
    };
    let tests: Vec<String> = instance
        .fail_to_pass
        .iter()
        .chain(&instance.pass_to_pass)
        .map(|name| quoted(name))
        .collect();
    let command = instance.test_cmd.unwrap_or_else(|| "python3 -m pytest -q".into());
    let patch = |text: String| {
        (!text.is_empty())
            .then_some(TreeLayer::Patch(text))
            .into_iter()
            .collect()
    };
    Ok(Task {
        id: instance.instance_id,
        prompt: format!(
            "Fix this issue of the project.\n\n{}",
            instance.problem_statement.trim()
        ),
        language: None,
        kind: Some("issue".into()),
        project: vec![TreeLayer::Revision {
            repository: checkout.display().to_string(),
            revision: instance.base_commit,
        }],
        setup: None,
        hidden: patch(instance.test_patch),
        check: format!("{command} {}", tests.join(" ")).trim().to_owned(),
        solution: patch(instance.patch),
        answer: None,
        limits: TaskLimits {
            seconds: 1800,
            check_seconds: 1800,
            ..TaskLimits::default()
        },
        needs: vec!["git".into()],
        network: false,
    })
}

/// The checkout of an instance's repository: `INSTANCE`, `OWNER__NAME`, `OWNER/NAME` or `NAME`.
fn checkout(folder: &Path, instance: &Instance) -> Option<PathBuf> {
    let name = instance.repo.rsplit('/').next().unwrap_or_default();
    let names = [
        instance.instance_id.clone(),
        instance.repo.replace('/', "__"),
        instance.repo.clone(),
        name.to_owned(),
    ];
    let found = names
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.join(".git").exists())?;
    Some(found.canonicalize().unwrap_or(found))
}
