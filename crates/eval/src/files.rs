//! Copies of folders.

use crate::error::Error;
use crate::task::TextReplacement;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A folder to copy.
pub(crate) struct FolderCopy<'a> {
    pub(crate) from: &'a Path,
    pub(crate) to: &'a Path,
    /// Not copied, relative to `from`.
    pub(crate) exclude: &'a [PathBuf],
    /// Replacements in text files.
    pub(crate) replace: &'a [TextReplacement],
}

impl FolderCopy<'_> {
    /// Copies files, folders, links and modes. Existing files are replaced.
    pub(crate) fn run(&self) -> Result<(), Error> {
        self.copy(Path::new(""))
    }

    fn copy(&self, relative: &Path) -> Result<(), Error> {
        let from = self.from.join(relative);
        create_folder(self.to, relative)?;
        for entry in fs::read_dir(&from).map_err(Error::file(&from))? {
            let entry = entry.map_err(Error::file(&from))?;
            let path = relative.join(entry.file_name());
            if self.exclude.contains(&path) {
                continue;
            }
            let kind = entry.file_type().map_err(Error::file(&entry.path()))?;
            let target = self.to.join(&path);
            if kind.is_dir() {
                self.copy(&path)?;
            } else if kind.is_symlink() {
                let link = fs::read_link(entry.path()).map_err(Error::file(&entry.path()))?;
                remove_file(&target)?;
                std::os::unix::fs::symlink(link, &target).map_err(Error::file(&target))?;
            } else {
                // Never written through a link, which could point anywhere.
                remove_file(&target)?;
                fs::copy(entry.path(), &target).map_err(Error::file(&target))?;
                self.replace_text(&target)?;
            }
        }
        Ok(())
    }

    fn replace_text(&self, path: &Path) -> Result<(), Error> {
        if self.replace.is_empty() {
            return Ok(());
        }
        // Other files are not text.
        let Ok(text) = fs::read_to_string(path) else {
            return Ok(());
        };
        let replaced = self
            .replace
            .iter()
            .fold(text.clone(), |text, TextReplacement { old, new }| {
                text.replace(old, new)
            });
        match replaced == text {
            true => Ok(()),
            false => fs::write(path, replaced).map_err(Error::file(path)),
        }
    }
}

/// Writes a file in a folder. Paths that leave the folder are errors.
pub(crate) fn write_inside(folder: &Path, relative: &str, text: &[u8]) -> Result<(), Error> {
    let path = Path::new(relative);
    if !path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    {
        return Err(Error::task(path, "the path leaves the project"));
    }
    create_folder(folder, path.parent().unwrap_or(Path::new("")))?;
    let path = folder.join(path);
    remove_file(&path)?;
    fs::write(&path, text).map_err(Error::file(&path))
}

/// Copies one file, with its mode.
pub(crate) fn copy_inside(from: &Path, folder: &Path, relative: &Path) -> Result<(), Error> {
    create_folder(folder, relative.parent().unwrap_or(Path::new("")))?;
    let to = folder.join(relative);
    remove_file(&to)?;
    fs::copy(from, &to).map(drop).map_err(Error::file(from))
}

/// Creates a folder below a root. A link or file in its place is removed: an agent may have created it.
fn create_folder(root: &Path, relative: &Path) -> Result<(), Error> {
    fs::create_dir_all(root).map_err(Error::file(root))?;
    let mut path = root.to_owned();
    for part in relative.components() {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => continue,
            Ok(_) => remove_file(&path)?,
            Err(_) => {}
        }
        fs::create_dir(&path).map_err(Error::file(&path))?;
    }
    Ok(())
}

fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::file(path)(error)),
    }
}

/// Removes a folder, if it exists.
pub(crate) fn remove_folder(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::file(path)(error)),
    }
}

pub(crate) fn read_text(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(Error::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_replaces_links_instead_of_following_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["from/sub", "to/sub"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        fs::write(path("from/sub/a"), "/app/x").unwrap();
        fs::write(path("from/secret"), "hidden").unwrap();
        fs::write(path("outside"), "unchanged").unwrap();
        fs::create_dir_all(path("from/linked")).unwrap();
        fs::write(path("from/linked/outside"), "new").unwrap();
        std::os::unix::fs::symlink(path("outside"), path("to/sub/a")).unwrap();
        std::os::unix::fs::symlink(folder.path(), path("to/linked")).unwrap();
        let copy = FolderCopy {
            from: &path("from"),
            to: &path("to"),
            exclude: &["secret".into()],
            replace: &[TextReplacement {
                old: "/app".into(),
                new: "/work".into(),
            }],
        };
        copy.run().unwrap();
        assert_eq!(fs::read_to_string(path("to/sub/a")).unwrap(), "/work/x");
        assert_eq!(fs::read_to_string(path("outside")).unwrap(), "unchanged");
        assert!(!path("to/secret").exists());
        assert!(write_inside(&path("to"), "../x", b"").is_err());
    }
}
