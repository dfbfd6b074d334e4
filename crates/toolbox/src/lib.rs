//! The built-in tools, one file each in `tools`.
//!
//! To add a tool, add its file and one line in `registry`. The doc comments of its input are the description that the model reads,
//! and they cost tokens in every request: state only what a model would otherwise get wrong.

mod middleware;
mod panels;
mod registry;
mod support;
mod tools;

pub use panels::{DEFAULT_PANELS, OpenPanels, PANEL_NAMES, PanelError};
pub use registry::{all_names_in, build_registry, facts, names_in};
pub use support::code_server::{
    CodeLocation, CodeServer, CodeServerError, Diagnostic, DiagnosticSeverity, DiagnosticsBaseline, FileRewrite,
    NewDiagnostics, QuickFix, SymbolQuery,
};
pub use support::commands::CommandOptions;
pub use support::context_source::ToolContextSource;
pub use support::edits::apply_text::{ApplyError, ApplyMode, apply_edit_text};
pub use support::edits::edit_agent::EditModel;
pub use support::edits::format_stats::EditFormatStats;
pub use support::jobs::summary::{BackgroundJobs, JobSummary};
pub use support::jobs::{JobRegistry, JobRegistryView};
pub use support::mode_names::ModeName;
pub use support::peer_aliases::{PeerEquivalent, peer_tool_hint, peer_tools};
pub use support::project::read_tracker::{ReadTracker, ToolCaller};
pub use support::web::{
    AllowedHost, Chromium, CommandHosts, InvalidHostPattern, ProxyLookup, ProxyResolver, SearchEngine, SearchOptions,
    SourcegraphOptions, WebOptions,
};

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use session::BlobId;
use tool::{DynTool, DynamicTools};
use workspace::checkpoint::Checkpointer;

/// Parameters for building the registry.
#[derive(Default)]
pub struct Options<'a> {
    /// The model's name. It determines which edit tool is offered.
    pub model: Option<&'a str>,
    /// The edit format of the model; that of its family if it is not set.
    pub edit_format: Option<edit::EditFormat>,
    /// The model's context window in tokens; 0 if unknown.
    pub window: Option<u64>,
    /// Whether the model has a reasoning mode.
    pub reasoning: bool,
    /// Whether the model is small.
    pub is_small_model: bool,
    /// The model that writes edits from instructions.
    pub edit_model: Option<EditModel>,
    /// Whether a model or the user calls the tools.
    pub caller: ToolCaller,
    /// Tracks the files that the model has read.
    pub reads: ReadTracker,
    /// Files that the model has read or written earlier in the session, and when.
    pub read_files: Vec<(PathBuf, SystemTime)>,
    /// Versions of these files that the model knows.
    pub known_versions: Vec<(PathBuf, BlobId)>,
    /// The session's directory for results that are too long for the model. Without it they are truncated.
    pub spill: Option<PathBuf>,
    /// Records changes made by commands, so that they can be reverted.
    pub checkpoints: Option<Checkpointer>,
    /// Tools to list even if they are deferred or hidden from this model.
    pub enabled: Vec<String>,
    /// Tools to remove.
    pub disabled: Vec<String>,
    /// The language server, used before a search in the code.
    pub code_server: Option<Arc<dyn CodeServer>>,
    /// The index for searches by meaning; without it they are not available.
    pub code_index: Option<search::CodeIndex>,
    /// The data directory for the model's notes; without it notes are not available.
    pub data: Option<PathBuf>,
    /// Directories with skills. A later skill replaces an earlier one with the same name.
    pub skills: Vec<PathBuf>,
    /// Deferred tools of other programs.
    pub external: Vec<Arc<dyn DynTool>>,
    /// Tools that are added and removed at run time, such as those of MCP servers.
    pub dynamic: Option<Arc<dyn DynamicTools>>,
    /// The modes to switch to; if empty, the mode cannot be changed.
    pub modes: Vec<ModeName>,
    /// The names of other agents that can run subtasks.
    pub agents: Vec<String>,
    /// How commands are run.
    pub commands: CommandOptions,
    /// The open panels; without them the model cannot open any.
    pub panels: Option<OpenPanels>,
    /// The background jobs. They are killed when the last reference is dropped.
    pub jobs: JobRegistry,
    /// The image model; without it images cannot be generated.
    pub image_model: Option<providers::ImageModel>,
    /// Keys that are removed from errors, the longest first.
    pub secrets: Arc<[String]>,
    /// Web access; without it the web tools are not available.
    pub web: Option<WebOptions>,
}

impl Options<'_> {
    /// The edit format of the model.
    pub(crate) fn edit_format(&self) -> Option<edit::EditFormat> {
        self.edit_format.or_else(|| self.model.map(edit::format_for))
    }
}
