//! The web page in Chromium, driven by playwright-core; axe-core checks its accessibility.

use super::client::Served;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{Hew, Pace, Script, Turn, TurnOrder};

fn node_modules() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("HEW_NODE_MODULES").map(PathBuf::from);
    let modules = named.unwrap_or_else(|| root.join("../../.tools/node/node_modules"));
    let is_there = modules.join("playwright-core").exists() && modules.join("axe-core").exists();
    if !is_there {
        eprintln!("skipped: no playwright-core and axe-core (set HEW_NODE_MODULES, or run `cargo xtask ci`)");
    }
    is_there.then_some(modules)
}

/// Where screenshots are kept.
fn screenshots() -> PathBuf {
    let named = std::env::var_os("HEW_SCREENSHOTS").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots"))
}

/// A browser for a scenario.
fn browser(served: &Served, scenario: &str) -> Option<Hew> {
    let (modules, chromium) = (node_modules()?, testkit::chromium()?);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/browser.mjs");
    let url = format!("http://{}", served.address);
    Some(
        Hew::new("node")
            .unwrap()
            .arg(script)
            .arg(scenario)
            .env("HEW_NODE_MODULES", modules)
            .env("HEW_CHROMIUM", chromium)
            .env("HEW_SCREENSHOTS", screenshots())
            .env("HEW_PAIR", format!("{url}/pair?code={}", served.pairing_code()))
            .env("HEW_URL", url)
            .timeout(Duration::from_secs(300)),
    )
}

