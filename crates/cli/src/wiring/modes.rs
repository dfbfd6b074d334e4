//! The modes that can be chosen: those of hew, of the person and of the project.

use super::source::{self, Refusal, Source};
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::places;
use crate::trust::Trust;
use policy::{Mode, Modes, parse_modes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use workspace::Workspace;

/// More of a file with modes is not read.
const MOST: u64 = 1024 * 1024;

/// The modes that can be chosen, and where they come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// All of them.
    pub(crate) modes: Modes,
    /// Where those come from that are not built in.
    pub(crate) sources: BTreeMap<String, PathBuf>,
    /// What is wrong with entries that are left out.
    pub(crate) problems: Vec<String>,
}

/// Finds the modes for a project.
pub(crate) fn find(root: &Path, trust: Trust, env: &Environment) -> Found {
    let mut found = Found::default();
    let own = places::user_config(env)
        .ok()
        .and_then(|file| Some(file.parent()?.join("modes.yaml")));
    if let Some(file) = own {
        found.read(&file, Source::Person, Trust::Trusted);
    }
    // Without the folder there are no files in it.
    if let Ok(workspace) = Workspace::open(root) {
        let top = &source::top(&workspace);
        for name in [".roomodes", ".hew/modes.yaml"] {
            let workspace = &workspace;
            found.read(&root.join(name), Source::Project { workspace, top }, trust);
        }
    }
    found
}

impl Found {
    fn read(&mut self, file: &Path, source: Source<'_>, trust: Trust) {
        let text = match source.read(file, MOST) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            // A file that is not there has nothing to say.
            Err(Refusal::Missing | Refusal::Unreadable(_)) => return,
            Err(Refusal::Elsewhere) => {
                let why = "it leads out of the project and is not used";
                return self.problems.push(format!("{}: {why}", file.display()));
            }
        };
        let (modes, problems) = parse_modes(&file.display().to_string(), &text);
        self.problems.extend(problems.iter().map(ToString::to_string));
        for mut mode in modes {
            if trust != Trust::Trusted {
                if self.modes.get(&mode.name).is_some() {
                    let why = "a project that is not trusted may not change a mode that you have";
                    self.problems.push(format!("{}: {}: {why}", file.display(), mode.name));
                    continue;
                }
                if mode.model.take().is_some() {
                    let why = "its model is not used, because the project is not trusted";
                    self.problems.push(format!("{}: {}: {why}", file.display(), mode.name));
                }
            }
            self.sources.insert(mode.name.clone(), file.into());
            self.modes.add(vec![mode]);
        }
    }

    /// The mode of this name, or a failure that names those that exist. `edit` needs files.
    pub(crate) fn choose(&self, name: &str, files: &[PathBuf]) -> Result<Mode> {
        if name == "edit" && self.modes.get(name).is_none() {
            if files.is_empty() {
                return Err(Failure::usage("the mode `edit` needs the files that may be changed")
                    .hint("name them with --files, or choose another mode"));
            }
            return Ok(Mode::edit(files.to_vec()));
        }
        let Some(mode) = self.modes.get(name) else {
            let names: Vec<&str> = self
                .modes
                .iter()
                .map(|mode| mode.name.as_str())
                .chain(["edit"])
                .collect();
            return Err(Failure::usage(format!("there is no mode `{name}`")).hint(format!(
                "the modes are {}; `hew modes` describes them",
                names.join(", ")
            )));
        };
        let mut mode = mode.clone();
        if !files.is_empty() {
            mode.only = Some(files.to_vec());
        }
        Ok(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEIRS: &str = "customModes:\n  - slug: ask\n    name: Ask\n    roleDefinition: evil\n    groups: [read, edit, command]\n  \
                          - slug: docs\n    name: Docs\n    roleDefinition: writes\n    model: evil/model\n    groups: [read]\n  \
                          - slug: 'bad slug'\n    roleDefinition: x\n    groups: []\n";

    #[test]
    fn a_project_adds_modes_but_changes_none_until_it_is_trusted() {
        let temp = tempfile::tempdir().unwrap();
        let config = temp.path().join("home/config.toml").display().to_string();
        let env = Environment::from([("HEW_CONFIG", config.as_str())]);
        std::fs::write(temp.path().join(".roomodes"), THEIRS).unwrap();
        let found = find(temp.path(), Trust::Unknown, &env);
        assert_eq!(found.choose("ask", &[]), Ok(Mode::ask()));
        assert_eq!(found.choose("docs", &[]).map(|mode| mode.model), Ok(None));
        assert_eq!(found.problems.len(), 3, "{:?}", found.problems);
        let found = find(temp.path(), Trust::Trusted, &env);
        assert_eq!(found.choose("ask", &[]).map(|mode| mode.role), Ok("evil".into()));
        assert_eq!(
            found.choose("docs", &[]).map(|mode| mode.model),
            Ok(Some("evil/model".into()))
        );
        assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
        let unknown = found.choose("cod", &[]).unwrap_err();
        assert!(unknown.hint.unwrap().starts_with("the modes are code, architect, ask"));
        assert!(found.choose("edit", &[]).is_err());
        assert_eq!(found.choose("edit", &["a".into()]), Ok(Mode::edit(vec!["a".into()])));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_with_modes_may_be_a_link_but_neither_endless_nor_elsewhere() {
        use std::os::unix::fs::symlink;
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("repo");
        std::fs::create_dir_all(root.join(".hew")).unwrap();
        std::fs::write(temp.path().join("modes.yaml"), THEIRS).unwrap();
        symlink("/dev/zero", root.join(".roomodes")).unwrap();
        symlink("../../modes.yaml", root.join(".hew/modes.yaml")).unwrap();
        let found = find(&root, Trust::Trusted, &Environment::default());
        assert!(found.modes.get("docs").is_none());
        assert!(
            found.problems[0].contains("leads out of the project"),
            "{:?}",
            found.problems
        );
        std::fs::write(root.join("modes.yaml"), THEIRS).unwrap();
        std::fs::remove_file(root.join(".roomodes")).unwrap();
        symlink("modes.yaml", root.join(".roomodes")).unwrap();
        let found = find(&root, Trust::Trusted, &Environment::default());
        assert!(found.modes.get("docs").is_some());
    }
}
