//! The variables a process sees: the user's own, without secrets, and set so that nothing waits for a person.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Keeps programs from paging, colouring, prompting or opening an editor where nobody can answer.
const QUIET: [(&str, &str); 14] = [
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

/// Would bring back what [`QUIET`] takes away; and what a shell works out from the folder it is started in.
const DROPPED: [&str; 14] = [
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
    /// one (see [`Environment::looks_secret`]). Names in `keep` stay although they look so. In both, `*` stands for any
    /// letters, and capitals do not matter.
    pub fn scrubbed(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        secret: &[impl AsRef<str>],
        keep: &[impl AsRef<str>],
    ) -> Self {
        let is_secret = |name: &str| {
            let listed = secret.iter().any(|pattern| matches(pattern.as_ref(), name));
            let kept = || keep.iter().any(|pattern| matches(pattern.as_ref(), name));
            listed || (Self::looks_secret(name) && !kept())
        };
        let mut variables: BTreeMap<OsString, OsString> = variables
            .into_iter()
            .filter(|(name, _)| !is_secret(&name.to_string_lossy()))
            .collect();
        for name in DROPPED {
            variables.remove(OsStr::new(name));
        }
        variables.extend(QUIET.map(|(name, value)| (name.into(), value.into())));
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

    /// Whether a program of this name is on the search path.
    pub fn finds(&self, program: &str) -> bool {
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

/// Whether a name fits a pattern in which `*` stands for any letters.
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
    fn a_star_stands_for_any_letters() {
        for (pattern, name, fits) in [
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
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn secrets_go_unless_they_are_kept_and_prompts_are_silenced() {
        let given = [
            "PATH",
            "MY_TOKEN",
            "KEPT_TOKEN",
            "A_SECRET_NAME",
            "CUSTOM_ONE",
            "PWD",
            "TERM",
            "FORCE_COLOR",
        ];
        let variables = given.map(|name| (OsString::from(name), OsString::from("x")));
        let environment = Environment::scrubbed(variables, &["CUSTOM*"], &["kept_*"]).with("ADDED", "y");
        let names: Vec<&str> = environment.iter().filter_map(|(name, _)| name.to_str()).collect();
        let mut expected = vec!["ADDED", "KEPT_TOKEN", "PATH"];
        expected.extend(QUIET.map(|(name, _)| name));
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert_eq!(environment.get("TERM"), Some(OsStr::new("dumb")));
    }
}
