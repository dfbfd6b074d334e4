//! apply_patch and insert.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use policy::{Action, Place};
use serde_json::{Value, json};
use tool::{Change, Version};
use workspace::Workspace;

use crate::desk::{Desk, as_nobody};

fn patch(lines: &[&str]) -> Value {
    json!({"input": format!("*** Begin Patch\n{}\n*** End Patch\n", lines.join("\n"))})
}

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> Change {
    let bytes = |text: &str| text.as_bytes().to_vec();
    Change {
        path: path.into(),
        before: before.map(bytes).map(Into::into),
        after: after.map(bytes).map(Into::into),
    }
}

/// The changes of files, without their permissions.
fn files(changes: Vec<Change>) -> Vec<Change> {
    let plain = |version: Option<Version>| version.and_then(|version| Some(version.bytes()?.to_vec().into()));
    let files = changes.into_iter().map(|change| Change {
        before: plain(change.before),
        after: plain(change.after),
        ..change
    });
    files
        .filter(|change| change.before.is_some() || change.after.is_some())
        .collect()
}

#[tokio::test]
async fn one_patch_adds_updates_moves_and_deletes() {
    let desk = Desk::with(&[
        ("a.rs", "fn a() {\n    one();\n}\n"),
        ("b.rs", "b\n"),
        ("old/c.rs", "c1\nc2\n"),
    ]);
    fs::set_permissions(desk.root.join("old/c.rs"), fs::Permissions::from_mode(0o755)).unwrap();
    desk.read("b.rs").await;
    let input = patch(&[
        "*** Add File: new/deep/d.rs",
        "+d1",
        "+d2",
        "*** Update File: a.rs",
        "@@ fn a() {",
        "-    one();",
        "+    two();",
        " }",
        "*** Update File: old/c.rs",
        "*** Move to: new/c.rs",
        "@@",
        " c1",
        "-c2",
        "+c3",
        "*** Delete File: b.rs",
    ]);
    let actions = desk.actions("apply_patch", input.clone());
    let (place, at) = (Place::Inside, |path: &str| desk.root.join(path));
    let read = |path: &str| Action::Read { path: at(path), place };
    let write = |path: &str| Action::Write { path: at(path), place };
    assert_eq!(
        actions,
        [
            write("new/deep/d.rs"),
            // What has not been read may be shown when the patch does not fit.
            read("a.rs"),
            write("a.rs"),
            read("old/c.rs"),
            write("old/c.rs"),
            write("new/c.rs"),
            write("b.rs"),
        ]
    );
    assert_eq!(desk.tools.get("apply_patch").unwrap().title(&input), "5 files");
    let output = desk.output("apply_patch", input).await;
    assert_eq!(
        files(output.changes),
        [
            change("new/deep/d.rs", None, Some("d1\nd2\n")),
            change(
                "a.rs",
                Some("fn a() {\n    one();\n}\n"),
                Some("fn a() {\n    two();\n}\n")
            ),
            change("old/c.rs", Some("c1\nc2\n"), None),
            change("new/c.rs", None, Some("c1\nc3\n")),
            change("b.rs", Some("b\n"), None),
        ]
    );
    assert_eq!(output.summary.as_deref(), Some("4 files"));
    let model::Block::Text { text } = &output.content[0] else {
        panic!("no text")
    };
    assert_eq!(
        text,
        "created new/deep/d.rs (2 lines)\nedited a.rs at line 2-3\nmoved old/c.rs to new/c.rs and edited it\ndeleted b.rs"
    );
    assert_eq!(desk.get("new/c.rs"), "c1\nc3\n");
    let mode = fs::metadata(desk.root.join("new/c.rs")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "a moved file keeps its mode");
    assert!(!desk.root.join("b.rs").exists() && !desk.root.join("old/c.rs").exists());
    // What was patched is known as it is now.
    desk.output(
        "edit_file",
        json!({"path": "new/c.rs", "old_text": "c3", "new_text": "c4"}),
    )
    .await;
}

