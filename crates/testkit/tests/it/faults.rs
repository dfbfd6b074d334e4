//! Each fault occurs on every wire, and ends as scripted.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Fault, FaultPosition, RequestOutcome, ResponseEnd, Script, Server, Turn, Wire};
use tokio::io::AsyncReadExt;

use crate::client::{End, HEADERS, Response, Talk, ask, open, parse_response, path};
use crate::reader::{StreamContent, events, read_stream};

const TEXT: &str = "A sentence that is long enough to come in many deltas, so that there is a middle to break it in.";

fn turn() -> Turn {
    let input =
        json!({"path": "a/rather/long/path/that/comes/in/pieces.txt", "note": "so that there is a middle here too"});
    Turn::text(TEXT)
        .thinking("I had better think about this for a while first.")
        .call("read_file", input.clone())
        .call("read_file", input)
}

/// The reply with a fault, and the reply to the same request afterwards.
async fn response_with_fault(wire: Wire, fault: &Fault) -> (Response, StreamContent) {
    let server = Server::start(Script::new().turn(turn().with_fault(fault.clone(), 1)))
        .await
        .expect("starts");
    let response = ask(&server, wire, &Talk::thinking()).await;
    let again = ask(&server, wire, &Talk::thinking()).await;
    let outcomes: Vec<RequestOutcome> = server.requests().into_iter().map(|request| request.outcome).collect();
    assert_eq!(
        outcomes,
        [
            RequestOutcome::Fault {
                turn: 0,
                fault: fault.clone()
            },
            RequestOutcome::Turn { turn: 0 }
        ]
    );
    let again = read_stream(wire, &again.body());
    assert!(
        again.is_complete && again.text == TEXT && again.calls.len() == 2,
        "{wire:?} {fault:?}: {again:?}"
    );
    (response, again)
}

