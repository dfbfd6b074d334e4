//! How the servers of a session are, for the view of them.

use mcp::State;
use tui::{Health, Server};

/// The MCP servers that are defined, and the language servers that were started.
pub(super) fn servers(mcp: Option<&mcp::Servers>, lsp: Option<&lsp::Servers>) -> Vec<Server> {
    let guests = mcp.into_iter().flat_map(mcp::Servers::status).map(guest);
    let code = lsp.into_iter().flat_map(lsp::Servers::status).map(code);
    guests.chain(code).collect()
}

fn guest(status: mcp::Status) -> Server {
    let (state, health) = match &status.state {
        State::Idle => ("not needed yet".to_owned(), Health::Idle),
        State::Starting => ("starting".to_owned(), Health::Idle),
        State::Ready => ("ready".to_owned(), Health::Good),
        State::Failed(error) => (error.to_string(), Health::Bad),
    };
    let about = status.offer.iter().map(|offer| {
        let (tools, resources, prompts) = (offer.tools.len(), offer.resources.len(), offer.prompts.len());
        format!("{tools} tools, {resources} resources, {prompts} prompts")
    });
    Server {
        kind: "MCP".into(),
        about: about.collect(),
        name: status.definition.name,
        state,
        health,
    }
}

fn code(status: lsp::Status) -> Server {
    let health = match status.state.as_str() {
        "ready" | "working" => Health::Good,
        "starting" | "stopped" => Health::Idle,
        _ => Health::Bad,
    };
    let memory = status.memory.map(|bytes| format!("{} MB of memory", bytes >> 20));
    let said = status.said.lines().map(str::to_owned);
    Server {
        kind: "LSP".into(),
        name: status.name,
        about: [status.root.display().to_string()]
            .into_iter()
            .chain(memory)
            .chain(said)
            .collect(),
        state: status.state,
        health,
    }
}
