//! What a tool wants to do, in all the terms that rules can speak of.

use crate::{Action, Place};
use std::path::Path;

/// One thing that a tool wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed<'a> {
    /// Look at a file or a folder.
    Read {
        /// The canonical path.
        path: &'a Path,
        /// Where it lies.
        place: Place,
    },
    /// Create, change or remove a file or a folder.
    Write {
        /// The canonical path.
        path: &'a Path,
        /// Where it lies.
        place: Place,
    },
    /// Run a shell command.
    Run {
        /// The command line.
        command: &'a str,
        /// The folder in which it runs.
        cwd: &'a Path,
    },
    /// Run a shell command outside the sandbox.
    Escalate {
        /// The command line.
        command: &'a str,
        /// The folder in which it runs.
        cwd: &'a Path,
    },
    /// Load something from the network.
    Fetch {
        /// Its address.
        url: &'a str,
    },
    /// Call a tool of an MCP server.
    Mcp {
        /// The name of the server.
        server: &'a str,
        /// The name of the tool there.
        tool: &'a str,
    },
    /// Go on in another mode.
    SwitchMode {
        /// The name of the mode.
        to: &'a str,
    },
    /// Hand a part of the work to a conversation of its own.
    Subtask {
        /// The mode in which it works.
        mode: &'a str,
    },
}

impl<'a> From<&'a Action> for Deed<'a> {
    fn from(action: &'a Action) -> Self {
        match action {
            Action::Read { path, place } => Deed::Read { path, place: *place },
            Action::Write { path, place } => Deed::Write { path, place: *place },
            Action::Run { command, cwd } => Deed::Run { command, cwd },
            Action::Escalate { command, cwd } => Deed::Escalate { command, cwd },
            Action::Fetch { url } => Deed::Fetch { url },
            Action::Mcp { server, tool } => Deed::Mcp { server, tool },
            Action::SwitchMode { to } => Deed::SwitchMode { to },
            Action::Subtask { mode } => Deed::Subtask { mode },
        }
    }
}
