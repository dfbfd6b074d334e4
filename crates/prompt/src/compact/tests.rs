//! Where a conversation is cut, and what stands in for it.

use super::*;
use crate::view;
use model::{CallId, Features, Limits, Outcome, Stop, Wire};
use serde_json::json;
use session::{Change, End, RequestId, Time};

fn info(window: u64) -> Info {
    Info {
        provider: "p".into(),
        id: "m".into(),
        wire: Wire::OpenaiChat,
        limits: Limits { window, output: 1_000 },
        features: Features {
            tools: true,
            parallel_tools: true,
            images: false,
            pdf: false,
            reasoning: false,
            caching: false,
        },
        prices: None,
        deprecated_on: None,
        options: Default::default(),
    }
}

fn item(body: Body) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent: None,
        at: Time(0),
        body,
    })
}

fn prompt(text: &str) -> Arc<Item> {
    item(Body::Prompt {
        message: Arc::new(Message::user(text)),
    })
}

fn reply(parts: Vec<Part>) -> Arc<Item> {
    item(Body::Reply {
        message: Arc::new(Message {
            role: Role::Assistant,
            parts,
        }),
        model: "m".into(),
        request: RequestId::new(),
        end: End::Finished(Stop::ToolUse),
    })
}

/// A call and its result, which says so many bytes.
fn round(number: usize, bytes: usize) -> [Arc<Item>; 2] {
    let id = CallId::from(format!("c{number}"));
    let call = Part::ToolCall {
        id: id.clone(),
        name: "edit_file".into(),
        input: json!({"path": format!("f{number}.rs")}),
        malformed: None,
        replay: None,
    };
    let result = Part::ToolResult {
        id: id.clone(),
        name: "edit_file".into(),
        content: vec![Block::text("x".repeat(bytes))],
        outcome: Outcome::Ok,
    };
    let result = item(Body::Result {
        message: Arc::new(Message {
            role: Role::User,
            parts: vec![result],
        }),
        call: id,
        tool: "edit_file".into(),
        title: format!("f{number}.rs"),
        summary: Some("1 edit".into()),
        millis: 1,
        changes: vec![Change {
            path: format!("f{number}.rs").into(),
            before: None,
            after: None,
        }],
    });
    [reply(vec![call]), result]
}

fn conversation(rounds: usize) -> Vec<Arc<Item>> {
    let mut items = vec![prompt("Build the ärger parser. Use no unsafe code.")];
    items.extend((0..rounds).flat_map(|number| round(number, 1_000)));
    items
}

#[test]
fn room_is_made_at_a_fifth_of_the_window_or_at_20k_tokens_of_a_large_one() {
    let cases = [
        (0, 1_000_000, Pressure::Low),
        (100_000, 74_999, Pressure::Low),
        (100_000, 75_000, Pressure::Rising),
        (100_000, 79_999, Pressure::Rising),
        (100_000, 80_000, Pressure::High),
        (200_000, 160_000, Pressure::High),
        (200_001, 180_000, Pressure::Rising),
        (200_001, 180_001, Pressure::High),
        (1_000_000, 750_000, Pressure::Rising),
        (1_000_000, 980_000, Pressure::High),
        (100_000, 900_000, Pressure::High),
    ];
    for (window, tokens, expected) in cases {
        assert_eq!(pressure(&info(window), tokens), expected, "{tokens} of {window}");
    }
}

