//! The panels of a session: creating, opening and closing them.

mod console;
mod files;
mod notes;
mod polled_version;
mod repo_map;
mod repository;

use repository::RejectedCommand;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use policy::Action;
use prompt::panel::{BuiltinPanel, HistoryPanel, Panel, PanelSource};
use sandbox::ProcessEnvironment;

use crate::support::code_server::CodeServer;
use crate::support::commands::CommandOptions;
use crate::support::jobs::JobRegistry;
use crate::support::mode_names::ModeName;
use crate::support::notes::NoteStore;
use crate::support::project::Project;

/// Panels that are open by default. They are empty until they have content, and their changes are visible in the
/// conversation, so they cost tokens only at its start and after compaction.
pub const DEFAULT_PANELS: [&str; 4] = ["todo", "memories", "scratchpad", "console"];

/// The names of all panels.
pub const PANEL_NAMES: [&str; 18] = [
    "todo",
    "library",
    "statistics",
    "tools",
    "tree",
    "repo_map",
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
    "history:NUMBER",
];

/// Maximum number of open panels.
const MAX_OPEN: usize = 20;

/// The open panels. Clones share them.
#[derive(Clone, Default)]
pub struct OpenPanels {
    shared: Arc<OpenPanelsState>,
}

#[derive(Default)]
struct OpenPanelsState {
    open: Mutex<BTreeMap<String, Arc<dyn Panel>>>,
    /// The data sources, set when the tools are built.
    sources: OnceLock<PanelSources>,
    /// The number of older parts of the conversation that can be reopened.
    history_parts: AtomicUsize,
}

/// The data sources of panels.
pub(crate) struct PanelSources {
    pub(crate) project: Project,
    pub(crate) notebook: NoteStore,
    pub(crate) jobs: JobRegistry,
    pub(crate) environment: ProcessEnvironment,
    pub(crate) commands: CommandOptions,
    pub(crate) code: Option<Arc<dyn CodeServer>>,
    pub(crate) code_index: Option<search::CodeIndex>,
    pub(crate) skills: Vec<PathBuf>,
    pub(crate) modes: Vec<ModeName>,
}

