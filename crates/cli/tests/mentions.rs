//! Mentions end to end: the mentioned content is sent after the prompt.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::process::Command;
use testkit::{Hew, Project, Script, Server, StubSite, Turn, TurnOrder, page};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

#[tokio::test]
async fn files_folders_lines_and_sessions_are_included_and_missing_ones_reported() {
    let server = Server::start(
        Script::new()
            .order(TurnOrder::Sequence)
            .turn(Turn::text("First answer."))
            .turn(Turn::text("Seen.")),
    )
    .await
    .unwrap();
    let project = Project::new(&[
        ("a.txt", "alpha\nbeta\ngamma\n"),
        ("docs/guide.md", "# Guide\n"),
        ("secret.txt", "hidden words\n"),
    ])
    .unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .env("HEW_TITLE", "false")
        .current_dir(project.root());
    let first = hew
        .clone()
        .args(["run", "-m", MODEL, "remember the word quokka"])
        .run()
        .await
        .unwrap();
    assert_eq!(first.code(), Some(0), "{}", first.stderr);
    let id = hew.clone().args(["sessions", "list", "--json"]).run().await.unwrap();
    let sessions: serde_json::Value = serde_json::from_str(&id.stdout).unwrap();
    let id = sessions[0]["id"].as_str().unwrap();

    let prompt = format!(
        "compare @a.txt:2-3 with @docs/ and @docs/guide.md, @missing.txt and @thread:{id}; mail me@a.txt; \
         @alice said @Override needs @types/node, see @doc"
    );
    let second = hew.clone().args(["run", "-m", MODEL, &prompt]).run().await.unwrap();
    assert_eq!(second.stdout, "Seen.\n", "{}", second.stderr);
    assert!(
        second.stderr.contains("not included: @missing.txt"),
        "{}",
        second.stderr
    );
    // Names of people, packages and annotations are not paths; a name similar to a path may be a typing error.
    let missed = second.stderr.matches("not included: ").count();
    assert!(
        second
            .stderr
            .contains("not included: @doc: doc does not exist; did you mean docs?"),
        "{}",
        second.stderr
    );
    assert_eq!(missed, 2, "{}", second.stderr);
    let body = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    for part in [
        "<context>",
        "a.txt#L2-3",
        "beta",
        "guide.md",
        "# Guide",
        "quokka",
        "</context>",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert!(!body.contains("hidden words"), "{body}");
    let thread = body
        .split("<threads>")
        .nth(1)
        .unwrap()
        .split("</threads>")
        .next()
        .unwrap();
    assert!(thread.contains("quokka"), "{thread}");
    assert!(
        !thread.contains("<environment>") && !thread.contains("Date: "),
        "{thread}"
    );
    let order: Vec<usize> = ["<files>", "<directories>", "<selections>", "<threads>"]
        .iter()
        .map(|tag| body.find(tag).unwrap())
        .collect();
    assert!(order.is_sorted(), "{body}");
}

#[tokio::test]
async fn a_path_in_the_project_may_begin_with_a_slash_or_a_scheme() {
    let server = Server::start(Script::new().turn(Turn::text("Seen."))).await.unwrap();
    let project = Project::new(&[("docs/guide.md", "first words\n"), ("with space.txt", "second words\n")]).unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().with_server(&server);
    let hew = hew.env("HEW_TITLE", "false").current_dir(project.root());
    let prompt = r"see @/docs/guide.md and @/with\ space.txt, but not @/docs/absent.md and @file:docs/absent.md";
    let seen = hew.args(["run", "-m", MODEL, prompt]).run().await.unwrap();
    assert_eq!(seen.stderr.matches("not included: ").count(), 2, "{}", seen.stderr);
    let body = String::from_utf8_lossy(&server.requests()[0].body).into_owned();
    assert!(body.contains("first words") && body.contains("second words"), "{body}");
}

#[tokio::test]
async fn before_the_first_commit_the_diff_contains_all_tracked_files() {
    let server = Server::start(Script::new().turn(Turn::text("Seen."))).await.unwrap();
    let project = Project::new(&[("a.txt", "first words\n")]).unwrap();
    for args in [["init", "-q"], ["add", "-A"]] {
        let done = Command::new("git")
            .args(args)
            .current_dir(project.root())
            .status()
            .unwrap();
        assert!(done.success());
    }
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().with_server(&server);
    let hew = hew.env("HEW_TITLE", "false").current_dir(project.root());
    let seen = hew.args(["run", "-m", MODEL, "look at @diff"]).run().await.unwrap();
    assert!(!seen.stderr.contains("not included"), "{}", seen.stderr);
    let body = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(body.contains("+first words"), "{body}");
}

/// A project in a repository with one commit.
fn repository(files: &[(&str, &str)]) -> Project {
    let project = Project::new(files).unwrap();
    for args in [
        vec!["init", "-q"],
        vec!["add", "-A"],
        vec![
            "-c",
            "user.name=n",
            "-c",
            "user.email=n@example.org",
            "commit",
            "-qm",
            "first",
        ],
    ] {
        let done = Command::new("git")
            .args(args)
            .current_dir(project.root())
            .status()
            .unwrap();
        assert!(done.success());
    }
    project
}

#[tokio::test]
async fn the_diff_diagnostics_and_pages_are_included_and_missing_ones_reported() {
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text("Seen."))
        .turn(Turn::text("Unseen."));
    let server = Server::start(script).await.unwrap();
    let site = StubSite::start("127.0.0.1", |visit| match visit.line.as_str() {
        "GET /guide" => page("200 OK", "text/html", "<h1>Guide</h1><p>Turn the <b>handle</b>.</p>"),
        _ => page("404 Not Found", "text/plain", "nothing"),
    })
    .await
    .unwrap();
    let project = repository(&[
        ("a.txt", "old words\n"),
        ("requirements.txt", ""),
        ("broken.py", "def f(:\n    pass\n"),
    ]);
    project.write("a.txt", "new words\n").unwrap();
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(&server)
        .env("HEW_TITLE", "false")
        .current_dir(project.root());
    let own = hew.home().join(".config/hew");
    std::fs::create_dir_all(&own).unwrap();
    let config = format!(
        "[permissions]\nallow = ['fetch(127.0.0.1)']\n[web]\nallow_private = ['127.0.0.1:{}']\n",
        site.port
    );
    std::fs::write(own.join("config.toml"), config).unwrap();
    let prompt = format!("see @diff and @diagnostics and @{} please", site.url("/guide"));
    let seen = hew.clone().args(["run", "-m", MODEL, &prompt]).run().await.unwrap();
    assert_eq!(seen.stdout, "Seen.\n", "{}", seen.stderr);
    assert!(!seen.stderr.contains("not included"), "{}", seen.stderr);
    let body = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    for part in ["-old words", "+new words", "broken.py:1", "Turn the **handle**."] {
        assert!(body.contains(part), "{part}: {body}");
    }

    // Each missing mention is reported as written, and the prompt is sent anyway.
    let elsewhere = Project::new(&[("b.txt", "b\n")]).unwrap();
    let missing = site.url("/missing");
    let prompt = format!("see @diff and @{missing} and @rule:none and @thread:0123 and #no_such_thing and @no.png");
    let unseen = hew
        .clone()
        .args(["run", "-m", MODEL, &prompt])
        .current_dir(elsewhere.root())
        .run()
        .await
        .unwrap();
    assert_eq!(unseen.stdout, "Unseen.\n", "{}", unseen.stderr);
    for miss in [
        "@diff".to_owned(),
        format!("@{missing}"),
        "@rule:none".into(),
        "@thread:0123".into(),
        "#no_such_thing".into(),
        "@no.png".into(),
    ] {
        assert!(
            unseen.stderr.contains(&format!("not included: {miss}: ")),
            "{miss}: {}",
            unseen.stderr
        );
    }
    let body = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(!body.contains("<context>"), "{body}");
}
