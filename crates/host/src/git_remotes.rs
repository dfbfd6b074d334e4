//! The remotes of a repository: pushing to a directory on this machine runs its hooks.

use crate::git_control::resolve;
use std::path::{Path, PathBuf};

/// The schemes of addresses elsewhere.
const NETWORK_SCHEMES: [&str; 8] = ["ftp", "ftps", "git", "git+ssh", "http", "https", "ssh", "ssh+git"];

/// A key of a configuration that denotes a remote repository.
pub(crate) enum RemoteKey {
    Address,
    /// The name of a remote, or an address.
    Name,
}

/// What the value of this key denotes; `None` if it is not about a remote.
pub(crate) fn remote_key(key: &str) -> Option<RemoteKey> {
    let last = key.rsplit_once('.')?.1;
    match (key.split_once('.')?.0, last) {
        ("remote", "url" | "pushurl") => Some(RemoteKey::Address),
        ("remote", "pushdefault") | ("branch", "remote" | "pushremote") => Some(RemoteKey::Name),
        _ => None,
    }
}

/// Whether pushing to this address runs no program that a command has prepared.
pub(crate) fn is_safe_remote(address: &str, git: &Path, known: &[&PathBuf], writable: &[PathBuf]) -> bool {
    let path = match address.split_once("://") {
        Some(("file", path)) => path,
        Some((scheme, _)) => return NETWORK_SCHEMES.contains(&scheme),
        None if address.contains("::") => return false,
        // `host:path`
        None if address.split('/').next().is_some_and(|first| first.contains(':')) => return true,
        None if address == "." => return true,
        None => address,
    };
    let top = git.parent().filter(|_| git.ends_with(".git")).unwrap_or(git);
    let path = top.join(path);
    let is_known = |real: &PathBuf| known.iter().any(|known| *known == real || **known == real.join(".git"));
    let is_writable = |real: &PathBuf| writable.iter().any(|root| real.starts_with(root));
    let is_safe = |path: &Path| match path.canonicalize() {
        Ok(real) => is_known(&real) || !is_writable(&real),
        Err(_) => resolve(path).is_some_and(|real| !is_writable(&real)),
    };
    // Git then adds `.git`.
    let longer = PathBuf::from(format!("{}.git", path.display()));
    is_safe(&path) && (path.exists() || is_safe(&longer))
}
