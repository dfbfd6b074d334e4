//! Subtasks, todo lists, results and autonomy, with the real binary and a scripted model.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Hew, Pace, ParsedRequest, Project, Script, Server, Turn};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

fn hew(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(server)
        .current_dir(project.root())
        .env("HEW_TITLE", "false")
}

async fn lines(hew: Hew) -> Vec<Value> {
    let output = hew.run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

async fn parsed(hew: Hew) -> Value {
    let output = hew.run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

fn is_child(seen: &ParsedRequest) -> bool {
    seen.system.contains("# Subtask")
}

#[tokio::test]
async fn a_subtask_is_reported_listed_shown_and_counted_once() {
    let script = Script::dynamic(|seen| match (is_child(seen), seen.results().count()) {
        (true, 0) => Turn::text("Looking.").call("read_file", json!({"path": "a.txt"})),
        (true, _) => Turn::text("It says hello."),
        (false, 0) => {
            Turn::text("I delegate it.").call("new_task", json!({"title": "read it", "prompt": "read a.txt"}))
        }
        (false, _) => Turn::text("The helper says: hello."),
    });
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "hello\n")]).unwrap();
    let hew = hew(&server, &project);
    let events = lines(hew.clone().args(["run", "--json", "-m", MODEL, "go"])).await;
    let of = |kind: &str| -> Vec<&Value> { events.iter().filter(|line| line["type"] == kind).collect() };
    let finished = of("subtask.finished");
    assert_eq!((finished.len(), &finished[0]["answer"]), (1, &json!("It says hello.")));
    let tools = of("subtask")
        .into_iter()
        .filter(|line| line["event"]["item"]["tool"] == "read_file");
    assert_eq!(tools.count(), 1);
    let last = of("turn.finished")[0];
    assert_eq!(last["answer"], "The helper says: hello.");
    assert_eq!((of("usage").len(), &last["totals"]["requests"]), (4, &json!(4)));

    let list = parsed(hew.clone().args(["sessions", "list", "--json"])).await;
    let (first, child) = (&list[0], &list[1]);
    assert_eq!((&child["parent"], &child["title"]), (&first["id"], &json!("read it")));
    assert_eq!((&first["requests"], &child["requests"]), (&json!(4), &json!(2)));
    let table = hew.clone().args(["sessions"]).run().await.unwrap().stdout;
    assert!(table.contains("└ read it"), "{table}");
    let id = child["id"].as_str().unwrap();
    let shown = hew.clone().args(["sessions", "show"]).run().await.unwrap().stdout;
    assert!(shown.contains(&format!("- Subtask: {id} (read it)")), "{shown}");
    let shown = hew.clone().args(["sessions", "show", id]).run().await.unwrap().stdout;
    assert!(
        shown.contains("- Subtask of: ") && shown.contains("It says hello."),
        "{shown}"
    );
    let exported = parsed(hew.clone().args(["sessions", "export", "-f", "json"])).await;
    let requests = exported["requests"].as_array().unwrap();
    let output: u64 = requests
        .iter()
        .map(|request| request["usage"]["output"].as_u64().unwrap())
        .sum();
    assert_eq!(
        (requests.len(), exported["totals"]["usage"]["output"].as_u64()),
        (4, Some(output))
    );

    let text = hew.clone().args(["run", "-m", MODEL, "again"]).run().await.unwrap();
    assert_eq!(text.stdout, "The helper says: hello.\n");
    assert!(text.stderr.contains("1› ✓ Read a.txt"), "{}", text.stderr);
}

