//! A small HTTP client, and a running `hew serve`.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use testkit::{Hew, Project, Running, Script, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

const HEW: &str = env!("CARGO_BIN_EXE_hew");
const TIMEOUT: Duration = Duration::from_secs(120);

/// A running server with a token.
pub(crate) struct Served {
    pub(crate) hew: Running,
    pub(crate) base: Hew,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) project: Project,
    _model: Server,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim())
    }
}

impl Served {
    pub(crate) async fn start(script: Script, files: &[(&str, &str)], config: &str) -> Served {
        let model = Server::start(script).await.unwrap();
        let project = Project::new(files).unwrap();
        let base = Hew::new(HEW)
            .unwrap()
            .with_server(&model)
            .current_dir(project.root())
            .timeout(TIMEOUT);
        let folder = base.home().join(".config/hew");
        std::fs::create_dir_all(&folder).unwrap();
        let config = format!("title = false\nmodel = 'anthropic/claude-sonnet-4-6'\n{config}");
        std::fs::write(folder.join("config.toml"), config).unwrap();
        let created = base.clone().args(["serve", "token", "test"]).run().await.unwrap();
        assert_eq!(created.code(), Some(0), "{}", created.stderr);
        let token = created.stdout.trim().to_owned();
        let (hew, address) = Served::spawn(&base, "127.0.0.1:0", &[]).await;
        Served {
            hew,
            base,
            address,
            token,
            project,
            _model: model,
        }
    }

    pub(crate) async fn spawn(base: &Hew, listen: &str, more: &[&str]) -> (Running, SocketAddr) {
        let mut hew = base
            .clone()
            .args(["serve", "--listen", listen])
            .args(more)
            .spawn()
            .unwrap();
        hew.wait_for_output("/pair?code=").await.unwrap();
        let out = hew.stdout();
        let url = out
            .split("://")
            .nth(1)
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .to_owned();
        (hew, url.parse().unwrap())
    }

    /// Kills the server and starts it again at the same address.
    pub(crate) async fn restart(&mut self) {
        self.hew.kill().unwrap();
        let (hew, _) = Served::spawn(&self.base, &self.address.to_string(), &[]).await;
        self.hew = hew;
    }

    /// The code of the pairing link that the server printed.
    pub(crate) fn pairing_code(&self) -> String {
        let out = self.hew.stdout();
        out.split("code=")
            .nth(1)
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .to_owned()
    }

    pub(crate) async fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Response {
        let auth = format!("Authorization: Bearer {}\r\n", self.token);
        self.raw_request(method, path, &auth, body.map(Value::to_string).as_deref())
            .await
    }

    pub(crate) async fn raw_request(&self, method: &str, path: &str, headers: &str, body: Option<&str>) -> Response {
        let host = format!("Host: {}\r\n", self.address);
        let host = if headers.to_lowercase().starts_with("host:") {
            ""
        } else {
            &host
        };
        let content = match body {
            Some(body) => format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()),
            None => String::new(),
        };
        let body = body.unwrap_or_default();
        let text = format!("{method} {path} HTTP/1.1\r\n{host}{headers}{content}Connection: close\r\n\r\n{body}");
        self.exchange(text.as_bytes()).await
    }

    pub(crate) async fn exchange(&self, bytes: &[u8]) -> Response {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The server may answer and close before it has read everything.
        stream.write_all(bytes).await.ok();
        let mut all = Vec::new();
        tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut all))
            .await
            .unwrap()
            .ok();
        let end = all
            .windows(4)
            .position(|part| part == b"\r\n\r\n")
            .map_or(all.len(), |at| at + 4);
        let head = String::from_utf8_lossy(&all[..end]).into_owned();
        let mut body = all[end..].to_vec();
        if head.to_lowercase().contains("transfer-encoding: chunked") {
            body = unchunk(&body);
        }
        let status = head
            .split_whitespace()
            .nth(1)
            .and_then(|code| code.parse().ok())
            .unwrap_or(0);
        Response { status, head, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let response = self.request("GET", &format!("/api/v1{path}"), None).await;
        assert_eq!(response.status, 200, "{path}: {}", response.json());
        response.json()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let response = self.request("POST", &format!("/api/v1{path}"), Some(&body)).await;
        assert_eq!(response.status, 200, "{path}: {}", response.json());
        response.json()
    }

    /// Creates a session.
    pub(crate) async fn session(&self) -> String {
        self.post("/sessions", json!({})).await["id"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    pub(crate) async fn events(&self, session: &str, after: Option<&str>) -> EventReader {
        let after = after.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let text = format!(
            "GET /api/v1/sessions/{session}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{after}\r\n",
            self.address, self.token
        );
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        EventReader {
            stream: BufReader::new(stream),
            raw: Vec::new(),
            text: String::new(),
            has_head: false,
        }
    }
}

/// An event stream.
pub(crate) struct EventReader {
    stream: BufReader<TcpStream>,
    raw: Vec<u8>,
    text: String,
    has_head: bool,
}

impl EventReader {
    /// The next event with its id; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<(Option<String>, Value)> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                let field = |name: &str| {
                    block
                        .lines()
                        .find_map(|line| line.strip_prefix(name).map(str::to_owned))
                };
                let Some(data) = field("data: ") else {
                    continue;
                };
                return Some((field("id: "), serde_json::from_str(&data).unwrap()));
            }
            let mut piece = [0; 16384];
            let length = tokio::time::timeout(TIMEOUT, self.stream.read(&mut piece))
                .await
                .expect("an event")
                .ok()?;
            if length == 0 {
                return None;
            }
            self.raw.extend_from_slice(&piece[..length]);
            self.decode();
        }
    }

    /// Reads until an event of this type; returns it.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let (_, event) = self
                .next()
                .await
                .unwrap_or_else(|| panic!("the stream ended before {kind}"));
            if event["type"] == kind {
                return event;
            }
        }
    }

    fn decode(&mut self) {
        if !self.has_head {
            let Some(end) = self.raw.windows(4).position(|part| part == b"\r\n\r\n") else {
                return;
            };
            let head: Vec<u8> = self.raw.drain(..end + 4).collect();
            assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
            self.has_head = true;
        }
        while let Some(line) = self.raw.windows(2).position(|part| part == b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&self.raw[..line]).unwrap(), 16).unwrap();
            if self.raw.len() < line + 2 + size + 2 {
                return;
            }
            self.text
                .push_str(std::str::from_utf8(&self.raw[line + 2..line + 2 + size]).unwrap());
            self.raw.drain(..line + 2 + size + 2);
        }
    }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|part| part == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap_or("0"), 16).unwrap_or(0);
        let from = line + 2;
        if size == 0 || rest.len() < from + size + 2 {
            break;
        }
        body.extend_from_slice(&rest[from..from + size]);
        rest = &rest[from + size + 2..];
    }
    body
}
