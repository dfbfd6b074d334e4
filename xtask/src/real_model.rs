//! Runs hew with a real language model on this machine, on three wires. Opt-in: it downloads a gigabyte once.

use crate::tools;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The wires that the model's server supports, with the path of its base URL.
const WIRES: &[(&str, &str)] = &[
    ("openai-chat", "/v1"),
    ("openai-responses", "/v1"),
    ("anthropic-messages", ""),
];

/// The number that the model must find in a file and cannot guess.
const SECRET: &str = "7391";

/// Downloads the model, starts it, and lets hew answer a question about a file and create one, on each wire.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    crate::no_arguments("real-model", args)?;
    let home = root.join(".tools").join("real-model");
    let python = interpreter(&home)?;
    let weights = home.join("coder-1.5b.gguf");
    let script = root.join("xtask").join("real_model").join("server.py");
    if !weights.is_file() {
        println!("downloading the model, about a gigabyte, into {}", home.display());
        tools::loudly(Command::new(&python).arg(&script).arg("fetch").arg(&weights))?;
    }
    tools::loudly(
        Command::new(tools::cargo())
            .current_dir(root)
            .args(["build", "--release", "--package", "cli"]),
    )?;
    let server = Server::start(&python, &script, &weights)?;
    for (wire, base) in WIRES {
        println!("\n=== {wire} ===");
        let place = Place::new(&home, wire, &format!("http://127.0.0.1:{}{base}", server.port))?;
        reads(root, &place)?;
        creates(root, &place)?;
    }
    println!(
        "\na real model answered a question about a file and created one, on {} wires",
        WIRES.len()
    );
    Ok(())
}

/// The model reads a file with random content and reports it.
fn reads(root: &Path, place: &Place) -> Result<()> {
    fs::write(
        place.project.join("port.txt"),
        format!("The service listens on port {SECRET}.\n"),
    )?;
    let answer = place.hew(
        root,
        "Read the file port.txt and tell me which port the service listens on.",
    )?;
    ensure!(
        answer.contains(SECRET),
        "the answer does not hold the port {SECRET}: {answer}"
    );
    Ok(())
}

/// The model creates a file.
fn creates(root: &Path, place: &Place) -> Result<()> {
    place.hew(
        root,
        "Create the file ./greeting.txt with the one word hello as its whole content.",
    )?;
    let file = place.project.join("greeting.txt");
    let text = fs::read_to_string(&file).context("greeting.txt was not created")?;
    ensure!(
        text.trim().to_lowercase().contains("hello"),
        "greeting.txt holds {text:?}"
    );
    println!("greeting.txt holds {text:?}");
    Ok(())
}

/// A separate project, home folder and configuration.
struct Place {
    project: PathBuf,
    home: PathBuf,
}

impl Place {
    fn new(tools: &Path, wire: &str, base_url: &str) -> Result<Self> {
        let folder = tools.join("runs").join(wire);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let place = Place {
            project: folder.join("project"),
            home: folder.join("home"),
        };
        let config = place.home.join("config").join("hew");
        fs::create_dir_all(&place.project)?;
        fs::create_dir_all(&config)?;
        let text = format!(
            "model = \"small/coder\"\n\n[providers.small]\nwire = \"{wire}\"\nbase_url = \"{base_url}\"\nkey = \"none\"\n\n\
             [models.\"small/coder\"]\nwindow = 8192\noutput = 512\n"
        );
        fs::write(config.join("config.toml"), text)?;
        Ok(place)
    }

    fn hew(&self, root: &Path, task: &str) -> Result<String> {
        println!("> {task}");
        let output = Command::new(root.join("target/release/hew"))
            .args(["run", "--no-title", "--max-steps", "8", task])
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", self.home.join("config"))
            .env("XDG_DATA_HOME", self.home.join("data"))
            .stdin(Stdio::null())
            .output()?;
        let (answer, log) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        println!("{}\n{}", log.trim_end(), answer.trim_end());
        ensure!(output.status.success(), "hew ended with {}", output.status);
        Ok(answer.into_owned())
    }
}

/// The model's server, stopped when dropped.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(python: &Path, script: &Path, weights: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut child = Command::new(python)
            .arg(script)
            .arg("serve")
            .arg(weights)
            .arg(port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdout = child.stdout.take().context("the server has no output")?;
        let server = Server { child, port };
        for line in BufReader::new(stdout).lines() {
            if line?.contains("listening on") {
                return Ok(server);
            }
        }
        bail!("the model's server ended before it listened")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if the server has already exited.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A Python interpreter with llama.cpp's server installed.
fn interpreter(home: &Path) -> Result<PathBuf> {
    let environment = home.join("python");
    let python = environment.join("bin").join("python");
    let ready = Command::new(&python)
        .args(["-c", "import xllamacpp"])
        .stderr(Stdio::null())
        .status();
    if !ready.is_ok_and(|status| status.success()) {
        fs::create_dir_all(home)?;
        tools::make_environment(&environment)?;
        tools::loudly(Command::new(&python).args(["-m", "pip", "install", "--quiet", "xllamacpp"]))?;
    }
    Ok(python)
}
