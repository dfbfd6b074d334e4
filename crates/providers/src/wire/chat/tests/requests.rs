//! Rendered requests.

use crate::presets::{self, Quirks};
use crate::settings::ProviderSettings;
use crate::tests::info;
use crate::wire::chat::{body, fits_strict, path};
use crate::wire_cache::WireCache;
use bytes::Bytes;
use model::{
    Block, Breakpoint, Effort, Info, Media, Message, OutputSchema, Part, ReplayData, Request, Role, ToolChoice,
    ToolOutcome, ToolSpec, Wire,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn settings(provider: &str) -> ProviderSettings {
    let mut settings = ProviderSettings::new(provider, Wire::OpenaiChat, "https://host/v1");
    settings.quirks = presets::preset(provider).map_or(Quirks::OPENAI, |preset| preset.quirks.clone());
    settings
}

fn sent(request: &Request, info: &Info, settings: &ProviderSettings) -> (Value, Vec<String>) {
    let mut notices = Vec::new();
    let pieces = body(request, info, settings, &mut WireCache::default(), &mut notices);
    let value = serde_json::from_slice(&pieces.concat()).unwrap();
    (value, notices)
}

fn messages(provider: &str, id: &str, messages: Vec<Message>) -> Value {
    let request = Request {
        messages: messages.into_iter().map(Arc::new).collect::<Vec<_>>().into(),
        ..Request::default()
    };
    sent(&request, &info(Wire::OpenaiChat, id), &settings(provider)).0["messages"].take()
}

fn call(id: &str) -> Part {
    Part::ToolCall {
        id: id.into(),
        name: "read".into(),
        input: json!({"p": "a"}),
        malformed: None,
        replay: None,
    }
}

fn result(id: &str, content: Vec<Block>) -> Part {
    Part::ToolResult {
        id: id.into(),
        name: "read".into(),
        content,
        outcome: ToolOutcome::Ok,
    }
}

fn message_of(role: Role, parts: Vec<Part>) -> Message {
    Message { role, parts }
}

fn image() -> Media {
    Media {
        mime: "image/png".into(),
        name: Some("shot.png".into()),
        data: Bytes::from_static(b"png"),
    }
}

fn pdf() -> Media {
    Media {
        mime: "application/pdf".into(),
        name: None,
        data: Bytes::from_static(b"pdf"),
    }
}

fn schema() -> OutputSchema {
    OutputSchema {
        name: "answer".into(),
        schema: json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}),
    }
}

#[test]
fn a_request_contains_all_fields_once() {
    let mut request = Request {
        tools: Arc::new([ToolSpec {
            name: "read".into(),
            description: "Reads a file.".into(),
            input_schema: json!({"type": "object", "properties": {"p": {"type": "string"}}}),
        }]),
        system: vec!["Be brief.".into(), "Today is Monday.".into()],
        messages: vec![Arc::new(Message::user("hi \"there\"\n"))].into(),
        tool_choice: ToolChoice::Named("read".into()),
        max_output: Some(100),
        effort: Some(Effort::High),
        temperature: Some(0.5),
        output_schema: Some(schema()),
        affinity: Some("session-1".into()),
        ..Request::default()
    };
    request.options.insert("service_tier".into(), json!("flex"));
    let mut info = info(Wire::OpenaiChat, "gpt-5.4");
    let (value, _) = sent(&request, &info, &settings("openai"));
    let expected = json!({
        "model": "gpt-5.4",
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_completion_tokens": 100,
        "tool_choice": {"type": "function", "function": {"name": "read"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema().schema, "strict": true}},
        "prompt_cache_key": "session-1",
        "reasoning_effort": "high",
        "service_tier": "flex",
        "tools": [{"type": "function", "function": {"name": "read", "description": "Reads a file.",
            "parameters": {"type": "object", "properties": {"p": {"type": "string"}}}}}],
        "messages": [
            {"role": "system", "content": "Be brief.\n\nToday is Monday."},
            {"role": "user", "content": "hi \"there\"\n"},
        ],
    });
    assert_eq!(value, expected);
    info.features.reasoning = false;
    let (value, _) = sent(&request, &info, &settings("openai"));
    assert_eq!(value["temperature"], json!(0.5));
    assert_eq!(value.get("reasoning_effort"), None);
}

