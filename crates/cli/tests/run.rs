//! `hew run` from end to end: the real binary, real HTTP, a scripted model.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use std::time::Duration;
use testkit::{
    Fault, FaultPosition, Hew, JsonSchemaValidator, Output, Pace, Project, Script, Server, Stop, Turn, TurnOrder,
};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

fn hew(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(server)
        .current_dir(project.root())
}

async fn run(script: Script, args: &[&str]) -> (Output, Project, Server) {
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "hello\n")]).unwrap();
    let output = hew(&server, &project)
        .args(["run", "-m", MODEL])
        .args(args)
        .run()
        .await
        .unwrap();
    (output, project, server)
}

fn lines(output: &Output) -> Vec<Value> {
    output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

#[tokio::test]
async fn a_pipe_gets_the_answer_and_nothing_else() {
    let script = Script::new()
        .turn(Turn::text("I will look.").call("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text("It says hello."));
    let (output, ..) = run(script, &["what does a.txt say?"]).await;
    assert_eq!(output.stdout, "It says hello.\n", "{}", output.stderr);
    assert_eq!(output.code(), Some(0));
    for part in ["I will look.", "✓ Read a.txt · 1 line", "2 steps"] {
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
    }
    assert!(!output.stderr.contains('\u{1b}'), "no colours in a pipe");
}

#[tokio::test]
async fn quiet_prints_nothing_but_the_answer() {
    let script = Script::new()
        .turn(Turn::text("I will look.").call("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text("It says hello."));
    let (output, ..) = run(script, &["--quiet", "what does a.txt say?"]).await;
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("It says hello.\n", "")
    );
}

#[tokio::test]
async fn json_lines_follow_the_schema_that_hew_prints() {
    let script = Script::new()
        .turn(Turn::text("I will look.").call("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text("Now I write.").call("write_file", json!({"path": "b.txt", "content": "x\n"})))
        .turn(Turn::text("Done.").with_fault(Fault::rate_limit_for_ms(1), 1));
    let (output, project, server) = run(script, &["--json", "do it"]).await;
    let schema = hew(&server, &project).args(["schema", "events"]).run().await.unwrap();
    let schema: Value = serde_json::from_str(&schema.stdout).unwrap();
    let schema = JsonSchemaValidator::new(&schema).unwrap();
    let events = lines(&output);
    for event in &events {
        assert_eq!(schema.violations(event), None, "{event}");
        assert_eq!(event["v"], 1);
    }
    assert!(schema.violations(&json!({"v": 1, "type": "unheard.of"})).is_some());
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["session.started", "turn.started"]);
    for kind in [
        "item.started",
        "item.delta",
        "item.finished",
        "usage",
        "retrying",
        "turn.finished",
    ] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let end = events.iter().find(|event| event["type"] == "turn.finished").unwrap();
    assert_eq!((&end["answer"], &end["exit_code"]), (&json!("Done."), &json!(0)));
    let write = events
        .iter()
        .find(|event| event["item"]["tool"] == "write_file")
        .unwrap();
    let change = &write["item"]["changes"][0];
    assert_eq!(
        (&change["path"], &change["change"]),
        (&json!("b.txt"), &json!("created"))
    );
    assert_eq!(output.stderr, "");
}

#[tokio::test]
async fn every_wire_works_twenty_steps_through_a_cut_and_a_rate_limit() {
    let step = |number: usize| {
        Turn::text(format!("Step {number}.")).call("terminal", json!({"command": format!("echo {number} >> log")}))
    };
    let turns = (0..20).map(|number| match number {
        7 => step(number).with_fault(Fault::rate_limit_for_ms(1), 1),
        // A cut before the call is complete: nothing has run, so the request is sent again.
        12 => step(number).with_fault(Fault::cut(FaultPosition::Text), 1),
        _ => step(number),
    });
    let script = Script::new().turns(turns).turn(Turn::text("All done."));
    let server = Server::start(script).await.unwrap();
    let url = server.url();
    let tasks = [
        "anthropic/claude-sonnet-4-6",
        "openai/gpt-5.5",
        "gemini/gemini-2.5-pro",
        "chat/any",
    ]
    .map(|model| {
        let project = Project::new(&[]).unwrap();
        let config = format!("[providers.chat]\nwire = 'openai-chat'\nbase_url = '{url}/v1'\n");
        let hew = hew(&server, &project);
        std::fs::create_dir_all(hew.home().join("hew")).unwrap();
        let file = hew.home().join("hew.toml");
        std::fs::write(&file, config).unwrap();
        let hew = hew
            .env("HEW_CONFIG", &file)
            .args(["run", "--json", "-m", model, "count"]);
        async move { (model, hew.run().await.unwrap(), project) }
    });
    for (model, output, project) in futures::future::join_all(tasks).await {
        let events = lines(&output);
        let end = events
            .iter()
            .rev()
            .find(|event| event["type"] == "turn.finished")
            .unwrap();
        assert_eq!(end["ending"]["reason"], "completed", "{model}: {end}");
        let expected: String = (0..20).map(|number| format!("{number}\n")).collect();
        assert_eq!(project.read("log").unwrap(), expected, "{model}");
        assert_eq!(output.code(), Some(0), "{model}");
    }
}

#[tokio::test]
async fn the_prompt_comes_from_arguments_stdin_or_both() {
    for (args, stdin, expected) in [
        (vec!["say", "it"], "", "say it"),
        (vec!["-"], "from a pipe\n", "from a pipe"),
        (vec![], "from a pipe\n", "from a pipe"),
        (vec!["explain"], "a log\n", "explain\n\n<stdin>\na log\n</stdin>"),
    ] {
        let server = Server::start(Script::new().turn(Turn::text("ok"))).await.unwrap();
        let project = Project::new(&[]).unwrap();
        let hew = hew(&server, &project)
            .args(["run", "-m", MODEL])
            .args(&args)
            .stdin(stdin);
        assert_eq!(hew.run().await.unwrap().code(), Some(0), "{args:?}");
        let seen = server.main_requests()[0].parsed().unwrap();
        let text = seen.last_user_text();
        let prompt = text.split("\n<environment>").next();
        assert_eq!(prompt, Some(expected), "{args:?}");
    }
}

#[tokio::test]
async fn each_outcome_has_its_exit_code() {
    let again = || (0..10).map(|number| Turn::calls("terminal", json!({"command": format!("echo {number}")})));
    let cases = [
        (
            Script::new().turns(again()),
            vec!["--max-steps", "2"],
            3,
            "stopped after 2 steps",
        ),
        (
            Script::new().turn(Turn::text("No.").stop(Stop::Refusal)),
            vec![],
            4,
            "the model refused",
        ),
        (
            Script::new().turn(Turn::text("And then").stop(Stop::MaxTokens)),
            vec![],
            5,
            "truncated at the output limit",
        ),
        (
            Script::new().turn(Turn::text("x").with_permanent_fault(Fault::Unauthorized)),
            vec![],
            1,
            "rejected the credentials",
        ),
    ];
    for (script, args, code, message) in cases {
        let args: Vec<&str> = args.into_iter().chain(["go"]).collect();
        let (output, ..) = run(script, &args).await;
        assert_eq!(output.code(), Some(code), "{}", output.stderr);
        assert!(
            output.stderr.contains(message) && output.stderr.contains("hint: "),
            "{}",
            output.stderr
        );
    }
}

#[tokio::test]
async fn an_answer_that_violates_the_schema_is_retried_and_then_rejected() {
    let schema = r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}"#;
    for (answers, code, printed) in [
        (vec!["five", "{\"n\": 5}"], 0, "{\"n\": 5}\n"),
        (vec!["Here:\n```json\n{\"n\": 5}\n```"], 0, "{\"n\":5}\n"),
        (vec!["five", "5", "{\"n\": \"5\"}"], 6, "{\"n\": \"5\"}\n"),
    ] {
        let script = Script::new()
            .order(TurnOrder::Sequence)
            .turns(answers.into_iter().map(Turn::text));
        let server = Server::start(script).await.unwrap();
        let project = Project::new(&[("schema.json", schema)]).unwrap();
        let path = project.path("schema.json");
        let hew = hew(&server, &project)
            .args(["run", "-m", MODEL, "--no-title", "--output-schema"])
            .arg(&path);
        let output = hew.arg("how many?").run().await.unwrap();
        assert_eq!(output.code(), Some(code), "{}", output.stderr);
        assert_eq!(output.stdout, printed);
    }
}

#[tokio::test]
async fn ctrl_c_stops_the_turn_and_resume_continues_it() {
    let slow = Pace::with_delay(1, Duration::from_millis(50));
    let script = Script::new()
        .turn(Turn::text("First.").call("terminal", json!({"command": "echo one >> log"})))
        .turn(Turn::text("This reply takes a very long time to stream. ".repeat(30)).pace(slow))
        .turn(Turn::text("Finished."));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[]).unwrap();
    let hew = hew(&server, &project);
    let mut running = hew.clone().args(["run", "--json", "-m", MODEL, "go"]).spawn().unwrap();
    running.wait_for_output("\"text\":\"T\"").await.unwrap();
    running.interrupt().unwrap();
    let output = running.wait().await.unwrap();
    assert_eq!(output.code(), Some(130), "{}", output.stderr);
    let last = lines(&output)
        .into_iter()
        .find(|event| event["type"] == "turn.finished")
        .unwrap();
    assert_eq!(last["ending"]["reason"], "interrupted");
    let resumed = hew.args(["resume"]).run().await.unwrap();
    assert_eq!(
        (resumed.code(), resumed.stdout.as_str()),
        (Some(0), "Finished.\n"),
        "{}",
        resumed.stderr
    );
    assert_eq!(project.read("log").unwrap(), "one\n");
}

#[tokio::test]
async fn a_closed_pipe_is_not_an_error() {
    let server = Server::start(Script::new().turn(Turn::text("word ".repeat(20_000))))
        .await
        .unwrap();
    let project = Project::new(&[]).unwrap();
    let binary = env!("CARGO_BIN_EXE_hew");
    let script = format!("{binary} run --json -m {MODEL} go | head -n 1; exit 0");
    let sh = Hew::new("/bin/sh")
        .unwrap()
        .with_server(&server)
        .current_dir(project.root());
    let output = sh
        .args(["-c", &script])
        .env("PATH", "/usr/bin:/bin")
        .run()
        .await
        .unwrap();
    assert_eq!((output.stdout.lines().count(), output.stderr.as_str()), (1, ""));
}

#[tokio::test]
async fn an_answer_that_cannot_be_written_is_an_error() {
    for flag in ["--quiet", "--json"] {
        let server = Server::start(Script::new().turn(Turn::text("Done."))).await.unwrap();
        let project = Project::new(&[]).unwrap();
        let binary = env!("CARGO_BIN_EXE_hew");
        let script = format!("{binary} run {flag} -m {MODEL} go >/dev/full; echo code=$?");
        let sh = Hew::new("/bin/sh")
            .unwrap()
            .with_server(&server)
            .current_dir(project.root());
        let output = sh
            .args(["-c", &script])
            .env("PATH", "/usr/bin:/bin")
            .run()
            .await
            .unwrap();
        assert_eq!(output.stdout, "code=1\n", "{flag}: {}", output.stderr);
        let message = "error: cannot write the output: No space left on device\nhint: `hew sessions show ";
        assert!(output.stderr.starts_with(message), "{flag}: {}", output.stderr);
    }
}

#[tokio::test]
async fn a_run_shows_the_reason_of_a_failed_call_and_the_command_to_review_changes() {
    let script = Script::new()
        .turn(Turn::calls("read_file", json!({"path": "missing.txt"})))
        .turn(
            Turn::calls("write_file", json!({"path": "b.txt", "content": "x\n"}))
                .with_fault(Fault::rate_limit_for_ms(1), 1),
        )
        .turn(Turn::text("Done."));
    let (output, ..) = run(script, &["go"]).await;
    let stderr = &output.stderr;
    let failed = stderr.lines().find(|line| line.starts_with("✗ Read")).expect(stderr);
    assert!(failed.starts_with("✗ Read missing.txt · "), "{stderr}");
    assert!(stderr.contains(" · 3 steps · "), "{stderr}");
    let last = stderr.lines().last().unwrap();
    assert!(last.starts_with("1 file changed · hew changes "), "{stderr}");
}

#[tokio::test]
async fn keys_reach_neither_tools_nor_the_session() {
    let script = Script::new()
        .turn(Turn::calls("terminal", json!({"command": "env; echo end"})))
        .turn(Turn::text("ok"));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[]).unwrap();
    let key = "sk-very-secret-0123456789";
    let hew = hew(&server, &project)
        .env("ANTHROPIC_API_KEY", key)
        .env("WORK_KEY", "another-secret-value");
    let file = hew.home().join("hew.toml");
    std::fs::write(
        &file,
        "[providers.mine]\nwire = 'openai-chat'\nbase_url = 'http://127.0.0.1:1'\nkey_env = 'WORK_KEY'\n",
    )
    .unwrap();
    let data = hew.home().join("sessions");
    let hew = hew.env("HEW_CONFIG", &file).env("HEW_DATA_DIR", &data);
    let output = hew
        .clone()
        .args(["run", "--json", "-m", MODEL, "look"])
        .run()
        .await
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    assert!(output.stdout.contains("end"));
    let kept: Vec<u8> = std::fs::read_dir(&data)
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.unwrap().path()).ok())
        .flatten()
        .collect();
    for secret in [key, "another-secret-value"] {
        assert!(!output.stdout.contains(secret) && !output.stderr.contains(secret));
        assert!(!kept.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
}

#[tokio::test]
async fn files_are_attached_by_their_type() {
    let script = Script::new().turn(Turn::text("ok"));
    let server = Server::start(script).await.unwrap();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let project = Project::new(&[("notes.md", "# Notes\n")]).unwrap();
    project.write("pic.png", png).unwrap();
    let hew = hew(&server, &project).args(["run", "-m", MODEL, "--file", "notes.md", "--image", "pic.png", "look"]);
    assert_eq!(hew.run().await.unwrap().code(), Some(0));
    let body = server.main_requests()[0].json().to_string();
    assert!(body.contains("image/png") && body.contains("# Notes"), "{body}");
}

#[tokio::test]
async fn a_read_only_run_changes_nothing_and_reports_denied_calls_to_the_model() {
    let script = Script::new()
        .turn(Turn::calls("write_file", json!({"path": "b.txt", "content": "x"})))
        .turn(Turn::calls("terminal", json!({"command": "touch c.txt"})))
        .turn(Turn::text("I may not."));
    let (output, project, server) = run(script, &["--permission", "read-only", "write"]).await;
    assert_eq!(output.code(), Some(0));
    assert_eq!(project.files().unwrap().len(), 1);
    let last = server.main_requests().last().unwrap().parsed().unwrap();
    assert!(
        last.results()
            .all(|result| result.text.contains("is not allowed in this run")),
        "{:?}",
        last.messages
    );
}

/// A script in which the main model describes a change of a.txt and another one writes it.
fn described_edit(edits: &[&str]) -> Script {
    let instructions = json!({"path": "a.txt", "instructions": "say goodbye instead"});
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .without_side_reply()
        .turn(Turn::calls("edit_file", instructions));
    let script = edits.iter().fold(script, |script, edit| script.turn(Turn::text(*edit)));
    script.turn(Turn::text("Done."))
}

const TAGS: &str = "<old_text line=1>\nhello\n</old_text>\n<new_text>\ngoodbye\n</new_text>\n";
const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-hello\n+goodbye\n*** End Patch\n";

#[tokio::test]
async fn a_described_edit_is_written_by_the_edit_model_and_counted() {
    for (edit_model, name, reply, form) in [
        ("same", MODEL, TAGS, "xml"),
        ("anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4-5", TAGS, "xml"),
        ("openai/gpt-5.5", "openai/gpt-5.5", PATCH, "apply-patch"),
    ] {
        let server = Server::start(described_edit(&[reply])).await.unwrap();
        let project = Project::new(&[("a.txt", "hello\n")]).unwrap();
        let hew = hew(&server, &project);
        let data = hew.home().join("data");
        let hew = hew.env("HEW_EDIT_MODEL", edit_model).env("HEW_DATA_DIR", &data);
        let args = ["run", "--json", "--no-title", "-m", MODEL, "be polite"];
        let output = hew.clone().args(args).run().await.unwrap();
        assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
        assert_eq!(project.read("a.txt").unwrap(), "goodbye\n", "{}", output.stdout);

        let requests: Vec<_> = server
            .requests()
            .iter()
            .filter_map(|request| request.parsed())
            .collect();
        let [first, edit, last] = requests.as_slice() else {
            panic!("{} requests", requests.len())
        };
        assert!(first.raw.to_string().contains("instructions"));
        // It extends the conversation, so that its prefix is cached.
        let plain = |text: &str| text.replace('\n', "");
        assert_eq!((&edit.tools, plain(&edit.system)), (&first.tools, plain(&first.system)));
        assert!(edit.messages[0].text.starts_with(&first.messages[0].text));
        assert!(name.ends_with(&edit.model), "{}", edit.model);
        assert!(edit.last_user_text().contains("hello") && edit.last_user_text().contains("say goodbye instead"));
        assert!(last.results().all(|result| result.text.starts_with("edited a.txt")));

        let events = lines(&output);
        let usage: Vec<&Value> = events.iter().filter(|event| event["type"] == "usage").collect();
        assert_eq!(usage.len(), 3, "{usage:?}");
        assert_eq!(usage[2]["totals"]["requests"], 3, "{}", usage[2]);
        let exported = hew
            .clone()
            .args(["sessions", "export", "-f", "json"])
            .run()
            .await
            .unwrap();
        let exported: Value = serde_json::from_str(&exported.stdout).unwrap();
        let asked = exported["requests"].as_array().unwrap();
        let purposes: Vec<&Value> = asked.iter().map(|request| &request["purpose"]).collect();
        assert_eq!(purposes, ["turn", "edit", "turn"]);
        assert_eq!(
            (&asked[1]["model"], &asked[1]["outcome"]),
            (&json!(name), &json!("applied"))
        );
        let tokens = |kind: &str| asked[1]["usage"][kind].as_u64().unwrap();
        let (new, cached) = (tokens("input") + tokens("cache_write"), tokens("cache_read"));
        assert!(new > 0 && (cached > 1_000 || edit_model != "same"), "{}", asked[1]);
        assert!(asked[1]["cost_usd"].as_f64().unwrap() > 0.0, "{}", asked[1]);
        let learned = std::fs::read_to_string(data.join("edit-formats.json")).unwrap();
        let learned: Value = serde_json::from_str(&learned).unwrap();
        assert_eq!(learned, json!({name: {form: {"tries": 1, "successes": 1}}}));
    }
}

#[tokio::test]
async fn a_described_edit_that_fails_is_counted() {
    let (server, project) = (
        Server::start(described_edit(&["I would rather not."; 2]))
            .await
            .unwrap(),
        Project::new(&[("a.txt", "hello\n")]).unwrap(),
    );
    let hew = hew(&server, &project).env("HEW_EDIT_MODEL", "same");
    let args = ["run", "--json", "--no-title", "-m", MODEL, "be polite"];
    let output = hew.args(args).run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!(project.read("a.txt").unwrap(), "hello\n");
    let last = server.main_requests().last().unwrap().parsed().unwrap();
    assert!(
        last.results()
            .all(|result| result.text.contains("failed twice to write this change"))
    );
    let usage = lines(&output).into_iter().filter(|event| event["type"] == "usage");
    assert_eq!(usage.count(), 4, "two turns and two attempts");
}

#[tokio::test]
async fn edits_cannot_be_described_without_an_edit_model() {
    let (output, project, server) = run(described_edit(&[]), &["--no-title", "be polite"]).await;
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    assert_eq!(project.read("a.txt").unwrap(), "hello\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(!requests[0].json().to_string().contains("instructions"));
    let last = requests[1].parsed().unwrap();
    assert!(last.results().all(|result| {
        result
            .text
            .contains("no model is configured that carries out instructions")
    }));
}

#[tokio::test]
async fn damaged_statistics_of_edit_formats_are_reported_once_and_replaced() {
    let server = Server::start(Script::new().turn(Turn::text("ok"))).await.unwrap();
    let project = Project::new(&[]).unwrap();
    let hew = hew(&server, &project);
    let data = hew.home().join("data");
    std::fs::create_dir(&data).unwrap();
    let file = data.join("edit-formats.json");
    std::fs::write(&file, "{\"anthropic").unwrap();
    let hew = hew
        .env("HEW_DATA_DIR", &data)
        .args(["run", "-m", MODEL, "--set", "edit_model=same", "go"]);
    let output = hew.clone().run().await.unwrap();
    assert_eq!((output.code(), output.stdout.as_str()), (Some(0), "ok\n"));
    assert!(
        output.stderr.contains("edit-formats.json is damaged"),
        "{}",
        output.stderr
    );
    let again = hew.clone().run().await.unwrap();
    assert!(!again.stderr.contains("edit-formats.json"), "{}", again.stderr);
    let unknown = hew.args(["--set", "edit_model=no-such-model"]).run().await.unwrap();
    assert_eq!(unknown.code(), Some(2), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("no-such-model"), "{}", unknown.stderr);
}
