//! The system calls without a safe interface. The only unsafe code of the crate.

#![allow(
    unsafe_code,
    reason = "four system calls that neither the standard library nor rustix offers safely"
)]

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::Signal;
use std::ffi::CStr;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::thread::UnshareFlags;

/// The mount attribute to change, recursively.
#[derive(Debug, Clone, Copy)]
pub(super) enum MountFlag {
    ReadOnly,
    /// Read-only, and device files cannot be opened.
    Dead,
}

/// The Landlock version of the kernel.
pub(super) fn landlock_version() -> Option<u32> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no memory; it requires a null pointer and a size of zero.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// Gives up the controlling terminal, so that child processes cannot prompt for a password there. A new session would
/// have the same effect, but the kernel schedules each session as a separate group, which is slow on a busy machine.
pub(super) fn detach_terminal() {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(terminal) = rustix::fs::open("/dev/tty", flags, Mode::empty()) else {
        return;
    };
    // SAFETY: the request takes no argument, and the descriptor is open. It fails only if there is no terminal.
    unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY) };
}

/// Makes a command end with the thread that starts it, which must outlive the command.
pub(super) fn die_with_parent(command: &mut Command) {
    let ask = || Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: one system call that accesses no memory that another thread could have locked.
    unsafe { command.pre_exec(ask) };
}

/// Moves this process to new namespaces.
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    debug_assert!(!flags.contains(UnshareFlags::FILES));
    // SAFETY: it is unsafe only because of `FILES`, which is not used here.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Changes the attributes of a mount and all mounts below it.
pub(super) fn set_mount(path: &Path, mounted: MountFlag) -> io::Result<()> {
    #[repr(C)]
    struct MountAttributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let attributes = MountAttributes {
        set: match mounted {
            MountFlag::ReadOnly => libc::MOUNT_ATTR_RDONLY,
            MountFlag::Dead => libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV,
        },
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    let bytes = [path.as_os_str().as_bytes(), &[0]].concat();
    let path = CStr::from_bytes_with_nul(&bytes).map_err(io::Error::other)?;
    // SAFETY: `path` ends with a NUL and `attributes` has the layout of `struct mount_attr`; both outlive the call,
    // which only reads them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
