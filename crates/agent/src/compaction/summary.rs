//! Generates the summary that replaces the older part of a conversation.

use crate::observed_model::stream_adapted;
use futures::StreamExt as _;
use model::{Cost, Model, Part, Reply, Request, Stop, Usage};
use prompt::{CompactionCut, NotesError, RequestFrame};
use session::RequestEnd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::{UsageReport, UsageReporter};

/// Time limit for a summary request.
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(180);
/// A stream that is silent for this long is considered dead.
pub(super) const SILENCE_TIMEOUT: Duration = Duration::from_secs(90);
/// The share of the model's window that a log may take, at about four bytes per token.
const LOG_PERCENT: u64 = 50;
/// The window of models with an unknown window.
const DEFAULT_WINDOW: u64 = 32_000;

/// The models and options for a summary.
pub(super) struct SummaryWriter {
    /// The model of the conversation.
    pub(super) main: Arc<dyn Model>,
    /// A configured summary model.
    pub(super) chosen: Option<Arc<dyn Model>>,
    /// The small model, used if the others fail.
    pub(super) small: Option<Arc<dyn Model>>,
    pub(super) frame: RequestFrame,
    pub(super) usage: UsageReporter,
    /// Additional instructions of the user.
    pub(super) instructions: Option<String>,
    /// Whether the conversation fits the window of its model.
    pub(super) fits: WindowFit,
    /// The longest permitted silence of a stream.
    pub(super) silence_timeout: Duration,
}

/// Whether a conversation fits the window of its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowFit {
    Yes,
    /// The provider rejected it: only a shortened log can be sent.
    No,
}

/// The result of a summary request.
pub(super) struct WrittenSummary {
    pub(super) cut: CompactionCut,
    /// The summary; `None` if no model wrote a usable one.
    pub(super) text: Option<String>,
    /// The failed attempts, for the user.
    pub(super) failures: Vec<String>,
}

impl SummaryWriter {
    /// Asks one model after the other until one writes a usable summary.
    pub(super) async fn write(self, cut: CompactionCut) -> WrittenSummary {
        let (mut text, mut failures) = (None, Vec::new());
        for (model, request) in self.attempts(&cut) {
            match self.ask(&model, request, &cut).await {
                Ok(summary) => {
                    text = Some(summary);
                    break;
                }
                Err(why) => failures.push(format!("{}: {why}", model.info().name())),
            }
        }
        WrittenSummary { cut, text, failures }
    }

    /// The model of the conversation comes first, because its cache contains the conversation; then shortened logs.
    fn attempts(&self, cut: &CompactionCut) -> Vec<(Arc<dyn Model>, Request)> {
        let log = |model: &Arc<dyn Model>| {
            let window = match model.info().limits.window {
                0 => DEFAULT_WINDOW,
                window => window,
            };
            let request = cut.log_request((window * 4 * LOG_PERCENT / 100) as usize, self.instructions.as_deref());
            (Arc::clone(model), request)
        };
        let mut attempts = Vec::new();
        match (&self.chosen, self.fits) {
            (Some(chosen), _) => attempts.push(log(chosen)),
            (None, WindowFit::Yes) => {
                let request = cut.request(&self.frame, self.instructions.as_deref());
                attempts.push((Arc::clone(&self.main), request));
            }
            (None, WindowFit::No) => {}
        }
        attempts.push(log(self.small.as_ref().unwrap_or(&self.main)));
        attempts
    }

    async fn ask(&self, model: &Arc<dyn Model>, request: Request, cut: &CompactionCut) -> Result<String, SummaryError> {
        let mut metered = MeteredRequest::new(model, &self.usage, &request);
        let receive = async {
            let mut chunks = with_timeout(stream_adapted(model.as_ref(), request), self.silence_timeout).await??;
            while let Some(chunk) = with_timeout(chunks.next(), self.silence_timeout).await? {
                metered.reply.push(chunk?);
            }
            Ok::<(), SummaryError>(())
        };
        let result = match tokio::time::timeout(SUMMARY_TIMEOUT, receive).await {
            Ok(Ok(())) => usable_text(&metered.reply, cut),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(SummaryError::Timeout),
        };
        metered.outcome = match &result {
            Ok(_) => RequestEnd::Finished(Stop::End),
            Err(error) => RequestEnd::Failed {
                error: error.to_string(),
            },
        };
        result
    }
}

fn usable_text(reply: &Reply, cut: &CompactionCut) -> Result<String, SummaryError> {
    let message = reply.clone().into_message();
    let text = message.text();
    cut.validate(&text)?;
    // Text before a tool call is not a summary.
    let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
    match message.parts.iter().any(is_call) {
        true => Err(SummaryError::CalledTools),
        false => Ok(text),
    }
}

/// The reason why a model wrote no summary.
#[derive(Debug, thiserror::Error)]
enum SummaryError {
    #[error(transparent)]
    Failed(#[from] model::Error),
    #[error("timed out")]
    Timeout,
    #[error(transparent)]
    Unusable(#[from] NotesError),
    #[error("it called tools instead")]
    CalledTools,
}

/// Awaits a future with a time limit.
async fn with_timeout<T>(future: impl Future<Output = T>, limit: Duration) -> Result<T, SummaryError> {
    let result = tokio::time::timeout(limit, future).await;
    result.map_err(|_| SummaryError::Timeout)
}

/// A request whose usage is reported when it is dropped, however it ends.
struct MeteredRequest {
    model: Arc<dyn Model>,
    usage: UsageReporter,
    begun: Instant,
    request: Request,
    prompt_bytes: usize,
    reply: Reply,
    outcome: RequestEnd,
}

impl MeteredRequest {
    fn new(model: &Arc<dyn Model>, usage: &UsageReporter, request: &Request) -> Self {
        let system: usize = request.system.iter().map(|section| section.len()).sum();
        let messages = request.messages.iter();
        let messages: usize = messages.map(|message| prompt::message_bytes(message)).sum();
        MeteredRequest {
            model: Arc::clone(model),
            usage: usage.clone(),
            begun: Instant::now(),
            request: request.clone(),
            prompt_bytes: system + messages,
            reply: Reply::default(),
            outcome: RequestEnd::Interrupted,
        }
    }
}

impl Drop for MeteredRequest {
    fn drop(&mut self) {
        let info = self.model.info();
        let reply = std::mem::take(&mut self.reply);
        let (usage, cost): (Option<Usage>, Option<Cost>) = (reply.usage, reply.cost);
        let text = reply.into_message().text();
        let usage = match usage {
            Some(usage) => usage,
            None if text.is_empty() => Usage::default(),
            None => Usage {
                input: (self.prompt_bytes as u64).div_ceil(4),
                output: (text.len() as u64).div_ceil(4),
                estimated: true,
                ..Usage::default()
            },
        };
        self.usage.report(UsageReport {
            purpose: "summary",
            model: info.name(),
            usage,
            cost: cost.or_else(|| info.cost(&usage)),
            duration: self.begun.elapsed(),
            outcome: self.outcome.clone(),
            request: Some(std::mem::take(&mut self.request)),
        });
    }
}
