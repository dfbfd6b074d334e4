//! Small models: files in the first prompt, and edits and commands written directly in the reply.

use serde_json::{Value, json};
use testkit::{Hew, Output, Project, Script, Server, Turn};

const STATS: &str = "def average(values):\n    return sum(values) / len(values)\n";
const FIXED: &str = "def average(values):\n    return sum(values) / len(values) if values else 0\n";

/// Runs a task with a model of this name.
async fn run(model: &str, replies: &[&str], project: &Project, more: &[&str]) -> (Output, Vec<Value>) {
    let turns = replies.iter().map(|reply| Turn::text(*reply));
    let server = Server::start(Script::new().models([model]).window(32_768).turns(turns))
        .await
        .unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().current_dir(project.root());
    let hew = hew.env("LLAMACPP_BASE_URL", format!("{}/v1", server.url()));
    let output = hew
        .args(["run", "--no-title"])
        .args(more)
        .arg("fix average")
        .run()
        .await
        .unwrap();
    let requests = server.requests();
    let sent = requests.iter().filter(|request| request.parsed().is_some());
    (output, sent.map(|request| request.json()).collect())
}

fn project() -> Project {
    Project::new(&[("stats.py", STATS), ("doc/notes.txt", "old\n")]).unwrap()
}

fn message(request: &Value, at: usize) -> String {
    let messages = request["messages"].as_array().unwrap();
    messages[messages.len() - 1 - at].to_string()
}

#[tokio::test]
async fn a_small_model_sees_the_files_and_its_written_files_end_the_turn() {
    for reply in [
        format!("I handle the empty list.\n\nstats.py\n```python\n{FIXED}```\n"),
        "stats.py\n```\n<<<<<<< SEARCH\n    return sum(values) / len(values)\n=======\n    return sum(values) / len(values) if values else 0\n>>>>>>> REPLACE\n```".to_owned(),
    ] {
        let project = project();
        let (output, requests) = run("coder-1.5b", &[&reply], &project, &[]).await;
        assert_eq!(output.code(), Some(0), "{}", output.stderr);
        assert_eq!(project.read("stats.py").unwrap(), FIXED);
        assert_eq!(requests.len(), 1, "{reply}");
        let prompt = message(&requests[0], 0);
        let (files, task) = prompt.split_once("The task:").unwrap();
        assert!(files.contains("return sum(values)") && files.contains("doc/notes.txt"), "{prompt}");
        // Nothing follows the task, because a small model would repeat it.
        let task = task.trim_end_matches(['"', '}', ']']);
        assert!(task.ends_with("fix average"), "{task}");
    }
}

#[tokio::test]
async fn a_refused_edit_is_returned_to_the_small_model() {
    let project = project();
    let wrong = "stats.py\n```\n<<<<<<< SEARCH\n    nothing like this is there\n=======\nx\n>>>>>>> REPLACE\n```";
    let right = format!("stats.py\n```python\n{FIXED}```");
    let (output, requests) = run("coder-1.5b", &[wrong, &right], &project, &[]).await;
    assert_eq!((output.code(), requests.len()), (Some(0), 2), "{}", output.stderr);
    assert_eq!(project.read("stats.py").unwrap(), FIXED);
    assert!(
        message(&requests[1], 0).contains("the old text is not in the file"),
        "{}",
        message(&requests[1], 0)
    );
}

#[tokio::test]
async fn a_command_in_a_code_block_runs_and_its_output_is_returned() {
    let project = project();
    let command = "```sh\nmv doc/notes.txt doc/new.txt && echo moved\n```";
    let (output, requests) = run("coder-1.5b", &[command, "Done."], &project, &[]).await;
    assert_eq!(
        (output.code(), output.stdout.as_str()),
        (Some(0), "Done.\n"),
        "{}",
        output.stderr
    );
    assert_eq!(project.read("doc/new.txt").unwrap(), "old\n");
    assert!(
        message(&requests[1], 0).contains("moved"),
        "{}",
        message(&requests[1], 0)
    );
}

