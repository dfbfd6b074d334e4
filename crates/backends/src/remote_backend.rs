//! The back end of a terminal front end that is attached to a running `hew serve`: sessions and their data come over HTTP, while
//! the clipboard, the editor, the prompt history and the draft are those of this computer.

mod client;
mod commands;
mod follow;
mod rows;

pub use client::{RemoteServer, pair};

use crate::{TuiBackend, atomic};
use client::ServerClient;
use follow::{Follower, ItemChanges};
use futures::future::{BoxFuture, FutureExt as _};
use model::Media;
use serde_json::{Value, json};
use server::json_events::{parse_item, parse_totals};
use session::{Change, Command, Event, Item, RequestRecord, SessionId, SessionMeta};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tui::{
    BackendFuture, ClipboardContent, CodeMatch, ConflictChoice, DesktopBackend, FileRestoreResult, FileVersions,
    HunkDecision, JobRow, ModelBackend, OpenedSession, OperationResult, PanelRow, PermissionRow, PickerItem,
    ProcessBackend, ProjectBackend, PromptBackend, RestoreRequest, ReviewBackend, ReviewableFile, ReviewableHunk,
    Revocation, RewindScope, RulesFileRow, ServerHealth, ServerRow, SessionBackend, SessionInfo, SessionTarget,
    SettingRow, SettingsBackend, SyntaxToken, ThemeSpec, UsableModel, UserError,
};

/// The maximum number of listed sessions.
const MAX_SESSIONS: usize = 1000;
/// The newest sessions among which is one with a prompt, as a rule.
const NEWEST_ROWS: usize = 50;
/// The maximum number of events and commands that wait.
const QUEUE: usize = 1024;

/// The back end of an attached front end. Clones share the session.
#[derive(Clone)]
pub struct RemoteBackend {
    client: Arc<ServerClient>,
    /// The clipboard, the editor and other features of this computer.
    local: TuiBackend,
    state: Arc<Mutex<RemoteState>>,
}

#[derive(Default)]
struct RemoteState {
    active: Option<SessionId>,
    /// The project of the session that was opened last, on the server.
    root: String,
    /// The items that changed files, to load their texts.
    changes: ItemChanges,
}

impl RemoteBackend {
    /// Connects nothing yet: the first request does.
    pub fn new(server: &RemoteServer, local: TuiBackend) -> Result<Self, UserError> {
        Ok(RemoteBackend {
            client: Arc::new(ServerClient::new(server)?),
            local,
            state: Arc::default(),
        })
    }

    /// A path below the active session.
    fn path(&self, rest: &str) -> Result<String, UserError> {
        let active = self.state.lock().unwrap_or_else(PoisonError::into_inner).active;
        let session = active.ok_or_else(|| UserError::new("no session is open"))?;
        Ok(format!("/sessions/{session}/{rest}"))
    }

