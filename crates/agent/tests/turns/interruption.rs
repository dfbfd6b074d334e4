//! Interruptions, queued and steering prompts, rewinds, and recovery after a crash.

use crate::fixture::*;
use model::{Chunk, Message, Model, Part, Role, Stop};
use session::{Body, Command, Delivery, Event, Item, ItemId, ReplyEnd, RequestId, Time, TurnEnd};
use std::sync::Arc;

fn hanging_text(text: &str) -> Answer {
    Answer::Hanging(vec![Chunk::Text(text.into())])
}

fn is_delta(event: &Event) -> bool {
    matches!(event, Event::ItemDelta { .. })
}

#[tokio::test]
async fn an_interrupted_reply_is_stored_and_the_next_turn_continues_it() {
    let mut world = world(vec![hanging_text("half an ans"), text_reply("done")]);
    world.prompt("go", Delivery::Queue).await;
    world.until(is_delta).await;
    world.send(Command::Interrupt).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Interrupted);
    assert_eq!(world.transcript(), ["user: go", "model: half an ans"]);
    world.send(Command::Continue).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert_eq!(
        world.last_request(),
        ["user: go", "model: half an ans", "user: Continue where you stopped."]
    );
}

#[tokio::test]
async fn an_interruption_stops_the_running_tool_and_the_model_reads_what_was_not_run() {
    let script = vec![
        calls(&[
            ("1", "change", r#"{"text":"wait"}"#),
            ("2", "change", r#"{"text":"b"}"#),
        ]),
        text_reply("ok"),
    ];
    let mut world = world(script);
    world.prompt("go", Delivery::Queue).await;
    while !world.log().contains(&"change wait begins".to_string()) {
        tokio::task::yield_now().await;
    }
    world.send(Command::Interrupt).await;
    let (ending, events) = world.turn_end().await;
    assert_eq!(ending, TurnEnd::Interrupted);
    assert!(!world.log().contains(&"change b begins".to_string()));
    let transcript = world.transcript();
    assert!(
        transcript[3].starts_with("Error (1): The turn was interrupted while this call was running."),
        "{transcript:?}"
    );
    assert!(
        transcript[4].starts_with("Error (2): The turn was interrupted before this call started."),
        "{transcript:?}"
    );
    let finished = events
        .iter()
        .filter(|event| matches!(event, Event::ItemFinished { .. }))
        .count();
    assert_eq!(
        finished,
        world.items().len(),
        "the front end receives every stored item"
    );
}

#[tokio::test]
async fn a_prompt_can_interrupt_the_turn_and_start_another() {
    let mut world = world(vec![hanging_text("wrong way"), text_reply("right way")]);
    world.prompt("go left", Delivery::Queue).await;
    world.until(is_delta).await;
    world.prompt("go right", Delivery::Interrupt).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Interrupted);
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert_eq!(
        world.transcript(),
        [
            "user: go left",
            "model: wrong way",
            "user: go right",
            "model: right way"
        ]
    );
}

#[tokio::test]
async fn steering_prompts_join_the_next_request_and_queued_ones_wait_for_the_end() {
    let script = vec![
        calls(&[("1", "look", r#"{"text":"wait"}"#)]),
        text_reply("done"),
        text_reply("second"),
    ];
    let mut world = world(script);
    world.prompt("go", Delivery::Queue).await;
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
    world.prompt("later", Delivery::Queue).await;
    world.prompt("and mind the gap", Delivery::Steer).await;
    tokio::task::yield_now().await;
    world.gate.add_permits(1);
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert_eq!(
        world.transcript()[..5],
        [
            "user: go",
            "model calls look (1)",
            "Ok (1): waited",
            "user: and mind the gap",
            "model: done"
        ]
    );
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert_eq!(world.transcript()[5..], ["user: later", "model: second"]);
}

#[tokio::test]
async fn steering_and_interrupting_prompts_start_the_same_turn() {
    let mut world = world(vec![hanging_text("…"), text_reply("both done")]);
    world.prompt("go", Delivery::Queue).await;
    world.until(is_delta).await;
    world.prompt("one more", Delivery::Steer).await;
    world.prompt("this too", Delivery::Steer).await;
    world.prompt("immediately", Delivery::Interrupt).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Interrupted);
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert_eq!(
        world.transcript()[2..],
        [
            "user: one more",
            "user: this too",
            "user: immediately",
            "model: both done"
        ]
    );
}

#[tokio::test]
async fn a_waiting_prompt_is_returned_when_the_turn_is_interrupted() {
    let mut world = world(vec![hanging_text("…")]);
    world.prompt("go", Delivery::Queue).await;
    world.until(is_delta).await;
    world.prompt("later", Delivery::Queue).await;
    world.prompt("sooner", Delivery::Steer).await;
    world.send(Command::Interrupt).await;
    let (_, events) = world.turn_end().await;
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Notice { text, .. } if text.ends_with(": sooner")))
    );
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Notice { text, .. } if text.ends_with(": later")))
    );
}

