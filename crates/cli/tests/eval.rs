//! `hew eval`: attempts, checks, resuming, comparisons, other agents and other formats of suites.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::{Hew, Output, ParsedRequest, Project, Script, Server, Turn};
use tokio::sync::mpsc;

fn hew(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .current_dir(project.root())
        .with_server(server)
        .args(["-m", "anthropic/claude-sonnet-4-6"])
}

fn evaluate(hew: &Hew, more: &[&str]) -> Hew {
    hew.clone()
        .args(["eval", "suite", "--out", "out", "-j", "4"])
        .args(more)
}

async fn finished(hew: Hew) -> (Output, Value) {
    let output = hew.arg("--json").run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    let report = serde_json::from_str(&output.stdout).unwrap();
    (output, report)
}

/// A suite of tasks `0`, `1` and so on, in a project; each task requires a file with its number.
fn numbered_suite(count: usize) -> Project {
    let project = Project::new(&[("README.md", "")]).unwrap();
    for number in 0..count {
        let task = format!(
            "prompt = 'Write task {number}.'\ncheck = 'test \"$(cat out.txt)\" = {number} && sh hidden.sh'\n\
             [files]\n'in.txt' = 'x'\n[hidden]\n'hidden.sh' = 'test -e in.txt'\n"
        );
        project.write(format!("suite/{number}/task.toml"), task).unwrap();
    }
    project
}

/// The number of the task in the prompt of a request.
fn number(request: &ParsedRequest) -> usize {
    let text = format!("{:?}", request.messages);
    let digits = text.split("Write task ").nth(1).unwrap_or_default();
    digits
        .chars()
        .take_while(char::is_ascii_digit)
        .collect::<String>()
        .parse()
        .unwrap()
}

/// A model that solves every task for which `solves` is true.
fn model(solves: impl Fn(usize) -> bool + Send + Sync + 'static) -> Script {
    Script::dynamic(move |request| {
        let number = number(request);
        match request.results().next() {
            Some(_) => Turn::text("Done."),
            None if solves(number) => {
                Turn::calls("write_file", json!({"path": "out.txt", "content": number.to_string()}))
            }
            None => Turn::text("I cannot do that."),
        }
    })
}

/// A report without the values that depend on the speed of the machine or the order of attempts.
fn without_times(mut report: Value) -> Value {
    for one in report["configurations"].as_array_mut().unwrap() {
        // The server's cache depends on the order of requests.
        for name in ["duration_ms", "cached_tokens", "cost_usd"] {
            one["totals"].as_object_mut().unwrap().remove(name);
        }
    }
    for comparison in report["comparisons"].as_array_mut().unwrap() {
        for name in ["seconds", "cost_usd"] {
            comparison.as_object_mut().unwrap().remove(name);
        }
    }
    for path in ["results", "report"] {
        report.as_object_mut().unwrap().remove(path);
    }
    report
}

