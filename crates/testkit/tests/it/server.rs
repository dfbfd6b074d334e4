//! Turns, side requests, records and discovery.

use serde_json::json;
use testkit::{Fault, FaultPosition, RequestOutcome, ResponseEnd, Role, Script, Server, Turn, TurnOrder, Wire};

use crate::client::{QUESTION, Talk, ask, open, path, post, send};

fn two_steps() -> Script {
    Script::new()
        .turn(Turn::text("Looking.").call("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text("It says hello."))
}

fn after_one_step() -> Talk {
    Talk::default().step("call_step0_0", "read_file", json!({"path": "a.txt"}), "hello")
}

#[tokio::test]
async fn a_retried_request_gets_the_same_turn_on_every_wire() {
    for wire in Wire::ALL {
        let server = Server::start(two_steps()).await.expect("starts");
        for (talk, turn) in [
            (Talk::default(), 0),
            (Talk::default(), 0),
            (after_one_step(), 1),
            (after_one_step(), 1),
        ] {
            let response = ask(&server, wire, &talk).await;
            assert_eq!(response.status, 200, "{wire:?}: {}", response.text());
            assert_eq!(
                server.requests().last().expect("recorded").outcome,
                RequestOutcome::Turn { turn },
                "{wire:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_shortened_history_continues_at_the_same_turn() {
    let turns = (0..9).map(|n| Turn::calls("read_file", json!({"path": n})));
    let server = Server::start(Script::new().turns(turns)).await.expect("starts");
    let talk = Talk::default().step("call_step6_0", "read_file", json!({"path": 6}), "six");
    ask(&server, Wire::Chat, &talk).await;
    assert_eq!(server.requests()[0].outcome, RequestOutcome::Turn { turn: 7 });
}

#[tokio::test]
async fn text_of_an_interrupted_turn_does_not_complete_a_turn_with_calls() {
    let server = Server::start(two_steps()).await.expect("starts");
    let mut body = Talk::default().body(Wire::Chat);
    let more = [
        json!({"role": "assistant", "content": "Loo"}),
        json!({"role": "user", "content": "Continue."}),
    ];
    body["messages"].as_array_mut().expect("messages").extend(more);
    post(&server, Wire::Chat, false, &body).await;
    assert_eq!(server.requests()[0].outcome, RequestOutcome::Turn { turn: 0 });
}

#[tokio::test]
async fn a_restarted_server_continues_on_the_same_port() {
    let first = Server::start(two_steps()).await.expect("starts");
    assert_eq!(ask(&first, Wire::Chat, &Talk::default()).await.status, 200);
    let port = first.port();
    first.stop().await;
    let second = Server::start_on(port, two_steps()).await.expect("starts again");
    ask(&second, Wire::Chat, &after_one_step()).await;
    assert_eq!(second.requests()[0].outcome, RequestOutcome::Turn { turn: 1 });
}

#[tokio::test]
async fn in_sequence_each_reply_consumes_a_turn_and_a_temporary_fault_does_not() {
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text("One.").with_fault(Fault::overloaded(), 1))
        .turn(Turn::text("Two.").with_permanent_fault(Fault::status(500)))
        .turn(Turn::text("Three."));
    let server = Server::start(script).await.expect("starts");
    let mut seen = Vec::new();
    for _ in 0..5 {
        let response = ask(
            &server,
            Wire::Chat,
            &Talk {
                whole: true,
                ..Talk::default()
            },
        )
        .await;
        seen.push((
            response.status,
            response.json()["choices"][0]["message"]["content"]
                .as_str()
                .map(str::to_owned),
        ));
    }
    let answer = |text: &str| (200, Some(text.to_owned()));
    assert_eq!(
        seen,
        [
            (503, None),
            answer("One."),
            (500, None),
            answer("Three."),
            answer("The script is over.")
        ]
    );
}

#[tokio::test]
async fn a_request_without_tools_gets_a_title_and_takes_no_turn() {
    for wire in Wire::ALL {
        let server = Server::start(two_steps().side_reply("A fine title"))
            .await
            .expect("starts");
        let response = ask(
            &server,
            wire,
            &Talk {
                no_tools: true,
                whole: true,
                ..Talk::default()
            },
        )
        .await;
        assert!(
            response.text().contains("A fine title"),
            "{wire:?}: {}",
            response.text()
        );
        assert_eq!(server.requests()[0].outcome, RequestOutcome::Side);
        assert!(server.main_requests().is_empty());
    }
}

#[tokio::test]
async fn a_function_sees_the_same_conversation_on_every_wire() {
    for wire in Wire::ALL {
        let script = Script::dynamic(move |seen| {
            assert_eq!(seen.wire, wire);
            assert_eq!(seen.system, "Be brief.");
            assert_eq!(seen.last_user_text(), QUESTION);
            assert!(seen.offers("read_file"));
            let roles: Vec<Role> = seen.messages.iter().map(|message| message.role).collect();
            assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
            assert_eq!(
                seen.calls().next().map(|call| call.input.clone()),
                Some(json!({"path": "a.txt"}))
            );
            Turn::text(format!(
                "Turn {}: {}",
                seen.turn,
                seen.result("call_step0_0").unwrap_or("nothing")
            ))
        });
        let server = Server::start(script).await.expect("starts");
        let response = ask(
            &server,
            wire,
            &Talk {
                whole: true,
                ..after_one_step()
            },
        )
        .await;
        assert!(
            response.text().contains("Turn 1: hello"),
            "{wire:?}: {}",
            response.text()
        );
    }
}

#[tokio::test]
async fn every_request_is_recorded_unchanged() {
    let server = Server::start(two_steps()).await.expect("starts");
    send(&server, "GET", "/unknown?x=1", &[("x-mark", "7")], "").await;
    ask(&server, Wire::Gemini, &after_one_step()).await;
    let requests = server.requests();
    let [first, second] = requests.as_slice() else {
        panic!("two requests, not {requests:?}")
    };
    assert_eq!(
        (first.number, first.path.as_str(), &first.outcome),
        (1, "/unknown?x=1", &RequestOutcome::NotFound)
    );
    assert_eq!(first.headers["x-mark"], "7");
    assert_eq!(second.json(), after_one_step().body(Wire::Gemini));
    assert_eq!(second.path, path(Wire::Gemini, false));
    assert_eq!(second.finish, Some(ResponseEnd::Sent));
    let seen = second.parsed().expect("one for a model");
    assert_eq!((seen.model.as_str(), seen.turn), ("gemini-3-pro", 1));
    assert!(first.at <= second.at);
}

#[tokio::test]
async fn a_client_disconnect_is_recorded() {
    let server =
        Server::start(Script::new().turn(Turn::text("Wait.").with_permanent_fault(Fault::stall(FaultPosition::Text))))
            .await
            .expect("starts");
    let body = Talk::default().body(Wire::Chat).to_string();
    let stream = open(&server, "POST", path(Wire::Chat, false), &[], &body).await;
    server.wait_until(|requests| requests.len() == 1).await;
    assert_eq!(server.requests()[0].finish, None);
    drop(stream);
    server
        .wait_until(|requests| requests[0].finish == Some(ResponseEnd::ClientDisconnected))
        .await;
}

#[tokio::test]
async fn discovery_responds_like_each_local_server() {
    let server = Server::start(Script::new().models(["tiny", "large"]).window(4096))
        .await
        .expect("starts");
    let get = async |path: &str| send(&server, "GET", path, &[], "").await.json();
    assert_eq!(get("/v1/models").await["data"][1]["id"], "large");
    assert_eq!(get("/api/tags").await["models"][0]["name"], "tiny");
    assert_eq!(get("/api/v0/models").await["data"][0]["max_context_length"], 4096);
    assert_eq!(get("/props").await["default_generation_settings"]["n_ctx"], 4096);
    let show = send(&server, "POST", "/api/show", &[], r#"{"model": "large"}"#)
        .await
        .json();
    assert_eq!(show["model_info"]["scripted.context_length"], 4096);
    assert_eq!(
        send(&server, "POST", "/api/show", &[], r#"{"model": "other"}"#)
            .await
            .status,
        404
    );
    assert_eq!(get("/v1/nothing").await["error"]["type"], "invalid_request_error");
    let body = Talk::default().body(Wire::Anthropic).to_string();
    let count = send(&server, "POST", "/v1/messages/count_tokens", &[], &body).await;
    assert!(count.json()["input_tokens"].as_u64() > Some(20));
}
