//! MCP servers from the configuration and from files of other programs.

use crate::config::{
    Config, ConfigLayer, ConfigOrigin, McpElicitationConfig, McpSamplingConfig, McpServerConfig, McpTransportKind,
};
use crate::confinement;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::mcp_cache::McpFileCache;
use crate::project_programs::{self, ApprovedPrograms, ProgramDefinition};
use crate::redaction::Redactor;
use crate::trust::ProjectTrust;
use crate::{models, paths, project};
use context::{FileOrigin, ReadRefusal};
use mcp::{
    ConfigVariables, DefinitionError, ElicitationPolicy, McpDefinition, McpEnvironment, McpServers, McpTransport,
    OAuthSettings, PROJECT_FILES, ReadOnlyHints, SamplingPolicy,
};
use model::{Model, Part};
use sandbox::Confinement;
use serde::Deserialize as _;
use session::Command;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use toml::Value;
use tool::{DynamicTools as _, NotificationSender};
use workspace::Workspace;

/// The maximum size of a file.
const MAX_BYTES: u64 = 1024 * 1024;
/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a new session waits for servers that are used for the first time.
pub(crate) const FIRST_START_TIMEOUT: Duration = Duration::from_secs(5);

/// The project and the configuration of MCP servers.
#[derive(Clone, Copy)]
pub struct McpContext<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Its layers.
    pub layers: &'a [ConfigLayer],
    /// The project directory.
    pub root: &'a Path,
    /// Whether it is trusted. Servers of an untrusted project are not started.
    pub trust: ProjectTrust,
    /// The environment.
    pub env: &'a ProcessEnv,
    /// Servers of the client that opened the session.
    pub extra: &'a [McpDefinition],
    /// The confinement of servers.
    pub confinement: Option<&'a Confinement>,
}

/// Creates the servers of a project. Returns problems as well. There may be no server: one can be added later.
pub fn servers(
    context: McpContext<'_>,
    notices: NotificationSender,
    model: Option<Arc<dyn Model>>,
    profile: Option<policy::ToolProfile>,
) -> Result<(McpServers, Vec<String>)> {
    let (definitions, problems) = definitions(context);
    let tool_filter =
        profile.map(|profile| -> mcp::McpToolFilter { Arc::new(move |server, tool| profile.offers_mcp(server, tool)) });
    let environment = McpEnvironment {
        notices,
        model,
        tool_filter,
        ..server_environment(context)?
    };
    Ok((McpServers::new(definitions, environment), problems))
}

/// The names of the enabled servers, whether they run or not.
pub fn names(servers: Option<&McpServers>) -> Vec<String> {
    let all = servers.map(McpServers::status).unwrap_or_default();
    let used = all
        .into_iter()
        .map(|status| status.definition)
        .filter(|it| !it.disabled);
    used.map(|definition| definition.name).collect()
}

/// The environment in which servers are started.
pub fn server_environment(context: McpContext<'_>) -> Result<McpEnvironment> {
    let McpContext { config, env, root, .. } = context;
    let (proxy, shared) = (config.proxy.clone(), env.clone());
    let web = move |url: &str| -> std::result::Result<reqwest::ClientBuilder, mcp::BoxError> {
        let tls = providers::tls_config().map_err(|error| error.to_string())?;
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("hew/", env!("CARGO_PKG_VERSION")))
            .no_proxy();
        match models::proxy_for(url, proxy.as_deref(), &shared) {
            Some(proxy) => {
                let proxy = reqwest::Proxy::all(proxy).map_err(|error| format!("the proxy: {error}"))?;
                Ok(builder.proxy(proxy))
            }
            None => Ok(builder),
        }
    };
    let redactor = Redactor::of_config(config, env);
    Ok(McpEnvironment {
        root: root.to_owned(),
        environment: confinement::environment(config, env),
        confinement: context.confinement.cloned(),
        http_client: Arc::new(web),
        cache: Arc::new(McpFileCache::new(env)?),
        redact: Arc::new(move |text| redactor.redact(text)),
        notices: NotificationSender::none(),
        model: None,
        tool_filter: None,
        max_listed: config.tools.mcp_listed as usize,
    })
}

