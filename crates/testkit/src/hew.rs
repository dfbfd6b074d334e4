//! Runs the binary under test in a clean environment with its own home directory.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::server::Server;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(180);
/// The maximum captured output.
const MAX_OUTPUT: usize = 64 << 20;

/// A command for the binary. Clones share one home directory, so that a later run finds the files of an earlier one.
#[derive(Clone, Debug)]
pub struct Hew {
    binary: PathBuf,
    home: Arc<tempfile::TempDir>,
    folder: Option<PathBuf>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    stdin: Option<Vec<u8>>,
    timeout: Duration,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit status; `None` if it timed out and was killed.
    pub status: Option<ExitStatus>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// The exit code, if it exited by itself.
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// Whether it succeeded.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

impl Hew {
    /// A command with a new home directory.
    pub fn new(binary: impl Into<PathBuf>) -> Result<Self, Error> {
        let failed = |source| Error::File {
            path: std::env::temp_dir(),
            source,
        };
        let home = tempfile::Builder::new().prefix("home-").tempdir().map_err(failed)?;
        for folder in FOLDERS {
            let path = home.path().join(folder.1);
            std::fs::create_dir_all(&path).map_err(|source| Error::File { path, source })?;
        }
        Ok(Self {
            binary: binary.into(),
            home: Arc::new(home),
            folder: None,
            arguments: Vec::new(),
            environment: NO_SERVERS.map(|(name, url)| (name.into(), url.into())).to_vec(),
            stdin: None,
            timeout: DEFAULT_TIMEOUT,
        })
    }

    /// The home directory of the runs.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Points all vendors' usual variables to a scripted server.
    pub fn with_server(self, server: &Server) -> Self {
        let url = server.url();
        self.env("ANTHROPIC_BASE_URL", &url)
            .env("ANTHROPIC_API_KEY", "sk-scripted")
            .env("OPENAI_BASE_URL", format!("{url}/v1"))
            .env("OPENAI_API_KEY", "sk-scripted")
            .env("GOOGLE_GEMINI_BASE_URL", &url)
            .env("GEMINI_API_KEY", "scripted")
    }

    /// Runs in this directory instead of the home directory.
    pub fn current_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets standard input; empty by default.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// Kills it after this time.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs it to completion.
    pub async fn run(self) -> Result<Output, Error> {
        self.spawn()?.wait().await
    }

    /// The command as a shell line for a terminal, which prints the exit status and the terminal state. Writes its
    /// process id to [`Hew::pid_file`].
    pub(crate) fn shell_command(&self, more: &[(&str, &str)]) -> String {
        format!("{}; echo ended with $?; stty -a; exec sleep 600", self.line(more, ""))
    }

    /// Creates a script `run` that executes the binary; returns its directory.
    pub(crate) fn script(&self, more: &[(&str, &str)]) -> Result<PathBuf, Error> {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = self.home.path().join(".bin");
        let path = folder.join("run");
        let text = format!("#!/bin/sh\n{}\n", self.line(more, "exec "));
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&path, text))
            .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)))
            .map_err(|source| Error::File { path, source })?;
        Ok(folder)
    }

    fn line(&self, more: &[(&str, &str)], how: &str) -> String {
        let folder = self.folder.as_deref().unwrap_or(self.home.path());
        let mut line = format!("cd {}; {how}env -i LANG=C.UTF-8", quoted(folder.as_os_str()));
        let path = std::env::var_os("PATH").map(|path| (OsString::from("PATH"), path));
        let home = [(OsString::from("HOME"), self.home.path().as_os_str().to_owned())];
        let folders =
            FOLDERS.map(|(name, folder)| (OsString::from(name), self.home.path().join(folder).into_os_string()));
        let more = more
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let variables = path
            .into_iter()
            .chain(home)
            .chain(folders)
            .chain(more)
            .chain(self.environment.clone());
        for (name, value) in variables {
            line.push_str(&format!(" {}={}", name.to_string_lossy(), quoted(&value)));
        }
        line.push_str(&format!(
            " /bin/sh -c 'echo $$ > \"$0\"; exec \"$@\"' {} {}",
            quoted(self.pid_file().as_os_str()),
            quoted(self.binary.as_os_str())
        ));
        for argument in &self.arguments {
            line.push_str(&format!(" {}", quoted(argument)));
        }
        line
    }

    /// The file with the process id of a run in a terminal.
    pub fn pid_file(&self) -> PathBuf {
        self.home.path().join("pid")
    }

    /// Starts it.
    pub fn spawn(self) -> Result<Running, Error> {
        let mut command = Command::new(&self.binary);
        command
            .args(&self.arguments)
            .current_dir(self.folder.as_deref().unwrap_or(self.home.path()));
        command.env_clear().envs([("LANG", "C.UTF-8"), ("TERM", "dumb")]);
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
            .env("HOME", self.home.path())
            .envs(FOLDERS.map(|(name, folder)| (name, self.home.path().join(folder))));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(if self.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A separate process group, so that its children end with it.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(|source| Error::Run {
            binary: self.binary.clone(),
            source,
        })?;
        let feeding = child.stdin.take().zip(self.stdin).map(|(mut pipe, text)| {
            // A program may exit without reading all of its input.
            tokio::spawn(async move { drop(pipe.write_all(&text).await) })
        });
        let stdout = PipeCapture::of(child.stdout.take());
        let stderr = PipeCapture::of(child.stderr.take());
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Running {
            child,
            pid,
            stdout,
            stderr,
            feeding,
            binary: self.binary,
            timeout: self.timeout,
            _home: self.home,
        })
    }
}

