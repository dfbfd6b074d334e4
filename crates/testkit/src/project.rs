//! A temporary project directory.

use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// A directory with files, removed on drop. It is not a git repository.
#[derive(Debug)]
pub struct Project {
    folder: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    /// Creates a directory with these files.
    pub fn new(files: &[(&str, &str)]) -> Result<Self, Error> {
        let temp = std::env::temp_dir();
        let failed = |source| Error::File {
            path: temp.clone(),
            source,
        };
        let folder = tempfile::Builder::new().prefix("project-").tempdir().map_err(failed)?;
        // If the temporary directory is a link, tools report its target.
        let outer = folder.path().canonicalize().map_err(failed)?;
        // A separate parent directory, so that changes outside of the project affect no other test.
        let root = outer.join(outer.file_name().unwrap_or_default());
        std::fs::create_dir(&root).map_err(failed)?;
        let project = Self { folder, root };
        files.iter().try_for_each(|(path, text)| project.write(path, text))?;
        Ok(project)
    }

    /// Its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path in the project.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file and creates its parent directories.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<(), Error> {
        let path = self.inside(path.as_ref())?;
        let parent = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        parent
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|source| Error::File { path, source })
    }

    /// Reads a file.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<String, Error> {
        let path = self.inside(path.as_ref())?;
        std::fs::read_to_string(&path).map_err(|source| Error::File { path, source })
    }

    /// All files with their text, sorted by path, for comparing whole projects.
    pub fn files(&self) -> Result<Vec<(String, String)>, Error> {
        let (mut found, mut folders) = (Vec::new(), vec![self.root.clone()]);
        while let Some(folder) = folders.pop() {
            let failed = |source| Error::File {
                path: folder.clone(),
                source,
            };
            for entry in std::fs::read_dir(&folder).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                    continue;
                }
                let bytes = std::fs::read(&path).map_err(|source| Error::File {
                    path: path.clone(),
                    source,
                })?;
                let name = path
                    .strip_prefix(&self.root)
                    .unwrap_or(&path)
                    .to_string_lossy()
                    .into_owned();
                found.push((name, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Keeps the directory and returns its path.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    fn inside(&self, path: &Path) -> Result<PathBuf, Error> {
        let within = path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if within {
            Ok(self.root.join(path))
        } else {
            Err(Error::Outside { path: path.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_its_files_and_is_removed() {
        let project = Project::new(&[("src/a.txt", "one"), ("b.txt", "two")]).expect("made");
        assert_eq!(project.read("src/a.txt").expect("read"), "one");
        let files = project.files().expect("listed");
        assert_eq!(
            files,
            [("b.txt".into(), "two".into()), ("src/a.txt".into(), "one".into())]
        );
        let root = project.root().to_owned();
        drop(project);
        assert!(!root.exists());
    }

    #[test]
    fn a_path_that_leads_out_is_refused() {
        let project = Project::new(&[]).expect("made");
        assert!(matches!(project.write("../x", ""), Err(Error::Outside { .. })));
        assert!(matches!(project.read("/etc/hostname"), Err(Error::Outside { .. })));
    }
}
