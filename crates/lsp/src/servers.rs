//! All servers of a project: each is started when a file of its language is first needed, and watched while it runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use sandbox::Environment;
use tokio::sync::watch;
use tokio::time::{Instant, interval, timeout_at};
use workspace::Workspace;

use crate::heard::{Findings, Severity};
use crate::server::{Server, Synced};
use crate::{Error, Finding, Spec};

/// How often a running server is looked at.
const WATCH: Duration = Duration::from_secs(5);
/// A server that fails is left alone so long, and twice as long each further time.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// A server that has run so long before it failed has failed for the first time.
const SOUND: Duration = Duration::from_secs(120);

/// How long to wait for servers, and how much they may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long findings are awaited after a change.
    pub wait: Duration,
    /// How long a server that is still starting is awaited beyond that.
    pub start: Duration,
    /// A server that holds more memory, in bytes, is ended.
    pub memory: u64,
    /// A server that nobody needed for so long is ended.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wait: Duration::from_millis(2_500),
            start: Duration::from_secs(8),
            memory: 4 * 1024 * 1024 * 1024,
            idle: Duration::from_secs(15 * 60),
        }
    }
}

/// The servers of a project. Cheap to clone; when the last one is dropped, all servers end.
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

struct Inner {
    workspace: Workspace,
    environment: Environment,
    specs: Vec<Arc<Spec>>,
    limits: Limits,
    slots: Mutex<HashMap<Key, Slot>>,
}

/// A server's name, and the folder it was started for.
type Key = (String, PathBuf);

struct Slot {
    state: watch::Receiver<State>,
    /// How often it has failed in a row.
    failures: u32,
}

#[derive(Clone)]
enum State {
    Starting,
    Ready(Arc<Server>),
    /// Why, and when it may be tried again.
    Failed(String, Instant),
    /// It was not needed any more.
    Stopped,
}

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// What people call it.
    pub name: String,
    /// The folder it serves.
    pub root: PathBuf,
    /// What it does: `starting`, `ready`, `working`, `stopped`, or why it failed.
    pub state: String,
    /// How much memory it holds, in bytes.
    pub memory: Option<u64>,
    /// The end of what it wrote to its standard error.
    pub said: String,
}

/// What was known before a change, to see what is new after it.
pub struct Before {
    servers: Vec<(Arc<Server>, Findings)>,
    paths: Vec<PathBuf>,
}

impl Servers {
    /// Servers for a project, of which none is started yet. The environment is what they see.
    pub fn new(workspace: Workspace, environment: Environment, specs: Vec<Spec>, limits: Limits) -> Self {
        Self(Arc::new(Inner {
            workspace,
            environment,
            specs: specs.into_iter().map(Arc::new).collect(),
            limits,
            slots: Mutex::default(),
        }))
    }

    /// How long to wait, and how much they may take.
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// Whether any server that is installed serves a file.
    pub fn serves(&self, path: &Path) -> bool {
        self.0.spec(path).is_some()
    }