#[tokio::test]
async fn a_killed_subtask_is_reported_and_resumed_and_no_tool_runs_twice() {
    let script = Script::dynamic(|seen| {
        let step_turn = |text: &str, step: usize| {
            let words = "some words that take a while to stream. ".repeat(10);
            Turn::text(format!("{text} {words}"))
                .call("terminal", json!({"command": format!("echo {step} >> journal.txt")}))
        };
        let step = seen.calls().count();
        match (is_child(seen), step) {
            (true, 0..4) => step_turn("Step.", step),
            (true, _) => Turn::text("All steps are done."),
            (false, 0) => Turn::text("").call("new_task", json!({"prompt": "do the steps"})),
            (false, _) => match seen.results().last().map(|result| result.text.clone()) {
                Some(text) if text.contains("its id as resume") => {
                    let id = text
                        .lines()
                        .last()
                        .unwrap()
                        .trim_start_matches("- ")
                        .split(' ')
                        .next()
                        .unwrap()
                        .to_string();
                    Turn::text("Continuing.").call("new_task", json!({"resume": id}))
                }
                Some(text) => Turn::text(format!("Done: {}", text.lines().next().unwrap_or_default())),
                None => Turn::text("?"),
            },
        }
    })
    .pace(Pace::with_delay(24, Duration::from_millis(3)));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[]).unwrap();
    let hew = hew(&server, &project);
    let running = hew.clone().args(["run", "--json", "-m", MODEL, "go"]).spawn().unwrap();
    while project.read("journal.txt").unwrap_or_default().lines().count() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.kill().unwrap();
    running.wait().await.unwrap();
    let events = lines(hew.clone().args(["resume", "--json"])).await;
    assert_eq!(
        events.last().unwrap()["answer"],
        "Done: All steps are done.",
        "{events:#?}"
    );
    let journal = project.read("journal.txt").unwrap();
    let mut steps: Vec<&str> = journal.lines().collect();
    let all = steps.len();
    steps.dedup();
    assert_eq!((steps.len(), steps[0]), (all, "0"), "{journal}");
    let list = parsed(hew.clone().args(["sessions", "list", "--json"])).await;
    assert_eq!(
        list.as_array().unwrap().len(),
        2,
        "a new subtask was started instead of resuming it"
    );
}

#[tokio::test]
async fn a_run_with_autonomy_waits_for_its_subtasks_and_continues() {
    let script = || {
        Script::dynamic(|seen| {
            if is_child(seen) {
                return Turn::text("found in the background");
            }
            match (seen.calls().count(), seen.last_user_text().contains("[Notification")) {
                (0, _) => Turn::text("").call("new_task", json!({"prompt": "look", "background": true})),
                (_, true) => Turn::text("Thank you, helper."),
                (_, false) => Turn::text("Waiting."),
            }
        })
    };
    let project = Project::new(&[]).unwrap();
    for (allowed, answer) in [("true", "Thank you, helper."), ("false", "Waiting.")] {
        let server = Server::start(script()).await.unwrap();
        let hew = hew(&server, &project).env("HEW_AUTONOMY", allowed);
        let events = lines(hew.args(["run", "--json", "-m", MODEL, "go"])).await;
        let finished: Vec<&Value> = events.iter().filter(|line| line["type"] == "turn.finished").collect();
        let last = finished.last().unwrap()["answer"].as_str().unwrap();
        // A notification that arrives before the end of the turn joins it.
        assert!(
            last == answer || allowed == "false" && last == "Thank you, helper.",
            "{allowed}: {last}"
        );
    }
}

#[tokio::test]
async fn a_todo_list_survives_a_restart_and_a_completion_result_is_the_answer() {
    let script = Script::new()
        .turn(Turn::text("").call("todo", json!({"todos": "[x] one\n[ ] two"})))
        .turn(Turn::text("Half done."))
        .turn(Turn::text("").call(
            "todo_write",
            json!({"merge": true, "todos": [{"content": "two", "status": "completed"}]}),
        ))
        .turn(Turn::text("Almost.").call("attempt_completion", json!({"result": "Both are done."})));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[]).unwrap();
    let hew = hew(&server, &project);
    let events = lines(hew.clone().args(["run", "--json", "--mode", "code", "-m", MODEL, "go"])).await;
    let todos = events.iter().find(|line| line["item"]["kind"] == "todos").unwrap();
    assert_eq!(todos["item"]["list"][1], json!({"text": "two", "status": "pending"}));
    let output = hew.clone().args(["resume", "go", "on"]).run().await.unwrap();
    assert_eq!(output.stdout, "Both are done.\n", "{}", output.stderr);
    assert!(output.stderr.contains("☰ 2/2 done"), "{}", output.stderr);
    let seen = server.main_requests().last().unwrap().parsed().unwrap();
    assert!(seen.results().any(|result| result.text == "1. [x] one\n2. [x] two"));
}

