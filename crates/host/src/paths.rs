//! Paths of the configuration, the data and the cache.

use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use std::path::{Path, PathBuf};

/// The user's configuration file: `$HEW_CONFIG`, or `hew/config.toml` in the configuration directory.
pub fn user_config_file(env: &ProcessEnv) -> Result<PathBuf> {
    match env.get("HEW_CONFIG") {
        Some(path) => absolute("HEW_CONFIG", path),
        None => Ok(base_dir(env, "XDG_CONFIG_HOME", ".config")?
            .join("hew")
            .join("config.toml")),
    }
}

/// The keys file, next to the configuration file.
pub fn keys_file(env: &ProcessEnv) -> Result<PathBuf> {
    Ok(user_config_file(env)?.with_file_name("keys.toml"))
}

/// The file of signed-in accounts, next to the configuration file.
pub fn accounts_file(env: &ProcessEnv) -> Result<PathBuf> {
    Ok(user_config_file(env)?.with_file_name("accounts.json"))
}

/// The data directory: `$HEW_DATA_DIR`, or `hew` in the data directory of the user.
pub fn data_dir(env: &ProcessEnv) -> Result<PathBuf> {
    match env.get("HEW_DATA_DIR") {
        Some(path) => absolute("HEW_DATA_DIR", path),
        None => Ok(base_dir(env, "XDG_DATA_HOME", ".local/share")?.join("hew")),
    }
}

/// The files and directories of hew without links, which no tool treats as part of a project.
pub(crate) fn private_paths(env: &ProcessEnv) -> Vec<PathBuf> {
    // A link to a file counts too: it could be replaced by another file.
    let itself = |file: &PathBuf| Some(resolved(file.parent()?.into()).join(file.file_name()?));
    let files = private_files(env).flat_map(|file| itself(&file).into_iter().chain([resolved(file)]));
    files.chain(private_folders(env)).collect()
}

/// The files of hew that may contain keys. They may be outside of its directories.
pub(crate) fn private_files(env: &ProcessEnv) -> impl Iterator<Item = PathBuf> {
    [user_config_file(env), keys_file(env), accounts_file(env)]
        .into_iter()
        .flatten()
}

/// The directories of hew. A configuration file elsewhere has neighbours that do not belong to hew.
pub(crate) fn private_folders(env: &ProcessEnv) -> Vec<PathBuf> {
    let config = user_config_file(env).ok().filter(|_| env.get("HEW_CONFIG").is_none());
    let config = config.and_then(|file| Some(file.parent()?.to_path_buf()));
    config.into_iter().chain(data_dir(env)).map(resolved).collect()
}

/// The path without links, as far as it exists.
pub(crate) fn resolved(path: PathBuf) -> PathBuf {
    let existing = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    match existing.and_then(|(above, real)| Some((real, path.strip_prefix(above).ok()?))) {
        // Joining an empty path would add a slash, with which a file cannot be opened.
        Some((real, rest)) if rest.as_os_str().is_empty() => real,
        Some((real, rest)) => real.join(rest),
        None => path,
    }
}

/// The cache directory: `hew` in the cache directory of the user.
pub fn cache_dir(env: &ProcessEnv) -> Result<PathBuf> {
    Ok(base_dir(env, "XDG_CACHE_HOME", ".cache")?.join("hew"))
}

/// The directories of skills in ascending precedence: the user's, then the project's.
pub fn skill_dirs(root: &Path, env: &ProcessEnv) -> Vec<PathBuf> {
    let home = home_dir(env).into_iter();
    let others = home.flat_map(|home| [home.join(".claude/skills"), home.join(".agents/skills")]);
    let own = user_config_file(env)
        .ok()
        .and_then(|file| Some(file.parent()?.join("skills")));
    let project = policy::project_files::SKILL_FOLDERS.map(|folder| root.join(folder));
    others.chain(own).chain(project).collect()
}

fn base_dir(env: &ProcessEnv, variable: &str, below_home: &str) -> Result<PathBuf> {
    // The XDG specification requires to ignore relative paths.
    if let Some(path) = env.get(variable).map(Path::new).filter(|path| path.is_absolute()) {
        return Ok(path.into());
    }
    match env.first(["HOME", "USERPROFILE"]) {
        Some((name, home)) => Ok(absolute(name, home)?.join(below_home)),
        None => Err(Failure::usage("HOME is not set, so the directories of hew are unknown")
            .hint("set HOME, or set both HEW_CONFIG and HEW_DATA_DIR")),
    }
}

/// The home directory.
pub fn home_dir(env: &ProcessEnv) -> Option<PathBuf> {
    env.first(["HOME", "USERPROFILE"]).map(|(_, path)| path.into())
}

fn absolute(variable: &str, path: &str) -> Result<PathBuf> {
    let path = PathBuf::from(path);
    if path.is_absolute() {
        return Ok(path);
    }
    Err(Failure::usage(format!(
        "{variable} must be an absolute path, but it is `{}`",
        path.display()
    )))
}

/// Formats a path with `~` for the home directory.
pub fn display_path(path: &Path, env: &ProcessEnv) -> String {
    match home_dir(env).and_then(|home| path.strip_prefix(home).map(Path::to_path_buf).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".into(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_depend_on_variables_and_default_to_the_home_directory() {
        let home = ProcessEnv::from([("HOME", "/h"), ("XDG_DATA_HOME", "relative")]);
        assert_eq!(user_config_file(&home), Ok("/h/.config/hew/config.toml".into()));
        assert_eq!(data_dir(&home), Ok("/h/.local/share/hew".into()));
        let set = ProcessEnv::from([
            ("HEW_CONFIG", "/c.toml"),
            ("HEW_DATA_DIR", "/d"),
            ("XDG_CONFIG_HOME", "/x"),
        ]);
        assert_eq!(
            (user_config_file(&set), data_dir(&set)),
            (Ok("/c.toml".into()), Ok("/d".into()))
        );
        let no_home = ProcessEnv::default();
        assert!(
            data_dir(&no_home).is_err_and(|failure| failure.hint.is_some_and(|hint| hint.contains("HEW_DATA_DIR")))
        );
        for variable in ["HEW_DATA_DIR", "HOME"] {
            let failure = data_dir(&ProcessEnv::from([(variable, "d")])).unwrap_err();
            assert_eq!(
                failure.message,
                format!("{variable} must be an absolute path, but it is `d`")
            );
        }
    }

    #[test]
    fn the_home_directory_is_written_as_a_tilde() {
        let env = ProcessEnv::from([("HOME", "/h")]);
        assert_eq!(display_path(Path::new("/h/a/b"), &env), "~/a/b");
        assert_eq!(display_path(Path::new("/home/a"), &env), "/home/a");
    }
}
