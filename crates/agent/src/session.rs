//! A running session: its environment, conversation, turn state and accounting.

use crate::SessionConfig;
use crate::accounting::Accounting;
use crate::conversation::Conversation;
use crate::events::EventSender;
use crate::inbox::Inbox;
use crate::measurement::{PromptSource, TurnProgress};
use crate::shared_budget::SharedBudget;
use crate::subtasks::SubtaskSpawner;
use crate::subtasks::running::RunningSubtasks;
use crate::turn::approval::{Approver, CallProgress, SharedPolicy};
use crate::turn::calls::FinishedCall;
use crate::turn::request::StreamingReply;
use model::{CallId, Model, Request, ToolSpec};
use policy::Mode;
use prompt::{CallGrammar, CallProtocol, ProjectFiles, RequestFrame};
use session::{Event, Item, ItemId, NoticeLevel, SessionId, Totals};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio::task::JoinSet;
use tool::ToolSet;
use tool::{ChangeReporter, NotificationSender, UsageReporter};

/// A running session.
pub(crate) struct Session {
    pub(crate) env: Arc<Environment>,
    pub(crate) conversation: Conversation,
    pub(crate) turn: Turn,
    pub(crate) accounting: Accounting,
}

/// The constant part of a session, shared with its calls and subtasks.
pub(crate) struct Environment {
    pub(crate) session: SessionId,
    pub(crate) config: SessionConfig,
    pub(crate) policy: SharedPolicy,
    pub(crate) events: EventSender,
    /// Input for the running turn.
    pub(crate) inbox: Arc<Inbox>,
    /// The limits shared with parent sessions and subtasks.
    pub(crate) budget: Arc<SharedBudget>,
    pub(crate) subtasks: Arc<RunningSubtasks>,
    /// The nesting depth; 0 for the root session.
    pub(crate) depth: u32,
    /// The maximum number of requests per turn of this session alone.
    pub(crate) max_steps: Option<u32>,
    pub(crate) notifications: NotificationSender,
    /// Collects the requests made by tools.
    pub(crate) usage: UsageReporter,
    /// Collects the changes of calls that were stopped.
    pub(crate) changes: ChangeReporter,
}

/// Relations of a session to its parent and its subtasks.
pub(crate) struct SessionTree {
    pub(crate) depth: u32,
    /// The policy of the parent session.
    pub(crate) policy: Option<SharedPolicy>,
    pub(crate) budget: Arc<SharedBudget>,
    pub(crate) max_steps: Option<u32>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) subtasks: Arc<RunningSubtasks>,
}

/// The state of the current turn. Model and mode persist between turns.
pub(crate) struct Turn {
    pub(crate) model: Arc<dyn Model>,
    /// The model for modes without a model of their own.
    pub(crate) default_model: Arc<dyn Model>,
    /// The model to return to after a turn whose command selected another one.
    pub(crate) overridden_model: Option<Arc<dyn Model>>,
    pub(crate) mode: Mode,
    pub(crate) frame: RequestFrame,
    /// The tools that requests list, unless the model is small.
    tools: Arc<[ToolSpec]>,
    /// What the system prompt was rendered from, and the blocks that were added to it.
    pub(crate) prompt_source: PromptSource,
    /// The call syntax of models that write calls in their text.
    pub(crate) grammar: Arc<CallGrammar>,
    /// The last request.
    pub(crate) request: Option<Arc<Request>>,
    /// The reply being received.
    pub(crate) reply: Option<StreamingReply>,
    pub(crate) running: JoinSet<FinishedCall>,
    /// Started calls without a stored result.
    pub(crate) started: HashMap<CallId, StartedCall>,
    /// Finished calls without a stored result.
    pub(crate) finished: VecDeque<FinishedCall>,
    /// The progress of the running turn.
    pub(crate) progress: Option<TurnProgress>,
    /// The answer given by a tool that ended the turn.
    pub(crate) final_answer: Option<String>,
    /// The files that a small model sees in its first prompt.
    pub(crate) shown_files: ProjectFiles,
    /// Whether the calls of the reply are edits that the model wrote directly in its text.
    pub(crate) wrote_edits: bool,
}

/// A started call.
pub(crate) struct StartedCall {
    /// The id of the future result item.
    pub(crate) item: ItemId,
    pub(crate) progress: Arc<CallProgress>,
}

impl SessionTree {
    /// The tree of a session without a parent.
    pub(crate) fn root(config: &SessionConfig, totals: &Totals) -> Self {
        SessionTree {
            depth: 0,
            policy: None,
            budget: Arc::new(SharedBudget::new(totals.cost)),
            max_steps: None,
            inbox: Arc::default(),
            subtasks: Arc::new(RunningSubtasks::new(config.subtask_limits.parallel)),
        }
    }
}