#[tokio::test]
async fn attempts_are_counted_with_intervals_and_reported() {
    let server = Server::start(model(|number| number != 2)).await.unwrap();
    let project = numbered_suite(4);
    let hew = hew(&server, &project);
    let (_, report) = finished(evaluate(&hew, &["-n", "2"])).await;
    let found = &report["configurations"][0];
    assert_eq!(
        (&found["solved"], &found["attempts"], &found["tasks"]),
        (&json!(6), &json!(8), &json!(4))
    );
    assert_eq!(found["pass_at"], json!([0.75, 0.75]));
    // Two requests for each solved attempt and one for the others.
    assert_eq!(
        (&found["totals"]["steps"], &found["totals"]["tool_calls"]),
        (&json!(14), &json!(6))
    );
    assert!(found["totals"]["input_tokens"].as_u64().unwrap() > 0);
    let low = found["interval"][0].as_f64().unwrap();
    assert!((0.40..0.42).contains(&low), "{low}");
    let page = project.read("out/report.html").unwrap();
    assert!(
        page.contains("<svg") && page.contains("75 %") && !page.contains("<script"),
        "{page}"
    );
    // Every attempt is linked to its session, which is in the data folder of the evaluation.
    let lines = project.read("out/results.jsonl").unwrap();
    let attempt = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let session = attempt
        .clone()
        .find_map(|line| line["session"].as_str().map(str::to_owned))
        .unwrap();
    assert!(page.contains(&session));
    let data = project.path("out/data");
    let shown = hew
        .clone()
        .env("HEW_DATA_DIR", data)
        .args(["sessions", "show", &session])
        .run()
        .await
        .unwrap();
    assert!(shown.stdout.contains("Write task"), "{}{}", shown.stdout, shown.stderr);
    let unsolved = attempt.clone().find(|line| line["outcome"] == "unsolved").unwrap();
    assert_eq!(unsolved["task"], "2");
    // Finished attempts are not repeated; missing ones are added.
    let before = server.requests().len();
    let (_, again) = finished(evaluate(&hew, &["-n", "2"])).await;
    assert_eq!(
        (without_times(again), server.requests().len()),
        (without_times(report), before)
    );
    let (_, more) = finished(evaluate(&hew, &["-n", "3"])).await;
    assert_eq!(more["configurations"][0]["attempts"], 12);
}

