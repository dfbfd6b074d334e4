//! Compaction before the window is full, and after the provider rejected a request.

use crate::fixture::*;
use agent::{AutoCompaction, CompactionSettings};
use model::{Chunk, Error, Message, Stop, Usage};
use session::{Body, Command, Event, Item, ItemId, NoticeLevel, Time, TurnEnd};
use std::sync::Arc;
use std::time::Duration;

/// An answer to a request with this many tokens.
fn reply_with_usage(mut chunks: Vec<Chunk>, input: u64, stop: Stop) -> Answer {
    chunks.push(Chunk::Usage(Usage {
        input,
        output: 10,
        ..Usage::default()
    }));
    chunks.push(Chunk::Stop(stop));
    Answer::Chunks(chunks)
}

fn look_call(id: &str, input: u64) -> Answer {
    let text = "x".repeat(2_000);
    let call = format!(r#"{{"text":"{id} {text}"}}"#);
    reply_with_usage(call_chunks(&[(id, "look", &call)]), input, Stop::ToolUse)
}

fn text(text: &str, input: u64) -> Answer {
    reply_with_usage(vec![Chunk::Text(text.into())], input, Stop::End)
}

fn kinds(items: &[Arc<Item>]) -> Vec<&'static str> {
    let kind = |item: &Arc<Item>| match &item.body {
        Body::Prompt { .. } => "prompt",
        Body::Reply { .. } => "reply",
        Body::Result { .. } => "result",
        Body::Summary { .. } => "summary",
        _ => "other",
    };
    items.iter().map(kind).collect()
}

fn overflow() -> Answer {
    Answer::Fails(Error::ContextOverflow {
        detail: "too long".into(),
        window: None,
    })
}

#[tokio::test]
async fn a_full_window_is_summarised_within_a_turn() {
    // The window has 100,000 tokens: the summary is prepared at 75,000 and used at 80,000.
    let script = vec![
        look_call("1", 10_000),
        look_call("2", 70_000),
        look_call("3", 85_000),
        text("## Task\nLook around.", 85_100),
        text("all done", 5_000),
    ];
    let mut world = world(script);
    let (ending, events) = world.turn("look around").await;
    assert_eq!(ending, TurnEnd::Completed);
    assert_eq!(
        kinds(&world.items()),
        [
            "prompt", "reply", "result", "reply", "result", "reply", "result", "summary", "reply"
        ]
    );
    let seen = world.last_request();
    assert!(
        seen[0].contains("Look around.") && seen[0].contains("- look around"),
        "{seen:?}"
    );
    assert_eq!(seen[1], "model calls look (3)");
    assert!(seen[2].starts_with("Ok (3): 3 xxx"), "{seen:?}");
    assert_eq!(seen.len(), 3);
    let records = world.store.records.lock().unwrap();
    let purposes: Vec<&str> = records.iter().map(|record| record.purpose.as_str()).collect();
    assert_eq!(purposes, ["turn", "turn", "turn", "summary", "turn"]);
    let notices = events.iter().any(|event| {
        matches!(event, Event::Notice { level: NoticeLevel::Info, text } if text.starts_with("summarised the conversation"))
    });
    assert!(notices, "{events:?}");
}

#[tokio::test]
async fn a_summary_is_prepared_in_the_background_and_used_when_needed() {
    let script = vec![
        look_call("1", 20_000),
        look_call("2", 76_000),
        look_call("3", 85_000),
        text("all done", 5_000),
    ];
    let writer = Scripted::new(vec![text("## Task\nprepared notes", 76_100)]);
    let mut world = world_with(script, |setup| setup.config.compaction.model = Some(writer));
    let (ending, _) = world.turn("look around").await;
    assert_eq!(ending, TurnEnd::Completed);
    let seen = world.last_request();
    assert!(seen[0].contains("prepared notes"), "{seen:?}");
    // The summary was prepared when call 2 was the last one: it and later items stay unchanged.
    assert_eq!(seen[1], "model calls look (2)");
    assert_eq!(seen[3], "model calls look (3)");
}

#[tokio::test]
async fn without_a_usable_summary_one_is_made_from_the_log() {
    let script = vec![
        look_call("1", 10_000),
        look_call("2", 60_000),
        look_call("3", 85_000),
        text("   ", 85_000),
        text(&"long ".repeat(4_000), 85_000),
        text("all done", 5_000),
    ];
    let mut world = world(script);
    let (ending, _) = world.turn("look around").await;
    assert_eq!(ending, TurnEnd::Completed);
    let seen = world.last_request();
    assert!(
        seen[0].contains("Steps taken") && seen[0].contains("- look 1 xxx"),
        "{}",
        seen[0]
    );
}

#[tokio::test]
async fn a_request_rejected_as_too_long_is_retried_with_less() {
    let script = vec![
        look_call("1", 10),
        look_call("2", 10),
        overflow(),
        text("## Task\nnotes", 10),
        text("done", 10),
    ];
    let mut world = world(script);
    let (ending, _) = world.turn("look around").await;
    assert_eq!(ending, TurnEnd::Completed);
    assert!(world.last_request()[0].contains("notes"));

    let script = vec![
        look_call("1", 10),
        look_call("2", 10),
        overflow(),
        text("## Task\nnotes", 10),
        overflow(),
        overflow(),
        overflow(),
    ];
    let mut world = crate::fixture::world(script);
    let (ending, _) = world.turn("look around").await;
    assert!(matches!(ending, TurnEnd::Failed { .. }), "it does not loop: {ending:?}");
}

