//! What a tool wants to do, in terms that rules can speak of.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One thing that a tool wants to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Look at a file or a folder.
    Read {
        /// The canonical path.
        path: PathBuf,
        /// Where it lies.
        place: Place,
    },
    /// Create, change or remove a file or a folder.
    Write {
        /// The canonical path.
        path: PathBuf,
        /// Where it lies.
        place: Place,
    },
    /// Run a shell command.
    Run {
        /// The command line.
        command: String,
        /// The folder in which it runs.
        cwd: PathBuf,
    },
    /// Run a shell command outside the sandbox.
    Escalate {
        /// The command line.
        command: String,
        /// The folder in which it runs.
        cwd: PathBuf,
    },
    /// Load something from the network.
    Fetch {
        /// Its address.
        url: String,
    },
    /// Call a tool of an MCP server.
    Mcp {
        /// The name of the server.
        server: String,
        /// The name of the tool there.
        tool: String,
    },
    /// Go on in another mode.
    SwitchMode {
        /// The name of the mode.
        to: String,
    },
    /// Hand a part of the work to a conversation of its own.
    Subtask {
        /// The mode in which it works.
        mode: String,
    },
}

/// Where a path lies once symbolic links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Inside the project.
    Inside,
    /// Anywhere else.
    Outside,
}
