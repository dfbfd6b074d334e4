//! Test support: a fake backend, and rendering of views and the composer as text.

use crate::action::KeyResponse;
use crate::backend::{
    Backend, BackendFuture, ClipboardContent, CodeMatch, DesktopBackend, HunkDecision, JobRow, KeyStorage,
    ModelBackend, OpenedSession, OperationResult, PermissionRow, PickerItem, PickerModel, ProcessBackend,
    ProjectBackend, PromptBackend, ProviderAccess, ProviderRow, ReviewBackend, ReviewableFile, ReviewableHunk,
    Revocation, RulesFileRow, ServerHealth, ServerRow, SessionBackend, SessionTarget, SettingRow, SettingsBackend,
    UsableModel, UserError,
};
use crate::input::Input;
use crate::keys::{KeyChord, KeyMap};
use crate::state::AppState;
use crate::theme::Theme;
use crate::view::{ModalView, RedrawSignal, ViewContext};
use crossterm::event::KeyEvent;
use futures::future::{BoxFuture, FutureExt as _};
use model::{Cost, Effort, Usage};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use session::{Item, RequestRecord, SessionId, SessionMeta, Time, Totals};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Terminal sizes for rendering tests.
pub(crate) const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (40, 15)];
/// The current time in tests.
pub(crate) const NOW: Time = Time(1_800_000_000_000);

/// A backend with fixed answers that records operations.
#[derive(Default)]
pub(crate) struct FakeBackend {
    pub(crate) operations: Mutex<Vec<String>>,
    pub(crate) files: Vec<String>,
    pub(crate) items: Vec<Arc<Item>>,
    pub(crate) records: Vec<RequestRecord>,
    pub(crate) clipboard: Option<ClipboardContent>,
    /// Whether tests of models fail.
    pub(crate) fails_tests: bool,
    /// Whether opening a session panics.
    pub(crate) panics: bool,
    pub(crate) keyring: FakeKeyring,
}

/// Behaviour of the keyring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum FakeKeyring {
    /// Stores keys.
    #[default]
    Works,
    /// Fails.
    Fails,
    /// Is not available.
    Absent,
}

fn ready<T: Send + 'static>(value: T) -> BackendFuture<T> {
    async move { Ok(value) }.boxed()
}

impl FakeBackend {
    fn record(&self, action: String) -> BackendFuture<String> {
        self.operations.lock().unwrap().push(action.clone());
        ready(action)
    }
}

impl SessionBackend for FakeBackend {
    fn open(&self, _: SessionTarget) -> BackendFuture<OpenedSession> {
        assert!(!self.panics, "panic on purpose");
        async { Err(UserError::new("no session")) }.boxed()
    }

    fn close(&self, _: session::SessionId) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }

    fn sessions(&self) -> BackendFuture<Vec<SessionMeta>> {
        ready(vec![
            session_meta(1, Some("Fix the flaky parser test"), 300),
            session_meta(2, None, 90_000),
            session_meta(3, Some("漢字 in file names"), 400_000),
        ])
    }

    fn session_items(&self, _: SessionId) -> BackendFuture<Vec<Arc<Item>>> {
        ready(self.items.clone())
    }

    fn request_records(&self) -> BackendFuture<Vec<RequestRecord>> {
        ready(self.records.clone())
    }

    fn rename_session(&self, _: SessionId, title: String) -> BackendFuture<String> {
        self.record(format!("renamed to {title}"))
    }
}

impl ProjectBackend for FakeBackend {
    fn files(&self) -> BackendFuture<Arc<Vec<String>>> {
        ready(Arc::new(self.files.clone()))
    }

    fn read_file(&self, path: PathBuf) -> BackendFuture<String> {
        let text: String = (1..=60).map(|number| format!("unchanged line {number}\n")).collect();
        match path.ends_with("parser.rs") {
            true => ready(text),
            false => async { Err(UserError::new("no such file")) }.boxed(),
        }
    }

    fn search_code(&self, words: String) -> BackendFuture<Vec<CodeMatch>> {
        ready(vec![CodeMatch {
            path: "src/net/cookies.rs".into(),
            lines: "3-5".into(),
            symbol: "function parse_cookie".into(),
            reasons: "symbol name, meaning".into(),
            text: format!("/// About {words}.\npub fn parse_cookie() {{\n}}\n"),
        }])
    }

    fn symbols(&self) -> BackendFuture<Arc<Vec<String>>> {
        ready(Arc::new(vec!["Composer".into(), "compose".into(), "Session".into()]))
    }
}

