//! A confined command and all its descendants end together.

use std::future::Future;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use sandbox::{Confinement, LeftoverProcesses, ProcessRequest, ProcessStatus};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::fixture::Fixture;

/// Fails the test instead of hanging it.
async fn with_timeout<T>(work: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, work)
        .await
        .expect("this should have ended long ago")
}

/// A named pipe in the workspace; its reader sees the end when the last writing process has exited.
struct Watch(pipe::Receiver);

impl Watch {
    fn new(fixture: &Fixture) -> Self {
        let path: PathBuf = fixture.work().join("watch");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        Self(pipe::OpenOptions::new().open_receiver(path).unwrap())
    }

    async fn wait_until_open(&mut self) {
        with_timeout(self.0.read_exact(&mut [0])).await.unwrap();
    }

    async fn wait_until_closed(mut self) {
        with_timeout(self.0.read_to_end(&mut Vec::new())).await.unwrap();
    }
}

/// Ways to outlive the command. Each process opens the pipe and writes a byte before the command continues.
const DAEMONS: [&str; 5] = [
    "(exec 9>watch; echo . >&9; exec sleep 600) & read go < go",
    "(exec 9>watch; trap '' TERM HUP INT; echo . >&9; while :; do sleep 600; done) & read go < go",
    "setsid sh -c 'exec 9>watch; echo . >&9; exec sleep 600' & read go < go",
    "setsid setsid sh -c '(exec 9>watch; echo . >&9; exec sleep 600) & exit' & wait; read go < go",
    "nohup setsid sh -c 'trap \"\" TERM; exec 9>watch; echo . >&9; (while :; do sleep 1; done)' >/dev/null 2>&1 & read go < go",
];