#[tokio::test]
async fn every_format_that_models_write_is_understood() {
    for (input, after) in [
        (
            json!({"input": "*** Update File: f\n@@\n-two\n+2\n"}),
            "one\n2\nthree\n",
        ),
        (
            json!({"patchText": "--- a/f\n+++ b/f\n@@ -2,2 +2,2 @@\n-two\n+2\n three\n"}),
            "one\n2\nthree\n",
        ),
        (
            json!({"patch": "f\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n"}),
            "one\n2\nthree\n",
        ),
        (
            json!({"path": "f", "diff": "<<<<<<< SEARCH\n:start_line:2\n-------\ntwo\n=======\n2\n>>>>>>> REPLACE\n"}),
            "one\n2\nthree\n",
        ),
        (
            json!({"path": "f", "input": "<old_text line=2>\ntwo\n</old_text>\n<new_text>\n2\n</new_text>\n"}),
            "one\n2\nthree\n",
        ),
    ] {
        let desk = Desk::with(&[("f", "one\ntwo\nthree\n")]);
        desk.read("f").await;
        let said = desk.run("apply_patch", input.clone()).await;
        assert!(said.starts_with("edited f at line 2"), "{input}: {said}");
        assert_eq!(desk.get("f"), after, "{input}");
    }
}

#[tokio::test]
async fn nothing_is_written_unless_every_hunk_has_its_place() {
    let desk = Desk::with(&[("a", "one\ntwo\n"), ("b", "three\nfour\n")]);
    desk.read("a").await;
    desk.read("b").await;
    let said = desk
        .run(
            "apply_patch",
            patch(&[
                "*** Add File: c",
                "+c",
                "*** Update File: a",
                "@@",
                "-one",
                "+1",
                "*** Update File: b",
                "@@",
                "-thre",
                "-five",
                "+3",
            ]),
        )
        .await;
    assert!(said.contains("(b): the old text is not in the file."), "{said}");
    assert!(said.ends_with("Nothing was changed."), "{said}");
    assert_eq!(
        (desk.get("a").as_str(), desk.get("b").as_str()),
        ("one\ntwo\n", "three\nfour\n")
    );
    assert!(!desk.root.join("c").exists());
}

