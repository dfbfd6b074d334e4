//! Keeps the wire form of messages that have been sent, so that a request costs work only for what is new.

use bytes::Bytes;
use model::Message;
use std::sync::Arc;

/// Wire forms of the messages of one conversation, in order.
///
/// A message is recognised by its address: messages never change, and the clone kept here keeps the address taken.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    forms: Vec<(Arc<Message>, Bytes)>,
}

impl Kept {
    /// The wire form of the message at this place, rendered only when it is not the one that was there before.
    pub(crate) fn form(&mut self, place: usize, message: &Arc<Message>, render: impl FnOnce(&Message) -> Bytes) -> Bytes {
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
}
