//! How turns end, fail, and are accounted for.

use crate::fixture::*;
use agent::TurnLimits;
use model::{Chunk, Cost, Error, Stop};
use session::{Command, Event, Limit, TurnEnd};
use std::sync::Arc;
use std::time::Duration;

fn limited() -> Error {
    Error::RateLimited {
        provider: "script".into(),
        detail: "slow down".into(),
        retry_after: None,
    }
}

#[tokio::test]
async fn a_failed_request_is_retried_and_every_attempt_is_recorded() {
    let cut = Error::StreamCut {
        provider: "script".into(),
        detail: "closed".into(),
    };
    let half = vec![Chunk::Text("half of an ans".into())];
    let mut world = world(vec![
        Answer::Fails(limited()),
        Answer::Broken(half, cut),
        text_reply("done"),
    ]);
    let (ending, events) = world.turn("go").await;
    assert_eq!(ending, TurnEnd::Completed);
    assert_eq!(world.transcript(), ["user: go", "model: done"]);
    let retries = events
        .iter()
        .filter(|event| matches!(event, Event::Retrying { .. }))
        .count();
    let dropped = events
        .iter()
        .filter(|event| matches!(event, Event::ItemDropped { .. }))
        .count();
    assert_eq!((retries, dropped), (2, 2));
    let records = world.store.records.lock().unwrap();
    let attempts: Vec<(u32, u64, bool)> = records
        .iter()
        .map(|record| (record.attempt, record.usage.output, record.usage.estimated))
        .collect();
    assert_eq!(attempts, [(1, 0, false), (2, 4, true), (3, 10, false)]);
}

#[tokio::test]
async fn a_permanent_error_ends_the_turn_with_a_hint() {
    let overflow = Error::ContextOverflow {
        detail: "too long".into(),
        window: None,
    };
    let mut world = world(vec![Answer::Fails(overflow)]);
    let (ending, _) = world.turn("go").await;
    let TurnEnd::Failed { error, hint } = ending else {
        panic!("{ending:?}")
    };
    assert_eq!(error, "the conversation exceeds the model's context window: too long");
    assert!(!hint.is_empty());
    assert_eq!(world.transcript(), ["user: go"]);
}

#[tokio::test]
async fn retries_are_limited() {
    let mut world = world((0..5).map(|_| Answer::Fails(limited())).collect());
    assert!(matches!(world.turn("go").await.0, TurnEnd::Failed { .. }));
}

#[tokio::test]
async fn refusals_and_cut_replies_are_reported_and_stored() {
    let refusal = Stop::Refusal {
        detail: Some("policy".into()),
    };
    let cases = [
        (
            refusal,
            TurnEnd::Refused {
                detail: Some("policy".into()),
            },
        ),
        (Stop::MaxTokens, TurnEnd::MaxTokens),
        (Stop::Other { word: "odd".into() }, TurnEnd::Completed),
    ];
    for (stop, expected) in cases {
        let chunks = vec![Chunk::Text("so".into()), Chunk::Stop(stop)];
        let mut world = world(vec![Answer::Chunks(chunks)]);
        assert_eq!(world.turn("go").await.0, expected);
        assert_eq!(world.transcript(), ["user: go", "model: so"]);
    }
}

#[tokio::test]
async fn an_empty_reply_is_retried_a_few_times() {
    let nothing = || Answer::Chunks(vec![Chunk::Stop(Stop::End)]);
    let mut retrying = world(vec![nothing(), text_reply("done")]);
    assert_eq!(retrying.turn("go").await.0, TurnEnd::Completed);
    let mut silent = world(vec![nothing(), nothing(), nothing()]);
    assert!(matches!(silent.turn("go").await.0, TurnEnd::Failed { .. }));
}

