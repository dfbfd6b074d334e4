//! Test support: storage in memory, a user with scripted answers, and servers to start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use mcp::{CacheEntry, McpDefinition, McpEnvironment, McpServers, McpTransport, ServerCache};
use model::{Block, Features};
use policy::Action;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tool::{
    CallContext, DynTool, DynamicTools as _, Error, NotificationSender, Output, ProgressSender, SubtaskReport,
    SubtaskRequest, ToolNotification, UserQuestion,
};

/// Storage in memory.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) texts: Mutex<BTreeMap<(CacheEntry, String), String>>,
    pub(crate) logins: Arc<Mutex<BTreeMap<String, String>>>,
}

impl ServerCache for Memory {
    fn load(&self, what: CacheEntry, server: &str) -> Option<String> {
        self.texts.lock().unwrap().get(&(what, server.to_owned())).cloned()
    }

    fn save(&self, what: CacheEntry, server: &str, text: &str) {
        self.texts
            .lock()
            .unwrap()
            .insert((what, server.to_owned()), text.to_owned());
    }

    fn login(&self, server: &str) -> BoxFuture<'static, Option<String>> {
        let login = self.logins.lock().unwrap().get(server).cloned();
        async move { login }.boxed()
    }

    fn save_login(&self, server: &str, login: Option<String>) -> BoxFuture<'static, Result<(), mcp::BoxError>> {
        let mut logins = self.logins.lock().unwrap();
        match login {
            Some(login) => drop(logins.insert(server.to_owned(), login)),
            None => drop(logins.remove(server)),
        }
        async { Ok(()) }.boxed()
    }
}

/// A user who answers every question with the next of these words.
pub(crate) struct ScriptedUser(pub(crate) Mutex<Vec<&'static str>>, pub(crate) Mutex<Vec<String>>);

impl tool::ToolHost for ScriptedUser {
    fn permit(&self, _: Action) -> BoxFuture<'static, Result<(), Error>> {
        async { Ok(()) }.boxed()
    }

    fn ask(&self, inquiry: UserQuestion) -> BoxFuture<'static, Result<String, Error>> {
        self.1.lock().unwrap().push(inquiry.question);
        let mut answers = self.0.lock().unwrap();
        let answer = match answers.is_empty() {
            true => Err(Error::Failed("no answer is scripted".into())),
            false => Ok(answers.remove(0).to_owned()),
        };
        async { answer }.boxed()
    }

    fn delegate(&self, _: SubtaskRequest) -> BoxFuture<'static, Result<SubtaskReport, Error>> {
        async { Err(Error::Failed("no".into())) }.boxed()
    }
}

/// Servers in a directory.
pub(crate) struct Fixture {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) cache: Arc<Memory>,
    pub(crate) servers: McpServers,
    pub(crate) notices: mpsc::Receiver<ToolNotification>,
    pub(crate) user: Arc<ScriptedUser>,
    pub(crate) progress: mpsc::Receiver<(model::CallId, String)>,
    sender: mpsc::Sender<(model::CallId, String)>,
}

impl Fixture {
    pub(crate) fn new(definitions: Vec<McpDefinition>) -> Self {
        Self::with(definitions, Arc::default(), None, 10)
    }

    pub(crate) fn with(
        definitions: Vec<McpDefinition>,
        cache: Arc<Memory>,
        model: Option<Arc<dyn model::Model>>,
        listed: usize,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (notices, receiver) = NotificationSender::channel();
        let environment = McpEnvironment {
            notices,
            model,
            max_listed: listed,
            ..environment(folder.path(), Arc::clone(&cache))
        };
        let (sender, progress) = mpsc::channel(100);
        Fixture {
            folder,
            cache,
            servers: McpServers::new(definitions, environment),
            notices: receiver,
            user: Arc::new(ScriptedUser(Mutex::default(), Mutex::default())),
            progress,
            sender,
        }
    }

