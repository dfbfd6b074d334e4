//! Runs turns as a stream of events.
//!
//! [`start`] makes an actor out of a [`Setup`]: it takes [`session::Command`]s and tells [`session::Event`]s. The loop itself is
//! in `turn.rs`. The agent does no I/O of its own: models, tools and the store reach it through their traits.

mod account;
mod actor;
mod aside;
mod calls;
mod changed;
mod children;
mod delegate;
mod desk;
mod hooked;
mod inbox;
mod mention;
mod mode;
mod notes;
mod panels;
mod preview;
mod receive;
mod repeats;
mod retry;
mod room;
mod settle;
mod state;
mod surroundings;
mod tally;
mod title;
mod todos;
mod turn;
mod waiting;
mod wake;

pub use room::{Automatic, Compaction};
pub use surroundings::{Called, Nowhere, Surroundings};

use model::{Cost, Model};
use policy::{Mode, Modes, Policy};
use session::{Command, Event, Hooks, Item, Keeper, SessionId, Store, Time, Totals};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tool::{Notice, Notices};

/// Finds a model by its name; the error is a sentence for the person.
pub type ModelSource = Arc<dyn Fn(&str) -> Result<Arc<dyn Model>, String> + Send + Sync>;

/// The system prompt for a mode, a model and its tools. It is asked for when one of them changes, never for each request.
pub type System = Arc<dyn Fn(&prompt::Scene<'_>) -> prompt::Rendered + Send + Sync>;

/// Other agents that work can be handed to.
pub trait Agents: Send + Sync {
    /// Their names; a mode of the same name comes first.
    fn names(&self) -> Vec<String>;

    /// One of them as the model of a subtask: it is asked once in a turn, and does the work itself. What it wants to do is asked
    /// of the desk. The error is a sentence for the model.
    fn open(&self, name: &str, desk: Arc<dyn tool::Desk>, level: policy::Level) -> Result<Arc<dyn Model>, String>;
}

/// Everything a session needs to run.
pub struct Setup {
    /// The session.
    pub session: SessionId,
    /// The project's folder, for the sessions of subtasks.
    pub root: PathBuf,
    /// What has happened in it.
    pub items: Vec<Arc<Item>>,
    /// What it has cost.
    pub totals: Totals,
    /// Prompts that had not had their turn when it was last worked on; they go with the next one.
    pub waiting: Vec<session::Waiting>,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// The model that does the work.
    pub model: Arc<dyn Model>,
    /// The model for small chores such as titles; without one, they are done without a model.
    pub small: Option<Arc<dyn Model>>,
    /// Finds other models when the person asks for one.
    pub models: ModelSource,
    /// The tools on offer.
    pub tools: tool::Registry,
    /// The rules in force.
    pub policy: Policy,
    /// What the agent is for at the moment.
    pub mode: Mode,
    /// All modes that can be gone on in.
    pub modes: Modes,
    /// Where answers are kept that count beyond this session; without one, they count for the session.
    pub keeper: Option<Arc<dyn Keeper>>,
    /// The person's own programs around what happens.
    pub hooks: Arc<dyn Hooks>,
    /// Whether there is anybody to ask.
    pub approvals: Approvals,
    /// Where the session is kept.
    pub store: Arc<dyn Store>,
    /// The system prompt, by mode, model and tools.
    pub system: System,
    /// Rules, saved prompts, commands, and how things stand.
    pub surroundings: Arc<dyn Surroundings>,
    /// When a turn must stop.
    pub limits: Limits,
    /// How room is made in a conversation that has grown too long.
    pub compaction: Compaction,
    /// What is shown beside the conversation.
    pub panels: Arc<dyn prompt::panel::Shelf>,
    /// How the model is asked.
    pub call: prompt::Call,
    /// Whether the front end shows changes while they are written.
    pub previews: Previews,
    /// The first delay before a failed request is sent again; it doubles each time.
    pub backoff: Duration,
    /// What time it is.
    pub clock: fn() -> Time,
    /// How work may be handed on.
    pub delegation: Delegation,
    /// Other agents that it may be handed to.
    pub agents: Option<Arc<dyn Agents>>,
    /// How far the agent may go on by itself.
    pub autonomy: Autonomy,
    /// News from work that goes on beside the conversation: where it is told, and where it arrives.
    pub notices: (Notices, mpsc::Receiver<Notice>),
}

/// How work may be handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delegation {
    /// How many sessions below the first one.
    pub depth: u32,
    /// How many subtasks of one session at the same time.
    pub parallel: usize,
}

impl Default for Delegation {
    fn default() -> Self {
        Delegation { depth: 2, parallel: 4 }
    }
}

/// How far the agent may go on by itself when something happens beside the conversation. Figures count from the person's last
/// prompt on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Autonomy {
    /// Whether it may at all.
    pub allowed: bool,
    /// Until it has written so many tokens.
    pub output_tokens: Option<u64>,
    /// Until it has cost so much.
    pub cost: Option<Cost>,
    /// Until so much time has passed since it first went on.
    pub time: Option<Duration>,
    /// So many times.
    pub messages: Option<u32>,
    /// So often in a row is a failed turn tried again.
    pub retries: u32,
    /// Whether open things of its list make it go on.
    pub todos: bool,
}

impl Default for Autonomy {
    fn default() -> Self {
        Autonomy {
            allowed: false,
            output_tokens: None,
            cost: None,
            time: None,
            messages: None,
            retries: 3,
            todos: false,
        }
    }
}

/// Whether there is anybody to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approvals {
    /// A person answers questions.
    Ask,
    /// Nobody does: what would be asked is refused, and the model is told.
    Deny,
}

/// Whether the front end shows changes while they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Previews {
    /// It does.
    Show,
    /// It does not, and nothing is spent on them.
    Skip,
}

/// When a turn must stop.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// After this many requests to the model.
    pub steps: Option<u32>,
    /// When the session has cost this much.
    pub cost: Option<Cost>,
    /// After this long.
    pub time: Option<Duration>,
}

/// A running session.
pub struct Handle {
    /// Takes commands.
    pub commands: mpsc::Sender<Command>,
    /// Tells events. They must be read: a session waits for its front end.
    pub events: mpsc::Receiver<Event>,
    /// Ends after [`Command::Close`], or when all command senders are gone and the turn has ended.
    pub task: JoinHandle<()>,
}

/// How many events may wait to be read.
const EVENTS: usize = 1024;
/// How many commands may wait to be carried out.
const COMMANDS: usize = 64;

/// Starts a session. Must be called within a Tokio runtime.
pub fn start(setup: Setup) -> Handle {
    let (commands, command_queue) = mpsc::channel(COMMANDS);
    let (event_queue, events) = mpsc::channel(EVENTS);
    let family = actor::Family::first(&setup);
    let task = tokio::spawn(actor::run(setup, family, command_queue, event_queue));
    Handle { commands, events, task }
}
