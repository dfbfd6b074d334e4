//! MCP servers: from the configuration and from files of other programs, with what they are kept and reached by.

use super::commands;
use super::source::{self, Refusal, Source};
use crate::config::{Config, Layer, McpEntry, McpSampling, McpType, Origin};
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::mcp_shelf::Shelf;
use crate::trust::Trust;
use crate::{models, places, project};
use mcp::{Definition, Hints, OAuth, PROJECT_FILES, Sampling, Servers, Surroundings, Transport, Variables};
use model::{Model, Part};
use serde::Deserialize as _;
use session::Command;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use toml::Value;
use tool::Notices;
use workspace::Workspace;

/// As many tools of servers as every request lists, unless the configuration says otherwise.
pub(super) const LISTED: usize = 10;
/// A longer file is not read.
const MOST_BYTES: u64 = 1024 * 1024;
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(20);

/// Whom and what servers are made for.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The configuration in force.
    pub(crate) config: &'a Config,
    /// Its layers.
    pub(crate) layers: &'a [Layer],
    /// The project's folder.
    pub(crate) root: &'a Path,
    /// Whether it is trusted: what it defines is never started otherwise.
    pub(crate) trust: Trust,
    /// The environment.
    pub(crate) env: &'a Environment,
    /// Servers that whoever opened the session brought along.
    pub(crate) further: &'a [Definition],
}

/// The servers of a project, and what the person should know. There is nothing where none is defined.
pub(crate) fn servers(
    place: Place<'_>,
    notices: Notices,
    model: Option<Arc<dyn Model>>,
    profile: Option<policy::Profile>,
) -> Result<(Option<Servers>, Vec<String>)> {
    let (definitions, told) = definitions(place);
    if definitions.is_empty() {
        return Ok((None, told));
    }
    let offers =
        profile.map(|profile| -> mcp::Offers { Arc::new(move |server, tool| profile.offers_mcp(server, tool)) });
    let around = Surroundings {
        notices,
        model,
        offers,
        ..surroundings(place)?
    };
    Ok((Some(Servers::new(definitions, around)), told))
}

/// What servers are called that are used. That does not change when one of them is started or ends.
pub(crate) fn names(servers: Option<&Servers>) -> Vec<String> {
    let all = servers.map(Servers::status).unwrap_or_default();
    let used = all
        .into_iter()
        .map(|status| status.definition)
        .filter(|it| !it.disabled);
    used.map(|definition| definition.name).collect()
}

/// What servers are started with.
pub(crate) fn surroundings(place: Place<'_>) -> Result<Surroundings> {
    let Place { config, env, root, .. } = place;
    let (proxy, shared) = (config.proxy.clone(), env.clone());
    let web = move |url: &str| {
        let tls = providers::trust().map_err(|error| error.to_string())?;
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(CONNECT)
            .user_agent(concat!("hew/", env!("CARGO_PKG_VERSION")))
            .no_proxy();
        match models::proxy(url, proxy.as_deref(), &shared) {
            Some(proxy) => {
                let proxy = reqwest::Proxy::all(proxy).map_err(|error| format!("the proxy: {error}"))?;
                Ok(builder.proxy(proxy))
            }
            None => Ok(builder),
        }
    };
    Ok(Surroundings {
        root: root.to_owned(),
        environment: commands::environment(config, env),
        web: Arc::new(web),
        shelf: Arc::new(Shelf::new(env)?),
        notices: Notices::none(),
        model: None,
        offers: None,
        listed: config.tools.mcp_listed.map_or(LISTED, |most| most as usize),
    })
}

/// Starts what is not known yet, and follows changes of what defines servers.
pub(super) fn start(servers: &Servers, place: Place<'_>) {
    servers.start();
    let (config, layers) = (place.config.clone(), place.layers.to_vec());
    let (root, trust, env) = (place.root.to_owned(), place.trust, place.env.clone());
    let further = place.further.to_vec();
    let files = files(&root, &env);
    let mut before = stamps(&files);
    servers.follow(move || {
        let now = stamps(&files);
        if now == before {
            return None;
        }
        before = now;
        let layers = fresh(&layers)?;
        let place = Place {
            config: &config,
            layers: &layers,
            root: &root,
            trust,
            env: &env,
            further: &further,
        };
        Some(definitions(place).0)
    });
}

