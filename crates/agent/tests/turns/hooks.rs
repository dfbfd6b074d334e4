//! Hooks, through the loop.

use crate::fixture::{World, call_chunks, calls, text_reply, world_with};
use agent::{Approvals, SessionSetup};
use futures::future::{BoxFuture, FutureExt};
use model::{Chunk, Stop, Usage};
use policy::Ruling;
use serde_json::json;
use session::{Answer, Command, Delivery, Event, HookEvent, HookKind, HookOutcome, Hooks, SessionId, TurnEnd};
use std::sync::{Arc, Mutex};

type React = fn(&HookEvent) -> HookOutcome;

/// Records its events and returns the outcome of a function.
struct Listener {
    react: React,
    events: Mutex<Vec<String>>,
}

impl Hooks for Listener {
    fn is_registered(&self, _: HookKind) -> bool {
        true
    }

    fn call(&self, _: SessionId, event: HookEvent) -> BoxFuture<'static, HookOutcome> {
        let line = match &event {
            HookEvent::PreToolUse { tool, input, .. } => format!("before {tool} {input}"),
            HookEvent::PostToolUse { tool, output, ok, .. } => format!("after {tool} {:?} {ok}", output.trim()),
            HookEvent::UserPromptSubmit { prompt } => format!("prompt {prompt}"),
            HookEvent::Stop {
                answer,
                stop_hook_active: again,
            } => format!("stop {answer} {again}"),
            other => format!("{other:?}"),
        };
        self.events.lock().unwrap().push(line);
        let reaction = (self.react)(&event);
        async move { reaction }.boxed()
    }
}

fn with_hooks(react: React) -> (Arc<Listener>, impl FnOnce(&mut SessionSetup)) {
    let listener = Arc::new(Listener {
        react,
        events: Mutex::default(),
    });
    let hooks = Arc::clone(&listener) as Arc<dyn Hooks>;
    (listener, |setup: &mut SessionSetup| setup.config.hooks = hooks)
}

fn ruling(ruling: Ruling) -> HookOutcome {
    HookOutcome {
        ruling,
        ..HookOutcome::default()
    }
}

fn one_look_call(text: &str) -> Vec<crate::fixture::Answer> {
    let input = json!({"text": text}).to_string();
    vec![calls(&[("1", "look", &input)]), text_reply("done")]
}

fn answer_to_first(world: &World) -> String {
    world
        .transcript()
        .into_iter()
        .find(|line| line.contains("(1):"))
        .unwrap()
}

#[tokio::test]
async fn hooks_receive_all_events_in_order() {
    let (listener, adjust) = with_hooks(|_| HookOutcome::default());
    let mut world = world_with(one_look_call("a"), adjust);
    assert_eq!(world.turn("go").await.0, TurnEnd::Completed);
    world.send(Command::Close).await;
    while world.handle.events.recv().await.is_some() {}
    assert_eq!(
        *listener.events.lock().unwrap(),
        [
            "SessionStart { resumed: false }",
            "prompt go",
            "before look {\"text\":\"a\"}",
            "after look \"a\" true",
            "stop done false",
            "SessionEnd",
        ]
    );
}

#[tokio::test]
async fn a_hook_blocks_a_call_and_the_model_reads_why() {
    let (_, adjust) = with_hooks(|event| match event {
        HookEvent::PreToolUse { .. } => ruling(Ruling::Deny("not on Fridays".into())),
        _ => HookOutcome::default(),
    });
    let mut world = world_with(one_look_call("a"), adjust);
    world.turn("go").await;
    assert_eq!(
        answer_to_first(&world),
        "Error (1): A hook blocked this call: not on Fridays"
    );
    assert!(!world.log().iter().any(|line| line == "look a"));
}

#[tokio::test]
async fn a_hook_changes_the_input_and_the_policy_decides_about_the_new_input() {
    let (_, adjust) = with_hooks(|event| match event {
        HookEvent::PreToolUse { .. } => HookOutcome {
            input: Some(json!({"text": "outside"})),
            ..HookOutcome::default()
        },
        _ => HookOutcome::default(),
    });
    let mut world = world_with(one_look_call("a"), adjust);
    world.turn("go").await;
    assert!(
        answer_to_first(&world).contains("/p is outside the project"),
        "{:?}",
        world.transcript()
    );

    let (_, adjust) = with_hooks(|event| match event {
        HookEvent::PreToolUse { .. } => HookOutcome {
            input: Some(json!({"text": "b"})),
            context: Some("mind the step".into()),
            ..HookOutcome::default()
        },
        HookEvent::PostToolUse { .. } => ruling(Ruling::Deny("it smells".into())),
        _ => HookOutcome::default(),
    });
    let mut world = world_with(one_look_call("a"), adjust);
    world.turn("go").await;
    assert_eq!(
        answer_to_first(&world),
        "Ok (1): A hook changed the input of this call to: {\"text\":\"b\"} | mind the step | b | \
         A hook rejects this call, which has already run: it smells"
    );
}

