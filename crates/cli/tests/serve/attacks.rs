//! Requests that must not succeed.

use super::client::Served;
use serde_json::json;
use std::time::Duration;
use testkit::Script;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test(flavor = "multi_thread")]
async fn no_request_without_a_token_reaches_a_session() {
    let served = Served::start(Script::new(), &[("a.txt", "x")], "").await;
    let session = served.session().await;
    let document = served.get("/openapi.json").await;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path
            .replace("{session}", &session)
            .replace("{item}", "x")
            .replace("{job}", "1");
        for method in operations.as_object().unwrap().keys() {
            if path == "/api/v1/pair" {
                continue;
            }
            for headers in [
                "",
                "Authorization: Bearer x\r\n",
                "Authorization: Basic dGVzdDp0ZXN0\r\n",
                "Cookie: hew=1; hew-0=2\r\n",
            ] {
                let body = (method != "get").then_some("{}");
                let response = served.raw_request(&method.to_uppercase(), &path, headers, body).await;
                assert!(
                    [401, 429].contains(&response.status),
                    "{method} {path}: {}",
                    response.status
                );
            }
        }
    }
    // The page of an unpaired browser explains pairing and contains no data.
    let page = served.raw_request("GET", "/", "", None).await;
    assert_eq!(page.status, 401);
    assert!(!String::from_utf8_lossy(&page.body).contains(&session));
    for path in ["/app.js", "/api.js", "/session.js"] {
        assert_eq!(served.raw_request("GET", path, "", None).await.status, 401, "{path}");
    }
    // A revoked or altered token is rejected.
    let altered = format!("Authorization: Bearer {}x\r\n", served.token);
    assert!([401, 429].contains(&served.raw_request("GET", "/api/v1/me", &altered, None).await.status));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_hosts_and_origins_are_refused_even_with_a_token() {
    let served = Served::start(Script::new(), &[], "").await;
    let auth = format!("Authorization: Bearer {}\r\n", served.token);
    let port = served.address.port();
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.nip.example:{port}"),
        format!("192.168.0.1:{port}"),
        "127.0.0.1".to_owned(),
        String::new(),
    ] {
        for path in ["/api/v1/sessions", "/", "/pair", "/acp"] {
            let headers = format!("Host: {host}\r\n{auth}");
            assert_eq!(
                served.raw_request("GET", path, &headers, None).await.status,
                421,
                "{host} {path}"
            );
        }
    }
    for origin in [
        "http://evil.example",
        "null",
        "https://127.0.0.1",
        &format!("http://localhost:{port}"),
    ] {
        for (method, path, body) in [
            ("GET", "/api/v1/sessions", None),
            ("POST", "/api/v1/sessions", Some("{}")),
            ("POST", "/api/v1/pair", Some("{}")),
            ("GET", "/acp", None),
            ("OPTIONS", "/api/v1/sessions", None),
        ] {
            let headers = format!("Origin: {origin}\r\n{auth}");
            let response = served.raw_request(method, path, &headers, body).await;
            assert_eq!(response.status, 403, "{origin} {method} {path}");
            assert!(response.header("access-control-allow-origin").is_none());
        }
    }
    let cross = format!("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n{auth}");
    assert_eq!(served.raw_request("GET", "/api/v1/me", &cross, None).await.status, 403);
    let own = format!("Origin: http://127.0.0.1:{port}\r\n{auth}");
    let response = served.raw_request("GET", "/api/v1/me", &own, None).await;
    assert_eq!(response.status, 200);
    for (header, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
    ] {
        assert_eq!(response.header(header), Some(value));
    }
    let policy = response.header("content-security-policy").unwrap();
    assert!(
        policy.contains("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_and_oversized_requests_are_refused() {
    let served = Served::start(Script::new(), &[], "").await;
    let session = served.session().await;
    let auth = format!("Authorization: Bearer {}\r\n", served.token);
    let big = json!({"prompt": "x".repeat(300 << 10)}).to_string();
    assert_eq!(
        served
            .raw_request("POST", "/api/v1/sessions", &auth, Some(&big))
            .await
            .status,
        413
    );
    // A form of another site cannot send JSON.
    let form = format!(
        "POST /api/v1/sessions HTTP/1.1\r\nHost: {}\r\n{auth}Content-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}",
        served.address
    );
    assert_eq!(served.exchange(form.as_bytes()).await.status, 415);
    let huge_header = format!("{auth}X-Big: {}\r\n", "a".repeat(100 << 10));
    let status = served.raw_request("GET", "/api/v1/me", &huge_header, None).await.status;
    assert!([0, 400, 431].contains(&status), "{status}");
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/web/../Cargo.toml",
        "/api/v1/sessions/../../x",
        "/api/v1/sessions/%2e%2e",
        "//evil.example/",
    ] {
        let status = served.raw_request("GET", path, &auth, None).await.status;
        assert!([400, 404].contains(&status), "{path}: {status}");
    }
    for (path, body) in [
        (format!("/api/v1/sessions/{session}/prompts"), "{\"text\": 1}"),
        (format!("/api/v1/sessions/{session}/prompts"), "{}"),
        (
            format!("/api/v1/sessions/{session}/prompts"),
            "{\"text\": \"a\", \"unknown\": 1}",
        ),
        (format!("/api/v1/sessions/{session}/answers"), "[]"),
        (format!("/api/v1/sessions/{session}/rewind"), "{\"prompt\": \"x\"}"),
        (
            format!("/api/v1/sessions/{session}/prompts"),
            "{\"attachments\": [{\"mime\": \"text/html\", \"data\": \"\"}]}",
        ),
    ] {
        let status = served.raw_request("POST", &path, &auth, Some(body)).await.status;
        assert!([400, 404].contains(&status), "{path} {body}: {status}");
    }
    assert_eq!(
        served
            .raw_request(
                "GET",
                &format!("/api/v1/sessions/{session}/events?after=x"),
                &auth,
                None
            )
            .await
            .status,
        400
    );
    let unknown = "/api/v1/sessions/01900000-0000-7000-8000-000000000000";
    for path in [
        unknown.to_owned(),
        format!("{unknown}/events"),
        format!("{unknown}/ledger2"),
    ] {
        assert_eq!(
            served.raw_request("GET", &path, &auth, None).await.status,
            404,
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guessed_codes_are_limited_and_slow_clients_do_not_block_others() {
    let served = Served::start(Script::new(), &[], "").await;
    // Connections that send nothing more than a part of a request.
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x").await.unwrap();
        slow.push(stream);
    }
    let mut statuses = Vec::new();
    for guess in 0..15 {
        let body = json!({"code": format!("guess{guess}")}).to_string();
        statuses.push(served.raw_request("POST", "/api/v1/pair", "", Some(&body)).await.status);
    }
    assert_eq!(
        statuses.iter().filter(|status| **status == 401).count(),
        10,
        "{statuses:?}"
    );
    assert_eq!(statuses.last(), Some(&429));
    // Even the right code has to wait, but a paired device does not.
    let code = json!({"code": served.pairing_code()}).to_string();
    assert_eq!(
        served.raw_request("POST", "/api/v1/pair", "", Some(&code)).await.status,
        429
    );
    assert!(served.get("/me").await.is_object());
    // The server closes them.
    for mut stream in slow {
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut rest)).await;
        assert!(closed.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_cannot_choose_any_folder_as_a_project() {
    let served = Served::start(Script::new(), &[("sub/a.txt", "x")], "").await;
    let headers = format!("Authorization: Bearer {}\r\n", served.token);
    for root in ["/", "/etc", ".."] {
        let body = json!({ "root": root }).to_string();
        let response = served
            .raw_request("POST", "/api/v1/sessions", &headers, Some(&body))
            .await;
        let text = String::from_utf8_lossy(&response.body);
        assert!(
            [400, 403].contains(&response.status),
            "{root}: {} {text}",
            response.status
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_event_streams_is_limited() {
    let served = Served::start(Script::new(), &[], "").await;
    let session = served.session().await;
    let mut open = Vec::new();
    let refused = loop {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let text = format!(
            "GET /api/v1/sessions/{session}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
            served.address, served.token
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        if &head == b"HTTP/1.1 429" {
            break open.len();
        }
        open.push(stream);
        assert!(open.len() <= 300, "no limit");
    };
    assert!(refused >= 50, "{refused}");
    assert!(served.get("/me").await.is_object());
    drop(open);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_link_is_off_by_default_and_reads_one_session() {
    let mut served = Served::start(Script::new(), &[("a.txt", "x")], "").await;
    let session = served.session().await;
    let share = format!("/api/v1/sessions/{session}/shares");
    assert_eq!(served.request("POST", &share, Some(&json!({}))).await.status, 403);
    served.hew.kill().unwrap();
    let (hew, address) = Served::spawn(&served.base, &served.address.to_string(), &["--share"]).await;
    (served.hew, served.address) = (hew, address);
    let (session, other) = (served.session().await, served.session().await);
    let link = served
        .post(&format!("/sessions/{session}/shares"), json!({"hours": 1}))
        .await;
    let body = json!({"code": link["code"], "credential": "bearer"}).to_string();
    let paired = served.raw_request("POST", "/api/v1/pair", "", Some(&body)).await.json();
    assert_eq!(paired["session"], session.as_str());
    served.token = paired["token"].as_str().unwrap().to_owned();
    let own = format!("/api/v1/sessions/{session}");
    assert_eq!(served.request("GET", &own, None).await.status, 200);
    for (method, path) in [
        ("GET", "/api/v1/sessions".to_owned()),
        ("GET", format!("/api/v1/sessions/{other}")),
        ("GET", format!("{own}/file?path=a.txt")),
        ("GET", format!("{own}/settings")),
        ("POST", format!("{own}/prompts")),
        ("POST", format!("{own}/shares")),
        ("DELETE", own.clone()),
        ("GET", "/api/v1/devices".to_owned()),
        ("POST", "/api/v1/pairings".to_owned()),
        ("GET", "/acp".to_owned()),
    ] {
        let body = json!({"text": "x"});
        let body = (method == "POST").then_some(&body);
        assert_eq!(served.request(method, &path, body).await.status, 403, "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_show_no_secrets() {
    let config = "proxy = 'http://me:canary-proxy@127.0.0.1:1'\n\
                  [providers.other]\nwire = 'openai-chat'\nbase_url = 'http://me:canary-base@127.0.0.1:1'\nkey = 'canary-key-123'\n\
                  [mcp.docs]\nurl = 'https://127.0.0.1:1/mcp?api_key=canary-query'\nheaders = { x-plain = 'canary-header' }\n";
    let served = Served::start(Script::new(), &[], config).await;
    let session = served.session().await;
    let settings = served.get(&format!("/sessions/{session}/config")).await.to_string();
    assert!(
        settings.contains("http://me:") && !settings.contains("canary"),
        "{settings}"
    );
    for args in [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["config", "get", "proxy"],
    ] {
        let output = served.base.clone().args(args).run().await.unwrap();
        let text = format!("{}{}", output.stdout, output.stderr);
        assert!(text.contains("me:") && !text.contains("canary"), "{args:?}: {text}");
    }
}
