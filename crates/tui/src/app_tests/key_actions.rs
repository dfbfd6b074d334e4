//! Key actions in the whole front end.

use super::{AppHarness, item, prompt, reply, result};
use crate::action::AppEffect;
use crate::backend::SessionTarget;
use crate::state::{LiveActivity, LiveSession};
use futures::future::FutureExt as _;
use model::Message;
use policy::ApprovalMode;
use session::{Body, Command, Delivery, Event, SessionId, TurnEnd};

/// A session with a prompt and a reply.
fn with_reply() -> AppHarness {
    let mut ui = AppHarness::open(80, 24);
    ui.event(Event::ItemFinished {
        item: prompt("first thing"),
    });
    ui.event(Event::ItemFinished {
        item: reply("An **answer** to copy.", &[]),
    });
    ui.draw();
    ui
}

#[test]
fn escape_twice_clears_the_input() {
    let mut ui = with_reply();
    ui.press(&["d", "r", "a", "f", "t", "esc"]);
    ui.draw();
    assert!(ui.screen_text().contains("› draft"), "{}", ui.screen_text());
    assert!(
        ui.screen_text().contains("esc again to clear the input"),
        "{}",
        ui.screen_text()
    );
    ui.press(&["esc"]);
    ui.draw();
    assert!(ui.app.composer.is_empty());
    assert!(ui.app.views.is_empty());
}

#[test]
fn escape_twice_opens_rewind() {
    let mut ui = with_reply();
    ui.press(&["esc"]);
    ui.draw();
    assert!(ui.screen_text().contains("esc again"), "{}", ui.screen_text());
    ui.press(&["esc"]);
    ui.draw();
    assert!(ui.screen_text().contains("Rewind to before"), "{}", ui.screen_text());

    // Another key in between prevents a double press.
    let mut ui = with_reply();
    ui.press(&["esc", "a", "esc"]);
    ui.draw();
    assert!(!ui.screen_text().contains("Rewind to before"), "{}", ui.screen_text());
}

#[test]
fn shift_tab_cycles_through_accepting_edits_planning_and_asking() {
    let mut ui = with_reply();
    let mut seen = vec![status_line(&mut ui)];
    let mut sent = Vec::new();
    for _ in 0..3 {
        for effect in ui.press(&["shift+tab"]) {
            let AppEffect::Send(command) = effect else {
                panic!("only commands are sent");
            };
            if let Command::SetMode { name } = &command {
                ui.event(Event::ItemFinished {
                    item: item(Body::Mode {
                        name: name.clone(),
                        files: Vec::new(),
                        edit_approval: None,
                    }),
                });
            }
            sent.push(command);
        }
        ui.app.state.flash = None;
        seen.push(status_line(&mut ui));
    }
    for (line, mode) in seen.iter().zip(["accept edits", "plan", "ask", "accept edits"]) {
        assert!(line.contains(&format!("{mode} · ")), "{line}");
    }
    let approval = |mode| Command::SetEditApproval { mode };
    let switch = |name: &str| Command::SetMode { name: name.into() };
    assert_eq!(
        sent,
        [
            approval(ApprovalMode::Allow),
            switch("plan"),
            approval(ApprovalMode::Ask),
            switch("code"),
            approval(ApprovalMode::Allow),
        ]
    );
}

fn status_line(ui: &mut AppHarness) -> String {
    ui.draw();
    ui.screen_text().lines().last().unwrap_or_default().to_owned()
}

#[test]
fn the_last_reply_is_copied() {
    let mut ui = with_reply();
    let effects = ui.press(&["ctrl+x", "y"]);
    assert!(matches!(&effects[..], [AppEffect::Copy(text)] if text == "An **answer** to copy."));
}

