//! Makes entries that a command has left behind ineffective. No component of a path is followed if it is a link, and
//! no name that a command has taken before prevents it.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::io::Errno;

use crate::write::EntryHandle;

/// The maximum number of names that are tried.
const MAX_TRIES: usize = 100;
/// So many names are numbered; a command can take all of them, but cannot predict the others.
const NUMBERED_TRIES: usize = 10;
/// The length of a name that leaves room for a number and an extension.
const SHORT_NAME: usize = 200;

/// Gives an entry another name in its folder, which ends with `.EXTENSION`.
pub fn set_aside(path: &Path, extension: &str) -> io::Result<()> {
    let entry = EntryHandle::open_parent(path)?;
    let name = path.file_name().unwrap_or_default();
    let mut is_opened = false;
    let mut number = 0;
    while number < MAX_TRIES {
        match entry.rename(&entry.neighbour(free_name(name, number, extension))?) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST | Errno::NAMETOOLONG) => number += 1,
            // A command can take away the user's own permissions.
            Err(Errno::ACCESS | Errno::PERM) if !is_opened => {
                is_opened = true;
                entry.open_up_folder()?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Creates a file; an entry with this name is set aside before.
pub fn replace_file(path: &Path, content: &[u8], extension: &str) -> io::Result<()> {
    let entry = EntryHandle::open_parent(path)?;
    if entry.is_taken() {
        set_aside(path, extension)?;
    }
    entry.create(0o644)?.write_all(content)
}

/// Removes a link.
pub fn remove_link(path: &Path) -> io::Result<()> {
    let entry = EntryHandle::open_parent(path)?;
    entry.link()?;
    entry.remove_file()
}

/// Lets the user read a folder whose permissions a command has taken away.
pub fn open_up(folder: &Path) -> io::Result<()> {
    EntryHandle::open_parent(&folder.join("_"))?.open_up_folder()
}

fn free_name(name: &OsStr, number: usize, extension: &str) -> OsString {
    let mut bytes = name.as_bytes().to_vec();
    let number = match number {
        0..NUMBERED_TRIES => number as u128,
        _ => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos(),
    };
    if number > 0 {
        bytes.truncate(SHORT_NAME);
        bytes.extend(format!(".{number}").bytes());
    }
    bytes.extend(format!(".{extension}").bytes());
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn no_taken_or_long_name_and_no_permissions_prevent_it() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let long = "x".repeat(255);
        for name in ["hook", &long] {
            let path = root.join(name);
            fs::write(&path, "evil").unwrap();
            fs::create_dir_all(root.join("hook.off/x")).unwrap();
            fs::set_permissions(&root, fs::Permissions::from_mode(0o500)).unwrap();
            set_aside(&path, "off").unwrap();
            assert!(!path.exists());
        }
        assert_eq!(fs::read_to_string(root.join("hook.1.off")).unwrap(), "evil");
        assert_eq!(
            fs::read_dir(&root)
                .unwrap()
                .flatten()
                .filter(|entry| entry.path().extension().is_some_and(|end| end == "off"))
                .count(),
            3
        );
    }

    #[test]
    fn a_name_that_cannot_be_predicted_is_free() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::write(root.join("hook"), "evil").unwrap();
        fs::write(root.join("hook.off"), "").unwrap();
        for number in 1..2 * MAX_TRIES {
            fs::write(root.join(format!("hook.{number}.off")), "").unwrap();
        }
        set_aside(&root.join("hook"), "off").unwrap();
        assert!(!root.join("hook").exists());
    }

    #[test]
    fn links_redirect_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir(root.join("outside")).unwrap();
        fs::write(root.join("outside/file"), "mine").unwrap();
        symlink("outside", root.join("folder")).unwrap();
        symlink("outside/file", root.join("config")).unwrap();
        assert!(set_aside(&root.join("folder/file"), "off").is_err());
        assert!(replace_file(&root.join("folder/file"), b"evil", "off").is_err());
        replace_file(&root.join("config"), b"new", "off").unwrap();
        assert_eq!(fs::read_to_string(root.join("outside/file")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(root.join("config")).unwrap(), "new");
        assert!(root.join("config.off").is_symlink());
    }

    #[test]
    fn a_program_that_restores_a_link_redirects_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let (victim, file) = (root.join("victim"), root.join("config"));
        fs::write(&victim, "mine").unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    drop(symlink(&victim, &file));
                }
            });
            for _ in 0..500 {
                // It fails if the link is back already.
                drop(replace_file(&file, b"evil", "off"));
                drop(fs::remove_file(&file));
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
    }
}
