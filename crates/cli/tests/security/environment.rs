//! Variables reach commands, hooks and MCP servers by an allow list, and keys are masked in errors.

use crate::Scene;
use serde_json::json;
use testkit::{Fault, Turn};

/// Names of secrets, and of nothing in particular.
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
    let scene = Scene::new(config, &[]).with_variables(&variables).with_variables(&more);
    let (results, output) = scene.calls(&[("terminal", json!({"command": "env; echo end"}))]).await;
    assert!(results[0].contains("end\n"), "{results:?} {}", output.stderr);
    let recorded = |name: &str| scene.project.read(name).unwrap_or_default();
    for (who, text) in [
        ("command", results[0].clone()),
        ("hook", recorded("hook.txt")),
        ("server", recorded("server.txt")),
    ] {
        assert!(!text.contains("canary-value-31"), "{who}: {text}");
        // A server or hook that is not started is not given anything either.
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
    let scene = Scene::new(&config, &[]).with_variables(&[("NAMED", keys[1]), ("GROQ_API_KEY", keys[2])]);
    std::fs::write(
        scene.hew.home().join(".config/hew/keys.toml"),
        format!("deepseek = \"{}\"\n", keys[3]),
    )
    .unwrap();
    let message = format!("invalid keys {}", keys.join(" and "));
    let fault = Fault::BadRequest { message };
    for args in [&[][..], &["--json"]] {
        let turn = Turn::text("never").with_permanent_fault(fault.clone());
        let (_, output) = scene.run(vec![turn], args).await;
        let shown = format!("{}{}", output.stdout, output.stderr);
        assert!(shown.contains("invalid keys"), "{shown}");
        assert!(!shown.contains("-canary-"), "{shown}");
    }
    // A mistake in the configuration does not show the value.
    let scene = Scene::new("[providers]\nanthropic = 'sk-ant-canary-0123456789'\n", &[]);
    let output = scene.hew(&["models"]).await;
    let shown = format!("{}{}", output.stdout, output.stderr);
    assert!(output.code() != Some(0) && !shown.contains("canary"), "{shown}");
}
