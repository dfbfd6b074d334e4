//! Finds hidden and protected paths in a project before each command, and reverts new repositories after it.

use crate::git_control;
use policy::{Permissions, ProjectPaths, ProtectedPaths};
use sandbox::{AccessScan, ScannedPaths, repository_control_paths};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use workspace::{PathCover, ScanStep, TreeScan, Workspace};

/// The maximum number of hidden paths; beyond it, whole directories are hidden.
pub(crate) const MAX_HIDDEN: usize = 1_000;
/// The maximum number of protected paths; beyond it, whole directories are protected.
pub(crate) const MAX_PROTECTED: usize = 500;
/// Directories of installed packages and build results. Repositories in them are not searched for unless files are
/// hidden.
const GENERATED_FOLDERS: [&str; 6] = ["node_modules", "target", ".venv", "venv", "__pycache__", ".tox"];

/// Searches all directories of a project.
pub(crate) struct ProjectScan {
    workspace: Workspace,
    roots: Vec<PathBuf>,
    /// Configured patterns of protected files; the default ones apply only to the project directory itself.
    protected: Option<(Arc<ProtectedPaths>, Arc<ProjectPaths>)>,
    hides_files: bool,
    /// The user's git configuration, which may refer to files of the project.
    user_configs: Vec<PathBuf>,
    state: Mutex<ScanState>,
}

#[derive(Default)]
struct ScanState {
    tree: TreeScan,
    /// The git directories before the last command, with the commands of prepared rebases.
    repositories: BTreeMap<PathBuf, BTreeSet<String>>,
}

/// The paths that were found.
struct FoundPaths {
    hidden: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    /// `.git` of each working tree.
    repositories: Vec<PathBuf>,
}

impl ProjectScan {
    pub(crate) fn new(
        workspace: &Workspace,
        permissions: &Permissions,
        has_protected: bool,
        user_configs: Vec<PathBuf>,
    ) -> Self {
        let roots = [workspace.root()]
            .into_iter()
            .chain(workspace.more().iter().map(PathBuf::as_path));
        Self {
            workspace: workspace.clone(),
            roots: roots.map(Path::to_path_buf).collect(),
            protected: has_protected.then(|| (Arc::clone(&permissions.protected), Arc::clone(&permissions.project))),
            hides_files: !permissions.ignore.is_empty() || permissions.denies_files().0,
            user_configs,
            state: Mutex::default(),
        }
    }

    /// Warnings about directories that are hidden or protected completely.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let found = match self.find(&mut self.state()) {
            Ok(found) => found,
            Err(problem) => return vec![format!("commands are not run: {problem}")],
        };
        let root = self.workspace.root();
        let hidden = too_many_paths("hidden", &PathCover::new(found.hidden, root, MAX_HIDDEN));
        let protected = too_many_paths("protected", &PathCover::new(found.protected, root, MAX_PROTECTED));
        hidden.into_iter().chain(protected).collect()
    }

    fn state(&self) -> MutexGuard<'_, ScanState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, state: &mut ScanState) -> Result<FoundPaths, String> {
        let decide = |path: &Path, is_folder: bool| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name == ".git" {
                return ScanStep::Repository;
            }
            if self.workspace.is_hidden(path) {
                return ScanStep::Hidden;
            }
            if let Some((protected, places)) = &self.protected
                && protected.covers(path, places)
            {
                return ScanStep::Protected;
            }
            match is_folder && !self.hides_files && self.protected.is_none() && GENERATED_FOLDERS.contains(&name) {
                true => ScanStep::Skip,
                false => ScanStep::Enter,
            }
        };
        let listed = state
            .tree
            .update(&self.roots, decide)
            .map_err(|error| error.to_string())?;
        let of = |wanted: ScanStep| {
            let paths = listed.iter().filter(|(_, step)| *step == wanted);
            paths.map(|(path, _)| path.clone()).collect::<Vec<PathBuf>>()
        };
        Ok(FoundPaths {
            hidden: of(ScanStep::Hidden),
            protected: of(ScanStep::Protected),
            repositories: of(ScanStep::Repository),
        })
    }

    /// The paths in a working tree that make git run programs.
    fn git_paths(&self, git: &Path) -> Vec<PathBuf> {
        let Some(top) = git.parent() else { return Vec::new() };
        let mut paths = repository_control_paths(top);
        if git.is_dir() {
            paths.extend(git_control::referenced_paths(top, git, &self.user_configs));
        }
        paths
    }
}

impl AccessScan for ProjectScan {
    fn before(&self) -> Result<ScannedPaths, String> {
        let mut state = self.state();
        let found = self.find(&mut state)?;
        let cover = |paths: Vec<PathBuf>, most: usize, what: &str| {
            let cover = PathCover::new(paths, self.workspace.root(), most);
            match cover.omitted {
                0 => Ok(cover.paths),
                _ => Err(format!(
                    "more than {most} files in the project's directory are {what}; move them to a directory of their own"
                )),
            }
        };
        let rebases = |git: &PathBuf| (git.clone(), git_control::rebase_commands(git));
        state.repositories = found.repositories.iter().map(rebases).collect();
        let mut protected = cover(found.protected, MAX_PROTECTED, "protected")?;
        protected.extend(found.repositories.iter().flat_map(|git| self.git_paths(git)));
        Ok(ScannedPaths {
            hidden: cover(found.hidden, MAX_HIDDEN, "hidden")?,
            protected,
        })
    }

    fn after(&self) -> Vec<PathBuf> {
        let mut state = self.state();
        let Ok(found) = self.find(&mut state) else {
            return Vec::new();
        };
        let mut reverted = Vec::new();
        for git in &found.repositories {
            match state.repositories.get(git) {
                Some(before) => {
                    let todo = git.join("rebase-merge/git-rebase-todo");
                    reverted.extend(git_control::disarm_rebase(git, before).then_some(todo));
                }
                None => reverted.extend(git_control::disarm(git, state.repositories.keys())),
            }
        }
        state.repositories.extend(
            found
                .repositories
                .iter()
                .map(|git| (git.clone(), git_control::rebase_commands(git))),
        );
        reverted
    }
}

/// A warning if too many paths are covered.
pub(crate) fn too_many_paths(what: &str, cover: &PathCover) -> Option<String> {
    if cover.omitted > 0 {
        return Some(format!(
            "too many {what} paths in the project's directory: commands are not run"
        ));
    }
    let first = cover.whole_folders.first()?.display();
    let folders = match cover.whole_folders.len() {
        1 => String::new(),
        count => format!(" and {} more directories", count - 1),
    };
    Some(format!(
        "too many {what} paths: all of {first}{folders} is {what} from commands"
    ))
}
