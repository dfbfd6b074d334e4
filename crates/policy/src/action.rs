//! Actions of tools, as rules describe them.

mod parse;

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One action of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Read a file or directory.
    Read {
        /// The canonical path.
        path: PathBuf,
        /// Whether it is inside the project.
        place: PathArea,
    },
    /// Create, change or remove a file or directory.
    Write {
        /// The canonical path.
        path: PathBuf,
        /// Whether it is inside the project.
        place: PathArea,
    },
    /// Run a shell command.
    Run {
        /// The command line.
        command: String,
        /// The working directory.
        cwd: PathBuf,
    },
    /// Run a shell command outside the sandbox.
    Escalate {
        /// The command line.
        command: String,
        /// The working directory.
        cwd: PathBuf,
    },
    /// Fetch a URL.
    Fetch {
        /// Its address.
        url: String,
    },
    /// Call a tool of an MCP server.
    Mcp {
        /// The name of the server.
        server: String,
        /// The name of the tool.
        tool: String,
    },
    /// Switch to another mode.
    SwitchMode {
        /// The name of the mode.
        to: String,
    },
    /// Delegate part of the work to a new session.
    Subtask {
        /// The mode of the new session.
        mode: String,
    },
}

/// Whether a path is inside the project after resolving symbolic links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathArea {
    /// Inside the project.
    Inside,
    /// Outside the project.
    Outside,
}
