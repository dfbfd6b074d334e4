//! Starts guards.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::guard_args::GuardArgs;
use crate::guard_channel::{GuardChannel, GuardReport};
use crate::spawn::{self, ResolvedProgram};
use crate::{Confinement, ConfinementLevel, ConfinementReport, Error, Process, ProcessRequest};

/// Starts a guard that runs the program.
pub(crate) fn start(
    confinement: &Confinement,
    resolved: ResolvedProgram,
    request: &ProcessRequest,
) -> Result<Process, Error> {
    let name = confinement.launcher.to_string_lossy();
    let summary = (confinement.level != ConfinementLevel::Off).then(|| confinement.summary());
    let (guarded, theirs) = GuardChannel::new(summary).map_err(|source| Error::Start {
        program: name.clone().into_owned(),
        source,
    })?;
    let order = GuardArgs::new(confinement, resolved.into_command());
    let mut command = Command::new(&confinement.launcher);
    command.stdin(OwnedFd::from(theirs)).process_group(0);
    spawn::start(command, &order.into_args(), request, &name, Some(guarded))
}

/// Starts a guard that only reports what it can enforce.
pub(crate) fn probe(confinement: &Confinement) -> io::Result<ConfinementReport> {
    let (mut ours, theirs) = UnixStream::pair()?;
    Command::new(&confinement.launcher)
        .args(GuardArgs::new(confinement, Vec::new()).into_args())
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let mut told = Vec::new();
    ours.read_to_end(&mut told)?;
    let missing = || io::Error::other("the program did not start as a sandbox guard");
    GuardReport::from(told.as_slice()).report.ok_or_else(missing)
}
