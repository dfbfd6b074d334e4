//! Deny rules for files hold in every tool and inside commands.

use crate::Fixture;
use serde_json::json;

#[tokio::test]
async fn a_file_that_must_not_be_read_is_read_by_no_tool_and_no_command() {
    let fixture = Fixture::new(
        "[permissions]\ndeny = ['read(**/*.pem)', 'read(vault/)', 'read(~/outside/**)']\n",
        &[
            ("deep/key.pem", "needle-71\n"),
            ("top.pem", "needle-72\n"),
            ("vault/a.txt", "needle-73\n"),
            ("open.txt", "needle-74\n"),
        ],
    );
    let outside = fixture.hew.home().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("b.txt"), "needle-75\n").unwrap();
    let python = format!(
        "python3 -c 'import glob,os\nfor f in glob.glob(\"**/*\", recursive=True)+[\"{}/b.txt\"]:\n  try: print(f, open(f).read())\n  except Exception as e: print(f, e)'",
        outside.display()
    );
    let calls = [
        ("read_file", json!({"path": "deep/key.pem"})),
        ("grep", json!({"pattern": "needle"})),
        ("grep", json!({"pattern": "needle", "path": "vault"})),
        ("grep", json!({"pattern": "needle", "path": "deep/key.pem"})),
        (
            "move_path",
            json!({"source_path": "deep/key.pem", "destination_path": "a.txt"}),
        ),
        ("move_path", json!({"source_path": "vault", "destination_path": "b"})),
        ("move_path", json!({"source_path": "deep", "destination_path": "c"})),
        (
            "copy_path",
            json!({"source_path": "top.pem", "destination_path": "d.txt"}),
        ),
        (
            "edit_file",
            json!({"path": "top.pem", "edits": [{"old_text": "x", "new_text": "y"}]}),
        ),
        ("terminal", json!({"command": "cat top.pem"})),
        (
            "terminal",
            json!({"command": "cat to*.p?m; cp -r . /tmp/copy-of-$$; grep -r needle /tmp/copy-of-$$; rm -r /tmp/copy-of-$$"}),
        ),
        ("terminal", json!({"command": python})),
        ("terminal", json!({"command": "mv deep shallow; cat shallow/*"})),
        ("read_file", json!({"path": "a.txt"})),
        ("read_file", json!({"path": "c/key.pem"})),
    ];
    let (results, output) = fixture.calls(&calls).await;
    assert_eq!(results.len(), calls.len(), "{}", output.stderr);
    for ((tool, input), result) in calls.iter().zip(&results) {
        for hidden in ["needle-71", "needle-72", "needle-73", "needle-75"] {
            assert!(!result.contains(hidden), "{tool} {input}: {result}");
        }
    }
    assert!(
        results[1].contains("needle-74") && results[11].contains("needle-74"),
        "{results:?}"
    );
}

#[tokio::test]
async fn a_file_that_must_not_be_written_is_changed_by_no_tool_and_no_command() {
    let fixture = Fixture::new(
        "[permissions]\ndeny = ['write(docs/**)', 'write(*.lock)', 'write(src/api.rs)', 'write(new.txt)']\n",
        &[
            ("docs/a.md", "old"),
            ("x.lock", "old"),
            ("src/api.rs", "old"),
            ("free.txt", "old"),
        ],
    );
    let write = |path: &str| format!("python3 -c 'open(\"{path}\", \"w\").write(\"changed\")'");
    let calls = [
        ("write_file", json!({"path": "docs/a.md", "content": "changed"})),
        ("terminal", json!({"command": "echo changed > docs/a.md"})),
        ("terminal", json!({"command": write("docs/a.md")})),
        ("terminal", json!({"command": write("docs/b.md")})),
        ("terminal", json!({"command": write("x.lock")})),
        ("terminal", json!({"command": write("src/api.rs")})),
        (
            "terminal",
            json!({"command": "python3 -c 'import os; os.rename(\"docs\", \"old-docs\")'"}),
        ),
        ("terminal", json!({"command": write("free.txt")})),
    ];
    let (results, output) = fixture.calls(&calls).await;
    assert_eq!(results.len(), calls.len(), "{}", output.stderr);
    for path in ["docs/a.md", "x.lock", "src/api.rs"] {
        assert_eq!(fixture.project.read(path).unwrap(), "old", "{path}: {results:#?}");
    }
    assert!(fixture.project.read("docs/b.md").is_err(), "{results:#?}");
    assert_eq!(fixture.project.read("free.txt").unwrap(), "changed", "{results:#?}");
}