#[tokio::test]
async fn errors_have_the_vendors_status_and_format() {
    let kind = |wire: Wire, response: &Response| match wire {
        Wire::Anthropic => response.json()["error"]["type"].clone(),
        Wire::Vertex => response.json()["error"]
            .get("status")
            .unwrap_or(&response.json()["error"]["type"])
            .clone(),
        Wire::Bedrock => json!(response.header("x-amzn-errortype")),
        Wire::Chat | Wire::Responses => {
            let error = &response.json()["error"];
            if error["code"].is_null() {
                error["type"].clone()
            } else {
                error["code"].clone()
            }
        }
        Wire::Gemini => response.json()["error"]["status"].clone(),
    };
    let overflow = Fault::ContextOverflow { in_stream: false };
    let bad = Fault::BadRequest {
        message: "no".to_owned(),
    };
    let cases: [(Fault, [(u16, &str); 6]); 6] = [
        (
            Fault::rate_limit(),
            [
                (429, "rate_limit_error"),
                (429, "rate_limit_exceeded"),
                (429, "rate_limit_exceeded"),
                (429, "RESOURCE_EXHAUSTED"),
                (429, "ThrottlingException"),
                (429, "RESOURCE_EXHAUSTED"),
            ],
        ),
        (
            Fault::overloaded(),
            [
                (529, "overloaded_error"),
                (503, "server_error"),
                (503, "server_error"),
                (503, "UNAVAILABLE"),
                (503, "ServiceUnavailableException"),
                (529, "overloaded_error"),
            ],
        ),
        (
            Fault::status(500),
            [
                (500, "api_error"),
                (500, "server_error"),
                (500, "server_error"),
                (500, "INTERNAL"),
                (500, "InternalServerException"),
                (500, "api_error"),
            ],
        ),
        (
            Fault::Unauthorized,
            [
                (401, "authentication_error"),
                (401, "invalid_api_key"),
                (401, "invalid_api_key"),
                (401, "UNAUTHENTICATED"),
                (403, "UnrecognizedClientException"),
                (401, "UNAUTHENTICATED"),
            ],
        ),
        (
            overflow,
            [
                (400, "invalid_request_error"),
                (400, "context_length_exceeded"),
                (400, "context_length_exceeded"),
                (400, "INVALID_ARGUMENT"),
                (400, "ValidationException"),
                (400, "invalid_request_error"),
            ],
        ),
        (
            bad,
            [
                (400, "invalid_request_error"),
                (400, "invalid_request_error"),
                (400, "invalid_request_error"),
                (400, "INVALID_ARGUMENT"),
                (400, "ValidationException"),
                (400, "invalid_request_error"),
            ],
        ),
    ];
    for (fault, expected) in cases {
        for (wire, (status, name)) in Wire::ALL.into_iter().zip(expected) {
            let (response, _) = response_with_fault(wire, &fault).await;
            assert_eq!(
                (response.status, kind(wire, &response)),
                (status, json!(name)),
                "{wire:?} {fault:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_rate_limit_has_a_retry_delay_if_scripted() {
    let hints = |response: &Response| {
        [
            response.header("retry-after").map(str::to_owned),
            response.header("retry-after-ms").map(str::to_owned),
        ]
    };
    for wire in Wire::ALL {
        assert_eq!(
            hints(&response_with_fault(wire, &Fault::rate_limit()).await.0),
            [None, None]
        );
        assert_eq!(
            hints(&response_with_fault(wire, &Fault::rate_limit_for(7.0)).await.0),
            [Some("7".to_owned()), None]
        );
        assert_eq!(
            hints(&response_with_fault(wire, &Fault::rate_limit_for_ms(1500)).await.0),
            [None, Some("1500".to_owned())]
        );
    }
    let gemini = response_with_fault(Wire::Gemini, &Fault::rate_limit_for(7.0))
        .await
        .0
        .json();
    assert_eq!(gemini["error"]["details"][0]["retryDelay"], "7s");
}

#[tokio::test]
async fn an_overflow_has_the_vendors_message() {
    for (wire, words) in [
        (Wire::Anthropic, "prompt is too long: 208310 tokens > 200000 maximum"),
        (Wire::Chat, "This model's maximum context length is 200000 tokens."),
        (Wire::Responses, "Your input exceeds the context window of this model."),
        (Wire::Gemini, "exceeds the maximum number of tokens allowed"),
        (Wire::Bedrock, "Input is too long for requested model."),
        (Wire::Vertex, "prompt is too long"),
    ] {
        let (response, _) = response_with_fault(wire, &Fault::ContextOverflow { in_stream: false }).await;
        assert!(response.text().contains(words), "{wire:?}: {}", response.text());
        let (response, _) = response_with_fault(wire, &Fault::ContextOverflow { in_stream: true }).await;
        let content = read_stream(wire, &response.body());
        assert_eq!((response.status, content.is_complete), (200, false));
        assert!(
            content.error.is_some_and(|error| error.to_string().contains(words)),
            "{wire:?}: {}",
            response.text()
        );
    }
    let server = Server::start(Script::new().window(10).turn(turn()))
        .await
        .expect("starts");
    let response = ask(&server, Wire::Anthropic, &Talk::default()).await;
    assert_eq!(response.status, 400);
    assert!(
        response.text().contains("> 10 maximum"),
        "a window of the script's own: {}",
        response.text()
    );
}

#[tokio::test]
async fn a_cut_leaves_half_an_event_in_half_a_chunk() {
    for wire in Wire::ALL {
        for position in [
            FaultPosition::Start,
            FaultPosition::Thinking,
            FaultPosition::Text,
            FaultPosition::Tool,
            FaultPosition::End,
        ] {
            let (response, whole) = response_with_fault(wire, &Fault::cut(position)).await;
            assert_eq!(
                (response.status, response.end),
                (200, End::InsideChunk),
                "{wire:?} {position:?}"
            );
            assert!(
                !response.chunks.last().is_none_or(Vec::is_empty),
                "{wire:?} {position:?}: nothing of the chunk was sent"
            );
            let content = read_stream(wire, &response.body());
            assert!(!content.is_complete, "{wire:?} {position:?}");
            assert!(
                whole.text.starts_with(&content.text) && whole.thinking.starts_with(&content.thinking),
                "{wire:?} {position:?}"
            );
            let is_reached = match position {
                FaultPosition::Start => content.text.is_empty() && content.thinking.len() < whole.thinking.len(),
                FaultPosition::Thinking => content.thinking.len() < whole.thinking.len(),
                FaultPosition::Text => {
                    !content.text.is_empty() && content.text.len() < TEXT.len() && content.calls.is_empty()
                }
                FaultPosition::Tool => content.text == TEXT && (!content.calls.is_empty() || wire == Wire::Gemini),
                FaultPosition::Head | FaultPosition::End => content.calls.len() == 2,
            };
            assert!(is_reached, "{wire:?} {position:?}: {content:?}");
        }
        let (response, _) = response_with_fault(wire, &Fault::cut(FaultPosition::Head)).await;
        assert_eq!(response.end, End::BeforeHead);
    }
}

#[tokio::test]
async fn a_stream_can_end_properly_but_early() {
    for wire in Wire::ALL {
        for position in [FaultPosition::Text, FaultPosition::Tool, FaultPosition::End] {
            let (response, _) = response_with_fault(wire, &Fault::EndEarly { at: position }).await;
            let content = read_stream(wire, &response.body());
            assert_eq!(
                (response.end, content.is_complete),
                (End::Proper, false),
                "{wire:?} {position:?}"
            );
        }
        let (response, whole) = response_with_fault(wire, &Fault::MissingDone).await;
        let content = read_stream(wire, &response.body());
        assert_eq!(
            (response.end, content.is_complete, content.calls),
            (End::Proper, false, whole.calls),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn an_error_event_ends_a_started_stream() {
    for wire in Wire::ALL {
        let (response, _) = response_with_fault(
            wire,
            &Fault::ErrorEvent {
                at: FaultPosition::Text,
            },
        )
        .await;
        let content = read_stream(wire, &response.body());
        assert_eq!(
            (response.status, response.end, content.is_complete),
            (200, End::Proper, false),
            "{wire:?}"
        );
        assert!(!content.text.is_empty() && content.text.len() < TEXT.len(), "{wire:?}");
        let error = content.error.expect("an error").to_string().to_lowercase();
        assert!(error.contains("overload"), "{wire:?}: {error}");
    }
}

#[tokio::test]
async fn a_stall_sends_nothing_until_it_ends() {
    for wire in Wire::ALL {
        for position in [FaultPosition::Head, FaultPosition::Text, FaultPosition::Tool] {
            let fault = Fault::Stall {
                at: position,
                ms: Some(30),
            };
            let (response, whole) = response_with_fault(wire, &fault).await;
            assert_eq!(
                read_stream(wire, &response.body()),
                whole,
                "{wire:?} {position:?}: the reply is incomplete"
            );

            let server = Server::start(Script::new().turn(turn().with_permanent_fault(Fault::stall(position))))
                .await
                .expect("starts");
            let body = Talk::thinking().body(wire).to_string();
            let mut stream = open(&server, "POST", path(wire, false), HEADERS, &body).await;
            let mut bytes = Vec::new();
            let is_there = |bytes: &[u8]| match position {
                FaultPosition::Text => !read_stream(wire, &parse_response(bytes).body()).text.is_empty(),
                FaultPosition::Tool => read_stream(wire, &parse_response(bytes).body()).text == TEXT,
                _ => true,
            };
            server.wait_until(|requests| requests.len() == 1).await;
            while !is_there(&bytes) {
                stream.read_buf(&mut bytes).await.expect("more");
            }
            let rest = stream.read_to_end(&mut bytes);
            assert!(
                tokio::time::timeout(Duration::from_millis(50), rest).await.is_err(),
                "{wire:?}: for ever"
            );
            assert_eq!(bytes.is_empty(), position == FaultPosition::Head, "{wire:?}");
            assert!(
                !read_stream(wire, &parse_response(&bytes).body()).is_complete,
                "{wire:?}"
            );
            drop(stream);
            server
                .wait_until(|requests| requests[0].finish == Some(ResponseEnd::ClientDisconnected))
                .await;
        }
    }
}

#[tokio::test]
async fn a_hangup_closes_without_a_response() {
    for wire in Wire::ALL {
        assert_eq!(response_with_fault(wire, &Fault::Hangup).await.0.end, End::BeforeHead);
    }
}

#[tokio::test]
async fn noise_changes_the_bytes_but_not_the_content() {
    for wire in Wire::ALL {
        for fault in [Fault::Noise, Fault::huge_line(), Fault::Drip { ms: 0 }] {
            let (response, whole) = response_with_fault(wire, &fault).await;
            let mut content = read_stream(wire, &response.body());
            assert_eq!(response.end, End::Proper);
            // Noise among the events must not change the figures of the first request.
            content.usage = whole.usage.clone();
            assert_eq!(content, whole, "{wire:?} {fault:?}");
            match fault {
                Fault::Noise if wire != Wire::Bedrock => assert!(response.text().contains("mystery: field\r\n")),
                Fault::HugeLine { bytes } => {
                    let longest = response.chunks.iter().map(Vec::len).max();
                    assert!(longest >= Some(bytes), "{wire:?}: {longest:?}");
                }
                Fault::Drip { .. } => assert!(response.chunks.iter().all(|chunk| chunk.len() == 1), "{wire:?}"),
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn garbage_is_not_an_event() {
    for wire in Wire::ALL {
        let (response, _) = response_with_fault(
            wire,
            &Fault::Garbage {
                at: FaultPosition::Text,
            },
        )
        .await;
        if wire == Wire::Bedrock {
            assert!(
                !read_stream(wire, &response.body()).is_complete,
                "nothing after it can be trusted"
            );
        } else {
            assert!(std::str::from_utf8(&response.body()).is_err(), "{wire:?}");
            let broken = |(_, data): &(String, Value)| data.is_string() && data != "[DONE]";
            assert!(events(wire, &response.body()).iter().any(broken), "{wire:?}");
        }
    }
}

#[tokio::test]
async fn a_wrong_content_type_has_status_200() {
    for wire in Wire::ALL {
        let (page, _) = response_with_fault(wire, &Fault::HtmlPage).await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/html; charset=utf-8"))
        );
        assert!(page.text().starts_with("<!DOCTYPE html>"));
        let (error, _) = response_with_fault(wire, &Fault::JsonError).await;
        assert_eq!(
            (error.status, error.header("content-type")),
            (200, Some("application/json"))
        );
        assert!(error.json().is_object());
    }
}

#[tokio::test]
async fn calls_can_be_malformed() {
    for wire in Wire::ALL {
        let (response, whole) = response_with_fault(wire, &Fault::TruncatedArguments).await;
        let cut = read_stream(wire, &response.body());
        assert!(cut.is_complete, "{wire:?}");
        if wire == Wire::Gemini {
            assert_eq!((cut.stop.as_str(), cut.calls.len()), ("MALFORMED_FUNCTION_CALL", 1));
        } else {
            let arguments = &cut.calls[1].2;
            assert!(whole.calls[1].2.starts_with(arguments.as_str()) && arguments.len() < whole.calls[1].2.len());
            assert_eq!((&cut.calls[0], &cut.stop), (&whole.calls[0], &whole.stop), "{wire:?}");
        }
        let ids = |content: StreamContent| content.calls.into_iter().map(|call| call.0).collect::<Vec<_>>();
        let (response, _) = response_with_fault(wire, &Fault::DuplicateIds).await;
        assert_eq!(
            ids(read_stream(wire, &response.body())),
            ["call_step0_0", "call_step0_0"],
            "{wire:?}"
        );
        let (response, _) = response_with_fault(wire, &Fault::EmptyIds).await;
        assert_eq!(ids(read_stream(wire, &response.body())), ["", ""], "{wire:?}");
    }
}

#[tokio::test]
async fn the_final_usage_can_be_missing() {
    for wire in Wire::ALL {
        let (response, whole) = response_with_fault(wire, &Fault::MissingUsage).await;
        let content = read_stream(wire, &response.body());
        assert!(
            content.is_complete && content.usage.is_null() && whole.usage.is_object(),
            "{wire:?}: {}",
            content.usage
        );
    }
}

#[tokio::test]
async fn faults_of_a_turn_come_one_after_the_other() {
    let turn = Turn::text("At last.")
        .with_fault(Fault::overloaded(), 2)
        .with_fault(Fault::Hangup, 1)
        .with_fault(Fault::status(502), 1);
    let server = Server::start(Script::new().turn(turn)).await.expect("starts");
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(ask(&server, Wire::Anthropic, &Talk::default()).await.status);
    }
    assert_eq!(statuses, [529, 529, 0, 502, 200, 200]);
}

#[tokio::test]
async fn faults_also_occur_in_complete_replies() {
    for (fault, end) in [
        (Fault::cut(FaultPosition::Text), End::InsideChunk),
        (
            Fault::EndEarly {
                at: FaultPosition::Text,
            },
            End::Proper,
        ),
    ] {
        for wire in Wire::ALL {
            let server = Server::start(Script::new().turn(turn().with_permanent_fault(fault.clone())))
                .await
                .expect("starts");
            let response = ask(
                &server,
                wire,
                &Talk {
                    whole: true,
                    ..Talk::default()
                },
            )
            .await;
            assert_eq!((response.status, response.end), (200, end), "{wire:?}");
            assert!(serde_json::from_slice::<Value>(&response.body()).is_err(), "{wire:?}");
        }
    }
}
