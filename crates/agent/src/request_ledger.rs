//! The request ledger of a session: registers each request before it is sent and computes its composition and price
//! afterwards.

use model::{Cost, Info, Message, Request, Usage};
use prompt::{CountBasis, Ledger, LedgerEntry, RequestReport, RequestSnapshot};
use session::{
    BlobId, Item, ItemId, LedgerSection, MessageRef, PromptCost, PromptRecord, RequestId, RequestRecord, SessionId,
    Store,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The request ledger of a session.
#[derive(Default)]
pub(crate) struct RequestLedger {
    ledger: Ledger,
    /// The last registered request.
    last: Option<RequestId>,
    /// The last stored frame.
    frame: Option<Request>,
}

/// A request in flight.
pub(crate) struct OpenRequest {
    base: Option<RequestId>,
    entry: LedgerEntry,
    messages: Vec<MessageSource>,
    /// The request without its messages.
    frame: Request,
}

/// The origin of a message.
enum MessageSource {
    Item(ItemId, usize),
    Generated(Arc<Message>),
}

impl RequestLedger {
    /// Returns whether no request is registered.
    pub(crate) fn is_new(&self) -> bool {
        self.last.is_none()
    }

    /// Continues the ledger of an earlier process, so that the next request is compared with the last request of that
    /// process. Returns the record of that request if it is completely stored and has the same model.
    pub(crate) async fn restore(
        &mut self,
        session: SessionId,
        items: &[Arc<Item>],
        info: &Info,
        store: &dyn Store,
    ) -> Option<RequestRecord> {
        // Without the last request, only the expected cache hit of the next one is unknown.
        let records = store.request_records(session).await.unwrap_or_default();
        let last = last_record(&records, items)?;
        if last.model != info.name() {
            self.ledger.set_previous_model(last.model.clone());
            return None;
        }
        let (record, request) = last_request(last, &records, items, store).await?;
        let entry = self.ledger.begin_request(&request, info, record.at.0);
        let report = RequestReport {
            usage: &record.usage,
            sent: None,
            at: record.at.0 + record.total,
        };
        self.ledger.finish_request(&entry, info, &report);
        self.last = Some(record.id);
        self.frame = Some(Request {
            messages: Arc::default(),
            ..request
        });
        Some(record)
    }

    /// Registers a request before it is sent; `now` is in milliseconds.
    pub(crate) fn enter(
        &mut self,
        id: RequestId,
        request: &Request,
        items: &[Arc<Item>],
        info: &Info,
        now: u64,
    ) -> OpenRequest {
        let entry = self.ledger.begin_request(request, info, now);
        let shared = entry.shared;
        OpenRequest {
            base: self.last.replace(id),
            messages: sources(&request.messages[shared..], items),
            entry,
            frame: Request {
                messages: Arc::default(),
                ..request.clone()
            },
        }
    }

    /// Computes the sections of a finished request and stores its frame and generated messages for replay.
    pub(crate) fn finish(
        &mut self,
        open: &OpenRequest,
        info: &Info,
        report: &RequestReport<'_>,
        store: &dyn Store,
    ) -> (Vec<LedgerSection>, PromptRecord) {
        let sections = self.ledger.finish_request(&open.entry, info, report);
        let (frame, frame_parts) = self.store_frame(&open.frame, store);
        let messages = open.messages.iter().map(|source| source.store(store));
        let prompt = PromptRecord {
            cached: open.entry.cached,
            is_estimate: open.entry.certainty == CountBasis::Estimated,
            difference: open.entry.difference.clone(),
            base: open.base,
            frame,
            frame_parts,
            shared_messages: open.entry.shared as u64,
            messages: messages.collect(),
            breakpoints: open.entry.marks.clone(),
            cost: prompt_price(info, report.usage),
        };
        (sections, prompt)
    }

    /// Computes the sections of a request that is not part of the conversation and stores it for replay.
    pub(crate) fn describe_side_request(
        &self,
        request: &Request,
        items: &[Arc<Item>],
        info: &Info,
        record: &RequestRecord,
        store: &dyn Store,
    ) -> (Vec<LedgerSection>, PromptRecord) {
        let foreseen = self.ledger.forecast(request, info, record.at.0);
        let mut sections = Ledger::side_request_sections(request, info, &record.usage, foreseen.cached);
        // Distinguishes them from the sections of the conversation.
        for section in &mut sections {
            section.name = format!("{}/{}", record.purpose, section.name);
        }
        let (frame, frame_parts) = store_snapshot(request, store);
        let messages = sources(&request.messages, items);
        let prompt = PromptRecord {
            cached: foreseen.cached,
            is_estimate: foreseen.certainty == CountBasis::Estimated,
            difference: foreseen.difference,
            base: None,
            frame: Some(frame),
            frame_parts,
            shared_messages: 0,
            messages: messages.iter().map(|source| source.store(store)).collect(),
            breakpoints: request.breakpoints.clone(),
            cost: prompt_price(info, &record.usage),
        };
        (sections, prompt)
    }

    /// Stores the frame unless it equals the frame of the previous request.
    fn store_frame(&mut self, frame: &Request, store: &dyn Store) -> (Option<BlobId>, Vec<BlobId>) {
        if self.frame.as_ref().is_some_and(|stored| is_same(stored, frame)) {
            return (None, Vec::new());
        }
        let (id, parts) = store_snapshot(frame, store);
        self.frame = Some(frame.clone());
        (Some(id), parts)
    }
}

impl MessageSource {
    fn store(&self, store: &dyn Store) -> MessageRef {
        match self {
            MessageSource::Item(id, index) => MessageRef::Item(*id, *index),
            MessageSource::Generated(message) => {
                let json = serde_json::to_vec(&**message).unwrap_or_default();
                MessageRef::Blob(store.put_blob(json.into()))
            }
        }
    }
}

/// Stores everything of a request except its messages.
fn store_snapshot(request: &Request, store: &dyn Store) -> (BlobId, Vec<BlobId>) {
    let mut parts = Vec::new();
    let frozen = RequestSnapshot::from_request(request, |text| {
        let id = store.put_blob(text.into());
        parts.push(id.clone());
        id.to_string()
    });
    let id = store.put_blob(serde_json::to_vec(&frozen).unwrap_or_default().into());
    (id, parts)
}

/// The record of the last request of an earlier process.
fn last_record<'a>(records: &'a [RequestRecord], items: &[Arc<Item>]) -> Option<&'a RequestRecord> {
    let own: HashSet<ItemId> = items.iter().map(|item| item.id).collect();
    // The records include those of subtasks.
    let is_own =
        |record: &&RequestRecord| record.prompt.is_some() && record.item.is_some_and(|item| own.contains(&item));
    records.iter().rfind(is_own)
}

