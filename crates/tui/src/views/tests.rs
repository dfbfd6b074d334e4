//! Rendering of each view at three sizes, and its keys.

use super::*;
use crate::action::{AppAction, KeyResponse};
use crate::backend::{ConflictChoice, RestoreRequest, RewindScope};
use crate::state::AppState;
use crate::test_support::{FakeBackend, FakeKeyring, NOW, SIZES, ViewHarness};
use crate::views::setup::SetupView;
use model::{CallId, Cost, Effort, Message, Stop, Usage};
use session::{
    BlobId, Body, Change, Command, Event, Item, ItemId, LedgerSection, PromptDifference, PromptRecord, RequestEnd,
    RequestId, RequestRecord, SessionId, Time, Todo as SessionTodo, TodoStatus, Totals,
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
                exit: None,
                millis: 3,
                changes: vec![change],
            },
        ),
        item(4, prompt("Now add a test for 漢字")),
    ]
}

fn record(number: u128, read: u64, input: u64, difference: PromptDifference) -> RequestRecord {
    let section = |name: &str, tokens: u64, cached: u64| LedgerSection {
        name: name.into(),
        bytes: tokens * 4,
        tokens,
        cached,
    };
    RequestRecord {
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
        outcome: RequestEnd::Finished(Stop::ToolUse),
        sections: vec![
            section("tools", 1_400, 1_400),
            section("system/rules", 900, 900),
            section("history/results/read_file", 6_000, 4_000),
            section("turn/prompts", 300, 0),
        ],
        facts: Default::default(),
        prompt: Some(PromptRecord {
            cached: read,
            is_estimate: false,
            difference,
            base: None,
            frame: None,
            frame_parts: Vec::new(),
            shared_messages: 0,
            messages: Vec::new(),
            breakpoints: Vec::new(),
            cost: None,
        }),
    }
}

fn fake_backend() -> FakeBackend {
    FakeBackend {
        items: items(),
        records: vec![
            record(1, 0, 500, PromptDifference::First),
            record(2, 0, 8_600, PromptDifference::First),
            record(
                3,
                2_300,
                6_300,
                PromptDifference::At {
                    byte: 9_120,
                    part: "history: an old result was shortened".into(),
                },
            ),
            record(4, 6_300, 2_300, PromptDifference::Extends),
        ],
        ..FakeBackend::default()
    }
}

fn fill(state: &mut AppState) {
    let todo = |text: &str, status| SessionTodo {
        text: text.into(),
        status,
    };
    state.todos = vec![
        todo("find the cause", TodoStatus::Completed),
        todo("count columns instead of bytes", TodoStatus::InProgress),
        todo("add a test", TodoStatus::Pending),
        todo("rewrite everything", TodoStatus::Cancelled),
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
            delta: session::ItemDelta::Text("I will search for `len()`.\n".into()),
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
        state.handle_event(&below(event));
    }
}

fn open_view(name: &str, harness: &ViewHarness) -> Box<dyn ModalView> {
    match name {
        "sessions" => Box::new(ListView::new(sessions::SessionPicker::at(NOW))),
        "code" => Box::new(ListView::new(code_search::CodeMatchPicker::new("cookies".into()))),
        "rewind" => Box::new(ListView::new(rewind::RewindPicker::at(NOW))),
        name => {
            let action = crate::keys::KeyBinding::by_name(name).unwrap().action;
            open(action, &[], &harness.cx()).unwrap()
        }
    }
}

/// The action that follows closing the view.
fn after_closing(response: KeyResponse) -> Option<AppAction> {
    match response {
        KeyResponse::Action(AppAction::All(mut actions)) if actions.len() == 2 => {
            let action = actions.pop();
            matches!(actions[..], [AppAction::CloseView])
                .then_some(action)
                .flatten()
        }
        KeyResponse::Ignored | KeyResponse::Handled | KeyResponse::Action(_) => None,
    }
}

const VIEWS: [&str; 17] = [
    "changes",
    "code",
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
async fn every_view_renders_at_three_sizes() {
    let mut harness = ViewHarness::new(fake_backend());
    fill(&mut harness.state);
    for name in VIEWS {
        for size in SIZES {
            let mut view = open_view(name, &harness);
            let rows = match view.placement() {
                crate::view::ViewPlacement::Full => size.1,
                crate::view::ViewPlacement::Inline(rows) => rows.min(size.1 / 2 + 2),
            };
            let seen = harness.render(view.as_mut(), (size.0, rows)).await;
            insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), seen);
        }
    }
}

