//! MCP and language servers: how each of them is.

use super::list::{Act, Fetch, Source};
use crate::house::{Health, Server};
use crate::row::{Row, wrap};
use crate::view::{Cx, Place};

/// The servers that tools use.
pub(crate) struct Servers;

impl Source for Servers {
    type Entry = Server;

    fn title(&self) -> String {
        "Servers".into()
    }

    fn place(&self) -> Place {
        Place::Full
    }

    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<Server> {
        Fetch::Later(cx.fetch(cx.house.servers()))
    }

    fn name(&self, server: &Server) -> String {
        format!("{} {}", server.kind, server.name)
    }

    fn sign(&self, server: &Server, cx: &Cx<'_>) -> Option<Row> {
        Some(match server.health {
            Health::Good => Row::of("● ", cx.theme.good),
            Health::Idle => Row::of("○ ", cx.theme.dim),
            Health::Bad => Row::of("✕ ", cx.theme.bad),
        })
    }

    fn about(&self, server: &Server, cx: &Cx<'_>) -> (Row, Row) {
        (Row::of(&*server.state, cx.theme.dim), Row::empty())
    }

    fn detail(&self, server: &Server, width: u16, cx: &Cx<'_>) -> Vec<Row> {
        let mut rows = vec![
            Row::of(&*server.name, cx.theme.strong),
            Row::of(&*server.state, cx.theme.dim),
            Row::empty(),
        ];
        for line in &server.about {
            let row = Row::of(crate::row::tame(line).replace('\n', " "), cx.theme.text);
            rows.extend(wrap(&row, width.into(), &Row::of("  ", cx.theme.text)));
        }
        rows
    }

    fn choose(&mut self, _: &Server, _: &Cx<'_>) -> Act {
        Act::Again
    }

    fn hints(&self) -> &'static [crate::keys::Deed] {
        &[crate::keys::Deed::Close]
    }

    fn empty(&self) -> &'static str {
        "no servers are configured; docs/mcp.md says how"
    }
}