#[test]
fn a_search_scrolls_to_the_matching_line_of_a_long_output() {
    let mut ui = with_reply();
    let call = ("1", "grep", serde_json::json!({"pattern": "x"}));
    let output: String = (1..400).map(|number| format!("found {number}.\n")).collect();
    ui.event(Event::ItemFinished {
        item: reply("", &[call]),
    });
    ui.event(Event::ItemFinished {
        item: result("1", "grep", "x", &output, model::ToolOutcome::Ok),
    });
    ui.event(Event::ItemFinished {
        item: reply("After it.", &[]),
    });
    ui.press(&["ctrl+t"]);
    ui.draw();
    ui.press(&["g", "/", "2", "5", "0", ".", "enter"]);
    ui.draw();
    assert!(ui.screen_text().contains("found 250."), "{}", ui.screen_text());
    // A search begins with the last match; the others are in the same output.
    ui.press(&["g", "/", "f", "o", "u", "n", "d", "space", "3", "9", "enter"]);
    ui.draw();
    assert!(ui.screen_text().contains("found 399."), "{}", ui.screen_text());
    ui.press(&["N"; 10]);
    ui.draw();
    assert!(ui.screen_text().contains("found 39."), "{}", ui.screen_text());
    ui.press(&["n"]);
    ui.draw();
    assert!(ui.screen_text().contains("found 390."), "{}", ui.screen_text());
    assert!(!ui.screen_text().contains("found 39."), "{}", ui.screen_text());
}

#[test]
fn search_opens_the_transcript_with_a_search_field() {
    let mut ui = with_reply();
    ui.press(&["ctrl+x", "f"]);
    ui.press(&["t", "h", "i", "n", "g"]);
    ui.draw();
    assert!(ui.screen_text().ends_with("/thing"), "{}", ui.screen_text());
    ui.press(&["enter"]);
    ui.draw();
    assert!(ui.screen_text().contains("▎ › first thing"), "{}", ui.screen_text());
}

#[test]
fn a_scroll_key_opens_the_transcript_there() {
    let mut ui = AppHarness::open(80, 24);
    for number in 0..40 {
        let item = prompt(&format!("prompt {number}"));
        ui.event(Event::ItemFinished { item });
    }
    ui.draw();
    ui.press(&["pageup"]);
    ui.draw();
    assert!(ui.screen_text().contains("y copy"), "{}", ui.screen_text());
    assert!(!ui.screen_text().contains("prompt 39"), "{}", ui.screen_text());
    ui.press(&["shift+home"]);
    ui.draw();
    assert!(ui.screen_text().contains("prompt 0"), "{}", ui.screen_text());
    ui.press(&["ctrl+pagedown"]);
    ui.draw();
    assert!(ui.screen_text().contains("prompt 39"), "{}", ui.screen_text());
}

#[test]
fn details_and_thinking_are_expanded_and_collapsed_by_the_same_key() {
    let mut ui = with_reply();
    for keys in [&["ctrl+o"][..], &["ctrl+x", "i"]] {
        ui.press(keys);
        ui.draw();
        assert!(ui.screen_text().contains("y copy"), "{}", ui.screen_text());
        ui.press(&["ctrl+o"]);
        ui.draw();
        assert!(!ui.screen_text().contains("y copy"), "{}", ui.screen_text());
    }
}