/// Starts the servers without a cached offer. The tools of those that start in time are part of the first request.
/// Returns a problem for each of the others; they are announced when they have started.
pub(crate) async fn start(servers: &McpServers, limit: Duration) -> Vec<String> {
    servers.set_announces_first(false);
    servers.start();
    if !servers.starting().is_empty() {
        drop(tokio::time::timeout(limit, servers.wait_until_started()).await);
    }
    servers.set_announces_first(true);
    let seconds = limit.as_secs();
    let late = servers.starting().into_iter().map(|server| {
        let hint = servers.network_hint(&server);
        format!("the MCP server `{server}` has not started after {seconds} s and continues to start{hint}")
    });
    late.collect()
}

/// Follows changes of the files that define servers.
pub(crate) fn watch(servers: &McpServers, context: McpContext<'_>) {
    let (config, layers) = (context.config.clone(), context.layers.to_vec());
    let (root, trust, env) = (context.root.to_owned(), context.trust, context.env.clone());
    let further = context.extra.to_vec();
    let files = definition_files(&root, &env);
    let mut before = file_stamps(&files);
    servers.watch_definitions(move || {
        let now = file_stamps(&files);
        if now == before {
            return None;
        }
        before = now;
        let layers = reload(&layers, &ApprovedPrograms::load(&root, &env))?;
        let context = McpContext {
            config: &config,
            layers: &layers,
            root: &root,
            trust,
            env: &env,
            extra: &further,
            confinement: None,
        };
        Some(definitions(context).0)
    });
}

/// Reads the files of the layers again. Returns `None` if one of them is invalid.
fn reload(layers: &[ConfigLayer], approved: &ApprovedPrograms) -> Option<Vec<ConfigLayer>> {
    let mut fresh = Vec::new();
    for layer in layers {
        match &layer.origin {
            ConfigOrigin::User(path) => fresh.extend(ConfigLayer::read(path, ConfigOrigin::User).ok()?),
            ConfigOrigin::Project(path) => {
                let mut layer = ConfigLayer::read(path, ConfigOrigin::Project).ok()?;
                layer.iter_mut().for_each(|layer| drop(approved.restrict(layer)));
                fresh.extend(layer);
            }
            ConfigOrigin::BuiltIn | ConfigOrigin::Variable(_) | ConfigOrigin::Flag(_) => fresh.push(layer.clone()),
        }
    }
    Some(fresh)
}

/// The files that may define servers.
fn definition_files(root: &Path, env: &ProcessEnv) -> Vec<PathBuf> {
    let project = PROJECT_FILES.iter().map(|name| root.join(name));
    let own = paths::user_config_file(env)
        .ok()
        .into_iter()
        .chain(project::config_file(root));
    // Approvals are stored with the trusted directories.
    let trust = paths::data_dir(env).ok().map(|data| data.join("trust.json"));
    project.chain(own).chain(trust).collect()
}

