//! Lets the model answer a server, where the person wants that.

#![expect(
    deprecated,
    reason = "newer servers ask otherwise, but those that exist ask like this"
)]

use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt as _;
use model::{Chunk, Message, Model, Request, Stop, Usage};
use rmcp::ErrorData;
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, Role, SamplingMessage, SamplingMessageContentBlock,
};
use tool::{Choice, Context, Inquiry, Multiple, Spent};

use crate::definition::Sampling;

/// Bytes of a request that are shown to the person.
const SHOWN: usize = 1_500;
/// Bytes of an answer that are passed on.
const MOST: usize = 256 * 1024;
/// The most tokens that a server gets.
const MOST_TOKENS: u32 = 8_192;
const ALLOW: &str = "Allow";
const REFUSE: &str = "Refuse";

/// Answers a server's request to the model.
pub(crate) async fn sample(
    server: &str,
    params: CreateMessageRequestParams,
    sampling: Sampling,
    model: &Arc<dyn Model>,
    context: &Context,
) -> Result<CreateMessageResult, ErrorData> {
    let refused = || {
        ErrorData::new(
            rmcp::model::ErrorCode(-1),
            "The user rejected the sampling request",
            None,
        )
    };
    match sampling {
        Sampling::Deny => return Err(refused()),
        Sampling::Allow => {}
        Sampling::Ask => {
            if !allowed(server, &params, model, context).await {
                return Err(refused());
            }
        }
    }
    let messages = params.messages.into_iter().map(|message| {
        let text = words(&message);
        Arc::new(match message.role {
            Role::Assistant => Message::assistant(text),
            Role::User => Message::user(text),
        })
    });
    let request = Request {
        system: params.system_prompt.into_iter().map(Into::into).collect(),
        messages: Arc::new(messages.collect()),
        max_output: Some(params.max_tokens.clamp(1, MOST_TOKENS)),
        temperature: params.temperature.map(f64::from),
        ..Request::default()
    };
    let (text, stop) = ask(model, request, context)
        .await
        .map_err(|why| ErrorData::internal_error(why, None))?;
    let message = SamplingMessage::assistant_text(text);
    Ok(CreateMessageResult::new(message, model.info().id.clone()).with_stop_reason(stop))
}

/// Asks the person, showing what the server wants to know.
async fn allowed(server: &str, params: &CreateMessageRequestParams, model: &Arc<dyn Model>, context: &Context) -> bool {
    let said: Vec<String> = params.messages.iter().map(words).collect();
    let mut said = said.join("\n");
    if said.len() > SHOWN {
        said.truncate(said.floor_char_boundary(SHOWN));
        said.push_str(" […]");
    }
    let name = model.info().name();
    let choice = |label: &str| Choice {
        label: label.to_owned(),
        description: None,
    };
    let inquiry = Inquiry {
        question: format!("The MCP server `{server}` wants {name} to answer this, at your cost:\n{said}"),
        choices: vec![choice(ALLOW), choice(REFUSE)],
        multiple: Multiple::One,
    };
    matches!(context.ask(inquiry).await.as_deref(), Ok(ALLOW | "yes"))
}

async fn ask(model: &Arc<dyn Model>, request: Request, context: &Context) -> Result<(String, &'static str), String> {
    let begun = Instant::now();
    let (mut text, mut usage, mut cost) = (String::new(), Usage::default(), None);
    let mut outcome = Err("the reply ended early".to_owned());
    let asked = request.clone();
    match model.stream(request).await {
        Err(error) => outcome = Err(error.to_string()),
        Ok(mut stream) => {
            while let Some(chunk) = stream.next().await {
                match chunk {
                    Ok(Chunk::Text(delta)) if text.len() < MOST => text.push_str(&delta),
                    Ok(Chunk::Usage(newest)) => usage = newest,
                    Ok(Chunk::Cost(newest)) => cost = Some(newest),
                    Ok(Chunk::Stop(Stop::MaxTokens)) => outcome = Ok(CreateMessageResult::STOP_REASON_END_MAX_TOKEN),
                    Ok(Chunk::Stop(Stop::Refusal { .. })) => outcome = Err("the model declined".into()),
                    Ok(Chunk::Stop(_)) => outcome = Ok(CreateMessageResult::STOP_REASON_END_TURN),
                    Ok(_) => {}
                    Err(error) => outcome = Err(error.to_string()),
                }
            }
        }
    }
    let info = model.info();
    context.spending.add(Spent {
        purpose: "mcp sampling",
        model: info.name(),
        usage,
        cost: cost.or_else(|| info.cost(&usage)),
        took: begun.elapsed(),
        outcome: outcome.as_ref().map_or_else(Clone::clone, |_| "done".to_owned()),
        request: Some(asked),
    });
    outcome.map(|stop| (text, stop))
}

/// The words of a message; what is none is named.
fn words(message: &SamplingMessage) -> String {
    let blocks = message.content.clone().into_vec().into_iter();
    let texts = blocks.map(|block| match block {
        SamplingMessageContentBlock::Text(text) => text.text,
        SamplingMessageContentBlock::Image(image) => format!("[image, {}]", image.mime_type),
        SamplingMessageContentBlock::Audio(audio) => format!("[audio, {}]", audio.mime_type),
        other => serde_json::to_string(&other).unwrap_or_default(),
    });
    texts.collect::<Vec<_>>().join("\n")
}
