//! Deep nesting in untrusted input (folders, patterns, replies), and files without an end.

use crate::Fixture;
use serde_json::json;
use std::time::Duration;
use testkit::Turn;

#[tokio::test]
async fn thousands_of_nested_folders_neither_abort_nor_hang() {
    let fixture = Fixture::new("", &[("a.txt", "one\n")]);
    let nest = "python3 -c 'import os\nfor i in range(1600):\n  os.mkdir(\"d\"); os.chdir(\"d\")\nopen(\"leaf\", \"w\").write(\"x\")'";
    let calls = [
        ("terminal", json!({"command": nest})),
        ("terminal", json!({"command": "echo two > a.txt"})),
        ("list_directory", json!({"path": "."})),
        ("grep", json!({"pattern": "two"})),
        ("find_path", json!({"pattern": "**/leaf"})),
    ];
    let (results, output) = fixture.calls(&calls).await;
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    assert!(results[3].contains("a.txt"), "{results:?}");
    assert!(fixture.hew(&["diff"]).await.code().is_some());
    let undone = fixture.hew(&["undo"]).await;
    assert!(undone.code().is_some(), "{}", undone.stderr);
    assert_eq!(
        fixture.project.read("a.txt").unwrap(),
        "one\n",
        "{}{}",
        undone.stdout,
        undone.stderr
    );
}

#[tokio::test]
async fn pipes_and_nested_patterns_as_ignore_files_stop_nothing() {
    let braces = format!("{}x{}", "{a,".repeat(50_000), "}".repeat(50_000));
    let names = [
        ".gitignore",
        ".hewignore",
        ".aiignore",
        ".rooignore",
        ".git",
        "AGENTS.md",
        ".mcp.json",
        ".roomodes",
    ];
    for is_pipe in [true, false] {
        let fixture = Fixture::new("", &[("a.txt", "needle\n"), ("sub/b.txt", "")]);
        for name in names
            .iter()
            .flat_map(|name| [(*name).to_owned(), format!("sub/{name}")])
        {
            let path = fixture.project.path(&name);
            match is_pipe {
                true => rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap(),
                false => std::fs::write(&path, &braces).unwrap(),
            }
        }
        let turns = vec![
            Turn::calls("grep", json!({"pattern": "needle"})),
            Turn::calls("read_file", json!({"path": "sub/b.txt"})),
            Turn::calls("terminal", json!({"command": "echo x > c.txt"})),
        ];
        let hew = fixture.hew.clone().timeout(Duration::from_secs(60));
        let fixture = Fixture { hew, ..fixture };
        let (results, output) = fixture.run(turns, &[]).await;
        assert_eq!(
            (output.code(), results.len()),
            (Some(0), 3),
            "{is_pipe}: {} {results:?}",
            output.stderr
        );
    }
}

#[tokio::test]
async fn deeply_nested_input_and_text_of_a_model_are_refused_or_shown() {
    let fixture = Fixture::new("", &[]);
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(50_000), close.repeat(50_000));
    let turns = vec![
        Turn::text("").raw_call("todo", format!("{{\"todos\": {}}}", deep("[", "]"))),
        Turn::text("").raw_call("write_file", format!("{{\"path\": {}}}", deep("{\"a\":", "}"))),
        Turn::calls("grep", json!({"pattern": deep("(", ")")})),
        Turn::calls("find_path", json!({"pattern": deep("{", "}")})),
        Turn::calls("terminal", json!({"command": deep("$(", ")")})),
        Turn::text(format!("{}\n\n{}\n", "> ".repeat(20_000), deep("[", "]"))),
    ];
    let (_, output) = fixture.run(turns, &[]).await;
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
}
