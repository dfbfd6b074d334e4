//! Screenshots of the terminal front end for the book: the real program in tmux with a scripted model.

mod svg;

use anyhow::{Context, Result, bail};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SIZE: (usize, usize) = (100, 30);
/// The maximum time to wait for the screen.
const PATIENCE: Duration = Duration::from_secs(20);
/// The interval between captures of the screen.
const LOOK: Duration = Duration::from_millis(100);

/// The scripted replies: a plan, an edit that needs approval, and a final answer.
const SCRIPT: &str = r#"{
  "side": "Count columns, not bytes",
  "turns": [
    { "text": "I will look at it.", "calls": [{ "name": "read_file", "input": { "path": "src/width.rs" } }] },
    { "text": "The test fails because `width` counts **bytes**. A wide character has three of them:\n\n```rust\nassert_eq!(\"漢\".len(), 3);\n```\n\nI will count columns instead.",
      "calls": [{ "name": "edit_file", "input": { "path": "src/width.rs", "edits": [{ "old_text": "text.len()", "new_text": "text.chars().count()" }] } }] },
    { "text": "You may want to remember this:", "calls": [{ "name": "write_file", "input": { "path": "../notes.md", "content": "width() counts columns, not bytes.\n" } }] },
    { "text": "Done: `width` counts characters now. Shall I add a test for wide ones?" }
  ]
}"#;

/// A screenshot: its name, the keys to press, and the text that the screen must show.
const SHOTS: &[(&str, &[&str], &str)] = &[
    ("start", &[], "Describe a task"),
    ("completion", &["look at @wid"], "src/width.rs"),
    (
        "approval",
        &["C-u", "Why does the width test fail?", "Enter"],
        "allow once",
    ),
    ("task", &["Enter"], "Shall I add a test"),
    ("changes", &["C-x", "c"], "src/width.rs"),
    ("context", &["Escape", "C-x", "k"], "Last request"),
    ("palette", &["Escape", "C-p"], "/sessions"),
    ("sessions", &["Escape", "C-x", "s"], "Sessions"),
    ("models", &["Escape", "C-x", "m"], "Models"),
    ("keys", &["Escape", "F1"], "Keys"),
];

pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("usage: cargo xtask screenshots");
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    build(root)?;
    let out = root.join("docs/screenshots");
    fs::create_dir_all(&out)?;
    let stage = Stage::set(&target)?;
    for (name, keys, sign) in SHOTS {
        for key in *keys {
            stage.press(key)?;
        }
        let screen = stage.wait_for(sign)?;
        fs::write(out.join(format!("{name}.svg")), svg::draw(&screen, SIZE))?;
        println!("docs/screenshots/{name}.svg");
    }
    Ok(())
}

fn build(root: &Path) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(root)
        .args(["build", "-p", "cli", "-p", "testkit", "--bins"])
        .status()?;
    if !status.success() {
        bail!("it does not build");
    }
    Ok(())
}

/// A terminal that runs hew, and the scripted model. Both end when this is dropped.
struct Stage {
    socket: PathBuf,
    folder: PathBuf,
    server: Child,
}

impl Stage {
    fn set(target: &Path) -> Result<Stage> {
        let folder = std::env::temp_dir().join("hew-screenshots");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let project = folder.join("home/project");
        fs::create_dir_all(project.join("src"))?;
        fs::write(
            project.join("src/width.rs"),
            "/// How wide a text is.\npub fn width(text: &str) -> usize {\n    text.len()\n}\n",
        )?;
        fs::write(project.join("README.md"), "# A small project\n")?;
        fs::write(folder.join("script.json"), SCRIPT)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let server = Command::new(target.join("debug/scripted"))
            .arg(folder.join("script.json"))
            .arg(port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("the scripted model does not start")?;
        let config = format!(
            "model = \"scripted/scripted\"\n\n[tui]\ntheme = \"midnight\"\n\n\
             [providers.scripted]\nbase_url = \"http://127.0.0.1:{port}\"\nwire = \"anthropic-messages\"\nkey = \"none\"\n\n\
             [models.\"scripted/scripted\"]\nwindow = 200000\n"
        );
        fs::write(folder.join("config.toml"), config)?;
        let stage = Stage {
            socket: folder.join("tmux"),
            folder,
            server,
        };
        let hew = format!(
            "env -i PATH=\"$PATH\" HOME={home} TERM=tmux-256color COLORTERM=truecolor LANG=C.UTF-8 TMUX=1 HEW_CONFIG={config} HEW_DATA_DIR={data} {hew} --cwd {project}",
            home = stage.folder.join("home").display(),
            config = stage.folder.join("config.toml").display(),
            data = stage.folder.join("data").display(),
            hew = target.join("debug/hew").display(),
            project = project.display(),
        );
        let (columns, rows) = (SIZE.0.to_string(), SIZE.1.to_string());
        stage.tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, &hew])?;
        Ok(stage)
    }

    /// Presses a key, or types text.
    fn press(&self, key: &str) -> Result<()> {
        let is_key = matches!(key, "Enter" | "Escape" | "F1") || key.starts_with("C-") || key.len() == 1;
        match is_key {
            true => self.tmux(&["send-keys", key])?,
            false => self.tmux(&["send-keys", "-l", key])?,
        };
        sleep(LOOK * 3);
        Ok(())
    }

    /// The screen with its colours, once it shows the text and no longer changes.
    fn wait_for(&self, sign: &str) -> Result<String> {
        let begun = Instant::now();
        let mut before = String::new();
        loop {
            sleep(LOOK);
            let screen = self.tmux(&["capture-pane", "-p", "-e"])?;
            if self.tmux(&["capture-pane", "-p"])?.contains(sign) && screen == before {
                return Ok(screen);
            }
            if begun.elapsed() > PATIENCE {
                bail!(
                    "`{sign}` does not appear; the screen shows\n{}",
                    self.tmux(&["capture-pane", "-p"])?
                );
            }
            before = screen;
        }
    }

    fn tmux(&self, args: &[&str]) -> Result<String> {
        let output = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .args(args)
            .output()
            .context("tmux is needed")?;
        if !output.status.success() {
            bail!("tmux {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Errors are ignored: the process may have ended already.
        drop(self.tmux(&["kill-server"]));
        drop(self.server.kill());
        drop(self.server.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}
