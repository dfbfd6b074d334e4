//! Introduces everybody to everybody: configuration, models, tools and store become a running session.

pub(crate) mod acp;
pub(crate) mod agents;
mod around;
pub(crate) mod code;
pub(crate) mod commands;
pub(crate) mod formats;
mod images;
mod instructions;
pub(crate) mod library;
pub(crate) mod mcp;
pub(crate) mod modes;
mod panels;
pub(crate) mod permissions;
mod roots;
mod rules;
mod seen;
pub(crate) mod shelves;
mod slash;
pub(crate) mod sound;
mod source;
pub(crate) mod spill;
pub(crate) mod system;
pub(crate) mod tui;
pub(crate) mod usual;
mod web;

use crate::config::{Autonomy, Config, Delegation, Layer, Limits, Origin, Permission};
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::grants::GrantFile;
use crate::hooks;
use crate::log;
use crate::models::Models;
use crate::output::words;
use crate::places;
use crate::trust::Trust;
use agent::{Approvals, Automatic, Compaction, Handle, Previews, Setup};
use around::Around;
use formats::EditFormats;
use model::{Info, Model, OutputSchema, Part, Stop};
use policy::{Mode, Modes, Policy};
use prompt::Call;
use providers::{Painter, Settings};
use session::{Body, End, Item, Lease, Loaded, New, SessionId, Store, Totals};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::Sqlite;
use tool::Notices;
use toolbox::{Background, Editor, Jobs, JobsView, Options};
use workspace::Workspace;
use workspace::checkpoint::{Checkpoints, Depot};

/// The first delay before a failed request is sent again.
const BACKOFF: Duration = Duration::from_secs(2);
/// What `edit_model` says for the main model.
const SAME: &str = "same";

/// What a session is started with.
pub(crate) struct Start<'a> {
    /// The configuration in force.
    pub(crate) config: &'a Config,
    /// The environment.
    pub(crate) env: &'a Environment,
    /// The project's folder, canonical.
    pub(crate) root: &'a Path,
    /// Where sessions are kept.
    pub(crate) store: Arc<Sqlite>,
    /// Which session.
    pub(crate) which: Which,
    /// Whether there is anybody to ask.
    pub(crate) approvals: Approvals,
    /// Whether changes are shown while they are written.
    pub(crate) previews: Previews,
    /// The JSON schema that the answer must follow.
    pub(crate) output_schema: Option<OutputSchema>,
    /// The layers of the configuration, for what is judged by who said it.
    pub(crate) layers: &'a [Layer],
    /// Whether the person trusts the project.
    pub(crate) trust: Trust,
    /// The only files that may be changed, where they are fixed.
    pub(crate) files: &'a [PathBuf],
    /// How the model was chosen.
    pub(crate) model: Choice,
    /// What an editor brings along.
    pub(crate) client: acp::Client,
}

/// How a model was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// For this run: no mode changes it.
    Asked,
    /// By the configuration: a mode may have one of its own.
    Configured,
}

/// Which session is started.
pub(crate) enum Which {
    /// A new one.
    New,
    /// One that exists.
    Existing(SessionId),
}

/// A session that runs.
pub(crate) struct Started {
    /// Takes commands and tells events.
    pub(crate) handle: Handle,
    /// Names it.
    pub(crate) id: SessionId,
    /// The model, as `provider/id`.
    pub(crate) model: String,
    /// The way of working.
    pub(crate) mode: String,
    /// What is allowed without asking.
    pub(crate) permission: Permission,
    /// What it had cost before.
    pub(crate) totals: Totals,
    /// Whether the model had said all it wanted to say.
    pub(crate) complete: bool,
    /// The right to write to it, held until the end.
    pub(crate) lease: Lease,
    /// Whether the agent may go on by itself.
    pub(crate) autonomous: bool,
    /// What is learned about edits, to be saved at the end.
    pub(crate) formats: Option<EditFormats>,
    /// Where versions of files are kept.
    pub(crate) depot: Depot,
    /// Its commands in the background.
    pub(crate) background: Background,
    /// What is wrong with rules, modes and ignore files, for the person.
    pub(crate) told: Vec<String>,
    /// The MCP servers, where some are defined; their prompts are slash commands.
    pub(crate) servers: Option<::mcp::Servers>,
    /// The language servers, where the folder is trusted.
    pub(crate) code: Option<lsp::Servers>,
}