#[test]
fn each_provider_gets_its_own_request_fields() {
    let request = Request {
        tools: Arc::new([ToolSpec {
            name: "read".into(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
        }]),
        messages: vec![Arc::new(Message::user("hi"))].into(),
        tool_choice: ToolChoice::Required,
        max_output: Some(9),
        effort: Some(Effort::Max),
        output_schema: Some(schema()),
        affinity: Some("s".into()),
        temperature: Some(1.0),
        ..Request::default()
    };
    let cases = [
        (
            "deepseek",
            "deepseek-v4-pro",
            json!({"max_tokens": 9, "thinking": {"type": "enabled"}, "reasoning_effort": "max",
            "response_format": {"type": "json_object"}, "tool_choice": "required", "temperature": 1.0}),
        ),
        (
            "zai",
            "glm-5.3",
            json!({"max_tokens": 9, "thinking": {"type": "enabled", "clear_thinking": false}, "reasoning_effort": "max",
            "tool_stream": true, "response_format": {"type": "json_object"}, "temperature": 1.0}),
        ),
        (
            "moonshot",
            "kimi-k2.6",
            json!({"max_tokens": 9, "thinking": {"type": "enabled"}, "prompt_cache_key": "s"}),
        ),
        (
            "mistral",
            "mistral-small-latest",
            json!({"max_tokens": 9, "reasoning_effort": "high", "tool_choice": "any",
            "prompt_cache_key": "s", "stream_options": null, "temperature": 1.0}),
        ),
        (
            "openrouter",
            "x/y",
            json!({"max_tokens": 9, "reasoning": {"effort": "xhigh"}, "usage": {"include": true}, "temperature": 1.0}),
        ),
        ("xai", "grok-4-fast", json!({"max_tokens": 9, "reasoning_effort": null})),
        (
            "groq",
            "openai/gpt-oss-20b",
            json!({"max_completion_tokens": 9, "reasoning_effort": "high"}),
        ),
        ("groq", "qwen/qwen3.8-27b", json!({"reasoning_effort": null})),
        ("ollama", "qwen3", json!({"max_tokens": 9, "prompt_cache_key": null})),
    ];
    for (provider, id, expected) in cases {
        let (value, _) = sent(&request, &info(Wire::OpenaiChat, id), &settings(provider));
        for (key, expected) in expected.as_object().unwrap() {
            assert_eq!(value.get(key).unwrap_or(&Value::Null), expected, "{provider}: {key}");
        }
        if provider == "zai" || provider == "deepseek" {
            let system = value["messages"][0]["content"].as_str().unwrap();
            assert!(system.contains("\"additionalProperties\":false"), "{system}");
        }
        if matches!(provider, "zai" | "moonshot") {
            assert_eq!(value.get("tool_choice"), None, "{provider}");
        }
    }
}

#[test]
fn adjacent_user_messages_are_merged_and_tool_results_are_separate() {
    let conversation = vec![
        Message::user("one"),
        Message::user("two"),
        message_of(Role::Assistant, vec![Part::text("I look."), call("c1"), call("c2")]),
        message_of(
            Role::User,
            vec![
                result("c1", vec![Block::text("x"), Block::text("y")]),
                result("c2", vec![]),
                Part::text("and then?"),
            ],
        ),
        message_of(Role::Assistant, vec![]),
        Message::user("hello?"),
    ];
    let expected = json!([
        {"role": "user", "content": "one\n\ntwo"},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"p\":\"a\"}"}},
            {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{\"p\":\"a\"}"}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "x\ny"},
        {"role": "tool", "tool_call_id": "c2", "content": "(no output)"},
        {"role": "user", "content": "and then?\n\nhello?"},
    ]);
    assert_eq!(messages("openai", "gpt-5", conversation), expected);
}

#[test]
fn mistral_gets_short_ids_and_an_assistant_message_between_a_tool_and_the_user() {
    let conversation = vec![
        message_of(Role::Assistant, vec![call("toolu_01ABCDEF"), call("abcDEF123")]),
        message_of(
            Role::User,
            vec![
                result("toolu_01ABCDEF", vec![Block::text("x")]),
                result("abcDEF123", vec![Block::text("y")]),
                Part::text("continue"),
            ],
        ),
    ];
    let sent = messages("mistral", "devstral-latest", conversation);
    let id = sent[0]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(
        id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        "{id}"
    );
    assert_eq!(sent[0]["tool_calls"][1]["id"], "abcDEF123");
    assert_eq!(sent[1]["tool_call_id"], id);
    let roles: Vec<&str> = sent
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(roles, ["assistant", "tool", "tool", "assistant", "user"]);
}

#[test]
fn ids_are_adapted_to_the_server_and_kimi_keeps_its_own() {
    let ask = |provider, model, id: &str| {
        let sent = messages(provider, model, vec![message_of(Role::Assistant, vec![call(id)])]);
        sent[0]["tool_calls"][0]["id"].as_str().unwrap().to_string()
    };
    assert_eq!(
        ask("openrouter", "moonshotai/kimi-k2.5", "functions.read:0"),
        "functions.read:0"
    );
    assert!(ask("openrouter", "anthropic/claude-haiku-4.5", "functions.read:0").starts_with("functions_read_0_"));
    assert_eq!(ask("openai", "gpt-5", &"x".repeat(60)).len(), 40);
    assert_eq!(ask("vllm", "qwen", &"x".repeat(46)).len(), 46);
}