    /// Starts what serves these files, and opens them, without waiting.
    pub fn touch(&self, paths: Vec<PathBuf>) {
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

    /// What is known of these files and all others, before they are changed.
    pub async fn before(&self, paths: Vec<PathBuf>) -> Before {
        let mut known = Before {
            servers: Vec::new(),
            paths: paths.into_iter().filter(|path| self.serves(path)).collect(),
        };
        for path in &known.paths {
            let end = Instant::now() + self.0.limits.start;
            let Some(server) = self.ready(path, end).await else {
                continue;
            };
            if let Some(synced) = server.sync(path).await
                && server.heard.of(path).is_none()
            {
                self.await_word(&server, &synced).await;
            }
            if !known.servers.iter().any(|(other, _)| Arc::ptr_eq(other, &server)) {
                known.servers.push((server, Findings::new()));
            }
        }
        for (server, findings) in &mut known.servers {
            *findings = server.heard.all();
        }
        known
    }

    /// Errors and warnings that are there since then, in the changed files and in others.
    pub async fn new_since(&self, before: Before) -> Vec<Finding> {
        let changed = join_all(before.paths.iter().map(|path| async move {
            // A new file may need a server that was not there before.
            let server = self.ready(path, Instant::now() + self.0.limits.start).await?;
            let synced = server.sync(path).await?;
            self.await_word(&server, &synced).await;
            Some(server)
        }));
        let mut new = Vec::new();
        let mut seen: Vec<Arc<Server>> = Vec::new();
        for server in changed.await.into_iter().flatten() {
            if seen.iter().any(|other| Arc::ptr_eq(other, &server)) {
                continue;
            }
            let old = before.servers.iter().find(|(other, _)| Arc::ptr_eq(other, &server));
            for (path, findings) in server.heard.all() {
                let known = old.and_then(|(_, all)| all.get(&path)).map_or(&[][..], |known| known);
                new.extend(added(known, &findings));
            }
            seen.push(server);
        }
        new.retain(|finding| finding.severity <= Severity::Warning);
        new
    }

    /// What is wrong in a file, or in all files that the servers have spoken of. `None` where no server can tell.
    pub async fn diagnostics(&self, path: Option<&Path>) -> Option<Vec<Finding>> {
        let Some(path) = path else {
            let running = self.running();
            for server in &running {
                server.refresh(&[]).await;
            }
            let all = running.iter().flat_map(|server| server.heard.all().into_values());
            return (!running.is_empty()).then(|| all.flat_map(|findings| findings.to_vec()).collect());
        };
        let server = self.ready(path, Instant::now() + self.0.limits.start).await?;
        let synced = server.sync(path).await?;
        self.await_word(&server, &synced).await;
        server.heard.of(path).map(|findings| findings.to_vec())
    }

    /// Tells the running servers of files that others have changed.
    pub async fn changed_outside(&self, paths: &[PathBuf]) {
        for server in self.running() {
            server.refresh(paths).await;
        }
    }

    /// How each server is.
    pub fn status(&self) -> Vec<Status> {
        let slots = self.0.slots();
        let status = slots.iter().map(|((name, root), slot)| {
            let state = slot.state.borrow();
            let server = match &*state {
                State::Ready(server) => Some(server),
                _ => None,
            };
            Status {
                name: name.clone(),
                root: root.clone(),
                memory: server.and_then(|server| server.memory()),
                said: server.map(|server| server.said()).unwrap_or_default(),
                state: match &*state {
                    State::Starting => "starting".into(),
                    State::Ready(server) if server.heard.is_working() => "working".into(),
                    State::Ready(_) => "ready".into(),
                    State::Failed(why, _) => why.clone(),
                    State::Stopped => "stopped".into(),
                },
            }
        });
        let mut status: Vec<Status> = status.collect();
        status.sort_by(|one, other| (&one.name, &one.root).cmp(&(&other.name, &other.root)));
        status
    }

    /// Ends all servers with a word of goodbye.
    pub async fn stop(&self) {
        join_all(self.running().iter().map(|server| server.stop())).await;
        self.0.slots().clear();
    }

    /// Waits for a word on a document, as long as a change is waited for.
    async fn await_word(&self, server: &Server, synced: &Synced) {
        let end = Instant::now() + self.0.limits.wait;
        let since = match server.heard.is_versioned() {
            true => synced.since,
            // What it still had to say of the text as it was comes before its answer to a question about the new one.
            false => {
                server.outline(&synced.path, self.0.limits.wait).await;
                server.heard.count()
            }
        };
        tokio::select! {
            _ = server.heard.wait(&synced.path, synced.version, since, end) => {}
            () = server.connection.closed() => {}
        }
    }

    /// The server of a file once it is ready, which is awaited until then. Starts it where it does not run.
    pub(crate) async fn ready(&self, path: &Path, end: Instant) -> Option<Arc<Server>> {
        let spec = self.0.spec(path)?;
        let root = self.0.root(&spec, path)?;
        let mut state = self.state(spec, root)?;
        let ready = state.wait_for(|state| !matches!(state, State::Starting));
        match timeout_at(end, ready).await.ok()?.ok().as_deref() {
            Some(State::Ready(server)) if !server.connection.is_closed() => Some(server.clone()),
            _ => None,
        }
    }

    pub(crate) fn running(&self) -> Vec<Arc<Server>> {
        let slots = self.0.slots();
        let servers = slots.values().filter_map(|slot| match &*slot.state.borrow() {
            State::Ready(server) if !server.connection.is_closed() => Some(server.clone()),
            _ => None,
        });
        servers.collect()
    }

    /// How a server is that may have to be started first. `None` while it is left alone after a failure.
    fn state(&self, spec: Arc<Spec>, root: PathBuf) -> Option<watch::Receiver<State>> {
        let key = (spec.name.clone(), root);
        let mut slots = self.0.slots();
        let mut failures = 0;
        if let Some(slot) = slots.get(&key) {
            match &*slot.state.borrow() {
                State::Starting => return Some(slot.state.clone()),
                State::Ready(server) if !server.connection.is_closed() => return Some(slot.state.clone()),
                // Its end has not been noted yet.
                State::Ready(_) => return None,
                State::Failed(_, until) if Instant::now() < *until => return None,
                State::Failed(..) => failures = slot.failures,
                State::Stopped => {}
            }
        }
        let (sender, state) = watch::channel(State::Starting);
        let slot = Slot {
            state: state.clone(),
            failures: failures + 1,
        };
        tokio::spawn(run(Arc::downgrade(&self.0), spec, key.1.clone(), slot.failures, sender));
        slots.insert(key, slot);
        Some(state)
    }
}

/// Starts a server, and watches it to its end. Holds nothing of the servers, so that they can go.
async fn run(
    inner: std::sync::Weak<Inner>,
    spec: Arc<Spec>,
    root: PathBuf,
    failures: u32,
    state: watch::Sender<State>,
) {
    let pause = PAUSE
        .saturating_mul(1 << failures.saturating_sub(1).min(16))
        .min(LONGEST_PAUSE);
    let failed = |why: String, pause: Duration| State::Failed(why, Instant::now() + pause);
    let Some((workspace, environment, limits)) = inner
        .upgrade()
        .map(|inner| (inner.workspace.clone(), inner.environment.clone(), inner.limits))
    else {
        return;
    };
    let started = Instant::now();
    let server = match Server::start(spec.clone(), &root, workspace, &environment).await {
        Ok(server) => Arc::new(server),
        Err(error) => {
            tracing::warn!(%error, "no language server");
            state.send_replace(failed(why(&error), pause));
            return;
        }
    };
    state.send_replace(State::Ready(server.clone()));
    let mut look = interval(WATCH);
    loop {
        tokio::select! {
            () = server.connection.closed() => {
                let pause = if started.elapsed() > SOUND { PAUSE } else { pause };
                let said = server.said();
                let why = if said.is_empty() { "it has ended by itself".to_owned() } else { format!("it has ended: {said}") };
                tracing::warn!(server = spec.name, why, "a language server has ended");
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
            let why = format!("it took more than {} MB of memory", limits.memory / 1024 / 1024);
            state.send_replace(failed(why, LONGEST_PAUSE));
            return;
        }
        if server.used().elapsed() > limits.idle {
            state.send_replace(State::Stopped);
            server.stop().await;
            return;
        }
    }
}

fn why(error: &Error) -> String {
    match error {
        Error::Start { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

/// What stands in the new list more often than in the old one, wherever it stands: lines move.
fn added(old: &[Finding], new: &[Finding]) -> Vec<Finding> {
    let what = |finding: &Finding| (finding.severity, finding.code.clone(), finding.message.clone());
    let mut known: HashMap<_, usize> = HashMap::new();
    for finding in old {
        *known.entry(what(finding)).or_default() += 1;
    }
    let is_new = |finding: &&Finding| match known.get_mut(&what(finding)) {
        Some(left @ 1..) => {
            *left -= 1;
            false
        }
        Some(0) | None => true,
    };
    new.iter().filter(is_new).cloned().collect()
}

impl Inner {
    fn slots(&self) -> MutexGuard<'_, HashMap<Key, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first server of the table for a file that is installed here and wanted in its folder.
    fn spec(&self, path: &Path) -> Option<Arc<Spec>> {
        let serves = |spec: &&Arc<Spec>| {
            spec.language(path).is_some()
                && spec.command.first().is_some_and(|program| self.is_installed(program))
                && (!spec.required || self.marked(spec, path).is_some())
        };
        self.specs.iter().find(serves).cloned()
    }

    fn is_installed(&self, program: &str) -> bool {
        match program.contains('/') {
            true => self.workspace.locate(program).is_ok_and(|place| place.exists()),
            false => self.environment.finds(program),
        }
    }

    /// The folder a server is started for. Files outside of the project have none.
    fn root(&self, spec: &Spec, path: &Path) -> Option<PathBuf> {
        path.starts_with(self.workspace.root()).then(|| {
            self.marked(spec, path)
                .unwrap_or_else(|| self.workspace.root().to_owned())
        })
    }

    /// The marked folder above a file, within the project.
    fn marked(&self, spec: &Spec, path: &Path) -> Option<PathBuf> {
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

    fn finding(line: usize, message: &str) -> Finding {
        Finding {
            path: "/a".into(),
            line,
            column: 1,
            severity: Severity::Error,
            code: None,
            message: message.into(),
        }
    }

    #[test]
    fn only_what_was_not_there_before_is_new() {
        let old = [finding(1, "a"), finding(5, "b")];
        let new = [finding(2, "a"), finding(6, "b"), finding(7, "b"), finding(8, "c")];
        assert_eq!(added(&old, &new), [finding(7, "b"), finding(8, "c")]);
        assert_eq!(added(&new, &old), []);
    }
}
