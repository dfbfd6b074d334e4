//! Room is made in a conversation before its window is full, and nothing is lost by it.

use crate::world::*;
use agent::{Automatic, Compaction};
use model::{Chunk, Error, Message, Stop, Usage};
use session::{Body, Command, Ending, Event, Item, ItemId, Level, Time};
use std::sync::Arc;
use std::time::Duration;

/// An answer whose request had so many tokens.
fn counting(mut chunks: Vec<Chunk>, input: u64, stop: Stop) -> Answer {
    chunks.push(Chunk::Usage(Usage {
        input,
        output: 10,
        ..Usage::default()
    }));
    chunks.push(Chunk::Stop(stop));
    Answer::Chunks(chunks)
}

fn looks(id: &str, input: u64) -> Answer {
    let text = "x".repeat(2_000);
    let call = format!(r#"{{"text":"{id} {text}"}}"#);
    counting(call_chunks(&[(id, "look", &call)]), input, Stop::ToolUse)
}

fn text(text: &str, input: u64) -> Answer {
    counting(vec![Chunk::Text(text.into())], input, Stop::End)
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
    })
}

#[tokio::test]
async fn a_full_window_is_summarised_in_the_middle_of_a_turn_and_the_work_goes_on() {
    // The window has 100,000 tokens: notes are prepared at 75,000 and used at 80,000.
    let script = vec![
        looks("1", 10_000),
        looks("2", 70_000),
        looks("3", 85_000),
        text("## Task\nLook around.", 85_100),
        text("all done", 5_000),
    ];
    let mut world = world(script);
    let (ending, events) = world.turn("look around").await;
    assert_eq!(ending, Ending::Completed);
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
    let told = events.iter().any(|event| {
        matches!(event, Event::Notice { level: Level::Info, text } if text.starts_with("summarised the conversation"))
    });
    assert!(told, "{events:?}");
}

#[tokio::test]
async fn notes_are_prepared_beside_the_work_and_used_when_they_are_needed() {
    let script = vec![
        looks("1", 20_000),
        looks("2", 76_000),
        looks("3", 85_000),
        text("all done", 5_000),
    ];
    let writer = Scripted::new(vec![text("## Task\nprepared notes", 76_100)]);
    let mut world = world_with(script, |setup| setup.compaction.model = Some(writer));
    let (ending, _) = world.turn("look around").await;
    assert_eq!(ending, Ending::Completed);
    let seen = world.last_request();
    assert!(seen[0].contains("prepared notes"), "{seen:?}");
    // They were prepared while call 2 was the last: it and what came after it stand as they are.
    assert_eq!(seen[1], "model calls look (2)");
    assert_eq!(seen[3], "model calls look (3)");
}

#[tokio::test]
async fn notes_that_no_model_can_write_are_made_of_the_log() {
    let script = vec![
        looks("1", 10_000),
        looks("2", 60_000),
        looks("3", 85_000),
        text("   ", 85_000),
        text(&"long ".repeat(4_000), 85_000),
        text("all done", 5_000),
    ];
    let mut world = world(script);
    let (ending, _) = world.turn("look around").await;
    assert_eq!(ending, Ending::Completed);
    let seen = world.last_request();
    assert!(
        seen[0].contains("What was done") && seen[0].contains("- look 1 xxx"),
        "{}",
        seen[0]
    );
}

#[tokio::test]
async fn a_provider_that_says_the_window_is_full_is_asked_again_with_less() {
    let script = vec![
        looks("1", 10),
        looks("2", 10),
        overflow(),
        text("## Task\nnotes", 10),
        text("done", 10),
    ];
    let mut world = world(script);
    let (ending, _) = world.turn("look around").await;
    assert_eq!(ending, Ending::Completed);
    assert!(world.last_request()[0].contains("notes"));

    let script = vec![
        looks("1", 10),
        looks("2", 10),
        overflow(),
        text("## Task\nnotes", 10),
        overflow(),
        overflow(),
        overflow(),
    ];
    let mut world = crate::world::world(script);
    let (ending, _) = world.turn("look around").await;
    assert!(
        matches!(ending, Ending::Failed { .. }),
        "it does not go on for ever: {ending:?}"
    );
}

