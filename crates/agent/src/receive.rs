//! One step of a turn: a request, its reply as it streams, and the results of the calls in it.

use crate::calls::{Finished, Queue};
use crate::inbox::Inbox;
use crate::preview::Watching;
use crate::repeats::{Repeats, Verdict};
use crate::retry;
use crate::state::{Live, State};
use futures::StreamExt as _;
use model::{Block, CallId, Chunk, Info, Message, Part, Reply, Role, Sent, Stop};
use session::{Body, Delta, Draft, End, Event, ItemId, ItemKind, Level, RequestId};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tool::{Effect, Next};

/// What came of a step.
pub(crate) struct Step {
    pub(crate) end: End,
    pub(crate) said: Said,
    /// A tool ends the turn.
    pub(crate) ends: bool,
    /// A call that was made over and over.
    pub(crate) looped: Option<(String, u32)>,
}

/// What a reply held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Nothing,
    Words,
    Calls,
    /// Calls, one of which is not whole.
    BrokenCalls,
}

/// Why a step could not be done.
pub(crate) enum Failure {
    Model(model::Error),
    Store(session::Error),
}

impl From<session::Error> for Failure {
    fn from(error: session::Error) -> Self {
        Failure::Store(error)
    }
}

/// How many pieces of live output may wait; more are dropped.
const PROGRESS: usize = 64;
/// As many chunks as have arrived together are handled together.
const BATCH: usize = 256;

/// Sends a request, keeps the reply, runs its calls and keeps their results.
pub(crate) async fn step(state: &mut State, inbox: &Arc<Inbox>, repeats: &mut Repeats) -> Result<Step, Failure> {
    let (sender, mut progress) = mpsc::channel(PROGRESS);
    let mut calls = Queue::new(sender);
    let end = request(state, inbox, &mut calls, &mut progress).await?;
    let said = keep_reply(state, end.clone()).await?;
    let mut step = Step {
        end,
        said,
        ends: false,
        looped: None,
    };
    loop {
        while let Some(finished) = state.unkept.pop_front() {
            keep_result(state, finished, repeats, &mut step).await?;
        }
        calls.start(state, inbox).await;
        if state.running.is_empty() && calls.is_empty() {
            return Ok(step);
        }
        tokio::select! {
            Some(served) = state.running.join_next() => {
                show_rest(state, &mut progress).await;
                serve(state, served);
            }
            Some((call, text)) = progress.recv() => show(state, call, text).await,
        }
    }
}

/// Sends the request, again where that makes sense, until a reply has arrived as far as it will.
async fn request(
    state: &mut State,
    inbox: &Arc<Inbox>,
    calls: &mut Queue,
    progress: &mut mpsc::Receiver<(CallId, String)>,
) -> Result<End, Failure> {
    let mut attempt = 1;
    loop {
        let error = match stream(state, inbox, calls, progress, attempt).await {
            Ok(stop) => return Ok(End::Finished(stop)),
            Err(error) => error,
        };
        if !state.started.is_empty() {
            // Tools have acted on this reply: it stands as far as it came, and the model goes on from there.
            state
                .notice(Level::Warning, format!("{error}; going on with what had arrived"))
                .await;
            return Ok(End::Cut {
                error: error.to_string(),
            });
        }
        state.drop_live(&error).await;
        let Some(delay) = retry::delay(&error, attempt, state.backoff) else {
            return Err(Failure::Model(error));
        };
        attempt += 1;
        state
            .tell(Event::Retrying {
                error: error.to_string(),
                attempt,
                delay,
            })
            .await;
        tokio::time::sleep(delay).await;
    }
}

