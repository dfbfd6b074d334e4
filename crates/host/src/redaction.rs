//! Redacts keys in texts for users and models: every configured key, whether it is used or not, and texts with the form of a key.

use crate::config::{self, Config, ConfigValue};
use crate::environment::ProcessEnv;
use crate::failure::Failure;
use crate::text::mask;
use crate::{keys, paths};
use providers::presets::presets;
use sandbox::ProcessEnvironment;
use std::sync::Arc;
use toml::{Table, Value};

/// The minimum length of a redacted value: shorter ones would match ordinary text.
const MIN_SECRET: usize = 8;
/// Prefixes of keys.
const KEY_PREFIXES: [&str; 8] = ["sk-", "sk_", "ghp_", "gho_", "github_pat_", "xoxb-", "AIza", "AKIA"];
/// Characters between words.
const SEPARATORS: [char; 12] = [' ', '"', '\'', '=', ':', ',', '&', '?', '/', '\n', '`', '@'];
/// The replacement of a secret.
const MARK: &str = "[secret]";

/// Replaces secrets in texts. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    /// The longest first: one may contain another.
    secrets: Arc<[String]>,
}

impl Redactor {
    /// Redacts the values of variables that look secret or contain provider keys, and all keys in the keys file.
    pub fn new(env: &ProcessEnv) -> Self {
        let vendors = presets().iter().flat_map(|preset| preset.key_env.iter().copied());
        let vendors = vendors.filter_map(|name| env.get(name));
        let named = env.all().iter().filter(|(name, _)| is_secret_name(name));
        let named = named.map(|(_, value)| value.as_str());
        let passwords = env.all().values().filter_map(|value| url_password(value));
        let named = named.chain(passwords);
        let stored = keys::file::all(env);
        Redactor::default().with(vendors.chain(named).chain(stored.iter().map(String::as_str)))
    }

    /// Also redacts the keys in the configuration, and the variables that it names for keys.
    pub fn of_config(config: &Config, env: &ProcessEnv) -> Self {
        let mut found: Vec<&str> = Vec::new();
        let mut variables: Vec<&str> = crate::web::secret_variables(config).collect();
        for entry in config.providers.values() {
            found.extend(entry.key.as_deref());
            variables.extend(entry.key_env.as_deref());
            found.extend(entry.headers.values().map(String::as_str));
            let urls = [&entry.base_url, &entry.proxy].into_iter().flatten();
            found.extend(urls.flat_map(|url| url_secrets(url)));
        }
        for entry in config.agents.values() {
            found.extend(entry.env.values().map(String::as_str));
            found.extend(argument_secrets(&entry.args));
        }
        found.extend(config.telemetry.endpoint.iter().flat_map(|url| url_secrets(url)));
        found.extend(config.telemetry.headers.values().map(String::as_str));
        found.extend(config.proxy.as_deref().and_then(url_password));
        for entry in config.mcp.values() {
            found.extend(entry.env.values().chain(entry.headers.values()).map(String::as_str));
            found.extend(entry.oauth.client_secret.as_deref());
            found.extend(entry.url.iter().flat_map(|url| url_secrets(url)));
            found.extend(argument_secrets(&entry.args));
        }
        found.extend(variables.into_iter().filter_map(|name| env.get(name)));
        Redactor::new(env).with(found)
    }

    /// Redacts what is known without a valid configuration.
    pub fn for_failures(env: &ProcessEnv) -> Self {
        let mut found = Vec::new();
        let text = paths::user_config_file(env)
            .ok()
            .and_then(|file| crate::config::read_text(&file).ok());
        if let Some(table) = text.and_then(|text| text.parse::<Table>().ok()) {
            collect_table(&table, Sensitivity::ByName, env, &mut found);
        }
        Redactor::new(env).with(found.iter().map(String::as_str))
    }

