//! Logging in with OAuth, and staying logged in.

use std::process::Stdio;
use std::sync::Arc;

use mcp::{Definition, Error, Transport};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::kit::{Bench, around, peer, soon};

#[tokio::test]
async fn a_server_that_wants_a_login_gets_one_and_knows_us_again() {
    let mut child = Command::new("python3")
        .arg(peer("login.py"))
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = soon(lines.next_line()).await.unwrap().unwrap();
    let transport = Transport::Http {
        url: format!("http://127.0.0.1:{port}/mcp"),
        headers: Default::default(),
    };
    let definition = Definition::new("shop", transport);
    let bench = Bench::new(vec![definition.clone()]);
    let refused = soon(bench.servers.check("shop")).await.unwrap_err();
    assert_eq!(refused, Error::Login { server: "shop".into() });
    // The browser goes where it is sent, and is sent back here.
    let around = around(bench.folder.path(), Arc::clone(&bench.shelf));
    let browse = |url: &str| {
        let url = url.to_owned();
        tokio::spawn(async move { reqwest::get(url).await.unwrap().text().await.unwrap() });
    };
    soon(mcp::login(&definition, &around, browse)).await.unwrap();
    assert!(bench.shelf.logins.lock().unwrap().contains_key("shop"));
    soon(bench.servers.check("shop")).await.unwrap();
    assert_eq!(bench.says("whoami", json!({})).await, "you hold token0");
    // Another run finds the login on the shelf.
    let later = Bench::with(vec![definition], Arc::clone(&bench.shelf), None, 10);
    soon(later.servers.check("shop")).await.unwrap();
    assert_eq!(later.says("whoami", json!({})).await, "you hold token0");
}
