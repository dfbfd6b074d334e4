//! The position where a conversation is cut, and the text that replaces the first part.

use super::*;
use crate::visible_items;
use model::{CallId, Stop, ToolOutcome};
use serde_json::json;
use session::{Change, ReplyEnd, RequestId, Time};

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
        end: ReplyEnd::Finished(Stop::ToolUse),
    })
}

/// A call and its result with this many bytes.
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
        outcome: ToolOutcome::Ok,
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
        exit: None,
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
fn compaction_starts_at_a_fifth_of_the_window_or_at_20k_tokens_of_a_large_one() {
    let cases = [
        (0, 1_000_000, ContextPressure::Low),
        (100_000, 74_999, ContextPressure::Low),
        (100_000, 75_000, ContextPressure::Rising),
        (100_000, 79_999, ContextPressure::Rising),
        (100_000, 80_000, ContextPressure::High),
        (200_000, 160_000, ContextPressure::High),
        (200_001, 180_000, ContextPressure::Rising),
        (200_001, 180_001, ContextPressure::High),
        (1_000_000, 750_000, ContextPressure::Rising),
        (1_000_000, 980_000, ContextPressure::High),
        (100_000, 900_000, ContextPressure::High),
    ];
    for (window, tokens, expected) in cases {
        assert_eq!(pressure_for_window(window, tokens), expected, "{tokens} of {window}");
    }
}

#[test]
fn the_last_round_is_kept_and_calls_stay_with_their_results() {
    let mut items = conversation(10);
    let cut = CompactionCut::at(&items, KeepRecent::LastRound).unwrap();
    let last_reply = items[items.len() - 2].id;
    assert_eq!(cut.kept(), Some(last_reply));
    let message = Arc::new(cut.message("notes"));
    items.push(item(Body::Summary {
        message,
        first_kept: cut.kept(),
    }));
    let seen: Vec<&str> = visible_items(&items)
        .map(|item| match &item.body {
            Body::Summary { .. } => "summary",
            Body::Reply { .. } => "reply",
            Body::Result { .. } => "result",
            _ => "other",
        })
        .collect();
    assert_eq!(seen, ["summary", "reply", "result"]);

    // Later items are kept too, and a later summary replaces the first.
    items.push(prompt("And now the lexer."));
    let again = CompactionCut::at(&items, KeepRecent::LastRound);
    assert!(again.is_none(), "there is too little to replace");
    items.extend((20..30).flat_map(|number| round(number, 1_000)));
    let again = CompactionCut::at(&items, KeepRecent::LastRound).unwrap();
    assert!(matches!(again.replaced[0].body, Body::Summary { .. }));
    let text = again.message("more").text();
    assert!(text.contains("And now the lexer."), "{text}");
    assert!(
        text.contains("Use no unsafe code."),
        "an early prompt is missing: {text}"
    );
}

#[test]
fn prompts_and_changed_files_are_kept_independently_of_the_notes() {
    let items = conversation(10);
    let text = CompactionCut::at(&items, KeepRecent::Nothing)
        .unwrap()
        .message("Nothing of note.")
        .text();
    assert!(text.contains("Build the ärger parser. Use no unsafe code."), "{text}");
    assert!(text.contains("f0.rs, f1.rs, f2.rs"), "{text}");
}

#[test]
fn notes_must_not_be_empty_and_must_be_smaller_than_what_they_replace() {
    let items = conversation(10);
    let cut = CompactionCut::at(&items, KeepRecent::LastRound).unwrap();
    assert_eq!(cut.validate("  \n"), Err(NotesError::Empty));
    assert_eq!(cut.validate(&"x".repeat(cut.bytes())), Err(NotesError::TooLong));
    assert_eq!(cut.validate("Sure, going on."), Err(NotesError::MissingSections));
    assert_eq!(cut.validate("## Task\nshort"), Ok(()));
}

#[test]
fn without_a_model_the_notes_list_the_steps_and_are_smaller() {
    let items = conversation(200);
    let cut = CompactionCut::at(&items, KeepRecent::LastRound).unwrap();
    let message = cut.message_without_model();
    assert!(message_bytes(&message) * 4 < cut.bytes(), "{}", message_bytes(&message));
    let text = message.text();
    assert!(text.contains("139 earlier steps omitted"), "{text}");
    assert!(text.contains("- edit_file f198.rs: 1 edit"), "{text}");
}

#[test]
fn if_the_steps_are_too_long_only_the_last_prompt_remains() {
    let mut items = conversation(3);
    items.push(prompt(&format!("Now fix the lexer. {}", "ä".repeat(5_000))));
    let cut = CompactionCut::at(&items, KeepRecent::Nothing).unwrap();
    let message = cut.minimal_message();
    assert!(message.text().contains("Now fix the lexer.") && message_bytes(&message) < 2_500);
}

#[test]
fn the_notes_request_extends_the_conversation_and_keeps_the_tool_choice() {
    let items = conversation(5);
    let frame = RequestFrame {
        system: vec!["s".into()],
        ..RequestFrame::default()
    };
    let cut = CompactionCut::at(&items, KeepRecent::LastRound).unwrap();
    let request = cut.request(&frame, Some("keep the error codes"));
    let usual = assemble(&frame, &items, &mut LayoutCache::default()).request;
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
    let cut = CompactionCut::at(&items, KeepRecent::Nothing).unwrap();
    let request = cut.log_request(20_000, None);
    let text = request.messages[0].text();
    assert!(text.len() < 24_000, "{}", text.len());
    assert!(text.contains("f99.rs") && text.contains("entries omitted"), "{text}");
}

#[test]
fn a_short_conversation_is_not_compacted() {
    assert!(CompactionCut::at(&[], KeepRecent::LastRound).is_none());
    assert!(CompactionCut::at(&[prompt("hello")], KeepRecent::Nothing).is_none());
}