/// One attempt at a request.
async fn stream(
    state: &mut State,
    inbox: &Arc<Inbox>,
    calls: &mut Queue,
    progress: &mut mpsc::Receiver<(CallId, String)>,
    attempt: u32,
) -> Result<Stop, model::Error> {
    state.measure();
    let assembled = prompt::assemble(&state.frame, &state.items, &mut state.laid_out);
    state.asked();
    let model = state.model.info().name();
    let draft = Draft {
        id: ItemId::new(),
        parent: state.head(),
        model,
        request: RequestId::new(),
    };
    let id = draft.id;
    let at = (state.clock)();
    state.recall_books().await;
    let open = state.books.enter(
        draft.request,
        &assembled.request,
        &state.items,
        state.model.info(),
        at.0,
    );
    // Calls in the text are found here, so that everything after this sees them as any other.
    let mut reader = state
        .grammar
        .as_ref()
        .map(|grammar| prompt::Reader::new(Arc::clone(grammar), draft.request.to_string()));
    state.live = Some(Live {
        draft,
        reply: Reply::default(),
        attempt,
        at,
        open,
        sent: Instant::now(),
        first_chunk: None,
        measured: None,
        estimated: assembled.tokens,
        watching: Watching::new(state.previews),
    });
    state
        .tell(Event::ItemStarted {
            id,
            kind: ItemKind::Reply,
        })
        .await;
    let mut chunks = state.model.stream(assembled.request).await?.ready_chunks(BATCH);
    loop {
        tokio::select! {
            batch = chunks.next() => match batch {
                Some(batch) => take(state, inbox, calls, id, read(&mut reader, batch)).await?,
                None => break,
            },
            Some(served) = state.running.join_next(), if !state.running.is_empty() => {
                show_rest(state, progress).await;
                serve(state, served);
                calls.start(state, inbox).await;
            }
            Some((call, text)) = progress.recv() => show(state, call, text).await,
        }
    }
    match state.live.as_ref().and_then(|live| live.reply.stop.clone()) {
        Some(stop) => Ok(stop),
        None => Err(model::Error::Cut {
            provider: state.model.info().provider.clone(),
            detail: "the stream ended before the reply did".into(),
        }),
    }
}

/// The chunks as they are meant.
fn read(
    reader: &mut Option<prompt::Reader>,
    batch: Vec<Result<Chunk, model::Error>>,
) -> Vec<Result<Chunk, model::Error>> {
    let Some(reader) = reader else { return batch };
    let mut meant = Vec::with_capacity(batch.len());
    for chunk in batch {
        match chunk {
            Ok(chunk) => {
                let mut chunks = Vec::new();
                reader.push(chunk, &mut chunks);
                meant.extend(chunks.into_iter().map(Ok));
            }
            Err(error) => meant.push(Err(error)),
        }
    }
    meant
}

