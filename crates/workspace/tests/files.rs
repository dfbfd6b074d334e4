//! Reads and writes single files.

#![allow(clippy::unwrap_used, reason = "a failed preparation is a failed test")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use rustix::process::{Uid, geteuid};
use workspace::{Encoding, Error, ExpectedContent, Fingerprint, LineWindow, Location, MAX_FILE, TextLine, Workspace};

const ALL: LineWindow = LineWindow {
    first: 1,
    last: usize::MAX,
    max_lines: 2_000,
    max_bytes: 65_536,
    max_line: 2_000,
};

struct Project {
    dir: tempfile::TempDir,
    workspace: Workspace,
}

fn project() -> Project {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let workspace = Workspace::open(dir.path()).unwrap();
    Project { dir, workspace }
}

impl Project {
    fn at(&self, path: &str) -> Location {
        self.workspace.locate(path).unwrap()
    }

    fn with(&self, path: &str, content: impl AsRef<[u8]>) -> Location {
        fs::write(self.dir.path().join(path), content).unwrap();
        self.at(path)
    }

    fn mode(&self, path: &str) -> u32 {
        fs::metadata(self.dir.path().join(path)).unwrap().mode() & 0o7777
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Runs `work` without root privileges. On Linux each thread has its own user.
fn as_unprivileged_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if geteuid().is_root() {
                rustix::thread::set_thread_uid(Uid::from_raw(65_534)).unwrap();
            }
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn a_text_file_is_read_without_its_byte_order_mark() {
    let project = project();
    let text = project.with("a", "\u{FEFF}grüß\r\n").read_text().unwrap();
    assert_eq!((text.content.as_str(), text.encoding), ("grüß\r\n", Encoding::Utf8Bom));
    let file = project.at("a");
    assert_eq!(
        file.encode(text.encoding, &text.content).unwrap(),
        "\u{FEFF}grüß\r\n".as_bytes()
    );
    let text = project.with("b", "x").read_text().unwrap();
    assert_eq!((text.content.as_str(), text.encoding), ("x", Encoding::Utf8));
}

#[test]
fn files_that_are_not_text_are_rejected_with_the_reason() {
    let project = project();
    fs::create_dir(project.dir.path().join("folder")).unwrap();
    project.with("binary", b"\x7fELF\0\0");
    project.with("damaged", b"one\ntwo\ncaf\xE9 \xC3\xBC\n");
    project.with("utf16", b"\xFF\xFEh\0i");
    let status = std::path::Path::new("/dev/null");
    for (path, message) in [
        ("folder", "folder is a directory, not a file"),
        ("binary", "binary is a binary file (6 bytes)"),
        ("damaged", "damaged is not UTF-8 text: invalid bytes in line 3"),
        ("utf16", "utf16 is damaged UTF-16 text"),
        (
            status.to_str().unwrap(),
            "/dev/null is a device, pipe or socket, not a regular file",
        ),
    ] {
        assert_eq!(project.at(path).read_text().unwrap_err().to_string(), message);
        assert_eq!(project.at(path).read_lines(&ALL).unwrap_err().to_string(), message);
    }
}

#[test]
fn other_encodings_are_read_by_lines_with_the_same_fingerprint() {
    let project = project();
    for (name, bytes, encoding) in [
        ("latin1", b"one\r\ncaf\xE9\r\n".as_slice(), Encoding::Windows1252),
        (
            "utf16",
            b"\xFF\xFEo\0n\0e\0\r\0\n\0c\0a\0f\0\xE9\0\r\0\n\0",
            Encoding::Utf16Le,
        ),
    ] {
        let file = project.with(name, bytes);
        let excerpt = file.read_lines(&ALL).unwrap();
        let lines: Vec<&str> = excerpt.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!((lines, excerpt.total), (vec!["one", "café"], 2));
        assert_eq!((excerpt.encoding, excerpt.size), (encoding, bytes.len() as u64));
        let text = file.read_text().unwrap();
        assert_eq!((text.encoding, text.snapshot), (encoding, excerpt.snapshot));
        assert_eq!(file.encode(encoding, &text.content).unwrap(), bytes);
    }
}

#[test]
fn a_name_that_is_not_utf8_is_reported() {
    use std::os::unix::ffi::OsStrExt;
    let project = project();
    let name = std::ffi::OsStr::from_bytes(b"bad\xFFname.txt");
    fs::write(project.dir.path().join(name), "x").unwrap();
    for asked in ["bad\u{FFFD}name.txt", "bad?name.txt"] {
        let error = project.at(asked).read_text().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "{asked}: this name is not UTF-8 on disk, so the file tools cannot reach it; rename it, or use commands"
            )
        );
    }
    let error = project.at("badname.txt").read_text().unwrap_err();
    assert_eq!(error.to_string(), "badname.txt does not exist");
}

