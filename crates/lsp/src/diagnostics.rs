//! Diagnostics and progress reported by a server.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString, PublishDiagnosticsParams, Range};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::connection::ServerListener;
use crate::positions;

/// Maximum number of diagnostics per file.
const MAX_PER_FILE: usize = 500;
/// Maximum number of files with diagnostics.
const MAX_FILES: usize = 2_000;
/// Time to wait for further diagnostics after the first ones: some servers publish in several steps.
const QUIET_PERIOD: Duration = Duration::from_millis(200);

/// A diagnostic of a language server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspDiagnostic {
    /// The file.
    pub path: PathBuf,
    /// The line, starting at 1.
    pub line: usize,
    /// The column, starting at 1, in the server's units.
    pub column: usize,
    /// Its severity.
    pub severity: LspSeverity,
    /// Its code, such as `E0308`.
    pub code: Option<String>,
    /// The message.
    pub message: String,
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LspSeverity {
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// Information or a hint.
    Note,
}

/// Diagnostics by file.
pub(crate) type DiagnosticMap = BTreeMap<PathBuf, Arc<[LspDiagnostic]>>;

/// The last published diagnostics of a file.
#[derive(Debug, Clone)]
struct PublishedDiagnostics {
    version: Option<i32>,
    /// The generation at which they were published.
    at: u64,
    findings: Arc<[LspDiagnostic]>,
    /// The original diagnostics, which code action requests need.
    raw: Vec<Diagnostic>,
}

/// Diagnostics and progress of one server.
pub(crate) struct DiagnosticStore {
    files: Mutex<HashMap<PathBuf, PublishedDiagnostics>>,
    /// Progress tokens of running work.
    working: Mutex<HashSet<String>>,
    settings: Value,
    root: Value,
    /// Whether the server reports document versions.
    versioned: AtomicBool,
    /// Counts notifications, so that one can wait for more.
    count: watch::Sender<u64>,
}

impl DiagnosticStore {
    /// `settings` answers configuration requests; `root` is the URI of the server's directory.
    pub(crate) fn new(settings: Value, root: Value) -> Self {
        Self {
            files: Mutex::default(),
            working: Mutex::default(),
            settings,
            root,
            versioned: AtomicBool::new(false),
            count: watch::channel(0).0,
        }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, PublishedDiagnostics>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn working(&self) -> MutexGuard<'_, HashSet<String>> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of notifications so far.
    pub(crate) fn generation(&self) -> u64 {
        *self.count.borrow()
    }

    /// Whether the server reports running work.
    pub(crate) fn is_working(&self) -> bool {
        !self.working().is_empty()
    }

    /// Whether the server reports document versions.
    pub(crate) fn is_versioned(&self) -> bool {
        self.versioned.load(Ordering::Relaxed)
    }

    /// All diagnostics by file.
    pub(crate) fn all(&self) -> DiagnosticMap {
        let files = self.files();
        files
            .iter()
            .map(|(path, published)| (path.clone(), published.findings.clone()))
            .collect()
    }

    /// The diagnostics of a file.
    pub(crate) fn for_file(&self, path: &Path) -> Option<Arc<[LspDiagnostic]>> {
        self.files().get(path).map(|published| published.findings.clone())
    }

    /// The original diagnostics in a range.
    pub(crate) fn raw_in_range(&self, path: &Path, range: Range) -> Vec<Diagnostic> {
        let touches = |one: &&Diagnostic| one.range.start <= range.end && range.start <= one.range.end;
        let files = self.files();
        let published = files.get(path).map_or(&[][..], |published| &published.raw);
        published.iter().filter(touches).cloned().collect()
    }

    pub(crate) fn forget(&self, path: &Path) {
        self.files().remove(path);
    }

    /// Waits until the server has published diagnostics for this version of a file, or after generation `since`, and
    /// then until it is quiet; at most until `end`. Returns whether diagnostics were published.
    pub(crate) async fn wait(&self, path: &Path, version: i32, since: u64, end: Instant) -> bool {
        let mut count = self.count.subscribe();
        while !self.has_published(path, version, since) {
            if timeout_at(end, count.changed()).await.is_err() {
                return false;
            }
        }
        loop {
            let pause = (Instant::now() + QUIET_PERIOD).min(end);
            let more = timeout_at(pause, count.changed()).await.is_ok();
            if Instant::now() >= end || (!more && !self.is_working()) {
                return true;
            }
        }
    }

    fn has_published(&self, path: &Path, version: i32, since: u64) -> bool {
        self.files().get(path).is_some_and(|published| match published.version {
            Some(spoken_of) => spoken_of >= version,
            None => published.at > since,
        })
    }

    fn publish(&self, params: Value) {
        let Ok(params) = serde_json::from_value::<PublishDiagnosticsParams>(params) else {
            tracing::debug!("malformed diagnostics");
            return;
        };
        let Some(path) = positions::path(&params.uri) else {
            return;
        };
        let mut raw = params.diagnostics;
        raw.truncate(MAX_PER_FILE);
        let findings = raw.iter().map(|one| LspDiagnostic {
            path: path.clone(),
            line: one.range.start.line as usize + 1,
            column: one.range.start.character as usize + 1,
            severity: match one.severity {
                Some(DiagnosticSeverity::WARNING) => LspSeverity::Warning,
                Some(DiagnosticSeverity::INFORMATION | DiagnosticSeverity::HINT) => LspSeverity::Note,
                Some(_) | None => LspSeverity::Error,
            },
            code: one.code.as_ref().map(|code| match code {
                NumberOrString::Number(number) => number.to_string(),
                NumberOrString::String(name) => name.clone(),
            }),
            message: one.message.clone(),
        });
        self.versioned.fetch_or(params.version.is_some(), Ordering::Relaxed);
        let published = PublishedDiagnostics {
            version: params.version,
            at: self.generation() + 1,
            findings: findings.collect(),
            raw,
        };
        let mut files = self.files();
        if files.len() < MAX_FILES || files.contains_key(&path) {
            files.insert(path, published);
        }
    }

    fn progress(&self, params: &Value) {
        let token = params["token"].to_string();
        match params["value"]["kind"].as_str() {
            Some("begin") => drop(self.working().insert(token)),
            Some("end") => drop(self.working().remove(&token)),
            Some(_) | None => {}
        }
    }
}

impl ServerListener for DiagnosticStore {
    fn on_notification(&self, method: &str, params: Value) {
        match method {
            "textDocument/publishDiagnostics" => self.publish(params),
            "$/progress" => self.progress(&params),
            _ => return,
        }
        self.count.send_modify(|count| *count += 1);
    }

