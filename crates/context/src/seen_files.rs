//! The files that the model has read or written in a session.

use model::{CallId, Part, ToolOutcome};
use serde_json::Value;
use session::{BlobId, Body, FileVersion, Item};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Maximum number of files; the model can read others again.
const MAX_FILES: usize = 200;

/// The files that were read or written, with the time of the last access, the newest first. `readers` are the names of the
/// tools that read a file.
pub fn seen_files(items: &[Arc<Item>], readers: &[&str]) -> Vec<(PathBuf, SystemTime)> {
    let mut calls: HashMap<&CallId, &Value> = HashMap::new();
    let mut seen: BTreeMap<PathBuf, SystemTime> = BTreeMap::new();
    for item in items {
        match &item.body {
            Body::Reply { message, .. } => {
                for part in &message.parts {
                    if let Part::ToolCall { id, input, .. } = part {
                        calls.insert(id, input);
                    }
                }
            }
            Body::Result {
                message,
                call,
                tool,
                changes,
                ..
            } => {
                let is_ok = |part: &Part| {
                    matches!(
                        part,
                        Part::ToolResult {
                            outcome: ToolOutcome::Ok,
                            ..
                        }
                    )
                };
                if !message.parts.iter().any(is_ok) {
                    continue;
                }
                let at = SystemTime::UNIX_EPOCH + Duration::from_millis(item.at.0);
                let read = calls
                    .get(call)
                    .filter(|_| readers.contains(&tool.as_str()))
                    .and_then(|input| path(input));
                for path in changes.iter().map(|change| change.path.clone()).chain(read) {
                    seen.insert(path, at);
                }
            }
            _ => {}
        }
    }
    let mut seen: Vec<(PathBuf, SystemTime)> = seen.into_iter().collect();
    seen.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
    seen.truncate(MAX_FILES);
    seen
}

/// The versions of files before and after the changes of the session, and after reviews of the user. The model has read
/// or written the former and was informed about the latter.
pub fn known_versions(items: &[Arc<Item>]) -> Vec<(PathBuf, BlobId)> {
    let mut known = Vec::new();
    for item in items {
        let mut add = |path: &PathBuf, version: &Option<FileVersion>| {
            let content = version.as_ref().and_then(|version| version.content.clone());
            known.extend(content.map(|content| (path.clone(), content)));
        };
        for change in item.changes() {
            add(&change.path, &change.before);
            add(&change.path, &change.after);
        }
        if let Body::Review { changes, .. } = &item.body {
            changes.iter().for_each(|file| add(&file.path, &file.current));
        }
    }
    known
}

fn path(input: &Value) -> Option<PathBuf> {
    let names = ["path", "file_path", "filePath", "target_file"];
    names
        .iter()
        .find_map(|name| input.get(name)?.as_str())
        .map(PathBuf::from)
}
