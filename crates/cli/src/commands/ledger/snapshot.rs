//! A request as it was sent, rebuilt from the log and its record.

use super::{SessionRequests, render};
use crate::args::GlobalArgs;
use crate::commands::load_for;
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::models::ModelRegistry;
use crate::output;
use model::{Message, Request};
use prompt::RequestSnapshot;
use session::{BlobId, Item, MessageRef, Store as _};
use std::collections::HashMap;
use std::sync::Arc;

/// How a request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum RequestView {
    /// For people.
    Text,
    /// The very body that was sent.
    Json,
}

/// `hew prompt show SESSION[:REQUEST]`.
pub(in crate::commands) async fn show(
    named: &str,
    form: RequestView,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    let book = SessionRequests::open(Some(named), global, env).await?;
    let place = book.chosen();
    let request = again(&book, place).await?;
    match form {
        RequestView::Text => output::print_checked(&render::text(&request))?,
        RequestView::Json => {
            let root = host::sessions::existing_root(&book.meta.root)?;
            let loaded = load_for(root, global, env, Vec::new())?;
            let models = ModelRegistry::new(&loaded.config, env);
            let info = models.find(&book.requests[place].model)?;
            let settings = models.immediate_settings(&info)?;
            let (body, _) = providers::render_body(&request, &info, &settings);
            output::print_checked(&format!("{}\n", String::from_utf8_lossy(&body)))?;
        }
    }
    Ok(ExitStatus::Done)
}

/// The request again.
pub(super) async fn again(book: &SessionRequests, place: usize) -> Result<Request> {
    let lost = || Failure::failed(format!("request {} is not completely recorded", book.name(place)));
    let record = &book.requests[place];
    let (references, frame) = prompt::request_layout(&book.requests, record.id).ok_or_else(lost)?;
    let marks = record
        .prompt
        .as_ref()
        .map(|prompt| prompt.breakpoints.clone())
        .unwrap_or_default();
    let items = items(book, &references).await?;
    let mut made: HashMap<BlobId, Message> = HashMap::new();
    for references in &references {
        if let MessageRef::Blob(blob) = references {
            let bytes = book.store.get_blob(blob.clone()).await?.ok_or_else(lost)?;
            made.insert(blob.clone(), serde_json::from_slice(&bytes).map_err(|_| lost())?);
        }
    }
    let messages = prompt::replay_messages(&references, &items, |blob| made.get(blob).cloned()).ok_or_else(lost)?;
    let bytes = book.store.get_blob(frame).await?.ok_or_else(lost)?;
    let frozen: RequestSnapshot = serde_json::from_slice(&bytes).map_err(|_| lost())?;
    let mut texts: HashMap<String, Vec<u8>> = HashMap::new();
    for name in frozen.blob_names() {
        let bytes = book.store.get_blob(BlobId(name.into())).await?.ok_or_else(lost)?;
        texts.insert(name.to_owned(), bytes.to_vec());
    }
    frozen
        .restore(|name| texts.get(name).cloned(), messages, marks)
        .ok_or_else(lost)
}

/// The items that messages are found in: all lie on the way to the last of them.
async fn items(book: &SessionRequests, references: &[MessageRef]) -> Result<Vec<Arc<Item>>> {
    let newest = references.iter().filter_map(|references| match references {
        MessageRef::Item(id, _) => Some(*id),
        MessageRef::Blob(_) => None,
    });
    let Some(newest) = newest.max() else {
        return Ok(Vec::new());
    };
    Ok(book.store.path_to(book.meta.id, newest).await?)
}
