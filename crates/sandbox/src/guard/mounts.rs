//! A private view of the file system: everything but the roots is read-only, protected paths in them are read-only too,
//! and hidden paths are covered. This enforces what Landlock cannot: exceptions below a writable directory, and changes
//! to modes, owners and times.

#![allow(
    clippy::disallowed_methods,
    reason = "a guard arranges the files its command will see"
)]

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind_recursive, mount_change,
    move_mount, open_tree,
};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};

use super::syscall::{MountFlag, set_mount, unshare};
use crate::guard_args::GuardArgs;

/// Why the mounts could not be set up.
pub(super) enum MountError {
    /// The system does not allow it; nothing has changed.
    Unavailable(io::Error),
    /// It failed halfway, and the current state is unusable.
    Incomplete(io::Error),
}

/// Sets up the mounts for this process and its children.
pub(super) fn set_up(args: &GuardArgs) -> Result<(), MountError> {
    let cwd = std::env::current_dir().map_err(MountError::Unavailable)?;
    unshare_mounts()?;
    let roots = clone_roots(args).map_err(MountError::Unavailable)?;
    let read_only = set_mount(Path::new("/"), MountFlag::ReadOnly);
    read_only.map_err(|error| MountError::Unavailable(with_context("mounting read-only", &error)))?;
    attach_roots(args, roots, &cwd).map_err(|error| MountError::Incomplete(with_context("arranging the files", &error)))
}

/// Clones the roots, which keep all their mount flags and submounts.
fn clone_roots(args: &GuardArgs) -> io::Result<Vec<(PathBuf, OwnedFd)>> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
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

fn attach_roots(args: &GuardArgs, roots: Vec<(PathBuf, OwnedFd)>, cwd: &Path) -> io::Result<()> {
    for (root, tree) in roots {
        move_mount(tree, "", CWD, root, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    }
    // A mount point cannot be moved away.
    for path in args.pinned.iter().chain(&args.protected).filter(|path| path.exists()) {
        mount_bind_recursive(path, path)?;
    }
    for path in args.protected.iter().filter(|path| path.exists()) {
        set_mount(path, MountFlag::ReadOnly)?;
    }
    args.hidden.iter().try_for_each(|path| hide(path))?;
    mount_devpts().or_else(|_| hide(Path::new("/dev/pts")))?;
    // The directory was entered before it was mounted again.
    std::env::set_current_dir(cwd)
}

/// A private devpts, in which programs can open new terminals but not the user's.
fn mount_devpts() -> io::Result<()> {
    let (folder, maker) = (Path::new("/dev/pts"), Path::new("/dev/ptmx"));
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
    if maker.exists() && !maker.is_symlink() {
        mount_bind_recursive(folder.join("ptmx"), maker)?;
    }
    Ok(())
}

fn with_context(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Leaves the system's mount and IPC namespaces. Without the required capability it uses a user namespace.
fn unshare_mounts() -> Result<(), MountError> {
    let unavailable = |error: io::Error| MountError::Unavailable(with_context("no namespaces", &error));
    if capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN)) {
        unshare(UnshareFlags::NEWNS).map_err(unavailable)?;
    } else {
        if is_restricted() {
            return Err(unavailable(io::ErrorKind::PermissionDenied.into()));
        }
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS).map_err(unavailable)?;
        map_user(user, group).map_err(|error| MountError::Incomplete(with_context("naming the user", &error)))?;
    }
    // Kernels without these namespaces may lack all of them.
    unshare(UnshareFlags::NEWIPC).ok();
    Ok(())
}

/// Whether AppArmor allows creating namespaces but not using them, which could not be reverted.
fn is_restricted() -> bool {
    let holds = |path: &str, start: &str| fs::read_to_string(path).is_ok_and(|text| text.starts_with(start));
    holds("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")
        && holds("/proc/self/attr/current", "unconfined")
}

/// Maps the user to itself in the new namespace.
fn map_user(user: u32, group: u32) -> io::Result<()> {
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