fn file_stamps(files: &[PathBuf]) -> Vec<Option<(SystemTime, u64)>> {
    let stamp = |file: &PathBuf| {
        let found = file.metadata().ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    files.iter().map(stamp).collect()
}

/// The defined servers by name, and problems. The project's definitions take precedence over the user's.
pub fn definitions(context: McpContext<'_>) -> (Vec<McpDefinition>, Vec<String>) {
    let McpContext { root, env, .. } = context;
    let home = paths::home_dir(env);
    let environment = |name: &str| env.get(name).map(str::to_owned);
    let variables = ConfigVariables {
        workspace: root,
        home: home.as_deref(),
        environment: &environment,
    };
    let mut problems = Vec::new();
    let mut found: BTreeMap<String, McpDefinition> = BTreeMap::new();
    let mut entries = configured_entries(context);
    let late = entries
        .iter()
        .position(|(origin, ..)| !matches!(origin, ConfigOrigin::BuiltIn | ConfigOrigin::User(_)));
    let later = entries.split_off(late.unwrap_or(entries.len()));
    let mut changes = Vec::new();
    for (origin, name, entry) in entries {
        changes.extend(define(&mut found, &origin, name, entry, &variables));
    }
    for definition in from_files(context, &variables, &mut problems) {
        found.insert(definition.name.clone(), definition);
    }
    for (origin, name, entry) in later {
        changes.extend(define(&mut found, &origin, name, entry, &variables));
    }
    for definition in context.extra {
        found.insert(definition.name.clone(), definition.clone());
    }
    // Entries without a command or URL change a server that is defined elsewhere.
    for (name, entry) in changes {
        match found.get_mut(&name) {
            Some(definition) => adjust(definition, &entry),
            None => problems.push(format!("`mcp.{name}` has neither a command nor a URL")),
        }
    }
    (found.into_values().collect(), problems)
}

/// The entries of all layers, in order.
fn configured_entries(context: McpContext<'_>) -> Vec<(ConfigOrigin, String, McpServerConfig)> {
    let mut entries = Vec::new();
    for layer in context.layers {
        if matches!(layer.origin, ConfigOrigin::Project(_)) && context.trust != ProjectTrust::Trusted {
            continue;
        }
        let Some(Value::Table(servers)) = layer.table.get("mcp") else {
            continue;
        };
        for (name, value) in servers {
            // Each layer has been checked already.
            if let Ok(entry) = McpServerConfig::deserialize(value.clone()) {
                entries.push((layer.origin.clone(), name.clone(), entry));
            }
        }
    }
    entries
}

/// Defines a server, or returns the entry if it only changes one.
fn define(
    found: &mut BTreeMap<String, McpDefinition>,
    origin: &ConfigOrigin,
    name: String,
    entry: McpServerConfig,
    variables: &ConfigVariables<'_>,
) -> Option<(String, McpServerConfig)> {
    if entry.command.is_none() && entry.url.is_none() {
        return Some((name, entry));
    }
    let mut definition = McpDefinition {
        transport: transport(&entry, variables),
        origin: origin.to_string(),
        ..McpDefinition::new(
            name.clone(),
            McpTransport::Http {
                url: String::new(),
                headers: BTreeMap::new(),
            },
        )
    };
    adjust(&mut definition, &entry);
    found.insert(name, definition);
    None
}

fn transport(
    entry: &McpServerConfig,
    variables: &ConfigVariables<'_>,
) -> std::result::Result<McpTransport, DefinitionError> {
    let expand = |text: &String| mcp::expand_variables(text, variables);
    let all = |texts: &BTreeMap<String, String>| -> std::result::Result<BTreeMap<String, String>, DefinitionError> {
        texts
            .iter()
            .map(|(name, text)| Ok((name.clone(), expand(text)?)))
            .collect()
    };
    match (&entry.command, &entry.url, entry.r#type) {
        (Some(_), Some(_), _) => Err(DefinitionError::CommandAndUrl),
        (Some(_), None, Some(McpTransportKind::Http | McpTransportKind::Sse)) => Err(DefinitionError::TypeNeedsUrl),
        (None, _, Some(McpTransportKind::Stdio)) => Err(DefinitionError::TypeNeedsCommand),
        (Some(command), None, _) => Ok(McpTransport::Stdio {
            command: expand(command)?,
            args: entry.args.iter().map(expand).collect::<std::result::Result<_, _>>()?,
            env: all(&entry.env)?,
            cwd: entry.cwd.as_ref().map(expand).transpose()?.map(PathBuf::from),
        }),
        (None, Some(url), kind) => {
            let (url, headers) = (expand(url)?, all(&entry.headers)?);
            Ok(match kind {
                Some(McpTransportKind::Sse) => McpTransport::Sse { url, headers },
                Some(McpTransportKind::Http | McpTransportKind::Stdio) | None => McpTransport::Http { url, headers },
            })
        }
        (None, None, _) => Err(DefinitionError::NoCommandOrUrl),
    }
}

/// Applies an entry to a definition.
fn adjust(definition: &mut McpDefinition, entry: &McpServerConfig) {
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
        definition.hints = if trusted {
            ReadOnlyHints::Trusted
        } else {
            ReadOnlyHints::Ignored
        };
    }
    if let Some(sampling) = entry.sampling {
        definition.sampling = match sampling {
            McpSamplingConfig::Ask => SamplingPolicy::Ask,
            McpSamplingConfig::Allow => SamplingPolicy::Allow,
            McpSamplingConfig::Deny => SamplingPolicy::Deny,
        };
    }
    if let Some(elicitation) = entry.elicitation {
        definition.elicitation = match elicitation {
            McpElicitationConfig::Ask => ElicitationPolicy::Ask,
            McpElicitationConfig::Defaults => ElicitationPolicy::Defaults,
            McpElicitationConfig::Decline => ElicitationPolicy::Decline,
        };
    }
    if let Some(confined) = entry.sandbox {
        definition.access.unconfined = !confined;
    }
    if let Some(network) = entry.network {
        definition.access.network = network;
    }
    definition.access.write.extend(entry.write.iter().map(PathBuf::from));
    let oauth = &entry.oauth;
    let before = std::mem::take(&mut definition.oauth);
    definition.oauth = OAuthSettings {
        client_id: oauth.client_id.clone().or(before.client_id),
        client_secret: oauth.client_secret.clone().or(before.client_secret),
        client_metadata_url: oauth.client_metadata_url.clone().or(before.client_metadata_url),
        scopes: if oauth.scopes.is_empty() {
            before.scopes
        } else {
            oauth.scopes.clone()
        },
        port: oauth.port.or(before.port),
    };
}

