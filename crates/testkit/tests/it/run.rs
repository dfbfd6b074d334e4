//! Running a binary in a clean environment, with the shell as the binary.

use std::time::Duration;

use testkit::{Error, Hew, Project, Script, Server};

fn shell(script: &str) -> Hew {
    Hew::new("/bin/sh").expect("a home").args(["-c", script])
}

/// A shell that can trap SIGINT, also if this test was started with the signal ignored (`nohup … &`).
fn interruptible_shell(script: &str) -> Hew {
    if cfg!(target_os = "linux") {
        let env = Hew::new("/usr/bin/env").expect("a home");
        env.args(["--default-signal=INT", "/bin/sh", "-c", script])
    } else {
        shell(script)
    }
}

#[tokio::test]
async fn a_run_has_its_own_home_and_a_clean_environment() {
    let hew = shell("env | cut -d= -f1 | sort | tr '\\n' ' '; echo; echo $HOME $XDG_DATA_HOME; pwd");
    let home = hew.home().canonicalize().expect("a home").display().to_string();
    let output = hew.run().await.expect("runs");
    assert!(output.is_success());
    let lines: Vec<&str> = output.stdout.lines().collect();
    let names = "HOME LANG LLAMACPP_BASE_URL LMSTUDIO_BASE_URL OLLAMA_HOST PATH PWD TERM TMPDIR VLLM_BASE_URL \
                 XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME";
    let without_shells_own = lines[0]
        .split_whitespace()
        .filter(|name| !["OLDPWD", "SHLVL", "_"].contains(name));
    assert_eq!(without_shells_own.collect::<Vec<_>>().join(" "), names);
    assert_eq!(lines[1..], [format!("{home} {home}/.local/share"), home]);
}

#[tokio::test]
async fn clones_share_a_home_and_a_directory_can_be_given() {
    let project = Project::new(&[("a.txt", "one")]).expect("a project");
    let hew = Hew::new("/bin/sh").expect("a home").current_dir(project.root());
    let first = hew
        .clone()
        .args(["-c", "cat > $HOME/kept; cat a.txt; echo oops >&2; exit 3"])
        .stdin("input")
        .run();
    let first = first.await.expect("runs");
    assert_eq!(
        (first.code(), first.stdout.as_str(), first.stderr.as_str()),
        (Some(3), "one", "oops\n")
    );
    let second = hew
        .args(["-c", "cat $HOME/kept; echo $WORD"])
        .env("WORD", "set")
        .run()
        .await
        .expect("runs");
    assert_eq!(second.stdout, "inputset\n");
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_killed_with_all_it_started() {
    let run = shell("sleep 1000 & sleep 1000")
        .timeout(Duration::from_millis(100))
        .run();
    let output = run.await.expect("runs");
    assert_eq!((output.status, output.is_success()), (None, false));
}

#[tokio::test]
async fn a_run_can_be_watched_interrupted_and_killed() {
    let script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.01; done";
    let mut running = interruptible_shell(script).spawn().expect("starts");
    running.wait_for_output("ready").await.expect("printed");
    running.interrupt().expect("signalled");
    let output = running.wait().await.expect("ends");
    assert_eq!((output.code(), output.stdout.as_str()), (Some(5), "ready\ncaught\n"));

    let mut running = shell(script).spawn().expect("starts");
    running.wait_for_output("ready").await.expect("printed");
    running.kill().expect("signalled");
    let output = running.wait().await.expect("ends");
    assert_eq!((output.code(), output.is_success()), (None, false));

    let mut running = shell("echo other").spawn().expect("starts");
    assert!(
        matches!(running.wait_for_output("ready").await, Err(Error::NotPrinted { stdout, .. }) if stdout == "other\n")
    );
}

#[tokio::test]
async fn a_missing_binary_is_an_error() {
    assert!(matches!(
        Hew::new("/no/such/binary").expect("a home").run().await,
        Err(Error::Run { .. })
    ));
}

#[tokio::test]
async fn the_scripted_binary_serves_a_file_and_explains_its_errors() {
    let project = Project::new(&[
        ("good.json", r#"{"turns": [{"text": "Hello."}]}"#),
        ("bad.json", r#"{"turns": [{"tekst": "Hello."}]}"#),
    ])
    .expect("a project");
    let scripted = Hew::new(env!("CARGO_BIN_EXE_scripted"))
        .expect("a home")
        .current_dir(project.root());
    let mut running = scripted.clone().args(["good.json", "0"]).spawn().expect("starts");
    running
        .wait_for_output("listening on http://127.0.0.1:")
        .await
        .expect("printed");

    let complaint = async |arguments: &[&str]| {
        let output = scripted.clone().args(arguments).run().await.expect("runs");
        assert_eq!(output.code(), Some(1));
        output.stderr
    };
    assert!(complaint(&["bad.json"]).await.contains("unknown field `tekst`"));
    assert!(
        complaint(&["missing.json"])
            .await
            .contains("cannot use missing.json: No such file")
    );
    assert!(complaint(&["good.json", "many"]).await.contains("usage: scripted"));
    let holder = Server::start(Script::new()).await.expect("starts");
    let port = holder.port().to_string();
    assert!(
        complaint(&["good.json", &port])
            .await
            .contains(&format!("cannot listen on 127.0.0.1:{port}"))
    );
}
