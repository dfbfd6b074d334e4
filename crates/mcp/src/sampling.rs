//! Sampling: lets the model answer a server, if the user allows it.

#![expect(deprecated, reason = "existing servers still use it")]

use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt as _;
use model::{Chunk, Message, Model, Request, Stop, Usage};
use rmcp::ErrorData;
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, Role, SamplingMessage, SamplingMessageContentBlock,
};
use session::RequestEnd;
use tool::{AnswerChoice, CallContext, ChoiceLimit, UsageReport, UserQuestion};

use crate::definition::SamplingPolicy;

/// Bytes of a request shown to the user.
const MAX_SHOWN: usize = 1_500;
/// Maximum bytes of a reply.
const MAX_REPLY_BYTES: usize = 256 * 1024;
/// Maximum tokens of a reply.
const MAX_TOKENS: u32 = 8_192;
const ALLOW: &str = "Allow";
const REFUSE: &str = "Refuse";

/// Answers a sampling request.
pub(crate) async fn sample(
    server: &str,
    params: CreateMessageRequestParams,
    sampling: SamplingPolicy,
    model: &Arc<dyn Model>,
    context: &CallContext,
) -> Result<CreateMessageResult, ErrorData> {
    let refused = || {
        ErrorData::new(
            rmcp::model::ErrorCode(-1),
            "The user rejected the sampling request",
            None,
        )
    };
    match sampling {
        SamplingPolicy::Deny => return Err(refused()),
        SamplingPolicy::Allow => {}
        SamplingPolicy::Ask => {
            if !ask_permission(server, &params, model, context).await {
                return Err(refused());
            }
        }
    }
    let messages = params.messages.into_iter().map(|message| {
        let text = message_text(&message);
        Arc::new(match message.role {
            Role::Assistant => Message::assistant(text),
            Role::User => Message::user(text),
        })
    });
    let request = Request {
        system: params.system_prompt.into_iter().map(Into::into).collect(),
        messages: Arc::new(messages.collect()),
        max_output: Some(params.max_tokens.clamp(1, MAX_TOKENS)),
        temperature: params.temperature.map(f64::from),
        ..Request::default()
    };
    let (text, stop) = run_request(model, request, context)
        .await
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let message = SamplingMessage::assistant_text(text);
    Ok(CreateMessageResult::new(message, model.info().id.clone()).with_stop_reason(stop))
}

/// Asks the user for permission and shows the request.
async fn ask_permission(
    server: &str,
    params: &CreateMessageRequestParams,
    model: &Arc<dyn Model>,
    context: &CallContext,
) -> bool {
    let excerpt: Vec<String> = params.messages.iter().map(message_text).collect();
    let mut excerpt = excerpt.join("\n");
    if excerpt.len() > MAX_SHOWN {
        excerpt.truncate(excerpt.floor_char_boundary(MAX_SHOWN));
        excerpt.push_str(" […]");
    }
    let name = model.info().name();
    let choice = |label: &str| AnswerChoice {
        label: label.to_owned(),
        description: None,
    };
    let inquiry = UserQuestion {
        question: format!("The MCP server `{server}` requests a completion from {name}, at your cost:\n{excerpt}"),
        choices: vec![choice(ALLOW), choice(REFUSE)],
        limit: ChoiceLimit::One,
    };
    matches!(context.ask(inquiry).await.as_deref(), Ok(ALLOW | "yes"))
}

/// Why the model did not answer.
#[derive(Debug, thiserror::Error)]
enum SamplingError {
    #[error("the reply ended early")]
    EndedEarly,
    #[error("the model declined")]
    Declined,
    #[error(transparent)]
    Model(#[from] model::Error),
}

async fn run_request(
    model: &Arc<dyn Model>,
    request: Request,
    context: &CallContext,
) -> Result<(String, &'static str), SamplingError> {
    let begun = Instant::now();
    let (mut text, mut usage, mut cost) = (String::new(), Usage::default(), None);
    let mut outcome = Err(SamplingError::EndedEarly);
    let asked = request.clone();
    match model.stream(request).await {
        Err(error) => outcome = Err(error.into()),
        Ok(mut stream) => {
            while let Some(chunk) = stream.next().await {
                match chunk {
                    Ok(Chunk::Text(delta)) if text.len() < MAX_REPLY_BYTES => text.push_str(&delta),
                    Ok(Chunk::Usage(newest)) => usage = newest,
                    Ok(Chunk::Cost(newest)) => cost = Some(newest),
                    Ok(Chunk::Stop(Stop::MaxTokens)) => outcome = Ok(CreateMessageResult::STOP_REASON_END_MAX_TOKEN),
                    Ok(Chunk::Stop(Stop::Refusal { .. })) => outcome = Err(SamplingError::Declined),
                    Ok(Chunk::Stop(_)) => outcome = Ok(CreateMessageResult::STOP_REASON_END_TURN),
                    Ok(_) => {}
                    Err(error) => outcome = Err(error.into()),
                }
            }
        }
    }
    let info = model.info();
    context.usage.report(UsageReport {
        purpose: "mcp sampling",
        model: info.name(),
        usage,
        cost: cost.or_else(|| info.cost(&usage)),
        duration: begun.elapsed(),
        outcome: match &outcome {
            Ok(_) => RequestEnd::Finished(Stop::End),
            Err(error) => RequestEnd::Failed {
                error: error.to_string(),
            },
        },
        request: Some(asked),
    });
    outcome.map(|stop| (text, stop))
}

/// The text of a message; other content is named.
fn message_text(message: &SamplingMessage) -> String {
    let blocks = message.content.clone().into_vec().into_iter();
    let texts = blocks.map(|block| match block {
        SamplingMessageContentBlock::Text(text) => text.text,
        SamplingMessageContentBlock::Image(image) => format!("[image, {}]", image.mime_type),
        SamplingMessageContentBlock::Audio(audio) => format!("[audio, {}]", audio.mime_type),
        other => serde_json::to_string(&other).unwrap_or_default(),
    });
    texts.collect::<Vec<_>>().join("\n")
}