    /// Redacts these values too.
    #[must_use]
    pub fn with<'s>(self, more: impl IntoIterator<Item = &'s str>) -> Self {
        let mut secrets: Vec<String> = self.secrets.to_vec();
        secrets.extend(more.into_iter().map(|secret| secret.trim().to_owned()));
        let inner: Vec<String> = secrets.iter().flat_map(|secret| inner_secrets(secret)).collect();
        secrets.extend(inner);
        let encoded: Vec<String> = secrets.iter().filter_map(|secret| percent_encoded(secret)).collect();
        secrets.extend(encoded);
        secrets.retain(|secret| secret.len() >= MIN_SECRET);
        secrets.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        secrets.dedup();
        Redactor {
            secrets: secrets.into(),
        }
    }

    /// The redacted values, the longest first.
    pub fn secrets(&self) -> &Arc<[String]> {
        &self.secrets
    }

    /// Replaces secrets in a text.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.secrets.iter() {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MARK);
            }
        }
        let mut out = String::with_capacity(text.len());
        let mut bearer = false;
        for piece in text.split_inclusive(SEPARATORS) {
            let word = piece.trim_end_matches(SEPARATORS);
            let is_key = bearer
                || KEY_PREFIXES
                    .iter()
                    .any(|key| word.len() > key.len() + MIN_SECRET && word.starts_with(key));
            match is_key && !word.is_empty() {
                true => {
                    out.push_str(MARK);
                    out.push_str(&piece[word.len()..]);
                }
                false => out.push_str(piece),
            }
            bearer = word.eq_ignore_ascii_case("bearer") || (bearer && word.is_empty());
        }
        out
    }

    /// Replaces secrets and private keys in a text.
    pub fn redact_keys(&self, text: &str) -> String {
        let mut rest = text;
        let mut out = String::with_capacity(text.len());
        while let Some(start) = rest
            .find("-----BEGIN ")
            .filter(|at| rest[*at..].contains("PRIVATE KEY-----"))
        {
            let (before, block) = rest.split_at(start);
            out.push_str(before);
            let end = block.find("-----END ").map_or(block.len(), |at| {
                let close = block[at + 9..]
                    .find("-----")
                    .map_or(block.len(), |length| at + 9 + length + 5);
                close.min(block.len())
            });
            let is_key = block[..end]
                .lines()
                .next()
                .is_some_and(|line| line.contains("PRIVATE KEY"));
            out.push_str(if is_key { MARK } else { &block[..end] });
            rest = &block[end..];
        }
        out.push_str(rest);
        self.redact(&out)
    }

    /// Replaces secrets in a failure.
    pub fn failure(&self, mut failure: Failure) -> Failure {
        failure.message = self.redact(&failure.message);
        failure.hint = failure.hint.map(|hint| self.redact(&hint));
        failure
    }
}

/// The parts of a header or of a list of headers that a message may repeat alone: the token of `Bearer TOKEN`, the values of
/// `name=value,name=value`.
fn inner_secrets(secret: &str) -> Vec<String> {
    const SCHEMES: [&str; 3] = ["bearer", "basic", "token"];
    let values = secret
        .split(',')
        .map(|entry| entry.split_once('=').map_or(entry, |(_, value)| value));
    let without_scheme = values.map(|value| match value.trim().split_once(' ') {
        Some((scheme, token)) if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => token,
        Some(_) | None => value,
    });
    without_scheme.map(|value| value.trim().to_owned()).collect()
}

/// A secret as in the query of a URL; `None` if that is the same text.
fn percent_encoded(secret: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if secret.bytes().all(is_plain) {
        return None;
    }
    let encode = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    Some(secret.bytes().map(encode).collect())
}

/// The password in a URL such as `https://user:password@host`, or the user if there is no password.
pub fn url_password(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let (credentials, _) = rest.split(['/', '?', '#']).next()?.rsplit_once('@')?;
    Some(
        credentials
            .split_once(':')
            .map_or(credentials, |(_, password)| password),
    )
}

