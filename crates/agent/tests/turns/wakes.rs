//! An idle agent that goes on by itself when something happens, and what keeps it from doing so.

use crate::world::*;
use agent::{Autonomy, Setup};
use model::Error;
use session::{Body, Command, Delivery, Ending, Event};
use tool::{Notice, Notices};

fn notice(text: &str) -> Notice {
    Notice {
        source: "job 1".into(),
        text: text.into(),
    }
}

/// A world that may go on by itself, and where its news is told.
fn free(script: Vec<Answer>, adjust: impl FnOnce(&mut Autonomy)) -> (World, Notices) {
    let mut told = None;
    let world = world_with(script, |setup: &mut Setup| {
        setup.autonomy.allowed = true;
        adjust(&mut setup.autonomy);
        told = Some(setup.notices.0.clone());
    });
    (world, told.unwrap())
}

fn is_told(event: &Event, words: &str) -> bool {
    matches!(event, Event::Notice { text, .. } if text.contains(words))
}

#[tokio::test]
async fn news_wakes_an_idle_agent_as_a_marked_message_of_its_own_kind() {
    let (mut world, notices) = free(vec![says("hello"), says("I see")], |_| {});
    world.turn("hi").await;
    notices.tell(notice("it ended"));
    assert_eq!(world.ending().await.0, Ending::Completed);
    assert_eq!(
        world.story()[2..],
        [
            "user: [Notification, not written by the person]\njob 1: it ended",
            "model: I see"
        ]
    );
    assert!(matches!(&world.items()[2].body, Body::Wake { cause, .. } if cause == "job 1"));
}

#[tokio::test]
async fn without_permission_the_person_is_told_and_the_model_with_the_next_prompt() {
    let (mut world, notices) = free(vec![says("hello"), says("ok")], |autonomy| autonomy.allowed = false);
    world.turn("hi").await;
    notices.tell(notice("it ended"));
    world.until(|event| is_told(event, "job 1: it ended")).await;
    world.turn("and now?").await;
    let request = world.last_request();
    assert!(request[3].ends_with("job 1: it ended"), "{request:?}");
}

