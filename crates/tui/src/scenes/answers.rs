//! What keys and words mean to a question.

use super::Scene;
use crate::app::Effect;
use crate::keys::Keys;
use model::CallId;
use policy::{Action, Scope};
use serde_json::json;
use session::{Answer, Command, Delivery, Event, Question, QuestionId, Subject};
use std::collections::BTreeMap;

pub(super) fn asked() -> Event {
    Event::Asked {
        question: Question {
            id: QuestionId::new(),
            call: Some(CallId::from("1")),
            tool: "terminal".into(),
            subject: Subject::Permission {
                action: Action::Run {
                    command: "rm -r build".into(),
                    cwd: "/project".into(),
                },
                why: "it removes files".into(),
                input: json!({"command": "rm -r build"}),
                rules: vec!["exact".into(), "terminal(rm *)".into()],
            },
        },
    }
}

/// The model wants to know something.
fn inquired(several: bool) -> Event {
    let choice = |label: &str| (label.to_owned(), None);
    Event::Asked {
        question: Question {
            id: QuestionId::new(),
            call: None,
            tool: "ask".into(),
            subject: Subject::Inquiry {
                question: "How is it indented?".into(),
                choices: vec![choice("tabs"), choice("four blanks"), choice("as it is")],
                several,
            },
        },
    }
}

fn shown(question: Event) -> Scene {
    let mut scene = Scene::open(100, 30);
    scene.hear(Event::TurnStarted);
    scene.hear(question);
    scene.app.forgo_grace();
    scene.draw();
    scene
}

fn given(effects: Vec<Effect>) -> Option<Answer> {
    effects.into_iter().find_map(|effect| match effect {
        Effect::Send(Command::Answer { answer, .. }) => Some(answer),
        _ => None,
    })
}

/// The answer that keys give to a question.
fn answer(question: Event, keys: &[&str]) -> Option<Answer> {
    given(shown(question).press(keys))
}

/// The answer that somebody gives who types this, letter by letter, and then presses Enter.
fn typed(question: Event, text: &str) -> Option<Answer> {
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let mut keys: Vec<&str> = letters.iter().map(String::as_str).collect();
    keys.push("enter");
    answer(question, &keys)
}

fn approve(scope: Scope, rule: Option<&str>) -> Option<Answer> {
    Some(Answer::Approve {
        scope,
        rule: rule.map(Into::into),
    })
}

fn say(text: &str) -> Option<Answer> {
    Some(Answer::Say { text: text.into() })
}

