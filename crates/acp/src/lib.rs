//! Speaks the Agent Client Protocol: the connection for both of its sides, and other agents that do work for us.
//!
//! [`connect`] makes a [`Peer`] of two streams. The `server` crate uses one to be an agent for an editor. [`Agents`] are the
//! other way round: programs that the person has configured, each driven as if it were a [`model::Model`] of a subtask.

mod agent;
mod agents;
mod answer;
mod terminals;
mod told;
mod wire;

pub use agent::{About, Fault};
pub use agent_client_protocol_schema::ProtocolVersion;
pub use agent_client_protocol_schema::v1 as schema;
pub use agents::{Agents, Definition, Files, Place};
pub use wire::{Incoming, MAX_LINE, Peer, RequestId, connect};
