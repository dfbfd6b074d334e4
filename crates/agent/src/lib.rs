//! Runs the turns of a session.
//!
//! [`start`] creates an actor from a [`SessionSetup`]. It receives [`Command`]s and sends
//! [`Event`]s; the loop is in `turn.rs`. The crate does no I/O: models, tools and the store are traits.

mod accounting;
mod actor;
mod autonomy;
mod changes;
mod commands;
mod compaction;
mod conversation;
mod events;
mod hooks;
mod inbox;
mod measurement;
mod mentions;
mod modes;
mod observed_model;
mod panels;
mod project_context;
mod prompts;
mod recovery;
mod request_ledger;
mod scheduler;
mod session;
mod shared_budget;
mod small_model_files;
mod subtasks;
mod titles;
mod todos;
mod turn;

pub use compaction::{AutoCompaction, CompactionSettings};

use crate::session::SessionTree;
use crate::turn::approval::SharedPolicy;
use ::session::{Command, Event, GrantStore, Hooks, Item, QueuedPrompt, SessionId, Store, Time, Totals};
use model::{Cost, Model};
use policy::{ApprovalMode, Grant, Mode, ModeSet, Policy};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tool::{NotificationSender, ToolNotification};

/// Finds a model by name.
pub type ModelSource = Arc<dyn Fn(&str) -> Result<Arc<dyn Model>, ModelUnavailable> + Send + Sync>;

/// Why a model or an agent cannot be used: a message for the user or the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelUnavailable(pub String);

/// Renders the system prompt for a mode, a model and its tools. Called only when one of them changes.
pub type SystemPromptSource = Arc<dyn Fn(&prompt::SystemPromptInput<'_>) -> prompt::SystemPrompt + Send + Sync>;

/// Whether the small model writes the titles of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleRequests {
    /// It does.
    On,
    /// Titles are derived from the first prompt.
    Off,
}

/// Agents outside this process that can run subtasks.
pub trait ExternalAgents: Send + Sync {
    /// Their names. A mode of the same name has priority.
    fn names(&self) -> Vec<String>;

    /// Opens an agent as the model of a subtask: it receives one request per turn and does the work itself. Its
    /// actions are approved through `host`.
    fn open(
        &self,
        name: &str,
        host: Arc<dyn tool::ToolHost>,
        level: policy::AccessLevel,
    ) -> Result<Arc<dyn Model>, ModelUnavailable>;
}

/// Parameters for starting a session.
pub struct SessionSetup {
    /// The session.
    pub session: SessionId,
    /// The items from the first one to the head.
    pub items: Vec<Arc<Item>>,
    /// Usage and cost so far.
    pub totals: Totals,
    /// Prompts that were queued when an earlier process ended; they become part of the next turn.
    pub queued_prompts: Vec<QueuedPrompt>,
    /// The title, if there is one.
    pub title: Option<String>,
    /// The main model.
    pub model: Arc<dyn Model>,
    /// The current mode.
    pub mode: Mode,
    /// The policy in force.
    pub policy: Policy,
    /// Stores grants that outlive the session; without it, grants apply to the session only.
    pub grant_store: Option<Arc<dyn GrantStore>>,
    /// Limits for continuing without a prompt.
    pub autonomy: AutonomySettings,
    /// Notifications from background work: sender and receiver.
    pub notifications: (NotificationSender, mpsc::Receiver<ToolNotification>),
    /// The constant part, which subtasks share.
    pub config: SessionConfig,
}

/// The part of a session's setup that does not change while it runs, and that its subtasks share.
#[derive(Clone)]
pub struct SessionConfig {
    /// The project directory.
    pub root: PathBuf,
    /// The model for auxiliary requests such as titles and summaries.
    pub small_model: Option<Arc<dyn Model>>,
    /// Whether the small model writes the title.
    pub title_requests: TitleRequests,
    /// Finds other models by name.
    pub models: ModelSource,
    /// The available tools.
    pub tools: tool::Registry,
    /// All available modes.
    pub modes: ModeSet,
    /// The configured hooks.
    pub hooks: Arc<dyn Hooks>,
    /// Whether approvals can be requested from the user.
    pub approvals: Approvals,
    /// Stores the session.
    pub store: Arc<dyn Store>,
    /// Renders the system prompt.
    pub system_prompt: SystemPromptSource,
    /// Rules, facts, saved prompts and commands of the project.
    pub project_context: Arc<dyn prompt::ProjectContext>,
    /// Reads the content of mentions.
    pub context_source: Arc<dyn tool::ContextSource>,
    /// Limits of a turn.
    pub limits: TurnLimits,
    /// Compaction of long conversations.
    pub compaction: CompactionSettings,
    /// The panels shown to the model.
    pub panels: Arc<dyn prompt::panel::PanelSource>,
    /// Options of every request.
    pub request_options: prompt::RequestOptions,
    /// Whether the front end shows previews of changes.
    pub previews: Previews,
    /// The first retry delay; it doubles with every attempt.
    pub backoff: Duration,
    /// The current time.
    pub clock: fn() -> Time,
    /// Limits for subtasks.
    pub subtask_limits: SubtaskLimits,
    /// Agents outside this process that can run subtasks.
    pub external_agents: Option<Arc<dyn ExternalAgents>>,
}

