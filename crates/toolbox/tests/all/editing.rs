//! write_file and edit_file.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};
use tool::{Change, Version};

use crate::desk::{Desk, as_nobody};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

#[tokio::test]
async fn a_new_file_is_written_and_its_change_reported() {
    let desk = Desk::with(&[]);
    let output = desk
        .output("write_file", json!({"path": "a/b/c.rs", "content": "one\ntwo\n"}))
        .await;
    let change = Change {
        path: PathBuf::from("a/b/c.rs"),
        before: None,
        after: Some(b"one\ntwo\n".to_vec().into()),
    };
    let folder = |path: &str| Change {
        path: path.into(),
        before: None,
        after: Some(Version::folder(None)),
    };
    assert_eq!(output.changes, [folder("a"), folder("a/b"), change]);
    assert_eq!(desk.get("a/b/c.rs"), "one\ntwo\n");
    // What was just written is known and may be changed.
    assert_eq!(
        desk.run("edit_file", edit("a/b/c.rs", "two", "2")).await,
        "edited a/b/c.rs at line 2"
    );
    let output = desk
        .output("write_file", json!({"path": "a/b/c.rs", "content": "new"}))
        .await;
    let change = Change {
        path: "a/b/c.rs".into(),
        before: Some(b"one\n2\n".to_vec().into()),
        after: Some(b"new".to_vec().into()),
    };
    assert_eq!(output.changes, [change]);
}

#[tokio::test]
async fn files_in_old_encodings_stay_in_them_to_the_byte() {
    let desk = Desk::with(&[]);
    let wide = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xFF, 0xFE].into_iter().chain(units).collect()
    };
    desk.put("latin.txt", b"caf\xE9 \x80\r\nname = old\r\n");
    desk.put("wide.txt", wide("café €\r\nname = old\r\n"));
    for (path, name) in [("latin.txt", "Windows-1252"), ("wide.txt", "UTF-16")] {
        let seen = desk.run("read_file", json!({"path": path})).await;
        assert_eq!(seen, format!("1\tcafé €\n2\tname = old\n[2 lines; {name}]"));
        let done = desk.run("edit_file", edit(path, "name = old", "name = é")).await;
        assert_eq!(done, format!("edited {path} at line 2"));
    }
    let bytes = |path: &str| fs::read(desk.root.join(path)).unwrap();
    assert_eq!(bytes("latin.txt"), b"caf\xE9 \x80\r\nname = \xE9\r\n");
    assert_eq!(bytes("wide.txt"), wide("café €\r\nname = é\r\n"));

    // What the encoding has no letter for is not written at all.
    let before = bytes("latin.txt");
    let refused = desk.run("edit_file", edit("latin.txt", "name = é", "name = →")).await;
    assert_eq!(
        refused,
        "error: latin.txt is Windows-1252 text, which has no letter for '→' (line 2); nothing was written"
    );
    assert_eq!(bytes("latin.txt"), before);
    let whole = json!({"path": "latin.txt", "content": "naïve\r\n"});
    desk.run("write_file", whole).await;
    assert_eq!(bytes("latin.txt"), b"na\xEFve\r\n");
}

#[tokio::test]
async fn a_file_must_be_known_as_it_is_now_before_it_is_changed() {
    let desk = Desk::with(&[("f", "old\n"), ("void", "")]);
    let write = json!({"path": "f", "content": "new\n"});
    let unread = "error: f has not been read yet; read it before changing it";
    assert_eq!(desk.run("write_file", write.clone()).await, unread);
    assert_eq!(desk.run("edit_file", edit("f", "old", "new")).await, unread);
    desk.read("f").await;
    desk.put("f", "old, changed by somebody\n");
    let changed = "error: f has changed on disk since it was read; read it again before changing it";
    assert_eq!(desk.run("write_file", write.clone()).await, changed);
    assert_eq!(desk.run("edit_file", edit("f", "old", "new")).await, changed);
    assert_eq!(desk.get("f"), "old, changed by somebody\n");
    desk.read("./f").await;
    assert_eq!(desk.run("write_file", write.clone()).await, "replaced f (1 line)");
    assert_eq!(
        desk.run("write_file", write).await,
        "error: f already holds exactly this; nothing was written"
    );
    // There is nothing to know about an empty file.
    assert_eq!(
        desk.run("write_file", json!({"path": "void", "content": "x"})).await,
        "replaced void (1 line)"
    );
}

#[tokio::test]
async fn reading_a_part_is_enough_to_edit() {
    let content: String = (1..=5_000).map(|number| format!("line {number}\n")).collect();
    let desk = Desk::with(&[("f", &content)]);
    desk.run("read_file", json!({"path": "f", "start_line": 10, "end_line": 20}))
        .await;
    assert_eq!(
        desk.run("edit_file", edit("f", "line 4321\n", "x\n")).await,
        "edited f at line 4321"
    );
    assert_eq!(desk.get("f"), content.replace("line 4321\n", "x\n"));
}