impl ReviewBackend for FakeBackend {
    fn pending_changes(&self) -> BackendFuture<Vec<ReviewableFile>> {
        let hunk = |id: &str, line, before: &str, after: &str| ReviewableHunk {
            id: id.into(),
            line,
            before: before.into(),
            after: after.into(),
            has_user_edits: false,
            rejectable: true,
        };
        ready(vec![
            ReviewableFile {
                path: PathBuf::from("src/parser.rs"),
                status: "modified".into(),
                no_diff_reason: None,
                hunks: vec![
                    hunk("a1", 12, "let width = text.len();\n", "let width = text.width();\n"),
                    hunk("a2", 40, "", "/// Counts columns.\nfn columns() {}\n"),
                ],
            },
            ReviewableFile {
                path: PathBuf::from("logo.png"),
                status: "created".into(),
                no_diff_reason: Some("binary file; accept or revert it as a whole".into()),
                hunks: vec![hunk("b1", 1, "", "")],
            },
        ])
    }

    fn review_changes(&self, verdicts: Vec<(String, HunkDecision)>) -> BackendFuture<OperationResult> {
        let words: Vec<String> = verdicts
            .iter()
            .map(|(id, verdict)| format!("{verdict:?} {id}"))
            .collect();
        let message = words.join(", ");
        self.operations.lock().unwrap().push(message.clone());
        ready(OperationResult {
            message,
            log_entry: None,
        })
    }
}

impl ModelBackend for FakeBackend {
    fn resolve_model(&self, model: String) -> BackendFuture<UsableModel> {
        async move {
            match model.as_str() {
                "ollama/qwen3:32b" => Ok(UsableModel {
                    name: model,
                    context_window: 32_768,
                    default_effort: None,
                }),
                _ => Err(UserError::new(format!("there is no key for {model}"))),
            }
        }
        .boxed()
    }

    fn models(&self) -> BackendFuture<Vec<PickerItem>> {
        let choice = |name: &str, about: &str, obstacle: Option<&str>| PickerItem {
            name: name.into(),
            description: about.into(),
            unavailable_reason: obstacle.map(Into::into),
            model: Some(PickerModel {
                is_suggested: obstacle.is_none(),
                has_effort: name.starts_with("anthropic"),
                default_effort: name.starts_with("anthropic").then_some(Effort::Medium),
            }),
        };
        ready(vec![
            choice("anthropic/claude-sonnet-4-6", "200k window, $3 in, $15 out", None),
            choice("openai/gpt-5.5", "400k window, $2 in, $10 out", Some("no key")),
            choice("ollama/qwen3:32b", "32k window, on this machine", None),
        ])
    }

    fn providers(&self) -> BackendFuture<Vec<ProviderRow>> {
        let provider = |name: &str, title: &str, access, models: &[&str]| ProviderRow {
            name: name.into(),
            title: title.into(),
            access,
            models: models
                .iter()
                .map(|model| PickerItem {
                    name: (*model).to_owned(),
                    description: "$3 in, $15 out per million tokens".into(),
                    unavailable_reason: None,
                    model: None,
                })
                .collect(),
            key_page: format!("https://{name}.example/keys"),
            address_example: None,
        };
        ready(vec![
            provider(
                "anthropic",
                "Anthropic",
                ProviderAccess::Key("ANTHROPIC_API_KEY".into()),
                &["anthropic/claude-sonnet-4-6"],
            ),
            provider(
                "ollama",
                "Ollama",
                ProviderAccess::Local,
                &["ollama/qwen3:32b", "ollama/gemma3"],
            ),
            ProviderRow {
                address_example: Some("https://NAME.azure.example".into()),
                ..provider("azure", "Azure", ProviderAccess::NeedsKey, &[])
            },
            provider("openai", "OpenAI", ProviderAccess::NeedsKey, &["openai/gpt-5.5"]),
        ])
    }

    fn key_storages(&self) -> Vec<(KeyStorage, String)> {
        let file = (KeyStorage::File, "in ~/.config/hew/keys.toml".to_owned());
        let now = (KeyStorage::Memory, "in memory, until hew exits".to_owned());
        match self.keyring {
            FakeKeyring::Works | FakeKeyring::Fails => {
                vec![(KeyStorage::Keyring, "in the keyring".to_owned()), file, now]
            }
            FakeKeyring::Absent => vec![file, now],
        }
    }

    fn save_key(&self, provider: String, key: String, keep: KeyStorage) -> BackendFuture<String> {
        match (self.keyring, keep) {
            (FakeKeyring::Fails, KeyStorage::Keyring) => async { Err(UserError::new("the keyring is locked")) }.boxed(),
            (_, KeyStorage::Keyring) => self.record(format!("the key of {provider} is stored")),
            (_, KeyStorage::File | KeyStorage::Memory) => {
                self.record(format!("the key {key} of {provider} is stored: {keep:?}"))
            }
        }
    }

