//! Commands in the configuration.

use super::ProjectAccess::Allow;
use super::key::config_table;
use super::{HumanDuration, bounds};
use std::num::NonZeroU32;
use std::time::Duration;

config_table! {
    /// The sandbox of commands.
    pub struct SandboxConfig {
        /// Whether commands have network access.
        network: bool = false,
        /// Hosts that commands may reach without `network`, through a proxy, such as `github.com` or `*.npmjs.org`.
        /// Addresses and private hosts must be listed as addresses or networks.
        #[serde(deserialize_with = "super::web::hosts")]
        network_hosts: Vec<String>,
        /// Additional files and directories that commands may write, such as `~/.gradle`.
        write: Vec<String>,
        /// Files and directories that commands may not read, such as `~/.ssh`. Relative paths start in the project.
        hide: Vec<String>,
        /// Environment variables that are hidden from commands, hooks and servers even if they are known or in `keep`;
        /// `*` matches any characters.
        secrets: Vec<String>,
        /// Environment variables that commands, hooks and servers see in addition to those of shells and toolchains;
        /// `*` matches any characters.
        keep: Vec<String>,
        /// The maximum number of processes of the user while a command runs.
        max_processes: NonZeroU32 = bounds::count(16_384),
        /// The maximum memory of each process, in megabytes.
        max_memory: Option<NonZeroU32>,
        /// The maximum size of a written file, in megabytes.
        max_file: NonZeroU32 = bounds::count(32_768),
    }
}

config_table! {
    /// How commands run.
    pub struct TerminalConfig {
        /// A command that runs for longer continues in the background, such as `60s`.
        foreground: HumanDuration [project: Allow] = HumanDuration(Duration::from_secs(60)),
    }
}
