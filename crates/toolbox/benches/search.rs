//! Compares `grep` and `find_path` with `rg` and `fd` on a tree of 50,000 files: `cargo bench -p toolbox`.
//!
//! The tools are called in this process; the programs are started, and the time of an empty run is subtracted. Both
//! search the same files: hidden ones too, honouring ignore files, without colours. The order alternates, and the
//! median counts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark prepares files and starts the programs that it compares with"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::Features;
use sandbox::ProcessEnvironment;
use serde_json::{Value, json};
use tool::{CallContext, Registry};
use toolbox::Options;
use workspace::Workspace;

const FOLDERS: usize = 500;
const FILES: usize = 100;
const ROUNDS: usize = 11;
/// The required ratio.
const LIMIT: f64 = 1.2;

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let root = &dir.path().canonicalize().unwrap();
    grow(root);
    let workspace = Workspace::open(root).unwrap();
    let none: [&str; 0] = [];
    let tools = toolbox::build_registry(
        workspace,
        ProcessEnvironment::scrubbed([], &none, &none),
        Options::default(),
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();

    let rg = program(&["rg"]);
    let fd = program(&["fd", "fdfind"]);
    println!(
        "{} files; median of {ROUNDS}; the others without their start",
        FOLDERS * FILES
    );
    let mut worst: f64 = 0.0;
    let searches: [(&str, Value, &[&str]); 5] = [
        ("rare word", json!({"pattern": "zebrafish"}), &["-i", "zebrafish"]),
        (
            "case counts",
            json!({"pattern": "Zebrafish", "case_sensitive": true}),
            &["Zebrafish"],
        ),
        (
            "common word",
            json!({"pattern": "return value_6"}),
            &["-i", "return value_6"],
        ),
        (
            "regex",
            json!({"pattern": r"fn \w+_36\(.*\) -> u\d+"}),
            &["-i", r"fn \w+_36\(.*\) -> u\d+"],
        ),
        (
            "one type",
            json!({"pattern": "value_17", "type": "rust"}),
            &["-i", "-trust", "value_17"],
        ),
    ];
    for (name, input, arguments) in &searches {
        let ours = || runtime.block_on(call(&tools, "grep", input));
        let theirs = rg.map(|rg| {
            let start = started(rg, root);
            move || {
                run(
                    rg,
                    &[&["--hidden", "-n", "--no-heading", "--color=never"], *arguments].concat(),
                    root,
                )
                .saturating_sub(start)
            }
        });
        worst = worst.max(compare(&format!("grep, {name}"), ours, theirs));
    }
    let finds: [(&str, Value, &[&str]); 2] = [
        ("by ending", json!({"pattern": "*.rs"}), &["-g", "*.rs"]),
        ("one name", json!({"pattern": "file_77.py"}), &["-g", "file_77.py"]),
    ];
    for (name, input, arguments) in &finds {
        let ours = || runtime.block_on(call(&tools, "find_path", input));
        let theirs = fd.map(|fd| {
            let start = started(fd, root);
            move || run(fd, &[&["--hidden", "--color=never"], *arguments].concat(), root).saturating_sub(start)
        });
        worst = worst.max(compare(&format!("find_path, {name}"), ours, theirs));
    }
    match (rg.is_some() && fd.is_some(), worst <= LIMIT) {
        (false, _) => println!("rg or fd is not here to compare with"),
        (true, true) => println!("within {LIMIT}x everywhere (worst {worst:.2}x)"),
        (true, false) => {
            println!("MORE than {LIMIT}x somewhere (worst {worst:.2}x)");
            std::process::exit(1);
        }
    }
}

/// Runs both alternately, prints the times, and returns the ratio.
fn compare(name: &str, ours: impl Fn() -> Duration, theirs: Option<impl Fn() -> Duration>) -> f64 {
    ours();
    theirs.as_ref().map(|theirs| theirs());
    let (mut mine, mut other) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        mine.push(ours());
        other.extend(theirs.as_ref().map(|theirs| theirs()));
    }
    let mine = median(mine);
    match other.is_empty() {
        true => {
            println!("{name:<24} {:>8.1} ms", millis(mine));
            0.0
        }
        false => {
            let other = median(other);
            let ratio = mine.as_secs_f64() / other.as_secs_f64();
            println!(
                "{name:<24} {:>8.1} ms  against {:>8.1} ms  {ratio:.2}x",
                millis(mine),
                millis(other)
            );
            ratio
        }
    }
}

async fn call(tools: &Registry, name: &str, input: &Value) -> Duration {
    let features = Features {
        tools: true,
        parallel_tools: true,
        images: false,
        pdf: false,
        reasoning: false,
        caching: false,
    };
    let tool = Arc::clone(tools.get(name).unwrap());
    let start = Instant::now();
    let output = tool
        .run(input.clone().into(), CallContext::detached("call".into(), features))
        .await
        .unwrap();
    let took = start.elapsed();
    assert!(!output.content.is_empty());
    took
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Duration {
    let start = Instant::now();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let took = start.elapsed();
    assert!(output.status.success(), "{program} {arguments:?} found nothing");
    took
}

/// The time of an empty run of a program.
fn started(program: &str, folder: &Path) -> Duration {
    median((0..ROUNDS).map(|_| run(program, &["--version"], folder)).collect())
}

fn program(names: &[&'static str]) -> Option<&'static str> {
    let there = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    names.iter().find(there).copied()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// Writes the tree: directories three levels deep, files of about 2 KB in three languages, some of them ignored.
fn grow(root: &Path) {
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".gitignore"), "*.log\n/folder_0/sub_1/\n").unwrap();
    for folder in 0..FOLDERS {
        let path = root.join(format!("folder_{}/sub_{}/inner_{folder}", folder % 10, folder % 50));
        fs::create_dir_all(&path).unwrap();
        for file in 0..FILES {
            let ending = ["rs", "py", "ts"][file % 3];
            fs::write(path.join(format!("file_{file}.{ending}")), text(folder, file)).unwrap();
        }
    }
}

fn text(folder: usize, file: usize) -> String {
    let mut text = String::new();
    for line in 0..40 {
        match line % 4 {
            0 => writeln!(
                text,
                "fn name_{folder}_{file}_{line}(first: u32, second: &str) -> u64 {{"
            ),
            1 => writeln!(
                text,
                "    let value_{line} = first.wrapping_mul({file}) + second.len() as u32;"
            ),
            2 => writeln!(text, "    return value_{} + {folder}; // what comes of it", line % 10),
            _ => writeln!(text, "}}"),
        }
        .unwrap();
    }
    if (folder * FILES + file) % 5_000 == 42 {
        text.push_str("// Zebrafish\n");
    }
    text
}
