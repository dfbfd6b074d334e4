//! The state of the servers of a session.

use mcp::McpServerState;
use tui::{ServerHealth, ServerRow};

/// The defined MCP servers and the started language servers.
pub(super) fn servers(mcp: Option<&mcp::McpServers>, lsp: Option<&lsp::LanguageServers>) -> Vec<ServerRow> {
    let guests = mcp.into_iter().flat_map(mcp::McpServers::status).map(guest);
    let code = lsp.into_iter().flat_map(lsp::LanguageServers::status).map(code);
    guests.chain(code).collect()
}

fn guest(status: mcp::McpServerStatus) -> ServerRow {
    let (state, health) = match &status.state {
        McpServerState::Idle => ("not needed yet".to_owned(), ServerHealth::Idle),
        McpServerState::Starting => ("starting".to_owned(), ServerHealth::Idle),
        McpServerState::Ready => ("ready".to_owned(), ServerHealth::Good),
        McpServerState::Failed(error) => (error.to_string(), ServerHealth::Bad),
    };
    let about = status.offer.iter().map(|offer| {
        let (tools, resources, prompts) = (offer.tools.len(), offer.resources.len(), offer.prompts.len());
        format!("{tools} tools, {resources} resources, {prompts} prompts")
    });
    ServerRow {
        kind: "MCP".into(),
        details: about.collect(),
        name: status.definition.name,
        state,
        health,
    }
}

fn code(status: lsp::LspServerStatus) -> ServerRow {
    let health = match status.state.as_str() {
        "ready" | "working" => ServerHealth::Good,
        "starting" | "stopped" => ServerHealth::Idle,
        _ => ServerHealth::Bad,
    };
    let memory = status.memory.map(|bytes| format!("{} MB of memory", bytes >> 20));
    let stderr_lines = status.stderr.lines().map(str::to_owned);
    ServerRow {
        kind: "LSP".into(),
        name: status.name,
        details: [status.root.display().to_string()]
            .into_iter()
            .chain(memory)
            .chain(stderr_lines)
            .collect(),
        state: status.state,
        health,
    }
}
