//! Asks a model for the notes that stand for the older part of a conversation.

use futures::StreamExt as _;
use model::{Cost, Model, Part, Reply, Request, Usage};
use prompt::{Cut, Frame};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::{Spending, Spent};

/// Notes are not worth waiting longer for.
const PATIENCE: Duration = Duration::from_secs(180);
/// A model that says nothing for so long will not say anything more.
pub(crate) const QUIET: Duration = Duration::from_secs(90);
/// A log takes at most this part of the window of the model that reads it, at about four bytes a token.
const LOG_PERCENT: u64 = 50;
/// For a model whose window nobody knows.
const UNKNOWN_WINDOW: u64 = 32_000;

/// Who may be asked for notes, and what for.
pub(crate) struct Writer {
    /// The model of the conversation.
    pub(crate) main: Arc<dyn Model>,
    /// Another model, where the person wants one.
    pub(crate) chosen: Option<Arc<dyn Model>>,
    /// The model for small chores, which helps where the others fail.
    pub(crate) small: Option<Arc<dyn Model>>,
    pub(crate) frame: Frame,
    pub(crate) spending: Spending,
    /// What the person asks for besides.
    pub(crate) instructions: Option<String>,
    /// Whether the conversation still fits the window of its own model.
    pub(crate) fits: Fits,
    /// How long a model may be silent.
    pub(crate) quiet: Duration,
}

/// Whether a conversation still fits the window of its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fits {
    Yes,
    /// The provider has said no: only a shortened log can be sent.
    No,
}

/// What stands for the older part of a conversation.
pub(crate) struct Noted {
    pub(crate) cut: Cut,
    /// What the model wrote; `None` when none wrote anything fit.
    pub(crate) notes: Option<String>,
    /// Why not, for the person.
    pub(crate) failures: Vec<String>,
}

impl Writer {
    /// Asks one model after the other until one writes fit notes.
    pub(crate) async fn write(self, cut: Cut) -> Noted {
        let mut failures = Vec::new();
        for (model, request) in self.attempts(&cut) {
            match self.ask(&model, request, &cut).await {
                Ok(notes) => {
                    return Noted {
                        cut,
                        notes: Some(notes),
                        failures,
                    };
                }
                Err(why) => failures.push(format!("{}: {why}", model.info().name())),
            }
        }
        Noted {
            cut,
            notes: None,
            failures,
        }
    }

    /// The conversation's own model first, because its cache holds the conversation; then shortened logs.
    fn attempts(&self, cut: &Cut) -> Vec<(Arc<dyn Model>, Request)> {
        let log = |model: &Arc<dyn Model>| {
            let window = match model.info().limits.window {
                0 => UNKNOWN_WINDOW,
                window => window,
            };
            let request = cut.log_request((window * 4 * LOG_PERCENT / 100) as usize, self.instructions.as_deref());
            (Arc::clone(model), request)
        };
        let mut attempts = Vec::new();
        match (&self.chosen, self.fits) {
            (Some(chosen), _) => attempts.push(log(chosen)),
            (None, Fits::Yes) => {
                let request = cut.request(&self.frame, self.instructions.as_deref());
                attempts.push((Arc::clone(&self.main), request));
            }
            (None, Fits::No) => {}
        }
        attempts.push(log(self.small.as_ref().unwrap_or(&self.main)));
        attempts
    }

    async fn ask(&self, model: &Arc<dyn Model>, request: Request, cut: &Cut) -> Result<String, String> {
        let mut bill = Bill::new(model, &self.spending, &request);
        let asked = async {
            let mut chunks = quick(model.stream(request), self.quiet).await??;
            while let Some(chunk) = quick(chunks.next(), self.quiet).await? {
                bill.reply.push(chunk?);
            }
            Ok::<(), Slow>(())
        };
        let outcome = match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(())) => {
                let message = bill.reply.clone().into_message();
                let notes = message.text();
                let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
                match cut.check(&notes) {
                    // Words on the way to a call are no notes.
                    Ok(()) if message.parts.iter().any(is_call) => Err("it called tools instead".into()),
                    Ok(()) => Ok(notes),
                    Err(unfit) => Err(unfit.to_string()),
                }
            }
            Ok(Err(Slow::Failed(error))) => Err(error.to_string()),
            Ok(Err(Slow::Quiet)) | Err(_) => Err("took too long".to_string()),
        };
        bill.outcome = match &outcome {
            Ok(_) => "End".into(),
            Err(why) => why.clone(),
        };
        outcome
    }
}

/// Why a model wrote no notes.
enum Slow {
    Failed(model::Error),
    Quiet,
}

impl From<model::Error> for Slow {
    fn from(error: model::Error) -> Self {
        Slow::Failed(error)
    }
}

/// What comes in good time.
async fn quick<T>(waiting: impl Future<Output = T>, quiet: Duration) -> Result<T, Slow> {
    tokio::time::timeout(quiet, waiting).await.map_err(|_| Slow::Quiet)
}

/// A request whose tokens are counted when it is over, however it ends.
struct Bill {
    model: Arc<dyn Model>,
    spending: Spending,
    begun: Instant,
    request: Request,
    prompt: usize,
    reply: Reply,
    outcome: String,
}

impl Bill {
    fn new(model: &Arc<dyn Model>, spending: &Spending, request: &Request) -> Self {
        let system: usize = request.system.iter().map(|section| section.len()).sum();
        let said: usize = request
            .messages
            .iter()
            .map(|message| prompt::message_bytes(message))
            .sum();
        Bill {
            model: Arc::clone(model),
            spending: spending.clone(),
            begun: Instant::now(),
            request: request.clone(),
            prompt: system + said,
            reply: Reply::default(),
            outcome: "stopped".into(),
        }
    }
}

impl Drop for Bill {
    fn drop(&mut self) {
        let info = self.model.info();
        let reply = std::mem::take(&mut self.reply);
        let (usage, cost): (Option<Usage>, Option<Cost>) = (reply.usage, reply.cost);
        let text = reply.into_message().text();
        let usage = match usage {
            Some(usage) => usage,
            None if text.is_empty() => Usage::default(),
            None => Usage {
                input: (self.prompt as u64).div_ceil(4),
                output: (text.len() as u64).div_ceil(4),
                estimated: true,
                ..Usage::default()
            },
        };
        self.spending.add(Spent {
            purpose: "summary",
            model: info.name(),
            usage,
            cost: cost.or_else(|| info.cost(&usage)),
            took: self.begun.elapsed(),
            outcome: std::mem::take(&mut self.outcome),
            request: Some(std::mem::take(&mut self.request)),
        });
    }
}
