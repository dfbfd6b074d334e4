//! The folders of a project besides its main one: `roots` in the configuration, `--add-dir` on the command line.

use super::permissions::lists;
use crate::config::{Layer, Origin};
use crate::environment::Environment;
use crate::failure::plain;
use crate::{places, project};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use toml::Value;

/// The further folders, canonical, and what is wrong with what was said about them.
pub(super) fn find(root: &Path, layers: &[Layer], env: &Environment) -> (Vec<PathBuf>, Vec<String>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for said in lists::<String>(layers, "roots") {
        match place(&said, root, env).canonicalize() {
            Ok(folder) if !folder.is_dir() => problems.push(format!("`{said}` is not a folder")),
            Ok(folder) => match project::too_wide(&folder, env) {
                Some(what) => problems.push(format!("`{said}` is {what}, which is too much for a project")),
                // A session remembers what the configuration may still say.
                None if found.contains(&folder) => {}
                None => found.push(folder),
            },
            Err(error) => problems.push(format!("cannot add `{said}` to the project: {}", plain(&error))),
        }
    }
    (found, problems)
}

/// The configuration of a session that had these folders, and which of them are gone.
pub(super) fn with_kept<'a>(layers: &'a [Layer], kept: &[PathBuf]) -> (Cow<'a, [Layer]>, Vec<String>) {
    if kept.is_empty() {
        return (Cow::Borrowed(layers), Vec::new());
    }
    let (there, gone): (Vec<&PathBuf>, Vec<&PathBuf>) = kept.iter().partition(|folder| folder.is_dir());
    let folders = there.iter().map(|folder| Value::String(folder.display().to_string()));
    let layer = Layer::one(Origin::BuiltIn, &["roots".into()], Value::Array(folders.collect()));
    let told = gone
        .iter()
        .map(|folder| format!("{}, a folder of this session, is gone", folder.display()));
    (Cow::Owned([&[layer], layers].concat()), told.collect())
}

/// A path that the person wrote: from the project's folder, or from home after `~`.
pub(super) fn place(text: &str, root: &Path, env: &Environment) -> PathBuf {
    let home = || places::home(env).unwrap_or_else(|| root.to_path_buf());
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
    fn folders_are_named_from_the_project_and_wrong_ones_are_explained() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for folder in ["project", "lib", "home/notes"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        std::fs::write(base.join("file"), "").unwrap();
        let env = Environment::from([("HOME", base.join("home").to_str().unwrap())]);
        let layer = Layer {
            origin: Origin::BuiltIn,
            table: "roots = ['../lib', '~/notes', '../gone', '../file', '/', '~']"
                .parse()
                .unwrap(),
        };
        let (found, problems) = find(&base.join("project"), &[layer], &env);
        assert_eq!(found, [base.join("lib"), base.join("home/notes")]);
        assert_eq!(
            problems,
            [
                "cannot add `../gone` to the project: No such file or directory",
                "`../file` is not a folder",
                "`/` is the whole disk, which is too much for a project",
                "`~` is your whole home folder, which is too much for a project",
            ]
        );
    }
}
