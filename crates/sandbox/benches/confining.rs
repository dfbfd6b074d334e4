//! Benchmarks the overhead of confinement: the same empty command bare, guarded only, read-only, and in a workspace.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failed preparation is a failed benchmark"
)]

use std::process::ExitCode;
use std::time::Duration;

use criterion::Criterion;
use sandbox::{CaptureCap, Confinement, ConfinementLevel, ProcessEnvironment, ProcessRequest, ProcessStatus, Program};

fn main() -> ExitCode {
    // This binary is its own launcher, like hew.
    if let Some(code) = sandbox::guard() {
        return code;
    }
    let mut criterion = Criterion::default().configure_from_args();
    compare(&mut criterion);
    criterion.final_summary();
    ExitCode::SUCCESS
}

fn compare(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().to_owned();
    std::fs::create_dir_all(work.join(".git/hooks")).unwrap();
    for name in [".git/config", ".env", "secret"] {
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
    let workspace = Confinement {
        hidden: vec![work.join(".env"), work.join("secret")],
        ..Confinement::new(ConfinementLevel::Workspace, [work.clone()])
    };
    println!("this machine enforces {}", workspace.report().unwrap());

    let mut group = criterion.benchmark_group("an empty command");
    group.bench_function("bare", |bencher| {
        bencher.iter(|| {
            let exit = runtime.block_on(async { sandbox::spawn(&request).unwrap().exit().await });
            assert_eq!(exit.status, ProcessStatus::Exited(0));
        });
    });
    for (name, confinement) in [
        ("guarded only", Confinement::new(ConfinementLevel::Off, [])),
        ("read-only", Confinement::new(ConfinementLevel::ReadOnly, [])),
        ("workspace", workspace),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let exit = runtime.block_on(async { confinement.spawn(&request).unwrap().exit().await });
                assert_eq!(exit.status, ProcessStatus::Exited(0));
            });
        });
    }
    group.finish();
}