#[tokio::test]
async fn empty_views_do_not_panic_at_any_size() {
    let harness = ViewHarness::new(FakeBackend::default());
    for name in VIEWS {
        for size in [(1, 1), (3, 2), (8, 3), (10, 6), (200, 4), (5, 60)] {
            let mut view = open_view(name, &harness);
            harness.render(view.as_mut(), size).await;
        }
    }
}

#[tokio::test]
async fn esc_closes_every_view_and_a_search_first() {
    let harness = ViewHarness::new(fake_backend());
    for name in VIEWS {
        let mut view = open_view(name, &harness);
        harness.render(view.as_mut(), (80, 24)).await;
        assert!(
            matches!(
                harness.press(view.as_mut(), "esc"),
                KeyResponse::Action(AppAction::CloseView)
            ),
            "{name}"
        );
    }
    let mut view = open_view("models", &harness);
    harness.render(view.as_mut(), (80, 24)).await;
    assert!(matches!(
        harness.press(view.as_mut(), "q w e n esc"),
        KeyResponse::Handled
    ));
    assert!(matches!(
        harness.press(view.as_mut(), "esc"),
        KeyResponse::Action(AppAction::CloseView)
    ));
}

#[tokio::test]
async fn enter_chooses_the_found_model() {
    let harness = ViewHarness::new(fake_backend());
    let mut view = open_view("models", &harness);
    harness.render(view.as_mut(), (80, 24)).await;
    match after_closing(harness.press(view.as_mut(), "q w e n enter")) {
        Some(AppAction::ChooseModel { name, effort }) => {
            assert_eq!((name.as_str(), effort), ("ollama/qwen3:32b", None))
        }
        _ => panic!("no model was chosen"),
    }
}

#[tokio::test]
async fn left_and_right_change_the_effort_of_the_selected_model() {
    for (keys, shown, chosen) in [
        ("", "effort: medium", None),
        ("right", "effort: high", Some(Effort::High)),
        ("right right right right", "effort: max", Some(Effort::Max)),
        ("left left", "effort: minimal", Some(Effort::Minimal)),
        ("left left left left left", "effort: none", Some(Effort::None)),
    ] {
        let harness = ViewHarness::new(fake_backend());
        let mut view = open_view("models", &harness);
        harness.render(view.as_mut(), (80, 24)).await;
        harness.press(view.as_mut(), keys);
        let seen = harness.render(view.as_mut(), (80, 24)).await;
        assert!(seen.contains(&format!("←→ {shown}")), "{keys}: {seen}");
        match after_closing(harness.press(view.as_mut(), "enter")) {
            Some(AppAction::ChooseModel { name, effort }) => {
                assert_eq!(
                    (name.as_str(), effort),
                    ("anthropic/claude-sonnet-4-6", chosen),
                    "{keys}"
                );
            }
            _ => panic!("no model was chosen"),
        }
    }
}

#[tokio::test]
async fn suggested_models_are_listed_first_and_a_search_or_the_end_of_the_list_shows_all() {
    let harness = ViewHarness::new(fake_backend());
    let listed = |seen: &str| -> Vec<bool> {
        ["claude", "gpt-5.5", "qwen"]
            .iter()
            .map(|name| seen.contains(name))
            .collect()
    };
    for (keys, expected) in [
        ("", [true, false, false]),
        ("g p t", [false, true, false]),
        ("down", [true, true, true]),
    ] {
        let mut view = open_view("models", &harness);
        harness.render(view.as_mut(), (80, 24)).await;
        harness.press(view.as_mut(), keys);
        let seen = harness.render(view.as_mut(), (80, 24)).await;
        assert_eq!(listed(&seen), expected, "{keys}: {seen}");
    }
}

#[tokio::test]
async fn hunks_are_accepted_and_reverted_by_key() {
    let harness = ViewHarness::new(fake_backend());
    let mut view = open_view("changes", &harness);
    harness.render(view.as_mut(), (80, 24)).await;
    for keys in ["a", "n r", "A", "tab R"] {
        if let KeyResponse::Action(AppAction::AwaitOperation(later)) = harness.press(view.as_mut(), keys) {
            later.await.unwrap();
        }
        harness.render(view.as_mut(), (80, 24)).await;
    }
    let done = harness.fake.operations.lock().unwrap().clone();
    assert_eq!(done, ["Accept a1", "Reject a2", "Accept a1, Accept a2", "Reject b1"]);
}

#[tokio::test]
async fn a_session_is_renamed_in_the_list() {
    let harness = ViewHarness::new(fake_backend());
    let mut view = open_view("sessions", &harness);
    harness.render(view.as_mut(), (80, 24)).await;
    harness.press(view.as_mut(), "ctrl+r ctrl+u B e t t e r enter");
    harness.render(view.as_mut(), (80, 24)).await;
    assert_eq!(*harness.fake.operations.lock().unwrap(), ["renamed to Better"]);
}

