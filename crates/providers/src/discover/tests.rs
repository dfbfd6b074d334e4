//! Discovery against small servers on loopback.

use super::{discover, probe};
use crate::presets::preset;
use crate::settings::{ProviderSettings, Secret};
use model::{Cost, Error, Usage, Wire};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const LONG: Duration = Duration::from_secs(30);

/// Received requests: the request line and the headers in lower case.
type Seen = Arc<Mutex<Vec<String>>>;

/// A server that responds by `METHOD path`; other requests get 404.
async fn server(answers: Vec<(&'static str, Value)>) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (answers, log) = (answers.clone(), Arc::clone(&log));
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                let mut piece = [0_u8; 4096];
                loop {
                    let read = socket.read(&mut piece).await.unwrap_or(0);
                    bytes.extend_from_slice(&piece[..read]);
                    let text = String::from_utf8_lossy(&bytes).to_string();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else {
                        if read == 0 {
                            return;
                        }
                        continue;
                    };
                    let length = head
                        .to_lowercase()
                        .lines()
                        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
                    if body.len() < length.unwrap_or(0) {
                        continue;
                    }
                    log.lock().unwrap().push(head.to_lowercase());
                    let first: Vec<&str> = head.lines().next().unwrap_or_default().split(' ').take(2).collect();
                    let found = answers.iter().find(|(asked, _)| *asked == first.join(" "));
                    let (status, body) = match found {
                        Some((_, Value::Number(status))) => (status.to_string(), json!({"error": {"message": "no"}})),
                        Some((_, answer)) => ("200".to_string(), answer.clone()),
                        None => ("404".to_string(), json!({})),
                    };
                    let body = body.to_string();
                    let answer = format!(
                        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                        body.len()
                    );
                    socket.write_all(answer.as_bytes()).await.unwrap_or_default();
                    return;
                }
            });
        }
    });
    (address, seen)
}

async fn models_of(provider: &str, answers: Vec<(&'static str, Value)>) -> Vec<model::Info> {
    let (address, _) = server(answers).await;
    let mut settings = preset(provider).unwrap().settings();
    settings.base_url = format!("{address}/v1");
    let mut found = discover(&[settings], LONG).await;
    let models = found.remove(0).models.unwrap();
    models.into_iter().map(|model| model.info).collect()
}

#[tokio::test]
async fn ollama_reports_its_actual_context_window() {
    let shown = json!({"capabilities": ["completion", "tools", "vision", "thinking"],
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 262_144}, "parameters": "stop x\nnum_ctx    8192"});
    let answers = |ps: Value| {
        vec![
            ("GET /api/tags", json!({"models": [{"name": "qwen3:8b"}]})),
            ("GET /api/ps", ps),
            ("POST /api/show", shown.clone()),
        ]
    };
    let idle = models_of("ollama", answers(json!({"models": []}))).await;
    let info = &idle[0];
    assert_eq!(
        (info.name().as_str(), info.limits.window, info.wire),
        ("ollama/qwen3:8b", 8_192, Wire::OpenaiChat)
    );
    assert!(info.features.tools && info.features.images && info.features.reasoning);
    assert_eq!(
        info.cost(&Usage {
            input: 9,
            ..Usage::default()
        }),
        Some(Cost::default())
    );
    let running = models_of(
        "ollama",
        answers(json!({"models": [{"name": "qwen3:8b", "context_length": 4_096}]})),
    )
    .await;
    assert_eq!(running[0].limits.window, 4_096);
}

#[tokio::test]
async fn embedding_models_are_not_listed() {
    let answers = vec![
        ("GET /api/tags", json!({"models": [{"name": "embedder"}]})),
        ("POST /api/show", json!({"capabilities": ["embedding"]})),
    ];
    assert_eq!(models_of("ollama", answers).await.len(), 0);
    let answers = vec![(
        "GET /api/v0/models",
        json!({"data": [
            {"id": "chat", "type": "vlm", "max_context_length": 32_768, "loaded_context_length": 16_384, "capabilities": ["tool_use"]},
            {"id": "embedder", "type": "embeddings", "max_context_length": 2_048},
        ]}),
    )];
    let found = models_of("lmstudio", answers).await;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].id.as_str(), found[0].limits.window, found[0].features.images),
        ("chat", 16_384, true)
    );
}

#[tokio::test]
async fn models_that_cannot_chat_are_recognised_by_their_names() {
    let ids = [
        "text-embedding-nomic",
        "BAAI/bge-reranker",
        "openai/whisper-1",
        "qwen3-coder",
    ];
    let models: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
    for provider in ["vllm", "lmstudio"] {
        let found = models_of(provider, vec![("GET /v1/models", json!({"data": models}))]).await;
        let found: Vec<&str> = found.iter().map(|info| info.id.as_str()).collect();
        assert_eq!(found, ["qwen3-coder"]);
    }
}

