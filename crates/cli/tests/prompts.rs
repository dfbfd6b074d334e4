//! The system prompt end to end: the user's templates, a project's own prompt, and the stability of requests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "prompts/panels.rs"]
mod panels;
#[path = "prompts/roots.rs"]
mod roots;
#[path = "prompts/rules.rs"]
mod rules;

use serde_json::Value;
use std::fs;
use testkit::{Hew, Output, Project, Script, Server, Turn, TurnOrder};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

fn hew(project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().current_dir(project.root())
}

fn configure(hew: &Hew, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = hew.home().join(".config/hew").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

async fn show(hew: &Hew, args: &[&str]) -> Output {
    let output = hew
        .clone()
        .args(["prompt", "show", "-m", MODEL])
        .args(args)
        .run()
        .await
        .unwrap();
    assert!(output.is_success(), "{}", output.stderr);
    output
}

#[tokio::test]
async fn the_prompt_is_shown_as_it_is_sent() {
    let project = Project::new(&[("AGENTS.md", "Use tabs."), ("a.txt", "x")]).unwrap();
    let hew = hew(&project);
    let shown = show(&hew, &["--json"]).await;
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(
        (shown["protocol"].as_str(), shown["family"].as_str()),
        (Some("native"), Some("claude"))
    );
    let server = Server::start(Script::new().turn(Turn::text("Hello."))).await.unwrap();
    let run = hew
        .clone()
        .with_server(&server)
        .args(["run", "--no-title", "--mode", "code", "-m", MODEL, "hi"])
        .run()
        .await
        .unwrap();
    assert!(run.is_success(), "{}", run.stderr);
    let sent = server.requests().remove(0).json();
    let blocks = |value: &Value| -> Vec<String> {
        let blocks = value.as_array().unwrap().iter();
        blocks
            .map(|block| block["text"].as_str().or(block.as_str()).unwrap().to_owned())
            .collect()
    };
    assert_eq!(blocks(&shown["system"]), blocks(&sent["system"]));
    let names = |value: &Value| -> Vec<Value> {
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].clone())
            .collect()
    };
    assert_eq!(names(&shown["tools"]), names(&sent["tools"]));
    let text = show(&hew, &["--mode", "ask"]).await;
    assert!(
        text.stdout.contains("# Mode: ask") && text.stdout.contains("## read_file\n"),
        "{}",
        text.stdout
    );
    assert!(text.stderr.contains("in mode ask: about"), "{}", text.stderr);
    let xml = show(&hew, &["--set", "tool_protocol=xml"]).await;
    assert!(
        xml.stdout.contains("# Calling tools") && xml.stdout.contains("## read_file\n"),
        "{}",
        xml.stdout
    );
}

#[tokio::test]
async fn the_users_templates_are_used_and_an_invalid_one_is_reported() {
    let project = Project::new(&[("a.txt", "x")]).unwrap();
    let hew = hew(&project);
    configure(
        &hew,
        &[
            ("templates/rules.hbs", "{{> original}}\n- No emoji.\n"),
            (
                "templates/objective.hbs",
                "# Aim\nFinish.\n\n{{#if tools}}\nnever closed\n",
            ),
        ],
    );
    let shown = show(&hew, &[]).await;
    assert!(shown.stdout.contains("unless asked.\n- No emoji."), "{}", shown.stdout);
    assert!(
        shown.stdout.contains("# Objective") && !shown.stdout.contains("# Aim"),
        "{}",
        shown.stdout
    );
    let server = Server::start(Script::new().turn(Turn::text("Hello."))).await.unwrap();
    let run = hew
        .clone()
        .with_server(&server)
        .args(["run", "--no-title", "-m", MODEL, "hi"])
        .run()
        .await
        .unwrap();
    assert_eq!(run.stdout, "Hello.\n", "{}", run.stderr);
    for output in [&shown, &run] {
        assert!(output.stderr.contains("templates/objective.hbs:"), "{}", output.stderr);
    }
}

#[tokio::test]
async fn a_projects_own_prompt_for_a_mode_is_used_only_if_the_project_is_trusted() {
    let project = Project::new(&[
        (
            ".hew/system-prompt-ask.md",
            "You answer about {{workspace}} in {{mode}}.\n",
        ),
        ("AGENTS.md", "Use tabs."),
    ])
    .unwrap();
    let hew = hew(&project);
    let shown = show(&hew, &["--mode", "ask"]).await;
    assert!(shown.stdout.contains("You are hew"), "{}", shown.stdout);
    assert!(
        shown
            .stderr
            .contains("system-prompt-ask.md: ignored, because the project is not trusted"),
        "{}",
        shown.stderr
    );
    let trusted = hew.clone().args(["trust"]).run().await.unwrap();
    assert!(trusted.is_success(), "{}", trusted.stderr);
    let shown = show(&hew, &["--mode", "ask"]).await;
    let root = fs::canonicalize(project.root()).unwrap();
    let expected = format!("You answer about {} in ask.\n\n<rules path=", root.display());
    assert!(shown.stdout.contains(&expected), "{}", shown.stdout);
    assert!(!shown.stdout.contains("You are hew"), "{}", shown.stdout);
    assert!(show(&hew, &[]).await.stdout.contains("You are hew"));
}

