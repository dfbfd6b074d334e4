//! Servers that hang, exit, flood, misreport and change: hew continues.

use std::sync::Arc;
use std::time::Duration;

use mcp::{CacheEntry, McpDefinition, McpEnvironment, ReadOnlyHints};
use serde_json::json;
use tool::{DynamicTools as _, ToolEffect};

use crate::support::{Fixture, environment, misbehaving, text, within_timeout};

/// A fixture with one server and its cached list of tools.
async fn with_cached_tools(definition: McpDefinition) -> Fixture {
    let name = definition.name.clone();
    let fixture = Fixture::new(vec![definition]);
    within_timeout(fixture.servers.check(&name)).await.unwrap();
    fixture
}

#[tokio::test]
async fn a_server_that_hangs_times_out_and_is_replaced() {
    let fixture = with_cached_tools(McpDefinition {
        timeout: Duration::from_secs(4),
        ..misbehaving("hang", &[])
    })
    .await;
    for _ in 0..2 {
        let error = fixture.call("first", json!({})).await.unwrap_err();
        assert!(error.contains("did not respond within 4 s"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_exits_during_a_call_is_restarted_for_the_next() {
    let fixture = with_cached_tools(misbehaving("die", &[])).await;
    for _ in 0..2 {
        let error = fixture.call("first", json!({})).await.unwrap_err();
        assert!(error.contains("disconnected during the call"), "{error}");
    }
}

#[tokio::test]
async fn floods_invalid_messages_and_huge_responses_do_not_end_the_session() {
    let servers = ["flood", "invalid", "noisy", "endless", "plain"];
    for how in servers {
        let fixture = with_cached_tools(misbehaving(how, &[])).await;
        let text = fixture.call_text("first", json!({})).await;
        assert!(text.starts_with(&format!("{how} did first")), "{how}: {text}");
        let log = fixture
            .cache
            .texts
            .lock()
            .unwrap()
            .get(&(CacheEntry::Log, how.to_owned()))
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
    let fixture = with_cached_tools(misbehaving("huge", &[])).await;
    assert_eq!(
        fixture.call_text("first", json!({})).await.len(),
        3_000_000,
        "the toolbox cuts it"
    );
}

#[tokio::test]
async fn a_server_that_cannot_start_reports_why_and_is_retried_with_backoff() {
    let fixture = Fixture::new(vec![misbehaving("dead", &[])]);
    let error = within_timeout(fixture.servers.check("dead"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot find my configuration"), "{error}");
    let missing = Fixture::new(vec![crate::support::stdio("missing", "no-such-program-anywhere", &[])]);
    let error = within_timeout(missing.servers.check("missing"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("no-such-program-anywhere"), "{error}");
    let silent = Fixture::new(vec![McpDefinition {
        timeout: Duration::from_secs(1),
        ..misbehaving("silent", &[])
    }]);
    let error = within_timeout(silent.servers.check("silent"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("no initialization within 1 s"), "{error}");
}

#[tokio::test]
async fn a_server_that_fails_first_is_retried_in_the_background_and_announced() {
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("flag");
    let mut fixture = Fixture::new(vec![misbehaving("once", &[flag.to_str().unwrap()])]);
    fixture.servers.start();
    let first = within_timeout(fixture.notices.recv()).await.unwrap();
    assert!(first.text.contains("cannot be reached"), "{first:?}");
    let second = within_timeout(fixture.notices.recv()).await.unwrap();
    assert_eq!(second.source, "MCP server once");
    assert_eq!(second.text, "new tools, available through find_tools: first");
    assert_eq!(fixture.call_text("first", json!({})).await, "once did first");
}

#[tokio::test]
async fn changed_tools_are_queried_and_announced() {
    let mut fixture = with_cached_tools(misbehaving("changing", &[])).await;
    let first = within_timeout(fixture.notices.recv()).await.unwrap();
    assert!(first.text.ends_with(": first"), "{first:?}");
    assert_eq!(fixture.names(), ["first"]);
    fixture.call_text("first", json!({})).await;
    let second = within_timeout(fixture.notices.recv()).await.unwrap();
    assert!(second.text.ends_with(": second"), "{second:?}");
    assert_eq!(fixture.names(), ["first", "second"]);
    assert_eq!(fixture.call_text("second", json!({})).await, "changing did second");
}

#[tokio::test]
async fn many_tools_are_searched_and_few_are_listed() {
    let none = Default::default();
    let fixture = with_cached_tools(misbehaving("many", &[])).await;
    assert!(fixture.servers.reserve_names(&none).is_empty());
    assert_eq!(fixture.names().len(), 300);
    assert_eq!(
        fixture.call_text("tool_299", json!({"a": 1})).await,
        "many did tool_299"
    );
    let few = with_cached_tools(misbehaving("reading", &[])).await;
    let listed: Vec<String> = few
        .servers
        .reserve_names(&none)
        .iter()
        .map(|tool| tool.spec().name.clone())
        .collect();
    assert_eq!((listed, few.names()), (vec!["look".to_owned(), "touch".into()], vec![]));
}

#[tokio::test]
async fn a_cached_offer_needs_no_server_and_does_not_change() {
    let cache = Arc::default();
    let definition = || misbehaving("plain", &[]);
    let first = Fixture::with(vec![definition()], Arc::clone(&cache), None, 10);
    assert_eq!(first.servers.starting(), ["plain"]);
    first.servers.start();
    within_timeout(first.servers.wait_until_started()).await;
    let before: Vec<_> = first.servers.tools().iter().map(|tool| tool.spec().clone()).collect();
    // The second time nothing is started, and the tools are the same.
    let second = Fixture::with(vec![definition()], Arc::clone(&cache), None, 0);
    second.servers.start();
    assert_eq!(second.servers.starting(), [""; 0]);
    let again: Vec<_> = second.servers.tools().iter().map(|tool| tool.spec().clone()).collect();
    assert_eq!(again, before);
    assert_eq!(second.servers.status()[0].state, mcp::McpServerState::Idle);
    // A changed definition is a different server.
    let other = Fixture::with(
        vec![McpDefinition {
            name: "plain".into(),
            ..misbehaving("many", &[])
        }],
        cache,
        None,
        10,
    );
    assert_eq!(other.servers.starting(), ["plain"]);
}

#[tokio::test]
async fn instructions_are_sent_once_per_session() {
    let fixture = with_cached_tools(misbehaving("plain", &[])).await;
    let how = "[Usage instructions of `plain`: Call first first.]";
    assert_eq!(
        fixture.call_text("first", json!({})).await,
        format!("plain did first\n{how}")
    );
    assert_eq!(fixture.call_text("first", json!({})).await, "plain did first");
}

#[tokio::test]
async fn progress_is_shown_and_keeps_a_slow_call_alive() {
    let mut fixture = with_cached_tools(McpDefinition {
        timeout: Duration::from_secs(4),
        ..misbehaving("slow", &[])
    })
    .await;
    assert_eq!(fixture.call_text("first", json!({})).await, "slow did first");
    let (_, shown) = fixture.progress.recv().await.unwrap();
    assert_eq!(shown, "0/4 part 0\n");
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_on_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let cancelled = folder.path().join("cancelled");
    let fixture = with_cached_tools(misbehaving("cancel", &[cancelled.to_str().unwrap()])).await;
    let call = fixture.call("first", json!({}));
    drop(tokio::time::timeout(Duration::from_secs(3), call).await);
    let read = async {
        loop {
            match std::fs::read_to_string(&cancelled) {
                Ok(text) if !text.is_empty() => return text,
                Ok(_) | Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let text = within_timeout(read).await;
    assert!(text.contains("notifications/cancelled"), "{text}");
}

#[tokio::test]
async fn read_only_hints_need_trust_and_tools_can_be_disabled() {
    let effects =
        |fixture: &Fixture| -> Vec<ToolEffect> { fixture.servers.tools().iter().map(|tool| tool.effect()).collect() };
    let plain = with_cached_tools(misbehaving("reading", &[])).await;
    assert_eq!(effects(&plain), [ToolEffect::Mutating, ToolEffect::Mutating]);
    let trusted = with_cached_tools(McpDefinition {
        hints: ReadOnlyHints::Trusted,
        disabled_tools: vec!["touch".into()],
        ..misbehaving("reading", &[])
    })
    .await;
    assert_eq!(
        (effects(&trusted), trusted.names()),
        (vec![ToolEffect::ReadOnly], vec!["look".to_owned()])
    );
    let actions = trusted.tool("look").actions(&json!({}).into()).unwrap();
    let expected = policy::Action::Mcp {
        server: "reading".into(),
        tool: "look".into(),
    };
    assert_eq!(actions, [expected]);
}

#[tokio::test]
async fn changed_definitions_replace_only_their_servers() {
    let mut fixture = with_cached_tools(misbehaving("plain", &[])).await;
    within_timeout(fixture.notices.recv()).await.unwrap();
    assert_eq!(fixture.names(), ["first"]);
    fixture
        .servers
        .replace_definitions(vec![misbehaving("plain", &[]), misbehaving("changing", &[])]);
    assert_eq!(
        fixture.servers.status()[1].state,
        mcp::McpServerState::Ready,
        "an unchanged server was restarted"
    );
    let notice = within_timeout(fixture.notices.recv()).await.unwrap();
    assert_eq!(notice.source, "MCP server changing");
    assert_eq!(fixture.names(), ["changing_first", "first"], "a tool was renamed");
    fixture.servers.replace_definitions(vec![misbehaving("changing", &[])]);
    assert_eq!(
        within_timeout(fixture.notices.recv()).await.unwrap().text,
        "was removed"
    );
    assert_eq!(fixture.names(), ["changing_first"]);
    let output = fixture.call("changing_first", json!({})).await.unwrap();
    assert_eq!(text(&output), "changing did first");
}

#[test]
fn a_server_without_network_has_a_hint() {
    let temp = tempfile::tempdir().unwrap();
    let level = sandbox::ConfinementLevel::Workspace;
    let environment = McpEnvironment {
        confinement: Some(sandbox::Confinement::new(level, [temp.path().to_owned()])),
        ..environment(temp.path(), Arc::default())
    };
    let mut granted = misbehaving("silent", &[]);
    granted.name = "granted".into();
    granted.access.network = true;
    let servers = mcp::McpServers::new(vec![misbehaving("silent", &[]), granted], environment);
    assert!(servers.network_hint("silent").contains("`network = true`"));
    assert_eq!(servers.network_hint("granted"), "");
}
