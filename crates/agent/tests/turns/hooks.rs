//! The person's own programs around the loop.

use crate::world::{World, call_chunks, calls, says, world_with};
use agent::{Approvals, Setup};
use futures::future::{BoxFuture, FutureExt};
use model::{Chunk, Stop, Usage};
use policy::Ruling;
use serde_json::json;
use session::{Answer, Command, Delivery, Ending, Event, Happening, Hooks, Moment, Reaction, SessionId};
use std::sync::{Arc, Mutex};

type React = fn(&Happening) -> Reaction;

/// Writes down what it hears and reacts by a function.
struct Listener {
    react: React,
    heard: Mutex<Vec<String>>,
}

impl Hooks for Listener {
    fn hears(&self, _: Moment) -> bool {
        true
    }

    fn call(&self, _: SessionId, happening: Happening) -> BoxFuture<'static, Reaction> {
        let line = match &happening {
            Happening::PreToolUse { tool, input, .. } => format!("before {tool} {input}"),
            Happening::PostToolUse { tool, output, ok, .. } => format!("after {tool} {:?} {ok}", output.trim()),
            Happening::UserPromptSubmit { prompt } => format!("prompt {prompt}"),
            Happening::Stop { answer, again } => format!("stop {answer} {again}"),
            other => format!("{other:?}"),
        };
        self.heard.lock().unwrap().push(line);
        let reaction = (self.react)(&happening);
        async move { reaction }.boxed()
    }
}

fn hooked(react: React) -> (Arc<Listener>, impl FnOnce(&mut Setup)) {
    let listener = Arc::new(Listener {
        react,
        heard: Mutex::default(),
    });
    let hooks = Arc::clone(&listener) as Arc<dyn Hooks>;
    (listener, |setup: &mut Setup| setup.hooks = hooks)
}

fn ruling(ruling: Ruling) -> Reaction {
    Reaction {
        ruling,
        ..Reaction::default()
    }
}

fn one_look(text: &str) -> Vec<crate::world::Answer> {
    let input = json!({"text": text}).to_string();
    vec![calls(&[("1", "look", &input)]), says("done")]
}

fn answer_to_first(world: &World) -> String {
    world.story().into_iter().find(|line| line.contains("(1):")).unwrap()
}

