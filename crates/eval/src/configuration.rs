//! What is evaluated: hew with some settings, or another agent.

use crate::command::quoted;
use crate::task::Task;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An agent with its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The name in results.
    pub name: String,
    /// The agent.
    pub agent: AgentCommand,
}

/// How an agent is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentCommand {
    /// hew, with additional arguments of `hew run`.
    Hew {
        /// The binary.
        program: PathBuf,
        /// Arguments, such as `--model`.
        arguments: Vec<String>,
    },
    /// A shell command in the project. `{prompt}` is the quoted prompt and `{prompt_file}` the path of a file with it; a command
    /// without either gets the prompt as its last argument.
    Shell(String),
}

impl AgentCommand {
    /// The settings as they are stored with the results.
    pub(crate) fn settings(&self) -> Vec<String> {
        match self {
            Self::Hew { arguments, .. } => std::iter::once("hew".into()).chain(arguments.iter().cloned()).collect(),
            Self::Shell(command) => vec![command.clone()],
        }
    }

    /// The arguments of `sh`. Standard error is written to a file, so that it is not mixed with the events on standard output.
    pub(crate) fn shell_arguments(&self, task: &Task, project: &Path, prompt_file: &Path) -> Vec<OsString> {
        match self {
            Self::Hew { program, arguments } => {
                let limits = &task.limits;
                let mut words: Vec<OsString> = ["-c", "exec \"$@\" 2>\"$HEW_EVAL_STDERR\"", "sh"]
                    .map(OsString::from)
                    .into();
                words.push(program.into());
                words.extend(["run", "--json", "--no-title", "-C"].map(OsString::from));
                words.push(project.into());
                words.push(format!("--max-steps={}", limits.steps).into());
                words.push(format!("--max-time={}s", limits.seconds).into());
                words.extend(limits.cost.map(|cost| format!("--max-cost={cost}").into()));
                words.extend(arguments.iter().map(OsString::from));
                words.push("--".into());
                words.push(task.prompt.clone().into());
                words
            }
            Self::Shell(command) => {
                let (prompt, file) = (quoted(&task.prompt), quoted(&prompt_file.display().to_string()));
                let line = match command.contains("{prompt}") || command.contains("{prompt_file}") {
                    true => command.replace("{prompt_file}", &file).replace("{prompt}", &prompt),
                    false => format!("{command} {prompt}"),
                };
                vec!["-c".into(), format!("{{ {line}\n}} 2>\"$HEW_EVAL_STDERR\"").into()]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TaskLimits;

    #[test]
    fn the_prompt_replaces_its_placeholder_or_is_appended() {
        let task = Task {
            id: "a".into(),
            prompt: "don't stop".into(),
            language: None,
            kind: None,
            project: Vec::new(),
            setup: None,
            hidden: Vec::new(),
            check: "true".into(),
            solution: Vec::new(),
            answer: None,
            limits: TaskLimits::default(),
            needs: Vec::new(),
            network: false,
        };
        for (command, line) in [
            ("agent --yes", "agent --yes 'don'\\''t stop'"),
            ("agent -m {prompt} --x", "agent -m 'don'\\''t stop' --x"),
            ("agent < {prompt_file}", "agent < '/w/prompt'"),
        ] {
            let words =
                AgentCommand::Shell(command.into()).shell_arguments(&task, Path::new("/w/p"), Path::new("/w/prompt"));
            assert_eq!(
                words[1],
                OsString::from(format!("{{ {line}\n}} 2>\"$HEW_EVAL_STDERR\""))
            );
        }
    }
}