    /// Loads data of the active session.
    fn get<T: Send + 'static>(
        &self,
        rest: &str,
        convert: impl FnOnce(Value) -> T + Send + 'static,
    ) -> BackendFuture<T> {
        let (client, path) = (Arc::clone(&self.client), self.path(rest));
        async move { Ok(convert(client.get(&path?).await?)) }.boxed()
    }

    /// Changes something in the active session.
    fn post<T: Send + 'static>(
        &self,
        rest: &str,
        body: Value,
        convert: impl FnOnce(Value) -> T + Send + 'static,
    ) -> BackendFuture<T> {
        let (client, path) = (Arc::clone(&self.client), self.path(rest));
        async move { Ok(convert(client.post(&path?, &body).await?)) }.boxed()
    }

    async fn open_session(self, target: SessionTarget) -> Result<OpenedSession, UserError> {
        let id = match target {
            SessionTarget::New => {
                let root = self.state.lock().unwrap_or_else(PoisonError::into_inner).root.clone();
                // The project of the session before; without one, that of the server.
                let body = if root.is_empty() {
                    json!({})
                } else {
                    json!({"root": root})
                };
                self.client.post("/sessions", &body).await?["id"].clone()
            }
            SessionTarget::Newest => {
                let rows = self.client.get(&format!("/sessions?limit={NEWEST_ROWS}")).await?;
                match newest(&rows) {
                    Value::Null => self.client.post("/sessions", &json!({})).await?["id"].clone(),
                    id => id.clone(),
                }
            }
            SessionTarget::Named(name) => Value::String(name),
            SessionTarget::Fork { session, upto } => {
                let body = json!({"upto": upto.map(|item| item.to_string())});
                self.client.post(&format!("/sessions/{session}/fork"), &body).await?["id"].clone()
            }
        };
        let name = id.as_str().unwrap_or_default().to_owned();
        // The settings are those of an open session.
        let settings = self.client.get(&format!("/sessions/{name}/settings")).await?;
        let detail = self.client.get(&format!("/sessions/{name}")).await?;
        let me = self.client.get("/me").await?;
        let id: Option<SessionId> = detail["session"]["id"].as_str().and_then(|id| id.parse().ok());
        let id = id.ok_or_else(|| UserError::new("the server's answer has an unknown form"))?;
        let items: Vec<Arc<Item>> = array(&detail["items"], |item| parse_item(item).map(Arc::new));
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.active = Some(id);
            state.root = text(&detail["session"], "root");
            items.iter().for_each(|item| state.changes.add(item));
        }
        let (commands, received) = mpsc::channel::<Command>(QUEUE);
        let (sender, events) = mpsc::channel::<Event>(QUEUE);
        let follower = Follower::new(&items, settings.clone());
        let cursor = text(&detail, "cursor");
        tokio::spawn(self.clone().run(id, received, sender, follower, cursor));
        let info = SessionInfo {
            model: text(&settings, "model"),
            context_window: settings["context_window"].as_u64().unwrap_or_default(),
            mode: text(&settings, "mode"),
            permission: text(&settings, "permission"),
            effort: text(&settings, "effort"),
            rules: array(&settings["rules"], |rule| rule.as_str().map(str::to_owned)),
            sandbox: text(&settings, "sandbox"),
            root: text(&detail["session"], "root").into(),
            display_path: format!("{} on {}", text(&settings, "display_path"), self.client.host()),
            title: detail["session"]["title"].as_str().map(str::to_owned),
            totals: parse_totals(&detail["live"]["totals"]),
            resume_command: format!("hew --attach {} --session {id}", self.client.base()),
            has_unfinished_turn: detail["live"]["unfinished"] == true,
            edit_approval: (settings["edit_approval"] == "ask").then_some(policy::ApprovalMode::Ask),
            default_effort: None,
        };
        let notices = match text(&me, "hew").as_str() {
            env!("CARGO_PKG_VERSION") => Vec::new(),
            version => vec![format!("the server runs hew {version}")],
        };
        Ok(OpenedSession {
            id,
            commands,
            events,
            items,
            info,
            notices,
        })
    }

    /// Forwards commands to the server and its events to the front end, until the front end closes the session. The session
    /// itself stays open on the server.
    async fn run(
        self,
        session: SessionId,
        mut commands: mpsc::Receiver<Command>,
        events: mpsc::Sender<Event>,
        mut follower: Follower,
        cursor: String,
    ) {
        let state = Arc::clone(&self.state);
        let settings = follower.settings();
        let follow = async {
            let on_event = |event: &Event| {
                if let Event::ItemFinished { item } = event {
                    state.lock().unwrap_or_else(PoisonError::into_inner).changes.add(item);
                }
            };
            follow::follow(&self.client, session, cursor, &mut follower, &events, on_event).await;
        };
        let forward = async {
            while let Some(command) = commands.recv().await {
                match command {
                    Command::Close | Command::Finish => return,
                    command => {
                        if let Err(error) = commands::send(&self.client, session, command, &settings).await {
                            events.send(commands::failure(&error)).await.unwrap_or_default();
                        }
                    }
                }
            }
        };
        tokio::select! {
            () = follow => {}
            () = forward => {}
        }
    }
}

impl SessionBackend for RemoteBackend {
    fn open(&self, target: SessionTarget) -> BackendFuture<OpenedSession> {
        self.clone().open_session(target).boxed()
    }

