//! Whole requests on each wire, in each mode and with both protocols, in a readable form.
//!
//! A snapshot contains the request for one wire and protocol in the mode `code`, then the differences of each other mode. Bedrock
//! and Vertex use Anthropic's format: their snapshots contain only the differences.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use model::{Block, Features, Info, Message, Part, Role, TokenLimits, ToolOutcome, ToolSpec, Wire};
use policy::Mode;
use prompt::{
    CallProtocol, LayoutCache, PromptEnvironment, RequestFrame, RulesFile, SystemPromptInput, TemplateOverrides,
};
use providers::{ProviderSettings, Secret};
use serde_json::{Map, Value, json};
use session::{Body, Item, ItemId, ReplyEnd, RequestId, Time};
use std::fmt::Write as _;
use std::sync::Arc;

const WIRES: [(Wire, &str, &str); 6] = [
    (Wire::AnthropicMessages, "anthropic", "claude-sonnet-4-6"),
    (Wire::BedrockAnthropic, "bedrock", "us.anthropic.claude-sonnet-4-6-v1:0"),
    (Wire::VertexAnthropic, "vertex", "claude-sonnet-4-6"),
    (Wire::OpenaiChat, "ollama", "qwen3-coder:30b"),
    (Wire::OpenaiResponses, "openai", "gpt-5.5"),
    (Wire::Gemini, "gemini", "gemini-3-pro"),
];

fn info(wire: Wire, provider: &str, id: &str, protocol: CallProtocol) -> Info {
    Info {
        provider: provider.into(),
        id: id.into(),
        wire,
        limits: TokenLimits {
            window: 200_000,
            output: 8_000,
        },
        parameters: 0,
        features: Features {
            tools: protocol == CallProtocol::Native,
            parallel_tools: true,
            images: true,
            pdf: true,
            reasoning: false,
            caching: true,
        },
        prices: None,
        deprecated_on: None,
        options: Map::new(),
    }
}

fn tools() -> Arc<[ToolSpec]> {
    let tool = |name: &str, description: &str, properties: Value, required: Value| ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema: json!({"type": "object", "properties": properties, "required": required}),
    };
    let string = json!({"type": "string"});
    [
        tool(
            "edit_file",
            "Replaces text.",
            json!({"path": string, "old_text": string, "new_text": string, "replace_all": {"type": "boolean"}}),
            json!(["path", "old_text", "new_text"]),
        ),
        tool("grep", "Searches.", json!({"pattern": string}), json!(["pattern"])),
        tool(
            "read_file",
            "Reads a file.",
            json!({"path": string, "more": {"type": "array", "items": string, "description": "Further files."}}),
            json!(["path"]),
        ),
        tool(
            "terminal",
            "Runs a command.",
            json!({"command": string}),
            json!(["command"]),
        ),
    ]
    .into()
}

fn item(body: Body) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent: None,
        at: Time(0),
        body,
    })
}

/// A question, two calls, their results, an answer, and another question.
fn conversation() -> Vec<Arc<Item>> {
    let reply = |parts: Vec<Part>| {
        item(Body::Reply {
            message: Arc::new(Message {
                role: Role::Assistant,
                parts,
            }),
            model: "m".into(),
            request: RequestId::new(),
            end: ReplyEnd::Interrupted,
        })
    };
    let prompt = |parts: Vec<Part>| {
        item(Body::Prompt {
            message: Arc::new(Message {
                role: Role::User,
                parts,
            }),
        })
    };
    let call = |id: &str, name: &str, input: Value| Part::ToolCall {
        id: id.into(),
        name: name.into(),
        input,
        malformed: None,
        replay: None,
    };
    let result = |id: &str, name: &str, text: &str, outcome: ToolOutcome| {
        prompt(vec![Part::ToolResult {
            id: id.into(),
            name: name.into(),
            content: vec![Block::text(text)],
            outcome,
        }])
    };
    vec![
        prompt(vec![Part::text("Fix the sum.")]),
        reply(vec![
            Part::text("I look."),
            call("c1", "read_file", json!({"path": "sum.py", "more": ["b.py"]})),
            call("c2", "terminal", json!({"command": "python3 sum.py"})),
        ]),
        result(
            "c1",
            "read_file",
            "1\tdef add(a, b):\n2\t    return a - b",
            ToolOutcome::Ok,
        ),
        result("c2", "terminal", "exit code 1", ToolOutcome::Error),
        reply(vec![call(
            "c3",
            "edit_file",
            json!({"path": "sum.py", "old_text": "    return a - b", "new_text": "    # a < b\n    return a + b"}),
        )]),
        result("c3", "edit_file", "Done.", ToolOutcome::Ok),
        reply(vec![Part::text("It adds now.")]),
        prompt(vec![Part::text("Thanks. Is it tested?")]),
    ]
}

