//! Notices and how often they are shown.

use super::{AppHarness, item, prompt, result};
use crate::action::AppEffect;
use crate::backend::{ErrorRecovery, UserError};
use crate::screen::ImageProtocol;
use model::{Media, Message, Part, Role, ToolOutcome};
use session::{Body, Event, Item, TurnEnd};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn repeated_retries_are_reported_once() {
    let mut ui = AppHarness::open(80, 24);
    ui.event(Event::TurnStarted);
    for attempt in 2..6 {
        ui.event(Event::Retrying {
            error: "could not reach anthropic".into(),
            attempt,
            delay: Duration::from_secs(1),
        });
        ui.draw();
    }
    let all = ui.all_lines().join("\n");
    assert_eq!(all.matches("could not reach").count(), 1, "{all}");
    assert!(all.contains("attempt 5"), "the status line counts: {all}");
}

#[test]
fn a_retry_is_reported_in_one_line() {
    for (error, reported) in [
        (
            "could not reach anthropic: connection refused",
            "! could not reach anthropic: connection refused; retrying",
        ),
        (
            "the stream from anthropic ended early: error reading a body from connection: end of file before message length reached",
            "! the stream from anthropic ended early; retrying",
        ),
    ] {
        let mut ui = AppHarness::open(80, 24);
        ui.event(Event::TurnStarted);
        ui.event(Event::Retrying {
            error: error.into(),
            attempt: 2,
            delay: Duration::from_secs(1),
        });
        ui.draw();
        let all = ui.all_lines();
        assert!(all.iter().any(|line| line.trim_end() == reported), "{all:?}");
    }
}

#[test]
fn an_interrupted_turn_is_reported_once() {
    let mut ui = AppHarness::open(80, 24);
    ui.event(Event::TurnStarted);
    ui.event(Event::ItemFinished { item: prompt("go") });
    let text = "The user interrupted the turn.".to_owned();
    ui.event(Event::ItemFinished {
        item: item(Body::Notice { text }),
    });
    ui.draw();
    ui.event(Event::TurnFinished {
        ending: TurnEnd::Interrupted,
        answer: String::new(),
    });
    ui.draw();
    let all = ui.all_lines().join("\n");
    assert!(all.contains("· interrupted"), "{all}");
    assert!(!all.contains("The user interrupted"), "{all}");
}

#[test]
fn without_a_key_setup_is_shown() {
    let error = |remedy| UserError {
        message: "there is no key".into(),
        hint: Some("press any key".into()),
        recovery: remedy,
    };
    let mut ui = AppHarness::open(80, 24);
    assert!(ui.open_failed(&error(ErrorRecovery::Setup)).is_empty());
    assert!(!ui.app.views.is_empty());
    // Leaving setup without a session quits.
    ui.draw();
    let effects = ui.press(&["esc"]);
    assert!(matches!(effects.as_slice(), [AppEffect::Quit]));
}

#[test]
fn an_unrecoverable_open_error_quits() {
    let mut ui = AppHarness::open(80, 24);
    let effects = ui.open_failed(&UserError::new("the database is damaged"));
    assert!(matches!(effects.as_slice(), [AppEffect::Quit]));
    assert!(ui.app.views.is_empty());
}

/// A prompt with an image.
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
fn an_image_is_shown_if_the_terminal_supports_images() {
    for (pictures, begins) in [
        (ImageProtocol::Kitty, "\x1b_Ga=T"),
        (ImageProtocol::Iterm, "\x1b]1337;File=inline=1"),
    ] {
        let mut ui = AppHarness::open(80, 24);
        ui.terminal.query_features(pictures).unwrap();
        ui.terminal.enable_images();
        ui.event(shown());
        ui.draw();
        let written = String::from_utf8(ui.terminal.take_written()).unwrap();
        assert_eq!(written.matches(begins).count(), 1, "{written:?}");
        // The image's rows are free and the next text is below.
        let all = ui.all_lines();
        let named = all
            .iter()
            .position(|line| line.contains("shot.png · image/png"))
            .unwrap();
        let below = all.iter().skip(named + 1).take_while(|line| line.is_empty()).count();
        assert!(below >= 5, "{all:?}");
        // The image is drawn only once.
        ui.press(&["a"]);
        ui.draw();
        assert!(!String::from_utf8(ui.terminal.take_written()).unwrap().contains(begins));
    }
}

