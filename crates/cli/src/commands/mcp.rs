//! `hew mcp`: lists, adds, tests and serves MCP servers.

mod serve;

use super::{browser, load};
use crate::args::{GlobalArgs, McpAddArgs, McpCommand as Args};
use crate::config::{self, KeyRemoval, LoadedConfig, McpTransportKind};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::mcp_cache::McpFileCache;
use crate::output::table::{self, ColumnAlign};
use crate::{output, paths, project};
use futures::future::join_all;
use host::confinement;
use host::mcp_servers::{self, McpContext};
use mcp::{CacheEntry, Error, McpDefinition, McpServerStatus, McpServers, McpTransport, ServerCache as _, ServerOffer};
use serde::Serialize;
use std::path::{Path, PathBuf};
use tool::NotificationSender;

pub(super) async fn mcp(command: Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    match command {
        Args::List { json } => list(json, global, env),
        Args::Add(add) => write(&add, global, env),
        Args::Remove { name, project } => remove(&name, project, global, env).await,
        Args::Test { name, json } => test(name.as_deref(), json, global, env).await,
        Args::Logs { name } => logs(&name, global, env),
        Args::Login { name } => login(&name, global, env).await,
        Args::Logout { name } => logout(&name, env).await,
        Args::Serve(args) => serve::serve(&args, global, env).await,
    }
}

/// A server in the JSON of `hew mcp list --json` and `hew mcp test --json`.
#[derive(Serialize)]
struct McpServerJson {
    name: String,
    transport: &'static str,
    target: String,
    disabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
    prompts: Vec<String>,
    resources: usize,
}

fn row(definition: &McpDefinition, offer: Option<&ServerOffer>, problem: Option<String>) -> McpServerJson {
    let (transport, target) = match &definition.transport {
        Ok(McpTransport::Stdio { command, args, .. }) => {
            let words = [command].into_iter().chain(args).map(String::as_str);
            ("stdio", words.collect::<Vec<_>>().join(" "))
        }
        Ok(McpTransport::Http { url, .. }) => ("http", url.clone()),
        Ok(McpTransport::Sse { url, .. }) => ("sse", url.clone()),
        Err(_) => ("?", String::new()),
    };
    McpServerJson {
        name: definition.name.clone(),
        transport,
        target,
        disabled: definition.disabled,
        problem: problem.or_else(|| definition.transport.as_ref().err().map(ToString::to_string)),
        origin: definition.origin.clone(),
        title: offer.and_then(|offer| offer.title.clone()),
        tools: offer.map(|offer| {
            let names = offer.tools.iter().map(|tool| tool.name.clone());
            names.filter(|name| definition.includes_tool(name)).collect()
        }),
        prompts: offer.map_or_else(Vec::new, |offer| {
            let names = offer
                .prompts
                .iter()
                .map(|prompt| format!("/{}.{}", definition.name, prompt.name));
            names.collect()
        }),
        resources: offer.map_or(0, |offer| offer.resources.len() + offer.templates.len()),
    }
}

/// The servers; problems are printed.
fn servers(root: &Path, loaded: &LoadedConfig, env: &ProcessEnv) -> Result<Option<McpServers>> {
    let confined = confinement::of_project(loaded, root, env)?;
    let context = McpContext {
        confinement: confined.as_ref(),
        ..context(root, loaded, env)
    };
    let (servers, server_text) = mcp_servers::servers(context, NotificationSender::none(), None, None)?;
    server_text
        .iter()
        .for_each(|text| output::print_stderr(&format!("warning: {text}\n")));
    Ok((!servers.status().is_empty()).then_some(servers))
}

fn context<'a>(root: &'a Path, loaded: &'a LoadedConfig, env: &'a ProcessEnv) -> McpContext<'a> {
    McpContext {
        config: &loaded.config,
        layers: &loaded.layers,
        root,
        trust: loaded.trust,
        env,
        extra: &[],
        confinement: None,
    }
}