    fn activate(&self, session: SessionId) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).active = Some(session);
    }

    fn close(&self, _session: SessionId) -> BoxFuture<'static, ()> {
        futures::future::ready(()).boxed()
    }

    fn sessions(&self) -> BackendFuture<Vec<SessionMeta>> {
        let client = Arc::clone(&self.client);
        let root = self.state.lock().unwrap_or_else(PoisonError::into_inner).root.clone();
        let query = client::query("root", &root);
        async move {
            let rows = client.get(&format!("/sessions?limit={MAX_SESSIONS}&{query}")).await?;
            Ok(array(&rows, rows::session_meta))
        }
        .boxed()
    }

    fn all_sessions(&self) -> BackendFuture<Vec<SessionMeta>> {
        let client = Arc::clone(&self.client);
        async move {
            let rows = client.get(&format!("/sessions?limit={MAX_SESSIONS}")).await?;
            Ok(array(&rows, rows::session_meta))
        }
        .boxed()
    }

    fn request_records(&self) -> BackendFuture<Vec<RequestRecord>> {
        self.get("ledger", |rows| array(&rows, rows::request_record))
    }

    fn session_items(&self, session: SessionId) -> BackendFuture<Vec<Arc<Item>>> {
        let client = Arc::clone(&self.client);
        async move {
            let detail = client.get(&format!("/sessions/{session}")).await?;
            Ok(array(&detail["items"], |item| parse_item(item).map(Arc::new)))
        }
        .boxed()
    }

    fn rename_session(&self, session: SessionId, title: String) -> BackendFuture<String> {
        let client = Arc::clone(&self.client);
        async move {
            let path = format!("/sessions/{session}");
            client.patch(&path, &json!({"title": title})).await?;
            Ok(format!("renamed to “{title}”"))
        }
        .boxed()
    }
}

impl ProjectBackend for RemoteBackend {
    fn files(&self) -> BackendFuture<Arc<Vec<String>>> {
        self.get("files?all=1", |files| {
            Arc::new(array(&files, |path| path.as_str().map(str::to_owned)))
        })
    }

    fn symbols(&self) -> BackendFuture<Arc<Vec<String>>> {
        self.get("symbols?all=1", |names| {
            Arc::new(array(&names, |name| name.as_str().map(str::to_owned)))
        })
    }

    fn search_code(&self, words: String) -> BackendFuture<Vec<CodeMatch>> {
        self.get(&format!("code?{}", client::query("q", &words)), |rows| {
            array(&rows, |row| {
                Some(CodeMatch {
                    path: text(row, "path"),
                    lines: text(row, "lines"),
                    symbol: text(row, "symbol"),
                    reasons: text(row, "reasons"),
                    text: text(row, "text"),
                })
            })
        })
    }

    fn read_image(&self, path: String) -> BackendFuture<Media> {
        self.local.read_image(path)
    }

    fn read_file(&self, path: PathBuf) -> BackendFuture<String> {
        let query = client::query("path", &path.display().to_string());
        self.get(&format!("file?{query}"), |file| text(&file, "text"))
    }

    fn file_versions(&self, changes: Vec<Change>) -> BackendFuture<Vec<FileVersions>> {
        let items = self
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .changes
            .of(&changes);
        let requests = items.iter().map(|item| self.path(&format!("items/{item}/diff")));
        let requests: Vec<_> = requests.collect();
        let client = Arc::clone(&self.client);
        async move {
            let mut found = Vec::new();
            for path in requests {
                let texts = client.get(&path?).await?;
                found.extend(array(&texts, |file| {
                    Some(FileVersions {
                        path: text(file, "path").into(),
                        before: file["before"].as_str().map(str::to_owned),
                        after: file["after"].as_str().map(str::to_owned),
                    })
                }));
            }
            let of_change = |change: &Change| found.iter().find(|file| file.path == change.path).cloned();
            Ok(changes.iter().filter_map(of_change).collect())
        }
        .boxed()
    }

    fn git_branch(&self) -> BackendFuture<Option<String>> {
        futures::future::ready(Ok(None)).boxed()
    }

    fn highlight(&self, language: &str, text: &str) -> Option<Vec<(Range<usize>, SyntaxToken)>> {
        self.local.highlight(language, text)
    }
}

impl ReviewBackend for RemoteBackend {
    fn pending_changes(&self) -> BackendFuture<Vec<ReviewableFile>> {
        self.get("changes", |files| {
            array(&files, |file| {
                Some(ReviewableFile {
                    path: text(file, "path").into(),
                    status: text(file, "status"),
                    no_diff_reason: file["no_diff_reason"].as_str().map(str::to_owned),
                    hunks: array(&file["hunks"], |hunk| {
                        Some(ReviewableHunk {
                            id: text(hunk, "id"),
                            line: usize::try_from(hunk["line"].as_u64()?).ok()?,
                            before: text(hunk, "before"),
                            after: text(hunk, "after"),
                            has_user_edits: hunk["has_user_edits"] == true,
                            rejectable: hunk["rejectable"] == true,
                        })
                    }),
                })
            })
        })
    }

