//! What keys do in the whole front end.

use super::{Scene, prompt, reply};
use crate::app::Effect;
use crate::house::Which;
use futures::future::FutureExt as _;
use model::Message;
use session::{Command, Delivery, Ending, Event, SessionId};

/// A session in which something was said.
fn said() -> Scene {
    let mut scene = Scene::open(80, 24);
    scene.hear(Event::ItemFinished {
        item: prompt("first thing"),
    });
    scene.hear(Event::ItemFinished {
        item: reply("An **answer** to copy.", &[]),
    });
    scene.draw();
    scene
}

#[test]
fn escape_twice_leads_back_to_an_earlier_prompt() {
    let mut scene = said();
    scene.press(&["esc"]);
    scene.draw();
    assert!(scene.seen().contains("esc again"), "{}", scene.seen());
    scene.press(&["esc"]);
    scene.draw();
    assert!(scene.seen().contains("Go back to before"), "{}", scene.seen());

    // Something else in between is no double press.
    let mut scene = said();
    scene.press(&["esc", "a", "esc"]);
    scene.draw();
    assert!(!scene.seen().contains("Go back to before"), "{}", scene.seen());
}

#[test]
fn shift_tab_goes_on_in_the_next_mode() {
    let mut scene = said();
    let mut effects = scene.press(&["shift+tab"]);
    let Some(Effect::SendLater(later)) = effects.pop() else {
        panic!("nothing is sent");
    };
    assert_eq!(
        later.now_or_never().unwrap(),
        Ok(Command::SetMode { name: "ask".into() })
    );
}

#[test]
fn the_last_reply_is_copied() {
    let mut scene = said();
    let effects = scene.press(&["ctrl+x", "y"]);
    assert!(matches!(&effects[..], [Effect::Copy(text)] if text == "An **answer** to copy."));
}

#[test]
fn search_opens_the_conversation_with_the_line_to_write_in() {
    let mut scene = said();
    scene.press(&["ctrl+x", "f"]);
    scene.press(&["t", "h", "i", "n", "g"]);
    scene.draw();
    assert!(scene.seen().ends_with("/thing"), "{}", scene.seen());
    scene.press(&["enter"]);
    scene.draw();
    assert!(scene.seen().contains("▎ › first thing"), "{}", scene.seen());
}

#[test]
fn a_key_that_scrolls_opens_the_conversation_there() {
    let mut scene = Scene::open(80, 24);
    for number in 0..40 {
        let item = prompt(&format!("prompt {number}"));
        scene.hear(Event::ItemFinished { item });
    }
    scene.draw();
    scene.press(&["pageup"]);
    scene.draw();
    assert!(scene.seen().contains("y copy"), "{}", scene.seen());
    assert!(!scene.seen().contains("prompt 39"), "{}", scene.seen());
    scene.press(&["shift+home"]);
    scene.draw();
    assert!(scene.seen().contains("prompt 0"), "{}", scene.seen());
    scene.press(&["ctrl+pagedown"]);
    scene.draw();
    assert!(scene.seen().contains("prompt 39"), "{}", scene.seen());
}

#[test]
fn details_and_thinking_are_unfolded_and_folded_by_the_same_key() {
    let mut scene = said();
    for keys in [&["ctrl+o"][..], &["ctrl+x", "i"]] {
        scene.press(keys);
        scene.draw();
        assert!(scene.seen().contains("y copy"), "{}", scene.seen());
        scene.press(&["ctrl+o"]);
        scene.draw();
        assert!(!scene.seen().contains("y copy"), "{}", scene.seen());
    }
}

#[test]
fn another_model_is_named_and_asked_for_when_it_is_known_that_it_can_be_used() {
    let chosen = |name: &str| {
        let mut scene = said();
        scene.write(&format!("/model {name}"));
        let mut effects = scene.press(&["enter"]);
        let Some(Effect::LearnLater(later)) = effects.pop() else {
            panic!("nobody is asked");
        };
        assert!(effects.is_empty(), "nothing is sent yet");
        let sent = match later.now_or_never().unwrap() {
            Ok(news) => scene.app.learn(news),
            Err(trouble) => {
                scene.app.tell_trouble(&trouble);
                None
            }
        };
        scene.draw();
        (sent, scene.app.state.facts.window, scene.seen())
    };
    let (sent, window, seen) = chosen("ollama/qwen3:32b");
    let name = "ollama/qwen3:32b".to_owned();
    assert_eq!((sent, window), (Some(Command::SetModel { name }), 32_768));
    assert!(seen.contains("qwen3:32b"), "{seen}");
    for name in ["openai/gpt-5.5", "nonsense"] {
        let (sent, window, seen) = chosen(name);
        assert_eq!((sent, window), (None, 200_000), "{name}");
        let status = seen.lines().last().unwrap_or_default();
        assert!(status.contains("claude-sonnet-4-6") && !status.contains(name), "{seen}");
        assert!(seen.contains(&format!("there is no key for {name}")), "{seen}");
    }
}