fn list(json: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let servers = servers(&root, &loaded, env)?;
    let status = servers.map(|servers| servers.status()).unwrap_or_default();
    let rows: Vec<McpServerJson> = status
        .iter()
        .map(|one| row(&one.definition, one.offer.as_deref(), None))
        .collect();
    if json {
        output::print_checked(&output::pretty(&rows)?)?;
        return Ok(ExitStatus::Done);
    }
    if rows.is_empty() {
        output::print_stderr("no MCP servers are defined; `hew mcp add` adds one\n");
        return Ok(ExitStatus::Done);
    }
    let columns = [
        ("NAME", ColumnAlign::Left),
        ("TYPE", ColumnAlign::Left),
        ("TOOLS", ColumnAlign::Right),
        ("STATE", ColumnAlign::Left),
        ("DEFINED IN", ColumnAlign::Left),
        ("TARGET", ColumnAlign::Left),
    ];
    let cells = rows.iter().map(|row| {
        let state = match (row.disabled, &row.problem, &row.tools) {
            (true, ..) => "disabled".to_owned(),
            (false, Some(problem), _) => problem.clone(),
            (false, None, Some(_)) => "known".to_owned(),
            (false, None, None) => "not seen yet".to_owned(),
        };
        let tools = row
            .tools
            .as_ref()
            .map_or_else(String::new, |tools| tools.len().to_string());
        let origin = paths::display_path(Path::new(&row.origin), env);
        vec![
            row.name.clone(),
            row.transport.to_owned(),
            tools,
            state,
            origin,
            row.target.clone(),
        ]
    });
    output::print_checked(&table::render(&columns, &cells.collect::<Vec<_>>()))?;
    Ok(ExitStatus::Done)
}

fn write(add: &McpAddArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    if add.name.is_empty()
        || !add
            .name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-_. ".contains(letter))
    {
        return Err(Failure::usage(format!("`{}` is not a name for a server", add.name))
            .hint("use letters, digits, `-`, `_`, `.` and spaces"));
    }
    let file = target(add.project, global, env)?;
    let base = format!("mcp.{}", toml_edit::Key::new(&add.name).display_repr());
    // A previous entry of this name is replaced.
    config::remove(&file, &base)?;
    let set = |key: &str, value: toml::Value| config::set(&file, &format!("{base}.{key}"), &value.to_string());
    match (&add.url, add.command.split_first()) {
        (Some(url), _) => {
            set("url", url.as_str().into())?;
            if let Some(kind) = add.kind {
                let kind = match kind {
                    McpTransportKind::Stdio => "stdio",
                    McpTransportKind::Http => "http",
                    McpTransportKind::Sse => "sse",
                };
                set("type", kind.into())?;
            }
        }
        (None, Some((command, args))) => {
            set("command", command.as_str().into())?;
            if !args.is_empty() {
                set("args", args.iter().map(String::as_str).collect::<Vec<_>>().into())?;
            }
        }
        (None, None) => return Err(Failure::usage("a server needs a command or an address")),
    }
    for (key, pairs) in [("env", &add.env), ("headers", &add.header)] {
        for pair in pairs {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                Failure::usage(format!("`{pair}` is not NAME=VALUE")).hint("write it like TOKEN='${env:MY_TOKEN}'")
            })?;
            let name = toml_edit::Key::new(name.trim()).display_repr().into_owned();
            set(&format!("{key}.{name}"), value.into())?;
        }
    }
    McpFileCache::new(env)?.clear(&add.name);
    let tidy = paths::display_path(&file, env);
    output::print_stderr(&format!("added to {tidy}; `hew mcp test {}` tries it\n", add.name));
    Ok(ExitStatus::Done)
}

async fn remove(name: &str, project: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let file = target(project, global, env)?;
    let key = format!("mcp.{}", toml_edit::Key::new(name).display_repr());
    let tidy = paths::display_path(&file, env);
    match config::remove(&file, &key)? {
        KeyRemoval::Removed => {
            let cache = McpFileCache::new(env)?;
            cache.clear(name);
            cache
                .save_login(name, None)
                .await
                .map_err(|error| Failure::failed(error.to_string()))?;
            output::print_stderr(&format!("removed from {tidy}\n"));
            Ok(ExitStatus::Done)
        }
        KeyRemoval::NotSet => Err(Failure::usage(format!("there is no MCP server `{name}` in {tidy}"))
            .hint("`hew mcp list` shows where each is defined")),
    }
}