    fn review_changes(&self, decisions: Vec<(String, HunkDecision)>) -> BackendFuture<OperationResult> {
        let ids = |wanted| -> Vec<&str> {
            let of = decisions.iter().filter(|(_, decision)| *decision == wanted);
            of.map(|(id, _)| id.as_str()).collect()
        };
        let body = json!({"accept": ids(HunkDecision::Accept), "reject": ids(HunkDecision::Reject)});
        // The server records the review.
        self.post("changes", body, |done| OperationResult {
            message: text(&done, "message"),
            log_entry: None,
        })
    }

    fn restore(&self, request: RestoreRequest, choice: ConflictChoice) -> BackendFuture<FileRestoreResult> {
        let conflicts = match choice {
            ConflictChoice::Ask => "report",
            ConflictChoice::Keep => "keep",
            ConflictChoice::Overwrite => "overwrite",
        };
        let (path, body) = match request {
            RestoreRequest::Undo => ("undo", json!({"conflicts": conflicts})),
            RestoreRequest::Redo => ("redo", json!({"conflicts": conflicts})),
            RestoreRequest::Rewind { prompt, scope, .. } => {
                let parts = match scope {
                    RewindScope::Both => "both",
                    RewindScope::Conversation => "conversation",
                    RewindScope::Files => "files",
                };
                let prompt = prompt.to_string();
                (
                    "rewind",
                    json!({"prompt": prompt, "parts": parts, "conflicts": conflicts}),
                )
            }
        };
        // The server rewinds the conversation and records the change.
        self.post(path, body, |done| {
            let conflicts: Vec<String> = array(&done["conflicts"], |path| path.as_str().map(str::to_owned));
            match conflicts.is_empty() {
                true => FileRestoreResult::Done {
                    message: text(&done, "message"),
                    head: done["head"].as_str().and_then(|head| head.parse().ok()),
                    log_entry: None,
                },
                false => FileRestoreResult::Conflicts(conflicts),
            }
        })
    }
}

impl ModelBackend for RemoteBackend {
    fn models(&self) -> BackendFuture<Vec<PickerItem>> {
        self.get("models", |rows| choices(&rows))
    }

    fn resolve_model(&self, model: String) -> BackendFuture<UsableModel> {
        let models = self.models();
        async move {
            let models = models.await?;
            let is_named = |row: &&PickerItem| row.name == model || row.name.ends_with(&format!("/{model}"));
            match models.iter().find(is_named) {
                Some(row) => match &row.unavailable_reason {
                    None => Ok(UsableModel {
                        name: row.name.clone(),
                        context_window: 0,
                        default_effort: None,
                    }),
                    Some(reason) => Err(UserError::new(format!("{}: {reason}", row.name))),
                },
                None => Err(UserError::new(format!("the server has no model `{model}`"))),
            }
        }
        .boxed()
    }
}

impl SettingsBackend for RemoteBackend {
    fn settings(&self) -> BackendFuture<Vec<SettingRow>> {
        self.get("config", |rows| {
            array(&rows, |row| {
                Some(SettingRow {
                    key: text(row, "key"),
                    value: text(row, "value"),
                    origin: text(row, "origin"),
                    description: text(row, "description"),
                    choices: Vec::new(),
                })
            })
        })
    }

    fn modes(&self) -> BackendFuture<Vec<PickerItem>> {
        self.get("modes", |rows| choices(&rows))
    }

    fn rules_files(&self) -> BackendFuture<Vec<RulesFileRow>> {
        self.get("rules", |rows| {
            array(&rows, |row| {
                Some(RulesFileRow {
                    path: text(row, "path").into(),
                    name: text(row, "name"),
                    description: text(row, "description"),
                })
            })
        })
    }

    fn user_themes(&self) -> BTreeMap<String, ThemeSpec> {
        self.local.user_themes()
    }

    fn permission_rules(&self) -> BackendFuture<Vec<PermissionRow>> {
        self.get("permissions", |rows| {
            array(&rows, |row| {
                Some(PermissionRow {
                    effect: text(row, "effect"),
                    rule: text(row, "rule"),
                    origin: text(row, "origin"),
                    revocation: match row["revocation"].as_str()? {
                        "stored" => Revocation::Stored,
                        "session" => Revocation::Session,
                        _ => Revocation::None,
                    },
                })
            })
        })
    }

    fn revoke_rule(&self, rule: String) -> BackendFuture<String> {
        self.post("permissions/revoke", json!({"rule": rule}), |done| {
            text(&done, "message")
        })
    }

    fn custom_commands(&self) -> BackendFuture<Vec<PickerItem>> {
        self.get("commands", |rows| choices(&rows))
    }
}

