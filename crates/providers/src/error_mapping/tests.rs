//! Real error responses of providers and their mapping.

use super::*;
use serde_json::json;

fn kind(error: &Error) -> &'static str {
    match error {
        Error::Credentials { .. } => "credentials",
        Error::ContextOverflow { .. } => "overflow",
        Error::RateLimited { .. } => "rate",
        Error::Overloaded { .. } => "overloaded",
        Error::ContentFiltered { .. } => "filtered",
        Error::Refused { .. } => "refused",
        Error::Server { .. } => "server",
        Error::NotFound { .. } => "not found",
        Error::Connection { .. } => "connection",
        Error::StreamCut { .. } => "cut",
        Error::Stalled { .. } => "stalled",
        Error::InvalidResponse { .. } => "garbled",
        Error::Agent { .. } => "agent",
        Error::BadRequest { .. } => "bad",
        Error::ToolsUnsupported { .. } => "tools",
        Error::ReplyTooLong { .. } => "long",
        Error::PartRejected { .. } => "part",
    }
}

fn response_error(status: u16, body: &str) -> Error {
    from_response("p", status, &HeaderMap::new(), body.as_bytes())
}

#[test]
fn the_enforced_window_is_read_from_the_error() {
    for (body, expected) in [
        (
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9001,"n_ctx":8192}}"#,
            Some(8_192),
        ),
        (
            r#"{"error":{"message":"request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it"}}"#,
            Some(8_192),
        ),
        (
            r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion)."}}"#,
            Some(4_096),
        ),
        (
            r#"{"error":{"message":"Trying to keep the first 7139 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}}"#,
            Some(4_096),
        ),
        (
            r#"{"error":{"message":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5013>= n_ctx: 4096)"}}"#,
            Some(4_096),
        ),
        (
            r#"{"error":{"message":"prompt is too long: 218849 tokens > 200000 maximum"}}"#,
            Some(200_000),
        ),
        (
            r#"{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}"#,
            Some(1_048_576),
        ),
        (
            r#"{"error":{"message":"Input is too long for requested model."}}"#,
            None,
        ),
        (
            r#"{"error":{"message":"prompt too long; exceeded max context length by 1204 tokens"}}"#,
            None,
        ),
        (
            r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again"}}"#,
            Some(200_000),
        ),
        (
            r#"{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 8192 tokens and your request has 5000 input tokens (16384 > 8192 - 5000)."}}"#,
            Some(8_192),
        ),
        (
            r#"{"error":{"message":"The decoder prompt (length 9001) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens."}}"#,
            Some(8_192),
        ),
        (
            r#"{"error":"Cannot truncate prompt with n_keep (9001) >= n_ctx (8192)"}"#,
            Some(8_192),
        ),
        (
            r#"{"error":"Reached context length of 4096 tokens with this model, but this model does not support mid-generation context overflow"}"#,
            Some(4_096),
        ),
        (
            r#"{"message":"The input (9001 tokens) is longer than the model's context length (8192 tokens)."}"#,
            Some(8_192),
        ),
        (
            r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9001 `inputs` tokens and 4096 `max_new_tokens`"}"#,
            Some(8_192),
        ),
        (
            r#"{"error":{"message":"Prompt length 9001 is greater than max_seq_len 8192"}}"#,
            Some(8_192),
        ),
        (
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072"}}"#,
            Some(131_072),
        ),
    ] {
        match response_error(400, body) {
            Error::ContextOverflow { window, .. } => assert_eq!(window, expected, "{body}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_model_without_tool_calls_is_recognised() {
    for (status, body) in [
        (
            400,
            r#"{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools","type":"api_error"}}"#,
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","code":400}"#,
        ),
        (
            404,
            r#"{"error":{"message":"No endpoints found that support tool use.","code":404}}"#,
        ),
        // Groq, OpenAI, FastAPI servers, Bedrock, Gemini, others
        (
            400,
            r#"{"error":{"message":"`tool calling` is not supported with this model"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'tools' is not supported with this model.","param":"tools"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Unrecognized request argument supplied: tools"}}"#,
        ),
        (
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","tools"],"msg":"Extra inputs are not permitted"}]}"#,
        ),
        (
            400,
            r#"{"message":"This model doesn't support tool use in streaming mode."}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Function calling is not enabled for models/gemma-3-27b-it"}}"#,
        ),
        (400, r#"{"error":"Tools are not supported for this model."}"#),
        (
            400,
            r#"{"error":{"message":"This model does not support the tools parameter"}}"#,
        ),
        (501, r#"{"error":{"message":"tool calling not implemented"}}"#),
        (500, r#"{"error":{"message":"Cannot use tools with stream"}}"#),
    ] {
        assert_eq!(kind(&response_error(status, body)), "tools", "{body}");
    }
    for body in [
        r#"{"error":{"message":"this model does not support tool_choice=required"}}"#,
        r#"{"error":{"message":"Invalid schema for function 'read_file': 'oneOf' is not supported","param":"tools[0].function.parameters"}}"#,
        r#"{"error":{"message":"tools.0.custom.input_schema: unsupported keyword"}}"#,
        r#"{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"Extra inputs are not permitted"}]}"#,
    ] {
        assert_eq!(kind(&response_error(400, body)), "bad", "{body}");
    }
}

#[test]
fn a_prompt_that_a_filter_blocks_is_recognised() {
    for body in [
        r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400}}"#,
        r#"{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","code":"invalid_prompt"}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#,
    ] {
        assert_eq!(kind(&response_error(400, body)), "filtered", "{body}");
    }
}

#[test]
fn every_vendors_error_for_a_long_prompt_is_recognised() {
    let cases = [
        // Anthropic
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 218849 tokens > 200000 maximum"}}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again"}}"#,
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        ),
        // Bedrock
        (400, r#"{"message":"Input is too long for requested model."}"#),
        (
            400,
            r#"{"message":"The model returned the following errors: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 203187 tokens > 200000 maximum\"}}"}"#,
        ),
        // OpenAI, Azure
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        ),
        (
            429,
            r#"{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 31000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}"#,
        ),
        // Gemini
        (
            400,
            r#"{"error":{"code":400,"message":"The input token count (1187443) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048576.","status":"INVALID_ARGUMENT"}}]"#,
        ),
        // OpenRouter, with the upstream's response inside
        (
            400,
            r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens","code":400}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 1000001 tokens > 1000000 maximum\"}}","provider_name":"Anthropic"}}}"#,
        ),
        // Groq
        (
            400,
            r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ),
        (
            413,
            r#"{"error":{"message":"Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Requested 10000","type":"tokens","code":"rate_limit_exceeded"}}"#,
        ),
        // xAI
        (
            400,
            r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}"#,
        ),
        // Mistral
        (
            400,
            r#"{"object":"error","message":"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}"#,
        ),
        // DeepSeek
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 67000 tokens (62904 in the messages, 4096 in the completion).","type":"invalid_request_error"}}"#,
        ),
        // Cerebras, Z.ai, Moonshot
        (
            400,
            r#"{"message":"Please reduce the length of the messages or completion. Current length is 9241 while limit is 8192","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}"#,
        ),
        (
            400,
            r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072","type":"invalid_request_error"}}"#,
        ),
        // llama.cpp
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}"#,
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}"#,
        ),
        // Ollama, LM Studio, vLLM
        (
            400,
            r#"{"error":"prompt too long; exceeds maximum context length by 4 tokens"}"#,
        ),
        (500, r#"{"error":"the input length exceeds the context length"}"#),
        (
            400,
            r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","code":400}"#,
        ),
        // Others
        (500, r#"{"error":"context size exceeded: n_ctx = 8192"}"#),
        (
            400,
            r#"{"error":"The prompt has 20000 tokens but the model has a context window of 8192"}"#,
        ),
        (400, r#"{"error":"model's max input length is 8192, got 20000"}"#),
        (400, r#"{"error":"prompt tokens 20000 > max_seq_len 8192"}"#),
    ];
    for (status, body) in cases {
        assert_eq!(kind(&response_error(status, body)), "overflow", "{status} {body}");
    }
}

#[test]
fn other_error_responses_are_classified() {
    let cases = [
        (
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            "credentials",
        ),
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-ab***yz.","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            "credentials",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
            "credentials",
        ),
        (
            403,
            r#"{"message":"The security token included in the request is invalid."}"#,
            "credentials",
        ),
        (
            403,
            r#"{"message":"You don't have access to the model with the specified model ID."}"#,
            "refused",
        ),
        (
            403,
            r#"{"error":{"type":"permission_error","message":"Your organization does not have access"}}"#,
            "refused",
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
            "refused",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            "refused",
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            "refused",
        ),
        (
            429,
            r#"{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}"#,
            "refused",
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"17s"}]}}"#,
            "rate",
        ),
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute"}}"#,
            "rate",
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-nothing"}}"#,
            "not found",
        ),
        (
            400,
            r#"{"error":{"message":"nothing/at-all is not a valid model ID","code":400}}"#,
            "not found",
        ),
        (
            400,
            r#"{"message":"The provided model identifier is invalid."}"#,
            "not found",
        ),
        (404, "404 page not found", "not found"),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "overloaded",
        ),
        (
            503,
            r#"{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}"#,
            "overloaded",
        ),
        (
            500,
            r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#,
            "server",
        ),
        (
            502,
            "<html><head><title>502 Bad Gateway</title></head></html>",
            "server",
        ),
        (524, "<html><title>a timeout occurred</title></html>", "server"),
        (408, "", "server"),
        (409, r#"{"error":{"message":"conflict"}}"#, "server"),
        (
            400,
            r#"{"error":{"message":"temperature is deprecated for this model.","type":"invalid_request_error"}}"#,
            "bad",
        ),
        (
            400,
            r#"{"error":{"message":"max_tokens: 300000 > 128000, which is the maximum allowed number of output tokens","type":"invalid_request_error"}}"#,
            "bad",
        ),
        (
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"Extra inputs are not permitted"}]}"#,
            "bad",
        ),
        (307, "", "bad"),
    ];
    for (status, body, expected) in cases {
        assert_eq!(kind(&response_error(status, body)), expected, "{status} {body}");
    }
}