#[tokio::test]
async fn steps_and_cost_are_limited() {
    let script = || {
        (0..5)
            .map(|n| calls(&[(&format!("{n}"), "look", &format!("{{\"text\":\"{n}\"}}"))]))
            .collect()
    };
    let steps = TurnLimits {
        steps: Some(2),
        ..TurnLimits::default()
    };
    let mut world = world_with(script(), |setup| setup.config.limits = steps);
    assert_eq!(world.turn("go").await.0, TurnEnd::Limit(Limit::Steps(2)));
    assert_eq!(world.model.requests.lock().unwrap().len(), 2);
    let limit = Cost { nano_usd: 150_000 };
    let mut world = world_with(script(), |setup| {
        setup.config.limits = TurnLimits {
            cost: Some(limit),
            ..TurnLimits::default()
        }
    });
    assert_eq!(world.turn("go").await.0, TurnEnd::Limit(Limit::Cost(limit)));
    assert_eq!(world.model.requests.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn time_is_limited_even_within_a_step() {
    let limit = Duration::from_secs(1);
    let script = vec![Answer::Hanging(vec![Chunk::Text("slow".into())])];
    let mut world = world_with(script, |setup| setup.config.limits.time = Some(limit));
    assert_eq!(world.turn("go").await.0, TurnEnd::Limit(Limit::Time(limit)));
    assert_eq!(world.transcript(), ["user: go", "model: slow"]);
}

#[tokio::test]
async fn a_full_disk_ends_the_turn_with_an_error() {
    let mut world = world(vec![text_reply("done")]);
    *world.store.full_from.lock().unwrap() = Some(2);
    let (ending, _) = world.turn("go").await;
    let TurnEnd::Failed { error, .. } = ending else {
        panic!("{ending:?}")
    };
    assert!(error.contains("disk is full"), "{error}");
}

#[tokio::test]
async fn the_small_model_writes_the_title_and_its_usage_counts() {
    let small = Scripted::new(vec![text_reply("\"A good title.\"")]);
    let requests = Arc::clone(&small);
    let mut world = world_with(vec![text_reply("done")], |setup| {
        setup.title = None;
        setup.config.small_model = Some(small);
    });
    world.turn("please fix\nthe thing").await;
    world.send(Command::Close).await;
    while world.handle.events.recv().await.is_some() {}
    assert_eq!(*world.store.titles.lock().unwrap(), ["please fix", "A good title"]);
    assert_eq!(requests.requests.lock().unwrap().len(), 1);
    let purposes: Vec<String> = world
        .store
        .records
        .lock()
        .unwrap()
        .iter()
        .map(|r| r.purpose.clone())
        .collect();
    assert_eq!(purposes, ["turn", "title"]);
}

#[tokio::test]
async fn a_call_cut_twice_by_the_output_limit_ends_the_turn() {
    let cut = || {
        let mut chunks = call_chunks(&[("1", "change", r#"{"text": "a very long fi"#)]);
        chunks.push(Chunk::Stop(Stop::MaxTokens));
        Answer::Chunks(chunks)
    };
    let mut world = world(vec![cut(), cut()]);
    assert_eq!(world.turn("go").await.0, TurnEnd::MaxTokens);
    assert!(
        world
            .last_request()
            .last()
            .unwrap()
            .contains("split it into smaller calls")
    );
}

#[tokio::test]
async fn a_failed_request_without_a_reply_costs_nothing_and_a_cut_one_costs_the_received_part() {
    let overloaded = Error::Overloaded {
        provider: "script".into(),
        detail: "busy".into(),
        retry_after: None,
    };
    let begun = Chunk::Usage(model::Usage {
        input: 100,
        output: 1,
        ..model::Usage::default()
    });
    let cut = Error::StreamCut {
        provider: "script".into(),
        detail: "closed".into(),
    };
    let text = Chunk::Text("words ".repeat(100));
    let mut world = world(vec![
        Answer::Broken(vec![], overloaded),
        Answer::Broken(vec![begun, text], cut),
        text_reply("done"),
    ]);
    assert_eq!(world.turn("go").await.0, TurnEnd::Completed);
    let records = world.store.records.lock().unwrap();
    let usages: Vec<(u64, u64, bool)> = records
        .iter()
        .map(|r| (r.usage.input, r.usage.output, r.usage.estimated))
        .collect();
    assert_eq!(usages, [(0, 0, false), (100, 150, true), (100, 10, false)]);
}

/// The calls of a reply with `finish`, and the start of its result; `None` if the turn ends.
#[tokio::test]
async fn a_turn_does_not_end_before_the_results_of_the_same_reply_are_sent() {
    type EndingCase<'a> = (&'a [(&'a str, &'a str, &'a str)], Option<&'a str>);
    let finish = ("end", "finish", r#"{"text":"all done"}"#);
    let look = ("1", "look", r#"{"text":"a"}"#);
    let failing = ("2", "unknown", "{}");
    let cases: [EndingCase<'_>; 4] = [
        (&[finish], None),
        (&[look, finish], None),
        (
            &[look, failing, finish],
            Some("The turn was not ended, because calls of the same reply failed:\n- unknown : There is no tool"),
        ),
        (
            &[finish, look],
            Some("The turn was not ended, because other calls follow it"),
        ),
    ];
    for (calls, refusal) in cases {
        let mut chunks = call_chunks(calls);
        chunks.push(Chunk::Stop(Stop::ToolUse));
        let mut world = world(vec![Answer::Chunks(chunks), text_reply("I see.")]);
        let (ending, _) = world.turn("go").await;
        assert_eq!(ending, TurnEnd::Completed);
        let transcript = world.transcript();
        let refused = transcript.iter().find(|line| line.contains("The turn was not ended"));
        match refusal {
            None => assert!(
                refused.is_none() && !transcript.contains(&"model: I see.".into()),
                "{transcript:?}"
            ),
            Some(text) => {
                assert!(refused.is_some_and(|line| line.contains(text)), "{transcript:?}");
                assert_eq!(transcript.last().unwrap(), "model: I see.", "{transcript:?}");
            }
        }
        let results = transcript
            .iter()
            .filter(|line| line.starts_with("Ok") || line.starts_with("Error"));
        assert_eq!(
            results.count(),
            calls.len(),
            "a call has no result in the conversation: {transcript:?}"
        );
    }
}