/// Quotes a word for a shell.
fn quoted(word: &OsStr) -> String {
    format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"))
}

/// A running process. Dropping it kills its process group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    pid: Option<Pid>,
    stdout: PipeCapture,
    stderr: PipeCapture,
    feeding: Option<JoinHandle<()>>,
    binary: PathBuf,
    timeout: Duration,
    _home: Arc<tempfile::TempDir>,
}

impl Running {
    /// Its process id.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The output so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Waits until it has printed this text.
    pub async fn wait_for_output(&mut self, expected: &str) -> Result<(), Error> {
        let mut seen = self.stdout.seen.subscribe();
        let printed = seen.wait_for(|seen| contains(&seen.bytes, expected) || seen.is_over);
        let in_time = matches!(tokio::time::timeout(self.timeout, printed).await, Ok(Ok(_)));
        let stdout = self.stdout.text();
        if in_time && stdout.contains(expected) {
            return Ok(());
        }
        Err(Error::NotPrinted {
            expected: expected.to_owned(),
            stdout,
        })
    }

    /// Sends SIGINT, like Ctrl-C.
    pub fn interrupt(&self) -> Result<(), Error> {
        self.signal(Signal::INT)
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) -> Result<(), Error> {
        self.signal(Signal::TERM)
    }

    /// Kills only the process, like a crash, and not its children.
    pub fn kill(&self) -> Result<(), Error> {
        self.signal(Signal::KILL)
    }

    /// Waits for the exit, or kills the process after the timeout.
    pub async fn wait(mut self) -> Result<Output, Error> {
        let ended = tokio::time::timeout(self.timeout, self.child.wait()).await;
        let status = match ended {
            Ok(status) => Some(status.map_err(|source| Error::Run {
                binary: self.binary.clone(),
                source,
            })?),
            Err(_) => None,
        };
        // Also kills its children, which would keep the pipes open.
        self.end_group();
        if let Some(feeding) = self.feeding.take() {
            feeding.abort();
        }
        Ok(Output {
            status,
            stdout: self.stdout.rest().await,
            stderr: self.stderr.rest().await,
        })
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        let not_found = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let sent = match (self.child.id(), self.pid) {
            (Some(_), Some(pid)) => kill_process(pid, signal).map_err(std::io::Error::from),
            _ => Err(not_found()),
        };
        sent.map_err(|source| Error::Run {
            binary: self.binary.clone(),
            source,
        })
    }

    fn end_group(&mut self) {
        if let Some(pid) = self.pid.take() {
            // An error means that the group has already ended.
            kill_process_group(pid, Signal::KILL).unwrap_or(());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end_group();
    }
}

/// The output of a process, captured as it arrives.
#[derive(Debug)]
struct PipeCapture {
    seen: watch::Sender<CapturedText>,
    reading: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct CapturedText {
    bytes: Vec<u8>,
    is_over: bool,
}

impl PipeCapture {
    fn of(pipe: Option<impl AsyncRead + Unpin + Send + 'static>) -> Self {
        let seen = watch::Sender::new(CapturedText::default());
        let into = seen.clone();
        let reading = tokio::spawn(async move {
            let mut piece = vec![0; 8192];
            if let Some(mut pipe) = pipe {
                while let Ok(length @ 1..) = pipe.read(&mut piece).await {
                    into.send_modify(|seen| {
                        let room = MAX_OUTPUT.saturating_sub(seen.bytes.len()).min(length);
                        seen.bytes.extend_from_slice(&piece[..room]);
                    });
                }
            }
            into.send_modify(|seen| seen.is_over = true);
        });
        Self { seen, reading }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen.borrow().bytes).into_owned()
    }

    /// All output, once the process has ended.
    async fn rest(&mut self) -> String {
        let timeout = Duration::from_secs(5);
        // A process that left the group may hold the pipe; then the output so far must suffice.
        drop(tokio::time::timeout(timeout, &mut self.reading).await);
        self.text()
    }
}

fn contains(bytes: &[u8], expected: &str) -> bool {
    expected.is_empty()
        || bytes
            .windows(expected.len())
            .any(|window| window == expected.as_bytes())
}

/// Addresses without a server: those on this machine must not affect a test.
const NO_SERVERS: [(&str, &str); 4] = [
    ("OLLAMA_HOST", "127.0.0.1:1"),
    ("LMSTUDIO_BASE_URL", "http://127.0.0.1:1/v1"),
    ("LLAMACPP_BASE_URL", "http://127.0.0.1:1/v1"),
    ("VLLM_BASE_URL", "http://127.0.0.1:1/v1"),
];

/// The directory of each variable, below the home directory.
const FOLDERS: [(&str, &str); 6] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_RUNTIME_DIR", ".run"),
    ("TMPDIR", ".tmp"),
];
