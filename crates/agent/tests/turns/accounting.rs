//! The requests of tools are recorded, however the tools end.

use crate::fixture::*;
use model::{Chunk, Cost, Reply, Usage};
use session::{Command, Delivery, Event, Totals, TurnEnd};

/// The purpose of each recorded request.
fn purposes(world: &World) -> Vec<String> {
    let records = world.store.records.lock().unwrap();
    records.iter().map(|record| record.purpose.clone()).collect()
}

/// The totals in the last usage event.
fn last_totals(events: &[Event]) -> Totals {
    let totals = events.iter().rev().find_map(|event| match event {
        Event::Usage { totals, .. } => Some(*totals),
        _ => None,
    });
    totals.unwrap()
}

#[tokio::test]
async fn the_usage_of_a_tool_counts_even_if_it_fails_or_crashes() {
    let script = vec![
        calls(&[
            ("1", "look", r#"{"text":"pay and look"}"#),
            ("2", "look", r#"{"text":"pay and fail"}"#),
            ("3", "look", r#"{"text":"pay and panic"}"#),
        ]),
        text_reply("done"),
    ];
    let mut world = world(script);
    let (ending, events) = world.turn("go").await;
    assert_eq!(ending, TurnEnd::Completed);
    let results: Vec<String> = world.transcript().into_iter().skip(4).collect();
    assert!(results.contains(&"Error (2): it failed".into()), "{results:?}");
    assert_eq!(purposes(&world), ["turn", "edit", "edit", "edit", "turn"]);
    let record = world.store.records.lock().unwrap()[1].clone();
    assert_eq!((record.model.as_str(), record.usage.input), ("script/two", 1_000));
    assert_eq!((record.total, &record.outcome), (3, &session::RequestEnd::Applied));
    let totals = last_totals(&events);
    assert_eq!((totals.requests, totals.usage.input), (5, 3_200));
    assert_eq!(totals.usage.output, 41);
    assert!(totals.cost >= Cost::from_usd(0.75), "{totals:?}");
}

#[tokio::test]
async fn the_usage_of_a_stopped_tool_counts_even_if_nothing_else_can_be_stored() {
    for full_from in [None, Some(2)] {
        let call = call_chunks(&[("1", "look", r#"{"text":"pay and wait"}"#)]);
        let mut world = world(vec![Answer::Hanging(call)]);
        *world.store.full_from.lock().unwrap() = full_from;
        world.prompt("go", Delivery::Queue).await;
        while !world.log().contains(&"look pay and wait".to_string()) {
            tokio::task::yield_now().await;
        }
        assert_eq!(purposes(&world), [""; 0]);
        world.send(Command::Interrupt).await;
        let (ending, events) = world.turn_end().await;
        assert_eq!(ending == TurnEnd::Interrupted, full_from.is_none(), "{ending:?}");
        assert_eq!(purposes(&world), ["edit", "turn"]);
        let first = events.iter().find_map(|event| match event {
            Event::Usage { usage, .. } => Some(usage.input),
            _ => None,
        });
        assert_eq!(first, Some(1_000));
        assert_eq!(last_totals(&events).requests, 2);
    }
}

#[tokio::test]
async fn the_usage_of_tools_counts_towards_the_limit() {
    let script = vec![
        calls(&[("1", "look", r#"{"text":"pay and fail"}"#)]),
        text_reply("not asked"),
    ];
    let limit = Cost::from_usd(0.2);
    let mut world = world_with(script, |setup| setup.config.limits.cost = Some(limit));
    let (ending, _) = world.turn("go").await;
    assert_eq!(ending, TurnEnd::Limit(session::Limit::Cost(limit)));
}

#[tokio::test]
async fn a_draft_contains_its_cost_so_that_a_crash_does_not_lose_it() {
    let usage = Usage {
        input: 1_000,
        ..Usage::default()
    };
    for reported in [None, Some(Cost::from_usd(7.0))] {
        let mut chunks = vec![Chunk::Text("so far".into()), Chunk::Usage(usage)];
        chunks.extend(reported.map(Chunk::Cost));
        let mut world = world(vec![Answer::Hanging(chunks)]);
        world.prompt("go", Delivery::Queue).await;
        world.until(|event| matches!(event, Event::ItemDelta { .. })).await;
        let mut reply = Reply::default();
        for (_, chunks) in world.store.drafts.lock().unwrap().iter() {
            chunks.iter().cloned().for_each(|chunk| reply.push(chunk));
        }
        assert!(reply.cost.is_some_and(|cost| cost > Cost::default()));
        assert!(reported.is_none() || reply.cost == reported, "{reply:?}");
        world.send(Command::Interrupt).await;
        assert_eq!(world.turn_end().await.0, TurnEnd::Interrupted);
    }
}