fn report(stdout: &str) -> Value {
    serde_json::from_str(stdout.lines().last().unwrap_or_default()).unwrap_or_else(|_| panic!("{stdout}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_task_is_done_in_the_browser() {
    let story = format!(
        "Once {}\n\n```rust\nfn main() {{}}\n```\n\nThe end.",
        "upon a time ".repeat(40)
    );
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(
            Turn::text("I will *change* it.")
                .thinking("Let me see.")
                .call("read_file", json!({"path": "greeting.rs"})),
        )
        .turn(Turn::calls(
            "edit_file",
            json!({"path": "greeting.rs", "old_text": "\"hello\"", "new_text": "\"goodbye\""}),
        ))
        .turn(Turn::text(
            "It is **changed**:\n\n- one file\n- one line\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        ))
        // The turn cannot end before the question is answered.
        .turn(
            Turn::text(story)
                .call("edit_file", json!({"path": "greeting.rs", "old_text": "goodbye", "new_text": "farewell"}))
                .pace(Pace::with_delay(6, Duration::from_millis(20))),
        )
        .turn(Turn::text("Told."))
        .turn(Turn::text("Short."));
    let files = [(
        "greeting.rs",
        "// A greeting.\nfn greet() -> &'static str {\n    \"hello\"\n}\n",
    )];
    let served = Served::start(script, &files, "[permissions]\nask = ['write(greeting.rs)']\n").await;
    let Some(browser) = browser(&served, "task") else {
        return;
    };
    let report = report(&browser.run().await.unwrap().stdout);
    assert_eq!(report["failed"], Value::Null, "{report}");
    assert_eq!(report["errors"], json!([]), "{report}");
    assert_eq!(report["requests"], json!([]), "requests to other hosts: {report}");
    assert_eq!(report["axe"], json!([]), "{report}");
    assert_eq!(report["same"], true, "{report}");
    assert_eq!(report["layout"], json!([]), "{report}");
    assert_eq!(
        report["diffs"], 1,
        "the question repeats the diff of its card: {report}"
    );
    assert_eq!(report["asked"], "Change greeting.rs?", "{report}");
    assert_eq!(report["aboveDialog"], true, "{report}");
    assert_eq!(
        served.project.read("greeting.rs").unwrap(),
        files[0].1,
        "the change was rejected"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_displayed_string_is_run_as_a_script() {
    let attack =
        "<img src=x onerror=\"window.injected=1\"><script>window.injected=1</script><svg onload=window.injected=1>";
    let markdown = format!(
        "{attack}\n\n[a](javascript:window.injected=1) ![b](javascript:window.injected=1) [c](data:text/html,<script>1</script>)\n\n\
        <iframe src=\"javascript:parent.injected=1\"></iframe>\n\n```html\n{attack}\n```\n\n| {attack} |\n|---|\n| `{attack}` |\n\n> {attack}\n\n- {attack}\n\n# {attack}"
    );
    let name = "<img src=x onerror=injected=1>.svg";
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(
            Turn::text(markdown.clone())
                .thinking(attack)
                .call("write_file", json!({"path": name, "content": format!("<svg xmlns='http://www.w3.org/2000/svg' onload='injected=1'>{attack}</svg>\n")})),
        )
        .turn(Turn::calls("terminal", json!({"command": format!("printf '%s' '{}'", attack.replace('\'', ""))})))
        .turn(Turn::text(markdown));
    let served = Served::start(script, &[], "[permissions]\nask = ['write(**)']\nallow = ['run(*)']\n").await;
    let Some(browser) = browser(&served, "injection") else {
        return;
    };
    let report = report(&browser.env("HEW_PROMPT", attack).run().await.unwrap().stdout);
    assert_eq!(report["failed"], Value::Null, "{report}");
    assert_eq!(report["errors"], json!([]), "{report}");
    assert_eq!(report["requests"], json!([]), "{report}");
    let injected = &report["injected"];
    for key in ["images", "frames", "scripts", "handlers"] {
        assert_eq!(injected[key], 0, "{injected}");
    }
    assert_eq!(injected["ran"], Value::Null);
    assert_eq!(injected["links"], json!([]), "{injected}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_continues_after_the_server_was_killed() {
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text("Answer one"))
        .turn(Turn::text("Answer two"));
    let mut served = Served::start(script, &[], "").await;
    let Some(browser) = browser(&served, "reconnect") else {
        return;
    };
    let signal = served.base.home().join("restarted");
    let mut running = browser.env("HEW_SIGNAL", &signal).spawn().unwrap();
    running.wait_for_output("ready").await.unwrap();
    served.restart().await;
    std::fs::write(&signal, "").unwrap();
    let output = running.wait().await.unwrap();
    let report = report(&output.stdout);
    assert_eq!(report["failed"], Value::Null, "{report}");
    assert_eq!(report["replies"], json!(["Answer one", "Answer two"]), "{report}");
    assert_eq!(report["prompts"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_call_stays_visible_after_the_server_was_killed() {
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::calls("terminal", json!({"command": "sleep 60"})))
        .turn(Turn::text("After the restart"))
        .turn(Turn::calls("terminal", json!({"command": "sleep 60"})));
    let mut served = Served::start(script, &[], "").await;
    let Some(browser) = browser(&served, "interrupted") else {
        return;
    };
    let mut running = browser.spawn().unwrap();
    running.wait_for_output("ready").await.unwrap();
    served.restart().await;
    let output = running.wait().await.unwrap();
    let report = report(&output.stdout);
    assert_eq!(report["failed"], Value::Null, "{report}");
    assert_eq!(report["cards"], json!([1]), "{report}");
    assert_eq!(report["shown"], report["reloaded"]);
    assert_eq!(report["returned"], "for later", "{report}");
    assert_eq!(
        report["notices"],
        json!(["not sent, because the turn was interrupted: for later"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_session_fills_the_page_and_offers_nothing_else() {
    let script = Script::new().turn(Turn::text("```rust\nfn main() {}\n```"));
    let mut served = Served::start(script, &[], "").await;
    served.hew.kill().unwrap();
    let (hew, address) = Served::spawn(&served.base, &served.address.to_string(), &["--share"]).await;
    (served.hew, served.address) = (hew, address);
    let session = served.session().await;
    let mut events = served.events(&session, None).await;
    served
        .post(&format!("/sessions/{session}/prompts"), json!({"text": "hello"}))
        .await;
    events.until("turn.finished").await;
    let link = served
        .post(&format!("/sessions/{session}/shares"), json!({"hours": 1}))
        .await;
    let Some(browser) = browser(&served, "shared") else {
        return;
    };
    let output = browser
        .env("HEW_LINK", link["url"].as_str().unwrap())
        .run()
        .await
        .unwrap();
    let report = report(&output.stdout);
    assert_eq!(report["failed"], Value::Null, "{report}");
    assert_eq!(
        (&report["errors"], &report["axe"]),
        (&json!([]), &json!([])),
        "{report}"
    );
    assert_eq!(report["width"], 1280, "{report}");
    assert_eq!(report["controls"], 0, "{report}");
}