/// The body of the first request, without the session's metadata and environment.
async fn first_request(hew: &Hew, script: Script) -> String {
    let server = Server::start(script).await.unwrap();
    let run = hew
        .clone()
        .with_server(&server)
        .args(["run", "--no-title", "-m", MODEL, "hi"])
        .run()
        .await
        .unwrap();
    assert!(run.is_success(), "{}", run.stderr);
    let mut body = server.requests().remove(0).json();
    body.as_object_mut().unwrap().remove("metadata");
    let body = serde_json::to_string(&body).unwrap();
    // The first prompt of a session lists the files of the project.
    let (from, to) = (
        body.find("<environment>").unwrap(),
        body.find("</environment>").unwrap(),
    );
    format!("{}{}", &body[..from], &body[to..])
}

#[tokio::test]
async fn the_order_of_settings_and_unrelated_files_do_not_change_the_request() {
    let project = Project::new(&[("AGENTS.md", "Use tabs."), ("src/a.rs", "fn a() {}")]).unwrap();
    let hew = hew(&project);
    let script = || Script::new().turn(Turn::text("Hello."));
    let parts = [
        "tools.disabled = [\"open\", \"download\"]\n",
        "tools.enabled = [\"now\", \"memory\"]\n",
        "[models.\"anthropic/claude-sonnet-4-6\"]\nwindow = 100000\nprices = {input = 1.0, output = 2.0}\n",
        "[models.\"anthropic/other\"]\nwindow = 5\n",
        "[profiles.mine.tools]\ngrep = true\nfetch = false\n",
    ];
    configure(
        &hew,
        &[
            ("config.toml", &parts.concat()),
            ("rules/b.md", "B"),
            ("rules/a.md", "A"),
        ],
    );
    let first = first_request(&hew, script()).await;
    assert!(first.contains("\"now\"") && first.contains("Use tabs."));
    // The same settings in another process, in another order, with an additional file.
    let permuted: Vec<&str> = [1, 0, 4, 3, 2].map(|place| parts[place]).to_vec();
    let permuted = permuted
        .concat()
        .replace("[\"open\", \"download\"]", "[\"download\", \"open\"]");
    let permuted = permuted.replace("[\"now\", \"memory\"]", "[\"memory\", \"now\"]");
    fs::remove_dir_all(hew.home().join(".config/hew")).unwrap();
    configure(
        &hew,
        &[("rules/a.md", "A"), ("rules/b.md", "B"), ("config.toml", &permuted)],
    );
    fs::write(project.path("unrelated.txt"), "nothing").unwrap();
    fs::create_dir(project.path("src/more")).unwrap();
    assert_eq!(first_request(&hew, script()).await, first);
    // A related file changes the request.
    fs::write(project.path("AGENTS.md"), "Use spaces.").unwrap();
    assert_ne!(first_request(&hew, script()).await, first);
}

/// Within a session, unrelated new files change no byte of the requests; only the first prompt of a new session lists them.
#[tokio::test]
async fn an_unrelated_file_does_not_change_the_requests_of_a_resumed_session() {
    let project = Project::new(&[("AGENTS.md", "Use tabs."), ("src/a.rs", "fn a() {}")]).unwrap();
    let hew = hew(&project);
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turns(["One.", "Two.", "Three."].map(Turn::text));
    let server = Server::start(script).await.unwrap();
    let hew = hew.with_server(&server);
    let run = hew
        .clone()
        .args(["run", "--no-title", "-m", MODEL, "hi"])
        .run()
        .await
        .unwrap();
    assert!(run.is_success(), "{}", run.stderr);
    for name in ["unrelated.txt", "src/more.rs", "zzz/deep/er.md"] {
        project.write(name, "nothing").unwrap();
    }
    let again = hew.clone().args(["resume", "last", "and"]).run().await.unwrap();
    assert_eq!(again.stdout, "Two.\n", "{}", again.stderr);
    let plain = |place: usize| -> Value {
        let mut body = server.requests()[place].json();
        strip(&mut body);
        body
    };
    let (first, second) = (plain(0), plain(1));
    assert_eq!(first["tools"], second["tools"]);
    assert_eq!(first["system"], second["system"]);
    let sent = first["messages"].as_array().unwrap();
    assert_eq!(second["messages"].as_array().unwrap()[..sent.len()], sent[..]);
    assert!(!second.to_string().contains("unrelated.txt"), "{second:#}");
    // A new session lists them.
    hew.clone()
        .args(["run", "--no-title", "-m", MODEL, "hi"])
        .run()
        .await
        .unwrap();
    assert!(plain(2).to_string().contains("unrelated.txt"));
}

/// Removes the cache markers.
fn strip(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("cache_control");
            object.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

#[tokio::test]
async fn a_refused_prompt_is_not_sent_again() {
    let message = "flagged as potentially violating our usage policy".to_owned();
    let blocked = Turn::text("").with_permanent_fault(testkit::Fault::BadRequest { message });
    for refusal in [Turn::text("No.").stop(testkit::Stop::Refusal), blocked] {
        let project = Project::new(&[]).unwrap();
        let hew = hew(&project);
        let server = Server::start(Script::new().turn(refusal)).await.unwrap();
        let first = hew
            .clone()
            .with_server(&server)
            .args(["run", "-m", MODEL, "a bad word"]);
        let output = first.run().await.unwrap();
        assert_eq!(output.code(), Some(4), "{}", output.stderr);
        let server = Server::start(Script::new().turn(Turn::text("Hello."))).await.unwrap();
        let next = hew.clone().with_server(&server).args(["resume", "last", "a good word"]);
        assert_eq!(next.run().await.unwrap().stdout, "Hello.\n");
        let seen = server.main_requests()[0].json()["messages"].to_string();
        assert!(seen.contains("a good word") && !seen.contains("bad"), "{seen}");
    }
}
