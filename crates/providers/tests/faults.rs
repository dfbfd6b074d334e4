//! Failures of providers are reported as specific errors on every wire, and harmless faults are tolerated.
#![allow(clippy::expect_used, reason = "a test may fail")]

use bytes::Bytes;
use futures::StreamExt as _;
use model::{
    CallId, Chunk, Effort, Error, Features, Info, Message, Model, Part, Reply, Request, Stop, TokenLimits, ToolSpec,
    Wire,
};
use providers::{AwsAuth, AwsKeys, AwsSettings, GoogleAuth, GoogleSettings, ProviderSettings, Secret};
use serde_json::{Map, json};
use std::sync::Arc;
use std::time::Duration;
use testkit::{Fault, FaultPosition, Script, Server, Turn};

const WIRES: [Wire; 6] = [
    Wire::AnthropicMessages,
    Wire::OpenaiChat,
    Wire::OpenaiResponses,
    Wire::Gemini,
    Wire::BedrockAnthropic,
    Wire::VertexAnthropic,
];

/// Checks that an error is the expected one.
type Right = Box<dyn Fn(&Error) -> bool>;

/// The result of a request.
#[derive(Debug)]
struct ModelRun {
    reply: Reply,
    error: Option<Error>,
}

#[tokio::test]
async fn errors_before_the_stream_are_classified_on_every_wire() {
    let rate = |after: Option<Duration>| move |error: &Error| matches!(error, Error::RateLimited { retry_after, .. } if *retry_after == after);
    let cases: Vec<(Fault, Right)> = vec![
        (Fault::rate_limit(), Box::new(rate(None))),
        (Fault::rate_limit_for(2.0), Box::new(rate(Some(Duration::from_secs(2))))),
        (
            Fault::rate_limit_for_ms(1500),
            Box::new(rate(Some(Duration::from_millis(1500)))),
        ),
        (
            Fault::status(500),
            Box::new(|error| matches!(error, Error::Server { status: 500, .. })),
        ),
        (
            Fault::status(502),
            Box::new(|error| matches!(error, Error::Server { status: 502, .. })),
        ),
        (
            Fault::overloaded(),
            Box::new(|error| matches!(error, Error::Overloaded { .. })),
        ),
        (
            Fault::Unauthorized,
            Box::new(|error| matches!(error, Error::Credentials { .. })),
        ),
        (
            Fault::ContextOverflow { in_stream: false },
            Box::new(|error| matches!(error, Error::ContextOverflow { .. })),
        ),
        (
            Fault::BadRequest {
                message: "no such knob".into(),
            },
            Box::new(|error| matches!(error, Error::BadRequest { detail, .. } if detail.contains("no such knob"))),
        ),
        (
            Fault::Hangup,
            Box::new(|error| matches!(error, Error::Connection { .. })),
        ),
        (
            Fault::HtmlPage,
            Box::new(|error| matches!(error, Error::InvalidResponse { .. })),
        ),
        (
            Fault::JsonError,
            Box::new(|error| !matches!(error, Error::InvalidResponse { .. } | Error::StreamCut { .. })),
        ),
        (
            Fault::stall(FaultPosition::Head),
            Box::new(|error| matches!(error, Error::Stalled { .. })),
        ),
    ];
    for wire in WIRES {
        for (fault, is_right) in &cases {
            let run = ask(wire, fault).await;
            let error = run
                .error
                .as_ref()
                .unwrap_or_else(|| panic!("{wire:?} succeeded despite {fault:?}: {run:?}"));
            assert!(is_right(error), "{wire:?} {fault:?}: {error:?}");
            assert!(run.reply.is_empty(), "{wire:?} {fault:?}: {run:?}");
        }
    }
}

