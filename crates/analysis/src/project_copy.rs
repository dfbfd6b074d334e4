//! A copy of a project with the files as they were at an item of a session.

use crate::failure::{Failure, Result};
use review::VersionContents;
use session::{FileKind, FileVersion, Item};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::SqliteStore;
use workspace::{StopSignal, Workspace};

/// The maximum number of files of a copied project.
const MAX_FILES: usize = 20_000;

/// The maximum time for listing the files of a project.
const LIST_TIME: Duration = Duration::from_secs(60);

/// Copies the files of a project that are not ignored.
pub(crate) fn copy_project(root: &Path, to: &Path) -> Result<()> {
    let workspace = Workspace::open(root).map_err(review::Error::from)?;
    let place = workspace.locate(root).map_err(review::Error::from)?;
    let list = place
        .files(&|_| true, MAX_FILES, &StopSignal::after(LIST_TIME))
        .map_err(review::Error::from)?;
    if list.total > MAX_FILES {
        return Err(Failure::failed(format!("the project has more than {MAX_FILES} files")));
    }
    fs::create_dir_all(to).map_err(|error| Failure::file("create", to, &error))?;
    for file in &list.files {
        let Ok(relative) = file.path().strip_prefix(root) else {
            continue;
        };
        let target = to.join(relative);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|error| Failure::file("create", parent, &error))?;
        }
        fs::copy(file.path(), &target).map_err(|error| Failure::file("copy", file.path(), &error))?;
    }
    Ok(())
}

/// Restores the files that a session changed to their versions before the item with this index.
pub(crate) async fn restore(
    store: &SqliteStore,
    items: &[Arc<Item>],
    before: usize,
    root: &Path,
    copy: &Path,
) -> Result<()> {
    let mut files: BTreeMap<&Path, Option<&FileVersion>> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        for change in item.changes() {
            if at < before {
                files.insert(&change.path, change.after.as_ref());
            } else {
                files.entry(&change.path).or_insert(change.before.as_ref());
            }
        }
    }
    let files: Vec<(&Path, Option<&FileVersion>)> = files.into_iter().collect();
    write_versions(store, &files, root, copy).await
}

/// Writes versions of files to a copy of a project; files without a version are removed.
pub(crate) async fn write_versions(
    store: &SqliteStore,
    files: &[(&Path, Option<&FileVersion>)],
    root: &Path,
    copy: &Path,
) -> Result<()> {
    let versions: Vec<&FileVersion> = files.iter().filter_map(|(_, version)| *version).collect();
    let contents = VersionContents::load(store, &versions).await?;
    for (path, version) in files {
        let Some(path) = in_copy(path, root, copy) else {
            continue;
        };
        match version {
            None if path.is_dir() => {}
            None if path.exists() => fs::remove_file(&path).map_err(|error| Failure::file("remove", &path, &error))?,
            None => {}
            Some(version) => match version.kind {
                FileKind::Folder { .. } => {
                    fs::create_dir_all(&path).map_err(|error| Failure::file("create", &path, &error))?
                }
                FileKind::Link => {}
                FileKind::File { .. } => match contents.read(version) {
                    Some(bytes) => write(&path, &bytes)?,
                    None => {
                        let message = format!("an earlier version of {} is not stored", path.display());
                        return Err(Failure::failed(message));
                    }
                },
            },
        }
    }
    Ok(())
}

/// The path in the copy. Paths in the project are relative to it; files elsewhere are not copied.
pub(crate) fn in_copy(path: &Path, root: &Path, copy: &Path) -> Option<PathBuf> {
    let relative = path.strip_prefix(root).unwrap_or(path);
    (!relative.is_absolute()).then(|| copy.join(relative))
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| Failure::file("create", parent, &error))?;
    }
    fs::write(path, bytes).map_err(|error| Failure::file("write", path, &error))
}
