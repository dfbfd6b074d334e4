//! Tests with real processes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed preparation is a failed test"
)]

use std::ffi::OsString;
use std::future::Future;
use std::path::Path;
use std::time::Duration;

use sandbox::{
    CaptureCap, CapturedOutput, Error, LeftoverProcesses, ProcessEnvironment, ProcessExit, ProcessRequest,
    ProcessStatus, Program, TerminalSize, spawn,
};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

const CAP: CaptureCap = CaptureCap {
    head: 1_000,
    tail: 1_000,
};
const NONE: [&str; 0] = [];

fn request(line: &str) -> ProcessRequest {
    ProcessRequest {
        program: Program::Shell(line.into()),
        cwd: "/".into(),
        environment: ProcessEnvironment::scrubbed(
            [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            &NONE,
            &NONE,
        ),
        timeout: Some(Duration::from_secs(120)),
        grace: Duration::from_millis(200),
        output: CAP,
        terminal: None,
    }
}

/// Fails the test instead of hanging it.
async fn with_timeout<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work)
        .await
        .expect("this should have ended long ago")
}

async fn run(request: &ProcessRequest) -> ProcessExit {
    with_timeout(spawn(request).unwrap().exit()).await
}

/// A named pipe; its reader sees the end when the last writing process has exited.
struct Watch {
    folder: tempfile::TempDir,
    receiver: pipe::Receiver,
}

impl Watch {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = run(&ProcessRequest {
            cwd: folder.path().into(),
            ..request("mkfifo watch")
        })
        .await;
        assert_eq!(made.status, ProcessStatus::Exited(0));
        let receiver = pipe::OpenOptions::new()
            .open_receiver(folder.path().join("watch"))
            .unwrap();
        Self { folder, receiver }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Waits for a byte from a watched process, so that the pipe is certainly open.
    async fn wait_until_open(&mut self) {
        let mut byte = [0];
        with_timeout(self.receiver.read_exact(&mut byte)).await.unwrap();
    }

    /// Waits until no process has the pipe open.
    async fn wait_until_closed(mut self) {
        let mut rest = Vec::new();
        with_timeout(self.receiver.read_to_end(&mut rest)).await.unwrap();
    }
}

/// A command with a long-running background process that holds the pipe open and optionally ignores SIGTERM.
fn daemon(trap: &str) -> String {
    format!("(exec 9>watch; {trap} echo . >&9; while :; do sleep 300 9>&-; done) ")
}

