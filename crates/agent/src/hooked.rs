//! What hooks say to what a session does, told to whom it concerns.

use crate::inbox::Inbox;
use crate::mention;
use crate::state::State;
use crate::surroundings::Refusal;
use crate::waiting::Spoken;
use model::{Block, Part};
use policy::Ruling;
use session::{Error, Event, Happening, Hooks, Level, Moment, Reaction, SessionId};
use std::sync::Arc;
use tokio::sync::mpsc;

/// What a hook sees of a tool's output at most.
const OUTPUT_BYTES: usize = 30_000;

/// What became of a prompt.
#[derive(Debug)]
pub(crate) enum Submitted {
    Kept,
    /// It is not sent, for this reason.
    Refused(Refusal),
}

/// The hooks of a session, and where their mishaps are told.
#[derive(Clone)]
pub(crate) struct Hooked {
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) session: SessionId,
    pub(crate) events: mpsc::Sender<Event>,
}

impl Hooked {
    pub(crate) fn hears(&self, moment: Moment) -> bool {
        self.hooks.hears(moment)
    }

    /// What hooks say to this; silence where none listens.
    pub(crate) async fn call(&self, happening: Happening) -> Reaction {
        let mut reaction = self.hooks.call(self.session, happening).await;
        for text in reaction.notices.drain(..) {
            let level = Level::Warning;
            // A front end that is gone needs no notices.
            drop(self.events.send(Event::Notice { level, text }).await);
        }
        reaction
    }
}

impl State {
    /// Tells hooks that the session begins or goes on; what they add goes along with the next prompt.
    pub(crate) async fn begin_hooks(&mut self) {
        if self.hooked.hears(Moment::SessionStart) {
            let resumed = !self.items.is_empty();
            let reaction = self.hooked.call(Happening::SessionStart { resumed }).await;
            self.context.extend(reaction.context);
        }
    }

    /// Tells hooks that the session ends.
    pub(crate) async fn end_hooks(&mut self) {
        if self.hooked.hears(Moment::SessionEnd) {
            self.hooked.call(Happening::SessionEnd).await;
        }
    }

    /// Adds the oldest thing in the inbox that the person said, unless a hook objects; nothing where there is none.
    ///
    /// Hooks speak first, so that nothing is looked up for a prompt that they block. It stays in the inbox until it is an item:
    /// nothing is lost wherever this is stopped.
    pub(crate) async fn submit(&mut self, inbox: &Arc<Inbox>) -> Result<Option<Submitted>, Error> {
        let Some(Spoken { message, waiting }) = inbox.first_steering() else {
            return Ok(None);
        };
        let said = message.text();
        let mut added = None;
        if self.hooked.hears(Moment::UserPromptSubmit) {
            let prompt = said.clone();
            let reaction = self.hooked.call(Happening::UserPromptSubmit { prompt }).await;
            if let Ruling::Deny(why) | Ruling::Ask(why) = reaction.ruling {
                self.drop_first(inbox);
                return Ok(Some(Submitted::Refused(Refusal::Hook(why))));
            }
            added = reaction.context;
        }
        let command = match self.command(&message).await {
            Ok(command) => command,
            Err(Refusal::Lost(error)) => return Err(error),
            Err(refusal) => {
                self.drop_first(inbox);
                return Ok(Some(Submitted::Refused(refusal)));
            }
        };
        let (mut message, touched) = mention::resolve(self, inbox, message, command).await;
        let notes = self.notes_with_prompt(touched, inbox).await;
        self.record_mode().await?;
        drop(inbox.next_steering());
        message.parts.extend(notes.into_iter().map(Part::text));
        for text in std::mem::take(&mut self.context).into_iter().chain(added) {
            message.parts.push(Part::text(format!("<hook>\n{text}\n</hook>")));
        }
        self.append_spoken(Spoken { message, waiting }).await?;
        self.begin_title(said);
        Ok(Some(Submitted::Kept))
    }

    /// Drops the oldest thing that the person said, because it must not be sent.
    fn drop_first(&self, inbox: &Inbox) {
        if let Some(spoken) = inbox.next_steering() {
            spoken.forget(self.session, &self.store);
        }
    }

    /// Tells hooks that the conversation is about to be summed up. What they say belongs to what the summary is asked for; the
    /// error is why it must not happen, which counts only where the person asked for it.
    pub(crate) async fn before_compact(
        &mut self,
        asked: Option<String>,
        manual: bool,
    ) -> Result<Option<String>, String> {
        if !self.hooked.hears(Moment::PreCompact) {
            return Ok(asked);
        }
        let reaction = self.hooked.call(Happening::PreCompact { manual }).await;
        match reaction.ruling {
            Ruling::Deny(why) | Ruling::Ask(why) if manual => Err(why),
            Ruling::Deny(_) | Ruling::Ask(_) | Ruling::Allow | Ruling::Silent => {
                let said: Vec<String> = asked.into_iter().chain(reaction.context).collect();
                Ok((!said.is_empty()).then(|| said.join("\n")))
            }
        }
    }

    /// Whether a hook wants the model to go on although it has nothing more to do, and why.
    pub(crate) async fn keep_going(&mut self, again: bool) -> Option<String> {
        if !self.hooked.hears(Moment::Stop) {
            return None;
        }
        let answer = self
            .items
            .iter()
            .rev()
            .find_map(|item| item.message())
            .map(|said| said.text());
        let stop = Happening::Stop {
            answer: answer.unwrap_or_default(),
            again,
        };
        match self.hooked.call(stop).await.ruling {
            Ruling::Deny(why) | Ruling::Ask(why) => Some(why),
            Ruling::Allow | Ruling::Silent => None,
        }
    }
}

/// The text of a result, as far as a hook needs it.
pub(crate) fn text_of(content: &[Block]) -> String {
    let mut text = String::new();
    for block in content {
        match block {
            Block::Text { text: more } => text.push_str(more),
            Block::Media(media) => text.push_str(&format!("[{}]", media.mime)),
        }
        text.push('\n');
    }
    if text.len() > OUTPUT_BYTES {
        let mut end = OUTPUT_BYTES;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let cut = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n[{cut} bytes cut]\n"));
    }
    text
}
