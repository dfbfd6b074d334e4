//! State of MCP and language servers.

use super::list::{ListItems, ListResponse, ListSource};
use crate::backend::{ServerHealth, ServerRow};
use crate::row::{StyledRow, wrap};
use crate::view::{ViewContext, ViewPlacement};

/// MCP and language servers.
pub(crate) struct ServerPicker;

impl ListSource for ServerPicker {
    type Item = ServerRow;

    fn title(&self) -> String {
        "Servers".into()
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<ServerRow> {
        ListItems::Pending(cx.start(cx.backend.servers()))
    }

    fn name(&self, server: &ServerRow) -> String {
        format!("{} {}", server.kind, server.name)
    }

    fn marker(&self, server: &ServerRow, cx: &ViewContext<'_>) -> Option<StyledRow> {
        Some(match server.health {
            ServerHealth::Good => StyledRow::new("● ", cx.theme.good),
            ServerHealth::Idle => StyledRow::new("○ ", cx.theme.dim),
            ServerHealth::Bad => StyledRow::new("✕ ", cx.theme.bad),
        })
    }

    fn columns(&self, server: &ServerRow, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        (StyledRow::new(&*server.state, cx.theme.dim), StyledRow::empty())
    }

    fn detail(&self, server: &ServerRow, width: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let mut rows = vec![
            StyledRow::new(&*server.name, cx.theme.strong),
            StyledRow::new(&*server.state, cx.theme.dim),
            StyledRow::empty(),
        ];
        for line in &server.details {
            let row = StyledRow::new(crate::row::sanitise(line).replace('\n', " "), cx.theme.text);
            rows.extend(wrap(&row, width.into(), &StyledRow::new("  ", cx.theme.text)));
        }
        rows
    }

    fn choose(&mut self, _: &ServerRow, _: &ViewContext<'_>) -> ListResponse {
        ListResponse::Reload
    }

    fn key_hints(&self) -> &'static [crate::keys::KeyAction] {
        &[crate::keys::KeyAction::Close]
    }

    fn empty_text(&self) -> &'static str {
        "no servers configured; see docs/mcp.md"
    }
}
