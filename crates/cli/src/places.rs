//! Where hew keeps things: the configuration file and the data folder.

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use std::path::{Path, PathBuf};

/// The user's configuration file: `$HEW_CONFIG`, or `hew/config.toml` in the folder for configuration.
pub(crate) fn user_config(env: &Environment) -> Result<PathBuf> {
    match env.get("HEW_CONFIG") {
        Some(path) => absolute("HEW_CONFIG", path),
        None => Ok(base(env, "XDG_CONFIG_HOME", ".config")?.join("hew").join("config.toml")),
    }
}

/// The file for keys where there is no keyring, beside the configuration file.
pub(crate) fn keys(env: &Environment) -> Result<PathBuf> {
    Ok(user_config(env)?.with_file_name("keys.toml"))
}

/// The folder for sessions: `$HEW_DATA_DIR`, or `hew` in the folder for data.
pub(crate) fn data(env: &Environment) -> Result<PathBuf> {
    match env.get("HEW_DATA_DIR") {
        Some(path) => absolute("HEW_DATA_DIR", path),
        None => Ok(base(env, "XDG_DATA_HOME", ".local/share")?.join("hew")),
    }
}

/// The folder for what can be made again: `hew` in the folder for caches.
pub(crate) fn cache(env: &Environment) -> Result<PathBuf> {
    Ok(base(env, "XDG_CACHE_HOME", ".cache")?.join("hew"))
}

/// Folders with skills, the weakest first: the person's, then the project's.
pub(crate) fn skills(root: &Path, env: &Environment) -> Vec<PathBuf> {
    let home = home(env).into_iter();
    let others = home.flat_map(|home| [home.join(".claude/skills"), home.join(".agents/skills")]);
    let own = user_config(env)
        .ok()
        .and_then(|file| Some(file.parent()?.join("skills")));
    let project = [".claude/skills", ".agents/skills", ".hew/skills"].map(|folder| root.join(folder));
    others.chain(own).chain(project).collect()
}

fn base(env: &Environment, variable: &str, below_home: &str) -> Result<PathBuf> {
    // The XDG rules ask to ignore relative paths.
    if let Some(path) = env.get(variable).map(Path::new).filter(|path| path.is_absolute()) {
        return Ok(path.into());
    }
    match env.first(["HOME", "USERPROFILE"]) {
        Some((name, home)) => Ok(absolute(name, home)?.join(below_home)),
        None => Err(
            Failure::usage("HOME is not set, so hew does not know where its files are")
                .hint("set HOME, or set both HEW_CONFIG and HEW_DATA_DIR"),
        ),
    }
}

/// The person's home folder.
pub(crate) fn home(env: &Environment) -> Option<PathBuf> {
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

/// A path as people write it, with `~` for the home folder.
pub(crate) fn tidy(path: &Path, env: &Environment) -> String {
    match home(env).and_then(|home| path.strip_prefix(home).map(Path::to_path_buf).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".into(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lie_where_the_environment_says_and_else_below_home() {
        let home = Environment::from([("HOME", "/h"), ("XDG_DATA_HOME", "relative")]);
        assert_eq!(user_config(&home), Ok("/h/.config/hew/config.toml".into()));
        assert_eq!(data(&home), Ok("/h/.local/share/hew".into()));
        let set = Environment::from([
            ("HEW_CONFIG", "/c.toml"),
            ("HEW_DATA_DIR", "/d"),
            ("XDG_CONFIG_HOME", "/x"),
        ]);
        assert_eq!((user_config(&set), data(&set)), (Ok("/c.toml".into()), Ok("/d".into())));
        let nowhere = Environment::default();
        assert!(data(&nowhere).is_err_and(|failure| failure.hint.is_some_and(|hint| hint.contains("HEW_DATA_DIR"))));
        for variable in ["HEW_DATA_DIR", "HOME"] {
            let failure = data(&Environment::from([(variable, "d")])).unwrap_err();
            assert_eq!(
                failure.what,
                format!("{variable} must be an absolute path, but it is `d`")
            );
        }
    }

    #[test]
    fn home_is_written_as_a_tilde() {
        let env = Environment::from([("HOME", "/h")]);
        assert_eq!(tidy(Path::new("/h/a/b"), &env), "~/a/b");
        assert_eq!(tidy(Path::new("/home/a"), &env), "/home/a");
    }
}