#[test]
fn the_last_round_stays_as_it_is_and_calls_stay_with_their_results() {
    let mut items = conversation(10);
    let cut = Cut::at(&items, Keep::LastRound).unwrap();
    let last_reply = items[items.len() - 2].id;
    assert_eq!(cut.kept(), Some(last_reply));
    let message = Arc::new(cut.message("notes"));
    items.push(item(Body::Summary {
        message,
        kept: cut.kept(),
    }));
    let seen: Vec<&str> = view(&items)
        .map(|item| match &item.body {
            Body::Summary { .. } => "summary",
            Body::Reply { .. } => "reply",
            Body::Result { .. } => "result",
            Body::Prompt { .. }
            | Body::Notice { .. }
            | Body::Mode { .. }
            | Body::Wake { .. }
            | Body::Todos { .. }
            | Body::Panels { .. }
            | Body::Review { .. }
            | Body::Restored { .. } => "other",
        })
        .collect();
    assert_eq!(seen, ["summary", "reply", "result"]);

    // What is said next is kept too, and a later summary replaces the first.
    items.push(prompt("And now the lexer."));
    let again = Cut::at(&items, Keep::LastRound);
    assert!(again.is_none(), "there is too little to replace");
    items.extend((20..30).flat_map(|number| round(number, 1_000)));
    let again = Cut::at(&items, Keep::LastRound).unwrap();
    assert!(matches!(again.replaced[0].body, Body::Summary { .. }));
    let text = again.message("more").text();
    assert!(text.contains("And now the lexer."), "{text}");
    assert!(
        text.contains("Use no unsafe code."),
        "what was said long ago still counts: {text}"
    );
}

#[test]
fn what_the_person_said_and_the_files_are_kept_whatever_the_notes_say() {
    let items = conversation(10);
    let text = Cut::at(&items, Keep::Nothing)
        .unwrap()
        .message("Nothing of note.")
        .text();
    assert!(text.contains("Build the ärger parser. Use no unsafe code."), "{text}");
    assert!(text.contains("f0.rs, f1.rs, f2.rs"), "{text}");
}

#[test]
fn notes_must_say_something_and_be_smaller_than_what_they_replace() {
    let items = conversation(10);
    let cut = Cut::at(&items, Keep::LastRound).unwrap();
    assert_eq!(cut.check("  \n"), Err(Unfit::Empty));
    assert_eq!(cut.check(&"x".repeat(cut.bytes())), Err(Unfit::TooLong));
    assert_eq!(cut.check("Sure, going on."), Err(Unfit::Shapeless));
    assert_eq!(cut.check("## Task\nshort"), Ok(()));
}

#[test]
fn without_a_model_the_steps_are_told_and_it_still_gets_smaller() {
    let items = conversation(200);
    let cut = Cut::at(&items, Keep::LastRound).unwrap();
    let message = cut.message_without_model();
    assert!(message_bytes(&message) * 4 < cut.bytes(), "{}", message_bytes(&message));
    let text = message.text();
    assert!(text.contains("139 earlier steps are left out"), "{text}");
    assert!(text.contains("- edit_file f198.rs: 1 edit"), "{text}");
}

#[test]
fn when_even_the_steps_are_too_long_what_the_person_said_last_is_left() {
    let mut items = conversation(3);
    items.push(prompt(&format!("Now mend the lexer. {}", "ä".repeat(5_000))));
    let cut = Cut::at(&items, Keep::Nothing).unwrap();
    let message = cut.bare_message();
    assert!(message.text().contains("Now mend the lexer.") && message_bytes(&message) < 2_500);
}

#[test]
fn the_request_for_notes_begins_like_the_conversation_and_leaves_the_choice_of_tools() {
    let items = conversation(5);
    let frame = Frame {
        system: vec!["s".into()],
        ..Frame::default()
    };
    let cut = Cut::at(&items, Keep::LastRound).unwrap();
    let request = cut.request(&frame, Some("keep the error codes"));
    let usual = assemble(&frame, &items, &mut Kept::default()).request;
    let shared = request.messages.len() - 1;
    assert_eq!(request.messages[..shared], usual.messages[..shared]);
    assert_eq!(
        request.tool_choice, usual.tool_choice,
        "another choice of tools costs the cache"
    );
    assert!(request.messages[shared].text().ends_with("keep the error codes"));
}

#[test]
fn a_log_is_bounded_and_keeps_its_end() {
    let items = conversation(100);
    let cut = Cut::at(&items, Keep::Nothing).unwrap();
    let request = cut.log_request(20_000, None);
    let text = request.messages[0].text();
    assert!(text.len() < 24_000, "{}", text.len());
    assert!(
        text.contains("f99.rs") && text.contains("entries are left out"),
        "{text}"
    );
}

#[test]
fn a_short_conversation_is_left_alone() {
    assert!(Cut::at(&[], Keep::LastRound).is_none());
    assert!(Cut::at(&[prompt("hello")], Keep::Nothing).is_none());
}
