//! What each view shows at three sizes, and what its keys do.

use super::*;
use crate::stage::{Given, Keyring, NOW, SIZES, Stage};
use crate::state::State;
use crate::view::{Outcome, Wish};
use crate::views::setup::Setup;
use model::{CallId, Cost, Message, Usage};
use session::{
    BlobId, Body, Change, Command, Difference, Event, Item, ItemId, Prompt, Record, RequestId, Section, SessionId,
    Status, Time, Todo as Thing, Totals,
};
use std::path::PathBuf;
use std::sync::Arc;

fn item(number: u128, body: Body) -> Arc<Item> {
    let id: ItemId = format!("0198c0de-0000-7000-9000-{number:012x}").parse().unwrap();
    Arc::new(Item {
        id,
        parent: None,
        at: Time(NOW.0 - 600_000),
        body,
    })
}

fn prompt(text: &str) -> Body {
    Body::Prompt {
        message: Arc::new(Message::user(text)),
    }
}

fn items() -> Vec<Arc<Item>> {
    let change = Change {
        path: PathBuf::from("src/parser.rs"),
        before: None,
        after: Some(BlobId("1".into()).into()),
    };
    vec![
        item(1, prompt("Why does the parser test fail?")),
        item(2, prompt("Count columns, not bytes")),
        item(
            3,
            Body::Result {
                message: Arc::new(Message::user("done")),
                call: "c1".into(),
                tool: "edit".into(),
                title: "edit src/parser.rs".into(),
                summary: None,
                millis: 3,
                changes: vec![change],
            },
        ),
        item(4, prompt("Now add a test for 漢字")),
    ]
}

fn record(number: u128, read: u64, input: u64, difference: Difference) -> Record {
    let section = |name: &str, tokens: u64, cached: u64| Section {
        name: name.into(),
        bytes: tokens * 4,
        tokens,
        cached,
    };
    Record {
        id: format!("0198c0de-0000-7000-a000-{number:012x}")
            .parse::<RequestId>()
            .unwrap(),
        item: None,
        purpose: if number == 1 { "title".into() } else { "turn".into() },
        model: "anthropic/claude-sonnet-4-6".into(),
        attempt: 1,
        at: Time(NOW.0 - 60_000),
        first_chunk: Some(400),
        total: 3_200,
        usage: Usage {
            input,
            cache_read: read,
            output: 700,
            ..Usage::default()
        },
        cost: Some(Cost::from_usd(0.012)),
        outcome: "tool_use".into(),
        sections: vec![
            section("tools", 1_400, 1_400),
            section("system/rules", 900, 900),
            section("history/results/read_file", 6_000, 4_000),
            section("turn/prompts", 300, 0),
        ],
        prompt: Some(Prompt {
            cached: read,
            is_estimate: false,
            difference,
            base: None,
            frame: None,
            frame_parts: Vec::new(),
            shared: 0,
            said: Vec::new(),
            marks: Vec::new(),
            paid: None,
        }),
    }
}

fn given() -> Given {
    Given {
        items: items(),
        records: vec![
            record(1, 0, 500, Difference::First),
            record(2, 0, 8_600, Difference::First),
            record(
                3,
                2_300,
                6_300,
                Difference::At {
                    byte: 9_120,
                    part: "history: an old result was shortened".into(),
                },
            ),
            record(4, 6_300, 2_300, Difference::Extends),
        ],
        ..Given::default()
    }
}

fn fill(state: &mut State) {
    let todo = |text: &str, status| Thing {
        text: text.into(),
        status,
    };
    state.todos = vec![
        todo("find the cause", Status::Completed),
        todo("count columns instead of bytes", Status::InProgress),
        todo("add a test", Status::Pending),
        todo("rewrite everything", Status::Cancelled),
    ];
    let session: SessionId = "0198c0de-0000-7000-8000-00000000000a".parse().unwrap();
    let below = |event: Event| Event::Subtask {
        session,
        call: CallId::from("c9"),
        event: Box::new(event),
    };
    let usage = Usage {
        input: 4_000,
        output: 120,
        ..Usage::default()
    };
    for event in [
        Event::TurnStarted,
        Event::ItemFinished {
            item: item(20, prompt("Look for other places that count bytes")),
        },
        Event::ItemDelta {
            id: ItemId::new(),
            delta: session::Delta::Text("I will search for `len()`.\n".into()),
        },
        Event::Usage {
            request: RequestId::new(),
            usage,
            cost: None,
            totals: Totals {
                usage,
                cost: Cost::from_usd(0.02),
                requests: 1,
            },
        },
    ] {
        state.hear(&below(event));
    }
}