#[tokio::test]
async fn hooks_hear_of_everything_in_order() {
    let (listener, adjust) = hooked(|_| Reaction::default());
    let mut world = world_with(one_look("a"), adjust);
    assert_eq!(world.turn("go").await.0, Ending::Completed);
    world.send(Command::Close).await;
    while world.handle.events.recv().await.is_some() {}
    assert_eq!(
        *listener.heard.lock().unwrap(),
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
    let (_, adjust) = hooked(|happening| match happening {
        Happening::PreToolUse { .. } => ruling(Ruling::Deny("not on Fridays".into())),
        _ => Reaction::default(),
    });
    let mut world = world_with(one_look("a"), adjust);
    world.turn("go").await;
    assert_eq!(
        answer_to_first(&world),
        "Error (1): A hook blocked this call: not on Fridays"
    );
    assert!(!world.log().iter().any(|line| line == "look a"));
}

#[tokio::test]
async fn a_hook_changes_input_and_adds_context_and_the_rules_decide_about_the_new_input() {
    let (_, adjust) = hooked(|happening| match happening {
        Happening::PreToolUse { .. } => Reaction {
            input: Some(json!({"text": "outside"})),
            ..Reaction::default()
        },
        _ => Reaction::default(),
    });
    let mut world = world_with(one_look("a"), adjust);
    world.turn("go").await;
    assert!(
        answer_to_first(&world).contains("/p is outside the project"),
        "{:?}",
        world.story()
    );

    let (_, adjust) = hooked(|happening| match happening {
        Happening::PreToolUse { .. } => Reaction {
            input: Some(json!({"text": "b"})),
            context: Some("mind the step".into()),
            ..Reaction::default()
        },
        Happening::PostToolUse { .. } => ruling(Ruling::Deny("it smells".into())),
        _ => Reaction::default(),
    });
    let mut world = world_with(one_look("a"), adjust);
    world.turn("go").await;
    assert_eq!(
        answer_to_first(&world),
        "Ok (1): A hook changed the input of this call to: {\"text\":\"b\"} | mind the step | b | \
         A hook objects to this, though it is done: it smells"
    );
}

#[tokio::test]
async fn a_hook_may_allow_what_would_be_asked_but_not_what_is_denied() {
    let allow: React = |happening| match happening {
        Happening::PreToolUse { .. } => ruling(Ruling::Allow),
        _ => Reaction::default(),
    };
    let (_, adjust) = hooked(allow);
    let mut world = world_with(one_look("outside"), adjust);
    world.turn("go").await;
    assert_eq!(answer_to_first(&world), "Ok (1): outside");
    let (_, adjust) = hooked(allow);
    let mut world = world_with(
        vec![calls(&[("1", "change", r#"{"text":"c"}"#)]), says("done")],
        |setup| {
            adjust(setup);
            setup.policy.level = policy::Level::ReadOnly;
        },
    );
    world.turn("go").await;
    assert_eq!(
        answer_to_first(&world),
        "Error (1): Not allowed: this run may not change files."
    );
}

#[tokio::test]
async fn a_hook_may_have_the_person_asked() {
    let (listener, adjust) = hooked(|happening| match happening {
        Happening::PreToolUse { .. } => ruling(Ruling::Ask("the hook is unsure".into())),
        _ => Reaction::default(),
    });
    let mut world = world_with(one_look("a"), |setup| {
        adjust(setup);
        setup.approvals = Approvals::Ask;
    });
    world.prompt("go", Delivery::Queue).await;
    let Event::Asked { question } = world.until(|event| matches!(event, Event::Asked { .. })).await else {
        unreachable!()
    };
    let session::Subject::Permission { why, .. } = &question.subject else {
        panic!("{question:?}")
    };
    assert_eq!(why, "the hook is unsure");
    let (question, answer) = (question.id, Answer::once());
    world.send(Command::Answer { question, answer }).await;
    world.ending().await;
    assert_eq!(answer_to_first(&world), "Ok (1): a");
    let heard = listener.heard.lock().unwrap().clone();
    assert!(heard.iter().any(|line| line.starts_with("Notification")), "{heard:?}");
}

#[tokio::test]
async fn a_hook_blocks_a_prompt_or_adds_to_it() {
    let (_, adjust) = hooked(|happening| match happening {
        Happening::SessionStart { .. } => Reaction {
            context: Some("the weather is fine".into()),
            ..Reaction::default()
        },
        Happening::UserPromptSubmit { prompt } if prompt == "secret" => ruling(Ruling::Deny("no secrets".into())),
        Happening::UserPromptSubmit { .. } => Reaction {
            context: Some("it is Monday".into()),
            notices: vec!["a hook was slow".into()],
            ..Reaction::default()
        },
        _ => Reaction::default(),
    });
    let mut world = world_with(vec![says("done")], adjust);
    let (ending, _) = world.turn("secret").await;
    assert!(
        matches!(&ending, Ending::Failed { error, .. } if error == "a hook blocked the prompt: no secrets"),
        "{ending:?}"
    );
    assert_eq!(world.story(), Vec::<String>::new());
    let (ending, events) = world.turn("hello").await;
    assert_eq!(ending, Ending::Completed);
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Notice { text, .. } if text == "a hook was slow"))
    );
    assert_eq!(
        world.story(),
        [
            "user: hello",
            "user: <hook>\nthe weather is fine\n</hook>",
            "user: <hook>\nit is Monday\n</hook>",
            "model: done"
        ]
    );
}

#[tokio::test]
async fn a_hook_makes_the_model_go_on_but_not_for_ever() {
    let (listener, adjust) = hooked(|happening| match happening {
        Happening::Stop { .. } => ruling(Ruling::Deny("the tests fail".into())),
        _ => Reaction::default(),
    });
    let mut world = world_with((0..20).map(|n| says(&format!("{n}"))).collect(), adjust);
    assert_eq!(world.turn("go").await.0, Ending::Completed);
    assert_eq!(
        world.story()[2],
        "user: A hook says that this is not done yet: the tests fail"
    );
    let stops = listener
        .heard
        .lock()
        .unwrap()
        .iter()
        .filter(|line| line.starts_with("stop"))
        .count();
    assert_eq!(stops, 8);
}

#[tokio::test]
async fn what_was_declared_done_too_early_is_not_the_answer() {
    let (_, adjust) = hooked(|happening| match happening {
        Happening::Stop { again: false, .. } => ruling(Ruling::Deny("the tests fail".into())),
        _ => Reaction::default(),
    });
    let script = vec![calls(&[("1", "finish", r#"{"text":"early"}"#)]), says("late")];
    let mut world = world_with(script, adjust);
    world.prompt("go", Delivery::Queue).await;
    let finished = world.until(|event| matches!(event, Event::TurnFinished { .. })).await;
    assert!(
        matches!(&finished, Event::TurnFinished { answer, .. } if answer == "late"),
        "{finished:?}"
    );
}

#[tokio::test]
async fn hooks_do_not_hear_of_a_summary_where_there_is_nothing_to_sum_up() {
    let full = |chunks: Vec<Chunk>, stop: Stop| {
        let (input, output) = (85_000, 10);
        let usage = Chunk::Usage(Usage {
            input,
            output,
            ..Usage::default()
        });
        crate::world::Answer::Chunks([chunks, vec![usage, Chunk::Stop(stop)]].concat())
    };
    let input = json!({"text": "x".repeat(5_000)}).to_string();
    let script = vec![
        full(call_chunks(&[("1", "look", &input)]), Stop::ToolUse),
        full(vec![Chunk::Text("done".into())], Stop::End),
    ];
    let (listener, adjust) = hooked(|_| Reaction::default());
    let mut world = world_with(script, adjust);
    assert_eq!(world.turn("go").await.0, Ending::Completed);
    // The newest result still fits: it is sent as it is.
    assert_eq!(world.last_request().len(), 3);
    let heard = listener.heard.lock().unwrap().clone();
    assert!(!heard.iter().any(|line| line.starts_with("PreCompact")), "{heard:?}");
}
