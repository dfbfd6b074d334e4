//! Calls in text, for models without native tool calls: the real binary, real HTTP, every wire.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "text_calls/endless_replies.rs"]
mod endless_replies;
#[path = "text_calls/local_models.rs"]
mod local_models;
#[path = "text_calls/small_models.rs"]
mod small_models;
#[path = "text_calls/written_calls.rs"]
mod written_calls;

use serde_json::Value;
use testkit::{Hew, Output, Pace, ParsedRequest, Project, Role, Script, Server, Stop, Turn};

const BUGGY: &str = "def add(a, b):\n    return a - b\n\nprint(\"<sum>\", add(2, 3))\n";

fn hew(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(server)
        .current_dir(project.root())
}

/// Reads, edits with code that looks like markup, runs a command, and writes a file that contains a call.
fn task() -> Script {
    Script::new()
        .without_side_reply()
        .turn(Turn::text(
            "<thinking>First I look.</thinking>\nI look at both.\n\n<read_file>\n<path>sum.py</path>\n</read_file>\n<grep><pattern>return</pattern></grep>",
        ))
        .turn(Turn::text(
            "The sign is wrong.\n\n<edit_file>\n<path>sum.py</path>\n<old_text>\n    return a - b\n\nprint(\"<sum>\", add(2, 3))\n</old_text>\n<new_text>\n    return a + b  # </old_text> is only text\n\nprint(\"<sum>\", add(2, 3))\n</new_text>\n</edit_file>",
        ))
        .turn(Turn::text("<terminal>\n<command>grep -c 'a + b' sum.py</command>\n</terminal>\n<tool_result tool=\"terminal\">\n7\n</tool_result>\nSeven."))
        .turn(Turn::text(
            "<write_to_file>\n<path>notes.md</path>\n<content>\n# Calls\n<read_file>\n<path>x</path>\n</read_file>\n</content>\n</write_to_file>",
        ))
        .turn(Turn::text("Done: `add` adds."))
}

async fn run(script: Script, model: &str, args: &[&str]) -> (Output, Project, Server) {
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("sum.py", BUGGY)]).unwrap();
    let output = hew(&server, &project)
        .args(["run", "--no-title", "-m", model])
        .args(args)
        .run()
        .await
        .unwrap();
    (output, project, server)
}

fn requests(server: &Server) -> Vec<ParsedRequest> {
    server
        .requests()
        .iter()
        .filter_map(|request| request.parsed())
        .collect()
}

#[tokio::test]
async fn a_whole_task_is_completed_with_calls_in_text_on_every_wire() {
    for model in ["anthropic/claude-sonnet-4-6", "openai/gpt-5.5", "gemini/gemini-2.5-pro"] {
        for pace in [
            Pace::default(),
            Pace {
                delta_bytes: 1,
                ..Pace::default()
            },
        ] {
            let script = task().pace(pace);
            let (output, project, server) = run(script, model, &["--set", "tool_protocol=xml", "fix the sum"]).await;
            assert_eq!(output.stdout, "Done: `add` adds.\n", "{model}: {}", output.stderr);
            assert_eq!(
                project.read("sum.py").unwrap(),
                BUGGY.replace("a - b", "a + b  # </old_text> is only text"),
                "{model}"
            );
            assert_eq!(
                project.read("notes.md").unwrap(),
                "# Calls\n<read_file>\n<path>x</path>\n</read_file>\n"
            );
            let requests = requests(&server);
            assert_eq!(requests.len(), 5, "{model}: {}", output.stderr);
            for request in &requests {
                assert!(request.tools.is_empty() && request.calls().next().is_none(), "{model}");
                assert!(request.system.contains("## read_file") && request.system.contains("# Calling tools"));
            }
            // Every request extends the previous one and repeats the model's text unchanged.
            for pair in requests.windows(2) {
                let (before, after) = (&pair[0].messages, &pair[1].messages);
                assert_eq!(before[..], after[..before.len()], "{model}");
                assert_eq!(pair[0].system, pair[1].system);
            }
            let last = &requests[4].messages;
            assert_eq!(last[1].role, Role::Assistant);
            assert_eq!(last[1].text, task().turns[0].text, "{model}");
            assert_eq!(last[3].text, task().turns[1].text, "{model}");
            assert!(
                last[2].text.starts_with("<tool_result tool=\"read_file\">\n"),
                "{}",
                last[2].text
            );
            assert!(
                last[2].text.contains("</tool_result>\n<tool_result tool=\"grep\">"),
                "{}",
                last[2].text
            );
            assert_eq!(
                last[5].text,
                "<terminal>\n<command>grep -c 'a + b' sum.py</command>\n</terminal>"
            );
            assert!(
                last[6].text.contains("\n1\n") && !last[6].text.contains("Seven"),
                "{}",
                last[6].text
            );
        }
    }
}

