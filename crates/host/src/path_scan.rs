//! Finds hidden and protected paths in a project before each command, and reverts new repositories after it.

use crate::git_control;
use crate::git_control::RepositoryState;
use policy::project_files::{AGENT_RULES, LOCAL_RULES, SHARED_RULES};
use policy::{Permissions, ProjectPaths, ProtectedPaths};
use sandbox::{AccessScan, ScannedPaths, git_control_paths, is_generated, repository_control_paths};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use workspace::{PathCover, ScanStep, TreeScan, Workspace};

/// The maximum number of hidden paths; beyond it, whole directories are hidden.
pub(crate) const MAX_HIDDEN: usize = 1_000;
/// The maximum number of protected paths; beyond it, whole directories are protected.
pub(crate) const MAX_PROTECTED: usize = 500;
/// The maximum number of rules files in subdirectories that are read-only.
const MAX_RULES: usize = 2_000;

/// Searches all directories of a project.
pub(crate) struct ProjectScan {
    workspace: Workspace,
    roots: Vec<PathBuf>,
    /// Configured patterns of protected files. Of the default ones, rules files are protected in every directory, others
    /// only in the project directory itself.
    protected: Option<(Arc<ProtectedPaths>, Arc<ProjectPaths>)>,
    hides_files: bool,
    /// The user's git configuration, which may refer to files of the project.
    user_configs: Vec<PathBuf>,
    home: Option<PathBuf>,
    state: Mutex<ScanState>,
}

#[derive(Default)]
struct ScanState {
    tree: TreeScan,
    /// The running processes.
    running: usize,
    /// The git directories when no process was running, and those that processes created since.
    repositories: BTreeMap<PathBuf, RepositoryState>,
    /// The rules files in subdirectories before the last process.
    rules: BTreeSet<PathBuf>,
}

/// The paths that were found.
struct FoundPaths {
    hidden: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    /// Rules files in subdirectories.
    rules: Vec<PathBuf>,
    /// `.git` of each working tree, and bare repositories.
    repositories: Vec<PathBuf>,
}

impl ProjectScan {
    pub(crate) fn new(
        workspace: &Workspace,
        permissions: &Permissions,
        has_protected: bool,
        user_configs: Vec<PathBuf>,
        home: Option<PathBuf>,
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
            home,
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
            if self.is_nested_rules(path) {
                return ScanStep::Rules;
            }
            match is_folder && !self.hides_files && self.protected.is_none() && is_generated(Path::new(name)) {
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
            rules: of(ScanStep::Rules),
            repositories: of(ScanStep::Repository),
        })
    }

    /// Whether hew reads this path as rules of a subdirectory. Those of the project's directory are protected anyway.
    fn is_nested_rules(&self, path: &Path) -> bool {
        let inner = self.roots.iter().find_map(|root| path.strip_prefix(root).ok());
        inner.is_some_and(|inner| {
            let is_rules = |name: &&str| inner.ends_with(name) && inner != Path::new(name);
            rules_names().any(|name| is_rules(&name)) && !is_generated(inner)
        })
    }

    /// The paths in a working tree or a bare repository that make git run programs.
    fn git_paths(&self, git: &Path) -> Vec<PathBuf> {
        let Some(top) = git.parent().filter(|_| git.ends_with(".git")) else {
            return git_control_paths(git);
        };
        let mut paths = repository_control_paths(top);
        if git.is_dir() {
            paths.extend(git_control::referenced_paths(
                top,
                git,
                &self.user_configs,
                self.home.as_deref(),
            ));
        }
        paths
    }
}

/// The names of rules files that apply to a directory.
fn rules_names() -> impl Iterator<Item = &'static str> {
    [SHARED_RULES, AGENT_RULES, LOCAL_RULES].into_iter().flatten().copied()
}

impl ScanState {
    /// Disarms what processes have added to repositories, and new repositories. Returns the changed paths.
    fn disarm(&mut self, repositories: &[PathBuf]) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for git in repositories {
            match self.repositories.get(git) {
                Some(before) => changed.extend(before.disarm_additions(git)),
                None => changed.extend(git_control::disarm(git, self.repositories.keys())),
            }
        }
        self.note(repositories);
        changed
    }

    /// Notes the current state of repositories.
    fn note(&mut self, repositories: &[PathBuf]) {
        let states = repositories.iter().map(|git| (git.clone(), RepositoryState::new(git)));
        self.repositories.extend(states);
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
        match state.running {
            0 => {
                state.repositories.clear();
                state.note(&found.repositories);
            }
            // Another process may have created a repository, which must not count as the user's.
            _ => drop(state.disarm(&found.repositories)),
        }
        state.rules = found.rules.iter().cloned().collect();
        let mut protected = cover(found.protected, MAX_PROTECTED, "protected")?;
        protected.extend(found.repositories.iter().flat_map(|git| self.git_paths(git)));
        let names = self
            .roots
            .iter()
            .flat_map(|root| rules_names().map(|name| (root.clone(), name.into())));
        Ok(ScannedPaths {
            hidden: cover(found.hidden, MAX_HIDDEN, "hidden")?,
            protected,
            read_only: found.rules.into_iter().take(MAX_RULES).collect(),
            uncreatable: names.collect(),
        })
    }

    fn begin(&self) {
        self.state().running += 1;
    }

    fn after(&self) -> Vec<PathBuf> {
        let mut state = self.state();
        state.running = state.running.saturating_sub(1);
        let Ok(found) = self.find(&mut state) else {
            return Vec::new();
        };
        let mut reverted = state.disarm(&found.repositories);
        // While another process runs, the user may have approved a new file.
        if state.running == 0 {
            let new = found.rules.into_iter().filter(|path| !state.rules.contains(path));
            reverted.extend(new.filter(|path| git_control::block(path)));
        }
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