/// The servers that files of other programs in the project define. In an untrusted project they are only reported.
fn from_files(
    context: McpContext<'_>,
    variables: &ConfigVariables<'_>,
    problems: &mut Vec<String>,
) -> Vec<McpDefinition> {
    let existing: Vec<&str> = PROJECT_FILES
        .into_iter()
        .filter(|name| context.root.join(name).is_file())
        .collect();
    if existing.is_empty() {
        return Vec::new();
    }
    if context.trust != ProjectTrust::Trusted {
        problems.push(format!(
            "{} defines MCP servers, which are ignored because the project is not trusted (`hew trust`)",
            existing.join(", ")
        ));
        return Vec::new();
    }
    let Ok(workspace) = &Workspace::open(context.root) else {
        return Vec::new();
    };
    let top = &context::repository_root(workspace);
    let mut definitions = Vec::new();
    for name in existing {
        let read = (FileOrigin::Project { workspace, top }).read(&context.root.join(name), MAX_BYTES);
        match read {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let (mut read, problem) = mcp::parse_mcp_file(&text, name, variables);
                let unapproved = unapproved_in_file(context, name, &text);
                read.retain(|definition| !unapproved.iter().any(|program| program.name == definition.name));
                problems.extend(unapproved.iter().map(ProgramDefinition::warning));
                definitions.extend(read);
                problems.extend(problem);
            }
            Err(ReadRefusal::OutsideProject) => {
                problems.push(format!("{name} is ignored, because it leads out of the project"))
            }
            Err(ReadRefusal::Unreadable(error)) => problems.push(format!("cannot read {name}: {error}")),
            Err(ReadRefusal::Missing) => {}
        }
    }
    definitions
}

/// The servers of a file that the user did not approve.
fn unapproved_in_file(context: McpContext<'_>, name: &str, text: &str) -> Vec<ProgramDefinition> {
    let approved = ApprovedPrograms::load(context.root, context.env);
    let mut programs = project_programs::in_mcp_file(&context.root.join(name), text);
    programs.retain(|program| !approved.contains(program));
    programs
}

/// Replaces a prompt `/SERVER.PROMPT ARGUMENTS` with the prompt of that server.
pub async fn expand_prompt_command(servers: Option<&McpServers>, mut command: Command) -> Result<Command> {
    let (Some(servers), Command::Prompt { message, .. }) = (servers, &mut command) else {
        return Ok(command);
    };
    let Some(Part::Text { text, .. }) = message.parts.first_mut() else {
        return Ok(command);
    };
    let Some(command_line) = text.strip_prefix('/') else {
        return Ok(command);
    };
    let (name, words) = command_line
        .split_once(char::is_whitespace)
        .unwrap_or((command_line, ""));
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
    let given = prompt.parse(words).map_err(|error| Failure::usage(error.to_string()))?;
    *text = servers
        .prompt(&prompt.server, &prompt.name, given)
        .await
        .map_err(failed)?;
    Ok(command)
}