#[test]
fn a_large_file_can_be_read_by_lines() {
    let project = project();
    let huge = project.at("huge");
    let file = fs::File::create(huge.path()).unwrap();
    {
        use std::io::Write;
        let mut out = std::io::BufWriter::new(&file);
        for number in 1..=3_000_000 {
            writeln!(out, "line {number}").unwrap();
        }
    }
    let size = file.metadata().unwrap().len();
    assert!(size > MAX_FILE);
    assert_eq!(
        huge.read_text().unwrap_err().to_string(),
        format!("huge has {size} bytes, more than the {MAX_FILE} that can be processed")
    );
    let window = LineWindow {
        first: 2_999_999,
        ..ALL
    };
    let excerpt = huge.read_lines(&window).unwrap();
    let texts: Vec<&str> = excerpt.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        (texts, excerpt.total, excerpt.size),
        (vec!["line 2999999", "line 3000000"], 3_000_000, size)
    );
    assert_eq!(excerpt.snapshot, huge.fingerprint().unwrap());
}

#[test]
fn a_window_of_lines_respects_all_limits() {
    let project = project();
    let numbered = project.with("n", "1\n2\n3\n4\n5\n");
    let window = |first, last, max_lines, max_bytes, max_line| LineWindow {
        first,
        last,
        max_lines,
        max_bytes,
        max_line,
    };
    for (window, numbers) in [
        (window(1, usize::MAX, 9, 99, 9), vec![1, 2, 3, 4, 5]),
        (window(2, 4, 9, 99, 9), vec![2, 3, 4]),
        (window(2, usize::MAX, 2, 99, 9), vec![2, 3]),
        (window(1, usize::MAX, 9, 5, 9), vec![1, 2, 3]),
        (window(1, usize::MAX, 9, 0, 9), vec![1]),
        (window(6, usize::MAX, 9, 99, 9), vec![]),
        (window(4, 3, 9, 99, 9), vec![]),
    ] {
        let excerpt = numbered.read_lines(&window).unwrap();
        assert_eq!(
            excerpt.lines.iter().map(|line| line.number).collect::<Vec<_>>(),
            numbers,
            "{window:?}"
        );
        assert_eq!(excerpt.total, 5);
    }
}

#[test]
fn lines_are_counted_as_in_an_editor() {
    let project = project();
    let line = |number, text: &str, cut| TextLine {
        number,
        text: text.into(),
        cut,
    };
    for (content, total, lines) in [
        ("", 0, vec![]),
        ("\n", 1, vec![line(1, "", 0)]),
        ("a", 1, vec![line(1, "a", 0)]),
        ("a\nb", 2, vec![line(1, "a", 0), line(2, "b", 0)]),
        ("\u{FEFF}a\r\nb\r\n", 2, vec![line(1, "a", 0), line(2, "b", 0)]),
        ("abcdefgh", 1, vec![line(1, "abcd", 4)]),
        ("abcüü\nx", 2, vec![line(1, "abc", 4), line(2, "x", 0)]),
        ("abcd\r\n", 1, vec![line(1, "abcd", 0)]),
        ("日本語日本語日本語\n", 1, vec![line(1, "日", 24)]),
    ] {
        let excerpt = project
            .with("f", content)
            .read_lines(&LineWindow { max_line: 4, ..ALL })
            .unwrap();
        assert_eq!((excerpt.total, excerpt.lines), (total, lines), "{content:?}");
    }
    let mut long = "x".repeat(200_000);
    long.push_str("\nlast");
    let excerpt = project.with("f", &long).read_lines(&ALL).unwrap();
    assert_eq!(
        (excerpt.total, excerpt.lines[0].cut, excerpt.lines[1].text.as_str()),
        (2, 198_000, "last")
    );
}

#[test]
fn a_fingerprint_changes_exactly_when_the_bytes_do() {
    let project = project();
    let content = vec![b'x'; 200_000];
    let file = project.with("f", &content);
    let before = file.fingerprint().unwrap();
    assert_eq!(before, Fingerprint::of(&content));
    assert_eq!(before, file.read_text().unwrap().snapshot);
    assert_eq!(before, file.read_lines(&ALL).unwrap().snapshot);
    let mut other = content.clone();
    other[199_999] = b'y';
    assert_ne!(before, project.with("f", &other).fingerprint().unwrap());
    assert_eq!(before, project.with("f", &content).fingerprint().unwrap());
}