fn facts() -> PromptEnvironment {
    PromptEnvironment {
        platform: "linux x86_64".into(),
        root: "/home/me/project".into(),
        branch: Some("main".into()),
        date: "2026-11-16".into(),
        shell: "bash".into(),
        rules: vec![RulesFile {
            path: "AGENTS.md".into(),
            text: "Use tabs.".into(),
        }],
        ..PromptEnvironment::default()
    }
}

fn request(info: &Info, mode: &Mode) -> Value {
    let (tools, scene_info) = (tools(), info);
    let scene = SystemPromptInput {
        mode,
        model: scene_info,
        listed: &tools,
        deferred: &["browser_action", "find_tools"],
    };
    let rendered = prompt::system_prompt(&facts(), &scene, &TemplateOverrides::default());
    assert!(rendered.problems.is_empty(), "{:?}", rendered.problems);
    let frame = RequestFrame {
        protocol: scene.protocol(),
        tools: Arc::clone(&tools),
        system: rendered.blocks,
        affinity: Some("session".into()),
        ..RequestFrame::default()
    };
    let request = prompt::assemble(&frame, &conversation(), &mut LayoutCache::default()).request;
    let mut settings = ProviderSettings::new(&info.provider, info.wire, "https://host.example");
    settings.key = Some(Secret::new("key"));
    let (bytes, notices) = providers::render_body(&request, info, &settings);
    assert!(notices.is_empty(), "{notices:?}");
    serde_json::from_slice(&bytes).unwrap()
}

/// Renders a value with multi-line strings as lines.
fn readable(value: &Value, indent: usize, out: &mut String) {
    let pad = "  ".repeat(indent);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                write!(out, "\n{pad}{key}:").unwrap();
                readable(value, indent + 1, out);
            }
        }
        Value::Array(values) if values.iter().any(|value| value.is_object() || value.is_array()) => {
            for value in values {
                write!(out, "\n{pad}-").unwrap();
                readable(value, indent + 1, out);
            }
        }
        Value::String(text) if text.contains('\n') => {
            for line in text.lines() {
                write!(out, "\n{pad}| {line}").unwrap();
            }
        }
        plain => write!(out, " {plain}").unwrap(),
    }
}

fn as_text(request: &Value) -> String {
    let mut text = String::new();
    readable(request, 0, &mut text);
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect::<String>()
        .trim_start()
        .to_owned()
}

/// The lines that are in only one of the two texts.
fn difference(from: &str, to: &str) -> String {
    let lines: Vec<&str> = from.lines().collect();
    let others: Vec<&str> = to.lines().collect();
    let removed = lines
        .iter()
        .filter(|line| !others.contains(line))
        .map(|line| format!("- {}\n", line.trim()));
    let new = others
        .iter()
        .filter(|line| !lines.contains(line))
        .map(|line| format!("+ {}\n", line.trim()));
    removed.chain(new).collect()
}

#[test]
fn whole_requests_for_each_mode_wire_and_protocol() {
    let mut modes = Mode::built_in();
    modes.push(Mode::edit(vec!["sum.py".into()]));
    assert_eq!(modes[0].name, "code");
    for protocol in [CallProtocol::Native, CallProtocol::Xml] {
        for (wire, provider, id) in WIRES {
            let own = info(wire, provider, id, protocol);
            let mut text = as_text(&request(&own, &modes[0]));
            let code = text.clone();
            if matches!(wire, Wire::BedrockAnthropic | Wire::VertexAnthropic) {
                let (wire, provider, id) = WIRES[0];
                let plain = as_text(&request(&info(wire, provider, id, protocol), &modes[0]));
                text = format!("As over {}, but for:\n{}", wire.name(), difference(&plain, &code));
            }
            for mode in &modes[1..] {
                let other = as_text(&request(&own, mode));
                write!(text, "\n==== mode {} ====\n{}", mode.name, difference(&code, &other)).unwrap();
            }
            insta::assert_snapshot!(format!("{}-{}", wire.name(), protocol.name()), text);
        }
    }
}

#[test]
fn a_request_extends_the_previous_one_with_both_protocols_on_every_wire() {
    for protocol in [CallProtocol::Native, CallProtocol::Xml] {
        for (wire, provider, id) in WIRES {
            let info = info(wire, provider, id, protocol);
            let (items, mut kept) = (conversation(), LayoutCache::default());
            let frame = RequestFrame {
                protocol,
                tools: tools(),
                system: vec!["s".into()],
                ..RequestFrame::default()
            };
            let mut before: Vec<Arc<Message>> = Vec::new();
            for end in [1, 4, 6, 8] {
                let request = prompt::assemble(&frame, &items[..end], &mut kept).request;
                assert!(request.messages.starts_with(&before), "{} {end}", info.name());
                before = request.messages.to_vec();
                let calls = before
                    .iter()
                    .flat_map(|message| &message.parts)
                    .filter(|part| matches!(part, Part::ToolCall { .. } | Part::ToolResult { .. }));
                assert_eq!(calls.count() == 0, protocol == CallProtocol::Xml || end == 1);
            }
        }
    }
}

