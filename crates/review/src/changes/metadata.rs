//! Pending changes of a path other than its content: permissions and symbolic links.

use super::trace::FileEvent;
use session::{FileKind, FileVersion, same_version};

/// Accepted and current permissions of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModeChange {
    /// The accepted permissions.
    pub base: u32,
    /// The current permissions.
    pub current: u32,
}

/// How a path is reviewed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MetadataChange {
    /// By content. Changed permissions are a separate change.
    Content { modes: Option<ModeChange> },
    /// As a whole, because the path is or was a symbolic link: the accepted and the current version.
    Link {
        base: Option<FileVersion>,
        current: Option<FileVersion>,
    },
    /// The path is or was a symbolic link, and nothing is pending.
    Settled,
}

/// Computes the pending change of a path from its events and its current version.
pub(super) fn metadata_change(events: &[FileEvent<'_>], now: &dyn Fn() -> Option<FileVersion>) -> MetadataChange {
    let is_link = |event: &FileEvent<'_>| {
        let (before, after) = sides(event);
        before
            .into_iter()
            .chain(after)
            .any(|version| version.kind == FileKind::Link)
    };
    if events.iter().any(is_link) {
        return link_change(events, now());
    }
    let mut pending: Option<ModeChange> = None;
    for event in events {
        pending = match (event, sides(event)) {
            (FileEvent::Reviewed(_), (before, after)) => modes(before, after),
            (FileEvent::Changed(_), (Some(before), Some(after))) => match modes(Some(before), Some(after)) {
                Some(next) => Some(ModeChange {
                    base: pending.map_or(next.base, |modes| modes.base),
                    ..next
                }),
                None => pending,
            },
            // A created or deleted file includes its permissions.
            (FileEvent::Changed(_), (None, _) | (_, None)) => None,
        };
    }
    // A later change outside the session settles them.
    let modes = pending
        .filter(|modes| modes.base != modes.current)
        .filter(|modes| now().as_ref().and_then(mode) == Some(modes.current));
    MetadataChange::Content { modes }
}

fn link_change(events: &[FileEvent<'_>], now: Option<FileVersion>) -> MetadataChange {
    let base = events.first().and_then(|event| sides(event).0).cloned();
    let current = events.last().and_then(|event| sides(event).1);
    // A later change outside the session settles it.
    match same_version(current, now.as_ref()) && !same_version(base.as_ref(), current) {
        true => MetadataChange::Link { base, current: now },
        false => MetadataChange::Settled,
    }
}

fn sides<'a>(event: &FileEvent<'a>) -> (Option<&'a FileVersion>, Option<&'a FileVersion>) {
    match event {
        FileEvent::Changed(change) => (change.before.as_ref(), change.after.as_ref()),
        FileEvent::Reviewed(reviewed) => (reviewed.base.as_ref(), reviewed.current.as_ref()),
    }
}

fn modes(before: Option<&FileVersion>, after: Option<&FileVersion>) -> Option<ModeChange> {
    let (base, current) = (before.and_then(mode)?, after.and_then(mode)?);
    Some(ModeChange { base, current })
}

/// The recorded permissions of a file.
fn mode(version: &FileVersion) -> Option<u32> {
    match version.kind {
        FileKind::File { mode } => mode,
        FileKind::Link | FileKind::Folder { .. } => None,
    }
}

impl ModeChange {
    /// Text for the accepted and for the current permissions.
    pub(super) fn describe(self) -> (String, String) {
        (format!("mode {:o}", self.base), format!("mode {:o}", self.current))
    }
}
