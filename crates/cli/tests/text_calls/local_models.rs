//! Models of local servers: discovered without configuration, described by their servers, and adapted after rejections.

use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testkit::{Fault, Hew, Output, Project, Script, Server, Turn, TurnOrder};

/// The variable of each server's address, and the provider's name.
const SERVERS: [(&str, &str); 4] = [
    ("OLLAMA_HOST", "ollama"),
    ("LMSTUDIO_BASE_URL", "lmstudio"),
    ("LLAMACPP_BASE_URL", "llamacpp"),
    ("VLLM_BASE_URL", "vllm"),
];

/// hew without configuration; the server is the only local one.
fn unconfigured(variable: &str, server: &Server, project: &Project) -> Hew {
    let address = match variable {
        "OLLAMA_HOST" => format!("127.0.0.1:{}", server.port()),
        _ => format!("{}/v1", server.url()),
    };
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .current_dir(project.root())
        .env(variable, address)
}

fn bodies(server: &Server) -> Vec<Value> {
    let requests = server.requests();
    let sent = requests.iter().filter(|request| request.parsed().is_some());
    sent.map(|request| request.json()).collect()
}

fn task() -> Script {
    Script::new()
        .models(["coder-32b"])
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text("It says hello."))
}

async fn run(hew: Hew) -> Output {
    hew.args(["run", "--no-title", "read a.txt"]).run().await.unwrap()
}

#[tokio::test]
async fn a_running_local_server_is_used_without_configuration() {
    for (variable, provider) in SERVERS {
        let server = Server::start(task().window(65_536)).await.unwrap();
        let project = Project::new(&[("a.txt", "hello")]).unwrap();
        let output = run(unconfigured(variable, &server, &project)).await;
        assert_eq!(output.stdout, "It says hello.\n", "{provider}: {}", output.stderr);
        let notice = format!("using {provider}/coder-32b, which runs on this machine");
        assert!(output.stderr.contains(&notice), "{provider}: {}", output.stderr);
        let bodies = bodies(&server);
        assert_eq!((bodies.len(), &bodies[0]["model"]), (2, &json!("coder-32b")));
        // Local servers have no limit of their own.
        assert!(
            bodies[0]["max_tokens"].as_u64().is_some_and(|most| most <= 16_384),
            "{provider}"
        );
        assert!(bodies[1]["messages"].to_string().contains("hello"), "{provider}");
    }
}

#[tokio::test]
async fn a_server_that_listens_on_one_address_of_localhost_is_found() {
    for address in [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)] {
        // Not every machine has IPv6.
        let Ok(server) = Server::start_at((address, 0).into(), task()).await else {
            continue;
        };
        let project = Project::new(&[("a.txt", "hello")]).unwrap();
        for host in ["localhost", "0.0.0.0", "[::]"] {
            let hew = unconfigured("OLLAMA_HOST", &server, &project);
            let hew = hew.env("OLLAMA_HOST", format!("{host}:{}", server.port()));
            let output = hew.args(["doctor"]).run().await.unwrap();
            assert!(
                output.stdout.contains("ollama/coder-32b"),
                "{address} {host}: {}",
                output.stdout
            );
        }
        let hew = unconfigured("LLAMACPP_BASE_URL", &server, &project);
        let output = run(hew.env("LLAMACPP_BASE_URL", format!("http://localhost:{}/v1", server.port()))).await;
        assert_eq!(output.stdout, "It says hello.\n", "{address}: {}", output.stderr);
    }
}

#[tokio::test]
async fn a_model_without_tool_support_gets_the_text_protocol() {
    for (variable, provider) in &SERVERS[..3] {
        let script = Script::new()
            .models(["tiny-32b"])
            .without_tools()
            .without_side_reply()
            .turn(Turn::text("<read_file>\n<path>a.txt</path>\n</read_file>"))
            .turn(Turn::text("It says hello."));
        let server = Server::start(script).await.unwrap();
        let project = Project::new(&[("a.txt", "hello")]).unwrap();
        let output = run(unconfigured(variable, &server, &project)).await;
        assert_eq!(output.stdout, "It says hello.\n", "{provider}: {}", output.stderr);
        let bodies = bodies(&server);
        assert!(bodies.iter().all(|body| body.get("tools").is_none()), "{provider}");
        assert!(bodies[1]["messages"].to_string().contains("hello"), "{provider}");
        // The same if the model is named.
        let name = format!("{provider}/tiny-32b");
        let shown = unconfigured(variable, &server, &project).args(["prompt", "show", "--json", "-m", &name]);
        let shown = shown.run().await.unwrap();
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(shown["protocol"], "xml", "{provider}");
    }
}

