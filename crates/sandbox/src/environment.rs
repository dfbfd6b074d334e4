//! The environment of a process: the allowed variables of the user, and settings that prevent interactive prompts.

mod allowed_names;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Keeps programs from paging, colouring, prompting or opening an editor, because no user can respond.
const NON_INTERACTIVE: [(&str, &str); 14] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("EDITOR", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GH_PROMPT_DISABLED", "1"),
    ("MANPAGER", "cat"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("PIP_NO_INPUT", "1"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("TERM", "dumb"),
    ("VISUAL", "true"),
];

/// Variables that would undo [`NON_INTERACTIVE`], or that a shell derives from its working directory.
const REMOVED: [&str; 14] = [
    "AWS_PAGER",
    "BAT_PAGER",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "DELTA_PAGER",
    "FORCE_COLOR",
    "GH_PAGER",
    "GIT_ASKPASS",
    "OLDPWD",
    "PWD",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SYSTEMD_PAGER",
];

/// Suffixes of names with secrets.
const SECRET_SUFFIXES: [&str; 10] = [
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
/// Substrings of names with secrets.
const SECRET_PARTS: [&str; 5] = ["PASSWD", "PASSWORD", "PASSPHRASE", "SECRET", "_TOKEN_"];

/// A set of environment variables. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessEnvironment {
    variables: Arc<BTreeMap<OsString, OsString>>,
}

impl ProcessEnvironment {
    /// The variables that shells and toolchains need, and those in `keep`, but not those in `secret`. In both lists,
    /// `*` matches any characters, and case is ignored.
    pub fn scrubbed(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        secret: &[impl AsRef<str>],
        keep: &[impl AsRef<str>],
    ) -> Self {
        let is_passed = |name: &str, value: &str| {
            let is_kept = || keep.iter().any(|pattern| matches(pattern.as_ref(), name));
            let is_secret = || secret.iter().any(|pattern| matches(pattern.as_ref(), name));
            (allowed_names::is_allowed(name, value) || is_kept()) && !is_secret()
        };
        let mut variables: BTreeMap<OsString, OsString> = variables
            .into_iter()
            .filter(|(name, value)| is_passed(&name.to_string_lossy(), &value.to_string_lossy()))
            .collect();
        for name in REMOVED {
            variables.remove(OsStr::new(name));
        }
        variables.extend(NON_INTERACTIVE.map(|(name, value)| (name.into(), value.into())));
        Self {
            variables: Arc::new(variables),
        }
    }

    /// Adds or changes a variable.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        Arc::make_mut(&mut self.variables).insert(name.into(), value.into());
        self
    }

    /// Whether a variable with this name probably contains a secret: keys, tokens, passwords and credentials of any
    /// vendor.
    pub fn looks_secret(name: &str) -> bool {
        let name = name.to_ascii_uppercase();
        let ends = |ending: &&str| {
            name.strip_suffix(*ending)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
        };
        match name.as_str() {
            // A socket and a program, not secrets, which many tools need.
            "SSH_AUTH_SOCK" | "SSH_ASKPASS" | "GIT_ASKPASS" | "SUDO_ASKPASS" => false,
            _ => SECRET_SUFFIXES.iter().any(ends) || SECRET_PARTS.iter().any(|part| name.contains(part)),
        }
    }

    /// Whether a variable with this name is set and not empty.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !value.is_empty())
    }

    /// Whether a program with this name is on the search path.
    pub fn has_program(&self, program: &str) -> bool {
        let Some(path) = self.get("PATH") else {
            return false;
        };
        std::env::split_paths(path).any(|folder| is_executable(&folder.join(program)))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.variables.iter()
    }
}

/// Whether a name matches a pattern with `*` wildcards.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_uppercase(), name.to_ascii_uppercase());
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(unix)]
fn is_executable(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &std::path::Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
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
            assert!(ProcessEnvironment::looks_secret(name), "{name}");
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
            assert!(!ProcessEnvironment::looks_secret(name), "{name}");
        }
    }

    #[test]
    fn a_star_matches_any_characters() {
        for (pattern, name, expected) in [
            ("ABC", "ABC", true),
            ("abc", "ABC", true),
            ("ABC", "ABCD", false),
            ("ABC*", "ABCD", true),
            ("*_PAT", "GITLAB_PAT", true),
            ("*_PAT", "GITLAB_PATH", false),
            ("A*B*C", "A-x-B-y-C", true),
            ("A*B*C", "A-x-C", false),
            ("A*A", "A", false),
            ("*", "", true),
            ("", "X", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn only_allowed_and_kept_variables_are_passed_and_prompts_are_disabled() {
        let given = [
            "PATH",
            "UNKNOWN",
            "MY_TOKEN",
            "KEPT_TOKEN",
            "A_SECRET_NAME",
            "CUSTOM_ONE",
            "PWD",
            "TERM",
            "FORCE_COLOR",
        ];
        let variables = given.map(|name| (OsString::from(name), OsString::from("x")));
        let environment = ProcessEnvironment::scrubbed(variables, &["CUSTOM*"], &["kept_*"]).with("ADDED", "y");
        let names: Vec<&str> = environment.iter().filter_map(|(name, _)| name.to_str()).collect();
        let mut expected = vec!["ADDED", "KEPT_TOKEN", "PATH"];
        expected.extend(NON_INTERACTIVE.map(|(name, _)| name));
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert_eq!(environment.get("TERM"), Some(OsStr::new("dumb")));
    }
}