#[tokio::test]
async fn rewinding_asks_what_to_rewind_with_line_counts() {
    let harness = ViewHarness::new(fake_backend());
    let mut view = open_view("rewind", &harness);
    harness.render(view.as_mut(), (80, 24)).await;
    let Some(AppAction::OpenView(mut scopes)) = after_closing(harness.press(view.as_mut(), "down enter")) else {
        panic!("the scope was not asked");
    };
    let shown = harness.render(scopes.as_mut(), (80, 24)).await;
    for row in ["Code and conversation", "Conversation only", "Code only", "lines"] {
        assert!(shown.contains(row), "{shown}");
    }
    for (keys, expected) in [
        ("enter", RewindScope::Both),
        ("down enter", RewindScope::Conversation),
        ("down enter", RewindScope::Files),
    ] {
        match after_closing(harness.press(scopes.as_mut(), keys)) {
            Some(AppAction::Restore(RestoreRequest::Rewind { text, scope, .. }, ConflictChoice::Ask)) => {
                assert_eq!((text.as_str(), scope), ("Count columns, not bytes", expected));
            }
            _ => panic!("nothing was rewound"),
        }
    }
}

#[tokio::test]
async fn a_subtask_is_steered_and_stopped() {
    let mut harness = ViewHarness::new(fake_backend());
    fill(&mut harness.state);
    let mut view = open_view("subagents", &harness);
    harness.render(view.as_mut(), (80, 24)).await;
    match harness.press(view.as_mut(), "ctrl+s h u r r y enter") {
        KeyResponse::Action(AppAction::Send(Command::Subtask { command, .. })) => match *command {
            Command::Prompt { message, .. } => assert_eq!(message.text(), "hurry"),
            _ => panic!("no message was sent"),
        },
        _ => panic!("the subtask was not steered"),
    }
    match harness.press(view.as_mut(), "ctrl+k") {
        KeyResponse::Action(AppAction::Send(Command::Subtask { command, .. })) => {
            assert_eq!(*command, Command::Interrupt)
        }
        _ => panic!("the subtask was not stopped"),
    }
}

#[tokio::test]
async fn setup_asks_for_provider_key_and_model_and_tests_them() {
    let harness = ViewHarness::new(fake_backend());
    let mut view = open_view("setup", &harness);
    let size = (80, 24);
    harness.render(view.as_mut(), size).await;
    harness.press(view.as_mut(), "down down down enter");
    harness.press(view.as_mut(), "s k - 1 2");
    let seen = harness.render(view.as_mut(), size).await;
    assert!(seen.contains("OpenAI: •••••"), "{seen}");
    harness.press(view.as_mut(), "enter");
    harness.render(view.as_mut(), size).await;
    harness.press(view.as_mut(), "enter");
    let seen = harness.render(view.as_mut(), size).await;
    assert!(seen.contains("openai/gpt-5.5 replied in 420ms"), "{seen}");
    harness.render(view.as_mut(), size).await;
    assert_eq!(
        *harness.fake.operations.lock().unwrap(),
        ["the key of openai is stored", "model = openai/gpt-5.5"]
    );
    match after_closing(harness.press(view.as_mut(), "enter")) {
        Some(AppAction::Send(Command::SetModel { name })) => assert_eq!(name, "openai/gpt-5.5"),
        _ => panic!("the model was not selected"),
    }
}

#[tokio::test]
async fn another_key_can_be_entered_for_a_provider_with_a_key() {
    let size = (80, 24);
    for (fails_tests, keys) in [(false, "tab"), (true, "enter down down enter")] {
        let harness = ViewHarness::new(FakeBackend {
            fails_tests,
            ..fake_backend()
        });
        let mut view = open_view("setup", &harness);
        harness.render(view.as_mut(), size).await;
        harness.press(view.as_mut(), "enter");
        let seen = harness.render(view.as_mut(), size).await;
        assert!(seen.contains("tab enter another key"), "{seen}");
        for key in keys.split(' ') {
            harness.press(view.as_mut(), key);
            harness.render(view.as_mut(), size).await;
            harness.render(view.as_mut(), size).await;
        }
        let seen = harness.render(view.as_mut(), size).await;
        assert!(seen.contains("Anthropic: paste it here"), "{seen}");
        assert!(seen.contains("hew now uses the key from: ANTHROPIC_API_KEY"), "{seen}");
        harness.press(view.as_mut(), "n e w enter");
        let seen = harness.render(view.as_mut(), size).await;
        assert!(seen.contains("the key of anthropic is stored"), "{seen}");
    }
}