impl Environment {
    pub(crate) async fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        self.events.notice(level, text).await;
    }

    pub(crate) fn now(&self) -> session::Time {
        (self.config.clock)()
    }
}

impl Session {
    pub(crate) fn new(
        env: Arc<Environment>,
        items: Vec<Arc<Item>>,
        totals: Totals,
        title: Option<String>,
        model: Arc<dyn Model>,
        mode: Mode,
    ) -> Self {
        let mut turn = Turn::new(&env, model, mode);
        turn.render_system_prompt(&env);
        Session {
            conversation: Conversation::new(items, title),
            turn,
            accounting: Accounting::new(totals),
            env,
        }
    }

    /// The approver for a call, or for the turn itself.
    pub(crate) fn approver(&self, call: Option<CallId>, tool: &str) -> Approver {
        Approver {
            env: Arc::clone(&self.env),
            mode: self.turn.mode.clone(),
            call,
            tool: tool.to_owned(),
            subtasks: None,
            progress: Arc::default(),
        }
    }

    /// The spawner for the subtasks of a call.
    pub(crate) fn subtask_spawner(&self) -> SubtaskSpawner {
        SubtaskSpawner {
            env: Arc::clone(&self.env),
            model: Arc::clone(&self.turn.model),
            mode: self.turn.mode.clone(),
        }
    }
}

impl Turn {
    fn new(env: &Environment, model: Arc<dyn Model>, mode: Mode) -> Self {
        let tools = env.config.tools.specs();
        Turn {
            frame: RequestFrame {
                tools: Arc::clone(&tools),
                system: Vec::new(),
                affinity: Some(env.session.to_string().into()),
                call: env.config.request_options.clone(),
                protocol: CallProtocol::default(),
                family: Default::default(),
                budget: None,
            },
            default_model: Arc::clone(&model),
            model,
            overridden_model: None,
            mode,
            tools,
            prompt_source: PromptSource::default(),
            grammar: Arc::default(),
            request: None,
            reply: None,
            running: JoinSet::new(),
            started: HashMap::new(),
            finished: VecDeque::new(),
            progress: None,
            final_answer: None,
            shown_files: ProjectFiles::default(),
            wrote_edits: false,
        }
    }

    /// Renders the system prompt for the current mode, model and tools.
    pub(crate) fn render_system_prompt(&mut self, env: &Environment) {
        let tools = &env.config.tools;
        let is_small = self.model.info().is_small();
        self.frame.tools = match is_small {
            true => prompt::small_model_tools(&self.tools, |name| {
                let tool = tools.get(name);
                tool.is_some_and(|tool| tool.facts().sets.contains(&ToolSet::SmallModel))
            }),
            false => Arc::clone(&self.tools),
        };
        // Tools of external programs come and go; the text about the tools must not change with them.
        let own = tools.deferred().filter(|tool| tool.source().is_none() && !is_small);
        let own: Vec<_> = own.collect();
        let deferred: Vec<&str> = own.iter().map(|tool| tool.spec().name.as_str()).collect();
        let rendered = (env.config.system_prompt)(&prompt::SystemPromptInput {
            mode: &self.mode,
            model: self.model.info(),
            listed: &self.frame.tools,
            deferred: &deferred,
        });
        self.prompt_source = PromptSource {
            facts: rendered.facts.clone(),
            appended: rendered.appended().iter().map(|block| block.to_string()).collect(),
            deferred: deferred.iter().map(|name| (*name).to_owned()).collect(),
        };
        self.frame.system = rendered.blocks;
        self.frame.protocol = CallProtocol::of(self.model.info());
        self.grammar = Arc::new(call_grammar(tools));
        for text in rendered.problems {
            let level = NoticeLevel::Warning;
            env.events.queue(Event::Notice { level, text });
        }
    }
}

/// The call syntax for all tools and their unambiguous aliases.
fn call_grammar(tools: &tool::Registry) -> CallGrammar {
    let mut grammar = CallGrammar::default();
    for tool in tools.iter().cloned().chain(tools.deferred()) {
        let spec = tool.spec();
        grammar.add(&spec.name, spec);
        for alias in tools.aliases_of(&spec.name).chain(tool.aliases().iter().copied()) {
            // Aliases without an underscore could be tags of another markup.
            match alias.contains('_') {
                true => grammar.add(alias, spec),
                false => grammar.add_alias(alias, &spec.name),
            }
        }
    }
    // Without any tool, a call is text.
    let has_tools = tools.iter().next().is_some();
    for name in tools.unavailable_names().filter(|name| has_tools && name.contains('_')) {
        grammar.add_unavailable(name);
    }
    grammar
}
