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

/// Arranges it for this process and all it will start. An error leaves the files as they were, or more closed.
pub(super) fn arrange(order: &Order) -> io::Result<()> {
    let cwd = std::env::current_dir();
    separate().map_err(|error| because("no mount namespace", &error))?;
    // Shared memory and queues of the user's other programs. A kernel without namespaces for them may have none of them.
    unshare(UnshareFlags::NEWIPC).ok();
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;

    // Taken aside first, the roots keep every flag they have, also of what is mounted in them.
    let mut roots: Vec<PathBuf> = order
        .writable
        .iter()
        .filter_map(|root| root.canonicalize().ok())
        .collect();
    roots.sort();
    roots.dedup();
    let aside = roots.iter().map(|root| Ok((root, take(root)?)));
    let aside: Vec<(&PathBuf, OwnedFd)> = aside.collect::<io::Result<_>>()?;
    set_mount(Path::new("/"), Mounted::ReadOnly).map_err(|error| because("mounting read-only", &error))?;
    for (root, tree) in aside {
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
    own_terminals()?;
    // The folder was entered before it was mounted anew.
    std::env::set_current_dir(cwd?)
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

/// Leaves the system's mounts. Without the right to do so, in a user namespace, where everybody has it.
fn separate() -> io::Result<()> {
    if capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN)) {
        return unshare(UnshareFlags::NEWNS);
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    // The kernel asks for this before it lets a user map groups.
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
