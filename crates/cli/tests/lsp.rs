//! Diagnostics after edits, with the real binary, a scripted model and a real language server.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::json;
use testkit::{Hew, Project, Script, Server, Turn, TurnOrder};

const MODEL: &str = "anthropic/claude-sonnet-4-6";
const MAIN: &str = "int twice(int n) { return 2 * n; }\nint main(void) { return twice(4); }\n";

/// Whether the server is installed, which `cargo xtask ci` requires.
fn has_clangd() -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).any(|folder| folder.join("clangd").is_file());
    assert!(
        found || std::env::var_os("HEW_NODE_MODULES").is_none(),
        "clangd is not installed"
    );
    found
}

async fn fixture() -> (Server, Project, Hew) {
    let read = Turn::calls("read_file", json!({"path": "main.c"}));
    let edit = json!({"path": "main.c", "old_text": "2 * n", "new_text": "2 * m"});
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(read)
        .turn(Turn::calls("edit_file", edit))
        .turn(Turn::calls(
            "call_tool",
            json!({"name": "rename_symbol", "input": {"symbol": "twice", "new_name": "double_it"}}),
        ))
        .turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let project = Project::new(&[("main.c", MAIN), (".hew/config.toml", "lsp.wait_ms = 60000\n")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .env("HEW_TITLE", "false")
        .env("HEW_PERMISSION", "workspace")
        .current_dir(project.root());
    (server, project, hew)
}

#[tokio::test]
async fn in_a_trusted_folder_new_errors_are_reported_with_the_edit_and_renames_change_every_use() {
    if !has_clangd() {
        println!("skipped: clangd is not installed");
        return;
    }
    let (server, project, hew) = fixture().await;
    let trusted = hew.clone().args(["trust"]).run().await.unwrap();
    assert_eq!(trusted.code(), Some(0), "{}", trusted.stderr);
    let run = hew.clone().args(["run", "-m", MODEL, "break it"]).run().await.unwrap();
    assert_eq!(run.stdout, "Done.\n", "{}", run.stderr);
    let bodies: Vec<String> = server
        .requests()
        .iter()
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .collect();
    let heading = "[new since this edit, by the language server: 1 problem]";
    assert!(
        bodies[2].contains(heading) && bodies[2].contains("main.c:1:31 error"),
        "{}",
        bodies[2]
    );
    let text = project.read("main.c").unwrap();
    assert_eq!(text, MAIN.replace("2 * n", "2 * m").replace("twice", "double_it"));
    let checked = hew.args(["lsp", "main.c"]).run().await.unwrap();
    assert!(
        checked.stdout.contains("main.c:1:35 error"),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
}

#[tokio::test]
async fn no_language_server_is_started_in_an_untrusted_folder() {
    let (server, _project, hew) = fixture().await;
    let run = hew.clone().args(["run", "-m", MODEL, "break it"]).run().await.unwrap();
    assert_eq!(run.stdout, "Done.\n", "{}", run.stderr);
    let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(!last.contains("by the language server"), "{last}");
    let listed = hew.clone().args(["lsp"]).run().await.unwrap();
    assert!(
        listed.stdout.contains("this folder is not trusted"),
        "{}",
        listed.stdout
    );
    let refused = hew.args(["lsp", "main.c"]).run().await.unwrap();
    assert_eq!(refused.code(), Some(2), "{}", refused.stderr);
}

#[tokio::test]
async fn a_mentioned_symbol_is_included_completely_with_and_without_a_language_server() {
    if !has_clangd() {
        println!("skipped: clangd is not installed");
        return;
    }
    let server = Server::start(Script::new().turn(Turn::text("Seen."))).await.unwrap();
    let code =
        "int twice_of(int n)\n{\n    int two = 2;\n    return two * n;\n}\n\nint main(void) { return twice_of(4); }\n";
    let project = Project::new(&[("main.c", code), (".hew/config.toml", "lsp.wait_ms = 60000\n")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .env("HEW_TITLE", "false")
        .current_dir(project.root());
    for trusted in [false, true] {
        if trusted {
            hew.clone().args(["trust"]).run().await.unwrap();
        }
        let prompt = "what does #twice_of do?";
        let run = hew.clone().args(["run", "-m", MODEL, prompt]).run().await.unwrap();
        assert_eq!(run.stdout, "Seen.\n", "{}", run.stderr);
        let body = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
        assert!(
            body.contains("main.c#L1-5") && body.contains("return two * n;"),
            "trusted {trusted}: {body}"
        );
    }
}
