//! The log file, with the real binary and a scripted model: events with their times, and no secrets.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use testkit::{Hew, Project, Script, Server, Turn, TurnOrder};

#[tokio::test]
async fn a_log_contains_events_but_no_secrets_and_no_conversation() {
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text("Words of the model.").call("read_file", json!({"path": "a.txt"})))
        .turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("a.txt", "inside of the file\n")]).unwrap();
    let key = "a-key-that-must-stay-secret";
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .env("HEW_TITLE", "false")
        .env("SOME_API_KEY", key)
        .current_dir(project.root());
    let path = hew.home().join("hew.log");
    let prompt = format!("the prompt with {key}");
    let args = ["run", "-m", "anthropic/claude-sonnet-4-6", &prompt];
    let run = hew.clone().args(args).arg("--log").arg(&path).run().await.unwrap();
    assert_eq!(run.stdout, "Done.\n", "{}", run.stderr);
    let log = std::fs::read_to_string(&path).unwrap();
    for part in [
        "hew: started",
        "turn started",
        "read_file took",
        "prompt tokens",
        "turn finished (completed)",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    for part in [key, "the prompt with", "Words of the model", "inside of the file"] {
        assert!(!log.contains(part), "{part}: {log}");
    }
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // A variable has the same effect, and the log is appended to.
    let shown = hew.clone().args(["models"]).env("HEW_LOG", &path).run().await.unwrap();
    assert_eq!(shown.code(), Some(0), "{}", shown.stderr);
    let later = std::fs::read_to_string(&path).unwrap();
    assert!(later.starts_with(&log) && later.len() > log.len(), "{later}");

    let wrong = hew
        .args(["models", "--log", "/no/such/folder/hew.log"])
        .run()
        .await
        .unwrap();
    assert_eq!(wrong.code(), Some(2));
    assert!(
        wrong.stderr.contains("cannot write the log /no/such/folder/hew.log"),
        "{}",
        wrong.stderr
    );
}

/// A key is masked wherever it occurs, here in the mention of a missing file.
#[tokio::test]
async fn keys_from_the_configuration_a_program_and_the_keyring_are_masked_in_the_log() {
    let key = "another-key-that-must-stay-secret";
    let server = Server::start(Script::new().turn(Turn::text("Done.")).key(key))
        .await
        .unwrap();
    let project = Project::new(&[]).unwrap();
    let keyring = format!("#!/bin/sh\n[ \"$1\" = lookup ] && printf %s {key}\n");
    project.write("bin/secret-tool", &keyring).unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.path("bin/secret-tool"), executable).unwrap();
    let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
    let (with_keyring, without) = (("DBUS_SESSION_BUS_ADDRESS", "unix:path=/none"), ("UNUSED", ""));
    for (config, keyring) in [
        (format!("providers.anthropic.key = '{key}'"), without),
        (format!("providers.anthropic.key_command = ['echo', '{key}']"), without),
        (String::new(), with_keyring),
    ] {
        let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
            .unwrap()
            .env("ANTHROPIC_BASE_URL", server.url())
            .env("HEW_TITLE", "false")
            .env("PATH", &path)
            .env(keyring.0, keyring.1)
            .current_dir(project.root());
        let file = hew.home().join("config.toml");
        std::fs::write(&file, &config).unwrap();
        let log = hew.home().join("hew.log");
        let prompt = format!("look at @{key}.txt");
        let run = hew
            .clone()
            .env("HEW_CONFIG", &file)
            .args(["run", "-m", "anthropic/claude-sonnet-4-6", &prompt, "--log"])
            .arg(&log)
            .run()
            .await
            .unwrap();
        assert_eq!(run.stdout, "Done.\n", "{config}: {}", run.stderr);
        let log = std::fs::read_to_string(&log).unwrap();
        assert!(log.contains("not included: @[secret].txt"), "{config}: {log}");
        assert!(!log.contains(key), "{config}: {log}");
    }
}