#[tokio::test]
async fn news_during_a_turn_joins_the_next_request() {
    let script = vec![calls(&[("1", "look", r#"{"text":"wait"}"#)]), says("done")];
    let (mut world, notices) = free(script, |autonomy| autonomy.allowed = false);
    world.prompt("go", Delivery::Queue).await;
    while !world.log().contains(&"look wait".to_string()) {
        tokio::task::yield_now().await;
    }
    notices.tell(notice("it ended"));
    while notices.is_waiting() {
        tokio::task::yield_now().await;
    }
    world.gate.add_permits(1);
    world.ending().await;
    let story = world.story();
    assert_eq!(story[2], "Ok (1): waited");
    assert!(story[3].ends_with("job 1: it ended"), "{story:?}");
}

#[tokio::test]
async fn who_stops_a_turn_has_quiet_until_the_next_prompt() {
    let script = vec![Answer::Hanging(vec![]), says("ok"), says("woken")];
    let (mut world, notices) = free(script, |_| {});
    world.prompt("go", Delivery::Queue).await;
    world.until(|event| matches!(event, Event::ItemStarted { .. })).await;
    world.send(Command::Interrupt).await;
    world.ending().await;
    notices.tell(notice("one"));
    world.until(|event| is_told(event, "job 1: one")).await;
    world.turn("go on").await;
    notices.tell(notice("two"));
    assert_eq!(world.ending().await.0, Ending::Completed);
    assert!(world.story().last().unwrap().ends_with("woken"));
}

#[tokio::test]
async fn it_goes_on_only_so_often() {
    let (mut world, notices) = free(vec![says("a"), says("b"), says("c"), says("d")], |autonomy| {
        autonomy.messages = Some(1);
    });
    world.turn("hi").await;
    notices.tell(notice("one"));
    world.ending().await;
    notices.tell(notice("two"));
    world
        .until(|event| is_told(event, "it has gone on by itself 1 times"))
        .await;
    world.turn("go").await;
    notices.tell(notice("three"));
    world.ending().await;
    assert_eq!(world.story().last().unwrap(), "model: d");
}

#[tokio::test]
async fn there_are_never_two_notifications_without_an_answer() {
    let broken = Error::Refused {
        provider: "script".into(),
        status: 400,
        detail: "no".into(),
    };
    let (mut world, notices) = free(vec![says("a"), Answer::Fails(broken)], |autonomy| autonomy.retries = 0);
    world.turn("hi").await;
    notices.tell(notice("one"));
    assert!(matches!(world.ending().await.0, Ending::Failed { .. }));
    notices.tell(notice("two"));
    world.until(|event| is_told(event, "was not answered")).await;
    let wakes = world
        .items()
        .iter()
        .filter(|item| matches!(item.body, Body::Wake { .. }))
        .count();
    assert_eq!(wakes, 1);
}

#[tokio::test]
async fn a_turn_of_its_own_that_failed_is_tried_again() {
    let broken = || {
        Answer::Fails(Error::Refused {
            provider: "script".into(),
            status: 400,
            detail: "no".into(),
        })
    };
    let (mut world, notices) = free(vec![says("a"), broken(), says("b")], |_| {});
    world.turn("hi").await;
    notices.tell(notice("one"));
    assert!(matches!(world.ending().await.0, Ending::Failed { .. }));
    assert_eq!(world.ending().await.0, Ending::Completed);
    assert_eq!(world.story().last().unwrap(), "model: b");
}

#[tokio::test]
async fn open_things_make_it_go_on_and_survive_as_a_list() {
    let list = |id, text: &str| calls(&[(id, "list", &format!(r#"{{"text":"{text}"}}"#))]);
    let script = vec![
        list("1", "a\\nb"),
        says("tired"),
        list("2", "x a\\nb"),
        says("still tired"),
        says("no more"),
    ];
    let (mut world, _notices) = free(script, |autonomy| autonomy.todos = true);
    world.turn("go").await;
    world.ending().await;
    world.ending().await;
    let story = world.story();
    let reminders: Vec<&String> = story.iter().filter(|line| line.contains("still open")).collect();
    assert_eq!(reminders.len(), 2, "{story:?}");
    assert!(reminders[0].ends_with("- a\n- b") && reminders[1].ends_with("done or cancelled if they are:\n- b"));
    assert!(story.contains(&"Ok (2): there were 2".to_string()), "{story:?}");
    world.send(Command::Close).await;
    while world.handle.events.recv().await.is_some() {}
}

#[tokio::test]
async fn the_person_is_told_what_is_left_and_not_what_the_model_should_do_about_it() {
    let script = vec![calls(&[("1", "list", r#"{"text":"a\nb"}"#)]), says("tired")];
    let (mut world, _notices) = free(script, |autonomy| {
        autonomy.todos = true;
        autonomy.allowed = false;
    });
    world.turn("go").await;
    let notice = world.until(|event| matches!(event, Event::Notice { .. })).await;
    let Event::Notice { text, .. } = notice else {
        panic!("something is told");
    };
    assert_eq!(text, "not done yet:\n- a\n- b");
}

#[tokio::test]
async fn finishing_waits_for_what_is_expected_and_for_nothing_else() {
    let (mut world, notices) = free(vec![says("a"), says("b")], |_| {});
    let expected = notices.announce();
    world.turn("hi").await;
    world.send(Command::Finish).await;
    notices.tell(notice("it ended"));
    drop(expected);
    assert_eq!(world.ending().await.0, Ending::Completed);
    while world.handle.events.recv().await.is_some() {}
    assert_eq!(world.story().last().unwrap(), "model: b");

    let (mut world, notices) = free(vec![says("a")], |autonomy| autonomy.allowed = false);
    let _expected = notices.announce();
    world.turn("hi").await;
    world.send(Command::Finish).await;
    while world.handle.events.recv().await.is_some() {}
}

#[tokio::test]
async fn requests_are_counted_across_turns_that_it_begins_by_itself_until_it_has_to_ask() {
    let mut told = None;
    let mut world = world_with(vec![says("a"), says("b"), says("c")], |setup: &mut Setup| {
        setup.autonomy.allowed = true;
        setup.policy.permissions.approval.max_requests = Some(2);
        told = Some(setup.notices.0.clone());
    });
    let notices = told.unwrap();
    world.turn("hi").await;
    notices.tell(notice("one"));
    assert_eq!(world.ending().await.0, Ending::Completed);
    notices.tell(notice("two"));
    assert_eq!(world.ending().await.0, Ending::Limit(session::Limit::Steps(2)));
    // The person speaks: it begins anew.
    assert_eq!(world.turn("go on").await.0, Ending::Completed);
}
