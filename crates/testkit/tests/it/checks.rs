//! Requests that a vendor rejects are refused with its message.

use serde_json::{Value, json};
use testkit::{RequestOutcome, Script, Server, Turn, Wire};

use crate::client::{HEADERS, Talk, ask, path, post, send};
use crate::reader::read_stream;

fn one_step() -> Talk {
    Talk::default().step("call_step0_0", "read_file", json!({"path": "a.txt"}), "hello")
}

/// Sends an invalid request and checks the refusal's message.
async fn check(wire: Wire, words: &str, break_body: impl Fn(&mut Value)) {
    let server = Server::start(Script::new().turn(Turn::text("So.")))
        .await
        .expect("starts");
    let mut body = one_step().body(wire);
    let fine = post(&server, wire, false, &body).await;
    assert_eq!(fine.status, 200, "{wire:?}: it was fine before: {}", fine.text());
    break_body(&mut body);
    let response = post(&server, wire, false, &body).await;
    assert_eq!(response.status, 400, "{wire:?}: {words}: {}", response.text());
    let message = match wire {
        Wire::Bedrock => response.json()["message"].clone(),
        _ => response.json()["error"]["message"].clone(),
    };
    assert!(
        message.as_str().is_some_and(|message| message.contains(words)),
        "{wire:?}: {message} has no {words:?}"
    );
    let outcome = server.requests().pop().map(|request| request.outcome);
    assert_eq!(
        outcome,
        Some(RequestOutcome::Refused {
            message: message.as_str().unwrap_or_default().to_owned()
        })
    );
}

fn remove(value: &mut Value, at: usize) {
    value.as_array_mut().expect("an array").remove(at);
}

fn push(value: &mut Value, item: Value) {
    value.as_array_mut().expect("an array").push(item);
}

fn drop_field(value: &mut Value, key: &str) {
    value.as_object_mut().expect("an object").remove(key);
}

#[tokio::test]
async fn anthropic_rules_apply_on_all_three_services() {
    for wire in [Wire::Anthropic, Wire::Bedrock, Wire::Vertex] {
        check(wire, "max_tokens: Field required", |body| {
            drop_field(body, "max_tokens")
        })
        .await;
        check(wire, "messages: Field required", |body| drop_field(body, "messages")).await;
        check(
            wire,
            "without `tool_result` blocks immediately after: call_step0_0",
            |body| remove(&mut body["messages"], 2),
        )
        .await;
        check(
            wire,
            "unexpected `tool_use_id` found in `tool_result` blocks: other",
            |body| {
                body["messages"][2]["content"][0]["tool_use_id"] = json!("other");
            },
        )
        .await;
        check(wire, "each tool_use must have a single result", |body| {
            let result = body["messages"][2]["content"][0].clone();
            push(&mut body["messages"][2]["content"], result);
        })
        .await;
        check(wire, "without `tool_result` blocks", |body| {
            body["messages"][2]["content"]
                .as_array_mut()
                .expect("parts")
                .insert(0, json!({"type": "text", "text": "first"}));
        })
        .await;
        check(wire, "`tool_use` ids must be unique", |body| {
            let (call, result) = (body["messages"][1].clone(), body["messages"][2].clone());
            push(&mut body["messages"], call);
            push(&mut body["messages"], result);
        })
        .await;
        check(wire, "roles must alternate", |body| {
            push(&mut body["messages"], json!({"role": "user", "content": "more"}))
        })
        .await;
        check(wire, "Unexpected role \"system\"", |body| {
            body["messages"][0]["role"] = json!("system")
        })
        .await;
        check(wire, "first message must use the \"user\" role", |body| {
            remove(&mut body["messages"], 0)
        })
        .await;
        check(wire, "must have non-empty content", |body| {
            body["messages"][0]["content"] = json!("")
        })
        .await;
        check(wire, "must contain non-whitespace text", |body| {
            body["messages"][0]["content"] = json!([{"type": "text", "text": " \n"}]);
        })
        .await;
        check(
            wire,
            "maximum of 4 blocks with cache_control may be provided. Found 5.",
            |body| {
                let marked = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
                body["system"] = json!([marked, marked, marked, marked]);
                body["tools"][0]["cache_control"] = json!({"type": "ephemeral"});
            },
        )
        .await;
        check(wire, "Tool names must be unique", |body| {
            let tool = body["tools"][0].clone();
            push(&mut body["tools"], tool);
        })
        .await;
        check(wire, "tools.0.custom.name", |body| {
            body["tools"][0]["name"] = json!("read file")
        })
        .await;
        check(wire, "tool_use.input", |body| {
            body["messages"][1]["content"][0]["input"] = json!("{}")
        })
        .await;
        check(wire, "Invalid `signature` in `thinking` block", |body| {
            let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": "forged"});
            body["messages"][1]["content"]
                .as_array_mut()
                .expect("parts")
                .insert(0, thought);
        })
        .await;
        check(wire, "must be greater than `thinking.budget_tokens`", |body| {
            body["thinking"] = json!({"type": "enabled", "budget_tokens": 9000});
        })
        .await;
        check(wire, "`temperature` may only be set to 1", |body| {
            body["thinking"] = json!({"type": "adaptive"});
            body["temperature"] = json!(0.5);
        })
        .await;
    }
    check(Wire::Anthropic, "mystery: Extra inputs are not permitted", |body| {
        body["mystery"] = json!(1)
    })
    .await;
    check(Wire::Bedrock, "extraneous key [model] is not permitted", |body| {
        body["model"] = json!("m")
    })
    .await;
    check(Wire::Bedrock, "extraneous key [stream] is not permitted", |body| {
        body["stream"] = json!(true)
    })
    .await;
    check(Wire::Bedrock, "anthropic_version", |body| {
        drop_field(body, "anthropic_version")
    })
    .await;
    check(Wire::Vertex, "is not a valid version", |body| {
        body["anthropic_version"] = json!("bedrock-2023-05-31");
    })
    .await;
    check(Wire::Vertex, "anthropic_version", |body| {
        drop_field(body, "anthropic_version")
    })
    .await;
}

