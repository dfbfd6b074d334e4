//! Tests of apply_patch and insert.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use policy::{Action, PathArea};
use serde_json::{Value, json};
use tool::{UnsavedChange, UnsavedVersion};
use workspace::Workspace;

use crate::project::{TestProject, as_unprivileged_user};

fn patch(lines: &[&str]) -> Value {
    json!({"input": format!("*** Begin Patch\n{}\n*** End Patch\n", lines.join("\n"))})
}

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> UnsavedChange {
    let bytes = |text: &str| text.as_bytes().to_vec();
    UnsavedChange {
        path: path.into(),
        before: before.map(bytes).map(Into::into),
        after: after.map(bytes).map(Into::into),
    }
}

/// The changes, without permissions.
fn files(changes: Vec<UnsavedChange>) -> Vec<UnsavedChange> {
    let plain = |version: Option<UnsavedVersion>| version.and_then(|version| Some(version.bytes()?.to_vec().into()));
    let files = changes.into_iter().map(|change| UnsavedChange {
        before: plain(change.before),
        after: plain(change.after),
        ..change
    });
    files
        .filter(|change| change.before.is_some() || change.after.is_some())
        .collect()
}

#[tokio::test]
async fn a_patch_adds_updates_moves_and_deletes_files() {
    let project = TestProject::with(&[
        ("a.rs", "fn a() {\n    one();\n}\n"),
        ("b.rs", "b\n"),
        ("old/c.rs", "c1\nc2\n"),
    ]);
    fs::set_permissions(project.root.join("old/c.rs"), fs::Permissions::from_mode(0o755)).unwrap();
    project.read("b.rs").await;
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
    let actions = project.actions("apply_patch", input.clone());
    let (place, at) = (PathArea::Inside, |path: &str| project.root.join(path));
    let read = |path: &str| Action::Read { path: at(path), place };
    let write = |path: &str| Action::Write { path: at(path), place };
    assert_eq!(
        actions,
        [
            write("new/deep/d.rs"),
            // A refusal may reveal content that has not been read.
            read("a.rs"),
            write("a.rs"),
            read("old/c.rs"),
            write("old/c.rs"),
            write("new/c.rs"),
            write("b.rs"),
        ]
    );
    assert_eq!(
        project.tools.get("apply_patch").unwrap().title(&input.clone().into()),
        "5 files"
    );
    let output = project.output("apply_patch", input).await;
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
    assert_eq!(project.get("new/c.rs"), "c1\nc3\n");
    let mode = fs::metadata(project.root.join("new/c.rs"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755, "a moved file keeps its mode");
    assert!(!project.root.join("b.rs").exists() && !project.root.join("old/c.rs").exists());
    // A patched file counts as read.
    project
        .output(
            "edit_file",
            json!({"path": "new/c.rs", "old_text": "c3", "new_text": "c4"}),
        )
        .await;
}

#[tokio::test]
async fn every_patch_format_is_accepted() {
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
        let project = TestProject::with(&[("f", "one\ntwo\nthree\n")]);
        project.read("f").await;
        let result = project.run("apply_patch", input.clone()).await;
        assert!(result.starts_with("edited f at line 2"), "{input}: {result}");
        assert_eq!(project.get("f"), after, "{input}");
    }
}

#[tokio::test]
async fn a_patch_is_applied_completely_or_not_at_all() {
    let project = TestProject::with(&[("a", "one\ntwo\n"), ("b", "three\nfour\n")]);
    project.read("a").await;
    project.read("b").await;
    let result = project
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
    assert!(result.contains("(b): the old text is not in the file."), "{result}");
    assert!(result.ends_with("Nothing was changed."), "{result}");
    assert_eq!(
        (project.get("a").as_str(), project.get("b").as_str()),
        ("one\ntwo\n", "three\nfour\n")
    );
    assert!(!project.root.join("c").exists());
}