#[test]
fn what_waited_in_a_session_that_is_left_comes_back_into_the_line_and_is_not_said_elsewhere() {
    let mut scene = said();
    scene.hear(Event::TurnStarted);
    scene.write("also this");
    scene.press(&["enter"]);
    scene.write("and later that");
    scene.press(&["tab"]);
    scene.write("/new");
    assert!(matches!(&scene.press(&["enter"])[..], [Effect::Open(Which::New)]));
    assert!(scene.switch(&Which::New, Vec::new()).is_empty());
    assert_eq!(scene.app.composer.text(), "also this\nand later that");
    assert!(scene.app.state.queue.is_empty());
    scene.draw();
    assert!(
        scene.seen().contains("the turn that was running was stopped"),
        "{}",
        scene.seen()
    );
}

#[test]
fn a_copy_says_that_it_is_one_and_does_not_repeat_what_can_be_seen() {
    let mut scene = said();
    let session = scene.app.state.session.unwrap();
    let past = vec![prompt("first thing"), reply("An answer.", &[])];
    scene.switch(&Which::Fork { session, upto: None }, past.clone());
    scene.draw();
    let all = scene.everything().join("\n");
    assert_eq!(all.matches("› first thing").count(), 1, "{all}");
    assert!(all.contains("this is a copy now"), "{all}");
    // Another session's past has not been seen.
    let session = SessionId::new();
    scene.switch(&Which::Fork { session, upto: None }, past);
    scene.draw();
    let all = scene.everything().join("\n");
    assert_eq!(all.matches("› first thing").count(), 2, "{all}");
}

#[test]
fn init_asks_the_model_for_agents_md() {
    let mut scene = said();
    scene.write("/init");
    let effects = scene.press(&["enter"]);
    assert!(matches!(
        &effects[..],
        [Effect::Send(Command::Prompt { message, .. })] if message.text().contains("AGENTS.md")
    ));
}

#[test]
fn a_new_title_is_known_at_once() {
    let mut scene = said();
    scene.write("/rename A better name");
    let mut effects = scene.press(&["enter"]);
    let Some(Effect::LearnLater(later)) = effects.pop() else {
        panic!("nobody is asked");
    };
    scene.app.learn(later.now_or_never().unwrap().unwrap());
    assert_eq!(scene.app.state.facts.title.as_deref(), Some("A better name"));
}

#[test]
fn ctrl_c_stops_the_turn_then_clears_the_line_then_leaves_when_asked_twice() {
    let mut scene = said();
    scene.hear(Event::TurnStarted);
    scene.write("half a thought");
    assert!(matches!(
        &scene.press(&["ctrl+c"])[..],
        [Effect::Send(Command::Interrupt)]
    ));
    assert_eq!(scene.app.composer.text(), "half a thought");
    scene.hear(Event::TurnFinished {
        ending: Ending::Interrupted,
        answer: String::new(),
    });
    assert!(scene.press(&["ctrl+c"]).is_empty());
    assert_eq!(scene.app.composer.text(), "");
    assert!(scene.press(&["ctrl+c"]).is_empty());
    scene.draw();
    assert!(scene.seen().contains("press again to leave"), "{}", scene.seen());
    // Something else in between, and it is asked anew.
    assert!(scene.press(&["left", "ctrl+c"]).is_empty());
    assert!(matches!(&scene.press(&["ctrl+c"])[..], [Effect::Quit]));
}

#[test]
fn a_turn_that_does_not_stop_can_be_left() {
    let mut scene = said();
    scene.hear(Event::TurnStarted);
    assert!(matches!(
        &scene.press(&["ctrl+c"])[..],
        [Effect::Send(Command::Interrupt)]
    ));
    assert!(scene.press(&["ctrl+c"]).is_empty());
    assert!(matches!(&scene.press(&["ctrl+c"])[..], [Effect::Quit]));
    let mut scene = said();
    scene.hear(Event::TurnStarted);
    assert!(scene.press(&["ctrl+d"]).is_empty());
    assert!(matches!(&scene.press(&["ctrl+d"])[..], [Effect::Quit]));
    assert!(matches!(&said().press(&["ctrl+d"])[..], [Effect::Quit]));
}

#[test]
fn what_is_queued_can_be_taken_back_changed_and_queued_again() {
    let mut scene = Scene::open(80, 24);
    scene.hear(Event::TurnStarted);
    scene.write("and the docs");
    assert!(scene.press(&["tab"]).is_empty());
    scene.draw();
    assert!(scene.seen().contains("queued  and the docs"), "{}", scene.seen());
    scene.press(&["up"]);
    assert_eq!(scene.app.composer.text(), "and the docs");
    scene.write(", all of them");
    scene.press(&["tab"]);
    let queued: Vec<(String, Delivery)> = scene
        .app
        .state
        .queue
        .iter()
        .map(|queued| (queued.message.text(), queued.delivery))
        .collect();
    assert_eq!(queued, [("and the docs, all of them".to_owned(), Delivery::Queue)]);
}

#[test]
fn a_prompt_of_a_server_is_asked_for_its_words() {
    let mut scene = said();
    scene.write("/docs.review the parser");
    let effects = scene.press(&["enter"]);
    assert!(matches!(&effects[..], [Effect::SendLater(_)]));
    let plain = Message::user("not a command");
    assert!(matches!(&scene.app.say(plain, Delivery::Steer)[..], [Effect::Send(_)]));
}
