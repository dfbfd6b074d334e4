//! Finds hidden and protected paths in a project before each command, and reverts new repositories after it.

use crate::git_control;
use crate::git_control::RepositoryState;
use policy::project_files::{AGENT_RULES, LOCAL_RULES, SHARED_RULES};
use policy::{Permissions, ProjectPaths, ProtectedPaths};
use sandbox::{AccessScan, PathScanError, ScannedPaths, git_control_paths, is_generated, repository_control_paths};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use workspace::{PathCover, ScanStep, TreeScan, Workspace};

/// The maximum number of hidden paths; beyond it, whole directories are hidden.
pub(crate) const MAX_HIDDEN: usize = 1_000;
/// The maximum number of protected paths; beyond it, whole directories are protected.
pub(crate) const MAX_PROTECTED: usize = 500;
/// The directory with hew's settings of a project.
const SETTINGS_FOLDER: &str = ".hew";
/// The maximum number of rules files in subdirectories that are read-only.
const MAX_RULES: usize = 2_000;
/// Larger rules files are not recognized if they are moved.
const MAX_RULES_BYTES: u64 = 256 * 1024;
/// Neither are directories with more entries.
const MAX_RULES_ENTRIES: usize = 200;

/// Folders of a git directory with a folder for each few files, which are not searched.
const LARGE_FILE_FOLDERS: [&str; 2] = ["lfs/objects", "annex/objects"];

/// Searches all directories of a project.
pub(crate) struct ProjectScan {
    workspace: Workspace,
    roots: Vec<PathBuf>,
    /// The git directories outside of the project that commands may write: of a repository above it or of linked
    /// worktrees.
    outer: Vec<PathBuf>,
    /// Configured patterns of protected files. Of the default ones, rules files are protected in every directory, others
    /// only in the project directory itself.
    protected: Option<(Arc<ProtectedPaths>, Arc<ProjectPaths>)>,
    hides_files: bool,
    /// The directories that commands may write.
    writable: Vec<PathBuf>,
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
    /// Their contents: files that were moved with their directories are no new ones.
    rules_contents: BTreeSet<String>,
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
        writable: Vec<PathBuf>,
        user_configs: Vec<PathBuf>,
        home: Option<PathBuf>,
    ) -> Self {
        let roots = [workspace.root()]
            .into_iter()
            .chain(workspace.more().iter().map(PathBuf::as_path));
        let hides_files = !permissions.ignore.is_empty() || permissions.denies_files().0;
        // Commands cannot write the whole disk, so that only hidden files in it are of interest.
        let is_searched = |root: &&Path| hides_files || root.parent().is_some();
        let roots: Vec<PathBuf> = roots.filter(is_searched).map(Path::to_path_buf).collect();
        let folders = workspace.repositories().into_iter().filter_map(|(_, git)| git.folder);
        let outer = folders.filter(|folder| !roots.iter().any(|root| folder.starts_with(root)));
        Self {
            workspace: workspace.clone(),
            outer: outer.collect(),
            roots,
            protected: has_protected.then(|| (Arc::clone(&permissions.protected), Arc::clone(&permissions.project))),
            hides_files,
            writable,
            user_configs,
            home,
            state: Mutex::default(),
        }
    }

    /// Warnings about directories that are hidden or protected completely.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut state = self.state();
        let found = self.find(&mut state);
        if state.tree.is_too_large() {
            return vec![format!("commands are not run: {}", PathScanError::TooManyFolders)];
        }
        let root = self.workspace.root();
        let hidden = too_many_paths("hidden", &PathCover::new(found.hidden, root, MAX_HIDDEN));
        let protected = too_many_paths("protected", &PathCover::new(found.protected, root, MAX_PROTECTED));
        hidden.into_iter().chain(protected).collect()
    }

    fn state(&self) -> MutexGuard<'_, ScanState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, state: &mut ScanState) -> FoundPaths {
        let decide = |path: &Path, is_folder: bool| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name == ".git" {
                return ScanStep::Repository;
            }
            // Of a git directory, only the repositories in it are of interest.
            if let Some(inner) = self.in_git_folder(path) {
                return match LARGE_FILE_FOLDERS.iter().any(|large| inner == Path::new(large)) {
                    true => ScanStep::Skip,
                    false => ScanStep::Enter,
                };
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
        let roots: Vec<PathBuf> = self.roots.iter().chain(&self.outer).cloned().collect();
        let listed = state.tree.update(&roots, decide);
        let of = |wanted: ScanStep| {
            let paths = listed.iter().filter(|(_, step)| *step == wanted);
            paths.map(|(path, _)| path.clone()).collect::<Vec<PathBuf>>()
        };
        let repositories: BTreeSet<PathBuf> = of(ScanStep::Repository).into_iter().chain(self.outer.clone()).collect();
        // They belong to their repository.
        let is_worktree = |git: &PathBuf| {
            let folder = git.parent().filter(|parent| parent.ends_with("worktrees"));
            folder.is_some_and(|folder| folder.parent().is_some_and(|git| repositories.contains(git)))
        };
        FoundPaths {
            hidden: of(ScanStep::Hidden),
            protected: of(ScanStep::Protected),
            rules: of(ScanStep::Rules),
            repositories: repositories.iter().filter(|git| !is_worktree(git)).cloned().collect(),
        }
    }

    /// The part of a path in a git directory.
    fn in_git_folder<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let outer = self.outer.iter().find_map(|git| path.strip_prefix(git).ok());
        outer.or_else(|| {
            let root = self.roots.iter().find(|root| path.starts_with(root))?;
            let mut above = path.ancestors().skip(1).take_while(|above| above.starts_with(root));
            path.strip_prefix(above.find(|above| above.ends_with(".git"))?).ok()
        })
    }

    /// Whether hew reads this path as rules of a subdirectory, or through it if it is a link. Those of the project's
    /// directory are protected anyway.
    fn is_nested_rules(&self, path: &Path) -> bool {
        let inner = self.roots.iter().find_map(|root| path.strip_prefix(root).ok());
        inner.is_some_and(|inner| {
            let is_below = |name: &Path| inner.ends_with(name) && inner != name;
            let contains_rules = |name: &Path| {
                name.parent()
                    .is_some_and(|above| above != Path::new("") && is_below(above))
            };
            let mut names = rules_names().map(Path::new);
            names.any(|name| is_below(name) || (contains_rules(name) && path.is_symlink())) && !is_generated(inner)
        })
    }

    /// The paths in a working tree or a bare repository that make git run programs.
    fn git_paths(&self, git: &Path) -> Vec<PathBuf> {
        let Some(top) = git.parent().filter(|_| git.ends_with(".git")) else {
            return git_control_paths(git);
        };
        let mut paths = repository_control_paths(top);
        // For a linked worktree, the configuration is that of the main one.
        let folder = match git.is_dir() {
            true => Some(git.to_owned()),
            false => workspace::repository_of(top).and_then(|repository| repository.folder),
        };
        if let Some(folder) = folder {
            paths.extend(git_control::referenced_paths(
                top,
                &folder,
                &self.user_configs,
                self.home.as_deref(),
            ));
        }
        paths
    }
}

