//! Checkpoints on a real disk: changes between two snapshots are found and reverted exactly.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use session::{BlobId, Change, FileKind, FileVersion};
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use workspace::checkpoint::{
    BlobDir, BlobLimits, BlobSource, Checkpointer, CopyBudget, EndangeredPaths, RestoreStep, current_version, restore,
};

/// A project and a blob folder.
struct Fixture {
    temp: tempfile::TempDir,
    blobs: BlobDir,
    checkpoints: Checkpointer,
}

struct StoredContents<'a>(&'a BlobDir);

impl BlobSource for StoredContents<'_> {
    fn open(&self, id: &BlobId) -> io::Result<Option<Box<dyn Read + '_>>> {
        Ok(self.0.open(id)?.map(|file| Box::new(file) as Box<dyn Read>))
    }
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::limited(files, BlobLimits::default())
    }

    fn limited(files: &[(&str, &str)], limits: BlobLimits) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let blobs = BlobDir::new(&temp.path().join("data/files"), limits);
        let checkpoints = Checkpointer::new(&root, blobs.clone());
        Fixture {
            temp,
            blobs,
            checkpoints,
        }
    }

    fn root(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("project")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// The changes while `command` runs, and the warning.
    fn watch(&self, work: impl FnOnce(&Path)) -> (Vec<Change>, Option<String>) {
        let before = self.checkpoints.before(&EndangeredPaths::default(), ("s", "c"));
        work(&self.root());
        let found = before.after();
        (found.changes, found.note)
    }

    fn back(&self, changes: &[Change]) -> Vec<PathBuf> {
        let steps: Vec<RestoreStep> = changes
            .iter()
            .map(|change| RestoreStep {
                path: change.path.clone(),
                from: change.after.clone(),
                to: change.before.clone(),
            })
            .collect();
        restore(&self.root(), &steps, &StoredContents(&self.blobs))
            .unwrap()
            .remaining_folders
    }

    fn tree(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        tree(&self.root(), &self.root(), &mut all);
        all
    }
}

/// Every path with its kind, permissions and content.
fn tree(root: &Path, folder: &Path, all: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        let entry_text = if about.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if about.is_dir() {
            tree(root, &path, all);
            format!("{:o}/", about.mode())
        } else {
            format!(
                "{:o} {:?}",
                about.mode(),
                fs::read(&path).unwrap().escape_ascii().to_string()
            )
        };
        all.insert(path.strip_prefix(root).unwrap().to_owned(), entry_text);
    }
}