/// Opens the session database.
pub(crate) fn open_store(env: &Environment) -> Result<Arc<Sqlite>> {
    Ok(Arc::new(Sqlite::open(&places::data(env)?)?))
}

/// Starts a session.
pub(crate) async fn start(start: Start<'_>) -> Result<Started> {
    let Start { config, env, root, .. } = start;
    // Where the system does not offer it, the sandbox still keeps keys from commands.
    drop(sandbox::harden());
    let models = Models::new(config, env);
    let Connected {
        main,
        small,
        edit,
        summary,
        painter,
    } = connect(&models, config).await?;
    let name = main.info().name();
    let opened = open(&start, &name).await?;
    let (layers, gone) = roots::with_kept(start.layers, &opened.roots);
    let found = modes::find(root, start.trust, env);
    let (mode, all_modes) = choose_mode(&start, &found, &opened.items)?;
    let (mut permissions, mut told) = permissions::permissions(&layers, start.trust, root, env);
    told.extend(gone);
    told.extend(found.problems.iter().cloned());
    let profile = profile(config)?;
    let permission = config.permission.unwrap_or(Permission::Workspace);
    let (further, problems) = roots::find(root, &layers, env);
    if let Some(wrong) = problems.into_iter().next() {
        return Err(Failure::usage(wrong).hint("check --add-dir, and `roots` in your configuration"));
    }
    if further != opened.roots {
        drop(start.store.set_roots(opened.id, further));
    }
    let workspace = start.client.shows(open_workspace(root, &permissions)?);
    let jobs = Jobs::default();
    let background = Background::from(jobs.view());
    let around = around(config, start.trust, &workspace, jobs.view(), env);
    told.extend(around.ground().unread());
    let complete = is_complete(&opened.items) && opened.waiting.is_empty();
    let formats = edit.as_ref().map(|_| EditFormats::load(env)).transpose()?;
    let notices = Notices::channel();
    let place = mcp::Place {
        config,
        layers: start.layers,
        root,
        trust: start.trust,
        env,
        further: &start.client.mcp,
    };
    let code = code::servers(config, start.trust, &workspace, commands::environment(config, env));
    let (servers, problems) = mcp::servers(place, notices.0.clone(), Some(Arc::clone(&main)), profile.clone())?;
    told.extend(problems);
    let named = mcp::names(servers.as_ref());
    let system = system::system(&around, &workspace, &all_modes, named, start.trust, env);
    Arc::make_mut(&mut permissions.rules).extend(mcp::rules(servers.as_ref()));
    let depot = start.store.files().limited(room(&config.checkpoints));
    let checkpoints = match config.checkpoints.commands {
        Some(false) => None,
        Some(true) | None => Some(Checkpoints::new(workspace.root(), depot.clone()).hiding_as(&workspace)),
    };
    let (mut commands, problems) = commands::commands(config, env, &workspace, &permissions, notices.0.clone());
    told.extend(problems);
    commands.terminals = start.client.terminals();
    let confinement = commands.confinement.clone();
    let (helpers, problems) = agents::agents(config, env, root, &workspace, confinement);
    told.extend(problems);
    let beside = toolbox::Panels::default();
    let options = Options {
        caller: toolbox::Caller::Model,
        model: Some(&name),
        editor: edit.zip(formats.as_ref()).map(|(model, formats)| Editor {
            model,
            learned: formats.learned.clone(),
        }),
        seen: seen::files(&opened.items),
        window: Some(main.info().limits.window),
        reasoning: main.info().features.reasoning,
        spill: Some(spill::folder(env, opened.id)?),
        checkpoints,
        enabled: config.tools.enabled.clone(),
        disabled: config.tools.disabled.clone(),
        code: code.clone().map(|servers| code::asked(servers, &workspace)),
        data: Some(places::data(env)?),
        skills: places::skills(root, env),
        further: Vec::new(),
        guests: servers
            .clone()
            .map(|servers| Arc::new(servers) as Arc<dyn tool::Guests>),
        commands,
        jobs,
        painter,
        web: web::web(config, env),
        modes: all_modes.iter().map(|mode| mode.name.clone()).collect(),
        agents: helpers.as_ref().map(::acp::Agents::names).unwrap_or_default(),
        panels: Some(beside.clone()),
    };
    let tools = toolbox::fitted(workspace, commands::environment(config, env), options);
    let tools = match profile {
        // Those of MCP servers have been chosen already, by server.
        Some(profile) => tools.only(move |tool| tool.source().is_some() || profile.offers(&tool.spec().name)),
        None => tools,
    };
    told.extend(panels::open(&beside, config.panels.as_deref()));
    let environment = commands::environment(config, env);
    let setup = Setup {
        session: opened.id,
        root: root.into(),
        items: opened.items,
        totals: opened.totals,
        waiting: opened.waiting,
        title: opened.title,
        model: main,
        small,
        models: model_source(config.clone(), env.clone()),
        tools,
        policy: Policy {
            level: permission.into(),
            permissions,
        },
        mode: mode.clone(),
        modes: all_modes,
        keeper: Some(Arc::new(GrantFile::open(root, env)?)),
        hooks: hooks::hooks(
            permissions::hooks(start.layers),
            root,
            environment,
            places::data(env)?.join("hooks"),
        ),
        approvals: start.approvals,
        store: start.store,
        system,
        surroundings: around,
        limits: limits(&config.limits),
        compaction: Compaction {
            automatic: match config.compact {
                Some(false) => Automatic::Off,
                Some(true) | None => Automatic::On,
            },
            threshold: config.max_context.map(u64::from),
            model: summary,
            ..Compaction::default()
        },
        panels: Arc::new(beside),
        call: Call {
            effort: config.effort.map(Into::into),
            temperature: config.temperature,
            max_output: config.max_output,
            output_schema: start.output_schema,
            options: serde_json::Map::new(),
        },
        previews: start.previews,
        backoff: BACKOFF,
        clock: words::now,
        delegation: delegation(&config.delegation),
        agents: helpers.map(|helpers| Arc::new(agents::Source(helpers)) as Arc<dyn agent::Agents>),
        autonomy: autonomy(&config.autonomy),
        notices,
    };
    if let Some(servers) = &servers {
        mcp::start(servers, place);
    }
    let mut handle = agent::start(setup);
    handle.events = log::passing(&opened.id.to_string(), handle.events);
    Ok(Started {
        handle,
        id: opened.id,
        model: name,
        mode: mode.name,
        permission,
        totals: opened.totals,
        complete,
        lease: opened.lease,
        autonomous: config.autonomy.enabled == Some(true),
        formats,
        depot,
        background,
        told,
        servers,
        code,
    })
}