#[tokio::test]
async fn errors_within_the_stream_come_after_the_chunks_that_arrived() {
    type Right = fn(&Error) -> bool;
    let cut = |error: &Error| matches!(error, Error::StreamCut { .. });
    let cases: [(Fault, Right); 9] = [
        (Fault::ContextOverflow { in_stream: true }, |error| {
            matches!(error, Error::ContextOverflow { .. })
        }),
        (Fault::cut(FaultPosition::Start), cut),
        (Fault::cut(FaultPosition::Text), cut),
        (Fault::cut(FaultPosition::Tool), cut),
        (
            Fault::EndEarly {
                at: FaultPosition::Text,
            },
            cut,
        ),
        (
            Fault::EndEarly {
                at: FaultPosition::Tool,
            },
            cut,
        ),
        (Fault::stall(FaultPosition::Text), |error| {
            matches!(error, Error::Stalled { .. })
        }),
        (
            Fault::Garbage {
                at: FaultPosition::Text,
            },
            |error| matches!(error, Error::InvalidResponse { .. }),
        ),
        (
            Fault::ErrorEvent {
                at: FaultPosition::Text,
            },
            |error| {
                matches!(
                    error,
                    Error::Server { .. } | Error::Overloaded { .. } | Error::RateLimited { .. }
                )
            },
        ),
    ];
    for wire in WIRES {
        for (fault, is_right) in &cases {
            let run = ask(wire, fault).await;
            let error = run
                .error
                .as_ref()
                .unwrap_or_else(|| panic!("{wire:?} succeeded despite {fault:?}: {run:?}"));
            assert!(is_right(error), "{wire:?} {fault:?}: {error:?}");
            assert_eq!(run.reply.stop, None, "{wire:?} {fault:?}");
            let text = run.reply.into_message().text();
            assert!(TEXT.starts_with(&text), "{wire:?} {fault:?}: {text:?}");
            if matches!(
                fault,
                Fault::Cut {
                    at: FaultPosition::Tool
                } | Fault::EndEarly {
                    at: FaultPosition::Tool
                }
            ) {
                assert_eq!(text, TEXT, "{wire:?} {fault:?}");
            }
        }
    }
}

#[tokio::test]
async fn protocol_deviations_are_tolerated() {
    let faults = [
        Fault::Noise,
        Fault::huge_line(),
        Fault::Drip { ms: 0 },
        Fault::MissingUsage,
    ];
    for wire in WIRES {
        for fault in faults.iter().map(Some).chain([None]) {
            let turn = match fault {
                Some(fault) => turn().with_permanent_fault(fault.clone()),
                None => turn(),
            };
            let run = ask_within(wire, turn, LONG_STALL).await;
            assert!(run.error.is_none(), "{wire:?} {fault:?}: {:?}", run.error);
            assert_eq!(run.reply.stop, Some(Stop::ToolUse), "{wire:?} {fault:?}");
            if fault != Some(&Fault::MissingUsage) {
                assert!(
                    run.reply
                        .usage
                        .is_some_and(|usage| usage.prompt_tokens() > 0 && usage.output > 0),
                    "{wire:?} {fault:?}"
                );
            }
            let message = run.reply.into_message();
            assert_eq!(message.text(), TEXT, "{wire:?} {fault:?}");
            let calls: Vec<_> = calls(&message)
                .into_iter()
                .map(|(_, name, path)| (name, path))
                .collect();
            assert_eq!(
                calls,
                [("read_file", "a.txt"), ("read_file", "b.txt")],
                "{wire:?} {fault:?}"
            );
        }
    }
}

#[tokio::test]
async fn calls_with_bad_ids_or_partial_input_are_distinguished() {
    for wire in WIRES {
        for fault in [Fault::DuplicateIds, Fault::EmptyIds] {
            let run = ask(wire, &fault).await;
            assert!(run.error.is_none(), "{wire:?} {fault:?}: {:?}", run.error);
            let message = run.reply.into_message();
            let calls = calls(&message);
            assert_eq!(calls.len(), 2, "{wire:?} {fault:?}");
            assert_ne!(calls[0].0, calls[1].0, "{wire:?} {fault:?}");
            assert!(
                calls.iter().all(|(id, ..)| !id.as_str().is_empty()),
                "{wire:?} {fault:?}"
            );
        }
        // Gemini sends complete objects, which cannot be truncated.
        if wire != Wire::Gemini {
            let run = ask(wire, &Fault::TruncatedArguments).await;
            let parts = run.reply.into_message().parts;
            let last = parts.iter().rev().find(|part| matches!(part, Part::ToolCall { .. }));
            assert!(
                matches!(last, Some(Part::ToolCall { malformed: Some(_), .. })),
                "{wire:?}: {parts:?}"
            );
        }
    }
}

#[tokio::test]
async fn an_endless_line_is_rejected() {
    for wire in [Wire::AnthropicMessages, Wire::BedrockAnthropic] {
        let turn = turn().with_permanent_fault(Fault::HugeLine { bytes: 12 << 20 });
        let run = ask_within(wire, turn, LONG_STALL).await;
        assert!(
            matches!(run.error, Some(Error::InvalidResponse { .. })),
            "{wire:?}: {:?}",
            run.error
        );
    }
}

