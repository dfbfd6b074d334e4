//! Hands parts of the work to sessions of their own.

use futures::future::join_all;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Report, Task, Tool, Waiting, Worker};

use crate::text::count;

/// More tasks than this at once are refused.
const MOST: usize = 16;
/// The longest title, in characters.
const TITLE: usize = 80;

pub(crate) struct NewTask;

/// Hands work to a helper with its own context; it sees only the prompt, you see only its report. Several tasks run side by
/// side: they must not edit the same files.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The whole assignment: goal, context, paths, what to report.
    #[serde(default, alias = "message", alias = "task", alias = "query", alias = "instructions")]
    prompt: String,
    /// 3-5 words.
    #[serde(alias = "description", alias = "label")]
    title: Option<String>,
    /// Mode to work in; default yours.
    #[serde(alias = "agentName", alias = "agent_name", alias = "subagent_type", alias = "agent")]
    mode: Option<String>,
    /// Several at once, instead of the above.
    #[serde(default)]
    tasks: Vec<One>,
    /// Session id of a task to go on with.
    #[serde(alias = "session_id")]
    resume: Option<String>,
    /// Do not wait; you are told when it is done.
    #[serde(default, alias = "run_in_background")]
    background: bool,
    /// A list to start with.
    #[schemars(skip)]
    todos: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct One {
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
    fn all(&self) -> Vec<One> {
        let said = !self.prompt.trim().is_empty() || self.resume.is_some() || self.tasks.is_empty();
        let own = said.then(|| One {
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
            // What is decided about must be the very name that is used.
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

impl One {
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

impl Tool for NewTask {
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
    const EFFECT: Effect = Effect::Delegates;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let titles: Vec<String> = input.all().iter().map(One::title).collect();
        titles.join("; ")
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let mut modes: Vec<String> = input.all().into_iter().filter_map(|one| one.mode).collect();
        modes.dedup();
        if modes.is_empty() {
            modes.push(String::new());
        }
        modes.into_iter().map(|mode| Action::Subtask { mode }).collect()
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let tasks = input.all();
        if tasks.len() > MOST {
            return Err(Error::Failed(format!(
                "{} at once are too many; hand over at most {MOST}",
                count(tasks.len(), "task")
            )));
        }
        let waiting = match input.background {
            true => Waiting::NotAtAll,
            false => Waiting::UntilDone,
        };
        let runs = tasks.iter().map(|one| {
            context.delegate(Task {
                title: one.title(),
                prompt: one.prompt.clone(),
                mode: one.mode.clone(),
                worker: Worker::Main,
                resume: one.resume.clone(),
                waiting,
            })
        });
        let reports = join_all(runs).await;
        match (reports.as_slice(), tasks.as_slice()) {
            ([Ok(report)], _) => Ok(Output::text(told(report)).summary(format!("session {}", report.session))),
            ([Err(error)], _) => Err(error.clone()),
            (reports, tasks) => Ok(several(tasks, reports)),
        }
    }
}

fn told(report: &Report) -> String {
    format!("{}\n[subtask session {}]", report.text, report.session)
}

fn several(tasks: &[One], reports: &[Result<Report, Error>]) -> Output {
    let parts = tasks.iter().zip(reports).zip(1..).map(|((task, report), number)| {
        let said = match report {
            Ok(report) => told(report),
            Err(error) => format!("failed: {error}"),
        };
        format!("# {number}. {}\n{said}", task.title())
    });
    let done = reports.iter().filter(|report| report.is_ok()).count();
    Output::text(parts.collect::<Vec<_>>().join("\n\n"))
        .summary(format!("{done} of {} done", count(reports.len(), "task")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_that_is_decided_about_is_the_one_that_is_used() {
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
            let modes = NewTask.actions(&input).into_iter().map(|action| match action {
                Action::Subtask { mode } => mode,
                other => panic!("{other:?}"),
            });
            assert_eq!(modes.collect::<Vec<_>>(), expected);
            let used = input.all().into_iter().filter_map(|one| one.mode);
            assert!(used.into_iter().all(|mode| mode == mode.trim() && !mode.is_empty()));
        }
    }
}
