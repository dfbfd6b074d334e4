//! Calls that a model writes as text although its API has native calls, and replies that only look like calls.

use serde_json::{Value, json};
use testkit::{Hew, Output, Project, Script, Server, Stop, Turn, TurnOrder};

async fn run(script: Script, model: &str, more: &[&str]) -> (Output, Project, Server) {
    let server = Server::start(script.without_side_reply()).await.unwrap();
    let project = Project::new(&[("a.txt", "the content")]).unwrap();
    let output = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .current_dir(project.root())
        .args(["run", "--no-title", "-m", model])
        .args(more)
        .arg("read a.txt")
        .run()
        .await
        .unwrap();
    (output, project, server)
}

fn bodies(server: &Server) -> Vec<Value> {
    server.requests().iter().map(|request| request.json()).collect()
}

#[tokio::test]
async fn a_call_written_as_text_is_run_and_the_session_switches_to_text_calls() {
    let call = r#"{"name": "read_file", "arguments": {"path": "a.txt"}}"#;
    for (model, text) in [
        ("anthropic/claude-sonnet-4-6", format!("```json\n{call}\n```")),
        (
            "openai/gpt-5.5",
            format!("I will read it.\n```json\n{call}\n```\nThen I answer."),
        ),
        ("gemini/gemini-2.5-pro", format!("<tool_call>\n{call}\n</tool_call>")),
        ("openai/gpt-5.5", format!("<tool_call>\n{call}")),
        ("openai/gpt-5.5", call.trim_end_matches('}').to_owned() + "}"),
        (
            "anthropic/claude-sonnet-4-6",
            "<read_file>\n<path>a.txt</path>".to_owned(),
        ),
        ("openai/gpt-5.5", format!("```json\n{call}")),
        (
            "openai/gpt-5.5",
            "I look.\n```xml\n<read_file>\n<path>a.txt</path>\n</read_file>\n```\nThen I answer.".to_owned(),
        ),
        (
            "anthropic/claude-sonnet-4-6",
            "<read_file><args><file><path>a.txt</path></file></args></read_file>".to_owned(),
        ),
        // Mistral, DeepSeek, Kimi, GLM, gpt-oss, Llama
        ("openai/gpt-5.5", "I look.[TOOL_CALLS]read_file[ARGS]{\"path\": \"a.txt\"}".to_owned()),
        (
            "openai/gpt-5.5",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{\"path\": \"a.txt\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>".to_owned(),
        ),
        (
            "openai/gpt-5.5",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"path\": \"a.txt\"}<|tool_call_end|><|tool_calls_section_end|>".to_owned(),
        ),
        (
            "openai/gpt-5.5",
            "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>".to_owned(),
        ),
        (
            "openai/gpt-5.5",
            "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{\"path\": \"a.txt\"}<|call|>".to_owned(),
        ),
        ("gemini/gemini-2.5-pro", "<function=read_file>{\"path\": \"a.txt\"}</function>".to_owned()),
    ] {
        let script = Script::new().turn(Turn::text(&text)).turn(Turn::text("Done."));
        let (output, _, server) = run(script, model, &[]).await;
        assert!(output.is_success(), "{text}: {}", output.stderr);
        assert!(output.stdout.ends_with("Done.\n"), "{text}: {}", output.stdout);
        assert!(
            output.stderr.contains("switching to tool calls in text"),
            "{text}: {}",
            output.stderr
        );
        let bodies = bodies(&server);
        assert_eq!(bodies.len(), 2, "{text}");
        assert!(
            bodies[0].get("tools").is_some() && bodies[1].get("tools").is_none(),
            "{text}"
        );
        let sent = bodies[1].to_string();
        assert!(sent.contains("the content"), "{text}: {sent}");
    }
}

#[tokio::test]
async fn a_written_edit_may_call_its_new_text_content() {
    let read = "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n```";
    let edit = "```json\n{\"name\": \"edit_file\", \"arguments\": {\"path\": \"a.txt\", \"old_text\": \"the\", \"content\": \"a\"}}\n```";
    let script = Script::new().turns([read, edit, "Done."].map(Turn::text));
    let (output, project, _) = run(script, "openai/gpt-5.5", &[]).await;
    assert!(output.stdout.ends_with("Done.\n"), "{}", output.stderr);
    assert_eq!(project.read("a.txt").unwrap(), "a content");
}

#[tokio::test]
async fn a_model_that_makes_native_calls_may_quote_a_call() {
    let quote = "The file holds an example:\n```json\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"b.txt\", \"content\": \"x\"}}\n```";
    let script = Script::new()
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text(quote));
    let (output, project, _) = run(script, "openai/gpt-5.5", &[]).await;
    assert_eq!(output.stdout.trim_end(), quote, "{}", output.stderr);
    assert!(!project.path("b.txt").exists());
}

