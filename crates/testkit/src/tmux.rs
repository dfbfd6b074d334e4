//! The binary in a real terminal: a tmux of its own, whose keys are pressed and whose screen is read.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::hew::Hew;

/// How long something is waited for on the screen.
const PATIENCE: Duration = Duration::from_secs(180);
/// What programs in the window are told about it.
const TERMINAL: &[(&str, &str)] = &[("TERM", "tmux-256color"), ("COLORTERM", "truecolor"), ("TMUX", "tmux")];
/// How often the screen is looked at.
const LOOK: Duration = Duration::from_millis(25);

/// A tmux server of its own with one window. It ends when this is dropped.
#[derive(Debug)]
pub struct Tmux {
    socket: tempfile::TempDir,
}

impl Tmux {
    /// Whether there is a tmux here.
    pub fn is_there() -> bool {
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
        let shell = hew.in_shell(TERMINAL);
        // A window keeps as much as was allowed when it was made.
        tmux.ask(&[
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
        tmux.ask(&["respawn-window", "-k", &shell])?;
        Ok(tmux)
    }

    /// Starts an interactive shell with a command `run` that is the binary: it can be suspended and brought back.
    pub fn shell(hew: &Hew, width: u16, height: u16) -> Result<Tmux, Error> {
        let tmux = Tmux::start(hew, width, height)?;
        let script = hew.script(TERMINAL)?;
        let line = format!("PATH={}:$PATH PS1='ready> ' exec /bin/sh -i", script.display());
        tmux.ask(&["respawn-window", "-k", &line])?;
        Ok(tmux)
    }

    /// Everything that the window shows is also written to this file, as it comes.
    pub fn copy_to(&self, file: &std::path::Path) -> Result<(), Error> {
        let line = format!("cat >> '{}'", file.display());
        self.ask(&["pipe-pane", &line]).map(drop)
    }

    /// The terminal goes away.
    pub fn close(&self) -> Result<(), Error> {
        self.ask(&["kill-server"]).map(drop)
    }

    /// Starts the binary again in the same window, below what stands there.
    pub fn again(&self, hew: &Hew) -> Result<(), Error> {
        let line = hew.in_shell(TERMINAL);
        self.ask(&["respawn-window", "-k", &line]).map(drop)
    }

    /// Types text as it is.
    pub fn write(&self, text: &str) -> Result<(), Error> {
        self.ask(&["send-keys", "-l", text]).map(drop)
    }

    /// Presses keys by tmux's names, such as `Enter`, `Escape` and `C-c`.
    pub fn press(&self, keys: &[&str]) -> Result<(), Error> {
        let words: Vec<&str> = ["send-keys"].into_iter().chain(keys.iter().copied()).collect();
        self.ask(&words).map(drop)
    }

    /// Gives the window another size.
    pub fn resize(&self, width: u16, height: u16) -> Result<(), Error> {
        self.ask(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()])
            .map(drop)
    }

    /// What can be seen.
    pub fn seen(&self) -> Result<String, Error> {
        self.ask(&["capture-pane", "-p"])
    }

    /// Everything, what has scrolled away included; rows that the terminal broke are joined.
    pub fn everything(&self) -> Result<String, Error> {
        self.ask(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    /// What tmux knows about the window, by its own formats.
    pub fn asks(&self, format: &str) -> Result<String, Error> {
        self.ask(&["display-message", "-p", format])
    }

    /// Waits until the screen, or what has scrolled away, is as it should be; an error shows what was there instead.
    pub async fn until(&self, wanted: impl Fn(&str) -> bool) -> Result<String, Error> {
        let start = Instant::now();
        loop {
            let all = self.everything()?;
            if wanted(&all) {
                return Ok(all);
            }
            if start.elapsed() > PATIENCE {
                return Err(Error::NotPrinted {
                    wanted: "what the test waits for".into(),
                    stdout: all,
                });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until this text can be read.
    pub async fn until_shown(&self, text: &str) -> Result<String, Error> {
        let shown = self.until(|all| all.contains(text)).await;
        shown.map_err(|error| match error {
            Error::NotPrinted { stdout, .. } => Error::NotPrinted {
                wanted: text.into(),
                stdout,
            },
            other => other,
        })
    }

    fn ask(&self, words: &[&str]) -> Result<String, Error> {
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
        let said = String::from_utf8_lossy(&stderr).into_owned();
        Err(failed(std::io::Error::other(said)))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // A server that is gone already has nothing left to end.
        drop(self.ask(&["kill-server"]));
    }
}