/// The tools that need no approval, as rules.
pub fn always_allow_rules(servers: Option<&McpServers>) -> Option<policy::RuleLayer> {
    let allow: Vec<String> = servers?
        .status()
        .iter()
        .flat_map(|status| status.definition.allow_rules())
        .collect();
    let text = policy::RuleConfig {
        allow,
        ..policy::RuleConfig::default()
    };
    let used = !text.allow.is_empty();
    used.then(|| policy::RuleLayer::load(policy::RuleOrigin::User, &text).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(trust: ProjectTrust, user: &str, project: &str, file: &str) -> (Vec<McpDefinition>, Vec<String>) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        std::fs::write(root.join(".mcp.json"), file).unwrap();
        let layer = |origin: ConfigOrigin, text: &str| ConfigLayer {
            origin,
            table: text.parse().unwrap(),
        };
        let layers = [
            layer(ConfigOrigin::User("/u".into()), user),
            layer(ConfigOrigin::Project("/p".into()), project),
        ];
        let home = root.display().to_string();
        let env = ProcessEnv::from([("KEY", "k"), ("HOME", home.as_str())]);
        if trust == ProjectTrust::Trusted {
            let programs = crate::project_programs::all(&root, &env).unwrap();
            crate::project_programs::approve(&programs, &root, &mut crate::trust::TrustList::default(), &env).unwrap();
        }
        let context = McpContext {
            config: &Config::default(),
            layers: &layers,
            root: &root,
            trust,
            env: &env,
            extra: &[],
            confinement: None,
        };
        definitions(context)
    }

    const USER: &str =
        "[mcp.a]\ncommand = 'mine'\n[mcp.b]\ncommand = 'b'\n[mcp.c]\ndisabled = true\nalways_allow = ['x']";
    const PROJECT: &str = "[mcp.b]\nurl = 'https://h/${env:KEY}'\ntype = 'sse'";
    const FILE: &str = r#"{"mcpServers": {"a": {"command": "theirs"}, "b": {"command": "no"}, "c": {"command": "c"}}}"#;

    #[test]
    fn the_project_takes_precedence_and_the_user_can_change_its_servers() {
        let (all, problems) = found(ProjectTrust::Trusted, USER, PROJECT, FILE);
        assert_eq!(problems, [""; 0]);
        let [a, b, c] = &all[..] else { panic!("{all:?}") };
        assert!(matches!(&a.transport, Ok(McpTransport::Stdio { command, .. }) if command == "theirs"));
        assert!(matches!(&b.transport, Ok(McpTransport::Sse { url, .. }) if url == "https://h/k"));
        assert_eq!((c.disabled, c.allow_rules()), (true, vec!["mcp(=c/x)".to_owned()]));
        assert_eq!((a.origin.as_str(), b.origin.as_str()), (".mcp.json", "/p"));
    }

    #[test]
    fn an_untrusted_project_defines_no_servers() {
        for trust in [ProjectTrust::Unknown, ProjectTrust::Declined] {
            let (all, problems) = found(trust, USER, PROJECT, FILE);
            let names: Vec<&str> = all.iter().map(|definition| definition.name.as_str()).collect();
            assert_eq!(names, ["a", "b"]);
            assert!(matches!(&all[0].transport, Ok(McpTransport::Stdio { command, .. }) if command == "mine"));
            assert!(problems[0].contains("not trusted"), "{problems:?}");
        }
    }

    #[tokio::test]
    async fn a_server_that_does_not_start_in_time_is_reported() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().display().to_string();
        let env = ProcessEnv::from([("HOME", home.as_str())]);
        let layers = [ConfigLayer {
            origin: ConfigOrigin::User("/u".into()),
            table: "[mcp.slow]\ncommand = '/bin/sleep'\nargs = ['1000']".parse().unwrap(),
        }];
        let context = McpContext {
            config: &Config::default(),
            layers: &layers,
            root: temp.path(),
            trust: ProjectTrust::Trusted,
            env: &env,
            extra: &[],
            confinement: None,
        };
        let (servers, problems) = servers(context, NotificationSender::none(), None, None).unwrap();
        assert_eq!(problems, Vec::<String>::new());
        let late = start(&servers, Duration::ZERO).await;
        let expected = "the MCP server `slow` has not started after 0 s and continues to start";
        assert_eq!(late, [expected]);
    }
}
