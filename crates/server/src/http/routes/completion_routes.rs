//! OpenAI's `/v1/completions`, for editors with a setting for such a server.

use super::super::api_json::{ApiJson, ApiResult, MAX_PROMPT, ok};
use super::super::backend::CompletionQuery;
use super::super::openapi::{ApiRoutes, doc};
use super::super::service::HttpState;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use session::RequestId;
use std::sync::Arc;

/// A request for a completion. Other fields of OpenAI's API are accepted and ignored.
#[derive(Debug, Deserialize, JsonSchema)]
struct CompletionBody {
    /// The text before the cursor, or a prompt with the markers of a FIM model.
    prompt: TextOrList,
    /// The text after the cursor.
    #[serde(default)]
    suffix: Option<String>,
    /// The maximum number of tokens of the answer.
    #[serde(default)]
    max_tokens: Option<usize>,
    /// Texts that end the answer.
    #[serde(default)]
    stop: Option<TextOrList>,
    /// Whether the answer is sent as server-sent events.
    #[serde(default)]
    stream: bool,
}

/// One text or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum TextOrList {
    Text(String),
    List(Vec<String>),
}

impl TextOrList {
    fn into_list(self) -> Vec<String> {
        match self {
            TextOrList::Text(text) => vec![text],
            TextOrList::List(list) => list,
        }
    }
}

pub(super) fn add(api: &mut ApiRoutes) {
    api.route(
        Method::POST,
        "/v1/completions",
        doc("Complete text at the cursor, as OpenAI's API does; the prompt may contain the markers of a FIM model")
            .accepts::<CompletionBody>()
            .returns::<Value>(),
        complete,
    );
}

async fn complete(
    State(state): State<Arc<HttpState>>,
    ApiJson(body): ApiJson<CompletionBody, MAX_PROMPT>,
) -> ApiResult {
    let stop = body.stop.map(TextOrList::into_list).unwrap_or_default();
    let query = CompletionQuery {
        prompt: body.prompt.into_list().concat(),
        suffix: body.suffix,
        max_tokens: body.max_tokens,
    };
    let completion = state.registry.backend.complete(query).await?;
    let cut = stop.iter().filter(|stop| !stop.is_empty());
    let cut = cut.filter_map(|stop| completion.text.find(stop.as_str())).min();
    let text = &completion.text[..cut.unwrap_or(completion.text.len())];
    let finish_reason = if completion.is_truncated { "length" } else { "stop" };
    let answer = json!({
        "id": format!("cmpl-{}", RequestId::new()),
        "object": "text_completion",
        "model": completion.model,
        "choices": [{"index": 0, "text": text, "logprobs": null, "finish_reason": finish_reason}],
    });
    if !body.stream {
        return ok(&answer);
    }
    let mut response = Response::new(Body::from(format!("data: {answer}\n\ndata: [DONE]\n\n")));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}
