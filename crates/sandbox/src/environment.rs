//! The variables a process sees: the user's own, without secrets, and set so that nothing waits for a person.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Keeps programs from paging, colouring, prompting or opening an editor where nobody can answer.
const QUIET: [(&str, &str); 7] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("MANPAGER", "cat"),
    ("PAGER", "cat"),
    ("TERM", "dumb"),
];

/// Endings of names that hold secrets.
const SECRET_ENDINGS: [&str; 10] = [
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "ACCESS_KEY_ID",
    "AUTH",
    "CREDENTIAL",
    "CREDENTIALS",
    "PASS",
    "PRIVATE_KEY",
    "TOKEN",
];
/// Parts of names that hold secrets, wherever they stand.
const SECRET_PARTS: [&str; 5] = ["PASSWD", "PASSWORD", "PASSPHRASE", "SECRET", "_TOKEN_"];

/// A set of variables. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    variables: Arc<BTreeMap<OsString, OsString>>,
}

impl Environment {
    /// Takes the given variables without those that hold secrets: the names in `secret` and every name that looks like
    /// one (see [`Environment::looks_secret`]). Names in `keep` stay although they look so.
    pub fn scrubbed(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        secret: &[impl AsRef<str>],
        keep: &[impl AsRef<str>],
    ) -> Self {
        let listed = |names: &[&str], name: &OsStr| names.iter().any(|listed| name == *listed);
        let secret: Vec<&str> = secret.iter().map(AsRef::as_ref).collect();
        let keep: Vec<&str> = keep.iter().map(AsRef::as_ref).collect();
        let mut variables: BTreeMap<OsString, OsString> = variables
            .into_iter()
            .filter(|(name, _)| !listed(&secret, name))
            .filter(|(name, _)| listed(&keep, name) || !Self::looks_secret(&name.to_string_lossy()))
            .collect();
        variables.extend(QUIET.map(|(name, value)| (name.into(), value.into())));
        // The shell works out both from the folder it is started in.
        variables.remove(OsStr::new("PWD"));
        variables.remove(OsStr::new("OLDPWD"));
        Self {
            variables: Arc::new(variables),
        }
    }

    /// The same variables with one more, or one changed.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        Arc::make_mut(&mut self.variables).insert(name.into(), value.into());
        self
    }

    /// Whether a variable of this name is taken to hold a secret: keys, tokens, passwords and credentials of any vendor.
    pub fn looks_secret(name: &str) -> bool {
        let name = name.to_ascii_uppercase();
        let ends = |ending: &&str| {
            name.strip_suffix(*ending)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
        };
        match name.as_str() {
            // A socket and a program, not secrets; much stops working without them.
            "SSH_AUTH_SOCK" | "SSH_ASKPASS" | "GIT_ASKPASS" | "SUDO_ASKPASS" => false,
            _ => SECRET_ENDINGS.iter().any(ends) || SECRET_PARTS.iter().any(|part| name.contains(part)),
        }
    }

    /// Whether a variable of this name is set to anything.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !value.is_empty())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.variables.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised_and_others_are_not() {
        for name in [
            "OPENAI_API_KEY",
            "anthropic_api_key",
            "SOME_APIKEY",
            "GITHUB_TOKEN",
            "TOKEN",
            "NPM_TOKEN_CI",
            "CLIENT_SECRET",
            "SECRET_KEY_BASE",
            "PGPASSWORD",
            "DB_PASSWORD_FILE",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AZURE_CREDENTIALS",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "DEPLOY_PRIVATE_KEY",
            "DB_PASS",
            "NPM_CONFIG__AUTH",
        ] {
            assert!(Environment::looks_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "SSH_AUTH_SOCK",
            "AWS_REGION",
            "AWS_PROFILE",
            "CARGO_HOME",
            "TOKENIZERS_PARALLELISM",
            "KEYBOARD",
            "BYPASS",
            "COMPASS",
            "EDITOR",
            "DATABASE_URL",
            "XAUTHORITY",
        ] {
            assert!(!Environment::looks_secret(name), "{name}");
        }
    }

    #[test]
    fn secrets_go_unless_they_are_kept_and_prompts_are_silenced() {
        let given = [
            "PATH",
            "MY_TOKEN",
            "KEPT_TOKEN",
            "A_SECRET_NAME",
            "CUSTOM",
            "PWD",
            "TERM",
        ];
        let variables = given.map(|name| (OsString::from(name), OsString::from("x")));
        let environment = Environment::scrubbed(variables, &["CUSTOM"], &["KEPT_TOKEN"]).with("ADDED", "y");
        let names: Vec<&str> = environment.iter().filter_map(|(name, _)| name.to_str()).collect();
        let expected = [
            "ADDED",
            "DEBIAN_FRONTEND",
            "GIT_EDITOR",
            "GIT_PAGER",
            "GIT_TERMINAL_PROMPT",
            "KEPT_TOKEN",
            "MANPAGER",
            "PAGER",
            "PATH",
            "TERM",
        ];
        assert_eq!(names, expected);
        assert_eq!(environment.get("TERM"), Some(OsStr::new("dumb")));
    }
}
