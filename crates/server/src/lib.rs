//! Serves sessions to other programs: browsers and tools over HTTP, editors over ACP, other agents over MCP, and edit
//! predictions over LSP.

pub mod acp;
pub mod http;
pub mod json_events;
pub mod mcp;
pub mod predict;
