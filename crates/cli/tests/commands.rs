//! Terminal commands end to end: the sandbox, background jobs, and limits on output.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use testkit::{Hew, Output, ParsedRequest, Project, Script, Server, Turn};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

const MODEL: &str = "anthropic/claude-sonnet-4-6";

fn hew(server: &Server, project: &Project) -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(server)
        .current_dir(project.root())
        .args(["run", "-m", MODEL])
}

fn terminal(command: &str) -> Turn {
    Turn::calls("terminal", json!({"command": command}))
}

/// Runs calls in order and returns the results sent to the model.
async fn run(project: &Project, calls: &[(&str, Value)], args: &[&str]) -> (Vec<String>, Output) {
    let turns = calls.iter().map(|(name, input)| Turn::calls(*name, input.clone()));
    let server = Server::start(Script::new().turns(turns).turn(Turn::text("Done.")))
        .await
        .unwrap();
    let output = hew(&server, project).args(args).arg("go").run().await.unwrap();
    let last = server.main_requests().last().unwrap().parsed().unwrap();
    let seen = last.results().map(|result| result.text.clone()).collect();
    (seen, output)
}

async fn commands(project: &Project, lines: &[&str], args: &[&str]) -> Vec<String> {
    let calls: Vec<(&str, Value)> = lines
        .iter()
        .map(|line| ("terminal", json!({"command": line})))
        .collect();
    let (seen, output) = run(project, &calls, args).await;
    assert_eq!((seen.len(), output.code()), (lines.len(), Some(0)), "{}", output.stderr);
    seen
}

/// A named pipe in the project. Its reader sees the end when the last writing process has exited.
fn watch(project: &Project) -> pipe::Receiver {
    let path = project.path("watch");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    pipe::OpenOptions::new().open_receiver(path).unwrap()
}

async fn wait_until_open(pipe: &mut pipe::Receiver) {
    with_timeout(pipe.read_exact(&mut [0; 2])).await.unwrap();
}

async fn wait_until_closed(mut pipe: pipe::Receiver) {
    with_timeout(pipe.read_to_end(&mut Vec::new())).await.unwrap();
}

async fn with_timeout<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), work)
        .await
        .expect("timed out")
}

const HOLD: &str = "exec 9>watch; echo . >&9;";

#[tokio::test]
async fn a_blocked_command_is_reported_to_the_model() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let project = Project::new(&[
        ("a.txt", "hello\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", ""),
    ])
    .unwrap();
    std::fs::create_dir_all(project.path(".git/hooks")).unwrap();
    let connect = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    let lines = [
        "printf /usr/hew-was-here | xargs touch",
        "printf .git/hooks/pre-commit | xargs touch",
        "git config alias.x '!true' 2>&1 || printf .git/config | xargs -I@ sh -c 'echo x >> @'",
        connect.as_str(),
        "mount -t tmpfs none . 2>&1",
    ];
    for (line, seen) in lines.iter().zip(commands(&project, &lines, &[]).await) {
        assert!(!seen.contains("[exit code 0]"), "{line}: {seen}");
        for part in [
            "may have been blocked by the sandbox",
            "not run outside the sandbox",
            "approvals cannot be requested",
        ] {
            assert!(seen.contains(part), "{line}: {seen}");
        }
    }
    assert!(!Path::new("/usr/hew-was-here").exists());
    assert!(!project.path(".git/hooks/pre-commit").exists());
    assert_eq!(project.read(".git/config").unwrap(), "");
}

#[tokio::test]
async fn ordinary_commands_work_in_the_sandbox() {
    let project = Project::new(&[("a.txt", "hello\n")]).unwrap();
    let lines = [
        "cat a.txt > b.txt && cat b.txt",
        "echo x > /tmp/hew-test-$$ && cat /tmp/hew-test-$$ && rm /tmp/hew-test-$$",
        // Without maintenance, which would continue in the background.
        "git init -q . && git add . && git -c user.name=x -c user.email=x@y -c maintenance.auto=false commit -qm one \
            && git log --oneline | wc -l",
        "test -t 1 && echo a terminal; ls a.txt",
    ];
    let seen = commands(&project, &lines, &[]).await;
    assert_eq!(
        seen,
        [
            "hello\n[exit code 0]",
            "x\n[exit code 0]",
            "1\n[exit code 0]",
            "a terminal\na.txt\n[exit code 0]"
        ]
    );
}