#[tokio::test]
async fn a_background_job_at_the_end_of_a_run_is_reported_or_waited_for() {
    let script = || {
        Script::dynamic(
            |seen| match (seen.calls().count(), seen.last_user_text().contains("[Notification")) {
                (0, _) => Turn::text("").call(
                    "terminal",
                    json!({"command": "sleep 2; echo finished > job.txt", "background": true}),
                ),
                (_, true) => Turn::text("The job is finished."),
                (_, false) => Turn::text("Started."),
            },
        )
    };
    for (autonomy, notice, finished) in [
        (
            "false",
            "stopped 1 background job: `sleep 2; echo finished > job.txt`; with `--set autonomy.enabled=true` hew waits",
            false,
        ),
        (
            "true",
            "waiting for 1 background job: `sleep 2; echo finished > job.txt`",
            true,
        ),
    ] {
        let project = Project::new(&[]).unwrap();
        let server = Server::start(script()).await.unwrap();
        let hew = hew(&server, &project).env("HEW_AUTONOMY", autonomy);
        let output = hew.args(["run", "-m", MODEL, "go"]).run().await.unwrap();
        assert_eq!(output.code(), Some(0), "{}", output.stderr);
        assert!(
            output
                .stderr
                .contains("◐ Run sleep 2; echo finished > job.txt · running in the background as job 1"),
            "{}",
            output.stderr
        );
        assert!(output.stderr.contains(notice), "{autonomy}: {}", output.stderr);
        assert_eq!(
            project.read("job.txt").is_ok(),
            finished,
            "{autonomy}: {}",
            output.stderr
        );
        assert_eq!(
            output.stdout.contains("The job is finished."),
            finished,
            "{}",
            output.stdout
        );
    }
    // Stopped jobs are reported with `--quiet` too.
    let project = Project::new(&[]).unwrap();
    let server = Server::start(script()).await.unwrap();
    let hew = hew(&server, &project);
    let output = hew.args(["run", "-q", "-m", MODEL, "go"]).run().await.unwrap();
    assert!(
        output.stderr.starts_with("warning: stopped 1 background job"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn waiting_for_background_work_ends_with_a_signal_or_the_time_limit() {
    let script = || {
        Script::dynamic(|seen| match seen.calls().count() {
            0 => Turn::text("").call("terminal", json!({"command": "sleep 600", "background": true})),
            _ => Turn::text("Started."),
        })
    };
    for (limit, code) in [(None, 130), (Some("--max-time=6s"), 3)] {
        let project = Project::new(&[]).unwrap();
        let server = Server::start(script()).await.unwrap();
        let hew = hew(&server, &project).env("HEW_AUTONOMY", "true");
        let arguments = ["run", "--json", "-m", MODEL, "go"];
        let mut running = hew.args(arguments).args(limit).spawn().unwrap();
        if limit.is_none() {
            running.wait_for_output("waiting for 1 background job").await.unwrap();
            running.interrupt().unwrap();
        }
        let output = running.wait().await.unwrap();
        assert_eq!(output.code(), Some(code), "{}", output.stdout);
        let stopped = "stopped 1 background job: `sleep 600`";
        assert!(output.stdout.contains(stopped), "{}", output.stdout);
        // The last line has the exit status of the run.
        let last = output.stdout.lines().last().unwrap_or_default();
        assert!(last.contains(&format!("\"exit_code\":{code}")), "{last}");
    }
}

#[tokio::test]
async fn a_background_subtask_is_not_shown_as_finished() {
    let script = Script::dynamic(|seen| match (is_child(seen), seen.calls().count()) {
        (true, _) => Turn::text("found"),
        (false, 0) => Turn::text("").call("new_task", json!({"prompt": "look", "background": true})),
        (false, _) => Turn::text("Started."),
    });
    let project = Project::new(&[]).unwrap();
    let server = Server::start(script).await.unwrap();
    let output = hew(&server, &project)
        .args(["run", "-m", MODEL, "go"])
        .run()
        .await
        .unwrap();
    let line = "◐ Subtask look · in the background as session ";
    assert!(output.stderr.contains(line), "{}", output.stderr);
}
