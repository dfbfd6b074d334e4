//! Rendering of the conversation at three sizes.

use super::{AppHarness, prompt, reply, result};
use crate::test_support::SIZES;
use model::{CallId, ToolOutcome};
use policy::{Action, PathArea};
use serde_json::json;
use session::{Event, ItemDelta, ItemId, ItemStart, Question, QuestionId, QuestionSubject};

/// Renders the same scene at all sizes.
fn render(prepare: impl Fn(&mut AppHarness)) -> String {
    let mut text = String::new();
    for (width, height) in SIZES {
        let mut ui = AppHarness::open(width, height);
        ui.draw();
        prepare(&mut ui);
        ui.app.skip_grace_period();
        ui.draw();
        text.push_str(&format!("== {width}×{height}\n{}\n", ui.screen_text()));
    }
    text
}

fn run_turn(ui: &mut AppHarness) {
    ui.event(Event::ItemFinished {
        item: prompt("Make the greeting polite, and say `please` where it fits."),
    });
    let id = ItemId::new();
    let text = "I will look at **the program** first:\n\n1. read `src/main.rs`\n2. change it\n\n```rust\nfn main() {}\n```\n\n\
                Then the tests.";
    ui.stream(id, &[text]);
    let calls = [
        ("1", "read_file", json!({"path": "src/main.rs"})),
        ("2", "terminal", json!({"command": "cargo test"})),
    ];
    ui.event(Event::ItemFinished {
        item: reply(text, &calls),
    });
    ui.event(Event::ItemFinished {
        item: result("1", "read_file", "src/main.rs", "fn main() {}", ToolOutcome::Ok),
    });
}

fn start_command(ui: &mut AppHarness) {
    let id = ItemId::new();
    ui.event(Event::ItemStarted {
        id,
        kind: ItemStart::Result {
            call: CallId::from("2"),
            tool: "terminal".into(),
            title: "cargo test".into(),
        },
    });
    for n in 0..12 {
        ui.event(Event::ItemDelta {
            id,
            delta: ItemDelta::Output(format!("test case_{n} ... ok\n")),
        });
    }
}

fn question(subject: QuestionSubject) -> Event {
    Event::QuestionAsked {
        question: Question {
            id: QuestionId::new(),
            call: Some(CallId::from("2")),
            tool: "terminal".into(),
            subject,
        },
    }
}

#[test]
fn a_new_session() {
    insta::assert_snapshot!(render(|_| {}));
}

#[test]
fn text_code_and_a_running_tool() {
    insta::assert_snapshot!(render(|ui| {
        run_turn(ui);
        start_command(ui);
    }));
}

#[test]
fn a_failed_call_shows_the_error() {
    insta::assert_snapshot!(render(|ui| {
        run_turn(ui);
        ui.event(Event::ItemFinished {
            item: result(
                "2",
                "terminal",
                "cargo test",
                "error: no such file\nexit code 101",
                ToolOutcome::Error,
            ),
        });
    }));
}

#[test]
fn a_command_that_needs_approval() {
    insta::assert_snapshot!(render(|ui| {
        run_turn(ui);
        ui.event(question(QuestionSubject::Permission {
            action: Action::Run {
                command: "cargo test --workspace --all-features".into(),
                cwd: "/project".into(),
            },
            reason: "commands are asked about at this level".into(),
            input: json!({"command": "cargo test --workspace --all-features"}),
            rules: vec![
                "terminal(cargo test --workspace --all-features)".into(),
                "terminal(cargo test *)".into(),
            ],
        }));
    }));
}

#[test]
fn a_change_that_needs_approval() {
    insta::assert_snapshot!(render(|ui| {
        run_turn(ui);
        ui.event(question(QuestionSubject::Permission {
            action: Action::Write {
                path: "/etc/hosts".into(),
                place: PathArea::Outside,
            },
            reason: "it lies outside the project".into(),
            input: json!({"path": "/etc/hosts", "content": "127.0.0.1 localhost\n"}),
            rules: vec!["write(/etc/hosts)".into()],
        }));
    }));
}

#[test]
fn a_question_from_the_model() {
    insta::assert_snapshot!(render(|ui| {
        run_turn(ui);
        ui.event(question(QuestionSubject::Inquiry {
            question: "Which greeting do you want?".into(),
            choices: vec![
                ("Good day".into(), Some("formal, as in letters".into())),
                ("Hello".into(), None),
            ],
            multiple: false,
        }));
    }));
}

#[test]
fn the_transcript_view() {
    insta::assert_snapshot!(render(|ui| {
        run_turn(ui);
        ui.draw();
        ui.press(&["ctrl+t"]);
    }));
}

#[test]
fn hidden_lines_are_counted_and_reasons_come_first() {
    let output: String = (1..=5000).map(|number| format!("{number}\n")).collect();
    let command = |id: &str, text: &str, outcome| {
        let mut item = session::Item::clone(&result(id, "terminal", "seq 5000", text, outcome));
        if let session::Body::Result { exit, .. } = &mut item.body {
            *exit = Some(session::CommandExit::Code(0));
        }
        std::sync::Arc::new(item)
    };
    // Restored from the log.
    let items = vec![
        prompt("go"),
        reply("", &[("1", "terminal", json!({"command": "seq 5000"}))]),
        command("1", &format!("{output}[exit code 0]"), ToolOutcome::Ok),
    ];
    let mut ui = AppHarness::with_items(100, 30, items);
    ui.draw();
    let seen = ui.screen_text();
    assert!(seen.contains("● Run seq 5000"), "{seen}");
    assert!(
        seen.contains("+4,997 lines (ctrl+o)") && seen.contains("│ 5000"),
        "{seen}"
    );
    // A failed edit shows its reason, which is at the start.
    let mut ui = AppHarness::open(100, 30);
    let reason = format!("old_text was not found in a.rs\n{}", "the file contains\n".repeat(20));
    ui.event(Event::ItemFinished {
        item: result("1", "edit_file", "a.rs", &reason, ToolOutcome::Error),
    });
    ui.draw();
    let seen = ui.screen_text();
    assert!(seen.contains("✗ Edit a.rs"), "{seen}");
    assert!(
        seen.contains("old_text was not found") && seen.contains("+13 lines (ctrl+o)"),
        "{seen}"
    );
}

#[test]
fn a_discarded_reply_is_marked() {
    let mut ui = AppHarness::open(100, 30);
    let id = session::ItemId::new();
    ui.event(Event::TurnStarted);
    ui.stream(id, &["First paragraph.\n\n", "Second para"]);
    ui.draw();
    ui.event(Event::ItemDropped { id });
    ui.draw();
    let seen = ui.screen_text();
    assert!(seen.contains("the reply above was cut off and is discarded"), "{seen}");
    assert!(!seen.contains("Second para"), "{seen}");
}
