//! Builds the requests of a stored session again, unchanged or with a change, without a model.
//!
//! Each request is restored from its record and built from the log by the same code as in a running session; both must have
//! the bytes that were sent.

use crate::failure::{Failure, Result};
use futures::StreamExt as _;
use model::{Cost, Message, Part, RecordedStream, Reply, Request, SentBody, ToolSpec, Usage};
use prompt::tokens::{TokenizerFamily, tool_tokens};
use prompt::{
    LayoutCache, Ledger, RebuiltFrame, RequestInputs, RequestReport, RequestSnapshot, RulesFile, TemplateFile,
    TokenBudget, differing_section,
};
use providers::{BodyRenderer, BodySettings, body_digest};
use session::{BlobId, Body, Change, FileVersion, Item, ItemId, MessageRef, RequestRecord, SessionId, Store};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::SqliteStore;

/// The purpose of requests in turns.
const TURN: &str = "turn";

/// A change to the requests of a session.
#[derive(Debug, Clone, Default)]
pub struct ReplayChange {
    /// Templates by name.
    pub templates: Vec<(String, TemplateFile)>,
    /// Additional rules.
    pub rules: Vec<RulesFile>,
    /// Tools that are not offered.
    pub without: Vec<String>,
    /// Another model.
    pub model: Option<BodySettings>,
}

impl ReplayChange {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.templates.is_empty() && self.rules.is_empty() && self.without.is_empty() && self.model.is_none()
    }
}

/// A request that was built again.
#[derive(Debug)]
pub struct ReplayedRequest {
    /// The session: the replayed one, or a subtask.
    pub session: SessionId,
    /// Its record.
    pub record: RequestRecord,
    /// The body as restored from the record.
    pub restored: Option<SentBody>,
    /// Whether it has the bytes that were sent.
    pub outcome: ReplayOutcome,
    /// Its size and price.
    pub recorded: Option<RequestEstimate>,
    /// Its size and price with the change.
    pub changed: Option<ChangedRequest>,
    /// Whether the recorded bytes of the reply decode to the stored reply; `None` if they were not recorded.
    pub stream: Option<bool>,
}

/// Whether a request has the bytes that were sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// It has.
    Identical,
    /// It differs.
    Differs {
        /// The section of the prompt.
        section: String,
        /// The first different byte of the body, if both bodies are known.
        byte: Option<usize>,
    },
    /// The record is not sufficient.
    Unverified {
        /// The missing data.
        reason: String,
    },
}

/// The size and the price of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestEstimate {
    /// Estimated prompt tokens.
    pub tokens: u64,
    /// The price, with the expected cache hits, if prices are known.
    pub cost: Option<Cost>,
}

/// A request with the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedRequest {
    /// Its size and price.
    pub estimate: RequestEstimate,
    /// The first section that differs; `None` if the change does not affect it.
    pub section: Option<String>,
    /// The first different byte of the body.
    pub byte: Option<usize>,
}

/// The result of a replay.
#[derive(Debug, Default)]
pub struct SessionReplay {
    /// The requests, oldest first.
    pub requests: Vec<ReplayedRequest>,
    /// The number of items that changed files.
    pub steps: usize,
    /// Files whose version before a step is not the one after the step before.
    pub conflicts: Vec<(ItemId, PathBuf)>,
}

/// Builds the requests of a session and its subtasks again, from an item on.
pub async fn replay(
    store: &SqliteStore,
    session: SessionId,
    from: Option<ItemId>,
    change: &ReplayChange,
) -> Result<SessionReplay> {
    let mut replayed = SessionReplay::default();
    let mut open = vec![session];
    while let Some(session) = open.pop() {
        let children = store.children(session).await?;
        let mut below = HashSet::new();
        for child in &children {
            below.extend(
                store
                    .request_records(child.id)
                    .await?
                    .into_iter()
                    .map(|record| record.id),
            );
        }
        open.extend(children.iter().map(|child| child.id));
        let records = store.request_records(session).await?;
        let own = records
            .into_iter()
            .filter(|record| !below.contains(&record.id))
            .collect();
        let items = store.load(session).await?.items;
        check_trees(&items, &mut replayed);
        let mut replay = SessionReplayer {
            store,
            session,
            records: own,
            items,
            messages: HashMap::new(),
            frames: HashMap::new(),
            inputs: HashMap::new(),
            renderers: HashMap::new(),
            layout: LayoutCache::default(),
            changed_layout: LayoutCache::default(),
            ledger: Ledger::default(),
            changed_ledger: Ledger::default(),
        };
        for index in 0..replay.records.len() {
            let request = replay.request(index, change).await?;
            replayed.requests.push(request);
        }
    }
    if let Some(from) = from {
        replayed
            .requests
            .retain(|request| request.record.facts.head.is_none_or(|head| head >= from));
    }
    replayed
        .requests
        .sort_by_key(|request| (request.record.at, request.record.id));
    Ok(replayed)
}

