//! Variables reach commands, hooks and MCP servers by an allow list, and keys are masked in errors.

use crate::Fixture;
use serde_json::json;
use testkit::{Fault, Turn};

/// Variables with names of secrets, and others.
const SECRETS: [&str; 34] = [
    "STRIPE_KEY",
    "DATABASE_URL",
    "GITLAB_PAT",
    "SENTRY_DSN",
    "JWT",
    "OPENAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SESSION_TOKEN",
    "GITHUB_TOKEN",
    "NPM_TOKEN",
    "PYPI_PASSWORD",
    "DB_PASS",
    "REDIS_URL",
    "MONGO_URI",
    "SLACK_WEBHOOK",
    "TWILIO_SID",
    "KUBECONFIG_DATA",
    "SSH_PRIVATE_KEY",
    "GPG_PASSPHRASE",
    "VAULT_ADDR",
    "COOKIE",
    "SESSION",
    "CERT",
    "LICENSE",
    "MY_OWN_THING",
    "ANTHROPIC_API_KEY",
    "CARGO_REGISTRY_TOKEN",
    "NODE_AUTH_TOKEN",
    "PIP_EXTRA_INDEX_URL",
    "BUNDLE_GEMS__EXAMPLE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HF_HOME_KEY",
    "AZURE_CLIENT",
];

#[tokio::test]
async fn commands_hooks_and_servers_get_only_allowed_variables() {
    let config = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'env > hook.txt'\n\
                  [mcp.recorder]\ncommand = 'sh'\nargs = ['-c', 'env > server.txt; cat']\ntimeout = '2s'\n\
                  [sandbox]\nkeep = ['KEPT_*']\n";
    let variables = SECRETS.map(|name| (name, "canary-value-31"));
    let more = [
        ("CARGO_HOME", "/toolchain-canary"),
        ("LC_ALL", "C"),
        ("KEPT_TOKEN", "kept-canary"),
        ("HTTPS_PROXY", "http://me:canary-value-31@127.0.0.1:1"),
    ];
    let fixture = Fixture::new(config, &[])
        .with_variables(&variables)
        .with_variables(&more);
    let (results, output) = fixture
        .calls(&[("terminal", json!({"command": "env; echo end"}))])
        .await;
    assert!(results[0].contains("end\n"), "{results:?} {}", output.stderr);
    let recorded = |name: &str| fixture.project.read(name).unwrap_or_default();
    for (who, text) in [
        ("command", results[0].clone()),
        ("hook", recorded("hook.txt")),
        ("server", recorded("server.txt")),
    ] {
        assert!(!text.contains("canary-value-31"), "{who}: {text}");
        // A server or hook that does not start gets no variables either.
        if !text.is_empty() {
            for needed in [
                "PATH=",
                "HOME=",
                "LC_ALL=C",
                "CARGO_HOME=/toolchain-canary",
                "KEPT_TOKEN=kept-canary",
            ] {
                assert!(text.contains(needed), "{who} lacks {needed}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn every_configured_key_is_masked_in_errors() {
    let keys = [
        "first-canary-0001",
        "second-canary-0002",
        "third-canary-0003",
        "fourth-canary-0004",
    ];
    let config = format!(
        "[providers.unused]\nwire = 'openai-chat'\nbase_url = 'http://127.0.0.1:1'\nkey = '{}'\n\
         [providers.named]\nwire = 'openai-chat'\nbase_url = 'http://127.0.0.1:1'\nkey_env = 'NAMED'\n",
        keys[0]
    );
    let fixture = Fixture::new(&config, &[]).with_variables(&[("NAMED", keys[1]), ("GROQ_API_KEY", keys[2])]);
    std::fs::write(
        fixture.hew.home().join(".config/hew/keys.toml"),
        format!("deepseek = \"{}\"\n", keys[3]),
    )
    .unwrap();
    let message = format!("invalid keys {}", keys.join(" and "));
    let fault = Fault::BadRequest { message };
    for args in [&[][..], &["--json"]] {
        let turn = Turn::text("never").with_permanent_fault(fault.clone());
        let (_, output) = fixture.run(vec![turn], args).await;
        let shown = format!("{}{}", output.stdout, output.stderr);
        assert!(shown.contains("invalid keys"), "{shown}");
        assert!(!shown.contains("-canary-"), "{shown}");
    }
    // An error in the configuration does not print the value.
    let fixture = Fixture::new("[providers]\nanthropic = 'sk-ant-canary-0123456789'\n", &[]);
    let output = fixture.hew(&["models"]).await;
    let shown = format!("{}{}", output.stdout, output.stderr);
    assert!(output.code() != Some(0) && !shown.contains("canary"), "{shown}");
}

#[tokio::test]
async fn commands_do_not_read_the_files_with_keys_of_a_home_in_a_temporary_folder() {
    let fixture = Fixture::new("# key-in-config\n", &[]);
    let folder = fixture.hew.home().join(".config/hew");
    assert!(
        folder.starts_with(std::env::temp_dir()),
        "such a home is writable for commands"
    );
    std::fs::write(folder.join("keys.toml"), "# key-in-keys\n").unwrap();
    let input = r#"{"command": "cat ~/.config/hew/*; cat ~/.config/hew/config.toml; echo reached"}"#;
    let run = fixture
        .hew
        .args(["tools", "run", "terminal", "--yes", "--input", input])
        .run()
        .await
        .unwrap();
    assert!(run.stdout.contains("reached"), "{} {}", run.stdout, run.stderr);
    assert!(!run.stdout.contains("key-in"), "{}", run.stdout);
}

#[tokio::test]
async fn files_with_keys_do_not_belong_to_a_project_that_contains_them() {
    let files = [
        ("real/own.toml", "# key-in-config\n"),
        ("c/keys.toml", "# key-in-keys\n"),
        ("c/accounts.json", "{\"key-in-accounts\": 1}"),
    ];
    let fixture = Fixture::new("", &files);
    let link = fixture.project.path("c/own.toml");
    std::os::unix::fs::symlink("../real/own.toml", &link).unwrap();
    let hew = fixture.hew.clone().env("HEW_CONFIG", &link);
    // Without approval.
    let call = |tool: &str, input: serde_json::Value| {
        let run = hew.clone().args(["tools", "run", tool, "--input", &input.to_string()]);
        async move { run.run().await.unwrap() }
    };
    for path in ["real/own.toml", "c/own.toml", "c/keys.toml", "c/accounts.json"] {
        let stolen = json!({"source_path": path, "destination_path": "stolen"});
        for (tool, input) in [
            ("read_file", json!({"path": path})),
            ("grep", json!({"pattern": "key-in", "path": path})),
            ("copy_path", stolen),
            ("write_file", json!({"path": path, "content": "owned"})),
            ("delete_path", json!({"path": path})),
            (
                "terminal",
                json!({"command": format!("cat {path}; echo owned > {path}")}),
            ),
        ] {
            let output = call(tool, input).await;
            assert!(!output.stdout.contains("key-in"), "{tool} {path}: {}", output.stdout);
        }
    }
    call("terminal", json!({"command": "rm c/own.toml; echo owned > c/own.toml"})).await;
    assert!(!fixture.project.path("stolen").exists());
    assert!(link.is_symlink());
    for (path, text) in files {
        assert_eq!(fixture.project.read(path).unwrap(), text, "{path}");
    }
}
