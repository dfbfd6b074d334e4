//! Runs the binary under test in a clean environment, with a home of its own.

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

const PATIENCE: Duration = Duration::from_secs(180);
/// More output than this is not kept.
const MOST_OUTPUT: usize = 64 << 20;

/// How the binary shall be run. Clones share one home, so that a later run finds what an earlier one left.
#[derive(Clone, Debug)]
pub struct Hew {
    binary: PathBuf,
    home: Arc<tempfile::TempDir>,
    folder: Option<PathBuf>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    stdin: Option<Vec<u8>>,
    patience: Duration,
}

/// What a run left behind.
#[derive(Clone, Debug)]
pub struct Output {
    /// How it ended; `None` if its time was up and it was killed.
    pub status: Option<ExitStatus>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Output {
    /// Its exit code, if it ended by itself.
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// Whether it ended well.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

impl Hew {
    /// A binary, with a fresh home.
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
            environment: Vec::new(),
            stdin: None,
            patience: PATIENCE,
        })
    }

    /// The home folder that runs get.
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

    /// Points every vendor's usual variables at a scripted server.
    pub fn talks_to(self, server: &Server) -> Self {
        let url = server.url();
        self.env("ANTHROPIC_BASE_URL", &url)
            .env("ANTHROPIC_API_KEY", "sk-scripted")
            .env("OPENAI_BASE_URL", format!("{url}/v1"))
            .env("OPENAI_API_KEY", "sk-scripted")
            .env("GOOGLE_GEMINI_BASE_URL", &url)
            .env("GEMINI_API_KEY", "scripted")
    }

    /// Runs in this folder instead of its home.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Gives it this to read; without it, there is nothing to read.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// Kills it after this time.
    pub fn timeout(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs it to its end.
    pub async fn run(self) -> Result<Output, Error> {
        self.spawn()?.wait().await
    }

    /// The same as a line for a shell in a terminal, which says how it ended and how it left the terminal. Its process id is
    /// written to [`Hew::pid_file`].
    pub(crate) fn in_shell(&self, more: &[(&str, &str)]) -> String {
        format!("{}; echo ended with $?; stty -a; exec sleep 600", self.line(more, ""))
    }

    /// The same as a script `run` that becomes the binary; the folder it is in.
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

    /// Where a run in a terminal writes its process id.
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
        // A group of its own, so that what it started ends with it.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(|source| Error::Run {
            binary: self.binary.clone(),
            source,
        })?;
        let feeding = child.stdin.take().zip(self.stdin).map(|(mut pipe, text)| {
            // A program may end without reading all of it.
            tokio::spawn(async move { drop(pipe.write_all(&text).await) })
        });
        let stdout = Captured::of(child.stdout.take());
        let stderr = Captured::of(child.stderr.take());
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Running {
            child,
            pid,
            stdout,
            stderr,
            feeding,
            binary: self.binary,
            patience: self.patience,
            _home: self.home,
        })
    }
}

/// A word as a shell takes it.
fn quoted(word: &OsStr) -> String {
    format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"))
}

/// A run under way. It is killed with all it started when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    pid: Option<Pid>,
    stdout: Captured,
    stderr: Captured,
    feeding: Option<JoinHandle<()>>,
    binary: PathBuf,
    patience: Duration,
    _home: Arc<tempfile::TempDir>,
}

impl Running {
    /// Its process id.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// What it has printed so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Waits until it has printed this.
    pub async fn until_printed(&mut self, wanted: &str) -> Result<(), Error> {
        let mut seen = self.stdout.seen.subscribe();
        let printed = seen.wait_for(|seen| contains(&seen.bytes, wanted) || seen.is_over);
        let in_time = matches!(tokio::time::timeout(self.patience, printed).await, Ok(Ok(_)));
        let stdout = self.stdout.text();
        if in_time && stdout.contains(wanted) {
            return Ok(());
        }
        Err(Error::NotPrinted {
            wanted: wanted.to_owned(),
            stdout,
        })
    }

    /// Sends it what Ctrl-C would.
    pub fn interrupt(&self) -> Result<(), Error> {
        self.signal(Signal::INT)
    }

    /// Asks it to end.
    pub fn terminate(&self) -> Result<(), Error> {
        self.signal(Signal::TERM)
    }

    /// Kills it alone, as a crash would, not what it started.
    pub fn kill(&self) -> Result<(), Error> {
        self.signal(Signal::KILL)
    }

    /// Waits for its end, or kills it when its time is up.
    pub async fn wait(mut self) -> Result<Output, Error> {
        let ended = tokio::time::timeout(self.patience, self.child.wait()).await;
        let status = match ended {
            Ok(status) => Some(status.map_err(|source| Error::Run {
                binary: self.binary.clone(),
                source,
            })?),
            Err(_) => None,
        };
        // Also what it left running, which would keep its pipes open.
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
        let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let sent = match (self.child.id(), self.pid) {
            (Some(_), Some(pid)) => kill_process(pid, signal).map_err(std::io::Error::from),
            _ => Err(gone()),
        };
        sent.map_err(|source| Error::Run {
            binary: self.binary.clone(),
            source,
        })
    }

    fn end_group(&mut self) {
        if let Some(pid) = self.pid.take() {
            // An error says that nothing is left of it, which is well.
            kill_process_group(pid, Signal::KILL).unwrap_or(());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end_group();
    }
}

/// The output of a process, gathered as it comes.
#[derive(Debug)]
struct Captured {
    seen: watch::Sender<Heard>,
    reading: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Heard {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Captured {
    fn of(pipe: Option<impl AsyncRead + Unpin + Send + 'static>) -> Self {
        let seen = watch::Sender::new(Heard::default());
        let into = seen.clone();
        let reading = tokio::spawn(async move {
            let mut piece = vec![0; 8192];
            if let Some(mut pipe) = pipe {
                while let Ok(length @ 1..) = pipe.read(&mut piece).await {
                    into.send_modify(|seen| {
                        let room = MOST_OUTPUT.saturating_sub(seen.bytes.len()).min(length);
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

    /// All of it, once the process has ended.
    async fn rest(&mut self) -> String {
        let patience = Duration::from_secs(5);
        // Something that left the process group may hold the pipe; then what came so far has to do.
        drop(tokio::time::timeout(patience, &mut self.reading).await);
        self.text()
    }
}

fn contains(bytes: &[u8], wanted: &str) -> bool {
    wanted.is_empty() || bytes.windows(wanted.len()).any(|window| window == wanted.as_bytes())
}

/// Where each variable points, below the home folder.
const FOLDERS: [(&str, &str); 6] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_RUNTIME_DIR", ".run"),
    ("TMPDIR", ".tmp"),
];
