//! The types of the vendors' Python SDKs accept every rendered request and reject broken ones.
//!
//! The SDKs run in the interpreter named by `HEW_PYTHON`, or in `.tools/python`, which `cargo xtask ci` creates.
//! Without either, the test prints a note and passes.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "runs Python, and may fail"
)]

use bytes::Bytes;
use model::{
    Block, Breakpoint, Catalogue, Effort, Info, Media, Message, OutputSchema, Part, ReplayData, Request, Role,
    ToolChoice, ToolOutcome, ToolSpec, Wire,
};
use providers::{GoogleAuth, GoogleSettings, ProviderSettings, Secret};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// One body and whether the SDK must accept it.
struct Case {
    name: String,
    wire: Wire,
    body: Value,
    good: bool,
}

#[test]
fn the_vendors_own_types_accept_every_request_and_reject_broken_ones() {
    let Some(python) = python() else {
        eprintln!("skipped: no Python with the vendors' SDKs (set HEW_PYTHON, or run `cargo xtask ci`)");
        return;
    };
    let mut cases = Vec::new();
    for (wire, provider, id) in MODELS {
        for (name, request) in requests(*wire) {
            let (info, settings) = (info(*wire, provider, id), settings(*wire, provider));
            let (body, _) = providers::render_body(&request, &info, &settings);
            let body: Value = serde_json::from_slice(&body).expect("a body is JSON");
            cases.push(Case {
                name: format!("{} {id}: {name}", wire.name()),
                wire: *wire,
                body,
                good: true,
            });
        }
    }
    let broken: Vec<Case> = cases.iter().flat_map(break_in_many_ways).collect();
    assert!(broken.len() > 100, "only {} broken requests", broken.len());
    cases.extend(broken);
    let answers = validate(&python, &cases);
    assert_eq!(answers.len(), cases.len(), "the validator stopped early");
    let wrong: Vec<String> = cases
        .iter()
        .zip(&answers)
        .filter(|(case, answer)| case.good != answer.is_none())
        .map(|(case, answer)| match answer {
            Some(error) => format!("{} was refused: {error}\n{}", case.name, case.body),
            None => format!("{} was taken\n{}", case.name, case.body),
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n\n")
    );
}

const MODELS: &[(Wire, &str, &str)] = &[
    (Wire::AnthropicMessages, "anthropic", "claude-opus-4-6"),
    (Wire::AnthropicMessages, "anthropic", "claude-sonnet-4-5"),
    (Wire::AnthropicMessages, "anthropic", "claude-sonnet-5"),
    (
        Wire::BedrockAnthropic,
        "bedrock",
        "anthropic.claude-haiku-4-5-20251001-v1:0",
    ),
    (
        Wire::BedrockAnthropic,
        "bedrock",
        "anthropic.claude-sonnet-4-20250514-v1:0",
    ),
    (Wire::VertexAnthropic, "vertex", "claude-opus-4-6"),
    (Wire::OpenaiChat, "openai", "gpt-5.5"),
    (Wire::OpenaiChat, "openai", "gpt-4o"),
    (Wire::OpenaiResponses, "openai", "gpt-5.5"),
    (Wire::OpenaiResponses, "openai", "gpt-4o"),
    (Wire::Gemini, "gemini", "gemini-2.5-pro"),
    (Wire::Gemini, "gemini", "gemini-3.1-pro-preview"),
];

fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = std::env::var_os("HEW_PYTHON").map(PathBuf::from);
    named.or_else(|| Some(root.join(".tools/python/bin/python")).filter(|path| path.exists()))
}

/// The SDK's error for each case; `None` if it accepts it.
fn validate(python: &Path, cases: &[Case]) -> Vec<Option<String>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/validate.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let mut lines = String::new();
    for case in cases {
        lines += &json!({"name": case.name, "wire": case.wire.name(), "body": case.body}).to_string();
        lines.push('\n');
    }
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("Python ends");
    writer.join().expect("the writer ends").expect("Python reads all cases");
    assert!(output.status.success(), "the validator failed");
    let text = String::from_utf8(output.stdout).expect("text");
    let answers = text.lines().zip(cases).map(|(line, case)| {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(answer["name"], case.name.as_str());
        answer["error"].as_str().map(str::to_string)
    });
    answers.collect()
}