#[tokio::test]
async fn chat_rules_apply() {
    let wire = Wire::Chat;
    check(wire, "you must provide a model", |body| drop_field(body, "model")).await;
    check(wire, "did not have response messages: call_step0_0", |body| {
        remove(&mut body["messages"], 3)
    })
    .await;
    check(
        wire,
        "must be a response to a preceeding message with 'tool_calls'",
        |body| remove(&mut body["messages"], 2),
    )
    .await;
    check(wire, "Duplicate value for 'tool_call_id'", |body| {
        let result = body["messages"][3].clone();
        push(&mut body["messages"], result);
    })
    .await;
    check(wire, "did not have response messages", |body| {
        let between = json!({"role": "user", "content": "Wait."});
        body["messages"].as_array_mut().expect("messages").insert(3, between);
    })
    .await;
    check(wire, "function.arguments': expected a string", |body| {
        body["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!({});
    })
    .await;
    check(wire, "tool_calls[0].id", |body| {
        body["messages"][2]["tool_calls"][0]["id"] = json!("")
    })
    .await;
    check(wire, "expected a string, got null", |body| {
        body["messages"][1]["content"] = Value::Null
    })
    .await;
    check(wire, "Invalid value: 'robot'", |body| {
        body["messages"][1]["role"] = json!("robot")
    })
    .await;
    check(wire, "Duplicate function name", |body| {
        let tool = body["tools"][0].clone();
        push(&mut body["tools"], tool);
    })
    .await;
    check(
        wire,
        "'stream_options' parameter is only allowed when 'stream' is enabled",
        |body| body["stream"] = json!(false),
    )
    .await;
}

#[tokio::test]
async fn responses_rules_apply() {
    let wire = Wire::Responses;
    check(wire, "'model'", |body| drop_field(body, "model")).await;
    check(wire, "'input'", |body| drop_field(body, "input")).await;
    check(wire, "No tool output found for function call call_step0_0.", |body| {
        remove(&mut body["input"], 2)
    })
    .await;
    check(
        wire,
        "No tool call found for function call output with call_id call_step0_0.",
        |body| remove(&mut body["input"], 1),
    )
    .await;
    check(wire, "No tool call found", |body| {
        let output = body["input"][2].clone();
        push(&mut body["input"], output);
    })
    .await;
    check(wire, "Duplicate function call", |body| {
        let call = body["input"][1].clone();
        push(&mut body["input"], call);
    })
    .await;
    check(wire, "Invalid value: \"output_text\"", |body| {
        body["input"][0]["content"][0]["type"] = json!("output_text")
    })
    .await;
    check(wire, "Expected a value >= 16, but got 5", |body| {
        body["max_output_tokens"] = json!(5)
    })
    .await;
    check(wire, "without its required following item", |body| {
        push(
            &mut body["input"],
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}),
        );
    })
    .await;
    check(wire, "Items are not persisted when `store` is set to false", |body| {
        let thought = json!({"type": "reasoning", "id": "rs_1", "summary": []});
        body["input"].as_array_mut().expect("items").insert(1, thought);
    })
    .await;
}