/// The layers with their files read again; nothing while one of them has a mistake in it.
fn fresh(layers: &[Layer]) -> Option<Vec<Layer>> {
    let mut fresh = Vec::new();
    for layer in layers {
        match &layer.origin {
            Origin::User(path) => fresh.extend(Layer::read(path, Origin::User).ok()?),
            Origin::Project(path) => fresh.extend(Layer::read(path, Origin::Project).ok()?),
            Origin::BuiltIn | Origin::Variable(_) | Origin::Flag(_) => fresh.push(layer.clone()),
        }
    }
    Some(fresh)
}

/// The files that may define servers.
fn files(root: &Path, env: &Environment) -> Vec<PathBuf> {
    let project = PROJECT_FILES.iter().map(|name| root.join(name));
    let own = places::user_config(env)
        .ok()
        .into_iter()
        .chain(project::config_file(root));
    project.chain(own).collect()
}

fn stamps(files: &[PathBuf]) -> Vec<Option<(SystemTime, u64)>> {
    let stamp = |file: &PathBuf| {
        let found = file.metadata().ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    files.iter().map(stamp).collect()
}

/// The servers that are defined, by name, and what the person should know: the project's come before the person's own.
pub(crate) fn definitions(place: Place<'_>) -> (Vec<Definition>, Vec<String>) {
    let Place { root, env, .. } = place;
    let home = places::home(env);
    let environment = |name: &str| env.get(name).map(str::to_owned);
    let variables = Variables {
        workspace: root,
        home: home.as_deref(),
        environment: &environment,
    };
    let mut told = Vec::new();
    let mut found: BTreeMap<String, Definition> = BTreeMap::new();
    let mut entries = own(place);
    let late = entries
        .iter()
        .position(|(origin, ..)| !matches!(origin, Origin::BuiltIn | Origin::User(_)));
    let later = entries.split_off(late.unwrap_or(entries.len()));
    let mut changes = Vec::new();
    for (origin, name, entry) in entries {
        changes.extend(define(&mut found, &origin, name, entry, &variables));
    }
    for definition in from_files(place, &variables, &mut told) {
        found.insert(definition.name.clone(), definition);
    }
    for (origin, name, entry) in later {
        changes.extend(define(&mut found, &origin, name, entry, &variables));
    }
    for definition in place.further {
        found.insert(definition.name.clone(), definition.clone());
    }
    // What only changes a server counts wherever that is defined.
    for (name, entry) in changes {
        match found.get_mut(&name) {
            Some(definition) => adjust(definition, &entry),
            None => told.push(format!("`mcp.{name}` has neither a command nor an address")),
        }
    }
    (found.into_values().collect(), told)
}

/// What the layers say about servers, in order.
fn own(place: Place<'_>) -> Vec<(Origin, String, McpEntry)> {
    let mut entries = Vec::new();
    for layer in place.layers {
        if matches!(layer.origin, Origin::Project(_)) && place.trust != Trust::Trusted {
            continue;
        }
        let Some(Value::Table(servers)) = layer.table.get("mcp") else {
            continue;
        };
        for (name, value) in servers {
            // Each layer has been checked already.
            if let Ok(entry) = McpEntry::deserialize(value.clone()) {
                entries.push((layer.origin.clone(), name.clone(), entry));
            }
        }
    }
    entries
}

/// Defines a server, or says that the entry only changes one.
fn define(
    found: &mut BTreeMap<String, Definition>,
    origin: &Origin,
    name: String,
    entry: McpEntry,
    variables: &Variables<'_>,
) -> Option<(String, McpEntry)> {
    if entry.command.is_none() && entry.url.is_none() {
        return Some((name, entry));
    }
    let mut definition = Definition {
        transport: transport(&entry, variables),
        origin: origin.to_string(),
        ..Definition::new(
            name.clone(),
            Transport::Http {
                url: String::new(),
                headers: BTreeMap::new(),
            },
        )
    };
    adjust(&mut definition, &entry);
    found.insert(name, definition);
    None
}

fn transport(entry: &McpEntry, variables: &Variables<'_>) -> std::result::Result<Transport, String> {
    let expand = |text: &String| mcp::expand(text, variables);
    let all = |texts: &BTreeMap<String, String>| -> std::result::Result<BTreeMap<String, String>, String> {
        texts
            .iter()
            .map(|(name, text)| Ok((name.clone(), expand(text)?)))
            .collect()
    };
    match (&entry.command, &entry.url, entry.r#type) {
        (Some(_), Some(_), _) => Err("it has both a command and an address".into()),
        (Some(_), None, Some(McpType::Http | McpType::Sse)) => Err("its type needs an address, not a command".into()),
        (None, _, Some(McpType::Stdio)) => Err("its type needs a command, not an address".into()),
        (Some(command), None, _) => Ok(Transport::Stdio {
            command: expand(command)?,
            args: entry.args.iter().map(expand).collect::<std::result::Result<_, _>>()?,
            env: all(&entry.env)?,
            cwd: entry.cwd.as_ref().map(expand).transpose()?.map(PathBuf::from),
        }),
        (None, Some(url), kind) => {
            let (url, headers) = (expand(url)?, all(&entry.headers)?);
            Ok(match kind {
                Some(McpType::Sse) => Transport::Sse { url, headers },
                Some(McpType::Http | McpType::Stdio) | None => Transport::Http { url, headers },
            })
        }
        (None, None, _) => Err("it has neither a command nor an address".into()),
    }
}

/// Lays what is said over what a server is by itself.
fn adjust(definition: &mut Definition, entry: &McpEntry) {
    if let Some(disabled) = entry.disabled {
        definition.disabled = disabled;
    }
    if let Some(timeout) = entry.timeout {
        definition.timeout = timeout.0;
    }
    definition.always_allow.extend(entry.always_allow.iter().cloned());
    definition.disabled_tools.extend(entry.disabled_tools.iter().cloned());
    if let Some(enabled) = &entry.enabled_tools {
        definition.enabled_tools = Some(enabled.clone());
    }
    if let Some(trusted) = entry.trust_hints {
        definition.hints = if trusted { Hints::Trusted } else { Hints::Ignored };
    }
    if let Some(sampling) = entry.sampling {
        definition.sampling = match sampling {
            McpSampling::Ask => Sampling::Ask,
            McpSampling::Allow => Sampling::Allow,
            McpSampling::Deny => Sampling::Deny,
        };
    }
    let said = &entry.oauth;
    let before = std::mem::take(&mut definition.oauth);
    definition.oauth = OAuth {
        client_id: said.client_id.clone().or(before.client_id),
        client_secret: said.client_secret.clone().or(before.client_secret),
        scopes: if said.scopes.is_empty() {
            before.scopes
        } else {
            said.scopes.clone()
        },
        port: said.port.or(before.port),
    };
}

/// What files of other programs in the project define. In a folder that is not trusted they are only mentioned.
fn from_files(place: Place<'_>, variables: &Variables<'_>, told: &mut Vec<String>) -> Vec<Definition> {
    let there: Vec<&str> = PROJECT_FILES
        .into_iter()
        .filter(|name| place.root.join(name).is_file())
        .collect();
    if there.is_empty() {
        return Vec::new();
    }
    if place.trust != Trust::Trusted {
        told.push(format!(
            "{} defines MCP servers, which are not used because the folder is not trusted (`hew trust`)",
            there.join(", ")
        ));
        return Vec::new();
    }
    let Ok(workspace) = &Workspace::open(place.root) else {
        return Vec::new();
    };
    let top = &source::top(workspace);
    let mut definitions = Vec::new();
    for name in there {
        let read = (Source::Project { workspace, top }).read(&place.root.join(name), MOST_BYTES);
        match read {
            Ok(bytes) => {
                let (read, problem) = mcp::read(&String::from_utf8_lossy(&bytes), name, variables);
                definitions.extend(read);
                told.extend(problem);
            }
            Err(Refusal::Elsewhere) => told.push(format!("{name} leads out of the project and is not used")),
            Err(Refusal::Unreadable(error)) => told.push(format!("cannot read {name}: {error}")),
            Err(Refusal::Missing) => {}
        }
    }
    definitions
}

/// What a person means who says `/SERVER.PROMPT` and some words: the prompt of that server, filled in.
pub(crate) async fn slash(servers: Option<&Servers>, mut command: Command) -> Result<Command> {
    let (Some(servers), Command::Prompt { message, .. }) = (servers, &mut command) else {
        return Ok(command);
    };
    let Some(Part::Text { text, .. }) = message.parts.first_mut() else {
        return Ok(command);
    };
    let Some(said) = text.strip_prefix('/') else {
        return Ok(command);
    };
    let (name, words) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
    let status = servers.status();
    let server = status
        .iter()
        .find(|one| name.starts_with(&format!("{}.", one.definition.name)));
    let Some(server) = server else {
        return Ok(command);
    };
    let failed = |error: mcp::Error| Failure::failed(error.to_string());
    if server.offer.is_none() {
        servers.check(&server.definition.name).await.map_err(failed)?;
    }
    let prompts = servers.prompts();
    let Some(prompt) = prompts.iter().find(|prompt| prompt.command() == name) else {
        return Ok(command);
    };
    let given = prompt.parse(words).map_err(Failure::usage)?;
    *text = servers
        .prompt(&prompt.server, &prompt.name, given)
        .await
        .map_err(failed)?;
    Ok(command)
}

/// What is always allowed, as rules.
pub(crate) fn rules(servers: Option<&Servers>) -> Option<policy::Layer> {
    let allow: Vec<String> = servers?
        .status()
        .iter()
        .flat_map(|status| status.definition.rules())
        .collect();
    let text = policy::RuleText {
        allow,
        ..policy::RuleText::default()
    };
    let used = !text.allow.is_empty();
    used.then(|| policy::Layer::load(policy::Origin::User, &text).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(trust: Trust, user: &str, project: &str, file: &str) -> (Vec<Definition>, Vec<String>) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        std::fs::write(root.join(".mcp.json"), file).unwrap();
        let layer = |origin: Origin, text: &str| Layer {
            origin,
            table: text.parse().unwrap(),
        };
        let layers = [
            layer(Origin::User("/u".into()), user),
            layer(Origin::Project("/p".into()), project),
        ];
        let env = Environment::from([("KEY", "k")]);
        let place = Place {
            config: &Config::default(),
            layers: &layers,
            root: &root,
            trust,
            env: &env,
            further: &[],
        };
        definitions(place)
    }

    const USER: &str =
        "[mcp.a]\ncommand = 'mine'\n[mcp.b]\ncommand = 'b'\n[mcp.c]\ndisabled = true\nalways_allow = ['x']";
    const PROJECT: &str = "[mcp.b]\nurl = 'https://h/${env:KEY}'\ntype = 'sse'";
    const FILE: &str = r#"{"mcpServers": {"a": {"command": "theirs"}, "b": {"command": "no"}, "c": {"command": "c"}}}"#;

    #[test]
    fn the_project_comes_before_the_person_and_the_person_may_change_what_it_brings() {
        let (all, told) = found(Trust::Trusted, USER, PROJECT, FILE);
        assert_eq!(told, [""; 0]);
        let [a, b, c] = &all[..] else { panic!("{all:?}") };
        assert!(matches!(&a.transport, Ok(Transport::Stdio { command, .. }) if command == "theirs"));
        assert!(matches!(&b.transport, Ok(Transport::Sse { url, .. }) if url == "https://h/k"));
        assert_eq!((c.disabled, c.rules()), (true, vec!["mcp(=c/x)".to_owned()]));
        assert_eq!((a.origin.as_str(), b.origin.as_str()), (".mcp.json", "/p"));
    }

    #[test]
    fn a_folder_that_is_not_trusted_defines_nothing() {
        for trust in [Trust::Unknown, Trust::Declined] {
            let (all, told) = found(trust, USER, PROJECT, FILE);
            let names: Vec<&str> = all.iter().map(|definition| definition.name.as_str()).collect();
            assert_eq!(names, ["a", "b"]);
            assert!(matches!(&all[0].transport, Ok(Transport::Stdio { command, .. }) if command == "mine"));
            assert!(told[0].contains("not trusted"), "{told:?}");
        }
    }
}