#[tokio::test]
async fn commands_cannot_read_the_providers_key() {
    let project = Project::new(&[]).unwrap();
    let lines = [
        "env | grep -c sk-scripted",
        "cat /proc/$PPID/environ /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c sk-scripted",
        "grep -ls sk-scripted /proc/[0-9]*/environ; false",
    ];
    for (line, seen) in lines.iter().zip(commands(&project, &lines, &[]).await) {
        assert!(
            seen.starts_with("0\n[exit code 1") || seen.starts_with("[exit code 1"),
            "{line}: {seen}"
        );
    }
    // The environment of a command outside the sandbox does not contain it either.
    let seen = commands(&project, &lines[..1], &["--permission", "full"]).await;
    assert_eq!(seen, ["0\n[exit code 1]"]);
}

#[tokio::test]
async fn settings_allow_the_network_and_variables_and_hide_files() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let project = Project::new(&[(".env", "secret\n")]).unwrap();
    let connect = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected'");
    let lines = [connect.as_str(), "cat .env", "echo \"<$MY_TOKEN $OTHER_TOKEN $A_PAT>\""];
    let turns = lines.iter().map(|line| terminal(line));
    let server = Server::start(Script::new().turns(turns).turn(Turn::text("Done.")))
        .await
        .unwrap();
    let hew = hew(&server, &project)
        .env("MY_TOKEN", "kept")
        .env("OTHER_TOKEN", "gone")
        .env("A_PAT", "gone")
        .args(["--set", "sandbox.network=true", "--set", "sandbox.hide=['.env']"])
        .args([
            "--set",
            "sandbox.keep=['MY_*']",
            "--set",
            "sandbox.secrets=['*_PAT']",
            "go",
        ]);
    assert_eq!(hew.run().await.unwrap().code(), Some(0));
    let last = server.main_requests().last().unwrap().parsed().unwrap();
    let seen: Vec<&str> = last.results().map(|result| result.text.as_str()).collect();
    assert_eq!(seen[0], "connected\n[exit code 0]");
    assert!(
        seen[1].contains("cat: .env: ") && !seen[1].contains("secret\n"),
        "{}",
        seen[1]
    );
    assert_eq!(seen[2], "<kept  >\n[exit code 0]");
}

#[tokio::test]
async fn a_run_with_full_permission_is_not_confined_but_leaves_no_process() {
    let project = Project::new(&[]).unwrap();
    let mut pipe = watch(&project);
    let daemon = format!("setsid setsid sh -c '({HOLD} exec sleep 600) & exit' & wait; sleep 0.1; echo up");
    let (seen, _) = run(
        &project,
        &[("terminal", json!({"command": daemon}))],
        &["--permission", "full"],
    )
    .await;
    assert_eq!(seen, ["up\n[exit code 0; its background processes were killed]"]);
    wait_until_open(&mut pipe).await;
    wait_until_closed(pipe).await;
}

#[tokio::test]
async fn background_jobs_end_with_the_session() {
    let project = Project::new(&[]).unwrap();
    let mut pipe = watch(&project);
    let call = |name: &str, input: Value| ("call_tool", json!({"name": name, "input": input}));
    let calls = [
        (
            "run_in_terminal",
            json!({"command": "echo up; sleep 600", "isBackground": true}),
        ),
        (
            "terminal",
            json!({"command": format!("{HOLD} trap '' TERM; while :; do sleep 600; done"), "background": true}),
        ),
        call("job_output", json!({"id": 1})),
        call("job_list", json!({})),
        call("job_kill", json!({"id": 1})),
        ("job_output", json!({"id": 1, "wait_seconds": 60})),
        ("get_terminal_output", json!({"id": "9"})),
    ];
    let (seen, output) = run(&project, &calls, &[]).await;
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    assert!(
        seen[0].starts_with("up\n[still running as job 1; call_tool {\"name\": \"job_output\""),
        "{}",
        seen[0]
    );
    assert!(seen[1].starts_with("[still running as job 2;"), "{}", seen[1]);
    assert!(seen[2].starts_with("no new output\n[running for "), "{}", seen[2]);
    assert!(
        seen[3].starts_with("1: echo up; sleep 600 [running for ") && seen[3].contains("\n2: "),
        "{}",
        seen[3]
    );
    assert!(seen[4].starts_with("no new output\n[ended by signal 15"), "{}", seen[4]);
    assert!(seen[5].starts_with("no new output\n[ended by signal 15"), "{}", seen[5]);
    assert_eq!(seen[6], "there is no job 9; there are 1, 2");
    wait_until_open(&mut pipe).await;
    wait_until_closed(pipe).await;
}