fn describe(changes: &[Change]) -> Vec<String> {
    let side = |version: &Option<FileVersion>| match version.as_ref().map(|version| (version.kind, version.is_stored)) {
        None => "-".to_owned(),
        Some((FileKind::File { mode }, kept)) => format!("f{:o}{}", mode.unwrap(), if kept { "" } else { "!" }),
        Some((FileKind::Link, _)) => "l".into(),
        Some((FileKind::Folder { mode }, _)) => format!("d{:o}", mode.unwrap()),
    };
    let each = changes.iter().map(|change| {
        format!(
            "{} {}>{}",
            change.path.display(),
            side(&change.before),
            side(&change.after)
        )
    });
    each.collect()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn every_kind_of_change_is_found_and_reverted() {
    let fixture = Fixture::new(&[
        ("a", "a"),
        ("b", "b"),
        ("d/e/f", "f"),
        ("d/g", "g"),
        ("gone/x", "x"),
        ("run", "#!"),
    ]);
    symlink("a", fixture.at("link")).unwrap();
    for path in ["a", "b", "d/g", "run"] {
        mode(&fixture.at(path), 0o644);
    }
    for path in ["d", "d/e", "gone"] {
        mode(&fixture.at(path), 0o755);
    }
    let before = fixture.tree();
    let (changes, note) = fixture.watch(|root| {
        fs::write(root.join("a"), "A").unwrap();
        fs::rename(root.join("b"), root.join("d/b")).unwrap();
        fs::remove_dir_all(root.join("gone")).unwrap();
        fs::remove_file(root.join("link")).unwrap();
        symlink("nowhere", root.join("link")).unwrap();
        mode(&root.join("run"), 0o755);
        mode(&root.join("d/e"), 0o700);
        fs::remove_file(root.join("d/g")).unwrap();
        fs::create_dir(root.join("d/g")).unwrap();
        mode(&root.join("d/g"), 0o755);
        fs::write(root.join("d/g/deep"), "deep").unwrap();
        mode(&root.join("d/g/deep"), 0o600);
        fs::create_dir(root.join("empty")).unwrap();
        mode(&root.join("empty"), 0o711);
    });
    assert_eq!(note, None);
    assert_eq!(
        describe(&changes),
        [
            "a f644>f644",
            "b f644>-",
            "d/b ->f644",
            "d/e d755>d700",
            "d/g f644>d755",
            "d/g/deep ->f600",
            "empty ->d711",
            "gone d755>-",
            "gone/x f644>-",
            "link l>l",
            "run f644>f755",
        ]
    );
    assert_eq!(fixture.back(&changes), Vec::<PathBuf>::new());
    assert_eq!(fixture.tree(), before);
    let (changes, _) = fixture.watch(|_| {});
    assert_eq!(describe(&changes), Vec::<String>::new());
}

#[test]
fn hidden_files_are_not_copied() {
    let fixture = Fixture::new(&[(".env", "secret"), ("keys/a", "secret"), ("b", "b")]);
    let (file, folder) = (fixture.at(".env"), fixture.at("keys"));
    let workspace = workspace::Workspace::open(&fixture.root()).unwrap();
    let workspace = workspace.hiding_paths(move |path| path == file || path == folder);
    let checkpoints = Checkpointer::new(&fixture.root(), fixture.blobs.clone()).with_hidden_paths(&workspace);
    let before = checkpoints.before(&EndangeredPaths::default(), ("s", "c"));
    for name in [".env", "keys/a", "b"] {
        fs::write(fixture.at(name), "new").unwrap();
    }
    let changes = before.after().changes;
    assert_eq!(
        changes.iter().map(|change| &change.path).collect::<Vec<_>>(),
        [Path::new("b")]
    );
    let used: u64 = fixture.blobs.contents().iter().map(|blob| blob.size).sum();
    assert_eq!(used, "bnew".len() as u64);
}

#[test]
fn a_second_write_within_one_clock_tick_is_noticed() {
    let fixture = Fixture::new(&[("a", "1")]);
    for round in 0..20 {
        fs::write(fixture.at("a"), "1").unwrap();
        let (changes, _) = fixture.watch(|root| {
            let mut file = File::options().write(true).open(root.join("a")).unwrap();
            file.write_all(b"2").unwrap();
        });
        assert_eq!(changes.len(), 1, "round {round}");
        let (changes, _) = fixture.watch(|root| fs::write(root.join("a"), "2").unwrap());
        assert_eq!(changes, [], "touched, not changed");
    }
}

#[test]
fn existing_ignored_files_are_covered_and_new_ones_are_not_recorded() {
    let fixture = Fixture::new(&[
        (".gitignore", "out/\n*.log\n!keep.log\n"),
        ("out/x", "x"),
        ("a.log", "1"),
        ("keep.log", "1"),
        ("node_modules/m/index.js", "m"),
        ("src/.gitignore", "gen\n"),
        ("src/gen", "1"),
        ("src/plain", "1"),
    ]);
    let (changes, _) = fixture.watch(|root| {
        for path in ["out/x", "a.log", "node_modules/m/index.js", "src/gen", "keep.log"] {
            fs::write(root.join(path), "22").unwrap();
        }
        fs::create_dir(root.join("cache")).unwrap();
        fs::write(
            root.join("cache/CACHEDIR.TAG"),
            "Signature: 8a477f597d28d172789f06886806bc55",
        )
        .unwrap();
        fs::write(root.join("cache/big"), "big").unwrap();
        // A folder with its own `.gitignore`, like a virtual environment.
        fs::create_dir(root.join("venv")).unwrap();
        fs::write(root.join("venv/.gitignore"), "*\n").unwrap();
        fs::write(root.join("venv/python"), "big").unwrap();
        fs::write(root.join("out/new"), "new").unwrap();
        fs::write(root.join("new.log"), "new").unwrap();
    });
    let paths: Vec<&Path> = changes.iter().map(|change| change.path.as_path()).collect();
    let expected = ["a.log", "keep.log", "out/x", "src/gen", "venv"];
    assert_eq!(paths, expected.map(Path::new));
    assert_eq!(
        fixture.back(&changes),
        [Path::new("venv")],
        "the folder contains a path that is not covered"
    );
    // A file that is ignored from now on was part of the snapshot, so its change is reported.
    let (changes, _) = fixture.watch(|root| {
        fs::write(root.join(".gitignore"), "src\n").unwrap();
        fs::write(root.join("src/plain"), "2").unwrap();
        fs::write(root.join("out/x"), "3").unwrap();
    });
    let paths: Vec<&Path> = changes.iter().map(|change| change.path.as_path()).collect();
    assert_eq!(paths, [".gitignore", "out/x", "src/plain"].map(Path::new));
    // The limits apply to generated folders, and to what the command is not known to change.
    let mut endangered = EndangeredPaths::default();
    endangered.add(fixture.at("node_modules/m/index.js"));
    let before = fixture.checkpoints.before(&endangered, ("s", "c"));
    fs::write(fixture.at("node_modules/m/index.js"), "3").unwrap();
    let changes = before.after().changes;
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert!(changes[0].before.as_ref().unwrap().is_stored);
}

#[test]
fn contents_beyond_the_limits_are_reported_once_and_new_files_are_still_removed() {
    let limits = BlobLimits {
        quota: 100,
        max_file: 50,
    };
    let fixture = Fixture::limited(&[("big", &"b".repeat(60)), ("small", "s")], limits);
    let (changes, note) = fixture.watch(|root| {
        fs::write(root.join("big"), "B").unwrap();
        fs::write(root.join("new"), "n".repeat(70)).unwrap();
    });
    let note = note.unwrap();
    assert_eq!(note, "too large for undo: big; too large for undo: new");
    let steps = |path: &str| changes.iter().find(|change| change.path == Path::new(path)).unwrap();
    assert!(!steps("big").before.as_ref().unwrap().is_stored);
    fixture.back(std::slice::from_ref(steps("new")));
    assert!(!fixture.at("new").exists());
    let (_, note) = fixture.watch(|root| {
        for name in ["1", "2", "3", "4"] {
            fs::write(root.join(name), name.repeat(40)).unwrap();
        }
    });
    assert_eq!(note, None, "only a redo would need these copies");
    let (_, note) = fixture.watch(|_| {});
    assert!(note.unwrap().contains("increase `checkpoints.quota`"));
    let (_, note) = fixture.watch(|root| fs::write(root.join("5"), "5".repeat(40)).unwrap());
    assert_eq!(note, None, "once is enough");
    assert!(fixture.blobs.used() <= limits.quota);
}

#[test]
fn nothing_is_changed_if_a_step_cannot_be_restored() {
    let fixture = Fixture::new(&[("a", "1"), ("b", "1")]);
    let (changes, _) = fixture.watch(|root| {
        fs::write(root.join("a"), "2").unwrap();
        fs::write(root.join("b"), "2").unwrap();
        fs::write(root.join("c"), "2").unwrap();
    });
    let after = fixture.tree();
    let missing_blob = changes[1].before.clone().unwrap().content.unwrap();
    let steps: Vec<RestoreStep> = changes
        .iter()
        .map(|change| RestoreStep {
            path: change.path.clone(),
            from: change.after.clone(),
            to: change.before.clone(),
        })
        .collect();
    struct Without<'a>(&'a BlobDir, BlobId, bool);
    impl BlobSource for Without<'_> {
        fn open(&self, id: &BlobId) -> io::Result<Option<Box<dyn Read + '_>>> {
            let hidden = *id == self.1;
            if hidden && self.2 {
                // It exists, and reading it fails.
                return Ok(Some(Box::new(Broken)));
            }
            let found = self.0.open(id)?.filter(|_| !hidden);
            Ok(found.map(|file| Box::new(file) as Box<dyn Read>))
        }
    }
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    for breaks in [false, true] {
        let failed = restore(
            &fixture.root(),
            &steps,
            &Without(&fixture.blobs, missing_blob.clone(), breaks),
        )
        .unwrap_err();
        assert_eq!(failed.not_restored, Vec::<PathBuf>::new());
        assert_eq!(fixture.tree(), after);
    }
    // Fails before anything is changed, so nothing is rolled back.
    fs::create_dir_all(fixture.at(".git")).unwrap();
    fs::write(fixture.at(".git/config"), "own").unwrap();
    fs::write(fixture.at("a"), "by others").unwrap();
    let now = fixture.tree();
    let git = RestoreStep {
        path: ".git/config".into(),
        from: changes[0].before.clone(),
        to: None,
    };
    let steps: Vec<RestoreStep> = steps.into_iter().chain([git]).collect();
    let failed = restore(&fixture.root(), &steps, &StoredContents(&fixture.blobs)).unwrap_err();
    assert_eq!(failed.path, Path::new(".git/config"));
    assert_eq!(failed.not_restored, Vec::<PathBuf>::new());
    assert_eq!(fixture.tree(), now);
    assert_eq!(fs::read(fixture.at(".git/config")).unwrap(), b"own");
}

