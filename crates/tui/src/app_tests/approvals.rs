//! Answers to approval prompts by key and by text.

use super::AppHarness;
use crate::action::AppEffect;
use crate::keys::KeyMap;
use model::CallId;
use policy::{Action, ApprovalMode, GrantScope, PathArea};
use serde_json::json;
use session::{Answer, Command, Delivery, Event, ItemId, ItemStart, Question, QuestionId, QuestionSubject};
use std::collections::BTreeMap;

pub(super) fn asked() -> Event {
    Event::QuestionAsked {
        question: Question {
            id: QuestionId::new(),
            call: Some(CallId::from("1")),
            tool: "terminal".into(),
            subject: QuestionSubject::Permission {
                action: Action::Run {
                    command: "rm -r build".into(),
                    cwd: "/project".into(),
                },
                reason: "it removes files".into(),
                input: json!({"command": "rm -r build"}),
                rules: vec!["exact".into(), "terminal(rm *)".into()],
            },
        },
    }
}

/// A question from the model.
fn inquired(several: bool) -> Event {
    let choice = |label: &str| (label.to_owned(), None);
    Event::QuestionAsked {
        question: Question {
            id: QuestionId::new(),
            call: None,
            tool: "ask".into(),
            subject: QuestionSubject::Inquiry {
                question: "How is it indented?".into(),
                choices: vec![choice("tabs"), choice("four blanks"), choice("as it is")],
                multiple: several,
            },
        },
    }
}

fn shown(question: Event) -> AppHarness {
    let mut ui = AppHarness::open(100, 30);
    ui.event(Event::TurnStarted);
    ui.event(question);
    ui.app.skip_grace_period();
    ui.draw();
    ui
}

fn given(effects: Vec<AppEffect>) -> Option<Answer> {
    effects.into_iter().find_map(|effect| match effect {
        AppEffect::Send(Command::Answer { answer, .. }) => Some(answer),
        _ => None,
    })
}

/// The answer that keys give to a question.
fn answer(question: Event, keys: &[&str]) -> Option<Answer> {
    given(shown(question).press(keys))
}

/// The answer after typing this text and Enter.
fn typed(question: Event, text: &str) -> Option<Answer> {
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let mut keys: Vec<&str> = letters.iter().map(String::as_str).collect();
    keys.push("enter");
    answer(question, &keys)
}

fn approve(scope: GrantScope, rule: Option<&str>) -> Option<Answer> {
    Some(Answer::Approve {
        scope,
        rule: rule.map(Into::into),
    })
}

fn say(text: &str) -> Option<Answer> {
    Some(Answer::Text { text: text.into() })
}

#[test]
fn a_call_is_shown_as_running_once_it_is_approved() {
    let mut ui = AppHarness::open(100, 30);
    ui.event(Event::TurnStarted);
    let kind = ItemStart::Result {
        call: CallId::from("1"),
        tool: "terminal".into(),
        title: "rm -r build".into(),
    };
    ui.event(Event::ItemStarted {
        id: ItemId::new(),
        kind,
    });
    ui.event(asked());
    ui.app.skip_grace_period();
    ui.draw();
    assert!(ui.screen_text().contains("○ Run rm -r build"), "{}", ui.screen_text());
    ui.press(&["enter"]);
    ui.draw();
    assert!(ui.screen_text().contains("◐ Run rm -r build"), "{}", ui.screen_text());
}