/// Why a panel cannot be opened: a message for the user or the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PanelError {
    /// Too many are open.
    #[error("{} panels are open; close one first", MAX_OPEN)]
    TooMany,
    /// There is no such panel.
    #[error("there is no panel `{0}`; there are {names}", names = PANEL_NAMES.join(", "))]
    Unknown(String),
    /// Outside a session with a project.
    #[error("the panel `{0}` is not available here")]
    Unavailable(String),
    /// A part of the history without its number.
    #[error("`{0}` has no number; the first part is history:1")]
    NoNumber(String),
    /// A part of the history that does not exist.
    #[error("there is no `{name}`{}", last_part(*.parts))]
    NoPart {
        /// The panel.
        name: String,
        /// How many parts there are.
        parts: usize,
    },
    /// Without the index.
    #[error("there is no code search index")]
    NoIndex,
    /// Without a language server.
    #[error("there is no language server; use the diagnostics tool")]
    NoLanguageServer,
    /// The path is not a file.
    #[error("{0} is not a file")]
    NotAFile(String),
    /// The text is not the number of a job.
    #[error("`{0}` is not a job number")]
    NotAJob(String),
    /// There is no such skill.
    #[error("there is no skill `{0}`")]
    NoSkill(String),
    /// The command of a repository panel could have side effects.
    #[error(transparent)]
    Command(#[from] RejectedCommand),
    /// The path or the job could not be looked up.
    #[error(transparent)]
    Lookup(#[from] tool::Error),
}

fn last_part(parts: usize) -> String {
    match parts {
        0 => ": the whole conversation is shown".into(),
        parts => format!("; the last part is history:{parts}"),
    }
}

impl OpenPanels {
    /// Opens a panel.
    pub fn open(&self, name: &str) -> Result<(), PanelError> {
        let panel = self.create(name)?;
        let mut open = self.lock();
        if open.len() >= MAX_OPEN && !open.contains_key(panel.name()) {
            return Err(PanelError::TooMany);
        }
        open.insert(panel.name().to_owned(), panel);
        Ok(())
    }

    /// Waits until an open panel has its first content.
    pub(crate) async fn load(&self, name: &str) {
        let panel = self.lock().get(name.trim()).cloned();
        if let Some(panel) = panel {
            panel.load().await;
        }
    }

    /// Closes a panel. Returns whether it was open.
    pub fn close(&self, name: &str) -> bool {
        self.lock().remove(name.trim()).is_some()
    }

    /// The names of the open panels.
    pub fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    pub(crate) fn set_sources(&self, sources: PanelSources) {
        // The tools are built once.
        drop(self.shared.sources.set(sources));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<dyn Panel>>> {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn create(&self, name: &str) -> Result<Arc<dyn Panel>, PanelError> {
        let name = name.trim();
        if let Some(own) = BuiltinPanel::ALL.into_iter().find(|own| own.name() == name) {
            return Ok(Arc::new(own));
        }
        if let Some(number) = name.strip_prefix("history:") {
            let number = number.trim().parse().ok().filter(|number| *number > 0);
            let number: usize = number.ok_or_else(|| PanelError::NoNumber(name.into()))?;
            let parts = self.shared.history_parts.load(Ordering::Relaxed);
            if number > parts {
                return Err(PanelError::NoPart {
                    name: name.into(),
                    parts,
                });
            }
            return Ok(Arc::new(HistoryPanel::new(number)));
        }
        let Some(sources) = self.shared.sources.get() else {
            return Err(PanelError::Unavailable(name.into()));
        };
        let (kind, of) = name.split_once(':').map_or((name, ""), |(kind, of)| (kind, of.trim()));
        match (kind, of) {
            ("tree", "") => Ok(Arc::new(files::TreePanel::new(&sources.project))),
            ("repo_map", words) => match &sources.code_index {
                Some(index) => Ok(Arc::new(repo_map::RepoMapPanel::new(&sources.project, index, words))),
                None => Err(PanelError::NoIndex),
            },
            ("file", of) if !of.is_empty() => Ok(Arc::new(files::FilePanel::new(&sources.project, of)?)),
            ("diagnostics", "") => match &sources.code {
                Some(code) => Ok(Arc::new(files::DiagnosticsPanel(Arc::clone(code)))),
                None => Err(PanelError::NoLanguageServer),
            },
            ("git" | "github", of) if !of.is_empty() => Ok(repository::create(kind, of, sources)?),
            ("memories", "") => Ok(Arc::new(notes::MemoriesPanel(sources.notebook.clone()))),
            ("scratchpad", "") => Ok(Arc::new(notes::ScratchpadPanel(sources.notebook.clone()))),
            ("library", "") => Ok(Arc::new(notes::LibraryPanel::of(sources))),
            ("skill", of) if !of.is_empty() => Ok(Arc::new(notes::SkillPanel::of(sources, of)?)),
            ("console", "") => Ok(Arc::new(console::ConsolePanel(sources.jobs.clone()))),
            ("console", of) => Ok(Arc::new(console::JobPanel::of(&sources.jobs, of)?)),
            _ => Err(PanelError::Unknown(name.into())),
        }
    }

    /// The approvals for opening a panel.
    pub fn actions(&self, name: &str) -> Vec<Action> {
        let Some(sources) = self.shared.sources.get() else {
            return Vec::new();
        };
        match name.trim().split_once(':') {
            Some(("file", path)) => sources.project.read_actions(path.trim()),
            Some((kind @ ("git" | "github"), of)) => repository::folders(kind, &sources.project.workspace)
                .into_iter()
                .map(|cwd| Action::Run {
                    command: repository::line(kind, of.trim()),
                    cwd,
                })
                .collect(),
            Some(_) | None => Vec::new(),
        }
    }
}

impl PanelSource for OpenPanels {
    fn panels(&self) -> Vec<Arc<dyn Panel>> {
        self.lock().values().cloned().collect()
    }

    fn set_history_parts(&self, parts: usize) {
        self.shared.history_parts.store(parts, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
