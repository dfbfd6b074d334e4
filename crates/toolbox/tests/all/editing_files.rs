//! Tests of write_file and edit_file.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};
use tool::{UnsavedChange, UnsavedVersion};

use crate::project::{TestProject, as_unprivileged_user};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

#[tokio::test]
async fn writing_a_new_file_reports_the_change() {
    let project = TestProject::with(&[]);
    let output = project
        .output("write_file", json!({"path": "a/b/c.rs", "content": "one\ntwo\n"}))
        .await;
    let change = UnsavedChange {
        path: PathBuf::from("a/b/c.rs"),
        before: None,
        after: Some(b"one\ntwo\n".to_vec().into()),
    };
    let folder = |path: &str| UnsavedChange {
        path: path.into(),
        before: None,
        after: Some(UnsavedVersion::folder(None)),
    };
    assert_eq!(output.changes, [folder("a"), folder("a/b"), change]);
    assert_eq!(project.get("a/b/c.rs"), "one\ntwo\n");
    // A written file counts as read.
    assert_eq!(
        project.run("edit_file", edit("a/b/c.rs", "two", "2")).await,
        "edited a/b/c.rs at line 2"
    );
    let output = project
        .output("write_file", json!({"path": "a/b/c.rs", "content": "new"}))
        .await;
    let change = UnsavedChange {
        path: "a/b/c.rs".into(),
        before: Some(b"one\n2\n".to_vec().into()),
        after: Some(b"new".to_vec().into()),
    };
    assert_eq!(output.changes, [change]);
}

#[tokio::test]
async fn legacy_encodings_are_preserved() {
    let project = TestProject::with(&[]);
    let wide = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xFF, 0xFE].into_iter().chain(units).collect()
    };
    project.put("latin.txt", b"caf\xE9 \x80\r\nname = old\r\n");
    project.put("wide.txt", wide("café €\r\nname = old\r\n"));
    for (path, name) in [("latin.txt", "Windows-1252"), ("wide.txt", "UTF-16")] {
        let seen = project.run("read_file", json!({"path": path})).await;
        assert_eq!(seen, format!("1\tcafé €\n2\tname = old\n[2 lines; {name}]"));
        let done = project.run("edit_file", edit(path, "name = old", "name = é")).await;
        assert_eq!(done, format!("edited {path} at line 2"));
    }
    let bytes = |path: &str| fs::read(project.root.join(path)).unwrap();
    assert_eq!(bytes("latin.txt"), b"caf\xE9 \x80\r\nname = \xE9\r\n");
    assert_eq!(bytes("wide.txt"), wide("café €\r\nname = é\r\n"));

    // Characters that the encoding lacks are rejected.
    let before = bytes("latin.txt");
    let refused = project
        .run("edit_file", edit("latin.txt", "name = é", "name = →"))
        .await;
    assert_eq!(
        refused,
        "error: latin.txt is Windows-1252 text, which cannot represent '→' (line 2); nothing was written"
    );
    assert_eq!(bytes("latin.txt"), before);
    let whole = json!({"path": "latin.txt", "content": "naïve\r\n"});
    project.run("write_file", whole).await;
    assert_eq!(bytes("latin.txt"), b"na\xEFve\r\n");
}

#[tokio::test]
async fn a_file_must_be_read_before_it_is_changed() {
    let project = TestProject::with(&[("f", "old\n"), ("void", "")]);
    let write = json!({"path": "f", "content": "new\n"});
    let unread = "error: f has not been read yet; read it before changing it";
    assert_eq!(project.run("write_file", write.clone()).await, unread);
    assert_eq!(project.run("edit_file", edit("f", "old", "new")).await, unread);
    project.read("f").await;
    project.put("f", "old, changed by another program\n");
    let changed = "error: f has changed on disk since it was read; read it again before changing it";
    assert_eq!(project.run("write_file", write.clone()).await, changed);
    assert_eq!(project.run("edit_file", edit("f", "old", "new")).await, changed);
    assert_eq!(project.get("f"), "old, changed by another program\n");
    project.read("./f").await;
    assert_eq!(project.run("write_file", write.clone()).await, "replaced f (1 line)");
    assert_eq!(
        project.run("write_file", write).await,
        "error: f already holds exactly this; nothing was written"
    );
    // An empty file need not be read.
    assert_eq!(
        project.run("write_file", json!({"path": "void", "content": "x"})).await,
        "replaced void (1 line)"
    );
}

