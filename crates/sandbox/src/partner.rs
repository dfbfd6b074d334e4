//! A process to talk with, such as a language server: what goes in and what comes out are streams of their own.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::group::Group;
use crate::process::Ending;
use crate::spawn::{Resolved, leading};
use crate::{Cap, Capture, Environment, Error, Output, Program, Request};

/// How much is kept of what a partner says to nobody in particular.
const SAID: Cap = Cap {
    head: 16 * 1024,
    tail: 48 * 1024,
};
const BUFFER: usize = 8 * 1024;

/// A process that answers. Dropping it ends its whole group, with a signal first and by force after
/// [`GRACE`](Request::GRACE). One that ends with its input ends when this program is killed, too.
#[derive(Debug)]
pub struct Partner {
    child: Option<Child>,
    group: Group,
    id: u32,
    said: Arc<Mutex<Capture>>,
}

impl Partner {
    /// Starts a process, and hands over what it reads and what it writes. Must be called within a tokio runtime.
    pub fn start(
        program: &Program,
        cwd: &Path,
        environment: &Environment,
    ) -> Result<(Self, ChildStdin, ChildStdout), Error> {
        let resolved = Resolved::new(program, environment, cwd)?;
        let mut command = leading(&resolved.path, environment);
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
        let group = child.id().and_then(|id| Some((id, Group::led_by(id, None)?)));
        let ((Some(input), Some(output), Some(errors)), Some((id, group))) = (streams, group) else {
            return Err(failed(std::io::Error::other("it ended at once")));
        };
        let said = Arc::new(Mutex::new(Capture::new(SAID)));
        tokio::spawn(listen(errors, said.clone()));
        let partner = Self {
            child: Some(child),
            group,
            id,
            said,
        };
        Ok((partner, input, output))
    }

    /// The number the system knows it by.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The start and the end of what it wrote to its standard error so far.
    pub fn said(&self) -> Output {
        self.said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
            .finish()
    }

    /// Waits for its end. Dropping the future loses nothing.
    pub async fn ended(&mut self) {
        if let Some(child) = &mut self.child {
            // An error means that there is nothing to wait for.
            drop(child.wait().await);
        }
    }

    /// How much memory the process itself holds, in bytes, where the system says.
    pub fn memory(&self) -> Option<u64> {
        usage::memory(self.id)
    }
}

/// Keeps the stream flowing, so that nobody stops because nobody listens.
async fn listen(mut errors: ChildStderr, said: Arc<Mutex<Capture>>) {
    let mut buffer = vec![0; BUFFER];
    while let Ok(count @ 1..) = errors.read(&mut buffer).await {
        said.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(&buffer[..count]);
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.group.terminate();
        let ending = Ending {
            group: self.group.clone(),
            child: self.child.take(),
        };
        // Without a runtime there is nobody to wait, and dropping `ending` ends the group here and now.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(ending.after(Request::GRACE));
        }
    }
}

/// What the system knows of a process.
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
