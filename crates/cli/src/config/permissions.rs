//! Permission rules, auto-approval, hooks and profiles, as a configuration file has them.

use super::{Span, bounds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Permission rules such as `run(git push)`, `write(docs/**)` or `fetch(*.example.org)`: deny before ask before allow.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Permissions {
    /// What needs no question. Not used from a project that is not trusted.
    pub(crate) allow: Vec<String>,
    /// What always needs a question.
    pub(crate) ask: Vec<String>,
    /// What must not happen.
    pub(crate) deny: Vec<String>,
    /// What these rules, alone, must say about some examples such as `run git push --force`; checked when they are read.
    pub(crate) examples: Examples,
}

/// Examples by what the rules must say about them.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Examples {
    /// Must be allowed by a rule.
    pub(crate) allow: Vec<String>,
    /// Must be asked about: by a rule, or because no rule covers them.
    pub(crate) ask: Vec<String>,
    /// Must be denied by a rule.
    pub(crate) deny: Vec<String>,
}

/// What happens without a question where no rule says otherwise. What is left out is up to `permission`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Approval {
    /// Reading inside the project.
    pub(crate) reads: Option<Auto>,
    /// Reading elsewhere.
    pub(crate) reads_outside: Option<Auto>,
    /// Changing files inside the project.
    pub(crate) writes: Option<Auto>,
    /// Changing files elsewhere.
    pub(crate) writes_outside: Option<Auto>,
    /// Changing files that steer hew itself, other agents or an editor.
    pub(crate) writes_protected: Option<Auto>,
    /// Running commands.
    pub(crate) commands: Option<Auto>,
    /// Loading something from the network.
    pub(crate) fetches: Option<Auto>,
    /// Calling tools of MCP servers.
    pub(crate) mcp: Option<Auto>,
    /// Going on in another mode.
    pub(crate) mode_switches: Option<Auto>,
    /// Handing work to a conversation of its own.
    pub(crate) subtasks: Option<Auto>,
    /// After this time a question with suggested answers takes the first one, such as `60s`; never when absent.
    pub(crate) followups: Option<Span>,
    /// After so many requests in a row you are asked whether to go on.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) max_requests: Option<u32>,
    /// After so many US dollars you are asked whether to go on.
    #[serde(deserialize_with = "bounds::above_zero")]
    pub(crate) max_cost: Option<f64>,
}

/// Whether something needs a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Auto {
    /// It does.
    Ask,
    /// It does not.
    Allow,
}

/// A program of yours that is run around what happens.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hook {
    /// When it is run.
    pub(crate) event: HookEvent,
    /// For tools: a pattern for their names, such as `edit_*`. All when absent.
    #[serde(default)]
    pub(crate) matcher: Option<String>,
    /// A line for the shell. It reads JSON from stdin.
    pub(crate) command: String,
    /// How long it may take; 60 seconds when absent.
    #[serde(default)]
    pub(crate) timeout: Option<Span>,
}

/// When a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum HookEvent {
    /// A session begins or goes on.
    SessionStart,
    /// You said something.
    UserPromptSubmit,
    /// A tool is about to be used.
    PreToolUse,
    /// A tool was used.
    PostToolUse,
    /// You are asked something.
    Notification,
    /// The model has nothing more to do.
    Stop,
    /// The conversation is about to be summed up.
    PreCompact,
    /// The session ends.
    SessionEnd,
}

/// Which tools the model is offered.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Profile {
    /// Tools that are switched on or off by name.
    pub(crate) tools: BTreeMap<String, bool>,
    /// Whether tools that are not named are offered.
    pub(crate) other_tools: Option<bool>,
    /// MCP servers by name.
    pub(crate) servers: BTreeMap<String, ServerProfile>,
    /// Whether servers that are not named are offered.
    pub(crate) other_servers: Option<bool>,
}

/// Which tools of an MCP server are offered.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerProfile {
    /// Tools that are switched on or off by name.
    pub(crate) tools: BTreeMap<String, bool>,
    /// Whether tools that are not named are offered.
    pub(crate) other_tools: Option<bool>,
}

impl From<&Permissions> for policy::RuleText {
    fn from(said: &Permissions) -> Self {
        policy::RuleText {
            allow: said.allow.clone(),
            ask: said.ask.clone(),
            deny: said.deny.clone(),
            examples: policy::Examples {
                allow: said.examples.allow.clone(),
                ask: said.examples.ask.clone(),
                deny: said.examples.deny.clone(),
            },
        }
    }
}

impl From<Auto> for policy::Auto {
    fn from(auto: Auto) -> Self {
        match auto {
            Auto::Ask => policy::Auto::Ask,
            Auto::Allow => policy::Auto::Allow,
        }
    }
}

impl From<&Approval> for policy::Settings {
    fn from(said: &Approval) -> Self {
        let auto = |auto: Option<Auto>| auto.map(Into::into);
        policy::Settings {
            reads: auto(said.reads),
            reads_outside: auto(said.reads_outside),
            writes: auto(said.writes),
            writes_outside: auto(said.writes_outside),
            writes_protected: auto(said.writes_protected),
            commands: auto(said.commands),
            fetches: auto(said.fetches),
            mcp: auto(said.mcp),
            mode_switches: auto(said.mode_switches),
            subtasks: auto(said.subtasks),
            followup_timeout_ms: said
                .followups
                .map(|span| u64::try_from(span.0.as_millis()).unwrap_or(u64::MAX)),
            max_requests: said.max_requests,
            max_cost_micros: said.max_cost.map(|usd| (usd * 1e6).round() as u64),
        }
    }
}

impl Profile {
    /// The profile itself.
    pub(crate) fn of(&self, name: &str) -> policy::Profile {
        let switch = |on: Option<bool>| match on {
            Some(false) => policy::Switch::Off,
            Some(true) | None => policy::Switch::On,
        };
        let server = |server: &ServerProfile| policy::Server {
            tools: server.tools.clone(),
            other_tools: switch(server.other_tools),
        };
        policy::Profile {
            name: name.into(),
            tools: self.tools.clone(),
            other_tools: switch(self.other_tools),
            servers: self
                .servers
                .iter()
                .map(|(name, said)| (name.clone(), server(said)))
                .collect(),
            other_servers: switch(self.other_servers),
            model: None,
        }
    }
}

impl From<HookEvent> for session::Moment {
    fn from(event: HookEvent) -> Self {
        match event {
            HookEvent::SessionStart => session::Moment::SessionStart,
            HookEvent::UserPromptSubmit => session::Moment::UserPromptSubmit,
            HookEvent::PreToolUse => session::Moment::PreToolUse,
            HookEvent::PostToolUse => session::Moment::PostToolUse,
            HookEvent::Notification => session::Moment::Notification,
            HookEvent::Stop => session::Moment::Stop,
            HookEvent::PreCompact => session::Moment::PreCompact,
            HookEvent::SessionEnd => session::Moment::SessionEnd,
        }
    }
}
