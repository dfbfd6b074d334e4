//! Runs subtasks in their own sessions.

use std::sync::Arc;

use futures::future::join_all;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{
    Availability, CallContext, DynTool, Error, ModelClass, Output, PeerAgent, SubtaskModel, SubtaskReport,
    SubtaskRequest, SubtaskWait, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing, erase,
};

use crate::middleware::append_description;
use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::mode_names::{ModeName, find_mode, list_modes};
use crate::support::text::count;

/// Maximum number of tasks per call.
const MAX_TASKS: usize = 16;
/// Maximum characters of a title.
const TITLE: usize = 80;

/// Agents of other programs that only read, and the mode for them.
const READING_AGENTS: [&str; 3] = ["codebase_investigator", "explore", "explorer"];
const READING_MODE: &str = "ask";
/// Kinds of agents that other programs have. Any mode can do their work.
const GENERAL_AGENTS: [&str; 7] = [
    "agent",
    "default",
    "general",
    "general-purpose",
    "generalist",
    "task",
    "worker",
];

pub(crate) struct NewTaskTool {
    /// The modes and other agents; unknown if empty.
    modes: Vec<ModeName>,
}

/// Runs a subtask with its own context; it sees only the prompt, you see only its report. Several tasks run
/// concurrently: they must not edit the same files.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The complete assignment: goal, context, paths, what to report.
    #[serde(default, alias = "message", alias = "task", alias = "query", alias = "instructions")]
    prompt: String,
    /// 3-5 words.
    #[serde(alias = "description", alias = "label")]
    title: Option<String>,
    /// Mode; default: yours.
    #[serde(alias = "agentName", alias = "agent_name", alias = "subagent_type", alias = "agent")]
    mode: Option<String>,
    /// Several tasks, instead of the above.
    #[serde(default)]
    tasks: Vec<TaskInput>,
    /// Session id of a task to continue.
    #[serde(alias = "session_id")]
    resume: Option<String>,
    /// Do not wait; you are notified when it ends.
    #[serde(default, alias = "run_in_background")]
    background: bool,
    /// An initial todo list.
    #[schemars(skip)]
    todos: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct TaskInput {
    #[serde(default, alias = "message", alias = "task", alias = "query")]
    prompt: String,
    #[serde(alias = "description", alias = "label")]
    title: Option<String>,
    #[schemars(skip)]
    mode: Option<String>,
    #[schemars(skip)]
    resume: Option<String>,
}

impl Input {
    fn all(&self) -> Vec<TaskInput> {
        let has_own_task = !self.prompt.trim().is_empty() || self.resume.is_some() || self.tasks.is_empty();
        let own = has_own_task.then(|| TaskInput {
            prompt: match &self.todos {
                Some(todos) => format!("{}\n\nThings to do:\n{}", self.prompt, words(todos)),
                None => self.prompt.clone(),
            },
            title: self.title.clone(),
            mode: self.mode.clone(),
            resume: self.resume.clone(),
        });
        let others = self.tasks.iter().cloned().map(|mut one| {
            one.mode = one.mode.or_else(|| self.mode.clone());
            one
        });
        let all = own.into_iter().chain(others).map(|mut one| {
            // The approved name must be the one that is used.
            let mode = one.mode.as_deref().map(str::trim).filter(|name| !name.is_empty());
            one.mode = mode.map(Into::into);
            one
        });
        all.collect()
    }
}

fn words(value: &serde_json::Value) -> String {
    match value.as_str() {
        Some(text) => text.into(),
        None => value.to_string(),
    }
}

impl TaskInput {
    fn title(&self) -> String {
        let given = self.title.as_deref().filter(|title| !title.trim().is_empty());
        let text = given.unwrap_or_else(|| match (self.prompt.trim(), &self.resume) {
            ("", Some(id)) => id,
            (prompt, _) => prompt,
        });
        let line = text.trim().lines().next().unwrap_or_default();
        match line.chars().count() > TITLE {
            true => format!("{}…", line.chars().take(TITLE - 1).collect::<String>()),
            false => line.into(),
        }
    }
}

impl BuiltIn for NewTaskTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        let options = parts.options;
        let modes = match options.modes.is_empty() {
            true => Vec::new(),
            false => {
                let agents = options.agents.iter().map(|name| ModeName {
                    name: name.clone(),
                    title: String::new(),
                });
                options.modes.iter().cloned().chain(agents).collect()
            }
        };
        let tool = erase(NewTaskTool { modes });
        let agents = &parts.options.agents;
        if agents.is_empty() {
            return Some(tool);
        }
        let names = format!(" Other agents, selected with `mode`: {}.", agents.join(", "));
        Some(append_description(tool, &names))
    }

    /// Listed if other agents are configured.
    fn listing(parts: &ToolParts<'_>) -> ToolListing {
        match parts.options.agents.is_empty() {
            true => ToolListing::Deferred,
            false => ToolListing::Listed,
        }
    }
}

