//! Readings of files that are out of date, because the same was read again or the file was changed.

use crate::history::READ;
use crate::message_bytes;
use session::{Body, Item, ItemId};
use std::collections::HashMap;
use std::sync::Arc;

/// A reading that is shorter than this is not worth a line in its place.
const WORTH_BYTES: usize = 400;

/// Lines of a file, both ends included.
type Lines = (usize, usize);

/// The results that read only what a later reading or change made out of date.
pub(super) fn readings(items: &[&Arc<Item>]) -> impl Iterator<Item = ItemId> {
    // What came later, seen from the end: the lines that were read of each file since it was last changed.
    let mut later: HashMap<String, Later> = HashMap::new();
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
        if tool == READ {
            let wanted: Vec<(String, Lines)> = title.split(", ").map(part).collect();
            let is_stale = |(path, lines): &(String, Lines)| later.get(path).is_some_and(|later| later.covers(*lines));
            if wanted.iter().all(is_stale) && message_bytes(message) >= WORTH_BYTES {
                found.push(item.id);
            }
            for (path, lines) in wanted {
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

/// What became of a file later.
#[derive(Default)]
struct Later {
    changed: bool,
    read: Vec<Lines>,
}

impl Later {
    fn covers(&self, (first, last): Lines) -> bool {
        self.changed || self.read.iter().any(|read| read.0 <= first && last <= read.1)
    }
}

/// What `src/a.rs:3-40` names.
fn part(title: &str) -> (String, Lines) {
    const ALL: Lines = (0, usize::MAX);
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
