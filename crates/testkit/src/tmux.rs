//! Runs the binary in a real terminal: a separate tmux server with keyboard input and screen capture.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::hew::Hew;

/// The timeout for screen content.
const TIMEOUT: Duration = Duration::from_secs(180);
/// The terminal variables for programs in the window.
const TERMINAL: &[(&str, &str)] = &[("TERM", "tmux-256color"), ("COLORTERM", "truecolor"), ("TMUX", "tmux")];
/// How long a matching screen may continue to change.
const SETTLE_TIME: Duration = Duration::from_millis(500);
/// The polling interval for the screen.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// A tmux server with one window. It is killed on drop.
#[derive(Debug)]
pub struct Tmux {
    socket: tempfile::TempDir,
}

impl Tmux {
    /// Whether tmux is installed.
    pub fn is_installed() -> bool {
        Command::new("tmux")
            .arg("-V")
            .output()
            .is_ok_and(|output| output.status.success())
    }

    /// Starts the binary in a window of this size.
    pub fn start(hew: &Hew, width: u16, height: u16) -> Result<Tmux, Error> {
        let socket = tempfile::tempdir().map_err(|source| Error::File {
            path: std::env::temp_dir(),
            source,
        })?;
        let tmux = Tmux { socket };
        let size = [width.to_string(), height.to_string()];
        let shell = hew.shell_command(TERMINAL);
        // The history limit applies to windows created later.
        tmux.run(&[
            "-f",
            "/dev/null",
            "start-server",
            ";",
            "set-option",
            "-g",
            "history-limit",
            "100000",
            ";",
            "new-session",
            "-d",
            "-x",
            &size[0],
            "-y",
            &size[1],
            "/bin/sh",
        ])?;
        tmux.run(&["respawn-window", "-k", &shell])?;
        Ok(tmux)
    }

    /// Starts an interactive shell in which the command `run` is the binary, so that it can be suspended and resumed.
    pub fn shell(hew: &Hew, width: u16, height: u16) -> Result<Tmux, Error> {
        let tmux = Tmux::start(hew, width, height)?;
        let script = hew.script(TERMINAL)?;
        let line = format!("PATH={}:$PATH PS1='ready> ' exec /bin/sh -i", script.display());
        tmux.run(&["respawn-window", "-k", &line])?;
        Ok(tmux)
    }

    /// Also writes the window's output to this file.
    pub fn copy_to(&self, file: &std::path::Path) -> Result<(), Error> {
        let line = format!("cat >> '{}'", file.display());
        self.run(&["pipe-pane", &line]).map(drop)
    }

    /// Closes the terminal.
    pub fn close(&self) -> Result<(), Error> {
        self.run(&["kill-server"]).map(drop)
    }

    /// Starts the binary again in the same window, below the existing content.
    pub fn restart(&self, hew: &Hew) -> Result<(), Error> {
        let line = hew.shell_command(TERMINAL);
        self.run(&["respawn-window", "-k", &line]).map(drop)
    }

    /// Types literal text.
    pub fn write(&self, text: &str) -> Result<(), Error> {
        self.run(&["send-keys", "-l", text]).map(drop)
    }

    /// Presses keys by tmux's names, such as `Enter`, `Escape` and `C-c`.
    pub fn press(&self, keys: &[&str]) -> Result<(), Error> {
        let words: Vec<&str> = ["send-keys"].into_iter().chain(keys.iter().copied()).collect();
        self.run(&words).map(drop)
    }

    /// Resizes the window.
    pub fn resize(&self, width: u16, height: u16) -> Result<(), Error> {
        self.run(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()])
            .map(drop)
    }

    /// The visible screen.
    pub fn screen(&self) -> Result<String, Error> {
        self.run(&["capture-pane", "-p"])
    }

    /// The whole history, including scrolled-off rows; wrapped rows are joined.
    pub fn scrollback(&self) -> Result<String, Error> {
        self.run(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    /// Expands a tmux format for the window.
    pub fn display_message(&self, format: &str) -> Result<String, Error> {
        self.run(&["display-message", "-p", format])
    }

    /// Waits until the condition holds for the history; the error contains the actual content.
    ///
    /// tmux may show a part of a frame, so the result is the content of two equal captures, or the last one if the
    /// screen does not stop changing within `SETTLE_TIME`.
    pub async fn wait_until(&self, expected: impl Fn(&str) -> bool) -> Result<String, Error> {
        let start = Instant::now();
        let mut matched: Option<(Instant, String)> = None;
        loop {
            let all = self.scrollback()?;
            if expected(&all) {
                let since = matched.as_ref().map_or_else(Instant::now, |(since, _)| *since);
                let is_settled = matched.is_some_and(|(_, previous)| previous == all);
                if is_settled || since.elapsed() > SETTLE_TIME {
                    return Ok(all);
                }
                matched = Some((since, all));
            } else if let Some((_, transient)) = matched {
                return Ok(transient);
            } else if start.elapsed() > TIMEOUT {
                return Err(Error::NotPrinted {
                    expected: "the condition of the test".into(),
                    stdout: all,
                });
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until this text is visible.
    pub async fn wait_for_text(&self, text: &str) -> Result<String, Error> {
        let shown = self.wait_until(|all| all.contains(text)).await;
        shown.map_err(|error| match error {
            Error::NotPrinted { stdout, .. } => Error::NotPrinted {
                expected: text.into(),
                stdout,
            },
            other => other,
        })
    }

    fn run(&self, words: &[&str]) -> Result<String, Error> {
        let failed = |source| Error::Run {
            binary: PathBuf::from("tmux"),
            source,
        };
        let Output { status, stdout, stderr } = Command::new("tmux")
            .arg("-S")
            .arg(self.socket.path().join("tmux"))
            .args(words)
            .env_remove("TMUX")
            .env("LANG", "C.UTF-8")
            .output()
            .map_err(failed)?;
        if status.success() {
            return Ok(String::from_utf8_lossy(&stdout).into_owned());
        }
        let message = String::from_utf8_lossy(&stderr).into_owned();
        Err(failed(std::io::Error::other(message)))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // A server that has already ended needs no cleanup.
        drop(self.run(&["kill-server"]));
    }
}