impl Tool for NewTaskTool {
    const NAME: &'static str = "new_task";
    const ALIASES: &'static [&'static str] = &[
        "task",
        "agent",
        "spawn_agent",
        "create_thread",
        "runSubagent",
        "run_subagent",
        "execution_subagent",
        "subagent",
        "delegate",
    ];
    const EFFECT: ToolEffect = ToolEffect::Delegating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Think,
        exceptions: &[(ModelClass::Small, Availability::Hidden)],
        peers: &[
            (PeerAgent::Zed, &["create_thread", "spawn_agent"]),
            (PeerAgent::RooCode, &["new_task"]),
            (PeerAgent::Crush, &["agent"]),
            (PeerAgent::Copilot, &["execution_subagent", "runSubagent"]),
            (PeerAgent::ClaudeCode, &["Agent", "Task"]),
            (PeerAgent::Codex, &["spawn_agent"]),
            (PeerAgent::GeminiCli, &["delegate_to_agent", "generalist"]),
            (PeerAgent::OpenCode, &["task"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let titles: Vec<String> = input.all().iter().map(TaskInput::title).collect();
        titles.join("; ")
    }

    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        arguments::rename(input, &["objective", "request"], "prompt");
        let items = arguments::objects(input.get("items"));
        let texts: Vec<&str> = items.iter().filter_map(|item| arguments::text(item, "text")).collect();
        if !texts.is_empty() && !input.contains_key("prompt") && !input.contains_key("message") {
            input.insert("prompt".into(), texts.join("\n").into());
        }
        arguments::rename(
            input,
            &["subagent_type", "agent_type", "agentName", "agent_name", "agent"],
            "mode",
        );
        self.select_mode(input);
        for task in input
            .get_mut("tasks")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(task) = task.as_object_mut() {
                self.select_mode(task);
            }
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        // Do not request approval for a mode that does not exist.
        if self.unknown_mode(input).is_some() {
            return Vec::new();
        }
        let mut modes: Vec<String> = input.all().into_iter().filter_map(|one| one.mode).collect();
        modes.dedup();
        if modes.is_empty() {
            modes.push(String::new());
        }
        modes.into_iter().map(|mode| Action::Subtask { mode }).collect()
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        if let Some(mode) = self.unknown_mode(&input) {
            return Err(Error::Failed(format!(
                "there is no mode `{mode}`; the modes are {}",
                list_modes(&self.modes)
            )));
        }
        let tasks = input.all();
        if tasks.len() > MAX_TASKS {
            return Err(Error::Failed(format!(
                "{} are too many; the maximum is {MAX_TASKS}",
                count(tasks.len(), "task")
            )));
        }
        let waiting = match input.background {
            true => SubtaskWait::Background,
            false => SubtaskWait::UntilDone,
        };
        let runs = tasks.iter().map(|one| {
            context.delegate(SubtaskRequest {
                title: one.title(),
                prompt: one.prompt.clone(),
                mode: one.mode.clone(),
                model: SubtaskModel::Current,
                resume: one.resume.clone(),
                wait: waiting,
            })
        });
        let reports = join_all(runs).await;
        match (reports.as_slice(), tasks.as_slice()) {
            ([Ok(report)], _) => {
                let state = if input.background { "in the background as " } else { "" };
                Ok(Output::text(render_report(report)).with_summary(format!("{state}session {}", report.session)))
            }
            ([Err(error)], _) => Err(error.clone()),
            (reports, tasks) => Ok(several(tasks, reports, waiting)),
        }
    }
}

impl NewTaskTool {
    /// Replaces the mode by its own name. Kinds of agents of other programs stand for a mode unless one has that name.
    fn select_mode(&self, input: &mut Map<String, Value>) {
        let Some(name) = arguments::text(input, "mode").map(str::trim) else {
            return;
        };
        let kind = name.to_lowercase();
        let mode = find_mode(&self.modes, name);
        let reader = || find_mode(&self.modes, READING_MODE).filter(|_| READING_AGENTS.contains(&kind.as_str()));
        match mode.or_else(reader).map(Value::from) {
            Some(mode) => drop(input.insert("mode".into(), mode)),
            None if GENERAL_AGENTS.contains(&kind.as_str()) => drop(input.remove("mode")),
            None => {}
        }
    }

    /// The first mode that does not exist.
    fn unknown_mode(&self, input: &Input) -> Option<String> {
        let mut modes = input.all().into_iter().filter_map(|one| one.mode);
        match self.modes.is_empty() {
            true => None,
            false => modes.find(|mode| !self.modes.iter().any(|known| known.name == *mode)),
        }
    }
}

fn render_report(report: &SubtaskReport) -> String {
    format!("{}\n[subtask session {}]", report.text, report.session)
}

fn several(tasks: &[TaskInput], reports: &[Result<SubtaskReport, Error>], wait: SubtaskWait) -> Output {
    let parts = tasks.iter().zip(reports).zip(1..).map(|((task, report), number)| {
        let text = match report {
            Ok(report) => render_report(report),
            Err(error) => format!("failed: {error}"),
        };
        format!("# {number}. {}\n{text}", task.title())
    });
    let done = reports.iter().filter(|report| report.is_ok()).count();
    let summary = match wait {
        SubtaskWait::Background => format!("in the background: {done} of {}", count(reports.len(), "task")),
        SubtaskWait::UntilDone => format!("{done} of {} done", count(reports.len(), "task")),
    };
    Output::text(parts.collect::<Vec<_>>().join("\n\n")).with_summary(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_approved_mode_is_the_one_that_is_used() {
        let cases = [
            (serde_json::json!({"prompt": "p", "mode": "code "}), vec!["code"]),
            (serde_json::json!({"prompt": "p", "mode": " "}), vec![""]),
            (
                serde_json::json!({"tasks": [{"prompt": "p", "mode": "\tcode"}, {"prompt": "q", "mode": "code"}], "mode": "ask"}),
                vec!["code"],
            ),
        ];
        for (input, expected) in cases {
            let input: Input = serde_json::from_value(input).unwrap();
            let modes = NewTaskTool { modes: Vec::new() }
                .actions(&input)
                .into_iter()
                .map(|action| match action {
                    Action::Subtask { mode } => mode,
                    other => panic!("{other:?}"),
                });
            assert_eq!(modes.collect::<Vec<_>>(), expected);
            let used = input.all().into_iter().filter_map(|one| one.mode);
            assert!(used.into_iter().all(|mode| mode == mode.trim() && !mode.is_empty()));
        }
    }
}