fn opened(name: &str, stage: &Stage) -> Box<dyn View> {
    match name {
        "sessions" => Box::new(List::new(sessions::Sessions::at(NOW))),
        "rewind" => Box::new(List::new(rewind::Rewind::at(NOW))),
        name => {
            let deed = crate::keys::Binding::named(name).unwrap().deed;
            open(deed, &[], &stage.cx()).unwrap()
        }
    }
}

const VIEWS: [&str; 16] = [
    "changes",
    "context",
    "help",
    "jobs",
    "models",
    "modes",
    "palette",
    "permissions",
    "rewind",
    "servers",
    "sessions",
    "settings",
    "setup",
    "subagents",
    "themes",
    "todo",
];

#[tokio::test]
async fn every_view_reads_well_at_three_sizes() {
    let mut stage = Stage::new(given());
    fill(&mut stage.state);
    for name in VIEWS {
        for size in SIZES {
            let mut view = opened(name, &stage);
            let rows = match view.place() {
                crate::view::Place::Full => size.1,
                crate::view::Place::Inline(rows) => rows.min(size.1 / 2 + 2),
            };
            let seen = stage.see(view.as_mut(), (size.0, rows)).await;
            insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), seen);
        }
    }
}

#[tokio::test]
async fn views_of_nothing_say_so_and_none_falls_at_any_size() {
    let stage = Stage::new(Given::default());
    for name in VIEWS {
        for size in [(1, 1), (3, 2), (8, 3), (10, 6), (200, 4), (5, 60)] {
            let mut view = opened(name, &stage);
            stage.see(view.as_mut(), size).await;
        }
    }
}

#[tokio::test]
async fn esc_closes_every_view_and_a_search_first() {
    let stage = Stage::new(given());
    for name in VIEWS {
        let mut view = opened(name, &stage);
        stage.see(view.as_mut(), (80, 24)).await;
        assert!(matches!(stage.press(view.as_mut(), "esc"), Outcome::Close), "{name}");
    }
    let mut view = opened("models", &stage);
    stage.see(view.as_mut(), (80, 24)).await;
    assert!(matches!(stage.press(view.as_mut(), "q w e n esc"), Outcome::Stay));
    assert!(matches!(stage.press(view.as_mut(), "esc"), Outcome::Close));
}

#[tokio::test]
async fn a_searched_model_is_chosen_with_enter() {
    let stage = Stage::new(given());
    let mut view = opened("models", &stage);
    stage.see(view.as_mut(), (80, 24)).await;
    match stage.press(view.as_mut(), "q w e n enter") {
        Outcome::CloseAnd(Wish::Send(Command::SetModel { name })) => assert_eq!(name, "ollama/qwen3:32b"),
        _ => panic!("a model is chosen"),
    }
}

#[tokio::test]
async fn hunks_are_accepted_and_taken_back_by_key() {
    let stage = Stage::new(given());
    let mut view = opened("changes", &stage);
    stage.see(view.as_mut(), (80, 24)).await;
    for keys in ["a", "n r", "A", "tab R"] {
        if let Outcome::Do(Wish::KeepLater(later)) = stage.press(view.as_mut(), keys) {
            later.await.unwrap();
        }
        stage.see(view.as_mut(), (80, 24)).await;
    }
    let done = stage.given.done.lock().unwrap().clone();
    assert_eq!(done, ["Accept a1", "Reject a2", "Accept a1, Accept a2", "Reject b1"]);
}

#[tokio::test]
async fn a_session_is_renamed_in_place() {
    let stage = Stage::new(given());
    let mut view = opened("sessions", &stage);
    stage.see(view.as_mut(), (80, 24)).await;
    stage.press(view.as_mut(), "ctrl+r ctrl+u B e t t e r enter");
    stage.see(view.as_mut(), (80, 24)).await;
    assert_eq!(*stage.given.done.lock().unwrap(), ["it is called Better now"]);
}

#[tokio::test]
async fn going_back_sends_the_item_before_and_puts_the_words_into_the_line() {
    let stage = Stage::new(given());
    let mut view = opened("rewind", &stage);
    stage.see(view.as_mut(), (80, 24)).await;
    match stage.press(view.as_mut(), "down enter") {
        Outcome::CloseAnd(Wish::All(wishes)) => match wishes.as_slice() {
            [Wish::Send(Command::Rewind { to }), Wish::Tell(_), Wish::Compose(text)] => {
                assert_eq!((*to, text.as_str()), (items()[0].id, "Count columns, not bytes"));
            }
            _ => panic!("a rewind and the words"),
        },
        _ => panic!("it goes back"),
    }
}