#[tokio::test]
async fn a_command_below_a_sentence_about_a_file_runs_after_the_changes() {
    let project = Project::new(&[("stats.py", STATS), ("check.sh", "cat stats.py\n")]).unwrap();
    let reply = format!(
        "stats.py\n```\n{FIXED}```\n\nNow run `check.sh`:\n\n```sh\nsh check.sh\n```\n\nThe output of `check.sh` is:\n\n```\nok\n```\n"
    );
    let (output, requests) = run("coder-1.5b", &[&reply, "It is fixed."], &project, &[]).await;
    assert_eq!(
        (output.code(), output.stdout.as_str()),
        (Some(0), "It is fixed.\n"),
        "{}",
        output.stderr
    );
    assert_eq!(project.read("stats.py").unwrap(), FIXED);
    assert_eq!(project.read("check.sh").unwrap(), "cat stats.py\n");
    // The model receives its reply unchanged, and the results as text.
    let messages = requests[1]["messages"].as_array().unwrap();
    let tail = &messages[messages.len() - 2..];
    assert_eq!(
        (&tail[0]["content"], &tail[0]["tool_calls"]),
        (&json!(reply), &Value::Null)
    );
    assert_eq!(tail[1]["role"], "user");
    assert!(
        tail[1]["content"].to_string().contains("if values else 0"),
        "{}",
        tail[1]
    );
}

#[tokio::test]
async fn code_without_a_path_is_asked_for_once() {
    let project = project();
    let unnamed = format!("```python\n{FIXED}```");
    let named = format!("stats.py\n{unnamed}");
    let other = "```python\nx = 1\n```";
    let (_, requests) = run("coder-1.5b", &[other, &named], &project, &[]).await;
    assert_eq!(requests.len(), 2);
    assert!(
        message(&requests[1], 0).contains("has no file name"),
        "{}",
        message(&requests[1], 0)
    );
    assert_eq!(project.read("stats.py").unwrap(), FIXED);
    // The only file of a project needs no name, unless the code is only a part of it.
    let alone = Project::new(&[("stats.py", STATS)]).unwrap();
    let (_, requests) = run("coder-1.5b", &[&unnamed], &alone, &[]).await;
    assert_eq!((requests.len(), alone.read("stats.py").unwrap().as_str()), (1, FIXED));
    let (output, requests) = run("coder-1.5b", &[other, other], &alone, &[]).await;
    assert_eq!((output.code(), requests.len()), (Some(1), 2));
    assert_eq!(alone.read("stats.py").unwrap(), FIXED);
    // Of several files, the definitions in the code select one.
    project.write("stats.py", STATS).unwrap();
    let (output, requests) = run("coder-1.5b", &[&unnamed], &project, &[]).await;
    assert_eq!((output.code(), requests.len()), (Some(0), 1));
    assert_eq!(project.read("stats.py").unwrap(), FIXED);
}

#[tokio::test]
async fn patches_and_edits_without_a_path_are_applied() {
    let diff = "--- a/stats.py\n+++ b/stats.py\n@@ -1,2 +1,2 @@\n def average(values):\n-    return sum(values) / len(values)\n+    return sum(values) / len(values) if values else 0\n";
    let patch = "*** Begin Patch\n*** Update File: stats.py\n@@\n-    return sum(values) / len(values)\n+    return sum(values) / len(values) if values else 0\n*** End Patch\n";
    let search = "<<<<<<< SEARCH\n    return sum(values) / len(values)\n=======\n    return sum(values) / len(values) if values else 0\n>>>>>>> REPLACE\n";
    let tags = "<edits>\n<old_text>\n    return sum(values) / len(values)\n</old_text>\n<new_text>\n    return sum(values) / len(values) if values else 0\n</new_text>\n</edits>\n";
    let file = format!("<file path=\"stats.py\">\n{FIXED}</file>\n");
    for reply in [
        diff.to_owned(),
        format!("Sure!\n\n```diff\n{diff}```\n"),
        patch.to_owned(),
        format!("```\n{patch}```\n"),
        format!("```\n{search}```\n"),
        tags.to_owned(),
        file,
    ] {
        let project = Project::new(&[("stats.py", STATS)]).unwrap();
        let (output, requests) = run("coder-1.5b", &[&reply], &project, &[]).await;
        assert_eq!(
            (output.code(), requests.len()),
            (Some(0), 1),
            "{reply}\n{}",
            output.stderr
        );
        assert_eq!(project.read("stats.py").unwrap(), FIXED, "{reply}");
    }
}

