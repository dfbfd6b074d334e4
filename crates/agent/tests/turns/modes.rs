//! Mode changes, through the loop.

use crate::fixture::{Answer, Scripted, World, calls, text_reply, world_with};
use agent::{Approvals, SessionSetup};
use model::Model;
use policy::{Action, ApprovalMode, Mode};
use schemars::JsonSchema;
use serde::Deserialize;
use session::{Answer as Reply, Body, Command, Delivery, Event, TurnEnd};
use std::sync::{Arc, Mutex};
use tool::{CallContext, NextStep, Output, Tool, ToolEffect};

#[derive(Deserialize, JsonSchema)]
struct To {
    mode: String,
}

/// Switches the mode.
struct Switch;

impl Tool for Switch {
    const NAME: &'static str = "switch";
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    type Input = To;

    fn title(&self, input: &To) -> String {
        input.mode.clone()
    }

    fn actions(&self, input: &To) -> Vec<Action> {
        vec![Action::SwitchMode { to: input.mode.clone() }]
    }

    async fn run(&self, input: To, _: CallContext) -> Result<Output, tool::Error> {
        Ok(Output {
            next: NextStep::SwitchMode(input.mode),
            ..Output::text("switched")
        })
    }
}

fn with_switch_tool(setup: &mut SessionSetup) {
    setup.config.tools = setup.config.tools.clone().with(Switch);
    setup.config.approvals = Approvals::Ask;
}