#[test]
fn paths_in_the_project_are_shown_relative_to_it() {
    let mut ui = AppHarness::open(100, 30);
    ui.event(Event::TurnStarted);
    let kind = ItemStart::Result {
        call: CallId::from("1"),
        tool: "edit_file".into(),
        title: "/project/src/a.rs".into(),
    };
    ui.event(Event::ItemStarted {
        id: ItemId::new(),
        kind,
    });
    ui.event(Event::QuestionAsked {
        question: Question {
            id: QuestionId::new(),
            call: Some(CallId::from("1")),
            tool: "edit_file".into(),
            subject: QuestionSubject::Permission {
                action: Action::Write {
                    path: "/project/src/a.rs".into(),
                    place: policy::PathArea::Inside,
                },
                reason: "it asks".into(),
                input: json!({}),
                rules: Vec::new(),
            },
        },
    });
    ui.draw();
    let text = ui.screen_text();
    assert!(text.contains("○ Edit src/a.rs"), "{text}");
    assert!(text.contains("hew wants to change src/a.rs"), "{text}");
}

#[test]
fn no_sentence_is_taken_for_approval() {
    for text in [
        "abort this",
        "always ask me first",
        "stop, wrong file",
        "please dont",
        "no, use pip",
        "yes but only in src",
        "explain it first",
        "make a copy before",
        "2 spaces please",
        "aa",
    ] {
        let reason = Some(text.to_owned());
        assert_eq!(typed(asked(), text), Some(Answer::Reject { reason }), "{text}");
        assert_eq!(typed(inquired(false), text), say(text), "{text}");
        assert_eq!(typed(inquired(true), text), say(text), "{text}");
    }
}

#[test]
fn enter_allows_once_unless_a_letter_or_an_arrow_selects_another_answer() {
    let plain_no = Some(Answer::Reject { reason: None });
    let cases: &[(&[&str], Option<Answer>)] = &[
        (&["enter"], approve(GrantScope::Once, None)),
        (&["y", "enter"], approve(GrantScope::Once, None)),
        (&["s", "enter"], approve(GrantScope::Session, None)),
        (&["p", "enter"], approve(GrantScope::Project, None)),
        (&["a", "enter"], approve(GrantScope::Always, None)),
        (&["A", "enter"], approve(GrantScope::Always, None)),
        (&["n", "enter"], plain_no.clone()),
        (&["n", "o", "enter"], plain_no.clone()),
        (&["y", "e", "s", "enter"], approve(GrantScope::Once, None)),
        (&["Y", "E", "S", "enter"], approve(GrantScope::Once, None)),
        (
            &["s", "tab", "enter"],
            approve(GrantScope::Session, Some("terminal(rm *)")),
        ),
        (
            &["tab", "right", "enter"],
            approve(GrantScope::Session, Some("terminal(rm *)")),
        ),
        (&["left", "left", "enter"], plain_no),
        // A letter alone is not an answer and can be deleted.
        (&["y"], None),
        (&["a"], None),
        (&["a", "esc", "enter"], approve(GrantScope::Once, None)),
        (&["a", "backspace", "enter"], approve(GrantScope::Once, None)),
        (&["right", "esc", "enter"], approve(GrantScope::Once, None)),
        // Keys with another meaning.
        (&["ctrl+x", "enter"], None),
        (&["ctrl+r", "enter"], None),
    ];
    for (keys, expected) in cases {
        assert_eq!(answer(asked(), keys), *expected, "{keys:?}");
    }
}

#[test]
fn suggested_answers_are_selected_by_number_or_arrow() {
    let cases: &[(bool, &[&str], Option<Answer>)] = &[
        (false, &["2", "enter"], say("four blanks")),
        (false, &["2"], None),
        (false, &["down", "down", "enter"], say("four blanks")),
        (false, &["enter"], None),
        (false, &["4", "enter"], say("4")),
        (true, &["3", "1", "enter"], say("tabs, as it is")),
        (true, &["1", ",", " ", "3", "enter"], say("tabs, as it is")),
        (
            true,
            &["down", "space", "down", "down", "space", "enter"],
            say("tabs, as it is"),
        ),
    ];
    for (several, keys, expected) in cases {
        assert_eq!(answer(inquired(*several), keys), *expected, "{several} {keys:?}");
    }
}

