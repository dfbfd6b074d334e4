//! Tests of copy_path, move_path, delete_path, create_directory and open.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use policy::{Action, PathArea};
use serde_json::{Value, json};
use tool::Output;

use crate::project::{TestProject, as_unprivileged_user};

fn project() -> TestProject {
    TestProject::with(&[
        ("a.txt", "one\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("src/deep/lib.rs", "// lib\n"),
    ])
}

fn touched(output: &Output) -> Vec<(PathBuf, bool, bool)> {
    let changes = output.changes.iter();
    changes
        .map(|change| (change.path.clone(), change.before.is_some(), change.after.is_some()))
        .collect()
}

fn both(from: &str, to: &str) -> Value {
    json!({"source_path": from, "destination_path": to})
}

#[tokio::test]
async fn copying_records_every_file() {
    let project = project();
    symlink("main.rs", project.root.join("src/link.rs")).unwrap();
    fs::set_permissions(project.root.join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        project.run("copy_path", both("a.txt", "new/b.txt")).await,
        "copied a.txt to new/b.txt (1 file)"
    );
    assert_eq!(project.get("new/b.txt"), "one\n");
    let mode = fs::metadata(project.root.join("new/b.txt"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755);
    let output = project.output("cp", json!({"from": "src", "to": "copy"})).await;
    let new = |path: &str| (PathBuf::from(path), false, true);
    let recorded = touched(&output);
    assert!(
        recorded.contains(&new("copy/deep/lib.rs")) && recorded.contains(&new("copy/main.rs")),
        "{recorded:?}"
    );
    assert_eq!(
        fs::read_link(project.root.join("copy/link.rs")).unwrap(),
        Path::new("main.rs")
    );
    // Into an existing directory, with the same name.
    assert_eq!(
        project.run("copy_path", both("a.txt", "src")).await,
        "copied a.txt to src/a.txt (1 file)"
    );
    assert_eq!(project.get("a.txt"), "one\n");
}

#[tokio::test]
async fn moving_keeps_the_read_state_of_files() {
    let project = project();
    project.read("src/main.rs").await;
    let output = project.output("move_path", both("src", "lib")).await;
    let recorded = touched(&output);
    for change in [
        (PathBuf::from("src/main.rs"), true, false),
        (PathBuf::from("lib/main.rs"), false, true),
        (PathBuf::from("lib/deep/lib.rs"), false, true),
    ] {
        assert!(recorded.contains(&change), "{change:?}: {recorded:?}");
    }
    assert!(!project.root.join("src").exists());
    // It was read at its old path, so it can be changed at the new one.
    let edit = json!({"path": "lib/main.rs", "old_text": "main", "new_text": "start"});
    assert_eq!(project.run("edit_file", edit).await, "edited lib/main.rs at line 1");
    assert_eq!(
        project.run("rename", both("a.txt", "b.txt")).await,
        "moved a.txt to b.txt (1 file)"
    );
    // A link is moved, not its target.
    symlink("b.txt", project.root.join("link")).unwrap();
    project.output("move_path", both("link", "moved")).await;
    assert!(project.root.join("moved").is_symlink() && project.root.join("b.txt").is_file());
}

#[tokio::test]
async fn deleting_records_every_file_and_does_not_follow_links() {
    let project = project();
    symlink("src", project.root.join("link")).unwrap();
    symlink("missing", project.root.join("broken")).unwrap();
    symlink("round", project.root.join("round")).unwrap();
    for link in ["link", "broken", "round"] {
        assert_eq!(
            project.run("delete_path", json!({"path": link})).await,
            format!("removed {link} (1 file)")
        );
    }
    assert!(project.root.join("src/main.rs").exists());
    let output = project.output("rm", json!({"path": "src"})).await;
    assert_eq!(
        touched(&output),
        ["src", "src/deep", "src/deep/lib.rs", "src/main.rs"].map(|path| (PathBuf::from(path), true, false))
    );
    assert!(!project.root.join("src").exists());
    let non_utf8 = OsStr::from_bytes(b"od\xE4d");
    fs::create_dir(project.root.join("folder")).unwrap();
    fs::write(project.root.join("folder").join(non_utf8), "x").unwrap();
    let output = project.output("delete_path", json!({"path": "folder"})).await;
    assert_eq!(output.changes[1].path, Path::new("folder").join(non_utf8));
    fs::create_dir(project.root.join("void")).unwrap();
    assert_eq!(
        project.run("delete_path", json!({"path": "void"})).await,
        "removed void (no files)"
    );
}

#[tokio::test]
async fn directories_are_created() {
    let project = project();
    let output = project.output("mkdir", json!({"path": "x/y/z"})).await;
    assert_eq!(output.content, [model::Block::text("created x/y/z")]);
    assert_eq!(
        touched(&output),
        ["x", "x/y", "x/y/z"].map(|path| (PathBuf::from(path), false, true))
    );
    assert_eq!(
        project.run("create_directory", json!({"dirPath": "x/y"})).await,
        "x/y exists already"
    );
    assert_eq!(
        project.run("create_directory", json!({"path": "a.txt"})).await,
        "error: a.txt already exists"
    );
}

#[tokio::test]
async fn invalid_path_operations_are_reported_and_change_nothing() {
    let project = project();
    symlink("round", project.root.join("round")).unwrap();
    let fifo = project.root.join("pipes");
    fs::create_dir(&fifo).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, fifo.join("pipe"), 0o600.into()).unwrap();
    for number in 0..5_100 {
        project.put(&format!("many/{number}"), "");
    }
    let large = fs::File::create(project.root.join("large")).unwrap();
    large.set_len(65 * 1024 * 1024).unwrap();
    for (tool, input, result) in [
        ("copy_path", both("missing", "x"), "missing does not exist"),
        ("copy_path", both("a.txt", "src/main.rs"), "src/main.rs already exists"),
        (
            "copy_path",
            both("src", "src/inner/copy"),
            "src cannot be moved or copied into itself (src/inner/copy)",
        ),
        (
            "move_path",
            both("src", "src/inner"),
            "src cannot be moved or copied into itself (src/inner)",
        ),
        ("copy_path", both("round", "x"), "round: its symbolic links form a loop"),
        (
            "copy_path",
            both("a.txt", "round/x"),
            "round/x: its symbolic links form a loop",
        ),
        (
            "copy_path",
            both("a.txt", "a.txt/x"),
            "a.txt/x: a part of this path is a file, not a directory",
        ),
        (
            "copy_path",
            both("pipes", "x"),
            "pipes/pipe is a device, pipe or socket, not a regular file",
        ),
        (
            "copy_path",
            both("many", "x"),
            "many holds more than 5000 files, which is too many; work on it with terminal",
        ),
        (
            "delete_path",
            json!({"path": "large"}),
            "large has 68157440 bytes, more than the 67108864 that can be processed; work on it with terminal",
        ),
        ("delete_path", json!({"path": "missing"}), "missing does not exist"),
        (
            "delete_path",
            json!({"path": "."}),
            ". is or contains the project root; it cannot be removed",
        ),
        (
            "delete_path",
            json!({"path": ""}),
            ". is or contains the project root; it cannot be removed",
        ),
        ("move_path", both("..", "x"), "it cannot be moved"),
    ] {
        let seen = project.run(tool, input.clone()).await;
        assert!(
            seen.starts_with("error: ") && seen.contains(result),
            "{tool} {input}: {seen}"
        );
    }
    assert!(!project.root.join("x").exists() && project.root.join("many/0").exists());
    assert_eq!(project.get("a.txt"), "one\n");
}

#[test]
fn missing_permissions_are_reported_and_nothing_changes() {
    let project = TestProject::with(&[("open/closed/f", "x"), ("open/g", "x"), ("fixed", "x")]);
    let set =
        |path: &str, mode| fs::set_permissions(project.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    set(".", 0o777);
    set("open", 0o777);
    set("open/closed", 0o555);
    set("fixed", 0o444);
    let result = as_unprivileged_user(async {
        [
            project.run("delete_path", json!({"path": "open"})).await,
            project.run("delete_path", json!({"path": "fixed"})).await,
            project.run("move_path", both("fixed", "moved")).await,
            project
                .run("create_directory", json!({"path": "open/closed/new"}))
                .await,
        ]
    });
    set("open/closed", 0o755);
    assert_eq!(
        result,
        ["open/closed", "fixed", "fixed", "open/closed/new"].map(|path| format!("error: permission denied: {path}"))
    );
    assert!(project.root.join("open/g").exists(), "nothing is removed by halves");
}

#[test]
fn an_unresolvable_path_counts_as_outside() {
    let project = project();
    symlink("loop", project.root.join("loop")).unwrap();
    for (path, place) in [
        ("loop/x", PathArea::Outside),
        ("a.txt/y/x", PathArea::Outside),
        ("~/x", PathArea::Inside),
    ] {
        let write = Action::Write {
            path: project.root.join(path),
            place,
        };
        for (tool, input) in [
            ("write_file", json!({"path": path, "content": ""})),
            ("delete_path", json!({"path": path})),
            ("move_path", both(path, "new")),
            ("move_path", both("a.txt", path)),
            ("copy_path", both("a.txt", path)),
        ] {
            let actions = project.actions(tool, input);
            assert!(actions.contains(&write), "{tool} {path}: {actions:?}");
        }
    }
}

#[test]
fn every_file_needs_approval_at_its_resolved_path() {
    let project = project();
    symlink("..", project.root.join("up")).unwrap();
    let above = project.root.parent().unwrap().to_owned();
    let write = |path: PathBuf, place| Action::Write { path, place };
    let actions = project.actions("delete_path", json!({"path": "src"}));
    for path in ["src", "src/main.rs", "src/deep", "src/deep/lib.rs"] {
        assert!(
            actions.contains(&write(project.root.join(path), PathArea::Inside)),
            "{path}: {actions:?}"
        );
    }
    assert_eq!(
        project.actions("delete_path", json!({"path": "up"})),
        [write(project.root.join("up"), PathArea::Inside)],
        "the link itself is inside"
    );
    assert_eq!(
        project.actions("delete_path", json!({"path": "up/x"})),
        [write(above.join("x"), PathArea::Outside)]
    );
    let copy = project.actions("copy_path", both("up/x", "a"));
    assert_eq!(
        copy[0],
        Action::Read {
            path: above.join("x"),
            place: PathArea::Outside
        }
    );
    let moved = project.actions("move_path", both("a.txt", "up"));
    assert!(
        moved.contains(&write(above.join("a.txt"), PathArea::Outside)),
        "{moved:?}"
    );
    let opened = project.actions("open", json!({"path": "it's"}));
    assert!(
        matches!(&opened[1], Action::Escalate { command, .. } if command == r"xdg-open 'it'\''s'"),
        "{opened:?}"
    );
}

#[tokio::test]
async fn open_fails_without_a_desktop() {
    let project = project();
    let result = project.run("open", json!({"path": "a.txt"})).await;
    assert!(result.starts_with("error: no desktop is available"), "{result}");
    let result = project.run("open", json!({"path": "missing"})).await;
    assert_eq!(result, "error: missing does not exist");
}

#[tokio::test]
async fn open_starts_the_desktops_opener() {
    let bin = tempfile::tempdir().unwrap();
    let note = bin.path().join("note");
    let script = format!(
        "#!/bin/sh\nprintf '%s' \"$1\" > {0}.new && mv {0}.new {0}\n",
        note.display()
    );
    fs::write(bin.path().join("xdg-open"), script).unwrap();
    fs::set_permissions(bin.path().join("xdg-open"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.path().display());
    let project = TestProject::with_variables(&[("it's.txt", "x")], &[("PATH", &path), ("DISPLAY", ":0")]);
    assert_eq!(
        project.run("open", json!({"path": "it's.txt"})).await,
        "opened it's.txt"
    );
    // The opener is detached, so that its program keeps running.
    let opened = tokio::time::timeout(Duration::from_secs(30), async {
        while !note.exists() {
            tokio::task::yield_now().await;
        }
    });
    opened.await.unwrap();
    assert_eq!(
        fs::read_to_string(&note).unwrap(),
        project.root.join("it's.txt").to_str().unwrap()
    );
    let bare = tempfile::tempdir().unwrap();
    let project = TestProject::with_variables(
        &[("f", "x")],
        &[("PATH", bare.path().to_str().unwrap()), ("DISPLAY", ":0")],
    );
    let result = project.run("open", json!({"path": "f"})).await;
    assert_eq!(result, "error: f could not be opened: xdg-open is not installed");
}

#[tokio::test]
async fn copies_and_opened_urls_need_approval() {
    let project = TestProject::with(&[("kit/deep/a.txt", "x"), ("there/b.txt", "y")]);
    let path = project.root.join("there/kit/deep/a.txt");
    let place = policy::PathArea::Inside;
    let actions = project.actions("copy_path", both("kit", "there"));
    assert!(actions.contains(&Action::Write { path, place }), "{actions:?}");
    let url = "https://host.example/x".to_owned();
    let actions = project.actions("open", json!({"path": url}));
    assert_eq!(actions[0], Action::Fetch { url });
}
