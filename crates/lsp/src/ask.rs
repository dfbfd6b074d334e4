//! Questions about code.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lsp_types::{
    CodeActionOrCommand, DocumentChanges, DocumentSymbolResponse, GotoDefinitionResponse, Hover, HoverContents,
    Location, MarkedString, OneOf, Range, SymbolKind, TextEdit, WorkspaceEdit, WorkspaceSymbolResponse,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::server::{Server, Synced};
use crate::text;
use crate::{Error, Servers};

/// How long a question may take; a rename looks at every file.
const PATIENCE: Duration = Duration::from_secs(10);
const LONG_PATIENCE: Duration = Duration::from_secs(30);
/// Of what is asked for in bulk, so much is taken.
const MOST: usize = 1_000;

/// A name in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    /// The file.
    pub path: PathBuf,
    /// The name as it stands there, without what it belongs to.
    pub name: String,
    /// A line near it, from 1.
    pub line: Option<usize>,
}

/// A place in the code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

/// Something that has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// What it is: `function`, `class`.
    pub kind: &'static str,
    /// Where it is.
    pub spot: Spot,
    /// How deep it stands in others.
    pub depth: usize,
}

/// A file as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// The file.
    pub path: PathBuf,
    /// Its text before, as the server knew it.
    pub before: String,
    /// Its text after.
    pub after: String,
}

impl Servers {
    /// Where a name is defined.
    pub async fn definition(&self, at: &At) -> Option<Vec<Spot>> {
        let answer = self
            .at(at, "definitionProvider", "textDocument/definition", json!({}))
            .await?;
        Some(spots(match read::<GotoDefinitionResponse>(answer)? {
            GotoDefinitionResponse::Scalar(location) => vec![location],
            GotoDefinitionResponse::Array(locations) => locations,
            GotoDefinitionResponse::Link(links) => links
                .into_iter()
                .map(|link| Location::new(link.target_uri, link.target_selection_range))
                .collect(),
        }))
    }

    /// Where a name is used.
    pub async fn references(&self, at: &At) -> Option<Vec<Spot>> {
        let more = json!({"context": {"includeDeclaration": true}});
        let answer = self
            .at(at, "referencesProvider", "textDocument/references", more)
            .await?;
        Some(spots(read::<Vec<Location>>(answer)?))
    }

    /// What is known of a name: its type, its documentation.
    pub async fn hover(&self, at: &At) -> Option<String> {
        let answer = self.at(at, "hoverProvider", "textDocument/hover", json!({})).await?;
        let marked = |marked: MarkedString| match marked {
            MarkedString::String(text) => text,
            MarkedString::LanguageString(code) => format!("```{}\n{}\n```", code.language, code.value),
        };
        Some(match read::<Hover>(answer)?.contents {
            HoverContents::Scalar(one) => marked(one),
            HoverContents::Array(all) => all.into_iter().map(marked).collect::<Vec<_>>().join("\n\n"),
            HoverContents::Markup(markup) => markup.value,
        })
    }

    /// What the files are when a name is another one everywhere. `Ok(None)` where no server can tell.
    pub async fn rename(&self, at: &At, name: &str) -> Result<Option<Vec<Rewrite>>, Error> {
        let Some((server, synced)) = self.open(&at.path, "renameProvider").await else {
            return Ok(None);
        };
        // The other files are changed too, so they have to be known as they are.
        server.refresh(&[]).await;
        let Some(mut params) = place(&server, &synced, at) else {
            return Ok(None);
        };
        params["newName"] = name.into();
        let answer = server
            .connection
            .ask("textDocument/rename", params, LONG_PATIENCE)
            .await?;
        Ok(Some(
            rewrites(&server, read::<WorkspaceEdit>(answer).unwrap_or_default()).await?,
        ))
    }

