//! `hew predict` through the real binary: an editor on a pipe, and a model server that completes text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use serde_json::{Value, json};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use testkit::{Hew, Project, Tmux};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;

/// An answer that is sent as an error of the server.
const SERVER_ERROR: &str = "(server error)";

/// A server for `/v1/completions`. Each answer waits for a permit of `release`.
struct CompletionServer {
    url: String,
    requests: Arc<Mutex<Vec<Value>>>,
    /// The maximum number of concurrent requests.
    most_at_once: Arc<Mutex<(usize, usize)>>,
    release: Arc<Semaphore>,
}

impl CompletionServer {
    async fn start(answer: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = CompletionServer {
            url: format!("http://{}/v1", listener.local_addr().unwrap()),
            requests: Arc::default(),
            most_at_once: Arc::default(),
            release: Arc::new(Semaphore::new(1_000_000)),
        };
        let (requests, at_once, release) = (
            Arc::clone(&server.requests),
            Arc::clone(&server.most_at_once),
            Arc::clone(&server.release),
        );
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (requests, at_once, release, answer) = (
                    Arc::clone(&requests),
                    Arc::clone(&at_once),
                    Arc::clone(&release),
                    Arc::clone(&answer),
                );
                tokio::spawn(async move {
                    let (reader, writer) = stream.into_split();
                    let (mut reader, mut writer) = (BufReader::new(reader), writer);
                    while let Some(body) = read_request(&mut reader).await {
                        requests.lock().unwrap().push(body.clone());
                        {
                            let mut counts = at_once.lock().unwrap();
                            counts.0 += 1;
                            counts.1 = counts.1.max(counts.0);
                        }
                        // A closed connection ends the wait, as in real servers.
                        let disconnected =
                            async { while reader.fill_buf().await.is_ok_and(|bytes| !bytes.is_empty()) {} };
                        let permit = tokio::select! {
                            permit = release.acquire() => permit.is_ok_and(|permit| { permit.forget(); true }),
                            () = disconnected => false,
                        };
                        at_once.lock().unwrap().0 -= 1;
                        if !permit {
                            return;
                        }
                        let text = answer(&body);
                        let json = json!({"choices": [{"text": text, "finish_reason": "stop"}]}).to_string();
                        let status = if text == SERVER_ERROR {
                            "500 Internal Server Error"
                        } else {
                            "200 OK"
                        };
                        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length");
                        let reply = format!("{head}: {}\r\n\r\n{json}", json.len());
                        if writer.write_all(reply.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        server
    }
}

async fn read_request(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.ok()?;
    serde_json::from_slice(&body).ok()
}

/// An editor connected to `hew predict`.
struct Editor {
    _child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next: i64,
    uri: String,
    version: i64,
    /// Responses that arrived while another was awaited.
    early: Vec<Value>,
}

impl Editor {
    async fn open(project: &Project, url: &str, config: &str, file: &str) -> Self {
        let home = project.root().join(".home");
        std::fs::create_dir_all(home.join("config/hew")).unwrap();
        let text = format!(
            "predict.model = 'own/qwen2.5-coder'\nproviders.own = {{wire = 'openai-chat', base_url = '{url}', key = 'k'}}\n{config}"
        );
        std::fs::write(home.join("config/hew/config.toml"), text).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_hew"))
            .arg("predict")
            .arg("--stdio")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_DATA_HOME", home.join("data"))
            .current_dir(project.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut editor = Editor {
            _child: child,
            stdin,
            stdout: BufReader::new(stdout),
            next: 0,
            uri: format!("file://{}", project.path(file).display()),
            version: 1,
            early: Vec::new(),
        };
        let root = format!("file://{}", project.root().display());
        let params = json!({"capabilities": {}, "rootUri": root, "workspaceFolders": [{"uri": root, "name": "p"}]});
        let initialized = editor.request("initialize", params).await;
        assert!(
            initialized["result"]["capabilities"]["inlineCompletionProvider"].is_object(),
            "{initialized}"
        );
        editor.notify("initialized", json!({})).await;
        let text = std::fs::read_to_string(project.path(file)).unwrap();
        let document = json!({"uri": editor.uri, "languageId": "python", "version": 1, "text": text});
        editor
            .notify("textDocument/didOpen", json!({"textDocument": document}))
            .await;
        editor
    }

    async fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let framed = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.stdin.write_all(framed.as_bytes()).await.unwrap();
    }

    async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    async fn start(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    async fn answer(&mut self, id: i64) -> Value {
        if let Some(at) = self.early.iter().position(|message| message["id"] == id) {
            return self.early.remove(at);
        }
        loop {
            let message = read_message(&mut self.stdout).await;
            if message["id"] == id {
                return message;
            }
            self.early.push(message);
        }
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.answer(id).await
    }

    fn at(&self, line: usize, character: usize, kind: u8) -> Value {
        json!({
            "textDocument": {"uri": self.uri, "version": self.version},
            "position": {"line": line, "character": character},
            "context": {"triggerKind": kind},
        })
    }

    async fn insert(&mut self, line: usize, character: usize, text: &str) {
        self.version += 1;
        let at = json!({"line": line, "character": character});
        let change = json!({"range": {"start": at, "end": at}, "text": text});
        let document = json!({"uri": self.uri, "version": self.version});
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": [change]}),
        )
        .await;
    }

    /// The first inline completion at a position, as its range and text.
    async fn complete(&mut self, line: usize, character: usize) -> Option<(Value, String)> {
        let params = self.at(line, character, 1);
        let answer = self.request("textDocument/inlineCompletion", params).await;
        let item = answer["result"]["items"].get(0)?.clone();
        Some((item["range"].clone(), item["insertText"].as_str()?.to_owned()))
    }
}

async fn read_message(reader: &mut BufReader<ChildStdout>) -> Value {
    read_request(reader).await.expect("hew predict answers")
}

fn range(line: usize, start: usize, end: usize) -> Value {
    json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}})
}

#[tokio::test]
async fn a_completion_is_shown_at_the_cursor_and_shrinks_while_it_is_typed() {
    let server = CompletionServer::start(|_| "a + b)".to_owned()).await;
    let project = Project::new(&[("a.py", "x = '😀'; add(1)\r\nprint()\r\n")]).unwrap();
    let mut editor = Editor::open(&project, &server.url, "", "a.py").await;
    editor.insert(0, 14, "2").await;
    assert_eq!(editor.complete(1, 6).await, Some((range(1, 6, 6), "a + b".to_owned())));
    let body = server.requests.lock().unwrap()[0].clone();
    let prompt = body["prompt"].as_str().unwrap();
    assert!(
        prompt.contains("+x = '😀'; add(21)\n"),
        "the history is in the prompt: {prompt}"
    );
    assert!(prompt.ends_with("print(<|fim_suffix|>)\n<|fim_middle|>"), "{prompt}");
    // Typing the start of the completion sends no request.
    editor.insert(1, 6, "a +").await;
    assert_eq!(editor.complete(1, 9).await, Some((range(1, 9, 9), " b".to_owned())));
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_inline_edit_may_be_elsewhere_and_the_copilot_requests_are_answered() {
    let server = CompletionServer::start(|body| {
        let prompt = body["prompt"].as_str().unwrap();
        let current = prompt.rsplit("current/a.py\n").next().unwrap();
        current
            .split("<|file_sep|>")
            .next()
            .unwrap()
            .replace("area(w)", "area(width)")
    })
    .await;
    let project = Project::new(&[("a.py", "def area(w):\n    return 1\n\n\nprint(area(w))\n")]).unwrap();
    let mut editor = Editor::open(&project, &server.url, "predict.format = 'sweep'\n", "a.py").await;
    editor.insert(0, 10, "idth").await;
    let params = editor.at(0, 14, 1);
    let answer = editor.request("textDocument/copilotInlineEdit", params).await;
    let edit = &answer["result"]["edits"][0];
    assert_eq!(edit["text"], "idth");
    assert_eq!(edit["range"], range(4, 12, 12));
    assert_eq!(edit["textDocument"]["version"], 2);
    // The edit is not at the cursor, so there is no inline completion.
    assert_eq!(editor.complete(0, 14).await, None);
    for (method, status) in [("checkStatus", "OK"), ("signIn", "AlreadySignedIn")] {
        let answer = editor.request(method, json!({})).await;
        assert_eq!(answer["result"]["status"], status, "{method}");
    }
    editor
        .notify("textDocument/didShowInlineEdit", json!({"item": edit}))
        .await;
    let accept = json!({"command": edit["command"]["command"], "arguments": []});
    assert!(
        editor
            .request("workspace/executeCommand", accept)
            .await
            .get("result")
            .is_some()
    );
    let unknown = editor.request("textDocument/hover", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
    let counts = std::fs::read_to_string(project.root().join(".home/data/hew/predictions.json")).unwrap();
    let counts: Value = serde_json::from_str(&counts).unwrap();
    assert_eq!((&counts["shown"], &counts["accepted"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn at_most_one_request_is_in_flight_and_no_answer_is_stale() {
    let server = CompletionServer::start(|_| "done".to_owned()).await;
    server.release.forget_permits(1_000_000);
    let project = Project::new(&[("a.py", "x = \n")]).unwrap();
    let mut editor = Editor::open(&project, &server.url, "", "a.py").await;
    let mut ids = Vec::new();
    for press in 0..200 {
        editor.insert(0, 4 + press, "y").await;
        // Every third request is explicit, so that it is sent immediately.
        let kind = if press % 3 == 0 { 1 } else { 2 };
        let params = editor.at(0, 5 + press, kind);
        ids.push(editor.start("textDocument/inlineCompletion", params).await);
        if press % 7 == 0 {
            let cancel = json!({"id": ids[press]});
            editor.notify("$/cancelRequest", cancel).await;
        }
    }
    server.release.add_permits(1_000);
    let last = ids.pop().unwrap();
    let answer = editor.answer(last).await;
    assert_eq!(answer["result"]["items"][0]["insertText"], "done", "{answer}");
    for id in ids {
        let code = editor.answer(id).await["error"]["code"].as_i64();
        assert!(matches!(code, Some(-32802..=-32800)), "{id}: {code:?}");
    }
    let (now, most) = *server.most_at_once.lock().unwrap();
    assert!(most <= 1 || now == 0, "{most} concurrent requests");
}

#[tokio::test]
async fn ignored_and_protected_files_are_never_sent() {
    let server = CompletionServer::start(|_| "1".to_owned()).await;
    let files = [
        (".gitignore", "secret.py\nbuild/\n"),
        (".hewignore", "hidden.py\n"),
        ("secret.py", "k = \n"),
        ("build/a.py", "k = \n"),
        ("hidden.py", "k = \n"),
        ("AGENTS.md", "k = \n"),
        ("ok.py", "k = \n"),
    ];
    let project = Project::new(&files).unwrap();
    for (file, requests) in [
        ("secret.py", 0),
        ("build/a.py", 0),
        ("hidden.py", 0),
        ("AGENTS.md", 0),
        ("ok.py", 1),
    ] {
        let mut editor = Editor::open(&project, &server.url, "", file).await;
        let answer = editor.complete(0, 4).await;
        assert_eq!(answer.is_some(), requests > 0, "{file}");
        assert_eq!(server.requests.lock().unwrap().len(), requests, "{file}");
    }
}

#[tokio::test]
async fn a_spent_budget_and_a_failing_server_give_no_prediction() {
    let server = CompletionServer::start(|_| "1".to_owned()).await;
    let project = Project::new(&[("a.py", "x = \ny = \n")]).unwrap();
    let mut editor = Editor::open(&project, &server.url, "predict.daily_requests = 1\n", "a.py").await;
    assert!(editor.complete(0, 4).await.is_some());
    assert!(editor.complete(1, 4).await.is_none());
    assert_eq!(server.requests.lock().unwrap().len(), 1);
    let mut editor = Editor::open(&project, "http://127.0.0.1:9/v1", "", "a.py").await;
    assert!(editor.complete(0, 4).await.is_none());
    assert!(editor.complete(1, 4).await.is_none(), "the server answered");
}

/// Measures predictions on a commit with two edits to predict.
async fn measure(server: &CompletionServer) -> testkit::Output {
    let project = Project::new(&[("a.py", "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n")]).unwrap();
    let git = |args: &[&str]| {
        let identity = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "commit.gpgsign=false",
        ];
        let done = std::process::Command::new("git")
            .args(identity)
            .args(args)
            .current_dir(project.root())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q"]);
    git(&["add", "a.py"]);
    git(&["commit", "-qm", "one"]);
    std::fs::write(project.path("a.py"), "a = 10\nb = 2\nc = 30\nd = 4\ne = 50\n").unwrap();
    git(&["commit", "-qam", "two"]);
    let hew = testkit::Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
    hew.args([
        "--set",
        &format!("providers.own={{wire='openai-chat',base_url='{}',key='k'}}", server.url),
    ])
    .args(["predict", "-m", "own/qwen2.5-coder", "eval", "--baseline", "--json"])
    .current_dir(project.root())
    .run()
    .await
    .unwrap()
}

#[tokio::test]
async fn predictions_are_measured_on_the_commits_of_a_repository() {
    let server = CompletionServer::start(|body| {
        let is_first = body["prompt"].as_str().unwrap().contains("a = <|fim_suffix|>");
        if is_first { "10".to_owned() } else { "0".to_owned() }
    })
    .await;
    let output = measure(&server).await;
    assert!(output.is_success(), "{}", output.stderr);
    let measured: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        (&measured[0]["method"], &measured[0]["edits"]),
        (&json!("prediction"), &json!(2))
    );
    assert_eq!(measured[0]["exact"], 1.0, "{measured}");
    assert_eq!(measured[1]["method"], "baseline");
}

#[tokio::test]
async fn a_failed_request_does_not_end_a_measurement() {
    let count = Arc::new(Mutex::new(0));
    let server = CompletionServer::start(move |_| {
        let mut count = count.lock().unwrap();
        *count += 1;
        if *count == 1 { SERVER_ERROR } else { "0" }.to_owned()
    })
    .await;
    let output = measure(&server).await;
    assert!(output.is_success(), "{}", output.stderr);
    let measured: Value = serde_json::from_str(&output.stdout).unwrap();
    let counts = |row: &Value| (row["edits"].clone(), row["failed"].clone());
    assert_eq!(counts(&measured[0]), (json!(2), json!(1)), "{measured}");
    assert_eq!(counts(&measured[1]), (json!(2), json!(0)), "{measured}");

    let server = CompletionServer::start(|_| SERVER_ERROR.to_owned()).await;
    let output = measure(&server).await;
    assert_eq!(output.code(), Some(1), "{}", output.stdout);
}

#[tokio::test]
async fn an_editor_with_the_official_library_is_served() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("HEW_NODE_MODULES").map(std::path::PathBuf::from);
    let modules = named.unwrap_or_else(|| root.join("../../.tools/node/node_modules"));
    if !modules.join("vscode-languageserver-protocol").exists() {
        eprintln!("skipped: no vscode-languageserver-protocol (set HEW_NODE_MODULES, or run `cargo xtask ci`)");
        return;
    }
    let server = CompletionServer::start(|body| {
        let is_long = body["prompt"].as_str().unwrap().contains("fn lines()");
        if is_long { "let a = 1;\n    let b = 2;" } else { "41" }.to_owned()
    })
    .await;
    let project = Project::new(&[]).unwrap();
    let home = project.root().join(".home");
    std::fs::create_dir_all(home.join(".config/hew")).unwrap();
    let config = format!(
        "predict.model = 'own/qwen2.5-coder'\nproviders.own = {{wire = 'openai-chat', base_url = '{}', key = 'k'}}\n",
        server.url
    );
    std::fs::write(home.join(".config/hew/config.toml"), config).unwrap();
    let output = Command::new("node")
        .arg(root.join("tests/predict/client.mjs"))
        .arg(env!("CARGO_BIN_EXE_hew"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &home)
        .env("HEW_NODE_MODULES", modules)
        .current_dir(project.root())
        .output()
        .await
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let report: Value =
        serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{}", String::from_utf8_lossy(&output.stderr)));
    let expected = json!({
        "capabilities": ["utf-16", "object"],
        "texts": {
            "lf": "0:8-8 41", "crlf": "0:8-8 41", "tab": "0:9-9 41", "astral": "1:9-9 41", "combining": "0:9-9 41",
            "joined": "0:17-17 41", "bom": "0:9-9 41", "no line break": "0:8-8 41", "empty": "0:0-0 41",
        },
        "lines": "let a = 1;\r\n    let b = 2;",
        "long": "25000:4-4 41",
        "changes": "1:4-4 41",
        "none": [null, null, null],
        "cancelled": -32800,
        "superseded": [-32801],
        "last": "0:205-205 41",
        "afterShutdown": -32600,
        "exit": 0,
    });
    assert_eq!(report, expected);
    let (_, most) = *server.most_at_once.lock().unwrap();
    assert!(most <= 1, "{most} concurrent requests");
}

/// The client in `docs/editors`, in a real Emacs.
#[tokio::test]
async fn emacs_shows_a_prediction_accepts_it_by_words_and_rejects_it() {
    let emacs = Command::new("emacs").arg("--version").output().await;
    if !Tmux::is_installed() || emacs.is_err() {
        eprintln!("skipped: no emacs or no tmux");
        return;
    }
    let server = CompletionServer::start(|body| {
        let is_complete = body["prompt"]
            .as_str()
            .unwrap()
            .contains("total(items, tax)<|fim_suffix|>");
        if is_complete { "" } else { "total(items, tax)" }.to_owned()
    })
    .await;
    let project = Project::new(&[("a.py", "# 😀\n")]).unwrap();
    let client = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/editors/hew-predict.el");
    let command = format!(
        "(setq hew-predict-command '(\"{}\" \"predict\"))",
        env!("CARGO_BIN_EXE_hew")
    );
    let emacs = Hew::new("emacs")
        .unwrap()
        .current_dir(project.root())
        .args(["-nw", "-Q", "-l"])
        .arg(client)
        .args(["--eval", &command, "a.py", "--eval", "(hew-predict-mode)"]);
    let config = format!(
        "predict.model = 'own/qwen2.5-coder'\nproviders.own = {{wire = 'openai-chat', base_url = '{}', key = 'k'}}\n",
        server.url
    );
    std::fs::create_dir_all(emacs.home().join(".config/hew")).unwrap();
    std::fs::write(emacs.home().join(".config/hew/config.toml"), config).unwrap();
    let tmux = Tmux::start(&emacs, 80, 20).unwrap();
    tmux.wait_for_text("# 😀").await.unwrap();
    tmux.press(&["M->"]).unwrap();
    tmux.write("y =").unwrap();
    tmux.wait_for_text("y =total(items, tax)").await.unwrap();
    tmux.press(&["C-g"]).unwrap();
    tmux.wait_until(|screen| !screen.contains("total")).await.unwrap();
    tmux.write(" ").unwrap();
    tmux.wait_for_text("y = total(items, tax)").await.unwrap();
    tmux.press(&["M-f"]).unwrap();
    // The word is part of the text, and the rest is shown again.
    let is_after_word = |screen: &str| {
        tmux.display_message("#{cursor_x}").unwrap().trim() == "9" && screen.contains("total(items, tax)")
    };
    tmux.wait_until(is_after_word).await.unwrap();
    tmux.press(&["Tab"]).unwrap();
    let is_at_end = |_: &str| tmux.display_message("#{cursor_x}").unwrap().trim() == "21";
    tmux.wait_until(is_at_end).await.unwrap();
    tmux.press(&["C-x", "C-s"]).unwrap();
    tmux.wait_for_text("Wrote").await.unwrap();
    assert_eq!(project.read("a.py").unwrap(), "# 😀\ny = total(items, tax)\n");
}