#[test]
fn no_sentence_is_taken_for_a_yes() {
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
fn enter_is_a_yes_and_every_other_answer_a_letter_or_an_arrow_before_it() {
    let plain_no = Some(Answer::Reject { reason: None });
    let cases: &[(&[&str], Option<Answer>)] = &[
        (&["enter"], approve(Scope::Once, None)),
        (&["y", "enter"], approve(Scope::Once, None)),
        (&["s", "enter"], approve(Scope::Session, None)),
        (&["p", "enter"], approve(Scope::Project, None)),
        (&["a", "enter"], approve(Scope::Always, None)),
        (&["A", "enter"], approve(Scope::Always, None)),
        (&["n", "enter"], plain_no.clone()),
        (&["s", "tab", "enter"], approve(Scope::Session, Some("terminal(rm *)"))),
        (
            &["tab", "right", "enter"],
            approve(Scope::Session, Some("terminal(rm *)")),
        ),
        (&["left", "left", "enter"], plain_no),
        // A letter alone is no answer, and can be taken back.
        (&["y"], None),
        (&["a"], None),
        (&["a", "esc", "enter"], approve(Scope::Once, None)),
        (&["a", "backspace", "enter"], approve(Scope::Once, None)),
        (&["right", "esc", "enter"], approve(Scope::Once, None)),
        // Keys that mean something elsewhere.
        (&["ctrl+x", "enter"], None),
        (&["ctrl+r", "enter"], None),
    ];
    for (keys, expected) in cases {
        assert_eq!(answer(asked(), keys), *expected, "{keys:?}");
    }
}

#[test]
fn suggested_answers_are_chosen_by_number_or_arrow_and_enter() {
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
fn what_enter_does_stands_above_the_line() {
    let seen = |question: Event, keys: &[&str]| {
        let mut scene = shown(question);
        scene.press(keys);
        scene.draw();
        scene.seen()
    };
    for (keys, words) in [
        (&[][..], "enter yes, this once"),
        (
            &["a"],
            "enter yes, always and everywhere, remembering exact (tab: another) · esc back",
        ),
        (&["right"], "enter yes, for this session, remembering exact"),
        (&["n"], "enter no; the agent goes on without it"),
        (&["n", "o"], "Enter says no, with your words as the reason"),
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
fn escape_without_a_choice_stops_the_turn() {
    let effects = shown(asked()).press(&["esc"]);
    assert!(matches!(&effects[..], [Effect::Send(Command::Interrupt)]));
    assert!(shown(asked()).press(&["a", "esc"]).is_empty());
}

#[test]
fn words_are_a_reason_and_a_call_can_be_changed_before_it_runs() {
    let mut scene = shown(asked());
    scene.write("use cargo clean");
    let reason = Some("use cargo clean".to_owned());
    assert_eq!(given(scene.press(&["enter"])), Some(Answer::Reject { reason }));

    scene.hear(asked());
    scene.app.forgo_grace();
    scene.press(&["e", "enter"]);
    assert_eq!(scene.app.composer.text(), "rm -r build");
    scene.write("/old");
    let input = json!({"command": "rm -r build/old"});
    assert_eq!(given(scene.press(&["enter"])), Some(Answer::Modify { input }));
    assert_eq!(scene.app.composer.text(), "");

    // A changed command is one whatever it begins with.
    scene.hear(asked());
    scene.app.forgo_grace();
    scene.press(&["e", "enter", "ctrl+u"]);
    scene.write("!true");
    let input = json!({"command": "!true"});
    assert_eq!(given(scene.press(&["enter"])), Some(Answer::Modify { input }));
}

#[test]
fn a_question_does_not_take_the_keys_of_somebody_who_was_typing() {
    let mut scene = Scene::open(80, 24);
    scene.write("yes, but");
    scene.hear(asked());
    assert!(scene.press(&["y"]).is_empty());
    assert_eq!(scene.app.composer.text(), "yes, buty");
}

#[test]
fn a_line_that_was_begun_before_the_question_is_said_to_the_model() {
    let mut scene = Scene::open(100, 30);
    scene.hear(Event::TurnStarted);
    scene.write("also run the tests");
    scene.hear(asked());
    scene.app.forgo_grace();
    scene.draw();
    assert!(
        scene.seen().contains("Enter sends your line to the agent"),
        "{}",
        scene.seen()
    );
    let effects = scene.press(&["enter"]);
    assert!(matches!(
        &effects[..],
        [Effect::Send(Command::Prompt { message, delivery: Delivery::Steer })] if message.text() == "also run the tests"
    ));
    // The question stays, and is answered as usual.
    scene.draw();
    assert!(scene.seen().contains("y yes, once"), "{}", scene.seen());
    assert_eq!(given(scene.press(&["enter"])), approve(Scope::Once, None));
}

#[test]
fn a_key_in_the_moment_in_which_a_question_comes_is_no_answer() {
    let mut scene = Scene::open(100, 30);
    scene.hear(Event::TurnStarted);
    scene.hear(asked());
    assert!(scene.press(&["enter"]).is_empty());
}

#[test]
fn answers_are_given_with_the_keys_that_were_chosen() {
    let own = |name: &str, key: &str| (name.to_owned(), vec![key.to_owned()]);
    let overrides = BTreeMap::from([
        own("approve-session", "o"),
        own("reject", "f2"),
        ("approve-always".into(), vec![]),
    ]);
    let pressed = |keys: &[&str]| {
        let mut scene = shown(asked());
        scene.app.keys = Keys::with(&overrides).0;
        scene.draw();
        assert!(
            scene.seen().contains("o session") && !scene.seen().contains("always"),
            "{}",
            scene.seen()
        );
        given(scene.press(keys))
    };
    assert_eq!(pressed(&["o", "enter"]), approve(Scope::Session, None));
    // A key that types nothing begins no sentence: it answers at once.
    assert_eq!(pressed(&["f2"]), Some(Answer::Reject { reason: None }));
    // An answer without a key is not offered.
    let reason = Some("a".to_owned());
    assert_eq!(pressed(&["a", "enter"]), Some(Answer::Reject { reason }));
}
