//! Finds paths in a project before each command. Folders that did not change since the last scan are not read again.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::open_up;

/// The maximum number of folders that are remembered.
const MAX_FOLDERS: usize = 1_000_000;
/// Git treats a folder with the first three, or with the first and the last, as a repository.
const GIT_ENTRIES: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];
/// A folder that changed this short before it was read may have changed again without a new time.
const UNCERTAIN: Duration = Duration::from_millis(100);

/// What a scan does with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanStep {
    /// It is searched, if it is a folder.
    Enter,
    /// It is not searched.
    Skip,
    /// It is listed and not searched.
    Hidden,
    /// It is listed and not searched.
    Protected,
    /// It is listed and not searched.
    Rules,
    /// It is listed, and searched if it is a folder: `.git`. A folder with the contents of a git directory is treated
    /// likewise.
    Repository,
}

/// A repeated search of a project.
#[derive(Debug, Default)]
pub struct TreeScan {
    folders: HashMap<PathBuf, ScannedFolder>,
    is_too_large: bool,
}

#[derive(Debug, Clone)]
struct ScannedFolder {
    stamp: FolderStamp,
    found: Vec<(PathBuf, ScanStep)>,
    subfolders: Vec<PathBuf>,
}

/// Identifies the state of a folder. The change time cannot be set by programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FolderStamp {
    id: (u64, u64),
    changed: (i64, i64),
    is_certain: bool,
}

impl TreeScan {
    /// The listed paths below these folders. `decide` gets each path and whether it is a folder; links are not followed.
    pub fn update(&mut self, roots: &[PathBuf], decide: impl Fn(&Path, bool) -> ScanStep) -> Vec<(PathBuf, ScanStep)> {
        let mut before = std::mem::take(&mut self.folders);
        let mut pending: Vec<PathBuf> = roots.to_vec();
        let mut found = Vec::new();
        let mut devices = HashMap::new();
        while let Some(path) = pending.pop() {
            if self.folders.len() >= MAX_FOLDERS {
                break;
            }
            // It may have been removed meanwhile, or cannot be read by commands either.
            let Ok(stamp) = FolderStamp::new(&path) else { continue };
            if *devices
                .entry(stamp.id.0)
                .or_insert_with(|| is_kernel_file_system(&path))
            {
                continue;
            }
            let known = before
                .remove(&path)
                .filter(|known| known.stamp == stamp && stamp.is_certain);
            let folder = match known {
                Some(known) => known,
                None => ScannedFolder::read(&path, stamp, &decide),
            };
            pending.extend(folder.subfolders.iter().cloned());
            found.extend(folder.found.iter().cloned());
            self.folders.insert(path, folder);
        }
        self.is_too_large = self.folders.len() >= MAX_FOLDERS;
        found
    }

    /// Whether the last update found too many folders to search them before each command.
    pub fn is_too_large(&self) -> bool {
        self.is_too_large
    }
}

/// Whether a folder shows the state of the kernel instead of files, such as `/proc`.
#[cfg(target_os = "linux")]
fn is_kernel_file_system(folder: &Path) -> bool {
    // `PROC_SUPER_MAGIC`, `SYSFS_MAGIC`
    const KINDS: [u64; 2] = [0x9FA0, 0x6265_6572];
    rustix::fs::statfs(folder).is_ok_and(|status| KINDS.contains(&(status.f_type as u64)))
}

#[cfg(not(target_os = "linux"))]
fn is_kernel_file_system(_: &Path) -> bool {
    false
}

impl FolderStamp {
    fn new(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        if !metadata.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let changed = Duration::new(
            metadata.ctime().try_into().unwrap_or_default(),
            metadata.ctime_nsec().try_into().unwrap_or_default(),
        );
        let age = SystemTime::now().duration_since(UNIX_EPOCH + changed);
        Ok(Self {
            id: (metadata.dev(), metadata.ino()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            is_certain: age.is_ok_and(|age| age > UNCERTAIN),
        })
    }
}

impl ScannedFolder {
    fn read(path: &Path, stamp: FolderStamp, decide: &impl Fn(&Path, bool) -> ScanStep) -> Self {
        let mut folder = Self {
            stamp,
            found: Vec::new(),
            subfolders: Vec::new(),
        };
        let mut git_entries = [false; GIT_ENTRIES.len()];
        let entries = fs::read_dir(path).or_else(|error| match error.kind() {
            // A command may have taken away the user's permission to list it; git does not need that.
            io::ErrorKind::PermissionDenied => open_up(path).and_then(|()| fs::read_dir(path)),
            _ => Err(error),
        });
        for entry in entries.into_iter().flatten().flatten() {
            for (is_present, name) in git_entries.iter_mut().zip(GIT_ENTRIES) {
                *is_present |= entry.file_name() == name;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let path = entry.path();
            match decide(&path, is_folder) {
                ScanStep::Enter if is_folder => folder.subfolders.push(path),
                ScanStep::Enter | ScanStep::Skip => {}
                ScanStep::Repository => {
                    folder.found.push((path.clone(), ScanStep::Repository));
                    folder.subfolders.extend(is_folder.then_some(path));
                }
                step @ (ScanStep::Hidden | ScanStep::Protected | ScanStep::Rules) => folder.found.push((path, step)),
            }
        }
        if let [true, true, true, _] | [true, _, _, true] = git_entries
            && !path.ends_with(".git")
        {
            folder.found.push((path.to_owned(), ScanStep::Repository));
        }
        folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn file_systems_of_the_kernel_are_not_searched() {
        let mut scan = TreeScan::default();
        let found = scan.update(&["/proc".into(), "/sys".into()], |_, _| ScanStep::Rules);
        assert_eq!(found, []);
    }

    #[test]
    fn changes_are_found_in_the_next_scan() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let mut scan = TreeScan::default();
        let mut found = || {
            let decide = |path: &Path, _: bool| match path.file_name().and_then(|name| name.to_str()) {
                Some(".env") => ScanStep::Hidden,
                Some("skipped") => ScanStep::Skip,
                _ => ScanStep::Enter,
            };
            let mut found = scan.update(std::slice::from_ref(&root), decide);
            found.sort_by(|(a, _), (b, _)| a.cmp(b));
            let names = found
                .iter()
                .map(|(path, _)| path.strip_prefix(&root).unwrap().display().to_string());
            names.collect::<Vec<_>>().join(" ")
        };
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("skipped")).unwrap();
        fs::write(root.join("skipped/.env"), "").unwrap();
        assert_eq!(found(), "");
        fs::write(root.join("a/b/.env"), "").unwrap();
        assert_eq!(found(), "a/b/.env");
        fs::rename(root.join("a"), root.join("c")).unwrap();
        assert_eq!(found(), "c/b/.env");
        fs::rename(root.join("c/b/.env"), root.join("c/.env")).unwrap();
        std::os::unix::fs::symlink(root.join("c"), root.join("link")).unwrap();
        assert_eq!(found(), "c/.env");
        fs::create_dir_all(root.join("bare/objects")).unwrap();
        fs::create_dir_all(root.join("bare/refs")).unwrap();
        fs::write(root.join("bare/HEAD"), "").unwrap();
        assert_eq!(found(), "bare c/.env");
    }
}
