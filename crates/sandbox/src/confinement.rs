//! The access rights of a confined process.

use std::path::{Path, PathBuf};

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
    /// Access to the network, including loopback.
    pub network: NetworkAccess,
    /// Resource limits.
    pub limits: ResourceLimits,
    /// The program that starts confined processes: its `main` must start with [`guard`](crate::guard).
    pub launcher: PathBuf,
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
            network: NetworkAccess::Denied,
            limits: ResourceLimits::default(),
            // Valid even if the file was replaced by a newer version.
            launcher: "/proc/self/exe".into(),
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
        /// These must not be created either; `commondir` would redirect the configuration.
        const GIT: [&str; 4] = ["hooks", "config", "config.worktree", "commondir"];
        let git = self.roots.iter().map(|root| root.join(".git"));
        let inside = git.flat_map(|git| match git.is_dir() && !git.is_symlink() {
            true => {
                // The repositories of submodules, which have their own hooks.
                let modules = Some(git.join("modules")).filter(|modules| modules.is_dir());
                GIT.map(|name| git.join(name)).into_iter().chain(modules).collect()
            }
            // A link to the repository. If there is none, creating a repository is allowed.
            false if git.exists() || git.is_symlink() => vec![git],
            false => Vec::new(),
        });
        self.protected.iter().cloned().chain(inside).collect()
    }

    /// A short description for the user and the model.
    pub fn summary(&self) -> String {
        let network = match self.network {
            NetworkAccess::Denied => "no network",
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