#[tokio::test]
async fn the_description_of_a_model_selects_the_protocol() {
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("config.toml");
    std::fs::write(&config, "[models.\"anthropic/claude-sonnet-4-6\"]\ntools = false\n").unwrap();
    let server = Server::start(
        Script::new()
            .without_side_reply()
            .turn(Turn::text("<now/>"))
            .turn(Turn::text("Done.")),
    )
    .await
    .unwrap();
    let project = Project::new(&[("a.txt", "x")]).unwrap();
    let output = hew(&server, &project)
        .env("HEW_CONFIG", &config)
        .args([
            "run",
            "--no-title",
            "-m",
            "anthropic/claude-sonnet-4-6",
            "what time is it?",
        ])
        .run()
        .await
        .unwrap();
    assert_eq!(output.stdout, "Done.\n", "{}", output.stderr);
    let parsed = requests(&server);
    assert!(parsed[1].messages[2].text.starts_with("<tool_result tool=\"now\">\n"));
    // The configuration takes precedence.
    let server = Server::start(Script::new().turn(Turn::text("Fine."))).await.unwrap();
    let output = hew(&server, &project)
        .env("HEW_CONFIG", &config)
        .args(["run", "--no-title", "-m", "anthropic/claude-sonnet-4-6"])
        .args(["--set", "tool_protocol=native", "hello"])
        .run()
        .await
        .unwrap();
    assert_eq!(output.stdout, "Fine.\n", "{}", output.stderr);
    assert!(requests(&server)[0].offers("read_file"));
}

#[tokio::test]
async fn a_truncated_call_is_not_run_and_is_reported_to_the_model() {
    let script = Script::new()
        .without_side_reply()
        .turn(Turn::text("<write_file><path>half.txt</path><content>\nonly the beg").stop(Stop::MaxTokens))
        .turn(Turn::text(
            "<write_file><path>half.txt</path><content>\nshort\n</content></write_file>",
        ))
        .turn(Turn::text("Done."));
    let (output, project, server) = run(
        script,
        "anthropic/claude-sonnet-4-6",
        &["--set", "tool_protocol=xml", "write it"],
    )
    .await;
    assert_eq!(output.stdout, "Done.\n", "{}", output.stderr);
    assert_eq!(project.read("half.txt").unwrap(), "short\n");
    let result = &requests(&server)[1].messages[2].text;
    assert!(
        result.starts_with("<tool_result tool=\"write_file\" outcome=\"error\">\n"),
        "{result}"
    );
    assert!(result.contains("Nothing was done"), "{result}");
}