/// Limits for subtasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubtaskLimits {
    /// The maximum nesting depth.
    pub depth: u32,
    /// The maximum number of concurrent subtasks of one session.
    pub parallel: usize,
}

impl Default for SubtaskLimits {
    fn default() -> Self {
        SubtaskLimits { depth: 2, parallel: 4 }
    }
}

/// Limits for continuing without a prompt after a notification. All figures count from the last prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AutonomySettings {
    /// Whether the agent may continue without a prompt.
    pub allowed: bool,
    /// The maximum number of output tokens.
    pub output_tokens: Option<u64>,
    /// The maximum cost.
    pub cost: Option<Cost>,
    /// The maximum time since the agent first continued.
    pub time: Option<Duration>,
    /// The maximum number of turns.
    pub messages: Option<u32>,
    /// The maximum number of consecutive retries of a failed turn.
    pub retries: u32,
    /// Whether open todos make the agent continue.
    pub todos: bool,
}

impl Default for AutonomySettings {
    fn default() -> Self {
        AutonomySettings {
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

/// Whether approvals can be requested from the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approvals {
    /// Questions are sent to the user.
    Ask,
    /// Actions that need an approval are denied.
    Deny,
}

/// Whether the front end shows changes while the model writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Previews {
    /// Previews are computed.
    Show,
    /// Previews are not computed.
    Skip,
}

/// Limits of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TurnLimits {
    /// The maximum number of requests of a turn.
    pub steps: Option<u32>,
    /// The maximum cost of the session.
    pub cost: Option<Cost>,
    /// The maximum duration of a turn.
    pub time: Option<Duration>,
}

/// A running session.
pub struct SessionHandle {
    /// Receives commands.
    pub commands: mpsc::Sender<Command>,
    /// Sends events. They must be read: a session waits when the channel is full.
    pub events: mpsc::Receiver<Event>,
    /// Ends after [`Command::Close`], or when all command senders are dropped and the turn has ended.
    pub task: JoinHandle<()>,
    /// The grants of the session.
    pub grants: SessionGrants,
}

/// Lists the grants of a running session. [`Command::Revoke`] revokes one.
#[derive(Clone)]
pub struct SessionGrants(SharedPolicy);

impl SessionGrants {
    /// The current grants, oldest first.
    pub fn list(&self) -> Vec<Grant> {
        self.0.session_grants()
    }
}

/// Capacity of the event channel.
const EVENT_CAPACITY: usize = 1024;
/// Capacity of the command channel.
const COMMAND_CAPACITY: usize = 64;

/// Starts a session. Must be called within a Tokio runtime.
pub fn start(setup: SessionSetup) -> SessionHandle {
    let (commands, command_queue) = mpsc::channel(COMMAND_CAPACITY);
    let (event_queue, events) = mpsc::channel(EVENT_CAPACITY);
    let mut tree = SessionTree::root(&setup.config, &setup.totals);
    let policy = SharedPolicy::new(setup.policy.clone(), setup.grant_store.clone());
    // A resumed session still asks before changes. It is never allowed more than the configuration.
    if setup.config.approvals == Approvals::Ask
        && modes::recorded_edit_approval(&setup.items) == Some(ApprovalMode::Ask)
    {
        policy.set_edit_approval(ApprovalMode::Ask);
    }
    tree.policy = Some(policy.clone());
    let task = tokio::spawn(actor::run(setup, tree, command_queue, event_queue));
    SessionHandle {
        commands,
        events,
        task,
        grants: SessionGrants(policy),
    }
}