    fn test_model(&self, model: String) -> BackendFuture<String> {
        match self.fails_tests {
            true => async { Err(UserError::new("the server did not answer")) }.boxed(),
            false => ready(format!("{model} replied in 420ms")),
        }
    }
}

impl SettingsBackend for FakeBackend {
    fn custom_commands(&self) -> BackendFuture<Vec<PickerItem>> {
        let choice = PickerItem {
            name: "ship".into(),
            description: "tag a release and push it".into(),
            unavailable_reason: None,
            model: None,
        };
        ready(vec![choice])
    }

    fn modes(&self) -> BackendFuture<Vec<PickerItem>> {
        let choice = |name: &str, about: &str| PickerItem {
            name: name.into(),
            description: about.into(),
            unavailable_reason: None,
            model: None,
        };
        ready(vec![
            choice("code", "changes files and runs commands"),
            choice("ask", "answers questions, changes nothing"),
        ])
    }

    fn rules_files(&self) -> BackendFuture<Vec<RulesFileRow>> {
        let row = |path: &str, description: &str| RulesFileRow {
            path: path.into(),
            name: path.replace("/home/me", "~/.config/hew"),
            description: description.into(),
        };
        ready(vec![
            row("AGENTS.md", "this project, new file"),
            row("/home/me/AGENTS.md", "all projects"),
        ])
    }

    fn permission_rules(&self) -> BackendFuture<Vec<PermissionRow>> {
        let rule = |effect: &str, rule: &str, origin: &str, revocation| PermissionRow {
            effect: effect.into(),
            rule: rule.into(),
            origin: origin.into(),
            revocation,
        };
        ready(vec![
            rule("deny", "read(.env)", "the project's rules", Revocation::None),
            rule(
                "allow",
                "run(cargo test *)",
                "saved answers, this project",
                Revocation::Stored,
            ),
        ])
    }

    fn revoke_rule(&self, rule: String) -> BackendFuture<String> {
        self.record(format!("removed {rule}"))
    }

    fn settings(&self) -> BackendFuture<Vec<SettingRow>> {
        let setting = |key: &str, value: &str, origin: &str, about: &str, choices: &[&str]| SettingRow {
            key: key.into(),
            value: value.into(),
            origin: origin.into(),
            description: about.into(),
            choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        };
        ready(vec![
            setting(
                "model",
                "\"anthropic/claude-sonnet-4-6\"",
                "your file",
                "The default model.",
                &[],
            ),
            setting(
                "compact",
                "true",
                "built in",
                "Whether a long conversation is compacted automatically.",
                &["true", "false"],
            ),
            setting("limits.cost", "", "not set", "US dollars, more than 0.", &[]),
            setting("tui.theme", "", "not set", "The theme.", &[]),
            setting(
                "tui.vim",
                "false",
                "built in",
                "Whether Vim keys are on.",
                &["true", "false"],
            ),
        ])
    }

    fn change_setting(&self, key: String, value: String) -> BackendFuture<String> {
        self.record(format!("{key} = {value}"))
    }
}

impl ProcessBackend for FakeBackend {
    fn run_shell(&self, line: String) -> BackendFuture<String> {
        ready(format!("output of {line}\n"))
    }

    fn jobs(&self) -> BackendFuture<Vec<JobRow>> {
        ready(vec![
            JobRow {
                id: 1,
                command: "npm run dev".into(),
                state: "running 2m05s".into(),
                running: true,
                output: "ready on :3000\nGET / 200\n".into(),
            },
            JobRow {
                id: 2,
                command: "cargo test".into(),
                state: "exited with 0".into(),
                running: false,
                output: String::new(),
            },
        ])
    }

    fn stop_job(&self, id: u32) -> BackendFuture<String> {
        self.record(format!("job {id} stopped"))
    }

    fn servers(&self) -> BackendFuture<Vec<ServerRow>> {
        let server = |kind: &str, name: &str, state: &str, health, about: &[&str]| ServerRow {
            kind: kind.into(),
            name: name.into(),
            state: state.into(),
            health,
            details: about.iter().map(|line| (*line).to_owned()).collect(),
        };
        ready(vec![
            server(
                "MCP",
                "github",
                "12 tools",
                ServerHealth::Good,
                &["create_issue", "list_issues"],
            ),
            server(
                "MCP",
                "linear",
                "failed to start: no such program",
                ServerHealth::Bad,
                &["linear-mcp: not found"],
            ),
            server("LSP", "rust-analyzer", "not started yet", ServerHealth::Idle, &[]),
        ])
    }
}

