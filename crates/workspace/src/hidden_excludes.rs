//! Excludes hidden paths from git while a command runs.
//!
//! In the sandbox a hidden file cannot be read, so `git add -A` would fail if it is untracked. Its path is added to the
//! repository's own exclude file, and removed after the command.

use crate::git_folder::GitFolder;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const FIRST_LINE: &[u8] = b"# hidden from commands by hew, while one runs";
const EXCLUDE: &str = "exclude";
const LAST_LINE: &[u8] = b"# end of hidden paths";

/// Excluded paths of a repository. They are removed on drop.
#[derive(Debug)]
pub struct HiddenExcludes {
    info: GitFolder,
}

impl HiddenExcludes {
    /// Excludes the hidden paths in the repository that contains this folder. `None` if there are none, if the repository
    /// is not in one of the roots, or if the file cannot be written.
    pub fn set(folder: &Path, hidden: &[PathBuf], roots: &[PathBuf]) -> Option<Self> {
        let (top, git) = GitFolder::containing(folder, roots)?;
        let paths = hidden.iter().filter_map(|path| path.strip_prefix(&top).ok());
        let lines: Vec<Vec<u8>> = paths
            .filter(|path| !path.as_os_str().is_empty())
            .filter_map(pattern)
            .collect();
        if lines.is_empty() {
            return None;
        }
        // A linked worktree has the exclude file of the main one.
        let info = git.common(roots)?.subfolder("info").ok()?;
        let mut text = without_block(&read(&info).ok()?);
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        for line in [FIRST_LINE]
            .into_iter()
            .chain(lines.iter().map(Vec::as_slice))
            .chain([LAST_LINE])
        {
            text.extend(line);
            text.push(b'\n');
        }
        replace(&info, &text).ok()?;
        Some(Self { info })
    }
}

impl Drop for HiddenExcludes {
    fn drop(&mut self) {
        let removed = read(&self.info).and_then(|text| replace(&self.info, &without_block(&text)));
        // If that fails, git ignores files that are hidden anyway.
        removed.ok();
    }
}

/// Whether a command of hew has not removed its lines, because it is running or was killed.
pub(crate) fn has_block(git: GitFolder, roots: &[PathBuf]) -> bool {
    let info = git.common(roots).and_then(|git| git.subfolder("info").ok());
    let text = info.and_then(|info| read(&info).ok()).unwrap_or_default();
    without_block(&text) != text
}

/// The exclude file; empty if there is none.
fn read(info: &GitFolder) -> io::Result<Vec<u8>> {
    match info.read(EXCLUDE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map(|(text, _)| text),
    }
}

fn replace(info: &GitFolder, text: &[u8]) -> io::Result<()> {
    info.replace(EXCLUDE, &format!("exclude.hew-{}", std::process::id()), text, None)
}

/// The text without the lines of an earlier command.
fn without_block(text: &[u8]) -> Vec<u8> {
    let mut rest = Vec::new();
    let mut in_block = false;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n").unwrap_or(line) {
            FIRST_LINE => in_block = true,
            LAST_LINE if in_block => in_block = false,
            _ if in_block => {}
            _ => rest.extend(line),
        }
    }
    rest
}

/// A pattern that matches only this path; `None` if it contains a line break.
fn pattern(path: &Path) -> Option<Vec<u8>> {
    let mut pattern = vec![b'/'];
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'\n' | b'\r') {
            return None;
        }
        if b"\\*?[ ".contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    Some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn hidden_paths_are_excluded_until_the_end() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/info")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(root.join(".git/index"), "").unwrap();
        let file = root.join(".git/info/exclude");
        fs::write(&file, "# own\n*.tmp").unwrap();
        let (roots, hidden) = ([root.clone()], [root.join("a b/*.key"), "/other".into()]);
        let set = HiddenExcludes::set(&root, &hidden, &roots).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.starts_with("# own\n*.tmp\n#") && text.contains("\n/a\\ b/\\*.key\n"),
            "{text}"
        );
        drop(set);
        assert_eq!(fs::read_to_string(&file).unwrap(), "# own\n*.tmp\n");
        assert!(HiddenExcludes::set(&root, &["/other".into()], &roots).is_none());
        // Links and other repositories are not changed.
        let other = tempfile::tempdir().unwrap();
        fs::remove_dir_all(root.join(".git/info")).unwrap();
        std::os::unix::fs::symlink(other.path(), root.join(".git/info")).unwrap();
        assert!(HiddenExcludes::set(&root, &hidden, &roots).is_none());
        fs::remove_dir_all(root.join(".git")).unwrap();
        fs::write(root.join(".git"), format!("gitdir: {}", other.path().display())).unwrap();
        assert!(HiddenExcludes::set(&root, &hidden, &roots).is_none());
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
    }
}
