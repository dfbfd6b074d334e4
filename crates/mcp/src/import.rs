//! Parses definitions in files of other programs: `.mcp.json`, `.vscode/mcp.json`, `.cursor/mcp.json`, `.roo/mcp.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::DefinitionError;
use crate::definition::{DEFAULT_TIMEOUT, McpDefinition, McpTransport, OAuthSettings};
use crate::expand::{ConfigVariables, expand_variables};

/// Project files that define servers, lowest precedence first.
pub const PROJECT_FILES: [&str; 4] = [".vscode/mcp.json", ".cursor/mcp.json", ".roo/mcp.json", ".mcp.json"];

/// Maximum timeout, as in other programs.
const MAX_TIMEOUT_SECONDS: u64 = 3_600;

/// A server in these files. Unknown fields are ignored: each program has its own.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct McpFileEntry {
    r#type: Option<String>,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, Value>,
    cwd: Option<String>,
    #[serde(alias = "serverUrl")]
    url: Option<String>,
    headers: BTreeMap<String, String>,
    disabled: bool,
    enabled: Option<bool>,
    timeout: Option<f64>,
    #[serde(alias = "autoApprove")]
    always_allow: Vec<String>,
    disabled_tools: Vec<String>,
    enabled_tools: Option<Vec<String>>,
    oauth: Option<McpLoginEntry>,
}

/// OAuth settings in these files.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct McpLoginEntry {
    client_id: Option<String>,
    client_secret: Option<String>,
    scopes: Vec<String>,
    callback_port: Option<u16>,
}

/// The servers that a file defines, as its JSON without variables replaced, by name. Empty if the file is invalid.
pub fn mcp_file_entries(text: &str) -> BTreeMap<String, String> {
    let value: Value = serde_json::from_str(&strip_json_comments(text)).unwrap_or_default();
    let servers = ["mcpServers", "servers"].iter().find_map(|key| value.get(key));
    let servers = servers.and_then(Value::as_object).into_iter().flatten();
    servers.map(|(name, value)| (name.clone(), value.to_string())).collect()
}

/// Returns the servers that a file defines, and an error of the file. An invalid server is included with its error.
pub fn parse_mcp_file(
    text: &str,
    origin: &str,
    variables: &ConfigVariables<'_>,
) -> (Vec<McpDefinition>, Option<String>) {
    let wrong = |why: String| (Vec::new(), Some(format!("{origin}: {why}")));
    let value: Value = match serde_json::from_str(&strip_json_comments(text)) {
        Ok(value) => value,
        Err(error) => return wrong(format!("invalid JSON: {error}")),
    };
    let Some(servers) = ["mcpServers", "servers"].iter().find_map(|key| value.get(key)) else {
        return match value.as_object().is_some_and(Map::is_empty) {
            true => (Vec::new(), None),
            false => wrong("missing key `mcpServers`".into()),
        };
    };
    let Some(servers) = servers.as_object() else {
        return wrong("`mcpServers` is not an object".into());
    };
    let read = servers
        .iter()
        .map(|(name, value)| to_definition(name, value, origin, variables));
    (read.collect(), None)
}

fn to_definition(name: &str, value: &Value, origin: &str, variables: &ConfigVariables<'_>) -> McpDefinition {
    let (entry, problem) = match McpFileEntry::deserialize(value) {
        Ok(entry) => (entry, None),
        Err(error) => (
            McpFileEntry::default(),
            Some(DefinitionError::Structure(error.to_string())),
        ),
    };
    let oauth = entry.oauth.as_ref();
    McpDefinition {
        name: name.to_owned(),
        transport: match problem {
            Some(why) => Err(why),
            None => transport(&entry, variables),
        },
        disabled: entry.disabled || entry.enabled == Some(false),
        timeout: entry.timeout.map_or(DEFAULT_TIMEOUT, |seconds| {
            Duration::from_secs((seconds as u64).clamp(1, MAX_TIMEOUT_SECONDS))
        }),
        always_allow: entry.always_allow.clone(),
        disabled_tools: entry.disabled_tools.clone(),
        enabled_tools: entry.enabled_tools.clone(),
        hints: Default::default(),
        sampling: Default::default(),
        elicitation: Default::default(),
        oauth: OAuthSettings {
            client_id: oauth.and_then(|oauth| oauth.client_id.clone()),
            client_secret: oauth.and_then(|oauth| oauth.client_secret.clone()),
            client_metadata_url: None,
            scopes: oauth.map(|oauth| oauth.scopes.clone()).unwrap_or_default(),
            port: oauth.and_then(|oauth| oauth.callback_port),
        },
        access: Default::default(),
        origin: origin.to_owned(),
    }
}