/// The tools that a model gets in a session, without one.
pub(crate) async fn tools_for(
    config: &Config,
    env: &Environment,
    root: &Path,
    info: &Info,
    permissions: &policy::Permissions,
    modes: &Modes,
) -> Result<tool::Registry> {
    let tools = tools_by_hand(config, env, root, Some(info), permissions, modes).await?;
    Ok(match profile(config)? {
        Some(profile) => tools.only(move |tool| profile.offers(&tool.spec().name)),
        None => tools,
    })
}

/// The tools that a model gets, for a person: they belong to no session.
pub(crate) async fn tools_by_hand(
    config: &Config,
    env: &Environment,
    root: &Path,
    info: Option<&Info>,
    permissions: &policy::Permissions,
    modes: &Modes,
) -> Result<tool::Registry> {
    let workspace = open_workspace(root, permissions)?;
    let name = info.map(Info::name);
    let models = Models::new(config, env);
    let painter = match info.map(|info| (info, models.settings_at_hand(info))) {
        Some((info, Ok(settings))) => images::painter(&models, config, info, &settings).await?,
        Some((_, Err(_))) | None => None,
    };
    let options = Options {
        model: name.as_deref(),
        window: info.map(|info| info.limits.window),
        reasoning: info.is_some_and(|info| info.features.reasoning),
        enabled: config.tools.enabled.clone(),
        disabled: config.tools.disabled.clone(),
        commands: commands::commands(config, env, &workspace, permissions, Notices::none()).0,
        painter,
        web: web::web(config, env),
        data: Some(places::data(env)?),
        skills: places::skills(root, env),
        modes: modes.iter().map(|mode| mode.name.clone()).collect(),
        panels: Some(toolbox::Panels::default()),
        caller: toolbox::Caller::Person,
        ..Options::default()
    };
    Ok(toolbox::fitted(workspace, commands::environment(config, env), options))
}

