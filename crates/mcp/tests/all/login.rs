//! Logging in with OAuth, and reusing the login.

use std::process::Stdio;
use std::sync::Arc;

use mcp::{Error, McpDefinition, McpTransport};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::support::{Fixture, environment, peer, within_timeout};

#[tokio::test]
async fn a_login_is_made_and_reused() {
    let mut child = Command::new("python3")
        .arg(peer("login.py"))
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = within_timeout(lines.next_line()).await.unwrap().unwrap();
    let transport = McpTransport::Http {
        url: format!("http://127.0.0.1:{port}/mcp"),
        headers: Default::default(),
    };
    let definition = McpDefinition::new("shop", transport);
    let fixture = Fixture::new(vec![definition.clone()]);
    let refused = within_timeout(fixture.servers.check("shop")).await.unwrap_err();
    assert_eq!(refused, Error::Login { server: "shop".into() });
    // The browser follows redirects back to this test.
    let environment = environment(fixture.folder.path(), Arc::clone(&fixture.cache));
    let browse = |url: &str| {
        let url = url.to_owned();
        tokio::spawn(async move { reqwest::get(url).await.unwrap().text().await.unwrap() });
    };
    within_timeout(mcp::login(&definition, &environment, browse))
        .await
        .unwrap();
    assert!(fixture.cache.logins.lock().unwrap().contains_key("shop"));
    within_timeout(fixture.servers.check("shop")).await.unwrap();
    assert_eq!(fixture.call_text("whoami", json!({})).await, "you hold token0");
    // Another run uses the stored login.
    let later = Fixture::with(vec![definition], Arc::clone(&fixture.cache), None, 10);
    within_timeout(later.servers.check("shop")).await.unwrap();
    assert_eq!(later.call_text("whoami", json!({})).await, "you hold token0");
}