#[test]
fn a_new_file_gets_its_folders_and_the_default_mode() {
    let project = project();
    project.with("plain", "");
    let file = project.at("a/b/c.txt");
    let written = file.write(b"new", ExpectedContent::Absent).unwrap();
    assert_eq!((written.before, written.snapshot), (None, Fingerprint::of(b"new")));
    assert_eq!(file.read_bytes(9).unwrap(), b"new");
    assert_eq!(project.mode("a/b/c.txt"), project.mode("plain"));
}

#[test]
fn replacing_a_file_keeps_its_mode_and_returns_the_old_content() {
    let project = project();
    let file = project.with("run.sh", "old");
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o751)).unwrap();
    let written = file.write(b"new", ExpectedContent::Anything).unwrap();
    assert_eq!(written.before.as_deref(), Some(&b"old"[..]));
    assert_eq!(
        (file.read_bytes(9).unwrap(), project.mode("run.sh")),
        (b"new".to_vec(), 0o751)
    );
    assert_eq!(project.names(), ["run.sh"]);
}

#[test]
fn writing_through_a_link_changes_its_target() {
    let project = project();
    project.with("real", "old");
    symlink("real", project.dir.path().join("link")).unwrap();
    project.at("link").write(b"new", ExpectedContent::Anything).unwrap();
    assert_eq!(fs::read(project.dir.path().join("real")).unwrap(), b"new");
    assert!(project.dir.path().join("link").is_symlink());
}

#[test]
fn a_write_fails_if_the_file_is_not_as_expected() {
    let project = project();
    let file = project.with("f", "mine");
    let read = file.fingerprint().unwrap();
    project.with("f", "theirs");
    assert!(matches!(
        file.write(b"new", ExpectedContent::Content(read)),
        Err(Error::Changed { .. })
    ));
    assert!(matches!(
        file.write(b"new", ExpectedContent::Absent),
        Err(Error::Exists { .. })
    ));
    assert!(matches!(
        project.at("missing").write(b"", ExpectedContent::Content(read)),
        Err(Error::Missing { .. })
    ));
    assert!(matches!(
        project.at(".").write(b"", ExpectedContent::Anything),
        Err(Error::Directory { .. })
    ));
    assert!(matches!(
        project.workspace.locate("f/x"),
        Err(Error::NotADirectory { .. })
    ));
    assert_eq!(project.names(), ["f"]);
    assert_eq!(file.read_bytes(9).unwrap(), b"theirs");
}

#[test]
fn denied_operations_are_reported_and_change_nothing() {
    let project = project();
    let secret = project.with("secret", "x");
    fs::set_permissions(secret.path(), fs::Permissions::from_mode(0o000)).unwrap();
    let locked = project.with("locked", "x");
    fs::set_permissions(locked.path(), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(project.dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    as_unprivileged_user(|| {
        assert!(matches!(secret.read_text(), Err(Error::Denied { .. })));
        assert!(matches!(
            locked.write(b"y", ExpectedContent::Anything),
            Err(Error::Denied { .. })
        ));
        assert_eq!(locked.read_bytes(9).unwrap(), b"x");
    });
    fs::set_permissions(project.dir.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let new = project.at("new");
    as_unprivileged_user(|| {
        assert!(matches!(
            new.write(b"y", ExpectedContent::Anything),
            Err(Error::Denied { .. })
        ))
    });
    fs::set_permissions(project.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(project.names(), ["locked", "secret"]);
}

#[test]
fn a_writable_file_in_a_locked_folder_is_written_in_place() {
    let project = project();
    let file = project.with("f", "a longer old text");
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(project.dir.path(), fs::Permissions::from_mode(0o555)).unwrap();
    as_unprivileged_user(|| file.write(b"new", ExpectedContent::Anything)).unwrap();
    fs::set_permissions(project.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(file.read_bytes(99).unwrap(), b"new");
}

#[test]
fn a_removed_file_is_restored_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(dir.path()).unwrap();
    let file = workspace.locate("run.sh").unwrap();
    fs::write(file.path(), "#!/bin/sh\n").unwrap();
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o750)).unwrap();
    let old = Fingerprint::of(b"something else");
    assert!(matches!(file.remove(old), Err(Error::Changed { .. })));
    let removed = file.remove(Fingerprint::of(b"#!/bin/sh\n")).unwrap();
    assert!(!file.exists());
    file.restore(&removed).unwrap();
    assert_eq!(fs::read(file.path()).unwrap(), b"#!/bin/sh\n");
    assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o750);
    assert!(matches!(file.restore(&removed), Err(Error::Exists { .. })));
}

#[test]
fn a_rename_fails_if_the_target_exists() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(dir.path()).unwrap();
    let [from, to, taken] = ["a", "x/y/b", "c"].map(|name| workspace.locate(name).unwrap());
    fs::write(from.path(), "a").unwrap();
    fs::write(taken.path(), "c").unwrap();
    assert!(matches!(from.rename(&taken), Err(Error::Exists { .. })));
    let missing = to.missing_folders();
    assert_eq!(
        missing
            .iter()
            .map(|folder| folder.shown().into_owned())
            .collect::<Vec<_>>(),
        ["x/y", "x"]
    );
    from.rename(&to).unwrap();
    assert!(!from.exists() && to.exists());
    missing[0].remove_empty_folder().unwrap();
    assert!(to.exists(), "a folder that is not empty stays");
    to.rename(&from).unwrap();
    missing.iter().for_each(|folder| folder.remove_empty_folder().unwrap());
    assert!(!missing[1].exists());
}