/// `HEW_EVAL_TASKS=200 HEW_EVAL_KILLS=10` for the long variant.
fn from_env(name: &str, default: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

#[tokio::test]
async fn an_evaluation_that_was_killed_repeatedly_has_the_same_results() {
    let (tasks, kills) = (from_env("HEW_EVAL_TASKS", 16), from_env("HEW_EVAL_KILLS", 4));
    let project = numbered_suite(tasks);
    let undisturbed = Server::start(model(|number| number % 3 != 0)).await.unwrap();
    let expected = hew(&undisturbed, &project).args(["eval", "suite", "--out", "undisturbed", "-j", "4"]);
    let (_, expected) = finished(expected).await;
    let (announce, mut requests) = mpsc::unbounded_channel();
    let count = AtomicUsize::new(0);
    let server = Server::start(model(move |number| {
        announce.send(count.fetch_add(1, Ordering::Relaxed)).ok();
        number % 3 != 0
    }));
    let server = server.await.unwrap();
    let hew = hew(&server, &project);
    for _ in 0..kills {
        while requests.try_recv().is_ok() {}
        let running = evaluate(&hew, &[]).spawn().unwrap();
        // Killed during attempts, some of which are recorded.
        for _ in 0..(tasks / kills).max(2) {
            requests.recv().await.unwrap();
        }
        running.kill().unwrap();
        running.wait().await.unwrap();
    }
    let torn = std::fs::OpenOptions::new()
        .append(true)
        .open(project.path("out/results.jsonl"));
    std::io::Write::write_all(&mut torn.unwrap(), b"{\"type\":\"attempt\",\"task\":\"1").unwrap();
    let (_, report) = finished(evaluate(&hew, &[])).await;
    assert_eq!(without_times(report), without_times(expected));
}

#[tokio::test]
async fn two_configurations_are_compared_by_task() {
    let script = Script::dynamic(|request| {
        let number = number(request);
        // The first settings fail on all tasks but the last two.
        let is_first = request.model.contains("haiku");
        match request.results().next() {
            Some(_) => Turn::text("Done."),
            None if is_first && number < 6 => Turn::text("No."),
            None => Turn::calls("write_file", json!({"path": "out.txt", "content": number.to_string()})),
        }
    });
    let server = Server::start(script).await.unwrap();
    let project = numbered_suite(8);
    let models = "anthropic/claude-haiku-4-5,anthropic/claude-sonnet-4-6";
    let (_, report) = finished(evaluate(&hew(&server, &project), &["--models", models])).await;
    let comparison = &report["comparisons"][0];
    assert_eq!((&comparison["gained"], &comparison["lost"]), (&json!(6), &json!(0)));
    assert!((comparison["p_value"].as_f64().unwrap() - 0.03125).abs() < 1e-9);
    assert_eq!(comparison["solved"]["mean"], 0.75);
    assert_eq!(comparison["changes"].as_array().unwrap().len(), 6);
    assert!(comparison["changes"][0]["sessions_after"][0].is_string());
    let text = evaluate(&hew(&server, &project), &["--models", models])
        .run()
        .await
        .unwrap()
        .stdout;
    assert!(
        text.contains("+75.0 points") && text.contains("McNemar p = 0.031"),
        "{text}"
    );
}

#[tokio::test]
async fn other_agents_run_on_the_same_tasks_without_seeing_the_checks() {
    let server = Server::start(Script::new()).await.unwrap();
    let project = numbered_suite(3);
    // Solves the tasks by their prompts; the checks are hidden from it.
    let agent = "peer=printf '%s' {prompt} | tr -cd 0-9 > out.txt; grep -q check \"$SUITE\"/0/task.toml && echo leaked; \
                 echo 'Tokens: 1.2k sent, 30 received.'";
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .current_dir(project.root())
        .with_server(&server);
    let hew = hew.env("SUITE", project.path("suite"));
    let (_, report) = finished(evaluate(&hew, &["--agent", agent])).await;
    let found = &report["configurations"][0];
    assert_eq!(
        (&found["name"], &found["solved"], &found["attempts"]),
        (&json!("peer"), &json!(3), &json!(3))
    );
    assert_eq!(found["totals"]["input_tokens"], 3600);
    assert_eq!(server.requests().len(), 0);
    let transcript = project.read("out/transcripts/peer-0-1.txt").unwrap();
    assert!(
        transcript.contains("Tokens:") && !transcript.contains("leaked"),
        "{transcript}"
    );
}

#[tokio::test]
async fn questions_are_checked_by_their_answer() {
    let server = Server::start(Script::new().turn(Turn::text("It is 42.")))
        .await
        .unwrap();
    let project = Project::new(&[(
        "suite/q/task.toml",
        "prompt = 'What is it?'\ncheck = 'grep -q 42 \"$HEW_EVAL_ANSWER\"'\nanswer = '42'\n[files]\n'a.txt' = ''\n",
    )])
    .unwrap();
    let (_, report) = finished(evaluate(&hew(&server, &project), &[])).await;
    assert_eq!(report["configurations"][0]["solved"], 1);
}

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "git creates the repository of the task")]
async fn a_task_of_a_repository_starts_at_its_revision() {
    let project = Project::new(&[("suite/r/task.toml", ""), ("repo/a.txt", "old\n")]).unwrap();
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        command
            .current_dir(project.path("repo"))
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(words);
        assert!(command.output().unwrap().status.success(), "{words:?}");
    };
    for words in [
        &["init", "-q"][..],
        &["add", "."],
        &["commit", "-qm", "1"],
        &["tag", "start"],
    ] {
        git(words);
    }
    project.write("repo/a.txt", "fixed\n").unwrap();
    git(&["commit", "-qam", "2"]);
    let task = "prompt = 'x'\nrepository = '../../repo'\nrevision = 'start'\ncheck = 'grep -q fixed a.txt'\n[solution]\n'a.txt' = 'fixed'\n";
    project.write("suite/r/task.toml", task).unwrap();
    let script = Script::new()
        .turn(Turn::calls(
            "terminal",
            json!({"command": "cat a.txt; git log --oneline | wc -l"}),
        ))
        .turn(Turn::text("ok"));
    let server = Server::start(script).await.unwrap();
    let (_, report) = finished(evaluate(&hew(&server, &project), &[])).await;
    assert_eq!(report["configurations"][0]["solved"], 0);
    let requests = server.requests();
    let result = requests
        .last()
        .unwrap()
        .parsed()
        .unwrap()
        .results()
        .next()
        .unwrap()
        .text
        .clone();
    // The fix is not in the history either.
    assert!(
        result.contains("old") && result.contains('1') && !result.contains("fixed"),
        "{result}"
    );
    let verified = evaluate(&hew(&server, &project), &["--verify"]).run().await.unwrap();
    assert!(
        verified.stdout.contains("1 of 1 tasks are valid"),
        "{}",
        verified.stdout
    );
}

