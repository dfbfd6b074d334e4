//! The web server: sessions over HTTP, from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "serve/acp_attacks.rs"]
mod acp_attacks;
#[path = "serve/attach.rs"]
mod attach;
#[path = "serve/attacks.rs"]
mod attacks;
#[path = "serve/client.rs"]
mod client;
#[path = "serve/commands.rs"]
mod commands;
#[path = "serve/editor.rs"]
mod editor;
#[path = "serve/pages.rs"]
mod pages;
#[path = "serve/resilience.rs"]
mod resilience;
#[path = "serve/share_attacks.rs"]
mod share_attacks;
#[path = "serve/takeover.rs"]
mod takeover;
#[path = "serve/tls_attacks.rs"]
mod tls_attacks;

use client::Served;
use serde_json::{Value, json};
use testkit::{Script, Turn, TurnOrder};

const ASK: &str = "[permissions]\nask = ['write(a.txt)']\n";

fn edit(from: &str, to: &str) -> Turn {
    Turn::calls("edit_file", json!({"path": "a.txt", "old_text": from, "new_text": to}))
}

fn kinds(items: &Value) -> Vec<&str> {
    let items = items.as_array().unwrap().iter();
    items
        .map(|item| item["kind"].as_str().unwrap())
        .filter(|kind| *kind != "panels")
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_with_an_approval_is_done_reviewed_and_undone_over_http() {
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(edit("hello", "goodbye"))
        .turn(Turn::text("It is *changed*."));
    let served = Served::start(script, &[("a.txt", "hello world\n")], ASK).await;
    let session = served.session().await;
    let mut events = served.events(&session, None).await;
    let mut other = served.events(&session, None).await;
    served
        .post(&format!("/sessions/{session}/prompts"), json!({"text": "change it"}))
        .await;
    let question = events.until("question").await;
    assert_eq!(question["action"]["action"], "write", "{question}");
    assert_eq!(question["input"]["new_text"], "goodbye", "{question}");
    assert_eq!(other.until("question").await["id"], question["id"]);
    let states = served.get("/sessions").await;
    assert_eq!(states[0]["state"], "waiting", "{states}");
    let answer = json!({"question": question["id"], "answer": {"type": "approve"}});
    served
        .post(&format!("/sessions/{session}/answers"), answer.clone())
        .await;
    // The other client sees the answer, and cannot answer again.
    assert_eq!(other.until("question.answered").await["id"], question["id"]);
    let path = format!("/api/v1/sessions/{session}/answers");
    assert_eq!(served.request("POST", &path, Some(&answer)).await.status, 409);
    assert_eq!(events.until("turn.finished").await["ending"]["reason"], "completed");
    assert_eq!(served.project.read("a.txt").unwrap(), "goodbye world\n");

    let detail = served.get(&format!("/sessions/{session}")).await;
    let expected = ["prompt", "reply", "result", "reply", "result", "reply"];
    assert_eq!(kinds(&detail["items"]), expected, "{detail}");
    let changed = detail["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["tool"] == "edit_file")
        .unwrap();
    let diff = served
        .get(&format!(
            "/sessions/{session}/items/{}/diff",
            changed["id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(
        diff,
        json!([{"path": "a.txt", "before": "hello world\n", "after": "goodbye world\n"}])
    );
    let changes = served.get(&format!("/sessions/{session}/changes")).await;
    let hunk = changes[0]["hunks"][0]["id"].as_str().unwrap().to_owned();
    served
        .post(&format!("/sessions/{session}/changes"), json!({"reject": [hunk]}))
        .await;
    assert_eq!(served.project.read("a.txt").unwrap(), "hello world\n");
    assert_eq!(served.get(&format!("/sessions/{session}/changes")).await, json!([]));
    let ledger = served.get(&format!("/sessions/{session}/ledger")).await;
    assert_eq!(ledger.as_array().unwrap().len(), 3, "{ledger}");
    assert!(!ledger[0]["sections"].as_array().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_can_be_undone_rewound_copied_renamed_exported_and_deleted() {
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text("Hello."))
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(edit("one", "two"))
        .turn(Turn::text("Done."));
    let served = Served::start(script, &[("a.txt", "one\n")], "").await;
    let session = served.session().await;
    let path = |rest: &str| format!("/sessions/{session}{rest}");
    let mut events = served.events(&session, None).await;
    for text in ["hi", "change one to two"] {
        served.post(&path("/prompts"), json!({"text": text})).await;
        events.until("turn.finished").await;
    }
    assert_eq!(served.project.read("a.txt").unwrap(), "two\n");
    for (operation, content) in [("/undo", "one\n"), ("/redo", "two\n")] {
        served.post(&path(operation), json!({})).await;
        assert_eq!(served.project.read("a.txt").unwrap(), content);
        // It is recorded after the response.
        events.until("item.finished").await;
    }

    let copy = served.post(&path("/fork"), json!({})).await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let items = served.get(&path("")).await["items"].clone();
    assert_eq!(
        kinds(&served.get(&format!("/sessions/{copy}")).await["items"]),
        kinds(&items)
    );

    let second = items
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["kind"] == "prompt")
        .nth(1)
        .unwrap();
    // A file that was changed outside the session is reported, not overwritten.
    served.project.write("a.txt", "three\n").unwrap();
    let rewind = json!({"prompt": second["id"]});
    let report = served.post(&path("/rewind"), rewind.clone()).await;
    assert_eq!(report["conflicts"].as_array().unwrap().len(), 1, "{report}");
    let report = served
        .post(
            &path("/rewind"),
            json!({"prompt": second["id"], "conflicts": "overwrite"}),
        )
        .await;
    assert_eq!(report["conflicts"], json!([]), "{report}");
    events.until("session.rewound").await;
    assert_eq!(served.project.read("a.txt").unwrap(), "one\n");
    assert_eq!(kinds(&served.get(&path("")).await["items"])[..2], ["prompt", "reply"]);

    served
        .request(
            "PATCH",
            &format!("/api/v1{}", path("")),
            Some(&json!({"title": "<b>Ünïcode</b>"})),
        )
        .await;
    assert_eq!(events.until("session.titled").await["title"], "<b>Ünïcode</b>");
    let hits = served.get("/search?q=change%20one").await;
    assert!(
        hits.as_array()
            .unwrap()
            .iter()
            .any(|hit| hit["session"] == copy.as_str()),
        "{hits}"
    );
    for (format, text) in [("markdown", "change one to two"), ("json", "\"items\"")] {
        let response = served
            .request("GET", &format!("/api/v1/sessions/{copy}/export?format={format}"), None)
            .await;
        assert!(String::from_utf8_lossy(&response.body).contains(text), "{format}");
        assert!(
            response
                .header("content-disposition")
                .unwrap()
                .starts_with("attachment")
        );
    }
    assert_eq!(
        served
            .request("DELETE", &format!("/api/v1{}", path("")), None)
            .await
            .status,
        200
    );
    assert_eq!(
        served
            .request("GET", &format!("/api/v1{}", path("")), None)
            .await
            .status,
        404
    );
    let sessions = served.get("/sessions").await;
    assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_completions_and_project_data_are_available() {
    let script = Script::new().turn(Turn::text("ok"));
    let files = [
        ("src/main.rs", "fn start() {}\n"),
        (".gitignore", "secret.txt\n"),
        ("secret.txt", "k"),
    ];
    let served = Served::start(script, &files, "").await;
    let session = served.session().await;
    let path = |rest: &str| format!("/sessions/{session}/{rest}");
    assert_eq!(served.get(&path("files?q=main")).await, json!(["src/main.rs"]));
    assert_eq!(
        served.get(&path("file?path=src/main.rs")).await["text"],
        "fn start() {}\n"
    );
    for traversal in [
        "../../../../etc/passwd",
        "/etc/passwd",
        "secret.txt",
        "src/../../x",
        "%2e%2e/x",
    ] {
        let response = served
            .request(
                "GET",
                &format!("/api/v1/sessions/{session}/file?path={traversal}"),
                None,
            )
            .await;
        assert_eq!(response.status, 400, "{traversal}");
    }
    assert!(
        served
            .get(&path("symbols?q=start"))
            .await
            .as_array()
            .unwrap()
            .contains(&json!("start"))
    );
    let settings = served.get(&path("settings")).await;
    assert_eq!(settings["permission"], "workspace", "{settings}");
    for name in [
        "models",
        "modes",
        "commands",
        "panels",
        "servers",
        "permissions",
        "config",
        "jobs",
    ] {
        assert!(served.get(&path(name)).await.is_array(), "{name}");
    }
    // A built-in command that is a prompt works for every client.
    let commands = served.get(&path("commands")).await;
    assert!(
        commands.as_array().unwrap().iter().any(|row| row["name"] == "review"),
        "{commands}"
    );
    let mut events = served.events(&session, None).await;
    served
        .post(&path("prompts"), json!({"text": "/review the parser"}))
        .await;
    events.until("turn.finished").await;
    let items = served.get(&format!("/sessions/{session}")).await["items"].clone();
    let mut items = items.as_array().unwrap().iter();
    let prompt = items.find(|item| item["kind"] == "prompt").unwrap();
    let text = prompt["parts"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("Review the uncommitted changes") && text.ends_with("the parser"),
        "{text}"
    );
    let change = |body: Value| {
        let path = format!("/api/v1/sessions/{session}/settings");
        let served = &served;
        async move { served.request("PATCH", &path, Some(&body)).await }
    };
    assert_eq!(change(json!({"mode": "ask"})).await.status, 200);
    assert_eq!(change(json!({"mode": "nonsense"})).await.status, 400);
    assert_eq!(change(json!({"model": "nonsense"})).await.status, 400);
    assert_eq!(
        change(json!({"permission": "read-only"})).await.json()["permission"],
        "read-only"
    );
    // A client cannot widen the permission level of the configuration.
    assert_eq!(change(json!({"permission": "full"})).await.status, 403);
    let spans = served
        .post("/highlight", json!({"language": "rust", "text": "// ü\nfn a() {}"}))
        .await;
    assert_eq!(spans[0], json!([0, 4, "comment"]), "{spans}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_shown_with_the_output_that_the_model_has_read() {
    let job = json!({"command": "echo one; sleep 60", "background": true});
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::calls("terminal", job))
        .turn(Turn::text("Started."));
    let served = Served::start(script, &[], "").await;
    let session = served.session().await;
    let path = |rest: &str| format!("/sessions/{session}/{rest}");
    let mut events = served.events(&session, None).await;
    served.post(&path("prompts"), json!({"text": "start"})).await;
    events.until("turn.finished").await;
    let detail = served.get(&format!("/sessions/{session}")).await;
    assert!(detail["items"].to_string().contains("one\\n"), "{detail}");
    let jobs = served.get(&path("jobs")).await;
    assert_eq!(jobs[0]["output"], "one\n", "{jobs}");
    served.post(&path("jobs/1/stop"), json!({})).await;
    assert_eq!(served.get(&path("jobs")).await[0]["running"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attached_image_is_returned() {
    let script = Script::new().turn(Turn::text("A dot."));
    let served = Served::start(script, &[], "").await;
    let session = served.session().await;
    let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let attachment = json!({"mime": "image/png", "name": "dot.png", "data": dot});
    let mut events = served.events(&session, None).await;
    let prompt = json!({"text": "see", "attachments": [attachment]});
    served.post(&format!("/sessions/{session}/prompts"), prompt).await;
    events.until("turn.finished").await;
    let items = served.get(&format!("/sessions/{session}")).await["items"].clone();
    let mut items = items.as_array().unwrap().iter();
    let prompt = items.find(|item| item["kind"] == "prompt").unwrap();
    let path = format!(
        "/api/v1/sessions/{session}/items/{}/media",
        prompt["id"].as_str().unwrap()
    );
    let image = served.request("GET", &format!("{path}/0"), None).await;
    assert_eq!((image.status, image.header("content-type")), (200, Some("image/png")));
    assert_eq!((image.body.len(), &image.body[..4]), (70, &b"\x89PNG"[..]));
    for other in ["1", "x", "-1"] {
        let response = served.request("GET", &format!("{path}/{other}"), None).await;
        assert_eq!(response.status, 404, "{other}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_pair_once_are_listed_and_revoked() {
    let served = Served::start(Script::new(), &[], "").await;
    let code = served.pairing_code();
    let pair = json!({"code": code, "name": "phone"}).to_string();
    let paired = served.raw_request("POST", "/api/v1/pair", "", Some(&pair)).await;
    assert_eq!(paired.status, 200, "{}", paired.json());
    let cookie = paired.header("set-cookie").unwrap().to_owned();
    for flag in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(flag), "{cookie}");
    }
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    let again = served.raw_request("POST", "/api/v1/pair", "", Some(&pair)).await;
    assert_eq!(again.status, 401);
    let me = served.raw_request("GET", "/api/v1/me", &cookie, None).await;
    let (id, csrf) = (
        me.json()["device"].clone(),
        me.json()["csrf"].as_str().unwrap().to_owned(),
    );
    // Changes need the value against cross-site requests.
    assert_eq!(
        served
            .raw_request("POST", "/api/v1/sessions", &cookie, Some("{}"))
            .await
            .status,
        403
    );
    let with_csrf = format!("{cookie}X-Hew-CSRF: {csrf}\r\n");
    assert_eq!(
        served
            .raw_request("POST", "/api/v1/sessions", &with_csrf, Some("{}"))
            .await
            .status,
        200
    );
    let listed = served
        .base
        .clone()
        .args(["serve", "devices"])
        .run()
        .await
        .unwrap()
        .stdout;
    assert!(listed.contains("phone") && listed.contains("test"), "{listed}");
    let revoked = served
        .base
        .clone()
        .args(["serve", "revoke", id.as_str().unwrap()])
        .run()
        .await
        .unwrap();
    assert_eq!(revoked.code(), Some(0), "{}", revoked.stderr);
    assert_eq!(served.raw_request("GET", "/api/v1/me", &cookie, None).await.status, 401);
    let link = served.base.clone().args(["serve", "link"]).run().await.unwrap().stdout;
    let code = link.split("code=").nth(1).unwrap().trim();
    let bearer = json!({"code": code, "credential": "bearer"}).to_string();
    let token = served
        .raw_request("POST", "/api/v1/pair", "", Some(&bearer))
        .await
        .json()["token"]
        .clone();
    let header = format!("Authorization: Bearer {}\r\n", token.as_str().unwrap());
    assert_eq!(
        served
            .raw_request("GET", "/api/v1/sessions", &header, None)
            .await
            .status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn editors_get_completions_in_the_form_of_openai() {
    let answer = "```\nlet total = a + b;\nprint(total);\n```";
    let script = Script::new().side_reply(answer);
    let served = Served::start(script, &[], "").await;
    let (before, after) = ("let total = ", ";\nprint(total);\n");
    let separate = json!({"model": "any", "prompt": before, "suffix": after, "max_tokens": 64, "temperature": 0});
    let marked = format!("<|fim_prefix|>{before}<|fim_suffix|>{after}<|fim_middle|>");
    let marked = json!({"prompt": marked, "stop": [" +"], "stream": true});
    let response = served.request("POST", "/v1/completions", Some(&separate)).await.json();
    assert_eq!(response["choices"][0]["text"], "a + b", "{response}");
    assert_eq!(response["choices"][0]["finish_reason"], "stop", "{response}");
    assert_eq!(response["object"], "text_completion", "{response}");
    let response = served.request("POST", "/v1/completions", Some(&marked)).await;
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let stream = String::from_utf8(response.body).unwrap();
    let first = stream.strip_prefix("data: ").unwrap().lines().next().unwrap();
    let first: Value = serde_json::from_str(first).unwrap();
    assert_eq!(first["choices"][0]["text"], "a", "{stream}");
    assert!(stream.ends_with("data: [DONE]\n\n"), "{stream}");
    let refused = served
        .request("POST", "/v1/completions", Some(&json!({"suffix": "x"})))
        .await;
    assert_eq!(refused.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_openapi_document_describes_every_response_that_is_used() {
    let served = Served::start(Script::new(), &[], "").await;
    let document = served.get("/openapi.json").await;
    let printed = served
        .base
        .clone()
        .args(["serve", "openapi"])
        .run()
        .await
        .unwrap()
        .stdout;
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), document);
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 35, "{}", paths.len());
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/web.md")).unwrap();
    let text = document.to_string();
    for (path, operations) in paths {
        let short = path.replace("/api/v1", "");
        assert!(page.contains(&format!("`{short}`")), "docs/web.md lacks {short}");
        for (method, operation) in operations.as_object().unwrap() {
            assert!(
                operation["summary"].as_str().is_some_and(|text| !text.is_empty()),
                "{method} {path}"
            );
        }
    }
    // Every reference has a definition.
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
    }
}

/// The client in docs/web.md.
#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_of_the_documentation_works() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/web.md")).unwrap();
    let client = page.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(client.lines().count() <= 40, "{} lines", client.lines().count());
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(edit("hello", "goodbye"))
        .turn(Turn::text("It is changed."));
    let served = Served::start(script, &[("a.txt", "hello\n")], ASK).await;
    let python = std::env::var_os("HEW_PYTHON").unwrap_or_else(|| "python3".into());
    let run = testkit::Hew::new(python)
        .unwrap()
        .args(["-c", client, "change", "it"])
        .env("HEW_URL", format!("http://{}", served.address))
        .env("HEW_TOKEN", &served.token);
    let output = run.run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    assert!(
        output.stdout.contains("[edit_file]") && output.stdout.contains("It is changed.\n(completed)"),
        "{}",
        output.stdout
    );
    assert_eq!(served.project.read("a.txt").unwrap(), "goodbye\n");
}
