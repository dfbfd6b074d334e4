//! Generates the title of a session concurrently with the first turn.

use crate::TitleRequests;
use crate::measurement::{store_settings, store_stream};
use crate::observed_model::stream_adapted;
use crate::session::{Environment, Session};
use futures::StreamExt as _;
use model::{Chunk, Info, Model, Reply, Request, Stop, Usage};
use session::{Event, RequestEnd, RequestFacts, RequestId, RequestRecord, Time};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Time limit for a title request.
const TITLE_REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The title of a session and the request for a better one.
pub(crate) struct SessionTitle {
    text: Option<String>,
    /// The first prompt, until a title is requested for it.
    prompt: Option<String>,
    request: Option<JoinHandle<GeneratedTitle>>,
}

/// The result of a title request, with its usage and cost.
pub(crate) struct GeneratedTitle {
    title: Option<String>,
    record: RequestRecord,
    request: Request,
    info: Info,
}

impl SessionTitle {
    pub(crate) fn new(text: Option<String>) -> Self {
        SessionTitle {
            text,
            prompt: None,
            request: None,
        }
    }

    /// Derives a provisional title from the first prompt.
    pub(crate) fn begin(&mut self, env: &Environment, prompt: String) {
        if self.text.is_some() {
            return;
        }
        let plain = prompt::plain_title(&prompt);
        drop(env.config.store.set_title(env.session, plain.clone()));
        self.text = Some(plain);
        self.prompt = Some(prompt);
    }

    /// Requests a title from the small model, once. Called when the first reply begins, so that nothing is delayed.
    pub(crate) fn request(&mut self, env: &Environment) {
        let small = match env.config.title_requests {
            TitleRequests::On => env.config.small_model.clone(),
            TitleRequests::Off => None,
        };
        if let (Some(prompt), Some(small)) = (self.prompt.take(), small) {
            self.request = Some(tokio::spawn(generate(small, prompt, env.config.clock)));
        }
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.request.is_some()
    }

    /// Waits for the requested title; never completes if there is none.
    pub(crate) async fn requested(&mut self) -> Option<GeneratedTitle> {
        match &mut self.request {
            Some(request) => {
                let title = request.await.ok();
                self.request = None;
                title
            }
            None => std::future::pending().await,
        }
    }
}

impl Session {
    /// Records a title request and sets the title.
    pub(crate) async fn apply_title(&mut self, generated: GeneratedTitle) {
        let GeneratedTitle {
            title,
            mut record,
            request,
            info,
        } = generated;
        let Session {
            env,
            conversation,
            accounting,
            ..
        } = self;
        let (items, store) = (&conversation.items, &env.config.store);
        let ledger = &accounting.ledger;
        let (sections, prompt) = ledger.describe_side_request(&request, items, &info, &record, store.as_ref());
        (record.sections, record.prompt) = (sections, Some(prompt));
        record.facts.body = request.trace.body();
        record.facts.stream = store_stream(&request.trace, store.as_ref());
        record.facts.inputs = store_settings(&request.trace, &info, store.as_ref());
        accounting.record(env, record);
        env.events.send_queued().await;
        if let Some(title) = title {
            drop(store.set_title(env.session, title.clone()));
            conversation.title.text = Some(title.clone());
            env.events.send(Event::TitleChanged { title }).await;
        }
    }
}

/// Asks the small model for a title.
async fn generate(model: Arc<dyn Model>, prompt: String, clock: fn() -> Time) -> GeneratedTitle {
    let (at, sent) = (clock(), Instant::now());
    let mut reply = Reply::default();
    let mut first_chunk = None;
    let request = prompt::title_request(&prompt);
    let sent_request = request.clone();
    let receive = async {
        let mut chunks = stream_adapted(model.as_ref(), sent_request).await?;
        while let Some(chunk) = chunks.next().await {
            let chunk: Chunk = chunk?;
            if !matches!(chunk, Chunk::PromptSize(_)) {
                first_chunk.get_or_insert_with(|| sent.elapsed().as_millis() as u64);
            }
            reply.push(chunk);
        }
        Ok::<(), model::Error>(())
    };
    let outcome = match tokio::time::timeout(TITLE_REQUEST_TIMEOUT, receive).await {
        Ok(Ok(())) => RequestEnd::Finished(Stop::End),
        Ok(Err(error)) => RequestEnd::Failed {
            error: error.to_string(),
        },
        Err(_) => RequestEnd::Failed {
            error: "timed out".into(),
        },
    };
    let usage = match (reply.usage, first_chunk) {
        (Some(usage), _) => usage,
        (None, None) => Usage::default(),
        (None, Some(_)) => Usage {
            input: (prompt.len() as u64).div_ceil(4),
            estimated: true,
            ..Usage::default()
        },
    };
    let cost = reply.cost.or_else(|| model.info().cost(&usage));
    let record = RequestRecord {
        id: RequestId::new(),
        item: None,
        purpose: "title".into(),
        model: model.info().name(),
        attempt: 1,
        at,
        first_chunk,
        total: sent.elapsed().as_millis() as u64,
        usage,
        cost,
        outcome,
        sections: Vec::new(),
        prompt: None,
        facts: RequestFacts::default(),
    };
    GeneratedTitle {
        title: prompt::clean_title(&reply.into_message().text()),
        record,
        request,
        info: model.info().clone(),
    }
}
