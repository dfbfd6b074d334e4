//! Compares an empty command of a shell, started directly and within a confinement: bare, with a new guard for each
//! command, and with the guard of a session. All take turns, so that load affects all; the medians are printed.
//!
//! `cargo bench -p sandbox [-- ROUNDS]`

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failed preparation is a failed benchmark"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use sandbox::{
    CaptureCap, Confinement, ConfinementLevel, GuardPool, ProcessEnvironment, ProcessRequest, ProcessStatus, Program,
};

const DEFAULT_ROUNDS: usize = 200;
/// As many protected names as a project has by default. Most do not exist.
const PROTECTED_NAMES: usize = 190;

fn main() -> ExitCode {
    // This binary is its own launcher, like hew.
    if let Some(code) = sandbox::guard() {
        return code;
    }
    let rounds = std::env::args().find_map(|word| word.parse().ok());
    compare(rounds.unwrap_or(DEFAULT_ROUNDS));
    ExitCode::SUCCESS
}

fn compare(rounds: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(work.join(".git/hooks")).unwrap();
    for name in [".git/config", ".env", "secret", "AGENTS.md"] {
        std::fs::write(work.join(name), "x").unwrap();
    }
    let none: [&str; 0] = [];
    let request = ProcessRequest {
        program: Program::Shell("true".into()),
        cwd: work.clone(),
        environment: ProcessEnvironment::scrubbed([("PATH".into(), "/usr/bin:/bin".into())], &none, &none),
        timeout: Some(Duration::from_secs(60)),
        grace: ProcessRequest::GRACE,
        output: CaptureCap {
            head: 1_000,
            tail: 1_000,
        },
        terminal: Some(sandbox::TerminalSize { columns: 80, rows: 24 }),
    };
    let cold = Confinement {
        hidden: vec![work.join(".env"), work.join("secret")],
        protected: protected(&work),
        ..Confinement::new(ConfinementLevel::Workspace, [work.clone()])
    };
    let warm = Confinement {
        guards: Some(GuardPool::default()),
        ..cold.clone()
    };
    println!("this machine enforces {}", cold.report().unwrap());
    let rows: [(&str, Option<&Confinement>); 3] = [
        ("bare", None),
        ("confined, a new guard", Some(&cold)),
        ("confined, the session's guard", Some(&warm)),
    ];
    let mut times = vec![Vec::with_capacity(rounds); rows.len()];
    for _ in 0..=rounds {
        for ((_, confinement), times) in rows.iter().zip(&mut times) {
            let start = Instant::now();
            let exit = runtime.block_on(async {
                let mut process = match confinement {
                    None => sandbox::spawn(&request).unwrap(),
                    Some(confinement) => confinement.spawn(&request).unwrap(),
                };
                process.exit().await
            });
            times.push(start.elapsed());
            assert_eq!(exit.status, ProcessStatus::Exited(0));
        }
    }
    // The first round starts the guard.
    let medians: Vec<Duration> = times.iter_mut().map(|times| median(&mut times[1..])).collect();
    for ((name, _), time) in rows.iter().zip(&medians) {
        println!(
            "{name:<30} {:>8.3} ms   {:>5.2} x",
            time.as_secs_f64() * 1e3,
            time.as_secs_f64() / medians[0].as_secs_f64()
        );
    }
}

fn protected(work: &Path) -> Vec<PathBuf> {
    let missing = (1..PROTECTED_NAMES).map(|number| match number % 4 {
        0 => work.join(format!(".tool{number}/settings")),
        _ => work.join(format!(".settings{number}")),
    });
    missing.chain([work.join("AGENTS.md")]).collect()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}