impl PromptBackend for FakeBackend {
    fn prompt_history(&self) -> BackendFuture<Vec<String>> {
        ready(vec!["fix the tests".into(), "explain the parser".into()])
    }

    fn load_draft(&self) -> BackendFuture<Option<String>> {
        ready(Some("half a thought".into()))
    }

    fn save_draft(&self, text: String) {
        self.operations.lock().unwrap().push(format!("draft {text}"));
    }
}

impl DesktopBackend for FakeBackend {
    fn clipboard(&self) -> BackendFuture<ClipboardContent> {
        let clip = self.clipboard.clone();
        async move { clip.ok_or_else(|| UserError::new("the clipboard is empty")) }.boxed()
    }
}

fn session_meta(number: u128, title: Option<&str>, seconds: u64) -> SessionMeta {
    let id = SessionId(
        format!("0198c0de-0000-7000-8000-{number:012x}")
            .parse::<SessionId>()
            .unwrap()
            .0,
    );
    SessionMeta {
        id,
        title: title.map(Into::into),
        root: PathBuf::from("/home/me/project"),
        model: "anthropic/claude-sonnet-4-6".into(),
        created: Time(NOW.0 - 900_000_000),
        updated: Time(NOW.0 - seconds * 1_000),
        totals: Totals {
            usage: Usage {
                input: 41_000,
                cache_read: 820_000,
                output: 9_300,
                ..Usage::default()
            },
            cost: Cost::from_usd(0.42),
            requests: 31,
        },
        items: 64,
        parent: None,
    }
}

/// The context of a view.
pub(crate) struct ViewHarness {
    pub(crate) fake: Arc<FakeBackend>,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) state: AppState,
    pub(crate) theme: Theme,
    pub(crate) keys: KeyMap,
    pub(crate) redraw: RedrawSignal,
}

impl ViewHarness {
    pub(crate) fn new(given: FakeBackend) -> ViewHarness {
        let given = Arc::new(given);
        let mut state = AppState::default();
        state.info.model = "anthropic/claude-sonnet-4-6".into();
        state.info.mode = "code".into();
        state.info.context_window = 200_000;
        state.session = Some(session_meta(1, None, 0).id);
        ViewHarness {
            backend: Arc::clone(&given) as Arc<dyn Backend>,
            fake: given,
            state,
            theme: Theme::default(),
            keys: KeyMap::default(),
            redraw: RedrawSignal::default(),
        }
    }

    pub(crate) fn cx(&self) -> ViewContext<'_> {
        ViewContext {
            backend: &self.backend,
            state: &self.state,
            theme: &self.theme,
            keys: &self.keys,
            redraw: &self.redraw,
        }
    }

    /// Waits for background operations.
    pub(crate) async fn run_pending(&self) {
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        tokio::time::timeout(Duration::ZERO, self.redraw.requested()).await.ok();
    }

    /// Renders a view, with the caret position below.
    pub(crate) async fn render(&self, view: &mut dyn ModalView, (width, height): (u16, u16)) -> String {
        let area = Rect::new(0, 0, width, height);
        for _ in 0..3 {
            view.draw(area, &mut Buffer::empty(area), &self.cx());
            self.run_pending().await;
        }
        let mut buf = Buffer::empty(area);
        let caret = view.draw(area, &mut buf, &self.cx());
        buffer_text(&buf, caret)
    }

    /// Presses keys, named as in the key map.
    pub(crate) fn press(&self, view: &mut dyn ModalView, keys: &str) -> KeyResponse {
        let mut last = KeyResponse::Handled;
        for key in keys.split_whitespace() {
            last = view.handle(key_input(key), &self.cx());
        }
        last
    }
}

/// A key, named as in the key map.
pub(crate) fn key_input(key: &str) -> Input {
    let key = KeyChord::parse(key).unwrap();
    Input::Key(KeyEvent::new(key.code(), key.modifiers()))
}

/// A buffer as text, with the caret position.
pub(crate) fn buffer_text(buf: &Buffer, caret: Option<Position>) -> String {
    let mut text = String::new();
    for y in buf.area.top()..buf.area.bottom() {
        let mut line = String::new();
        let mut skip = 0;
        for x in buf.area.left()..buf.area.right() {
            let symbol = buf.cell((x, y)).map_or(" ", |cell| cell.symbol());
            if skip > 0 {
                skip -= 1;
                continue;
            }
            skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    match caret {
        Some(at) => format!("{text}caret at row {}, column {}", at.y, at.x),
        None => text,
    }
}