#[tokio::test]
async fn a_provider_with_an_address_for_each_account_asks_for_it_and_for_a_model() {
    let size = (80, 24);
    let harness = ViewHarness::new(fake_backend());
    let mut view = open_view("setup", &harness);
    harness.render(view.as_mut(), size).await;
    harness.press(view.as_mut(), "a z u r e enter");
    let seen = harness.render(view.as_mut(), size).await;
    assert!(seen.contains("such as https://NAME.azure.example"), "{seen}");
    harness.press(view.as_mut(), "x . e x enter");
    harness.render(view.as_mut(), size).await;
    let seen = harness.render(view.as_mut(), size).await;
    assert!(seen.contains("Enter the API key"), "{seen}");
    harness.press(view.as_mut(), "k enter");
    harness.render(view.as_mut(), size).await;
    let seen = harness.render(view.as_mut(), size).await;
    assert!(seen.contains("type the name of your model or deployment"), "{seen}");
    harness.press(view.as_mut(), "m i n e");
    let seen = harness.render(view.as_mut(), size).await;
    assert!(seen.contains("not in the list; enter uses azure/mine"), "{seen}");
    harness.press(view.as_mut(), "enter");
    harness.render(view.as_mut(), size).await;
    harness.render(view.as_mut(), size).await;
    assert_eq!(
        *harness.fake.operations.lock().unwrap(),
        [
            "providers.azure.base_url = x.ex",
            "the key of azure is stored",
            "model = azure/mine"
        ]
    );
}

#[tokio::test]
async fn rules_files_are_listed_with_their_scope() {
    let harness = ViewHarness::new(fake_backend());
    let mut view: Box<dyn ModalView> = Box::new(super::list::ListView::new(super::memory::MemoryPicker));
    harness.render(view.as_mut(), (80, 24)).await;
    let seen = harness.render(view.as_mut(), (80, 24)).await;
    assert!(
        seen.contains("› AGENTS.md                this project, new file"),
        "{seen}"
    );
    assert_eq!(view.placement(), crate::view::ViewPlacement::Inline(4));
    harness.press(view.as_mut(), "down");
    match after_closing(harness.press(view.as_mut(), "enter")) {
        Some(AppAction::EditFile(path)) => assert_eq!(path, std::path::Path::new("/home/me/AGENTS.md")),
        _ => panic!("no file was opened"),
    }
}

#[tokio::test]
async fn settings_of_the_front_end_apply_at_once() {
    let harness = ViewHarness::new(fake_backend());
    let mut view = open_view("settings", &harness);
    for (name, expected) in [("theme", KeyAction::Themes), ("model", KeyAction::Models)] {
        harness.render(view.as_mut(), (80, 24)).await;
        let letters: Vec<String> = name.chars().map(String::from).collect();
        harness.press(view.as_mut(), &letters.join(" "));
        let chosen = after_closing(harness.press(view.as_mut(), "enter"));
        assert!(
            matches!(chosen, Some(AppAction::Key(action)) if action == expected),
            "{name}"
        );
        harness.press(view.as_mut(), "esc");
    }
    harness.press(view.as_mut(), "v i m");
    harness.render(view.as_mut(), (80, 24)).await;
    assert!(matches!(
        harness.press(view.as_mut(), "enter"),
        KeyResponse::Action(AppAction::SetVim(true))
    ));
}

#[tokio::test]
async fn without_a_keyring_the_key_can_be_stored_in_a_file_or_in_memory() {
    for (keyring, keys, message) in [
        (FakeKeyring::Absent, "enter", "the key sk-12 of openai is stored: File"),
        (
            FakeKeyring::Absent,
            "down enter",
            "the key sk-12 of openai is stored: Memory",
        ),
        (FakeKeyring::Fails, "enter", "the key sk-12 of openai is stored: File"),
    ] {
        let harness = ViewHarness::new(FakeBackend {
            keyring,
            ..fake_backend()
        });
        let mut view = open_view("setup", &harness);
        let size = (80, 24);
        harness.render(view.as_mut(), size).await;
        harness.press(view.as_mut(), "o p e n a enter");
        harness.press(view.as_mut(), "s k - 1 2 enter");
        let seen = harness.render(view.as_mut(), size).await;
        assert!(seen.contains("Where should the key be stored?"), "{seen}");
        assert!(seen.contains("in ~/.config/hew/keys.toml"), "{seen}");
        assert_eq!(
            seen.contains("the keyring is locked"),
            keyring == FakeKeyring::Fails,
            "{seen}"
        );
        assert!(!seen.contains("sk-12"), "{seen}");
        harness.press(view.as_mut(), keys);
        let seen = harness.render(view.as_mut(), size).await;
        assert!(seen.contains("Choose a model") && seen.contains(message), "{seen}");
    }
}

