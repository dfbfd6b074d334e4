//! Renders a changed path like `git diff`. Changes that git cannot express become comment lines, which git ignores.

use super::git_binary;
use crate::VersionContents;
use session::{FileKind, FileVersion};
use std::fmt;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Context lines of a change.
const CONTEXT: usize = 3;
/// Maximum size of a file that is compared line by line.
const MAX_TEXT_BYTES: u64 = 1024 * 1024;
/// Maximum size of a file in a patch.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// What a patch is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchTarget {
    /// Display: without binary data.
    Display,
    /// Input of `git apply`.
    Git,
}

/// Whether a created or removed folder is noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectoryNote {
    /// No: it is created or removed together with a file in it.
    Omit,
    /// Yes.
    Show,
}

/// The diff of a path.
#[derive(Debug, Default)]
pub struct PathDiff {
    /// Changes that the patch cannot express.
    pub notes: Vec<String>,
    /// One patch, or two if the file type changed.
    pub patches: Vec<GitPatch>,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
}

impl fmt::Display for PathDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patches = self
            .patches
            .iter()
            .flat_map(|patch| patch.header.iter().chain(&patch.lines));
        self.notes
            .iter()
            .chain(patches)
            .try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// The patch of one file.
#[derive(Debug, Default)]
pub struct GitPatch {
    /// The lines before the hunks.
    pub header: Vec<String>,
    /// The lines of the hunks.
    pub lines: Vec<String>,
}

impl PathDiff {
    pub(super) fn new(
        path: &Path,
        (before, after): (&Option<FileVersion>, &Option<FileVersion>),
        contents: &VersionContents,
        target: PatchTarget,
        note: DirectoryNote,
    ) -> Self {
        let mut diff = PathDiff::default();
        let name = GitPath(path);
        diff.folder(&name, before, after, note);
        let file = |version: &Option<FileVersion>| {
            version
                .clone()
                .filter(|version| !matches!(version.kind, FileKind::Folder { .. }))
        };
        match (file(before), file(after)) {
            // git treats a change of the file type as a deletion and a creation.
            (Some(old), Some(new)) if is_link(&old) != is_link(&new) => {
                diff.file(&name, Some(&old), None, contents, target);
                diff.file(&name, None, Some(&new), contents, target);
            }
            (old, new) => diff.file(&name, old.as_ref(), new.as_ref(), contents, target),
        }
        if path.is_absolute() {
            diff.comment_out();
        }
        diff
    }

    /// Notes changes of note, which git does not track.
    fn folder(
        &mut self,
        name: &GitPath<'_>,
        before: &Option<FileVersion>,
        after: &Option<FileVersion>,
        note: DirectoryNote,
    ) {
        let is_folder = |version: &&FileVersion| matches!(version.kind, FileKind::Folder { .. });
        let (old, new) = (before.as_ref().filter(is_folder), after.as_ref().filter(is_folder));
        let name = name.plain();
        match (old, new) {
            (None, Some(_)) if note == DirectoryNote::Show => self.notes.push(format!("# new empty folder: {name}/")),
            (Some(_), None) if note == DirectoryNote::Show => self.notes.push(format!("# removed folder: {name}/")),
            (Some(old), Some(new)) => {
                let (old, new) = (permissions(old), permissions(new));
                self.notes.push(format!("# mode of folder {name}/: {old:o} -> {new:o}"));
            }
            (None, _) | (_, None) => {}
        }
    }

