//! Tests of read_file and list_directory, and of the size of the tool list.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use model::Block;
use policy::{Action, PathArea};
use serde_json::json;

use crate::project::{TestProject, as_unprivileged_user, context};

#[test]
fn the_descriptions_of_file_tools_are_small() {
    let project = TestProject::with(&[]);
    let specs = project.tools.specs();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let expected = [
        "call_tool",
        "edit_file",
        "find_path",
        "find_tools",
        "grep",
        "list_directory",
        "read_file",
        "terminal",
        "todo",
        "write_file",
    ];
    assert_eq!(names, expected);
    let json: Vec<_> = specs
        .iter()
        .map(|spec| json!({"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}))
        .collect();
    let size = json!(json).to_string().len();
    assert!(size < 6_800, "{size} bytes");
}

#[tokio::test]
async fn a_file_is_read_with_line_numbers() {
    let project = TestProject::with(&[("a.txt", "one\ntwo\r\n\u{e4}\n"), ("empty", ""), ("bare", "x")]);
    for (input, seen) in [
        (json!({"path": "a.txt"}), "1\tone\n2\ttwo\n3\t\u{e4}\n[3 lines]"),
        (
            json!({"path": "a.txt", "start_line": 2}),
            "2\ttwo\n3\t\u{e4}\n[lines 2-3 of 3]",
        ),
        (
            json!({"path": "a.txt", "start_line": 2, "end_line": 2}),
            "2\ttwo\n[lines 2-2 of 3]",
        ),
        (
            json!({"path": "a.txt", "start_line": 0, "end_line": 0}),
            "1\tone\n[lines 1-1 of 3]",
        ),
        (
            json!({"path": "a.txt", "start_line": 3, "end_line": 99}),
            "3\t\u{e4}\n[lines 3-3 of 3]",
        ),
        (
            json!({"path": "a.txt", "start_line": 4}),
            "error: a.txt has 3 lines; start_line 4 is past its end",
        ),
        (json!({"file_path": "./bare"}), "1\tx\n[1 line]"),
        (json!({"path": "empty"}), "[empty file]"),
        (json!({"path": "empty", "start_line": 5}), "[empty file]"),
    ] {
        assert_eq!(project.run("read_file", input.clone()).await, seen, "{input}");
    }
}

#[tokio::test]
async fn a_long_file_is_read_in_parts() {
    let content: String = (1..=4_500).map(|number| format!("line {number}\n")).collect();
    let project = TestProject::with(&[
        ("long", &content),
        ("wide", &"x".repeat(5_000)),
        ("both", &"y\n".repeat(9).repeat(999)),
    ]);
    let first = project.run("read_file", json!({"path": "long"})).await;
    assert!(
        first.ends_with("2000\tline 2000\n[lines 1-2000 of 4500; continue with start_line 2001]"),
        "{first}"
    );
    let last = project
        .run("read_file", json!({"path": "long", "start_line": 4001}))
        .await;
    assert!(last.starts_with("4001\tline 4001\n") && last.ends_with("\n[lines 4001-4500 of 4500]"));
    let wide = project.run("read_file", json!({"path": "wide"})).await;
    assert_eq!(wide, format!("1\t{} [+3000 bytes]\n[1 line]", "x".repeat(2_000)));

    let heavy = format!("{}\n", "z".repeat(1_500)).repeat(100);
    project.put("heavy", heavy);
    let heavy = project.run("read_file", json!({"path": "heavy"})).await;
    assert!(
        heavy.len() < 70_000 && heavy.ends_with("[lines 1-43 of 100; continue with start_line 44]"),
        "{}",
        heavy.len()
    );
}

#[tokio::test]
async fn a_huge_file_can_be_paged() {
    let project = TestProject::with(&[]);
    project.put("huge.log", "a line of a log\n".repeat(4_000_000));
    let end = project
        .run("read_file", json!({"path": "huge.log", "start_line": 4_000_000}))
        .await;
    assert_eq!(end, "4000000\ta line of a log\n[lines 4000000-4000000 of 4000000]");
}

#[tokio::test]
async fn unreadable_files_are_reported() {
    let project = TestProject::with(&[("src/main.rs", "x")]);
    project.put("data.bin", b"\x00\x01\x02");
    project.put("latin1.txt", b"caf\xE9 \xC3\xBC\n");
    project.put("wide.txt", b"\xFF\xFEa");
    symlink("round", project.root.join("round")).unwrap();
    for (path, error) in [
        ("src/mian.rs", "src/mian.rs does not exist; did you mean src/main.rs?"),
        ("main.rs", "main.rs does not exist; did you mean src/main.rs?"),
        (
            "src/main.rs/x",
            "src/main.rs/x: a part of this path is a file, not a directory",
        ),
        (
            "data.bin",
            "data.bin is a binary file (3 bytes); inspect it with terminal if needed",
        ),
        (
            "latin1.txt",
            "latin1.txt is not UTF-8 text: invalid bytes in line 1; inspect it with terminal if needed",
        ),
        (
            "wide.txt",
            "wide.txt is damaged UTF-16 text; inspect it with terminal if needed",
        ),
        ("round", "round: its symbolic links form a loop"),
        (
            "~/x",
            "~/x: `~` is not expanded; use an absolute path or a path relative to the project",
        ),
        ("/dev/zero", "/dev/zero is a device, pipe or socket, not a regular file"),
    ] {
        assert_eq!(
            project.run("read_file", json!({"path": path})).await,
            format!("error: {error}")
        );
    }
}

#[test]
fn missing_permissions_are_reported() {
    let project = TestProject::with(&[("secret", "x"), ("closed/inner", "x")]);
    for path in ["secret", "closed"] {
        fs::set_permissions(project.root.join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let result = as_unprivileged_user(async {
        [
            project.run("read_file", json!({"path": "secret"})).await,
            project.run("read_file", json!({"path": "closed/inner"})).await,
            project.run("list_directory", json!({"path": "closed"})).await,
        ]
    });
    fs::set_permissions(project.root.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        result,
        ["secret", "closed/inner", "closed"].map(|path| format!("error: permission denied: {path}"))
    );
}

#[tokio::test]
async fn images_are_sent_to_models_that_support_them() {
    let project = TestProject::with(&[]);
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    project.put("logo.png", png);
    project.put("large.png", [&png[..], &[0; 4_000_000]].concat());
    let mut with_images = context();
    with_images.features.images = true;
    let output = project
        .call("read_file", json!({"path": "logo.png"}), with_images.clone())
        .await
        .unwrap();
    match output.content.as_slice() {
        [Block::Media(media)] => assert_eq!((media.mime.as_str(), &media.data[..]), ("image/png", &png[..])),
        other => panic!("{other:?}"),
    }
    let blind = project.run("read_file", json!({"path": "logo.png"})).await;
    assert_eq!(blind, "error: logo.png is an image, which this model cannot see");
    let large = project
        .call("read_file", json!({"path": "large.png"}), with_images)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        large.starts_with("large.png has 4000016 bytes, more than the 3750000"),
        "{large}"
    );
}

#[test]
fn reading_needs_approval_for_the_resolved_path() {
    let project = TestProject::with(&[("inside.txt", "x")]);
    let above = project.root.parent().unwrap().to_owned();
    symlink("..", project.root.join("up")).unwrap();
    let inside = (project.root.join("inside.txt"), PathArea::Inside);
    let outside = (above.join("x"), PathArea::Outside);
    for (path, (path_found, place)) in [
        ("inside.txt", inside.clone()),
        ("./up/project/inside.txt", inside),
        ("../x", outside.clone()),
        ("up/x", outside.clone()),
        (above.join("x").to_str().unwrap(), outside),
    ] {
        let read = vec![Action::Read {
            path: path_found.clone(),
            place,
        }];
        let write = vec![Action::Write {
            path: path_found,
            place,
        }];
        assert_eq!(project.actions("read_file", json!({"path": path})), read);
        assert_eq!(project.actions("list_directory", json!({"path": path})), read);
        assert_eq!(project.actions("grep", json!({"pattern": "x", "path": path})), read);
        assert_eq!(
            project.actions("find_path", json!({"pattern": "x", "path": path})),
            read
        );
        assert_eq!(
            project.actions("write_file", json!({"path": path, "content": ""})),
            write
        );
        let edit = json!({"path": path, "old_text": "a", "new_text": "b"});
        assert_eq!(project.actions("edit_file", edit), write);
    }
}

#[tokio::test]
async fn a_directory_is_listed_with_directories_first() {
    let project = TestProject::with(&[(".gitignore", "out/\n"), ("src/a.rs", ""), ("out/x", ""), ("b.txt", "")]);
    project.put("big.bin", vec![0; 200_000]);
    project.put(".git/HEAD", "");
    fs::write(project.root.join(OsStr::from_bytes(b"n\xE4me")), "").unwrap();
    symlink("missing", project.root.join("link")).unwrap();
    fs::create_dir(project.root.join("void")).unwrap();
    let seen = project.run("list_directory", json!({"path": "."})).await;
    let expected =
        ".git/ (ignored)\nout/ (ignored)\nsrc/\nvoid/\n.gitignore\nb.txt\nbig.bin (200000 bytes)\nlink@\nn\u{FFFD}me";
    assert_eq!(seen, expected);
    assert_eq!(
        project.run("list_directory", json!({"path": "void"})).await,
        "[empty directory]"
    );
    assert_eq!(
        project.run("list_directory", json!({"path": "b.txt"})).await,
        "error: b.txt: a part of this path is a file, not a directory"
    );
    for number in 0..600 {
        project.put(&format!("void/{number:03}"), "");
    }
    let many = project.run("list_directory", json!({"path": "void"})).await;
    assert!(many.ends_with("\n499\n[500 of 600 entries; use find_path for the others]"));
}