#[test]
fn nothing_is_written_through_a_link() {
    let fixture = Fixture::new(&[("d/f", "1")]);
    let outside = fixture.temp.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "theirs").unwrap();
    let (changes, _) = fixture.watch(|root| fs::write(root.join("d/f"), "2").unwrap());
    fs::remove_dir_all(fixture.at("d")).unwrap();
    symlink(&outside, fixture.at("d")).unwrap();
    assert_eq!(current_version(&fixture.root(), Path::new("d/f")).unwrap(), None);
    let steps = [RestoreStep {
        path: "d/f".into(),
        from: None,
        to: changes[0].before.clone(),
    }];
    assert!(restore(&fixture.root(), &steps, &StoredContents(&fixture.blobs)).is_err());
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "theirs");
}

#[test]
fn an_unchanged_tracked_file_is_restored_from_git_without_a_copy() {
    let fixture = Fixture::new(&[("plain", "plain\n"), ("other", "other\n")]);
    // A repository as git writes it: one commit of both files.
    if !git(&fixture.root(), &["init", "-q"]) {
        return;
    }
    // Git is only certain of files that are older than its index.
    wait_for_the_clock();
    assert!(git(&fixture.root(), &["add", "."]));
    assert!(git(
        &fixture.root(),
        &["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]
    ));
    fs::write(fixture.at("untracked"), "untracked\n").unwrap();
    let checkpoints = Checkpointer::new(&fixture.root(), fixture.blobs.clone());
    let before = checkpoints.before(&EndangeredPaths::default(), ("s", "c"));
    let used: u64 = fixture.blobs.contents().iter().map(|blob| blob.size).sum();
    assert_eq!(
        used,
        "untracked\n".len() as u64,
        "only what git does not have is copied"
    );
    let tree = fixture.tree();
    fs::write(fixture.at("plain"), "changed").unwrap();
    fs::remove_file(fixture.at("other")).unwrap();
    fs::remove_file(fixture.at("untracked")).unwrap();
    let changes = before.after().changes;
    assert_eq!(changes.len(), 3);
    fixture.back(&changes);
    let now = fixture.tree();
    assert_eq!(now, tree, "nothing in .git has changed either");
}

#[test]
fn a_file_with_another_time_but_the_same_content_is_not_changed() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    if !git(root, &["init", "--quiet"]) {
        return;
    }
    for name in ["a.txt", "b.txt"] {
        std::fs::write(root.join(name), "one\n").unwrap();
    }
    assert!(git(root, &["add", "."]));
    let touch = |name: &str| {
        let file = std::fs::File::options().append(true).open(root.join(name)).unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        file.set_modified(later).unwrap();
    };
    let changed = || workspace::Workspace::open(root).unwrap().changed_tracked_files();
    touch("a.txt");
    assert_eq!(changed(), Some(0));
    std::fs::write(root.join("b.txt"), "two\n").unwrap();
    touch("b.txt");
    assert_eq!(changed(), Some(1));
}