#[tokio::test]
async fn an_unreachable_server_is_a_connection_error_without_the_key() {
    for wire in WIRES {
        let model = connect(wire, "http://127.0.0.1:1", providers::STALL_TIMEOUT);
        let Err(error) = model.stream(request()).await else {
            panic!("port 1 is in use")
        };
        assert!(matches!(error, Error::Connection { .. }), "{wire:?}: {error:?}");
        assert!(!format!("{error:?} {error}").contains("sk-test"), "{error:?}");
    }
}

const LONG_STALL: Duration = Duration::from_secs(60);
const TEXT: &str = "I will read both files now, first the one and then the other.";

fn turn() -> Turn {
    Turn::text(TEXT)
        .thinking("Which files are there? I should read them before I say anything.")
        .call("read_file", json!({"path": "a.txt"}))
        .call("read_file", json!({"path": "b.txt"}))
}

fn calls(message: &Message) -> Vec<(&CallId, &str, &str)> {
    let calls = message.parts.iter().filter_map(|part| match part {
        Part::ToolCall { id, name, input, .. } => Some((id, name.as_str(), input["path"].as_str()?)),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
    });
    calls.collect()
}

async fn ask(wire: Wire, fault: &Fault) -> ModelRun {
    // Only a stall requires waiting.
    let stall = match fault {
        Fault::Stall { .. } => Duration::from_secs(1),
        _ => LONG_STALL,
    };
    ask_within(wire, turn().with_permanent_fault(fault.clone()), stall).await
}

async fn ask_within(wire: Wire, turn: Turn, stall: Duration) -> ModelRun {
    let server = Server::start(Script::new().turn(turn))
        .await
        .expect("the server starts");
    let mut run = ModelRun {
        reply: Reply::default(),
        error: None,
    };
    let mut stream = match connect(wire, &server.url(), stall).stream(request()).await {
        Ok(stream) => stream,
        Err(error) => {
            run.error = Some(error);
            return run;
        }
    };
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => {
                assert!(run.reply.stop.is_none(), "{chunk:?} comes after the end");
                assert!(!matches!(chunk, Chunk::Notice(_)));
                run.reply.push(chunk);
            }
            Err(error) => {
                assert!(run.error.is_none(), "two errors");
                run.error = Some(error);
            }
        }
    }
    run
}

fn connect(wire: Wire, url: &str, stall: Duration) -> Arc<dyn Model> {
    let base = match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => format!("{url}/v1"),
        Wire::Gemini => format!("{url}/v1beta"),
        Wire::AnthropicMessages | Wire::BedrockAnthropic | Wire::BedrockConverse | Wire::VertexAnthropic => {
            url.to_string()
        }
    };
    let mut settings = ProviderSettings::new("scripted", wire, base);
    settings.stall_timeout = stall;
    match wire {
        Wire::BedrockAnthropic | Wire::BedrockConverse => {
            let keys = AwsKeys {
                id: "AKID".into(),
                secret: Secret::new("sk-test"),
                session: None,
            };
            settings.aws = Some(AwsSettings {
                region: "us-east-1".into(),
                auth: AwsAuth::Keys(keys),
            });
        }
        Wire::VertexAnthropic => {
            settings.google = Some(GoogleSettings {
                project: "p".into(),
                location: "global".into(),
                auth: GoogleAuth::Token(Secret::new("sk-test")),
            });
        }
        Wire::AnthropicMessages | Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Gemini => {
            settings.key = Some(Secret::new("sk-test"));
        }
    }
    let info = Info {
        provider: "scripted".into(),
        id: "claude-sonnet-4-5".into(),
        wire,
        limits: TokenLimits {
            window: 200_000,
            output: 32_000,
        },
        parameters: 0,
        features: Features {
            tools: true,
            parallel_tools: true,
            images: true,
            pdf: true,
            reasoning: true,
            caching: true,
        },
        prices: None,
        deprecated_on: None,
        options: Map::new(),
    };
    providers::connect(info, settings).expect("good settings")
}

fn request() -> Request {
    Request {
        tools: Arc::from([ToolSpec {
            name: "read_file".into(),
            description: "Reads a file.".into(),
            input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
        }]),
        system: vec!["You work on code.".into()],
        messages: vec![Arc::new(Message::user("Read a.txt and b.txt."))].into(),
        effort: Some(Effort::Low),
        ..Request::default()
    }
}

#[tokio::test]
async fn a_body_that_is_not_a_stream_is_incomplete() {
    let mut stream = providers::decode_reply(
        Wire::AnthropicMessages,
        "p",
        futures::stream::iter([Bytes::from_static(b"hello")]),
    );
    assert!(matches!(stream.next().await, Some(Err(Error::StreamCut { .. }))));
    assert!(stream.next().await.is_none());
}
