//! The files that the model has seen in a session that goes on.

use model::{CallId, Outcome, Part};
use serde_json::Value;
use session::{Body, Item};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// More files than this are not looked up again; the model can read them anew.
const MOST: usize = 200;

/// The files that were read or written, and when last.
pub(super) fn files(items: &[Arc<Item>]) -> Vec<(PathBuf, SystemTime)> {
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
                            outcome: Outcome::Ok,
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
                    .filter(|_| READERS.contains(&tool.as_str()))
                    .and_then(|input| path(input));
                for path in changes.iter().map(|change| change.path.clone()).chain(read) {
                    seen.insert(path, at);
                }
            }
            Body::Prompt { .. }
            | Body::Summary { .. }
            | Body::Review { .. }
            | Body::Restored { .. }
            | Body::Mode { .. }
            | Body::Notice { .. }
            | Body::Wake { .. }
            | Body::Todos { .. }
            | Body::Panels { .. } => {}
        }
    }
    let mut seen: Vec<(PathBuf, SystemTime)> = seen.into_iter().collect();
    seen.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
    seen.truncate(MOST);
    seen
}

/// The names under which models read files.
const READERS: &[&str] = &["read_file", "read", "view", "view_file"];

fn path(input: &Value) -> Option<PathBuf> {
    let names = ["path", "file_path", "filePath", "target_file"];
    names
        .iter()
        .find_map(|name| input.get(name)?.as_str())
        .map(PathBuf::from)
}
