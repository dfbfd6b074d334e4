//! Excludes hidden paths from git while a command runs.
//!
//! In the sandbox a hidden file cannot be read, so `git add -A` would fail if it is untracked. Its path is added to the
//! repository's own exclude file, and removed after the command.

use crate::checkpoint::git_index_file;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const FIRST_LINE: &[u8] = b"# hidden from commands by hew, while one runs";
const LAST_LINE: &[u8] = b"# end of hidden paths";

/// Excluded paths of a repository. They are removed on drop.
#[derive(Debug)]
pub struct HiddenExcludes {
    file: PathBuf,
}

impl HiddenExcludes {
    /// Excludes the hidden paths in the repository that contains this folder. `None` if there are none, or if the file
    /// cannot be written.
    pub fn set(folder: &Path, hidden: &[PathBuf]) -> Option<Self> {
        let (top, index) = git_index_file(folder)?;
        let paths = hidden.iter().filter_map(|path| path.strip_prefix(&top).ok());
        let lines: Vec<Vec<u8>> = paths
            .filter(|path| !path.as_os_str().is_empty())
            .filter_map(pattern)
            .collect();
        if lines.is_empty() {
            return None;
        }
        let own = index.parent()?;
        // A linked worktree has the exclude file of the main one.
        let common = fs::read_to_string(own.join("commondir")).map(|common| own.join(common.trim()));
        let info = common.unwrap_or_else(|_| own.to_owned()).join("info");
        fs::create_dir_all(&info).ok()?;
        let file = info.join("exclude");
        let mut text = without_block(&read(&file).ok()?);
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
        replace(&file, &text).ok()?;
        Some(Self { file })
    }
}

impl Drop for HiddenExcludes {
    fn drop(&mut self) {
        let removed = read(&self.file).and_then(|text| replace(&self.file, &without_block(&text)));
        // If that fails, git ignores files that are hidden anyway.
        removed.ok();
    }
}

/// The content of a regular file; empty if there is none.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    match crate::read_regular_file(file, 1024 * 1024) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// Replaces a file, so that a link is not followed.
fn replace(file: &Path, text: &[u8]) -> io::Result<()> {
    let new = file.with_extension(format!("hew-{}", std::process::id()));
    fs::write(&new, text)?;
    fs::rename(new, file)
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

    #[test]
    fn hidden_paths_are_excluded_until_the_end() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/info")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(root.join(".git/index"), "").unwrap();
        let file = root.join(".git/info/exclude");
        fs::write(&file, "# own\n*.tmp").unwrap();
        let set = HiddenExcludes::set(&root, &[root.join("a b/*.key"), "/elsewhere".into()]).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.starts_with("# own\n*.tmp\n#") && text.contains("\n/a\\ b/\\*.key\n"),
            "{text}"
        );
        drop(set);
        assert_eq!(fs::read_to_string(&file).unwrap(), "# own\n*.tmp\n");
        assert!(HiddenExcludes::set(&root, &["/elsewhere".into()]).is_none());
    }
}
