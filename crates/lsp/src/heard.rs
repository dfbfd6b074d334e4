//! What a server says of itself: what is wrong in which file, and whether it is still at work.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString, PublishDiagnosticsParams, Range};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::connection::Listener;
use crate::text;

/// Of each file, so many findings are kept.
const MOST_FINDINGS: usize = 500;
/// Files of which findings are kept.
const MOST_FILES: usize = 2_000;
/// After the first word on a change, so long is waited for a second one: some servers speak in turns.
const SETTLE: Duration = Duration::from_millis(200);

/// Something that a server finds wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, as the server counts.
    pub column: usize,
    /// How bad it is.
    pub severity: Severity,
    /// What kind of thing it is, such as `E0308`.
    pub code: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It does not work.
    Error,
    /// It may not work.
    Warning,
    /// It could be better.
    Note,
}

/// Findings by file.
pub(crate) type Findings = BTreeMap<PathBuf, Arc<[Finding]>>;

/// The findings of one file, as the server told them last.
#[derive(Debug, Clone)]
struct Published {
    version: Option<i32>,
    /// The number of what was heard.
    at: u64,
    findings: Arc<[Finding]>,
    /// The same in the protocol's form, which a server wants back when it is asked for remedies.
    raw: Vec<Diagnostic>,
}

/// What was heard from one server.
pub(crate) struct Heard {
    files: Mutex<HashMap<PathBuf, Published>>,
    /// Work that was begun and not ended.
    working: Mutex<HashSet<String>>,
    settings: Value,
    root: Value,
    /// Whether the server says of which version of a file it speaks.
    versioned: AtomicBool,
    /// Counts what is heard, so that one can wait for more.
    count: watch::Sender<u64>,
}

impl Heard {
    /// The settings are for a server that asks for them; the root is its folder, as the protocol names it.
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

    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, Published>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn working(&self) -> MutexGuard<'_, HashSet<String>> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much was heard so far.
    pub(crate) fn count(&self) -> u64 {
        *self.count.borrow()
    }

    /// Whether the server has said that it is at work.
    pub(crate) fn is_working(&self) -> bool {
        !self.working().is_empty()
    }

    /// Whether the server says of which version of a file it speaks.
    pub(crate) fn is_versioned(&self) -> bool {
        self.versioned.load(Ordering::Relaxed)
    }

    /// All that is known, by file.
    pub(crate) fn all(&self) -> Findings {
        let files = self.files();
        files
            .iter()
            .map(|(path, published)| (path.clone(), published.findings.clone()))
            .collect()
    }

    /// What is known of a file.
    pub(crate) fn of(&self, path: &Path) -> Option<Arc<[Finding]>> {
        self.files().get(path).map(|published| published.findings.clone())
    }

    /// What is wrong within a range, in the protocol's form.
    pub(crate) fn raw(&self, path: &Path, range: Range) -> Vec<Diagnostic> {
        let touches = |one: &&Diagnostic| one.range.start <= range.end && range.start <= one.range.end;
        let files = self.files();
        let published = files.get(path).map_or(&[][..], |published| &published.raw);
        published.iter().filter(touches).cloned().collect()
    }

    pub(crate) fn forget(&self, path: &Path) {
        self.files().remove(path);
    }

    /// Waits until the server has spoken of a file in this version, or after so much had been heard, and then until it
    /// is still for a moment; no longer than to the end. Says whether it has spoken.
    pub(crate) async fn wait(&self, path: &Path, version: i32, since: u64, end: Instant) -> bool {
        let mut count = self.count.subscribe();
        while !self.has_spoken(path, version, since) {
            if timeout_at(end, count.changed()).await.is_err() {
                return false;
            }
        }
        loop {
            let pause = (Instant::now() + SETTLE).min(end);
            let more = timeout_at(pause, count.changed()).await.is_ok();
            if Instant::now() >= end || (!more && !self.is_working()) {
                return true;
            }
        }
    }

    fn has_spoken(&self, path: &Path, version: i32, since: u64) -> bool {
        self.files().get(path).is_some_and(|published| match published.version {
            Some(spoken_of) => spoken_of >= version,
            None => published.at > since,
        })
    }

