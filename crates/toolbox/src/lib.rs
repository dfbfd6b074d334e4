//! The tools we ship, one file each.
//!
//! To add a tool, write its file beside the others and add one line to its group below [`fitted`]. The doc comments of its input are what
//! the model reads, and every request pays for them: say what a model would otherwise get wrong, and nothing else.

mod apply;
mod apply_patch;
mod around;
mod ask_question;
mod attempt_completion;
mod background;
mod bounded;
mod browser;
mod browser_action;
mod call_tool;
mod caps;
mod checked;
mod code_action;
mod code_definitions;
mod code_server;
mod command;
mod copy_path;
mod covered;
mod create_directory;
mod definition;
mod delete_path;
mod diagnostics;
mod download;
mod edit_file;
mod editor;
mod fetch;
mod find_path;
mod find_tools;
mod fit;
mod fold;
mod format_file;
mod generate_image;
mod grep;
mod hosted;
mod hover;
mod insert;
mod job_kill;
mod job_list;
mod job_output;
mod jobs;
mod learned;
mod list_directory;
mod memory;
mod move_path;
mod new_task;
mod notebook;
mod now;
mod offered;
mod open;
mod panels;
mod paths;
mod preview;
mod project;
mod read_file;
mod reads;
mod references;
mod remind;
mod rename_symbol;
mod rewriting;
mod scratchpad;
mod search_agent;
mod seeds;
mod shell;
mod shown;
mod skill;
mod sourcegraph;
mod spill;
mod switch_mode;
mod symbols;
mod terminal;
mod text;
mod thinking;
mod todo;
mod told;
mod transaction;
mod transcript;
mod watch;
mod web;
mod web_search;
mod with_agents;
mod write_file;

pub use apply::{Carry, NotApplied, apply};
pub use background::{Background, BackgroundJob};
pub use code_server::{CodeServer, Diagnostic, Remedy, Rewrite, Severity, Spot, Symbol, Watch};
pub use command::Commands;
pub use editor::Editor;
pub use jobs::{Jobs, JobsView};
pub use learned::Learned;
pub use panels::{PANELS, Panels, USUAL_PANELS};
pub use reads::Caller;
pub use seeds::{Answer, SEEDS, Seed, otherwise};
pub use web::{Allowed, Chromium, Engine, NoHost, Proxies, ProxyFor, Search, Sourcegraph, Web};

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use around::around;
use bounded::Bounded;
use checked::Checked;
use editor::EditAgent;
use find_tools::FindTools;
use hosted::{Hosted, covered};
use notebook::Notebook;
use offered::Offered;
use project::Project;
use sandbox::Environment;
use skill::Skills;
use spill::Spill;
use tool::{DynTool, Guests, Registry};
use web::Net;
use workspace::Workspace;
use workspace::checkpoint::Checkpoints;

/// What the tools are fitted to.
#[derive(Default)]
pub struct Options<'a> {
    /// The name of the model that will call them: it is offered the edit tool that its family writes best.
    pub model: Option<&'a str>,
    /// How many tokens that model takes and gives in all; 0 where nobody knows.
    pub window: Option<u64>,
    /// Whether that model thinks before it answers.
    pub reasoning: bool,
    /// Writes edits that the model only describes.
    pub editor: Option<Editor>,
    /// Who calls them.
    pub caller: Caller,
    /// Files that the model has read or written before, as it named them, and when: a session that goes on knows them.
    pub seen: Vec<(PathBuf, SystemTime)>,
    /// The folder for answers that are too long for the model, one for each session. Without it they are only cut.
    pub spill: Option<PathBuf>,
    /// Notes what commands change, so that it can be taken back.
    pub checkpoints: Option<Checkpoints>,
    /// Tools that the model is told of, although it would have to look for them or is not to have them.
    pub enabled: Vec<String>,
    /// Tools that nobody is to have.
    pub disabled: Vec<String>,
    /// Answers questions about code before the code is read for an answer.
    pub code: Option<Arc<dyn CodeServer>>,
    /// hew's data folder, where the model keeps notes; without it there are none.
    pub data: Option<PathBuf>,
    /// Folders with skills, a later one in place of an earlier one of the same name.
    pub skills: Vec<PathBuf>,
    /// Further tools that the model has to look for, such as those of other programs.
    pub further: Vec<Arc<dyn DynTool>>,
    /// Tools that come and go, such as those of MCP servers.
    pub guests: Option<Arc<dyn Guests>>,
    /// The names of the modes that can be gone on in; without any, the mode stays.
    pub modes: Vec<String>,
    /// Other agents that work can be handed to, by name.
    pub agents: Vec<String>,
    /// How commands are run.
    pub commands: Commands,
    /// What is shown beside the conversation; without it the model cannot open anything there.
    pub panels: Option<Panels>,
    /// The commands in the background; they end when nobody holds these any more.
    pub jobs: Jobs,
    /// Makes pictures; without it there are none.
    pub painter: Option<providers::Painter>,
    /// How the web is reached; without it, not at all.
    pub web: Option<Web>,
}

