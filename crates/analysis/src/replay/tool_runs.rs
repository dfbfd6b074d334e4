//! Runs the calls of a session again, in a copy of the project as it was before the session.

use crate::failure::{Failure, Result};
use crate::models::ModelRegistry;
use crate::project_copy;
use headless::manual_call::{ManualApprover, ManualCallError, run_call};
use host::SessionFlags;
use host::environment::ProcessEnv;
use model::{Block, CallId, Part};
use policy::Policy;
use review::VersionContents;
use serde::Serialize;
use session::{Body, Change, FileKind, SessionMeta, Store as _};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use store::SqliteStore;
use tool::Output;

/// A call that was run again.
#[derive(Debug, Serialize)]
pub struct ToolRun {
    item: String,
    tool: String,
    result: ToolRunResult,
    /// The first line that differs, or why it was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// Files with another content than after the recorded call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<PathBuf>,
}

/// How the result of a call compares with the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ToolRunResult {
    Same,
    Differs,
    NotRun,
}

impl ToolRun {
    /// One line.
    pub fn text(&self) -> String {
        let result = match (self.result, &self.detail) {
            (ToolRunResult::Same, _) => "same result".to_owned(),
            (ToolRunResult::Differs, Some(line)) => format!("differs: {line}"),
            (ToolRunResult::Differs, None) => "differs".to_owned(),
            (ToolRunResult::NotRun, Some(why)) => format!("not run: {why}"),
            (ToolRunResult::NotRun, None) => "not run".to_owned(),
        };
        let files: Vec<String> = self.files.iter().map(|path| path.display().to_string()).collect();
        let files = match files.is_empty() {
            true => String::new(),
            false => format!("; other content: {}", files.join(", ")),
        };
        format!("{}: {result}{files}\n", self.tool)
    }
}

/// The calls of a session that were run again.
#[derive(Debug)]
pub struct ToolRuns {
    /// The calls, in order.
    pub runs: Vec<ToolRun>,
    /// The warnings of the configuration.
    pub warnings: Vec<String>,
}

/// Runs all calls in order, in a copy of the project as it was before the session.
pub async fn run_tools(
    store: &SqliteStore,
    meta: &SessionMeta,
    yes: bool,
    flags: &SessionFlags,
    env: &ProcessEnv,
) -> Result<ToolRuns> {
    let folder = tempfile::tempdir().map_err(|error| Failure::failed(format!("no temporary folder: {error}")))?;
    let copy = folder
        .path()
        .canonicalize()
        .map_err(|error| Failure::file("open", folder.path(), &error))?;
    if meta.root.is_dir() {
        project_copy::copy_project(&meta.root, &copy)?;
    }
    let items = store.load(meta.id).await?.items;
    project_copy::restore(store, &items, 0, &meta.root, &copy).await?;
    let loaded = flags.load_config(&copy, env)?;
    let info = ModelRegistry::new(&loaded.config, env).find(&meta.model).ok();
    let (permissions, _) = host::permissions::load(&loaded.layers, loaded.trust, &copy, env);
    let found = host::project_context::load_modes(&copy, loaded.trust, env);
    let registry =
        host::tools::manual_tools(&loaded.config, env, &copy, info.as_ref(), &permissions, &found.modes).await?;
    let approver = ManualApprover {
        policy: Policy {
            level: loaded.config.permission.into(),
            permissions,
        },
        mode: found.choose(&loaded.config.mode, &[])?,
        yes,
    };
    let mut calls: HashMap<CallId, (String, serde_json::Value)> = HashMap::new();
    let mut runs = Vec::new();
    for item in &items {
        match &item.body {
            Body::Reply { message, .. } => {
                let made = message.parts.iter().filter_map(|part| match part {
                    Part::ToolCall { id, name, input, .. } => Some((id.clone(), (name.clone(), input.clone()))),
                    _ => None,
                });
                calls.extend(made);
            }
            Body::Result {
                message,
                call,
                tool,
                changes,
                ..
            } => {
                let Some((name, input)) = calls.remove(call) else {
                    continue;
                };
                let recorded: Vec<Block> = message.parts.iter().flat_map(blocks).cloned().collect();
                let input = moved(input, &meta.root, &copy);
                let called = run_call(&registry, &name, input, &approver, info.as_ref()).await;
                let (result, detail) = match content(called) {
                    Err(NotRun(why)) => {
                        let changed: Vec<_> = changes
                            .iter()
                            .map(|change| (change.path.as_path(), change.after.as_ref()))
                            .collect();
                        project_copy::write_versions(store, &changed, &meta.root, &copy).await?;
                        (ToolRunResult::NotRun, Some(why))
                    }
                    Ok(content) => {
                        let place = |text: &str| text.replace(&*copy.to_string_lossy(), &meta.root.to_string_lossy());
                        compare(&text(&recorded), &place(&text(&content)))
                    }
                };
                runs.push(ToolRun {
                    item: item.id.to_string(),
                    tool: tool.clone(),
                    result,
                    detail,
                    files: other_files(store, changes, &meta.root, &copy).await?,
                });
            }
            _ => {}
        }
    }
    Ok(ToolRuns {
        runs,
        warnings: loaded.warnings,
    })
}