#[tokio::test]
async fn an_unread_file_can_only_be_patched_with_exact_quotes() {
    let project = TestProject::with(&[("f", "    one\n    two\n"), ("g", "x\n"), ("void", "")]);
    let unread = |path: &str| format!("error: {path} has not been read yet; read it before changing it");
    let loose = patch(&["*** Update File: f", "@@", " one", "-two", "+2"]);
    assert_eq!(project.run("apply_patch", loose).await, unread("f"));
    let replaced = patch(&["*** Update File: void", "*** Move to: g"]);
    assert_eq!(project.run("apply_patch", replaced).await, unread("g"));
    let exact = patch(&["*** Update File: f", "@@", "     one", "-    two", "+    2"]);
    assert_eq!(project.run("apply_patch", exact).await, "edited f at line 1-2");
    assert_eq!(project.get("f"), "    one\n    2\n");
    // A rename loses no content, and an empty file has none.
    let moved = patch(&["*** Update File: g", "*** Move to: h", "*** Delete File: void"]);
    assert_eq!(project.run("apply_patch", moved).await, "moved g to h\ndeleted void");
    // The renamed file is still unread.
    let loose = patch(&["*** Update File: h", "@@", "- x", "+y"]);
    assert_eq!(project.run("apply_patch", loose).await, unread("h"));
    // As with `delete_path`, a file need not be read.
    assert_eq!(
        project.run("apply_patch", patch(&["*** Delete File: h"])).await,
        "deleted h"
    );
}

#[tokio::test]
async fn a_stale_file_is_not_patched() {
    let project = TestProject::with(&[("f", "one\n"), ("g", "old\n")]);
    project.read("f").await;
    project.read("g").await;
    project.put("f", "one\nby another program\n");
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
        project.run("apply_patch", input.clone()).await,
        "error: f has changed on disk since it was read; read it again before changing it"
    );
    assert_eq!(
        (project.get("f").as_str(), project.get("g").as_str()),
        ("one\nby another program\n", "old\n")
    );
    project.read("f").await;
    assert_eq!(
        project.run("apply_patch", input).await,
        "edited g at line 1\nedited f at line 1"
    );
    project.put("g", "by another program\n");
    assert_eq!(
        project.run("apply_patch", patch(&["*** Delete File: g"])).await,
        "error: g has changed on disk since it was read; read it again before changing it"
    );
}

