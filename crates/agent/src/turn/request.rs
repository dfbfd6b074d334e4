//! Sends a request, receives its reply as a stream, and starts calls as soon as they are complete.

use super::ReplyContent;
use super::calls::CallQueue;
use super::previews::CallPreviews;
use super::retry;
use super::written_calls::make_written_calls;
use crate::request_ledger::OpenRequest;
use crate::session::Session;
use futures::StreamExt as _;
use model::{CallId, Chunk, ChunkPart, Info, Message, Part, PromptSize, Reply, Stop, Usage, WireTrace};
use prompt::{CallProtocol, TextCallParser};
use session::{
    Body, Error, Event, Item, ItemDelta, ItemId, ItemStart, NoticeLevel, ReplyDraft, ReplyEnd, RequestEnd, RequestId,
    Time,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The maximum number of chunks to process together.
const MAX_BATCH: usize = 256;

/// The maximum number of times that a request is sent again without a part that the server rejected.
const MAX_ADAPTATIONS: u32 = 8;

/// A reply that is being received.
pub(crate) struct StreamingReply {
    pub(crate) draft: ReplyDraft,
    pub(crate) reply: Reply,
    pub(crate) attempt: u32,
    pub(crate) at: Time,
    pub(crate) sent: Instant,
    pub(crate) first_chunk: Option<Duration>,
    /// The size of the prompt, if the model reports it.
    pub(crate) prompt_size: Option<PromptSize>,
    /// The estimated token count of the request.
    pub(crate) estimated: u64,
    /// How long assembling the request took.
    pub(crate) assembled_in: Duration,
    /// The request and its reply.
    pub(crate) trace: WireTrace,
    pub(crate) open: OpenRequest,
    pub(crate) previews: CallPreviews,
    /// New ids of calls whose ids were used before.
    pub(crate) renamed: HashMap<CallId, CallId>,
}

/// Sends the request, with retries, and receives the reply into `session.turn.reply`.
pub(super) async fn send(session: &mut Session, calls: &mut CallQueue) -> Result<ReplyEnd, model::Error> {
    let (mut attempt, mut adapted) = (1, 0);
    loop {
        let error = match stream(session, calls, attempt).await {
            Ok(stop) => return Ok(ReplyEnd::Finished(stop)),
            Err(error) => error,
        };
        if !session.turn.started.is_empty() {
            // Calls of this reply have been started, so it must not be requested again. The model continues from here.
            let text = format!("{error}; continuing with the received part of the reply");
            session.env.notice(NoticeLevel::Warning, text).await;
            return Ok(ReplyEnd::Cut {
                error: error.to_string(),
            });
        }
        discard_reply(session, &error).await;
        if matches!(error, model::Error::ToolsUnsupported { .. }) && session.turn.frame.protocol == CallProtocol::Native
        {
            session.switch_to_text_calls("does not support tool calls").await;
            continue;
        }
        if matches!(error, model::Error::PartRejected { .. }) && adapted < MAX_ADAPTATIONS {
            adapted += 1;
            session.env.notice(NoticeLevel::Warning, error.to_string()).await;
            continue;
        }
        let Some(delay) = retry::delay(&error, attempt, session.env.config.backoff) else {
            return Err(error);
        };
        attempt += 1;
        let retrying = Event::Retrying {
            error: error.to_string(),
            attempt,
            delay,
        };
        session.env.events.send(retrying).await;
        tokio::time::sleep(delay).await;
    }
}

/// One attempt at a request.
async fn stream(session: &mut Session, calls: &mut CallQueue, attempt: u32) -> Result<Stop, model::Error> {
    let (request, mut parser, id) = open(session, attempt).await;
    let kind = ItemStart::Reply;
    session.env.events.send(Event::ItemStarted { id, kind }).await;
    let mut chunks = session.turn.model.stream(request).await?.ready_chunks(MAX_BATCH);
    loop {
        tokio::select! {
            batch = chunks.next() => match batch {
                Some(batch) => receive_batch(session, calls, id, parse_text_calls(&mut parser, batch)).await?,
                None => break,
            },
            Some(call) = session.turn.running.join_next(), if !session.turn.running.is_empty() => {
                calls.finish(session, call).await;
                calls.start(session).await;
            }
            Some((call, text)) = calls.next_output() => session.send_output(call, text).await,
        }
    }
    match session.turn.reply.as_ref().and_then(|reply| reply.reply.stop.clone()) {
        Some(stop) => make_written_calls(session, calls, id, stop).await,
        None => Err(model::Error::StreamCut {
            provider: session.turn.model.info().provider.clone(),
            detail: "the stream ended before the reply was complete".into(),
        }),
    }
}

/// Assembles the request and registers it in the ledger.
async fn open(session: &mut Session, attempt: u32) -> (model::Request, Option<TextCallParser>, ItemId) {
    session.update_budget();
    let began = Instant::now();
    let Session { conversation, turn, .. } = session;
    if let Some(progress) = &mut turn.progress {
        progress.rounds += 1;
    }
    let assembled = prompt::assemble(&turn.frame, &conversation.items, &mut conversation.layout);
    let assembled_in = began.elapsed();
    session.record_prefix();
    session.restore_ledger().await;
    let Session {
        env,
        conversation,
        turn,
        accounting,
    } = session;
    let draft = ReplyDraft {
        id: ItemId::new(),
        parent: conversation.head(),
        model: turn.model.info().name(),
        request: RequestId::new(),
    };
    let (id, request, at) = (draft.id, draft.request, env.now());
    // If the process is killed before the provider reports usage, the request is recorded with this estimate.
    let usage = Usage {
        input: assembled.tokens,
        estimated: true,
        ..Usage::default()
    };
    let estimate = with_costs(&[Chunk::Usage(usage)], turn.model.info());
    env.config.store.append_draft(env.session, draft.clone(), estimate);
    drop(env.config.store.flush());
    let open = accounting.ledger.enter(
        request,
        &assembled.request,
        &conversation.items,
        turn.model.info(),
        at.0,
    );
    turn.reply = Some(StreamingReply {
        draft,
        reply: Reply::default(),
        attempt,
        at,
        sent: Instant::now(),
        first_chunk: None,
        prompt_size: None,
        estimated: assembled.tokens,
        assembled_in,
        trace: assembled.request.trace.clone(),
        open,
        previews: CallPreviews::new(env.config.previews),
        renamed: HashMap::new(),
    });
    turn.request = Some(Arc::new(assembled.request.clone()));
    // Calls in the text become ordinary calls here, so that all later code handles only one kind.
    let parser = match turn.frame.protocol {
        CallProtocol::Native => None,
        CallProtocol::Xml => Some(TextCallParser::new(Arc::clone(&turn.grammar), request.to_string())),
    };
    (assembled.request, parser, id)
}

/// Converts calls in the text to tool call chunks.
fn parse_text_calls(
    parser: &mut Option<TextCallParser>,
    batch: Vec<Result<Chunk, model::Error>>,
) -> Vec<Result<Chunk, model::Error>> {
    let Some(parser) = parser else { return batch };
    let mut parsed = Vec::with_capacity(batch.len());
    for chunk in batch {
        match chunk {
            Ok(chunk) => {
                let mut chunks = Vec::new();
                parser.push(chunk, &mut chunks);
                parsed.extend(chunks.into_iter().map(Ok));
            }
            Err(error) => parsed.push(Err(error)),
        }
    }
    parsed
}

/// Processes a batch of chunks. They are stored in the draft before they are sent to the front end, so that nothing is
/// shown that a crash could lose; then complete calls are started.
pub(super) async fn receive_batch(
    session: &mut Session,
    calls: &mut CallQueue,
    id: ItemId,
    batch: Vec<Result<Chunk, model::Error>>,
) -> Result<(), model::Error> {
    let ChunkBatch {
        prompt_size,
        mut chunks,
        notices,
        error,
    } = sort_batch(batch);
    if let Some(reply) = &mut session.turn.reply {
        reply.prompt_size = prompt_size.or(reply.prompt_size.take());
        rename_calls(&mut chunks, &mut reply.renamed, &session.conversation.items);
    }
    let deltas = collect_chunks(session, calls, &chunks);
    for text in notices {
        session.env.notice(NoticeLevel::Warning, text).await;
    }
    for delta in deltas {
        session.env.events.send(Event::ItemDelta { id, delta }).await;
    }
    calls.start(session).await;
    error.map_or(Ok(()), Err)
}

/// A batch of chunks, sorted by kind.
#[derive(Default)]
struct ChunkBatch {
    prompt_size: Option<PromptSize>,
    /// The content of the reply.
    chunks: Vec<Chunk>,
    /// Notices for the user.
    notices: Vec<String>,
    /// The error that ended the stream.
    error: Option<model::Error>,
}

fn sort_batch(batch: Vec<Result<Chunk, model::Error>>) -> ChunkBatch {
    let mut sorted = ChunkBatch::default();
    for chunk in batch {
        match chunk {
            Ok(Chunk::PromptSize(size)) => sorted.prompt_size = Some(size),
            Ok(Chunk::Notice(text)) => sorted.notices.push(text),
            Ok(chunk) => merge(&mut sorted.chunks, chunk),
            Err(error) => {
                sorted.error = Some(error);
                break;
            }
        }
    }
    sorted
}

/// Gives calls whose ids were used before new ids: some servers count from zero in each reply, and front ends identify
/// calls by their ids.
fn rename_calls(chunks: &mut [Chunk], renamed: &mut HashMap<CallId, CallId>, items: &[Arc<Item>]) {
    for chunk in chunks {
        match chunk {
            Chunk::ToolStart { id, .. } => {
                let used = |id: &CallId| items.iter().any(|item| item.tool_calls().any(|(own, _)| own == id));
                if used(id) {
                    let calls: usize = items.iter().map(|item| item.tool_calls().count()).sum();
                    // `functions.read_file:0` stays in its vendor's format.
                    let (name, separator) = match id.as_str().rsplit_once(':') {
                        Some((name, number)) if number.chars().all(|digit| digit.is_ascii_digit()) => (name, ':'),
                        Some(_) | None => (id.as_str(), '_'),
                    };
                    let free = (calls..).map(|n| CallId::from(format!("{name}{separator}{n}")));
                    let is_free = |new: &CallId| !used(new) && !renamed.values().any(|other| other == new);
                    if let Some(new) = free.into_iter().find(is_free) {
                        renamed.insert(std::mem::replace(id, new.clone()), new);
                    }
                }
            }
            Chunk::ToolInput { id, .. }
            | Chunk::ToolEnd { id }
            | Chunk::Replay {
                of: ChunkPart::Call(id),
                ..
            } => {
                if let Some(new) = renamed.get(id) {
                    *id = new.clone();
                }
            }
            Chunk::Text(_)
            | Chunk::Thinking(_)
            | Chunk::Replay { .. }
            | Chunk::Usage(_)
            | Chunk::Cost(_)
            | Chunk::Notice(_)
            | Chunk::PromptSize(_)
            | Chunk::Stop(_) => {}
        }
    }
}

/// Adds chunks to the reply and its draft, queues complete calls, and returns the deltas for the front end.
fn collect_chunks(session: &mut Session, calls: &mut CallQueue, chunks: &[Chunk]) -> Vec<ItemDelta> {
    let mut deltas = Vec::new();
    if chunks.is_empty() {
        return deltas;
    }
    let Session {
        env,
        conversation,
        turn,
        ..
    } = session;
    conversation.title.request(env);
    let Some(reply) = &mut turn.reply else { return deltas };
    reply.first_chunk.get_or_insert_with(|| reply.sent.elapsed());
    let has_cost = reply.reply.cost.is_some() || chunks.iter().any(|chunk| matches!(chunk, Chunk::Cost(_)));
    let drafted = match has_cost {
        true => chunks.to_vec(),
        false => with_costs(chunks, turn.model.info()),
    };
    env.config.store.append_draft(env.session, reply.draft.clone(), drafted);
    for chunk in chunks {
        deltas.extend(delta(chunk));
        deltas.extend(reply.previews.observe(chunk, &env.config.tools));
        reply.reply.push(chunk.clone());
        if let Chunk::ToolEnd { id } = chunk
            && let Some(call) = reply.reply.finished_call(id)
        {
            calls.push(call);
        }
    }
    deltas
}

/// Adds the cost after each usage chunk: crash repair in the store does not know the prices.
fn with_costs(chunks: &[Chunk], info: &Info) -> Vec<Chunk> {
    let mut priced = Vec::with_capacity(chunks.len() + 1);
    for chunk in chunks {
        priced.push(chunk.clone());
        if let Chunk::Usage(usage) = chunk {
            priced.extend(info.cost(usage).map(Chunk::Cost));
        }
    }
    priced
}

/// Adds a chunk, merged with the previous one if both are deltas of the same kind.
fn merge(chunks: &mut Vec<Chunk>, chunk: Chunk) {
    match (chunks.last_mut(), chunk) {
        (Some(Chunk::Text(text)), Chunk::Text(more)) | (Some(Chunk::Thinking(text)), Chunk::Thinking(more)) => {
            text.push_str(&more);
        }
        (Some(Chunk::ToolInput { id, delta }), Chunk::ToolInput { id: same, delta: more }) if *id == same => {
            delta.push_str(&more);
        }
        (_, chunk) => chunks.push(chunk),
    }
}

fn delta(chunk: &Chunk) -> Option<ItemDelta> {
    match chunk {
        Chunk::Text(text) => Some(ItemDelta::Text(text.clone())),
        Chunk::Thinking(text) => Some(ItemDelta::Thinking(text.clone())),
        Chunk::ToolStart { id, name } => Some(ItemDelta::Call {
            call: id.clone(),
            tool: name.clone(),
        }),
        Chunk::ToolInput { id, delta } => Some(ItemDelta::Input {
            call: id.clone(),
            json: delta.clone(),
        }),
        Chunk::Replay { .. }
        | Chunk::ToolEnd { .. }
        | Chunk::Usage(_)
        | Chunk::Cost(_)
        | Chunk::Notice(_)
        | Chunk::PromptSize(_)
        | Chunk::Stop(_) => None,
    }
}

/// Appends the received reply and records its request.
pub(crate) async fn append_reply(session: &mut Session, end: ReplyEnd) -> Result<ReplyContent, Error> {
    let Some(reply) = session.turn.reply.take() else {
        return Ok(ReplyContent::Empty);
    };
    let ReplyDraft { id, model, request, .. } = reply.draft.clone();
    session.record_reply(&reply, RequestEnd::from(&end));
    let message = Arc::new(reply.reply.into_message());
    let content = reply_content(&message);
    let env = &session.env;
    let stored = if content == ReplyContent::Empty && end == ReplyEnd::Interrupted {
        env.config.store.discard_draft(env.session, id);
        env.events.queue(Event::ItemDropped { id });
        Ok(())
    } else {
        let body = Body::Reply {
            message,
            model,
            request,
            end,
        };
        session.conversation.append(env, id, body).await
    };
    // The usage counts even if the reply cannot be stored.
    session.env.events.send_queued().await;
    stored.map(|()| content)
}

/// Discards a partial reply whose request failed; its usage is recorded.
async fn discard_reply(session: &mut Session, error: &model::Error) {
    if let Some(reply) = session.turn.reply.take() {
        session
            .env
            .config
            .store
            .discard_draft(session.env.session, reply.draft.id);
        let error = error.to_string();
        session.record_reply(&reply, RequestEnd::Failed { error });
        session.env.events.queue(Event::ItemDropped { id: reply.draft.id });
    }
    session.env.events.send_queued().await;
}

fn reply_content(message: &Message) -> ReplyContent {
    let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
    let is_text = |part: &Part| matches!(part, Part::Text { text, .. } if !text.trim().is_empty());
    let is_malformed = |part: &Part| matches!(part, Part::ToolCall { malformed: Some(_), .. });
    if message.parts.iter().any(is_malformed) {
        ReplyContent::MalformedCalls
    } else if message.parts.iter().any(is_call) {
        ReplyContent::Calls
    } else if message.parts.iter().any(is_text) {
        ReplyContent::Text
    } else {
        ReplyContent::Empty
    }
}