fn git(root: &Path, arguments: &[&str]) -> bool {
    #[allow(clippy::disallowed_methods, reason = "repositories are created with git")]
    let ran = std::process::Command::new("git")
        .current_dir(root)
        .args(arguments)
        .status();
    ran.is_ok_and(|status| status.success())
}

/// Waits two ticks of the slowest clock.
fn wait_until_settled() {
    let since = std::time::Instant::now();
    while since.elapsed() < std::time::Duration::from_millis(45) {
        std::thread::yield_now();
    }
}

/// Waits for a tick of the file system's clock.
fn wait_for_the_clock() {
    let temp = tempfile::tempdir().unwrap();
    let stamp = |name: &str| {
        let path = temp.path().join(name);
        fs::write(&path, "").unwrap();
        let about = fs::metadata(path).unwrap();
        (about.ctime(), about.ctime_nsec())
    };
    let first = stamp("first");
    while stamp("next") == first {}
}

#[test]
fn the_permissions_of_a_file_beyond_the_limit_are_restored() {
    let limits = BlobLimits {
        quota: 1 << 20,
        max_file: 300 << 10,
    };
    let fixture = Fixture::limited(&[("big", &"b".repeat(400 << 10))], limits);
    mode(&fixture.at("big"), 0o644);
    let before = fixture.tree();
    let (changes, note) = fixture.watch(|root| mode(&root.join("big"), 0o600));
    assert_eq!(describe(&changes), ["big f644!>f600!"]);
    assert_eq!(note.as_deref(), Some("too large for undo: big"));
    fixture.back(&changes);
    assert_eq!(fixture.tree(), before);
    assert_eq!(fixture.blobs.contents(), []);
}

