//! Available modes: built-in, the user's and the project's.

use crate::error::Error;
use crate::origin::{FileOrigin, ReadRefusal, repository_root};
use crate::trust::ProjectTrust;
use policy::project_files::MODE_FILES;
use policy::{Mode, ModeSet, parse_modes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use workspace::Workspace;

/// Maximum bytes read from a file.
const MAX_BYTES: u64 = 1024 * 1024;

/// The available modes and their origins.
#[derive(Debug, Clone, Default)]
pub struct ModeCatalog {
    /// All modes.
    pub modes: ModeSet,
    /// The files of modes that are not built in.
    pub sources: BTreeMap<String, PathBuf>,
    /// Why entries were ignored.
    pub problems: Vec<String>,
}

/// Loads the built-in modes, the user's and the project's. `user_config` is the user's configuration folder.
pub fn load_modes(root: &Path, user_config: Option<&Path>, trust: ProjectTrust) -> ModeCatalog {
    let mut catalog = ModeCatalog::default();
    if let Some(folder) = user_config {
        catalog.read(&folder.join("modes.yaml"), FileOrigin::User, ProjectTrust::Trusted);
    }
    // Without the folder there are no files to read.
    if let Ok(workspace) = Workspace::open(root) {
        let top = &repository_root(&workspace);
        for name in MODE_FILES {
            let workspace = &workspace;
            catalog.read(&root.join(name), FileOrigin::Project { workspace, top }, trust);
        }
    }
    catalog
}

impl ModeCatalog {
    fn read(&mut self, file: &Path, origin: FileOrigin<'_>, trust: ProjectTrust) {
        let text = match origin.read(file, MAX_BYTES) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            // Mode files are optional.
            Err(ReadRefusal::Missing | ReadRefusal::Unreadable(_)) => return,
            Err(ReadRefusal::OutsideProject) => {
                let why = "ignored, because it leads out of the project";
                return self.problems.push(format!("{}: {why}", file.display()));
            }
        };
        let (modes, problems) = parse_modes(&file.display().to_string(), &text);
        self.problems.extend(problems.iter().map(ToString::to_string));
        for mut mode in modes {
            if trust != ProjectTrust::Trusted {
                if self.modes.get(&mode.name).is_some() {
                    let why = "ignored, because an untrusted project may not change an existing mode";
                    self.problems.push(format!("{}: {}: {why}", file.display(), mode.name));
                    continue;
                }
                if mode.model.take().is_some() {
                    let why = "its model is ignored, because the project is not trusted";
                    self.problems.push(format!("{}: {}: {why}", file.display(), mode.name));
                }
            }
            self.sources.insert(mode.name.clone(), file.into());
            self.modes.add(vec![mode]);
        }
    }

    /// Selects a mode by name. `edit` requires files.
    pub fn choose(&self, name: &str, files: &[PathBuf]) -> Result<Mode, Error> {
        if name == "edit" && self.modes.get(name).is_none() {
            if files.is_empty() {
                return Err(Error::EditWithoutFiles);
            }
            return Ok(Mode::edit(files.to_vec()));
        }
        let Some(mode) = self.modes.get(name) else {
            let modes = self.modes.iter().map(|mode| mode.name.clone());
            return Err(Error::UnknownMode {
                name: name.to_owned(),
                available: modes.chain(["edit".to_owned()]).collect(),
            });
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
    fn an_untrusted_project_adds_modes_but_changes_none() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(".roomodes"), THEIRS).unwrap();
        let catalog = load_modes(temp.path(), None, ProjectTrust::Unknown);
        assert_eq!(catalog.choose("ask", &[]), Ok(Mode::ask()));
        assert_eq!(catalog.choose("docs", &[]).map(|mode| mode.model), Ok(None));
        assert_eq!(catalog.problems.len(), 3, "{:?}", catalog.problems);
        let catalog = load_modes(temp.path(), None, ProjectTrust::Trusted);
        assert_eq!(catalog.choose("ask", &[]).map(|mode| mode.role), Ok("evil".into()));
        assert_eq!(
            catalog.choose("docs", &[]).map(|mode| mode.model),
            Ok(Some("evil/model".into()))
        );
        assert_eq!(catalog.problems.len(), 1, "{:?}", catalog.problems);
        let unknown = catalog.choose("cod", &[]).unwrap_err();
        assert!(unknown.hint().starts_with("available modes: code, architect, ask"));
        assert!(catalog.choose("edit", &[]).is_err());
        assert_eq!(catalog.choose("edit", &["a".into()]), Ok(Mode::edit(vec!["a".into()])));
    }

    #[cfg(unix)]
    #[test]
    fn a_mode_file_may_be_a_symbolic_link_but_only_to_a_regular_file_of_the_project() {
        use std::os::unix::fs::symlink;
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("repo");
        std::fs::create_dir_all(root.join(".hew")).unwrap();
        std::fs::write(temp.path().join("modes.yaml"), THEIRS).unwrap();
        symlink("/dev/zero", root.join(".roomodes")).unwrap();
        symlink("../../modes.yaml", root.join(".hew/modes.yaml")).unwrap();
        let catalog = load_modes(&root, None, ProjectTrust::Trusted);
        assert!(catalog.modes.get("docs").is_none());
        assert!(
            catalog.problems[0].contains("leads out of the project"),
            "{:?}",
            catalog.problems
        );
        std::fs::write(root.join("modes.yaml"), THEIRS).unwrap();
        std::fs::remove_file(root.join(".roomodes")).unwrap();
        symlink("modes.yaml", root.join(".roomodes")).unwrap();
        let catalog = load_modes(&root, None, ProjectTrust::Trusted);
        assert!(catalog.modes.get("docs").is_some());
    }
}