#[tokio::test]
async fn llama_cpp_and_vllm_report_their_context_windows() {
    let answers = vec![
        (
            "GET /v1/models",
            json!({"data": [{"id": "gpt-oss-20b", "meta": {"n_ctx_train": 131_072}}]}),
        ),
        (
            "GET /props",
            json!({"default_generation_settings": {"n_ctx": 16_384}, "modalities": {"vision": false}}),
        ),
    ];
    assert_eq!(models_of("llamacpp", answers).await[0].limits.window, 16_384);
    let answers = vec![(
        "GET /v1/models",
        json!({"data": [{"id": "m", "max_model_len": 40_960}]}),
    )];
    assert_eq!(models_of("vllm", answers.clone()).await[0].limits.window, 40_960);
    // Older versions of LM Studio have only OpenAI's list.
    assert_eq!(models_of("lmstudio", answers).await[0].id, "m");
}

#[tokio::test]
async fn servers_of_several_models_state_which_are_loaded() {
    let facts = |provider, answers| async move {
        let (address, _) = server(answers).await;
        let mut settings = preset(provider).unwrap().settings();
        settings.base_url = format!("{address}/v1");
        let models = discover(&[settings], LONG).await.remove(0).models.unwrap();
        let facts = models.into_iter().map(|model| {
            let info = model.info;
            (info.id, model.loaded, info.limits.window, info.features.tools)
        });
        facts.collect::<Vec<_>>()
    };
    let llamacpp = vec![
        (
            "GET /v1/models",
            json!({"data": [{"id": "a", "status": {"value": "unloaded"}}, {"id": "b 7B", "status": {"value": "loaded"}}]}),
        ),
        ("GET /props", json!({"role": "router"})),
        (
            "GET /props?model=b+7B",
            json!({"default_generation_settings": {"n_ctx": 8_192}, "chat_template": "plain"}),
        ),
    ];
    assert_eq!(
        facts("llamacpp", llamacpp).await,
        [
            ("a".to_string(), false, 0, true),
            ("b 7B".to_string(), true, 8_192, false)
        ]
    );
    let lmstudio = vec![(
        "GET /api/v1/models",
        json!({"models": [
            {"type": "llm", "key": "a", "loaded_instances": [], "max_context_length": 32_768, "capabilities": {"trained_for_tool_use": false}},
            {"type": "llm", "key": "b", "loaded_instances": [{"id": "b", "config": {"context_length": 4_096}}], "max_context_length": 32_768},
            {"type": "embedding", "key": "c", "loaded_instances": []},
        ]}),
    )];
    assert_eq!(
        facts("lmstudio", lmstudio).await,
        [
            ("a".to_string(), false, 32_768, false),
            ("b".to_string(), true, 4_096, true)
        ]
    );
}

#[tokio::test]
async fn an_unreachable_server_does_not_delay_discovery() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}/v1", listener.local_addr().unwrap());
    let mut settings = preset("vllm").unwrap().settings();
    settings.base_url = silent;
    let found = discover(&[settings], Duration::from_millis(50)).await;
    assert!(matches!(found[0].models, Err(Error::Stalled { .. })), "{found:?}");
}

#[tokio::test]
async fn a_probe_sends_the_key_in_the_providers_header_and_counts_the_models() {
    let list = json!({"data": [{"id": "a"}, {"id": "b"}]});
    let cases = [
        (
            "openai",
            "/v1",
            "GET /v1/models",
            "authorization: bearer k-123456",
            Some(2),
        ),
        ("anthropic", "", "GET /v1/models", "x-api-key: k-123456", Some(2)),
        ("azure", "", "GET /openai/v1/models", "api-key: k-123456", Some(2)),
        (
            "gemini",
            "",
            "GET /v1beta/models?pageSize=1000",
            "x-goog-api-key: k-123456",
            Some(2),
        ),
        (
            "openrouter",
            "/api/v1",
            "GET /api/v1/key",
            "authorization: bearer k-123456",
            Some(2),
        ),
        ("zai", "/v4", "GET /nothing", "authorization: bearer k-123456", None),
    ];
    for (provider, path, asked, header, models) in cases {
        let (address, seen) = server(vec![(asked, list.clone())]).await;
        let mut settings = preset(provider).unwrap().settings();
        settings.base_url = format!("{address}{path}");
        settings.key = Some(Secret::new("k-123456"));
        let answer = probe(&settings, LONG).await.unwrap();
        assert_eq!(answer.models, models, "{provider}");
        assert!(seen.lock().unwrap()[0].contains(header), "{provider}: {seen:?}");
    }
}

#[tokio::test]
async fn a_probe_distinguishes_a_bad_key_from_an_unreachable_server() {
    let (address, _) = server(vec![("GET /v1/models", json!(401))]).await;
    let settings = ProviderSettings::new("custom", Wire::OpenaiChat, address);
    let error = probe(&settings, LONG).await.unwrap_err();
    assert!(matches!(error, Error::Credentials { .. }), "{error:?}");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let unreachable = ProviderSettings::new(
        "custom",
        Wire::OpenaiChat,
        format!("http://{}", listener.local_addr().unwrap()),
    );
    drop(listener);
    let error = probe(&unreachable, LONG).await.unwrap_err();
    assert!(matches!(error, Error::Connection { .. }), "{error:?}");
    assert!(error.to_string().contains(&unreachable.base_url), "{error}");
    let bedrock = preset("bedrock").unwrap().settings();
    let error = probe(&bedrock, LONG).await.unwrap_err();
    assert!(matches!(error, Error::Credentials { .. }), "{error:?}");
}
