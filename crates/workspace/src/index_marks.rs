//! Marks tracked files that are hidden from commands as unchanged in git's index while a command runs.
//!
//! In the sandbox a hidden file is a device and a hidden folder is empty, so git would refuse to commit the former and
//! commit the deletion of the latter. An entry with the "assume unchanged" bit is not compared with the file. Only this
//! bit and the checksum of the index are changed, and the bit is cleared after the command.

use crate::git_folder::GitFolder;
use crate::hidden_excludes::has_block;
use gix_hash::Kind;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The "assume unchanged" bit in the first of the two bytes of an entry's flags.
const ASSUME_UNCHANGED: u8 = 0x80;
/// The bit for extended flags in the same byte.
const EXTENDED: u8 = 0x40;
/// The length of an entry before its flags.
const STAT_BYTES: usize = 60;
/// The length of the checksum at the end.
const CHECKSUM_BYTES: usize = 20;

/// Marked entries of an index. They are cleared on drop.
#[derive(Debug)]
pub struct IndexMarks {
    git: GitFolder,
    /// Paths relative to the working tree.
    marked: BTreeSet<Vec<u8>>,
}

impl IndexMarks {
    /// Marks the tracked files at or below the hidden paths, in the repository that contains this folder. `None` if there
    /// are none, if the repository is not in one of the roots, or if the index is in use or not supported.
    pub fn set(folder: &Path, hidden: &[PathBuf], roots: &[PathBuf]) -> Option<Self> {
        let (top, git) = GitFolder::containing(folder, roots)?;
        let hidden: BTreeSet<&[u8]> = hidden
            .iter()
            .filter_map(|path| Some(path.strip_prefix(&top).ok()?.as_os_str().as_bytes()))
            .filter(|path| !path.is_empty())
            .collect();
        if hidden.is_empty() {
            return None;
        }
        let is_hidden = |path: &[u8]| {
            let mut above = Path::new(OsStr::from_bytes(path)).ancestors();
            above.any(|path| hidden.contains(path.as_os_str().as_bytes()))
        };
        // Marks of a session that was killed are cleared with those of this command.
        let is_left_over = GitFolder::containing(folder, roots).is_some_and(|(_, git)| has_block(git, roots));
        let mut marked = BTreeSet::new();
        change(&git, |path, flags| {
            if (*flags & ASSUME_UNCHANGED == 0 || is_left_over) && is_hidden(path) {
                *flags |= ASSUME_UNCHANGED;
                marked.insert(path.to_vec());
            }
        })
        .ok()?;
        (!marked.is_empty()).then_some(IndexMarks { git, marked })
    }
}

impl Drop for IndexMarks {
    fn drop(&mut self) {
        let cleared = change(&self.git, |path, flags| {
            if self.marked.contains(path) {
                *flags &= !ASSUME_UNCHANGED;
            }
        });
        // The bits stay if git has the index locked; git then ignores changes of these files until they are cleared.
        cleared.ok();
    }
}

/// Changes the flags of entries: `visit` gets the path and the first byte of the flags of each.
fn change(git: &GitFolder, mut visit: impl FnMut(&[u8], &mut u8)) -> io::Result<()> {
    let (mut bytes, mode) = git.read("index")?;
    let body = bytes.len().saturating_sub(CHECKSUM_BYTES);
    let Some(entries) = entries(&bytes[..body]).filter(|_| is_intact(&bytes)) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let before = bytes.clone();
    for (path, flags) in entries {
        visit(&path, &mut bytes[flags]);
    }
    if bytes == before {
        return Ok(());
    }
    if bytes[body..].iter().any(|byte| *byte != 0) {
        let checksum = checksum(&bytes[..body])?;
        bytes[body..].copy_from_slice(&checksum);
    }
    // As git does: if the lock exists, the index is in use.
    git.replace("index", "index.lock", &bytes, Some(mode))
}

/// Whether the checksum is correct, or not used.
fn is_intact(bytes: &[u8]) -> bool {
    let (body, end) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    end.iter().all(|byte| *byte == 0) || checksum(body).is_ok_and(|checksum| checksum == end)
}

fn checksum(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut hasher = gix_hash::hasher(Kind::Sha1);
    hasher.update(bytes);
    let id = hasher.try_finalize().map_err(io::Error::other)?;
    Ok(id.as_bytes().to_vec())
}