#[tokio::test]
async fn a_rewind_hides_later_items() {
    let mut world = world(vec![text_reply("one"), text_reply("two")]);
    world.turn("first").await;
    let head = world.items().last().unwrap().id;
    world.turn("second").await;
    world.send(Command::Rewind { to: head }).await;
    world.send(Command::Close).await;
    while world.handle.events.recv().await.is_some() {}
    assert_eq!(world.transcript(), ["user: first", "model: one"]);
}

#[tokio::test]
async fn the_view_changes_when_earlier_results_become_invisible() {
    let look = |id| calls(&[(id, "look", r#"{"text":"the view"}"#)]);
    let mut world = world(vec![
        look("1"),
        look("2"),
        text_reply("one"),
        look("3"),
        text_reply("two"),
    ]);
    world.turn("first").await;
    let result = |transcript: &[String], id: &str| -> Option<String> {
        let start = format!("Ok ({id}): ");
        transcript
            .iter()
            .find_map(|line| line.strip_prefix(&start).map(String::from))
    };
    let transcript = world.transcript();
    let first = result(&transcript, "1");
    assert!(first.is_some());
    assert_eq!(
        first,
        result(&transcript, "2"),
        "the view changed although results were only added"
    );
    let prompt = world.items()[0].id;
    world.send(Command::Rewind { to: prompt }).await;
    world.turn("second").await;
    let later = result(&world.transcript(), "3");
    assert!(later.is_some() && later != first, "{later:?}");
}

#[tokio::test]
async fn another_model_is_used_from_the_next_request() {
    let other = Scripted::new(vec![text_reply("from the other")]);
    let found = Arc::clone(&other);
    let mut world = world_with(vec![text_reply("one")], |setup| {
        setup.config.models = Arc::new(move |_| Ok(Arc::clone(&found) as Arc<dyn Model>));
    });
    world.turn("first").await;
    world.send(Command::SetModel { name: "other".into() }).await;
    assert_eq!(world.turn("second").await.0, TurnEnd::Completed);
    assert_eq!(world.transcript().last().unwrap(), "model: from the other");
    assert_eq!(other.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_call_without_a_result_gets_one_after_a_crash_and_is_not_run_again() {
    let call = Part::ToolCall {
        id: "1".into(),
        name: "change".into(),
        input: serde_json::json!({"text": "c"}),
        malformed: None,
        replay: None,
    };
    let prompt = Item {
        id: ItemId::new(),
        parent: None,
        at: Time(1),
        body: Body::Prompt {
            message: Arc::new(Message::user("go")),
        },
    };
    let reply = Item {
        id: ItemId::new(),
        parent: Some(prompt.id),
        at: Time(2),
        body: Body::Reply {
            message: Arc::new(Message {
                role: Role::Assistant,
                parts: vec![call],
            }),
            model: "m".into(),
            request: RequestId::new(),
            end: ReplyEnd::Finished(Stop::ToolUse),
        },
    };
    let items = vec![Arc::new(prompt), Arc::new(reply)];
    let mut world = world_with(vec![text_reply("I see")], |setup| setup.items = items);
    world.send(Command::Continue).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert!(!world.log().iter().any(|line| line.starts_with("change")));
    let request = world.last_request();
    assert!(
        request[2].starts_with("Error (1): hew ended before the result of this call was stored."),
        "{request:?}"
    );
}