#[tokio::test]
async fn the_doctor_names_the_model_of_a_local_server() {
    let server = Server::start(task()).await.unwrap();
    let project = Project::new(&[]).unwrap();
    let hew = unconfigured("OLLAMA_HOST", &server, &project);
    let output = hew.clone().args(["doctor"]).run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stdout);
    let named = "ollama/coder-32b, which runs on this machine";
    assert!(output.stdout.contains(named), "{}", output.stdout);
    assert!(
        output.stdout.contains("hew config set model ollama/coder-32b"),
        "{}",
        output.stdout
    );
    let off = hew
        .env("HEW_LOCAL_MODELS", "false")
        .args(["doctor"])
        .run()
        .await
        .unwrap();
    assert!(off.stdout.contains("no model is configured"), "{}", off.stdout);
}

#[tokio::test]
async fn a_configured_start_sends_no_request_to_local_servers() {
    let local = Server::start(task()).await.unwrap();
    let cloud = Server::start(Script::new().turn(Turn::text("ok"))).await.unwrap();
    let project = Project::new(&[]).unwrap();
    let hew = unconfigured("OLLAMA_HOST", &local, &project).with_server(&cloud);
    let output = run(hew).await;
    assert_eq!(output.stdout, "ok\n", "{}", output.stderr);
    assert_eq!(local.requests().len(), 0);
}

#[tokio::test]
async fn a_server_that_rejects_tools_gets_calls_in_text() {
    for message in [
        "registry.ollama.ai/library/gemma:2b does not support tools",
        "`tool calling` is not supported with this model",
        "Unrecognized request argument supplied: tools",
        "json: unknown field \"tools\"",
        "Additional properties are not allowed ('tools' was unexpected)",
        "Invalid value for tools: this model has no tool support",
        "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
    ] {
        let rejected = Fault::BadRequest {
            message: message.into(),
        };
        let script = Script::new()
            .models(["gemma-32b"])
            .without_side_reply()
            .turn(Turn::text("<read_file>\n<path>a.txt</path>\n</read_file>").with_fault(rejected, 1))
            .turn(Turn::text("It says hello."));
        let server = Server::start(script).await.unwrap();
        let project = Project::new(&[("a.txt", "hello")]).unwrap();
        let output = run(unconfigured("OLLAMA_HOST", &server, &project)).await;
        assert_eq!(output.stdout, "It says hello.\n", "{message}: {}", output.stderr);
        let notice = "ollama/gemma-32b does not support tool calls; switching to tool calls in text";
        assert!(output.stderr.contains(notice), "{message}: {}", output.stderr);
        let bodies = bodies(&server);
        let offered: Vec<bool> = bodies.iter().map(|body| body.get("tools").is_some()).collect();
        assert_eq!(offered, [true, false, false], "{message}");
    }
}

/// Runs a task with a model of a provider that first responds with this error message.
async fn run_rejected(message: &str, config: &str, args: &[&str]) -> (Output, Vec<Value>) {
    let rejected = Fault::BadRequest {
        message: message.into(),
    };
    let script = Script::new()
        .lenient()
        .order(TurnOrder::Sequence)
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})).with_fault(rejected, 1))
        .turn(Turn::text("It says hello."));
    let server = Server::start(script).await.unwrap();
    let config = format!(
        "temperature = 0.2\n[providers.mine]\nwire = 'openai-chat'\nbase_url = '{}/v1'\n{config}",
        server.url()
    );
    let project = Project::new(&[("config.toml", config.as_str()), ("a.txt", "hello")]).unwrap();
    let output = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .current_dir(project.root())
        .env("HEW_CONFIG", project.path("config.toml"))
        .args(["run", "--no-title", "-m", "mine/unknown", "--set", "effort=high"])
        .args(args)
        .arg("read a.txt")
        .run()
        .await
        .unwrap();
    (output, bodies(&server))
}

