//! Telemetry and statistics, through the real binary: an OTLP receiver with the published types checks every span and metric.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use testkit::{Hew, Project, Script, Server, Turn, TurnOrder};

/// A receiver in Python.
struct Receiver {
    child: Child,
    port: u16,
    /// Reads its output, which is larger than a pipe.
    reading: std::thread::JoinHandle<String>,
}

impl Receiver {
    /// Starts a receiver; `None` without a Python that has the types.
    fn start(protocol: &str) -> Option<Receiver> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let named = std::env::var_os("HEW_PYTHON").map(PathBuf::from);
        let python = named.unwrap_or_else(|| folder.join("../../.tools/python/bin/python"));
        let types = Command::new(&python)
            .args(["-c", "import grpc, opentelemetry.proto"])
            .output();
        if !types.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: no Python with the types of OTLP (set HEW_PYTHON, or run `cargo xtask ci`)");
            return None;
        }
        let mut child = Command::new(python)
            .arg(folder.join("tests/telemetry/receiver.py"))
            .arg(protocol)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let port = line
            .trim()
            .strip_prefix("listening ")
            .expect("the receiver starts")
            .parse()
            .unwrap();
        let reading = std::thread::spawn(move || {
            let mut text = String::new();
            output.read_to_string(&mut text).unwrap();
            text
        });
        Some(Receiver { child, port, reading })
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Ends the receiver and returns everything that it received.
    fn received(mut self) -> Vec<Value> {
        drop(self.child.stdin.take());
        let text = self.reading.join().unwrap();
        assert!(self.child.wait().unwrap().success());
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Twenty steps with reads, edits, a command, a failing call, an unknown tool and invalid input.
fn task() -> Script {
    let call = |step: usize| match step {
        3 => Turn::text("On.").call(
            "edit_file",
            json!({"path": "0.txt", "old_text": "one\n", "new_text": "two\nthree\n"}),
        ),
        5 => Turn::text("On.").call(
            "edit_file",
            json!({"path": "0.txt", "old_text": "not there", "new_text": "x"}),
        ),
        7 => Turn::text("On.").call("terminal", json!({"command": "exit 3"})),
        9 => Turn::text("On.").call("no_such_tool", json!({})),
        11 => Turn::text("On.").call("read_file", json!({"path": 7, "offset": "x"})),
        step => {
            let number = (step + step / 10 * 3) % 10;
            Turn::text("On.").call("read_file", json!({"path": format!("{number}.txt")}))
        }
    };
    Script::new()
        .order(TurnOrder::Sequence)
        .turns((0..20).map(call))
        .turn(Turn::text("All done."))
}

fn project() -> Project {
    let names: Vec<String> = (0..10).map(|number| format!("{number}.txt")).collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "secret content\none\nend\n"))
        .collect();
    Project::new(&files).unwrap()
}

fn hew(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(server)
        .env("HEW_TITLE", "false")
        .current_dir(project.root())
}

async fn run_task(hew: Hew) -> String {
    let run = hew
        .args([
            "run",
            "-m",
            "anthropic/claude-sonnet-4-5",
            "--permission",
            "full",
            "read them all",
        ])
        .run()
        .await
        .unwrap();
    assert_eq!(run.stdout, "All done.\n", "{}", run.stderr);
    run.stderr
}

fn spans(received: &[Value]) -> Vec<Value> {
    let exports = received.iter().filter(|export| export["signal"] == "traces");
    exports
        .flat_map(|export| export["content"]["resourceSpans"].as_array().unwrap())
        .flat_map(|resource| resource["scopeSpans"].as_array().unwrap())
        .flat_map(|scope| scope["spans"].as_array().unwrap().clone())
        .collect()
}

/// The last exported value of each metric.
fn metrics(received: &[Value]) -> BTreeMap<String, Value> {
    let exports = received.iter().filter(|export| export["signal"] == "metrics");
    exports
        .flat_map(|export| export["content"]["resourceMetrics"].as_array().unwrap())
        .flat_map(|resource| resource["scopeMetrics"].as_array().unwrap())
        .flat_map(|scope| scope["metrics"].as_array().unwrap().clone())
        .map(|metric| (metric["name"].as_str().unwrap().to_owned(), metric))
        .collect()
}

