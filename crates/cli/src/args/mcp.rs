//! Arguments of `hew mcp`.

use crate::config::McpTransportKind;
use clap::{Args, Subcommand};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum McpCommand {
    /// List the configured servers and their tools
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Add a server to your configuration
    Add(Box<McpAddArgs>),
    /// Remove a server from your configuration
    Remove {
        /// The server
        name: String,
        /// Remove it from the project's file, .hew/config.toml, instead
        #[arg(long)]
        project: bool,
    },
    /// Connect to a server and show its tools, resources and prompts
    Test {
        /// The server; all if absent
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a server's last stderr output
    Logs {
        /// The server
        name: String,
    },
    /// Log in to a server with a browser on this machine
    Login {
        /// The server
        name: String,
    },
    /// Remove the login for a server
    Logout {
        /// The server
        name: String,
    },
    /// Run as an MCP server on stdin and stdout: search, edit and run tasks in this project
    Serve(McpServeArgs),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct McpAddArgs {
    /// The server's name
    pub(crate) name: String,
    /// The program and its arguments, after `--`
    #[arg(last = true, required_unless_present = "url", conflicts_with = "url")]
    pub(crate) command: Vec<String>,
    /// The address of a remote server
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The transport
    #[arg(long = "type", value_enum, value_name = "TYPE", requires = "url")]
    pub(crate) kind: Option<McpTransportKind>,
    /// An environment variable for the program; `${env:X}` is replaced by yours
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header for every request; `${env:X}` is replaced by a variable
    #[arg(long, value_name = "NAME=VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// Write to the project's file, .hew/config.toml, instead
    #[arg(long)]
    pub(crate) project: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct McpServeArgs {
    /// Offer the search and edit tools, but not `run_task`
    #[arg(long)]
    pub(crate) no_tasks: bool,
}