/// Checks that each step changed the files that the steps before had left.
fn check_trees(items: &[Arc<Item>], replayed: &mut SessionReplay) {
    let mut tree: HashMap<PathBuf, Option<FileVersion>> = HashMap::new();
    for item in items {
        let changes: Vec<&Change> = item.changes().iter().collect();
        replayed.steps += usize::from(!changes.is_empty());
        for change in changes {
            let known = tree.insert(change.path.clone(), change.after.clone());
            let content = |version: &Option<FileVersion>| version.as_ref().map(|version| version.content.clone());
            if known.is_some_and(|known| content(&known) != content(&change.before)) {
                replayed.conflicts.push((item.id, change.path.clone()));
            }
        }
    }
}

/// Replays one session.
struct SessionReplayer<'a> {
    store: &'a SqliteStore,
    session: SessionId,
    records: Vec<RequestRecord>,
    items: Vec<Arc<Item>>,
    /// What records name by blob. Most requests of a session share it, and caches recognise it by address.
    messages: HashMap<BlobId, Arc<Message>>,
    frames: HashMap<BlobId, Request>,
    inputs: HashMap<BlobId, Arc<(RequestInputs, BodySettings)>>,
    renderers: HashMap<BlobId, BodyRenderers>,
    layout: LayoutCache,
    changed_layout: LayoutCache,
    ledger: Ledger,
    changed_ledger: Ledger,
}

/// Renders the requests with some inputs: as recorded and as built again.
struct BodyRenderers {
    recorded: BodyRenderer,
    rebuilt: BodyRenderer,
    /// The frames built again, by the frame of the record.
    frames: HashMap<BlobId, RebuiltFrame>,
}

