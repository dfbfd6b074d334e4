//! A changed path in the form of `git diff`. What such a patch has no words for is told in lines before it, which git passes over.

use super::binary;
use crate::commands::past::Kept;
use crate::output::paint::Paint;
use crate::output::words::tame;
use session::{Kind, Version};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// So many lines around a change are shown.
const CONTEXT: usize = 3;
/// A larger file is not compared by its lines.
const MOST_TEXT: u64 = 1024 * 1024;
/// A larger file is only named.
const MOST: u64 = 16 * 1024 * 1024;

/// Who reads a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// A person, who has nothing of letters that stand for bytes.
    Person,
    /// `git apply`, or a file for it.
    Git,
}

/// Whether a folder is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folders {
    /// It comes or goes with a file in it, so that it need not be.
    Implied,
    /// It does not.
    Alone,
}

/// A changed path, ready to be shown.
#[derive(Default)]
pub(super) struct Shown {
    /// What the patch cannot say.
    notes: Vec<String>,
    patches: Vec<Patch>,
    added: usize,
    removed: usize,
}

/// The patch of one file.
#[derive(Default)]
struct Patch {
    header: Vec<String>,
    lines: Vec<String>,
}

impl Shown {
    pub(super) fn of(
        path: &Path,
        (before, after): (&Option<Version>, &Option<Version>),
        kept: &Kept,
        reader: Reader,
        folders: Folders,
    ) -> Self {
        let mut shown = Shown::default();
        let name = Name(path);
        shown.folder(&name, before, after, folders);
        let file = |version: &Option<Version>| {
            version
                .clone()
                .filter(|version| !matches!(version.kind, Kind::Folder { .. }))
        };
        match (file(before), file(after)) {
            // git takes what becomes another kind of thing for one that goes and one that comes.
            (Some(old), Some(new)) if is_link(&old) != is_link(&new) => {
                shown.file(&name, Some(&old), None, kept, reader);
                shown.file(&name, None, Some(&new), kept, reader);
            }
            (old, new) => shown.file(&name, old.as_ref(), new.as_ref(), kept, reader),
        }
        if path.is_absolute() {
            shown.comment_out();
        }
        shown
    }

    /// How many lines come and go.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.added, self.removed)
    }

    /// What the patch cannot say, each on a line.
    pub(super) fn notes(&self, paint: Paint) -> String {
        let lines = self.notes.iter().map(|note| paint.dim(tame(note)) + "\n");
        lines.collect()
    }

    /// The patch.
    pub(super) fn patch(&self, paint: Paint, is_terminal: bool) -> String {
        let mut text = String::new();
        for patch in &self.patches {
            for line in &patch.header {
                text.push_str(&paint.bold(line));
                text.push('\n');
            }
            for line in &patch.lines {
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
        }
        text
    }

    /// git knows no folders.
    fn folder(&mut self, name: &Name<'_>, before: &Option<Version>, after: &Option<Version>, folders: Folders) {
        let is_folder = |version: &&Version| matches!(version.kind, Kind::Folder { .. });
        let (old, new) = (before.as_ref().filter(is_folder), after.as_ref().filter(is_folder));
        let name = name.plain();
        match (old, new) {
            (None, Some(_)) if folders == Folders::Alone => self.notes.push(format!("# new empty folder: {name}/")),
            (Some(_), None) if folders == Folders::Alone => self.notes.push(format!("# folder gone: {name}/")),
            (Some(old), Some(new)) => {
                let (old, new) = (permissions(old), permissions(new));
                self.notes
                    .push(format!("# mode of folder {name}/: {old:o} became {new:o}"));
            }
            (None, _) | (_, None) => {}
        }
    }

    fn file(&mut self, name: &Name<'_>, old: Option<&Version>, new: Option<&Version>, kept: &Kept, reader: Reader) {
        let (a, b) = (name.with("a/"), name.with("b/"));
        let mut patch = Patch {
            header: vec![format!("diff --git {a} {b}")],
            lines: Vec::new(),
        };
        match (old, new) {
            (None, None) => return,
            (None, Some(new)) => patch.header.push(format!("new file mode {}", mode(new))),
            (Some(old), None) => patch.header.push(format!("deleted file mode {}", mode(old))),
            (Some(old), Some(new)) if is_noted(old) && is_noted(new) => {
                if mode(old) != mode(new) {
                    patch.header.push(format!("old mode {}", mode(old)));
                    patch.header.push(format!("new mode {}", mode(new)));
                } else if permissions(old) != permissions(new) {
                    let (old, new) = (permissions(old), permissions(new));
                    let name = name.plain();
                    self.notes.push(format!(
                        "# mode of {name}: {old:o} became {new:o}, which git does not keep"
                    ));
                }
            }
            (Some(_), Some(_)) => {}
        }
        let content = |version: Option<&Version>| version.and_then(|version| version.content.clone());
        if content(old) != content(new) || old.is_none() || new.is_none() {
            let bytes = |version: Option<&Version>| match version {
                None => Some(None),
                Some(version) => kept.bytes(version, MOST).map(Some),
            };
            let (Some(before), Some(after)) = (bytes(old), bytes(new)) else {
                let name = name.plain();
                self.notes.push(format!(
                    "# left out: {name} (too large, or a version of it was not kept)"
                ));
                return;
            };
            self.content(&mut patch, (&a, before.as_deref()), (&b, after.as_deref()), reader);
        }
        if patch.header.len() > 1 || !patch.lines.is_empty() {
            self.patches.push(patch);
        }
    }

    fn content(&mut self, patch: &mut Patch, old: (&str, Option<&[u8]>), new: (&str, Option<&[u8]>), reader: Reader) {
        let (Some(before), Some(after)) = (text(old.1), text(new.1)) else {
            match binary::lines(old.1, new.1) {
                Ok(lines) if reader == Reader::Git => patch.lines = lines,
                Ok(_) | Err(_) => {
                    patch
                        .header
                        .push(format!("Binary files {} and {} differ", old.0, new.0));
                }
            }
            return;
        };
        let diff = edit::unified(before, after, CONTEXT);
        if diff.text.is_empty() {
            return;
        }
        let side = |(name, bytes): (&str, Option<&[u8]>)| match bytes {
            // A tab ends a name that has spaces in it.
            Some(_) if name.contains(' ') && !name.starts_with('"') => format!("{name}\t"),
            Some(_) => name.to_owned(),
            None => "/dev/null".to_owned(),
        };
        patch.header.push(format!("--- {}", side(old)));
        patch.header.push(format!("+++ {}", side(new)));
        self.added += diff.added;
        self.removed += diff.removed;
        patch.lines = diff.text.split_terminator('\n').map(str::to_owned).collect();
    }

    /// A patch of a file outside the project cannot be applied to it, and would keep git from the others.
    fn comment_out(&mut self) {
        for patch in std::mem::take(&mut self.patches) {
            let lines = patch.header.into_iter().chain(patch.lines);
            self.notes.extend(lines.map(|line| format!("# {line}")));
        }
    }
}