/// Switches to `ask`, then calls a mutating tool.
fn script() -> Vec<Answer> {
    vec![
        calls(&[("1", "switch", r#"{"mode":"ask"}"#)]),
        calls(&[("2", "change", r#"{"text":"c"}"#)]),
        text_reply("done"),
    ]
}

async fn turn_end_after_answer(world: &mut World, answer: Reply) -> TurnEnd {
    world.prompt("go", Delivery::Queue).await;
    let Event::QuestionAsked { question } = world.until(|event| matches!(event, Event::QuestionAsked { .. })).await
    else {
        unreachable!()
    };
    let question = question.id;
    world.send(Command::Answer { question, answer }).await;
    world.turn_end().await.0
}

fn systems(world: &World) -> Vec<String> {
    let requests = world.model.requests.lock().unwrap();
    requests.iter().map(|request| request.system[1].to_string()).collect()
}

fn stored_modes(world: &World) -> Vec<String> {
    let items = world.items();
    let modes = items.iter().filter_map(|item| match &item.body {
        Body::Mode { name, .. } => Some(name.clone()),
        _ => None,
    });
    modes.collect()
}

#[tokio::test]
async fn an_approved_switch_changes_prompt_rules_and_record_but_not_the_tools() {
    let mut world = world_with(script(), with_switch_tool);
    assert_eq!(
        turn_end_after_answer(&mut world, Reply::once()).await,
        TurnEnd::Completed
    );
    assert_eq!(systems(&world), ["code", "ask", "ask"]);
    assert_eq!(stored_modes(&world), ["ask"]);
    let refused = "Error (2): Not allowed: the mode `ask` does not include changing files.".to_string();
    assert!(world.transcript().contains(&refused), "{:?}", world.transcript());
    let requests = world.model.requests.lock().unwrap();
    assert!(requests.iter().all(|request| request.tools == requests[0].tools));
}

#[tokio::test]
async fn a_denied_switch_changes_nothing() {
    let mut world = world_with(script(), with_switch_tool);
    assert_eq!(
        turn_end_after_answer(&mut world, Reply::Reject { reason: None }).await,
        TurnEnd::Completed
    );
    assert_eq!(systems(&world), ["code", "code", "code"]);
    assert_eq!(stored_modes(&world), Vec::<String>::new());
    assert!(world.transcript().contains(&"Ok (2): changed".to_string()));
}

#[tokio::test]
async fn a_switch_is_denied_if_approvals_cannot_be_requested() {
    let mut world = world_with(
        vec![
            calls(&[("1", "switch", r#"{"mode":"code"}"#)]),
            calls(&[("2", "change", r#"{"text":"c"}"#)]),
            text_reply("done"),
        ],
        |setup| {
            with_switch_tool(setup);
            setup.config.approvals = Approvals::Deny;
            setup.mode = Mode::ask();
        },
    );
    world.turn("go").await;
    assert_eq!(
        stored_modes(&world),
        ["ask"],
        "the mode that a session begins with is kept"
    );
    assert!(!world.log().iter().any(|line| line.starts_with("change")));
}

#[tokio::test]
async fn the_user_switches_between_and_within_turns_and_unknown_modes_are_reported() {
    let mut world = world_with(vec![text_reply("one"), text_reply("two")], |_| {});
    world
        .send(Command::SetMode {
            name: "architekt".into(),
        })
        .await;
    let Event::Notice { text, .. } = world.until(|event| matches!(event, Event::Notice { .. })).await else {
        unreachable!()
    };
    assert!(
        text.starts_with("there is no mode `architekt`; the modes are code, architect,"),
        "{text}"
    );
    world.turn("a").await;
    world.send(Command::SetMode { name: "debug".into() }).await;
    world.turn("b").await;
    assert_eq!(systems(&world), ["code", "debug"]);
    // A rewind restores the mode of that item.
    let first = world.items()[0].id;
    world.send(Command::Rewind { to: first }).await;
    world.send(Command::Close).await;
    while world.handle.events.recv().await.is_some() {}
}

#[tokio::test]
async fn a_mode_can_have_its_own_model_and_the_default_model_returns_after_it() {
    let other = Scripted::new(vec![text_reply("from the other")]);
    let model = Arc::clone(&other) as Arc<dyn Model>;
    let mut world = world_with(vec![text_reply("one"), text_reply("three")], |setup| {
        let special = Mode {
            name: "special".into(),
            model: Some("some/other".into()),
            ..Mode::code()
        };
        let broken = Mode {
            name: "broken".into(),
            model: Some("no/such".into()),
            ..Mode::code()
        };
        setup.config.modes.add(vec![special, broken]);
        setup.config.models = Arc::new(move |name| match name {
            "some/other" => Ok(Arc::clone(&model)),
            name => Err(agent::ModelUnavailable(format!("no model {name}"))),
        });
    });
    world.turn("a").await;
    world.send(Command::SetMode { name: "special".into() }).await;
    world.turn("b").await;
    assert_eq!(other.requests.lock().unwrap().len(), 1);
    world.send(Command::SetMode { name: "broken".into() }).await;
    let Event::Notice { text, .. } = world.until(|event| matches!(event, Event::Notice { .. })).await else {
        unreachable!()
    };
    assert!(text.contains("mode `broken` continues with"), "{text}");
    world.send(Command::SetMode { name: "code".into() }).await;
    world.turn("c").await;
    assert_eq!(world.transcript().last().unwrap(), "model: three");
}

#[tokio::test]
async fn a_later_mode_selection_replaces_one_that_was_too_late_for_a_turn() {
    let mut world = world_with(vec![Answer::Hanging(Vec::new()), text_reply("two")], |_| {});
    world.prompt("a", Delivery::Queue).await;
    world.until(|event| matches!(event, Event::ItemStarted { .. })).await;
    world.send(Command::SetMode { name: "debug".into() }).await;
    world.send(Command::Interrupt).await;
    world.turn_end().await;
    assert_eq!(stored_modes(&world), ["debug"]);
    world.send(Command::SetMode { name: "ask".into() }).await;
    world.turn("b").await;
    assert_eq!(systems(&world), ["code", "ask"]);
}

#[tokio::test]
async fn calls_after_a_switch_are_checked_against_the_new_mode() {
    let script = vec![
        calls(&[("1", "switch", r#"{"mode":"ask"}"#), ("2", "change", r#"{"text":"c"}"#)]),
        text_reply("bye"),
    ];
    let mut world = world_with(script, with_switch_tool);
    assert_eq!(
        turn_end_after_answer(&mut world, Reply::once()).await,
        TurnEnd::Completed
    );
    assert_eq!(stored_modes(&world), ["ask"]);
    let refused = "Error (2): Not allowed: the mode `ask` does not include changing files.".to_string();
    assert!(world.transcript().contains(&refused), "{:?}", world.transcript());
}

/// Delegates to another mode.
struct Handing;

impl Tool for Handing {
    const NAME: &'static str = "delegating";
    const EFFECT: ToolEffect = ToolEffect::Delegating;
    type Input = To;

    fn title(&self, input: &To) -> String {
        input.mode.clone()
    }

    fn actions(&self, input: &To) -> Vec<Action> {
        vec![Action::Subtask {
            mode: input.mode.clone(),
        }]
    }

    async fn run(&self, _: To, _: CallContext) -> Result<Output, tool::Error> {
        Ok(Output::text("delegated"))
    }
}

#[tokio::test]
async fn a_subtask_in_a_mode_with_more_permissions_needs_an_approval() {
    let narrow = || Mode {
        name: "narrow".into(),
        only: Some(vec!["a.rs".into()]),
        ..Mode::code()
    };
    let prose = || Mode {
        name: "prose".into(),
        files: vec![policy::FileRule {
            group: policy::ToolGroup::Edit,
            pattern: r"\.md$".into(),
            description: None,
        }],
        ..Mode::code()
    };
    let cases = [
        (Mode::code(), "", true),
        (Mode::code(), "ask", true),
        (Mode::code(), "code ", false),
        (Mode::ask(), "code", false),
        (narrow(), "ask", true),
        (narrow(), "code", false),
        (narrow(), "narrow", true),
        (prose(), "code", false),
        (prose(), "ask", true),
    ];
    for (mode, to, free) in cases {
        let from = mode.name.clone();
        let input = format!(r#"{{"mode":"{to}"}}"#);
        let mut world = world_with(
            vec![calls(&[("1", "delegating", &input)]), text_reply("done")],
            |setup| {
                let mut mode = mode;
                if !mode.includes(policy::ToolGroup::Modes) {
                    mode.groups.push(policy::ToolGroup::Modes);
                }
                setup.config.tools = setup.config.tools.clone().with(Handing);
                setup.config.modes.add(vec![narrow(), prose()]);
                setup.mode = mode;
            },
        );
        world.turn("go").await;
        let delegated = world.transcript().contains(&"Ok (1): delegated".to_string());
        assert_eq!(delegated, free, "{from} to `{to}`: {:?}", world.transcript());
    }
}

#[tokio::test]
async fn the_system_prompt_is_rendered_when_the_mode_changes_and_not_for_each_request() {
    let script = vec![
        calls(&[("1", "look", r#"{"text":"a"}"#)]),
        calls(&[("2", "look", r#"{"text":"b"}"#)]),
        text_reply("done"),
        text_reply("done again"),
        text_reply("and again"),
    ];
    let rendered = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&rendered);
    let mut world = world_with(script, |setup| {
        setup.config.system_prompt = Arc::new(move |scene| {
            noted.lock().unwrap().push(scene.mode.name.clone());
            let problems = vec![format!("rules.hbs:3: wrong in {}", scene.mode.name)];
            prompt::SystemPrompt {
                blocks: vec!["be good".into(), scene.mode.name.as_str().into()],
                problems,
                ..prompt::SystemPrompt::default()
            }
        });
    });
    world.turn("look twice").await;
    let (_, events) = world.turn("again").await;
    assert_eq!(*rendered.lock().unwrap(), ["code"]);
    drop(events);
    world.send(Command::SetMode { name: "ask".into() }).await;
    let (_, events) = world.turn("and now?").await;
    assert_eq!(*rendered.lock().unwrap(), ["code", "ask"]);
    let is_notice = |event: &Event| matches!(event, Event::Notice { text, .. } if text == "rules.hbs:3: wrong in ask");
    assert!(events.iter().any(is_notice), "{events:?}");
    assert_eq!(systems(&world), ["code", "code", "code", "code", "ask"]);
}

/// The recorded choices whether changes are approved.
fn stored_approvals(world: &World) -> Vec<Option<ApprovalMode>> {
    let items = world.items();
    let approvals = items.iter().filter_map(|item| match &item.body {
        Body::Mode { edit_approval, .. } => Some(*edit_approval),
        _ => None,
    });
    approvals.collect()
}

#[tokio::test]
async fn the_choice_to_ask_before_changes_is_recorded_and_kept_when_the_session_is_resumed() {
    let change = || calls(&[("1", "change", r#"{"text":"c"}"#)]);
    let mut world = world_with(vec![text_reply("one"), text_reply("two")], |_| {});
    let ask = Command::SetEditApproval {
        mode: ApprovalMode::Ask,
    };
    world.send(ask).await;
    assert_eq!(stored_approvals(&world), [], "a session without a prompt is not stored");
    world.turn("a").await;
    assert_eq!(stored_approvals(&world), [Some(ApprovalMode::Ask)]);
    for (approvals, is_asked) in [(Approvals::Ask, true), (Approvals::Deny, false)] {
        let items = world.items();
        let mut resumed = world_with(vec![change(), text_reply("two")], move |setup| {
            setup.items = items;
            setup.config.approvals = approvals;
        });
        resumed.prompt("b", Delivery::Queue).await;
        let event = resumed
            .until(|event| matches!(event, Event::QuestionAsked { .. } | Event::TurnFinished { .. }))
            .await;
        assert_eq!(matches!(event, Event::QuestionAsked { .. }), is_asked, "{approvals:?}");
    }
    world
        .send(Command::SetEditApproval {
            mode: ApprovalMode::Allow,
        })
        .await;
    world.turn("c").await;
    assert_eq!(
        stored_approvals(&world),
        [Some(ApprovalMode::Ask), Some(ApprovalMode::Allow)]
    );
}
