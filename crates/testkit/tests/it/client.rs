//! A minimal HTTP client on a socket, which exposes protocol details.

use serde_json::{Value, json};
use testkit::{Server, Wire};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A parsed response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// The payload of each chunk; the last may be incomplete.
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The end required by HTTP.
    Proper,
    /// The connection closed inside a chunk.
    InsideChunk,
    /// The connection closed between chunks.
    BetweenChunks,
    /// The connection closed before the status line.
    BeforeHead,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body()).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body()).expect("a JSON body")
    }
}

/// Sends a request and reads the response to its end.
pub(crate) async fn send(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let mut stream = open(server, method, path, headers, body).await;
    let mut bytes = Vec::new();
    // A reset instead of an end is accepted; the data before it counts.
    drop(stream.read_to_end(&mut bytes).await);
    parse_response(&bytes)
}

/// Sends a request without reading anything.
pub(crate) async fn open(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port()))
        .await
        .expect("connects");
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    stream.write_all((head + body).as_bytes()).await.expect("sends");
    stream
}

/// Parses a response from all received bytes.
pub(crate) fn parse_response(bytes: &[u8]) -> Response {
    let Some(head_end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Response {
            status: 0,
            headers: vec![],
            chunks: vec![],
            end: End::BeforeHead,
        };
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|code| code.parse().ok())
        .expect("a status");
    let pair = |line: &str| {
        line.split_once(": ")
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
    };
    let headers: Vec<(String, String)> = lines.filter_map(pair).collect();
    let rest = &bytes[head_end + 4..];
    let (chunks, end) = if headers
        .iter()
        .any(|(name, value)| name == "transfer-encoding" && value == "chunked")
    {
        chunks(rest)
    } else {
        (vec![rest.to_vec()], End::Proper)
    };
    Response {
        status,
        headers,
        chunks,
        end,
    }
}

fn chunks(mut rest: &[u8]) -> (Vec<Vec<u8>>, End) {
    let mut chunks = Vec::new();
    loop {
        let Some(line_end) = rest.windows(2).position(|window| window == b"\r\n") else {
            return (chunks, End::BetweenChunks);
        };
        let size = std::str::from_utf8(&rest[..line_end])
            .ok()
            .and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.expect("the size of a chunk");
        rest = &rest[line_end + 2..];
        if size == 0 {
            return (chunks, End::Proper);
        }
        if rest.len() < size + 2 {
            chunks.push(rest.to_vec());
            return (chunks, End::InsideChunk);
        }
        chunks.push(rest[..size].to_vec());
        rest = &rest[size + 2..];
    }
}

/// A small conversation in a wire's format: a question and the calls (id, name, input, result) that followed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Talk {
    pub(crate) steps: Vec<(String, String, Value, String)>,
    /// Thinking is enabled.
    pub(crate) thinks: bool,
    pub(crate) no_tools: bool,
    pub(crate) whole: bool,
}

pub(crate) const QUESTION: &str = "What is in a.txt?";

/// Sends a request to a server on a wire.
pub(crate) async fn ask(server: &Server, wire: Wire, talk: &Talk) -> Response {
    post(server, wire, talk.whole, &talk.body(wire)).await
}

/// Sends a body to a wire.
pub(crate) async fn post(server: &Server, wire: Wire, whole: bool, body: &Value) -> Response {
    send(server, "POST", path(wire, whole), HEADERS, &body.to_string()).await
}

pub(crate) const HEADERS: &[(&str, &str)] = &[
    ("anthropic-version", "2023-06-01"),
    ("content-type", "application/json"),
];

pub(crate) fn path(wire: Wire, whole: bool) -> &'static str {
    match (wire, whole) {
        (Wire::Anthropic, _) => "/v1/messages?beta=true",
        (Wire::Chat, _) => "/v1/chat/completions",
        (Wire::Responses, _) => "/v1/responses",
        (Wire::Gemini, false) => "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
        (Wire::Gemini, true) => "/v1beta/models/gemini-3-pro:generateContent",
        (Wire::Bedrock, false) => "/model/anthropic.claude-v1%3A0/invoke-with-response-stream",
        (Wire::Bedrock, true) => "/model/anthropic.claude-v1%3A0/invoke",
        (Wire::Vertex, false) => "/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict",
        (Wire::Vertex, true) => "/v1/projects/p/locations/l/publishers/anthropic/models/claude:rawPredict",
    }
}

