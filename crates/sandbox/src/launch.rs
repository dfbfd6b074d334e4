//! Starting a guard.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::guarded::{Guarded, Testimony};
use crate::order::Order;
use crate::spawn::{self, Resolved};
use crate::{Confinement, Error, Level, Process, Report, Request};

/// Starts a guard that starts the program.
pub(crate) fn start(confinement: &Confinement, resolved: Resolved, request: &Request) -> Result<Process, Error> {
    let name = confinement.launcher.to_string_lossy();
    let summary = (confinement.level != Level::Off).then(|| confinement.summary());
    let (guarded, theirs) = Guarded::new(summary).map_err(|source| Error::Start {
        program: name.clone().into_owned(),
        source,
    })?;
    let order = Order::new(confinement, resolved.into_words());
    let mut command = Command::new(&confinement.launcher);
    command.stdin(OwnedFd::from(theirs)).process_group(0);
    spawn::start(command, &order.into_args(), request, &name, Some(guarded))
}

/// Starts a guard that only tells what it could enforce.
pub(crate) fn probe(confinement: &Confinement) -> io::Result<Report> {
    let (mut ours, theirs) = UnixStream::pair()?;
    Command::new(&confinement.launcher)
        .args(Order::new(confinement, Vec::new()).into_args())
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let mut told = Vec::new();
    ours.read_to_end(&mut told)?;
    let missing = || io::Error::other("it is not a launcher of confined processes");
    Testimony::from(told.as_slice()).report.ok_or_else(missing)
}
