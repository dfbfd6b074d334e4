//! The access rights of a confined process.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{GuardPool, NetworkHosts};

/// The access rights of a process. It may read everything that is not hidden; writing is restricted.
///
/// `Confinement::new` is sufficient for most callers; the fields are for grants and for hidden paths of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// The level of confinement.
    pub level: ConfinementLevel,
    /// Writable directories at [`ConfinementLevel::Workspace`], in addition to [`temp`](Self::temp).
    pub roots: Vec<PathBuf>,
    /// Directories for temporary files, writable only at [`ConfinementLevel::Workspace`]. Missing ones are skipped.
    pub temp: Vec<PathBuf>,
    /// Files and directories in a root that stay read-only. Always includes the files that make git run programs (its
    /// hooks and configuration).
    pub protected: Vec<PathBuf>,
    /// Files and directories that cannot be read.
    pub hidden: Vec<PathBuf>,
    /// Finds further protected and hidden paths before each process starts.
    pub scan: Option<PathScan>,
    /// Access to the network, including loopback.
    pub network: NetworkAccess,
    /// The hosts of [`NetworkAccess::Hosts`].
    pub hosts: Option<NetworkHosts>,
    /// Resource limits.
    pub limits: ResourceLimits,
    /// The program that starts confined processes: its `main` must start with [`guard`](crate::guard).
    pub launcher: PathBuf,
    /// The home directory, which `~` denotes in [`ProcessAccess::write`].
    pub home: Option<PathBuf>,
    /// Guards that are kept for the next process; without a pool each process has its own.
    pub guards: Option<GuardPool>,
}

/// What a server or a hook may do in addition to its profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessAccess {
    /// Nothing is confined.
    pub unconfined: bool,
    /// It may use the network.
    pub network: bool,
    /// Files and directories that it may write, relative to the first root, or to the home directory after `~`.
    pub write: Vec<PathBuf>,
}

/// Why the paths that must be hidden or protected could not be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathScanError {
    /// Not all folders can be searched.
    #[error("the project has too many folders")]
    TooManyFolders,
    /// Not all files can be covered.
    #[error("more than {most} files in the project's directory are {access}; move them to a directory of their own")]
    TooManyFiles {
        /// The maximum.
        most: usize,
        /// `hidden` or `protected`.
        access: &'static str,
    },
}

/// Looks at the files of a project around each process.
pub trait AccessScan: Send + Sync {
    /// Finds protected and hidden paths. If it fails, the process is not started.
    fn before(&self) -> Result<ScannedPaths, PathScanError>;

    /// A process starts; [`after`](Self::after) follows once for each.
    fn begin(&self);

    /// Reverts what the process created and must not have created. Returns the paths.
    fn after(&self) -> Vec<PathBuf>;
}

/// A shared [`AccessScan`].
#[derive(Clone)]
pub struct PathScan(pub Arc<dyn AccessScan>);

/// The result of a [`PathScan`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScannedPaths {
    /// Paths that stay read-only.
    pub protected: Vec<PathBuf>,
    /// Paths that stay read-only, in directories that may be moved.
    pub read_only: Vec<PathBuf>,
    /// A directory and a name each: below the directory no path with this name can be created.
    pub uncreatable: Vec<(PathBuf, PathBuf)>,
    /// Paths that cannot be read.
    pub hidden: Vec<PathBuf>,
}

impl fmt::Debug for PathScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PathScan")
    }
}

impl PartialEq for PathScan {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for PathScan {}

/// All paths with restricted access, at the start of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AccessPaths {
    /// Directories that must not be moved because they contain the others.
    pub(crate) pinned: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
    /// A directory and a name each that must not be created below it.
    pub(crate) uncreatable: Vec<(PathBuf, PathBuf)>,
    pub(crate) hidden: Vec<PathBuf>,
}

/// The level of confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfinementLevel {
    /// Nothing is writable.
    ReadOnly,
    /// Only the roots and temporary files are writable.
    Workspace,
    /// Nothing is confined.
    Off,
}

/// Network access of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkAccess {
    /// No sockets, not even local ones. Socket pairs within the process still work.
    Denied,
    /// Named hosts, through an HTTP proxy on a network that contains nothing else. Where such a network cannot be created,
    /// this is as [`Denied`](Self::Denied).
    Hosts,
    /// TCP and UDP over IPv4 and IPv6. Unix sockets of other programs stay inaccessible.
    Granted,
}

/// Resource limits of a process; unlimited by default. Core files are never written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceLimits {
    /// Processes and threads of the user, counted over the whole machine.
    pub processes: Option<u64>,
    /// Address space of each process, in bytes.
    pub memory: Option<u64>,
    /// Size of each written file, in bytes.
    pub file_size: Option<u64>,
}

