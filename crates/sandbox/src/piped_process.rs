//! A process with piped input and output, such as a language server.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::group::ProcessGroup;
use crate::process::GroupShutdown;
use crate::spawn::{ResolvedProgram, group_leader};
use crate::{CaptureCap, CapturedOutput, Error, OutputCapture, ProcessEnvironment, ProcessRequest, Program};

/// The captured size of standard error.
const STDERR_CAP: CaptureCap = CaptureCap {
    head: 16 * 1024,
    tail: 48 * 1024,
};
const BUFFER: usize = 8 * 1024;

/// A process with piped input and output. Dropping it terminates its group, and kills it after
/// [`GRACE`](crate::ProcessRequest::GRACE). A process that ends with its input also ends when this program is killed.
#[derive(Debug)]
pub struct PipedProcess {
    child: Option<Child>,
    group: ProcessGroup,
    id: u32,
    stderr: Arc<Mutex<OutputCapture>>,
}

impl PipedProcess {
    /// Starts a process and returns its input and output. Must be called within a tokio runtime.
    pub fn start(
        program: &Program,
        cwd: &Path,
        environment: &ProcessEnvironment,
    ) -> Result<(Self, ChildStdin, ChildStdout), Error> {
        let resolved = ResolvedProgram::new(program, environment, cwd)?;
        let mut command = group_leader(&resolved.path, environment);
        command
            .args(&resolved.args)
            .current_dir(cwd)
            .env_clear()
            .envs(environment.iter())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let failed = |source| match cwd.is_dir() {
            true => Error::Start {
                program: resolved.name.clone(),
                source,
            },
            false => Error::Directory { path: cwd.to_owned() },
        };
        let mut child = tokio::process::Command::from(command).spawn().map_err(failed)?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = child.id().and_then(|id| Some((id, ProcessGroup::new(id, None)?)));
        let ((Some(input), Some(output), Some(errors)), Some((id, group))) = (streams, group) else {
            return Err(failed(std::io::Error::other("it ended immediately")));
        };
        let stderr = Arc::new(Mutex::new(OutputCapture::new(STDERR_CAP)));
        tokio::spawn(capture_stderr(errors, stderr.clone()));
        let process = Self {
            child: Some(child),
            group,
            id,
            stderr,
        };
        Ok((process, input, output))
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The start and the end of its standard error so far.
    pub fn stderr(&self) -> CapturedOutput {
        self.stderr
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
            .finish()
    }

    /// Waits for its end. Cancel safe.
    pub async fn wait(&mut self) {
        if let Some(child) = &mut self.child {
            // An error means that the process has already ended.
            drop(child.wait().await);
        }
    }

    /// The resident memory of the process in bytes, if known.
    pub fn memory(&self) -> Option<u64> {
        usage::memory(self.id)
    }
}

/// Reads standard error continuously, so that the process does not block.
async fn capture_stderr(mut errors: ChildStderr, stderr: Arc<Mutex<OutputCapture>>) {
    let mut buffer = vec![0; BUFFER];
    while let Ok(count @ 1..) = errors.read(&mut buffer).await {
        stderr
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(&buffer[..count]);
    }
}

impl Drop for PipedProcess {
    fn drop(&mut self) {
        self.group.terminate();
        let ending = GroupShutdown {
            group: self.group.clone(),
            child: self.child.take(),
        };
        // Without a runtime, dropping `ending` kills the group immediately.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(ending.wait(ProcessRequest::GRACE));
        }
    }
}

/// Memory usage of a process.
mod usage {
    #[cfg(target_os = "linux")]
    pub(super) fn memory(id: u32) -> Option<u64> {
        use std::io::Read;
        let path = format!("/proc/{id}/status");
        let file = rustix::fs::open(path, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).ok()?;
        let mut text = String::new();
        std::fs::File::from(file).read_to_string(&mut text).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn memory(_: u32) -> Option<u64> {
        None
    }
}
