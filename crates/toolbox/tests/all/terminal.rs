//! Tests of terminal.

use policy::Action;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::OpenOptions;
use tokio::sync::mpsc;
use tool::{CallContext, ProgressSender};
use toolbox::Options;

use crate::project::{TestProject, context, with_timeout};

#[tokio::test]
async fn a_command_runs_in_the_project_and_reports_its_exit_code() {
    let project = TestProject::with(&[("src/a.txt", "hello\n")]);
    let root = project.root.display();
    for (input, seen) in [
        (json!({"command": "cat src/a.txt"}), "hello\n[exit code 0]".to_owned()),
        (
            json!({"command": "cat a.txt", "cwd": "src"}),
            "hello\n[exit code 0]".to_owned(),
        ),
        (json!({"cmd": "pwd"}), format!("{root}\n[exit code 0]")),
        (json!({"command": "true"}), "[exit code 0]".to_owned()),
        (
            json!({"command": "printf out; printf err >&2; exit 3"}),
            "outerr\n[exit code 3]".to_owned(),
        ),
        (json!({"command": "kill -9 $$"}), "[ended by signal 9]".to_owned()),
        (
            json!({"command": "mkdir -p made/{a,b}; ls -1 made"}),
            "a\nb\n[exit code 0]".to_owned(),
        ),
        (
            json!({"command": "echo \"<$A_TOKEN>\"; cat"}),
            "<>\n[exit code 0]".to_owned(),
        ),
        (
            json!({"command": "sleep 600 > /dev/null & echo up"}),
            "up\n[exit code 0; its background processes were killed]".to_owned(),
        ),
        (
            json!({"command": "pwd", "cwd": "src/a.txt"}),
            format!("error: the working directory {root}/src/a.txt does not exist or is not a directory"),
        ),
        (
            json!({"command": "pwd", "cwd": "none"}),
            format!("error: the working directory {root}/none does not exist or is not a directory"),
        ),
        (
            json!({"command": "a\u{0}b"}),
            "error: the command contains a NUL byte, which arguments cannot contain".to_owned(),
        ),
    ] {
        assert_eq!(project.run("terminal", input.clone()).await, seen, "{input}");
    }
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_saved_to_a_file() {
    let temp = tempfile::tempdir().unwrap();
    let project = TestProject::with_options(
        &[],
        Options {
            spill: Some(temp.path().join("long")),
            ..Options::default()
        },
    );
    let command = "echo first; seq 1 1000000; echo last";
    let seen = project.run("terminal", json!({"command": command})).await;
    assert!(seen.len() < 30_300, "{}", seen.len());
    assert!(seen.starts_with("first\n1\n2\n") && seen.ends_with("1000000\nlast\n[exit code 0]"));
    let note = seen.lines().find(|line| line.starts_with('[')).unwrap();
    let (cut, path) = note
        .trim_matches(['[', ']'])
        .split_once(" bytes cut; all of it is in ")
        .unwrap();
    let all = std::fs::read_to_string(path).unwrap();
    assert_eq!(all.len(), 6_888_896 + "first\nlast\n".len());
    assert!(all.starts_with("first\n1\n") && all.ends_with("\n1000000\nlast\n"));
    assert!(cut.parse::<usize>().unwrap() >= all.len() - 30_000, "{cut}");
    // It can be read without approval.
    let part = project
        .run(
            "read_file",
            json!({"path": path, "start_line": 500_000, "end_line": 500_001}),
        )
        .await;
    assert!(part.contains("499999"), "{part}");
    // Short output is not saved.
    project.run("terminal", json!({"command": "echo short"})).await;
    assert_eq!(std::fs::read_dir(temp.path().join("long")).unwrap().count(), 1);
}

#[tokio::test]
async fn colours_and_progress_bars_are_removed() {
    let project = TestProject::with(&[]);
    let command = r"printf '10%%\r50%%\r100%%\n\033[31mred\033[0m\n'; yes | head -n 5000";
    assert_eq!(
        project.run("terminal", json!({"command": command})).await,
        "100%\nred\ny\n[the same line 5000 times]\n[exit code 0]"
    );
}

#[tokio::test]
async fn a_command_is_stopped_at_its_timeout() {
    let project = TestProject::with(&[]);
    let input = json!({"command": "echo before; sleep 600", "timeout_seconds": 1});
    let seen = project.run("terminal", input).await;
    assert_eq!(
        seen,
        "before\n[stopped after 1 s; set timeout_seconds if it needs longer]"
    );
}

#[tokio::test]
async fn output_is_live_and_dropping_the_call_kills_the_command() {
    let project = TestProject::with(&[]);
    let (sender, mut receiver) = mpsc::channel(8);
    let watched = CallContext {
        progress: ProgressSender::new(sender),
        ..context()
    };
    // The named pipe is closed when the process that holds it exits.
    let command = "mkfifo pipe; echo ready; exec 9>pipe; echo . >&9; exec sleep 600";
    let mut call = Box::pin(project.call("terminal", json!({"command": command}), watched));
    let shown = tokio::select! {
        _ = &mut call => panic!("the command should still run"),
        shown = with_timeout(receiver.recv()) => shown.unwrap(),
    };
    assert_eq!(shown, ("call".into(), "ready\n".to_owned()));
    let mut pipe = OpenOptions::new().open_receiver(project.root.join("pipe")).unwrap();
    let mut byte = [0];
    tokio::select! {
        _ = &mut call => panic!("the command should still run"),
        read = with_timeout(pipe.read_exact(&mut byte)) => assert_eq!((read.unwrap(), byte), (1, *b".")),
    }
    drop(call);
    let mut rest = Vec::new();
    with_timeout(pipe.read_to_end(&mut rest)).await.unwrap();
    assert_eq!(rest, b"\n");
}

#[test]
fn running_a_command_needs_approval_for_it_and_its_directory() {
    let project = TestProject::with(&[("src/a", "")]);
    let run = |cwd| {
        vec![Action::Run {
            command: "make".into(),
            cwd,
        }]
    };
    assert_eq!(
        project.actions("terminal", json!({"command": "make"})),
        run(project.root.clone())
    );
    assert_eq!(
        project.actions("bash", json!({"command": "make", "cwd": "src"})),
        run(project.root.join("src"))
    );
    assert_eq!(
        project.actions("terminal", json!({"command": "make", "cwd": "/"})),
        run("/".into())
    );
}