#[tokio::test]
async fn a_harbor_task_without_container_is_evaluated() {
    let project = Project::new(&[
        ("suite/h/task.toml", "version = '1.0'\n[agent]\ntimeout_sec = 60.0\n"),
        ("suite/h/instruction.md", "Write `done` to /app/out.txt.\n"),
        ("suite/h/environment/Dockerfile", "FROM ubuntu:24.04\nWORKDIR /app\nCOPY . /app\n"),
        ("suite/h/environment/in.txt", "1\n"),
        (
            "suite/h/tests/test.sh",
            "mkdir -p /logs/verifier\nif grep -q done /app/out.txt && [ -e /app/in.txt ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n",
        ),
        ("suite/h/solution/solve.sh", "echo done > /app/out.txt\n"),
        ("suite/x/task.yaml", "instruction: Start nginx.\n"),
        ("suite/x/Dockerfile", "FROM ubuntu\nRUN apt-get install nginx\n"),
        ("suite/x/run-tests.sh", "true\n"),
    ])
    .unwrap();
    let script = Script::new()
        .turn(Turn::calls("write_file", json!({"path": "out.txt", "content": "done"})))
        .turn(Turn::text("ok"));
    let server = Server::start(script).await.unwrap();
    let hew = hew(&server, &project);
    let verified = evaluate(&hew, &["--verify"]).run().await.unwrap();
    assert!(
        verified.stdout.contains("1 of 1 tasks are valid, 1 skipped"),
        "{}",
        verified.stdout
    );
    let (output, report) = finished(evaluate(&hew, &[])).await;
    assert_eq!(
        report["configurations"][0]["solved"],
        1,
        "{}",
        project.read("out/results.jsonl").unwrap()
    );
    assert!(
        output.stderr.contains("skipped x: it needs a container (RUN)"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "git creates the checkout")]
async fn exercises_and_instances_of_other_suites_are_evaluated() {
    let exercise = "suite/python/exercises/practice/add";
    let instance = json!({"instance_id": "o__r-1", "repo": "o/r", "base_commit": "HEAD", "problem_statement": "It prints 1.",
        "patch": "--- a/a.sh\n+++ b/a.sh\n@@ -1 +1 @@\n-echo 1\n+echo 2\n",
        "test_patch": "--- /dev/null\n+++ b/t.sh\n@@ -0,0 +1 @@\n+test \"$(sh a.sh)\" = 2\n",
        "FAIL_TO_PASS": "[]", "PASS_TO_PASS": "[]", "test_cmd": "sh t.sh"});
    let path = |name: &str| format!("{exercise}/{name}");
    let project = Project::new(&[
        (path(".meta/config.json").as_str(), r#"{"files": {"solution": ["add.py"], "test": ["add_test.py"], "example": [".meta/example.py"]}}"#),
        (path(".meta/example.py").as_str(), "def add(a, b):\n    return a + b\n"),
        (path(".docs/instructions.md").as_str(), "Add two numbers.\n"),
        (path("add.py").as_str(), "def add(a, b):\n    pass\n"),
        (
            path("add_test.py").as_str(),
            "import unittest\nfrom add import add\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(add(1, 2), 3)\n",
        ),
        ("instances.jsonl", instance.to_string().as_str()),
        ("checkouts/r/a.sh", "echo 1\n"),
    ])
    .unwrap();
    for words in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "1"]] {
        let mut git = std::process::Command::new("git");
        git.current_dir(project.path("checkouts/r"))
            .args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        assert!(git.args(words).output().unwrap().status.success(), "{words:?}");
    }
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().current_dir(project.root());
    for (suite, id, agent) in [
        (
            "suite",
            "python/add",
            "x=test ! -e add_test.py && printf 'def add(a, b):\\n    return a + b\\n' > add.py; true",
        ),
        (
            "instances.jsonl",
            "o__r-1",
            "x=test ! -e t.sh && echo 'echo 2' > a.sh; true",
        ),
    ] {
        let out = format!("out-{id}").replace('/', "-");
        let hew = hew
            .clone()
            .args(["eval", suite, "--out", &out, "--checkouts", "checkouts"]);
        let listed = hew.clone().arg("--list").run().await.unwrap();
        assert!(listed.stdout.starts_with(id), "{}{}", listed.stdout, listed.stderr);
        let verified = hew.clone().arg("--verify").run().await.unwrap();
        assert!(
            verified.stdout.contains("1 of 1 tasks are valid"),
            "{}{}",
            verified.stdout,
            verified.stderr
        );
        let (_, report) = finished(hew.args(["--agent", agent])).await;
        assert_eq!(report["configurations"][0]["solved"], 1, "{suite}");
    }
}