#[test]
fn supported_attachments_are_sent_and_images_of_tools_move_to_the_user_message() {
    let conversation = || {
        vec![
            message_of(
                Role::User,
                vec![Part::text("look"), Part::Media(image()), Part::Media(pdf())],
            ),
            message_of(Role::Assistant, vec![call("c1")]),
            message_of(
                Role::User,
                vec![result("c1", vec![Block::text("a picture"), Block::Media(image())])],
            ),
        ]
    };
    let sent_image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}});
    let expected = json!([
        {"role": "user", "content": [
            {"type": "text", "text": "look"},
            sent_image,
            {"type": "file", "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,cGRm"}},
        ]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"p\":\"a\"}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a picture\n(attached below)"},
        {"role": "user", "content": [{"type": "text", "text": "From the result of read:"}, sent_image]},
    ]);
    assert_eq!(messages("openai", "gpt-5", conversation()), expected);

    let mut blind = info(Wire::OpenaiChat, "m");
    blind.features.images = false;
    blind.features.pdf = false;
    let request = Request {
        messages: conversation().into_iter().map(Arc::new).collect::<Vec<_>>().into(),
        ..Request::default()
    };
    let mut kept = WireCache::default();
    let mut notices = Vec::new();
    let pieces = body(&request, &blind, &settings("ollama"), &mut kept, &mut notices);
    let value: Value = serde_json::from_slice(&pieces.concat()).unwrap();
    assert_eq!(
        value["messages"][0]["content"],
        "look\n\n[shot.png was left out: this model cannot take images]\n\n\
         [an attachment was left out: this model cannot take PDF documents]"
    );
    assert_eq!(value["messages"].as_array().unwrap().len(), 3);
    assert_eq!(notices.len(), 3);
    assert_eq!(notices[0], "shot.png was left out: p/m cannot take images");
    notices.clear();
    body(&request, &blind, &settings("ollama"), &mut kept, &mut notices);
    assert_eq!(notices, Vec::<String>::new(), "the notice is created once");
}

#[test]
fn thinking_is_sent_back_in_each_servers_format() {
    let details = json!([
        {"type": "reasoning.text", "text": "hm", "signature": "s", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.text", "text": "open", "format": "unknown", "index": 1},
    ]);
    let thought = Part::Thinking {
        text: "hm".into(),
        replay: Some(ReplayData {
            wire: "openai-chat".into(),
            data: json!({"reasoning_details": details}),
        }),
    };
    let ask = |provider, model, parts: Vec<Part>| {
        messages(provider, model, vec![message_of(Role::Assistant, parts)])[0].take()
    };
    let with_text = || vec![thought.clone(), Part::text("yes")];
    assert_eq!(ask("deepseek", "m", with_text())["reasoning_content"], "hm");
    assert_eq!(
        ask("moonshot", "m", vec![call("c")])["reasoning_content"],
        "",
        "a missing one is an error there"
    );
    assert_eq!(
        ask("moonshot", "m", vec![Part::text("yes")]).get("reasoning_content"),
        None
    );
    assert_eq!(ask("ollama", "m", with_text())["reasoning"], "hm");
    assert_eq!(
        ask("openrouter", "anthropic/claude-haiku-4.5", with_text())["reasoning_details"],
        details
    );
    assert_eq!(
        ask("openrouter", "openai/gpt-5", with_text())["reasoning_details"],
        json!([details[1]])
    );
    assert_eq!(
        ask("mistral", "m", with_text())["content"],
        json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}])
    );
    let plain = ask("openai", "m", with_text());
    assert_eq!(plain, json!({"role": "assistant", "content": "yes"}));
    let only_thought = messages(
        "openai",
        "m",
        vec![message_of(Role::Assistant, vec![thought.clone()]), Message::user("x")],
    );
    assert_eq!(only_thought, json!([{"role": "user", "content": "x"}]));
}