fn attributes(of: &Value) -> BTreeMap<String, Value> {
    let list = of["attributes"].as_array().cloned().unwrap_or_default();
    let value = |value: &Value| value.as_object().unwrap().values().next().cloned().unwrap_or_default();
    list.iter()
        .map(|pair| (pair["key"].as_str().unwrap().to_owned(), value(&pair["value"])))
        .collect()
}

/// The published names, and those of the resource.
fn published() -> BTreeSet<String> {
    let registries = [
        include_str!("../../telemetry/tests/data/semantic-conventions/gen-ai-registry.yaml"),
        include_str!("../../telemetry/tests/data/semantic-conventions/mcp-registry.yaml"),
        include_str!("../../telemetry/tests/data/semantic-conventions/error-registry.yaml"),
    ];
    let ids = registries.iter().flat_map(|text| text.lines());
    ids.filter_map(|line| line.trim().strip_prefix("- id: "))
        .map(|id| id.trim().to_owned())
        .collect()
}

fn points(metric: &Value) -> Vec<Value> {
    let kinds = ["sum", "histogram", "gauge"];
    let data = kinds.iter().find_map(|kind| metric[kind]["dataPoints"].as_array());
    data.cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_span_and_metric_of_a_task_of_twenty_steps_is_valid() {
    for protocol in ["http/protobuf", "http/json", "grpc"] {
        let Some(receiver) = Receiver::start(protocol) else {
            return;
        };
        let (server, project) = (Server::start(task()).await.unwrap(), project());
        let hew = hew(&server, &project)
            .env("HEW_TELEMETRY", "true")
            .env("HEW_TELEMETRY_ENDPOINT", receiver.address())
            .env("HEW_TELEMETRY_PROTOCOL", protocol)
            .env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue%20sky");
        let stderr = run_task(hew).await;
        assert!(!stderr.contains("telemetry"), "{protocol}: {stderr}");
        let received = receiver.received();
        let all = spans(&received);
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for span in &all {
            *names.entry(span["name"].as_str().unwrap()).or_default() += 1;
        }
        let expected = BTreeMap::from([
            ("chat claude-sonnet-4-5", 21),
            ("execute_tool edit_file", 2),
            ("execute_tool no_such_tool", 1),
            ("execute_tool read_file", 16),
            ("execute_tool terminal", 1),
            ("invoke_agent hew", 1),
            ("session", 1),
        ]);
        assert_eq!(names, expected, "{protocol}");
        check_spans(&all);
        check_metrics(&metrics(&received));
        let headers: Vec<String> = received.iter().map(|export| export["headers"].to_string()).collect();
        assert!(
            headers.iter().all(|headers| headers.contains("blue sky")),
            "{headers:?}"
        );
        let text = Value::Array(received).to_string();
        for content in ["secret content", "read them all", "All done", "0.txt"] {
            assert!(!text.contains(content), "{protocol}: `{content}` is exported");
        }
    }
}

fn check_spans(all: &[Value]) {
    let ids: BTreeSet<&str> = all.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), all.len(), "ids are unique");
    let traces: BTreeSet<&str> = all.iter().map(|span| span["traceId"].as_str().unwrap()).collect();
    assert_eq!(traces.len(), 1, "one trace");
    let known = published();
    let time = |span: &Value, name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
    let by_id = |id: &Value| all.iter().find(|span| span["spanId"] == *id);
    for span in all {
        let (name, attributes) = (span["name"].as_str().unwrap(), attributes(span));
        for attribute in attributes.keys() {
            let is_own = attribute.starts_with("hew.");
            assert!(
                is_own || known.contains(attribute),
                "{name}: {attribute} is not published"
            );
        }
        assert!(
            time(span, "endTimeUnixNano") >= time(span, "startTimeUnixNano"),
            "{span:#}"
        );
        assert!(attributes.contains_key("gen_ai.conversation.id"), "{span:#}");
        let parent = by_id(&span["parentSpanId"]).map(|parent| parent["name"].as_str().unwrap());
        let has = |names: &[&str]| {
            let missing: Vec<&&str> = names.iter().filter(|name| !attributes.contains_key(**name)).collect();
            assert!(missing.is_empty(), "{name} lacks {missing:?}");
        };
        match name.split(' ').next().unwrap() {
            "session" => assert_eq!(parent, None),
            "invoke_agent" => {
                assert_eq!(parent, Some("session"));
                has(&[
                    "gen_ai.operation.name",
                    "gen_ai.agent.name",
                    "gen_ai.provider.name",
                    "hew.mode",
                    "hew.turn.intent",
                ]);
            }
            "chat" => {
                assert_eq!(
                    (parent, &span["kind"]),
                    (Some("invoke_agent hew"), &json!("SPAN_KIND_CLIENT"))
                );
                assert_eq!(attributes["gen_ai.operation.name"], "chat");
                assert_eq!(attributes["gen_ai.provider.name"], "anthropic");
                has(&[
                    "gen_ai.usage.input_tokens",
                    "gen_ai.usage.output_tokens",
                    "gen_ai.usage.cache_read.input_tokens",
                    "gen_ai.usage.cache_creation.input_tokens",
                    "gen_ai.usage.reasoning.output_tokens",
                    "gen_ai.response.time_to_first_chunk",
                    "gen_ai.response.finish_reasons",
                    "hew.turn",
                    "hew.round",
                    "hew.tools.offered",
                    "hew.tools.called",
                    "hew.prompt.assembly.duration",
                    "hew.cost",
                ]);
            }
            "execute_tool" => {
                assert_eq!(parent, Some("invoke_agent hew"));
                has(&[
                    "gen_ai.tool.name",
                    "gen_ai.tool.call.id",
                    "hew.tool.outcome",
                    "hew.approval",
                ]);
            }
            other => panic!("an unexpected span: {other}"),
        }
    }
    let edits = all.iter().filter(|span| span["name"] == "execute_tool edit_file");
    let outcomes: Vec<(Value, Value)> = edits
        .map(attributes)
        .map(|attributes| {
            (
                attributes["hew.tool.outcome"].clone(),
                attributes["hew.edit.match"]["values"][0]["stringValue"].clone(),
            )
        })
        .collect();
    assert_eq!(
        outcomes,
        [(json!("done"), json!("exact")), (json!("failed"), json!("refused"))]
    );
}

