//! A view of the file system of its own: all read-only but the roots, what is protected read-only within them, what is
//! hidden covered. This holds what Landlock cannot say: an exception below a writable folder, and changes to modes,
//! owners and times.

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

use super::syscall::{Mounted, set_mount, unshare};
use crate::order::Order;

/// Why it could not be arranged.
pub(super) enum Trouble {
    /// This system does not let it happen; nothing has changed.
    Unavailable(io::Error),
    /// It went wrong halfway, and what is left is of no use.
    Halfway(io::Error),
}

/// Arranges it for this process and all it will start.
pub(super) fn arrange(order: &Order) -> Result<(), Trouble> {
    let cwd = std::env::current_dir().map_err(Trouble::Unavailable)?;
    separate()?;
    let aside = take_roots(order).map_err(Trouble::Unavailable)?;
    let read_only = set_mount(Path::new("/"), Mounted::ReadOnly);
    read_only.map_err(|error| Trouble::Unavailable(because("mounting read-only", &error)))?;
    put_back(order, aside, &cwd).map_err(|error| Trouble::Halfway(because("arranging the files", &error)))
}

/// Takes the roots aside, where they keep every flag they have, also of what is mounted in them.
fn take_roots(order: &Order) -> io::Result<Vec<(PathBuf, OwnedFd)>> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let roots = order.writable.iter().filter_map(|root| root.canonicalize().ok());
    let mut roots: Vec<PathBuf> = roots.collect();
    // A root within another comes after it.
    roots.sort();
    roots.dedup();
    let taken = roots.into_iter().map(|root| {
        let tree = take(&root)?;
        Ok((root, tree))
    });
    taken.collect()
}

fn put_back(order: &Order, roots: Vec<(PathBuf, OwnedFd)>, cwd: &Path) -> io::Result<()> {
    for (root, tree) in roots {
        move_mount(tree, "", CWD, root, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    }
    // What something is mounted on cannot be moved away.
    for path in order.pinned.iter().chain(&order.protected).filter(|path| path.exists()) {
        mount_bind_recursive(path, path)?;
    }
    for path in order.protected.iter().filter(|path| path.exists()) {
        set_mount(path, Mounted::ReadOnly)?;
    }
    order.hidden.iter().try_for_each(|path| cover(path))?;
    own_terminals().or_else(|_| cover(Path::new("/dev/pts")))?;
    // The folder was entered before it was mounted anew.
    std::env::set_current_dir(cwd)
}

/// Terminals of its own, in which programs can open new ones but not those of the person.
fn own_terminals() -> io::Result<()> {
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

fn because(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Leaves the system's mounts, and its shared memory and queues. Without the right to do so, in a user namespace, where
/// everybody has it.
fn separate() -> Result<(), Trouble> {
    let unavailable = |error: io::Error| Trouble::Unavailable(because("no namespaces", &error));
    if capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN)) {
        unshare(UnshareFlags::NEWNS).map_err(unavailable)?;
    } else {
        if is_restricted() {
            return Err(unavailable(io::ErrorKind::PermissionDenied.into()));
        }
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS).map_err(unavailable)?;
        name_users(user, group).map_err(|error| Trouble::Halfway(because("naming the user", &error)))?;
    }
    // A kernel without namespaces for these may have none of them.
    unshare(UnshareFlags::NEWIPC).ok();
    Ok(())
}

/// Whether AppArmor lets users make namespaces but not use them, from which there would be no way back.
fn is_restricted() -> bool {
    let holds = |path: &str, start: &str| fs::read_to_string(path).is_ok_and(|text| text.starts_with(start));
    holds("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")
        && holds("/proc/self/attr/current", "unconfined")
}

/// Lets the user be who they are, in the new namespace too.
fn name_users(user: u32, group: u32) -> io::Result<()> {
    // The kernel asks for this before it lets a user name groups.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn take(root: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(open_tree(CWD, root, flags)?)
}

fn cover(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            mount("tmpfs", path, "tmpfs", flags, c"mode=000,size=4k")?;
            Ok(())
        }
        // A device file where devices are dead: opening it is refused, whoever asks.
        Ok(_) => {
            mount_bind_recursive("/dev/null", path)?;
            set_mount(path, Mounted::Dead)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