#[tokio::test]
async fn it_can_be_switched_off_and_asked_for() {
    let script = vec![
        looks("1", 10_000),
        looks("2", 95_000),
        text("first answer", 96_000),
        text("## Task\nshort notes", 96_000),
        text("second answer", 1_000),
    ];
    let mut world = world_with(script, |setup| {
        setup.compaction = Compaction {
            automatic: Automatic::Off,
            ..Compaction::default()
        };
    });
    let (ending, _) = world.turn("look around").await;
    assert_eq!(ending, Ending::Completed);
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
    world.turn("go on").await;
    let seen = world.last_request();
    assert!(
        seen[0].contains("short notes") && seen.last().unwrap().contains("go on"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_long_session_that_is_resumed_is_summarised_before_its_first_request() {
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
    assert_eq!(ending, Ending::Completed);
    assert!(world.last_request()[0].contains("the notes"));
}

#[tokio::test]
async fn words_on_the_way_to_a_call_are_no_notes() {
    let mut calling = vec![Chunk::Text("Let me look once more.".into())];
    calling.extend(call_chunks(&[("9", "look", r#"{"text":"a"}"#)]));
    let script = vec![
        looks("1", 10_000),
        looks("2", 70_000),
        looks("3", 85_000),
        counting(calling, 85_000, Stop::ToolUse),
        text("## Task\nreal notes", 85_000),
        text("all done", 5_000),
    ];
    let mut world = world(script);
    let (ending, _) = world.turn("look around").await;
    assert_eq!(ending, Ending::Completed);
    assert!(world.last_request()[0].contains("real notes"));
}

#[tokio::test]
async fn the_person_may_stop_a_summary_that_they_asked_for() {
    let script = vec![
        looks("1", 10),
        looks("2", 10),
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
    world.prompt("go on", session::Delivery::Queue).await;
    world.send(Command::Interrupt).await;
    assert_eq!(world.ending().await.0, Ending::Completed);
    assert!(!kinds(&world.items()).contains(&"summary"));
    assert_eq!(world.story().last().unwrap(), "model: second");
}

/// What a model may answer instead of notes, and why they are not used.
#[tokio::test]
async fn a_model_that_writes_no_notes_costs_nothing_but_the_notes() {
    let long = format!("## Task\n{}", "so much more ".repeat(2_000));
    type Bad = (fn(&str) -> Answer, &'static str);
    let bad: [Bad; 4] = [
        (|long| text(long, 85_000), "not smaller"),
        (
            |_| text("Sure, let me look at one more file.", 85_000),
            "sections that were asked for",
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
        (|_| Answer::Hanging(vec![Chunk::Text("## Ta".into())]), "took too long"),
    ];
    for (answer, why) in bad {
        // It is asked once with the conversation and once with a shortened log; then the log itself has to do.
        let script = vec![
            looks("1", 10_000),
            looks("2", 60_000),
            looks("3", 85_000),
            answer(&long),
            answer(&long),
            looks("4", 6_000),
            text("all done", 7_000),
        ];
        let mut world = world_with(script, |setup| setup.compaction.patience = Some(Duration::from_secs(1)));
        let (ending, events) = world.turn("look around").await;
        assert_eq!(ending, Ending::Completed, "{why}");
        let told = events.iter().filter(|event| {
            matches!(event, Event::Notice { level: Level::Warning, text } if text.contains("no usable summary") && text.contains(why))
        });
        assert_eq!(told.count(), 2, "{why}: {events:?}");
        let items = world.items();
        assert_eq!(
            kinds(&items).iter().filter(|kind| **kind == "summary").count(),
            1,
            "{why}"
        );
        let seen = world.last_request();
        assert!(
            seen[0].contains("What was done") && seen[0].contains("- look around"),
            "{why}: {}",
            seen[0]
        );
        let all: usize = seen.iter().map(String::len).sum();
        assert!(all < 8_000, "it has become shorter: {all}");
    }
}
