//! Everything the front end needs besides commands and events: the one seam that `cli` fills.

mod around;

pub use around::{Access, Done, FileChanges, Health, Hunk, Job, Keep, Provider, Rule, Server, Setting, Verdict};

use crate::theme::Spec;
use futures::future::{BoxFuture, FutureExt as _};
use model::Media;
use session::{Change, Command, Event, Item, Meta, Record, SessionId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// An answer that takes a while. It is never waited for while a frame is drawn.
pub type Later<T> = BoxFuture<'static, Result<T, Trouble>>;

/// What went wrong, for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Trouble {
    /// What happened.
    pub what: String,
    /// What the person can do about it.
    pub hint: Option<String>,
    /// What would mend it.
    pub remedy: Remedy,
}

/// What would mend something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Remedy {
    /// Nobody knows.
    #[default]
    Unknown,
    /// A provider is chosen and given a key.
    Setup,
}

impl Trouble {
    /// Trouble without advice.
    pub fn new(what: impl Into<String>) -> Self {
        Trouble {
            what: what.into(),
            hint: None,
            remedy: Remedy::Unknown,
        }
    }

    /// What went wrong and what can be done about it, in a line.
    pub(crate) fn told(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.what),
            None => self.what.clone(),
        }
    }
}

/// The house in which sessions live: it opens them and knows what is around them. Every method returns at once.
///
/// What a house does not offer keeps its default, which says so.
pub trait House: Send + Sync {
    /// Opens a session, new or old. The one that was open is closed first.
    fn open(&self, which: Which) -> Later<Opened>;

    /// The session is over for this front end: it has ended, or another one will be opened.
    fn close(&self) -> BoxFuture<'static, ()>;

    /// Colours source text. Bytes that no span covers are plain; spans are in order and do not overlap. `language` is what
    /// stands behind a fence or a file name. `None` where nobody knows the language.
    fn highlight(&self, language: &str, text: &str) -> Option<Vec<(Range<usize>, Token)>> {
        let _ = (language, text);
        None
    }

    /// The project's files, relative to it, for completion.
    fn files(&self) -> Later<Arc<Vec<String>>> {
        unavailable("files")
    }

    /// What stands in a file of the project now.
    fn text(&self, path: PathBuf) -> Later<String> {
        let _ = path;
        unavailable("files")
    }

    /// What stood in changed files before and after, as far as it is text.
    fn contents(&self, changes: Vec<Change>) -> Later<Vec<Contents>> {
        let _ = changes;
        unavailable("changes")
    }

    /// The branch that is checked out.
    fn branch(&self) -> Later<Option<String>> {
        unavailable("git")
    }

    /// The models that can be chosen.
    fn models(&self) -> Later<Vec<Choice>> {
        unavailable("models")
    }

    /// How many tokens a model takes, 0 where nobody knows. It fails where the model cannot be used.
    fn window(&self, model: String) -> Later<u64> {
        let _ = model;
        unavailable("models")
    }

    /// A prompt that may be one of a server, `/server.prompt and words`, with the words that the server has for it.
    fn fill_in(&self, command: Command) -> Later<Command> {
        async move { Ok(command) }.boxed()
    }

    /// The modes that can be chosen.
    fn modes(&self) -> Later<Vec<Choice>> {
        unavailable("modes")
    }

    /// The sessions of the project, newest first.
    fn sessions(&self) -> Later<Vec<Meta>> {
        unavailable("sessions")
    }

    /// The items of a session, without opening it.
    fn items(&self, session: SessionId) -> Later<Vec<Arc<Item>>> {
        let _ = session;
        unavailable("sessions")
    }

    /// Every request of the session that is open.
    fn records(&self) -> Later<Vec<Record>> {
        unavailable("records")
    }

    /// Puts files back to what they were before the last turn.
    fn undo(&self) -> Later<Done> {
        unavailable("undo")
    }

    /// Makes again what was undone.
    fn redo(&self) -> Later<Done> {
        unavailable("redo")
    }

    /// Lets the person write in an editor of their own. The terminal has been handed back before.
    fn edit(&self, text: String) -> Later<String> {
        let _ = text;
        unavailable("an editor")
    }

    /// Runs a shell line of the person; what it printed.
    fn shell(&self, line: String) -> Later<String> {
        let _ = line;
        unavailable("a shell")
    }

    /// The names of what the project's code defines, for completion.
    fn symbols(&self) -> Later<Arc<Vec<String>>> {
        unavailable("symbols")
    }

    /// Slash commands that files define.
    fn commands(&self) -> Later<Vec<Choice>> {
        unavailable("commands")
    }

    /// Earlier prompts of the project, oldest first.
    fn prompts(&self) -> Later<Vec<String>> {
        unavailable("history")
    }

    /// Keeps a prompt for [`House::prompts`].
    fn remember(&self, prompt: String) {
        let _ = prompt;
    }

    /// What was being written when the front end last ended.
    fn draft(&self) -> Later<Option<String>> {
        unavailable("drafts")
    }

    /// Keeps what is being written; an empty text forgets it.
    fn save_draft(&self, text: String) {
        let _ = text;
    }

    /// Reads an image from a file.
    fn image(&self, path: String) -> Later<Media> {
        let _ = path;
        unavailable("images")
    }

    /// What is on the clipboard.
    fn clipboard(&self) -> Later<Clip> {
        unavailable("the clipboard")
    }

    /// The sessions of all projects, newest first.
    fn all_sessions(&self) -> Later<Vec<Meta>> {
        unavailable("sessions")
    }

