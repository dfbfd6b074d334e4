//! The system keyring, through the command-line program of each desktop.
//!
//! Linux has `secret-tool` (libsecret: GNOME Keyring, KWallet, KeePassXC), macOS has `security`. A D-Bus client would
//! add eighty packages for one request per run, and only if no other source has a key.

use super::{KeySource, ProviderKey};
use crate::environment::ProcessEnv;
use crate::failure::Failure;
use crate::program::{ProgramError, run_program};

/// The variable that passes the key to the shell, so that it never appears in a list of processes.
const SECRET_VARIABLE: &str = "HEW_KEYRING_SECRET";

/// The system keyring.
#[derive(Debug, Clone, Copy)]
pub struct SystemKeyring<'a> {
    env: &'a ProcessEnv,
}

/// Why the keyring could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyringError {
    /// There is no supported keyring.
    Absent,
    /// There is no desktop session to unlock it.
    NoDesktop,
    /// The operation failed.
    Failed(ProgramError),
}

impl From<KeyringError> for Failure {
    fn from(problem: KeyringError) -> Self {
        let advice = "keys can also come from the environment, or from key_env and key_command in the configuration";
        match problem {
            KeyringError::Absent if cfg!(target_os = "linux") => {
                Failure::failed("no keyring: the program `secret-tool` was not found")
                    .hint(format!("install libsecret-tools (Debian) or libsecret; {advice}"))
            }
            KeyringError::NoDesktop => Failure::failed("the keyring cannot be reached: there is no desktop session")
                .hint(format!("DBUS_SESSION_BUS_ADDRESS is not set; {advice}")),
            KeyringError::Absent => Failure::failed("hew supports no keyring on this system").hint(advice),
            KeyringError::Failed(why) => Failure::failed(format!("could not access the keyring: {why}")).hint(advice),
        }
    }
}

impl<'a> SystemKeyring<'a> {
    /// The keyring of the user with this environment.
    pub fn new(env: &'a ProcessEnv) -> Self {
        SystemKeyring { env }
    }

    /// Whether the keyring can be used.
    pub fn is_available(&self) -> bool {
        self.check().is_ok()
    }

    /// Checks that the keyring can be used.
    pub fn check(&self) -> Result<(), KeyringError> {
        self.tool().map(drop)
    }

    /// Returns the key of a provider.
    pub async fn get(&self, provider: &str) -> Result<Option<ProviderKey>, KeyringError> {
        let script = match self.tool()? {
            KeyringTool::SecretTool => r#"secret-tool lookup service hew provider "$1" || [ $? -eq 1 ]"#,
            KeyringTool::Security => r#"security find-generic-password -s hew -a "$1" -w 2>/dev/null || [ $? -eq 44 ]"#,
        };
        let printed = self.shell(script, provider, None).await?;
        let key = printed.trim();
        Ok((!key.is_empty()).then(|| ProviderKey::new(key, KeySource::Keyring)))
    }

    /// Stores the key of a provider.
    pub async fn set(&self, provider: &str, key: &str) -> Result<(), KeyringError> {
        let script = match self.tool()? {
            KeyringTool::SecretTool => {
                r#"printf %s "$HEW_KEYRING_SECRET" | secret-tool store --label="hew: $1" service hew provider "$1""#
            }
            KeyringTool::Security => {
                r#"printf 'add-generic-password -U -s hew -a %s -w %s\n' "$1" "$HEW_KEYRING_SECRET" | security -i"#
            }
        };
        self.shell(script, provider, Some(key)).await.map(drop)
    }

    /// Removes the key of a provider.
    pub async fn remove(&self, provider: &str) -> Result<(), KeyringError> {
        let script = match self.tool()? {
            KeyringTool::SecretTool => r#"secret-tool clear service hew provider "$1""#,
            KeyringTool::Security => r#"security delete-generic-password -s hew -a "$1" >/dev/null"#,
        };
        self.shell(script, provider, None).await.map(drop)
    }

    fn tool(&self) -> Result<KeyringTool, KeyringError> {
        let tool = tool().ok_or(KeyringError::Absent)?;
        let program = match tool {
            KeyringTool::SecretTool => "secret-tool",
            KeyringTool::Security => "security",
        };
        let path = self.env.get("PATH").unwrap_or_default();
        if !std::env::split_paths(path).any(|folder| folder.join(program).is_file()) {
            return Err(KeyringError::Absent);
        }
        match tool {
            // Without a desktop session it cannot be unlocked.
            KeyringTool::SecretTool if self.env.get("DBUS_SESSION_BUS_ADDRESS").is_none() => {
                Err(KeyringError::NoDesktop)
            }
            KeyringTool::SecretTool | KeyringTool::Security => Ok(tool),
        }
    }

    async fn shell(&self, script: &str, provider: &str, key: Option<&str>) -> Result<String, KeyringError> {
        let args: Vec<String> = ["-c", script, "hew", provider].map(String::from).to_vec();
        let extra: Vec<(&str, &str)> = key.map(|key| (SECRET_VARIABLE, key)).into_iter().collect();
        run_program("sh", &args, self.env, &extra)
            .await
            .map_err(KeyringError::Failed)
    }
}

#[derive(Debug, Clone, Copy)]
enum KeyringTool {
    SecretTool,
    Security,
}

fn tool() -> Option<KeyringTool> {
    if cfg!(target_os = "macos") {
        Some(KeyringTool::Security)
    } else if cfg!(unix) {
        Some(KeyringTool::SecretTool)
    } else {
        None
    }
}
