//! Servers that hang, die, flood, lie and change: hew goes on.

use std::sync::Arc;
use std::time::Duration;

use mcp::{Definition, Hints, What};
use serde_json::json;
use tool::{Effect, Guests as _};

use crate::kit::{Bench, odd, soon, text};

/// A bench with one server whose offer is known.
async fn known(definition: Definition) -> Bench {
    let name = definition.name.clone();
    let bench = Bench::new(vec![definition]);
    soon(bench.servers.check(&name)).await.unwrap();
    bench
}

#[tokio::test]
async fn a_server_that_hangs_costs_its_time_and_is_replaced_by_a_new_one() {
    let bench = known(Definition {
        timeout: Duration::from_secs(4),
        ..odd("hang", &[])
    })
    .await;
    for _ in 0..2 {
        let error = bench.call("first", json!({})).await.unwrap_err();
        assert!(error.contains("did not answer within 4 s"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_started_again_for_the_next() {
    let bench = known(odd("die", &[])).await;
    for _ in 0..2 {
        let error = bench.call("first", json!({})).await.unwrap_err();
        assert!(error.contains("went away during the call"), "{error}");
    }
}

#[tokio::test]
async fn floods_garbage_and_huge_answers_are_survived() {
    let servers = ["flood", "invalid", "noisy", "endless", "plain"];
    for how in servers {
        let bench = known(odd(how, &[])).await;
        let said = bench.says("first", json!({})).await;
        assert!(said.starts_with(&format!("{how} did first")), "{how}: {said}");
        let log = bench
            .shelf
            .texts
            .lock()
            .unwrap()
            .get(&(What::Log, how.to_owned()))
            .cloned();
        let log = log.unwrap_or_default();
        assert!(log.len() < 400_000, "{how}: {}", log.len());
        if how == "noisy" {
            assert!(
                log.contains("warming up") && log.contains("(not a message) Welcome"),
                "{log}"
            );
        }
    }
    let bench = known(odd("huge", &[])).await;
    assert_eq!(
        bench.says("first", json!({})).await.len(),
        3_000_000,
        "the toolbox cuts it"
    );
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why_and_rests_before_it_is_tried_again() {
    let bench = Bench::new(vec![odd("dead", &[])]);
    let error = soon(bench.servers.check("dead")).await.unwrap_err().to_string();
    assert!(error.contains("cannot find my configuration"), "{error}");
    let missing = Bench::new(vec![crate::kit::stdio("gone", "no-such-program-anywhere", &[])]);
    let error = soon(missing.servers.check("gone")).await.unwrap_err().to_string();
    assert!(error.contains("no-such-program-anywhere"), "{error}");
    let silent = Bench::new(vec![Definition {
        timeout: Duration::from_secs(1),
        ..odd("silent", &[])
    }]);
    let error = soon(silent.servers.check("silent")).await.unwrap_err().to_string();
    assert!(error.contains("did not begin to talk within 1 s"), "{error}");
}

#[tokio::test]
async fn a_server_that_fails_at_first_is_tried_again_in_the_background_and_announced() {
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("flag");
    let mut bench = Bench::new(vec![odd("once", &[flag.to_str().unwrap()])]);
    bench.servers.start();
    let first = soon(bench.notices.recv()).await.unwrap();
    assert!(first.text.contains("cannot be reached"), "{first:?}");
    let second = soon(bench.notices.recv()).await.unwrap();
    assert_eq!(second.source, "MCP server once");
    assert_eq!(second.text, "offers tools that find_tools shows: first");
    assert_eq!(bench.says("first", json!({})).await, "once did first");
}

#[tokio::test]
async fn a_server_that_changes_its_tools_is_looked_at_again_and_the_model_is_told() {
    let mut bench = known(odd("changing", &[])).await;
    let first = soon(bench.notices.recv()).await.unwrap();
    assert!(first.text.ends_with(": first"), "{first:?}");
    assert_eq!(bench.names(), ["first"]);
    bench.says("first", json!({})).await;
    let second = soon(bench.notices.recv()).await.unwrap();
    assert!(second.text.ends_with(": second"), "{second:?}");
    assert_eq!(bench.names(), ["first", "second"]);
    assert_eq!(bench.says("second", json!({})).await, "changing did second");
}

#[tokio::test]
async fn three_hundred_tools_are_found_rather_than_listed_and_two_are_listed() {
    let none = Default::default();
    let bench = known(odd("many", &[])).await;
    assert!(bench.servers.seat(&none).is_empty());
    assert_eq!(bench.names().len(), 300);
    assert_eq!(bench.says("tool_299", json!({"a": 1})).await, "many did tool_299");
    let few = known(odd("reading", &[])).await;
    let listed: Vec<String> = few
        .servers
        .seat(&none)
        .iter()
        .map(|tool| tool.spec().name.clone())
        .collect();
    assert_eq!((listed, few.names()), (vec!["look".to_owned(), "touch".into()], vec![]));
}

#[tokio::test]
async fn what_is_known_needs_no_server_and_does_not_change() {
    let shelf = Arc::default();
    let definition = || odd("plain", &[]);
    let first = Bench::with(vec![definition()], Arc::clone(&shelf), None, 10);
    assert_eq!(first.servers.expected(), ["plain"]);
    first.servers.start();
    soon(first.servers.arrived()).await;
    let before: Vec<_> = first.servers.tools().iter().map(|tool| tool.spec().clone()).collect();
    // The second time nothing is started, and the model is told the same.
    let second = Bench::with(vec![definition()], Arc::clone(&shelf), None, 0);
    second.servers.start();
    assert_eq!(second.servers.expected(), [""; 0]);
    let again: Vec<_> = second.servers.tools().iter().map(|tool| tool.spec().clone()).collect();
    assert_eq!(again, before);
    assert_eq!(second.servers.status()[0].state, mcp::State::Idle);
    // Another definition is another server.
    let other = Bench::with(
        vec![Definition {
            name: "plain".into(),
            ..odd("many", &[])
        }],
        shelf,
        None,
        10,
    );
    assert_eq!(other.servers.expected(), ["plain"]);
}

#[tokio::test]
async fn how_to_use_a_server_is_said_once_in_a_session() {
    let bench = known(odd("plain", &[])).await;
    let how = "[How `plain` wants to be used: Call first first.]";
    assert_eq!(bench.says("first", json!({})).await, format!("plain did first\n{how}"));
    assert_eq!(bench.says("first", json!({})).await, "plain did first");
}

#[tokio::test]
async fn progress_is_shown_and_keeps_a_slow_call_alive() {
    let mut bench = known(Definition {
        timeout: Duration::from_secs(4),
        ..odd("slow", &[])
    })
    .await;
    assert_eq!(bench.says("first", json!({})).await, "slow did first");
    let (_, shown) = bench.progress.recv().await.unwrap();
    assert_eq!(shown, "0/4 part 0\n");
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_at_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let bench = known(odd("cancel", &[told.to_str().unwrap()])).await;
    let call = bench.call("first", json!({}));
    drop(tokio::time::timeout(Duration::from_secs(3), call).await);
    let read = async {
        loop {
            match std::fs::read_to_string(&told) {
                Ok(text) if !text.is_empty() => return text,
                Ok(_) | Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let text = soon(read).await;
    assert!(text.contains("notifications/cancelled"), "{text}");
}

#[tokio::test]
async fn hints_count_only_where_the_person_trusts_them_and_tools_can_be_switched_off() {
    let effects = |bench: &Bench| -> Vec<Effect> { bench.servers.tools().iter().map(|tool| tool.effect()).collect() };
    let plain = known(odd("reading", &[])).await;
    assert_eq!(effects(&plain), [Effect::Changes, Effect::Changes]);
    let trusted = known(Definition {
        hints: Hints::Trusted,
        disabled_tools: vec!["touch".into()],
        ..odd("reading", &[])
    })
    .await;
    assert_eq!(
        (effects(&trusted), trusted.names()),
        (vec![Effect::Reads], vec!["look".to_owned()])
    );
    let actions = trusted.tool("look").actions(&json!({})).unwrap();
    let expected = policy::Action::Mcp {
        server: "reading".into(),
        tool: "look".into(),
    };
    assert_eq!(actions, [expected]);
}

#[tokio::test]
async fn definitions_that_change_change_the_servers_and_leave_the_others_alone() {
    let mut bench = known(odd("plain", &[])).await;
    soon(bench.notices.recv()).await.unwrap();
    assert_eq!(bench.names(), ["first"]);
    bench.servers.redefine(vec![odd("plain", &[]), odd("changing", &[])]);
    assert_eq!(bench.servers.status()[1].state, mcp::State::Ready, "it was left alone");
    let came = soon(bench.notices.recv()).await.unwrap();
    assert_eq!(came.source, "MCP server changing");
    assert_eq!(
        bench.names(),
        ["changing_first", "first"],
        "what was named keeps its name"
    );
    bench.servers.redefine(vec![odd("changing", &[])]);
    assert_eq!(soon(bench.notices.recv()).await.unwrap().text, "is no longer there");
    assert_eq!(bench.names(), ["changing_first"]);
    let output = bench.call("changing_first", json!({})).await.unwrap();
    assert_eq!(text(&output), "changing did first");
}