/// Every tool we ship, at work in this project and fitted to a model. The environment is what commands see.
///
/// A tool that most tasks need is listed, with `with`: every request pays for it. All others are put in with
/// `with_deferred`: the model finds them with `find_tools` and calls them through `call_tool`.
pub fn fitted(workspace: Workspace, environment: Environment, mut options: Options<'_>) -> Registry {
    let project = Project::new(workspace, Spill::at(options.spill.take()), options.caller);
    project.recall(&options.seen);
    let mut tools = Registry::default();
    tools = files(tools, &project, &environment);
    tools = edits(tools, &project, &mut options);
    let code = options.code.clone();
    tools = search(tools, &project, &environment, &mut options);
    let jobs = options.jobs.clone();
    if let Some(panels) = options.panels.take() {
        panels.look_at(sources(&project, &environment, &jobs, code, &options));
        tools = tools.with_deferred(panels::PanelTool(panels));
    }
    tools = commands(tools, &project, environment.clone(), &options, jobs);
    tools = helpers(tools, &options.agents);
    tools = mind(tools, &project, &options);
    tools = later(tools, &project, environment.clone(), &options.commands);
    if !options.modes.is_empty() {
        tools = tools.with(switch_mode::SwitchMode(std::mem::take(&mut options.modes)));
    }
    if let Some(painter) = options.painter.take() {
        let project = project.clone();
        tools = tools.with_deferred(generate_image::GenerateImage { project, painter });
    }
    if let Some(web) = options.web.take() {
        tools = online(tools, &project, environment, web, options.data.as_deref());
    }
    // These do not know themselves what they change.
    if let Some(terminal) = tools.get("terminal").cloned() {
        tools.add(covered(terminal, options.checkpoints.as_ref()));
    }
    for tool in std::mem::take(&mut options.further) {
        tools.add_deferred(covered(tool, options.checkpoints.as_ref()));
    }
    if let Some(guests) = options.guests.take() {
        receive(&mut tools, guests, &project, &mut options);
    }
    finish(tools, &project, &options)
}

/// What panels look at.
fn sources(
    project: &Project,
    environment: &Environment,
    jobs: &Jobs,
    code: Option<Arc<dyn CodeServer>>,
    options: &Options<'_>,
) -> panels::Sources {
    panels::Sources {
        project: project.clone(),
        notebook: Notebook::new(options.data.clone(), project.workspace.root()),
        jobs: jobs.clone(),
        environment: environment.clone(),
        commands: options.commands.clone(),
        code,
        skills: options.skills.clone(),
        modes: options.modes.clone(),
    }
}

/// Guests take their seats: our own tools keep their names.
fn receive(tools: &mut Registry, guests: Arc<dyn Guests>, project: &Project, options: &mut Options<'_>) {
    let guests = Arc::new(Hosted {
        guests,
        checkpoints: options.checkpoints.clone(),
        spill: project.spill.clone(),
    });
    let own = tools.iter().map(|tool| (&tool.spec().name, tool.aliases()));
    let mut taken: BTreeSet<String> = own
        .flat_map(|(name, aliases)| aliases.iter().map(|alias| (*alias).to_owned()).chain([name.clone()]))
        .collect();
    taken.extend([call_tool::NAME, find_tools::NAME].map(str::to_owned));
    for tool in guests.seat(&taken) {
        options.enabled.push(tool.spec().name.clone());
        tools.add_deferred(tool);
    }
    tools.receive(guests);
}

/// Files and folders.
fn files(tools: Registry, project: &Project, environment: &Environment) -> Registry {
    tools
        .with_deferred(copy_path::CopyPath(project.clone()))
        .with_deferred(create_directory::CreateDirectory(project.clone()))
        .with_deferred(delete_path::DeletePath(project.clone()))
        .with_deferred(move_path::MovePath(project.clone()))
        .with_deferred(open::Open(project.clone(), environment.clone()))
        .with(list_directory::ListDirectory(project.clone()))
        .with(read_file::ReadFile(project.clone()))
        .with(write_file::WriteFile(project.clone()))
}

/// Changes to files.
fn edits(mut tools: Registry, project: &Project, options: &mut Options<'_>) -> Registry {
    let agent = options
        .editor
        .take()
        .map(|editor| EditAgent::new(project.clone(), editor));
    if let Some(edits) = Offered::new(project, options.model, agent) {
        tools.add(Arc::new(edits));
    }
    tools
}