#[tokio::test]
async fn all_processes_end_when_hew_is_killed() {
    for (permission, background) in [
        ("workspace", false),
        ("workspace", true),
        ("full", false),
        ("full", true),
    ] {
        let project = Project::new(&[]).unwrap();
        let mut pipe = watch(&project);
        let command = format!("setsid sh -c '{HOLD} trap \"\" TERM HUP; while :; do sleep 600; done' & sleep 600");
        let call = Turn::calls("terminal", json!({"command": command, "background": background}));
        let server = Server::start(Script::new().turn(call).turn(terminal("sleep 600")))
            .await
            .unwrap();
        let running = hew(&server, &project)
            .args(["--permission", permission, "go"])
            .spawn()
            .unwrap();
        wait_until_open(&mut pipe).await;
        running.kill().unwrap();
        wait_until_closed(pipe).await;
        drop(running);
    }
}

#[tokio::test]
async fn commands_that_read_input_fail_immediately() {
    let project = Project::new(&[]).unwrap();
    let lines = [
        "read answer || echo no answer",
        "cat < /dev/tty || echo no terminal",
        "git init -q x && cd x && git commit --allow-empty 2>&1 | tail -n 1",
        "python3 -c 'import getpass; getpass.getpass()' 2>&1 | tail -n 1; true",
    ];
    let seen = commands(&project, &lines, &[]).await;
    assert_eq!(seen[0], "no answer\n[exit code 0]");
    assert!(seen[1].ends_with("no terminal\n[exit code 0]"), "{}", seen[1]);
    assert!(seen[2].ends_with("[exit code 0]"), "{}", seen[2]);
    assert!(seen[3].contains("EOF") || seen[3].contains("not found"), "{}", seen[3]);
}

/// The peak memory of a process in kilobytes.
fn peak(pid: u64) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

#[tokio::test]
async fn a_gigabyte_of_output_is_truncated_and_uses_little_memory() {
    let pid: Arc<OnceLock<u64>> = Arc::default();
    let peaks: Arc<[AtomicU64; 2]> = Arc::default();
    let (known, measured) = (Arc::clone(&pid), Arc::clone(&peaks));
    let script = Script::dynamic(move |seen: &ParsedRequest| {
        let step = seen.calls().count();
        if let (Some(pid), Some(place)) = (known.get(), step.checked_sub(1).and_then(|step| measured.get(step))) {
            place.store(peak(*pid), Ordering::SeqCst);
        }
        match step {
            0 => terminal("seq 1 20000"),
            1 => terminal("echo first; head -c 1073741824 /dev/zero | tr '\\0' x; echo; echo last"),
            _ => Turn::text("Done."),
        }
    });
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[]).unwrap();
    let hew = hew(&server, &project).timeout(Duration::from_secs(300)).arg("go");
    let data = hew.home().to_owned();
    let running = hew.spawn().unwrap();
    pid.set(u64::from(running.id().unwrap())).unwrap();
    let output = running.wait().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    let last = server.main_requests().last().unwrap().parsed().unwrap();
    let seen = &last.results().nth(1).unwrap().text;
    assert!(
        seen.starts_with("first\nxxx") && seen.ends_with("x\nlast\n[exit code 0]"),
        "{:.200}",
        seen
    );
    assert!(
        seen.len() < 31_000 && seen.contains(", except that the last ") && seen.contains("bytes did not fit there]"),
        "{}",
        seen.len()
    );
    let [before, after] = [&peaks[0], &peaks[1]].map(|peak| peak.load(Ordering::SeqCst));
    println!("peak memory: {before} KB before, {after} KB after");
    assert!(
        before > 0 && after < before + 24 * 1024,
        "{before} KB before, {after} KB after"
    );
    // Disk usage is limited too.
    let used: u64 = sizes(&data);
    assert!(used < 80 * 1024 * 1024, "{used} bytes");
}

fn sizes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => sizes(&entry.path()),
        Ok(_) | Err(_) => entry.metadata().map_or(0, |metadata| metadata.len()),
    });
    sizes.sum()
}

#[tokio::test]
async fn the_doctor_reports_the_sandbox() {
    let server = Server::start(Script::new()).await.unwrap();
    let project = Project::new(&[]).unwrap();
    let output = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .current_dir(project.root())
        .args(["doctor", "--offline"])
        .run()
        .await
        .unwrap();
    let line = output
        .stdout
        .lines()
        .find(|line| line.contains("sandbox"))
        .unwrap_or_default();
    assert!(line.contains("seccomp"), "{}", output.stdout);
}
