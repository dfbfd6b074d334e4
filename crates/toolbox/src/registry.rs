//! The registry of built-in tools: one line per tool.

use std::collections::BTreeSet;
use std::sync::Arc;

use sandbox::ProcessEnvironment;
use tool::{DynTool, DynamicTools, Registry, Tool, ToolFacts, ToolListing, ToolSet};
use workspace::Workspace;

use crate::Options;
use crate::middleware::checkpoint::with_checkpoints;
use crate::middleware::diagnostics::WithDiagnostics;
use crate::middleware::dynamic_tools::WrappedDynamicTools;
use crate::middleware::output_cap::OutputCapped;
use crate::middleware::wrap;
use crate::panels::PanelSources;
use crate::support::model_profiles;
use crate::support::notes::NoteStore;
use crate::support::peer_aliases;
use crate::support::project::{LineMarks, Project};
use crate::support::spill::Spill;
use crate::support::web::{WebClient, WebOptions};
use crate::tools::find_tools::FindToolsTool;
use crate::tools::{self, call_tool, find_tools};

/// The built-in tools. A later tool takes over the aliases of an earlier one.
pub(crate) const TOOLS: &[ToolDeclaration] = &[
    declare::<tools::copy_path::CopyPathTool>(),
    declare::<tools::create_directory::CreateDirectoryTool>(),
    declare::<tools::delete_path::DeletePathTool>(),
    declare::<tools::move_path::MovePathTool>(),
    declare::<tools::open::OpenTool>(),
    declare::<tools::list_directory::ListDirectoryTool>(),
    declare::<tools::read_file::ReadFileTool>(),
    declare::<tools::write_file::WriteFileTool>(),
    declare::<tools::edit_file::EditFileTool>(),
    declare::<tools::apply_patch::ApplyPatchTool>(),
    declare::<tools::insert::InsertTool>(),
    declare::<tools::edit_lines::EditLinesTool>(),
    declare::<tools::code_action::CodeActionTool>(),
    declare::<tools::format_file::FormatFileTool>(),
    declare::<tools::hover::HoverTool>(),
    declare::<tools::rename_symbol::RenameSymbolTool>(),
    declare::<tools::find_path::FindPathTool>(),
    declare::<tools::grep::GrepTool>(),
    declare::<tools::code_definitions::CodeDefinitionsTool>(),
    declare::<tools::repo_map::RepoMapTool>(),
    declare::<tools::definition::DefinitionTool>(),
    declare::<tools::references::ReferencesTool>(),
    declare::<tools::diagnostics::DiagnosticsTool>(),
    declare::<tools::panel::PanelTool>(),
    declare::<tools::job_kill::JobKillTool>(),
    declare::<tools::job_list::JobListTool>(),
    declare::<tools::job_output::JobOutputTool>(),
    declare::<tools::terminal::TerminalTool>(),
    declare::<tools::new_task::NewTaskTool>(),
    declare::<tools::search_agent::SearchAgentTool>(),
    declare::<tools::codebase_search::CodebaseSearchTool>(),
    declare::<tools::skill::SkillTool>(),
    declare::<tools::todo::TodoTool>(),
    declare::<tools::ask_question::AskQuestionTool>(),
    declare::<tools::attempt_completion::AttemptCompletionTool>(),
    declare::<tools::memory::MemoryTool>(),
    declare::<tools::now::NowTool>(),
    declare::<tools::scratchpad::ScratchpadTool>(),
    declare::<tools::thinking::ThinkingTool>(),
    declare::<tools::remind::RemindTool>(),
    declare::<tools::watch::WatchTool>(),
    declare::<tools::switch_mode::SwitchModeTool>(),
    declare::<tools::generate_image::GenerateImageTool>(),
    declare::<tools::fetch::FetchTool>(),
    declare::<tools::download::DownloadTool>(),
    declare::<tools::web_search::WebSearchTool>(),
    declare::<tools::sourcegraph::SourcegraphTool>(),
    declare::<tools::browser_action::BrowserActionTool>(),
    added_last(call_tool::NAME, call_tool::FACTS),
    added_last(find_tools::NAME, find_tools::FACTS),
];

