//! A request as the model saw it, made again from the log and what was kept of it.

use super::{Book, readable};
use crate::args::Global;
use crate::commands::load_for;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::models::Models;
use crate::{output, wiring};
use model::{Message, Request};
use prompt::Frozen;
use session::{BlobId, Item, Said, Store as _};
use std::collections::HashMap;
use std::sync::Arc;

/// How a request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Form {
    /// For people.
    Text,
    /// The very body that was sent.
    Json,
}

/// `hew prompt show SESSION[:REQUEST]`.
pub(in crate::commands) async fn show(named: &str, form: Form, global: &Global, env: &Environment) -> Result<Exit> {
    let book = Book::open(Some(named), global, env).await?;
    let place = book.chosen();
    let request = again(&book, place).await?;
    match form {
        Form::Text => output::deliver(&readable::text(&request))?,
        Form::Json => {
            let root = wiring::session_root(&book.meta.root)?;
            let loaded = load_for(root, global, env, Vec::new())?;
            let models = Models::new(&loaded.config, env);
            let info = models.find(&book.requests[place].model)?;
            let settings = models.settings_at_hand(&info)?;
            let (body, _) = providers::render(&request, &info, &settings);
            output::deliver(&format!("{}\n", String::from_utf8_lossy(&body)))?;
        }
    }
    Ok(Exit::Done)
}

/// The request again.
pub(super) async fn again(book: &Book, place: usize) -> Result<Request> {
    let lost = || {
        Failure::failed(format!(
            "what request {} was made of is not kept whole",
            book.name(place)
        ))
    };
    let record = &book.requests[place];
    let (said, frame) = prompt::laid_out(&book.requests, record.id).ok_or_else(lost)?;
    let marks = record
        .prompt
        .as_ref()
        .map(|prompt| prompt.marks.clone())
        .unwrap_or_default();
    let items = items(book, &said).await?;
    let mut made: HashMap<BlobId, Message> = HashMap::new();
    for said in &said {
        if let Said::Made(blob) = said {
            let bytes = book.store.get_blob(blob.clone()).await?.ok_or_else(lost)?;
            made.insert(blob.clone(), serde_json::from_slice(&bytes).map_err(|_| lost())?);
        }
    }
    let messages = prompt::messages(&said, &items, |blob| made.get(blob).cloned()).ok_or_else(lost)?;
    let bytes = book.store.get_blob(frame).await?.ok_or_else(lost)?;
    let frozen: Frozen = serde_json::from_slice(&bytes).map_err(|_| lost())?;
    let mut texts: HashMap<String, Vec<u8>> = HashMap::new();
    for name in frozen.names() {
        let bytes = book.store.get_blob(BlobId(name.into())).await?.ok_or_else(lost)?;
        texts.insert(name.to_owned(), bytes.to_vec());
    }
    frozen
        .thaw(|name| texts.get(name).cloned(), messages, marks)
        .ok_or_else(lost)
}

/// The items that messages are found in: all lie on the way to the last of them.
async fn items(book: &Book, said: &[Said]) -> Result<Vec<Arc<Item>>> {
    let newest = said.iter().filter_map(|said| match said {
        Said::Item(id, _) => Some(*id),
        Said::Made(_) => None,
    });
    let Some(newest) = newest.max() else {
        return Ok(Vec::new());
    };
    Ok(book.store.path_to(book.meta.id, newest).await?)
}
