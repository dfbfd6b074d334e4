//! What the conversation looks like, at three sizes.

use super::{Scene, prompt, reply, result};
use crate::stage::SIZES;
use model::{CallId, Outcome};
use policy::{Action, Place};
use serde_json::json;
use session::{Delta, Event, ItemId, ItemKind, Question, QuestionId, Subject};

/// The same scene at all sizes.
fn seen(play: impl Fn(&mut Scene)) -> String {
    let mut text = String::new();
    for (width, height) in SIZES {
        let mut scene = Scene::open(width, height);
        scene.draw();
        play(&mut scene);
        scene.app.forgo_grace();
        scene.draw();
        text.push_str(&format!("== {width}×{height}\n{}\n", scene.seen()));
    }
    text
}

fn said(scene: &mut Scene) {
    scene.hear(Event::ItemFinished {
        item: prompt("Make the greeting polite, and say `please` where it fits."),
    });
    let id = ItemId::new();
    let text = "I will look at **the program** first:\n\n1. read `src/main.rs`\n2. change it\n\n```rust\nfn main() {}\n```\n\n\
                Then the tests.";
    scene.stream(id, &[text]);
    let calls = [
        ("1", "read_file", json!({"path": "src/main.rs"})),
        ("2", "terminal", json!({"command": "cargo test"})),
    ];
    scene.hear(Event::ItemFinished {
        item: reply(text, &calls),
    });
    scene.hear(Event::ItemFinished {
        item: result("1", "read_file", "src/main.rs", "fn main() {}", Outcome::Ok),
    });
}

fn runs(scene: &mut Scene) {
    let id = ItemId::new();
    scene.hear(Event::ItemStarted {
        id,
        kind: ItemKind::Result {
            call: CallId::from("2"),
            tool: "terminal".into(),
            title: "cargo test".into(),
        },
    });
    for n in 0..12 {
        scene.hear(Event::ItemDelta {
            id,
            delta: Delta::Output(format!("test case_{n} ... ok\n")),
        });
    }
}

fn asks(subject: Subject) -> Event {
    Event::Asked {
        question: Question {
            id: QuestionId::new(),
            call: Some(CallId::from("2")),
            tool: "terminal".into(),
            subject,
        },
    }
}

#[test]
fn a_session_that_was_just_opened() {
    insta::assert_snapshot!(seen(|_| {}));
}

#[test]
fn text_code_and_a_tool_that_works() {
    insta::assert_snapshot!(seen(|scene| {
        said(scene);
        runs(scene);
    }));
}

#[test]
fn a_failed_call_says_why() {
    insta::assert_snapshot!(seen(|scene| {
        said(scene);
        scene.hear(Event::ItemFinished {
            item: result(
                "2",
                "terminal",
                "cargo test",
                "error: no such file\nexit code 101",
                Outcome::Error,
            ),
        });
    }));
}

#[test]
fn a_command_that_needs_permission() {
    insta::assert_snapshot!(seen(|scene| {
        said(scene);
        scene.hear(asks(Subject::Permission {
            action: Action::Run {
                command: "cargo test --workspace --all-features".into(),
                cwd: "/project".into(),
            },
            why: "commands are asked about at this level".into(),
            input: json!({"command": "cargo test --workspace --all-features"}),
            rules: vec![
                "terminal(cargo test --workspace --all-features)".into(),
                "terminal(cargo test *)".into(),
            ],
        }));
    }));
}

#[test]
fn a_change_that_needs_permission() {
    insta::assert_snapshot!(seen(|scene| {
        said(scene);
        scene.hear(asks(Subject::Permission {
            action: Action::Write {
                path: "/etc/hosts".into(),
                place: Place::Outside,
            },
            why: "it lies outside the project".into(),
            input: json!({"path": "/etc/hosts", "content": "127.0.0.1 localhost\n"}),
            rules: vec!["write(/etc/hosts)".into()],
        }));
    }));
}

#[test]
fn a_question_of_the_model() {
    insta::assert_snapshot!(seen(|scene| {
        said(scene);
        scene.hear(asks(Subject::Inquiry {
            question: "Which greeting do you want?".into(),
            choices: vec![
                ("Good day".into(), Some("formal, as in letters".into())),
                ("Hello".into(), None),
            ],
            several: false,
        }));
    }));
}

#[test]
fn the_whole_conversation_on_a_screen_of_its_own() {
    insta::assert_snapshot!(seen(|scene| {
        said(scene);
        scene.draw();
        scene.press(&["ctrl+t"]);
    }));
}
