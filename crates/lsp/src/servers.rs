//! All language servers of a project: each starts when a file of its language is first needed, and is monitored.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use sandbox::{Confinement, ProcessEnvironment};
use tokio::sync::watch;
use tokio::time::{Instant, interval, timeout_at};
use workspace::Workspace;

use crate::diagnostics::{DiagnosticMap, LspSeverity};
use crate::server::{LanguageServer, SyncedDocument};
use crate::{Error, LanguageServerSpec, LspDiagnostic};

/// Interval of health checks.
const WATCH_INTERVAL: Duration = Duration::from_secs(5);
/// Delay before a failed server is restarted; doubles with each failure.
const RESTART_DELAY: Duration = Duration::from_secs(2);
const MAX_RESTART_DELAY: Duration = Duration::from_secs(300);
/// A server that ran this long counts as stable: the delay is reset.
const STABLE_AFTER: Duration = Duration::from_secs(120);

/// Timeouts and resource limits.
#[derive(Debug, Clone, Copy)]
pub struct LspLimits {
    /// Timeout for diagnostics after a change.
    pub wait: Duration,
    /// Additional timeout for a server that is starting.
    pub start: Duration,
    /// Maximum memory of a server in bytes.
    pub memory: u64,
    /// Idle time after which a server is stopped.
    pub idle: Duration,
}

impl Default for LspLimits {
    fn default() -> Self {
        Self {
            wait: Duration::from_millis(2_500),
            start: Duration::from_secs(8),
            memory: 4 * 1024 * 1024 * 1024,
            idle: Duration::from_secs(15 * 60),
        }
    }
}

/// The language servers of a project. Cheap to clone; all servers end when the last clone is dropped.
#[derive(Clone)]
pub struct LanguageServers(Arc<LanguageServersInner>);

struct LanguageServersInner {
    workspace: Workspace,
    environment: ProcessEnvironment,
    confinement: Option<Confinement>,
    specs: Vec<Arc<LanguageServerSpec>>,
    limits: LspLimits,
    slots: Mutex<HashMap<ServerKey, LspServerSlot>>,
    unresponsive: Mutex<UnresponsiveServers>,
}

/// Servers that did not respond in time, by name. They are not awaited again until they publish diagnostics.
#[derive(Default)]
struct UnresponsiveServers {
    names: HashSet<String>,
    /// Those that were not reported yet.
    unreported: Vec<String>,
}

/// The name of a server, and its root directory.
type ServerKey = (String, PathBuf);

struct LspServerSlot {
    state: watch::Receiver<LspServerState>,
    /// Number of consecutive failures.
    failures: u32,
}

#[derive(Clone)]
enum LspServerState {
    Starting,
    Ready(Arc<LanguageServer>),
    /// The reason, and the time of the next attempt.
    Failed(String, Instant),
    /// Stopped because it was idle.
    Stopped,
}

/// The status of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspServerStatus {
    /// Its name.
    pub name: String,
    /// Its root directory.
    pub root: PathBuf,
    /// Its state: `starting`, `ready`, `working`, `stopped`, or the failure.
    pub state: String,
    /// Its memory in bytes.
    pub memory: Option<u64>,
    /// The end of its standard error.
    pub stderr: String,
}

/// The diagnostics before a change.
pub struct DiagnosticBaseline {
    servers: Vec<(Arc<LanguageServer>, DiagnosticMap)>,
    paths: Vec<PathBuf>,
}

impl LanguageServers {
    /// Servers for a project; none is started yet. `environment` and `confinement` are those of their processes.
    pub fn new(
        workspace: Workspace,
        environment: ProcessEnvironment,
        confinement: Option<Confinement>,
        specs: Vec<LanguageServerSpec>,
        limits: LspLimits,
    ) -> Self {
        Self(Arc::new(LanguageServersInner {
            workspace,
            environment,
            confinement,
            specs: specs.into_iter().map(Arc::new).collect(),
            limits,
            slots: Mutex::default(),
            unresponsive: Mutex::default(),
        }))
    }

    /// The timeouts and resource limits.
    pub fn limits(&self) -> LspLimits {
        self.0.limits
    }

    /// Whether an installed server supports a file.
    pub fn serves(&self, path: &Path) -> bool {
        self.0.spec(path).is_some()
    }

    /// Starts the servers of these files and opens the files, without waiting.
    pub fn warm_up(&self, paths: Vec<PathBuf>) {
        let paths: Vec<PathBuf> = paths.into_iter().filter(|path| self.serves(path)).collect();
        if paths.is_empty() {
            return;
        }
        let servers = self.clone();
        tokio::spawn(async move {
            for path in paths {
                let end = Instant::now() + servers.0.limits.start;
                if let Some(server) = servers.ready(&path, end).await {
                    server.sync(&path).await;
                }
            }
        });
    }

