//! Share links: what their readers cannot do, how they end, and what they do to a paired browser.

use super::client::{Response, Served};
use serde_json::json;
use testkit::Script;

async fn sharing(args: &[&str]) -> Served {
    let mut served = Served::start(Script::new(), &[("a.txt", "x")], "").await;
    served.hew.kill().unwrap();
    let (hew, address) = Served::spawn(&served.base, "127.0.0.1:0", args).await;
    (served.hew, served.address) = (hew, address);
    served
}

/// Opens a link in a browser with these cookies.
async fn open(served: &Served, code: &str, cookie: &str) -> Response {
    let cookie = match cookie {
        "" => String::new(),
        cookie => format!("Cookie: {cookie}\r\n"),
    };
    let body = json!({ "code": code }).to_string();
    served.raw_request("POST", "/api/v1/pair", &cookie, Some(&body)).await
}

fn cookie(response: &Response) -> String {
    let set = response.header("set-cookie").expect("a cookie");
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    set.split(';').next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_link_keeps_the_cookie_of_a_paired_browser() {
    let served = sharing(&["--share"]).await;
    let session = served.session().await;
    let owner = cookie(&open(&served, &served.pairing_code(), "").await);
    let link = served
        .post(&format!("/sessions/{session}/shares"), json!({"hours": 1}))
        .await;
    let code = link["code"].as_str().unwrap();
    let opened = open(&served, code, &owner).await;
    assert_eq!((opened.status, opened.header("set-cookie")), (200, None));
    assert_eq!(opened.json()["session"], session.as_str());
    let headers = format!("Cookie: {owner}\r\n");
    assert_eq!(
        served
            .raw_request("GET", "/api/v1/sessions", &headers, None)
            .await
            .status,
        200
    );
    // A browser with an invalid cookie gets one for the session only.
    let reader = cookie(&open(&served, code, "hew-1=x; hew=y").await);
    let headers = format!("Cookie: {reader}\r\n");
    assert_eq!(
        served
            .raw_request("GET", "/api/v1/sessions", &headers, None)
            .await
            .status,
        403
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_changes_nothing_and_is_revoked_together_with_the_link() {
    let mut served = sharing(&["--share"]).await;
    let session = served.session().await;
    let link = served
        .post(&format!("/sessions/{session}/shares"), json!({"hours": 1}))
        .await;
    let code = link["code"].as_str().unwrap().to_owned();
    let reader = cookie(&open(&served, &code, "").await);
    let me = served
        .raw_request("GET", "/api/v1/me", &format!("Cookie: {reader}\r\n"), None)
        .await;
    let csrf = me.json()["csrf"].as_str().unwrap().to_owned();
    let headers = format!("Cookie: {reader}\r\nX-Hew-CSRF: {csrf}\r\n");
    let document = served.get("/openapi.json").await;
    let mut tried = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path
            .replace("{session}", &session)
            .replace("{item}", "x")
            .replace("{job}", "1");
        for method in operations.as_object().unwrap().keys().filter(|method| *method != "get") {
            if path == "/api/v1/pair" {
                continue;
            }
            let body = Some("{\"text\": \"x\"}");
            let status = served
                .raw_request(&method.to_uppercase(), &path, &headers, body)
                .await
                .status;
            assert_eq!(status, 403, "{method} {path}");
            tried += 1;
        }
    }
    println!("attack: tried {tried}");
    assert!(tried > 20, "{tried}");
    // A stream that is open when the link is revoked ends.
    let full = served.token.clone();
    let body = json!({"code": code, "credential": "bearer"}).to_string();
    let second = served.raw_request("POST", "/api/v1/pair", "", Some(&body)).await.json();
    served.token = second["token"].as_str().unwrap().to_owned();
    let mut events = served.events(&session, None).await;
    events.until("live").await;
    served.token = full;
    let listed = served.get("/devices").await;
    let shown = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|device| device["kind"] == "link")
        .unwrap();
    assert!(!listed.to_string().contains(&code), "{listed}");
    let id = shown["id"].as_str().unwrap();
    let revoked = served.base.clone().args(["serve", "revoke", id]).run().await.unwrap();
    assert_eq!(revoked.code(), Some(0), "{}", revoked.stderr);
    while events.next().await.is_some() {}
    assert_eq!(
        served.raw_request("GET", "/api/v1/me", &headers, None).await.status,
        401
    );
    assert_eq!(open(&served, &code, "").await.status, 401, "the link is revoked too");
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_behind_a_proxy_block_only_the_guessing_client() {
    let mut served = sharing(&[]).await;
    served.hew.kill().unwrap();
    // The printed link names the proxy, so the port is that of the server before.
    let address = served.address.to_string();
    let proxied = ["serve", "--listen", &address, "--proxy", "https://hew.example"];
    served.hew = served.base.clone().args(proxied).spawn().unwrap();
    served.hew.wait_for_output("/pair?code=").await.unwrap();
    let guess = async |address: &str| {
        let headers = format!("Host: hew.example\r\nX-Forwarded-For: 9.9.9.9, {address}\r\n");
        let body = json!({"code": "guess"}).to_string();
        served
            .raw_request("POST", "/api/v1/pair", &headers, Some(&body))
            .await
            .status
    };
    for _ in 0..10 {
        assert_eq!(guess("10.0.0.1").await, 401);
    }
    assert_eq!(guess("10.0.0.1").await, 429);
    assert_eq!(guess("10.0.0.2").await, 401);
}
