//! For tests: a house whose answers are given, and what a view or the composer draws, as text.

use crate::house::{
    Access, Choice, Clip, Done, FileChanges, Health, House, Hunk, Job, Keep, Later, Opened, Provider, Rule, Server,
    Setting, Trouble, Verdict, Which,
};
use crate::input::Input;
use crate::keys::{Key, Keys};
use crate::state::State;
use crate::theme::Theme;
use crate::view::{Cx, Outcome, View, Wake};
use crossterm::event::KeyEvent;
use futures::future::{BoxFuture, FutureExt as _};
use model::{Cost, Usage};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use session::{Item, Meta, Record, SessionId, Time, Totals};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The sizes at which everything is looked at.
pub(crate) const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (40, 15)];
/// When all of it happens.
pub(crate) const NOW: Time = Time(1_800_000_000_000);

/// A house whose answers are given, and which notes what it was asked to do.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) done: Mutex<Vec<String>>,
    pub(crate) files: Vec<String>,
    pub(crate) items: Vec<Arc<Item>>,
    pub(crate) records: Vec<Record>,
    /// What is on the clipboard.
    pub(crate) clip: Option<Clip>,
    /// Whether opening a session makes the program fall.
    pub(crate) falls: bool,
    /// What the keyring does.
    pub(crate) keyring: Keyring,
}

/// What the keyring does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Keyring {
    /// It keeps keys.
    #[default]
    Works,
    /// It keeps none.
    Fails,
    /// There is none.
    Absent,
}

fn now<T: Send + 'static>(value: T) -> Later<T> {
    async move { Ok(value) }.boxed()
}

impl Given {
    fn note(&self, deed: String) -> Later<String> {
        self.done.lock().unwrap().push(deed.clone());
        now(deed)
    }
}

impl House for Given {
    fn open(&self, _: Which) -> Later<Opened> {
        assert!(!self.falls, "this is the end");
        async { Err(Trouble::new("there is none")) }.boxed()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }

    fn files(&self) -> Later<Arc<Vec<String>>> {
        now(Arc::new(self.files.clone()))
    }

    fn symbols(&self) -> Later<Arc<Vec<String>>> {
        now(Arc::new(vec!["Composer".into(), "compose".into(), "Session".into()]))
    }

    fn commands(&self) -> Later<Vec<Choice>> {
        let choice = Choice {
            name: "ship".into(),
            about: "tag a release and push it".into(),
            obstacle: None,
        };
        now(vec![choice])
    }

    fn prompts(&self) -> Later<Vec<String>> {
        now(vec!["fix the tests".into(), "explain the parser".into()])
    }

    fn draft(&self) -> Later<Option<String>> {
        now(Some("half a thought".into()))
    }

    fn save_draft(&self, text: String) {
        self.done.lock().unwrap().push(format!("draft {text}"));
    }

    fn clipboard(&self) -> Later<Clip> {
        let clip = self.clip.clone();
        async move { clip.ok_or_else(|| Trouble::new("the clipboard is empty")) }.boxed()
    }

    fn window(&self, model: String) -> Later<u64> {
        async move {
            match model.as_str() {
                "ollama/qwen3:32b" => Ok(32_768),
                _ => Err(Trouble::new(format!("there is no key for {model}"))),
            }
        }
        .boxed()
    }

    fn shell(&self, line: String) -> Later<String> {
        now(format!("output of {line}\n"))
    }

    fn models(&self) -> Later<Vec<Choice>> {
        let choice = |name: &str, about: &str, obstacle: Option<&str>| Choice {
            name: name.into(),
            about: about.into(),
            obstacle: obstacle.map(Into::into),
        };
        now(vec![
            choice("anthropic/claude-sonnet-4-6", "200k window, $3 in, $15 out", None),
            choice("openai/gpt-5.5", "400k window, $2 in, $10 out", Some("no key")),
            choice("ollama/qwen3:32b", "32k window, on this machine", None),
        ])
    }

    fn modes(&self) -> Later<Vec<Choice>> {
        let choice = |name: &str, about: &str| Choice {
            name: name.into(),
            about: about.into(),
            obstacle: None,
        };
        now(vec![
            choice("code", "changes files and runs commands"),
            choice("ask", "answers questions, changes nothing"),
        ])
    }