    /// Records the diagnostics of these and all other files before a change.
    pub async fn baseline(&self, paths: Vec<PathBuf>) -> DiagnosticBaseline {
        let mut known = DiagnosticBaseline {
            servers: Vec::new(),
            paths: paths.into_iter().filter(|path| self.serves(path)).collect(),
        };
        for path in &known.paths {
            let end = self.deadline(path);
            let Some(server) = self.ready_in_time(path, end).await else {
                continue;
            };
            if let Some(synced) = server.sync(path).await
                && server.diagnostics.for_file(path).is_none()
            {
                self.await_diagnostics(&server, &synced, end).await;
            }
            if !known.servers.iter().any(|(other, _)| Arc::ptr_eq(other, &server)) {
                known.servers.push((server, DiagnosticMap::new()));
            }
        }
        for (server, findings) in &mut known.servers {
            *findings = server.diagnostics.all();
        }
        known
    }

    /// Returns new errors and warnings, in the changed and in other files.
    pub async fn new_diagnostics_since(&self, before: DiagnosticBaseline) -> Vec<LspDiagnostic> {
        let changed = join_all(before.paths.iter().map(|path| async move {
            // A new file may need a server that was not running.
            let end = self.deadline(path);
            let server = self.ready_in_time(path, end).await?;
            let synced = server.sync(path).await?;
            self.await_diagnostics(&server, &synced, end).await;
            Some(server)
        }));
        let mut new = Vec::new();
        let mut seen: Vec<Arc<LanguageServer>> = Vec::new();
        for server in changed.await.into_iter().flatten() {
            if seen.iter().any(|other| Arc::ptr_eq(other, &server)) {
                continue;
            }
            let old = before.servers.iter().find(|(other, _)| Arc::ptr_eq(other, &server));
            for (path, findings) in server.diagnostics.all() {
                let known = old.and_then(|(_, all)| all.get(&path)).map_or(&[][..], |known| known);
                new.extend(added_diagnostics(known, &findings));
            }
            seen.push(server);
        }
        new.retain(|finding| finding.severity <= LspSeverity::Warning);
        new
    }

    /// Returns the diagnostics of a file, or of all files. `None` if no server can answer.
    pub async fn diagnostics(&self, path: Option<&Path>) -> Option<Vec<LspDiagnostic>> {
        let Some(path) = path else {
            let running = self.running();
            for server in &running {
                server.refresh(&[]).await;
            }
            let all = running.iter().flat_map(|server| server.diagnostics.all().into_values());
            return (!running.is_empty()).then(|| all.flat_map(|findings| findings.to_vec()).collect());
        };
        let end = self.deadline(path);
        let server = self.ready_in_time(path, end).await?;
        let synced = server.sync(path).await?;
        self.await_diagnostics(&server, &synced, end).await;
        server.diagnostics.for_file(path).map(|findings| findings.to_vec())
    }

    /// The servers that did not respond in time since the last call.
    pub fn take_unresponsive(&self) -> Vec<String> {
        std::mem::take(&mut self.0.unresponsive().unreported)
    }

    /// Notifies the running servers of files changed by others.
    pub async fn notify_external_changes(&self, paths: &[PathBuf]) {
        for server in self.running() {
            server.refresh(paths).await;
        }
    }

    /// The status of each server.
    pub fn status(&self) -> Vec<LspServerStatus> {
        let slots = self.0.slots();
        let status = slots.iter().map(|((name, root), slot)| {
            let state = slot.state.borrow();
            let server = match &*state {
                LspServerState::Ready(server) => Some(server),
                _ => None,
            };
            LspServerStatus {
                name: name.clone(),
                root: root.clone(),
                memory: server.and_then(|server| server.memory()),
                stderr: server.map(|server| server.stderr_tail()).unwrap_or_default(),
                state: match &*state {
                    LspServerState::Starting => "starting".into(),
                    LspServerState::Ready(server) if server.diagnostics.is_working() => "working".into(),
                    LspServerState::Ready(_) => "ready".into(),
                    LspServerState::Failed(why, _) => why.clone(),
                    LspServerState::Stopped => "stopped".into(),
                },
            }
        });
        let mut status: Vec<LspServerStatus> = status.collect();
        status.sort_by(|one, other| (&one.name, &one.root).cmp(&(&other.name, &other.root)));
        status
    }

    /// Shuts all servers down.
    pub async fn stop(&self) {
        join_all(self.running().iter().map(|server| server.stop())).await;
        self.0.slots().clear();
    }

    /// Until when the server of a file is awaited: not at all if it did not respond before.
    fn deadline(&self, path: &Path) -> Instant {
        let spec = self.0.spec(path);
        let is_silent = spec.is_some_and(|spec| self.0.unresponsive().names.contains(&spec.name));
        match is_silent {
            true => Instant::now(),
            false => Instant::now() + self.0.limits.wait,
        }
    }

