//! Finds the definition of a symbol.

use std::sync::Arc;

use index::MentionRole;
use policy::Action;
use serde_json::{Map, Value};
use tool::{
    CallContext, DynTool, Error, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::code_server::{CodeServer, SymbolQuery};
use crate::support::project::{Project, run_search};
use crate::support::symbols::{self, SymbolInput, SymbolMatch, SymbolMatches};
use crate::support::text::count;

pub(crate) struct DefinitionTool(pub(crate) Project, pub(crate) Option<Arc<dyn CodeServer>>);

impl BuiltIn for DefinitionTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(DefinitionTool(
            parts.project.clone(),
            parts.options.code_server.clone(),
        )))
    }
}

impl Tool for DefinitionTool {
    const NAME: &'static str = "definition";
    const ALIASES: &'static [&'static str] = &["go_to_definition", "goto_definition", "find_definition", "find_symbol"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Read,
        cap: OutputCap {
            entries: 40,
            ..OutputCap::DEFAULT
        },
        sets: &[ToolSet::AskProfile, ToolSet::McpServer],
        peers: &[
            (PeerAgent::Zed, &["go_to_definition"]),
            (PeerAgent::Crush, &["lsp_definition"]),
            (PeerAgent::Copilot, &["search_workspace_symbols"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = SymbolInput;

    fn title(&self, input: &SymbolInput) -> String {
        input.title()
    }

    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        symbols::adapt(input);
    }

    fn actions(&self, input: &SymbolInput) -> Vec<Action> {
        input.actions(&self.0)
    }

    async fn run(&self, input: SymbolInput, context: CallContext) -> Result<Output, Error> {
        let symbol = input.symbol(&self.0)?;
        if let Some(server) = &self.1 {
            let pinned = symbols::resolve_location(&self.0, symbol.clone()).await?;
            let locations = server.definition(&pinned).await;
            let found = symbols::server_matches(&self.0, &context, locations, MentionRole::Definition).await?;
            if let Some(found) = found {
                return Ok(answer(&symbol, found));
            }
        }
        let root = self.0.locate("")?;
        let found = {
            let symbol = symbol.clone();
            run_search(move |stop| symbols::find(&root, &symbol, stop)).await?
        };
        Ok(answer(&symbol, found))
    }
}

fn answer(symbol: &SymbolQuery, mut found: SymbolMatches) -> Output {
    let uses = found
        .matches
        .iter()
        .filter(|symbol_match| symbol_match.role == MentionRole::Use)
        .count();
    found
        .matches
        .retain(|symbol_match| symbol_match.role == MentionRole::Definition);
    let total = found.matches.len();
    found.matches.truncate(DefinitionTool::FACTS.cap.entries);
    let mut text: String = found.matches.iter().map(line).collect();
    let mut notes = vec![match (total, uses) {
        (0, 0) => format!("{} is not in the code of this project", symbol.name),
        (0, uses) => format!(
            "{} is not defined in this project, but used {}",
            symbol.name,
            count(uses, "time")
        ),
        (total, _) => count(total, "definition"),
    }];
    if total > found.matches.len() {
        notes.push(format!("the first {} are shown", found.matches.len()));
    }
    notes.extend(found.incomplete.then(|| "there may be more".to_owned()));
    notes.extend(found.gaps);
    text.push_str(&format!("[{}]", notes.join("; ")));
    Output::text(text).with_summary(count(total, "definition"))
}

/// One definition: `src/parser.rs:12-40 fn next(&mut self) [in Parser]`.
fn line(symbol_match: &SymbolMatch) -> String {
    let lines = match symbol_match.span {
        Some((first, last)) if first < last => format!("{first}-{last}"),
        Some(_) | None => symbol_match.line.to_string(),
    };
    let within = match symbol_match.within.is_empty() {
        true => String::new(),
        false => format!(" [in {}]", symbol_match.within),
    };
    format!("{}:{lines} {}{within}\n", symbol_match.path, symbol_match.text)
}
