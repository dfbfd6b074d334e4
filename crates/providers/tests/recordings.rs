//! Recorded streams of real providers decode to the result of an independent reader, however the bytes are split.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "reads its own test data, and may fail"
)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use model::{Chunk, Cost, Part, Reply, Stop, Usage, Wire};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

#[derive(Deserialize)]
struct Recording {
    api: Wire,
    host: String,
    body: Option<String>,
    body_base64: Option<String>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    text: String,
    thinking: String,
    tool_calls: Vec<Call>,
    stop: Option<String>,
    usage: Value,
}

#[derive(Deserialize, Debug, PartialEq)]
struct Call {
    id: Option<String>,
    name: String,
    input: Value,
}

/// The result of decoding a reply.
#[derive(Debug, PartialEq)]
struct Read {
    text: String,
    thinking: String,
    calls: Vec<Call>,
    stop: Option<Stop>,
    usage: Option<Usage>,
    cost: Option<Cost>,
}

#[tokio::test]
async fn every_recording_decodes_to_its_content_however_its_bytes_are_split() {
    // An environment variable can name a directory with more recordings.
    let folder = match std::env::var_os("HEW_RECORDINGS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recordings"),
    };
    let mut failures = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        seen += 1;
        let recording: Recording = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        for size in [1, 7, 4096] {
            if let Err(failure) = check(&recording, size).await {
                failures.push(format!("{} by {size}: {failure}", path.display()));
                break;
            }
        }
    }
    assert!(seen > 100, "only {seen} recordings in {}", folder.display());
    assert!(
        failures.is_empty(),
        "{} of {seen} differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

async fn check(recording: &Recording, size: usize) -> Result<(), String> {
    let bytes = match (&recording.body, &recording.body_base64) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(text)) => STANDARD.decode(text).unwrap(),
        (None, None) => panic!("a recording without a body"),
    };
    let pieces: Vec<Bytes> = bytes.chunks(size).map(Bytes::copy_from_slice).collect();
    let mut stream = providers::decode_reply(recording.api, &recording.host, stream::iter(pieces));
    let mut reply = Reply::default();
    let mut ended = false;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| format!("an error: {error}"))?;
        if ended {
            return Err(format!("{chunk:?} comes after the end"));
        }
        ended = matches!(chunk, Chunk::Stop(_));
        reply.push(chunk);
    }
    let (found, expected) = (read(reply, &recording.expect), expected(recording));
    if found == expected {
        Ok(())
    } else {
        Err(format!("\n    found {found:?}\n expected {expected:?}"))
    }
}

fn read(reply: Reply, expect: &Expect) -> Read {
    let (stop, usage, cost) = (reply.stop.clone(), reply.usage, reply.cost);
    let mut read = Read {
        text: String::new(),
        thinking: String::new(),
        calls: Vec::new(),
        stop,
        usage,
        cost,
    };
    for part in reply.into_message().parts {
        match part {
            Part::Text { text, .. } => read.text.push_str(&text),
            Part::Thinking { text, .. } => read.thinking.push_str(&text),
            Part::ToolCall {
                id,
                name,
                input,
                malformed,
                ..
            } => {
                assert_eq!(malformed, None);
                // If the vendor sent no id, any id is correct.
                let given = expect
                    .tool_calls
                    .get(read.calls.len())
                    .is_none_or(|call| call.id.as_deref().is_some_and(|id| !id.is_empty()));
                read.calls.push(Call {
                    id: given.then(|| id.to_string()),
                    name,
                    input,
                });
            }
            Part::ToolResult { .. } | Part::Media(_) => panic!("a model sent {part:?}"),
        }
    }
    read
}

fn expected(recording: &Recording) -> Read {
    let expect = &recording.expect;
    let calls = expect.tool_calls.iter().map(|call| Call {
        id: call.id.clone().filter(|id| !id.is_empty()),
        name: call.name.clone(),
        input: call.input.clone(),
    });
    let calls: Vec<Call> = calls.collect();
    Read {
        text: expect.text.clone(),
        thinking: expect.thinking.clone(),
        stop: expect.stop.as_deref().map(|word| stop(word, !calls.is_empty())),
        calls,
        usage: if expect.usage.is_null() {
            None
        } else {
            Some(usage(recording.api, &expect.usage))
        },
        cost: cost(&expect.usage),
    }
}

/// The vendor's price; xAI counts in ten-billionths of a dollar.
fn cost(usage: &Value) -> Option<Cost> {
    let named = |key: &str, unit: f64| {
        usage
            .get(key)
            .and_then(Value::as_f64)
            .map(|figure| Cost::from_usd(figure / unit))
    };
    named("cost", 1.0).or_else(|| named("cost_in_usd_ticks", 1e10))
}

fn stop(word: &str, called: bool) -> Stop {
    match word {
        "tool_use" | "tool_calls" | "function_call" => Stop::ToolUse,
        "end_turn" | "stop" | "STOP" | "completed" | "stop_sequence" if called => Stop::ToolUse,
        "end_turn" | "stop" | "STOP" | "completed" | "stop_sequence" => Stop::End,
        "max_tokens" | "length" | "MAX_TOKENS" | "incomplete" | "max_output_tokens" => Stop::MaxTokens,
        "refusal" | "content_filter" | "SAFETY" => Stop::Refusal { detail: None },
        other => Stop::Other { word: other.into() },
    }
}

/// The vendor's usage figures.
fn usage(api: Wire, usage: &Value) -> Usage {
    let get = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    match api {
        Wire::BedrockConverse => Usage {
            input: get("/inputTokens"),
            output: get("/outputTokens"),
            ..Usage::default()
        },
        Wire::AnthropicMessages | Wire::BedrockAnthropic | Wire::VertexAnthropic => {
            let hour = get("/cache_creation/ephemeral_1h_input_tokens");
            Usage {
                input: get("/input_tokens"),
                cache_read: get("/cache_read_input_tokens"),
                cache_write: get("/cache_creation_input_tokens") - hour,
                cache_write_1h: hour,
                output: get("/output_tokens"),
                thinking: get("/output_tokens_details/thinking_tokens"),
                estimated: false,
            }
        }
        Wire::OpenaiChat => {
            let (prompt, completion) = (get("/prompt_tokens"), get("/completion_tokens"));
            let thinking = get("/completion_tokens_details/reasoning_tokens");
            // xAI, and Vercel for Gemini, count reasoning in addition to the completion, the others within it.
            let beside =
                thinking > completion || thinking > 0 && get("/total_tokens") == prompt + completion + thinking;
            let read = get("/prompt_tokens_details/cached_tokens").max(get("/prompt_cache_hit_tokens"));
            let write = get("/prompt_tokens_details/cache_write_tokens");
            Usage {
                input: prompt - read - write,
                cache_read: read,
                cache_write: write,
                output: if beside { completion + thinking } else { completion },
                thinking,
                ..Usage::default()
            }
        }
        Wire::OpenaiResponses => {
            let read = get("/input_tokens_details/cached_tokens");
            Usage {
                input: get("/input_tokens") - read,
                cache_read: read,
                output: get("/output_tokens"),
                thinking: get("/output_tokens_details/reasoning_tokens"),
                ..Usage::default()
            }
        }
        Wire::Gemini => {
            let read = get("/cachedContentTokenCount");
            let thinking = get("/thoughtsTokenCount");
            Usage {
                input: get("/promptTokenCount") + get("/toolUsePromptTokenCount") - read,
                cache_read: read,
                output: get("/candidatesTokenCount") + thinking,
                thinking,
                ..Usage::default()
            }
        }
    }
}