#[test]
fn a_link_created_in_a_resolved_path_is_not_followed() {
    const BOUNDS: workspace::TreeLimits = workspace::TreeLimits {
        entries: 100,
        bytes: 1 << 20,
    };
    type Work = fn(&Project) -> Box<dyn FnOnce() -> Result<(), Error>>;
    let works: [(&str, Work); 9] = [
        ("write new", |project| {
            let new = project.at("d/new");
            Box::new(move || new.write(b"x", ExpectedContent::Absent).map(drop))
        }),
        ("write deep", |project| {
            let new = project.at("d/deep/new");
            Box::new(move || new.write(b"x", ExpectedContent::Anything).map(drop))
        }),
        ("replace", |project| {
            let file = project.at("d/file");
            Box::new(move || file.write(b"x", ExpectedContent::Anything).map(drop))
        }),
        ("remove", |project| {
            let file = project.at("d/file");
            let snapshot = file.fingerprint().unwrap();
            Box::new(move || file.remove(snapshot).map(drop))
        }),
        ("remove all", |project| {
            let folder = project.at("d/folder");
            Box::new(move || folder.remove_all())
        }),
        ("rename", |project| {
            let (from, to) = (project.at("own"), project.at("d/new"));
            Box::new(move || from.rename(&to))
        }),
        ("shift", |project| {
            let (from, to) = (project.at("d/folder"), project.at("new"));
            Box::new(move || from.move_to(&to, BOUNDS))
        }),
        ("copy", |project| {
            let (from, to) = (project.at("own"), project.at("d/new"));
            Box::new(move || from.copy(&to, BOUNDS).map(drop))
        }),
        ("create folder", |project| {
            let folder = project.at("d/new/deep");
            Box::new(move || folder.create_folder().map(drop))
        }),
    ];
    for (name, work) in works {
        let (project, other) = (project(), tempfile::tempdir().unwrap());
        let tops = [project.dir.path().join("d"), other.path().to_owned()];
        for top in &tops {
            fs::create_dir_all(top.join("folder")).unwrap();
            fs::write(top.join("file"), "same").unwrap();
            fs::write(top.join("folder/inner"), "same").unwrap();
        }
        project.with("own", "own");
        let work = work(&project);
        fs::rename(&tops[0], project.dir.path().join("was")).unwrap();
        symlink(&tops[1], &tops[0]).unwrap();

        assert!(work().is_err(), "{name}");

        let mut names: Vec<_> = fs::read_dir(&tops[1])
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["file", "folder"], "{name}");
        assert_eq!(fs::read(tops[1].join("file")).unwrap(), b"same", "{name}");
        assert!(tops[1].join("folder/inner").exists(), "{name}");
        assert_eq!(fs::read(project.dir.path().join("own")).unwrap(), b"own", "{name}");
    }
}

#[test]
fn a_file_that_became_a_link_is_not_written_through() {
    let project = project();
    let other = tempfile::tempdir().unwrap();
    let target = other.path().join("target");
    fs::write(&target, "same").unwrap();
    let file = project.with("file", "same");
    let snapshot = file.fingerprint().unwrap();
    fs::remove_file(project.dir.path().join("file")).unwrap();
    symlink(&target, project.dir.path().join("file")).unwrap();

    file.write(b"x", ExpectedContent::Content(snapshot)).unwrap_err();

    assert_eq!(fs::read(&target).unwrap(), b"same");
    assert_eq!(project.names(), ["file"]);
}