#[tokio::test]
async fn providers_are_found_by_typing_and_end_selects_the_last() {
    let harness = ViewHarness::new(fake_backend());
    let mut view = open_view("setup", &harness);
    let size = (80, 24);
    harness.render(view.as_mut(), size).await;
    harness.press(view.as_mut(), "end");
    let seen = harness.render(view.as_mut(), size).await;
    assert!(seen.contains("› OpenAI"), "{seen}");
    harness.press(view.as_mut(), "l l a");
    let seen = harness.render(view.as_mut(), size).await;
    assert!(seen.contains("› Ollama") && !seen.contains("Anthropic"), "{seen}");
    assert!(matches!(harness.press(view.as_mut(), "esc"), KeyResponse::Handled));
    let seen = harness.render(view.as_mut(), size).await;
    assert!(seen.contains("Anthropic"), "{seen}");
}

#[tokio::test]
async fn setup_without_a_session_offers_the_demo_or_quits() {
    let harness = ViewHarness::new(fake_backend());
    let mut view = SetupView::without_session("no model is configured");
    let seen = harness.render(&mut view, (80, 24)).await;
    assert!(seen.contains("no model is configured"), "{seen}");
    assert!(seen.contains("tab demo without a key   esc quit"), "{seen}");
    assert!(matches!(
        after_closing(harness.press(&mut view, "tab")),
        Some(AppAction::Demo)
    ));
    assert!(matches!(
        after_closing(harness.press(&mut view, "esc")),
        Some(AppAction::Quit)
    ));
}

#[tokio::test]
async fn all_changes_are_accepted_and_undo_is_confirmed() {
    let harness = ViewHarness::new(fake_backend());
    let mut view = open_view("changes", &harness);
    harness.render(view.as_mut(), (80, 24)).await;
    let shown = harness.render(view.as_mut(), (80, 24)).await;
    assert!(shown.contains("unchanged line 11"), "context lines: {shown}");
    assert!(matches!(harness.press(view.as_mut(), "u"), KeyResponse::Handled));
    let shown = harness.render(view.as_mut(), (80, 24)).await;
    assert!(
        shown.contains("u again undoes all file changes of the last turn"),
        "{shown}"
    );
    // Another key cancels.
    assert!(matches!(harness.press(view.as_mut(), "n u"), KeyResponse::Handled));
    assert!(matches!(
        after_closing(harness.press(view.as_mut(), "u")),
        Some(AppAction::Key(KeyAction::UndoTurn))
    ));
    if let KeyResponse::Action(AppAction::AwaitOperation(later)) = harness.press(view.as_mut(), "ctrl+a") {
        later.await.unwrap();
    }
    let done = harness.fake.operations.lock().unwrap().clone();
    assert_eq!(done, ["Accept a1, Accept a2, Accept b1"]);
}

#[tokio::test]
async fn setup_searches_all_models_shows_prices_and_can_ignore_a_failed_test() {
    let harness = ViewHarness::new(FakeBackend {
        fails_tests: true,
        ..fake_backend()
    });
    let mut view = open_view("setup", &harness);
    harness.render(view.as_mut(), (100, 24)).await;
    harness.press(view.as_mut(), "o p e n a i enter");
    let shown = harness.render(view.as_mut(), (100, 24)).await;
    assert!(shown.contains("Get a key at https://openai.example/keys"), "{shown}");
    harness.press(view.as_mut(), "esc enter");
    let shown = harness.render(view.as_mut(), (100, 24)).await;
    assert!(shown.contains("$3 in, $15 out per million tokens"), "{shown}");
    harness.press(view.as_mut(), "enter");
    harness.render(view.as_mut(), (100, 24)).await;
    let shown = harness.render(view.as_mut(), (100, 24)).await;
    assert!(
        shown.contains("Connection failed") && shown.contains("Use anyway"),
        "{shown}"
    );
    harness.press(view.as_mut(), "down enter");
    harness.render(view.as_mut(), (100, 24)).await;
    harness.render(view.as_mut(), (100, 24)).await;
    assert_eq!(
        *harness.fake.operations.lock().unwrap(),
        ["model = anthropic/claude-sonnet-4-6"]
    );
    assert!(matches!(
        after_closing(harness.press(view.as_mut(), "enter")),
        Some(AppAction::OpenSession(_) | AppAction::Send(Command::SetModel { .. }))
    ));
}
