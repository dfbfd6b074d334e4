//! The books of a session: enters each request before it leaves, and says afterwards what it was made of and what it cost.

use model::{Cost, Info, Message, Request, Usage};
use prompt::{Entry, Frozen, Ledger};
use session::{BlobId, Item, ItemId, Paid, Prompt, RequestId, Said, Section, Store};
use std::sync::Arc;

/// The books of a session.
#[derive(Default)]
pub(crate) struct Books {
    ledger: Ledger,
    /// The last request that was entered.
    last: Option<RequestId>,
    /// The frame that was kept last.
    frame: Option<Request>,
}

/// A request that is under way.
pub(crate) struct Open {
    base: Option<RequestId>,
    entry: Entry,
    said: Vec<Source>,
    /// Everything but the messages.
    frame: Request,
}

/// Where the text of a message is found.
enum Source {
    Item(ItemId, usize),
    Made(Arc<Message>),
}

impl Books {
    /// Enters a request that is about to leave; `now` is in milliseconds.
    pub(crate) fn enter(
        &mut self,
        id: RequestId,
        request: &Request,
        items: &[Arc<Item>],
        info: &Info,
        now: u64,
    ) -> Open {
        let entry = self.ledger.enter(request, info, now);
        let shared = entry.shared;
        Open {
            base: self.last.replace(id),
            said: sources(&request.messages[shared..], items),
            entry,
            frame: Request {
                messages: Arc::default(),
                ..request.clone()
            },
        }
    }

    /// Says what a request was made of, now that it is over. What it takes to show it again is kept.
    pub(crate) fn close(
        &mut self,
        open: &Open,
        info: &Info,
        usage: &Usage,
        store: &dyn Store,
        now: u64,
    ) -> (Vec<Section>, Prompt) {
        let sections = self.ledger.settle(&open.entry, info, usage, now);
        let (frame, frame_parts) = self.keep_frame(&open.frame, store);
        let said = open.said.iter().map(|source| match source {
            Source::Item(id, place) => Said::Item(*id, *place),
            Source::Made(message) => {
                let json = serde_json::to_vec(&**message).unwrap_or_default();
                Said::Made(store.put_blob(json.into()))
            }
        });
        let prompt = Prompt {
            cached: open.entry.cached,
            difference: open.entry.difference.clone(),
            base: open.base,
            frame,
            frame_parts,
            shared: open.entry.shared as u64,
            said: said.collect(),
            marks: open.entry.marks.clone(),
            paid: paid(info, usage),
        };
        (sections, prompt)
    }

    /// Keeps the frame, unless it is that of the request before.
    fn keep_frame(&mut self, frame: &Request, store: &dyn Store) -> (Option<BlobId>, Vec<BlobId>) {
        if self.frame.as_ref().is_some_and(|kept| is_same(kept, frame)) {
            return (None, Vec::new());
        }
        let mut parts = Vec::new();
        let frozen = Frozen::of(frame, |text| {
            let id = store.put_blob(text.into());
            parts.push(id.clone());
            id.to_string()
        });
        let id = store.put_blob(serde_json::to_vec(&frozen).unwrap_or_default().into());
        self.frame = Some(frame.clone());
        (Some(id), parts)
    }
}

/// Where the text of messages is found: most are those of the newest items, in the same order.
fn sources(messages: &[Arc<Message>], items: &[Arc<Item>]) -> Vec<Source> {
    let place = |item: &Arc<Item>, message: &Arc<Message>| {
        let place = item.messages().iter().position(|said| Arc::ptr_eq(said, message));
        place.map(|place| Source::Item(item.id, place))
    };
    let mut last = items.len();
    let mut sources: Vec<Source> = Vec::with_capacity(messages.len());
    for message in messages.iter().rev() {
        let before = (0..last).rev().find_map(|at| Some((at, place(&items[at], message)?)));
        let found = before.or_else(|| (last..items.len()).find_map(|at| Some((at, place(&items[at], message)?))));
        sources.push(match found {
            Some((at, source)) => {
                // An item of panels has several messages.
                last = at + 1;
                source
            }
            None => Source::Made(Arc::clone(message)),
        });
    }
    sources.reverse();
    sources
}

/// Whether two requests differ in nothing but their messages and marks.
fn is_same(one: &Request, other: &Request) -> bool {
    (Arc::ptr_eq(&one.tools, &other.tools) || one.tools == other.tools)
        && one.system == other.system
        && one.tool_choice == other.tool_choice
        && one.max_output == other.max_output
        && one.effort == other.effort
        && one.temperature == other.temperature
        && one.output_schema == other.output_schema
        && one.affinity == other.affinity
        && one.options == other.options
}

/// What the prompt cost, by the model's prices.
fn paid(info: &Info, usage: &Usage) -> Option<Paid> {
    let prices = info.prices.as_ref()?;
    let cached = prices.cost_of_cached(usage);
    let prompt = prices.cost(&Usage { output: 0, ..*usage });
    Some(Paid {
        cached,
        fresh: Cost {
            nano_usd: prompt.nano_usd - cached.nano_usd,
        },
    })
}