#[test]
fn in_a_very_large_folder_the_newest_files_are_copied_and_the_user_is_warned() {
    let names: Vec<String> = (0..10).map(|number| format!("{number}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
    let mut fixture = Fixture::new(&files);
    for (age, name) in names.iter().enumerate() {
        let file = File::options().write(true).open(fixture.at(name)).unwrap();
        let at = std::time::SystemTime::now() - std::time::Duration::from_secs(3600 * (age as u64 + 1));
        file.set_modified(at).unwrap();
    }
    wait_until_settled();
    let budget = CopyBudget { files: 2, bytes: 1000 };
    fixture.checkpoints = Checkpointer::new(&fixture.root(), fixture.blobs.clone()).with_budget(budget);
    let (changes, note) = fixture.watch(|root| {
        fs::write(root.join("0"), "changed").unwrap();
        fs::write(root.join("9"), "changed").unwrap();
        fs::set_permissions(root.join("8"), Permissions::from_mode(0o600)).unwrap();
        (0..3).for_each(|new| fs::write(root.join(format!("new{new}")), "new").unwrap());
    });
    assert_eq!(
        note.as_deref(),
        Some(
            "undo does not cover 8 of 10 files yet: the folder is large; the newest files are copied first, more before each command"
        )
    );
    let kept = |path: &str| {
        let change = changes.iter().find(|change| change.path == Path::new(path)).unwrap();
        change.before.as_ref().map(|version| version.is_stored)
    };
    assert_eq!((kept("0"), kept("9"), kept("new0")), (Some(true), Some(false), None));
    let fine: Vec<Change> = changes
        .iter()
        .filter(|change| change.path != Path::new("9"))
        .cloned()
        .collect();
    fixture.back(&fine);
    assert_eq!(fs::read_to_string(fixture.at("0")).unwrap(), "0");
    assert!(!fixture.at("new2").exists(), "a new file was not removed");
    wait_until_settled();
    // Before each further command two more are copied, without another warning.
    for _ in 0..3 {
        assert_eq!(fixture.watch(|_| {}), (Vec::new(), None));
    }
    let (changes, _) = fixture.watch(|root| fs::write(root.join("7"), "changed").unwrap());
    assert!(changes[0].before.as_ref().unwrap().is_stored);
    assert!(fixture.blobs.contents().len() <= 10 + 6);
}

#[test]
fn endangered_files_are_copied_without_limits_and_uncovered_paths_are_listed_before_the_command() {
    let names: Vec<String> = (0..8).map(|number| format!("data/{number}")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
    let large = "l".repeat(100);
    files.extend([
        (".gitignore", "*.tmp\nnode_modules\n"),
        ("large", &large),
        ("large.tmp", &large),
        ("node_modules/m", "m"),
        ("other", "o"),
    ]);
    let limits = BlobLimits {
        max_file: 50,
        ..BlobLimits::default()
    };
    let mut fixture = Fixture::limited(&files, limits);
    let budget = CopyBudget { files: 1, bytes: 1000 };
    fixture.checkpoints = Checkpointer::new(&fixture.root(), fixture.blobs.clone()).with_budget(budget);
    let mut endangered = EndangeredPaths::default();
    endangered.add(fixture.at("data"));
    endangered.add_matches(&fixture.root(), "large*");
    endangered.add(fixture.at("node_modules"));
    let before = fixture.checkpoints.before(&endangered, ("s", "c"));
    let paths = |paths: &[&str]| paths.iter().map(std::path::PathBuf::from).collect::<Vec<_>>();
    let uncovered = before.uncovered().clone();
    assert_eq!(uncovered.endangered, paths(&["large", "large.tmp"]));
    assert_eq!(uncovered.ignored, paths(&["node_modules"]));
    assert_eq!(uncovered.others.len(), 1, "{uncovered:?}");
    fs::remove_dir_all(fixture.at("data")).unwrap();
    let changes = before.after().changes;
    assert_eq!(changes.len(), 9);
    fixture.back(&changes);
    assert!(
        names
            .iter()
            .all(|name| fs::read_to_string(fixture.at(name)).unwrap() == *name)
    );
    // Others are listed once.
    let before = fixture.checkpoints.before(&EndangeredPaths::default(), ("s", "c"));
    assert!(
        before
            .uncovered()
            .others
            .iter()
            .all(|path| !uncovered.others.contains(path))
    );
}

#[test]
fn what_a_git_command_overwrites_is_copied_without_limits() {
    for (untracked, uncommitted) in [(true, false), (false, true), (true, true), (false, false)] {
        let mut fixture = Fixture::new(&[("t", "t")]);
        let root = fixture.root();
        if !git(&root, &["init", "-q"]) {
            return;
        }
        assert!(git(&root, &["add", "."]));
        for name in ["t", "u"] {
            fs::write(fixture.at(name), "changed").unwrap();
        }
        let budget = CopyBudget { files: 0, bytes: 0 };
        fixture.checkpoints = Checkpointer::new(&root, fixture.blobs.clone()).with_budget(budget);
        let mut endangered = EndangeredPaths::default();
        untracked.then(|| endangered.add_untracked());
        uncommitted.then(|| endangered.add_uncommitted());
        let before = fixture.checkpoints.before(&endangered, ("s", "c"));
        let others = [("t", uncommitted), ("u", untracked)];
        let others = others
            .iter()
            .filter(|(_, is_copied)| !is_copied)
            .map(|(name, _)| PathBuf::from(name));
        assert_eq!(before.uncovered().others, others.collect::<Vec<_>>());
        assert_eq!(before.uncovered().endangered, Vec::<PathBuf>::new());
    }
}

#[test]
fn a_tracked_file_is_only_endangered_by_git_if_it_is_modified() {
    const LARGE: u64 = 20 << 20;
    let limits = BlobLimits {
        max_file: 50,
        ..BlobLimits::default()
    };
    let mut fixture = Fixture::limited(&[("text", "a\r\n"), (".gitattributes", "text text eol=crlf\n")], limits);
    let root = fixture.root();
    for name in ["large", "changed"] {
        File::create(fixture.at(name)).unwrap().set_len(LARGE).unwrap();
    }
    wait_until_settled();
    if !git(&root, &["init", "-q"]) {
        return;
    }
    assert!(git(&root, &["add", "."]));
    wait_until_settled();
    File::create(fixture.at("changed")).unwrap().set_len(LARGE).unwrap();
    let budget = CopyBudget { files: 0, bytes: 0 };
    fixture.checkpoints = Checkpointer::new(&root, fixture.blobs.clone()).with_budget(budget);
    let mut endangered = EndangeredPaths::default();
    endangered.add_untracked();
    endangered.add_uncommitted();
    let before = fixture.checkpoints.before(&endangered, ("s", "c"));
    // The objects of large files, and of files with other line endings, are not used.
    assert_eq!(before.uncovered().endangered, [Path::new("changed")]);
    assert_eq!(before.uncovered().others, [Path::new("large"), Path::new("text")]);
}

#[test]
fn redo_copies_are_deleted_before_originals() {
    let limits = BlobLimits {
        quota: 1_000,
        ..BlobLimits::default()
    };
    let fixture = Fixture::limited(&[("a", "original")], limits);
    fixture.watch(|root| fs::write(root.join("made"), "m".repeat(700)).unwrap());
    // The user adds a file that does not fit as long as the copy for a redo is stored.
    fs::write(fixture.at("b"), "b".repeat(600)).unwrap();
    let (changes, _) = fixture.watch(|root| {
        fs::remove_file(root.join("a")).unwrap();
        fs::remove_file(root.join("b")).unwrap();
    });
    let is_stored = |change: &Change| change.before.as_ref().is_some_and(|version| version.is_stored);
    assert!(changes.iter().all(is_stored), "{changes:?}");
    fixture.back(&changes);
    assert_eq!(fs::read_to_string(fixture.at("b")).unwrap().len(), 600);
}

/// More levels than a recursive function has stack for, in a path that is short enough for the system.
const LEVELS: usize = 1_800;

#[test]
fn a_very_deep_tree_is_found_and_reverted() {
    on_small_stack(|| {
        let fixture = Fixture::new(&[("a", "a")]);
        let (changes, _) = fixture.watch(|root| nest(root, LEVELS));
        assert_eq!(changes.len(), LEVELS + 1);
        assert_eq!(fixture.back(&changes), Vec::<PathBuf>::new());
        assert!(!fixture.at("d").exists());
    });
}

#[test]
fn a_very_deep_tree_is_read_copied_searched_and_removed() {
    on_small_stack(|| {
        let fixture = Fixture::new(&[("a", "a")]);
        nest(&fixture.root(), LEVELS);
        let workspace = workspace::Workspace::open(&fixture.root()).unwrap();
        let top = workspace.locate("d").unwrap();
        let limits = workspace::TreeLimits {
            entries: 5_000,
            bytes: 1 << 20,
        };
        assert_eq!(top.tree_entries(limits).unwrap().len(), LEVELS + 1);
        top.copy(&workspace.locate("e").unwrap(), limits).unwrap();
        let query = workspace::FindQuery::new("file", workspace::ResultPage { offset: 0, limit: 9 });
        let stop = workspace::StopSignal::after(std::time::Duration::from_secs(60));
        assert_eq!(workspace.locate("").unwrap().find(&query, &stop).unwrap().total, 2);
        assert!(workspace.overview(2_000).is_some());
        for top in [top, workspace.locate("e").unwrap()] {
            top.remove_all().unwrap();
            assert!(!top.exists());
        }
    });
}

/// Creates nested folders with a file in the innermost one.
fn nest(root: &Path, levels: usize) {
    let mut path = root.to_owned();
    for _ in 0..levels {
        path.push("d");
        fs::create_dir(&path).unwrap();
    }
    fs::write(path.join("file"), "x").unwrap();
}

fn on_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(512 * 1024).spawn(work);
    thread.unwrap().join().unwrap();
}
