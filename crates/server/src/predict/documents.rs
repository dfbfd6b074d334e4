//! The open documents of an editor.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use predict::{BufferEdit, EditorBuffer};
use serde_json::Value;

use super::backend::NamedDefinition;
use super::protocol::position;

/// The maximum number of open documents; the oldest is closed.
const MAX_DOCUMENTS: usize = 256;
/// Larger documents are not kept.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// A change of the set of open documents.
pub(super) enum DocumentChange {
    Open {
        uri: String,
        version: i64,
        text: String,
    },
    Edit {
        uri: String,
        version: i64,
        changes: Vec<Value>,
    },
    Close {
        uri: String,
    },
}

impl DocumentChange {
    /// Parses a notification about documents.
    pub(super) fn parse(method: &str, params: &Value) -> Option<Self> {
        let document = &params["textDocument"];
        let uri = document["uri"].as_str()?.to_owned();
        let version = document["version"].as_i64().unwrap_or(0);
        match method {
            "textDocument/didOpen" => Some(DocumentChange::Open {
                uri,
                version,
                text: document["text"].as_str()?.to_owned(),
            }),
            "textDocument/didChange" => Some(DocumentChange::Edit {
                uri,
                version,
                changes: params["contentChanges"].as_array()?.clone(),
            }),
            "textDocument/didClose" => Some(DocumentChange::Close { uri }),
            _ => None,
        }
    }

    /// Whether a prediction that is being computed may be outdated by it.
    pub(super) fn changes_text(&self) -> bool {
        match self {
            DocumentChange::Edit { .. } | DocumentChange::Close { .. } => true,
            DocumentChange::Open { .. } => false,
        }
    }
}

/// An open document.
pub(super) struct EditorDocument {
    pub(super) path: PathBuf,
    pub(super) version: i64,
    /// Shared with the prediction that is being computed.
    pub(super) buffer: Arc<EditorBuffer>,
    /// The definitions of this version, once they are needed.
    pub(super) definitions: OnceCell<Vec<NamedDefinition>>,
    /// The order of opening.
    opened: u64,
}

/// The open documents by URI.
#[derive(Default)]
pub(super) struct EditorDocuments {
    by_uri: HashMap<String, EditorDocument>,
    opened: u64,
}

impl EditorDocuments {
    pub(super) fn get(&self, uri: &str) -> Option<&EditorDocument> {
        self.by_uri.get(uri)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &EditorDocument)> {
        self.by_uri.iter().map(|(uri, document)| (uri.as_str(), document))
    }

    /// Opens a document. Documents that are not files are ignored.
    pub(super) fn open(&mut self, uri: &str, version: i64, text: String) {
        let Some(path) = path_of(uri).filter(|_| text.len() <= MAX_BYTES) else {
            self.by_uri.remove(uri);
            return;
        };
        self.opened += 1;
        if self.by_uri.len() >= MAX_DOCUMENTS {
            let oldest = self.by_uri.iter().min_by_key(|(_, document)| document.opened);
            if let Some(oldest) = oldest.map(|(uri, _)| uri.clone()) {
                self.by_uri.remove(&oldest);
            }
        }
        let document = EditorDocument {
            path,
            version,
            buffer: Arc::new(EditorBuffer::new(text)),
            definitions: OnceCell::new(),
            opened: self.opened,
        };
        self.by_uri.insert(uri.to_owned(), document);
    }

    pub(super) fn close(&mut self, uri: &str) {
        self.by_uri.remove(uri);
    }

    /// Applies one change of the editor and returns it with the document.
    pub(super) fn edit(&mut self, uri: &str, version: i64, change: &Value) -> Option<(&EditorDocument, BufferEdit)> {
        let document = self.by_uri.get_mut(uri)?;
        document.version = version;
        document.definitions = OnceCell::new();
        let text = change["text"].as_str()?;
        let range = &change["range"];
        let buffer = Arc::make_mut(&mut document.buffer);
        let edit = if range.is_object() {
            let (start, end) = (position(&range["start"]), position(&range["end"]));
            buffer.replace(start, end, text)
        } else {
            buffer.replace_all(text)
        };
        if document.buffer.text().len() > MAX_BYTES {
            self.by_uri.remove(uri);
            return None;
        }
        self.by_uri.get(uri).map(|document| (document, edit))
    }
}

/// The path of a `file:` URI.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let start = rest.find('/')?;
    let mut bytes = Vec::with_capacity(rest.len());
    let mut letters = rest[start..].bytes();
    while let Some(byte) = letters.next() {
        if byte == b'%' {
            let digits = [letters.next()?, letters.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_uris_become_paths() {
        for (uri, path) in [
            ("file:///a/b.rs", Some("/a/b.rs")),
            ("file:///a%20b/%C3%A4.rs", Some("/a b/ä.rs")),
            ("file://host/a", Some("/a")),
            ("untitled:Untitled-1", None),
            ("file:///a%2", None),
        ] {
            assert_eq!(path_of(uri), path.map(PathBuf::from), "{uri}");
        }
    }
}