/// What the model would see, or why the call was not run.
fn content(called: std::result::Result<Output, ManualCallError>) -> std::result::Result<Vec<Block>, NotRun> {
    match called {
        Ok(output) => Ok(output.content),
        Err(ManualCallError::InvalidInput(error) | ManualCallError::Failed(error)) => Ok(vec![Block::Text {
            text: error.to_string(),
        }]),
        Err(ManualCallError::UnknownTool) => Err(NotRun("there is no such tool outside a session".into())),
        Err(ManualCallError::Refused(failure)) => Err(NotRun(failure.message)),
    }
}

/// Why a call was not run.
struct NotRun(String);

fn blocks(part: &Part) -> &[Block] {
    match part {
        Part::ToolResult { content, .. } => content,
        _ => &[],
    }
}

fn text(blocks: &[Block]) -> String {
    let parts: Vec<String> = blocks
        .iter()
        .map(|block| match block {
            Block::Text { text } => text.trim_end().to_owned(),
            Block::Media(media) => format!("[{}, {} bytes]", media.mime, media.data.len()),
        })
        .collect();
    parts.join("\n")
}

/// Paths in the project become paths in the copy.
fn moved(input: serde_json::Value, root: &Path, copy: &Path) -> serde_json::Value {
    let (from, to) = (root.to_string_lossy(), copy.to_string_lossy());
    match input {
        serde_json::Value::String(text) => text.replace(&*from, &to).into(),
        serde_json::Value::Array(values) => values.into_iter().map(|value| moved(value, root, copy)).collect(),
        serde_json::Value::Object(values) => values
            .into_iter()
            .map(|(key, value)| (key, moved(value, root, copy)))
            .collect(),
        other => other,
    }
}

fn compare(recorded: &str, again: &str) -> (ToolRunResult, Option<String>) {
    if recorded == again {
        return (ToolRunResult::Same, None);
    }
    let (mut one, mut other) = (recorded.lines(), again.lines());
    loop {
        match (one.next(), other.next()) {
            (Some(a), Some(b)) if a == b => {}
            (a, b) => {
                let line = b.or(a).unwrap_or_default().chars().take(120).collect();
                return (ToolRunResult::Differs, Some(line));
            }
        }
    }
}

/// The changed files with another content than the recorded one.
async fn other_files(store: &SqliteStore, changes: &[Change], root: &Path, copy: &Path) -> Result<Vec<PathBuf>> {
    let after: Vec<_> = changes.iter().filter_map(|change| change.after.as_ref()).collect();
    let contents = VersionContents::load(store, &after).await?;
    let mut others = Vec::new();
    for change in changes {
        let Some(path) = project_copy::in_copy(&change.path, root, copy) else {
            continue;
        };
        let is_same = match &change.after {
            None => !path.exists(),
            Some(version) if matches!(version.kind, FileKind::File { .. }) => match contents.read(version) {
                Some(bytes) => std::fs::read(&path).is_ok_and(|now| now == bytes),
                None => true,
            },
            Some(_) => path.exists(),
        };
        if !is_same {
            others.push(change.path.clone());
        }
    }
    Ok(others)
}