/// The same body with one error, in several variants.
fn break_in_many_ways(case: &Case) -> Vec<Case> {
    let turns = match case.wire {
        Wire::OpenaiResponses => "input",
        Wire::Gemini => "contents",
        Wire::AnthropicMessages
        | Wire::BedrockAnthropic
        | Wire::BedrockConverse
        | Wire::VertexAnthropic
        | Wire::OpenaiChat => "messages",
    };
    let mut broken = Vec::new();
    let mut push = |how: &str, change: &dyn Fn(&mut Value)| {
        let mut body = case.body.clone();
        change(&mut body);
        if body != case.body {
            broken.push(Case {
                name: format!("{} with {how}", case.name),
                wire: case.wire,
                body,
                good: false,
            });
        }
    };
    push("an unknown field", &|body| body["no_such_field"] = json!(1));
    push("no turns", &|body| {
        // The types of the Responses API have no required fields.
        if case.wire != Wire::OpenaiResponses {
            body.as_object_mut().and_then(|body| body.remove(turns));
        }
    });
    push("a turn with an unknown field", &|body| {
        body[turns][0]["no_such_field"] = json!(1)
    });
    push("turns that are a number", &|body| body[turns] = json!(7));
    push("a block of an unknown type", &|body| {
        let blocks = ["content", "parts"].iter().find(|key| body[turns][0][**key].is_array());
        if let Some(key) = blocks {
            body[turns][0][*key][0] = json!({"type": "hologram", "hologram": 1});
        }
    });
    push("a tool without a name", &|body| {
        if case.wire == Wire::Gemini {
            // In Gemini's types every field is optional, so the error is a wrong type.
            if body["tools"].is_array() {
                body["tools"][0]["functionDeclarations"][0]["name"] = json!(["list"]);
            }
        } else if let Some(tool) = body["tools"].get_mut(0) {
            // Chat Completions nests the name one level deeper.
            let named = if tool.get("function").is_some() {
                &mut tool["function"]
            } else {
                tool
            };
            named.as_object_mut().and_then(|tool| tool.remove("name"));
        }
    });
    broken
}

fn info(wire: Wire, provider: &str, id: &str) -> Info {
    let catalogue = Catalogue::embedded();
    let known = catalogue
        .get(provider, id)
        .or_else(|| catalogue.get("anthropic", id))
        .or_else(|| catalogue.get("gemini", id));
    let mut info = known
        .unwrap_or_else(|| panic!("{provider}/{id} is not in the catalogue"))
        .clone();
    info.provider = provider.into();
    info.wire = wire;
    info
}

fn settings(wire: Wire, provider: &str) -> ProviderSettings {
    let mut settings = ProviderSettings::new(provider, wire, "https://example.com");
    if let Some(preset) = providers::presets::preset(provider) {
        settings.quirks = preset.quirks.clone();
    }
    if wire == Wire::VertexAnthropic {
        settings.google = Some(GoogleSettings {
            project: "p".into(),
            location: "global".into(),
            auth: GoogleAuth::Token(Secret::new("t")),
        });
    }
    settings
}

fn message(role: Role, parts: Vec<Part>) -> Arc<Message> {
    Arc::new(Message { role, parts })
}

fn media(mime: &str, name: &str) -> Media {
    Media {
        mime: mime.into(),
        name: Some(name.into()),
        data: Bytes::from_static(b"not really"),
    }
}

fn call(id: &str, input: Value) -> Part {
    Part::ToolCall {
        id: id.into(),
        name: "read_file".into(),
        input,
        malformed: None,
        replay: None,
    }
}

fn result(id: &str, content: Vec<Block>, outcome: ToolOutcome) -> Part {
    Part::ToolResult {
        id: id.into(),
        name: "read_file".into(),
        content,
        outcome,
    }
}

fn tools() -> Arc<[ToolSpec]> {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Input",
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file."},
            "lines": {"type": ["integer", "null"], "minimum": 1},
            "mode": {"enum": ["text", "bytes"]},
            "ranges": {"type": "array", "items": {"$ref": "#/$defs/Range"}},
        },
        "required": ["path"],
        "$defs": {"Range": {"type": "object", "properties": {"from": {"type": "integer"}}, "additionalProperties": false}},
    });
    Arc::from([
        ToolSpec {
            name: "read_file".into(),
            description: "Reads a file.".into(),
            input_schema: schema,
        },
        ToolSpec {
            name: "now".into(),
            description: "Returns the time.".into(),
            input_schema: json!({"type": "object", "properties": {}}),
        },
    ])
}

/// Reasoning in each wire's format, produced by the wire's own decoder.
fn thinking(wire: Wire) -> Vec<Part> {
    let signed = |data: Value| {
        vec![Part::Thinking {
            text: "Let me see.".into(),
            replay: Some(ReplayData {
                wire: Wire::AnthropicMessages.name().into(),
                data,
            }),
        }]
    };
    match wire {
        Wire::AnthropicMessages | Wire::BedrockAnthropic | Wire::BedrockConverse | Wire::VertexAnthropic => [
            signed(json!({"signature": "c2ln"})),
            signed(json!({"redacted": "blob"})),
        ]
        .concat(),
        Wire::OpenaiResponses => decoded(
            wire,
            &[
                r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}"#,
                r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
                r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Let me see."}"#,
                r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Let me see."}],"encrypted_content":"gAAA"}}"#,
                r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}"#,
                r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"I look."}"#,
                r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I look.","annotations":[]}]}}"#,
                r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
            ],
        ),
        Wire::Gemini => decoded(
            wire,
            &[
                r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Let me see.","thought":true}]}}]}"#,
                r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"I look.","thoughtSignature":"c2ln"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}"#,
            ],
        ),
        Wire::OpenaiChat => vec![Part::Thinking {
            text: "Let me see.".into(),
            replay: None,
        }],
    }
}

