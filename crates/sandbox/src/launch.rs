//! Starts commands through guards.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::confinement::AccessPaths;
use crate::guard_args::GuardArgs;
use crate::guard_channel::{GuardChannel, GuardReport};
use crate::guard_request::{GuardRequest, GuardStreams};
use crate::guard_server;
use crate::host_proxy::proxy_variables;
use crate::spawn::{self, ResolvedProgram};
use crate::{
    Confinement, ConfinementLevel, ConfinementReport, Error, NetworkAccess, Process, ProcessEnvironment, ProcessRequest,
};

/// Starts a program through a guard.
pub(crate) fn start(
    confinement: &Confinement,
    resolved: ResolvedProgram,
    request: &ProcessRequest,
) -> Result<Process, Error> {
    let failed = |source: io::Error| match request.cwd.is_dir() {
        true => Error::Start {
            program: resolved.name.clone(),
            source,
        },
        false => Error::Directory {
            path: request.cwd.clone(),
        },
    };
    let (reader, stdout) = spawn::output_stream(request).map_err(failed)?;
    let stderr = stdout.try_clone().map_err(failed)?;
    let channel = submit(
        confinement,
        &resolved,
        &request.cwd,
        &request.environment,
        [stdout, stderr],
        None,
    )?;
    Ok(Process::guarded(channel, reader, request))
}

/// Sends a command with its streams to a guard, and returns the connection for its records.
pub(crate) fn submit(
    confinement: &Confinement,
    resolved: &ResolvedProgram,
    cwd: &std::path::Path,
    environment: &ProcessEnvironment,
    [stdout, stderr]: [OwnedFd; 2],
    stdin: Option<OwnedFd>,
) -> Result<GuardChannel, Error> {
    let failed = |source: io::Error| match cwd.is_dir() {
        true => Error::Start {
            program: resolved.name.clone(),
            source,
        },
        false => Error::Directory { path: cwd.to_owned() },
    };
    if !cwd.is_dir() {
        return Err(failed(io::ErrorKind::NotFound.into()));
    }
    let summary = (confinement.level != ConfinementLevel::Off).then(|| confinement.summary());
    let AccessPaths {
        pinned,
        protected,
        uncreatable,
        hidden,
    } = confinement.access_paths()?;
    let uses_proxy = confinement.network == NetworkAccess::Hosts && confinement.level != ConfinementLevel::Off;
    let environment_with_proxy = uses_proxy.then(|| {
        proxy_variables().fold(environment.clone(), |environment, (name, value)| {
            environment.with(name, value)
        })
    });
    let visible = environment_with_proxy.as_ref().unwrap_or(environment);
    let order = GuardRequest {
        command: resolved.command(),
        cwd: cwd.to_owned(),
        environment: visible
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        pinned,
        protected,
        uncreatable,
        hidden,
    };
    let (mut channel, records) = GuardChannel::new(summary, confinement.network).map_err(failed)?;
    let streams = GuardStreams {
        records: records.into(),
        stdout,
        stderr,
        stdin,
    };
    let server = guard_server::submit(confinement, environment, &order, &streams).map_err(|source| Error::Start {
        program: confinement.launcher.to_string_lossy().into_owned(),
        source,
    })?;
    let is_writable = confinement.level == ConfinementLevel::Workspace;
    channel.attach(server, confinement.scan.clone().filter(|_| is_writable));
    Ok(channel)
}

/// Starts a guard that only reports what it can enforce.
pub(crate) fn probe(confinement: &Confinement) -> io::Result<ConfinementReport> {
    let (control, theirs) = UnixStream::pair()?;
    let (mut ours, records) = UnixStream::pair()?;
    let mut guard = Command::new(&confinement.launcher)
        .args(GuardArgs::from(confinement).into_args())
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let (_, nowhere) = io::pipe()?;
    let streams = GuardStreams {
        records: OwnedFd::from(records),
        stdout: nowhere.try_clone()?.into(),
        stderr: nowhere.into(),
        stdin: None,
    };
    let request = GuardRequest {
        cwd: "/".into(),
        ..GuardRequest::default()
    };
    // Fails if the program exited immediately, because it is not a guard.
    drop(request.send(&control, &streams.as_fds()));
    drop(streams);
    let mut received = Vec::new();
    ours.read_to_end(&mut received)?;
    drop(control);
    guard.wait()?;
    let missing = || io::Error::other("the program did not start as a sandbox guard");
    GuardReport::from(received.as_slice()).report.ok_or_else(missing)
}