#[test]
fn the_prompt_shows_what_enter_does() {
    let seen = |question: Event, keys: &[&str]| {
        let mut ui = shown(question);
        ui.press(keys);
        ui.draw();
        ui.screen_text()
    };
    for (keys, words) in [
        (&[][..], "enter allow once"),
        (&["a"], "enter allow everywhere, saving exact · tab another rule"),
        (&["right"], "enter allow for this session, saving exact"),
        (&["n"], "enter no, continue without it"),
        (&["n", "o"], "enter no, continue without it"),
        (&["y", "e", "s"], "enter allow once"),
        (&["n", "o", "t"], "Enter denies, with your text as the reason"),
        (
            &["right", "o", "k"],
            "Enter gives the answer “Allow for this session”, with your text as a comment",
        ),
    ] {
        let seen = seen(asked(), keys);
        assert!(seen.contains(words), "{keys:?}: {seen}");
    }
    let chosen = seen(inquired(false), &["2"]);
    assert!(
        chosen.contains("▸ 2 four blanks") && chosen.contains("enter four blanks"),
        "{chosen}"
    );
    let ticked = seen(inquired(true), &["2", " ", "3"]);
    assert!(
        ticked.contains("2 ☑ four blanks") && ticked.contains("1 ☐ tabs"),
        "{ticked}"
    );
}

#[test]
fn escape_without_a_selection_interrupts_the_turn() {
    let effects = shown(asked()).press(&["esc"]);
    assert!(matches!(&effects[..], [AppEffect::Send(Command::Interrupt)]));
    assert!(shown(asked()).press(&["a", "esc"]).is_empty());
}

#[test]
fn text_is_a_reason_and_a_call_can_be_edited_before_it_runs() {
    let mut ui = shown(asked());
    ui.paste("use cargo clean");
    let reason = Some("use cargo clean".to_owned());
    assert_eq!(given(ui.press(&["enter"])), Some(Answer::Reject { reason }));

    ui.event(asked());
    ui.app.skip_grace_period();
    ui.press(&["e", "enter"]);
    assert_eq!(ui.app.composer.text(), "rm -r build");
    ui.paste("/old");
    let input = json!({"command": "rm -r build/old"});
    assert_eq!(given(ui.press(&["enter"])), Some(Answer::Modify { input }));
    assert_eq!(ui.app.composer.text(), "");

    // An edited command is sent as it is.
    ui.event(asked());
    ui.app.skip_grace_period();
    ui.press(&["e", "enter", "ctrl+u"]);
    ui.paste("!true");
    let input = json!({"command": "!true"});
    assert_eq!(given(ui.press(&["enter"])), Some(Answer::Modify { input }));
}

#[test]
fn a_question_does_not_take_keys_from_a_user_who_is_typing() {
    let mut ui = AppHarness::open(80, 24);
    ui.paste("yes, but");
    ui.event(asked());
    assert!(ui.press(&["y"]).is_empty());
    assert_eq!(ui.app.composer.text(), "yes, buty");
}

#[test]
fn text_begun_before_the_question_is_sent_to_the_model() {
    let mut ui = AppHarness::open(100, 30);
    ui.event(Event::TurnStarted);
    ui.paste("also run the tests");
    ui.event(asked());
    ui.app.skip_grace_period();
    ui.draw();
    assert!(
        ui.screen_text().contains("Enter sends your text to the agent"),
        "{}",
        ui.screen_text()
    );
    let effects = ui.press(&["enter"]);
    assert!(matches!(
        &effects[..],
        [AppEffect::Send(Command::Prompt { message, delivery: Delivery::Steer })] if message.text() == "also run the tests"
    ));
    // The question stays and can be answered.
    ui.draw();
    assert!(ui.screen_text().contains("y  Allow once"), "{}", ui.screen_text());
    assert_eq!(given(ui.press(&["enter"])), approve(GrantScope::Once, None));
}

