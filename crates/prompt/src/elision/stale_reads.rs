//! Finds outdated file reads: the same lines were read again, or the file was changed.

use crate::assembly::history::READ_TOOL;
use crate::message_bytes;
use session::{Body, Item, ItemId};
use std::collections::HashMap;
use std::sync::Arc;

/// Minimum bytes of a read worth replacing.
const WORTH_BYTES: usize = 400;

/// Lines of a file, inclusive.
type LineSpan = (usize, usize);

/// Returns results that only contain outdated reads.
pub(super) fn stale_reads(items: &[&Arc<Item>]) -> impl Iterator<Item = ItemId> {
    // Processed from the end: the lines read of each file since its last change.
    let mut later: HashMap<String, LaterAccess> = HashMap::new();
    let mut found = Vec::new();
    for item in items.iter().rev() {
        let Body::Result {
            message,
            tool,
            title,
            changes,
            ..
        } = &item.body
        else {
            continue;
        };
        if tool == READ_TOOL {
            let spans: Vec<(String, LineSpan)> = title.split(", ").map(part).collect();
            let is_stale =
                |(path, lines): &(String, LineSpan)| later.get(path).is_some_and(|later| later.covers(*lines));
            if spans.iter().all(is_stale) && message_bytes(message) >= WORTH_BYTES {
                found.push(item.id);
            }
            for (path, lines) in spans {
                later.entry(path).or_default().read.push(lines);
            }
        }
        for change in changes {
            let path = plain(&change.path.to_string_lossy());
            later.entry(path).or_default().changed = true;
        }
    }
    found.reverse();
    found.into_iter()
}

/// Later reads and changes of a file.
#[derive(Default)]
struct LaterAccess {
    changed: bool,
    read: Vec<LineSpan>,
}

impl LaterAccess {
    fn covers(&self, (first, last): LineSpan) -> bool {
        self.changed || self.read.iter().any(|read| read.0 <= first && last <= read.1)
    }
}

/// Parses `src/a.rs:3-40`.
fn part(title: &str) -> (String, LineSpan) {
    const ALL: LineSpan = (0, usize::MAX);
    let Some((path, lines)) = title.rsplit_once(':') else {
        return (plain(title), ALL);
    };
    let ends = match lines.split_once('-') {
        Some((first, "")) => (first.parse(), Ok(usize::MAX)),
        Some((first, last)) => (first.parse(), last.parse()),
        None => (lines.parse(), lines.parse()),
    };
    match ends {
        (Ok(first), Ok(last)) => (plain(path), (first, last)),
        _ => (plain(title), ALL),
    }
}

fn plain(path: &str) -> String {
    path.trim().trim_start_matches("./").to_owned()
}
