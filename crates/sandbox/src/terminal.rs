//! A terminal to write to, but not to read from.
//!
//! Programs that write to a terminal do so line by line, so that their output can be watched. Reading from one is another
//! matter: nobody is there to type. So a process gets its end for writing only and does not control the terminal, which
//! makes programs that would ask for a password or a key see at once that they cannot; and whoever opens it by its name
//! all the same reads the end of the input.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Winsize};
use tokio::net::unix::pipe;

use crate::Size;

/// What ends the input, as it is typed, for many readers.
const END_OF_INPUT: [u8; 64] = [4; 64];

/// A new terminal: our side of it, and the process's. Must be called within a tokio runtime.
pub(crate) fn open(size: Size) -> io::Result<(pipe::Receiver, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = far_side(&ours)?;
    let mut modes = rustix::termios::tcgetattr(&theirs)?;
    // Line ends are left as they are, and what is typed is not shown.
    modes.output_modes.remove(OutputModes::OPOST);
    modes
        .local_modes
        .remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ECHOCTL);
    modes.special_codes[SpecialCodeIndex::VEOF] = END_OF_INPUT[0];
    rustix::termios::tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&theirs, size)?;
    rustix::io::write(&ours, &END_OF_INPUT)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    // It is none, but read like one.
    Ok((pipe::Receiver::from_owned_fd_unchecked(ours)?, theirs))
}

/// The process's side, for writing only. By way of ours, so that it is found wherever terminals are mounted.
#[cfg(target_os = "linux")]
fn far_side(ours: &OwnedFd) -> io::Result<OwnedFd> {
    let write_only = OpenptFlags::from_bits_retain(libc::O_WRONLY.unsigned_abs());
    let flags = write_only | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    Ok(rustix::pty::ioctl_tiocgptpeer(ours, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn far_side(ours: &OwnedFd) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    let name = rustix::pty::ptsname(ours, Vec::new())?;
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(name.as_c_str(), flags, Mode::empty())?)
}