/// A built-in tool.
pub(crate) struct ToolDeclaration {
    pub(crate) name: &'static str,
    aliases: &'static [&'static str],
    pub(crate) facts: ToolFacts,
    build: fn(&ToolParts<'_>) -> Option<Arc<dyn DynTool>>,
    listing: fn(&ToolParts<'_>) -> ToolListing,
}

impl ToolDeclaration {
    /// Its name, its aliases and its names in other agents.
    fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let peers = self.facts.peers.iter().flat_map(|(_, names)| names.iter().copied());
        [self.name].into_iter().chain(self.aliases.iter().copied()).chain(peers)
    }
}

/// How a built-in tool is constructed.
pub(crate) trait BuiltIn: Tool {
    /// Builds the tool. Returns `None` if something that it needs is not configured.
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>>;

    /// Whether it is listed.
    fn listing(_: &ToolParts<'_>) -> ToolListing {
        Self::FACTS.listing
    }
}

/// The parts from which tools are built.
pub(crate) struct ToolParts<'a> {
    pub(crate) project: Project,
    pub(crate) environment: ProcessEnvironment,
    pub(crate) options: &'a Options<'a>,
    net: Option<WebClient>,
}

const fn declare<T: BuiltIn>() -> ToolDeclaration {
    ToolDeclaration {
        name: T::NAME,
        aliases: T::ALIASES,
        facts: T::FACTS,
        build: T::build,
        listing: T::listing,
    }
}

/// A tool that needs the finished registry.
const fn added_last(name: &'static str, facts: ToolFacts) -> ToolDeclaration {
    ToolDeclaration {
        name,
        aliases: &[],
        facts,
        build: |_| None,
        listing: |_| ToolListing::Listed,
    }
}

impl ToolParts<'_> {
    /// The configuration of the web tools, and the HTTP client.
    pub(crate) fn web(&self) -> Option<(&WebOptions, WebClient)> {
        self.options.web.as_ref().zip(self.net.clone())
    }

    /// The storage of notes.
    pub(crate) fn notebook(&self) -> NoteStore {
        NoteStore::new(self.options.data.clone(), self.project.workspace.root())
    }

    /// The data sources of panels.
    pub(crate) fn panel_sources(&self) -> PanelSources {
        PanelSources {
            project: self.project.clone(),
            notebook: self.notebook(),
            jobs: self.options.jobs.clone(),
            environment: self.environment.clone(),
            commands: self.options.commands.clone(),
            code: self.options.code_server.clone(),
            code_index: self.options.code_index.clone(),
            skills: self.options.skills.clone(),
            modes: self.options.modes.clone(),
        }
    }
}

/// The facts about a built-in tool, by name or alias.
pub fn facts(name: &str) -> Option<ToolFacts> {
    let declared = TOOLS.iter().find(|tool| tool.name == name);
    let declared = declared.or_else(|| TOOLS.iter().find(|tool| tool.names().any(|known| known == name)));
    declared.map(|tool| tool.facts)
}

/// The names of the built-in tools in a set.
pub fn names_in(set: ToolSet) -> Vec<&'static str> {
    let members = TOOLS.iter().filter(|tool| tool.facts.sets.contains(&set));
    members.map(|tool| tool.name).collect()
}

/// The names and aliases of the built-in tools in a set.
pub fn all_names_in(set: ToolSet) -> Vec<&'static str> {
    let members = TOOLS.iter().filter(|tool| tool.facts.sets.contains(&set));
    members.flat_map(ToolDeclaration::names).collect()
}

