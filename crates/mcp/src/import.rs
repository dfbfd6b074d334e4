//! Reads definitions from the files of other programs: `.mcp.json`, `.vscode/mcp.json`, `.cursor/mcp.json`, `.roo/mcp.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::definition::{Definition, OAuth, TIMEOUT, Transport};
use crate::expand::{Variables, expand};

/// Files of a project that define servers, the weakest first.
pub const PROJECT_FILES: [&str; 4] = [".vscode/mcp.json", ".cursor/mcp.json", ".roo/mcp.json", ".mcp.json"];

/// The longest time that a server may be given, as others have it too.
const LONGEST: u64 = 3_600;

/// A server as these files have it. What is not known is left alone: each program has fields of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Entry {
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
    oauth: Option<Login>,
}

/// How to log in.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Login {
    client_id: Option<String>,
    client_secret: Option<String>,
    scopes: Vec<String>,
    callback_port: Option<u16>,
}

/// The servers that a file defines, and what is wrong with it. A server that is described badly is there all the same, with
/// the reason why it cannot be used.
pub fn read(text: &str, origin: &str, variables: &Variables<'_>) -> (Vec<Definition>, Option<String>) {
    let wrong = |why: String| (Vec::new(), Some(format!("{origin}: {why}")));
    let value: Value = match serde_json::from_str(&plain(text)) {
        Ok(value) => value,
        Err(error) => return wrong(format!("it is not JSON: {error}")),
    };
    let Some(servers) = ["mcpServers", "servers"].iter().find_map(|key| value.get(key)) else {
        return match value.as_object().is_some_and(Map::is_empty) {
            true => (Vec::new(), None),
            false => wrong("there is no key `mcpServers`".into()),
        };
    };
    let Some(servers) = servers.as_object() else {
        return wrong("`mcpServers` is not an object".into());
    };
    let read = servers
        .iter()
        .map(|(name, value)| define(name, value, origin, variables));
    (read.collect(), None)
}

fn define(name: &str, value: &Value, origin: &str, variables: &Variables<'_>) -> Definition {
    let (entry, problem) = match Entry::deserialize(value) {
        Ok(entry) => (entry, None),
        Err(error) => (Entry::default(), Some(error.to_string())),
    };
    let oauth = entry.oauth.as_ref();
    Definition {
        name: name.to_owned(),
        transport: match problem {
            Some(why) => Err(why),
            None => transport(&entry, variables),
        },
        disabled: entry.disabled || entry.enabled == Some(false),
        timeout: entry.timeout.map_or(TIMEOUT, |seconds| {
            Duration::from_secs((seconds as u64).clamp(1, LONGEST))
        }),
        always_allow: entry.always_allow.clone(),
        disabled_tools: entry.disabled_tools.clone(),
        enabled_tools: entry.enabled_tools.clone(),
        hints: Default::default(),
        sampling: Default::default(),
        oauth: OAuth {
            client_id: oauth.and_then(|oauth| oauth.client_id.clone()),
            client_secret: oauth.and_then(|oauth| oauth.client_secret.clone()),
            scopes: oauth.map(|oauth| oauth.scopes.clone()).unwrap_or_default(),
            port: oauth.and_then(|oauth| oauth.callback_port),
        },
        origin: origin.to_owned(),
    }
}

fn transport(entry: &Entry, variables: &Variables<'_>) -> Result<Transport, String> {
    let all = |texts: &BTreeMap<String, String>| -> Result<BTreeMap<String, String>, String> {
        let pairs = texts
            .iter()
            .map(|(name, text)| Ok((name.clone(), expand(text, variables)?)));
        pairs.collect()
    };
    match (&entry.command, &entry.url, entry.r#type.as_deref()) {
        (Some(_), Some(_), _) => Err("it has both a command and an address".into()),
        (None, None, _) => Err("it has neither a command nor an address".into()),
        (Some(_), None, Some(kind)) if kind != "stdio" => Err(format!("the type `{kind}` has no command")),
        (Some(command), None, _) => {
            let args = entry.args.iter().map(|arg| expand(arg, variables));
            let env = entry.env.iter().map(|(name, value)| (name.clone(), text(value)));
            Ok(Transport::Stdio {
                command: expand(command, variables)?,
                args: args.collect::<Result<_, _>>()?,
                env: all(&env.collect())?,
                cwd: entry
                    .cwd
                    .as_deref()
                    .map(|cwd| expand(cwd, variables))
                    .transpose()?
                    .map(PathBuf::from),
            })
        }
        (None, Some(url), kind) => {
            let (url, headers) = (expand(url, variables)?, all(&entry.headers)?);
            match kind {
                Some("sse") => Ok(Transport::Sse { url, headers }),
                Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") | None => {
                    Ok(Transport::Http { url, headers })
                }
                Some(other) => Err(format!(
                    "hew does not know the type `{other}`; it is stdio, http or sse"
                )),
            }
        }
    }
}

/// A value as a variable of the environment holds it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// JSON without the comments and last commas that editors allow in it.
fn plain(text: &str) -> String {
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

    fn servers(text: &str) -> (Vec<Definition>, Option<String>) {
        let environment = |name: &str| (name == "KEY").then(|| "secret".to_owned());
        let variables = Variables {
            workspace: Path::new("/w"),
            home: None,
            environment: &environment,
        };
        read(text, ".mcp.json", &variables)
    }

    #[test]
    fn each_programs_file_is_understood() {
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
            Ok(Transport::Stdio {
                command: "npx".into(),
                args: vec!["-y".into(), "x".into(), "/w".into()],
                env: [("N", "1"), ("K", "secret")]
                    .map(|(name, value)| (name.into(), value.into()))
                    .into(),
                cwd: None,
            })
        );
        assert_eq!(
            (files.timeout, files.offers("write"), files.offers("read")),
            (Duration::from_secs(5), false, true)
        );
        assert_eq!(files.rules(), ["mcp(=files/read)"]);
        assert!(web.disabled);
        assert_eq!(
            web.transport,
            Ok(Transport::Http {
                url: "https://h/mcp".into(),
                headers: [("A".to_owned(), "Bearer secret".to_owned())].into(),
            })
        );
        assert!(matches!(old.transport, Ok(Transport::Sse { .. })));
        let (found, _) = servers(r#"{"servers": {"a": {"type": "http", "url": "http://h"}}, "inputs": []}"#);
        assert!(matches!(found[0].transport, Ok(Transport::Http { .. })));
    }

    #[test]
    fn what_is_wrong_is_said_of_the_server_that_it_is_wrong_with() {
        for (text, why) in [
            (
                r#"{"a": {"command": "x", "url": "http://h"}}"#,
                "both a command and an address",
            ),
            (r#"{"a": {}}"#, "neither a command nor an address"),
            (r#"{"a": {"command": "x", "type": "http"}}"#, "has no command"),
            (
                r#"{"a": {"url": "http://h", "type": "ws"}}"#,
                "does not know the type `ws`",
            ),
            (r#"{"a": {"command": "${env:GONE}"}}"#, "GONE is not set"),
            (r#"{"a": {"command": 3}}"#, "expected a string"),
        ] {
            let (found, problem) = servers(&format!(r#"{{"mcpServers": {text}}}"#));
            assert_eq!(problem, None);
            let said = found[0].transport.clone().unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
        for text in ["{", r#"{"x": 1}"#, r#"{"mcpServers": []}"#] {
            assert!(
                servers(text).1.is_some_and(|why| why.starts_with(".mcp.json: ")),
                "{text}"
            );
        }
    }
}