#[tokio::test]
async fn a_session_can_continue_with_the_other_protocol() {
    let server = Server::start(
        Script::new()
            .without_side_reply()
            .turn(Turn::text("I look.\n\n<read_file>\n<path>sum.py</path>\n</read_file>"))
            .turn(Turn::text("It subtracts."))
            .turn(Turn::text("As I said.")),
    )
    .await
    .unwrap();
    let project = Project::new(&[("sum.py", BUGGY)]).unwrap();
    let hew = hew(&server, &project);
    let model = ["--no-title", "-m", "anthropic/claude-sonnet-4-6"];
    let first = hew
        .clone()
        .arg("run")
        .args(model)
        .args(["--set", "tool_protocol=xml", "look"])
        .run()
        .await
        .unwrap();
    assert_eq!(first.stdout, "It subtracts.\n", "{}", first.stderr);
    let second = hew
        .arg("run")
        .args(model)
        .args(["--continue", "really?"])
        .run()
        .await
        .unwrap();
    assert!(second.is_success(), "{}", second.stderr);
    let requests = server.requests();
    let body: Value = requests.last().unwrap().json();
    let call = &body["messages"][1]["content"][1];
    assert_eq!(
        (call["type"].as_str(), call["name"].as_str()),
        (Some("tool_use"), Some("read_file")),
        "{body}"
    );
    assert_eq!(body["messages"][2]["content"][0]["type"], "tool_result");
}

#[tokio::test]
async fn a_whole_task_is_completed_in_qwens_tags() {
    let script = || {
        Script::new()
            .without_side_reply()
            .turn(Turn::text(
                "I look.\n<tool_call>\n<function=read_file>\n<parameter=path>\nsum.py\n</parameter>\n</function>\n</tool_call>",
            ))
            .turn(Turn::text(
                "<function=edit_file>\n<parameter=path>\nsum.py\n</parameter>\n<parameter=old_text>\n    return a - b\n</parameter>\n<parameter=new_text>\n    return a + b\n</parameter>\n</function>\n</tool_call>",
            ))
            .turn(Turn::text("Done."))
    };
    for pace in [
        Pace::default(),
        Pace {
            delta_bytes: 1,
            ..Pace::default()
        },
    ] {
        let args = ["--set", "tool_protocol=xml", "fix the sum"];
        let (output, project, server) = run(script().pace(pace), "openai/gpt-5.5", &args).await;
        assert_eq!(output.stdout, "Done.\n", "{}", output.stderr);
        assert_eq!(project.read("sum.py").unwrap(), BUGGY.replace("a - b", "a + b"));
        let requests = requests(&server);
        let last = &requests.last().unwrap().messages;
        assert_eq!(last[1].text, script().turns[0].text);
        assert_eq!(last[3].text, script().turns[1].text);
    }
}

#[tokio::test]
async fn content_with_tags_is_written_completely_or_refused() {
    let nested = "one\n</content>\n<path>other.txt</path>\n</content>\n</write_file>\ntwo";
    let script = Script::new()
        .without_side_reply()
        .turn(Turn::text(format!(
            "<write_file>\n<path>a.txt</path>\n<content>\n{nested}\n</content>\n</write_file>"
        )))
        .turn(Turn::text(
            "<edit_file>\n<path>sum.py</path>\n<old_text>def</old_text>\n<new_text>x</old_text>\n<new_text>y</new_text>\n</edit_file>",
        ))
        .turn(Turn::text(
            "<invoke name=\"write_file\">\n<parameter name=\"path\">b.c</parameter>\n<parameter name=\"content\">if (a &amp;&amp; b &lt; c) {}</parameter>\n</invoke>",
        ))
        .turn(Turn::text(
            "An example:\n```xml\n<write_file>\n<path>c.txt</path>\n<content>x</content>\n</write_file>\n```\nThat is all.",
        ));
    let (output, project, server) = run(script, "openai/gpt-5.5", &["--set", "tool_protocol=xml", "write files"]).await;
    assert!(output.stdout.ends_with("That is all.\n"), "{}", output.stderr);
    assert_eq!(project.read("a.txt").unwrap(), format!("{nested}\n"));
    assert!(!project.path("other.txt").exists() && !project.path("c.txt").exists());
    assert_eq!(project.read("sum.py").unwrap(), BUGGY);
    assert_eq!(project.read("b.c").unwrap(), "if (a && b < c) {}");
    let requests = requests(&server);
    let refused = &requests[2].messages.last().unwrap().text;
    assert!(refused.contains("can be read in several ways"), "{refused}");
}

