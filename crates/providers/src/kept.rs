//! Keeps the wire form of messages that have been sent, so that a request costs work only for what is new.

use bytes::Bytes;
use model::{Message, ToolSpec};
use std::sync::Arc;

/// Wire forms of the messages of one conversation, in order.
///
/// A message is recognised by its address: messages never change, and the clone kept here keeps the address taken.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    forms: Vec<(Arc<Message>, Bytes)>,
    tools: Option<(Arc<[ToolSpec]>, Bytes)>,
}

impl Kept {
    /// The wire form of the message at this place, rendered only when it is not the one that was there before.
    pub(crate) fn form(
        &mut self,
        place: usize,
        message: &Arc<Message>,
        render: impl FnOnce(&Message) -> Bytes,
    ) -> Bytes {
        if let Some((kept, form)) = self.forms.get(place)
            && Arc::ptr_eq(kept, message)
        {
            return form.clone();
        }
        self.forms.truncate(place);
        let form = render(message);
        if self.forms.len() == place {
            self.forms.push((Arc::clone(message), form.clone()));
        }
        form
    }

    /// The wire form of the tools, rendered only when they are not the ones of the last request.
    pub(crate) fn tools(&mut self, tools: &Arc<[ToolSpec]>, render: impl FnOnce(&[ToolSpec]) -> Bytes) -> Bytes {
        if let Some((kept, form)) = &self.tools
            && Arc::ptr_eq(kept, tools)
        {
            return form.clone();
        }
        let form = render(tools);
        self.tools = Some((Arc::clone(tools), form.clone()));
        form
    }
}