    fn sessions(&self) -> Later<Vec<Meta>> {
        now(vec![
            meta(1, Some("Fix the flaky parser test"), 300),
            meta(2, None, 90_000),
            meta(3, Some("漢字 in file names"), 400_000),
        ])
    }

    fn items(&self, _: SessionId) -> Later<Vec<Arc<Item>>> {
        now(self.items.clone())
    }

    fn records(&self) -> Later<Vec<Record>> {
        now(self.records.clone())
    }

    fn rename(&self, _: SessionId, title: String) -> Later<String> {
        self.note(format!("it is called {title} now"))
    }

    fn changes(&self) -> Later<Vec<FileChanges>> {
        let hunk = |id: &str, line, before: &str, after: &str| Hunk {
            id: id.into(),
            line,
            before: before.into(),
            after: after.into(),
            mixed: false,
            rejectable: true,
        };
        now(vec![
            FileChanges {
                path: PathBuf::from("src/parser.rs"),
                status: "modified".into(),
                why: None,
                hunks: vec![
                    hunk("a1", 12, "let width = text.len();\n", "let width = text.width();\n"),
                    hunk("a2", 40, "", "/// Counts columns.\nfn columns() {}\n"),
                ],
            },
            FileChanges {
                path: PathBuf::from("logo.png"),
                status: "created".into(),
                why: Some("it is not text; it can be accepted or taken back as a whole".into()),
                hunks: vec![hunk("b1", 1, "", "")],
            },
        ])
    }

    fn review(&self, verdicts: Vec<(String, Verdict)>) -> Later<Done> {
        let words: Vec<String> = verdicts
            .iter()
            .map(|(id, verdict)| format!("{verdict:?} {id}"))
            .collect();
        let told = words.join(", ");
        self.done.lock().unwrap().push(told.clone());
        now(Done { told, keep: None })
    }

    fn jobs(&self) -> Later<Vec<Job>> {
        now(vec![
            Job {
                id: 1,
                command: "npm run dev".into(),
                state: "running 2m05s".into(),
                running: true,
                printed: "ready on :3000\nGET / 200\n".into(),
            },
            Job {
                id: 2,
                command: "cargo test".into(),
                state: "ended with 0".into(),
                running: false,
                printed: String::new(),
            },
        ])
    }

    fn stop_job(&self, id: u32) -> Later<String> {
        self.note(format!("job {id} was stopped"))
    }

    fn servers(&self) -> Later<Vec<Server>> {
        let server = |kind: &str, name: &str, state: &str, health, about: &[&str]| Server {
            kind: kind.into(),
            name: name.into(),
            state: state.into(),
            health,
            about: about.iter().map(|line| (*line).to_owned()).collect(),
        };
        now(vec![
            server(
                "MCP",
                "github",
                "12 tools",
                Health::Good,
                &["create_issue", "list_issues"],
            ),
            server(
                "MCP",
                "linear",
                "did not start: no such program",
                Health::Bad,
                &["linear-mcp: not found"],
            ),
            server("LSP", "rust-analyzer", "not started yet", Health::Idle, &[]),
        ])
    }

    fn rules(&self) -> Later<Vec<Rule>> {
        let rule = |effect: &str, rule: &str, origin: &str, revocable| Rule {
            effect: effect.into(),
            rule: rule.into(),
            origin: origin.into(),
            revocable,
        };
        now(vec![
            rule("deny", "read(.env)", "the project's rules", false),
            rule("allow", "run(cargo test *)", "answers for this project", true),
        ])
    }

    fn revoke(&self, rule: String) -> Later<String> {
        self.note(format!("{rule} is gone"))
    }

    fn settings(&self) -> Later<Vec<Setting>> {
        let setting = |key: &str, value: &str, origin: &str, about: &str, choices: &[&str]| Setting {
            key: key.into(),
            value: value.into(),
            origin: origin.into(),
            about: about.into(),
            choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        };
        now(vec![
            setting(
                "model",
                "\"anthropic/claude-sonnet-4-6\"",
                "your file",
                "The model that does the work.",
                &[],
            ),
            setting(
                "compact",
                "true",
                "built in",
                "Whether a long conversation is summarised by itself.",
                &["true", "false"],
            ),
            setting("limits.cost", "", "not set", "US dollars, more than 0.", &[]),
        ])
    }

    fn set(&self, key: String, value: String) -> Later<String> {
        self.note(format!("{key} is {value} now"))
    }