#[tokio::test]
async fn calls_in_the_forms_of_other_agents_have_their_effect() {
    let written = [
        "<read_file>\n<args>\n<file>\n<path>sum.py</path>\n<line_range>2-2</line_range>\n</file>\n<file>\n<path>sum.py</path>\n</file>\n</args>\n</read_file>",
        "<write_to_file>\n<path>new.txt</path>\n<content>\nsome <b>text</b>\n</content>\n<line_count>1</line_count>\n</write_to_file>",
        "<apply_diff>\n<args>\n<file>\n<path>sum.py</path>\n<diff>\n<content><<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE</content>\n<start_line>2</start_line>\n</diff>\n</file>\n</args>\n</apply_diff>",
        "<edit_file><path>sum.py</path><edits><edit><old_text>add(2, 3)</old_text><new_text>add(3, 4)</new_text></edit></edits></edit_file>",
        "<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"python3 sum.py\"}}\n</tool_call>",
    ];
    let turns = written.map(|call| Turn::text(format!("Next.\n\n{call}")));
    let script = Script::new()
        .without_side_reply()
        .turns(turns)
        .turn(Turn::text("Done."));
    let model = "anthropic/claude-sonnet-4-6";
    let (output, project, server) = run(script, model, &["--set", "tool_protocol=xml", "go"]).await;
    let requests = requests(&server);
    let results: Vec<&str> = requests.iter().skip(1).map(ParsedRequest::last_user_text).collect();
    assert_eq!(output.stdout, "Done.\n", "{} {results:?}", output.stderr);
    for (result, expected) in results
        .iter()
        .zip(["return a - b", "new.txt", "sum.py", "sum.py", "<sum> 7"])
    {
        assert!(
            result.contains(expected) && !result.contains("outcome=\"error\""),
            "{result}"
        );
    }
    assert_eq!(project.read("new.txt").unwrap(), "some <b>text</b>\n");
    let fixed = BUGGY.replace("a - b", "a + b").replace("(2, 3)", "(3, 4)");
    assert_eq!(project.read("sum.py").unwrap(), fixed);
}

#[tokio::test]
async fn calls_in_tags_of_tools_that_are_not_available_are_answered() {
    let written = [
        "<access_mcp_resource>\n<server_name>docs</server_name>\n<uri>x://y</uri>\n</access_mcp_resource>",
        "<fetch_instructions>\n<task>create_mode</task>\n</fetch_instructions>",
        "<write_to_file>\n<path>new.txt</path>\n<content>\nmore\nlines\n</content>\n</write_to_file>",
        "<delete_path>\n<path>sum.py</path>\n</delete_path>",
    ];
    let turns = written.map(|call| Turn::text(format!("Next.\n\n{call}")));
    let script = Script::new()
        .without_side_reply()
        .turns(turns)
        .turn(Turn::text("Done: an <unknown_tag>x</unknown_tag> is text."));
    let model = "anthropic/claude-sonnet-4-6";
    let xml = ["--set", "tool_protocol=xml", "--set", "profile=ask", "go"];
    let (output, project, server) = run(script, model, &xml).await;
    let requests = requests(&server);
    let results: Vec<&str> = requests.iter().skip(1).map(ParsedRequest::last_user_text).collect();
    let expected = [
        "In hew: `access_mcp_resource`",
        "In hew: `skill`",
        "In hew: `write_file`, which is not available",
        "It is not available",
    ];
    assert_eq!(results.len(), expected.len(), "{} {}", output.stdout, output.stderr);
    for (result, expected) in results.iter().zip(expected) {
        assert!(
            result.contains("There is no tool") && result.contains(expected),
            "{result}"
        );
    }
    assert_eq!(output.stdout, "Done: an <unknown_tag>x</unknown_tag> is text.\n");
    assert_eq!(project.read("sum.py").unwrap(), BUGGY);
}