/// A value for display: keys, the values of headers and of the variables of servers, and passwords and keys in URLs are
/// masked.
pub fn without_secrets(mut leaf: ConfigValue) -> ConfigValue {
    let path = config::parse_key_path(&leaf.key).unwrap_or_default();
    let is_in = |table: &str| path.iter().rev().nth(1).is_some_and(|name| name == table);
    let is_named = |name: &str| path.last().is_some_and(|last| last == name);
    let is_secret = is_in("headers") || is_in("env") || is_named("key") || is_named("client_secret");
    hide_in(&mut leaf.value, is_secret);
    leaf
}

fn hide_in(value: &mut Value, is_secret: bool) {
    match value {
        Value::String(text) if is_secret => *text = mask(text),
        Value::String(text) => {
            for secret in url_secrets(text).into_iter().map(str::to_owned).collect::<Vec<_>>() {
                *text = text.replacen(&secret, &mask(&secret), 1);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| hide_in(value, is_secret)),
        Value::Table(table) => table.iter_mut().for_each(|(_, value)| hide_in(value, is_secret)),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

/// The values of options such as `--api-key=VALUE` and `--token VALUE`.
fn argument_secrets(args: &[String]) -> Vec<&str> {
    let is_secret_option = |text: &str| text.starts_with('-') && is_secret_name(text);
    let glued = args.iter().filter_map(|text| text.split_once('='));
    let glued = glued.filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value);
    let separate = args
        .windows(2)
        .filter(|pair| is_secret_option(&pair[0]) && !pair[0].contains('='));
    glued.chain(separate.map(|pair| pair[1].as_str())).collect()
}

/// The password in a URL, and the values of parameters with the name of a secret.
fn url_secrets(url: &str) -> Vec<&str> {
    let query = url.split_once("://").and_then(|(_, rest)| rest.split_once('?'));
    let pairs = query.map_or("", |(_, query)| query).split(['&', '#']);
    let named = pairs.filter_map(|pair| pair.split_once('='));
    let parameters = named.filter(|(name, value)| is_secret_name(name) && !value.is_empty());
    let password = url_password(url).filter(|password| !password.is_empty());
    password.into_iter().chain(parameters.map(|(_, value)| value)).collect()
}

fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    ProcessEnvironment::looks_secret(name)
        || [
            "AUTH",
            "_HEADERS",
            "COOKIE",
            "CREDENTIAL",
            "DSN",
            "JWT",
            "KEY",
            "PASSWORD",
            "SECRET",
            "TOKEN",
            "_PAT",
        ]
        .iter()
        .any(|word| upper.contains(word))
}

/// Whether all strings of a table are secrets, or those with such names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sensitivity {
    All,
    ByName,
}

