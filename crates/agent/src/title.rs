//! Gives a session its title, beside the first turn and without delaying it.

use futures::StreamExt as _;
use model::{Chunk, Info, Model, Reply, Request, Usage};
use session::{Record, RequestId, Time};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A title is not worth waiting longer for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A title, where the model gave a usable one, and what asking for it cost.
pub(crate) struct Titled {
    pub(crate) title: Option<String>,
    pub(crate) record: Record,
    /// What was asked.
    pub(crate) request: Request,
    pub(crate) info: Info,
}

/// Asks the small model for a title.
pub(crate) async fn ask(model: Arc<dyn Model>, prompt: String, clock: fn() -> Time) -> Titled {
    let (at, sent) = (clock(), Instant::now());
    let mut reply = Reply::default();
    let mut first_chunk = None;
    let request = prompt::title_request(&prompt);
    let sent_request = request.clone();
    let asked = async {
        let mut chunks = model.stream(sent_request).await?;
        while let Some(chunk) = chunks.next().await {
            let chunk: Chunk = chunk?;
            if !matches!(chunk, Chunk::Sent(_)) {
                first_chunk.get_or_insert_with(|| sent.elapsed().as_millis() as u64);
            }
            reply.push(chunk);
        }
        Ok::<(), model::Error>(())
    };
    let outcome = match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(())) => "End".to_string(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "took too long".to_string(),
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
    let record = Record {
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
    };
    Titled {
        title: prompt::clean_title(&reply.into_message().text()),
        record,
        request,
        info: model.info().clone(),
    }
}