#[test]
fn errors_within_a_stream_are_classified_by_type() {
    let cases = [
        ("overloaded_error", "Overloaded", "overloaded"),
        ("rate_limit_error", "slow down", "rate"),
        ("rate_limit_exceeded", "Please try again in 2s", "rate"),
        ("api_error", "Internal server error", "server"),
        ("server_error", "The server had an error", "server"),
        ("invalid_request_error", "prompt is too long: 1 > 0", "overflow"),
        (
            "context_length_exceeded",
            "Your input exceeds the context window",
            "overflow",
        ),
        (
            "invalid_request_error",
            "messages: at least one message is required",
            "bad",
        ),
        ("authentication_error", "invalid key", "credentials"),
        ("insufficient_quota", "no money", "refused"),
        ("502", "Provider returned error", "server"),
        ("", "", "server"),
    ];
    for (word, message, expected) in cases {
        assert_eq!(
            kind(&from_stream_event("p", word, message)),
            expected,
            "{word} {message}"
        );
    }
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#;
    assert_eq!(kind(&from_stream_body("p", body)), "overloaded");
}

#[test]
fn messages_are_short_and_quote_the_provider() {
    let message = |status: u16, body: &str| response_error(status, body).to_string();
    assert_eq!(
        message(500, r#"{"error":{"message":"it broke","type":"server_error"}}"#),
        "p failed (HTTP 500): it broke"
    );
    assert_eq!(
        message(
            502,
            "<!DOCTYPE html><html><head><title>Bad\u{7} gateway</title></head><body>…</body></html>"
        ),
        "p failed (HTTP 502): a web page titled \u{201c}Bad  gateway\u{201d}"
    );
    assert_eq!(message(500, ""), "p failed (HTTP 500): no reason given");
    assert!(message(500, &"x".repeat(100_000)).chars().count() < 700);
    let mut headers = HeaderMap::new();
    headers.insert("location", "https://elsewhere/v1".parse().unwrap());
    let moved = from_response("p", 301, &headers, b"").to_string();
    assert!(moved.contains("https://elsewhere/v1"), "{moved}");
}

#[test]
fn the_retry_delay_is_returned() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", "7".parse().unwrap());
    let error = from_response("p", 429, &headers, b"{}");
    assert_eq!(
        error.retry(),
        model::Retry::UpTo {
            times: 4,
            after: Some(Duration::from_secs(7))
        }
    );
    let body =
        json!({"error": {"message": "slow", "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "17s"}]}});
    let Error::RateLimited { retry_after, .. } = response_error(429, &body.to_string()) else {
        panic!("not rate-limited")
    };
    assert_eq!(retry_after, Some(Duration::from_secs(17)));
}

#[test]
fn a_key_repeated_by_the_provider_is_redacted() {
    let mut error = response_error(401, r#"{"error":{"message":"Invalid key: sk-very-secret"}}"#);
    redact(&mut error, "sk-very-secret");
    assert_eq!(error.to_string(), "p rejected the credentials: Invalid key: ***");
}

#[test]
fn roo_codes_recorded_errors_are_classified_as_in_roo_code() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../../tests/data/overflow/roo.json")).unwrap();
    let mut judged = 0;
    for case in &cases {
        let error = &case["error"];
        let Some((status, body)) = as_answer(error) else {
            continue;
        };
        judged += 1;
        let overflow = kind(&response_error(status, &body.to_string())) == "overflow";
        assert_eq!(Value::Bool(overflow), case["overflow"], "{case}");
    }
    assert_eq!((cases.len(), judged), (33, 31));
}

/// The HTTP response behind Roo Code's error object.
fn as_answer(error: &Value) -> Option<(u16, Value)> {
    if error["name"] == "LengthFinishReasonError" || error["status"].is_string() {
        return None;
    }
    let inner = &error["error"]["error"];
    if inner.is_object() {
        let status = if inner["type"] == "authentication_error" {
            401
        } else {
            400
        };
        return Some((status, json!({ "error": inner })));
    }
    let status = [
        &error["status"],
        &error["error"]["status"],
        &error["response"]["status"],
    ];
    let status = status.iter().find_map(|status| status.as_u64()).unwrap_or(400);
    Some((status as u16, error.clone()))
}
