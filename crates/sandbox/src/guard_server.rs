//! The connection to a guard process, which starts any number of commands.

use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::process::Child;

use crate::guard_args::GuardArgs;
use crate::guard_request::{GuardRequest, GuardStreams};
use crate::host_proxy::HostProxy;
use crate::{Confinement, NetworkAccess, ProcessEnvironment};

/// A guard that does not read a request for this long is given up.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of guards that wait for commands.
const MAX_IDLE: usize = 4;

/// A running guard. It ends with all its commands when this is dropped.
#[derive(Debug)]
pub(crate) struct GuardServer {
    child: Child,
    control: UnixStream,
    /// Ends when the guard ends.
    _proxy: Option<HostProxy>,
}

impl GuardServer {
    /// Starts a guard. Must be called within a tokio runtime.
    fn start(confinement: &Confinement, environment: &ProcessEnvironment) -> io::Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        control.set_write_timeout(Some(SEND_TIMEOUT))?;
        let mut command = Command::new(&confinement.launcher);
        command
            .args(GuardArgs::from(confinement).into_args())
            .env_clear()
            .envs(environment.iter())
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let child = tokio::process::Command::from(command).spawn()?;
        let hosts = confinement.hosts.clone();
        let proxy = match hosts.filter(|_| confinement.network == NetworkAccess::Hosts) {
            Some(hosts) => Some(HostProxy::start(control.try_clone()?, hosts)),
            None => None,
        };
        Ok(Self {
            child,
            control,
            _proxy: proxy,
        })
    }

    fn submit(&self, request: &GuardRequest, streams: &GuardStreams<BorrowedFd<'_>>) -> io::Result<()> {
        request.send(&self.control, streams)
    }

    /// The process id of the guard.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }
}

/// Guards that wait for the next command of a session, so that it need not start one. Clones share them.
#[derive(Clone, Default)]
pub struct GuardPool(Arc<Mutex<IdleGuards>>);

type IdleGuards = Vec<(GuardKey, Arc<GuardServer>)>;

/// The configuration of a guard. Its mounts refer to the directories themselves, not to their paths.
#[derive(PartialEq, Eq)]
struct GuardKey {
    launcher: PathBuf,
    args: GuardArgs,
    directories: Vec<Option<(u64, u64)>>,
}

impl GuardKey {
    fn new(confinement: &Confinement) -> Self {
        let args = GuardArgs::from(confinement);
        let directory = |path: &PathBuf| path.metadata().ok().map(|found| (found.dev(), found.ino()));
        Self {
            launcher: confinement.launcher.clone(),
            directories: args.writable.iter().map(directory).collect(),
            args,
        }
    }
}

impl GuardPool {
    /// Sends a request to a guard of the pool, or to a new one.
    fn submit(
        &self,
        confinement: &Confinement,
        environment: &ProcessEnvironment,
        request: &GuardRequest,
        streams: &GuardStreams<BorrowedFd<'_>>,
    ) -> io::Result<Arc<GuardServer>> {
        let mut guards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = GuardKey::new(confinement);
        if let Some(at) = guards.iter().position(|(other, _)| *other == key) {
            let (key, server) = guards.remove(at);
            // It may have been killed.
            if server.submit(request, streams).is_ok() {
                guards.push((key, Arc::clone(&server)));
                return Ok(server);
            }
        }
        let server = Arc::new(GuardServer::start(confinement, environment)?);
        server.submit(request, streams)?;
        if guards.len() >= MAX_IDLE {
            guards.remove(0);
        }
        guards.push((key, Arc::clone(&server)));
        Ok(server)
    }
}

/// Sends a request to a guard: one of the confinement's pool, or a new one for this request only.
pub(crate) fn submit(
    confinement: &Confinement,
    environment: &ProcessEnvironment,
    request: &GuardRequest,
    streams: &GuardStreams<OwnedFd>,
) -> io::Result<Arc<GuardServer>> {
    let streams = streams.as_fds();
    match &confinement.guards {
        Some(pool) => pool.submit(confinement, environment, request, &streams),
        None => {
            let server = GuardServer::start(confinement, environment)?;
            server.submit(request, &streams)?;
            Ok(Arc::new(server))
        }
    }
}

impl fmt::Debug for GuardPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardPool")
    }
}

/// Which guards are running does not distinguish confinements.
impl PartialEq for GuardPool {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for GuardPool {}
