//! Going on in another mode: the system prompt, the model and the record of it.
//!
//! The tools on offer stay the same in every mode: a list that changed would cost the whole prompt cache, and a call that does
//! not fit the mode is refused with the reason.

use crate::state::State;
use policy::Mode;
use session::{Body, Error, Item, ItemId, Level};
use std::path::PathBuf;
use std::sync::Arc;

/// The mode of a session that never said otherwise.
pub(crate) const USUAL: &str = "code";

/// The mode in which a session was last, and the only files that may be changed in it.
pub(crate) fn recorded(items: &[Arc<Item>]) -> Option<(&str, &[PathBuf])> {
    items.iter().rev().find_map(|item| match &item.body {
        Body::Mode { name, files } => Some((name.as_str(), files.as_slice())),
        Body::Prompt { .. }
        | Body::Reply { .. }
        | Body::Result { .. }
        | Body::Summary { .. }
        | Body::Notice { .. }
        | Body::Wake { .. }
        | Body::Todos { .. }
        | Body::Panels { .. }
        | Body::Review { .. }
        | Body::Restored { .. } => None,
    })
}

impl State {
    /// Goes on in the mode of this name; tells the person where there is none.
    pub(crate) async fn switch_mode(&mut self, name: &str) -> Result<(), Error> {
        let Some(mode) = self.modes.get(name).cloned() else {
            let names: Vec<&str> = self.modes.iter().map(|mode| mode.name.as_str()).collect();
            let text = format!("there is no mode `{name}`; the modes are {}", names.join(", "));
            self.notice(Level::Warning, text).await;
            return Ok(());
        };
        if mode == self.mode {
            return Ok(());
        }
        self.adopt(mode).await;
        self.record_mode().await
    }

    /// Works in this mode from the next request on.
    pub(crate) async fn adopt(&mut self, mode: Mode) {
        let model = match &mode.model {
            Some(name) if *name != self.model.info().name() => (self.models)(name).map(Some),
            Some(_) => Ok(None),
            None => Ok(Some(Arc::clone(&self.usual_model))),
        };
        match model {
            Ok(Some(model)) => self.model = model,
            Ok(None) => {}
            Err(why) => {
                let text = format!(
                    "the mode `{}` goes on with {}: {why}",
                    mode.name,
                    self.model.info().name()
                );
                self.notice(Level::Warning, text).await;
            }
        }
        self.mode = mode;
        self.render_system();
        self.tell_untold().await;
    }

    /// Keeps the mode with the session, where it is not the one that is kept.
    pub(crate) async fn record_mode(&mut self) -> Result<(), Error> {
        let files = self.mode.only.clone().unwrap_or_default();
        let (name, kept) = recorded(&self.items).unwrap_or((USUAL, &[]));
        if name == self.mode.name && kept == files {
            return Ok(());
        }
        let name = self.mode.name.clone();
        self.append(ItemId::new(), Body::Mode { name, files }).await
    }

    /// Goes back to the mode that is kept, after a rewind.
    pub(crate) async fn restore_mode(&mut self) {
        let (name, files) = recorded(&self.items).unwrap_or((USUAL, &[]));
        let mode = match name {
            "edit" if !files.is_empty() => Some(Mode::edit(files.to_vec())),
            name => self.modes.get(name).cloned(),
        };
        if let Some(mode) = mode.filter(|mode| *mode != self.mode) {
            self.adopt(mode).await;
        }
    }
}
