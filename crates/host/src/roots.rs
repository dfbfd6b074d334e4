//! Additional directories of a project: `roots` in the configuration, `--add-dir` on the command line.

use crate::config::{ConfigLayer, ConfigOrigin};
use crate::environment::ProcessEnv;
use crate::failure::plain;
use crate::permissions::merged_list;
use crate::{paths, project};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use toml::Value;

/// The canonical paths of the additional directories, and problems with them.
pub(crate) fn find(root: &Path, layers: &[ConfigLayer], env: &ProcessEnv) -> (Vec<PathBuf>, Vec<String>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for text in merged_list::<String>(layers, "roots") {
        match resolve_path(&text, root, env).canonicalize() {
            Ok(folder) if !folder.is_dir() => problems.push(format!("`{text}` is not a directory")),
            Ok(folder) => match project::overly_broad(&folder, env) {
                Some(what) => problems.push(format!("`{text}` is {what}, which is too broad for a project")),
                // A stored session may repeat the configuration.
                None if found.contains(&folder) => {}
                None => found.push(folder),
            },
            Err(error) => problems.push(format!("cannot add `{text}` to the project: {}", plain(&error))),
        }
    }
    (found, problems)
}

/// Adds the directories of a stored session to the configuration. Returns warnings about those that do not exist.
pub(crate) fn with_stored<'a>(layers: &'a [ConfigLayer], stored: &[PathBuf]) -> (Cow<'a, [ConfigLayer]>, Vec<String>) {
    if stored.is_empty() {
        return (Cow::Borrowed(layers), Vec::new());
    }
    let (existing, missing): (Vec<&PathBuf>, Vec<&PathBuf>) = stored.iter().partition(|folder| folder.is_dir());
    let folders = existing
        .iter()
        .map(|folder| Value::String(folder.display().to_string()));
    let layer = ConfigLayer::single(
        ConfigOrigin::BuiltIn,
        &["roots".into()],
        Value::Array(folders.collect()),
    );
    let warnings = missing
        .iter()
        .map(|folder| format!("{}, a directory of this session, does not exist", folder.display()));
    (Cow::Owned([&[layer], layers].concat()), warnings.collect())
}

/// Resolves a path relative to the project, or to the home directory after `~`.
pub(crate) fn resolve_path(text: &str, root: &Path, env: &ProcessEnv) -> PathBuf {
    let home = || paths::home_dir(env).unwrap_or_else(|| root.to_path_buf());
    match text.strip_prefix('~') {
        Some("") => home(),
        Some(rest) if rest.starts_with('/') => home().join(rest.trim_start_matches('/')),
        Some(_) | None => root.join(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_relative_to_the_project_and_invalid_ones_are_reported() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for folder in ["project", "lib", "home/notes"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        std::fs::write(base.join("file"), "").unwrap();
        let env = ProcessEnv::from([("HOME", base.join("home").to_str().unwrap())]);
        let layer = ConfigLayer {
            origin: ConfigOrigin::BuiltIn,
            table: "roots = ['../lib', '~/notes', '../missing', '../file', '/', '~']"
                .parse()
                .unwrap(),
        };
        let (found, problems) = find(&base.join("project"), &[layer], &env);
        assert_eq!(found, [base.join("lib"), base.join("home/notes")]);
        assert_eq!(
            problems,
            [
                "cannot add `../missing` to the project: No such file or directory",
                "`../file` is not a directory",
                "`/` is the whole disk, which is too broad for a project",
                "`~` is your whole home directory, which is too broad for a project",
            ]
        );
    }
}
