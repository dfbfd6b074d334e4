//! What waits for review at a path besides its bytes: permissions, and links.

use super::gather::Happening;
use session::{Kind, Version, alike};

/// Permissions that count as accepted, and those that a file has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Modes {
    pub(super) base: u32,
    pub(super) current: u32,
}

/// How a path is looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// By its bytes; permissions that the agent changed are a change of their own.
    Lines { modes: Option<Modes> },
    /// As a whole, because a link stood there at some time: what counts as accepted, and what stands there.
    Whole {
        base: Option<Version>,
        current: Option<Version>,
    },
    /// A link stood there at some time, and nothing is left to look at.
    Settled,
}

/// What waits at a path, by what happened there and what stands there now.
pub(super) fn follow(happenings: &[Happening<'_>], now: &dyn Fn() -> Option<Version>) -> Form {
    let is_link = |happening: &Happening<'_>| {
        let (before, after) = sides(happening);
        before
            .into_iter()
            .chain(after)
            .any(|version| version.kind == Kind::Link)
    };
    if happenings.iter().any(is_link) {
        return whole(happenings, now());
    }
    let mut waiting: Option<Modes> = None;
    for happening in happenings {
        waiting = match (happening, sides(happening)) {
            (Happening::Reviewed(_), (before, after)) => modes(before, after),
            (Happening::Changed(_), (Some(before), Some(after))) => match modes(Some(before), Some(after)) {
                Some(next) => Some(Modes {
                    base: waiting.map_or(next.base, |modes| modes.base),
                    ..next
                }),
                None => waiting,
            },
            // A file that comes or goes does so with its permissions.
            (Happening::Changed(_), (None, _) | (_, None)) => None,
        };
    }
    // Whoever has changed them since has decided about them.
    let modes = waiting
        .filter(|modes| modes.base != modes.current)
        .filter(|modes| now().as_ref().and_then(mode) == Some(modes.current));
    Form::Lines { modes }
}

fn whole(happenings: &[Happening<'_>], now: Option<Version>) -> Form {
    let base = happenings.first().and_then(|happening| sides(happening).0).cloned();
    let current = happenings.last().and_then(|happening| sides(happening).1);
    // Whoever has put something else there has decided about it.
    match alike(current, now.as_ref()) && !alike(base.as_ref(), current) {
        true => Form::Whole { base, current: now },
        false => Form::Settled,
    }
}

fn sides<'a>(happening: &Happening<'a>) -> (Option<&'a Version>, Option<&'a Version>) {
    match happening {
        Happening::Changed(change) => (change.before.as_ref(), change.after.as_ref()),
        Happening::Reviewed(reviewed) => (reviewed.base.as_ref(), reviewed.current.as_ref()),
    }
}

fn modes(before: Option<&Version>, after: Option<&Version>) -> Option<Modes> {
    let (base, current) = (before.and_then(mode)?, after.and_then(mode)?);
    Some(Modes { base, current })
}

/// The permissions of a file, where they were noted.
fn mode(version: &Version) -> Option<u32> {
    match version.kind {
        Kind::File { mode } => mode,
        Kind::Link | Kind::Folder { .. } => None,
    }
}

impl Modes {
    /// Both, in words for each side.
    pub(super) fn words(self) -> (String, String) {
        (format!("mode {:o}", self.base), format!("mode {:o}", self.current))
    }
}