    fn on_request(&self, method: &str, params: &Value) -> Option<Value> {
        match method {
            "workspace/configuration" => {
                let items = params["items"].as_array()?;
                let section = |item: &Value| item["section"].as_str().unwrap_or_default().to_owned();
                Some(items.iter().map(|item| self.setting_for(&section(item))).collect())
            }
            "workspace/workspaceFolders" => Some(json!([{"uri": self.root, "name": "project"}])),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/diagnostic/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/codeLens/refresh" => Some(Value::Null),
            // Edits are requested and returned as responses; a server changes nothing itself.
            "workspace/applyEdit" => Some(json!({"applied": false, "failureReason": "request the edit instead"})),
            _ => None,
        }
    }
}

impl DiagnosticStore {
    /// `python.analysis` is `settings["python"]["analysis"]`, or the literal key.
    fn setting_for(&self, section: &str) -> Value {
        if let Some(value) = self.settings.get(section) {
            return value.clone();
        }
        let mut parts = section.split('.').filter(|part| !part.is_empty());
        parts
            .try_fold(&self.settings, |value, part| value.get(part))
            .cloned()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> DiagnosticStore {
        DiagnosticStore::new(
            json!({"python": {"analysis": {"mode": "strict"}}, "a.b": 1}),
            json!("file:///p"),
        )
    }

    fn publish(store: &DiagnosticStore, version: Option<i32>, messages: &[&str]) {
        let range = json!({"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 5}});
        let diagnostics: Vec<Value> = messages
            .iter()
            .map(|message| json!({"range": range, "message": message, "severity": 2, "code": 7}))
            .collect();
        let params = json!({"uri": "file:///p/a.py", "version": version, "diagnostics": diagnostics});
        store.on_notification("textDocument/publishDiagnostics", params);
    }

    #[tokio::test]
    async fn diagnostics_are_awaited_for_the_sent_version() {
        let store = Arc::new(store());
        let path = Path::new("/p/a.py");
        publish(&store, Some(1), &["old"]);
        assert!(
            !store.wait(path, 2, store.generation(), Instant::now()).await,
            "that was another version"
        );
        let publisher = store.clone();
        let speaking = tokio::spawn(async move { publish(&publisher, Some(2), &["first", "second"]) });
        let end = Instant::now() + Duration::from_secs(60);
        assert!(store.wait(path, 2, store.generation(), end).await);
        speaking.await.unwrap();
        let messages: Vec<String> = store
            .for_file(path)
            .unwrap()
            .iter()
            .map(|one| one.message.clone())
            .collect();
        assert_eq!(messages, ["first", "second"]);
    }

    #[tokio::test]
    async fn without_versions_diagnostics_after_the_change_are_awaited() {
        let store = store();
        let path = Path::new("/p/a.py");
        publish(&store, None, &["old"]);
        let since = store.generation();
        assert!(!store.wait(path, 1, since, Instant::now()).await);
        publish(&store, None, &["new"]);
        assert!(
            store
                .wait(path, 1, since, Instant::now() + Duration::from_secs(60))
                .await
        );
    }

    #[test]
    fn diagnostics_keep_severity_code_and_position() {
        let store = store();
        publish(&store, None, &["bad"]);
        let found = store.for_file(Path::new("/p/a.py")).unwrap();
        let expected = LspDiagnostic {
            path: "/p/a.py".into(),
            line: 3,
            column: 5,
            severity: LspSeverity::Warning,
            code: Some("7".into()),
            message: "bad".into(),
        };
        assert_eq!(found[..], [expected]);
    }

    #[test]
    fn settings_are_found_by_section() {
        let store = store();
        let ask =
            |section: &str| store.on_request("workspace/configuration", &json!({"items": [{"section": section}]}));
        assert_eq!(ask("python.analysis"), Some(json!([{"mode": "strict"}])));
        assert_eq!(ask("a.b"), Some(json!([1])));
        assert_eq!(ask("none.such"), Some(json!([null])));
        assert_eq!(store.on_request("strange/request", &Value::Null), None);
    }

    #[test]
    fn progress_begins_and_ends() {
        let store = store();
        let progress = |kind: &str| store.on_notification("$/progress", json!({"token": 1, "value": {"kind": kind}}));
        progress("begin");
        assert!(store.is_working());
        progress("end");
        assert!(!store.is_working());
    }
}