/// The mode to work in: the one that was asked for, else the one in which the session was, else the configured one.
fn choose_mode(start: &Start<'_>, found: &modes::Found, items: &[Arc<Item>]) -> Result<(Mode, Modes)> {
    let mut all = found.modes.clone();
    if start.model == Choice::Asked {
        let plain = all.iter().cloned().map(|mode| Mode { model: None, ..mode });
        let plain: Vec<Mode> = plain.collect();
        all.add(plain);
    }
    let asked = start
        .layers
        .iter()
        .any(|layer| matches!(layer.origin, Origin::Flag(_) | Origin::Variable(_)) && layer.table.contains_key("mode"));
    let was = items.iter().rev().find_map(|item| match &item.body {
        Body::Mode { name, files } => Some((name.as_str(), files.as_slice())),
        _ => None,
    });
    let was = match start.which {
        Which::Existing(_) if !asked => Some(was.unwrap_or(("code", &[]))),
        Which::Existing(_) | Which::New => None,
    };
    let configured = start.config.mode.as_deref().unwrap_or("code");
    let (name, files) = match (was, start.files.is_empty()) {
        (Some((name, files)), true) => (name, files),
        (Some((name, _)), false) => (name, start.files),
        (None, _) if !start.files.is_empty() && !asked => ("edit", start.files),
        (None, _) => (configured, start.files),
    };
    let found = modes::Found {
        modes: all.clone(),
        ..found.clone()
    };
    Ok((found.choose(name, files)?, all))
}

/// The project with all its folders, without what ignore files hide.
pub(crate) fn open_workspace(root: &Path, permissions: &policy::Permissions) -> Result<Workspace> {
    let opened = Workspace::open(root).and_then(|workspace| workspace.with(&permissions.places.more));
    let workspace = opened.map_err(|error| Failure::usage(error.to_string()))?;
    Ok(hiding(workspace, permissions))
}

/// What surrounds a session.
pub(crate) fn around(
    config: &Config,
    trust: Trust,
    workspace: &Workspace,
    jobs: JobsView,
    env: &Environment,
) -> Arc<Around> {
    let said = around::Said {
        language: config.language.clone(),
        reminder: config.reminder.clone(),
    };
    let shelf = shelves::shelf(workspace, trust, env);
    Arc::new(Around::new(workspace, shelf, said, jobs))
}

/// The project without what ignore files hide.
fn hiding(workspace: Workspace, permissions: &policy::Permissions) -> Workspace {
    if permissions.ignore.is_empty() {
        return workspace;
    }
    let (ignore, places) = (Arc::clone(&permissions.ignore), Arc::clone(&permissions.places));
    workspace.hiding(move |path| ignore.hides(path, &places) || (path.is_dir() && ignore.hides_folder(path, &places)))
}

