//! Subtasks: results, costs, limits, steering and interruption.

use crate::fixture::*;
use agent::{Approvals, SessionSetup, SubtaskLimits};
use model::{Chunk, Message, Model, Usage};
use session::Time;
use session::{
    Answer as Reply, Body, Command, Delivery, Event, Item, ItemId, Limit, NewSession, ParentCall, ReplyEnd, SessionId,
    TurnEnd,
};
use std::sync::Arc;

fn delegate(text: &str) -> Answer {
    calls(&[("1", "delegate", &format!(r#"{{"text":"{text}"}}"#))])
}

/// The items of the only subtask as readable lines.
fn child_transcript(world: &World) -> Vec<String> {
    let subtasks = world.store.subtasks.lock().unwrap();
    let (_, items) = subtasks.values().next().unwrap();
    let messages: Vec<_> = items.iter().filter_map(|item| item.message().cloned()).collect();
    messages.iter().flat_map(|message| message_lines(message)).collect()
}

fn child(world: &World) -> SessionId {
    *world.store.subtasks.lock().unwrap().keys().next().unwrap()
}

/// Whether all leases of subtasks are released.
fn all_leases_released(world: &World) -> bool {
    world.store.taken.lock().unwrap().is_empty()
}

fn below(event: &Event) -> Option<&Event> {
    match event {
        Event::Subtask { event, .. } => Some(event),
        _ => None,
    }
}

#[tokio::test]
async fn a_subtask_runs_in_its_own_session_and_its_answer_is_the_result() {
    let script = vec![
        delegate("do it"),
        calls(&[("1", "change", r#"{"text":"x"}"#)]),
        text_reply("it is done"),
        text_reply("all done"),
    ];
    let mut world = world(script);
    let (ending, events) = world.turn("go").await;
    assert_eq!(ending, TurnEnd::Completed);
    assert_eq!(
        world.transcript(),
        [
            "user: go",
            "model calls delegate (1)",
            "Ok (1): it is done",
            "model: all done"
        ]
    );
    assert_eq!(
        child_transcript(&world),
        [
            "user: do it",
            "model calls change (1)",
            "Ok (1): changed",
            "model: it is done"
        ]
    );
    let subtasks = world.store.subtasks.lock().unwrap().clone();
    let (new, _) = subtasks.values().next().unwrap();
    assert_eq!(new.parent.as_ref().map(|parent| parent.call.as_str()), Some("1"));
    assert!(all_leases_released(&world));
    // Each request is counted once, in the totals and in the ledger.
    let mut usage = Usage::default();
    let mut ids = Vec::new();
    let mut last = None;
    for event in &events {
        if let Event::Usage {
            request,
            usage: one,
            totals,
            ..
        } = event
        {
            usage += *one;
            ids.push(*request);
            last = Some(*totals);
        }
    }
    assert_eq!(last.map(|totals| (totals.requests, totals.usage)), Some((4, usage)));
    let mut kept: Vec<_> = world
        .store
        .records
        .lock()
        .unwrap()
        .iter()
        .map(|record| record.id)
        .collect();
    ids.sort();
    kept.sort();
    assert_eq!(ids, kept);
    let finished = events
        .iter()
        .filter_map(below)
        .filter(|event| matches!(event, Event::TurnFinished { .. }));
    assert_eq!(finished.count(), 1);
}

#[tokio::test]
async fn delegating_calls_run_in_parallel_but_not_with_others() {
    let script = vec![
        calls(&[
            ("1", "look", r#"{"text":"a"}"#),
            ("2", "delegate", r#"{"text":"scout:one"}"#),
            ("3", "delegate", r#"{"text":"scout:two"}"#),
            ("4", "change", r#"{"text":"b"}"#),
        ]),
        text_reply("done"),
    ];
    let wait = || calls(&[("9", "look", r#"{"text":"wait"}"#)]);
    let small = Scripted::new(vec![wait(), wait(), text_reply("r"), text_reply("r")]);
    let mut world = world_with(script, |setup| {
        setup.config.small_model = Some(Arc::clone(&small) as Arc<dyn Model>)
    });
    world.prompt("go", Delivery::Queue).await;
    let waits = |world: &World| world.log().iter().filter(|line| *line == "look wait").count();
    while waits(&world) < 2 {
        tokio::task::yield_now().await;
    }
    assert!(!world.log().contains(&"change b begins".to_string()));
    world.gate.add_permits(2);
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert!(world.log().contains(&"change b ends".to_string()));
}

#[tokio::test]
async fn a_small_model_subtask_has_only_read_only_tools() {
    let small = Scripted::new(vec![text_reply("src/a.rs:1-2")]);
    let mut world = world_with(vec![delegate("scout:find it"), text_reply("ok")], |setup| {
        setup.config.small_model = Some(Arc::clone(&small) as Arc<dyn Model>);
    });
    world.turn("go").await;
    let requests = small.requests.lock().unwrap();
    let names: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["look"]);
    assert!(requests[0].system.last().unwrap().contains("Change nothing"));
}

#[tokio::test]
async fn an_interrupted_subtask_is_complete_and_can_be_resumed() {
    let script = vec![
        delegate("do it"),
        Answer::Hanging(vec![Chunk::Text("half".into())]),
        calls(&[("2", "delegate", r#"{"text":"resume:"}"#)]),
        text_reply("the rest"),
        text_reply("all done"),
        calls(&[("3", "delegate", r#"{"text":"resume:"}"#)]),
        text_reply("again"),
    ];
    let mut world = world(script);
    world.prompt("go", Delivery::Queue).await;
    world
        .until(|event| matches!(below(event), Some(Event::ItemDelta { .. })))
        .await;
    world.send(Command::Interrupt).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Interrupted);
    assert_eq!(child_transcript(&world), ["user: do it", "model: half"]);
    assert!(all_leases_released(&world));
    let transcript = world.transcript();
    assert!(transcript[2].contains(&child(&world).to_string()), "{transcript:?}");
    assert_eq!(world.turn("continue").await.0, TurnEnd::Completed);
    assert_eq!(
        child_transcript(&world),
        ["user: do it", "model: half", "model: the rest"]
    );
    assert_eq!(world.store.subtasks.lock().unwrap().len(), 1);
    // A completed subtask returns its answer again without a request.
    world.turn("and?").await;
    assert!(world.transcript().contains(&"Ok (3): the rest".to_string()));
}

#[tokio::test]
async fn a_subtask_can_be_interrupted_without_its_parent() {
    let script = vec![
        delegate("do it"),
        Answer::Hanging(vec![Chunk::Text("half".into())]),
        text_reply("ok"),
    ];
    let mut world = world(script);
    world.prompt("go", Delivery::Queue).await;
    world
        .until(|event| matches!(below(event), Some(Event::ItemDelta { .. })))
        .await;
    let session = child(&world);
    let command = Box::new(Command::Interrupt);
    world.send(Command::Subtask { session, command }).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    let transcript = world.transcript();
    assert!(
        transcript[2].starts_with("Error (1): The subtask did not finish: it was stopped."),
        "{transcript:?}"
    );
    assert!(transcript[2].ends_with("Its last text: half"), "{transcript:?}");
    let command = Box::new(Command::Interrupt);
    world.send(Command::Subtask { session, command }).await;
    world
        .until(|event| matches!(event, Event::Notice { text, .. } if text.contains("is not running")))
        .await;
}

#[tokio::test]
async fn a_subtask_can_be_steered_and_its_questions_reach_the_user() {
    let script = vec![
        delegate("do it"),
        calls(&[("1", "look", r#"{"text":"outside"}"#)]),
        text_reply("seen"),
        text_reply("ok"),
    ];
    let mut world = world_with(script, |setup| setup.config.approvals = Approvals::Ask);
    world.prompt("go", Delivery::Queue).await;
    let asked = world
        .until(|event| matches!(below(event), Some(Event::QuestionAsked { .. })))
        .await;
    let Event::Subtask { session, event, .. } = asked else {
        panic!()
    };
    let Event::QuestionAsked { question } = *event else {
        panic!()
    };
    let send = |command: Command| Command::Subtask {
        session,
        command: Box::new(command),
    };
    let steer = Command::Prompt {
        message: Message::user("hurry"),
        delivery: Delivery::Steer,
    };
    world.send(send(steer)).await;
    let answer = Command::Answer {
        question: question.id,
        answer: Reply::once(),
    };
    world.send(send(answer)).await;
    assert_eq!(world.turn_end().await.0, TurnEnd::Completed);
    assert_eq!(
        child_transcript(&world),
        [
            "user: do it",
            "model calls look (1)",
            "Ok (1): outside",
            "user: hurry",
            "model: seen"
        ]
    );
}

#[tokio::test]
async fn subtasks_have_a_maximum_depth_and_need_an_existing_mode() {
    let depth = |depth| {
        move |setup: &mut SessionSetup| {
            setup.config.subtask_limits = SubtaskLimits { depth, parallel: 1 };
        }
    };
    let mut world = world_with(vec![delegate("do it"), text_reply("ok")], depth(0));
    world.turn("go").await;
    assert!(
        world.transcript()[2].contains("do the work yourself"),
        "{:?}",
        world.transcript()
    );
    let mut world = world_with(vec![delegate("do it"), text_reply("done"), text_reply("ok")], depth(1));
    world.turn("go").await;
    let offered = |request: &model::Request| request.tools.iter().any(|tool| tool.name == "delegate");
    let offers: Vec<bool> = world.model.requests.lock().unwrap().iter().map(offered).collect();
    assert_eq!(offers, [true, false, true]);
    let mut world = crate::fixture::world(vec![delegate("mode=pirate:x"), text_reply("ok")]);
    world.turn("go").await;
    assert!(
        world.transcript()[2].contains("the modes are: "),
        "{:?}",
        world.transcript()
    );
}

#[tokio::test]
async fn the_mode_of_a_subtask_applies_to_it_only() {
    let change = |id| calls(&[(id, "change", r#"{"text":"x"}"#)]);
    let script = vec![
        delegate("mode=ask:x"),
        change("1"),
        text_reply("no"),
        change("2"),
        text_reply("ok"),
    ];
    let mut world = world(script);
    world.turn("go").await;
    assert!(
        child_transcript(&world)[2].starts_with("Error (1): Not allowed"),
        "{:?}",
        child_transcript(&world)
    );
    assert!(world.transcript().contains(&"Ok (2): changed".to_string()));
}

#[tokio::test]
async fn limits_are_shared_with_subtasks() {
    let look = || calls(&[("1", "look", r#"{"text":"x"}"#)]);
    let mut world = world_with(vec![delegate("do it"), look(), look()], |setup| {
        setup.config.limits.steps = Some(3)
    });
    assert_eq!(world.turn("go").await.0, TurnEnd::Limit(Limit::Steps(3)));
    assert!(
        world.transcript()[2].contains("a limit was reached"),
        "{:?}",
        world.transcript()
    );
    // Each request costs 110 millionths of a dollar.
    let most = model::Cost::from_usd(0.000_3);
    let mut world = world_with(vec![delegate("do it"), look(), look()], |setup| {
        setup.config.limits.cost = Some(most)
    });
    assert_eq!(world.turn("go").await.0, TurnEnd::Limit(Limit::Cost(most)));
}

#[tokio::test]
async fn after_a_crash_the_result_of_a_call_lists_its_subtasks() {
    let kept = SessionId::new();
    let mut world = world_with(vec![text_reply("ok")], |setup| {
        let item = |parent: Option<ItemId>, body| {
            Arc::new(Item {
                id: ItemId::new(),
                parent,
                at: Time(1),
                body,
            })
        };
        let message = |chunks: Vec<Chunk>| {
            let mut reply = model::Reply::default();
            chunks.into_iter().for_each(|chunk| reply.push(chunk));
            Arc::new(reply.into_message())
        };
        let prompt_body = |text: &str| Body::Prompt {
            message: Arc::new(Message::user(text)),
        };
        let prompt = item(None, prompt_body("go"));
        let reply = item(
            Some(prompt.id),
            Body::Reply {
                message: message(call_chunks(&[
                    ("1", "delegate", r#"{"text":"a"}"#),
                    ("2", "delegate", r#"{"text":"b"}"#),
                ])),
                model: "m".into(),
                request: session::RequestId::new(),
                end: ReplyEnd::Interrupted,
            },
        );
        setup.items = vec![prompt, reply];
        let parent = ParentCall {
            session: setup.session,
            call: "1".into(),
        };
        drop(setup.config.store.create(NewSession {
            id: kept,
            root: "/p".into(),
            model: "m".into(),
            at: Time(1),
            parent: Some(parent),
        }));
        drop(setup.config.store.append(kept, item(None, prompt_body("a"))));
    });
    world.turn("continue").await;
    let transcript = world.transcript();
    assert!(
        transcript[3].contains(&kept.to_string()) && transcript[3].contains("resume"),
        "{transcript:?}"
    );
    assert!(
        transcript[4].starts_with("Error (2): hew ended before the result"),
        "{transcript:?}"
    );
}

#[tokio::test]
async fn a_background_subtask_reports_when_done_and_ends_with_the_session() {
    let wait = || calls(&[("9", "look", r#"{"text":"wait"}"#)]);
    let small = Scripted::new(vec![wait(), text_reply("found"), wait()]);
    let script = vec![
        delegate("background scout:find it"),
        text_reply("meanwhile"),
        text_reply("thank you"),
        delegate("background scout:more"),
        text_reply("bye"),
    ];
    let mut world = world_with(script, |setup| {
        setup.config.small_model = Some(Arc::clone(&small) as Arc<dyn Model>);
        setup.autonomy.allowed = true;
    });
    assert_eq!(world.turn("go").await.0, TurnEnd::Completed);
    world.gate.add_permits(1);
    let (ending, _) = world.turn_end().await;
    assert_eq!(ending, TurnEnd::Completed);
    let transcript = world.transcript();
    assert!(
        transcript[4].contains("subtask part: The subtask \"part\""),
        "{transcript:?}"
    );
    assert!(
        transcript[4].ends_with("found") && transcript[5] == "model: thank you",
        "{transcript:?}"
    );
    world.turn("again").await;
    while small.requests.lock().unwrap().len() < 3 {
        tokio::task::yield_now().await;
    }
    world.send(Command::Close).await;
    while world.handle.events.recv().await.is_some() {}
    assert!(all_leases_released(&world));
}
