//! Arguments of `hew serve`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Options of `hew serve`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// The address and port; addresses other than loopback require TLS
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4440")]
    pub(crate) listen: String,
    /// Another host name under which the server is reached
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// The TLS certificate, a PEM file; without it hew creates one
    #[arg(long, value_name = "FILE", requires = "tls_key", value_hint = clap::ValueHint::FilePath)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = clap::ValueHint::FilePath)]
    pub(crate) tls_key: Option<PathBuf>,
    /// Use TLS also on loopback
    #[arg(long)]
    pub(crate) tls: bool,
    /// The address of a proxy with TLS in front of the server, such as `https://hew.example.org`
    #[arg(long, value_name = "URL", conflicts_with_all = ["tls", "tls_cert"])]
    pub(crate) proxy: Option<String>,
    /// Allow read-only links to sessions
    #[arg(long)]
    pub(crate) share: bool,
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ServeCommand {
    /// Print a new one-time link of the running server that pairs a device
    Link,
    /// Create a token for programs and print it
    Token {
        /// The name of the program
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// List the paired devices, tokens and share links
    Devices {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Revoke a device, a token or a share link
    Revoke {
        /// Its id
        id: String,
    },
    /// Print the OpenAPI description of the HTTP API
    Openapi,
}
