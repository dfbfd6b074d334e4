//! The system calls without a safe interface. The only unsafe code of the crate.

#![allow(
    unsafe_code,
    reason = "system calls that neither the standard library nor rustix offers safely"
)]

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Pid, Signal};
use std::ffi::CStr;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

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

/// A new network for this process and its children, with nothing but a loopback interface, and a listening socket in it.
pub(super) fn own_network(port: u16) -> io::Result<TcpListener> {
    // SAFETY: the call takes no pointers, and this process has one thread.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: all bytes of this plain structure may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the kernel reads a structure of this type, which outlives the call.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    TcpListener::bind(("127.0.0.1", port))
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

/// Starts a copy of this process in new namespaces, given by the flags of `clone`. Returns `None` in the copy.
pub(super) fn fork(namespaces: libc::c_int) -> io::Result<Option<Pid>> {
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without shared memory this is a fork. A guard has one thread until it forks for the last time, so no lock
    // is held by a thread that the copy lacks.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match i32::try_from(pid).map_err(io::Error::other)? {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
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

/// Makes the kernel ask about system calls of this thread and its children, as the filter decides.
pub(super) fn listen_to_system_calls(program: &[seccompiler::sock_filter]) -> io::Result<OwnedFd> {
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(io::Error::other)?,
        filter: program.as_ptr().cast_mut().cast(),
    };
    let listen = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // Signals do not interrupt a call that is being answered; older kernels do not know the flag.
    for flags in [listen | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, listen] {
        // SAFETY: the program has the layout of `struct sock_filter` and outlives the call, which copies it.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const filter,
            )
        };
        if let Some(descriptor) = i32::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0) {
            // SAFETY: the new descriptor has no other owner.
            return Ok(unsafe { OwnedFd::from_raw_fd(descriptor) });
        }
    }
    Err(io::Error::last_os_error())
}

/// Waits for a system call that the kernel asks about.
pub(super) fn next_system_call(listener: &OwnedFd) -> io::Result<libc::seccomp_notif> {
    // SAFETY: the structure consists of numbers, for which zero is valid; the kernel requires zeros.
    let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the request writes one such structure, which outlives the call.
    match unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) } {
        0 => Ok(call),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets a system call fail with this error, or continue.
pub(super) fn answer_system_call(listener: &OwnedFd, id: u64, error: Option<libc::c_int>) -> io::Result<()> {
    let answer = libc::seccomp_notif_resp {
        id,
        val: 0,
        error: error.map_or(0, |error| -error),
        flags: match error {
            Some(_) => 0,
            None => u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or_default(),
        },
    };
    // SAFETY: the request reads one such structure, which outlives the call.
    match unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
