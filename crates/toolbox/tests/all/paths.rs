//! copy_path, move_path, delete_path, create_directory and open.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use policy::{Action, Place};
use serde_json::{Value, json};
use tool::Output;

use crate::desk::{Desk, as_nobody};

fn project() -> Desk {
    Desk::with(&[
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
async fn files_and_folders_are_copied_and_each_file_is_recorded() {
    let desk = project();
    symlink("main.rs", desk.root.join("src/link.rs")).unwrap();
    fs::set_permissions(desk.root.join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        desk.run("copy_path", both("a.txt", "new/b.txt")).await,
        "copied a.txt to new/b.txt (1 file)"
    );
    assert_eq!(desk.get("new/b.txt"), "one\n");
    let mode = fs::metadata(desk.root.join("new/b.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    let output = desk.output("cp", json!({"from": "src", "to": "copy"})).await;
    let new = |path: &str| (PathBuf::from(path), false, true);
    let recorded = touched(&output);
    assert!(
        recorded.contains(&new("copy/deep/lib.rs")) && recorded.contains(&new("copy/main.rs")),
        "{recorded:?}"
    );
    assert_eq!(
        fs::read_link(desk.root.join("copy/link.rs")).unwrap(),
        Path::new("main.rs")
    );
    // Into a folder that is there, under the same name.
    assert_eq!(
        desk.run("copy_path", both("a.txt", "src")).await,
        "copied a.txt to src/a.txt (1 file)"
    );
    assert_eq!(desk.get("a.txt"), "one\n");
}

#[tokio::test]
async fn files_and_folders_are_moved_with_what_is_known_of_them() {
    let desk = project();
    desk.read("src/main.rs").await;
    let output = desk.output("move_path", both("src", "lib")).await;
    let recorded = touched(&output);
    for change in [
        (PathBuf::from("src/main.rs"), true, false),
        (PathBuf::from("lib/main.rs"), false, true),
        (PathBuf::from("lib/deep/lib.rs"), false, true),
    ] {
        assert!(recorded.contains(&change), "{change:?}: {recorded:?}");
    }
    assert!(!desk.root.join("src").exists());
    // It was read under its old name, so it may be changed under the new one.
    let edit = json!({"path": "lib/main.rs", "old_text": "main", "new_text": "start"});
    assert_eq!(desk.run("edit_file", edit).await, "edited lib/main.rs at line 1");
    assert_eq!(
        desk.run("rename", both("a.txt", "b.txt")).await,
        "moved a.txt to b.txt (1 file)"
    );
    // A link is moved itself.
    symlink("b.txt", desk.root.join("link")).unwrap();
    desk.output("move_path", both("link", "elsewhere")).await;
    assert!(desk.root.join("elsewhere").is_symlink() && desk.root.join("b.txt").is_file());
}

#[tokio::test]
async fn what_is_removed_is_recorded_and_a_link_is_removed_itself() {
    let desk = project();
    symlink("src", desk.root.join("link")).unwrap();
    symlink("nowhere", desk.root.join("broken")).unwrap();
    symlink("round", desk.root.join("round")).unwrap();
    for link in ["link", "broken", "round"] {
        assert_eq!(
            desk.run("delete_path", json!({"path": link})).await,
            format!("removed {link} (1 file)")
        );
    }
    assert!(desk.root.join("src/main.rs").exists());
    let output = desk.output("rm", json!({"path": "src"})).await;
    assert_eq!(
        touched(&output),
        ["src", "src/deep", "src/deep/lib.rs", "src/main.rs"].map(|path| (PathBuf::from(path), true, false))
    );
    assert!(!desk.root.join("src").exists());
    let odd = OsStr::from_bytes(b"od\xE4d");
    fs::create_dir(desk.root.join("odd")).unwrap();
    fs::write(desk.root.join("odd").join(odd), "x").unwrap();
    let output = desk.output("delete_path", json!({"path": "odd"})).await;
    assert_eq!(output.changes[1].path, Path::new("odd").join(odd));
    fs::create_dir(desk.root.join("void")).unwrap();
    assert_eq!(
        desk.run("delete_path", json!({"path": "void"})).await,
        "removed void (no files)"
    );
}

#[tokio::test]
async fn folders_are_made() {
    let desk = project();
    let output = desk.output("mkdir", json!({"path": "x/y/z"})).await;
    assert_eq!(output.content, [model::Block::text("created x/y/z")]);
    assert_eq!(
        touched(&output),
        ["x", "x/y", "x/y/z"].map(|path| (PathBuf::from(path), false, true))
    );
    assert_eq!(
        desk.run("create_directory", json!({"dirPath": "x/y"})).await,
        "x/y exists already"
    );
    assert_eq!(
        desk.run("create_directory", json!({"path": "a.txt"})).await,
        "error: a.txt already exists"
    );
}

#[tokio::test]
async fn what_cannot_be_done_is_explained_and_nothing_is_changed() {
    let desk = project();
    symlink("round", desk.root.join("round")).unwrap();
    let fifo = desk.root.join("pipes");
    fs::create_dir(&fifo).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, fifo.join("pipe"), 0o600.into()).unwrap();
    for number in 0..5_100 {
        desk.put(&format!("many/{number}"), "");
    }
    let large = fs::File::create(desk.root.join("large")).unwrap();
    large.set_len(65 * 1024 * 1024).unwrap();
    for (tool, input, said) in [
        ("copy_path", both("gone", "x"), "gone does not exist"),
        ("copy_path", both("a.txt", "src/main.rs"), "src/main.rs already exists"),
        (
            "copy_path",
            both("src", "src/inner/copy"),
            "src cannot be put into itself (src/inner/copy)",
        ),
        (
            "move_path",
            both("src", "src/inner"),
            "src cannot be put into itself (src/inner)",
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
            "many holds more than 5000 files, more than can be handled at once; work on it with terminal",
        ),
        (
            "delete_path",
            json!({"path": "large"}),
            "large has 68157440 bytes, more than the 67108864 that can be handled at once; work on it with terminal",
        ),
        ("delete_path", json!({"path": "gone"}), "gone does not exist"),
        (
            "delete_path",
            json!({"path": "."}),
            ". is the project itself or holds it; it cannot be removed",
        ),
        (
            "delete_path",
            json!({"path": ""}),
            ". is the project itself or holds it; it cannot be removed",
        ),
        ("move_path", both("..", "x"), "it cannot be moved"),
    ] {
        let seen = desk.run(tool, input.clone()).await;
        assert!(
            seen.starts_with("error: ") && seen.contains(said),
            "{tool} {input}: {seen}"
        );
    }
    assert!(!desk.root.join("x").exists() && desk.root.join("many/0").exists());
    assert_eq!(desk.get("a.txt"), "one\n");
}

#[test]
fn what_the_system_forbids_stays_as_it_is() {
    let desk = Desk::with(&[("open/closed/f", "x"), ("open/g", "x"), ("fixed", "x")]);
    let set = |path: &str, mode| fs::set_permissions(desk.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    set(".", 0o777);
    set("open", 0o777);
    set("open/closed", 0o555);
    set("fixed", 0o444);
    let said = as_nobody(async {
        [
            desk.run("delete_path", json!({"path": "open"})).await,
            desk.run("delete_path", json!({"path": "fixed"})).await,
            desk.run("move_path", both("fixed", "moved")).await,
            desk.run("create_directory", json!({"path": "open/closed/new"})).await,
        ]
    });
    set("open/closed", 0o755);
    assert_eq!(
        said,
        ["open/closed", "fixed", "fixed", "open/closed/new"].map(|path| format!("error: permission denied: {path}"))
    );
    assert!(desk.root.join("open/g").exists(), "nothing is removed by halves");
}

#[test]
fn a_path_that_leads_nowhere_is_judged_as_one_outside() {
    let desk = project();
    symlink("loop", desk.root.join("loop")).unwrap();
    for (path, place) in [
        ("loop/x", Place::Outside),
        ("a.txt/y/x", Place::Outside),
        ("~/x", Place::Inside),
    ] {
        let write = Action::Write {
            path: desk.root.join(path),
            place,
        };
        for (tool, input) in [
            ("write_file", json!({"path": path, "content": ""})),
            ("delete_path", json!({"path": path})),
            ("move_path", both(path, "new")),
            ("move_path", both("a.txt", path)),
            ("copy_path", both("a.txt", path)),
        ] {
            let actions = desk.actions(tool, input);
            assert!(actions.contains(&write), "{tool} {path}: {actions:?}");
        }
    }
}

#[test]
fn approval_is_asked_for_each_file_and_for_where_paths_really_lead() {
    let desk = project();
    symlink("..", desk.root.join("up")).unwrap();
    let above = desk.root.parent().unwrap().to_owned();
    let write = |path: PathBuf, place| Action::Write { path, place };
    let actions = desk.actions("delete_path", json!({"path": "src"}));
    for path in ["src", "src/main.rs", "src/deep", "src/deep/lib.rs"] {
        assert!(
            actions.contains(&write(desk.root.join(path), Place::Inside)),
            "{path}: {actions:?}"
        );
    }
    assert_eq!(
        desk.actions("delete_path", json!({"path": "up"})),
        [write(desk.root.join("up"), Place::Inside)],
        "the link itself is inside"
    );
    assert_eq!(
        desk.actions("delete_path", json!({"path": "up/x"})),
        [write(above.join("x"), Place::Outside)]
    );
    let copy = desk.actions("copy_path", both("up/x", "a"));
    assert_eq!(
        copy[0],
        Action::Read {
            path: above.join("x"),
            place: Place::Outside
        }
    );
    let moved = desk.actions("move_path", both("a.txt", "up"));
    assert!(moved.contains(&write(above.join("a.txt"), Place::Outside)), "{moved:?}");
    let opened = desk.actions("open", json!({"path": "it's"}));
    assert!(
        matches!(&opened[1], Action::Escalate { command, .. } if command == r"xdg-open 'it'\''s'"),
        "{opened:?}"
    );
}

#[tokio::test]
async fn nothing_is_opened_where_there_is_no_desktop() {
    let desk = project();
    let said = desk.run("open", json!({"path": "a.txt"})).await;
    assert!(said.starts_with("error: there is no desktop here"), "{said}");
    let said = desk.run("open", json!({"path": "gone"})).await;
    assert_eq!(said, "error: gone does not exist");
}

#[tokio::test]
async fn a_file_is_handed_to_the_desktops_opener() {
    let bin = tempfile::tempdir().unwrap();
    let note = bin.path().join("note");
    let script = format!(
        "#!/bin/sh\nprintf '%s' \"$1\" > {0}.new && mv {0}.new {0}\n",
        note.display()
    );
    fs::write(bin.path().join("xdg-open"), script).unwrap();
    fs::set_permissions(bin.path().join("xdg-open"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.path().display());
    let desk = Desk::seeing(&[("it's.txt", "x")], &[("PATH", &path), ("DISPLAY", ":0")]);
    assert_eq!(desk.run("open", json!({"path": "it's.txt"})).await, "opened it's.txt");
    // The opener goes its own way, so that what it starts lives on.
    let opened = tokio::time::timeout(Duration::from_secs(30), async {
        while !note.exists() {
            tokio::task::yield_now().await;
        }
    });
    opened.await.unwrap();
    assert_eq!(
        fs::read_to_string(&note).unwrap(),
        desk.root.join("it's.txt").to_str().unwrap()
    );
    let bare = tempfile::tempdir().unwrap();
    let desk = Desk::seeing(
        &[("f", "x")],
        &[("PATH", bare.path().to_str().unwrap()), ("DISPLAY", ":0")],
    );
    let said = desk.run("open", json!({"path": "f"})).await;
    assert_eq!(said, "error: f could not be opened: xdg-open is not installed");
}

#[tokio::test]
async fn what_a_copy_makes_and_what_is_opened_on_the_web_is_put_before_the_rules() {
    let desk = Desk::with(&[("kit/deep/a.txt", "x"), ("there/b.txt", "y")]);
    let path = desk.root.join("there/kit/deep/a.txt");
    let place = policy::Place::Inside;
    let actions = desk.actions("copy_path", both("kit", "there"));
    assert!(actions.contains(&Action::Write { path, place }), "{actions:?}");
    let url = "https://host.example/x".to_owned();
    let actions = desk.actions("open", json!({"path": url}));
    assert_eq!(actions[0], Action::Fetch { url });
}
