//! A session line by line, for screen readers and dumb terminals: each line is a task or a slash command.

use crate::config::{EffortName, LoadedConfig};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, FailureKind, Result};
use crate::output;
use crate::signals::StopSignals;
use backends::{sandbox_summary, unfinished_session};
use clap::ValueEnum as _;
use host::models::ModelRegistry;
use host::paths::display_path;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use tui::format::{dollars, plural};

/// Commands of the front end that work line by line; `NAME` is this session.
const HEW_COMMANDS: &[(&str, &[&str])] = &[
    ("changes", &["changes", "NAME"]),
    ("undo", &["undo", "--session", "NAME"]),
    ("redo", &["redo", "--session", "NAME"]),
    ("compact", &["compact", "NAME"]),
    ("context", &["cost", "NAME"]),
    ("transcript", &["sessions", "show", "NAME"]),
    ("continue", &["resume", "NAME"]),
    ("permissions", &["permissions", "list"]),
    ("servers", &["mcp", "list"]),
    ("settings", &["config", "show"]),
    ("doctor", &["doctor"]),
];

/// Commands that are handled here.
const OWN_COMMANDS: &[&str] = &[
    "help", "quit", "new", "clear", "init", "review", "sessions", "model", "mode", "effort", "status", "memory",
    "export", "rewind",
];

/// What the user chose for the next tasks.
#[derive(Debug, Clone, Default)]
pub struct LineChoices {
    /// The model.
    pub model: Option<String>,
    /// The mode.
    pub mode: Option<String>,
    /// The reasoning effort.
    pub effort: Option<EffortName>,
}

/// What the lines of a session start.
pub trait LineCommands {
    /// Runs a task in a session, by default in a new one. The files are attached to it.
    fn run_task(
        &self,
        prompt: Vec<String>,
        files: Vec<PathBuf>,
        session: Option<String>,
        choices: &LineChoices,
    ) -> impl Future<Output = Result<()>>;

    /// Runs a command of hew.
    fn run_command(&self, words: &[&str]) -> Result<()>;

    /// Loads the configuration of the project.
    fn load_config(&self, choices: &LineChoices) -> Result<LoadedConfig>;
}

/// A session line by line.
pub struct LineSession<'a, C> {
    /// Runs tasks and commands.
    pub commands: C,
    /// The version of hew.
    pub version: &'a str,
    /// The session; `None` before the first task of a new one.
    pub session: Option<String>,
    /// The files of the first task.
    pub files: Vec<PathBuf>,
    /// The only files that may be changed; any if empty.
    pub allowed_files: &'a [PathBuf],
    /// What the user chose.
    pub choices: LineChoices,
    /// The project.
    pub root: &'a Path,
    /// The process.
    pub env: &'a ProcessEnv,
}

/// The session that the first line continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStart {
    /// The given one, or a new one.
    Given,
    /// The newest one of the project.
    Newest,
}

impl<C: LineCommands> LineSession<'_, C> {
    /// Runs until the end of the input, beginning with a task; all lines belong to one session.
    pub async fn run(mut self, start: LineStart, first: Vec<String>) -> Result<ExitStatus> {
        if start == LineStart::Newest {
            self.session = self.newest().await?;
        }
        self.greet().await?;
        let mut first = Some(first).filter(|prompt| !prompt.is_empty());
        let mut signals = StopSignals::listen();
        loop {
            let done = match first.take() {
                Some(prompt) => self.run_task(prompt).await,
                None => match read_line().await {
                    LineInput::Line(line) if line.is_empty() => continue,
                    LineInput::Line(line) => match self.handle(&line).await {
                        Ok(LineOutcome::Quit) => {
                            self.print_resume_command();
                            return Ok(ExitStatus::Done);
                        }
                        Ok(LineOutcome::Next) => Ok(()),
                        Err(failure) => Err(failure),
                    },
                    LineInput::End(exit) => {
                        self.print_resume_command();
                        return Ok(exit);
                    }
                },
            };
            if let Err(failure) = done {
                output::print_failure(&host::redaction::Redactor::for_failures(self.env).failure(failure));
            }
            if signals.is_terminated() {
                self.print_resume_command();
                return Ok(ExitStatus::Terminated);
            }
        }
    }
}