#[tokio::test]
async fn a_rejected_optional_field_is_left_out_and_reported() {
    for (message, field) in [
        (
            "Unrecognized request argument supplied: stream_options",
            "stream_options",
        ),
        ("json: unknown field \"reasoning_effort\"", "reasoning_effort"),
        ("\"qwen\" does not support thinking", "reasoning_effort"),
        (
            "think value \"high\" is not supported for this model",
            "reasoning_effort",
        ),
        (
            "Unsupported value: 'temperature' does not support 0.2 with this model.",
            "temperature",
        ),
    ] {
        let (output, bodies) = run_rejected(message, "", &[]).await;
        assert_eq!(output.stdout, "It says hello.\n", "{message}: {}", output.stderr);
        let notice = format!("`{field}` is left out from now on");
        assert!(output.stderr.contains(&notice), "{message}: {}", output.stderr);
        let sent: Vec<bool> = bodies.iter().map(|body| body.get(field).is_some()).collect();
        assert_eq!(sent, [true, false, false], "{message}");
    }
    // The rejection of a field that the user configured is an error.
    let message = "Unrecognized request argument supplied: seed";
    let (output, bodies) = run_rejected(message, "options = { seed = 1 }\n", &[]).await;
    assert_eq!((output.code(), bodies.len()), (Some(1), 1), "{}", output.stderr);
}

#[tokio::test]
async fn a_rejected_maximum_reply_is_renamed_or_lowered() {
    let config = "quirks = { max_tokens = 'max_tokens' }\n";
    for (message, field, value) in [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "max_completion_tokens",
            9000,
        ),
        (
            "max_tokens is too large: 9000. This model supports at most 4096 completion tokens, whereas you provided 9000.",
            "max_tokens",
            4096,
        ),
    ] {
        let (output, bodies) = run_rejected(message, config, &["--max-output", "9000"]).await;
        assert_eq!(output.stdout, "It says hello.\n", "{message}: {}", output.stderr);
        assert!(output.stderr.contains("the maximum reply is "), "{}", output.stderr);
        assert_eq!((bodies.len(), &bodies[0]["max_tokens"]), (3, &json!(9000)));
        for body in &bodies[1..] {
            assert_eq!(body[field], value, "{message}");
        }
    }
}

#[tokio::test]
async fn a_model_without_system_messages_gets_the_system_prompt_as_a_user_message() {
    for message in [
        "System role not supported",
        "Only user and assistant roles are supported!",
        "Conversation roles must alternate user/assistant/user/assistant/...",
    ] {
        let (output, bodies) = run_rejected(message, "", &[]).await;
        assert_eq!(output.stdout, "It says hello.\n", "{message}: {}", output.stderr);
        let roles = |body: &Value| -> Vec<String> {
            let messages = body["messages"].as_array().unwrap();
            messages
                .iter()
                .map(|message| message["role"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(roles(&bodies[0]), ["system", "user"]);
        assert_eq!(roles(&bodies[1]), ["user", "assistant", "user"], "{message}");
        assert_eq!(bodies[1]["messages"][0]["content"], bodies[0]["messages"][0]["content"]);
    }
}

#[tokio::test]
async fn a_result_is_cut_if_a_server_rejects_it_without_stating_its_window() {
    for compact in ["compact=true", "compact=false"] {
        let overflow = Fault::BadRequest {
            message: "prompt too long; exceeded max context length by 1204 tokens".into(),
        };
        let script = Script::new()
            .lenient()
            .order(TurnOrder::Sequence)
            .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
            .turn(Turn::text("It says hello.").with_fault(overflow, 1));
        let server = Server::start(script).await.unwrap();
        let config = format!(
            "[providers.mine]\nwire = 'openai-chat'\nbase_url = '{}/v1'\n",
            server.url()
        );
        let long = format!("first\n{}last\n", "hello world\n".repeat(6_000));
        let project = Project::new(&[("config.toml", config.as_str()), ("a.txt", long.as_str())]).unwrap();
        let output = Hew::new(env!("CARGO_BIN_EXE_hew"))
            .unwrap()
            .current_dir(project.root())
            .env("HEW_CONFIG", project.path("config.toml"))
            .args(["run", "--no-title", "-m", "mine/unknown", "--set", compact, "go"])
            .run()
            .await
            .unwrap();
        assert_eq!(output.stdout, "It says hello.\n", "{compact}: {}", output.stderr);
        let last = bodies(&server).pop().unwrap().to_string();
        assert!(
            last.contains("hello world") && last.contains("bytes omitted"),
            "{compact}: {}",
            output.stderr
        );
    }
}

#[tokio::test]
async fn the_window_that_a_server_enforces_is_learned() {
    let overflow = Fault::BadRequest {
        message: "request (20000 tokens) exceeds the available context size (12288 tokens), try increasing it".into(),
    };
    let script = Script::new()
        .models(["coder-32b"])
        .window(1_000_000)
        .order(TurnOrder::Sequence)
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text("It says hello.").with_fault(overflow, 1));
    let server = Server::start(script).await.unwrap();
    let long = "hello world\n".repeat(6_000);
    let project = Project::new(&[("a.txt", long.as_str())]).unwrap();
    let output = run(unconfigured("LLAMACPP_BASE_URL", &server, &project)).await;
    assert_eq!(output.stdout, "It says hello.\n", "{}", output.stderr);
    let notice = "the context window of llamacpp/coder-32b is 12288 tokens";
    assert!(output.stderr.contains(notice), "{}", output.stderr);
    let sizes: Vec<usize> = bodies(&server)
        .iter()
        .map(|body| body["messages"].to_string().len())
        .collect();
    assert!(sizes.len() == 3 && sizes[2] < sizes[1], "{sizes:?}");
}

#[tokio::test]
async fn a_reply_fits_the_window_that_a_server_states() {
    for (window, reply) in [(4096, 1024), (6000, 1500)] {
        let overflow = Fault::BadRequest {
            message: format!(
                "This model's maximum context length is {window} tokens. However, you requested 11060 tokens (2868 in the \
                 messages, 8192 in the completion)."
            ),
        };
        let script = Script::new()
            .models(["coder-32b"])
            .window(32_768)
            .order(TurnOrder::Sequence)
            .turn(Turn::text("ok").with_fault(overflow, 1));
        let server = Server::start(script).await.unwrap();
        let project = Project::new(&[]).unwrap();
        let output = run(unconfigured("LLAMACPP_BASE_URL", &server, &project)).await;
        assert_eq!(output.stdout, "ok\n", "{}", output.stderr);
        let limits: Vec<u64> = bodies(&server)
            .iter()
            .filter_map(|body| body["max_tokens"].as_u64())
            .collect();
        assert_eq!(limits, [8192, reply], "{}", output.stderr);
    }
}

#[tokio::test]
async fn a_small_model_gets_few_tools_and_a_short_prompt() {
    let script = Script::new()
        .models(["coder-1.5b"])
        .window(32_768)
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text("It says hello."));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "hello")]).unwrap();
    let output = run(unconfigured("LLAMACPP_BASE_URL", &server, &project)).await;
    assert_eq!(output.stdout, "It says hello.\n", "{}", output.stderr);
    let body = &bodies(&server)[0];
    let tools = body["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect();
    assert_eq!(names, ["edit_file", "read_file", "terminal", "write_file"]);
    for tool in tools {
        let schema = &tool["function"]["parameters"];
        let count = |value: &Value| value.as_array().map_or(0, Vec::len);
        let properties = schema["properties"].as_object().map_or(0, |all| all.len());
        assert_eq!(properties, count(&schema["required"]), "{tool}");
    }
    // About 500 tokens.
    let system = body["messages"][0]["content"].to_string();
    assert!(system.len() < 2_000, "{system}");
}

