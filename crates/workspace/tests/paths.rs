//! Path resolution and its errors.

#![allow(clippy::unwrap_used, reason = "a failed preparation is a failed test")]

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use workspace::{Error, GitHead, GitRepository, LocationPlace, Workspace};

struct Project {
    _dir: tempfile::TempDir,
    workspace: Workspace,
}

/// A folder `project` next to a folder `other`, with links inside, outside, dangling and cyclic.
fn project() -> Project {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("project");
    fs::create_dir_all(root.join("src/deep")).unwrap();
    fs::create_dir_all(dir.path().join("other")).unwrap();
    fs::write(root.join("src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(dir.path().join("other/secret"), "x").unwrap();
    symlink("src", root.join("inward")).unwrap();
    symlink("../other", root.join("outward")).unwrap();
    symlink("../other/not-yet", root.join("dangling")).unwrap();
    symlink("loop-b", root.join("loop-a")).unwrap();
    symlink("loop-a", root.join("loop-b")).unwrap();
    symlink("src/deep", root.join("deep")).unwrap();
    let workspace = Workspace::open(&root).unwrap();
    Project { _dir: dir, workspace }
}

#[test]
fn every_spelling_of_a_path_resolves_to_one_location() {
    let project = project();
    let root = project.workspace.root().to_owned();
    let above = root.parent().unwrap().to_owned();
    let cases: &[(&str, &Path, LocationPlace)] = &[
        ("", &root, LocationPlace::Inside),
        (".", &root, LocationPlace::Inside),
        ("src/main.rs", &root.join("src/main.rs"), LocationPlace::Inside),
        ("./src//main.rs", &root.join("src/main.rs"), LocationPlace::Inside),
        ("src/../src/main.rs", &root.join("src/main.rs"), LocationPlace::Inside),
        ("inward/main.rs", &root.join("src/main.rs"), LocationPlace::Inside),
        (
            "new/deeper/file.rs",
            &root.join("new/deeper/file.rs"),
            LocationPlace::Inside,
        ),
        ("new/../src/main.rs", &root.join("src/main.rs"), LocationPlace::Inside),
        // `..` after a link is the parent of its target.
        ("deep/../main.rs", &root.join("src/main.rs"), LocationPlace::Inside),
        ("~notes", &root.join("~notes"), LocationPlace::Inside),
        ("..", &above, LocationPlace::Outside),
        ("../project/src", &root.join("src"), LocationPlace::Inside),
        ("../project-two/x", &above.join("project-two/x"), LocationPlace::Outside),
        (
            "../../../../../../../../etc/passwd",
            Path::new("/etc/passwd"),
            LocationPlace::Outside,
        ),
        (
            "new/../../other/secret",
            &above.join("other/secret"),
            LocationPlace::Outside,
        ),
        ("outward/secret", &above.join("other/secret"), LocationPlace::Outside),
        ("outward/new", &above.join("other/new"), LocationPlace::Outside),
        ("dangling", &above.join("other/not-yet"), LocationPlace::Outside),
        ("/etc/passwd", Path::new("/etc/passwd"), LocationPlace::Outside),
    ];
    for (path, leads_to, place) in cases {
        let location = project.workspace.locate(path).unwrap();
        assert_eq!((location.path(), location.place()), (*leads_to, *place), "{path:?}");
    }
}

#[test]
fn a_path_is_displayed_relative_inside_and_absolute_outside() {
    let project = project();
    for (path, shown) in [
        ("", "."),
        ("inward/main.rs", "src/main.rs"),
        ("/etc/../etc/passwd", "/etc/passwd"),
    ] {
        assert_eq!(project.workspace.locate(path).unwrap().shown(), shown);
    }
    let non_utf8 = Path::new(std::ffi::OsStr::from_bytes(b"caf\xE9.txt"));
    assert_eq!(project.workspace.locate(non_utf8).unwrap().shown(), "caf\u{FFFD}.txt");
}

#[test]
fn a_path_that_cannot_be_followed_is_refused() {
    let project = project();
    for (path, message) in [
        (
            "~/x",
            "~/x: `~` is not expanded; use an absolute path or a path relative to the project",
        ),
        (
            "~",
            "~: `~` is not expanded; use an absolute path or a path relative to the project",
        ),
        ("loop-a", "loop-a: its symbolic links form a loop"),
        ("loop-a/x", "loop-a/x: its symbolic links form a loop"),
        (
            "src/main.rs/x",
            "src/main.rs/x: a part of this path is a file, not a directory",
        ),
        ("a\0b", "\"a\\0b\" contains a NUL byte"),
    ] {
        assert_eq!(project.workspace.locate(path).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_project_must_be_a_directory() {
    let project = project();
    let file = project.workspace.root().join("src/main.rs");
    assert!(matches!(Workspace::open(&file), Err(Error::NotADirectory { .. })));
    assert!(matches!(
        Workspace::open(&file.with_file_name("no")),
        Err(Error::Missing { .. })
    ));
}

#[test]
fn a_missing_file_is_reported_with_similar_names() {
    let project = project();
    let root = project.workspace.root();
    for name in ["config.toml", "config.yaml", "README.md", "src/lib.rs"] {
        fs::write(root.join(name), "").unwrap();
    }
    for (path, message) in [
        (
            "confg.toml",
            "confg.toml does not exist; did you mean config.toml or config.yaml?",
        ),
        ("readme.MD", "readme.MD does not exist; did you mean README.md?"),
        ("lib.rs", "lib.rs does not exist; did you mean src/lib.rs?"),
        (
            "crates/x/lib.rs",
            "crates/x/lib.rs does not exist; did you mean src/lib.rs?",
        ),
        ("src/nothing-like-it.txt", "src/nothing-like-it.txt does not exist"),
    ] {
        let error = project.workspace.locate(path).unwrap().read_text().unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn similar_names_are_searched_only_when_the_error_is_displayed() {
    let project = project();
    let error = project.workspace.locate("confg.toml").unwrap().read_text().unwrap_err();
    fs::write(project.workspace.root().join("config.toml"), "").unwrap();
    let message = "confg.toml does not exist; did you mean config.toml?";
    assert_eq!(error.to_string(), message);
}

#[test]
fn git_state_is_read_without_git() {
    let project = project();
    let root = project.workspace.root();
    let above = root.parent().unwrap();
    assert_eq!(project.workspace.git(), None);

    let commit = "0123456789abcdef0123456789abcdef01234567";
    for (content, head) in [
        ("ref: refs/heads/main\n", GitHead::Branch("main".into())),
        ("ref: refs/heads/feature/x\n", GitHead::Branch("feature/x".into())),
        (&format!("{commit}\n") as &str, GitHead::Detached(commit.into())),
        ("invalid", GitHead::Unknown),
    ] {
        fs::create_dir_all(above.join(".git")).unwrap();
        fs::write(above.join(".git/HEAD"), content).unwrap();
        assert_eq!(
            project.workspace.git(),
            Some(GitRepository {
                root: above.to_owned(),
                head,
                folder: Some(above.join(".git")),
            })
        );
    }

    // A linked worktree: `.git` is a file with the path of the git directory.
    let admin = above.join(".git/worktrees/project");
    fs::create_dir_all(&admin).unwrap();
    fs::write(admin.join("HEAD"), "ref: refs/heads/side\n").unwrap();
    fs::write(root.join(".git"), "gitdir: ../.git/worktrees/project\n").unwrap();
    let expected = |folder| GitRepository {
        root: root.to_owned(),
        head: GitHead::Branch("side".into()),
        folder,
    };
    // Only if the git directory refers back: the file is part of the project and could name any folder.
    assert_eq!(project.workspace.git(), Some(expected(None)));
    fs::write(admin.join("gitdir"), root.join(".git").display().to_string()).unwrap();
    fs::create_dir_all(above.join(".git/objects")).unwrap();
    assert_eq!(project.workspace.git(), Some(expected(Some(above.join(".git")))));
}