    fn providers(&self) -> Later<Vec<Provider>> {
        let provider = |name: &str, title: &str, access, models: &[&str]| Provider {
            name: name.into(),
            title: title.into(),
            access,
            models: models.iter().map(|model| (*model).to_owned()).collect(),
        };
        now(vec![
            provider(
                "anthropic",
                "Anthropic",
                Access::Key("ANTHROPIC_API_KEY".into()),
                &["anthropic/claude-sonnet-4-6"],
            ),
            provider(
                "ollama",
                "Ollama",
                Access::Local,
                &["ollama/qwen3:32b", "ollama/gemma3"],
            ),
            provider("openai", "OpenAI", Access::NeedsKey, &["openai/gpt-5.5"]),
        ])
    }

    fn key_places(&self) -> Vec<(Keep, String)> {
        let file = (Keep::File, "in ~/.config/hew/keys.toml".to_owned());
        let now = (Keep::Now, "nowhere: until hew ends".to_owned());
        match self.keyring {
            Keyring::Works | Keyring::Fails => vec![(Keep::Keyring, "in the keyring".to_owned()), file, now],
            Keyring::Absent => vec![file, now],
        }
    }

    fn save_key(&self, provider: String, key: String, keep: Keep) -> Later<String> {
        match (self.keyring, keep) {
            (Keyring::Fails, Keep::Keyring) => async { Err(Trouble::new("the keyring is locked")) }.boxed(),
            (_, Keep::Keyring) => self.note(format!("the key of {provider} is kept")),
            (_, Keep::File | Keep::Now) => self.note(format!("the key {key} of {provider} is kept: {keep:?}")),
        }
    }

    fn test(&self, model: String) -> Later<String> {
        now(format!("it answered in 420ms as {model}"))
    }
}

fn meta(number: u128, title: Option<&str>, seconds: u64) -> Meta {
    let id = SessionId(
        format!("0198c0de-0000-7000-8000-{number:012x}")
            .parse::<SessionId>()
            .unwrap()
            .0,
    );
    Meta {
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

/// Everything that a view may look at, in one place.
pub(crate) struct Stage {
    pub(crate) given: Arc<Given>,
    pub(crate) house: Arc<dyn House>,
    pub(crate) state: State,
    pub(crate) theme: Theme,
    pub(crate) keys: Keys,
    pub(crate) wake: Wake,
}

impl Stage {
    /// A stage with this house.
    pub(crate) fn new(given: Given) -> Stage {
        let given = Arc::new(given);
        let mut state = State::default();
        state.facts.model = "anthropic/claude-sonnet-4-6".into();
        state.facts.mode = "code".into();
        state.facts.window = 200_000;
        state.session = Some(meta(1, None, 0).id);
        Stage {
            house: Arc::clone(&given) as Arc<dyn House>,
            given,
            state,
            theme: Theme::default(),
            keys: Keys::default(),
            wake: Wake::default(),
        }
    }

    pub(crate) fn cx(&self) -> Cx<'_> {
        Cx {
            house: &self.house,
            state: &self.state,
            theme: &self.theme,
            keys: &self.keys,
            wake: &self.wake,
        }
    }

    /// Waits until everybody who was sent for something is back.
    pub(crate) async fn calm(&self) {
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        tokio::time::timeout(Duration::ZERO, self.wake.woken()).await.ok();
    }

    /// What a view draws at a size, with the caret as a mark below.
    pub(crate) async fn see(&self, view: &mut dyn View, (width, height): (u16, u16)) -> String {
        let area = Rect::new(0, 0, width, height);
        for _ in 0..3 {
            view.draw(area, &mut Buffer::empty(area), &self.cx());
            self.calm().await;
        }
        let mut buf = Buffer::empty(area);
        let caret = view.draw(area, &mut buf, &self.cx());
        shown(&buf, caret)
    }

    /// Presses keys, written as in the key map.
    pub(crate) fn press(&self, view: &mut dyn View, keys: &str) -> Outcome {
        let mut last = Outcome::Stay;
        for key in keys.split(' ') {
            last = view.handle(key_input(key), &self.cx());
        }
        last
    }
}

/// A key, written as in the key map.
pub(crate) fn key_input(key: &str) -> Input {
    let key = Key::parse(key).unwrap();
    Input::Key(KeyEvent::new(key.code(), key.modifiers()))
}

/// A buffer as text, with where the caret is.
pub(crate) fn shown(buf: &Buffer, caret: Option<Position>) -> String {
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