/// Builds the registry of all tools for a project and a model. `environment` is the environment of commands.
///
/// A listed tool costs tokens in every request. The model finds deferred tools with `find_tools` and calls them with `call_tool`.
pub fn build_registry(workspace: Workspace, environment: ProcessEnvironment, mut options: Options<'_>) -> Registry {
    let mut project = Project::new(workspace, Spill::at(options.spill.take()), options.caller);
    if options.edit_format() == Some(edit::EditFormat::Anchors) {
        project.marks = LineMarks::Anchors;
    }
    project.reads = options.reads.clone().of(options.caller);
    project.restore_reads(&options.read_files, &options.known_versions);
    let web = options.web.as_ref();
    let parts = ToolParts {
        net: web.map(|web| WebClient::new(&web.allow_private, web.proxies.clone())),
        project,
        environment,
        options: &options,
    };
    let mut tools = Registry::default();
    for declaration in TOOLS {
        let Some(tool) = (declaration.build)(&parts) else {
            continue;
        };
        match (declaration.listing)(&parts) {
            ToolListing::Listed => tools.add(tool),
            ToolListing::Deferred => tools.add_deferred(tool),
        }
    }
    let project = parts.project;
    for tool in std::mem::take(&mut options.external) {
        tools.add_deferred(with_checkpoints(tool, options.checkpoints.as_ref()));
    }
    if let Some(dynamic) = options.dynamic.take() {
        add_dynamic_tools(&mut tools, dynamic, &project, &mut options);
    }
    finish(tools, &project, &options)
}

/// Adds dynamic tools. They cannot take the name of a built-in tool.
fn add_dynamic_tools(
    tools: &mut Registry,
    dynamic: Arc<dyn DynamicTools>,
    project: &Project,
    options: &mut Options<'_>,
) {
    let dynamic = Arc::new(WrappedDynamicTools {
        tools: dynamic,
        checkpoints: options.checkpoints.clone(),
        spill: project.spill.clone(),
        secrets: Arc::clone(&options.secrets),
        root: project.title_root(),
    });
    let own = tools.iter().map(|tool| (&tool.spec().name, tool.aliases()));
    let mut taken: BTreeSet<String> = own
        .flat_map(|(name, aliases)| aliases.iter().map(|alias| (*alias).to_owned()).chain([name.clone()]))
        .collect();
    taken.extend([call_tool::NAME, find_tools::NAME].map(str::to_owned));
    for tool in dynamic.reserve_names(&taken) {
        options.enabled.push(tool.spec().name.clone());
        tools.add_deferred(tool);
    }
    tools.set_dynamic(dynamic);
}

/// Wraps the tools in middleware, applies model profiles and the configuration, and adds the tools that find deferred ones.
fn finish(tools: Registry, project: &Project, options: &Options<'_>) -> Registry {
    let mut tools = tools.map(|tool| {
        let tool = match &options.code_server {
            Some(server) => WithDiagnostics::wrap(tool, server),
            None => tool,
        };
        let (spill, secrets) = (project.spill.clone(), Arc::clone(&options.secrets));
        let root = project.title_root();
        wrap(tool, OutputCapped { spill, secrets, root })
    });
    tools.add(Arc::new(call_tool::CallTool::new()));
    tools.add(Arc::new(FindToolsTool::of(&tools)));
    peer_aliases::register_peer_aliases(&mut tools);
    let mut tools = model_profiles::apply_profiles(tools, options);
    if !find_tools::are_needed(&tools) {
        tools.remove(call_tool::NAME);
        tools.remove(find_tools::NAME);
    } else if tools.get(find_tools::NAME).is_some() {
        // The set of deferred tools is final only now.
        tools.add(Arc::new(FindToolsTool::of(&tools)));
    }
    tools
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_consistent() {
        for tool in TOOLS {
            let same = TOOLS.iter().filter(|other| other.name == tool.name).count();
            assert_eq!(same, 1, "{}", tool.name);
            let cap = tool.facts.cap;
            assert!(
                cap.bytes <= cap.result && cap.result <= 256 * 1024,
                "{}: {cap:?}",
                tool.name
            );
        }
        assert!(facts("something new").is_none());
        assert_eq!(facts("view").map(|facts| facts.kind), Some(tool::ToolKind::Read));
    }
}