#[tokio::test]
async fn an_edit_keeps_line_ends_mark_and_final_newline() {
    for (before, old, new, after) in [
        ("a\nb\nc\n", "b", "x\ny", "a\nx\ny\nc\n"),
        ("a\nb", "b", "x", "a\nx"),
        ("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "x", "x\r\n"),
        ("\u{FEFF}a\nb\n", "a\n", "x\n", "\u{FEFF}x\nb\n"),
        ("a\nb\r\n", "b\r\n", "x\r\n", "a\nx\r\n"),
        ("a b\n", " b", "", "a\n"),
    ] {
        let desk = Desk::with(&[("f", before)]);
        desk.read("f").await;
        desk.output("edit_file", edit("f", old, new)).await;
        assert_eq!(desk.get("f"), after, "{before:?}");
    }
    let desk = Desk::with(&[("f", "\u{FEFF}a\r\nb\r\n")]);
    desk.read("f").await;
    desk.output("write_file", json!({"path": "f", "content": "x\ny\nz\n"}))
        .await;
    assert_eq!(desk.get("f"), "\u{FEFF}x\r\ny\r\nz\r\n");
}

#[tokio::test]
async fn replace_all_replaces_every_occurrence() {
    let desk = Desk::with(&[("f", "x = 1\ny = x\nz = x\n")]);
    desk.read("f").await;
    let input = json!({"path": "f", "old_text": "x", "new_text": "value", "replace_all": true});
    assert_eq!(desk.run("edit_file", input).await, "edited f at line 1-3");
    assert_eq!(desk.get("f"), "value = 1\ny = value\nz = value\n");
}

#[tokio::test]
async fn a_link_is_followed_and_stays() {
    let desk = Desk::with(&[("real", "old\n")]);
    fs::set_permissions(desk.root.join("real"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("real", desk.root.join("link")).unwrap();
    desk.read("link").await;
    assert_eq!(
        desk.run("edit_file", edit("link", "old", "new")).await,
        "edited real at line 1"
    );
    assert_eq!(desk.get("real"), "new\n");
    assert!(desk.root.join("link").is_symlink());
    assert_eq!(
        fs::metadata(desk.root.join("real")).unwrap().permissions().mode() & 0o777,
        0o750
    );
}

#[tokio::test]
async fn several_replacements_are_made_together_or_not_at_all() {
    let desk = Desk::with(&[("f", "one\ntwo\nthree\n")]);
    desk.read("f").await;
    let half = json!({"path": "f", "edits": [
        {"old_text": "one", "new_text": "1"},
        {"old_text": "four", "new_text": "4"},
    ]});
    let refused = desk.run("edit_file", half).await;
    assert!(
        refused.starts_with("error: Edit 2 (f): the old text is not in the file."),
        "{refused}"
    );
    assert_eq!(desk.get("f"), "one\ntwo\nthree\n");
    let mut whole = edit("f", "one", "1");
    whole["edits"] = json!([{"old_string": "three", "new_string": "3"}]);
    assert_eq!(desk.run("edit_file", whole).await, "edited f at line 1, 3");
    assert_eq!(desk.get("f"), "1\ntwo\n3\n");
}

#[tokio::test]
async fn text_that_is_quoted_loosely_is_found_and_fitted_in() {
    let desk = Desk::with(&[("f.rs", "fn main() {\n    if x {\n        run();\n    }\n}\n")]);
    desk.read("f.rs").await;
    let loose = edit("f.rs", "if x {\n    run();\n}", "if y {\n    walk();\n}");
    assert_eq!(
        desk.run("edit_file", loose).await,
        "edited f.rs at line 2-4 (but for indentation)"
    );
    assert_eq!(desk.get("f.rs"), "fn main() {\n    if y {\n        walk();\n    }\n}\n");
}

#[tokio::test]
async fn a_file_outside_the_project_can_be_edited_when_that_was_approved() {
    let desk = Desk::with(&[]);
    desk.put("../outside", "old\n");
    desk.read("../outside").await;
    let output = desk.output("edit_file", edit("../outside", "old", "new")).await;
    assert_eq!(output.changes[0].path, desk.root.parent().unwrap().join("outside"));
    assert_eq!(desk.get("../outside"), "new\n");
}

#[tokio::test]
async fn an_edit_that_cannot_be_placed_is_explained_and_nothing_changes() {
    let desk = Desk::with(&[("f", "one\ntwo\none\n")]);
    desk.read("f").await;
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
            "Edit 1 (f): the old text fits 2 places, at lines 1, 3;",
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
        let said = desk.run("edit_file", input.clone()).await;
        assert!(said.starts_with(&format!("error: {error}")), "{input}: {said}");
        assert_eq!(said.contains("Set replace_all"), said.contains("fits 2 places"));
    }
    assert_eq!(desk.get("f"), "one\ntwo\none\n");
    let mut third = edit("f", "one", "x");
    third["line"] = json!(3);
    assert_eq!(desk.run("edit_file", third).await, "edited f at line 3");
    assert_eq!(desk.get("f"), "one\ntwo\nx\n");
}

#[tokio::test]
async fn what_cannot_be_changed_is_explained_and_stays() {
    let desk = Desk::with(&[("src/a.rs", "one\ntwo\none\n")]);
    desk.put("data.bin", b"\x00\x01");
    desk.read("src/a.rs").await;
    symlink("round", desk.root.join("round")).unwrap();
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
            "~/x: `~` is not expanded here; give a path relative to the project or an absolute one",
        ),
    ] {
        assert_eq!(desk.run(name, input).await, format!("error: {error}"));
    }
    assert_eq!(desk.get("src/a.rs"), "one\ntwo\none\n");
}

#[test]
fn a_protected_file_is_not_changed() {
    let desk = Desk::with(&[("f", "old\n")]);
    fs::set_permissions(desk.root.join("f"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(&desk.root, fs::Permissions::from_mode(0o555)).unwrap();
    let said = as_nobody(async {
        desk.read("f").await;
        [
            desk.run("edit_file", edit("f", "old", "new")).await,
            desk.run("write_file", json!({"path": "f", "content": "new"})).await,
            desk.run("write_file", json!({"path": "new", "content": "new"})).await,
        ]
    });
    fs::set_permissions(&desk.root, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        said,
        ["f", "f", "new"].map(|path| format!("error: permission denied: {path}"))
    );
    assert_eq!(desk.get("f"), "old\n");
}
