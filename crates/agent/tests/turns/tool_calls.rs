//! Calls and their results.

use crate::fixture::*;
use agent::Approvals;
use model::{Chunk, Error, Stop};
use session::{Answer as Reply, Command, Event, TurnEnd};

#[tokio::test]
async fn results_are_sent_to_the_model_until_it_is_done() {
    let mut world = world(vec![calls(&[("1", "look", r#"{"text":"a"}"#)]), text_reply("done")]);
    let (ending, _) = world.turn("go").await;
    assert_eq!(ending, TurnEnd::Completed);
    let expected = ["user: go", "model calls look (1)", "Ok (1): a", "model: done"];
    assert_eq!(world.transcript(), expected);
    assert_eq!(world.last_request(), &expected[..3]);
    assert_eq!(world.store.records.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn every_failure_of_a_call_is_reported_to_the_model() {
    let calls = calls(&[
        ("1", "lok", "{}"),
        ("2", "look", "{}"),
        ("3", "look", r#"{"text": "half"#),
        ("4", "look", r#"{"text":"fail"}"#),
        ("5", "look", r#"{"text":"panic"}"#),
        ("6", "look", r#"{"text":"outside"}"#),
    ]);
    let mut world = world(vec![calls, text_reply("done")]);
    assert_eq!(world.turn("go").await.0, TurnEnd::Completed);
    let request = world.last_request();
    let results: Vec<&String> = request.iter().filter(|line| line.starts_with("Error")).collect();
    assert_eq!(results.len(), 6, "{request:?}");
    assert_eq!(
        results[0],
        "Error (1): There is no tool `lok`. The available tools are: change, delegate, finish, list, look."
    );
    assert_eq!(results[1], "Error (2): invalid input for `look`: missing field `text`");
    assert!(
        results[2].contains("not valid JSON: the JSON ends inside a string at byte 14"),
        "{}",
        results[2]
    );
    assert_eq!(results[3], "Error (4): it failed");
    assert_eq!(results[4], "Error (5): `look` crashed; this is a bug in hew.");
    assert_eq!(
        results[5],
        "Error (6): Not allowed: /p is outside the project, and approvals cannot be requested in this session."
    );
}

#[tokio::test]
async fn read_only_calls_run_in_parallel_and_mutating_ones_sequentially() {
    let calls = calls(&[
        ("1", "look", r#"{"text":"wait"}"#),
        ("2", "look", r#"{"text":"b"}"#),
        ("3", "change", r#"{"text":"c"}"#),
        ("4", "change", r#"{"text":"d"}"#),
        ("5", "look", r#"{"text":"e"}"#),
    ]);
    let mut world = world(vec![calls, text_reply("done")]);
    world.prompt("go", session::Delivery::Queue).await;
    world.until(|event| matches!(event, Event::ItemFinished { item } if matches!(&item.body, session::Body::Result { call, .. } if call.as_str() == "2"))).await;
    assert!(
        !world.log().iter().any(|line| line.starts_with("change")),
        "changes wait for the looks before them"
    );
    world.gate.add_permits(1);
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    let log = world.log();
    let order: Vec<&str> = log
        .iter()
        .map(String::as_str)
        .filter(|l| l.contains("look") || l.contains("change"))
        .collect();
    assert_eq!(
        order,
        [
            "look wait",
            "look b",
            "change c begins",
            "change c ends",
            "change d begins",
            "change d ends",
            "look e"
        ]
    );
    let results: Vec<String> = world
        .last_request()
        .into_iter()
        .filter(|line| line.starts_with("Ok"))
        .collect();
    assert_eq!(
        results,
        [
            "Ok (1): waited",
            "Ok (2): b",
            "Ok (3): changed",
            "Ok (4): changed",
            "Ok (5): e"
        ]
    );
}

#[tokio::test]
async fn a_mutating_call_is_stored_before_it_runs_and_starts_while_the_reply_streams() {
    let mut world = world(vec![Answer::Hanging(call_chunks(&[(
        "1",
        "change",
        r#"{"text":"c"}"#,
    )]))]);
    world.prompt("go", session::Delivery::Queue).await;
    world
        .until(|event| {
            matches!(
                event,
                Event::ItemStarted {
                    kind: session::ItemStart::Result { .. },
                    ..
                }
            )
        })
        .await;
    while !world.log().contains(&"change c ends".to_string()) {
        tokio::task::yield_now().await;
    }
    let log = world.log();
    let position = |text: &str| log.iter().position(|line| line == text).unwrap();
    assert!(position("flush") < position("change c begins"));
    assert!(
        world
            .store
            .drafts
            .lock()
            .unwrap()
            .iter()
            .any(|(_, chunks)| chunks.iter().any(|c| matches!(c, Chunk::ToolEnd { .. })))
    );
    world.send(Command::Interrupt).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Interrupted);
    assert_eq!(
        world.transcript(),
        ["user: go", "model calls change (1)", "Ok (1): changed"]
    );
}

#[tokio::test]
async fn a_reply_cut_after_a_call_started_is_not_requested_again() {
    let cut = Error::StreamCut {
        provider: "script".into(),
        detail: "closed".into(),
    };
    let mut chunks = vec![Chunk::Text("half ".into())];
    chunks.extend(call_chunks(&[("1", "change", r#"{"text":"c"}"#)]));
    chunks.push(Chunk::ToolStart {
        id: "2".into(),
        name: "change".into(),
    });
    let mut world = world(vec![Answer::Broken(chunks, cut), text_reply("done")]);
    assert_eq!(world.turn("go").await.0, TurnEnd::Completed);
    assert_eq!(world.log().iter().filter(|line| *line == "change c begins").count(), 1);
    assert_eq!(
        world.last_request(),
        ["user: go", "model: half ", "model calls change (1)", "Ok (1): changed"]
    );
}

#[tokio::test]
async fn files_changed_by_a_tool_are_stored_as_blobs() {
    let mut world = world(vec![calls(&[("1", "change", r#"{"text":"c"}"#)]), text_reply("done")]);
    world.turn("go").await;
    let changes: Vec<session::Change> = world
        .items()
        .iter()
        .filter_map(|item| match &item.body {
            session::Body::Result { changes, .. } => Some(changes.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(changes.len(), 1);
    let after = changes[0].after.clone().and_then(|version| version.content).unwrap();
    let number: usize = after.0.trim_start_matches("blob").parse().unwrap();
    assert_eq!(&world.store.blobs.lock().unwrap()[number - 1][..], b"x");
}

#[tokio::test]
async fn the_users_answer_decides_about_a_call() {
    for (answer, expected) in [
        (Reply::once(), "Ok (1): outside"),
        (
            Reply::Reject {
                reason: Some("no need".into()),
            },
            "Error (1): The user denied this call: no need",
        ),
        (Reply::Reject { reason: None }, "Error (1): The user denied this call."),
    ] {
        let script = vec![calls(&[("1", "look", r#"{"text":"outside"}"#)]), text_reply("done")];
        let mut world = world_with(script, |setup| setup.config.approvals = Approvals::Ask);
        world.prompt("go", session::Delivery::Queue).await;
        let asked = world.until(|event| matches!(event, Event::QuestionAsked { .. })).await;
        let Event::QuestionAsked { question } = asked else {
            unreachable!()
        };
        let session::QuestionSubject::Permission { reason: why, .. } = question.subject else {
            panic!()
        };
        assert_eq!(why, "/p is outside the project");
        world
            .send(Command::Answer {
                question: question.id,
                answer,
            })
            .await;
        assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
        assert!(
            world.transcript().contains(&expected.to_string()),
            "{:?}",
            world.transcript()
        );
    }
}

#[tokio::test]
async fn repeated_calls_are_warned_about_and_then_end_the_turn() {
    let script = (0..10)
        .map(|n| calls(&[(&format!("{n}"), "look", r#"{"text":"a"}"#)]))
        .collect();
    let mut world = world(script);
    let (ending, _) = world.turn("go").await;
    assert_eq!(
        ending,
        TurnEnd::Loop {
            tool: "look".into(),
            times: 6
        }
    );
    assert!(
        world
            .last_request()
            .last()
            .unwrap()
            .contains("This exact call has now been made 5 times")
    );
}

#[tokio::test]
async fn a_completion_tool_ends_the_turn() {
    let mut world = world(vec![calls(&[("1", "finish", r#"{"text":"all done"}"#)])]);
    assert_eq!(world.turn("go").await.0, TurnEnd::Completed);
    assert_eq!(world.transcript().last().unwrap(), "Ok (1): all done");
}

#[tokio::test]
async fn calls_in_a_reply_with_stop_reason_end_are_run() {
    let mut chunks = call_chunks(&[("1", "look", r#"{"text":"a"}"#)]);
    chunks.push(Chunk::Stop(Stop::End));
    let mut world = world(vec![Answer::Chunks(chunks), text_reply("done")]);
    world.turn("go").await;
    assert_eq!(world.transcript().last().unwrap(), "model: done");
}

#[tokio::test]
async fn a_change_is_shown_while_its_input_streams() {
    let id = model::CallId::from("1");
    let input = |delta: &str| Chunk::ToolInput {
        id: id.clone(),
        delta: delta.into(),
    };
    let mut chunks = vec![
        Chunk::ToolStart {
            id: id.clone(),
            name: "change".into(),
        },
        input(r#"{"text""#),
    ];
    // Usage in between keeps the two deltas apart.
    chunks.push(Chunk::Usage(model::Usage::default()));
    chunks.extend([
        input(r#":"c"}"#),
        Chunk::ToolEnd { id: id.clone() },
        Chunk::Stop(Stop::ToolUse),
    ]);
    let mut world = world(vec![Answer::Chunks(chunks), text_reply("done")]);
    let (_, events) = world.turn("go").await;
    let kept: Vec<usize> = events
        .iter()
        .filter_map(|event| match event {
            Event::ItemDelta {
                delta: session::ItemDelta::Preview { update: glimpse, .. },
                ..
            } => match &glimpse.state {
                session::PreviewState::Edited { ops, .. } => Some(ops.clone()),
                other => panic!("{other:?}"),
            },
            _ => None,
        })
        .flatten()
        .map(|op| match op {
            session::TextOp::Keep(bytes) => bytes,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kept, [7, 12]);
}