/// Takes in the chunks that have arrived together: gathered and drafted first, so that nothing is shown that could be lost,
/// then told, and calls that are complete started.
async fn take(
    state: &mut State,
    inbox: &Arc<Inbox>,
    calls: &mut Queue,
    id: ItemId,
    batch: Vec<Result<Chunk, model::Error>>,
) -> Result<(), model::Error> {
    let Arrived {
        sent,
        good,
        notices,
        failed,
    } = sort(batch);
    if let Some(live) = &mut state.live {
        live.measured = sent.or(live.measured.take());
    }
    let deltas = gather(state, calls, &good);
    for text in notices {
        state.notice(Level::Warning, text).await;
    }
    for delta in deltas {
        state.tell(Event::ItemDelta { id, delta }).await;
    }
    calls.start(state, inbox).await;
    match failed {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// What has arrived together.
#[derive(Default)]
struct Arrived {
    /// How long the prompt was.
    sent: Option<Sent>,
    good: Vec<Chunk>,
    /// What the person should know.
    notices: Vec<String>,
    /// What broke the stream.
    failed: Option<model::Error>,
}

fn sort(batch: Vec<Result<Chunk, model::Error>>) -> Arrived {
    let mut arrived = Arrived::default();
    for chunk in batch {
        match chunk {
            Ok(Chunk::Sent(sent)) => arrived.sent = Some(sent),
            Ok(Chunk::Notice(text)) => arrived.notices.push(text),
            Ok(chunk) => merge(&mut arrived.good, chunk),
            Err(error) => {
                arrived.failed = Some(error);
                break;
            }
        }
    }
    arrived
}

/// Adds chunks to the reply and its draft, queues the calls that are complete, and says what there is to tell.
fn gather(state: &mut State, calls: &mut Queue, chunks: &[Chunk]) -> Vec<Delta> {
    let mut deltas = Vec::new();
    if chunks.is_empty() {
        return deltas;
    }
    state.ask_title();
    let Some(live) = &mut state.live else { return deltas };
    live.first_chunk.get_or_insert_with(|| live.sent.elapsed());
    let said = live.reply.cost.is_some() || chunks.iter().any(|chunk| matches!(chunk, Chunk::Cost(_)));
    let drafted = match said {
        true => chunks.to_vec(),
        false => priced(chunks, state.model.info()),
    };
    state.store.draft(state.session, live.draft.clone(), drafted);
    for chunk in chunks {
        deltas.extend(delta(chunk));
        deltas.extend(live.watching.see(chunk, &state.tools));
        live.reply.push(chunk.clone());
        if let Chunk::ToolEnd { id } = chunk
            && let Some(call) = live.reply.finished_call(id)
        {
            calls.push(call);
        }
    }
    deltas
}

/// The same chunks, with what they cost so far: whoever mends a session after a crash does not know the prices.
fn priced(chunks: &[Chunk], info: &Info) -> Vec<Chunk> {
    let mut priced = Vec::with_capacity(chunks.len() + 1);
    for chunk in chunks {
        priced.push(chunk.clone());
        if let Chunk::Usage(usage) = chunk {
            priced.extend(info.cost(usage).map(Chunk::Cost));
        }
    }
    priced
}

/// Adds a chunk, joined to the one before it where both are deltas of the same kind.
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

fn delta(chunk: &Chunk) -> Option<Delta> {
    match chunk {
        Chunk::Text(text) => Some(Delta::Text(text.clone())),
        Chunk::Thinking(text) => Some(Delta::Thinking(text.clone())),
        Chunk::ToolStart { id, name } => Some(Delta::Call {
            call: id.clone(),
            tool: name.clone(),
        }),
        Chunk::ToolInput { id, delta } => Some(Delta::Input {
            call: id.clone(),
            json: delta.clone(),
        }),
        Chunk::Replay { .. }
        | Chunk::ToolEnd { .. }
        | Chunk::Usage(_)
        | Chunk::Cost(_)
        | Chunk::Notice(_)
        | Chunk::Sent(_)
        | Chunk::Stop(_) => None,
    }
}

/// Makes an item of the reply that has arrived, and accounts for its request.
pub(crate) async fn keep_reply(state: &mut State, end: End) -> Result<Said, session::Error> {
    let Some(live) = state.live.take() else {
        return Ok(Said::Nothing);
    };
    let outcome = match &end {
        End::Finished(stop) => format!("{stop:?}"),
        End::Interrupted => "interrupted".into(),
        End::Cut { error } => error.clone(),
    };
    let Draft { id, model, request, .. } = live.draft.clone();
    state.account(&live, outcome);
    let message = Arc::new(live.reply.into_message());
    let said = said(&message);
    let kept = if said == Said::Nothing && end == End::Interrupted {
        state.store.discard(state.session, id);
        state.untold.push_back(Event::ItemDropped { id });
        Ok(())
    } else {
        let body = Body::Reply {
            message,
            model,
            request,
            end,
        };
        state.append(id, body).await
    };
    // A reply that cannot be kept has been paid for as well.
    state.tell_untold().await;
    kept.map(|()| said)
}

fn said(message: &Message) -> Said {
    let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
    let is_word = |part: &Part| matches!(part, Part::Text { text, .. } if !text.trim().is_empty());
    let is_broken = |part: &Part| matches!(part, Part::ToolCall { malformed: Some(_), .. });
    if message.parts.iter().any(is_broken) {
        Said::BrokenCalls
    } else if message.parts.iter().any(is_call) {
        Said::Calls
    } else if message.parts.iter().any(is_word) {
        Said::Words
    } else {
        Said::Nothing
    }
}

/// Takes in a tool that has finished. One that was stopped has no result: whoever stopped it says so.
pub(crate) fn serve(state: &mut State, served: Result<Finished, tokio::task::JoinError>) {
    if let Ok(finished) = served {
        state.unkept.push_back(finished);
    }
}

/// What a tool printed before it finished is shown before it is said to have.
async fn show_rest(state: &State, progress: &mut mpsc::Receiver<(CallId, String)>) {
    while let Ok((call, text)) = progress.try_recv() {
        show(state, call, text).await;
    }
}

async fn show(state: &State, call: CallId, text: String) {
    if let Some(started) = state.started.get(&call) {
        state
            .tell(Event::ItemDelta {
                id: started.item,
                delta: Delta::Output(text),
            })
            .await;
    }
}

async fn keep_result(
    state: &mut State,
    mut finished: Finished,
    repeats: &mut Repeats,
    step: &mut Step,
) -> Result<(), session::Error> {
    match repeats.note(&finished) {
        Verdict::Fine => {}
        Verdict::Warn(text) => finished.output.content.push(Block::text(text)),
        Verdict::Stop(times) => step.looped = Some((finished.tool.clone(), times)),
    }
    if finished.effect == Effect::Changes {
        state.beside.disturb();
    }
    step.ends |= finished.output.next == Next::EndTurn;
    let notes = state.notes_after(std::mem::take(&mut finished.touched)).await;
    finished.output.content.extend(notes.into_iter().map(Block::text));
    state.append_result(finished).await
}

/// The body of a result, as the model and the person see it.
pub(crate) fn result_message(finished: &Finished) -> Message {
    let part = Part::ToolResult {
        id: finished.id.clone(),
        name: finished.called.clone(),
        content: finished.output.content.clone(),
        outcome: finished.outcome,
    };
    Message {
        role: Role::User,
        parts: vec![part],
    }
}