#[tokio::test]
async fn a_repeated_task_is_no_answer() {
    let project = project();
    let (output, requests) = run("coder-1.5b", &["The task:\n\nfix average"; 3], &project, &[]).await;
    assert_eq!((output.code(), requests.len()), (Some(1), 3), "{}", output.stderr);
}

#[tokio::test]
async fn text_is_no_edit_for_other_models_and_in_modes_without_edits() {
    let reply = format!("stats.py\n```python\n{FIXED}```");
    for (model, more) in [
        ("coder-32b", &[][..]),
        ("coder-1.5b", &["--mode", "ask"]),
        ("coder-1.5b", &["--permission", "read-only"]),
    ] {
        let project = project();
        let (_, requests) = run(model, &[&reply, "ok", "ok", "ok"], &project, more).await;
        assert_eq!(project.read("stats.py").unwrap(), STATS, "{model} {more:?}");
        if model == "coder-32b" {
            assert_eq!(requests.len(), 1);
            assert!(!message(&requests[0], 0).contains("return sum(values)"));
        }
    }
}

#[tokio::test]
async fn a_part_of_a_file_replaces_only_that_part_or_is_refused() {
    let file = "# Numbers.\ndef add(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n\n\ndef sub(a, b):\n    return a - b\n";
    let fixed = file.replacen("a - b", "a + b", 1);
    let part = "def add(a, b):\n    return a + b\n";
    let as_call =
        |content: &str| json!({"name": "write_file", "arguments": {"path": "calc.py", "content": content}}).to_string();
    let foreign = format!("{part}\nprint(add(1, 2))\n");
    let cases = [
        (format!("calc.py\n```python\n{part}```\n"), Some(0), fixed.as_str()),
        (
            format!("Change `calc.py`:\n\n```python\n{part}```\n"),
            Some(0),
            fixed.as_str(),
        ),
        (as_call(part), Some(0), fixed.as_str()),
        (format!("calc.py\n```python\n{fixed}```\n"), Some(0), fixed.as_str()),
        (format!("calc.py\n```python\n{foreign}```\n"), Some(1), file),
        (as_call(&foreign), Some(1), file),
    ];
    for (reply, code, expected) in cases {
        let project = Project::new(&[("calc.py", file)]).unwrap();
        let replies = [reply.as_str(), "All good.", "All good.", "All good."];
        let (out, requests) = run("coder-1.5b", &replies, &project, &[]).await;
        assert_eq!(project.read("calc.py").unwrap(), expected, "{reply}\n{}", out.stderr);
        assert_eq!(out.code(), code, "{reply}\n{}", out.stderr);
        if code != Some(0) {
            let last = requests[1]["messages"].as_array().unwrap().last().unwrap().to_string();
            assert!(
                last.contains("only a part of calc.py") && last.contains("def mul"),
                "{last}"
            );
        }
    }
}

#[tokio::test]
async fn calls_that_all_fail_never_end_a_run_successfully() {
    let call = json!({"name": "call_tool", "arguments": {"name": "python3", "arguments": {}}}).to_string();
    let project = project();
    let replies = [call.as_str(), "It is done.", "It is done."];
    let (out, requests) = run("coder-1.5b", &replies, &project, &[]).await;
    assert_eq!(out.code(), Some(1), "{}", out.stderr);
    assert_eq!(requests.len(), 3);
    assert!(out.stderr.contains("nothing was done"), "{}", out.stderr);
}