fn collect_table(table: &Table, of_table: Sensitivity, env: &ProcessEnv, found: &mut Vec<String>) {
    for (key, value) in table {
        // Headers and the variables of servers usually contain credentials.
        let sensitivity = match key.as_str() {
            "headers" | "env" => Sensitivity::All,
            name if is_secret_name(name) => Sensitivity::All,
            _ => of_table,
        };
        match value {
            // The name of a variable with the key.
            Value::String(name) if key.ends_with("_env") => found.extend(env.get(name).map(str::to_owned)),
            Value::String(text) if sensitivity == Sensitivity::All => found.push(text.clone()),
            Value::String(text) => found.extend(url_secrets(text).into_iter().map(str::to_owned)),
            Value::Table(table) => collect_table(table, sensitivity, env, found),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_redacted() {
        let env = ProcessEnv::from([
            ("ANTHROPIC_API_KEY", "a-very-own-key"),
            ("GITHUB_TOKEN", "short"),
            ("EDITOR", "vim-improved"),
        ]);
        let redactor = Redactor::new(&env);
        for (text, expected) in [
            ("the key a-very-own-key is wrong", "the key [secret] is wrong"),
            ("vim-improved and short stay", "vim-improved and short stay"),
            ("authorization: Bearer abc.def", "authorization: Bearer [secret]"),
            ("key=sk-ant-0123456789abcdef&x=1", "key=[secret]&x=1"),
            ("\"ghp_0123456789abcdef\"", "\"[secret]\""),
            ("a task-list and sk-short", "a task-list and sk-short"),
        ] {
            assert_eq!(redactor.redact(text), expected);
        }
    }

    #[test]
    fn secrets_in_headers_and_urls_are_redacted_in_all_forms() {
        let text = "proxy = 'http://me:proxy-password@p:1'\n[providers.a]\nbase_url = 'https://me:base-password@h/v1'\nproxy = 'http://me:own-proxy-password@p:1'\n\
                    headers = { authorization = 'Bearer header+token/1', x-plain = 'plain-header-value' }\n\
                    [mcp.s]\nurl = 'https://h/x?api_key=query-value'\nargs = ['--token=glued-value', '--api-key', 'separate-value']\n[agents.x]\ncommand = 'x'\nenv = { A = 'agent-value' }\n\
                    [telemetry]\nheaders = { authorization = 'Basic telemetry-token' }\n";
        let env = ProcessEnv::from([
            ("HTTPS_PROXY", "http://user:env-password@p:1"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=first-value,b=Bearer second-value"),
        ]);
        let redactor = Redactor::of_config(&toml::from_str(text).unwrap(), &env);
        for secret in [
            "proxy-password",
            "base-password",
            "own-proxy-password",
            "plain-header-value",
            "query-value",
            "glued-value",
            "separate-value",
            "header+token/1",
            "header%2Btoken%2F1",
            "agent-value",
            "telemetry-token",
            "env-password",
            "first-value",
            "second-value",
        ] {
            assert_eq!(redactor.redact(&format!("<{secret}>")), "<[secret]>", "{secret}");
        }
    }

    #[test]
    fn displayed_values_contain_no_secrets() {
        let shown = |key: &str, value: Value| {
            let origin = config::ConfigOrigin::BuiltIn;
            without_secrets(ConfigValue {
                key: key.into(),
                value,
                origin,
            })
            .value
        };
        for (key, value, expected) in [
            ("providers.a.key", "sk-ant-api03-abcdef", "sk-a…cdef"),
            ("mcp.s.env.A", "short", "***"),
            ("providers.a.headers.x-a", "short", "***"),
            ("mcp.s.oauth.client_secret", "short", "***"),
            ("proxy", "http://me:password@p:1", "http://me:***@p:1"),
            (
                "mcp.s.url",
                "https://h/x?api_key=abc&b=1",
                "https://h/x?api_key=***&b=1",
            ),
            ("model", "anthropic/x", "anthropic/x"),
            ("mcp.s.url", "https://h/x?b=1", "https://h/x?b=1"),
        ] {
            assert_eq!(shown(key, value.into()), Value::from(expected), "{key}");
        }
        let urls = vec![Value::from("http://me:password@p:1")];
        assert_eq!(shown("x", Value::Array(urls)).to_string(), "[\"http://me:***@p:1\"]");
    }

    #[test]
    fn configured_keys_are_redacted_whether_they_are_used_or_not() {
        let text = "language = 'ordinary-name'\n[providers.a]\nkey = 'first-own-value'\nkey_env = 'MINE'\nheaders = { x-auth = 'second-own-value' }\n\
                    [mcp.s]\nenv = { A = 'third-own-value' }\noauth.client_secret = 'fourth-own-value'\n\
                    ";
        let env = ProcessEnv::from([("MINE", "fifth-own-value")]);
        let redactor = Redactor::of_config(&toml::from_str(text).unwrap(), &env);
        for secret in ["first", "second", "third", "fourth", "fifth"] {
            assert_eq!(
                redactor.redact(&format!("<{secret}-own-value>")),
                "<[secret]>",
                "{secret}"
            );
        }
        assert_eq!(redactor.redact("ordinary-name"), "ordinary-name");
    }
}
