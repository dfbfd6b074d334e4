//! A temporary project with the whole toolbox.

use std::fs;
use std::future::Future;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, Features};
use policy::Action;
use sandbox::Environment;
use serde_json::{Value, json};
use tool::{Context, Output, Registry};
use toolbox::Options;
use workspace::Workspace;

pub(crate) struct Desk {
    _dir: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) tools: Registry,
}

impl Desk {
    /// A project `project` in a folder of its own, with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Self::fitted(files, Options::default())
    }

    /// The same, with commands that see these variables.
    pub(crate) fn seeing(files: &[(&str, &str)], variables: &[(&str, &str)]) -> Self {
        Self::made(files, variables, Options::default())
    }

    /// The same, with tools that are fitted to a model.
    pub(crate) fn fitted(files: &[(&str, &str)], options: Options<'_>) -> Self {
        let variables = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("A_TOKEN", "x")];
        Self::made(files, &variables, options)
    }

    fn made(files: &[(&str, &str)], variables: &[(&str, &str)], options: Options<'_>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let root = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        let none: [&str; 0] = [];
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::scrubbed(variables, &none, &none);
        let tools = toolbox::fitted(Workspace::open(&root).unwrap(), environment, options);
        let desk = Self { _dir: dir, root, tools };
        files.iter().for_each(|(path, content)| desk.put(path, content));
        desk
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.root.join(path)).unwrap()).unwrap()
    }

    /// Runs a tool with a context of one's own.
    pub(crate) async fn call(&self, name: &str, input: Value, context: Context) -> Result<Output, tool::Error> {
        let tool = Arc::clone(self.tools.get(name).unwrap());
        soon(tool.run(input, context)).await
    }

    /// Runs a tool and returns all it gave back.
    pub(crate) async fn output(&self, name: &str, input: Value) -> Output {
        self.call(name, input, context()).await.unwrap()
    }

    /// Runs a tool and returns what the model sees: the text, or the error after `error: `.
    pub(crate) async fn run(&self, name: &str, input: Value) -> String {
        match self.call(name, input, context()).await {
            Ok(output) => match output.content.as_slice() {
                [Block::Text { text }] => text.clone(),
                other => format!("{other:?}"),
            },
            Err(error) => format!("error: {error}"),
        }
    }

    /// Reads a file, so that it may be changed.
    pub(crate) async fn read(&self, path: &str) {
        self.output("read_file", json!({"path": path})).await;
    }

    pub(crate) fn actions(&self, name: &str, input: Value) -> Vec<Action> {
        self.tools.get(name).unwrap().actions(&input).unwrap()
    }
}

/// Fails the test instead of hanging it.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.unwrap()
}

pub(crate) fn context() -> Context {
    let features = Features {
        tools: true,
        parallel_tools: true,
        images: false,
        pdf: false,
        reasoning: false,
        caching: false,
    };
    Context {
        desk: Arc::new(Willing),
        ..Context::alone("call".into(), features)
    }
}

/// Somebody who allows everything and answers nothing.
struct Willing;

impl tool::Desk for Willing {
    fn permit(&self, _: Action) -> BoxFuture<'static, Result<(), tool::Error>> {
        async { Ok(()) }.boxed()
    }

    fn ask(&self, inquiry: tool::Inquiry) -> BoxFuture<'static, Result<String, tool::Error>> {
        tool::Nobody.ask(inquiry)
    }

    fn delegate(&self, task: tool::Task) -> BoxFuture<'static, Result<tool::Report, tool::Error>> {
        tool::Nobody.delegate(task)
    }
}

/// Runs work without the power of root. On Linux each thread has its own user, and its children inherit it.
pub(crate) fn as_nobody<T: Send>(work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534)).unwrap();
            }
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
                .block_on(work)
        });
        thread.join().unwrap()
    })
}