impl ProcessBackend for RemoteBackend {
    fn run_hew(&self, arguments: Vec<String>) -> BackendFuture<String> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["doctor"] => self.get("doctor", |report| text(&report, "message")),
            ["sessions", "export", session, "--output", file] => {
                let path = format!("/sessions/{session}/export");
                let (client, file) = (Arc::clone(&self.client), PathBuf::from(file));
                async move {
                    let document = client.text(&path).await?;
                    atomic::write(&file, &document)
                        .map_err(|error| UserError::new(format!("could not write {}: {error}", file.display())))?;
                    Ok(format!("exported this session to {}", file.display()))
                }
                .boxed()
            }
            _ => tui::unavailable("this command"),
        }
    }

    fn panels(&self) -> BackendFuture<Vec<PanelRow>> {
        self.get("panels", |rows| {
            array(&rows, |row| {
                Some(PanelRow {
                    name: text(row, "name"),
                    is_open: row["open"] == true,
                })
            })
        })
    }

    fn toggle_panel(&self, panel: PanelRow) -> BackendFuture<String> {
        let body = json!({"name": panel.name, "open": !panel.is_open});
        self.post("panels", body, |done| text(&done, "message"))
    }

    fn jobs(&self) -> BackendFuture<Vec<JobRow>> {
        self.get("jobs", |rows| {
            array(&rows, |row| {
                Some(JobRow {
                    id: u32::try_from(row["id"].as_u64()?).ok()?,
                    command: text(row, "command"),
                    state: text(row, "state"),
                    running: row["running"] == true,
                    output: text(row, "output"),
                })
            })
        })
    }

    fn move_to_background(&self) -> bool {
        let moved = self.post("background", json!({}), |_| ());
        tokio::spawn(moved);
        true
    }

    fn stop_job(&self, id: u32) -> BackendFuture<String> {
        self.post(&format!("jobs/{id}/stop"), json!({}), |done| text(&done, "message"))
    }

    fn servers(&self) -> BackendFuture<Vec<ServerRow>> {
        self.get("servers", |rows| {
            array(&rows, |row| {
                Some(ServerRow {
                    kind: text(row, "kind"),
                    name: text(row, "name"),
                    state: text(row, "state"),
                    health: ServerHealth::default(),
                    details: array(&row["details"], |line| line.as_str().map(str::to_owned)),
                })
            })
        })
    }
}

impl PromptBackend for RemoteBackend {
    fn prompt_history(&self) -> BackendFuture<Vec<String>> {
        self.local.prompt_history()
    }

    fn save_prompt(&self, prompt: String) {
        self.local.save_prompt(prompt);
    }

    fn load_draft(&self) -> BackendFuture<Option<String>> {
        self.local.load_draft()
    }

    fn save_draft(&self, text: String) {
        self.local.save_draft(text);
    }
}

impl DesktopBackend for RemoteBackend {
    fn edit_file(&self, path: PathBuf) -> BackendFuture<()> {
        let message = format!("{} is a file of the server; edit it there", path.display());
        futures::future::ready(Err(UserError::new(message))).boxed()
    }

    fn open_editor(&self, text: String) -> BackendFuture<String> {
        self.local.open_editor(text)
    }

    fn clipboard(&self) -> BackendFuture<ClipboardContent> {
        self.local.clipboard()
    }

    fn notify(&self, title: &str, text: &str) {
        self.local.notify(title, text);
    }
}

/// The id of the newest session with items; without one, that of the newest session.
fn newest(rows: &Value) -> &Value {
    let has_items = |row: &&Value| row["items"].as_u64().is_some_and(|items| items > 0);
    let found = rows.as_array().and_then(|rows| rows.iter().find(has_items));
    &found.unwrap_or(&rows[0])["id"]
}

fn text(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_default().to_owned()
}

fn array<T>(json: &Value, convert: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    json.as_array().into_iter().flatten().filter_map(convert).collect()
}

fn choices(rows: &Value) -> Vec<PickerItem> {
    array(rows, |row| {
        Some(PickerItem {
            name: text(row, "name"),
            description: text(row, "description"),
            unavailable_reason: row["unavailable"].as_str().map(str::to_owned),
            model: None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_session_has_a_prompt_if_one_has() {
        let empty = json!({"id": "a", "items": 0});
        assert_eq!(newest(&json!([empty, {"id": "b", "items": 2}])), "b");
        assert_eq!(newest(&json!([empty])), "a");
        assert_eq!(newest(&json!([])), &Value::Null);
    }
}