/// The profile in force.
fn profile(config: &Config) -> Result<Option<policy::Profile>> {
    let Some(name) = config.profile.as_deref() else {
        return Ok(None);
    };
    let reading = [
        "read_file",
        "list_directory",
        "grep",
        "find_path",
        "find_tools",
        "call_tool",
    ];
    match (config.profiles.get(name), name) {
        (Some(profile), _) => Ok(Some(profile.of(name))),
        (None, "write") => Ok(Some(policy::Profile::write())),
        (None, "ask") => Ok(Some(policy::Profile::ask(&reading))),
        (None, "minimal") => Ok(Some(policy::Profile::minimal())),
        (None, _) => {
            let own = config.profiles.keys().map(String::as_str);
            let names: Vec<&str> = ["write", "ask", "minimal"].into_iter().chain(own).collect();
            Err(Failure::usage(format!("there is no profile `{name}`"))
                .hint(format!("the profiles are {}", names.join(", "))))
        }
    }
}

/// The models of a session.
struct Connected {
    /// Does the work.
    main: Arc<dyn Model>,
    /// Does small jobs, where there is one and it is wanted.
    small: Option<Arc<dyn Model>>,
    /// Writes edits that are only described, where that is wanted.
    edit: Option<Arc<dyn Model>>,
    /// Summarises, where it is not the one that does the work.
    summary: Option<Arc<dyn Model>>,
    /// Makes images, where somebody does.
    painter: Option<Painter>,
}

async fn connect(models: &Models<'_>, config: &Config) -> Result<Connected> {
    let name = match &config.model {
        Some(name) => name.clone(),
        None => models.default_name().await?,
    };
    let info = models.find(&name)?;
    let small = match &config.small_model {
        _ if config.title == Some(false) => None,
        Some(name) => Some(models.find(name)?),
        // The provider's own small model is a convenience; where it cannot be used, a title is made without a model.
        None => models.small_name(&info).and_then(|name| models.find(&name).ok()),
    };
    let edit = match config.edit_model.as_deref() {
        Some(SAME) | None => None,
        Some(name) => Some(models.find(name)?),
    };
    let summary = match config.summary_model.as_deref() {
        Some(SAME) | None => None,
        Some(name) => Some(models.find(name)?),
    };
    let settings = models.settings(&info).await?;
    let painter = images::painter(models, config, &info, &settings).await?;
    let main = providers::connect(info, settings.clone())?;
    let small = match small {
        Some(small) => Some(connect_beside(models, small, &settings).await?),
        None => None,
    };
    let edit = match edit {
        Some(edit) => Some(connect_beside(models, edit, &settings).await?),
        None => config.edit_model.as_ref().map(|_| Arc::clone(&main)),
    };
    let summary = match summary {
        Some(summary) => Some(connect_beside(models, summary, &settings).await?),
        None => None,
    };
    Ok(Connected {
        main,
        small,
        edit,
        summary,
        painter,
    })
}

/// Connects a model beside the main one. If they have one provider, they share connections, and the key is not looked for twice.
async fn connect_beside(models: &Models<'_>, info: Info, main: &Settings) -> Result<Arc<dyn Model>> {
    if info.provider != main.provider {
        return models.connect(info).await;
    }
    let mut same = main.clone();
    same.wire = info.wire;
    same.model_options = models.model_options(&info);
    Ok(providers::connect(info, same)?)
}

struct Open {
    id: SessionId,
    items: Vec<Arc<Item>>,
    totals: Totals,
    title: Option<String>,
    waiting: Vec<session::Waiting>,
    roots: Vec<PathBuf>,
    lease: Lease,
}

