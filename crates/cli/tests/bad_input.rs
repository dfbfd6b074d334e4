//! Invalid input: each error has a message, a hint and a non-zero exit code, and no data is lost.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use testkit::{Hew, Output, Project, Script, Server, Turn};

fn hew() -> Hew {
    Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap()
}

/// Checks the exit code, and that stderr contains an error message and a hint.
fn check(output: &Output, code: i32, what: &str, hint: &str) {
    let stderr = &output.stderr;
    assert_eq!(output.code(), Some(code), "{stderr}");
    assert!(stderr.contains(what), "{what:?} is not in {stderr}");
    assert!(
        stderr.lines().any(|line| line.contains(hint)),
        "{hint:?} is not in {stderr}"
    );
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[tokio::test]
async fn the_nearest_names_are_suggested_for_an_unknown_model() {
    let output = hew()
        .args(["run", "-m", "anthropic/claude-sonet-4-6", "x"])
        .run()
        .await
        .unwrap();
    check(
        &output,
        2,
        "error: there is no model `anthropic/claude-sonet-4-6`",
        "hint: did you mean anthropic/claude-sonnet-4-6",
    );
}

#[tokio::test]
async fn the_hint_for_a_missing_key_names_its_sources() {
    let output = hew()
        .args(["run", "-m", "anthropic/claude-sonnet-4-6", "x"])
        .run()
        .await
        .unwrap();
    check(
        &output,
        2,
        "error: there is no key for Anthropic",
        "hint: set ANTHROPIC_API_KEY",
    );
    let output = hew().args(["run", "x"]).run().await.unwrap();
    check(
        &output,
        2,
        "error: no model is configured, and no provider has a key",
        "hint: or run `hew demo`",
    );
    let output = hew().args(["run", "--json", "x"]).run().await.unwrap();
    let line: serde_json::Value = serde_json::from_str(output.stdout.trim()).unwrap();
    assert_eq!((&line["type"], &line["exit_code"]), (&"error".into(), &2.into()));
}

#[tokio::test]
async fn errors_in_the_configuration_are_reported_with_file_and_line() {
    for (text, what, hint) in [
        (
            "model = 'a/b'\n\nmodle = 1\n",
            ":3: there is no key `modle`",
            "did you mean `model`?",
        ),
        (
            "[limits]\nsteps = 'many'\n",
            ":2: limits.steps: it must be a whole number",
            "hew config schema",
        ),
        ("model = \n", ":1: ", "hew config schema"),
    ] {
        let hew = hew();
        let file = hew.home().join("c.toml");
        fs::write(&file, text).unwrap();
        let output = hew.env("HEW_CONFIG", &file).args(["run", "x"]).run().await.unwrap();
        check(&output, 2, &format!("error: {}{what}", file.display()), hint);
    }
    let hew = hew();
    let folder = hew.home().join("folder.toml");
    fs::create_dir(&folder).unwrap();
    let output = hew.env("HEW_CONFIG", &folder).args(["run", "x"]).run().await.unwrap();
    check(
        &output,
        2,
        "error: cannot read the configuration",
        "hint: check the file's permissions",
    );
}

#[tokio::test]
async fn the_nearest_flag_is_suggested_for_an_unknown_one() {
    let output = hew().args(["run", "--modle", "x"]).run().await.unwrap();
    check(
        &output,
        2,
        "unexpected argument '--modle'",
        "hint: did you mean `--model`?",
    );
}

#[tokio::test]
async fn a_missing_project_is_reported() {
    let output = hew().args(["run", "-C", "/no/such/project", "x"]).run().await.unwrap();
    check(
        &output,
        2,
        "error: cannot work in /no/such/project: No such file or directory",
        "hint: check the path",
    );
}

#[tokio::test]
async fn a_data_folder_that_is_not_writable_is_reported() {
    let server = Server::start(Script::new().turn(Turn::text("ok"))).await.unwrap();
    let hew = hew().with_server(&server);
    // A file in place of the folder is an obstacle for the superuser too, whom permissions do not stop.
    let data = hew.home().join("taken");
    fs::write(&data, "").unwrap();
    let output = hew
        .env("HEW_DATA_DIR", &data)
        .args(["run", "-m", "gpt-5.5", "x"])
        .run()
        .await
        .unwrap();
    check(&output, 1, "error: cannot use the session database", "HEW_DATA_DIR");
    assert!(
        server.requests().is_empty(),
        "no request is sent before the session can be stored"
    );
}

#[tokio::test]
async fn a_read_only_home_is_reported() {
    let server = Server::start(Script::new().turn(Turn::text("ok"))).await.unwrap();
    let hew = hew().with_server(&server);
    let home = hew.home().join("locked");
    fs::create_dir(&home).unwrap();
    // Permissions do not stop the superuser, who mounts a read-only file system instead.
    fs::set_permissions(&home, Permissions::from_mode(0o555)).unwrap();
    let binary = env!("CARGO_BIN_EXE_hew");
    let command = format!(
        "mount -t tmpfs -o ro none {}; {binary} run -m gpt-5.5 x",
        home.display()
    );
    let shell = |program: &str| {
        Hew::new(program)
            .unwrap()
            .with_server(&server)
            .env("PATH", "/usr/bin:/bin")
    };
    let data = home.join("data");
    let mut output = shell("/usr/bin/unshare")
        .env("HEW_DATA_DIR", &data)
        .args(["-rm", "sh", "-c", &command])
        .run()
        .await
        .unwrap();
    if output.stderr.contains("unshare") {
        output = shell("/bin/sh")
            .env("HEW_DATA_DIR", &data)
            .args(["-c", &command])
            .run()
            .await
            .unwrap();
    }
    fs::set_permissions(&home, Permissions::from_mode(0o755)).unwrap();
    check(&output, 1, "error: cannot use the session database", "HEW_DATA_DIR");
    assert!(
        server.requests().is_empty(),
        "no request is sent before the session can be stored"
    );
}

#[tokio::test]
async fn a_damaged_database_is_reported_and_left_unchanged() {
    let server = Server::start(Script::new().turn(Turn::text("ok")).turn(Turn::text("ok")))
        .await
        .unwrap();
    let hew = hew().with_server(&server);
    let data = hew.home().join("data-folder");
    let hew = hew.env("HEW_DATA_DIR", &data);
    let first = hew.clone().args(["run", "-m", "gpt-5.5", "x"]).run().await.unwrap();
    assert_eq!(first.code(), Some(0), "{}", first.stderr);
    let damaged = b"this is not a database at all, ".repeat(1000);
    fs::write(data.join("hew.db"), &damaged).unwrap();
    let output = hew.clone().args(["run", "-m", "gpt-5.5", "x"]).run().await.unwrap();
    check(&output, 1, "is damaged", "hint: move the file away");
    assert_eq!(fs::read(data.join("hew.db")).unwrap(), damaged);
    let doctor = hew.args(["doctor", "--offline"]).run().await.unwrap();
    assert_eq!(doctor.code(), Some(1));
    assert!(doctor.stdout.contains("✗ sessions"), "{}", doctor.stdout);
    assert!(
        doctor
            .stdout
            .contains("hint: move it to start with an empty database: mv ")
            && !doctor.stdout.contains("`hew doctor`"),
        "{}",
        doctor.stdout
    );
}

#[tokio::test]
async fn a_full_disk_is_reported_and_the_session_can_be_resumed_when_space_is_free() {
    let server = Server::start(
        Script::new()
            .turn(Turn::text("word ".repeat(200_000)))
            .turn(Turn::text("Done.")),
    )
    .await
    .unwrap();
    let project = Project::new(&[]).unwrap();
    let hew = hew().with_server(&server).current_dir(project.root());
    let data = hew.home().join("small");
    fs::create_dir(&data).unwrap();
    // A separate disk needs a mount namespace, which is not available on every system.
    let binary = env!("CARGO_BIN_EXE_hew");
    let disk = format!(
        "mount -t tmpfs -o size=300k none {0} && echo mounted && export HEW_DATA_DIR={0}",
        data.display()
    );
    let command = format!(
        "{disk} && {binary} run -m gpt-5.5 x; echo code=$?; {binary} sessions list; mount -o remount,size=30m {} && echo remounted && {binary} resume",
        data.display()
    );
    let shell = Hew::new("/usr/bin/unshare")
        .unwrap()
        .with_server(&server)
        .current_dir(project.root());
    let output = shell
        .env("PATH", "/usr/bin:/bin")
        .args(["-rm", "sh", "-c", &command])
        .run()
        .await
        .unwrap();
    if !output.stdout.starts_with("mounted") {
        return;
    }
    assert!(output.stdout.contains("code=1"), "{}{}", output.stdout, output.stderr);
    assert!(
        output.stderr.contains("the disk is full") && output.stderr.contains("hint: free some space"),
        "{}",
        output.stderr
    );
    assert!(
        output.stdout.contains("TITLE"),
        "the session is listed: {}{}",
        output.stdout,
        output.stderr
    );
    let can_remount = output.stdout.contains("remounted") || rustix::process::geteuid().is_root();
    assert_eq!(output.code() == Some(0), can_remount, "{}", output.stderr);
}

#[tokio::test]
async fn a_missing_session_is_reported() {
    for args in [["resume", "0123abcd"], ["sessions", "show"]] {
        let output = hew().args(args).run().await.unwrap();
        check(&output, 2, "error: there is no session", "hew sessions list");
    }
}

#[tokio::test]
async fn a_missing_task_is_reported() {
    let output = hew().args(["run", "-m", "gpt-5.5"]).run().await.unwrap();
    check(&output, 2, "error: there is no task", "hint: describe it");
    let output = hew().run().await.unwrap();
    assert_eq!(output.code(), Some(2));
}

#[tokio::test]
async fn an_invalid_schema_is_reported_before_the_first_request() {
    let hew = hew();
    let file = hew.home().join("s.json");
    fs::write(&file, "{\"type\": 7}").unwrap();
    let output = hew
        .args(["run", "--output-schema"])
        .arg(&file)
        .arg("x")
        .run()
        .await
        .unwrap();
    check(&output, 2, "is not a JSON schema", "error:");
}

#[tokio::test]
async fn invalid_limits_and_addresses_are_rejected() {
    for (args, what) in [
        (
            ["run", "--max-cost", "0", "x"],
            "error: --max-cost: limits.cost: it must be a number above 0",
        ),
        (
            ["run", "--max-cost", "nan", "x"],
            "error: --max-cost: limits.cost: NaN is not a quantity",
        ),
        (
            ["run", "--max-steps", "0", "x"],
            "error: --max-steps: limits.steps: it must be a whole number, at least 1",
        ),
        (
            ["run", "--max-output", "0", "x"],
            "error: --max-output: max_output: it must be a whole number, at least 1",
        ),
        (
            ["run", "--temperature", "3", "x"],
            "error: --temperature: temperature: it must be between 0 and 2",
        ),
        (
            ["config", "set", "limits.cost", "-1"],
            "limits.cost: it must be a number above 0",
        ),
        (
            ["config", "set", "providers.x.base_url", "there"],
            "`there` is not an address",
        ),
        (
            ["config", "set", "model", "nonsense"],
            "error: there is no model `nonsense`",
        ),
        (
            ["config", "set", "model", "a b/c"],
            "`a b/c` is not the name of a model",
        ),
    ] {
        let args: Vec<&str> = match args {
            ["config", "set", key, value] => vec!["config", "set", "--", key, value],
            other => other.to_vec(),
        };
        check(&hew().args(args).run().await.unwrap(), 2, what, "hint: ");
    }
}

#[tokio::test]
async fn the_nearest_key_is_suggested_for_an_unknown_one_and_an_unset_one_is_reported() {
    for command in ["get", "unset"] {
        let output = hew().args(["config", command, "limits.stps"]).run().await.unwrap();
        check(
            &output,
            2,
            "error: there is no key `limits.stps`",
            "hint: did you mean `steps`?",
        );
    }
    let output = hew().args(["config", "get", "limits.steps"]).run().await.unwrap();
    check(&output, 1, "error: `limits.steps` is not set", "hint: ");
    let output = hew().args(["config", "unset", "limits.steps"]).run().await.unwrap();
    check(&output, 0, "`limits.steps` is not set in ", "");
}

#[tokio::test]
async fn the_command_is_suggested_for_a_task_without_one() {
    for (args, hint) in [
        (&["fix it"][..], "hint: describe a task: hew run \"fix it\""),
        (&["print $HOME's size"], "hew run 'print $HOME'\\''s size'"),
        (&["-p", "fix it"], "hint: to run a task: hew \"…\""),
        (&["exec", "fix it"], "hint: `hew run \"…\"` works without the screen"),
        (&["sesions"], "did you mean `hew sessions`?"),
    ] {
        check(&hew().args(args).run().await.unwrap(), 2, "error: ", hint);
    }
}

#[tokio::test]
async fn a_relative_home_and_a_binary_project_file_are_reported() {
    let output = hew()
        .env("HOME", "home")
        .env("HEW_DATA_DIR", "")
        .env("XDG_DATA_HOME", "")
        .args(["sessions"])
        .run()
        .await
        .unwrap();
    assert_eq!(output.code(), Some(2), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("HOME must be an absolute path, but it is `home`"),
        "{}",
        output.stderr
    );
    let project = Project::new(&[(".hew/config.toml", "")]).unwrap();
    fs::write(project.path(".hew/config.toml"), b"model = '\xff'").unwrap();
    let output = hew().current_dir(project.root()).args(["config"]).run().await.unwrap();
    check(&output, 2, "is not UTF-8 text", "hint: save the file as UTF-8");
}

#[tokio::test]
async fn a_key_with_a_line_break_is_reported_and_not_printed() {
    let output = hew()
        .env("ANTHROPIC_API_KEY", "sk-one\nsk-two")
        .args(["run", "-m", "anthropic/claude-sonnet-4-6", "x"])
        .run()
        .await
        .unwrap();
    check(
        &output,
        2,
        "error: the key of Anthropic from $ANTHROPIC_API_KEY is invalid",
        "hint: copy it again, on one line",
    );
    assert!(!output.stderr.contains("sk-"), "{}", output.stderr);
}

#[tokio::test]
async fn a_warning_is_printed_if_the_project_is_the_home_folder() {
    let server = Server::start(Script::new().turn(Turn::text("ok"))).await.unwrap();
    let hew = hew().with_server(&server);
    let home = hew.home().to_path_buf();
    let output = hew
        .env("HOME", &home)
        .current_dir(&home)
        .args(["run", "-m", "gpt-5.5", "--no-title", "x"])
        .run()
        .await
        .unwrap();
    check(
        &output,
        0,
        "warning: your whole home directory is the project",
        "-C names another directory",
    );
}

#[tokio::test]
async fn without_a_keyring_storing_a_key_fails_without_a_prompt() {
    let output = hew()
        .env("PATH", "/nowhere")
        .args(["keys", "set", "anthropic"])
        .run()
        .await
        .unwrap();
    check(
        &output,
        1,
        "error: no keyring",
        "keys can also come from the environment",
    );
}

#[tokio::test]
async fn the_doctor_reports_every_problem_of_the_configuration() {
    let hew = hew();
    let file = hew.home().join("config.toml");
    let text = "[keys]\nsesions = [\"ctrl+s\"]\nmodels = [\"foo+q\"]\n[tui]\ntheme = \"nope\"\n\
                [permissions]\nallow = [\"runn(x)\"]\n";
    fs::write(&file, text).unwrap();
    let hew = hew.env("HEW_CONFIG", &file);
    let output = hew.clone().args(["doctor", "--offline"]).run().await.unwrap();
    assert_eq!(output.code(), Some(1), "{}", output.stdout);
    let shown = hew.clone().arg("config").run().await.unwrap();
    for part in ["sesions", "foo+q", "nope", "runn(x)"] {
        assert!(output.stdout.contains(part), "{part}: {}", output.stdout);
        assert!(shown.stderr.contains(part), "{part}: {}", shown.stderr);
    }
    fs::write(&file, "modl = 1\npermision = 2\n").unwrap();
    let output = hew.clone().args(["doctor", "--offline"]).run().await.unwrap();
    assert!(
        output.stdout.contains("`modl`") && output.stdout.contains("`permision`"),
        "{}",
        output.stdout
    );
    fs::remove_file(&file).unwrap();
    let output = hew.clone().args(["doctor", "--offline"]).run().await.unwrap();
    assert!(output.stdout.contains("HEW_CONFIG names "), "{}", output.stdout);
    // A file in place of the folder is an obstacle for the superuser too, whom permissions do not stop.
    let data = hew.home().join("taken");
    fs::write(&data, "").unwrap();
    let hew = hew.env("HEW_DATA_DIR", data.join("below"));
    let output = hew.args(["doctor", "--offline"]).run().await.unwrap();
    assert!(
        output.stdout.contains("taken/below cannot be written"),
        "{}",
        output.stdout
    );
}