#[test]
fn claude_behind_a_gateway_gets_the_requested_cache_breakpoints() {
    let mark = json!({"type": "ephemeral"});
    let request = Request {
        system: vec!["stable".into(), "volatile".into()],
        messages: vec![
            Arc::new(Message::user("one")),
            Arc::new(Message::user("two")),
            Arc::new(message_of(Role::Assistant, vec![call("c1")])),
            Arc::new(message_of(
                Role::User,
                vec![result("c1", vec![Block::text("x \",\"content\":\" y")])],
            )),
        ]
        .into(),
        breakpoints: vec![Breakpoint::System(0), Breakpoint::Message(1), Breakpoint::Message(3)],
        ..Request::default()
    };
    let (value, _) = sent(
        &request,
        &info(Wire::OpenaiChat, "anthropic/claude-haiku-4.5"),
        &settings("openrouter"),
    );
    let sent_messages = &value["messages"];
    assert_eq!(
        sent_messages[0]["content"],
        json!([{"type": "text", "text": "stable", "cache_control": mark}, {"type": "text", "text": "volatile"}])
    );
    assert_eq!(
        sent_messages[1]["content"],
        json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two", "cache_control": mark}])
    );
    assert_eq!(sent_messages[2].get("cache_control"), None);
    assert_eq!(
        sent_messages[3],
        json!({"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "x \",\"content\":\" y", "cache_control": mark}]})
    );
    let (value, _) = sent(
        &request,
        &info(Wire::OpenaiChat, "openai/gpt-5"),
        &settings("openrouter"),
    );
    assert_eq!(value["messages"][0]["content"], "stable\n\nvolatile");
    assert_eq!(value["messages"][1]["content"], "one\n\ntwo");
}

#[test]
fn only_what_is_new_is_rendered() {
    let long = "x".repeat(10_000);
    let mut request = Request {
        messages: vec![
            Arc::new(Message::user(long.clone())),
            Arc::new(Message::assistant(long)),
        ]
        .into(),
        ..Request::default()
    };
    let mut kept = WireCache::default();
    let info = info(Wire::OpenaiChat, "m");
    let first = body(&request, &info, &settings("openai"), &mut kept, &mut Vec::new());
    Arc::make_mut(&mut request.messages).push(Arc::new(Message::user("more")));
    let second = body(&request, &info, &settings("openai"), &mut kept, &mut Vec::new());
    let large = |pieces: &[Bytes]| -> Vec<*const u8> {
        pieces
            .iter()
            .filter(|piece| piece.len() > 9_000)
            .map(|piece| piece.as_ptr())
            .collect()
    };
    assert_eq!(large(&first).len(), 2);
    assert_eq!(large(&first), large(&second), "the same memory, not a copy");
    assert!(serde_json::from_slice::<Value>(&second.concat()).is_ok());
}

#[test]
fn options_reach_the_body_and_may_add_tools_but_not_replace_the_conversation() {
    let mut settings = settings("openrouter");
    settings.options.insert("provider".into(), json!({"order": ["a"]}));
    settings.options.insert("usage".into(), Value::Null);
    let mut request = Request {
        messages: vec![Arc::new(Message::user("hi"))].into(),
        ..Request::default()
    };
    request.options.insert("tools".into(), json!([{"type": "web_search"}]));
    request.options.insert("messages".into(), json!([]));
    let (value, _) = sent(&request, &info(Wire::OpenaiChat, "m"), &settings);
    assert_eq!(value["provider"], json!({"order": ["a"]}));
    assert_eq!(value.get("usage"), None);
    assert_eq!(value["tools"], json!([{"type": "web_search"}]));
    assert_eq!(value["messages"], json!([{"role": "user", "content": "hi"}]));
}

#[test]
fn paths_follow_the_base_url() {
    let azure = presets::preset("azure").unwrap().quirks.clone();
    let dated = Quirks {
        api_version: Some("2024-10-21".into()),
        ..azure.clone()
    };
    let cases = [
        (Quirks::OPENAI, "https://api.openai.com/v1", "/chat/completions"),
        (Quirks::OPENAI, "http://127.0.0.1:8080", "/v1/chat/completions"),
        (Quirks::OPENAI, "https://api.z.ai/api/paas/v4/", "/chat/completions"),
        (
            azure.clone(),
            "https://r.openai.azure.com",
            "/openai/v1/chat/completions",
        ),
        (
            azure.clone(),
            "https://r.openai.azure.com/openai/",
            "/v1/chat/completions",
        ),
        (azure, "https://r.openai.azure.com/openai/v1", "/chat/completions"),
        (
            dated.clone(),
            "https://r.openai.azure.com",
            "/openai/deployments/dep/chat/completions?api-version=2024-10-21",
        ),
        (
            dated,
            "https://r.openai.azure.com/openai/deployments/other",
            "/chat/completions?api-version=2024-10-21",
        ),
    ];
    for (quirks, base, expected) in cases {
        let mut settings = ProviderSettings::new("p", Wire::OpenaiChat, base);
        settings.quirks = quirks;
        assert_eq!(path(&info(Wire::OpenaiChat, "dep"), &settings), expected, "{base}");
    }
}

#[test]
fn only_closed_schemas_are_enforced_strictly() {
    let inner = json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "additionalProperties": false});
    let cases = [
        (schema().schema, true),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": [], "additionalProperties": false}),
            false,
        ),
        (
            json!({"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": false}),
            true,
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"], "additionalProperties": false}),
            false,
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            false,
        ),
    ];
    for (schema, strict) in cases {
        assert_eq!(fits_strict(&schema), strict, "{schema}");
    }
}
