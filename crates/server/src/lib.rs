//! Serves sessions to other programs: editors over ACP, other agents over MCP.

pub mod acp;
pub mod mcp;