#[tokio::test]
async fn a_model_that_makes_native_calls_may_end_its_reply_with_a_call_in_tags() {
    let call = "Now I write.\n<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"b.txt\", \"content\": \"x\"}}\n</tool_call>";
    let script = Script::new()
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text(call))
        .turn(Turn::text("Done."));
    let (output, project, _) = run(script, "openai/gpt-5.5", &[]).await;
    assert!(output.stdout.ends_with("Done.\n"), "{}", output.stderr);
    assert!(project.path("b.txt").exists());
}

#[tokio::test]
async fn a_reply_that_only_looks_like_a_call_never_ends_a_run_successfully() {
    for text in [
        "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a",
        "<tool_call>\nread a.txt\n</tool_call>",
        "<read_file>a.txt</read_file>",
        "I look.\n<read_file>\n<path>a.txt\n\nThen I answer.",
        "{\"name\": \"read_file\", \"arguments\": path a.txt}",
    ] {
        // In the text protocol, a call that is not closed is made, and the model reads its error.
        let is_unclosed = text.starts_with("I look.");
        for protocol in ["native", "xml"].into_iter().take(if is_unclosed { 1 } else { 2 }) {
            let set = format!("tool_protocol={protocol}");
            let turns = (0..4).map(|_| Turn::text(text));
            let (output, _, server) = run(Script::new().turns(turns), "openai/gpt-5.5", &["--set", &set]).await;
            assert_eq!(output.code(), Some(1), "{protocol} {text}: {}", output.stdout);
            // Each failure is reported to the model.
            let bodies = bodies(&server);
            assert_eq!(bodies.len(), 3, "{protocol} {text}");
            let sent = bodies[2].to_string();
            assert!(sent.contains("could not be understood"), "{protocol} {text}: {sent}");
            // The second reply succeeds.
            let script = Script::new().turn(Turn::text(text)).turn(Turn::text("Done."));
            let (output, ..) = run(script, "openai/gpt-5.5", &["--set", &set]).await;
            assert!(output.is_success(), "{protocol} {text}: {}", output.stderr);
        }
    }
}

#[tokio::test]
async fn a_call_of_an_unknown_tool_in_text_is_answered_with_the_tools() {
    let call = "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```";
    let script = Script::new().turn(Turn::text(call)).turn(Turn::text("Done."));
    let (output, _, server) = run(script, "openai/gpt-5.5", &[]).await;
    assert!(output.is_success(), "{}", output.stderr);
    let sent = bodies(&server)[1].to_string();
    assert!(sent.contains("There is no tool `get_weather`"), "{sent}");
}

#[tokio::test]
async fn an_empty_reply_changes_the_next_request() {
    let turns = ["", "", "Done."].map(Turn::text);
    let script = Script::new().order(TurnOrder::Sequence).turns(turns);
    let (output, _, server) = run(script, "openai/gpt-5.5", &[]).await;
    assert_eq!(output.stdout, "Done.\n", "{}", output.stderr);
    let bodies: Vec<String> = bodies(&server).iter().map(Value::to_string).collect();
    assert_eq!(bodies.len(), 3);
    assert!(bodies[0] != bodies[1] && bodies[1] != bodies[2]);
}

#[tokio::test]
async fn a_call_cut_by_the_output_limit_goes_back_to_the_model_on_every_wire() {
    for model in [
        "anthropic/claude-sonnet-4-6",
        "openai/gpt-5.5",
        "groq/openai/gpt-oss-120b",
    ] {
        let input = r#"{"path": "b.txt", "content": "only the beg"#;
        let cut = Turn::default().raw_call("write_file", input).stop(Stop::MaxTokens);
        let script = Script::new().turn(cut).turn(Turn::text("Done."));
        let server = Server::start(script.without_side_reply()).await.unwrap();
        let project = Project::new(&[]).unwrap();
        let output = Hew::new(env!("CARGO_BIN_EXE_hew"))
            .unwrap()
            .with_server(&server)
            .env("GROQ_API_KEY", "scripted")
            .env("GROQ_BASE_URL", format!("{}/v1", server.url()))
            .current_dir(project.root())
            .args(["run", "--no-title", "-m", model, "write b.txt"])
            .run()
            .await
            .unwrap();
        assert_eq!(output.stdout, "Done.\n", "{model}: {}", output.stderr);
        assert!(!project.path("b.txt").exists(), "{model}");
        let sent = bodies(&server)[1].to_string();
        assert!(sent.contains("is not valid JSON"), "{model}: {sent}");
    }
}
