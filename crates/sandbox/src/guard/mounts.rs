//! A private view of the file system: everything but the roots is read-only, protected paths in them are read-only too,
//! and hidden paths are covered. This enforces what Landlock cannot: exceptions below a writable directory, and changes
//! to modes, owners and times.

#![allow(
    clippy::disallowed_methods,
    reason = "a guard arranges the files its command will see"
)]

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind_recursive,
    mount_change, move_mount, open_tree, unmount,
};

use super::Namespaces;
use super::landlock_rules::DEVICES;
use super::present_paths::PresentPaths;
use super::syscall::{MountFlag, set_mount};
use crate::guard_args::GuardArgs;
use crate::guard_request::GuardRequest;

/// The mounts on protected and hidden paths. They follow the paths that each command brings.
#[derive(Default)]
pub(super) struct MountTable {
    mounted: BTreeMap<PathBuf, MountKind>,
}

/// Why a path is a mount point. A mount point cannot be moved or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MountKind {
    Pinned,
    Protected,
    Hidden,
}

impl MountTable {
    /// Sets up the mounts that all commands share, in a new mount namespace.
    pub(super) fn set_up(args: &GuardArgs, namespaces: Namespaces) -> io::Result<Self> {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let mut usable = clone_roots(args)?;
        usable.extend(clone_devices()?);
        // Devices, too: a read-only mount does not prevent that a device is written.
        set_mount(Path::new("/"), MountFlag::Dead).map_err(|error| with_context("mounting read-only", &error))?;
        for (root, tree) in usable {
            move_mount(tree, "", CWD, root, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        }
        mount_shared_memory(args)?;
        mount_devpts().or_else(|_| hide(Path::new("/dev/pts")))?;
        if namespaces == Namespaces::Processes {
            let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            mount("proc", "/proc", "proc", flags, None)
                .map_err(|error| with_context("mounting /proc", &error.into()))?;
        }
        Ok(Self::default())
    }

    /// Protects and hides the paths of a command. A mount vanishes if another program replaces or removes its mount
    /// point, so each one is checked.
    pub(super) fn update(&mut self, request: &GuardRequest) -> io::Result<()> {
        // Pins and protection have no effect if they are not needed any more.
        let hidden: HashSet<PathBuf> = request.hidden.iter().map(|path| normalized(path)).collect();
        let is_shown = |(path, kind): &(&PathBuf, &MountKind)| **kind == MountKind::Hidden && !hidden.contains(*path);
        let shown = self.mounted.iter().filter(is_shown).map(|(path, _)| path.clone());
        for path in shown.collect::<Vec<_>>() {
            self.mounted.remove(&path);
            // Fails if it was unmounted because the file was removed.
            unmount(&path, UnmountFlags::DETACH).ok();
        }
        let lists = [
            (&request.pinned, MountKind::Pinned),
            (&request.protected, MountKind::Protected),
            (&request.hidden, MountKind::Hidden),
        ];
        let present = PresentPaths::new(lists.iter().flat_map(|(paths, _)| *paths));
        // Sorted, so that a directory is mounted before the paths in it.
        let mut wanted: BTreeMap<PathBuf, MountKind> = BTreeMap::new();
        for (paths, kind) in lists {
            let paths = paths.iter().filter(|path| !present.is_absent(path));
            wanted.extend(paths.map(|path| (normalized(path), kind)));
        }
        for (path, kind) in wanted {
            let is_mounted = self.mounted.get(&path).is_some_and(|before| *before >= kind) && is_mount_point(&path);
            if is_mounted || !path.exists() {
                continue;
            }
            match kind {
                MountKind::Pinned => mount_bind_recursive(&path, &path)?,
                MountKind::Protected => {
                    mount_bind_recursive(&path, &path)?;
                    set_mount(&path, MountFlag::ReadOnly)?;
                }
                MountKind::Hidden => hide(&path)?,
            }
            self.mounted.insert(path, kind);
        }
        Ok(())
    }
}

/// Without a trailing slash, with which a file does not exist.
fn normalized(path: &Path) -> PathBuf {
    path.components().collect()
}

fn is_mount_point(path: &Path) -> bool {
    statx(CWD, path, AtFlags::empty(), StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Clones the roots, which keep all their mount flags and submounts.
fn clone_roots(args: &GuardArgs) -> io::Result<Vec<(PathBuf, OwnedFd)>> {
    let roots = args.writable.iter().filter_map(|root| root.canonicalize().ok());
    let mut roots: Vec<PathBuf> = roots.collect();
    // A nested root comes after its parent.
    roots.sort();
    roots.dedup();
    let taken = roots.into_iter().map(|root| {
        let tree = clone_mount(&root)?;
        Ok((root, tree))
    });
    taken.collect()
}

/// Clones the devices that commands may use.
fn clone_devices() -> io::Result<Vec<(PathBuf, OwnedFd)>> {
    let devices = DEVICES.iter().map(|name| Path::new("/dev").join(name));
    let devices = devices.filter(|device| device.exists());
    devices
        .map(|device| Ok((device.clone(), clone_mount(&device)?)))
        .collect()
}

/// A private `/dev/shm`, so that commands neither see nor change the shared memory of other programs.
fn mount_shared_memory(args: &GuardArgs) -> io::Result<()> {
    let folder = Path::new("/dev/shm");
    if !folder.is_dir() || !args.writable.iter().any(|root| root == folder) {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", folder, "tmpfs", flags, c"mode=1777")?;
    Ok(())
}

/// A private devpts, in which programs can open new terminals but not the user's.
fn mount_devpts() -> io::Result<()> {
    let (folder, multiplexer) = (Path::new("/dev/pts"), Path::new("/dev/ptmx"));
    if !folder.is_dir() {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount(
        "devpts",
        folder,
        "devpts",
        flags,
        c"newinstance,ptmxmode=0666,mode=0620",
    )?;
    if multiplexer.exists() && !multiplexer.is_symlink() {
        mount_bind_recursive(folder.join("ptmx"), multiplexer)?;
    }
    Ok(())
}

fn with_context(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Whether AppArmor allows creating namespaces but not using them.
pub(super) fn is_restricted() -> bool {
    let holds = |path: &str, start: &str| fs::read_to_string(path).is_ok_and(|text| text.starts_with(start));
    !super::is_privileged()
        && holds("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")
        && holds("/proc/self/attr/current", "unconfined")
}

/// Maps the user to itself in the new namespace.
pub(super) fn map_user((user, group): (u32, u32)) -> io::Result<()> {
    // The kernel requires this before a user may map groups.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn clone_mount(root: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(open_tree(CWD, root, flags)?)
}

fn hide(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            mount("tmpfs", path, "tmpfs", flags, c"mode=000,size=4k")?;
            Ok(())
        }
        // A device file on a `nodev` mount: opening it always fails.
        Ok(_) => {
            mount_bind_recursive("/dev/null", path)?;
            set_mount(path, MountFlag::Dead)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