impl Talk {
    pub(crate) fn thinking() -> Self {
        Self {
            thinks: true,
            ..Self::default()
        }
    }

    pub(crate) fn step(mut self, id: &str, name: &str, input: Value, result: &str) -> Self {
        self.steps
            .push((id.to_owned(), name.to_owned(), input, result.to_owned()));
        self
    }

    pub(crate) fn body(&self, wire: Wire) -> Value {
        let mut body = match wire {
            Wire::Anthropic | Wire::Bedrock | Wire::Vertex => self.anthropic(wire),
            Wire::Chat => self.chat(),
            Wire::Responses => self.responses(),
            Wire::Gemini => self.gemini(),
        };
        if self.no_tools
            && let Some(fields) = body.as_object_mut()
        {
            fields.remove("tools");
        }
        body
    }

    fn anthropic(&self, wire: Wire) -> Value {
        let mut messages = vec![json!({"role": "user", "content": QUESTION})];
        for (id, name, input, result) in &self.steps {
            messages.push(
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}),
            );
            messages.push(
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}),
            );
        }
        let tool = json!({"name": "read_file", "description": "Reads", "input_schema": {"type": "object"}});
        let mut body = json!({"max_tokens": 9000, "system": "Be brief.", "messages": messages, "tools": [tool]});
        match wire {
            Wire::Bedrock => body["anthropic_version"] = json!("bedrock-2023-05-31"),
            Wire::Vertex => body["anthropic_version"] = json!("vertex-2023-10-16"),
            _ => {
                body["model"] = json!("claude-scripted");
                body["stream"] = json!(!self.whole);
            }
        }
        if self.thinks {
            body["thinking"] = json!({"type": "enabled", "budget_tokens": 2000});
        }
        body
    }

    fn chat(&self) -> Value {
        let mut messages = vec![
            json!({"role": "system", "content": "Be brief."}),
            json!({"role": "user", "content": QUESTION}),
        ];
        for (id, name, input, result) in &self.steps {
            let call =
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": input.to_string()}});
            messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
        }
        let tool = json!({"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}});
        let mut body = json!({"model": "gpt-scripted", "stream": !self.whole, "messages": messages, "tools": [tool]});
        if !self.whole {
            body["stream_options"] = json!({"include_usage": true});
        }
        body
    }

    fn responses(&self) -> Value {
        let mut input = vec![json!({"role": "user", "content": [{"type": "input_text", "text": QUESTION}]})];
        for (id, name, arguments, result) in &self.steps {
            input.push(
                json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments.to_string()}),
            );
            input.push(json!({"type": "function_call_output", "call_id": id, "output": result}));
        }
        let tool = json!({"type": "function", "name": "read_file", "parameters": {"type": "object"}});
        let mut body = json!({
            "model": "gpt-scripted", "instructions": "Be brief.", "input": input, "tools": [tool],
            "stream": !self.whole, "store": false,
        });
        if self.thinks {
            body["reasoning"] = json!({"summary": "auto"});
            body["include"] = json!(["reasoning.encrypted_content"]);
        }
        body
    }

    fn gemini(&self) -> Value {
        let mut contents = vec![json!({"role": "user", "parts": [{"text": QUESTION}]})];
        for (id, name, input, result) in &self.steps {
            contents
                .push(json!({"role": "model", "parts": [{"functionCall": {"id": id, "name": name, "args": input}}]}));
            let response = json!({"id": id, "name": name, "response": {"output": result}});
            contents.push(json!({"role": "user", "parts": [{"functionResponse": response}]}));
        }
        let tools = json!([{"functionDeclarations": [{"name": "read_file", "parameters": {"type": "OBJECT"}}]}]);
        let system = json!({"parts": [{"text": "Be brief."}]});
        let mut body = json!({"contents": contents, "systemInstruction": system, "tools": tools});
        if self.thinks {
            body["generationConfig"] = json!({"thinkingConfig": {"includeThoughts": true}});
        }
        body
    }
}