#[test]
fn a_key_pressed_just_after_a_question_arrives_is_not_an_answer() {
    let mut ui = AppHarness::open(100, 30);
    ui.event(Event::TurnStarted);
    ui.event(asked());
    assert!(ui.press(&["enter"]).is_empty());
}

#[test]
fn configured_keys_give_answers() {
    let own = |name: &str, key: &str| (name.to_owned(), vec![key.to_owned()]);
    let overrides = BTreeMap::from([
        own("approve-session", "o"),
        own("reject", "f2"),
        ("approve-always".into(), vec![]),
    ]);
    let pressed = |keys: &[&str]| {
        let mut ui = shown(asked());
        ui.app.keys = KeyMap::with_overrides(&overrides).0;
        ui.draw();
        assert!(
            ui.screen_text().contains("o  Allow for this session: exact") && !ui.screen_text().contains("everywhere"),
            "{}",
            ui.screen_text()
        );
        given(ui.press(keys))
    };
    assert_eq!(pressed(&["o", "enter"]), approve(GrantScope::Session, None));
    // A key that types nothing cannot begin a sentence, so it answers immediately.
    assert_eq!(pressed(&["f2"]), Some(Answer::Reject { reason: None }));
    // An answer without a key is not offered.
    let reason = Some("a".to_owned());
    assert_eq!(pressed(&["a", "enter"]), Some(Answer::Reject { reason }));
}

#[test]
fn an_approval_can_have_a_comment() {
    let mut ui = shown(asked());
    ui.press(&["right"]);
    ui.paste("use a temporary folder");
    let effects = ui.press(&["enter"]);
    let sent: Vec<Command> = effects
        .into_iter()
        .filter_map(|effect| match effect {
            AppEffect::Send(command) => Some(command),
            _ => None,
        })
        .collect();
    let [Command::Answer { answer, .. }, Command::Prompt { message, .. }] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert_eq!(Some(answer.clone()), approve(GrantScope::Session, None));
    assert_eq!(message.text(), "use a temporary folder");
}

#[test]
fn tab_does_not_queue_the_answer_to_a_question() {
    for question in [inquired(false), asked()] {
        let mut ui = shown(question);
        assert!(ui.press(&["x", "tab"]).is_empty());
        assert!(ui.app.state.queue.is_empty());
        assert_eq!(ui.app.composer.text(), "x");
    }
}

#[test]
fn a_long_command_can_be_read_before_it_is_approved() {
    let lines: String = (1..=91).map(|number| format!("echo line{number}\n")).collect();
    let Event::QuestionAsked { mut question } = asked() else {
        unreachable!("asked returns a question");
    };
    if let QuestionSubject::Permission { action, .. } = &mut question.subject {
        *action = Action::Run {
            command: lines,
            cwd: "/project".into(),
        };
    }
    let mut ui = AppHarness::open(100, 24);
    ui.event(Event::TurnStarted);
    ui.event(Event::QuestionAsked { question });
    ui.app.skip_grace_period();
    ui.draw();
    let seen = ui.screen_text();
    assert!(
        seen.contains("lines (ctrl+o)") && seen.contains("enter allow once"),
        "{seen}"
    );
    ui.press(&["ctrl+o"]);
    ui.draw();
    let mut read = String::new();
    for _ in 0..30 {
        let seen = ui.screen_text();
        assert!(seen.contains("enter allow once"), "{seen}");
        read.push_str(&seen);
        ui.press(&["pagedown"]);
        ui.draw();
    }
    for number in 1..=91 {
        assert!(read.contains(&format!("echo line{number}")), "line {number}");
    }
    assert_eq!(
        given(ui.press(&["y", "e", "s", "enter"])),
        approve(GrantScope::Once, None)
    );
}