/// The last request of an earlier process, if it is completely stored.
async fn last_request(
    last: &RequestRecord,
    records: &[RequestRecord],
    items: &[Arc<Item>],
    store: &dyn Store,
) -> Option<(RequestRecord, Request)> {
    let (references, frame) = prompt::request_layout(records, last.id)?;
    let mut texts: HashMap<String, Vec<u8>> = HashMap::new();
    let made = references.iter().filter_map(|reference| match reference {
        MessageRef::Item(..) => None,
        MessageRef::Blob(blob) => Some(blob.clone()),
    });
    let bytes = store.get_blob(frame).await.ok()??;
    let frozen: RequestSnapshot = serde_json::from_slice(&bytes).ok()?;
    let parts = frozen.blob_names().map(|name| BlobId(name.into()));
    for blob in made.chain(parts).collect::<Vec<_>>() {
        let bytes = store.get_blob(blob.clone()).await.ok()??;
        texts.insert(blob.to_string(), bytes.to_vec());
    }
    let find = |blob: &BlobId| serde_json::from_slice(texts.get(&*blob.0)?).ok();
    let messages = prompt::replay_messages(&references, items, find)?;
    let marks = last.prompt.as_ref()?.breakpoints.clone();
    let request = frozen.restore(|name| texts.get(name).cloned(), messages, marks)?;
    Some((last.clone(), request))
}

/// The origin of each message. Most messages belong to the newest items, in the same order.
fn sources(messages: &[Arc<Message>], items: &[Arc<Item>]) -> Vec<MessageSource> {
    let source_in = |item: &Arc<Item>, message: &Arc<Message>| {
        let index = item.messages().iter().position(|own| Arc::ptr_eq(own, message));
        index.map(|index| MessageSource::Item(item.id, index))
    };
    let mut last = items.len();
    let mut sources: Vec<MessageSource> = Vec::with_capacity(messages.len());
    for message in messages.iter().rev() {
        let before = (0..last)
            .rev()
            .find_map(|at| Some((at, source_in(&items[at], message)?)));
        let found = before.or_else(|| (last..items.len()).find_map(|at| Some((at, source_in(&items[at], message)?))));
        sources.push(match found {
            Some((at, source)) => {
                // A `Panels` item has several messages.
                last = at + 1;
                source
            }
            None => MessageSource::Generated(Arc::clone(message)),
        });
    }
    sources.reverse();
    sources
}

/// Returns whether two requests differ only in messages and cache breakpoints.
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

/// The price of the prompt according to the model's price list.
fn prompt_price(info: &Info, usage: &Usage) -> Option<PromptCost> {
    let prices = info.prices.as_ref()?;
    let cached = prices.cost_of_cached(usage);
    let prompt = prices.cost(&Usage { output: 0, ..*usage });
    Some(PromptCost {
        cached,
        fresh: Cost {
            nano_usd: prompt.nano_usd - cached.nano_usd,
        },
    })
}