#[tokio::test]
async fn gemini_rules_apply() {
    let wire = Wire::Gemini;
    check(wire, "contents is not specified", |body| drop_field(body, "contents")).await;
    check(wire, "must not be empty", |body| {
        body["contents"][0]["parts"] = json!([])
    })
    .await;
    check(wire, "valid role", |body| {
        body["contents"][0]["role"] = json!("assistant")
    })
    .await;
    check(wire, "number of function response parts is equal", |body| {
        remove(&mut body["contents"], 2)
    })
    .await;
    check(wire, "number of function response parts is equal", |body| {
        let response = body["contents"][2]["parts"][0].clone();
        push(&mut body["contents"][2]["parts"], response);
    })
    .await;
    check(wire, "function response name `other`", |body| {
        body["contents"][2]["parts"][0]["functionResponse"]["name"] = json!("other");
    })
    .await;
    check(wire, "function call turn comes immediately after a user turn", |body| {
        remove(&mut body["contents"], 0)
    })
    .await;
    check(wire, "Unknown name \"additionalProperties\"", |body| {
        let schema = json!({"type": "OBJECT", "properties": {"a": {"type": "OBJECT", "additionalProperties": false}}});
        body["tools"][0]["functionDeclarations"][0]["parameters"] = schema;
    })
    .await;
    check(wire, "Invalid function name", |body| {
        body["tools"][0]["functionDeclarations"][0]["name"] = json!("1st")
    })
    .await;
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused() {
    let server = Server::start(Script::new()).await.expect("starts");
    for wire in Wire::ALL {
        assert_eq!(
            send(&server, "POST", path(wire, false), HEADERS, "{\"model\": ")
                .await
                .status,
            400,
            "{wire:?}"
        );
        for invalid in [
            "null",
            "[]",
            "7",
            "{}",
            r#"{"messages": 3, "input": {}, "contents": "x", "tools": [null, {}]}"#,
        ] {
            assert_eq!(
                send(&server, "POST", path(wire, false), HEADERS, invalid).await.status,
                400,
                "{wire:?}: {invalid}"
            );
        }
    }
    let bare = send(
        &server,
        "POST",
        "/v1/messages",
        &[],
        &one_step().body(Wire::Anthropic).to_string(),
    )
    .await;
    assert!(bare.text().contains("anthropic-version: header is required"));
}

#[tokio::test]
async fn thinking_must_be_sent_back_unchanged() {
    let turn = Turn::text("Reading.")
        .thinking("Hm.")
        .call("read_file", json!({"path": "a.txt"}));
    let script = Script::new().turn(turn).turn(Turn::text("So."));
    for wire in Wire::ALL.into_iter().filter(|wire| *wire != Wire::Chat) {
        let server = Server::start(script.clone()).await.expect("starts");
        let first = read_stream(wire, &ask(&server, wire, &Talk::thinking()).await.body());
        let with = |signature: &str| {
            let mut body = Talk {
                thinks: true,
                ..one_step()
            }
            .body(wire);
            match wire {
                Wire::Responses => {
                    let thought =
                        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": signature});
                    body["input"].as_array_mut().expect("items").insert(1, thought);
                }
                Wire::Gemini => body["contents"][1]["parts"][0]["thoughtSignature"] = json!(signature),
                _ => {
                    let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": signature});
                    body["messages"][1]["content"]
                        .as_array_mut()
                        .expect("parts")
                        .insert(0, thought);
                }
            }
            body
        };
        let kept = post(&server, wire, false, &with(&first.signature)).await;
        assert_eq!(kept.status, 200, "{wire:?}: {}", kept.text());
        assert_eq!(
            post(&server, wire, false, &with("forged")).await.status,
            400,
            "{wire:?}"
        );
        let mut without = Talk {
            thinks: true,
            ..one_step()
        }
        .body(wire);
        if wire == Wire::Responses {
            without["input"][1]["id"] = json!("fc_0001_0");
        }
        assert_eq!(post(&server, wire, false, &without).await.status, 400, "{wire:?}");

        let restarted = Server::start(script.clone()).await.expect("starts");
        let kept = post(&restarted, wire, false, &with(&first.signature)).await;
        assert_eq!(
            kept.status,
            200,
            "{wire:?}: a restarted server knows its own: {}",
            kept.text()
        );
    }
}

#[tokio::test]
async fn a_key_can_be_required() {
    let script = Script::new().key("sk-1").turn(Turn::text("So."));
    let server = Server::start(script).await.expect("starts");
    let signed = "AWS4-HMAC-SHA256 Credential=sk-1/20260101/us-east-1/bedrock/aws4_request, Signature=0";
    let keys: [(Wire, &[(&str, &str)]); 6] = [
        (Wire::Anthropic, &[("x-api-key", "sk-1")]),
        (Wire::Chat, &[("authorization", "Bearer sk-1")]),
        (Wire::Responses, &[("authorization", "Bearer sk-1")]),
        (Wire::Gemini, &[("x-goog-api-key", "sk-1")]),
        (
            Wire::Bedrock,
            &[("authorization", signed), ("x-amz-date", "20260101T000000Z")],
        ),
        (Wire::Vertex, &[("authorization", "Bearer sk-1")]),
    ];
    for (wire, key) in keys {
        let body = one_step().body(wire).to_string();
        let status = async |key: &[(&str, &str)]| {
            let headers = [HEADERS, key].concat();
            send(&server, "POST", path(wire, false), &headers, &body).await.status
        };
        assert_eq!(status(key).await, 200, "{wire:?}");
        assert!(matches!(status(&[]).await, 401 | 403), "{wire:?}");
        assert!(
            matches!(
                status(&[("authorization", "Bearer sk-2"), ("x-api-key", "sk-2")]).await,
                401 | 403
            ),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn a_lenient_server_accepts_any_request() {
    let server = Server::start(Script::new().lenient().without_side_reply().turn(Turn::text("So.")))
        .await
        .expect("starts");
    for wire in Wire::ALL {
        assert_eq!(
            post(&server, wire, false, &json!({"stream": true})).await.status,
            200,
            "{wire:?}"
        );
    }
}
