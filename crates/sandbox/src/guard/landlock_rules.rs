//! Landlock: the files that the command may read and write, and isolation from other processes.

#![allow(
    clippy::disallowed_methods,
    reason = "a guard looks at the files its command will see"
)]

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
    make_bitflags, path_beneath_rules,
};

use crate::guard_args::GuardArgs;
use crate::{LayerStatus, NetworkAccess};

/// The newest fully supported version. Older kernels apply the subset they know.
const NEWEST: ABI = ABI::V6;
/// The devices that commands may use, besides terminals.
pub(super) const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Devices for opening terminals, and the open terminals.
const TERMINALS: [&str; 2] = ["ptmx", "pts"];

/// Creates the rules; `hidden` are the paths that no mount covers.
pub(super) fn create(
    args: &GuardArgs,
    hidden: &[PathBuf],
    mounts: &LayerStatus,
) -> Result<RulesetCreated, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let read = AccessFs::from_read(NEWEST);
    let devices = make_bitflags!(AccessFs::{MakeChar | MakeBlock});
    let device = make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | Truncate | IoctlDev});

    let mut rules = Ruleset::default().handle_access(all)?.scope(Scope::from_all(NEWEST))?;
    if args.network == NetworkAccess::Denied {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let write = match hidden.is_empty() {
        true => all & !devices,
        // Reading is granted path by path.
        false => all & !devices & !make_bitflags!(AccessFs::{ReadFile | Execute}),
    };
    let terminals = match mounts {
        LayerStatus::Active => TERMINALS.as_slice(),
        // This includes the user's terminals.
        LayerStatus::Missing(_) => &[],
    };
    let usable = DEVICES.iter().chain(terminals).map(|name| Path::new("/dev").join(name));
    rules
        .create()?
        // Directories may be listed everywhere.
        .add_rules(path_beneath_rules(["/"], AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(readable(hidden), read))?
        .add_rules(path_beneath_rules(present(&args.writable), write))?
        .add_rules(path_beneath_rules(usable, device))
}

fn present(paths: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    paths.iter().filter(|path| path.exists())
}

/// Everything except devices, which would expose the contents of any file, and hidden paths.
fn readable(hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut without: Vec<PathBuf> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let files = without.iter().filter_map(|path| path.metadata().ok());
    let files = files
        .filter(|found| found.is_file())
        .map(|found| (found.dev(), found.ino()));
    let files: HashSet<(u64, u64)> = files.collect();
    without.push("/dev".into());
    let mut readable = siblings(Path::new("/"), &without);
    // Other names of a hidden file.
    let is_hidden = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|found| files.contains(&(found.dev(), found.ino())))
    };
    readable.retain(|path| !is_hidden(path));
    if !hidden.iter().any(|path| path.starts_with("/dev")) {
        readable.push("/dev/shm".into());
    }
    readable
}

/// The largest subtrees of a directory that contain none of the given paths.
fn siblings(folder: &Path, without: &[PathBuf]) -> Vec<PathBuf> {
    if without.iter().any(|path| folder.starts_with(path)) {
        return Vec::new();
    }
    if !without.iter().any(|path| path.starts_with(folder)) {
        return vec![folder.into()];
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    entries.flat_map(|entry| siblings(&entry.path(), without)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_of_hidden_paths_are_found_without_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["a/x", "a/y", "b/z"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::write(root.join(".env"), "").unwrap();
        std::os::unix::fs::symlink("a/x", root.join("link")).unwrap();
        for (without, expected) in [
            (&[][..], &[""][..]),
            (&[".env"], &["a", "b"]),
            (&["a/x", ".env"], &["a/y", "b"]),
            (&[""], &[]),
            (&["missing"], &[".env", "a", "b"]),
        ] {
            let without: Vec<PathBuf> = without.iter().map(|path| root.join(path)).collect();
            let mut found = siblings(&root, &without);
            found.sort();
            let expected: Vec<PathBuf> = expected.iter().map(|path| root.join(path)).collect();
            assert_eq!(found, expected, "{without:?}");
        }
    }
}