/// An id of the content of a file or a directory; `None` if it is too large or contains something else.
fn content_id(path: &Path) -> Option<String> {
    let (mut pending, mut entries) = (vec![path.to_owned()], BTreeMap::new());
    while let Some(next) = pending.pop() {
        let kind = next.symlink_metadata().ok()?.file_type();
        let id = if kind.is_dir() {
            pending.extend(std::fs::read_dir(&next).ok()?.flatten().map(|entry| entry.path()));
            String::new()
        } else if kind.is_file() {
            let bytes = workspace::read_regular_file(&next, MAX_RULES_BYTES).ok();
            workspace::blob_name(&bytes.filter(|bytes| (bytes.len() as u64) < MAX_RULES_BYTES)?)
        } else {
            return None;
        };
        entries.insert(next.strip_prefix(path).ok()?.to_owned(), id);
        if entries.len() + pending.len() > MAX_RULES_ENTRIES {
            return None;
        }
    }
    let text: String = entries.iter().map(|(path, id)| format!("{path:?} {id}\n")).collect();
    Some(workspace::blob_name(text.as_bytes()))
}

/// The names of rules files that apply to a directory, and of the settings of hew: a trusted project's may extend what is
/// allowed if hew is started in that directory.
fn rules_names() -> impl Iterator<Item = &'static str> {
    let rules = [SHARED_RULES, AGENT_RULES, LOCAL_RULES].into_iter().flatten().copied();
    rules.chain([SETTINGS_FOLDER])
}

impl ScanState {
    /// Disarms what processes have added to repositories, and new repositories. Returns the changed paths.
    fn disarm(&mut self, repositories: &[PathBuf], writable: &[PathBuf]) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for git in repositories {
            match self.repositories.get(git) {
                Some(before) if !before.is_new() => changed.extend(before.disarm_additions(git)),
                // Another process may have changed it after the one that made it.
                Some(_) | None => {
                    let known: Vec<&PathBuf> = self.repositories.keys().filter(|other| *other != git).collect();
                    changed.extend(git_control::disarm(git, &known, writable));
                    self.repositories.insert(git.clone(), RepositoryState::created());
                }
            }
        }
        changed
    }

    /// Notes the current state of repositories.
    fn note(&mut self, repositories: &[PathBuf]) {
        let states = repositories.iter().map(|git| (git.clone(), RepositoryState::new(git)));
        self.repositories.extend(states);
    }
}

impl AccessScan for ProjectScan {
    fn before(&self) -> Result<ScannedPaths, PathScanError> {
        let mut state = self.state();
        let found = self.find(&mut state);
        if state.tree.is_too_large() {
            return Err(PathScanError::TooManyFolders);
        }
        let cover = |paths: Vec<PathBuf>, most: usize, access: &'static str| {
            let cover = PathCover::new(paths, self.workspace.root(), most);
            match cover.omitted {
                0 => Ok(cover.paths),
                _ => Err(PathScanError::TooManyFiles { most, access }),
            }
        };
        match state.running {
            0 => {
                state.repositories.clear();
                state.note(&found.repositories);
            }
            // Another process may have created a repository, which must not count as the user's.
            _ => drop(state.disarm(&found.repositories, &self.writable)),
        }
        state.rules = found.rules.iter().cloned().collect();
        state.rules_contents = found.rules.iter().filter_map(|path| content_id(path)).collect();
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
        // A command that creates too many folders must not keep other things by that.
        let found = self.find(&mut state);
        let mut reverted = state.disarm(&found.repositories, &self.writable);
        // While another process runs, the user may have approved a new file.
        if state.running == 0 {
            let is_moved = |path: &Path| content_id(path).is_some_and(|id| state.rules_contents.contains(&id));
            let new = found.rules.into_iter();
            let new = new.filter(|path| !state.rules.contains(path) && !is_moved(path));
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
