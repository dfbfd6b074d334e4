//! Requests about code.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lsp_types::{
    CodeActionOrCommand, DocumentChanges, DocumentSymbolResponse, GotoDefinitionResponse, Hover, HoverContents,
    Location, MarkedString, OneOf, Range, SymbolKind, TextEdit, WorkspaceEdit,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::positions;
use crate::server::{LanguageServer, SyncedDocument};
use crate::{Error, LanguageServers};

/// Request timeouts; a rename affects every file.
const TIMEOUT: Duration = Duration::from_secs(10);
const LONG_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of results.
const MAX_RESULTS: usize = 1_000;

/// A symbol in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolPosition {
    /// The file.
    pub path: PathBuf,
    /// The unqualified name.
    pub name: String,
    /// A line near it, starting at 1.
    pub line: Option<usize>,
}

/// A location in the code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LspLocation {
    /// The file.
    pub path: PathBuf,
    /// The line, starting at 1.
    pub line: usize,
}

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspSymbol {
    /// Its name.
    pub name: String,
    /// Its kind: `function`, `class`.
    pub kind: &'static str,
    /// Its location.
    pub location: LspLocation,
    /// Its nesting depth.
    pub depth: usize,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspRewrite {
    /// The file.
    pub path: PathBuf,
    /// The text before, as known to the server.
    pub before: String,
    /// The text after.
    pub after: String,
}

impl LanguageServers {
    /// Returns where a symbol is defined.
    pub async fn definition(&self, at: &SymbolPosition) -> Option<Vec<LspLocation>> {
        let answer = self
            .request_at(at, "definitionProvider", "textDocument/definition", json!({}))
            .await?;
        Some(to_locations(match parse_response::<GotoDefinitionResponse>(answer)? {
            GotoDefinitionResponse::Scalar(location) => vec![location],
            GotoDefinitionResponse::Array(locations) => locations,
            GotoDefinitionResponse::Link(links) => links
                .into_iter()
                .map(|link| Location::new(link.target_uri, link.target_selection_range))
                .collect(),
        }))
    }

    /// Returns where a symbol is used.
    pub async fn references(&self, at: &SymbolPosition) -> Option<Vec<LspLocation>> {
        let more = json!({"context": {"includeDeclaration": true}});
        let answer = self
            .request_at(at, "referencesProvider", "textDocument/references", more)
            .await?;
        Some(to_locations(parse_response::<Vec<Location>>(answer)?))
    }

    /// Returns the type and documentation of a symbol.
    pub async fn hover(&self, at: &SymbolPosition) -> Option<String> {
        let answer = self
            .request_at(at, "hoverProvider", "textDocument/hover", json!({}))
            .await?;
        let marked = |marked: MarkedString| match marked {
            MarkedString::String(text) => text,
            MarkedString::LanguageString(code) => format!("```{}\n{}\n```", code.language, code.value),
        };
        Some(match parse_response::<Hover>(answer)?.contents {
            HoverContents::Scalar(one) => marked(one),
            HoverContents::Array(all) => all.into_iter().map(marked).collect::<Vec<_>>().join("\n\n"),
            HoverContents::Markup(markup) => markup.value,
        })
    }

    /// Returns the changed files for renaming a symbol. `Ok(None)` if no server supports it.
    pub async fn rename(&self, at: &SymbolPosition, name: &str) -> Result<Option<Vec<LspRewrite>>, Error> {
        let Some((server, synced)) = self.open(&at.path, "renameProvider").await else {
            return Ok(None);
        };
        // Other files change too, so the server must know their current content.
        server.refresh(&[]).await;
        let Some(mut params) = position_params(&server, &synced, at) else {
            return Ok(None);
        };
        params["newName"] = name.into();
        let answer = server
            .connection
            .request("textDocument/rename", params, LONG_TIMEOUT)
            .await?;
        Ok(Some(
            rewrites(&server, parse_response::<WorkspaceEdit>(answer).unwrap_or_default()).await?,
        ))
    }

    /// Returns the symbols that a file defines.
    pub async fn symbols(&self, path: &Path) -> Option<Vec<LspSymbol>> {
        let (server, synced) = self.open(path, "documentSymbolProvider").await?;
        let answer = server.outline(&synced.path, TIMEOUT).await?;
        let mut found = Vec::new();
        match parse_response::<DocumentSymbolResponse>(answer)? {
            DocumentSymbolResponse::Flat(all) => found.extend(all.into_iter().filter_map(|one| {
                let location = to_location(&one.location)?;
                Some(LspSymbol {
                    name: one.name,
                    kind: kind_name(one.kind),
                    location,
                    depth: 0,
                })
            })),
            DocumentSymbolResponse::Nested(all) => nested(all, path, 0, &mut found),
        }
        found.truncate(MAX_RESULTS);
        Some(found)
    }

    /// Returns the formatted file. `Ok(None)` if no server supports it.
    pub async fn format(&self, path: &Path, tab: usize, spaces: bool) -> Result<Option<Vec<LspRewrite>>, Error> {
        let Some((server, synced)) = self.open(path, "documentFormattingProvider").await else {
            return Ok(None);
        };
        let options = json!({"tabSize": tab, "insertSpaces": spaces});
        let params = json!({"textDocument": document(&synced), "options": options});
        let answer = server
            .connection
            .request("textDocument/formatting", params, LONG_TIMEOUT)
            .await?;
        let edits: Vec<TextEdit> = parse_response(answer).unwrap_or_default();
        Ok(Some(rewrite(&server, &synced, edits)?.into_iter().collect()))
    }

    /// Returns the code actions at a line, by title, with the changed files. Actions that the server would run itself
    /// are omitted.
    pub async fn code_actions(
        &self,
        path: &Path,
        line: usize,
    ) -> Result<Option<Vec<(String, Vec<LspRewrite>)>>, Error> {
        let Some((server, synced)) = self.open(path, "codeActionProvider").await else {
            return Ok(None);
        };
        let Some(range) = positions::whole_line(&synced.text, line, server.units) else {
            return Ok(Some(Vec::new()));
        };
        let context = json!({"diagnostics": server.diagnostics.raw_in_range(path, range)});
        let params = json!({"textDocument": document(&synced), "range": range, "context": context});
        let answer = server
            .connection
            .request("textDocument/codeAction", params, TIMEOUT)
            .await?;
        let mut offers = Vec::new();
        for offer in parse_response::<Vec<CodeActionOrCommand>>(answer).unwrap_or_default() {
            let CodeActionOrCommand::CodeAction(action) = offer else {
                continue;
            };
            let title = action.title.clone();
            let edit = match action.edit {
                Some(edit) => Some(edit),
                None if action.data.is_some() => {
                    let resolved = server
                        .connection
                        .request("codeAction/resolve", json!(action), TIMEOUT)
                        .await;
                    resolved
                        .ok()
                        .and_then(|mut answer| parse_response(answer["edit"].take()))
                }
                None => None,
            };
            if let Some(edit) = edit {
                offers.push((title, rewrites(&server, edit).await?));
            }
        }
        Ok(Some(offers))
    }

    /// Returns the server of a file with this capability, and the synced file.
    async fn open(&self, path: &Path, ability: &str) -> Option<(std::sync::Arc<LanguageServer>, SyncedDocument)> {
        let server = self.ready(path, Instant::now() + self.limits().start).await?;
        if !server.supports(ability) {
            return None;
        }
        let synced = server.sync(path).await?;
        Some((server, synced))
    }

    /// Sends a request about a symbol. `None` if no server can answer.
    async fn request_at(&self, at: &SymbolPosition, ability: &str, method: &'static str, more: Value) -> Option<Value> {
        let (server, synced) = self.open(&at.path, ability).await?;
        let mut params = position_params(&server, &synced, at)?;
        params.as_object_mut()?.extend(more.as_object()?.clone());
        match server.connection.request(method, params, TIMEOUT).await {
            Ok(answer) => Some(answer),
            Err(error) => {
                tracing::debug!(%error, "request failed");
                None
            }
        }
    }
}

fn document(synced: &SyncedDocument) -> Option<Value> {
    Some(json!({"uri": positions::uri(&synced.path)?.as_str()}))
}

fn position_params(server: &LanguageServer, synced: &SyncedDocument, at: &SymbolPosition) -> Option<Value> {
    let position = positions::find_symbol(&synced.text, &at.name, at.line, server.units)?;
    Some(json!({"textDocument": document(synced)?, "position": position}))
}

/// Parses a response; `None` if it is null or malformed.
fn parse_response<T: DeserializeOwned>(answer: Value) -> Option<T> {
    serde_json::from_value::<Option<T>>(answer).ok().flatten()
}

fn to_location(location: &Location) -> Option<LspLocation> {
    Some(LspLocation {
        path: positions::path(&location.uri)?,
        line: location.range.start.line as usize + 1,
    })
}

fn to_locations(locations: Vec<Location>) -> Vec<LspLocation> {
    let mut spots: Vec<LspLocation> = locations.iter().filter_map(to_location).collect();
    spots.sort();
    spots.dedup();
    spots
}

fn nested(symbols: Vec<lsp_types::DocumentSymbol>, path: &Path, depth: usize, found: &mut Vec<LspSymbol>) {
    for symbol in symbols {
        if found.len() >= MAX_RESULTS {
            return;
        }
        let Range { start, .. } = symbol.selection_range;
        let location = LspLocation {
            path: path.to_owned(),
            line: start.line as usize + 1,
        };
        found.push(LspSymbol {
            name: symbol.name,
            kind: kind_name(symbol.kind),
            location,
            depth,
        });
        nested(symbol.children.unwrap_or_default(), path, depth + 1, found);
    }
}

/// Returns the files that an edit changes. An edit that creates, moves or removes files is rejected: hew does not
/// announce that capability.
async fn rewrites(server: &LanguageServer, edit: WorkspaceEdit) -> Result<Vec<LspRewrite>, Error> {
    let mut files: Vec<(PathBuf, Vec<TextEdit>)> = Vec::new();
    let mut add = |uri: &lsp_types::Uri, edits: Vec<TextEdit>| match positions::path(uri) {
        Some(path) => {
            files.push((path, edits));
            Ok(())
        }
        None => Err(Error::protocol("an edit of something that is not a file")),
    };
    let plain = |edit| match edit {
        OneOf::Left(edit) => edit,
        OneOf::Right(lsp_types::AnnotatedTextEdit { text_edit, .. }) => text_edit,
    };
    match edit.document_changes {
        Some(DocumentChanges::Edits(all)) => {
            for one in all {
                add(&one.text_document.uri, one.edits.into_iter().map(plain).collect())?;
            }
        }
        Some(DocumentChanges::Operations(all)) => {
            for one in all {
                let lsp_types::DocumentChangeOperation::Edit(one) = one else {
                    return Err(Error::protocol("an edit that creates, moves or removes files"));
                };
                add(&one.text_document.uri, one.edits.into_iter().map(plain).collect())?;
            }
        }
        None => {
            for (uri, edits) in edit.changes.unwrap_or_default() {
                add(&uri, edits)?;
            }
        }
    }
    files.sort_by(|one, other| one.0.cmp(&other.0));
    let mut rewritten = Vec::new();
    for (path, edits) in files {
        let Some(synced) = server.sync(&path).await else {
            return Err(Error::protocol("an edit of a file that cannot be read"));
        };
        rewritten.extend(rewrite(server, &synced, edits)?);
    }
    Ok(rewritten)
}

/// Returns the changed file, or `None` if nothing changes.
fn rewrite(
    server: &LanguageServer,
    synced: &SyncedDocument,
    edits: Vec<TextEdit>,
) -> Result<Option<LspRewrite>, Error> {
    let after =
        positions::apply(&synced.text, edits, server.units).ok_or_else(|| Error::protocol("edits that overlap"))?;
    Ok((after != *synced.text).then(|| LspRewrite {
        path: synced.path.clone(),
        before: synced.text.to_string(),
        after,
    }))
}

fn kind_name(kind: SymbolKind) -> &'static str {
    match kind {
        SymbolKind::FILE => "file",
        SymbolKind::MODULE | SymbolKind::NAMESPACE | SymbolKind::PACKAGE => "module",
        SymbolKind::CLASS => "class",
        SymbolKind::METHOD => "method",
        SymbolKind::PROPERTY | SymbolKind::FIELD => "field",
        SymbolKind::CONSTRUCTOR => "constructor",
        SymbolKind::ENUM => "enum",
        SymbolKind::INTERFACE => "interface",
        SymbolKind::FUNCTION => "function",
        SymbolKind::VARIABLE => "variable",
        SymbolKind::CONSTANT => "constant",
        SymbolKind::ENUM_MEMBER => "variant",
        SymbolKind::STRUCT => "struct",
        SymbolKind::TYPE_PARAMETER => "type",
        _ => "symbol",
    }
}