fn transport(entry: &McpFileEntry, variables: &ConfigVariables<'_>) -> Result<McpTransport, DefinitionError> {
    let all = |texts: &BTreeMap<String, String>| -> Result<BTreeMap<String, String>, DefinitionError> {
        let pairs = texts
            .iter()
            .map(|(name, text)| Ok((name.clone(), expand_variables(text, variables)?)));
        pairs.collect()
    };
    match (&entry.command, &entry.url, entry.r#type.as_deref()) {
        (Some(_), Some(_), _) => Err(DefinitionError::CommandAndUrl),
        (None, None, _) => Err(DefinitionError::NoCommandOrUrl),
        (Some(_), None, Some(kind)) if kind != "stdio" => Err(DefinitionError::TypeNeedsUrl),
        (Some(command), None, _) => {
            let args = entry.args.iter().map(|arg| expand_variables(arg, variables));
            let env = entry.env.iter().map(|(name, value)| (name.clone(), text(value)));
            Ok(McpTransport::Stdio {
                command: expand_variables(command, variables)?,
                args: args.collect::<Result<_, _>>()?,
                env: all(&env.collect())?,
                cwd: entry
                    .cwd
                    .as_deref()
                    .map(|cwd| expand_variables(cwd, variables))
                    .transpose()?
                    .map(PathBuf::from),
            })
        }
        (None, Some(url), kind) => {
            let (url, headers) = (expand_variables(url, variables)?, all(&entry.headers)?);
            match kind {
                Some("sse") => Ok(McpTransport::Sse { url, headers }),
                Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") | None => {
                    Ok(McpTransport::Http { url, headers })
                }
                Some(other) => Err(DefinitionError::UnknownType(other.to_owned())),
            }
        }
    }
}

/// A value as an environment variable.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Removes comments and trailing commas from JSON.
fn strip_json_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        match (quoted, letter, letters.peek()) {
            (true, '\\', _) => {
                out.push(letter);
                out.extend(letters.next());
            }
            (_, '"', _) => {
                quoted = !quoted;
                out.push(letter);
            }
            (false, '/', Some('/')) => {
                let rest = letters.by_ref().take_while(|letter| *letter != '\n');
                rest.for_each(drop);
                out.push('\n');
            }
            (false, '/', Some('*')) => {
                let mut before = ' ';
                letters.next();
                for letter in letters.by_ref() {
                    if before == '*' && letter == '/' {
                        break;
                    }
                    before = letter;
                }
            }
            (false, '}' | ']', _) => {
                let kept = out.trim_end().len();
                if out[..kept].ends_with(',') {
                    out.truncate(kept - 1);
                }
                out.push(letter);
            }
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn servers(text: &str) -> (Vec<McpDefinition>, Option<String>) {
        let environment = |name: &str| (name == "KEY").then(|| "secret".to_owned());
        let variables = ConfigVariables {
            workspace: Path::new("/w"),
            home: None,
            environment: &environment,
        };
        parse_mcp_file(text, ".mcp.json", &variables)
    }

    #[test]
    fn the_files_of_each_program_are_parsed() {
        let (found, problem) = servers(
            r#"{
                // A comment, as editors allow it.
                "mcpServers": {
                    "files": {"command": "npx", "args": ["-y", "x", "${workspaceFolder}"], "env": {"N": 1, "K": "${env:KEY}"},
                              "timeout": 5, "alwaysAllow": ["read"], "disabledTools": ["write"],},
                    "web": {"url": "https://h/mcp", "headers": {"A": "Bearer ${KEY}"}, "disabled": true},
                    "old": {"type": "sse", "url": "http://h/sse"}, /* the end */
                },
            }"#,
        );
        assert_eq!(problem, None);
        let [files, old, web] = [&found[0], &found[2], &found[1]];
        assert_eq!(
            files.transport,
            Ok(McpTransport::Stdio {
                command: "npx".into(),
                args: vec!["-y".into(), "x".into(), "/w".into()],
                env: [("N", "1"), ("K", "secret")]
                    .map(|(name, value)| (name.into(), value.into()))
                    .into(),
                cwd: None,
            })
        );
        assert_eq!(
            (files.timeout, files.includes_tool("write"), files.includes_tool("read")),
            (Duration::from_secs(5), false, true)
        );
        assert_eq!(files.allow_rules(), ["mcp(=files/read)"]);
        assert!(web.disabled);
        assert_eq!(
            web.transport,
            Ok(McpTransport::Http {
                url: "https://h/mcp".into(),
                headers: [("A".to_owned(), "Bearer secret".to_owned())].into(),
            })
        );
        assert!(matches!(old.transport, Ok(McpTransport::Sse { .. })));
        let (found, _) = servers(r#"{"servers": {"a": {"type": "http", "url": "http://h"}}, "inputs": []}"#);
        assert!(matches!(found[0].transport, Ok(McpTransport::Http { .. })));
    }

    #[test]
    fn an_invalid_definition_is_reported_for_its_server() {
        for (text, why) in [
            (
                r#"{"a": {"command": "x", "url": "http://h"}}"#,
                "both a command and a URL",
            ),
            (r#"{"a": {}}"#, "neither a command nor a URL"),
            (r#"{"a": {"command": "x", "type": "http"}}"#, "needs a URL"),
            (r#"{"a": {"url": "http://h", "type": "ws"}}"#, "unknown type `ws`"),
            (r#"{"a": {"command": "${env:GONE}"}}"#, "GONE is not set"),
            (r#"{"a": {"command": 3}}"#, "expected a string"),
        ] {
            let (found, problem) = servers(&format!(r#"{{"mcpServers": {text}}}"#));
            assert_eq!(problem, None);
            let error = found[0].transport.clone().unwrap_err();
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
        for text in ["{", r#"{"x": 1}"#, r#"{"mcpServers": []}"#] {
            assert!(
                servers(text).1.is_some_and(|why| why.starts_with(".mcp.json: ")),
                "{text}"
            );
        }
    }
}