async fn test(name: Option<&str>, json: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let servers = servers(&root, &loaded, env)?;
    let status = servers.as_ref().map(McpServers::status).unwrap_or_default();
    let wanted: Vec<&McpServerStatus> = match name {
        Some(name) => vec![find(&status, name)?],
        None => status.iter().filter(|one| !one.definition.disabled).collect(),
    };
    let Some(servers) = &servers else {
        output::print_stderr("no MCP servers are defined\n");
        return Ok(ExitStatus::Done);
    };
    if !json {
        let names: Vec<&str> = wanted.iter().map(|one| one.definition.name.as_str()).collect();
        output::print_stderr(&format!(
            "testing {} (each may take a minute to start) …\n",
            names.join(", ")
        ));
    }
    let check = async |one: &&McpServerStatus| {
        let name = &one.definition.name;
        let result = servers.check(name).await;
        if !json && wanted.len() > 1 {
            let state = if result.is_ok() { "answers" } else { "failed" };
            output::print_stderr(&format!("{name}: {state}\n"));
        }
        result
    };
    let tried = join_all(wanted.iter().map(check)).await;
    let failed = tried.iter().any(std::result::Result::is_err);
    let rows: Vec<McpServerJson> = wanted
        .iter()
        .zip(&tried)
        .map(|(one, tried)| match tried {
            Ok(offer) => row(&one.definition, Some(offer), None),
            Err(error) => row(&one.definition, None, Some(error.to_string())),
        })
        .collect();
    if json {
        output::print_checked(&output::pretty(&rows)?)?;
    } else {
        output::print_checked(&rows.iter().map(server_text).collect::<String>())?;
    }
    Ok(if failed { ExitStatus::Failed } else { ExitStatus::Done })
}

/// A server as text.
fn server_text(row: &McpServerJson) -> String {
    let mut text = match &row.problem {
        Some(problem) => return format!("{}: {problem}\n", row.name),
        None => format!("{}: {}\n", row.name, row.title.as_deref().unwrap_or("it answers")),
    };
    for (what, names) in [
        ("tools", row.tools.clone().unwrap_or_default()),
        ("prompts", row.prompts.clone()),
    ] {
        if !names.is_empty() {
            text.push_str(&format!("  {} {what}: {}\n", names.len(), names.join(", ")));
        }
    }
    if row.resources > 0 {
        text.push_str(&format!("  {} resources\n", row.resources));
    }
    text
}

fn logs(name: &str, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    match McpFileCache::new(env)?.load(CacheEntry::Log, name) {
        Some(text) => output::print_checked(&text)?,
        None => {
            let servers = servers(&root, &loaded, env)?;
            find(&servers.map(|servers| servers.status()).unwrap_or_default(), name)?;
            output::print_stderr(&format!("{name} has written nothing yet\n"));
        }
    }
    Ok(ExitStatus::Done)
}

async fn login(name: &str, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let context = context(&root, &loaded, env);
    let (definitions, _) = mcp_servers::definitions(context);
    let names: Vec<&str> = definitions.iter().map(|definition| definition.name.as_str()).collect();
    let definition = definitions
        .iter()
        .find(|definition| definition.name == name)
        .ok_or_else(|| unknown(name, &names))?;
    let environment = mcp_servers::server_environment(context)?;
    let opened = confinement::environment(&loaded.config, env);
    mcp::login(definition, &environment, |url| {
        let opening = match browser::open(url, &root, env, &opened) {
            true => "opening your browser; if nothing happens, open this address on this machine",
            false => "open this address in a browser on this machine",
        };
        output::print_stderr(&format!("{opening}:\n{url}\n"));
    })
    .await
    .map_err(failure)?;
    output::print_stderr(&format!("logged in at {name}\n"));
    Ok(ExitStatus::Done)
}

async fn logout(name: &str, env: &ProcessEnv) -> Result<ExitStatus> {
    let cache = McpFileCache::new(env)?;
    if cache.login(name).await.is_none() {
        output::print_stderr(&format!("not logged in to {name}\n"));
        return Ok(ExitStatus::Done);
    }
    cache
        .save_login(name, None)
        .await
        .map_err(|error| Failure::failed(error.to_string()))?;
    output::print_stderr(&format!("logged out of {name}\n"));
    Ok(ExitStatus::Done)
}

fn find<'a>(status: &'a [McpServerStatus], name: &str) -> Result<&'a McpServerStatus> {
    let names: Vec<&str> = status.iter().map(|one| one.definition.name.as_str()).collect();
    status
        .iter()
        .find(|one| one.definition.name == name)
        .ok_or_else(|| unknown(name, &names))
}

fn unknown(name: &str, names: &[&str]) -> Failure {
    let hint = match names {
        [] => "none is defined; `hew mcp add` adds one".to_owned(),
        names => format!("there are {}", names.join(", ")),
    };
    Failure::usage(format!("there is no MCP server `{name}`")).hint(hint)
}

fn failure(error: Error) -> Failure {
    Failure::failed(error.to_string())
}

fn target(project: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<PathBuf> {
    if !project {
        return paths::user_config_file(env);
    }
    let root = project::root(global.cwd.as_deref(), env)?;
    Ok(project::config_file(&root).unwrap_or_else(|| root.join(".hew").join("config.toml")))
}