#[test]
fn an_image_is_only_named_if_the_terminal_does_not_support_images() {
    let mut ui = AppHarness::open(80, 24);
    // The query for kitty graphics is unanswered.
    ui.terminal.query_features(ImageProtocol::Kitty).unwrap();
    ui.event(shown());
    ui.draw();
    let written = String::from_utf8(ui.terminal.take_written()).unwrap();
    assert!(
        !written.contains("\x1b_Ga=T") && !written.contains("1337"),
        "{written:?}"
    );
    assert!(ui.all_lines().iter().any(|line| line.contains("shot.png · image/png")));
}

#[test]
fn a_failed_command_is_marked() {
    use session::CommandExit::{Code, Signal, TimedOut};
    for (exit, mark) in [
        (Some(Code(0)), "●"),
        (Some(Code(1)), "✗"),
        (Some(Code(127)), "✗"),
        (Some(Signal), "✗"),
        (Some(TimedOut), "✗"),
        (None, "●"),
    ] {
        let mut ui = AppHarness::open(80, 24);
        let mut item = Item::clone(&result("1", "terminal", "cargo test", "out", ToolOutcome::Ok));
        if let Body::Result { exit: stored, .. } = &mut item.body {
            *stored = exit;
        }
        ui.event(Event::ItemFinished { item: Arc::new(item) });
        ui.draw();
        assert!(
            ui.screen_text().contains(&format!("{mark} Run cargo test")),
            "{}",
            ui.screen_text()
        );
    }
}

#[test]
fn shell_output_is_shown_once() {
    let mut ui = AppHarness::open(80, 24);
    let message = Message {
        role: Role::User,
        parts: vec![Part::text("why?"), session::shell_output_part("ls", "one.txt")],
    };
    ui.event(Event::ItemFinished {
        item: item(Body::Prompt {
            message: Arc::new(message),
        }),
    });
    ui.draw();
    assert!(
        ui.screen_text().contains("› why?\n  ⎘ output of `ls`"),
        "{}",
        ui.screen_text()
    );
    assert!(!ui.screen_text().contains("one.txt"), "{}", ui.screen_text());
}

fn mode(name: &str) -> Event {
    Event::ItemFinished {
        item: item(Body::Mode {
            name: name.into(),
            files: Vec::new(),
            edit_approval: None,
        }),
    }
}

#[test]
fn a_mode_is_reported_with_the_next_prompt_if_it_differs_from_the_last_one() {
    for (switches, reported) in [
        (vec!["plan"], vec!["mode: plan"]),
        (vec!["plan", "code", "ask"], vec!["mode: ask"]),
        (vec!["plan", "code"], vec![]),
    ] {
        let mut ui = AppHarness::open(80, 24);
        ui.app.state.info.mode = "code".into();
        for name in &switches {
            ui.event(mode(name));
            ui.draw();
        }
        assert!(!ui.all_lines().join("\n").contains("mode: "), "{switches:?}");
        ui.event(Event::ItemFinished { item: prompt("go") });
        ui.draw();
        let all = ui.all_lines();
        let found: Vec<&str> = all.iter().filter_map(|line| line.strip_prefix("· ")).collect();
        assert_eq!(found, reported, "{switches:?}");
    }
}

#[test]
fn a_message_that_is_too_long_for_the_status_line_is_wrapped() {
    let text = "unknown command /hooks; hooks are set in the configuration, with `hew config edit`";
    for width in [40, 80, 120] {
        let mut ui = AppHarness::open(width, 24);
        ui.app.state.flash = Some(text.into());
        ui.draw();
        let all = ui.all_lines().join(" ");
        let words: Vec<&str> = all.split_whitespace().collect();
        let expected: Vec<&str> = text.split_whitespace().collect();
        let is_shown = words.windows(expected.len()).any(|shown| shown == expected);
        assert!(is_shown, "{width}: {all}");
    }
}

#[test]
fn a_notification_that_arrives_with_a_prompt_is_not_shown_as_the_reason_for_the_turn() {
    for with_prompt in [true, false] {
        let mut ui = AppHarness::open(80, 24);
        if with_prompt {
            ui.event(Event::ItemFinished { item: prompt("go") });
        }
        ui.event(Event::ItemFinished {
            item: item(Body::Notification {
                message: Arc::new(Message::user("job 1 ended")),
                source: "job 1".into(),
            }),
        });
        ui.draw();
        let is_shown = ui.all_lines().join("\n").contains("continuing because of job 1");
        assert_eq!(is_shown, !with_prompt);
    }
}