#[tokio::test]
async fn automatic_compaction_can_be_disabled_and_compaction_requested() {
    let script = vec![
        look_call("1", 10_000),
        look_call("2", 95_000),
        text("first answer", 96_000),
        text("## Task\nshort notes", 96_000),
        text("second answer", 1_000),
    ];
    let mut world = world_with(script, |setup| {
        setup.config.compaction = CompactionSettings {
            automatic: AutoCompaction::Off,
            ..CompactionSettings::default()
        };
    });
    let (ending, _) = world.turn("look around").await;
    assert_eq!(ending, TurnEnd::Completed);
    assert!(!kinds(&world.items()).contains(&"summary"));
    let instructions = Some("mind the gap".to_string());
    world.send(Command::Compact { instructions }).await;
    world
        .until(|event| matches!(event, Event::ItemFinished { item } if matches!(item.body, Body::Summary { .. })))
        .await;
    {
        let requests = world.model.requests.lock().unwrap();
        assert!(
            requests
                .last()
                .unwrap()
                .messages
                .last()
                .unwrap()
                .text()
                .ends_with("mind the gap")
        );
    }
    world.turn("continue").await;
    let seen = world.last_request();
    assert!(
        seen[0].contains("short notes") && seen.last().unwrap().contains("continue"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_long_resumed_session_is_summarised_before_its_first_request() {
    let long = "y".repeat(350_000);
    let item = |text: &str, parent: Option<ItemId>| {
        Arc::new(Item {
            id: ItemId::new(),
            parent,
            at: Time(0),
            body: Body::Prompt {
                message: Arc::new(Message::user(text)),
            },
        })
    };
    let first = item(&long, None);
    let items = vec![Arc::clone(&first), item("small", Some(first.id))];
    let script = vec![text("## Task\nthe notes", 50_000), text("done", 1_000)];
    let mut world = world_with(script, |setup| setup.items = items);
    let (ending, _) = world.turn("and now?").await;
    assert_eq!(ending, TurnEnd::Completed);
    assert!(world.last_request()[0].contains("the notes"));
}

#[tokio::test]
async fn text_before_a_call_is_not_a_summary() {
    let mut calling = vec![Chunk::Text("Let me look again.".into())];
    calling.extend(call_chunks(&[("9", "look", r#"{"text":"a"}"#)]));
    let script = vec![
        look_call("1", 10_000),
        look_call("2", 70_000),
        look_call("3", 85_000),
        reply_with_usage(calling, 85_000, Stop::ToolUse),
        text("## Task\nreal notes", 85_000),
        text("all done", 5_000),
    ];
    let mut world = world(script);
    let (ending, _) = world.turn("look around").await;
    assert_eq!(ending, TurnEnd::Completed);
    assert!(world.last_request()[0].contains("real notes"));
}

#[tokio::test]
async fn a_requested_summary_can_be_interrupted() {
    let script = vec![
        look_call("1", 10),
        look_call("2", 10),
        text("first", 10),
        Answer::Hanging(Vec::new()),
        text("second", 10),
    ];
    let mut world = world(script);
    world.turn("look around").await;
    world.send(Command::Compact { instructions: None }).await;
    while world.model.requests.lock().unwrap().len() < 4 {
        tokio::task::yield_now().await;
    }
    world.prompt("continue", session::Delivery::Queue).await;
    world.send(Command::Interrupt).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert!(!kinds(&world.items()).contains(&"summary"));
    assert_eq!(world.transcript().last().unwrap(), "model: second");
}

/// A reply instead of a summary, and why it is not used.
#[tokio::test]
async fn a_failed_summary_request_does_not_end_the_turn() {
    let long = format!("## Task\n{}", "so much more ".repeat(2_000));
    type Bad = (fn(&str) -> Answer, &'static str);
    let bad: [Bad; 4] = [
        (|long| text(long, 85_000), "not smaller"),
        (
            |_| text("Sure, let me look at one more file.", 85_000),
            "requested sections",
        ),
        (
            |_| {
                Answer::Fails(Error::Overloaded {
                    provider: "script".into(),
                    detail: "busy".into(),
                    retry_after: None,
                })
            },
            "busy",
        ),
        (|_| Answer::Hanging(vec![Chunk::Text("## Ta".into())]), "timed out"),
    ];
    for (answer, why) in bad {
        // One request has the conversation and one a shortened log; then the log itself is used.
        let script = vec![
            look_call("1", 10_000),
            look_call("2", 60_000),
            look_call("3", 85_000),
            answer(&long),
            answer(&long),
            look_call("4", 6_000),
            text("all done", 7_000),
        ];
        let mut world = world_with(script, |setup| {
            setup.config.compaction.silence_timeout = Some(Duration::from_secs(1))
        });
        let (ending, events) = world.turn("look around").await;
        assert_eq!(ending, TurnEnd::Completed, "{why}");
        let notices = events.iter().filter(|event| {
            matches!(event, Event::Notice { level: NoticeLevel::Warning, text } if text.contains("no usable summary") && text.contains(why))
        });
        assert_eq!(notices.count(), 2, "{why}: {events:?}");
        let items = world.items();
        assert_eq!(
            kinds(&items).iter().filter(|kind| **kind == "summary").count(),
            1,
            "{why}"
        );
        let seen = world.last_request();
        assert!(
            seen[0].contains("Steps taken") && seen[0].contains("- look around"),
            "{why}: {}",
            seen[0]
        );
        let all: usize = seen.iter().map(String::len).sum();
        assert!(all < 8_000, "it has become shorter: {all}");
    }
}
