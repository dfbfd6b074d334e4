//! A request as it was sent, rebuilt from the log and its record.

use super::{SessionRequests, text};
use crate::failure::{Failure, Result};
use model::{Message, Request};
use prompt::RequestSnapshot;
use session::{BlobId, Item, MessageRef, Store as _};
use std::collections::HashMap;
use std::sync::Arc;

impl SessionRequests {
    /// The selected request as it was sent.
    pub async fn rebuild(&self) -> Result<Request> {
        rebuild(self, self.chosen()).await
    }

    /// The selected request as readable text.
    pub async fn text(&self) -> Result<String> {
        Ok(text::request_text(&self.rebuild().await?))
    }
}

/// Rebuilds the request.
pub(super) async fn rebuild(session: &SessionRequests, index: usize) -> Result<Request> {
    let lost = || Failure::failed(format!("request {} is not completely recorded", session.name(index)));
    let record = &session.requests[index];
    let (references, frame) = prompt::request_layout(&session.requests, record.id).ok_or_else(lost)?;
    let marks = record
        .prompt
        .as_ref()
        .map(|prompt| prompt.breakpoints.clone())
        .unwrap_or_default();
    let items = items(session, &references).await?;
    let mut made: HashMap<BlobId, Arc<Message>> = HashMap::new();
    for references in &references {
        if let MessageRef::Blob(blob) = references {
            let bytes = session.store.get_blob(blob.clone()).await?.ok_or_else(lost)?;
            made.insert(blob.clone(), serde_json::from_slice(&bytes).map_err(|_| lost())?);
        }
    }
    let messages = prompt::replay_messages(&references, &items, |blob| made.get(blob).cloned()).ok_or_else(lost)?;
    let bytes = session.store.get_blob(frame).await?.ok_or_else(lost)?;
    let frozen: RequestSnapshot = serde_json::from_slice(&bytes).map_err(|_| lost())?;
    let mut texts: HashMap<String, Vec<u8>> = HashMap::new();
    for name in frozen.blob_names() {
        let bytes = session.store.get_blob(BlobId(name.into())).await?.ok_or_else(lost)?;
        texts.insert(name.to_owned(), bytes.to_vec());
    }
    frozen
        .restore(|name| texts.get(name).cloned(), messages, marks)
        .ok_or_else(lost)
}

/// The items that contain the messages: all are on the path to the last of them.
async fn items(session: &SessionRequests, references: &[MessageRef]) -> Result<Vec<Arc<Item>>> {
    let newest = references.iter().filter_map(|references| match references {
        MessageRef::Item(id, _) => Some(*id),
        MessageRef::Blob(_) => None,
    });
    let Some(newest) = newest.max() else {
        return Ok(Vec::new());
    };
    Ok(session.store.path_to(session.meta.id, newest).await?)
}