/// The path of each entry and the position of its flags; `None` if the format is not supported.
fn entries(bytes: &[u8]) -> Option<Vec<(Vec<u8>, usize)>> {
    let number = |range: Range<usize>| Some(u32::from_be_bytes(bytes.get(range)?.try_into().ok()?));
    let version = number(4..8)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let (mut all, mut at, mut path) = (Vec::new(), 12, Vec::new());
    for _ in 0..number(8..12)? {
        let flags = at + STAT_BYTES;
        let is_extended = bytes.get(flags)? & EXTENDED != 0;
        let mut name = flags + if is_extended { 4 } else { 2 };
        let stripped = match version {
            4 => variable_number(bytes, &mut name)?,
            _ => path.len(),
        };
        let end = name + bytes.get(name..)?.iter().position(|byte| *byte == 0)?;
        path.truncate(path.len().checked_sub(stripped)?);
        path.extend(&bytes[name..end]);
        all.push((path.clone(), flags));
        at = match version {
            4 => end + 1,
            // Padded with one to eight bytes to a multiple of eight.
            _ => at + ((end - at) / 8 + 1) * 8,
        };
    }
    Some(all)
}

/// Reads a number in git's encoding for offsets.
fn variable_number(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut next = || {
        let byte = *bytes.get(*at)?;
        *at += 1;
        Some(byte)
    };
    let mut byte = next()?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = next()?;
        value = (value.checked_add(1)?.checked_shl(7)?) | usize::from(byte & 0x7f);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn index(version: u32) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        let names = [".env", "code.txt", "secrets/a", "secrets/b"];
        bytes.extend(version.to_be_bytes());
        bytes.extend((names.len() as u32).to_be_bytes());
        let mut last = "";
        for name in names {
            let start = bytes.len();
            bytes.extend([7; STAT_BYTES]);
            bytes.extend((name.len() as u16).to_be_bytes());
            if version == 4 {
                let shared = last.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
                bytes.push((last.len() - shared) as u8);
                bytes.extend(&name.as_bytes()[shared..]);
                bytes.push(0);
            } else {
                bytes.extend(name.as_bytes());
                bytes.push(0);
                while !(bytes.len() - start).is_multiple_of(8) {
                    bytes.push(0);
                }
            }
            last = name;
        }
        bytes.extend(b"EXT extension");
        let checksum = checksum(&bytes).unwrap();
        bytes.extend(checksum);
        bytes
    }

    #[test]
    fn entries_of_hidden_files_are_marked_and_cleared_again() {
        for version in [2, 4] {
            let temp = tempfile::tempdir().unwrap();
            let root = temp.path().canonicalize().unwrap();
            let (roots, hidden) = ([root.clone()], [root.join(".env"), root.join("secrets")]);
            fs::create_dir(root.join(".git")).unwrap();
            fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
            let path = root.join(".git/index");
            let original = index(version);
            fs::write(&path, &original).unwrap();
            assert!(IndexMarks::set(&root, &[root.join("other")], &roots).is_none());
            let marks = IndexMarks::set(&root, &hidden, &roots).unwrap();
            let names: Vec<&[u8]> = marks.marked.iter().map(Vec::as_slice).collect();
            assert_eq!(
                names,
                [b".env".as_slice(), b"secrets/a", b"secrets/b"],
                "version {version}"
            );
            let marked = fs::read(&path).unwrap();
            assert!(is_intact(&marked) && marked != original);
            drop(marks);
            assert_eq!(fs::read(&path).unwrap(), original);
            // The marks of a killed session are cleared with the next ones.
            let killed = (
                IndexMarks::set(&root, &hidden, &roots),
                crate::HiddenExcludes::set(&root, &hidden, &roots),
            );
            std::mem::forget(killed);
            drop(IndexMarks::set(&root, &hidden, &roots).unwrap());
            assert_eq!(fs::read(&path).unwrap(), original);
            // A locked or damaged index is not changed.
            fs::write(root.join(".git/index.lock"), "").unwrap();
            assert!(IndexMarks::set(&root, &hidden, &roots).is_none());
            fs::remove_file(root.join(".git/index.lock")).unwrap();
            fs::write(&path, &original[..original.len() - 1]).unwrap();
            assert!(IndexMarks::set(&root, &hidden, &roots).is_none());
            // A pipe is not read.
            fs::remove_file(&path).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR,
                0,
            )
            .unwrap();
            assert!(IndexMarks::set(&root, &hidden, &roots).is_none());
        }
    }
}
