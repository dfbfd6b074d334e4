//! Finds the uses of a symbol.

use std::sync::Arc;

use index::MentionRole;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{
    CallContext, DynTool, Error, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::code_server::CodeServer;
use crate::support::project::{Project, run_search};
use crate::support::symbols::{self, SymbolMatch, SymbolMatches};
use crate::support::text::count;

pub(crate) struct ReferencesTool(pub(crate) Project, pub(crate) Option<Arc<dyn CodeServer>>);

/// Finds where a symbol is used, ignoring comments and strings.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(flatten)]
    symbol: symbols::SymbolInput,
    /// Results to skip.
    offset: Option<usize>,
}

impl BuiltIn for ReferencesTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(ReferencesTool(
            parts.project.clone(),
            parts.options.code_server.clone(),
        )))
    }
}

impl Tool for ReferencesTool {
    const NAME: &'static str = "references";
    const ALIASES: &'static [&'static str] = &[
        "find_references",
        "find_usages",
        "list_code_usages",
        "lsp_references",
        "find_referencing_symbols",
    ];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Read,
        cap: OutputCap {
            entries: 100,
            ..OutputCap::DEFAULT
        },
        sets: &[ToolSet::AskProfile, ToolSet::McpServer],
        peers: &[
            (PeerAgent::Zed, &["find_references"]),
            (PeerAgent::Crush, &["lsp_call_hierarchy", "lsp_references"]),
            (PeerAgent::Copilot, &["vscode_listCodeUsages"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.symbol.title()
    }

    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        symbols::adapt(input);
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        input.symbol.actions(&self.0)
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let symbol = input.symbol.symbol(&self.0)?;
        let offset = input.offset.unwrap_or(0);
        if let Some(server) = &self.1 {
            let pinned = symbols::resolve_location(&self.0, symbol.clone()).await?;
            let locations = server.references(&pinned).await;
            let found = symbols::server_matches(&self.0, &context, locations, MentionRole::Use).await?;
            if let Some(found) = found {
                return Ok(answer(&symbol.name, found, offset));
            }
        }
        let root = self.0.locate("")?;
        let name = symbol.name.clone();
        let found = run_search(move |stop| symbols::find(&root, &symbol, stop)).await?;
        Ok(answer(&name, found, offset))
    }
}

fn answer(name: &str, found: SymbolMatches, offset: usize) -> Output {
    let total = found.matches.len();
    let cap = ReferencesTool::FACTS.cap;
    let mut text = String::new();
    let mut last_path = "";
    let mut end = offset;
    for symbol_match in found.matches.iter().skip(offset).take(cap.entries) {
        if text.len() > cap.bytes {
            break;
        }
        if symbol_match.path != last_path {
            text.push_str(&format!("{}\n", symbol_match.path));
            last_path = &symbol_match.path;
        }
        text.push_str(&line(symbol_match));
        end += 1;
    }
    let mut files: Vec<&str> = found
        .matches
        .iter()
        .map(|symbol_match| symbol_match.path.as_str())
        .collect();
    files.dedup();
    let found_in = format!("{} in {}", count(total, "line"), count(files.len(), "file"));
    let mut notes = vec![match total {
        0 => format!("{name} is not in the code of this project"),
        _ if offset >= total => format!("{found_in}; offset {offset} is past the end"),
        _ if end < total => format!("{}-{end} of {found_in}; continue with offset {end}", offset + 1),
        _ => found_in.clone(),
    }];
    if found.elsewhere > 0 {
        notes.push(format!(
            "also in {} outside of code; grep shows them",
            count(found.elsewhere, "file")
        ));
    }
    notes.extend(found.incomplete.then(|| "there may be more".to_owned()));
    notes.extend(found.gaps);
    text.push_str(&format!("[{}]", notes.join("; ")));
    Output::text(text).with_summary(found_in)
}

/// One line of a file: `12:self.next() [in Parser::parse]`.
fn line(symbol_match: &SymbolMatch) -> String {
    let note = match (symbol_match.role, symbol_match.within.is_empty()) {
        (MentionRole::Definition, _) => " [definition]".to_owned(),
        (MentionRole::Use, true) => String::new(),
        (MentionRole::Use, false) => format!(" [in {}]", symbol_match.within),
    };
    format!("{}:{}{note}\n", symbol_match.line, symbol_match.text)
}