fn check_metrics(metrics: &BTreeMap<String, Value>) {
    let text = [
        include_str!("../../telemetry/tests/data/semantic-conventions/gen-ai-metrics.yaml"),
        include_str!("../../telemetry/tests/data/semantic-conventions/mcp-metrics.yaml"),
    ]
    .concat();
    for name in metrics.keys() {
        let is_published = text.contains(&format!("metric_name: {name}\n"));
        assert!(is_published || name.starts_with("hew."), "{name} is not published");
    }
    let sum = |name: &str, of: &dyn Fn(&BTreeMap<String, Value>) -> bool| -> f64 {
        let metric = metrics
            .get(name)
            .unwrap_or_else(|| panic!("{name} is missing: {:?}", metrics.keys()));
        let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.parse().ok());
        let points = points(metric).into_iter().filter(|point| of(&attributes(point)));
        let values = points.map(|point| {
            ["asInt", "asDouble", "count"]
                .iter()
                .find_map(|key| number(&point[key]))
        });
        values.map(|value| value.unwrap()).sum()
    };
    let all = |_: &BTreeMap<String, Value>| true;
    assert_eq!(sum("gen_ai.client.operation.duration", &all), 21.0);
    assert_eq!(sum("gen_ai.client.token.usage", &all), 42.0);
    assert_eq!(sum("gen_ai.client.operation.time_to_first_chunk", &all), 21.0);
    assert_eq!(sum("hew.tool.calls", &all), 20.0);
    assert_eq!(sum("hew.tool.invalid_calls", &all), 2.0);
    assert_eq!(sum("hew.tool.failures", &all), 4.0);
    assert_eq!(sum("hew.edits", &|of| of["hew.edit.match"] == "exact"), 1.0);
    assert_eq!(sum("hew.edits", &|of| of["hew.edit.match"] == "refused"), 1.0);
    assert_eq!(sum("hew.lines_changed", &|of| of["hew.line.type"] == "added"), 2.0);
    assert_eq!(sum("hew.turns", &all), 1.0);
    assert!(sum("hew.cost", &all) > 0.0);
    assert!(sum("hew.cache.expected_tokens", &all) >= sum("hew.cache.read_tokens", &all));
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_are_exported_only_on_request() {
    let Some(receiver) = Receiver::start("http/protobuf") else {
        return;
    };
    let (server, project) = (Server::start(task()).await.unwrap(), project());
    let hew = hew(&server, &project)
        .env("HEW_TELEMETRY", "true")
        .env("HEW_TELEMETRY_ENDPOINT", receiver.address())
        .env("HEW_TELEMETRY_CONTENT", "true");
    run_task(hew).await;
    let received = receiver.received();
    let all = spans(&received);
    check_spans(&all);
    let with = |name: &str| all.iter().filter(|span| attributes(span).contains_key(name)).count();
    assert_eq!(with("gen_ai.input.messages"), 21);
    assert_eq!(with("gen_ai.output.messages"), 21);
    assert_eq!(with("gen_ai.tool.call.arguments"), 20);
    assert_eq!(with("gen_ai.tool.call.result"), 20);
    let text = Value::Array(received).to_string();
    for content in ["secret content", "read them all", "All done"] {
        assert!(text.contains(content), "`{content}` is not exported");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_exported_unless_the_user_enables_it_whatever_the_project_says() {
    let Some(receiver) = Receiver::start("http/protobuf") else {
        return;
    };
    let address = receiver.address();
    let (server, project) = (Server::start(task()).await.unwrap(), project());
    let settings = format!("[telemetry]\nenabled = true\nendpoint = \"{address}\"\n");
    project.write(".hew/config.toml", &settings).unwrap();
    let hew = hew(&server, &project)
        .env("HEW_TELEMETRY_ENDPOINT", &address)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &address);
    for is_trusted in [false, true] {
        if is_trusted {
            let trusted = hew.clone().args(["trust"]).run().await.unwrap();
            assert!(trusted.is_success(), "{}", trusted.stderr);
        }
        let server = Server::start(task()).await.unwrap();
        let stderr = run_task(hew.clone().with_server(&server)).await;
        assert!(
            stderr.contains("`telemetry") && stderr.contains("is ignored"),
            "{stderr}"
        );
    }
    assert_eq!(receiver.received(), [Value::Null; 0]);
}

#[tokio::test]
async fn a_missing_collector_causes_a_warning_and_the_task_completes() {
    let (server, project) = (Server::start(task()).await.unwrap(), project());
    let hew = hew(&server, &project)
        .env("HEW_TELEMETRY", "true")
        .env("HEW_TELEMETRY_ENDPOINT", "http://127.0.0.1:1");
    let stderr = run_task(hew).await;
    assert!(stderr.contains("telemetry could not be exported"), "{stderr}");
}

async fn stats(hew: &Hew, arguments: &[&str]) -> Value {
    let out = hew
        .clone()
        .args(["stats", "--json"])
        .args(arguments)
        .run()
        .await
        .unwrap();
    serde_json::from_str(&out.stdout).unwrap_or_else(|_| panic!("{}{}", out.stdout, out.stderr))
}

#[tokio::test]
async fn statistics_are_kept_without_a_collector() {
    let (server, project) = (Server::start(task()).await.unwrap(), project());
    let hew = hew(&server, &project);
    run_task(hew.clone()).await;
    let total = stats(&hew, &[]).await["total"].clone();
    for (name, expected) in [
        ("sessions", 1),
        ("turns", 1),
        ("requests", 21),
        ("calls", 20),
        ("failed_calls", 4),
        ("invalid_calls", 2),
        ("lines_added", 2),
        ("lines_removed", 1),
        ("edits", 2),
        ("refused_edits", 1),
        ("files_changed", 1),
    ] {
        assert_eq!(total[name], expected, "{name}: {total:#}");
    }
    assert!(total["cacheable_tokens"].as_u64().unwrap() >= total["cached_tokens"].as_u64().unwrap());
    let names = |stats: &Value| -> BTreeSet<String> {
        let rows = stats["rows"].as_array().unwrap().iter();
        rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    for (by, expected) in [
        ("model", vec!["anthropic/claude-sonnet-4-5"]),
        ("mode", vec!["agent"]),
        ("tool", vec!["edit_file", "no_such_tool", "read_file", "terminal"]),
        ("edit", vec!["edit_file refused", "json exact"]),
        ("ending", vec!["completed"]),
        ("purpose", vec!["turn"]),
    ] {
        let rows = stats(&hew, &["--by", by]).await;
        assert_eq!(
            names(&rows),
            expected.iter().map(|name| name.to_string()).collect(),
            "{by}"
        );
    }
    assert_eq!(stats(&hew, &["--since", "0h"]).await["total"]["requests"], 0);
    let text = hew.clone().args(["stats", "--by", "tool"]).run().await.unwrap().stdout;
    assert!(text.contains("TOOL") && text.contains("read_file"), "{text}");
    let page = project.root().join("stats.html");
    let out = hew.clone().args(["stats", "--html"]).arg(&page).run().await.unwrap();
    assert!(out.is_success(), "{}", out.stderr);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(
        html.matches("<svg").count() >= 6 && html.contains("edit_file"),
        "{html}"
    );
    assert!(
        !html.contains("http://") && !html.contains("https://"),
        "the page refers to nothing"
    );
}

#[tokio::test]
async fn survival_is_measured_after_some_time_and_after_the_commit() {
    let (server, project) = (Server::start(task()).await.unwrap(), project());
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let done = Command::new("git")
            .args(identity)
            .args(arguments)
            .current_dir(project.root())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "before"]);
    let hew = hew(&server, &project);
    run_task(hew.clone()).await;
    assert_eq!(
        stats(&hew, &[]).await["total"]["survival"],
        json!({}),
        "it is too early"
    );
    let database = hew.home().join(".local/share/hew/hew.db");
    let shift = |minutes: u64| {
        let connection = rusqlite::Connection::open(&database).unwrap();
        connection
            .execute("UPDATE calls SET at = at - ?1", [minutes as i64 * 60_000])
            .unwrap();
    };
    shift(2);
    let share = |stats: &Value, point: &str| stats["total"]["survival"][point]["share"].as_f64();
    assert_eq!(share(&stats(&hew, &[]).await, "1m"), Some(1.0));
    // The edit replaced `one` by two lines; one of them goes.
    project.write("0.txt", "secret content\ntwo\nend\n").unwrap();
    shift(4);
    let later = stats(&hew, &[]).await;
    let expected = (Some(1.0), Some(2.0 / 3.0), None, None);
    let shares = |stats: &Value| {
        (
            share(stats, "1m"),
            share(stats, "5m"),
            share(stats, "15m"),
            share(stats, "commit"),
        )
    };
    assert_eq!(shares(&later), expected);
    git(&["commit", "-q", "-a", "-m", "after"]);
    shift(20);
    project.write("0.txt", "secret content\none\nend\n").unwrap();
    let last = stats(&hew, &[]).await;
    assert_eq!(shares(&last), (Some(1.0), Some(2.0 / 3.0), Some(0.0), Some(2.0 / 3.0)));
    let by_tool = stats(&hew, &["--by", "tool"]).await;
    let rows = by_tool["rows"].as_array().unwrap();
    let edit = rows.iter().find(|row| row["name"] == "edit_file").unwrap();
    assert_eq!(edit["survival"]["15m"]["edits"], 1);
}