#[tokio::test]
async fn a_configured_effort_reaches_a_custom_provider() {
    let server = Server::start(Script::new().lenient().turn(Turn::text("ok")))
        .await
        .unwrap();
    let config = format!(
        "[providers.mine]\nwire = 'openai-chat'\nbase_url = '{}/v1'\n",
        server.url()
    );
    let project = Project::new(&[("config.toml", config.as_str())]).unwrap();
    let output = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .current_dir(project.root())
        .env("HEW_CONFIG", project.path("config.toml"))
        .args(["run", "--no-title", "-m", "mine/thinker", "--set", "effort=high", "go"])
        .run()
        .await
        .unwrap();
    assert_eq!(output.stdout, "ok\n", "{}", output.stderr);
    assert_eq!(bodies(&server)[0]["reasoning_effort"], "high");
}

#[tokio::test]
async fn call_ids_that_restart_in_each_reply_never_collide() {
    let read = || Turn::default().call_with_id("functions.read_file:0", "read_file", json!({"path": "a.txt"}));
    let script = Script::new()
        .lenient()
        .models(["coder-32b"])
        .order(TurnOrder::Sequence)
        .turns([read(), read(), read(), Turn::text("ok")]);
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "hello")]).unwrap();
    let hew = unconfigured("OLLAMA_HOST", &server, &project);
    let output = hew.args(["run", "--no-title", "--json", "read"]).run().await.unwrap();
    assert!(output.is_success(), "{}", output.stderr);
    let body = bodies(&server).pop().unwrap();
    let messages = body["messages"].as_array().unwrap();
    let results: Vec<&str> = messages
        .iter()
        .filter_map(|message| message["tool_call_id"].as_str())
        .collect();
    let mut distinct = results.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!((results.len(), distinct.len()), (3, 3), "{results:?}");
    for id in results {
        assert!(output.stdout.contains(&format!("\"{id}\"")), "{id}: {}", output.stdout);
    }
}
