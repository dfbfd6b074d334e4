//! A temporary project with all tools.

use std::fs;
use std::future::Future;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, Features};
use policy::Action;
use sandbox::ProcessEnvironment;
use serde_json::{Value, json};
use tool::{CallContext, Output, Registry};
use toolbox::Options;
use workspace::Workspace;

pub(crate) struct TestProject {
    _dir: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) tools: Registry,
}

impl TestProject {
    /// A project in a temporary directory, with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Self::with_options(files, Options::default())
    }

    /// Sets the environment of commands.
    pub(crate) fn with_variables(files: &[(&str, &str)], variables: &[(&str, &str)]) -> Self {
        Self::build(files, variables, Options::default())
    }

    /// Builds the tools with these options.
    pub(crate) fn with_options(files: &[(&str, &str)], options: Options<'_>) -> Self {
        let variables = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("A_TOKEN", "x")];
        Self::build(files, &variables, options)
    }

    fn build(files: &[(&str, &str)], variables: &[(&str, &str)], options: Options<'_>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let root = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        let none: [&str; 0] = [];
        // As a user would keep them; the token is not on the list of allowed names.
        let names = variables.iter().map(|(name, _)| *name);
        let keep: Vec<&str> = names.filter(|name| *name != "A_TOKEN").collect();
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = ProcessEnvironment::scrubbed(variables, &none, &keep);
        let tools = toolbox::build_registry(Workspace::open(&root).unwrap(), environment, options);
        let project = Self { _dir: dir, root, tools };
        files.iter().for_each(|(path, content)| project.put(path, content));
        project
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.root.join(path)).unwrap()).unwrap()
    }

    /// Runs a tool with this context.
    pub(crate) async fn call(&self, name: &str, input: Value, context: CallContext) -> Result<Output, tool::Error> {
        let (tool, adapted) = self.tools.resolve_call(name, &input).unwrap();
        with_timeout(tool.run(adapted.unwrap_or(input).into(), context)).await
    }

    /// Runs a tool and returns its output.
    pub(crate) async fn output(&self, name: &str, input: Value) -> Output {
        self.call(name, input, context()).await.unwrap()
    }

    /// Runs a tool and returns the text for the model, or `error: ` and the error.
    pub(crate) async fn run(&self, name: &str, input: Value) -> String {
        match self.call(name, input, context()).await {
            Ok(output) => match output.content.as_slice() {
                [Block::Text { text }] => text.clone(),
                other => format!("{other:?}"),
            },
            Err(error) => format!("error: {error}"),
        }
    }

    /// Reads a file, so that it can be changed.
    pub(crate) async fn read(&self, path: &str) {
        self.output("read_file", json!({"path": path})).await;
    }

    pub(crate) fn actions(&self, name: &str, input: Value) -> Vec<Action> {
        let (tool, adapted) = self.tools.resolve_call(name, &input).unwrap();
        tool.actions(&adapted.unwrap_or(input).into()).unwrap()
    }
}

/// Fails the test if the work takes too long.
pub(crate) async fn with_timeout<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.unwrap()
}

pub(crate) fn context() -> CallContext {
    let features = Features {
        tools: true,
        parallel_tools: true,
        images: false,
        pdf: false,
        reasoning: false,
        caching: false,
    };
    CallContext {
        host: Arc::new(PermissiveHost),
        ..CallContext::detached("call".into(), features)
    }
}

/// Approves everything and answers nothing.
struct PermissiveHost;

impl tool::ToolHost for PermissiveHost {
    fn permit(&self, _: Action) -> BoxFuture<'static, Result<(), tool::Error>> {
        async { Ok(()) }.boxed()
    }

    fn ask(&self, inquiry: tool::UserQuestion) -> BoxFuture<'static, Result<String, tool::Error>> {
        tool::DetachedHost.ask(inquiry)
    }

    fn delegate(&self, task: tool::SubtaskRequest) -> BoxFuture<'static, Result<tool::SubtaskReport, tool::Error>> {
        tool::DetachedHost.delegate(task)
    }
}

/// Runs work without root privileges. On Linux each thread has its own user, inherited by its children.
pub(crate) fn as_unprivileged_user<T: Send>(work: impl Future<Output = T> + Send) -> T {
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
