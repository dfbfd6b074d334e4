//! An idle agent that continues after a notification, and the limits on that.

use crate::fixture::*;
use agent::{AutonomySettings, SessionSetup};
use model::Error;
use session::{Body, Command, Delivery, Event, TurnEnd};
use tool::{NotificationSender, ToolNotification};

fn notice(text: &str) -> ToolNotification {
    ToolNotification {
        source: "job 1".into(),
        text: text.into(),
    }
}

/// A fixture with autonomy, and the sender of its notifications.
fn with_autonomy(script: Vec<Answer>, adjust: impl FnOnce(&mut AutonomySettings)) -> (World, NotificationSender) {
    let mut sender = None;
    let world = world_with(script, |setup: &mut SessionSetup| {
        setup.autonomy.allowed = true;
        adjust(&mut setup.autonomy);
        sender = Some(setup.notifications.0.clone());
    });
    (world, sender.unwrap())
}

fn is_notice(event: &Event, words: &str) -> bool {
    matches!(event, Event::Notice { text, .. } if text.contains(words))
}

#[tokio::test]
async fn a_notification_continues_an_idle_agent_with_an_item_of_its_own() {
    let (mut world, notices) = with_autonomy(vec![text_reply("hello"), text_reply("I see")], |_| {});
    world.turn("hi").await;
    notices.send(notice("it ended"));
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert_eq!(
        world.transcript()[2..],
        [
            "user: [Notification, not written by the user]\njob 1: it ended",
            "model: I see"
        ]
    );
    assert!(matches!(&world.items()[2].body, Body::Notification { source, .. } if source == "job 1"));
}

#[tokio::test]
async fn without_autonomy_the_user_is_notified_and_the_model_with_the_next_prompt() {
    let (mut world, notices) = with_autonomy(vec![text_reply("hello"), text_reply("ok")], |autonomy| {
        autonomy.allowed = false
    });
    world.turn("hi").await;
    notices.send(notice("it ended"));
    world.until(|event| is_notice(event, "job 1: it ended")).await;
    world.turn("and now?").await;
    let request = world.last_request();
    assert!(request[3].ends_with("job 1: it ended"), "{request:?}");
}

