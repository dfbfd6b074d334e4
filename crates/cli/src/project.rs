//! The project hew works on: its folder, and the configuration that belongs to it.

use crate::environment::Environment;
use crate::failure::{Failure, Result, plain};
use crate::places;
use std::path::{Path, PathBuf};

/// The project's folder, canonical: the one that was asked for, or the one hew was started in.
pub(crate) fn root(asked: Option<&Path>, env: &Environment) -> Result<PathBuf> {
    let start = env
        .cwd
        .as_deref()
        .ok_or_else(|| Failure::usage("the current folder no longer exists").hint("change to another folder"));
    let path = match asked {
        Some(path) if path.is_absolute() => path.to_path_buf(),
        Some(path) => start?.join(path),
        None => start?.to_path_buf(),
    };
    let root = path.canonicalize().map_err(|error| {
        Failure::usage(format!("cannot work in {}: {}", path.display(), plain(&error)))
            .hint("check the path given with -C")
    })?;
    if !root.is_dir() {
        return Err(Failure::usage(format!("{} is not a folder", root.display())).hint("-C takes the project's folder"));
    }
    Ok(root)
}

/// What a folder is that holds far more than a project: the whole disk, or everything a person has.
pub(crate) fn too_wide(root: &Path, env: &Environment) -> Option<&'static str> {
    let home = places::home(env).and_then(|home| home.canonicalize().ok());
    if root.parent().is_none() {
        Some("the whole disk")
    } else if home.is_some_and(|home| home == root) {
        Some("your whole home folder")
    } else {
        None
    }
}

/// The folder that is trusted or not: the top of the repository, or the project itself.
pub(crate) fn top(root: &Path) -> PathBuf {
    let top = root.ancestors().find(|folder| folder.join(".git").exists());
    top.unwrap_or(root).to_path_buf()
}

/// The project's own configuration file: `.hew/config.toml` in the folder or, inside a git repository, above it.
pub(crate) fn config_file(root: &Path) -> Option<PathBuf> {
    let top = root
        .ancestors()
        .find(|folder| folder.join(".git").exists())
        .unwrap_or(root);
    root.ancestors()
        .take_while(|folder| folder.starts_with(top))
        .map(|folder| folder.join(".hew").join("config.toml"))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_configuration_is_found_upward_but_not_beyond_the_repository() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path();
        let deep = top.join("repo/a/b");
        fs::create_dir_all(&deep).unwrap();
        for folder in ["", "repo"] {
            fs::create_dir_all(top.join(folder).join(".hew")).unwrap();
            fs::write(top.join(folder).join(".hew/config.toml"), "").unwrap();
        }
        assert_eq!(config_file(&deep), None);
        fs::create_dir(top.join("repo/.git")).unwrap();
        assert_eq!(config_file(&deep), Some(top.join("repo/.hew/config.toml")));
        fs::create_dir_all(deep.join(".hew")).unwrap();
        fs::write(deep.join(".hew/config.toml"), "").unwrap();
        assert_eq!(config_file(&deep), Some(deep.join(".hew/config.toml")));
    }

    #[test]
    fn the_disk_and_the_home_folder_are_too_wide_but_not_what_is_in_them() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        let env = Environment::from([("HOME", home.to_str().unwrap())]);
        assert_eq!(too_wide(Path::new("/"), &env), Some("the whole disk"));
        assert_eq!(too_wide(&home, &env), Some("your whole home folder"));
        assert_eq!(too_wide(&home.join("project"), &env), None);
        assert_eq!(too_wide(&home, &Environment::default()), None);
    }

    #[test]
    fn a_folder_that_is_not_there_or_not_a_folder_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        let env = Environment::default();
        let missing = root(Some(&temp.path().join("gone")), &env).unwrap_err();
        assert!(
            missing.what.ends_with("gone: No such file or directory"),
            "{}",
            missing.what
        );
        assert!(root(Some(&file), &env).unwrap_err().what.ends_with("is not a folder"));
    }
}