/// The next step after a line.
enum LineOutcome {
    Next,
    Quit,
}

/// The input.
enum LineInput {
    Line(String),
    End(ExitStatus),
}

impl<C: LineCommands> LineSession<'_, C> {
    /// The newest session of the project.
    async fn newest(&self) -> Result<Option<String>> {
        let store = host::sessions::open_store(self.env)?;
        match host::sessions::find(&store, None, self.root).await {
            Ok(meta) => Ok(Some(meta.id.to_string())),
            Err(failure) if failure.kind == FailureKind::Usage => {
                output::print_stderr(&format!("{}; starting a new session\n", failure.message));
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    async fn greet(&self) -> Result<()> {
        let loaded = self.config()?;
        let rules = match self.rules(&loaded)?.as_slice() {
            [] => "no rules files".to_owned(),
            files => format!("rules: {}", files.join(", ")),
        };
        let model = match self.model(&loaded).await {
            Ok(model) => model,
            Err(failure) => failure.message,
        };
        output::print_stderr(&format!(
            "hew {}  {}\n{model}; {rules}; sandbox: {}\nDescribe a task. /help lists commands, /quit ends.\n",
            self.version,
            display_path(self.root, self.env),
            sandbox_summary(&loaded.config, loaded.config.permission),
        ));
        if self.session.is_none() {
            let store = host::sessions::open_store(self.env)?;
            if let Some(notice) = unfinished_session(&store, self.root, &[]).await {
                output::print_stderr(&format!("{notice}\n"));
            }
        }
        Ok(())
    }

    fn print_resume_command(&self) {
        if let Some(session) = &self.session {
            output::print_stderr(&format!("to continue: hew resume {session}\n"));
        }
    }

    fn config(&self) -> Result<LoadedConfig> {
        self.commands.load_config(&self.choices)
    }

    async fn model(&self, loaded: &LoadedConfig) -> Result<String> {
        let models = ModelRegistry::new(&loaded.config, self.env);
        Ok(models.main_model().await?.info.name())
    }

    /// The rules files that hew always reads.
    fn rules(&self, loaded: &LoadedConfig) -> Result<Vec<String>> {
        let files = host::project_context::rules_files(self.root, loaded, self.env)?;
        Ok(files.iter().map(|path| display_path(path, self.env)).collect())
    }

    async fn handle(&mut self, line: &str) -> Result<LineOutcome> {
        let command = match line {
            "?" => Some("help"),
            line => line.strip_prefix('/'),
        };
        let Some((name, rest)) = command.map(|text| text.split_once(char::is_whitespace).unwrap_or((text, ""))) else {
            self.run_task(vec![line.to_owned()]).await?;
            return Ok(LineOutcome::Next);
        };
        let rest = rest.trim();
        let built_in = tui::SLASH_COMMANDS
            .iter()
            .find(|command| command.name == name || command.aliases.contains(&name));
        match built_in.map(|command| command.name) {
            Some("quit") => return Ok(LineOutcome::Quit),
            Some("help") => output::print_stderr(&help()),
            Some("new" | "clear") => {
                self.session = None;
                output::print_stderr("new session\n");
            }
            Some(name @ ("init" | "review")) => {
                let prompt = tui::prompt_of_command(name, rest);
                self.run_task(prompt.into_iter().collect()).await?;
            }
            Some("sessions") if rest.is_empty() => {
                self.commands.run_command(&["sessions", "list"])?;
                output::print_stderr("/sessions ID continues one of them\n");
            }
            Some("sessions") => self.open_session(rest).await?,
            Some("model") => self.set_model(rest).await?,
            Some("mode") => self.set_mode(rest)?,
            Some("effort") => self.set_effort(rest)?,
            Some("status") => self.status().await?,
            Some("memory") => {
                let rules = self.rules(&self.config()?)?;
                let files = if rules.is_empty() {
                    "no rules files".into()
                } else {
                    rules.join("\n")
                };
                output::print_stderr(&format!("{files}\n"));
            }
            Some("export") => {
                let session = self.stored_session()?;
                let file = match rest {
                    "" => format!("hew-session-{}.md", &session[..8.min(session.len())]),
                    file => file.to_owned(),
                };
                self.commands
                    .run_command(&["sessions", "export", &session, "--output", &file])?;
                output::print_stderr(&format!("exported this session to {file}\n"));
            }
            Some("rewind") => {
                let session = self.stored_session()?;
                match rest {
                    "" => self.commands.run_command(&["rewind", &session])?,
                    item => self.commands.run_command(&["rewind", &format!("{session}/{item}")])?,
                }
            }
            Some(name) => match HEW_COMMANDS.iter().find(|(command, _)| *command == name) {
                Some((_, words)) => {
                    let session = match words.contains(&"NAME") {
                        true => self.stored_session()?,
                        false => String::new(),
                    };
                    let named = words
                        .iter()
                        .map(|word| if *word == "NAME" { session.as_str() } else { word });
                    let all: Vec<&str> = named.chain(rest.split_whitespace()).collect();
                    self.commands.run_command(&all)?;
                }
                None => {
                    let failure = Failure::usage(format!("/{name} needs the full-screen front end"));
                    return Err(failure.hint("/help lists the commands that work line by line"));
                }
            },
            // A path, or a prompt of an MCP server.
            None if name.contains(['/', '.']) => self.run_task(vec![line.to_owned()]).await?,
            None => {
                let commands = host::project_context::commands(self.root, &self.config()?, self.env)?;
                if !commands.contains_key(name) {
                    let hint = match tui::nearest_command(name, commands.keys().map(String::as_str)) {
                        Some(near) => format!("did you mean /{near}?"),
                        None => "/help lists the commands".into(),
                    };
                    return Err(Failure::usage(format!("there is no command /{name}")).hint(hint));
                }
                self.run_task(vec![line.to_owned()]).await?;
            }
        }
        Ok(LineOutcome::Next)
    }

    async fn run_task(&mut self, prompt: Vec<String>) -> Result<()> {
        let files = std::mem::take(&mut self.files);
        let done = self
            .commands
            .run_task(prompt, files, self.session.clone(), &self.choices)
            .await;
        if self.session.is_none() {
            let store = host::sessions::open_store(self.env)?;
            let newest = host::sessions::find(&store, None, self.root).await;
            self.session = newest.ok().map(|meta| meta.id.to_string());
        }
        done
    }

    fn stored_session(&self) -> Result<String> {
        self.session
            .clone()
            .ok_or_else(|| Failure::usage("this session is empty"))
    }

    async fn open_session(&mut self, id: &str) -> Result<()> {
        let store = host::sessions::open_store(self.env)?;
        let meta = host::sessions::find(&store, Some(id), self.root).await?;
        let title = meta.title.unwrap_or_else(|| "untitled".into());
        output::print_stderr(&format!("session: {title}\n"));
        self.session = Some(meta.id.to_string());
        Ok(())
    }

    async fn set_model(&mut self, name: &str) -> Result<()> {
        let loaded = self.config()?;
        if name.is_empty() {
            let model = self.model(&loaded).await?;
            output::print_stderr(&format!(
                "model: {model}\n/model NAME chooses another one; `hew models` lists them\n"
            ));
            return Ok(());
        }
        let models = ModelRegistry::new(&loaded.config, self.env);
        let info = models.find(name)?;
        models.immediate_settings(&info)?;
        self.choices.model = Some(info.name());
        output::print_stderr(&format!("model: {}\n", info.name()));
        Ok(())
    }

    fn set_mode(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            return self.commands.run_command(&["modes"]);
        }
        let found = host::project_context::load_modes(self.root, self.config()?.trust, self.env);
        let mode = found.choose(name, self.allowed_files)?;
        output::print_stderr(&format!("mode: {}\n", mode.name));
        self.choices.mode = Some(mode.name);
        Ok(())
    }

    fn set_effort(&mut self, name: &str) -> Result<()> {
        let names: Vec<String> = EffortName::value_variants()
            .iter()
            .filter_map(|effort| Some(effort.to_possible_value()?.get_name().to_owned()))
            .collect();
        match (name, EffortName::from_str(name, true)) {
            ("" | "default", _) if !name.is_empty() => self.choices.effort = None,
            ("", _) => {}
            (_, Ok(effort)) => self.choices.effort = Some(effort),
            (_, Err(_)) => {
                let failure = Failure::usage(format!("unknown effort `{name}`"));
                return Err(failure.hint(format!("choose default, {}", names.join(", "))));
            }
        }
        let effort = self.choices.effort.and_then(|effort| effort.to_possible_value());
        let current = effort.as_ref().map_or("default", |effort| effort.get_name());
        output::print_stderr(&format!("effort: {current}\n"));
        Ok(())
    }

    async fn status(&self) -> Result<()> {
        let loaded = self.config()?;
        let rules = self.rules(&loaded)?;
        let rules = if rules.is_empty() {
            "none".into()
        } else {
            rules.join(", ")
        };
        let effort = loaded.config.effort.and_then(|effort| effort.to_possible_value());
        let rows = [
            ("session", self.session.clone().unwrap_or_else(|| "new".into())),
            ("folder", display_path(self.root, self.env)),
            ("model", self.model(&loaded).await?),
            (
                "effort",
                effort.map_or("default".into(), |effort| effort.get_name().to_owned()),
            ),
            ("mode", loaded.config.mode.clone()),
            ("permission", loaded.config.permission.name().to_owned()),
            ("sandbox", sandbox_summary(&loaded.config, loaded.config.permission)),
            ("rules", rules),
        ];
        let lines = rows.map(|(name, value)| format!("{name}: {value}\n"));
        output::print_stderr(&lines.concat());
        if let Some(id) = &self.session {
            let store = host::sessions::open_store(self.env)?;
            let totals = host::sessions::find(&store, Some(id), self.root).await?.totals;
            output::print_stderr(&format!(
                "cost: {} in {}\n",
                dollars(totals.cost),
                plural(totals.requests, "request")
            ));
        }
        Ok(())
    }
}

/// The commands that work line by line.
fn help() -> String {
    let here = |name: &&str| OWN_COMMANDS.contains(name) || HEW_COMMANDS.iter().any(|(command, _)| command == name);
    let commands = tui::SLASH_COMMANDS.iter().filter(|command| here(&command.name));
    let rows: String = commands
        .map(|command| {
            let name = format!("/{} {}", command.name, command.arguments);
            format!("  {:<26}  {}\n", name.trim_end(), command.description)
        })
        .collect();
    format!(
        "Each line is a task or an answer; all of them are one session. Ctrl-C interrupts the turn.\n{rows}  {:<26}  {}\n",
        "/NAME", "run a command of the project (`hew commands` lists them)"
    )
}

/// Reads a line without blocking signals.
async fn read_line() -> LineInput {
    output::print_stderr("> ");
    let (sender, receiver) = tokio::sync::oneshot::channel();
    // A terminal read cannot be cancelled and must not block the exit.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        // After a signal, the line is not used.
        drop(sender.send(match read {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim().to_owned()),
        }));
    });
    let mut signals = StopSignals::listen();
    tokio::select! {
        line = receiver => match line {
            Ok(Some(line)) => LineInput::Line(line),
            Ok(None) | Err(_) => LineInput::End(ExitStatus::Done),
        },
        exit = signals.next() => LineInput::End(exit),
    }
}
