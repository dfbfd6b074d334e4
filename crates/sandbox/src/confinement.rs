//! What a process may reach.

use std::path::{Path, PathBuf};

/// What a process may reach. Reading is free unless hidden; writing is not.
///
/// `Confinement::new` is the whole policy for most callers; the fields are there for grants and for what a project hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// How much is confined.
    pub level: Level,
    /// Folders that may be written at [`Level::Workspace`], besides [`temp`](Self::temp).
    pub roots: Vec<PathBuf>,
    /// Folders for temporary files, written at [`Level::Workspace`] only. Missing ones are skipped.
    pub temp: Vec<PathBuf>,
    /// Files and folders that stay read-only although they lie in a root. What makes git run programs (its hooks and its
    /// configuration) is always among them.
    pub protected: Vec<PathBuf>,
    /// Files and folders that cannot be read.
    pub hidden: Vec<PathBuf>,
    /// Whether other machines, and this one by its network, can be reached.
    pub network: Network,
    /// What it may use up.
    pub limits: Limits,
    /// The program that starts confined processes: one whose `main` begins with [`guard`](crate::guard).
    pub launcher: PathBuf,
}

/// How much is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Nothing can be written.
    ReadOnly,
    /// Only the roots and temporary files can be written.
    Workspace,
    /// Nothing is confined.
    Off,
}

/// Whether a process has the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// No sockets, not even local ones. Pairs of sockets within the process still work.
    Denied,
    /// TCP and UDP by IPv4 and IPv6. Sockets of other programs on this machine stay closed.
    Granted,
}

/// What a process may use up; nothing is limited unless given. Core files are never written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Processes and threads of the user, counted over the whole machine.
    pub processes: Option<u64>,
    /// Address space of each process, in bytes.
    pub memory: Option<u64>,
    /// Size of each written file, in bytes.
    pub file_size: Option<u64>,
}

impl Confinement {
    /// The given level with these folders, the usual ones for temporary files, and no network. The launcher is the
    /// program that calls this.
    pub fn new(level: Level, roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            level,
            roots: roots.into_iter().collect(),
            temp: ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from).into(),
            protected: Vec::new(),
            hidden: Vec::new(),
            network: Network::Denied,
            limits: Limits::default(),
            // Still there when the file was replaced by a newer version.
            launcher: "/proc/self/exe".into(),
        }
    }

    /// Folders that may be written.
    pub(crate) fn writable(&self) -> Vec<&Path> {
        match self.level {
            Level::ReadOnly | Level::Off => Vec::new(),
            Level::Workspace => self.roots.iter().chain(&self.temp).map(PathBuf::as_path).collect(),
        }
    }

    /// The protected paths as given, and what makes git run programs in each root.
    pub(crate) fn all_protected(&self) -> Vec<PathBuf> {
        /// Must not appear either; `commondir` would take the configuration from elsewhere.
        const GIT: [&str; 4] = ["hooks", "config", "config.worktree", "commondir"];
        let git = self.roots.iter().map(|root| root.join(".git"));
        let inside = git.flat_map(|git| match git.is_dir() && !git.is_symlink() {
            true => {
                // The repositories of submodules, with hooks of their own.
                let modules = Some(git.join("modules")).filter(|modules| modules.is_dir());
                GIT.map(|name| git.join(name)).into_iter().chain(modules).collect()
            }
            // A link of one kind or another to the repository; or nothing, and then making one is ordinary work.
            false if git.exists() || git.is_symlink() => vec![git],
            false => Vec::new(),
        });
        self.protected.iter().cloned().chain(inside).collect()
    }

    /// In a few words, for the person and for the model.
    pub fn summary(&self) -> String {
        let network = match self.network {
            Network::Denied => "no network",
            Network::Granted => "with network",
        };
        match self.level {
            Level::Off => "not confined".into(),
            Level::ReadOnly => format!("read-only, {network}"),
            Level::Workspace => {
                let roots: Vec<String> = self.roots.iter().map(|root| root.display().to_string()).collect();
                format!("writes only in {} and temporary folders, {network}", roots.join(", "))
            }
        }
    }
}