    /// Returns the server of a file when it is ready, at most until `end`. A server that is still starting then is not
    /// awaited again.
    async fn ready_in_time(&self, path: &Path, end: Instant) -> Option<Arc<LanguageServer>> {
        let server = self.ready(path, end).await;
        if server.is_none()
            && let Some(spec) = self.0.spec(path)
        {
            let slots = self.0.slots();
            let mut own = slots.iter().filter(|((name, _), _)| *name == spec.name);
            if own.any(|(_, slot)| matches!(&*slot.state.borrow(), LspServerState::Starting)) {
                self.0.unresponsive().add(&spec.name);
            }
        }
        server
    }

    /// Waits for the diagnostics of a document, at most until `end`.
    async fn await_diagnostics(&self, server: &LanguageServer, synced: &SyncedDocument, end: Instant) {
        let name = &server.spec.name;
        if Instant::now() >= end {
            // It is awaited again once it publishes anything.
            if !server.diagnostics.all().is_empty() {
                self.0.unresponsive().names.remove(name);
            }
            return;
        }
        let since = match server.diagnostics.is_versioned() {
            true => synced.since,
            // Pending diagnostics of the old text arrive before the response to a request about the new text.
            false => {
                server.outline(&synced.path, end - Instant::now()).await;
                server.diagnostics.generation()
            }
        };
        let published = tokio::select! {
            published = server.diagnostics.wait(&synced.path, synced.version, since, end) => published,
            () = server.connection.closed() => true,
        };
        if !published && server.diagnostics.all().is_empty() {
            self.0.unresponsive().add(name);
        }
    }

    /// Returns the server of a file when it is ready, at most until `end`. Starts it if necessary.
    pub(crate) async fn ready(&self, path: &Path, end: Instant) -> Option<Arc<LanguageServer>> {
        let spec = self.0.spec(path)?;
        let root = self.0.root(&spec, path)?;
        let mut state = self.state(spec, root)?;
        let ready = state.wait_for(|state| !matches!(state, LspServerState::Starting));
        match timeout_at(end, ready).await.ok()?.ok().as_deref() {
            Some(LspServerState::Ready(server)) if !server.connection.is_closed() => Some(server.clone()),
            _ => None,
        }
    }

    pub(crate) fn running(&self) -> Vec<Arc<LanguageServer>> {
        let slots = self.0.slots();
        let servers = slots.values().filter_map(|slot| match &*slot.state.borrow() {
            LspServerState::Ready(server) if !server.connection.is_closed() => Some(server.clone()),
            _ => None,
        });
        servers.collect()
    }

    /// Returns the state of a server, starting it if necessary. `None` during the delay after a failure.
    fn state(&self, spec: Arc<LanguageServerSpec>, root: PathBuf) -> Option<watch::Receiver<LspServerState>> {
        let key = (spec.name.clone(), root);
        let mut slots = self.0.slots();
        let mut failures = 0;
        if let Some(slot) = slots.get(&key) {
            match &*slot.state.borrow() {
                LspServerState::Starting => return Some(slot.state.clone()),
                LspServerState::Ready(server) if !server.connection.is_closed() => return Some(slot.state.clone()),
                // Its end has not been recorded yet.
                LspServerState::Ready(_) => return None,
                LspServerState::Failed(_, until) if Instant::now() < *until => return None,
                LspServerState::Failed(..) => failures = slot.failures,
                LspServerState::Stopped => {}
            }
        }
        let (sender, state) = watch::channel(LspServerState::Starting);
        let slot = LspServerSlot {
            state: state.clone(),
            failures: failures + 1,
        };
        tokio::spawn(run(Arc::downgrade(&self.0), spec, key.1.clone(), slot.failures, sender));
        slots.insert(key, slot);
        Some(state)
    }
}

impl UnresponsiveServers {
    fn add(&mut self, name: &str) {
        if self.names.insert(name.to_owned()) {
            self.unreported.push(name.to_owned());
        }
    }
}