#[tokio::test]
async fn an_unread_file_may_be_patched_only_by_quoting_it_word_for_word() {
    let desk = Desk::with(&[("f", "    one\n    two\n"), ("g", "x\n"), ("void", "")]);
    let unread = |path: &str| format!("error: {path} has not been read yet; read it before changing it");
    let loose = patch(&["*** Update File: f", "@@", " one", "-two", "+2"]);
    assert_eq!(desk.run("apply_patch", loose).await, unread("f"));
    let deleted = patch(&["*** Delete File: g"]);
    assert_eq!(desk.run("apply_patch", deleted.clone()).await, unread("g"));
    let replaced = patch(&["*** Update File: void", "*** Move to: g"]);
    assert_eq!(desk.run("apply_patch", replaced).await, unread("g"));
    let exact = patch(&["*** Update File: f", "@@", "     one", "-    two", "+    2"]);
    assert_eq!(desk.run("apply_patch", exact).await, "edited f at line 1-2");
    assert_eq!(desk.get("f"), "    one\n    2\n");
    // To give a file another name loses nothing; there is nothing to lose in an empty one.
    let moved = patch(&["*** Update File: g", "*** Move to: h", "*** Delete File: void"]);
    assert_eq!(desk.run("apply_patch", moved).await, "moved g to h\ndeleted void");
    // It has not been read under its new name either.
    assert_eq!(
        desk.run("apply_patch", patch(&["*** Delete File: h"])).await,
        unread("h")
    );
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_not_patched() {
    let desk = Desk::with(&[("f", "one\n"), ("g", "old\n")]);
    desk.read("f").await;
    desk.read("g").await;
    desk.put("f", "one\nby somebody\n");
    let input = patch(&[
        "*** Update File: g",
        "@@",
        "-old",
        "+new",
        "*** Update File: f",
        "@@",
        "-one",
        "+1",
    ]);
    assert_eq!(
        desk.run("apply_patch", input.clone()).await,
        "error: f has changed on disk since it was read; read it again before changing it"
    );
    assert_eq!(
        (desk.get("f").as_str(), desk.get("g").as_str()),
        ("one\nby somebody\n", "old\n")
    );
    desk.read("f").await;
    assert_eq!(
        desk.run("apply_patch", input).await,
        "edited g at line 1\nedited f at line 1"
    );
}

#[test]
fn when_a_later_file_cannot_be_written_the_earlier_ones_are_as_they_were() {
    let desk = Desk::with(&[("a", "a\n"), ("d/b", "b\n"), ("m", "m\n"), ("locked/c", "c\n")]);
    fs::set_permissions(desk.root.join("a"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::set_permissions(desk.root.join("m"), fs::Permissions::from_mode(0o640)).unwrap();
    open_to_all(&desk, &["", "d", "a", "d/b", "m"]);
    fs::set_permissions(desk.root.join("locked/c"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(desk.root.join("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    let modes = |names: &[&str]| -> Vec<u32> {
        names
            .iter()
            .map(|name| fs::metadata(desk.root.join(name)).unwrap().permissions().mode())
            .collect()
    };
    let names = ["a", "d/b", "m"];
    let before = modes(&names);
    let said = as_nobody(async {
        for path in ["a", "d/b", "m", "locked/c"] {
            desk.read(path).await;
        }
        desk.run(
            "apply_patch",
            patch(&[
                "*** Update File: a",
                "@@",
                "-a",
                "+A",
                "*** Add File: x/y/new",
                "+new",
                "*** Update File: m",
                "*** Move to: x/z/moved",
                "@@",
                "-m",
                "+M",
                "*** Delete File: d/b",
                "*** Update File: locked/c",
                "@@",
                "-c",
                "+C",
            ]),
        )
        .await
    });
    fs::set_permissions(desk.root.join("locked"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(said, "error: permission denied: locked/c. Nothing was changed.");
    for (path, content) in [("a", "a\n"), ("d/b", "b\n"), ("m", "m\n"), ("locked/c", "c\n")] {
        assert_eq!(desk.get(path), content);
    }
    assert_eq!(modes(&names), before);
    assert!(!desk.root.join("x").exists(), "folders that were made for it are gone");
}

/// Lets somebody without the power of root change these.
fn open_to_all(desk: &Desk, paths: &[&str]) {
    for path in paths {
        let path = desk.root.join(path);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        fs::set_permissions(
            &path,
            fs::Permissions::from_mode(mode | 0o066 | if path.is_dir() { 0o777 } else { 0 }),
        )
        .unwrap();
    }
}

#[tokio::test]
async fn what_a_patch_cannot_do_is_explained() {
    let desk = Desk::with(&[("src/a.rs", "one\n"), ("b", "b\n")]);
    desk.put("data.bin", b"\x00\x01");
    symlink("src/a.rs", desk.root.join("link")).unwrap();
    desk.read("src/a.rs").await;
    desk.read("b").await;
    for (input, error) in [
        (
            patch(&["*** Update File: src/b.rs", "@@", "-a", "+b"]),
            "src/b.rs does not exist; did you mean src/a.rs?. Nothing was changed.",
        ),
        (
            patch(&["*** Update File: data.bin", "@@", "-a", "+b"]),
            "data.bin is a binary file (2 bytes); inspect it with terminal if needed. Nothing was changed.",
        ),
        (
            patch(&["*** Delete File: src"]),
            "src is a directory, not a file; use list_directory. Nothing was changed.",
        ),
        (
            patch(&["*** Add File: b", "+x"]),
            "Edit 1 (b): the file already exists; quote the lines to change instead.\nNothing was changed.",
        ),
        (
            patch(&["*** Add File: data.bin", "+x"]),
            "data.bin already exists. Nothing was changed.",
        ),
        (
            patch(&["*** Update File: ../x", "@@", "-a", "+b"]),
            "Edit 1: the path `../x` leads out of the project.\nNothing was changed.",
        ),
        (
            patch(&["*** Delete File: link"]),
            "link leads over a symbolic link to src/a.rs; name that, or work on the link with terminal. Nothing was changed.",
        ),
        (
            json!({"input": "please change it"}),
            "the format of the edit text is not recognised.\nNothing was changed.",
        ),
        (json!({}), "invalid input for `apply_patch`: missing field `input`"),
    ] {
        let tools = toolbox::fitted(
            Workspace::open(&desk.root).unwrap(),
            sandbox::Environment::scrubbed([], &[""; 0], &[""; 0]),
            toolbox::Options {
                model: Some("gpt-5.5"),
                editor: None,
                ..Default::default()
            },
        );
        let said = match std::sync::Arc::clone(tools.get("apply_patch").unwrap())
            .run(input.clone(), crate::desk::context())
            .await
        {
            Ok(output) => format!("{output:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(said, error, "{input}");
    }
}

#[tokio::test]
async fn a_patch_names_every_path_that_it_wants_to_touch() {
    let desk = Desk::with(&[("f", "one\n")]);
    desk.read("f").await;
    let outside = desk.root.parent().unwrap().join("outside");
    let input = patch(&[
        &format!("*** Add File: {}", outside.display()),
        "+x",
        "*** Update File: f",
        "*** Move to: g",
        "@@",
        "-not there",
        "+x",
    ]);
    // The patch cannot be carried out, and is judged by its words.
    let places: Vec<(PathBuf, Place)> = desk
        .actions("apply_patch", input)
        .into_iter()
        .map(|action| match action {
            Action::Write { path, place } => (path, place),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        places,
        [
            (outside, Place::Outside),
            (desk.root.join("f"), Place::Inside),
            (desk.root.join("g"), Place::Inside),
        ]
    );
}

#[tokio::test]
async fn line_ends_and_byte_order_marks_survive_a_patch() {
    let desk = Desk::with(&[("f", "\u{FEFF}a\r\nb\r\n")]);
    desk.read("f").await;
    desk.output(
        "apply_patch",
        patch(&["*** Update File: f", "*** Move to: g", "@@", " a", "-b", "+x", "+y"]),
    )
    .await;
    assert_eq!(desk.get("g"), "\u{FEFF}a\r\nx\r\ny\r\n");
}

#[tokio::test]
async fn lines_are_inserted_after_the_line_that_is_named() {
    for (line, after) in [
        (json!(0), "new\none\r\ntwo"),
        (json!("1"), "one\r\nnew\r\ntwo"),
        (json!(2), "one\r\ntwo\r\nnew"),
        (Value::Null, "one\r\ntwo\r\nnew"),
    ] {
        let desk = Desk::with(&[("f", "one\r\ntwo")]);
        let input = json!({"path": "f", "line": line, "text": "new\n"});
        assert_eq!(
            desk.run("insert", input.clone()).await,
            "error: f has not been read yet; read it before changing it"
        );
        desk.read("f").await;
        desk.output("insert", input).await;
        assert_eq!(
            desk.get("f").replace("\r\n", "\n"),
            after.replace("\r\n", "\n"),
            "{line}"
        );
    }
    let desk = Desk::with(&[("f", "one\n")]);
    desk.read("f").await;
    let said = desk.run("insert", json!({"path": "f", "line": 7, "text": "x"})).await;
    assert!(
        said.starts_with("error: Edit 1 (f): line 7 is past the end of the file, which has 1 lines"),
        "{said}"
    );
    assert_eq!(desk.get("f"), "one\n");
}
