//! Discovery responses: lists of models in the formats of OpenAI, Ollama, LM Studio and llama.cpp.

use http::Method;
use serde_json::{Value, json};

use crate::script::Script;
use crate::wire::Wire;

const WINDOW: u64 = 131_072;

/// The response to a discovery request; `None` if it is unknown.
pub(crate) fn answer(method: &Method, path: &str, body: &[u8], script: &Script) -> Option<Value> {
    let window = script.window.unwrap_or(WINDOW);
    let models = script.models.as_slice();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (method.as_str(), segments.as_slice()) {
        ("GET" | "HEAD", ["health"]) => Some(json!({"status": "ok"})),
        ("GET", ["api", "v0", "models"]) => Some(lm_studio(models, window, script.without_tools)),
        ("GET", ["api", "tags"]) => Some(json!({"models": models.iter().map(|name| ollama(name)).collect::<Value>()})),
        ("GET", ["api", "version"]) => Some(json!({"version": "0.12.6"})),
        ("POST", ["api", "show"]) => ollama_show(models, body, window, script.without_tools),
        ("GET", ["props"]) => Some(llama_cpp(models, window, script.without_tools)),
        ("GET", [.., "models"]) => Some(openai(models)),
        ("GET", [.., "models", name]) => models
            .iter()
            .find(|model| model == name)
            .map(|model| openai_model(model)),
        _ => None,
    }
}

/// The prompt length in the wire's format.
pub(crate) fn count(wire: Wire, tokens: u64) -> Value {
    match wire {
        Wire::Gemini => json!({"totalTokens": tokens}),
        Wire::Anthropic | Wire::Vertex | Wire::Bedrock | Wire::Chat | Wire::Responses => {
            json!({"input_tokens": tokens})
        }
    }
}

fn openai(models: &[String]) -> Value {
    json!({"object": "list", "data": models.iter().map(|name| openai_model(name)).collect::<Value>()})
}

fn openai_model(name: &str) -> Value {
    json!({"id": name, "object": "model", "created": 1_767_225_600, "owned_by": "scripted"})
}

fn ollama(name: &str) -> Value {
    json!({
        "name": name,
        "model": name,
        "modified_at": "2026-01-01T00:00:00Z",
        "size": 0,
        "digest": "0".repeat(64),
        "details": {"format": "gguf", "family": "scripted", "parameter_size": "0B", "quantization_level": "Q4_K_M"},
    })
}

fn ollama_show(models: &[String], body: &[u8], window: u64, without_tools: bool) -> Option<Value> {
    let asked: Value = serde_json::from_slice(body).ok()?;
    let name = asked["model"].as_str().or_else(|| asked["name"].as_str())?;
    models.iter().any(|model| model == name).then(|| {
        json!({
            "details": ollama(name)["details"],
            "model_info": {"general.architecture": "scripted", "scripted.context_length": window},
            "capabilities": if without_tools { json!(["completion"]) } else { json!(["completion", "tools"]) },
        })
    })
}

fn lm_studio(models: &[String], window: u64, without_tools: bool) -> Value {
    let model = |name: &String| {
        json!({
            "id": name,
            "object": "model",
            "type": "llm",
            "publisher": "scripted",
            "arch": "scripted",
            "state": "loaded",
            "max_context_length": window,
            "loaded_context_length": window,
            "capabilities": if without_tools { json!([]) } else { json!(["tool_use"]) },
        })
    };
    json!({"object": "list", "data": models.iter().map(model).collect::<Value>()})
}

fn llama_cpp(models: &[String], window: u64, without_tools: bool) -> Value {
    let name = models.first().map_or("scripted", String::as_str);
    json!({
        "default_generation_settings": {"n_ctx": window},
        "total_slots": 1,
        "model_alias": name,
        "model_path": format!("{name}.gguf"),
        "modalities": {"vision": false, "audio": false},
        "chat_template_caps": {"supports_tools": !without_tools},
        "build_info": "scripted",
    })
}
