//! What the person is told, and how often.

use super::{Scene, item, prompt, result};
use crate::app::Effect;
use crate::house::{Remedy, Trouble};
use crate::screen::Pictures;
use model::{Media, Message, Outcome, Part, Role};
use session::{Body, Ending, Event, Item};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_request_that_is_sent_again_and_again_is_told_of_once() {
    let mut scene = Scene::open(80, 24);
    scene.hear(Event::TurnStarted);
    for attempt in 2..6 {
        scene.hear(Event::Retrying {
            error: "could not reach anthropic".into(),
            attempt,
            delay: Duration::from_secs(1),
        });
        scene.draw();
    }
    let all = scene.everything().join("\n");
    assert_eq!(all.matches("could not reach").count(), 1, "{all}");
    assert!(all.contains("attempt 5"), "the status line counts: {all}");
}

#[test]
fn an_interrupted_turn_is_told_of_once() {
    let mut scene = Scene::open(80, 24);
    scene.hear(Event::TurnStarted);
    scene.hear(Event::ItemFinished { item: prompt("go") });
    let text = "The person stopped the turn.".to_owned();
    scene.hear(Event::ItemFinished {
        item: item(Body::Notice { text }),
    });
    scene.draw();
    scene.hear(Event::TurnFinished {
        ending: Ending::Interrupted,
        answer: String::new(),
    });
    scene.draw();
    let all = scene.everything().join("\n");
    assert!(all.contains("interrupted; nothing is lost"), "{all}");
    assert!(!all.contains("The person stopped"), "{all}");
}

#[test]
fn whoever_has_no_key_yet_is_shown_how_to_begin() {
    let trouble = |remedy| Trouble {
        what: "there is no key".into(),
        hint: Some("press any key".into()),
        remedy,
    };
    let mut scene = Scene::open(80, 24);
    assert!(scene.troubled(&trouble(Remedy::Setup)).is_empty());
    assert!(!scene.app.views.is_empty());
    // Whoever leaves it without a session leaves altogether.
    scene.draw();
    let effects = scene.press(&["esc"]);
    assert!(matches!(effects.as_slice(), [Effect::Quit]));
}

#[test]
fn what_cannot_be_opened_and_not_be_mended_here_is_the_end() {
    let mut scene = Scene::open(80, 24);
    let effects = scene.troubled(&Trouble::new("the database is damaged"));
    assert!(matches!(effects.as_slice(), [Effect::Quit]));
    assert!(scene.app.views.is_empty());
}

/// A prompt with an image of one pixel.
fn shown() -> Event {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x5a\0\0\0\x5a";
    let media = Media {
        mime: "image/png".into(),
        name: Some("shot.png".into()),
        data: png.to_vec().into(),
    };
    let message = Message {
        role: Role::User,
        parts: vec![Part::text("what is this?"), Part::Media(media)],
    };
    Event::ItemFinished {
        item: item(Body::Prompt {
            message: Arc::new(message),
        }),
    }
}

#[test]
fn an_image_stands_in_the_history_where_the_terminal_shows_images() {
    for (pictures, begins) in [
        (Pictures::Kitty, "\x1b_Ga=T"),
        (Pictures::Iterm, "\x1b]1337;File=inline=1"),
    ] {
        let mut scene = Scene::open(80, 24);
        scene.terminal.ask(pictures).unwrap();
        scene.terminal.shows_pictures();
        scene.hear(shown());
        scene.draw();
        let written = String::from_utf8(scene.terminal.take_written()).unwrap();
        assert_eq!(written.matches(begins).count(), 1, "{written:?}");
        // The rows that it takes are free, and what follows stands below them.
        let all = scene.everything();
        let named = all
            .iter()
            .position(|line| line.contains("shot.png · image/png"))
            .unwrap();
        let below = all.iter().skip(named + 1).take_while(|line| line.is_empty()).count();
        assert!(below >= 5, "{all:?}");
        // Drawn once, it is not drawn again.
        scene.press(&["a"]);
        scene.draw();
        assert!(
            !String::from_utf8(scene.terminal.take_written())
                .unwrap()
                .contains(begins)
        );
    }
}

#[test]
fn an_image_is_only_named_where_the_terminal_has_no_way_to_show_it() {
    let mut scene = Scene::open(80, 24);
    // Asked whether it knows kitty's graphics, it has not answered.
    scene.terminal.ask(Pictures::Kitty).unwrap();
    scene.hear(shown());
    scene.draw();
    let written = String::from_utf8(scene.terminal.take_written()).unwrap();
    assert!(
        !written.contains("\x1b_Ga=T") && !written.contains("1337"),
        "{written:?}"
    );
    assert!(
        scene
            .everything()
            .iter()
            .any(|line| line.contains("shot.png · image/png"))
    );
}

#[test]
fn a_command_that_did_not_end_well_is_marked_as_failed() {
    for (summary, mark) in [
        ("exit code 0, 0.1 s", "●"),
        ("exit code 1, 0.1 s", "✗"),
        ("exit code 127, 0.1 s", "✗"),
        ("ended by signal 9, 0.1 s", "✗"),
        ("stopped after 120 s, 120.0 s", "✗"),
        ("job 3", "●"),
    ] {
        let mut scene = Scene::open(80, 24);
        let mut item = Item::clone(&result("1", "terminal", "cargo test", "out", Outcome::Ok));
        if let Body::Result { summary: said, .. } = &mut item.body {
            *said = Some(summary.into());
        }
        scene.hear(Event::ItemFinished { item: Arc::new(item) });
        scene.draw();
        assert!(
            scene.seen().contains(&format!("{mark} terminal cargo test")),
            "{}",
            scene.seen()
        );
    }
}

#[test]
fn what_a_shell_line_printed_is_shown_once() {
    let mut scene = Scene::open(80, 24);
    let message = Message {
        role: Role::User,
        parts: vec![Part::text("why?"), Part::text(session::ran("ls", "one.txt"))],
    };
    scene.hear(Event::ItemFinished {
        item: item(Body::Prompt {
            message: Arc::new(message),
        }),
    });
    scene.draw();
    assert!(
        scene.seen().contains("› why?\n  ⎘ what `ls` printed"),
        "{}",
        scene.seen()
    );
    assert!(!scene.seen().contains("one.txt"), "{}", scene.seen());
}
