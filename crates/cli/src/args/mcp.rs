//! Arguments of the commands about MCP servers.

use crate::config::McpType;
use clap::{Args, Subcommand};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Mcp {
    /// List the servers that are defined, and what they offer
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Add a server to your configuration
    Add(Box<McpAdd>),
    /// Remove a server from your configuration
    Remove {
        /// The server
        name: String,
        /// Remove it from the project's file, .hew/config.toml, instead
        #[arg(long)]
        project: bool,
    },
    /// Start a server or connect to it, and show what it offers
    Test {
        /// The server; all if absent
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a server wrote to its standard error the last time
    Logs {
        /// The server
        name: String,
    },
    /// Log in at a server, with a browser on this machine
    Login {
        /// The server
        name: String,
    },
    /// Forget the login at a server
    Logout {
        /// The server
        name: String,
    },
    /// Be an MCP server: search, edit and work on this project for another agent, over standard input and output
    Serve(McpServe),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct McpAdd {
    /// What to call it
    pub(crate) name: String,
    /// The program to start, and its arguments, after `--`
    #[arg(last = true, required_unless_present = "url", conflicts_with = "url")]
    pub(crate) command: Vec<String>,
    /// The address of a server elsewhere
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// How the address is spoken to
    #[arg(long = "type", value_enum, value_name = "TYPE", requires = "url")]
    pub(crate) kind: Option<McpType>,
    /// A variable that the program sees; `${env:X}` stands for one of yours
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header of every request; `${env:X}` stands for a variable
    #[arg(long, value_name = "NAME=VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// Write to the project's file, .hew/config.toml, instead
    #[arg(long)]
    pub(crate) project: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct McpServe {
    /// Offer the tools that look and edit, but not the one that works on whole tasks
    #[arg(long)]
    pub(crate) no_tasks: bool,
}
