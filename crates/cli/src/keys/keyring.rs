//! The system's keyring, through the program that each desktop has for it.
//!
//! Linux has `secret-tool` (libsecret: GNOME Keyring, KWallet, KeePassXC), macOS has `security`. Speaking D-Bus ourselves
//! would add eighty packages for something that is asked once a run, and only when nothing else gives a key.

use super::{Key, Source, run};
use crate::environment::Environment;
use crate::failure::Failure;

/// Where the key is handed over to the shell, so that it never stands in a list of processes.
const HANDOVER: &str = "HEW_KEYRING_SECRET";

/// The system's keyring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keyring<'a> {
    env: &'a Environment,
}

/// Why the keyring could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// This system has none that hew can use.
    Absent,
    /// There is nobody who could unlock it.
    NoDesktop,
    /// It did not do what it was asked.
    Failed(String),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let advice = "keys can also come from the environment, or from key_env and key_command in the configuration";
        match problem {
            Problem::Absent if cfg!(target_os = "linux") => {
                Failure::failed("there is no keyring: the program `secret-tool` was not found")
                    .hint(format!("install libsecret-tools (Debian) or libsecret; {advice}"))
            }
            Problem::NoDesktop => Failure::failed("the keyring cannot be reached: there is no desktop session")
                .hint(format!("DBUS_SESSION_BUS_ADDRESS is not set; {advice}")),
            Problem::Absent => Failure::failed("hew has no keyring on this system").hint(advice),
            Problem::Failed(why) => Failure::failed(format!("the keyring did not do it: {why}")).hint(advice),
        }
    }
}

impl<'a> Keyring<'a> {
    /// The keyring of the person whose environment this is.
    pub(crate) fn new(env: &'a Environment) -> Self {
        Keyring { env }
    }

    /// Whether there is a keyring that hew can use.
    pub(crate) fn present(&self) -> bool {
        self.check().is_ok()
    }

    /// Why the keyring cannot be used, if so; asked before a person is bothered for a key.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        self.tool().map(drop)
    }

    /// The key of a provider.
    pub(crate) async fn get(&self, provider: &str) -> Result<Option<Key>, Problem> {
        let script = match self.tool()? {
            Tool::SecretTool => r#"secret-tool lookup service hew provider "$1" || [ $? -eq 1 ]"#,
            Tool::Security => r#"security find-generic-password -s hew -a "$1" -w 2>/dev/null || [ $? -eq 44 ]"#,
        };
        let printed = self.shell(script, provider, None).await?;
        let key = printed.trim();
        Ok((!key.is_empty()).then(|| Key::found(key, Source::Keyring)))
    }

    /// Keeps the key of a provider, in place of an older one.
    pub(crate) async fn set(&self, provider: &str, key: &str) -> Result<(), Problem> {
        let script = match self.tool()? {
            Tool::SecretTool => {
                r#"printf %s "$HEW_KEYRING_SECRET" | secret-tool store --label="hew: $1" service hew provider "$1""#
            }
            Tool::Security => {
                r#"printf 'add-generic-password -U -s hew -a %s -w %s\n' "$1" "$HEW_KEYRING_SECRET" | security -i"#
            }
        };
        self.shell(script, provider, Some(key)).await.map(drop)
    }

    /// Forgets the key of a provider.
    pub(crate) async fn remove(&self, provider: &str) -> Result<(), Problem> {
        let script = match self.tool()? {
            Tool::SecretTool => r#"secret-tool clear service hew provider "$1""#,
            Tool::Security => r#"security delete-generic-password -s hew -a "$1" >/dev/null"#,
        };
        self.shell(script, provider, None).await.map(drop)
    }

    fn tool(&self) -> Result<Tool, Problem> {
        let tool = tool().ok_or(Problem::Absent)?;
        let program = match tool {
            Tool::SecretTool => "secret-tool",
            Tool::Security => "security",
        };
        let path = self.env.get("PATH").unwrap_or_default();
        if !std::env::split_paths(path).any(|folder| folder.join(program).is_file()) {
            return Err(Problem::Absent);
        }
        match tool {
            // Without a desktop session there is nobody who could unlock it, and asking would only cost time.
            Tool::SecretTool if self.env.get("DBUS_SESSION_BUS_ADDRESS").is_none() => Err(Problem::NoDesktop),
            Tool::SecretTool | Tool::Security => Ok(tool),
        }
    }

    async fn shell(&self, script: &str, provider: &str, key: Option<&str>) -> Result<String, Problem> {
        let args: Vec<String> = ["-c", script, "hew", provider].map(String::from).to_vec();
        let extra: Vec<(&str, &str)> = key.map(|key| (HANDOVER, key)).into_iter().collect();
        run("sh", &args, self.env, &extra).await.map_err(Problem::Failed)
    }
}

#[derive(Debug, Clone, Copy)]
enum Tool {
    SecretTool,
    Security,
}

fn tool() -> Option<Tool> {
    if cfg!(target_os = "macos") {
        Some(Tool::Security)
    } else if cfg!(unix) {
        Some(Tool::SecretTool)
    } else {
        None
    }
}
