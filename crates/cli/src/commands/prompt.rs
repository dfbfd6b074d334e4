//! `hew prompt`: shows the system prompt and the tools.

use super::{load, load_for};
use crate::args::{GlobalArgs, PromptShowArgs, PromptSubcommand as Args};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::Result;
use crate::models::ModelRegistry;
use crate::{output, project};
use analysis::FirstRequest;
use analysis::requests::{RequestDifference, RequestSections, SessionRequests};
use prompt::SystemPromptInput;
use toolbox::JobRegistryView;

pub(super) async fn prompt(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    match args {
        Args::Show(args) => match &args.request {
            Some(request) => show_request(request, args.json, global, env).await?,
            None => show(args, global, env).await?,
        },
        Args::Explain(args) => {
            let session = requests(args.request.as_deref(), global, env).await?;
            let sections = RequestSections::load(&session).await;
            output::print_checked(&match args.json {
                true => output::pretty(&sections.json())?,
                false => sections.text(),
            })?;
        }
        Args::Diff(args) => {
            // Compares the first with the second; a single request is compared with the previous one.
            let (from, to) = match &args.to {
                Some(to) => (args.request.as_deref(), Some(to.as_str())),
                None => (None, args.request.as_deref()),
            };
            let to = requests(to, global, env).await?;
            let from = match from {
                Some(from) => Some(requests(Some(from), global, env).await?),
                None => None,
            };
            let difference = RequestDifference::load(from.as_ref(), &to).await?;
            output::print_checked(&match args.json {
                true => output::pretty(&difference.json())?,
                false => difference.text(),
            })?;
        }
    }
    Ok(ExitStatus::Done)
}

/// The recorded requests of `SESSION[:REQUEST]`.
async fn requests(named: Option<&str>, global: &GlobalArgs, env: &ProcessEnv) -> Result<SessionRequests> {
    let store = host::sessions::open_store(env)?;
    SessionRequests::open(named, store, &project::root(global.cwd.as_deref(), env)?).await
}

/// Prints a recorded request as text, or the exact body that was sent.
async fn show_request(named: &str, json: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<()> {
    let session = requests(Some(named), global, env).await?;
    if !json {
        return output::print_checked(&session.text().await?);
    }
    let request = session.rebuild().await?;
    let root = host::sessions::existing_root(session.project())?;
    let loaded = load_for(root, global, env, Vec::new())?;
    let models = ModelRegistry::new(&loaded.config, env);
    let info = models.find(session.model())?;
    let (body, _) = providers::render_body(&request, &info, &models.body_settings(&info)?);
    output::print_checked(&format!("{}\n", String::from_utf8_lossy(&body)))
}

/// The first request of a new session.
async fn show(args: &PromptShowArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<()> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let config = &loaded.config;
    let models = ModelRegistry::new(config, env);
    let info = match &args.model {
        Some(name) => models.find_served(name).await?,
        None => models.main_model().await?.info,
    };
    let found = host::project_context::load_modes(&root, loaded.trust, env);
    let mode = args.mode.as_deref().unwrap_or(&config.mode);
    let mode = found.choose(mode, &[])?;
    let (permissions, _) = host::permissions::load(&loaded.layers, loaded.trust, &root, env);
    let tools = host::tools::session_tools(config, env, &root, &info, &permissions, &found.modes).await?;
    let workspace = host::project_context::open_workspace(&root, &permissions)?;
    let context =
        host::project_context::project_context(config, loaded.trust, &workspace, JobRegistryView::default(), env);
    let own: Vec<_> = tools.deferred().collect();
    let further: Vec<&str> = own.iter().map(|tool| tool.spec().name.as_str()).collect();
    let listed = tools.specs();
    let scene = SystemPromptInput {
        mode: &mode,
        model: &info,
        listed: &listed,
        deferred: &further,
    };
    let place = host::mcp_servers::McpContext {
        config,
        layers: &loaded.layers,
        root: &root,
        trust: loaded.trust,
        env,
        extra: &[],
        confinement: None,
    };
    let servers = host::mcp_servers::definitions(place)
        .0
        .into_iter()
        .filter(|it| !it.disabled);
    let servers: Vec<String> = servers.map(|server| server.name).collect();
    let rendered = host::system_prompt::preview(&scene, &context, &workspace, &found.modes, servers, loaded.trust, env);
    for problem in &rendered.problems {
        output::print_stderr(&format!("warning: {problem}\n"));
    }
    let request = FirstRequest::new(&rendered, &scene);
    match args.json {
        true => output::print_checked(&output::pretty(&request.json())?)?,
        false => {
            output::print_checked(&request.text())?;
            output::print_stderr(&request.summary());
        }
    }
    Ok(())
}
