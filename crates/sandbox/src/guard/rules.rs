//! Landlock: which files the command may read and write, and that it reaches no other process.

#![allow(
    clippy::disallowed_methods,
    reason = "a guard looks at the files its command will see"
)]

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
    path_beneath_rules,
};

use crate::order::Order;
use crate::{Layer, Network};

/// The newest version whose every right is known here. Older kernels take what they know of it.
const NEWEST: ABI = ABI::V6;
/// Devices that everything uses.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// What opens new terminals, and all that are open.
const TERMINALS: [&str; 2] = ["ptmx", "pts"];

/// Restricts this thread and all it will start.
pub(super) fn restrict(order: &Order, mounts: &Layer) -> Result<(), RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let read = AccessFs::from_read(NEWEST);
    let devices = make_bitflags!(AccessFs::{MakeChar | MakeBlock});
    let device = make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | Truncate | IoctlDev});

    let mut rules = Ruleset::default().handle_access(all)?.scope(Scope::from_all(NEWEST))?;
    if order.network == Network::Denied {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let hidden = match mounts {
        // Covered already, and a rule for each of its neighbours would not cover those that come later.
        Layer::Active => &[],
        Layer::Missing(_) => order.hidden.as_slice(),
    };
    let write = match hidden.is_empty() {
        true => all & !devices,
        // Reading is granted name by name.
        false => all & !devices & !make_bitflags!(AccessFs::{ReadFile | Execute}),
    };
    let terminals = match mounts {
        Layer::Active => TERMINALS.as_slice(),
        // Among them are those of the person.
        Layer::Missing(_) => &[],
    };
    let usable = DEVICES.iter().chain(terminals).map(|name| Path::new("/dev").join(name));
    rules
        .create()?
        // Names may be listed everywhere.
        .add_rules(path_beneath_rules(["/"], AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(readable(hidden), read))?
        .add_rules(path_beneath_rules(present(&order.writable), write))?
        .add_rules(path_beneath_rules(usable, device))?
        .restrict_self()?;
    Ok(())
}

fn present(paths: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    paths.iter().filter(|path| path.exists())
}

/// Everything but devices, which would show the contents of any file, and the hidden paths.
fn readable(hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut without: Vec<PathBuf> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    without.push("/dev".into());
    let mut readable = beside(Path::new("/"), &without);
    if !hidden.iter().any(|path| path.starts_with("/dev")) {
        readable.push("/dev/shm".into());
    }
    readable
}

/// The largest parts of a folder that contain none of the given paths.
fn beside(folder: &Path, without: &[PathBuf]) -> Vec<PathBuf> {
    if without.iter().any(|path| folder.starts_with(path)) {
        return Vec::new();
    }
    if !without.iter().any(|path| path.starts_with(folder)) {
        return vec![folder.into()];
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    entries.flat_map(|entry| beside(&entry.path(), without)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_beside_hidden_paths_are_found_without_them() {
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
            let mut found = beside(&root, &without);
            found.sort();
            let expected: Vec<PathBuf> = expected.iter().map(|path| root.join(path)).collect();
            assert_eq!(found, expected, "{without:?}");
        }
    }
}