fn with_start_pipe(fixture: &Fixture) -> Watch {
    let go = fixture.work().join("go");
    rustix::fs::mknodat(rustix::fs::CWD, &go, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    Watch::new(fixture)
}

#[tokio::test]
async fn daemons_end_with_the_command_that_started_them() {
    for line in DAEMONS {
        let fixture = Fixture::new();
        let mut watch = with_start_pipe(&fixture);
        let mut process = fixture.confinement().spawn(&fixture.request(line)).unwrap();
        watch.wait_until_open().await;
        std::fs::write(fixture.work().join("go"), "\n").unwrap();
        let exit = with_timeout(process.exit()).await;
        assert_eq!(
            (exit.status, exit.leftover),
            (ProcessStatus::Exited(0), LeftoverProcesses::Running),
            "{line}"
        );
        // The process is not dropped yet.
        watch.wait_until_closed().await;
    }
}

#[tokio::test]
async fn a_guard_stays_for_the_next_command_and_a_long_one_is_not_cut_off() {
    let fixture = Fixture::new();
    let pooled = Confinement {
        guards: Some(sandbox::GuardPool::default()),
        ..fixture.confinement()
    };
    let namespace_command = "readlink /proc/self/ns/mnt";
    let first = fixture.run(&pooled, namespace_command).await.output.head;
    let mut long = pooled
        .spawn(&fixture.request("sleep 4 && readlink /proc/self/ns/mnt"))
        .unwrap();
    let second = fixture.run(&pooled, namespace_command).await.output.head;
    let exit = with_timeout(long.exit()).await;
    assert_eq!(
        (exit.status, exit.output.head.as_str()),
        (ProcessStatus::Exited(0), first.as_str())
    );
    assert_eq!(first, second);
    // What appears later is protected and hidden too, and what another program replaces.
    std::fs::write(fixture.work().join("new"), "hidden-value").unwrap();
    std::fs::write(fixture.work().join("next"), "hidden-value").unwrap();
    std::fs::rename(fixture.work().join("next"), fixture.work().join(".env")).unwrap();
    let more = Confinement {
        hidden: pooled
            .hidden
            .iter()
            .cloned()
            .chain([fixture.work().join("new")])
            .collect(),
        ..pooled
    };
    let exit = fixture.run(&more, "readlink /proc/self/ns/mnt; cat new .env").await;
    let output = exit.output.head;
    assert!(
        output.starts_with(&first) && !output.contains("hidden-value"),
        "{output}"
    );
}

/// Not confined, but with a guard.
fn unconfined(fixture: &Fixture) -> Confinement {
    Confinement {
        level: sandbox::ConfinementLevel::Off,
        ..fixture.confinement()
    }
}

#[tokio::test]
async fn daemons_of_an_unconfined_command_end_with_it_too() {
    for line in DAEMONS {
        let fixture = Fixture::new();
        let mut watch = with_start_pipe(&fixture);
        let mut process = unconfined(&fixture).spawn(&fixture.request(line)).unwrap();
        watch.wait_until_open().await;
        std::fs::write(fixture.work().join("go"), "\n").unwrap();
        let exit = with_timeout(process.exit()).await;
        assert_eq!(
            (exit.status, exit.leftover),
            (ProcessStatus::Exited(0), LeftoverProcesses::Running),
            "{line}"
        );
        assert_eq!(exit.confinement, None);
        watch.wait_until_closed().await;
    }
}

#[tokio::test]
async fn an_unconfined_command_can_write_anywhere() {
    let fixture = Fixture::new();
    let exit = fixture
        .run(
            &unconfined(&fixture),
            "touch $OUTSIDE/new && rm $OUTSIDE/new && echo written",
        )
        .await;
    assert_eq!(
        (exit.status, exit.output.head.as_str()),
        (ProcessStatus::Exited(0), "written\n")
    );
}

#[tokio::test]
async fn a_command_ends_although_its_guard_was_killed() {
    let fixture = Fixture::new();
    let mut watch = with_start_pipe(&fixture);
    let line = "exec 9>watch; echo . >&9; read x <go; kill -9 $PPID; sleep 600";
    let mut process = unconfined(&fixture).spawn(&fixture.request(line)).unwrap();
    watch.wait_until_open().await;
    // The guard has now sent the process group, which is all that hew knows.
    std::fs::write(fixture.work().join("go"), "\n").unwrap();
    assert_eq!(with_timeout(process.exit()).await.status, ProcessStatus::Unknown);
    watch.wait_until_closed().await;
}

#[tokio::test]
async fn a_confined_command_writes_to_a_terminal_that_it_cannot_read() {
    let fixture = Fixture::new();
    let request = ProcessRequest {
        terminal: Some(sandbox::TerminalSize { columns: 80, rows: 24 }),
        ..fixture.request(
            "test -t 1 && echo terminal; read x || echo over; exec 2>&-; cat </dev/tty || cat <&1 || echo closed",
        )
    };
    let exit = with_timeout(fixture.confinement().spawn(&request).unwrap().exit()).await;
    assert_eq!(
        (exit.status, exit.output.head.as_str()),
        (ProcessStatus::Exited(0), "terminal\nover\nclosed\n")
    );
}

#[tokio::test]
async fn daemons_end_when_the_process_is_dropped() {
    for line in DAEMONS {
        let fixture = Fixture::new();
        let mut watch = with_start_pipe(&fixture);
        let process = fixture.confinement().spawn(&fixture.request(line)).unwrap();
        watch.wait_until_open().await;
        drop(process);
        watch.wait_until_closed().await;
    }
}

#[tokio::test]
async fn daemons_end_at_a_timeout() {
    let fixture = Fixture::new();
    let mut watch = with_start_pipe(&fixture);
    let request = ProcessRequest {
        timeout: Some(Duration::from_secs(3)),
        ..fixture.request(DAEMONS[4])
    };
    let mut process = fixture.confinement().spawn(&request).unwrap();
    watch.wait_until_open().await;
    assert_eq!(with_timeout(process.exit()).await.status, ProcessStatus::TimedOut);
    watch.wait_until_closed().await;
}

#[tokio::test]
async fn everything_ends_when_the_starter_is_killed() {
    let fixture = Fixture::new();
    let mut watch = with_start_pipe(&fixture);
    // Another process starts the command.
    let mut starter = Command::new(fixture.confinement().launcher)
        .arg("start")
        .arg(fixture.work())
        .arg(DAEMONS[2])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    watch.wait_until_open().await;
    starter.kill().unwrap();
    starter.wait().unwrap();
    watch.wait_until_closed().await;
}

#[tokio::test]
async fn an_exit_has_the_status_of_the_command_itself() {
    let fixture = Fixture::new();
    for (line, status, output) in [
        ("echo out; echo err >&2", ProcessStatus::Exited(0), "out\nerr\n"),
        ("exit 3", ProcessStatus::Exited(3), ""),
        ("kill -9 $$", ProcessStatus::Signalled(9), ""),
        ("kill -PIPE $$", ProcessStatus::Signalled(13), ""),
        ("cat; pwd | grep -c work", ProcessStatus::Exited(0), "1\n"),
    ] {
        let exit = fixture.run(&fixture.confinement(), line).await;
        assert_eq!((exit.status, exit.output.head.as_str()), (status, output), "{line}");
        assert_eq!(exit.leftover, LeftoverProcesses::None, "{line}");
    }
}

#[tokio::test]
async fn a_failed_start_is_reported() {
    let fixture = Fixture::new();
    let file = fixture.work().join("garbage");
    std::fs::write(&file, [0; 100]).unwrap();
    let request = |program: &std::path::Path| ProcessRequest {
        program: sandbox::Program::Exec {
            program: program.into(),
            args: Vec::new(),
        },
        ..fixture.request("")
    };
    let error = fixture.confinement().spawn(&request(&file)).unwrap_err().to_string();
    assert!(error.ends_with("garbage could not be started"), "{error}");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let exit = fixture.confinement().spawn(&request(&file)).unwrap().exit().await;
    assert_eq!(exit.status, ProcessStatus::Exited(126));
    assert!(
        exit.output
            .head
            .starts_with("The command was not started: Exec format error"),
        "{exit:?}"
    );
    let missing = ProcessRequest {
        cwd: "/no/such/folder".into(),
        ..fixture.request("true")
    };
    assert!(matches!(
        fixture.confinement().spawn(&missing),
        Err(sandbox::Error::Directory { .. })
    ));
}

#[tokio::test]
async fn many_processes_run_concurrently() {
    let fixture = Fixture::new();
    let confinement = fixture.confinement();
    let mut running: Vec<_> = (0..30)
        .map(|number| {
            (
                number,
                confinement
                    .spawn(&fixture.request(&format!("echo {number}; exit {number}")))
                    .unwrap(),
            )
        })
        .collect();
    for (number, process) in &mut running {
        let exit = with_timeout(process.exit()).await;
        assert_eq!(
            (exit.status, exit.output.head),
            (ProcessStatus::Exited(*number), format!("{number}\n"))
        );
    }
}

#[tokio::test]
async fn a_denial_is_reported_with_the_confinement() {
    let fixture = Fixture::new();
    let exit = fixture.run(&fixture.confinement(), "touch $OUTSIDE/new").await;
    let note = exit.confinement.unwrap().note().unwrap();
    assert!(
        note.starts_with("may have been blocked by the sandbox (writes only in "),
        "{note}"
    );
    let allowed = fixture.run(&fixture.confinement(), "touch new").await;
    assert_eq!(allowed.confinement.unwrap().note(), None);
}

#[tokio::test]
async fn a_protected_path_cannot_be_created_and_is_moved_aside_on_older_kernels() {
    for simulated in ["", "no-listener"] {
        let fixture = Fixture::new();
        let mut request = fixture.request("echo ../evil > .git/commondir");
        request.environment = request.environment.with("PRETEND", simulated);
        let exit = fixture.confinement().spawn(&request).unwrap().exit().await;
        let git = fixture.work().join(".git");
        assert!(!git.join("commondir").exists(), "{simulated}");
        let is_prevented = exit.status != ProcessStatus::Exited(0);
        assert!(is_prevented || simulated == "no-listener", "{exit:?}");
        assert_eq!(git.join("commondir.blocked").exists(), !is_prevented);
        let reverted = exit.confinement.unwrap().reverted;
        assert_eq!(reverted.contains(&git.join("commondir")), !is_prevented);
    }
}

/// The guard resolves a name as the process that creates it does.
#[tokio::test]
async fn a_protected_path_cannot_be_created_through_another_path() {
    let attempt = env!("CARGO_BIN_EXE_attempt");
    let lines = [
        "echo evil > /proc/self/cwd/.git/commondir".to_owned(),
        "ln -s /proc/thread-self/cwd here; echo evil > here/.git/commondir".into(),
        "ln -s here/.git/commondir way; ln -s /proc/self/cwd here; echo evil > way".into(),
        "exec 7< .git; echo evil > /dev/fd/7/commondir".into(),
        "exec 9< .git; echo evil > /proc/self/fd/9/commondir".into(),
        "bash -c 'exec 99< .git; echo evil > /dev/fd/99/commondir'".into(),
        "bash -c 'exec 99< .git; mkdir /dev/fd/99/commondir'".into(),
        format!("{attempt} create .git/commondir"),
        format!("cp {attempt} own; chmod 111 own; ./own create .git/commondir"),
        format!(
            "mkdir prepared new; echo evil > prepared/file; {attempt} exchange new prepared && {attempt} exchange new prepared; \
                 mkdir -p missing && {attempt} exchange missing prepared"
        ),
    ];
    println!("attack: tried {}", lines.len());
    for line in lines {
        let fixture = Fixture::new();
        let protected = [fixture.work().join("missing/file")];
        let confinement = Confinement {
            protected: protected.to_vec(),
            ..fixture.confinement()
        };
        let exit = fixture.run(&confinement, &line).await;
        assert_ne!(exit.status, ProcessStatus::Exited(0), "{line}");
        let reverted = exit.confinement.unwrap().reverted;
        assert_eq!(reverted, [""; 0].map(std::path::PathBuf::from), "{line}");
    }
    // Other names are free.
    let fixture = Fixture::new();
    let line = format!("echo x > /proc/self/cwd/new; mkdir a b && {attempt} exchange a b && {attempt} create a/file");
    let exit = fixture.run(&fixture.confinement(), &line).await;
    assert_eq!(exit.status, ProcessStatus::Exited(0), "{exit:?}");
}

#[tokio::test]
async fn limits_are_enforced() {
    let fixture = Fixture::new();
    for (limits, line) in [
        (
            sandbox::ResourceLimits {
                file_size: Some(1_000),
                ..Default::default()
            },
            "head -c 2000 /dev/zero > big",
        ),
        (
            sandbox::ResourceLimits {
                memory: Some(200_000_000),
                ..Default::default()
            },
            "head -c 400000000 /dev/zero | tail -n 1 > /dev/null",
        ),
    ] {
        let limited = Confinement {
            limits,
            ..fixture.confinement()
        };
        assert_ne!(
            fixture.run(&limited, line).await.status,
            ProcessStatus::Exited(0),
            "{line}"
        );
        assert_eq!(
            fixture.run(&fixture.confinement(), line).await.status,
            ProcessStatus::Exited(0),
            "{line}"
        );
    }
}
