//! The books of a session: enters each request before it leaves, and says afterwards what it was made of and what it cost.

use model::{Cost, Info, Message, Request, Usage};
use prompt::{Counting, Entry, Frozen, Ledger, Report};
use session::{BlobId, Item, ItemId, Paid, Prompt, Record, RequestId, Said, Section, SessionId, Store};
use std::collections::{HashMap, HashSet};
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
    /// Whether nothing has been entered yet.
    pub(crate) fn is_new(&self) -> bool {
        self.last.is_none()
    }

    /// Goes on where the books of an earlier process ended, so that the next request is compared with the last of those.
    pub(crate) async fn recall(&mut self, session: SessionId, items: &[Arc<Item>], info: &Info, store: &dyn Store) {
        // Whatever is missing costs an expectation, not a request.
        let Some((record, request)) = recalled(session, items, info, store).await else {
            return;
        };
        let entry = self.ledger.enter(&request, info, record.at.0);
        let report = Report {
            usage: &record.usage,
            sent: None,
            at: record.at.0 + record.total,
        };
        self.ledger.settle(&entry, info, &report);
        self.last = Some(record.id);
        self.frame = Some(Request {
            messages: Arc::default(),
            ..request
        });
    }

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
        report: &Report<'_>,
        store: &dyn Store,
    ) -> (Vec<Section>, Prompt) {
        let sections = self.ledger.settle(&open.entry, info, report);
        let (frame, frame_parts) = self.keep_frame(&open.frame, store);
        let said = open.said.iter().map(|source| source.kept(store));
        let prompt = Prompt {
            cached: open.entry.cached,
            is_estimate: open.entry.certainty == Counting::Estimated,
            difference: open.entry.difference.clone(),
            base: open.base,
            frame,
            frame_parts,
            shared: open.entry.shared as u64,
            said: said.collect(),
            marks: open.entry.marks.clone(),
            paid: paid(info, report.usage),
        };
        (sections, prompt)
    }

    /// Says what a request beside the conversation was made of.
    pub(crate) fn beside(
        &self,
        request: &Request,
        items: &[Arc<Item>],
        info: &Info,
        record: &Record,
        store: &dyn Store,
    ) -> (Vec<Section>, Prompt) {
        let foreseen = self.ledger.foresee(request, info, record.at.0);
        let mut sections = Ledger::beside(request, info, &record.usage, foreseen.cached);
        // They are told apart from those of the conversation.
        for section in &mut sections {
            section.name = format!("{}/{}", record.purpose, section.name);
        }
        let (frame, frame_parts) = freeze(request, store);
        let said = sources(&request.messages, items);
        let prompt = Prompt {
            cached: foreseen.cached,
            is_estimate: foreseen.certainty == Counting::Estimated,
            difference: foreseen.difference,
            base: None,
            frame: Some(frame),
            frame_parts,
            shared: 0,
            said: said.iter().map(|source| source.kept(store)).collect(),
            marks: request.breakpoints.clone(),
            paid: paid(info, &record.usage),
        };
        (sections, prompt)
    }

    /// Keeps the frame, unless it is that of the request before.
    fn keep_frame(&mut self, frame: &Request, store: &dyn Store) -> (Option<BlobId>, Vec<BlobId>) {
        if self.frame.as_ref().is_some_and(|kept| is_same(kept, frame)) {
            return (None, Vec::new());
        }
        let (id, parts) = freeze(frame, store);
        self.frame = Some(frame.clone());
        (Some(id), parts)
    }
}

impl Source {
    fn kept(&self, store: &dyn Store) -> Said {
        match self {
            Source::Item(id, place) => Said::Item(*id, *place),
            Source::Made(message) => {
                let json = serde_json::to_vec(&**message).unwrap_or_default();
                Said::Made(store.put_blob(json.into()))
            }
        }
    }
}

/// Keeps everything of a request but its messages.
fn freeze(request: &Request, store: &dyn Store) -> (BlobId, Vec<BlobId>) {
    let mut parts = Vec::new();
    let frozen = Frozen::of(request, |text| {
        let id = store.put_blob(text.into());
        parts.push(id.clone());
        id.to_string()
    });
    let id = store.put_blob(serde_json::to_vec(&frozen).unwrap_or_default().into());
    (id, parts)
}

/// The last request of an earlier process, if it was made to this model and is known whole.
async fn recalled(
    session: SessionId,
    items: &[Arc<Item>],
    info: &Info,
    store: &dyn Store,
) -> Option<(Record, Request)> {
    let records = store.records(session).await.ok()?;
    let own: HashSet<ItemId> = items.iter().map(|item| item.id).collect();
    // Those of subtasks are there too.
    let is_own = |record: &&Record| record.prompt.is_some() && record.item.is_some_and(|item| own.contains(&item));
    let last = records
        .iter()
        .rfind(is_own)
        .filter(|record| record.model == info.name())?;
    let (said, frame) = prompt::laid_out(&records, last.id)?;
    let mut texts: HashMap<String, Vec<u8>> = HashMap::new();
    let made = said.iter().filter_map(|said| match said {
        Said::Item(..) => None,
        Said::Made(blob) => Some(blob.clone()),
    });
    let bytes = store.get_blob(frame).await.ok()??;
    let frozen: Frozen = serde_json::from_slice(&bytes).ok()?;
    let parts = frozen.names().map(|name| BlobId(name.into()));
    for blob in made.chain(parts).collect::<Vec<_>>() {
        let bytes = store.get_blob(blob.clone()).await.ok()??;
        texts.insert(blob.to_string(), bytes.to_vec());
    }
    let find = |blob: &BlobId| serde_json::from_slice(texts.get(&*blob.0)?).ok();
    let messages = prompt::messages(&said, items, find)?;
    let marks = last.prompt.as_ref()?.marks.clone();
    let request = frozen.thaw(|name| texts.get(name).cloned(), messages, marks)?;
    Some((last.clone(), request))
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