/// Starts a server and monitors it. Holds only a weak reference, so that the servers can be dropped.
async fn run(
    inner: std::sync::Weak<LanguageServersInner>,
    spec: Arc<LanguageServerSpec>,
    root: PathBuf,
    failures: u32,
    state: watch::Sender<LspServerState>,
) {
    let pause = RESTART_DELAY
        .saturating_mul(1 << failures.saturating_sub(1).min(16))
        .min(MAX_RESTART_DELAY);
    let failed = |why: String, pause: Duration| LspServerState::Failed(why, Instant::now() + pause);
    let Some(servers) = inner.upgrade() else { return };
    let (workspace, environment, limits) = (servers.workspace.clone(), servers.environment.clone(), servers.limits);
    let confinement = servers.confinement.clone();
    drop(servers);
    let started = Instant::now();
    let starting = LanguageServer::start(spec.clone(), &root, workspace, &environment, confinement.as_ref());
    let server = match starting.await {
        Ok(server) => Arc::new(server),
        Err(error) => {
            tracing::warn!(%error, "cannot start language server");
            state.send_replace(failed(failure_reason(&error), pause));
            return;
        }
    };
    state.send_replace(LspServerState::Ready(server.clone()));
    let mut look = interval(WATCH_INTERVAL);
    loop {
        tokio::select! {
            () = server.connection.closed() => {
                let pause = if started.elapsed() > STABLE_AFTER { RESTART_DELAY } else { pause };
                let stderr = server.stderr_tail();
                let why = if stderr.is_empty() { "it exited".to_owned() } else { format!("it exited: {stderr}") };
                tracing::warn!(server = spec.name, why, "language server exited");
                state.send_replace(failed(why, pause));
                return;
            }
            _ = look.tick() => {}
        }
        if inner.strong_count() == 0 {
            server.stop().await;
            return;
        }
        if server.memory().is_some_and(|memory| memory > limits.memory) {
            let why = format!("it used more than {} MB of memory", limits.memory / 1024 / 1024);
            state.send_replace(failed(why, MAX_RESTART_DELAY));
            return;
        }
        if server.last_used().elapsed() > limits.idle {
            state.send_replace(LspServerState::Stopped);
            server.stop().await;
            return;
        }
    }
}

fn failure_reason(error: &Error) -> String {
    match error {
        Error::Start { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

/// Returns the diagnostics that occur more often than before, regardless of their lines.
fn added_diagnostics(old: &[LspDiagnostic], new: &[LspDiagnostic]) -> Vec<LspDiagnostic> {
    let what = |finding: &LspDiagnostic| (finding.severity, finding.code.clone(), finding.message.clone());
    let mut known: HashMap<_, usize> = HashMap::new();
    for finding in old {
        *known.entry(what(finding)).or_default() += 1;
    }
    let is_new = |finding: &&LspDiagnostic| match known.get_mut(&what(finding)) {
        Some(left @ 1..) => {
            *left -= 1;
            false
        }
        Some(0) | None => true,
    };
    new.iter().filter(is_new).cloned().collect()
}

impl LanguageServersInner {
    fn unresponsive(&self) -> MutexGuard<'_, UnresponsiveServers> {
        self.unresponsive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<ServerKey, LspServerSlot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the first installed server for a file that applies in its directory.
    fn spec(&self, path: &Path) -> Option<Arc<LanguageServerSpec>> {
        let serves = |spec: &&Arc<LanguageServerSpec>| {
            spec.language(path).is_some()
                && spec.command.first().is_some_and(|program| self.is_installed(program))
                && (!spec.required || self.marked_root(spec, path).is_some())
        };
        self.specs.iter().find(serves).cloned()
    }

    fn is_installed(&self, program: &str) -> bool {
        match program.contains('/') {
            true => self.workspace.locate(program).is_ok_and(|place| place.exists()),
            false => self.environment.has_program(program),
        }
    }

    /// Returns the root directory for a file; `None` outside the project.
    fn root(&self, spec: &LanguageServerSpec, path: &Path) -> Option<PathBuf> {
        path.starts_with(self.workspace.root()).then(|| {
            self.marked_root(spec, path)
                .unwrap_or_else(|| self.workspace.root().to_owned())
        })
    }

    /// Returns the directory above a file with a root marker, within the project.
    fn marked_root(&self, spec: &LanguageServerSpec, path: &Path) -> Option<PathBuf> {
        let within = |folder: &&Path| folder.starts_with(self.workspace.root());
        let is_marked = |folder: &&Path| {
            let there = |root: &String| {
                self.workspace
                    .locate(folder.join(root))
                    .is_ok_and(|place| place.exists())
            };
            spec.roots.iter().any(there)
        };
        let mut marked = path.ancestors().skip(1).take_while(within).filter(is_marked);
        let found = if spec.outermost { marked.last() } else { marked.next() };
        found.map(Path::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(line: usize, message: &str) -> LspDiagnostic {
        LspDiagnostic {
            path: "/a".into(),
            line,
            column: 1,
            severity: LspSeverity::Error,
            code: None,
            message: message.into(),
        }
    }

    #[test]
    fn only_added_diagnostics_are_new() {
        let old = [finding(1, "a"), finding(5, "b")];
        let new = [finding(2, "a"), finding(6, "b"), finding(7, "b"), finding(8, "c")];
        assert_eq!(added_diagnostics(&old, &new), [finding(7, "b"), finding(8, "c")]);
        assert_eq!(added_diagnostics(&new, &old), []);
    }
}