impl SessionReplayer<'_> {
    async fn request(&mut self, index: usize, change: &ReplayChange) -> Result<ReplayedRequest> {
        let record = self.records[index].clone();
        let mut replayed = ReplayedRequest {
            session: self.session,
            restored: None,
            outcome: ReplayOutcome::Unverified {
                reason: "it was not recorded completely".into(),
            },
            recorded: None,
            changed: None,
            stream: None,
            record: record.clone(),
        };
        let items = self.items_at(&record).await?;
        let Some((recorded, frame)) = self.recorded(&record, &items).await? else {
            return Ok(replayed);
        };
        let Some((blob, known)) = self.inputs(&record).await? else {
            return Ok(replayed);
        };
        let (inputs, settings) = &*known;
        let renderers = self.renderers.entry(blob).or_insert_with(|| BodyRenderers {
            recorded: settings.renderer(),
            rebuilt: settings.renderer(),
            frames: HashMap::new(),
        });
        let body = renderers.recorded.render(&recorded);
        let digest = body_digest([&body[..]]);
        let is_sent = record.facts.body.map(|sent| sent == digest);
        replayed.restored = Some(digest);
        replayed.outcome = match is_sent {
            None => ReplayOutcome::Unverified {
                reason: "it was not sent".into(),
            },
            Some(false) => ReplayOutcome::Differs {
                section: "body".into(),
                byte: None,
            },
            Some(true) => ReplayOutcome::Identical,
        };
        if record.purpose != TURN {
            replayed.stream = self.decoded(&record, settings).await?;
            return Ok(replayed);
        }
        let rebuilt = renderers
            .frames
            .entry(frame)
            .or_insert_with(|| inputs.rebuild(&recorded));
        let assembled = prompt::assemble(&rebuilt.frame, &items, &mut self.layout);
        let rebuilt_body = renderers.rebuilt.render(&assembled.request);
        if rebuilt_body != body {
            let section = differing_section(&recorded, &assembled.request, &rebuilt.system);
            replayed.outcome = ReplayOutcome::Differs {
                section: section.unwrap_or_else(|| "body".into()),
                byte: Some(first_difference(&body, &rebuilt_body)),
            };
        }
        let price = |ledger: &mut Ledger, request: &Request, info: &model::Info, tokens: u64| {
            let entry = ledger.begin_request(request, info, record.at.0);
            let cached = entry.cached.min(tokens);
            let usage = Usage {
                input: tokens - cached,
                cache_read: cached,
                output: record.usage.output,
                ..Usage::default()
            };
            let report = RequestReport {
                usage: &usage,
                sent: None,
                at: record.at.0 + record.total,
            };
            ledger.finish_request(&entry, info, &report);
            RequestEstimate {
                tokens,
                cost: info.cost(&usage),
            }
        };
        let estimate = price(&mut self.ledger, &assembled.request, &inputs.model, assembled.tokens);
        replayed.recorded = Some(estimate);
        if !change.is_empty() {
            let (inputs, settings) = changed_inputs(inputs.clone(), settings.clone(), &recorded, change);
            let frame = inputs.rebuild(&recorded);
            let changed = prompt::assemble(&frame.frame, &items, &mut self.changed_layout);
            let changed_body = settings.renderer().render(&changed.request);
            let is_same = changed_body == rebuilt_body;
            let section = differing_section(&assembled.request, &changed.request, &frame.system);
            replayed.changed = Some(ChangedRequest {
                estimate: price(
                    &mut self.changed_ledger,
                    &changed.request,
                    &inputs.model,
                    changed.tokens,
                ),
                section: (!is_same).then(|| section.unwrap_or_else(|| "model".into())),
                byte: (!is_same).then(|| first_difference(&rebuilt_body, &changed_body)),
            });
        }
        replayed.stream = self.decoded(&record, settings).await?;
        Ok(replayed)
    }

    /// The items at the time of a request.
    async fn items_at(&self, record: &RequestRecord) -> Result<Vec<Arc<Item>>> {
        let Some(head) = record.facts.head else {
            return Ok(self.items.clone());
        };
        Ok(match self.items.iter().position(|item| item.id == head) {
            Some(index) => self.items[..=index].to_vec(),
            // On another branch.
            None => self.store.path_to(self.session, head).await?,
        })
    }

    /// The request, restored from its record, and the name of its frame; `None` if a part is missing.
    async fn recorded(&mut self, record: &RequestRecord, items: &[Arc<Item>]) -> Result<Option<(Request, BlobId)>> {
        let Some((references, frame)) = prompt::request_layout(&self.records, record.id) else {
            return Ok(None);
        };
        for reference in &references {
            if let MessageRef::Blob(blob) = reference
                && !self.messages.contains_key(blob)
            {
                let Some(message) = self.json(blob).await? else {
                    return Ok(None);
                };
                self.messages.insert(blob.clone(), message);
            }
        }
        let made = |blob: &BlobId| self.messages.get(blob).cloned();
        let Some(messages) = prompt::replay_messages(&references, items, made) else {
            return Ok(None);
        };
        if !self.frames.contains_key(&frame) {
            let Some(request) = self.frame(&frame).await? else {
                return Ok(None);
            };
            self.frames.insert(frame.clone(), request);
        }
        let marks = record.prompt.as_ref().map(|prompt| prompt.breakpoints.clone());
        let request = self.frames.get(&frame).map(|request| Request {
            messages: messages.into(),
            breakpoints: marks.unwrap_or_default(),
            ..request.clone()
        });
        Ok(request.map(|request| (request, frame)))
    }

    /// A request without messages.
    async fn frame(&self, frame: &BlobId) -> Result<Option<Request>> {
        let Some(snapshot) = self.json::<RequestSnapshot>(frame).await? else {
            return Ok(None);
        };
        let mut texts: HashMap<&str, Vec<u8>> = HashMap::new();
        for name in snapshot.blob_names() {
            let bytes = self.store.get_blob(BlobId(name.into())).await?;
            texts.extend(bytes.map(|bytes| (name, bytes.to_vec())));
        }
        Ok(snapshot.restore(|name| texts.get(name).cloned(), Vec::new(), Vec::new()))
    }

    /// What the request was built from, and its name.
    async fn inputs(&mut self, record: &RequestRecord) -> Result<Option<(BlobId, Arc<(RequestInputs, BodySettings)>)>> {
        let Some(blob) = record.facts.inputs.clone() else {
            return Ok(None);
        };
        if !self.inputs.contains_key(&blob)
            && let Some(inputs) = self.json::<RequestInputs>(&blob).await?
            && let Some(settings) = inputs.wire.as_deref().and_then(|json| serde_json::from_str(json).ok())
        {
            self.inputs.insert(blob.clone(), Arc::new((inputs, settings)));
        }
        Ok(self.inputs.get(&blob).map(|known| (blob, Arc::clone(known))))
    }

    /// Whether the recorded bytes of the reply decode to the stored reply.
    async fn decoded(&self, record: &RequestRecord, settings: &BodySettings) -> Result<Option<bool>> {
        let Some(blob) = &record.facts.stream else {
            return Ok(None);
        };
        let Some(stream) = self.json::<RecordedStream>(blob).await? else {
            return Ok(None);
        };
        let reply = decode(settings, stream, StreamSpeed::Fast, |_| {}).await;
        let stored = self.items.iter().find(|item| Some(item.id) == record.item);
        let stored = stored.and_then(|item| match &item.body {
            Body::Reply { message, .. } => Some(message),
            _ => None,
        });
        Ok(stored.map(|message| content(&reply) == content(message)))
    }

    async fn json<T: serde::de::DeserializeOwned>(&self, blob: &BlobId) -> Result<Option<T>> {
        let bytes = self.store.get_blob(blob.clone()).await?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

/// How fast a recorded stream is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamSpeed {
    /// Without delays.
    Fast,
    /// With the recorded delays.
    Original,
}