/// A path as patches name it.
struct Name<'a>(&'a Path);

impl Name<'_> {
    /// For people.
    fn plain(&self) -> String {
        self.0.display().to_string()
    }

    /// For git, which puts a name that is not plain into quotes.
    fn with(&self, prefix: &str) -> String {
        let bytes = self.0.as_os_str().as_bytes();
        let is_plain = |text: &&str| !text.chars().any(|c| c.is_control() || c == '"' || c == '\\');
        if let Some(text) = std::str::from_utf8(bytes).ok().filter(is_plain) {
            return format!("{prefix}{text}");
        }
        let mut quoted = format!("\"{prefix}");
        for byte in bytes {
            match byte {
                b'"' | b'\\' => {
                    quoted.push('\\');
                    quoted.push(char::from(*byte));
                }
                b' '..=b'~' => quoted.push(char::from(*byte)),
                // Writing to a string does not fail.
                other => write!(quoted, "\\{other:03o}").unwrap_or_default(),
            }
        }
        quoted.push('"');
        quoted
    }
}

/// Bytes as text that is compared by its lines; nothing is an empty text.
fn text(bytes: Option<&[u8]>) -> Option<&str> {
    let bytes = bytes.unwrap_or_default();
    let text = std::str::from_utf8(bytes).ok()?;
    (bytes.len() as u64 <= MOST_TEXT && !text.contains('\0')).then_some(text)
}

fn is_link(version: &Version) -> bool {
    version.kind == Kind::Link
}

fn is_noted(version: &Version) -> bool {
    match version.kind {
        Kind::File { mode } | Kind::Folder { mode } => mode.is_some(),
        Kind::Link => true,
    }
}

fn permissions(version: &Version) -> u32 {
    match version.kind {
        Kind::File { mode } => mode.unwrap_or(0o644),
        Kind::Folder { mode } => mode.unwrap_or(0o755),
        Kind::Link => 0,
    }
}

/// The mode that git knows a file by: it tells only those that can be run from others.
fn mode(version: &Version) -> &'static str {
    match version.kind {
        Kind::Link => "120000",
        Kind::File { mode: Some(mode) } if mode & 0o100 != 0 => "100755",
        Kind::File { .. } | Kind::Folder { .. } => "100644",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_plain_is_quoted() {
        let named = |bytes: &[u8]| Name(Path::new(std::ffi::OsStr::from_bytes(bytes))).with("a/");
        assert_eq!(named("ä b".as_bytes()), "a/ä b");
        assert_eq!(named(b"tab\there"), "\"a/tab\\011here\"");
        assert_eq!(named(b"bad\xffname"), "\"a/bad\\377name\"");
        assert_eq!(named(b"a\"b"), "\"a/a\\\"b\"");
    }
}