#[tokio::test]
async fn a_subtask_is_steered_and_stopped() {
    let mut stage = Stage::new(given());
    fill(&mut stage.state);
    let mut view = opened("subagents", &stage);
    stage.see(view.as_mut(), (80, 24)).await;
    match stage.press(view.as_mut(), "ctrl+s h u r r y enter") {
        Outcome::Do(Wish::Send(Command::Subtask { command, .. })) => match *command {
            Command::Prompt { message, .. } => assert_eq!(message.text(), "hurry"),
            _ => panic!("something is said"),
        },
        _ => panic!("it is steered"),
    }
    match stage.press(view.as_mut(), "ctrl+k") {
        Outcome::Do(Wish::Send(Command::Subtask { command, .. })) => assert_eq!(*command, Command::Interrupt),
        _ => panic!("it is stopped"),
    }
}

#[tokio::test]
async fn setting_up_goes_from_provider_to_key_to_model_to_test() {
    let stage = Stage::new(given());
    let mut view = opened("setup", &stage);
    let size = (80, 24);
    stage.see(view.as_mut(), size).await;
    stage.press(view.as_mut(), "down down enter");
    stage.press(view.as_mut(), "s k - 1 2");
    let seen = stage.see(view.as_mut(), size).await;
    assert!(seen.contains("OpenAI: •••••"), "{seen}");
    stage.press(view.as_mut(), "enter");
    stage.see(view.as_mut(), size).await;
    stage.press(view.as_mut(), "enter");
    let seen = stage.see(view.as_mut(), size).await;
    assert!(seen.contains("it answered in 420ms"), "{seen}");
    stage.see(view.as_mut(), size).await;
    assert_eq!(
        *stage.given.done.lock().unwrap(),
        ["the key of openai is kept", "model is openai/gpt-5.5 now"]
    );
    match stage.press(view.as_mut(), "enter") {
        Outcome::CloseAnd(Wish::Send(Command::SetModel { name })) => assert_eq!(name, "openai/gpt-5.5"),
        _ => panic!("the model is used"),
    }
}

#[tokio::test]
async fn without_a_keyring_the_key_can_be_kept_in_a_file_or_used_for_now() {
    for (keyring, keys, told) in [
        (Keyring::Absent, "enter", "the key sk-12 of openai is kept: File"),
        (Keyring::Absent, "down enter", "the key sk-12 of openai is kept: Now"),
        (Keyring::Fails, "enter", "the key sk-12 of openai is kept: File"),
    ] {
        let stage = Stage::new(Given { keyring, ..given() });
        let mut view = opened("setup", &stage);
        let size = (80, 24);
        stage.see(view.as_mut(), size).await;
        stage.press(view.as_mut(), "o p e n a enter");
        stage.press(view.as_mut(), "s k - 1 2 enter");
        let seen = stage.see(view.as_mut(), size).await;
        assert!(seen.contains("Where is the key to be kept?"), "{seen}");
        assert!(seen.contains("in ~/.config/hew/keys.toml"), "{seen}");
        assert_eq!(
            seen.contains("the keyring is locked"),
            keyring == Keyring::Fails,
            "{seen}"
        );
        assert!(!seen.contains("sk-12"), "{seen}");
        stage.press(view.as_mut(), keys);
        let seen = stage.see(view.as_mut(), size).await;
        assert!(seen.contains("Which model?") && seen.contains(told), "{seen}");
    }
}

#[tokio::test]
async fn providers_are_found_by_typing_and_the_last_one_by_end() {
    let stage = Stage::new(given());
    let mut view = opened("setup", &stage);
    let size = (80, 24);
    stage.see(view.as_mut(), size).await;
    stage.press(view.as_mut(), "end");
    let seen = stage.see(view.as_mut(), size).await;
    assert!(seen.contains("› OpenAI"), "{seen}");
    stage.press(view.as_mut(), "l l a");
    let seen = stage.see(view.as_mut(), size).await;
    assert!(seen.contains("› Ollama") && !seen.contains("Anthropic"), "{seen}");
    assert!(matches!(stage.press(view.as_mut(), "esc"), Outcome::Stay));
    let seen = stage.see(view.as_mut(), size).await;
    assert!(seen.contains("Anthropic"), "{seen}");
}

#[tokio::test]
async fn whoever_cannot_begin_may_watch_the_demonstration_or_leave() {
    let stage = Stage::new(given());
    let mut view = Setup::first("no model is configured");
    let seen = stage.see(&mut view, (80, 24)).await;
    assert!(seen.contains("no model is configured"), "{seen}");
    assert!(seen.contains("tab demo without a key   esc leave"), "{seen}");
    assert!(matches!(stage.press(&mut view, "tab"), Outcome::CloseAnd(Wish::Demo)));
    assert!(matches!(stage.press(&mut view, "esc"), Outcome::CloseAnd(Wish::Quit)));
}