#[tokio::test]
async fn an_exit_has_the_status_and_the_output_in_order() {
    for (line, status, output) in [
        (
            "echo out; echo err >&2; echo out again",
            ProcessStatus::Exited(0),
            "out\nerr\nout again\n",
        ),
        ("exit 3", ProcessStatus::Exited(3), ""),
        ("kill -9 $$", ProcessStatus::Signalled(9), ""),
        ("no-such-program-anywhere 2>/dev/null", ProcessStatus::Exited(127), ""),
        (
            "-not-an-option 2>/dev/null || echo -n no newline",
            ProcessStatus::Exited(0),
            "no newline",
        ),
        ("pwd", ProcessStatus::Exited(0), "/\n"),
    ] {
        let exit = run(&request(line)).await;
        let output = CapturedOutput {
            head: output.into(),
            ..CapturedOutput::default()
        };
        assert_eq!(
            (exit.status, exit.output, exit.leftover),
            (status, output, LeftoverProcesses::None),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_program_may_be_named_or_a_shell_chosen() {
    let exec = |program: &str, args: &[&str]| Program::Exec {
        program: program.into(),
        args: args.iter().map(OsString::from).collect(),
    };
    for (program, output) in [
        (exec("printf", &["%s|", "a b", "$c"]), "a b|$c|"),
        (exec("/bin/echo", &["x"]), "x\n"),
        (Program::Bash("[[ a == a ]] && echo bash".into()), "bash\n"),
    ] {
        let exit = run(&ProcessRequest { program, ..request("") }).await;
        assert_eq!(
            (exit.status, exit.output.head.as_str()),
            (ProcessStatus::Exited(0), output)
        );
    }
}

#[tokio::test]
async fn standard_input_is_empty() {
    let exit = run(&request("cat; read line || echo nothing to read")).await;
    assert_eq!(exit.output.head, "nothing to read\n");
}

#[tokio::test]
async fn a_process_sees_only_the_given_variables() {
    let given = ["PATH", "OPENAI_API_KEY", "PLAIN"].map(|name| (name.into(), "/usr/bin:/bin".into()));
    let environment = ProcessEnvironment::scrubbed(given, &NONE, &NONE);
    let exit = run(&ProcessRequest {
        environment,
        ..request("env | cut -d= -f1 | sort | tr '\\n' ' '")
    })
    .await;
    // The shell itself sets PWD, and some shells also _ and SHLVL.
    let names: Vec<&str> = exit
        .output
        .head
        .split_whitespace()
        .filter(|name| !["_", "OLDPWD", "PWD", "SHLVL"].contains(name))
        .collect();
    for (name, seen) in [
        ("PATH", true),
        ("PLAIN", false),
        ("TERM", true),
        ("OPENAI_API_KEY", false),
    ] {
        assert_eq!(names.contains(&name), seen, "{name}: {names:?}");
    }
    assert!(
        names.iter().all(|name| !ProcessEnvironment::looks_secret(name)),
        "{names:?}"
    );
}

#[tokio::test]
async fn output_arrives_while_the_process_runs() {
    let watch = Watch::new().await;
    let waiting = ProcessRequest {
        cwd: watch.path().into(),
        ..request("mkfifo go; echo first; cat go; echo last")
    };
    let mut process = spawn(&waiting).unwrap();
    assert_eq!(with_timeout(process.next()).await.as_deref(), Some("first\n"));
    // The process waits for a write to `go`.
    let opened = run(&ProcessRequest {
        cwd: watch.path().into(),
        ..request("echo second > go")
    })
    .await;
    assert_eq!(opened.status, ProcessStatus::Exited(0));
    let exit = with_timeout(process.exit()).await;
    assert_eq!(
        (exit.status, exit.output.head.as_str()),
        (ProcessStatus::Exited(0), "first\nsecond\nlast\n")
    );
}

#[tokio::test]
async fn a_timeout_ends_the_whole_group_and_keeps_its_output() {
    let mut watch = Watch::new().await;
    let line = format!("echo before; {} & wait", daemon(""));
    let cwd = watch.path().into();
    let mut process = spawn(&ProcessRequest {
        cwd,
        timeout: Some(Duration::from_secs(3)),
        ..request(&line)
    })
    .unwrap();
    watch.wait_until_open().await;
    let exit = with_timeout(process.exit()).await;
    assert_eq!(
        (exit.status, exit.output.head.as_str()),
        (ProcessStatus::TimedOut, "before\n")
    );
    drop(process);
    watch.wait_until_closed().await;
}

#[tokio::test]
async fn a_process_that_ignores_the_signal_is_killed() {
    let mut watch = Watch::new().await;
    let line = format!("trap '' TERM; {}", daemon("trap '' TERM;"));
    let cwd = watch.path().into();
    let limits = ProcessRequest {
        cwd,
        timeout: Some(Duration::from_secs(3)),
        ..request(&line)
    };
    let mut process = spawn(&limits).unwrap();
    watch.wait_until_open().await;
    assert_eq!(with_timeout(process.exit()).await.status, ProcessStatus::TimedOut);
    watch.wait_until_closed().await;
}

#[tokio::test]
async fn dropping_a_process_ends_the_whole_group() {
    for trap in ["", "trap '' TERM;"] {
        let mut watch = Watch::new().await;
        let line = format!("{trap} {} & wait", daemon(trap));
        let process = spawn(&ProcessRequest {
            cwd: watch.path().into(),
            ..request(&line)
        })
        .unwrap();
        watch.wait_until_open().await;
        drop(process);
        watch.wait_until_closed().await;
    }
}

#[test]
fn a_group_ends_with_the_runtime_it_belongs_to() {
    let inner = tokio::runtime::Runtime::new().unwrap();
    let watch = inner.block_on(async {
        let mut watch = Watch::new().await;
        let line = format!("trap '' TERM; {}", daemon("trap '' TERM;"));
        let never = ProcessRequest {
            cwd: watch.path().into(),
            grace: Duration::from_secs(3_600),
            ..request(&line)
        };
        let process = spawn(&never).unwrap();
        watch.wait_until_open().await;
        drop(process);
        watch
    });
    // The reading end belongs to the first runtime; its file outlives it.
    let Watch { folder, receiver } = watch;
    let reading = receiver.into_nonblocking_fd().unwrap();
    inner.shutdown_background();
    let outer = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    outer.block_on(async {
        let receiver = pipe::Receiver::from_owned_fd(reading).unwrap();
        Watch { folder, receiver }.wait_until_closed().await;
    });
}

#[tokio::test]
async fn a_background_process_with_the_pipe_open_does_not_block_the_caller() {
    let mut watch = Watch::new().await;
    let line = format!("{} & echo started", daemon(""));
    let mut process = spawn(&ProcessRequest {
        cwd: watch.path().into(),
        ..request(&line)
    })
    .unwrap();
    watch.wait_until_open().await;
    let exit = with_timeout(process.exit()).await;
    assert_eq!(
        (exit.status, exit.output.head.as_str()),
        (ProcessStatus::Exited(0), "started\n")
    );
    assert_eq!(exit.leftover, LeftoverProcesses::Running);
    drop(process);
    watch.wait_until_closed().await;
}

#[tokio::test]
async fn a_background_flood_does_not_block_the_caller() {
    let exit = run(&request("yes & echo started")).await;
    assert_eq!(
        (exit.status, exit.leftover),
        (ProcessStatus::Exited(0), LeftoverProcesses::Running)
    );
}

#[tokio::test]
async fn a_flood_is_cut_in_the_middle_and_counted() {
    let size = 50_000_000;
    let exit = run(&request(&format!("echo start; yes | head -c {size}; echo; echo end"))).await;
    let CapturedOutput {
        head,
        tail,
        omitted_bytes: cut,
    } = exit.output;
    assert_eq!((head.len(), tail.len()), (CAP.head, CAP.tail));
    assert!(
        head.starts_with("start\ny\ny\n") && tail.ends_with("y\ny\n\nend\n"),
        "{tail:?}"
    );
    assert_eq!(cut, (size + "start\n\nend\n".len() - CAP.head - CAP.tail) as u64);
}

#[tokio::test]
async fn a_process_that_closes_its_output_is_still_waited_for() {
    let exit = run(&request("exec >&- 2>&-; sleep 0.2; exit 7")).await;
    assert_eq!(exit.status, ProcessStatus::Exited(7));
}

#[tokio::test]
async fn failed_starts_are_reported() {
    let exec = |program: &str| Program::Exec {
        program: program.into(),
        args: Vec::new(),
    };
    let text = |request: ProcessRequest| spawn(&request).unwrap_err().to_string();
    assert_eq!(
        text(ProcessRequest {
            cwd: "/no/such/folder".into(),
            ..request("true")
        }),
        "the working directory /no/such/folder does not exist or is not a directory"
    );
    assert_eq!(
        text(ProcessRequest {
            program: exec("no-such-program"),
            ..request("")
        }),
        "the program no-such-program was not found"
    );
    assert_eq!(
        text(ProcessRequest {
            program: exec("/etc/passwd"),
            ..request("")
        }),
        "/etc/passwd could not be started"
    );
    assert!(matches!(spawn(&request("a\0b")), Err(Error::Nul)));
    assert!(matches!(
        spawn(&request(&"x".repeat(200_000))),
        Err(Error::TooLong { bytes: 200_000, .. })
    ));
    // The longest accepted command does run.
    let longest = format!("exit 5 #{}", "x".repeat(131_071 - 8));
    assert_eq!(run(&request(&longest)).await.status, ProcessStatus::Exited(5));
}

#[tokio::test]
async fn a_process_leads_its_own_group() {
    let exit = run(&request("ps -o pid=,pgid= -p $$")).await;
    let ids: Vec<&str> = exit.output.head.split_whitespace().collect();
    assert_eq!(ids[0], ids[1]);
}

const SIZE: TerminalSize = TerminalSize { columns: 99, rows: 9 };

#[tokio::test]
async fn a_terminal_is_writable_and_passes_bytes_unchanged() {
    for (line, output) in [
        ("test -t 1 && test -t 2 && echo a terminal", "a terminal\n"),
        ("test -t 0 || echo nothing to type on", "nothing to type on\n"),
        ("stty size < /proc/self/fd/1", "9 99\n"),
        ("printf 'a\\r\\nb\\tc\\033[1m\\n'", "a\r\nb\tc\u{1b}[1m\n"),
        ("printf no-line-end", "no-line-end"),
        ("echo out; echo err >&2; exit 3", "out\nerr\n"),
    ] {
        let exit = run(&ProcessRequest {
            terminal: Some(SIZE),
            ..request(line)
        })
        .await;
        assert_eq!(exit.output.head, output, "{line}");
    }
}

#[tokio::test]
async fn no_program_can_wait_for_terminal_input() {
    for line in [
        "read line || echo over",
        "cat; echo over",
        "cat <&1 2>/dev/null || echo over",
        "cat <&2 2>/dev/null || echo over",
        "cat < /proc/self/fd/1; echo over",
        "exec 2>/dev/null; cat < /dev/tty || echo over",
        "head -n 1 < /proc/self/fd/2; head -n 1 < /proc/self/fd/2; echo over",
        "if command -v sudo >/dev/null; then setpriv --reuid=1234 sudo -k true >/dev/null 2>&1; fi; echo over",
        "if command -v python3 >/dev/null; then python3 -c 'import getpass; getpass.getpass()' >/dev/null 2>&1; fi; echo over",
        "if command -v less >/dev/null; then less /etc/passwd >/dev/null 2>&1; less /etc/passwd | head -c 0; fi; echo over",
        "if command -v vi >/dev/null; then timeout 20 vi /etc/passwd >/dev/null 2>&1; test $? != 124 && echo over; else echo over; fi",
        "if command -v ssh >/dev/null; then ssh -o ConnectTimeout=1 nobody@127.0.0.1 -p 1 true >/dev/null 2>&1; fi; echo over",
    ] {
        let exit = run(&ProcessRequest {
            terminal: Some(SIZE),
            ..request(line)
        })
        .await;
        assert!(exit.output.head.ends_with("over\n"), "{line}: {:?}", exit.output);
    }
}

#[tokio::test]
async fn a_flood_through_a_terminal_is_read_completely_and_captured_partly() {
    let exit = run(&ProcessRequest {
        terminal: Some(SIZE),
        ..request("echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last")
    })
    .await;
    let CapturedOutput {
        head,
        tail,
        omitted_bytes: cut,
    } = exit.output;
    assert!(
        head.starts_with("first\nxxx") && tail.ends_with("x\nlast\n"),
        "{head:.20} {tail}"
    );
    assert_eq!(head.len() + tail.len() + usize::try_from(cut).unwrap(), 50_000_012);
}

#[tokio::test]
async fn a_process_can_be_stopped_while_it_is_read() {
    let mut process = spawn(&request(
        "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done",
    ))
    .unwrap();
    assert_eq!(with_timeout(process.next()).await.as_deref(), Some("ready\n"));
    assert_eq!(process.output_so_far().head, "ready\n");
    process.stop();
    let exit = with_timeout(process.exit()).await;
    assert_eq!(exit.status, ProcessStatus::Exited(7));
    assert!(exit.output.head.ends_with("bye\n"), "{:?}", exit.output);
}

#[tokio::test]
async fn a_piped_process_replies_and_ends_with_its_descendants() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let folder = tempfile::tempdir().unwrap();
    let line = "sleep 1000 & echo $!; echo busy >&2; while read word; do echo got $word; done";
    let program = Program::Shell(line.into());
    let environment =
        ProcessEnvironment::scrubbed([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())], &NONE, &NONE);
    let confinement = sandbox::Confinement {
        launcher: env!("CARGO_BIN_EXE_confine").into(),
        ..sandbox::Confinement::new(sandbox::ConfinementLevel::Off, [])
    };
    let started = sandbox::PipedProcess::start(&program, folder.path(), &environment, Some(&confinement));
    let (partner, mut input, output) = started.unwrap();
    let mut lines = BufReader::new(output).lines();
    let child: i32 = lines.next_line().await.unwrap().unwrap().parse().unwrap();
    input.write_all(b"one\n").await.unwrap();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("got one"));
    while partner.stderr().head.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(partner.stderr().head, "busy\n");
    assert!(!cfg!(target_os = "linux") || partner.memory().unwrap() > 0);
    drop(partner);
    let child = rustix::process::Pid::from_raw(child).unwrap();
    while rustix::process::test_kill_process(child).is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