    /// What a file defines.
    pub async fn symbols(&self, path: &Path) -> Option<Vec<Named>> {
        let (server, synced) = self.open(path, "documentSymbolProvider").await?;
        let answer = server.outline(&synced.path, PATIENCE).await?;
        let mut found = Vec::new();
        match read::<DocumentSymbolResponse>(answer)? {
            DocumentSymbolResponse::Flat(all) => found.extend(all.into_iter().filter_map(|one| {
                let spot = spot(&one.location)?;
                Some(Named {
                    name: one.name,
                    kind: kind(one.kind),
                    spot,
                    depth: 0,
                })
            })),
            DocumentSymbolResponse::Nested(all) => nested(all, path, 0, &mut found),
        }
        found.truncate(MOST);
        Some(found)
    }

    /// What the running servers know under a name, or a part of one.
    pub async fn find(&self, query: &str) -> Option<Vec<Named>> {
        let mut found = None;
        for server in self
            .running()
            .iter()
            .filter(|server| server.can("workspaceSymbolProvider"))
        {
            let asked = server
                .connection
                .ask("workspace/symbol", json!({"query": query}), PATIENCE)
                .await;
            let Some(answer) = asked.ok().and_then(read::<WorkspaceSymbolResponse>) else {
                continue;
            };
            let named = |name: String, symbol, spot| Named {
                name,
                kind: kind(symbol),
                spot,
                depth: 0,
            };
            let list: Vec<Named> = match answer {
                WorkspaceSymbolResponse::Flat(all) => {
                    let all = all.into_iter();
                    all.filter_map(|one| Some(named(one.name, one.kind, spot(&one.location)?)))
                        .collect()
                }
                WorkspaceSymbolResponse::Nested(all) => {
                    let place = |location: OneOf<Location, lsp_types::WorkspaceLocation>| match location {
                        OneOf::Left(location) => spot(&location),
                        OneOf::Right(file) => Some(Spot {
                            path: text::path(&file.uri)?,
                            line: 1,
                        }),
                    };
                    all.into_iter()
                        .filter_map(|one| Some(named(one.name, one.kind, place(one.location)?)))
                        .collect()
                }
            };
            found.get_or_insert_with(Vec::new).extend(list.into_iter().take(MOST));
        }
        found
    }

    /// What a file is when it is formatted. `Ok(None)` where no server can tell.
    pub async fn format(&self, path: &Path, tab: usize, spaces: bool) -> Result<Option<Vec<Rewrite>>, Error> {
        let Some((server, synced)) = self.open(path, "documentFormattingProvider").await else {
            return Ok(None);
        };
        let options = json!({"tabSize": tab, "insertSpaces": spaces});
        let params = json!({"textDocument": document(&synced), "options": options});
        let answer = server
            .connection
            .ask("textDocument/formatting", params, LONG_PATIENCE)
            .await?;
        let edits: Vec<TextEdit> = read(answer).unwrap_or_default();
        Ok(Some(rewrite(&server, &synced, edits)?.into_iter().collect()))
    }

    /// What the server offers to do at a line, by title, and what the files are then. Offers that it would carry out
    /// itself are left out.
    pub async fn actions(&self, path: &Path, line: usize) -> Result<Option<Vec<(String, Vec<Rewrite>)>>, Error> {
        let Some((server, synced)) = self.open(path, "codeActionProvider").await else {
            return Ok(None);
        };
        let Some(range) = text::whole_line(&synced.text, line, server.units) else {
            return Ok(Some(Vec::new()));
        };
        let context = json!({"diagnostics": server.heard.raw(path, range)});
        let params = json!({"textDocument": document(&synced), "range": range, "context": context});
        let answer = server
            .connection
            .ask("textDocument/codeAction", params, PATIENCE)
            .await?;
        let mut offers = Vec::new();
        for offer in read::<Vec<CodeActionOrCommand>>(answer).unwrap_or_default() {
            let CodeActionOrCommand::CodeAction(action) = offer else {
                continue;
            };
            let title = action.title.clone();
            let edit = match action.edit {
                Some(edit) => Some(edit),
                None if action.data.is_some() => {
                    let resolved = server
                        .connection
                        .ask("codeAction/resolve", json!(action), PATIENCE)
                        .await;
                    resolved.ok().and_then(|mut answer| read(answer["edit"].take()))
                }
                None => None,
            };
            if let Some(edit) = edit {
                offers.push((title, rewrites(&server, edit).await?));
            }
        }
        Ok(Some(offers))
    }

