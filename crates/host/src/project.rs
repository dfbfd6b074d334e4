//! The project directory and its configuration file.

use crate::config::PermissionLevel;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result, plain};
use crate::paths;
use std::path::{Path, PathBuf};

/// The canonical path of the project directory: the given one, or the working directory.
pub fn root(directory: Option<&Path>, env: &ProcessEnv) -> Result<PathBuf> {
    let start = env
        .cwd
        .as_deref()
        .ok_or_else(|| Failure::usage("the working directory no longer exists").hint("change to another directory"));
    let path = match directory {
        Some(path) if path.is_absolute() => path.to_path_buf(),
        Some(path) => start?.join(path),
        None => start?.to_path_buf(),
    };
    let root = path.canonicalize().map_err(|error| {
        Failure::usage(format!("cannot work in {}: {}", path.display(), plain(&error)))
            .hint("check the path given with -C")
    })?;
    if !root.is_dir() {
        return Err(
            Failure::usage(format!("{} is not a directory", root.display())).hint("-C takes the project directory")
        );
    }
    Ok(root)
}

/// Describes a directory that is too broad for a project: the disk or the home directory.
pub fn overly_broad(root: &Path, env: &ProcessEnv) -> Option<&'static str> {
    let home = paths::home_dir(env).and_then(|home| home.canonicalize().ok());
    if root.parent().is_none() {
        Some("the whole disk")
    } else if home.is_some_and(|home| home == root) {
        Some("your whole home directory")
    } else {
        None
    }
}

/// A warning about a project that is the disk or the home directory.
pub fn broad_project_warning(root: &Path, level: PermissionLevel, env: &ProcessEnv) -> Option<String> {
    let what = overly_broad(root, env)?;
    Some(if root.parent().is_some() || level == PermissionLevel::Full {
        format!("{what} is the project: everything in it may be read and changed")
    } else {
        format!("{what} is the project: changing files needs approval, and commands write only temporary directories")
    })
}

/// The directory that trust applies to: the root of the repository, or the project without one.
pub fn repository_root(root: &Path) -> PathBuf {
    let top = root.ancestors().find(|folder| folder.join(".git").exists());
    top.unwrap_or(root).to_path_buf()
}

/// The project's configuration file: `.hew/config.toml` in the project or, inside a git repository, above it.
pub fn config_file(root: &Path) -> Option<PathBuf> {
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
    fn the_configuration_file_is_found_in_parent_directories_up_to_the_repository() {
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
    fn the_disk_and_the_home_directory_are_too_broad() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        let env = ProcessEnv::from([("HOME", home.to_str().unwrap())]);
        assert_eq!(overly_broad(Path::new("/"), &env), Some("the whole disk"));
        assert_eq!(overly_broad(&home, &env), Some("your whole home directory"));
        assert_eq!(overly_broad(&home.join("project"), &env), None);
        assert_eq!(overly_broad(&home, &ProcessEnv::default()), None);
        let warning = |level| broad_project_warning(Path::new("/"), level, &env).unwrap();
        assert!(warning(PermissionLevel::Workspace).contains("needs approval"));
        assert!(warning(PermissionLevel::Full).ends_with("may be read and changed"));
    }

    #[test]
    fn a_missing_directory_or_a_file_is_reported() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        let env = ProcessEnv::default();
        let missing = root(Some(&temp.path().join("missing")), &env).unwrap_err();
        assert!(
            missing.message.ends_with("missing: No such file or directory"),
            "{}",
            missing.message
        );
        assert!(
            root(Some(&file), &env)
                .unwrap_err()
                .message
                .ends_with("is not a directory")
        );
    }
}
