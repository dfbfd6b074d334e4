//! Serves sessions to other programs: editors over ACP, other agents over MCP, edit predictions over LSP.

pub mod acp;
pub mod mcp;
pub mod predict;
