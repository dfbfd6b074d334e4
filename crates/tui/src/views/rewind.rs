//! Going back to an earlier prompt: what comes after it stays in the log, but is no longer seen.

use super::list::{Act, Fetch, Source};
use crate::house::Which;
use crate::keys::Deed;
use crate::row::Row;
use crate::view::{Cx, Place, Wish};
use crate::words::{ago, first_line, now};
use session::{Body, Change, Command, Item, ItemId, Tally, Time};
use std::sync::Arc;

/// The prompts of the session, newest first.
pub(crate) struct Rewind {
    now: Time,
}

/// A prompt that can be gone back to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prompt {
    text: String,
    at: Time,
    /// The item before it, which becomes the newest; `None` for the very first.
    before: Option<ItemId>,
    /// The files that were changed from here on.
    changed: Tally,
}

impl Default for Rewind {
    fn default() -> Self {
        Rewind { now: now() }
    }
}

impl Rewind {
    /// The prompts as they look at a time.
    #[cfg(test)]
    pub(crate) fn at(now: Time) -> Self {
        Rewind { now }
    }
}

impl Source for Rewind {
    type Entry = Prompt;

    fn title(&self) -> String {
        "Go back to before".into()
    }

    fn place(&self) -> Place {
        Place::Inline(14)
    }

    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<Prompt> {
        let Some(session) = cx.state.session else {
            return Fetch::Now(Vec::new());
        };
        let items = cx.house.items(session);
        Fetch::Later(cx.fetch(Box::pin(async move { Ok(prompts(&items.await?)) })))
    }

    fn name(&self, prompt: &Prompt) -> String {
        first_line(&prompt.text)
    }

    fn about(&self, prompt: &Prompt, cx: &Cx<'_>) -> (Row, Row) {
        let files = match prompt.changed.is_empty() {
            true => String::new(),
            false => format!("{} changed since  ", prompt.changed),
        };
        let right = Row::of(files, cx.theme.warn).and(ago(prompt.at, self.now), cx.theme.dim);
        (Row::empty(), right)
    }

    fn verb(&self) -> &'static str {
        "go back"
    }

    fn choose(&mut self, prompt: &Prompt, cx: &Cx<'_>) -> Act {
        if cx.state.is_working() {
            return Act::Do(Wish::Flash("stop the turn first (esc)".into()));
        }
        match prompt.before {
            // The words come back into the line, to be said differently.
            Some(to) => Act::CloseAnd(Wish::All(vec![
                Wish::Send(Command::Rewind { to }),
                Wish::Tell(format!(
                    "went back to before “{}”; files are as they are, /undo takes changes back",
                    first_line(&prompt.text)
                )),
                Wish::Compose(prompt.text.clone()),
            ])),
            None => Act::CloseAnd(Wish::All(vec![
                Wish::Switch(Which::New),
                Wish::Compose(prompt.text.clone()),
            ])),
        }
    }

    fn act(&mut self, deed: Deed, prompt: &Prompt, cx: &Cx<'_>) -> Option<Act> {
        match (deed, cx.state.session, prompt.before) {
            (Deed::Fork, Some(session), Some(before)) => Some(Act::CloseAnd(Wish::All(vec![
                Wish::Switch(Which::Fork {
                    session,
                    upto: Some(before),
                }),
                Wish::Compose(prompt.text.clone()),
            ]))),
            _ => None,
        }
    }

    fn hints(&self) -> &'static [Deed] {
        &[Deed::Close, Deed::Choose, Deed::Fork]
    }

    fn empty(&self) -> &'static str {
        "nothing was said yet"
    }
}

/// The prompts, newest first, each with how many files were changed from it on.
fn prompts(items: &[Arc<Item>]) -> Vec<Prompt> {
    let mut changes: Vec<&Change> = Vec::new();
    let mut prompts = Vec::new();
    for (index, item) in items.iter().enumerate().rev() {
        match &item.body {
            Body::Result { changes: made, .. } | Body::Restored { changes: made, .. } => {
                changes.extend(made.iter().rev());
            }
            Body::Prompt { message } => prompts.push(Prompt {
                text: session::spoken(message),
                at: item.at,
                before: index
                    .checked_sub(1)
                    .and_then(|before| items.get(before))
                    .map(|item| item.id),
                changed: Tally::of(changes.iter().rev().copied()),
            }),
            _ => {}
        }
    }
    prompts
}