/// What reaches out to the web.
fn online(
    tools: Registry,
    project: &Project,
    environment: Environment,
    web: Web,
    data: Option<&std::path::Path>,
) -> Registry {
    let net = Net::new(&web.allow_private, web.proxies);
    let mut tools = tools
        .with_deferred(fetch::Fetch::new(net.clone(), web.max_page))
        .with_deferred(download::Download {
            project: project.clone(),
            net: net.clone(),
            most: web.max_download,
        });
    if let Some(search) = web.search.and_then(|search| web_search::WebSearch::new(search, &net)) {
        tools = tools.with_deferred(search);
    }
    if let Some(code) = web
        .sourcegraph
        .and_then(|instance| sourcegraph::Sourcegraph::new(instance, &net))
    {
        tools = tools.with_deferred(code);
    }
    if let Some(chromium) = web.browser {
        tools = tools.with_deferred(browser_action::BrowserAction {
            chromium,
            cwd: project.workspace.root().to_owned(),
            environment,
            home: data.map(|data| data.join("browser")),
            net,
            tab: tokio::sync::Mutex::default(),
        });
    }
    tools
}

/// Finding things.
fn search(tools: Registry, project: &Project, environment: &Environment, options: &mut Options<'_>) -> Registry {
    let code = options.code.clone();
    let tools = match &code {
        None => tools,
        Some(server) => tools
            .with_deferred(code_action::CodeAction(project.clone(), server.clone()))
            .with_deferred(format_file::FormatFile(project.clone(), server.clone()))
            .with_deferred(hover::Hover(project.clone(), server.clone()))
            .with_deferred(rename_symbol::RenameSymbol(project.clone(), server.clone())),
    };
    tools
        .with(find_path::FindPath(project.clone()))
        .with(grep::Grep(project.clone()))
        .with_deferred(code_definitions::CodeDefinitions(project.clone()))
        .with_deferred(definition::Definition(project.clone(), code.clone()))
        .with_deferred(references::References(project.clone(), code.clone()))
        .with_deferred(diagnostics::Diagnostics {
            project: project.clone(),
            environment: environment.clone(),
            confinement: options.commands.confinement.clone(),
            server: code,
        })
}

/// Running things.
fn commands(
    tools: Registry,
    project: &Project,
    environment: Environment,
    options: &Options<'_>,
    jobs: Jobs,
) -> Registry {
    let commands = options.commands.clone();
    tools
        .with_deferred(job_kill::JobKill(jobs.clone()))
        .with_deferred(job_list::JobList(jobs.clone()))
        .with_deferred(job_output::JobOutput(jobs.clone()))
        .with(terminal::Terminal::new(project.clone(), environment, commands, jobs))
}

/// Handing work on.
fn helpers(tools: Registry, agents: &[String]) -> Registry {
    let mut tools = tools
        .with_deferred(new_task::NewTask)
        .with_deferred(search_agent::SearchAgent);
    // Whoever has configured other agents wants them to be used.
    if !agents.is_empty()
        && let Some(tool) = tools.remove("new_task")
    {
        tools.add(with_agents::with_agents(tool, agents));
    }
    tools
}

/// Thinking, keeping track and asking.
fn mind(mut tools: Registry, project: &Project, options: &Options<'_>) -> Registry {
    let notebook = Notebook::new(options.data.clone(), project.workspace.root());
    if let Some(skills) = Skills::in_folders(&options.skills, &project.workspace) {
        tools.add(Arc::new(skills));
    }
    tools
        .with(todo::TodoList)
        .with_deferred(ask_question::AskQuestion)
        .with_deferred(attempt_completion::AttemptCompletion)
        .with_deferred(memory::Memory(notebook.clone()))
        .with_deferred(now::Now)
        .with_deferred(scratchpad::Scratchpad(notebook))
        .with_deferred(thinking::Thinking)
}

/// What comes back to the model later.
fn later(tools: Registry, project: &Project, environment: Environment, commands: &Commands) -> Registry {
    tools
        .with_deferred(remind::Remind {
            notices: commands.notices.clone(),
            due: Default::default(),
        })
        .with_deferred(watch::Watch {
            project: project.clone(),
            environment,
            commands: commands.clone(),
            watched: Default::default(),
        })
}

/// Bounds what the tools say, leaves out what this model is not to have, and makes the others findable.
fn finish(tools: Registry, project: &Project, options: &Options<'_>) -> Registry {
    let mut tools = tools.map(|tool| {
        let tool = match &options.code {
            Some(server) => Checked::around(tool, server),
            None => tool,
        };
        around(tool, Bounded(project.spill.clone()))
    });
    tools.add(Arc::new(call_tool::CallTool::new()));
    tools.add(Arc::new(FindTools::of(&tools)));
    seeds::name(&mut tools);
    let mut fitted = fit::fit(tools, options);
    if fitted.deferred().next().is_none() {
        fitted.remove(call_tool::NAME);
        fitted.remove(find_tools::NAME);
    } else if fitted.get(find_tools::NAME).is_some() {
        // Only now it is known which tools there are to be found.
        fitted.add(Arc::new(FindTools::of(&fitted)));
    }
    fitted
}
