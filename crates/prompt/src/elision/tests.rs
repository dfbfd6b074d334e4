//! When parts of a conversation are elided, and what remains visible.

use super::*;
use crate::assembly::view::{elided_items, preview_elision};
use model::{Block, CallId, Message, Part, Role, ToolOutcome};
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

fn reply(text: &str) -> Arc<Item> {
    item(Body::Reply {
        message: Arc::new(Message::assistant(text)),
        model: "m".into(),
        request: RequestId::new(),
        end: ReplyEnd::Interrupted,
    })
}

/// A tool call and its result.
fn call(tool: &str, title: &str, text: &str, changed: &[&str]) -> [Arc<Item>; 2] {
    let id = CallId::from(format!("{tool} {title} {}", ItemId::new()));
    let call = Part::ToolCall {
        id: id.clone(),
        name: tool.into(),
        input: json!({"path": title}),
        malformed: None,
        replay: None,
    };
    let result = Part::ToolResult {
        id: id.clone(),
        name: tool.into(),
        content: vec![Block::text(text)],
        outcome: ToolOutcome::Ok,
    };
    let message = |role, part| {
        Arc::new(Message {
            role,
            parts: vec![part],
        })
    };
    [
        item(Body::Reply {
            message: message(Role::Assistant, call),
            model: "m".into(),
            request: RequestId::new(),
            end: ReplyEnd::Interrupted,
        }),
        item(Body::Result {
            message: message(Role::User, result),
            call: id,
            tool: tool.into(),
            title: title.into(),
            summary: Some("some lines".into()),
            exit: None,
            millis: 1,
            changes: changed
                .iter()
                .map(|path| Change {
                    path: path.into(),
                    before: None,
                    after: None,
                })
                .collect(),
        }),
    ]
}

/// Turns of a prompt and a reply, each message with about this many tokens.
fn turns(count: usize, tokens: usize) -> Vec<Arc<Item>> {
    let text = "word ".repeat(tokens);
    (0..count).flat_map(|_| [prompt(&text), reply(&text)]).collect()
}

/// Number of messages in each chunk that can be detached.
fn chunks(items: &[Arc<Item>]) -> Vec<usize> {
    let fold = plan_elision(items, TokenizerFamily::O200k);
    let position = |id: ItemId| items.iter().position(|item| item.id == id).unwrap();
    let length = |(first, last): &(ItemId, ItemId)| position(*last) - position(*first) + 1;
    fold.history.iter().map(length).collect()
}

#[test]
fn detach_chunk_min_messages_a_chunk_has_25_messages_and_ends_with_a_turn() {
    assert_eq!(chunks(&turns(30, 400)), [26]);
    assert_eq!(chunks(&turns(25, 400)), Vec::<usize>::new());
}

#[test]
fn detach_chunk_min_tokens_a_chunk_has_5000_tokens() {
    // 26 messages of 150 tokens are too few, 34 are enough.
    let found = chunks(&turns(60, 150));
    assert!(found.iter().all(|length| (32..=36).contains(length)), "{found:?}");
    assert!(chunks(&turns(60, 20)).is_empty());
}

#[test]
fn detach_keep_min_messages_25_messages_stay() {
    assert_eq!(chunks(&turns(25, 1_000)), Vec::<usize>::new());
    assert_eq!(chunks(&turns(26, 1_000)), [26]);
    assert_eq!(chunks(&turns(39, 1_000)), [26, 26]);
}

#[test]
fn detach_keep_min_tokens_7500_tokens_stay() {
    let mut items = turns(15, 400);
    items.extend(turns(15, 150));
    assert_eq!(chunks(&items), Vec::<usize>::new());
    items.extend(turns(12, 150));
    assert_eq!(chunks(&items), [26]);
}

#[test]
fn detached_chunks_stay_unchanged_when_more_is_detached() {
    let mut items = turns(30, 400);
    let first = plan_elision(&items, TokenizerFamily::O200k);
    items.push(item(Body::Panels {
        messages: Vec::new(),
        states: Vec::new(),
        elision: Some(first.clone()),
    }));
    let before = elided_items(&items)[0].messages()[0].text();
    items.extend(turns(30, 400));
    let second = plan_elision(&items, TokenizerFamily::O200k);
    assert_eq!(second.history[0], first.history[0]);
    assert!(second.history.len() > 1);
    assert_eq!(preview_elision(&items, &second)[0].messages()[0].text(), before);
}

#[test]
fn a_chunk_becomes_one_panel_with_calls_and_results() {
    let mut items = vec![prompt("Look at it.")];
    items.extend(call("grep", "fn main", &"found\n".repeat(500), &[]));
    items.push(reply("There it is."));
    let fold = HistoryElision {
        history: vec![(items[0].id, items[3].id)],
        ..HistoryElision::default()
    };
    let seen = preview_elision(&items, &fold);
    assert_eq!(seen.len(), 1);
    insta::assert_snapshot!(seen[0].messages()[0].text());
}

#[test]
fn an_older_read_of_the_same_lines_or_of_a_changed_file_is_stale() {
    let text = "a line\n".repeat(100);
    for (older, later, changed, is_stale) in [
        ("a.rs", "a.rs", None, true),
        ("./a.rs", "a.rs", None, true),
        ("a.rs:10-20", "a.rs:5-30", None, true),
        ("a.rs:10-20", "a.rs", None, true),
        ("a.rs", "a.rs:5-30", None, false),
        ("a.rs:10-20", "a.rs:15-30", None, false),
        ("a.rs", "b.rs", None, false),
        ("a.rs, b.rs", "b.rs", None, false),
        ("a.rs", "b.rs", Some("a.rs"), true),
        ("a.rs, b.rs", "b.rs", Some("a.rs"), true),
    ] {
        let mut items = vec![prompt("p")];
        items.extend(call("read_file", older, &text, &[]));
        items.extend(call("read_file", later, &text, &[]));
        let changed: Vec<&str> = changed.into_iter().collect();
        items.extend(call("edit_file", "x", "done", &changed));
        let found = plan_elision(&items, TokenizerFamily::O200k).brief;
        assert_eq!(found.contains(&items[2].id), is_stale, "{older} {later} {changed:?}");
    }
    // A read after the change is not outdated.
    let mut items = call("edit_file", "a.rs", "done", &["a.rs"]).to_vec();
    items.extend(call("read_file", "a.rs", &text, &[]));
    assert_eq!(plan_elision(&items, TokenizerFamily::O200k).brief, []);
}

#[test]
fn a_stale_read_becomes_one_line_and_its_call_stays() {
    let text = "a line\n".repeat(100);
    let mut items = vec![prompt("p")];
    items.extend(call("read_file", "a.rs", &text, &[]));
    items.extend(call("read_file", "a.rs", &text, &[]));
    let seen = preview_elision(&items, &plan_elision(&items, TokenizerFamily::O200k));
    assert_eq!(seen.len(), 5);
    let text = |index: usize| format!("{:?}", seen[index].messages()[0].parts);
    assert!(text(2).contains("read again or changed later"), "{}", text(2));
    assert!(text(4).contains("a line"), "{}", text(4));
}
