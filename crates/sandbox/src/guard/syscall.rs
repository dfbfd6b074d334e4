//! The system calls that no safe interface offers. The only unsafe code of the crate.

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

/// What of a mount is changed, with everything mounted below it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mounted {
    ReadOnly,
    /// Read-only, and its device files cannot be opened.
    Dead,
}

/// The version of Landlock that the kernel speaks.
pub(super) fn landlock_version() -> Option<u32> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no memory; a null pointer and a size of zero are what it requires.
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

/// Gives up the terminal, so that nothing this process starts can wait there for a password. A session of its own would do
/// that too, but the kernel also gives each session its own share of the processors, to which a busy machine comes late.
pub(super) fn leave_terminal() {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(terminal) = rustix::fs::open("/dev/tty", flags, Mode::empty()) else {
        return;
    };
    // SAFETY: the request takes no argument, and the descriptor is open. It fails only if there is no terminal to leave.
    unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY) };
}

/// Has a command end when the thread that starts it does, which must not be before the command is to end.
pub(super) fn end_with_starter(command: &mut Command) {
    let ask = || Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: one system call, which touches no memory that another thread could have locked.
    unsafe { command.pre_exec(ask) };
}

/// Gives this process its own view of the given things.
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    debug_assert!(!flags.contains(UnshareFlags::FILES));
    // SAFETY: it is unsafe only because of `FILES`, which nobody here asks for.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Changes a mount and all below it, at once.
pub(super) fn set_mount(path: &Path, mounted: Mounted) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let attributes = Attributes {
        set: match mounted {
            Mounted::ReadOnly => libc::MOUNT_ATTR_RDONLY,
            Mounted::Dead => libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV,
        },
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    let bytes = [path.as_os_str().as_bytes(), &[0]].concat();
    let path = CStr::from_bytes_with_nul(&bytes).map_err(io::Error::other)?;
    // SAFETY: `path` ends with a NUL and `attributes` has the layout of `struct mount_attr`; both outlive the call, which
    // only reads them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