    /// Gives a session another title; what was done, in a sentence.
    fn rename(&self, session: SessionId, title: String) -> Later<String> {
        let _ = (session, title);
        unavailable("titles")
    }

    /// What the session changed and nobody has looked at.
    fn changes(&self) -> Later<Vec<FileChanges>> {
        unavailable("changes")
    }

    /// Accepts changes or takes them back, by their names.
    fn review(&self, verdicts: Vec<(String, Verdict)>) -> Later<Done> {
        let _ = verdicts;
        unavailable("changes")
    }

    /// Commands in the background.
    fn jobs(&self) -> Later<Vec<Job>> {
        unavailable("jobs")
    }

    /// Stops a command in the background; what was done, in a sentence.
    fn stop_job(&self, id: u32) -> Later<String> {
        let _ = id;
        unavailable("jobs")
    }

    /// MCP and language servers.
    fn servers(&self) -> Later<Vec<Server>> {
        unavailable("servers")
    }

    /// Rules and remembered answers.
    fn rules(&self) -> Later<Vec<Rule>> {
        unavailable("permissions")
    }

    /// Takes a rule or a remembered answer back; what was done, in a sentence.
    fn revoke(&self, rule: String) -> Later<String> {
        let _ = rule;
        unavailable("permissions")
    }

    /// All settings.
    fn settings(&self) -> Later<Vec<Setting>> {
        unavailable("settings")
    }

    /// Changes a setting in the person's own configuration; an empty value removes it.
    fn set(&self, key: String, value: String) -> Later<String> {
        let _ = (key, value);
        unavailable("settings")
    }

    /// Providers of models, those that can be used now first.
    fn providers(&self) -> Later<Vec<Provider>> {
        unavailable("providers")
    }

    /// Where a key can be kept here, the best place first, each with what that means.
    fn key_places(&self) -> Vec<(Keep, String)> {
        Vec::new()
    }

    /// Keeps a key of a provider; what was done, in a sentence.
    fn save_key(&self, provider: String, key: String, keep: Keep) -> Later<String> {
        let _ = (provider, key, keep);
        unavailable("keys")
    }

    /// Asks a model whether it answers; what it said, in a sentence.
    fn test(&self, model: String) -> Later<String> {
        let _ = model;
        unavailable("tests")
    }

    /// Themes of the person's own.
    fn themes(&self) -> BTreeMap<String, Spec> {
        BTreeMap::new()
    }

    /// Tells the desktop that the person is needed.
    fn notify(&self, title: &str, text: &str) {
        let _ = (title, text);
    }
}

/// The answer of a house that does not offer something.
pub fn unavailable<T: Send + 'static>(what: &str) -> Later<T> {
    let trouble = Trouble::new(format!("{what}: not available here"));
    async move { Err(trouble) }.boxed()
}

/// What is on the clipboard.
#[derive(Debug, Clone, PartialEq)]
pub enum Clip {
    /// An image.
    Image(Media),
    /// Text.
    Text(String),
}

/// Which session is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// A new one.
    New,
    /// The newest of the project.
    Newest,
    /// The one with this id, or the beginning of it.
    Named(String),
    /// A copy of the beginning of one: everything up to the item, in a session of its own.
    Fork {
        /// The session to copy from.
        session: SessionId,
        /// The last item that is copied; all of them where absent.
        upto: Option<session::ItemId>,
    },
}

/// A session that is open.
pub struct Opened {
    /// Names it.
    pub id: SessionId,
    /// Takes commands.
    pub commands: mpsc::Sender<Command>,
    /// Tells events.
    pub events: mpsc::Receiver<Event>,
    /// What happened in it before.
    pub items: Vec<Arc<Item>>,
    /// What is known about it.
    pub facts: Facts,
    /// What the person should know before they begin.
    pub told: Vec<String>,
}

/// What stood in a file before and after it was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The file.
    pub path: PathBuf,
    /// What stood there before; `None` where there was no text.
    pub before: Option<String>,
    /// What stood there after.
    pub after: Option<String>,
}

/// What is known about the session that is open.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// The model, as `provider/id`.
    pub model: String,
    /// How many tokens it takes; 0 where nobody knows.
    pub window: u64,
    /// The mode.
    pub mode: String,
    /// What is allowed without a question, in a word.
    pub permission: String,
    /// How commands are confined, in a few words.
    pub sandbox: String,
    /// The project's folder.
    pub root: PathBuf,
    /// The same for people, such as `~/project`.
    pub place: String,
    /// The session's title.
    pub title: Option<String>,
    /// What it has cost before.
    pub totals: session::Totals,
    /// The command that goes on with it.
    pub resume: String,
    /// Whether a turn was left unfinished.
    pub unfinished: bool,
}

/// Something to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// What it is called.
    pub name: String,
    /// What it is, in a few words.
    pub about: String,
    /// Whether it can be chosen now; the reason if not.
    pub obstacle: Option<String>,
}

/// What a piece of source text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Token {
    /// A comment.
    Comment,
    /// A keyword.
    Keyword,
    /// A string or a character.
    String,
    /// A number, a boolean or another literal.
    Number,
    /// The name of a type.
    Type,
    /// The name of a function.
    Function,
    /// A constant.
    Constant,
    /// A field, a key or an attribute.
    Property,
    /// A variable or a parameter.
    Variable,
    /// An operator.
    Operator,
    /// Brackets, commas and the like.
    Punctuation,
    /// A tag of a markup language.
    Tag,
}