#[tokio::test]
async fn invalid_arguments_are_reported() {
    let server = Server::start(Script::new()).await.unwrap();
    let project = numbered_suite(1);
    project.write("empty/a.txt", "").unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .current_dir(project.root())
        .with_server(&server);
    for (words, message) in [
        (&["eval", "missing"][..], "missing: No such file"),
        (&["eval", "empty"], "contains no tasks"),
        (&["eval", "suite", "-t", "zzz"], "no task matches zzz"),
        (&["eval", "suite", "-n", "0"], "0 is not in 1.."),
        (&["eval", "suite", "--variant", "x"], "--variant takes NAME=ARGS"),
        (
            &["eval", "suite", "--agent", "a=true", "--agent", "a=false"],
            "two configurations are named `a`",
        ),
    ] {
        let output = hew.clone().args(words).run().await.unwrap();
        assert!(
            output.code() != Some(0) && output.stderr.contains(message),
            "{words:?}: {}",
            output.stderr
        );
    }
    // The same name with other settings would mix results.
    for (command, fails) in [("true", false), ("false", true)] {
        let agent = format!("a={command}");
        let output = evaluate(&hew, &["--agent", &agent]).run().await.unwrap();
        assert_eq!(output.code() != Some(0), fails, "{}", output.stderr);
    }
}

#[tokio::test]
async fn an_invalid_task_is_found_by_verify() {
    let server = Server::start(Script::new()).await.unwrap();
    let project = Project::new(&[("README.md", "")]).unwrap();
    // The check passes before anything was done.
    let task = "prompt = 'Do it.'\ncheck = 'true'\n";
    project.write("suite/0/task.toml", task).unwrap();
    let hew = hew(&server, &project);
    let verified = evaluate(&hew, &["--verify"]).run().await.unwrap();
    assert_eq!(verified.code(), Some(1), "{}{}", verified.stdout, verified.stderr);
    assert!(
        verified.stdout.contains("0 of 1 tasks are valid"),
        "{}",
        verified.stdout
    );
}

#[tokio::test]
async fn each_task_of_the_suite_fails_before_and_passes_with_its_solution() {
    let suite: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals");
    let project = Project::new(&[]).unwrap();
    let environment = ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
    let mut hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().current_dir(project.root());
    // Interpreters may be installed below the home folder; checks write only in their working copies.
    for name in environment {
        if let Some(value) = std::env::var_os(name) {
            hew = hew.env(name, value);
        }
    }
    let hew = hew.arg("eval").arg(&suite).args(["--out", "out"]);
    let output = hew.clone().args(["--verify", "-j", "4"]).run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    let listed = hew.arg("--list").run().await.unwrap().stdout;
    assert_eq!(listed.lines().count(), 60, "{listed}");
    let languages: std::collections::BTreeSet<&str> =
        listed.lines().filter_map(|line| line.split('/').next()).collect();
    assert_eq!(languages.len(), 8, "{languages:?}");
}