    /// The server of a file that can do this, with the file as it is now.
    async fn open(&self, path: &Path, ability: &str) -> Option<(std::sync::Arc<Server>, Synced)> {
        let server = self.ready(path, Instant::now() + self.limits().start).await?;
        if !server.can(ability) {
            return None;
        }
        let synced = server.sync(path).await?;
        Some((server, synced))
    }

    /// Asks about a name. `None` where no server can tell.
    async fn at(&self, at: &At, ability: &str, method: &'static str, more: Value) -> Option<Value> {
        let (server, synced) = self.open(&at.path, ability).await?;
        let mut params = place(&server, &synced, at)?;
        params.as_object_mut()?.extend(more.as_object()?.clone());
        match server.connection.ask(method, params, PATIENCE).await {
            Ok(answer) => Some(answer),
            Err(error) => {
                tracing::debug!(%error, "no answer");
                None
            }
        }
    }
}

fn document(synced: &Synced) -> Option<Value> {
    Some(json!({"uri": text::uri(&synced.path)?.as_str()}))
}

fn place(server: &Server, synced: &Synced, at: &At) -> Option<Value> {
    let position = text::find(&synced.text, &at.name, at.line, server.units)?;
    Some(json!({"textDocument": document(synced)?, "position": position}))
}

/// What the server sent, where it is in the protocol's form; nothing where it sent nothing.
fn read<T: DeserializeOwned>(answer: Value) -> Option<T> {
    serde_json::from_value::<Option<T>>(answer).ok().flatten()
}

fn spot(location: &Location) -> Option<Spot> {
    Some(Spot {
        path: text::path(&location.uri)?,
        line: location.range.start.line as usize + 1,
    })
}

fn spots(locations: Vec<Location>) -> Vec<Spot> {
    let mut spots: Vec<Spot> = locations.iter().filter_map(spot).collect();
    spots.sort();
    spots.dedup();
    spots
}

fn nested(symbols: Vec<lsp_types::DocumentSymbol>, path: &Path, depth: usize, found: &mut Vec<Named>) {
    for symbol in symbols {
        if found.len() >= MOST {
            return;
        }
        let Range { start, .. } = symbol.selection_range;
        let spot = Spot {
            path: path.to_owned(),
            line: start.line as usize + 1,
        };
        found.push(Named {
            name: symbol.name,
            kind: kind(symbol.kind),
            spot,
            depth,
        });
        nested(symbol.children.unwrap_or_default(), path, depth + 1, found);
    }
}

/// The files of an edit as they are to be. An edit that makes, moves or removes files is refused: it was not offered.
async fn rewrites(server: &Server, edit: WorkspaceEdit) -> Result<Vec<Rewrite>, Error> {
    let mut files: Vec<(PathBuf, Vec<TextEdit>)> = Vec::new();
    let mut add = |uri: &lsp_types::Uri, edits: Vec<TextEdit>| match text::path(uri) {
        Some(path) => {
            files.push((path, edits));
            Ok(())
        }
        None => Err(Error::garbled("an edit of something that is no file")),
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
                    return Err(Error::garbled("an edit that makes, moves or removes files"));
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
            return Err(Error::garbled("an edit of a file that cannot be read"));
        };
        rewritten.extend(rewrite(server, &synced, edits)?);
    }
    Ok(rewritten)
}

/// The file as it is to be, if it changes at all.
fn rewrite(server: &Server, synced: &Synced, edits: Vec<TextEdit>) -> Result<Option<Rewrite>, Error> {
    let after = text::apply(&synced.text, edits, server.units).ok_or_else(|| Error::garbled("edits that overlap"))?;
    Ok((after != *synced.text).then(|| Rewrite {
        path: synced.path.clone(),
        before: synced.text.to_string(),
        after,
    }))
}

fn kind(kind: SymbolKind) -> &'static str {
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