    fn publish(&self, params: Value) {
        let Ok(params) = serde_json::from_value::<PublishDiagnosticsParams>(params) else {
            tracing::debug!("findings that are not in the protocol's form");
            return;
        };
        let Some(path) = text::path(&params.uri) else { return };
        let mut raw = params.diagnostics;
        raw.truncate(MOST_FINDINGS);
        let findings = raw.iter().map(|one| Finding {
            path: path.clone(),
            line: one.range.start.line as usize + 1,
            column: one.range.start.character as usize + 1,
            severity: match one.severity {
                Some(DiagnosticSeverity::WARNING) => Severity::Warning,
                Some(DiagnosticSeverity::INFORMATION | DiagnosticSeverity::HINT) => Severity::Note,
                Some(_) | None => Severity::Error,
            },
            code: one.code.as_ref().map(|code| match code {
                NumberOrString::Number(number) => number.to_string(),
                NumberOrString::String(name) => name.clone(),
            }),
            message: one.message.clone(),
        });
        self.versioned.fetch_or(params.version.is_some(), Ordering::Relaxed);
        let published = Published {
            version: params.version,
            at: self.count() + 1,
            findings: findings.collect(),
            raw,
        };
        let mut files = self.files();
        if files.len() < MOST_FILES || files.contains_key(&path) {
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

impl Listener for Heard {
    fn told(&self, method: &str, params: Value) {
        match method {
            "textDocument/publishDiagnostics" => self.publish(params),
            "$/progress" => self.progress(&params),
            _ => return,
        }
        self.count.send_modify(|count| *count += 1);
    }

    fn asked(&self, method: &str, params: &Value) -> Option<Value> {
        match method {
            "workspace/configuration" => {
                let items = params["items"].as_array()?;
                let section = |item: &Value| item["section"].as_str().unwrap_or_default().to_owned();
                Some(items.iter().map(|item| self.setting(&section(item))).collect())
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
            // Whoever wants a change asks for it and gets it as an answer; a server changes nothing by itself.
            "workspace/applyEdit" => Some(json!({"applied": false, "failureReason": "ask for the edit instead"})),
            _ => None,
        }
    }
}

impl Heard {
    /// `python.analysis` is `settings["python"]["analysis"]`, or the key as it is written.
    fn setting(&self, section: &str) -> Value {
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

    fn heard() -> Heard {
        Heard::new(
            json!({"python": {"analysis": {"mode": "strict"}}, "a.b": 1}),
            json!("file:///p"),
        )
    }

    fn publish(heard: &Heard, version: Option<i32>, messages: &[&str]) {
        let range = json!({"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 5}});
        let diagnostics: Vec<Value> = messages
            .iter()
            .map(|message| json!({"range": range, "message": message, "severity": 2, "code": 7}))
            .collect();
        let params = json!({"uri": "file:///p/a.py", "version": version, "diagnostics": diagnostics});
        heard.told("textDocument/publishDiagnostics", params);
    }

    #[tokio::test]
    async fn one_waits_for_the_version_that_was_sent() {
        let heard = Arc::new(heard());
        let path = Path::new("/p/a.py");
        publish(&heard, Some(1), &["old"]);
        assert!(
            !heard.wait(path, 2, heard.count(), Instant::now()).await,
            "that was another version"
        );
        let speaker = heard.clone();
        let speaking = tokio::spawn(async move { publish(&speaker, Some(2), &["first", "second"]) });
        let end = Instant::now() + Duration::from_secs(60);
        assert!(heard.wait(path, 2, heard.count(), end).await);
        speaking.await.unwrap();
        let messages: Vec<String> = heard.of(path).unwrap().iter().map(|one| one.message.clone()).collect();
        assert_eq!(messages, ["first", "second"]);
    }

    #[tokio::test]
    async fn without_versions_one_waits_for_what_comes_after_the_change() {
        let heard = heard();
        let path = Path::new("/p/a.py");
        publish(&heard, None, &["old"]);
        let since = heard.count();
        assert!(!heard.wait(path, 1, since, Instant::now()).await);
        publish(&heard, None, &["new"]);
        assert!(
            heard
                .wait(path, 1, since, Instant::now() + Duration::from_secs(60))
                .await
        );
    }

    #[test]
    fn findings_keep_what_matters() {
        let heard = heard();
        publish(&heard, None, &["bad"]);
        let found = heard.of(Path::new("/p/a.py")).unwrap();
        let wanted = Finding {
            path: "/p/a.py".into(),
            line: 3,
            column: 5,
            severity: Severity::Warning,
            code: Some("7".into()),
            message: "bad".into(),
        };
        assert_eq!(found[..], [wanted]);
    }

    #[test]
    fn settings_are_found_by_section() {
        let heard = heard();
        let ask = |section: &str| heard.asked("workspace/configuration", &json!({"items": [{"section": section}]}));
        assert_eq!(ask("python.analysis"), Some(json!([{"mode": "strict"}])));
        assert_eq!(ask("a.b"), Some(json!([1])));
        assert_eq!(ask("none.such"), Some(json!([null])));
        assert_eq!(heard.asked("strange/request", &Value::Null), None);
    }

    #[test]
    fn work_is_begun_and_ended() {
        let heard = heard();
        let progress = |kind: &str| heard.told("$/progress", json!({"token": 1, "value": {"kind": kind}}));
        progress("begin");
        assert!(heard.is_working());
        progress("end");
        assert!(!heard.is_working());
    }
}
