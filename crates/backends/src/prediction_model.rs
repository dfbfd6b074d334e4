//! The model that predicts edits.

use crate::config::Config;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::models::ModelRegistry;
use futures::StreamExt as _;
use model::{Chunk, Message, Model, Request, Stop};
use predict::answer::AnswerEnd;
use predict::prompt::PredictionPrompt;
use predict::{FormatKind, PromptFormat, format_for, formats};
use providers::{CompletionModel, CompletionRequest};
use server::predict::{PredictionAnswer, PredictionError};
use std::sync::Arc;

/// A model with its prompt format.
#[derive(Clone)]
pub struct PredictionModel {
    /// Its name, as `provider/id`.
    pub name: String,
    /// Its prompt format.
    pub format: &'static PromptFormat,
    transport: Transport,
}

/// How the model is asked.
#[derive(Clone)]
enum Transport {
    Completion(Arc<CompletionModel>),
    Chat(Arc<dyn Model>),
}

impl PredictionModel {
    /// Connects the named model or that of the configuration, or else the small or the main model.
    pub async fn connect(model: Option<&str>, format: Option<&str>, config: &Config, env: &ProcessEnv) -> Result<Self> {
        let models = ModelRegistry::new(config, env);
        let chosen = model
            .or(config.predict.model.as_deref())
            .or(config.small_model.as_deref());
        let info = match chosen {
            Some(name) => models.find_served(name).await?,
            None => models.main_model().await?.info,
        };
        let settings = models.settings(&info).await?;
        let format = choose_format(format.or(config.predict.format.as_deref()), &info.id)?;
        let name = info.name();
        let transport = match format.kind {
            FormatKind::Chat => Transport::Chat(providers::connect(info, settings)?),
            FormatKind::Fim | FormatKind::Window => {
                let completion = CompletionModel::new(settings, &info.id)?.ok_or_else(|| {
                    Failure::usage(format!("{name} has no API for completions"))
                        .hint("`--format chat` asks it in a conversation")
                })?;
                Transport::Completion(Arc::new(completion))
            }
        };
        Ok(PredictionModel {
            name,
            format,
            transport,
        })
    }

    /// Asks the model.
    pub async fn complete(&self, prompt: &PredictionPrompt) -> Result<PredictionAnswer, PredictionError> {
        let answer = match &self.transport {
            Transport::Completion(model) => {
                let request = CompletionRequest {
                    prompt: &prompt.text,
                    prefix: &prompt.prefix,
                    suffix: &prompt.suffix,
                    stop: &self.format.stop,
                    max_tokens: prompt.max_tokens,
                };
                let answer = model.complete(&request).await.map_err(error)?;
                let end = if answer.is_truncated {
                    AnswerEnd::Limit
                } else {
                    AnswerEnd::Complete
                };
                PredictionAnswer { text: answer.text, end }
            }
            Transport::Chat(model) => chat(model.as_ref(), prompt).await?,
        };
        Ok(answer)
    }
}

/// The configured format, or that of the model's family.
fn choose_format(wanted: Option<&str>, model: &str) -> Result<&'static PromptFormat> {
    let Some(wanted) = wanted else {
        return format_for(model).ok_or_else(|| Failure::failed("there are no prompt formats"));
    };
    let known = || formats().iter().map(|format| format.name.as_str()).collect::<Vec<_>>();
    formats().iter().find(|format| format.name == wanted).ok_or_else(|| {
        Failure::usage(format!("there is no prompt format `{wanted}`"))
            .hint(format!("the formats are {}", known().join(", ")))
    })
}

async fn chat(model: &dyn Model, prompt: &PredictionPrompt) -> Result<PredictionAnswer, PredictionError> {
    let request = Request {
        system: if prompt.system.is_empty() {
            Vec::new()
        } else {
            vec![prompt.system.as_str().into()]
        },
        messages: Arc::new(vec![Arc::new(Message::user(&prompt.text))]),
        max_output: u32::try_from(prompt.max_tokens).ok(),
        temperature: Some(0.0),
        ..Request::default()
    };
    let mut chunks = model.stream(request).await.map_err(error)?;
    let (mut text, mut end) = (String::new(), AnswerEnd::Limit);
    while let Some(chunk) = chunks.next().await {
        match chunk.map_err(error)? {
            Chunk::Text(delta) => text.push_str(&delta),
            Chunk::Stop(Stop::End | Stop::ToolUse) => end = AnswerEnd::Complete,
            Chunk::Stop(Stop::MaxTokens | Stop::Refusal { .. } | Stop::Other { .. })
            | Chunk::PromptSize(_)
            | Chunk::Thinking(_)
            | Chunk::Replay { .. }
            | Chunk::ToolStart { .. }
            | Chunk::ToolInput { .. }
            | Chunk::ToolEnd { .. }
            | Chunk::Usage(_)
            | Chunk::Cost(_)
            | Chunk::Notice(_) => {}
        }
    }
    Ok(PredictionAnswer { text, end })
}

fn error(error: model::Error) -> PredictionError {
    PredictionError(error.to_string())
}