#[test]
fn a_model_change_is_sent_only_if_the_model_is_usable() {
    let chosen = |name: &str| {
        let mut ui = with_reply();
        ui.paste(&format!("/model {name}"));
        let mut effects = ui.press(&["enter"]);
        let Some(AppEffect::Await(operation)) = effects.pop() else {
            panic!("nothing was requested");
        };
        assert!(effects.is_empty(), "nothing is sent before the model was checked");
        let sent = match operation.now_or_never().unwrap() {
            Ok(result) => ui.app.apply_async_result(result),
            Err(error) => {
                ui.app.show_error(&error);
                Vec::new()
            }
        };
        let sent = sent.into_iter().find_map(|effect| match effect {
            AppEffect::Send(command) => Some(command),
            _ => None,
        });
        ui.draw();
        (sent, ui.app.state.info.context_window, ui.screen_text())
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
fn a_working_session_keeps_its_queued_prompts_in_the_background() {
    let mut ui = with_reply();
    ui.event(Event::TurnStarted);
    ui.paste("also this");
    ui.press(&["enter"]);
    ui.paste("and later that");
    ui.press(&["tab"]);
    ui.paste("/new");
    assert!(matches!(
        &ui.press(&["enter"])[..],
        [AppEffect::OpenSession(SessionTarget::New)]
    ));
    // The loop takes the state of a working session instead of interrupting it.
    let state = ui.app.detach_session();
    assert_eq!(state.queue.len(), 2);
    assert!(ui.app.state.queue.is_empty() && ui.app.composer.text().is_empty());
    assert!(ui.app.attach_session(state).is_empty());
    assert!(ui.app.state.is_working());
    assert_eq!(ui.app.state.queue.len(), 2);
    ui.draw();
    // It is printed again, because another session may have been shown.
    let all = ui.all_lines().join("\n");
    assert_eq!(all.matches("› first thing").count(), 2, "{all}");
    assert!(all.contains("session: first thing\n\n› first thing"), "{all}");
}

#[test]
fn a_fork_is_announced_and_does_not_repeat_visible_history() {
    let mut ui = with_reply();
    let session = ui.app.state.session.unwrap();
    let past = vec![prompt("first thing"), reply("An answer.", &[])];
    ui.switch(&SessionTarget::Fork { session, upto: None }, past.clone());
    ui.draw();
    let all = ui.all_lines().join("\n");
    assert_eq!(all.matches("› first thing").count(), 1, "{all}");
    assert!(all.contains("this is a fork"), "{all}");
    // The history of another session is not on screen.
    let session = SessionId::new();
    ui.switch(&SessionTarget::Fork { session, upto: None }, past);
    ui.draw();
    let all = ui.all_lines().join("\n");
    assert_eq!(all.matches("› first thing").count(), 2, "{all}");
}

#[test]
fn init_asks_the_model_for_agents_md() {
    let mut ui = with_reply();
    ui.paste("/init");
    let effects = ui.press(&["enter"]);
    assert!(matches!(
        &effects[..],
        [AppEffect::Send(Command::Prompt { message, .. })] if message.text().contains("AGENTS.md")
    ));
}

#[test]
fn a_new_title_is_applied_immediately() {
    let mut ui = with_reply();
    ui.paste("/rename A better name");
    let mut effects = ui.press(&["enter"]);
    let Some(AppEffect::Await(operation)) = effects.pop() else {
        panic!("nothing was requested");
    };
    ui.app.apply_async_result(operation.now_or_never().unwrap().unwrap());
    assert_eq!(ui.app.state.info.title.as_deref(), Some("A better name"));
}

#[test]
fn ctrl_c_interrupts_then_clears_the_input_then_quits_on_the_second_press() {
    let mut ui = with_reply();
    ui.event(Event::TurnStarted);
    ui.paste("half a thought");
    assert!(matches!(
        &ui.press(&["ctrl+c"])[..],
        [AppEffect::Send(Command::Interrupt)]
    ));
    assert_eq!(ui.app.composer.text(), "half a thought");
    ui.event(Event::TurnFinished {
        ending: TurnEnd::Interrupted,
        answer: String::new(),
    });
    assert!(ui.press(&["ctrl+c"]).is_empty());
    assert_eq!(ui.app.composer.text(), "");
    assert!(ui.press(&["ctrl+c"]).is_empty());
    ui.draw();
    assert!(ui.screen_text().contains("press again to quit"), "{}", ui.screen_text());
    // After another key, confirmation is required again.
    assert!(ui.press(&["left", "ctrl+c"]).is_empty());
    assert!(matches!(&ui.press(&["ctrl+c"])[..], [AppEffect::Quit]));
}

#[test]
fn the_app_can_quit_while_a_turn_does_not_stop() {
    let mut ui = with_reply();
    ui.event(Event::TurnStarted);
    assert!(matches!(
        &ui.press(&["ctrl+c"])[..],
        [AppEffect::Send(Command::Interrupt)]
    ));
    assert!(ui.press(&["ctrl+c"]).is_empty());
    assert!(matches!(&ui.press(&["ctrl+c"])[..], [AppEffect::Quit]));
    let mut ui = with_reply();
    ui.event(Event::TurnStarted);
    assert!(ui.press(&["ctrl+d"]).is_empty());
    assert!(matches!(&ui.press(&["ctrl+d"])[..], [AppEffect::Quit]));
    assert!(matches!(&with_reply().press(&["ctrl+d"])[..], [AppEffect::Quit]));
}

#[test]
fn a_queued_prompt_can_be_edited_and_queued_again() {
    let mut ui = AppHarness::open(80, 24);
    ui.event(Event::TurnStarted);
    ui.paste("and the docs");
    assert!(ui.press(&["tab"]).is_empty());
    ui.draw();
    assert!(
        ui.screen_text().contains("queued  and the docs"),
        "{}",
        ui.screen_text()
    );
    ui.press(&["up"]);
    assert_eq!(ui.app.composer.text(), "and the docs");
    ui.paste(", all of them");
    ui.press(&["tab"]);
    let queued: Vec<(String, Delivery)> = ui
        .app
        .state
        .queue
        .iter()
        .map(|queued| (queued.message.text(), queued.delivery))
        .collect();
    assert_eq!(queued, [("and the docs, all of them".to_owned(), Delivery::Queue)]);
}

#[test]
fn an_mcp_prompt_is_expanded_by_its_server() {
    let mut ui = with_reply();
    ui.paste("/docs.review the parser");
    let effects = ui.press(&["enter"]);
    assert!(matches!(&effects[..], [AppEffect::Await(_)]));
    let plain = Message::user("not a command");
    assert!(matches!(
        &ui.app.submit_prompt(plain, Delivery::Steer)[..],
        [AppEffect::Send(_)]
    ));
}

#[test]
fn a_chosen_mode_is_kept_in_the_next_session_unless_it_allows_more() {
    let plan = Command::SetMode { name: "plan".into() };
    let ask = Command::SetEditApproval {
        mode: ApprovalMode::Ask,
    };
    let old = vec![prompt("before")];
    for (presses, items, kept) in [
        (1, vec![], vec![plan]),
        (1, old.clone(), vec![]),
        (2, vec![], vec![ask.clone()]),
        (2, old, vec![ask]),
        (3, vec![], vec![]),
    ] {
        let mut ui = AppHarness::open(80, 24);
        ui.app.state.info.mode = "code".into();
        for _ in 0..presses {
            // The session confirms a mode.
            for effect in ui.press(&["shift+tab"]) {
                if let AppEffect::Send(Command::SetMode { name }) = effect {
                    ui.app.state.info.mode = name;
                }
            }
        }
        let effects = ui.switch(&SessionTarget::New, items);
        let sent: Vec<Command> = effects
            .into_iter()
            .filter_map(|effect| match effect {
                AppEffect::Send(command) => Some(command),
                _ => None,
            })
            .collect();
        assert_eq!(sent, kept, "{presses}");
    }
}

#[test]
fn quitting_with_jobs_in_any_session_needs_a_second_press() {
    for keys in ["ctrl+c", "ctrl+d"] {
        let mut ui = AppHarness::open(80, 24);
        ui.app.state.others = vec![LiveSession {
            id: SessionId::new(),
            title: "other".into(),
            activity: LiveActivity::Idle,
            has_jobs: true,
        }];
        assert!(ui.press(&[keys]).is_empty());
        ui.draw();
        let screen = ui.screen_text();
        assert!(screen.contains("stop the background jobs"), "{keys}: {screen}");
        assert!(matches!(ui.press(&[keys]).as_slice(), [AppEffect::Quit]));
    }
}
