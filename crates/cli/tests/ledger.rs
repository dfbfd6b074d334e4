//! The ledger of requests, through the real binary: expected cache reads are equal to those that the provider reports, on every
//! wire, and the stored form of every request is the one that was sent.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use testkit::{Hew, Project, Script, Server, TokenCounting, Turn, TurnOrder};

/// A task of `count` steps; each reads another file. The order changes, because a cycle would be stopped.
fn steps(count: usize) -> Script {
    let read = |step: usize| {
        let number = (step + step / 10 * 3) % 10;
        Turn::text("On.").call("read_file", json!({"path": format!("{number}.txt")}))
    };
    Script::new()
        .order(TurnOrder::Sequence)
        .turns((0..count).map(read))
        .turn(Turn::text("All done."))
}

fn project() -> Project {
    let text = "All work and no play makes a dull file.\n".repeat(30);
    let names: Vec<String> = (0..10).map(|number| format!("{number}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    Project::new(&files).unwrap()
}

fn hew(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(server)
        .env("HEW_TITLE", "false")
        .current_dir(project.root())
}

async fn explain(hew: &Hew, request: &str) -> Value {
    let out = hew
        .clone()
        .args(["prompt", "explain", request, "--json"])
        .run()
        .await
        .unwrap();
    serde_json::from_str(&out.stdout).unwrap_or_else(|_| panic!("{}{}", out.stdout, out.stderr))
}

#[tokio::test]
async fn expected_cache_reads_equal_reported_ones_for_every_request_on_every_wire() {
    let models = [
        ("anthropic/claude-sonnet-4-5", 20),
        ("openai/gpt-5.5", 20),
        ("gemini/gemini-2.5-flash", 20),
        ("anthropic/claude-sonnet-4-6", 200),
    ];
    for (model, count) in models {
        let server = Server::start(steps(count)).await.unwrap();
        let project = project();
        let hew = hew(&server, &project);
        let run = hew
            .clone()
            .args(["run", "-m", model, "read them all"])
            .run()
            .await
            .unwrap();
        assert_eq!(run.stdout, "All done.\n", "{model}: {}", run.stderr);
        let requests = explain(&hew, "last").await;
        let requests = requests.as_array().unwrap();
        assert_eq!(requests.len(), count + 1, "{model}");
        for (index, request) in requests.iter().enumerate() {
            assert_eq!(
                request["expected_cached"], request["cache_read"],
                "{model}, request {index}: {request:#}"
            );
            let kind = if index == 0 { "first" } else { "extends" };
            assert_eq!(request["difference"]["kind"], kind, "{model}: {request:#}");
            // The upper limit: the whole previous request, in multiples of the provider's cache blocks.
            let possible = index.checked_sub(1).map(|before| &requests[before]["prompt_tokens"]);
            let possible = possible.and_then(Value::as_u64).unwrap_or(0);
            let read = request["cache_read"].as_u64().unwrap();
            assert!(
                read <= possible && possible - read < 128,
                "{model}, request {index}: {request:#}"
            );
            let sum = |key: &str| -> u64 {
                let sections = request["sections"].as_array().unwrap();
                sections.iter().map(|section| section[key].as_u64().unwrap()).sum()
            };
            assert_eq!(sum("tokens"), request["prompt_tokens"].as_u64().unwrap(), "{request:#}");
            assert_eq!(sum("expected_cached"), request["cache_read"].as_u64().unwrap());
        }
        let last = requests.last().unwrap();
        assert!(last["cache_read"].as_u64().unwrap() * 100 > last["prompt_tokens"].as_u64().unwrap() * 80);
    }
}

/// Many local servers and proxies count bytes instead of tokens; read and written tokens are then rounded separately.
#[tokio::test]
async fn cache_reads_of_byte_counting_servers_are_predicted_for_every_request_on_every_wire() {
    let config = |url: &str| {
        format!(
            "providers.own = {{wire = 'openai-chat', base_url = '{url}/v1', key = 'k'}}\n\
             models.'own/chat' = {{window = 200000, output = 8000, tools = true, caching = true}}\n"
        )
    };
    let models = [
        ("anthropic/claude-sonnet-4-6", 60),
        ("own/chat", 20),
        ("openai/gpt-5.5", 20),
        ("gemini/gemini-2.5-pro", 20),
    ];
    for (model, count) in models {
        let server = Server::start(steps(count).counting(TokenCounting::Bytes))
            .await
            .unwrap();
        let project = project();
        let hew = hew(&server, &project);
        std::fs::create_dir_all(hew.home().join(".config/hew")).unwrap();
        std::fs::write(hew.home().join(".config/hew/config.toml"), config(&server.url())).unwrap();
        let run = hew
            .clone()
            .args(["run", "-m", model, "read them all"])
            .run()
            .await
            .unwrap();
        assert_eq!(run.stdout, "All done.\n", "{model}: {}", run.stderr);
        let requests = explain(&hew, "last").await;
        let requests = requests.as_array().unwrap();
        assert_eq!(requests.len(), count + 1, "{model}");
        for (index, request) in requests.iter().enumerate() {
            assert_eq!(
                request["expected_cached"], request["cache_read"],
                "{model}, request {index}: {request:#}"
            );
            assert_eq!(request["cache_read"] == 0, index == 0, "{model}, request {index}");
        }
    }
}

#[tokio::test]
async fn the_first_request_has_less_than_4000_tokens() {
    let server = Server::start(Script::new().turn(Turn::text("Hello."))).await.unwrap();
    let project = project();
    let model = "openai/gpt-5.5";
    let hew = hew(&server, &project);
    hew.clone().args(["run", "-m", model, "hello"]).run().await.unwrap();
    let exact = prompt::tokens::ExactTokenizer::load(prompt::tokens::TokenizerFamily::O200k).unwrap();
    let body = String::from_utf8_lossy(&server.requests()[0].body).into_owned();
    let tokens = exact.count(&body);
    assert!((1_000..4_000).contains(&tokens), "{tokens} tokens of o200k: {body}");
}

#[tokio::test]
async fn every_request_is_shown_exactly_as_it_was_sent() {
    for model in [
        "anthropic/claude-sonnet-4-6",
        "openai/gpt-5.5",
        "gemini/gemini-2.5-flash",
    ] {
        let server = Server::start(steps(4)).await.unwrap();
        let project = project();
        let hew = hew(&server, &project);
        hew.clone()
            .args(["run", "-m", model, "read them all"])
            .run()
            .await
            .unwrap();
        hew.clone().args(["resume", "last", "and again"]).run().await.unwrap();
        let sent = server.requests();
        assert!(sent.len() >= 6, "{model}");
        let resumed = explain(&hew, "last:6").await;
        assert_eq!(resumed["difference"]["kind"], "extends", "{model}: {resumed:#}");
        assert_eq!(
            resumed["expected_cached"], resumed["cache_read"],
            "{model}: {resumed:#}"
        );
        for (index, request) in sent.iter().enumerate() {
            let named = format!("last:{}", index + 1);
            let out = hew
                .clone()
                .args(["prompt", "show", &named, "--json"])
                .run()
                .await
                .unwrap();
            assert_eq!(
                out.stdout.trim_end(),
                String::from_utf8_lossy(&request.body),
                "{model}, {named}: {}",
                out.stderr
            );
        }
        let shown = hew
            .clone()
            .args(["prompt", "show", "last:2"])
            .run()
            .await
            .unwrap()
            .stdout;
        assert!(
            shown.contains("## read_file\n") && shown.contains("# Message 1 (user)\nread them all\n"),
            "{shown}"
        );
        assert!(shown.contains("All work and no play"), "{shown}");
    }
}

#[tokio::test]
async fn the_cause_of_a_cache_break_is_shown_and_requests_are_compared() {
    let server = Server::start(steps(2)).await.unwrap();
    let project = project();
    let hew = hew(&server, &project);
    let model = "anthropic/claude-sonnet-4-6";
    hew.clone()
        .args(["run", "-m", model, "read them all"])
        .run()
        .await
        .unwrap();
    let text = hew
        .clone()
        .args(["prompt", "explain", ":2"])
        .run()
        .await
        .unwrap()
        .stdout;
    for word in [
        "tools",
        "system/",
        "turn/results/read_file",
        "Extends the previous request",
    ] {
        assert!(text.contains(word), "{word} is missing: {text}");
    }
    let all = hew.clone().args(["prompt", "explain"]).run().await.unwrap().stdout;
    assert!(
        all.contains("SINCE THE LAST REQUEST") && all.contains("extends"),
        "{all}"
    );
    let diff = hew.clone().args(["prompt", "diff"]).run().await.unwrap().stdout;
    assert!(
        diff.contains("It extends it") && diff.contains("+ (result of read_file"),
        "{diff}"
    );
    let diff = hew
        .clone()
        .args(["prompt", "diff", ":1", ":3", "--json"])
        .run()
        .await
        .unwrap()
        .stdout;
    let diff: Value = serde_json::from_str(&diff).unwrap();
    assert_eq!(diff["added"].as_array().unwrap().len(), 4, "{diff:#}");
    assert!(diff["from"].as_str().unwrap().ends_with(":1"), "{diff:#}");

    for (wrong, word) in [(":9", "no 9"), (":zz", "no request"), ("zzz:1", "no session")] {
        let out = hew.clone().args(["prompt", "explain", wrong]).run().await.unwrap();
        assert_eq!(out.code(), Some(2), "{wrong}: {}", out.stderr);
        assert!(out.stderr.contains(word), "{wrong}: {}", out.stderr);
    }
}

#[tokio::test]
async fn costs_are_summed_by_section_tool_model_day_and_session() {
    let server = Server::start(steps(3)).await.unwrap();
    let project = project();
    let hew = hew(&server, &project);
    let model = "anthropic/claude-sonnet-4-6";
    hew.clone()
        .args(["run", "-m", model, "read them all"])
        .run()
        .await
        .unwrap();
    let mut totals = Vec::new();
    for by in ["section", "tool", "model", "day", "session"] {
        let out = hew.clone().args(["cost", "--by", by, "--json"]).run().await.unwrap();
        let value: Value = serde_json::from_str(&out.stdout).unwrap();
        let rows = value["rows"].as_array().unwrap();
        let nano = |value: &Value| (value.as_f64().unwrap() * 1e9).round() as i64;
        let sum: i64 = rows.iter().map(|row| nano(&row["cost_usd"])).sum();
        assert_eq!(sum, nano(&value["total"]["cost_usd"]), "{by}: {value:#}");
        let sum: u64 = rows.iter().map(|row| row["prompt_tokens"].as_u64().unwrap()).sum();
        assert_eq!(
            sum,
            value["total"]["prompt_tokens"].as_u64().unwrap(),
            "{by}: {value:#}"
        );
        totals.push(value["total"].clone());
        if by == "tool" {
            assert!(rows.iter().any(|row| row["name"] == "read_file"), "{value:#}");
        }
    }
    assert!(totals.iter().all(|total| *total == totals[0] && total["requests"] == 4));
    let text = hew
        .clone()
        .args(["cost", "last", "--since", "1d"])
        .run()
        .await
        .unwrap()
        .stdout;
    assert!(
        text.contains(model) && text.lines().last().unwrap().starts_with("all"),
        "{text}"
    );
    let none = hew
        .clone()
        .args(["cost", "--since", "2999-01-01"])
        .run()
        .await
        .unwrap()
        .stdout;
    assert!(none.starts_with("No recorded requests match"), "{none}");
}

/// A task with a title, a summary of it, and one more turn.
async fn compacted_session() -> (Hew, Server, Project) {
    let read = |number: usize| Turn::text("On.").call("read_file", json!({"path": format!("{number}.txt")}));
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turns((0..3).map(read))
        .turn(Turn::text("All read."))
        .turn(Turn::text("## Task\nNothing is left to do."))
        .turn(Turn::text("Well."))
        .side_reply("A title");
    let server = Server::start(script).await.unwrap();
    let project = project();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .current_dir(project.root());
    let model = "anthropic/claude-sonnet-4-6";
    let run = hew.clone().args(["run", "-m", model, "read them"]).run().await.unwrap();
    assert_eq!(run.stdout, "All read.\n", "{}", run.stderr);
    let compacted = hew.clone().args(["compact", "last"]).run().await.unwrap();
    assert_eq!(compacted.code(), Some(0), "{}", compacted.stderr);
    let again = hew.clone().args(["resume", "last", "and now?"]).run().await.unwrap();
    assert_eq!(again.stdout, "Well.\n", "{}", again.stderr);
    (hew, server, project)
}

#[tokio::test]
async fn requests_for_titles_and_summaries_are_in_the_ledger() {
    let mut session = compacted_session().await;
    // A run waits for the title only briefly, and on a busy machine the title can be late.
    for _ in 0..9 {
        if !explain(&session.0, "last").await.to_string().contains("\"title\"") {
            session = compacted_session().await;
        }
    }
    let (hew, server, _project) = session;
    let all = explain(&hew, "last").await;
    let all = all.as_array().unwrap();
    let purposes: Vec<&str> = all.iter().map(|request| request["purpose"].as_str().unwrap()).collect();
    assert_eq!(purposes, ["turn", "turn", "turn", "turn", "turn", "title", "summary"]);
    for request in all {
        let sections = request["sections"].as_array().unwrap();
        let sum: u64 = sections.iter().map(|section| section["tokens"].as_u64().unwrap()).sum();
        assert_eq!(sum, request["prompt_tokens"].as_u64().unwrap(), "{request:#}");
        assert!(sum > 0 && !request["difference"].is_null(), "{request:#}");
    }
    let names = |request: &Value| -> Vec<String> {
        let sections = request["sections"].as_array().unwrap().iter();
        sections
            .map(|section| section["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&all[5]), ["title/system/identity", "title/turn/prompts"]);
    assert!(names(&all[6]).contains(&"summary/tools".into()), "{:#}", all[6]);
    // The request for the summary goes to the conversation's own model and extends its last request.
    assert_eq!(all[6]["difference"]["kind"], "extends", "{:#}", all[6]);
    assert_eq!(all[6]["expected_cached"], all[6]["cache_read"], "{:#}", all[6]);
    assert!(all[6]["cache_read"].as_u64().unwrap() > 1_000, "{:#}", all[6]);
    // The next request starts a new prefix: only its first part is cached, and its exact size is unknown.
    let after = &all[4];
    let part = after["difference"]["part"].as_str().unwrap();
    assert!(part.starts_with("summary replaced messages"), "{after:#}");
    let (expected, cached) = (
        after["expected_cached"].as_u64().unwrap(),
        after["cache_read"].as_u64().unwrap(),
    );
    assert!(expected.abs_diff(cached) * 10 <= cached, "{after:#}");
    assert_eq!(after["expected_is_estimate"], true, "{after:#}");
    let text = hew
        .clone()
        .args(["prompt", "explain", ":5"])
        .run()
        .await
        .unwrap()
        .stdout;
    assert!(
        text.contains("an estimate") && text.contains(&format!("~{expected} expected")),
        "{text}"
    );

    // They are listed, and shown exactly as they were sent.
    let list = hew.clone().args(["prompt", "explain"]).run().await.unwrap().stdout;
    assert!(list.contains("title-1") && list.contains("summary-1"), "{list}");
    for name in ["title-1", "summary-1"] {
        let out = hew
            .clone()
            .args(["prompt", "show", &format!(":{name}"), "--json"])
            .run()
            .await
            .unwrap();
        let shown = out.stdout.trim_end().to_owned();
        let sent = server.requests();
        let is_shown = |body: &[u8]| String::from_utf8_lossy(body) == shown;
        assert!(
            sent.iter().any(|request| is_shown(&request.body)),
            "{name}: {}{shown}",
            out.stderr
        );
    }
    let cost = hew
        .clone()
        .args(["cost", "--by", "section", "--json"])
        .run()
        .await
        .unwrap()
        .stdout;
    let cost: Value = serde_json::from_str(&cost).unwrap();
    assert_eq!(cost["total"]["requests"], 7, "{cost:#}");
}

#[tokio::test]
async fn sections_are_counted_by_the_models_tokenizer_if_it_is_public() {
    for (model, tokenizer) in [
        ("openai/gpt-5.5", Some("o200k_base")),
        ("anthropic/claude-sonnet-4-6", None),
    ] {
        let server = Server::start(steps(2)).await.unwrap();
        let project = project();
        let hew = hew(&server, &project);
        hew.clone()
            .args(["run", "-m", model, "read them all"])
            .run()
            .await
            .unwrap();
        let request = explain(&hew, "last:3").await;
        assert_eq!(request["tokenizer"].as_str(), tokenizer, "{request:#}");
        let counted: Vec<Option<u64>> = request["sections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|section| section["counted"].as_u64())
            .collect();
        match tokenizer {
            Some(name) => {
                let exact = prompt::tokens::ExactTokenizer::load(prompt::tokens::TokenizerFamily::O200k).unwrap();
                let prompt = request["sections"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|section| section["name"] == "turn/prompts")
                    .unwrap()["counted"]
                    .as_u64()
                    .unwrap();
                assert_eq!(prompt, exact.count("read them all"), "{request:#}");
                assert!(counted.iter().all(Option::is_some), "{request:#}");
                let text = hew
                    .clone()
                    .args(["prompt", "explain", ":3"])
                    .run()
                    .await
                    .unwrap()
                    .stdout;
                assert!(text.contains(name) && text.contains("own tokenizer"), "{text}");
            }
            None => assert!(counted.iter().all(Option::is_none), "{request:#}"),
        }
    }
}

#[tokio::test]
async fn panels_have_sections_in_the_ledger() {
    // One model gets panels as calls, the other as text.
    for model in ["anthropic/claude-sonnet-4-6", "openai/gpt-4o"] {
        let server = Server::start(steps(1)).await.unwrap();
        let project = project();
        let hew = hew(&server, &project);
        let folder = hew.home().join(".config/hew");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), "panels = [\"tree\", \"file:1.txt\"]\n").unwrap();
        let run = hew
            .clone()
            .args(["run", "-m", model, "read them all"])
            .run()
            .await
            .unwrap();
        assert_eq!(run.stdout, "All done.\n", "{model}: {}", run.stderr);
        let request = explain(&hew, "last:2").await;
        let sections = request["sections"].as_array().unwrap();
        let names: Vec<&str> = sections
            .iter()
            .map(|section| section["name"].as_str().unwrap())
            .collect();
        assert!(
            names.iter().any(|name| name.ends_with("panels/tree")),
            "{model}: {names:?}"
        );
        assert!(
            names.iter().any(|name| name.ends_with("panels/file:1.txt")),
            "{model}: {names:?}"
        );
        assert!(!names.iter().any(|name| name.ends_with("/panel")), "{model}: {names:?}");
    }
}

#[tokio::test]
async fn the_ledger_names_a_model_switch_in_another_process_as_the_cause_of_a_new_prefix() {
    let turns = ["One.", "Two."].map(Turn::text);
    let server = Server::start(Script::new().turns(turns)).await.unwrap();
    let project = project();
    let hew = hew(&server, &project);
    for (model, more) in [("anthropic/claude-sonnet-4-6", "go"), ("openai/gpt-5.5", "on")] {
        let run = hew.clone().args(["run", "-m", model]);
        let run = if more == "on" { run.arg("--continue") } else { run };
        let output = run.arg(more).run().await.unwrap();
        assert!(output.is_success(), "{}", output.stderr);
    }
    let explained = hew.clone().args(["prompt", "explain", "last"]).run().await.unwrap();
    let cause = "model: anthropic/claude-sonnet-4-6 became openai/gpt-5.5";
    assert!(explained.stdout.contains(cause), "{}", explained.stdout);
}

#[tokio::test]
async fn a_request_in_flight_at_a_kill_is_recorded() {
    let stall = testkit::Fault::Stall {
        at: testkit::FaultPosition::Head,
        ms: None,
    };
    let script = Script::new().turn(Turn::text("Never.").with_permanent_fault(stall));
    let server = Server::start(script).await.unwrap();
    let project = project();
    let hew = hew(&server, &project);
    let running = hew
        .clone()
        .args(["run", "-m", "anthropic/claude-sonnet-4-6", "go"])
        .spawn()
        .unwrap();
    let database = hew.home().join(".local/share/hew/hew.db");
    let drafts = || {
        let database = rusqlite::Connection::open(&database).ok()?;
        let count = database.query_row("SELECT count(*) FROM drafts", [], |row| row.get::<_, i64>(0));
        count.ok().filter(|count| *count > 0)
    };
    while drafts().is_none() {
        tokio::task::yield_now().await;
    }
    running.kill().unwrap();
    running.wait().await.unwrap();
    let explain = hew.clone().args(["prompt", "explain", "last", "--json"]);
    let shown = explain.run().await.unwrap();
    assert!(shown.stdout.contains("interrupted"), "{}{}", shown.stdout, shown.stderr);
    // The session is repaired when it is opened again.
    let server = Server::start(Script::new().turn(Turn::text("Here."))).await.unwrap();
    let again = hew.clone().with_server(&server).args(["resume", "last", "again"]);
    let again = again.run().await.unwrap();
    assert_eq!(again.stdout, "Here.\n", "{}", again.stderr);
    let shown = hew.args(["prompt", "explain", "last", "--json"]).run().await.unwrap();
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert!(shown.to_string().contains("interrupted"), "{shown:#}");
}
