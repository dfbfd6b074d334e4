//! A changed path in the form of `git diff`.

use crate::commands::past::Kept;
use crate::output::paint::Paint;
use crate::output::words::tame;
use session::{Kind, Version};
use std::path::Path;

/// So many lines around a change are shown.
const CONTEXT: usize = 3;
/// A larger file is only named.
const MOST: u64 = 1024 * 1024;

/// A changed path, ready to be shown.
pub(super) struct Shown {
    header: Vec<String>,
    lines: Vec<String>,
    added: usize,
    removed: usize,
}

impl Shown {
    pub(super) fn of(path: &Path, before: &Option<Version>, after: &Option<Version>, kept: &Kept) -> Self {
        let name: String = path
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect();
        let mut shown = Shown {
            header: vec![format!("diff --git a/{name} b/{name}")],
            lines: Vec::new(),
            added: 0,
            removed: 0,
        };
        match (before, after) {
            (None, Some(new)) => shown.header.push(format!("new {} mode {}", noun(new), mode(new))),
            (Some(old), None) => shown.header.push(format!("deleted {} mode {}", noun(old), mode(old))),
            (Some(old), Some(new)) if mode(old) != mode(new) && is_noted(old) && is_noted(new) => {
                shown.header.push(format!("old mode {}", mode(old)));
                shown.header.push(format!("new mode {}", mode(new)));
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        let content = |version: &Option<Version>| version.as_ref().and_then(|version| version.content.clone());
        if content(before) != content(after) {
            shown.content(&name, before, after, kept);
        }
        shown
    }

    /// How many lines come and go.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.added, self.removed)
    }

    pub(super) fn render(&self, paint: Paint, is_terminal: bool) -> String {
        let mut text = String::new();
        for line in &self.header {
            text.push_str(&paint.bold(line));
            text.push('\n');
        }
        for line in &self.lines {
            let shown = match is_terminal {
                true => tame(line),
                false => line.clone(),
            };
            text.push_str(&match line.as_bytes().first() {
                Some(b'+') => paint.green(shown),
                Some(b'-') => paint.red(shown),
                Some(b'@') => paint.cyan(shown),
                Some(_) | None => shown,
            });
            text.push('\n');
        }
        text
    }

    fn content(&mut self, name: &str, before: &Option<Version>, after: &Option<Version>, kept: &Kept) {
        let text = |version: &Option<Version>| match version {
            None => Some(String::new()),
            Some(version) if matches!(version.kind, Kind::Folder { .. }) => Some(String::new()),
            Some(version) => {
                let bytes = kept.bytes(version, MOST)?;
                String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
            }
        };
        let (old, new) = match (text(before), text(after)) {
            (Some(old), Some(new)) => (old, new),
            (_, _) => {
                self.header.push(format!("Binary files a/{name} and b/{name} differ"));
                return;
            }
        };
        let end = if name.contains(' ') { "\t" } else { "" };
        let side = |version: &Option<Version>, letter: char| match version {
            Some(_) => format!("{letter}/{name}{end}"),
            None => "/dev/null".to_owned(),
        };
        self.header.push(format!("--- {}", side(before, 'a')));
        self.header.push(format!("+++ {}", side(after, 'b')));
        let diff = edit::unified(&old, &new, CONTEXT);
        (self.added, self.removed) = (diff.added, diff.removed);
        self.lines = diff.text.split_terminator('\n').map(str::to_owned).collect();
    }
}

fn is_noted(version: &Version) -> bool {
    match version.kind {
        Kind::File { mode } | Kind::Folder { mode } => mode.is_some(),
        Kind::Link => true,
    }
}

fn noun(version: &Version) -> &'static str {
    match version.kind {
        Kind::File { .. } | Kind::Link => "file",
        Kind::Folder { .. } => "folder",
    }
}

fn mode(version: &Version) -> String {
    match version.kind {
        Kind::File { mode } => format!("100{:03o}", mode.unwrap_or(0o644) & 0o777),
        Kind::Link => "120000".into(),
        Kind::Folder { mode } => format!("040{:03o}", mode.unwrap_or(0o755) & 0o777),
    }
}