#[test]
fn a_blocked_command_can_get_network_access_only() {
    let blocked = |input| Event::QuestionAsked {
        question: Question {
            id: QuestionId::new(),
            call: Some(CallId::from("1")),
            tool: "terminal".into(),
            subject: QuestionSubject::Permission {
                action: Action::Escalate {
                    command: "cargo fetch".into(),
                    cwd: "/project".into(),
                },
                reason: "the sandbox blocked it: could not resolve host".into(),
                input,
                rules: vec!["escalate(=cargo fetch)".into()],
            },
        },
    };
    let mut ui = shown(blocked(serde_json::Value::Null));
    let seen = ui.screen_text();
    for text in [
        "the sandbox blocked it: could not resolve host",
        "The command already ran once",
        "w  Allow network access only, once",
    ] {
        assert!(seen.contains(text), "{seen}");
    }
    ui.press(&["w"]);
    assert_eq!(given(ui.press(&["enter"])), Some(Answer::ApproveNetwork));
    // A command that was not blocked is not offered it.
    let mut ui = shown(asked());
    assert!(!ui.screen_text().contains("network access only"));
    ui.press(&["w"]);
    assert_eq!(
        given(ui.press(&["enter"])),
        Some(Answer::Reject {
            reason: Some("w".into())
        })
    );
}

#[test]
fn all_changes_in_the_project_can_be_allowed_while_hew_asks_before_each() {
    let change = |place| {
        let Event::QuestionAsked { mut question } = asked() else {
            panic!("not a question");
        };
        question.subject = QuestionSubject::Permission {
            action: Action::Write {
                path: "/project/a.txt".into(),
                place,
            },
            reason: "changing a.txt needs approval".into(),
            input: json!({"path": "a.txt"}),
            rules: vec!["exact".into()],
        };
        Event::QuestionAsked { question }
    };
    let label = "Allow all changes in the project";
    for (approval, place, is_offered) in [
        (ApprovalMode::Ask, PathArea::Inside, true),
        (ApprovalMode::Ask, PathArea::Outside, false),
        (ApprovalMode::Allow, PathArea::Inside, false),
    ] {
        let mut ui = AppHarness::open(100, 30);
        ui.app.state.info.mode = "code".into();
        ui.app.state.info.edit_approval = Some(approval);
        ui.event(Event::TurnStarted);
        ui.event(change(place));
        ui.app.skip_grace_period();
        ui.draw();
        assert_eq!(ui.screen_text().contains(label), is_offered, "{}", ui.screen_text());
        if is_offered {
            let effects = ui.press(&["down", "down", "enter"]);
            let sent = effects.iter().any(|effect| {
                let allow = Command::SetEditApproval {
                    mode: ApprovalMode::Allow,
                };
                matches!(effect, AppEffect::Send(command) if *command == allow)
            });
            assert!(sent, "the mode was not changed");
        }
    }
}

#[test]
fn a_rule_is_shown_relative_to_the_project_and_only_if_it_is_short() {
    let long = format!("run(={})", "echo step; ".repeat(12));
    for (rule, lines) in [
        (
            "write(=/project/src/a.rs)",
            vec![
                "Allow in this project: write(=src/a.rs)",
                "Allow everywhere: write(=/project/src/a.rs)",
            ],
        ),
        ("run(=make test)", vec!["Allow in this project: run(=make test)"]),
        (long.as_str(), vec!["Allow in this project: exactly this action"]),
    ] {
        let Event::QuestionAsked { mut question } = asked() else {
            panic!("not a question");
        };
        if let QuestionSubject::Permission { rules, .. } = &mut question.subject {
            *rules = vec![rule.into()];
        }
        let mut ui = AppHarness::open(100, 30);
        ui.app.state.info.root = "/project".into();
        ui.event(Event::TurnStarted);
        ui.event(Event::QuestionAsked { question });
        ui.app.skip_grace_period();
        ui.draw();
        let screen = ui.screen_text();
        for line in lines {
            assert!(screen.contains(line), "{line}: {screen}");
        }
    }
}