impl Confinement {
    /// A confinement with this level and these directories, the default temporary directories, and no network. The
    /// launcher is the current program.
    pub fn new(level: ConfinementLevel, roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            level,
            roots: roots.into_iter().collect(),
            temp: ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from).into(),
            protected: Vec::new(),
            hidden: Vec::new(),
            scan: None,
            network: NetworkAccess::Denied,
            hosts: None,
            limits: ResourceLimits::default(),
            // Valid even if the file was replaced by a newer version.
            launcher: "/proc/self/exe".into(),
            home: None,
            guards: None,
        }
    }

    /// The confinement of a process with more access rights. It has its own guard.
    pub fn with_access(&self, access: &ProcessAccess) -> Self {
        let place = |path: &PathBuf| match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            // Relative to the project.
            (Ok(_), None) | (Err(_), _) => self.roots.first().map_or_else(|| path.clone(), |root| root.join(path)),
        };
        Self {
            level: match access.unconfined {
                true => ConfinementLevel::Off,
                false => self.level,
            },
            roots: self
                .roots
                .iter()
                .cloned()
                .chain(access.write.iter().map(place))
                .collect(),
            network: match access.network {
                true => NetworkAccess::Granted,
                false => self.network,
            },
            guards: None,
            ..self.clone()
        }
    }

    /// The writable directories.
    pub(crate) fn writable(&self) -> Vec<&Path> {
        match self.level {
            ConfinementLevel::ReadOnly | ConfinementLevel::Off => Vec::new(),
            ConfinementLevel::Workspace => self.roots.iter().chain(&self.temp).map(PathBuf::as_path).collect(),
        }
    }

    /// The given protected paths, and the files in each root that make git run programs.
    pub(crate) fn protected_paths(&self) -> Vec<PathBuf> {
        let git = self.roots.iter().flat_map(|root| repository_control_paths(root));
        self.protected.iter().cloned().chain(git).collect()
    }

    /// The given paths and those that the scan finds now.
    pub(crate) fn scanned(&self) -> Result<ScannedPaths, PathScanError> {
        let found = match &self.scan {
            Some(PathScan(scan)) if self.level != ConfinementLevel::Off => scan.before()?,
            Some(_) | None => ScannedPaths::default(),
        };
        Ok(ScannedPaths {
            protected: self.protected_paths().into_iter().chain(found.protected).collect(),
            hidden: self.hidden.iter().cloned().chain(found.hidden).collect(),
            ..found
        })
    }

    /// The paths that cannot be read now.
    pub fn hidden_paths(&self) -> Result<Vec<PathBuf>, PathScanError> {
        Ok(self.scanned()?.hidden)
    }

    /// The paths with restricted access.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "Seatbelt needs no pins"))]
    pub(crate) fn access_paths(&self) -> Result<AccessPaths, PathScanError> {
        let scanned = self.scanned()?;
        Ok(match self.level {
            ConfinementLevel::Off => AccessPaths::default(),
            // Nothing is writable anyway.
            ConfinementLevel::ReadOnly => AccessPaths {
                hidden: scanned.hidden,
                ..AccessPaths::default()
            },
            ConfinementLevel::Workspace => {
                let mut protected = scanned.protected;
                let roots = self.writable();
                let within = |path: &Path| roots.iter().find(|root| path.starts_with(root));
                let mut pinned = BTreeSet::new();
                for path in protected.iter().chain(&scanned.hidden) {
                    let above = path.ancestors().skip(1);
                    let above = above.take_while(|above| within(above).is_some_and(|root| above != root));
                    pinned.extend(above.map(Path::to_path_buf));
                }
                protected.extend(scanned.read_only);
                AccessPaths {
                    pinned: pinned.into_iter().collect(),
                    protected,
                    uncreatable: scanned.uncreatable,
                    hidden: scanned.hidden,
                }
            }
        })
    }

    /// A short description for the user and the model.
    pub fn summary(&self) -> String {
        let network = match self.network {
            NetworkAccess::Denied => "no network",
            NetworkAccess::Hosts => "network only to the hosts of `sandbox.network_hosts`, through a proxy",
            NetworkAccess::Granted => "with network",
        };
        match self.level {
            ConfinementLevel::Off => "not confined".into(),
            ConfinementLevel::ReadOnly => format!("read-only, {network}"),
            ConfinementLevel::Workspace => {
                let roots: Vec<String> = self.roots.iter().map(|root| root.display().to_string()).collect();
                format!(
                    "writes only in {} and temporary directories, {network}",
                    roots.join(", ")
                )
            }
        }
    }
}

/// Directories of installed packages and build results.
const GENERATED_FOLDERS: [&str; 6] = ["node_modules", "target", ".venv", "venv", "__pycache__", ".tox"];

/// Whether a path in a project is or is in a directory of installed packages or build results.
pub fn is_generated(path: &Path) -> bool {
    path.iter()
        .any(|name| GENERATED_FOLDERS.iter().any(|generated| name == *generated))
}

/// Entries of a git directory that make git run programs or read settings elsewhere. They must not be created either.
const GIT_CONTROL_FILES: [&str; 6] = ["hooks", "config", "config.worktree", "commondir", "branches", "remotes"];
/// Such entries of a linked worktree.
const WORKTREE_CONTROL_FILES: [&str; 4] = ["commondir", "config.worktree", "gitdir", "modules"];

/// The paths that make git run programs in the working tree at `folder`: entries of its git directory, or the file or
/// link that names one. Empty if there is no repository, so that one can be created.
pub fn repository_control_paths(folder: &Path) -> Vec<PathBuf> {
    let git = folder.join(".git");
    match git.is_dir() && !git.is_symlink() {
        true => git_control_paths(&git),
        false if git.exists() || git.is_symlink() => vec![git],
        false => Vec::new(),
    }
}

/// The entries of a git directory, and of its linked worktrees, that make git run programs or read settings elsewhere.
pub fn git_control_paths(git: &Path) -> Vec<PathBuf> {
    let own = GIT_CONTROL_FILES.map(|name| git.join(name));
    let linked = std::fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten();
    let linked = linked.flat_map(|entry| WORKTREE_CONTROL_FILES.map(|name| entry.path().join(name)));
    own.into_iter().chain(linked).collect()
}