    fn file(
        &mut self,
        name: &GitPath<'_>,
        old: Option<&FileVersion>,
        new: Option<&FileVersion>,
        contents: &VersionContents,
        target: PatchTarget,
    ) {
        let (a, b) = (name.with("a/"), name.with("b/"));
        let mut patch = GitPatch {
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
                    self.notes
                        .push(format!("# mode of {name}: {old:o} -> {new:o} (not tracked by git)"));
                }
            }
            (Some(_), Some(_)) => {}
        }
        let content = |version: Option<&FileVersion>| version.and_then(|version| version.content.clone());
        if content(old) != content(new) || old.is_none() || new.is_none() {
            let bytes = |version: Option<&FileVersion>| match version {
                None => Some(None),
                Some(version) => contents.bytes(version, MAX_FILE_BYTES).map(Some),
            };
            let (Some(before), Some(after)) = (bytes(old), bytes(new)) else {
                let name = name.plain();
                self.notes
                    .push(format!("# omitted: {name} (too large, or a version was not stored)"));
                return;
            };
            self.content(&mut patch, (&a, before.as_deref()), (&b, after.as_deref()), target);
        }
        if patch.header.len() > 1 || !patch.lines.is_empty() {
            self.patches.push(patch);
        }
    }

    fn content(
        &mut self,
        patch: &mut GitPatch,
        old: (&str, Option<&[u8]>),
        new: (&str, Option<&[u8]>),
        target: PatchTarget,
    ) {
        let (Some(before), Some(after)) = (text(old.1), text(new.1)) else {
            match git_binary::lines(old.1, new.1) {
                Ok(lines) if target == PatchTarget::Git => patch.lines = lines,
                Ok(_) | Err(_) => {
                    patch
                        .header
                        .push(format!("Binary files {} and {} differ", old.0, new.0));
                }
            }
            return;
        };
        let unified = edit::unified_diff(before, after, CONTEXT);
        if unified.text.is_empty() {
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
        self.added += unified.added;
        self.removed += unified.removed;
        patch.lines = unified.text.split_terminator('\n').map(str::to_owned).collect();
    }

    /// Comments the patch out: git cannot apply a patch outside the project, and would refuse the others too.
    fn comment_out(&mut self) {
        for patch in std::mem::take(&mut self.patches) {
            let lines = patch.header.into_iter().chain(patch.lines);
            self.notes.extend(lines.map(|line| format!("# {line}")));
        }
    }
}

/// A path in a patch.
struct GitPath<'a>(&'a Path);

impl GitPath<'_> {
    /// For display.
    fn plain(&self) -> String {
        self.0.display().to_string()
    }

    /// For git, which quotes paths with special characters.
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

/// Decodes text that is compared line by line; no content is an empty text.
fn text(bytes: Option<&[u8]>) -> Option<&str> {
    let bytes = bytes.unwrap_or_default();
    let text = std::str::from_utf8(bytes).ok()?;
    (bytes.len() as u64 <= MAX_TEXT_BYTES && !text.contains('\0')).then_some(text)
}

fn is_link(version: &FileVersion) -> bool {
    version.kind == FileKind::Link
}

fn is_noted(version: &FileVersion) -> bool {
    match version.kind {
        FileKind::File { mode } | FileKind::Folder { mode } => mode.is_some(),
        FileKind::Link => true,
    }
}

fn permissions(version: &FileVersion) -> u32 {
    match version.kind {
        FileKind::File { mode } => mode.unwrap_or(0o644),
        FileKind::Folder { mode } => mode.unwrap_or(0o755),
        FileKind::Link => 0,
    }
}

/// The mode in git, which only distinguishes executable files.
fn mode(version: &FileVersion) -> &'static str {
    match version.kind {
        FileKind::Link => "120000",
        FileKind::File { mode: Some(mode) } if mode & 0o100 != 0 => "100755",
        FileKind::File { .. } | FileKind::Folder { .. } => "100644",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_special_characters_are_quoted() {
        let named = |bytes: &[u8]| GitPath(Path::new(std::ffi::OsStr::from_bytes(bytes))).with("a/");
        assert_eq!(named("ä b".as_bytes()), "a/ä b");
        assert_eq!(named(b"tab\there"), "\"a/tab\\011here\"");
        assert_eq!(named(b"bad\xffname"), "\"a/bad\\377name\"");
        assert_eq!(named(b"a\"b"), "\"a/a\\\"b\"");
    }
}
