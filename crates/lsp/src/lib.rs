//! Language server client: starts the right server for a file, keeps its documents in sync, and sends requests about
//! code.
//!
//! [`LanguageServers`] manages all servers of a project. A server starts when a file of its language is needed; waiting
//! is bounded by [`LspLimits`]; a server that exits is restarted with increasing delays. Edits are returned as
//! [`LspRewrite`]s: this crate never writes files.

mod connection;
mod diagnostics;
mod error;
pub mod framing;
mod positions;
mod queries;
mod server;
mod servers;
mod specs;

pub use diagnostics::{LspDiagnostic, LspSeverity};
pub use error::Error;
pub use queries::{LspLocation, LspRewrite, LspSymbol, SymbolPosition};
pub use servers::{DiagnosticBaseline, LanguageServers, LspLimits, LspServerStatus};
pub use specs::{LanguageServerSpec, builtin_servers};