async fn open(start: &Start<'_>, model: &str) -> Result<Open> {
    match start.which {
        Which::New => {
            let id = SessionId::new();
            let new = New {
                id,
                root: start.root.into(),
                model: model.into(),
                at: words::now(),
                parent: None,
            };
            Ok(Open {
                id,
                items: Vec::new(),
                totals: Totals::default(),
                title: None,
                waiting: Vec::new(),
                roots: Vec::new(),
                lease: start.store.create(new).await?,
            })
        }
        Which::Existing(id) => {
            let session::Opened { loaded, lease } = start.store.open(id).await?;
            let Loaded {
                meta,
                items,
                waiting,
                roots,
            } = loaded;
            Ok(Open {
                id,
                items,
                totals: meta.totals,
                title: meta.title,
                waiting,
                roots,
                lease,
            })
        }
    }
}

/// Whether the model has said all it wanted to say.
fn is_complete(items: &[Arc<Item>]) -> bool {
    let last = items.iter().rev().find(|item| {
        !matches!(
            item.body,
            Body::Notice { .. }
                | Body::Mode { .. }
                | Body::Todos { .. }
                | Body::Panels { .. }
                | Body::Review { .. }
                | Body::Restored { .. }
        )
    });
    match last.map(|item| &item.body) {
        Some(Body::Reply { message, end, .. }) => {
            let calls = message.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
            *end == End::Finished(Stop::End) && !calls
        }
        Some(
            Body::Prompt { .. }
            | Body::Result { .. }
            | Body::Summary { .. }
            | Body::Notice { .. }
            | Body::Wake { .. }
            | Body::Todos { .. }
            | Body::Panels { .. }
            | Body::Mode { .. }
            | Body::Review { .. }
            | Body::Restored { .. },
        ) => false,
        None => true,
    }
}

/// How much room there is for versions of files.
pub(crate) fn room(config: &crate::config::Checkpoints) -> workspace::checkpoint::Limits {
    let usual = workspace::checkpoint::Limits::default();
    workspace::checkpoint::Limits {
        quota: config.quota.map_or(usual.quota, |size| size.0),
        max_file: config.max_file.map_or(usual.max_file, |size| size.0),
    }
}

fn limits(limits: &Limits) -> agent::Limits {
    agent::Limits {
        steps: limits.steps,
        cost: limits.cost.map(model::Cost::from_usd),
        time: limits.time.map(|span| span.0),
    }
}

fn delegation(said: &Delegation) -> agent::Delegation {
    let usual = agent::Delegation::default();
    agent::Delegation {
        depth: said.depth.unwrap_or(usual.depth),
        parallel: said.parallel.map_or(usual.parallel, |count| count as usize),
    }
}

/// So often the agent goes on by itself when the person has not said how often it may.
const WAKES: u32 = 20;

fn autonomy(said: &Autonomy) -> agent::Autonomy {
    let usual = agent::Autonomy::default();
    agent::Autonomy {
        allowed: said.enabled.unwrap_or(usual.allowed),
        output_tokens: said.output_tokens.map(u64::from),
        cost: said.cost.map(model::Cost::from_usd),
        time: said.time.map(|span| span.0),
        messages: Some(said.messages.unwrap_or(WAKES)),
        retries: said.retries.unwrap_or(usual.retries),
        todos: said.todos.unwrap_or(true),
    }
}

/// Finds other models while a session runs. Only keys that are at hand count: there is nobody to wait for a program.
fn model_source(config: Config, env: Environment) -> agent::ModelSource {
    Arc::new(move |name| {
        let models = Models::new(&config, &env);
        let found = models.find(name).and_then(|info: Info| {
            let settings = models.settings_at_hand(&info)?;
            Ok(providers::connect(info, settings)?)
        });
        found.map_err(|failure| match failure.hint {
            Some(hint) => format!("{}; {hint}", failure.what),
            None => failure.what,
        })
    })
}

/// The folder of a session that exists, where the person names no other.
pub(crate) fn session_root(root: &Path) -> Result<PathBuf> {
    if root.is_dir() {
        return Ok(root.into());
    }
    Err(
        Failure::usage(format!("the project of this session, {}, is gone", root.display()))
            .hint("name its new place with -C"),
    )
}