#[test]
fn a_failed_write_reverts_the_earlier_files() {
    let project = TestProject::with(&[("a", "a\n"), ("d/b", "b\n"), ("m", "m\n"), ("locked/c", "c\n")]);
    fs::set_permissions(project.root.join("a"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::set_permissions(project.root.join("m"), fs::Permissions::from_mode(0o640)).unwrap();
    open_to_all(&project, &["", "d", "a", "d/b", "m"]);
    fs::set_permissions(project.root.join("locked/c"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(project.root.join("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    let modes = |names: &[&str]| -> Vec<u32> {
        names
            .iter()
            .map(|name| fs::metadata(project.root.join(name)).unwrap().permissions().mode())
            .collect()
    };
    let names = ["a", "d/b", "m"];
    let before = modes(&names);
    let result = as_unprivileged_user(async {
        for path in ["a", "d/b", "m", "locked/c"] {
            project.read(path).await;
        }
        project
            .run(
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
    fs::set_permissions(project.root.join("locked"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(result, "error: permission denied: locked/c. Nothing was changed.");
    for (path, content) in [("a", "a\n"), ("d/b", "b\n"), ("m", "m\n"), ("locked/c", "c\n")] {
        assert_eq!(project.get(path), content);
    }
    assert_eq!(modes(&names), before);
    assert!(
        !project.root.join("x").exists(),
        "folders created for the patch were not removed"
    );
}

/// Makes these paths writable for users without root privileges.
fn open_to_all(project: &TestProject, paths: &[&str]) {
    for path in paths {
        let path = project.root.join(path);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        fs::set_permissions(
            &path,
            fs::Permissions::from_mode(mode | 0o066 | if path.is_dir() { 0o777 } else { 0 }),
        )
        .unwrap();
    }
}

#[tokio::test]
async fn invalid_patches_are_reported() {
    let project = TestProject::with(&[("src/a.rs", "one\n"), ("b", "b\n")]);
    project.put("data.bin", b"\x00\x01");
    symlink("src/a.rs", project.root.join("link")).unwrap();
    project.read("src/a.rs").await;
    project.read("b").await;
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
            "link is a symbolic link to src/a.rs; use that path, or change the link with terminal. Nothing was changed.",
        ),
        (
            json!({"input": "please change it"}),
            "the format of the edit text is not recognised.\nNothing was changed.",
        ),
        (json!({}), "invalid input for `apply_patch`: missing field `input`"),
    ] {
        let tools = toolbox::build_registry(
            Workspace::open(&project.root).unwrap(),
            sandbox::ProcessEnvironment::scrubbed([], &[""; 0], &[""; 0]),
            toolbox::Options {
                model: Some("gpt-5.5"),
                edit_model: None,
                ..Default::default()
            },
        );
        let result = match std::sync::Arc::clone(tools.get("apply_patch").unwrap())
            .run(input.clone().into(), crate::project::context())
            .await
        {
            Ok(output) => format!("{output:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(result, error, "{input}");
    }
}

#[tokio::test]
async fn a_patch_needs_approval_for_every_path() {
    let project = TestProject::with(&[("f", "one\n")]);
    project.read("f").await;
    let outside = project.root.parent().unwrap().join("outside");
    let input = patch(&[
        &format!("*** Add File: {}", outside.display()),
        "+x",
        "*** Update File: f",
        "*** Move to: g",
        "@@",
        "-not there",
        "+x",
    ]);
    // The patch does not apply, and is judged by its text.
    let paths: Vec<(PathBuf, PathArea)> = project
        .actions("apply_patch", input)
        .into_iter()
        .map(|action| match action {
            Action::Write { path, place } => (path, place),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        paths,
        [
            (outside, PathArea::Outside),
            (project.root.join("f"), PathArea::Inside),
            (project.root.join("g"), PathArea::Inside),
        ]
    );
}

#[tokio::test]
async fn patches_preserve_line_endings_and_byte_order_marks() {
    let project = TestProject::with(&[("f", "\u{FEFF}a\r\nb\r\n")]);
    project.read("f").await;
    project
        .output(
            "apply_patch",
            patch(&["*** Update File: f", "*** Move to: g", "@@", " a", "-b", "+x", "+y"]),
        )
        .await;
    assert_eq!(project.get("g"), "\u{FEFF}a\r\nx\r\ny\r\n");
}

#[tokio::test]
async fn insert_adds_lines_after_the_given_line() {
    for (line, after) in [
        (json!(0), "new\none\r\ntwo"),
        (json!("1"), "one\r\nnew\r\ntwo"),
        (json!(2), "one\r\ntwo\r\nnew"),
        (Value::Null, "one\r\ntwo\r\nnew"),
    ] {
        let project = TestProject::with(&[("f", "one\r\ntwo")]);
        let input = json!({"path": "f", "line": line, "text": "new\n"});
        assert_eq!(
            project.run("insert", input.clone()).await,
            "error: f has not been read yet; read it before changing it"
        );
        project.read("f").await;
        project.output("insert", input).await;
        assert_eq!(
            project.get("f").replace("\r\n", "\n"),
            after.replace("\r\n", "\n"),
            "{line}"
        );
    }
    let project = TestProject::with(&[("f", "one\n")]);
    project.read("f").await;
    let result = project
        .run("insert", json!({"path": "f", "line": 7, "text": "x"}))
        .await;
    assert!(
        result.starts_with("error: Edit 1 (f): line 7 is past the end of the file, which has 1 lines"),
        "{result}"
    );
    assert_eq!(project.get("f"), "one\n");
}