    /// The names of the available tools.
    pub(crate) fn names(&self) -> Vec<String> {
        self.servers
            .tools()
            .iter()
            .map(|tool| tool.spec().name.clone())
            .collect()
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn DynTool> {
        let tools = self.servers.tools();
        let found = tools.iter().find(|tool| tool.spec().name == name);
        Arc::clone(found.unwrap_or_else(|| panic!("no {name} among {:?}", self.names())))
    }

    pub(crate) async fn call(&self, name: &str, input: Value) -> Result<Output, String> {
        let context = CallContext {
            host: Arc::clone(&self.user) as Arc<dyn tool::ToolHost>,
            progress: ProgressSender::new(self.sender.clone()),
            ..CallContext::detached("call".into(), features())
        };
        within_timeout(self.tool(name).run(input.into(), context))
            .await
            .map_err(|error| error.to_string())
    }

    /// The text of a response.
    pub(crate) async fn call_text(&self, name: &str, input: Value) -> String {
        match self.call(name, input).await {
            Ok(output) => text(&output),
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

pub(crate) fn text(output: &Output) -> String {
    let words = output.content.iter().map(|block| match block {
        Block::Text { text } => text.clone(),
        Block::Media(media) => format!("<{} {}>", media.mime, media.data.len()),
    });
    words.collect::<Vec<_>>().join("\n")
}

pub(crate) fn environment(root: &Path, cache: Arc<Memory>) -> McpEnvironment {
    static RING: OnceLock<()> = OnceLock::new();
    RING.get_or_init(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let names: [&str; 0] = [];
    McpEnvironment {
        root: root.to_owned(),
        environment: sandbox::ProcessEnvironment::scrubbed(std::env::vars_os(), &names, &names),
        confinement: None,
        http_client: Arc::new(|_| Ok(reqwest::Client::builder().no_proxy())),
        cache,
        redact: Arc::new(str::to_owned),
        notices: NotificationSender::none(),
        model: None,
        tool_filter: None,
        max_listed: 10,
    }
}

pub(crate) fn features() -> Features {
    Features {
        tools: true,
        parallel_tools: true,
        images: true,
        pdf: false,
        reasoning: false,
        caching: false,
    }
}

pub(crate) fn stdio(name: &str, command: &str, args: &[&str]) -> McpDefinition {
    let transport = McpTransport::Stdio {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: BTreeMap::new(),
        cwd: None,
    };
    McpDefinition::new(name, transport)
}

/// One of the Python servers in this directory.
pub(crate) fn misbehaving(behaviour: &str, more: &[&str]) -> McpDefinition {
    let script = peer("misbehaving.py");
    let args: Vec<&str> = [script.to_str().unwrap(), behaviour]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    McpDefinition {
        timeout: Duration::from_secs(20),
        ..stdio(behaviour, "python3", &args)
    }
}

pub(crate) fn peer(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/peers").join(name)
}

/// The packages that `cargo xtask ci` installs; without them the test prints a message and passes.
pub(crate) fn node_module(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = std::env::var_os("HEW_NODE_MODULES").map(PathBuf::from);
    let found = named
        .unwrap_or_else(|| root.join(".tools/node/node_modules"))
        .join(name);
    let there = found.exists();
    if !there {
        eprintln!("skipped: no {name} (set HEW_NODE_MODULES, or run `cargo xtask ci`)");
        assert!(std::env::var_os("HEW_NODE_MODULES").is_none(), "{name} should be there");
    }
    there.then_some(found)
}

/// A Python with the official SDK.
pub(crate) fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = std::env::var_os("HEW_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| root.join(".tools/python/bin/python"));
    let able = std::process::Command::new(&python).args(["-c", "import mcp"]).output();
    let able = able.is_ok_and(|output| output.status.success());
    if !able {
        eprintln!("skipped: no Python with the MCP SDK (set HEW_PYTHON, or run `cargo xtask ci`)");
    }
    able.then_some(python)
}

/// A listening server, until it is dropped.
pub(crate) struct Listening {
    _child: Child,
    pub(crate) port: u16,
}

/// Starts a server and waits for the line that reports its address.
pub(crate) async fn listening(command: &mut Command, sign: &str) -> Listening {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut child = command
        .env("PORT", port.to_string())
        .env("FASTMCP_PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    within_timeout(async {
        loop {
            let line = lines.next_line().await.unwrap().expect("the server should listen");
            if line.contains(sign) {
                break;
            }
        }
    })
    .await;
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Listening { _child: child, port }
}

/// Fails the test instead of hanging it.
pub(crate) async fn within_timeout<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(90), work)
        .await
        .expect("this should have ended long ago")
}