fn decoded(wire: Wire, events: &[&str]) -> Vec<Part> {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        use futures::StreamExt as _;
        let mut reply = model::Reply::default();
        let mut stream = providers::decode_reply(wire, "p", futures::stream::iter([Bytes::from(body)]));
        while let Some(chunk) = stream.next().await {
            reply.push(chunk.expect("a good stream"));
        }
        reply.into_message().parts
    })
}

fn requests(wire: Wire) -> Vec<(&'static str, Request)> {
    let base = Request {
        system: vec!["You work on code.".into(), "Today is a good day.".into()],
        messages: vec![message(Role::User, vec![Part::text("What does it say?")])].into(),
        max_output: Some(8_000),
        ..Request::default()
    };
    let with_tools = Request {
        tools: tools(),
        ..base.clone()
    };
    let schema = OutputSchema {
        name: "answer".into(),
        schema: json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"], "additionalProperties": false}),
    };
    vec![
        ("plain text", base.clone()),
        (
            "a temperature and a name for the cache",
            Request {
                temperature: Some(0.2),
                affinity: Some("session-1".into()),
                ..base.clone()
            },
        ),
        (
            "images and a document",
            Request {
                messages: vec![message(
                    Role::User,
                    vec![
                        Part::text("See."),
                        Part::Media(media("image/png", "a.png")),
                        Part::Media(media("application/pdf", "b.pdf")),
                        Part::Media(media("text/plain", "c.txt")),
                    ],
                )]
                .into(),
                ..base.clone()
            },
        ),
        (
            "tools, thinking, parallel calls and results",
            Request {
                effort: Some(Effort::High),
                messages: vec![
                    message(Role::User, vec![Part::text("Read both.")]),
                    message(
                        Role::Assistant,
                        [
                            thinking(wire),
                            vec![
                                Part::text("I read both."),
                                call("call_1", json!({"path": "a"})),
                                call("call_2", json!({})),
                            ],
                        ]
                        .concat(),
                    ),
                    message(
                        Role::User,
                        vec![
                            result(
                                "call_1",
                                vec![Block::text("one"), Block::Media(media("image/png", "shot.png"))],
                                ToolOutcome::Ok,
                            ),
                            result("call_2", vec![], ToolOutcome::Error),
                        ],
                    ),
                    message(Role::User, vec![Part::text("Continue.")]),
                ]
                .into(),
                breakpoints: vec![
                    Breakpoint::Tools,
                    Breakpoint::System(0),
                    Breakpoint::Message(1),
                    Breakpoint::Message(3),
                ],
                ..with_tools.clone()
            },
        ),
        (
            "calls of another vendor",
            Request {
                messages: vec![
                    message(Role::User, vec![Part::text("Read.")]),
                    message(
                        Role::Assistant,
                        vec![
                            Part::Thinking {
                                text: "Elsewhere.".into(),
                                replay: Some(ReplayData {
                                    wire: "elsewhere".into(),
                                    data: json!({"signature": "x"}),
                                }),
                            },
                            call("functions.read_file:0", json!({"path": "a"})),
                        ],
                    ),
                    message(
                        Role::User,
                        vec![result(
                            "functions.read_file:0",
                            vec![Block::text("one")],
                            ToolOutcome::Ok,
                        )],
                    ),
                ]
                .into(),
                ..with_tools.clone()
            },
        ),
        (
            "a forced tool",
            Request {
                tool_choice: ToolChoice::Named("read_file".into()),
                effort: Some(Effort::Low),
                ..with_tools.clone()
            },
        ),
        (
            "some tool",
            Request {
                tool_choice: ToolChoice::Required,
                ..with_tools.clone()
            },
        ),
        (
            "no tool",
            Request {
                tool_choice: ToolChoice::None,
                ..with_tools.clone()
            },
        ),
        (
            "an answer by a schema",
            Request {
                output_schema: Some(schema.clone()),
                effort: Some(Effort::Medium),
                ..base.clone()
            },
        ),
        (
            "an answer with a schema and tools",
            Request {
                output_schema: Some(schema),
                ..with_tools.clone()
            },
        ),
        (
            "no thinking",
            Request {
                effort: Some(Effort::None),
                ..with_tools.clone()
            },
        ),
        (
            "the most thinking",
            Request {
                effort: Some(Effort::Max),
                max_output: None,
                ..with_tools
            },
        ),
    ]
}
