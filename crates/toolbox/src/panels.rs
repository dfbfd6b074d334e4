//! Panels of the project beside the conversation: which there are, which are open, and how the model opens and closes them.

mod console;
mod files;
mod notes;
mod repository;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use policy::Action;
use prompt::panel::{Own, Panel, Shelf};
use sandbox::Environment;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::code_server::CodeServer;
use crate::command::Commands;
use crate::jobs::Jobs;
use crate::notebook::Notebook;
use crate::project::Project;

/// Panels that are open where nobody says otherwise. They show nothing until there is something to show, and their changes are
/// told by the conversation itself: they cost only where it begins and where it was summed up.
pub const USUAL_PANELS: [&str; 4] = ["todo", "memories", "scratchpad", "console"];

/// All kinds of panels, as a person or a model names them.
pub const PANELS: [&str; 16] = [
    "todo",
    "library",
    "statistics",
    "tools",
    "tree",
    "memories",
    "notifications",
    "logs",
    "scratchpad",
    "file:PATH",
    "git:ARGUMENTS",
    "github:ARGUMENTS",
    "console",
    "console:JOB",
    "skill:NAME",
    "diagnostics",
];

/// As many may be open.
const MOST: usize = 20;

/// The panels that are open. Clones share them.
#[derive(Clone, Default)]
pub struct Panels {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    open: Mutex<BTreeMap<String, Arc<dyn Panel>>>,
    /// What they look at, once the tools are there.
    sources: OnceLock<Sources>,
}

/// What panels look at.
pub(crate) struct Sources {
    pub(crate) project: Project,
    pub(crate) notebook: Notebook,
    pub(crate) jobs: Jobs,
    pub(crate) environment: Environment,
    pub(crate) commands: Commands,
    pub(crate) code: Option<Arc<dyn CodeServer>>,
    pub(crate) skills: Vec<PathBuf>,
    pub(crate) modes: Vec<String>,
}

impl Panels {
    /// Opens a panel; the error is a sentence for whoever asked.
    pub fn open(&self, name: &str) -> Result<(), String> {
        let panel = self.make(name)?;
        let mut open = self.lock();
        if open.len() >= MOST && !open.contains_key(panel.name()) {
            return Err(format!("{MOST} panels are open; close one first"));
        }
        open.insert(panel.name().to_owned(), panel);
        Ok(())
    }

    /// Closes a panel: whether it was open.
    pub fn close(&self, name: &str) -> bool {
        self.lock().remove(name.trim()).is_some()
    }

    /// The names of those that are open.
    pub fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    pub(crate) fn look_at(&self, sources: Sources) {
        // They are told once, when the tools are made.
        drop(self.shared.sources.set(sources));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<dyn Panel>>> {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make(&self, name: &str) -> Result<Arc<dyn Panel>, String> {
        let name = name.trim();
        if let Some(own) = Own::ALL.into_iter().find(|own| own.name() == name) {
            return Ok(Arc::new(own));
        }
        let Some(sources) = self.shared.sources.get() else {
            return Err(format!("the panel `{name}` has nothing to look at here"));
        };
        let (kind, of) = name.split_once(':').map_or((name, ""), |(kind, of)| (kind, of.trim()));
        match (kind, of) {
            ("tree", "") => Ok(Arc::new(files::Tree(sources.project.clone()))),
            ("file", of) if !of.is_empty() => Ok(Arc::new(files::File::new(&sources.project, of)?)),
            ("diagnostics", "") => match &sources.code {
                Some(code) => Ok(Arc::new(files::Wrong(Arc::clone(code)))),
                None => Err("there is no language server here; call the tool diagnostics".into()),
            },
            ("git" | "github", of) if !of.is_empty() => Ok(Arc::new(repository::Answer::new(kind, of, sources)?)),
            ("memories", "") => Ok(Arc::new(notes::Memories(sources.notebook.clone()))),
            ("scratchpad", "") => Ok(Arc::new(notes::Page(sources.notebook.clone()))),
            ("library", "") => Ok(Arc::new(notes::Library::of(sources))),
            ("skill", of) if !of.is_empty() => Ok(Arc::new(notes::Skill::of(sources, of)?)),
            ("console", "") => Ok(Arc::new(console::Jobs(sources.jobs.clone()))),
            ("console", of) => Ok(Arc::new(console::Job::of(&sources.jobs, of)?)),
            _ => Err(format!("there is no panel `{name}`; there are {}", PANELS.join(", "))),
        }
    }

    /// What opening a panel needs approved.
    fn actions(&self, name: &str) -> Vec<Action> {
        let Some(sources) = self.shared.sources.get() else {
            return Vec::new();
        };
        match name.trim().split_once(':') {
            Some(("file", path)) => sources.project.reading(path.trim()),
            Some((kind @ ("git" | "github"), of)) => vec![Action::Run {
                command: repository::line(kind, of.trim()),
                cwd: sources.project.workspace.root().to_owned(),
            }],
            Some(_) | None => Vec::new(),
        }
    }
}

impl Shelf for Panels {
    fn open(&self) -> Vec<Arc<dyn Panel>> {
        self.lock().values().cloned().collect()
    }
}

/// The tool with which the model opens and closes panels.
pub(crate) struct PanelTool(pub(crate) Panels);

/// Opens and closes panels: context that is kept up to date beside the conversation. There are todo, library, statistics,
/// tools, tree, memories, notifications, logs, scratchpad, console, diagnostics, file:PATH, git:ARGS, github:ARGS,
/// console:JOB, skill:NAME.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Such as file:src/main.rs or git:status --short.
    #[serde(default)]
    open: Vec<String>,
    #[serde(default, alias = "ids")]
    close: Vec<String>,
}

impl Tool for PanelTool {
    const NAME: &'static str = "panel";
    const ALIASES: &'static [&'static str] = &["panels", "dynamic_panel", "Close_panel", "open_panel", "close_panel"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let opened = input.open.iter().map(|name| format!("open {name}"));
        let closed = input.close.iter().map(|name| format!("close {name}"));
        opened.chain(closed).collect::<Vec<_>>().join(", ")
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        input.open.iter().flat_map(|name| self.0.actions(name)).collect()
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let mut problems: Vec<String> = input.open.iter().filter_map(|name| self.0.open(name).err()).collect();
        for name in &input.close {
            if !self.0.close(name) {
                problems.push(format!("no panel `{name}` is open"));
            }
        }
        if !problems.is_empty() {
            return Err(Error::Failed(problems.join("; ")));
        }
        let names = self.0.names();
        Ok(match names.is_empty() {
            true => Output::text("No panel is open."),
            false => Output::text(format!("Open now: {}. What they show follows.", names.join(", "))),
        }
        .summary(match names.len() {
            1 => "1 panel is open".to_owned(),
            many => format!("{many} panels are open"),
        }))
    }
}

#[cfg(test)]
mod tests;