/// A random conversation: consecutive prompts, incomplete replies, calls without results, late results.
fn random_conversation(mut seed: u64) -> Vec<Arc<Item>> {
    let mut next = |most: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    let message = |role: Role, parts: Vec<Part>| Arc::new(Message { role, parts });
    let mut items = vec![item(Body::Prompt {
        message: message(Role::User, vec![Part::text("begin")]),
    })];
    let mut open: Vec<String> = Vec::new();
    for number in 0..3 + next(12) {
        let body = match next(6) {
            0 => Body::Prompt {
                message: message(Role::User, vec![Part::text(format!("prompt {number}"))]),
            },
            1 => Body::Notification {
                message: message(Role::User, vec![Part::text("a job has ended")]),
                source: "job 1".into(),
            },
            2 | 3 if !open.is_empty() => {
                let call = open.remove(next(open.len() as u64) as usize);
                let part = Part::ToolResult {
                    id: call.as_str().into(),
                    name: "grep".into(),
                    content: vec![Block::text("found")],
                    outcome: ToolOutcome::Ok,
                };
                Body::Result {
                    message: message(Role::User, vec![part]),
                    call: call.as_str().into(),
                    tool: "grep".into(),
                    title: "t".into(),
                    summary: None,
                    exit: None,
                    millis: 1,
                    changes: Vec::new(),
                }
            }
            _ => {
                let mut parts = vec![Part::text(format!("reply {number}"))];
                open.clear();
                for place in 0..next(3) {
                    open.push(format!("c{number}_{place}"));
                    parts.push(Part::ToolCall {
                        id: format!("c{number}_{place}").as_str().into(),
                        name: "grep".into(),
                        input: json!({"pattern": "x"}),
                        malformed: None,
                        replay: None,
                    });
                }
                Body::Reply {
                    message: message(Role::Assistant, parts),
                    model: "m".into(),
                    request: RequestId::new(),
                    end: ReplyEnd::Interrupted,
                }
            }
        };
        items.push(item(body));
    }
    items
}

/// The role of each message in the wire format.
fn roles(body: &Value) -> Vec<String> {
    let list = ["messages", "contents", "input"]
        .iter()
        .find_map(|key| body[*key].as_array());
    let role = |message: &Value| -> Option<String> {
        let role = message["role"].as_str().or(match message["type"].as_str() {
            Some("function_call") => Some("assistant"),
            Some("function_call_output") => Some("tool"),
            _ => None,
        });
        role.map(str::to_owned)
    };
    list.into_iter().flatten().filter_map(role).collect()
}

#[test]
fn roles_alternate_as_each_provider_requires_in_any_conversation() {
    for protocol in [CallProtocol::Native, CallProtocol::Xml] {
        for (wire, provider, id) in WIRES {
            let info = info(wire, provider, id, protocol);
            let mut settings = ProviderSettings::new(&info.provider, info.wire, "https://host.example");
            settings.key = Some(Secret::new("key"));
            for seed in 0..300 {
                let frame = RequestFrame {
                    protocol,
                    tools: tools(),
                    system: vec!["s".into()],
                    ..RequestFrame::default()
                };
                let request = prompt::assemble(&frame, &random_conversation(seed), &mut LayoutCache::default()).request;
                let (bytes, _) = providers::render_body(&request, &info, &settings);
                let body: Value = serde_json::from_slice(&bytes).unwrap();
                let roles = roles(&body);
                let context = || format!("{} {} {seed}: {roles:?}", info.name(), protocol.name());
                let first = roles
                    .iter()
                    .find(|role| !matches!(role.as_str(), "system" | "developer"));
                assert_eq!(first.map(String::as_str), Some("user"), "{}", context());
                assert!(
                    matches!(roles.last().unwrap().as_str(), "user" | "tool"),
                    "{}",
                    context()
                );
                match wire {
                    Wire::AnthropicMessages
                    | Wire::BedrockAnthropic
                    | Wire::BedrockConverse
                    | Wire::VertexAnthropic
                    | Wire::Gemini => {
                        assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{}", context());
                    }
                    // These accept any order, but every result follows its call.
                    Wire::OpenaiChat | Wire::OpenaiResponses => {
                        let is_after =
                            |pair: &[String]| pair[1] != "tool" || matches!(pair[0].as_str(), "tool" | "assistant");
                        assert!(roles.windows(2).all(is_after), "{}", context());
                    }
                }
            }
        }
    }
}
