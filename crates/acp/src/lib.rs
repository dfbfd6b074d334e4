//! The Agent Client Protocol: a connection for both sides, and a client for external agents.
//!
//! [`connect`] creates a [`Peer`] from two streams. The `server` crate uses it to act as an agent for an editor.
//! [`AcpAgents`] are the opposite: configured programs, each used as the [`model::Model`] of a subtask.

mod agents;
mod client_requests;
mod process;
mod terminals;
mod updates;
mod wire;

pub use agent_client_protocol_schema::ProtocolVersion;
pub use agent_client_protocol_schema::v1 as schema;
pub use agents::{AcpAgents, AgentDefinition, AgentEnvironment, FileAccess};
pub use process::{AgentError, AgentInfo};
pub use wire::{Incoming, MAX_LINE, Peer, RequestId, connect};