#[tokio::test]
async fn a_notification_during_a_turn_joins_the_next_request() {
    let script = vec![calls(&[("1", "look", r#"{"text":"wait"}"#)]), text_reply("done")];
    let (mut world, notices) = with_autonomy(script, |autonomy| autonomy.allowed = false);
    world.prompt("go", Delivery::Queue).await;
    while !world.log().contains(&"look wait".to_string()) {
        tokio::task::yield_now().await;
    }
    notices.send(notice("it ended"));
    while notices.has_unread() {
        tokio::task::yield_now().await;
    }
    world.gate.add_permits(1);
    world.turn_end().await;
    let transcript = world.transcript();
    assert_eq!(transcript[2], "Ok (1): waited");
    assert!(transcript[3].ends_with("job 1: it ended"), "{transcript:?}");
}

#[tokio::test]
async fn after_an_interruption_the_agent_stays_idle_until_the_next_prompt() {
    let script = vec![Answer::Hanging(vec![]), text_reply("ok"), text_reply("continued")];
    let (mut world, notices) = with_autonomy(script, |_| {});
    world.prompt("go", Delivery::Queue).await;
    world.until(|event| matches!(event, Event::ItemStarted { .. })).await;
    world.send(Command::Interrupt).await;
    world.turn_end().await;
    notices.send(notice("one"));
    world.until(|event| is_notice(event, "job 1: one")).await;
    world.turn("continue").await;
    notices.send(notice("two"));
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert!(world.transcript().last().unwrap().ends_with("continued"));
}

#[tokio::test]
async fn the_number_of_autonomous_turns_is_limited() {
    let (mut world, notices) = with_autonomy(
        vec![text_reply("a"), text_reply("b"), text_reply("c"), text_reply("d")],
        |autonomy| {
            autonomy.messages = Some(1);
        },
    );
    world.turn("hi").await;
    notices.send(notice("one"));
    world.turn_end().await;
    notices.send(notice("two"));
    world
        .until(|event| is_notice(event, "it has continued by itself 1 times"))
        .await;
    world.turn("go").await;
    notices.send(notice("three"));
    world.turn_end().await;
    assert_eq!(world.transcript().last().unwrap(), "model: d");
}

#[tokio::test]
async fn two_notifications_never_follow_each_other_without_a_reply() {
    let broken = Error::Refused {
        provider: "script".into(),
        status: 400,
        detail: "no".into(),
    };
    let (mut world, notices) = with_autonomy(vec![text_reply("a"), Answer::Fails(broken)], |autonomy| {
        autonomy.retries = 0
    });
    world.turn("hi").await;
    notices.send(notice("one"));
    assert!(matches!(world.turn_end().await.0, TurnEnd::Failed { .. }));
    notices.send(notice("two"));
    world.until(|event| is_notice(event, "has no reply")).await;
    let notifications = world
        .items()
        .iter()
        .filter(|item| matches!(item.body, Body::Notification { .. }))
        .count();
    assert_eq!(notifications, 1);
}

#[tokio::test]
async fn a_failed_autonomous_turn_is_retried() {
    let broken = || {
        Answer::Fails(Error::Refused {
            provider: "script".into(),
            status: 400,
            detail: "no".into(),
        })
    };
    let (mut world, notices) = with_autonomy(vec![text_reply("a"), broken(), text_reply("b")], |_| {});
    world.turn("hi").await;
    notices.send(notice("one"));
    assert!(matches!(world.turn_end().await.0, TurnEnd::Failed { .. }));
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert_eq!(world.transcript().last().unwrap(), "model: b");
}

#[tokio::test]
async fn open_todos_continue_the_agent_and_survive_as_a_list() {
    let list = |id, text: &str| calls(&[(id, "list", &format!(r#"{{"text":"{text}"}}"#))]);
    let script = vec![
        list("1", "a\\nb"),
        text_reply("tired"),
        list("2", "x a\\nb"),
        text_reply("still tired"),
        text_reply("no more"),
    ];
    let (mut world, _notices) = with_autonomy(script, |autonomy| autonomy.todos = true);
    world.turn("go").await;
    world.turn_end().await;
    world.turn_end().await;
    let transcript = world.transcript();
    let reminders: Vec<&String> = transcript.iter().filter(|line| line.contains("still open")).collect();
    assert_eq!(reminders.len(), 2, "{transcript:?}");
    assert!(reminders[0].ends_with("- a\n- b") && reminders[1].ends_with("completed or cancelled:\n- b"));
    assert!(
        transcript.contains(&"Ok (2): there were 2".to_string()),
        "{transcript:?}"
    );
    world.send(Command::Close).await;
    while world.handle.events.recv().await.is_some() {}
}

#[tokio::test]
async fn the_user_is_notified_of_open_todos_without_the_instruction_for_the_model() {
    let script = vec![calls(&[("1", "list", r#"{"text":"a\nb"}"#)]), text_reply("tired")];
    let (mut world, _notices) = with_autonomy(script, |autonomy| {
        autonomy.todos = true;
        autonomy.allowed = false;
    });
    world.turn("go").await;
    let notice = world.until(|event| matches!(event, Event::Notice { .. })).await;
    let Event::Notice { text, .. } = notice else {
        panic!("a notice is expected");
    };
    assert_eq!(text, "not done yet:\n- a\n- b");
}

#[tokio::test]
async fn finishing_waits_for_pending_work_only() {
    let (mut world, notices) = with_autonomy(vec![text_reply("a"), text_reply("b")], |_| {});
    let expected = notices.expect();
    world.turn("hi").await;
    world.send(Command::Finish).await;
    notices.send(notice("it ended"));
    drop(expected);
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    while world.handle.events.recv().await.is_some() {}
    assert_eq!(world.transcript().last().unwrap(), "model: b");

    let (mut world, notices) = with_autonomy(vec![text_reply("a")], |autonomy| autonomy.allowed = false);
    let _expected = notices.expect();
    world.turn("hi").await;
    world.send(Command::Finish).await;
    while world.handle.events.recv().await.is_some() {}
}

#[tokio::test]
async fn requests_are_counted_across_turns_that_it_begins_by_itself_until_it_has_to_ask() {
    let mut sender = None;
    let mut world = world_with(
        vec![text_reply("a"), text_reply("b"), text_reply("c")],
        |setup: &mut SessionSetup| {
            setup.autonomy.allowed = true;
            setup.policy.permissions.approval.max_requests = Some(2);
            sender = Some(setup.notifications.0.clone());
        },
    );
    let notices = sender.unwrap();
    world.turn("hi").await;
    notices.send(notice("one"));
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    notices.send(notice("two"));
    assert_eq!(world.turn_end().await.0, TurnEnd::Limit(session::Limit::Steps(2)));
    // A prompt resets the limits.
    assert_eq!(world.turn("continue").await.0, TurnEnd::Completed);
}
