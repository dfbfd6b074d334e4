//! A write-only terminal.
//!
//! Programs write to a terminal line by line, so that their output can be followed. No user can type into it, so a
//! process gets only a writable end and does not control the terminal. Programs that would prompt for a password or a
//! key then fail immediately, and programs that open the terminal by name read the end of input.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Winsize};
use tokio::net::unix::pipe;

use crate::TerminalSize;

/// The end-of-input character, repeated for many readers.
const END_OF_INPUT: [u8; 64] = [4; 64];

/// Opens a terminal: our side of it, and the process's. Must be called within a tokio runtime.
pub(crate) fn open(size: TerminalSize) -> io::Result<(pipe::Receiver, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = open_slave(&ours)?;
    let mut modes = rustix::termios::tcgetattr(&theirs)?;
    // Line ends are not converted, and input is not echoed.
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
    // Not a pipe, but read like one.
    Ok((pipe::Receiver::from_owned_fd_unchecked(ours)?, theirs))
}

/// The process's side, write-only. Opened through our side, so that it is independent of where terminals are mounted.
#[cfg(target_os = "linux")]
fn open_slave(ours: &OwnedFd) -> io::Result<OwnedFd> {
    let write_only = OpenptFlags::from_bits_retain(libc::O_WRONLY.unsigned_abs());
    let flags = write_only | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    Ok(rustix::pty::ioctl_tiocgptpeer(ours, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn open_slave(ours: &OwnedFd) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    let name = rustix::pty::ptsname(ours, Vec::new())?;
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(name.as_c_str(), flags, Mode::empty())?)
}