/// Decodes a recorded reply with the decoder of its wire; `show` gets its text as it arrives.
pub async fn decode(
    settings: &BodySettings,
    stream: RecordedStream,
    speed: StreamSpeed,
    mut show: impl FnMut(&str),
) -> Message {
    let start = tokio::time::Instant::now();
    let pieces = futures::stream::iter(stream.pieces).then(move |(at, piece)| async move {
        if speed == StreamSpeed::Original {
            tokio::time::sleep_until(start + Duration::from_millis(at)).await;
        }
        piece.bytes()
    });
    let mut chunks = settings.decode(pieces);
    let mut reply = Reply::default();
    // A recorded failure ends the reply as it did then.
    while let Some(Ok(chunk)) = chunks.next().await {
        if let model::Chunk::Text(text) = &chunk {
            show(text);
        }
        reply.push(chunk);
    }
    reply.into_message()
}

/// The recorded stream of the reply of a request, and its settings.
pub async fn recorded_stream(
    store: &SqliteStore,
    record: &RequestRecord,
) -> Result<Option<(BodySettings, RecordedStream)>> {
    let (Some(stream), Some(inputs)) = (&record.facts.stream, &record.facts.inputs) else {
        return Ok(None);
    };
    let (stream, inputs) = (
        store.get_blob(stream.clone()).await?,
        store.get_blob(inputs.clone()).await?,
    );
    let Some((stream, inputs)) = stream.zip(inputs) else {
        return Ok(None);
    };
    let damaged = |_| Failure::failed("the recording is damaged");
    let inputs: RequestInputs = serde_json::from_slice(&inputs).map_err(damaged)?;
    let Some(wire) = inputs.wire else { return Ok(None) };
    let settings = serde_json::from_str(&wire).map_err(damaged)?;
    Ok(Some((settings, serde_json::from_slice(&stream).map_err(damaged)?)))
}

/// Text, and names and inputs of calls: ids may have been changed after decoding.
fn content(message: &Message) -> Vec<String> {
    let parts = message.parts.iter().map(|part| match part {
        Part::Text { text, .. } | Part::Thinking { text, .. } => text.clone(),
        Part::ToolCall { name, input, .. } => format!("{name} {input}"),
        Part::ToolResult { .. } | Part::Media(_) => String::new(),
    });
    parts.collect()
}

fn changed_inputs(
    mut inputs: RequestInputs,
    settings: BodySettings,
    recorded: &Request,
    change: &ReplayChange,
) -> (RequestInputs, BodySettings) {
    let tools: Vec<ToolSpec> = match inputs.tools.is_empty() {
        true => recorded.tools.to_vec(),
        false => inputs.tools.clone(),
    };
    let budget = |model: &model::Info, tools: &[ToolSpec]| {
        let tokens = tool_tokens(TokenizerFamily::of(model), tools);
        TokenBudget::of(model, None, tokens).map(|budget| budget.tokens)
    };
    let is_default = inputs.budget == budget(&inputs.model, &tools);
    inputs
        .source
        .overrides
        .templates
        .extend(change.templates.iter().cloned());
    inputs.source.environment.rules.extend(change.rules.iter().cloned());
    let is_kept = |name: &str| !change.without.iter().any(|without| without == name);
    inputs.deferred.retain(|name| is_kept(name));
    inputs.tools = tools.into_iter().filter(|tool| is_kept(&tool.name)).collect();
    let settings = change.model.clone().unwrap_or(settings);
    if let Some(model) = &change.model {
        inputs.model = model.info.clone();
    }
    if is_default || change.model.is_some() {
        inputs.budget = budget(&inputs.model, &inputs.tools);
    }
    (inputs, settings)
}

fn first_difference(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}