#[tokio::test]
async fn a_hook_can_allow_an_action_that_needs_approval_but_not_a_denied_one() {
    let allow: React = |event| match event {
        HookEvent::PreToolUse { .. } => ruling(Ruling::Allow),
        _ => HookOutcome::default(),
    };
    let (_, adjust) = with_hooks(allow);
    let mut world = world_with(one_look_call("outside"), adjust);
    world.turn("go").await;
    assert_eq!(answer_to_first(&world), "Ok (1): outside");
    let (_, adjust) = with_hooks(allow);
    let mut world = world_with(
        vec![calls(&[("1", "change", r#"{"text":"c"}"#)]), text_reply("done")],
        |setup| {
            adjust(setup);
            setup.policy.level = policy::AccessLevel::ReadOnly;
        },
    );
    world.turn("go").await;
    assert_eq!(
        answer_to_first(&world),
        "Error (1): Not allowed: changing files is not allowed in this run."
    );
}

#[tokio::test]
async fn a_hook_can_request_an_approval() {
    let (listener, adjust) = with_hooks(|event| match event {
        HookEvent::PreToolUse { .. } => ruling(Ruling::Ask("the hook is unsure".into())),
        _ => HookOutcome::default(),
    });
    let mut world = world_with(one_look_call("a"), |setup| {
        adjust(setup);
        setup.config.approvals = Approvals::Ask;
    });
    world.prompt("go", Delivery::Queue).await;
    let Event::QuestionAsked { question } = world.until(|event| matches!(event, Event::QuestionAsked { .. })).await
    else {
        unreachable!()
    };
    let session::QuestionSubject::Permission { reason: why, .. } = &question.subject else {
        panic!("{question:?}")
    };
    assert_eq!(why, "the hook is unsure");
    let (question, answer) = (question.id, Answer::once());
    world.send(Command::Answer { question, answer }).await;
    world.turn_end().await;
    assert_eq!(answer_to_first(&world), "Ok (1): a");
    let events = listener.events.lock().unwrap().clone();
    assert!(events.iter().any(|line| line.starts_with("Notification")), "{events:?}");
}

#[tokio::test]
async fn a_hook_blocks_a_prompt_or_adds_to_it() {
    let (_, adjust) = with_hooks(|event| match event {
        HookEvent::SessionStart { .. } => HookOutcome {
            context: Some("the weather is fine".into()),
            ..HookOutcome::default()
        },
        HookEvent::UserPromptSubmit { prompt } if prompt == "secret" => ruling(Ruling::Deny("no secrets".into())),
        HookEvent::UserPromptSubmit { .. } => HookOutcome {
            context: Some("it is Monday".into()),
            notices: vec!["a hook was slow".into()],
            ..HookOutcome::default()
        },
        _ => HookOutcome::default(),
    });
    let mut world = world_with(vec![text_reply("done")], adjust);
    let (ending, _) = world.turn("secret").await;
    assert!(
        matches!(&ending, TurnEnd::Failed { error, .. } if error == "a hook blocked the prompt: no secrets"),
        "{ending:?}"
    );
    assert_eq!(world.transcript(), Vec::<String>::new());
    let (ending, events) = world.turn("hello").await;
    assert_eq!(ending, TurnEnd::Completed);
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Notice { text, .. } if text == "a hook was slow"))
    );
    assert_eq!(
        world.transcript(),
        [
            "user: hello",
            "user: <hook>\nthe weather is fine\n</hook>",
            "user: <hook>\nit is Monday\n</hook>",
            "model: done"
        ]
    );
}

#[tokio::test]
async fn a_stop_hook_continues_the_turn_a_limited_number_of_times() {
    let (listener, adjust) = with_hooks(|event| match event {
        HookEvent::Stop { .. } => ruling(Ruling::Deny("the tests fail".into())),
        _ => HookOutcome::default(),
    });
    let mut world = world_with((0..20).map(|n| text_reply(&format!("{n}"))).collect(), adjust);
    assert_eq!(world.turn("go").await.0, TurnEnd::Completed);
    assert_eq!(
        world.transcript()[2],
        "user: A hook reports that the task is not complete: the tests fail"
    );
    let stops = listener
        .events
        .lock()
        .unwrap()
        .iter()
        .filter(|line| line.starts_with("stop"))
        .count();
    assert_eq!(stops, 8);
}

#[tokio::test]
async fn the_answer_before_a_stop_hook_continuation_is_not_the_final_answer() {
    let (_, adjust) = with_hooks(|event| match event {
        HookEvent::Stop {
            stop_hook_active: false,
            ..
        } => ruling(Ruling::Deny("the tests fail".into())),
        _ => HookOutcome::default(),
    });
    let script = vec![calls(&[("1", "finish", r#"{"text":"early"}"#)]), text_reply("late")];
    let mut world = world_with(script, adjust);
    world.prompt("go", Delivery::Queue).await;
    let finished = world.until(|event| matches!(event, Event::TurnFinished { .. })).await;
    assert!(
        matches!(&finished, Event::TurnFinished { answer, .. } if answer == "late"),
        "{finished:?}"
    );
}

#[tokio::test]
async fn compact_hooks_do_not_run_if_there_is_nothing_to_summarise() {
    let full = |chunks: Vec<Chunk>, stop: Stop| {
        let (input, output) = (85_000, 10);
        let usage = Chunk::Usage(Usage {
            input,
            output,
            ..Usage::default()
        });
        crate::fixture::Answer::Chunks([chunks, vec![usage, Chunk::Stop(stop)]].concat())
    };
    let input = json!({"text": "x".repeat(5_000)}).to_string();
    let script = vec![
        full(call_chunks(&[("1", "look", &input)]), Stop::ToolUse),
        full(vec![Chunk::Text("done".into())], Stop::End),
    ];
    let (listener, adjust) = with_hooks(|_| HookOutcome::default());
    let mut world = world_with(script, adjust);
    assert_eq!(world.turn("go").await.0, TurnEnd::Completed);
    // The newest result still fits and is sent unchanged.
    assert_eq!(world.last_request().len(), 3);
    let events = listener.events.lock().unwrap().clone();
    assert!(!events.iter().any(|line| line.starts_with("PreCompact")), "{events:?}");
}