#[tokio::test]
async fn reading_a_range_is_enough_to_edit() {
    let content: String = (1..=5_000).map(|number| format!("line {number}\n")).collect();
    let project = TestProject::with(&[("f", &content)]);
    project
        .run("read_file", json!({"path": "f", "start_line": 10, "end_line": 20}))
        .await;
    assert_eq!(
        project.run("edit_file", edit("f", "line 4321\n", "x\n")).await,
        "edited f at line 4321"
    );
    assert_eq!(project.get("f"), content.replace("line 4321\n", "x\n"));
}

#[tokio::test]
async fn edits_preserve_line_endings_byte_order_mark_and_final_newline() {
    for (before, old, new, after) in [
        ("a\nb\nc\n", "b", "x\ny", "a\nx\ny\nc\n"),
        ("a\nb", "b", "x", "a\nx"),
        ("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "x", "x\r\n"),
        ("\u{FEFF}a\nb\n", "a\n", "x\n", "\u{FEFF}x\nb\n"),
        ("a\nb\r\n", "b\r\n", "x\r\n", "a\nx\r\n"),
        ("a b\n", " b", "", "a\n"),
    ] {
        let project = TestProject::with(&[("f", before)]);
        project.read("f").await;
        project.output("edit_file", edit("f", old, new)).await;
        assert_eq!(project.get("f"), after, "{before:?}");
    }
    let project = TestProject::with(&[("f", "\u{FEFF}a\r\nb\r\n")]);
    project.read("f").await;
    project
        .output("write_file", json!({"path": "f", "content": "x\ny\nz\n"}))
        .await;
    assert_eq!(project.get("f"), "\u{FEFF}x\r\ny\r\nz\r\n");
}

#[tokio::test]
async fn replace_all_replaces_every_occurrence() {
    let project = TestProject::with(&[("f", "x = 1\ny = x\nz = x\n")]);
    project.read("f").await;
    let input = json!({"path": "f", "old_text": "x", "new_text": "value", "replace_all": true});
    assert_eq!(project.run("edit_file", input).await, "edited f at line 1-3");
    assert_eq!(project.get("f"), "value = 1\ny = value\nz = value\n");
}

#[tokio::test]
async fn editing_a_link_changes_its_target() {
    let project = TestProject::with(&[("real", "old\n")]);
    fs::set_permissions(project.root.join("real"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("real", project.root.join("link")).unwrap();
    project.read("link").await;
    assert_eq!(
        project.run("edit_file", edit("link", "old", "new")).await,
        "edited real at line 1"
    );
    assert_eq!(project.get("real"), "new\n");
    assert!(project.root.join("link").is_symlink());
    assert_eq!(
        fs::metadata(project.root.join("real")).unwrap().permissions().mode() & 0o777,
        0o750
    );
}

#[tokio::test]
async fn several_replacements_are_atomic() {
    let project = TestProject::with(&[("f", "one\ntwo\nthree\n")]);
    project.read("f").await;
    let half = json!({"path": "f", "edits": [
        {"old_text": "one", "new_text": "1"},
        {"old_text": "four", "new_text": "4"},
    ]});
    let refused = project.run("edit_file", half).await;
    assert!(
        refused.starts_with("error: Edit 2 (f): the old text is not in the file."),
        "{refused}"
    );
    assert_eq!(project.get("f"), "one\ntwo\nthree\n");
    let mut whole = edit("f", "one", "1");
    whole["edits"] = json!([{"old_string": "three", "new_string": "3"}]);
    assert_eq!(project.run("edit_file", whole).await, "edited f at line 1, 3");
    assert_eq!(project.get("f"), "1\ntwo\n3\n");
}

#[tokio::test]
async fn inexact_quotes_are_matched_and_adapted() {
    let project = TestProject::with(&[("f.rs", "fn main() {\n    if x {\n        run();\n    }\n}\n")]);
    project.read("f.rs").await;
    let loose = edit("f.rs", "if x {\n    run();\n}", "if y {\n    walk();\n}");
    assert_eq!(
        project.run("edit_file", loose).await,
        "edited f.rs at line 2-4 (ignoring indentation)"
    );
    assert_eq!(
        project.get("f.rs"),
        "fn main() {\n    if y {\n        walk();\n    }\n}\n"
    );
}

#[tokio::test]
async fn an_approved_file_outside_the_project_can_be_edited() {
    let project = TestProject::with(&[]);
    project.put("../outside", "old\n");
    project.read("../outside").await;
    let output = project.output("edit_file", edit("../outside", "old", "new")).await;
    assert_eq!(output.changes[0].path, project.root.parent().unwrap().join("outside"));
    assert_eq!(project.get("../outside"), "new\n");
}

#[tokio::test]
async fn an_edit_without_a_match_is_reported_and_changes_nothing() {
    let project = TestProject::with(&[("f", "one\ntwo\none\n")]);
    project.read("f").await;
    for (input, error) in [
        (
            edit("f", "", "b"),
            "Edit 1 (f): the old text is empty but the file is not; quote the lines to change.",
        ),
        (
            edit("f", "two", "two"),
            "Edit 1: the edit changes nothing: old and new text are the same.",
        ),
        (edit("f", "four", "x"), "Edit 1 (f): the old text is not in the file."),
        (
            edit("f", "one", "x"),
            "Edit 1 (f): the old text matches 2 places, at lines 1, 3;",
        ),
        (
            json!({"path": "f", "new_text": "x"}),
            "invalid input for `edit_file`: missing field `old_text`",
        ),
        (
            json!({"path": "f", "old_text": "x"}),
            "invalid input for `edit_file`: missing field `new_text`",
        ),
    ] {
        let result = project.run("edit_file", input.clone()).await;
        assert!(result.starts_with(&format!("error: {error}")), "{input}: {result}");
        assert_eq!(result.contains("Set replace_all"), result.contains("matches 2 places"));
    }
    assert_eq!(project.get("f"), "one\ntwo\none\n");
    let mut third = edit("f", "one", "x");
    third["line"] = json!(3);
    assert_eq!(project.run("edit_file", third).await, "edited f at line 3");
    assert_eq!(project.get("f"), "one\ntwo\nx\n");
}

#[tokio::test]
async fn invalid_edits_are_reported_and_change_nothing() {
    let project = TestProject::with(&[("src/a.rs", "one\ntwo\none\n")]);
    project.put("data.bin", b"\x00\x01");
    project.read("src/a.rs").await;
    symlink("round", project.root.join("round")).unwrap();
    for (name, input, error) in [
        (
            "edit_file",
            edit("src/b.rs", "a", "b"),
            "src/b.rs does not exist; did you mean src/a.rs?",
        ),
        (
            "edit_file",
            edit("src", "a", "b"),
            "src is a directory, not a file; use list_directory",
        ),
        (
            "edit_file",
            edit("data.bin", "a", "b"),
            "data.bin is a binary file (2 bytes); inspect it with terminal if needed",
        ),
        (
            "edit_file",
            edit("round", "a", "b"),
            "round: its symbolic links form a loop",
        ),
        (
            "write_file",
            json!({"path": "src", "content": ""}),
            "src is a directory, not a file; use list_directory",
        ),
        (
            "write_file",
            json!({"path": "data.bin", "content": ""}),
            "data.bin is a binary file (2 bytes); inspect it with terminal if needed",
        ),
        (
            "write_file",
            json!({"path": "src/a.rs/x", "content": ""}),
            "src/a.rs/x: a part of this path is a file, not a directory",
        ),
        (
            "write_file",
            json!({"path": "~/x", "content": ""}),
            "~/x: `~` is not expanded; use an absolute path or a path relative to the project",
        ),
    ] {
        assert_eq!(project.run(name, input).await, format!("error: {error}"));
    }
    assert_eq!(project.get("src/a.rs"), "one\ntwo\none\n");
}

#[test]
fn a_read_only_file_is_not_changed() {
    let project = TestProject::with(&[("f", "old\n")]);
    fs::set_permissions(project.root.join("f"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(&project.root, fs::Permissions::from_mode(0o555)).unwrap();
    let result = as_unprivileged_user(async {
        project.read("f").await;
        [
            project.run("edit_file", edit("f", "old", "new")).await,
            project.run("write_file", json!({"path": "f", "content": "new"})).await,
            project
                .run("write_file", json!({"path": "new", "content": "new"}))
                .await,
        ]
    });
    fs::set_permissions(&project.root, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        result,
        ["f", "f", "new"].map(|path| format!("error: permission denied: {path}"))
    );
    assert_eq!(project.get("f"), "old\n");
}

#[tokio::test]
async fn a_placeholder_or_an_edit_is_not_written_as_the_content_of_a_file() {
    let text = "fn a() {\n    one();\n    two();\n}\n\nfn b() {\n    three();\n}\n";
    let project = TestProject::with(&[("f.rs", text)]);
    project.read("f.rs").await;
    let write = |content: &str| json!({"path": "f.rs", "content": content});
    assert_eq!(
        project
            .run("write_file", write("fn a() {\n    // ... existing code ...\n}\n"))
            .await,
        "error: the new text leaves code out (`// ... existing code ...`); write it in full or edit only the lines that change; nothing was written"
    );
    let edit = "<<<<<<< SEARCH\n    one();\n=======\n    1();\n>>>>>>> REPLACE\n";
    assert_eq!(
        project.run("write_file", write(edit)).await,
        "error: the content is an edit and not the content of a file; apply it with an edit tool, or write the whole file; nothing was written"
    );
    assert_eq!(project.get("f.rs"), text);
    let numbered = text
        .replace("three", "3")
        .lines()
        .zip(1..)
        .fold(String::new(), |all, (line, number)| format!("{all}{number}\t{line}\n"));
    assert_eq!(
        project
            .run("write_file", write(&format!("```rust\n{numbered}```\n")))
            .await,
        "replaced f.rs (8 lines)"
    );
    assert_eq!(project.get("f.rs"), text.replace("three", "3"));
}

#[tokio::test]
async fn the_check_before_approval_fails_like_the_call_and_changes_nothing() {
    let patch = |old: &str| json!({"input": format!("*** Begin Patch\n*** Update File: a.txt\n@@\n-{old}\n+new\n*** End Patch\n")});
    let lines = |anchor: &str| json!({"path": "a.txt", "edits": [{"anchor": anchor, "text": "new"}]});
    let pattern = |search: &str| json!({"path": "a.txt", "search": search, "replace": "new", "use_regex": true});
    let write = |path: &str, content: &str| json!({"path": path, "content": content});
    let cases = [
        ("edit_file", edit("a.txt", "two", "new"), true),
        ("edit_file", edit("a.txt", "missing", "new"), false),
        ("edit_file", edit("a.txt", "two", "two"), false),
        ("edit_file", edit("unread.txt", "one", "new"), false),
        ("edit_file", edit("none.txt", "one", "new"), false),
        (
            "edit_file",
            json!({"path": "a.txt", "instructions": "improve it"}),
            false,
        ),
        (
            "replace",
            json!({"path": "a.txt", "old_text": "o", "new_text": "0", "expected_replacements": 5}),
            false,
        ),
        ("edit_file", patch("two"), true),
        ("edit_file", patch("missing"), false),
        ("edit_file", lines("2#xyz"), false),
        ("edit_file", json!({"path": "a.txt", "line": 1, "text": "new"}), true),
        ("edit_file", json!({"path": "a.txt", "line": 99, "text": "new"}), false),
        ("search_and_replace", pattern("t.o"), true),
        ("search_and_replace", pattern("missing"), false),
        ("search_and_replace", pattern("("), false),
        ("write_file", write("new.txt", "x\n"), true),
        ("write_file", write("a.txt", "x\n"), true),
        ("write_file", write("a.txt", "one\ntwo\nthree\n"), false),
        ("write_file", write("unread.txt", "x\n"), false),
        ("delete_path", json!({"path": "a.txt"}), true),
        ("delete_path", json!({"path": "none.txt"}), false),
        ("delete_path", json!({"path": "."}), false),
        (
            "move_path",
            json!({"source_path": "a.txt", "destination_path": "b.txt"}),
            true,
        ),
        (
            "move_path",
            json!({"source_path": "none.txt", "destination_path": "b.txt"}),
            false,
        ),
    ];
    for (name, input, succeeds) in cases {
        let project = TestProject::with(&[("a.txt", "one\ntwo\nthree\n"), ("unread.txt", "one\n")]);
        project.read("a.txt").await;
        let (tool, adapted) = project.tools.resolve_call(name, &input).unwrap();
        let call = adapted.unwrap_or(input.clone()).into();
        let checked = tool.check(&call).await.map_err(|error| format!("error: {error}"));
        assert_eq!(project.get("a.txt"), "one\ntwo\nthree\n", "{name} {input}");
        assert!(!project.root.join("new.txt").exists() && !project.root.join("b.txt").exists());
        let text = project.run(name, input.clone()).await;
        assert_eq!(checked.is_ok(), succeeds, "{name} {input}: {checked:?}");
        match checked {
            Ok(()) => assert!(!text.starts_with("error: "), "{name} {input}: {text}"),
            Err(error) => assert_eq!(error, text, "{name} {input}"),
        }
    }
}
