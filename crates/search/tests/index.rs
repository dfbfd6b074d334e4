//! The index on disk: updates, damage, two processes, and results that are never stale.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use index::search::{QueryKind, QueryScope, RankingSignals};
use search::{CodeIndex, CodeQuery, CodeResult, RefreshOutcome, RefreshPriority};
use tempfile::TempDir;
use workspace::{StopSignal, Workspace};

struct Fixture {
    project: TempDir,
    cache: TempDir,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let fixture = Self {
            project: tempfile::tempdir().unwrap(),
            cache: tempfile::tempdir().unwrap(),
        };
        files.iter().for_each(|(path, text)| fixture.write(path, text));
        fixture
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.project.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn open(&self) -> CodeIndex {
        CodeIndex::new(Workspace::open(self.project.path()).unwrap(), self.cache.path())
    }

    fn index_file(&self) -> PathBuf {
        let entries = fs::read_dir(self.cache.path().join("search")).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths
            .find(|path| path.extension().is_some_and(|end| end == "index"))
            .unwrap()
    }
}

fn refresh(index: &CodeIndex) -> RefreshOutcome {
    index
        .refresh(&StopSignal::after(Duration::from_secs(60)), RefreshPriority::Foreground)
        .unwrap()
}

fn results(index: &CodeIndex, text: &str) -> Vec<CodeResult> {
    let query = CodeQuery {
        text,
        scope: QueryScope::default(),
        limit: 10,
        signals: RankingSignals::All,
    };
    index.search(&query).unwrap()
}

fn first(index: &CodeIndex, text: &str) -> Option<String> {
    results(index, text).into_iter().next().map(|result| result.path)
}

const COOKIES: &str = "//! Cookies.\n\n/// Parses the cookie header of a request.\npub fn parse_cookie(header: &str) -> Vec<(String, String)> {\n    header.split(';').filter_map(pair).collect()\n}\n";
const SOCKETS: &str = "//! Sockets.\n\n/// Accepts connections and closes idle ones.\npub fn accept_connections(listener: &Listener) {\n    loop { listener.accept(); }\n}\n";

#[test]
fn code_is_found_by_meaning_words_and_symbol() {
    let fixture = Fixture::new(&[
        ("src/cookies.rs", COOKIES),
        ("src/net/socket.rs", SOCKETS),
        ("README.md", "# A web server\n"),
    ]);
    let index = fixture.open();
    assert_eq!(refresh(&index).updated, 3);
    assert_eq!(
        first(&index, "where is the cookie header parsed?").as_deref(),
        Some("src/cookies.rs")
    );
    assert_eq!(
        first(&index, "accept_connections").as_deref(),
        Some("src/net/socket.rs")
    );
    assert_eq!(
        first(&index, "shut down unused TCP clients").as_deref(),
        Some("src/net/socket.rs")
    );
    let hit = &results(&index, "parse_cookie")[0];
    assert_eq!((hit.chunks[0].first, hit.chunks[0].last), (1, 6));
    assert!(hit.chunks[0].text.contains("fn parse_cookie"));
    assert!(hit.reasons.iter().any(|reason| reason.name() == "defines it"));
    assert_eq!(results(&index, ""), []);
    assert_eq!(results(&index, "?!"), []);
}

#[test]
fn a_scope_restricts_the_files() {
    let fixture = Fixture::new(&[
        ("src/cookies.rs", COOKIES),
        ("tests/cookies.rs", COOKIES),
        ("docs/cookies.md", "# The cookie header\n"),
    ]);
    let index = fixture.open();
    refresh(&index);
    let found = |scope: QueryScope<'_>| -> Vec<String> {
        let query = CodeQuery {
            text: "cookie header",
            scope,
            limit: 10,
            signals: RankingSignals::All,
        };
        index
            .search(&query)
            .unwrap()
            .into_iter()
            .map(|result| result.path)
            .collect()
    };
    let all = QueryScope::default();
    assert_eq!(found(all).len(), 3);
    assert_eq!(
        found(QueryScope {
            paths: &["tests"],
            ..all
        }),
        ["tests/cookies.rs"]
    );
    assert_eq!(
        found(QueryScope {
            paths: &["src/cookies.rs"],
            ..all
        }),
        ["src/cookies.rs"]
    );
    let both = QueryScope {
        paths: &["docs/", "tests"],
        ..all
    };
    assert_eq!(found(both).len(), 2);
    assert_eq!(found(QueryScope { paths: &["sr"], ..all }), [""; 0]);
    assert_eq!(
        found(QueryScope {
            extensions: &["md"],
            ..all
        }),
        ["docs/cookies.md"]
    );
    assert_eq!(
        found(QueryScope {
            kind: Some(QueryKind::Code),
            ..all
        }),
        ["src/cookies.rs"]
    );
    assert_eq!(
        found(QueryScope {
            kind: Some(QueryKind::Tests),
            ..all
        }),
        ["tests/cookies.rs"]
    );
}

#[test]
fn changed_new_and_deleted_files_are_updated_and_others_are_kept() {
    let fixture = Fixture::new(&[("a.rs", COOKIES), ("b.rs", SOCKETS)]);
    refresh(&fixture.open());
    let index = fixture.open();
    index.load();
    assert_eq!(index.status().files, 2);
    fixture.write("a.rs", "/// Draws a triangle on the canvas.\nfn draw_triangle() {}\n");
    fixture.write("c.rs", "/// Compresses a picture.\nfn compress_picture() {}\n");
    fs::remove_file(fixture.project.path().join("b.rs")).unwrap();
    let outcome = refresh(&index);
    assert_eq!((outcome.updated, outcome.removed, outcome.is_complete), (2, 1, true));
    assert_eq!(first(&index, "draw_triangle").as_deref(), Some("a.rs"));
    assert_eq!(first(&index, "compress_picture").as_deref(), Some("c.rs"));
    assert_eq!(
        results(&index, "accept_connections")
            .iter()
            .filter(|hit| hit.path == "b.rs")
            .count(),
        0
    );
    assert_eq!(fixture.open().status().files, 2);
}

#[test]
fn an_updated_index_answers_like_a_fresh_one() {
    let fixture = Fixture::new(&[("a.rs", COOKIES), ("b.rs", SOCKETS)]);
    let index = fixture.open();
    refresh(&index);
    for round in 0..40 {
        fixture.write(
            &format!("m{}.rs", round % 7),
            &format!("/// Handles case {round} of the cookie protocol.\nfn handle_case_{round}(listener: &str) {{}}\n"),
        );
        if round % 5 == 0 {
            fixture.write("b.rs", &format!("{SOCKETS}\n// Version {round}.\n"));
        }
        refresh(&index);
    }
    let other = tempfile::tempdir().unwrap();
    let fresh = CodeIndex::new(Workspace::open(fixture.project.path()).unwrap(), other.path());
    refresh(&fresh);
    assert!(index.status().segments < 20, "{:?}", index.status());
    for query in [
        "cookie protocol",
        "accept connections of a listener",
        "handle_case_39",
        "parse",
    ] {
        assert_eq!(results(&index, query), results(&fresh, query), "{query}");
        assert_eq!(results(&reopened(&fixture), query), results(&fresh, query), "{query}");
    }
}

fn reopened(fixture: &Fixture) -> CodeIndex {
    let index = fixture.open();
    index.load();
    index
}

#[test]
fn a_result_shows_the_current_text_without_an_update() {
    let fixture = Fixture::new(&[("a.rs", COOKIES), ("b.rs", SOCKETS)]);
    let index = fixture.open();
    refresh(&index);
    fixture.write("a.rs", &format!("// One.\n// Two.\n// Three.\n{COOKIES}"));
    let hit = results(&index, "parse_cookie").remove(0);
    assert_eq!((hit.path.as_str(), hit.chunks[0].last), ("a.rs", 9));
    fs::remove_file(fixture.project.path().join("a.rs")).unwrap();
    assert!(results(&index, "parse_cookie").iter().all(|hit| hit.path != "a.rs"));
}

#[test]
fn a_damaged_index_is_rebuilt_and_never_wrong() {
    let files: Vec<(String, String)> = (0..30)
        .map(|nth| {
            (
                format!("f{nth}.rs"),
                format!("/// Computes value {nth}.\nfn compute_value_{nth}() {{}}\n"),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let fixture = Fixture::new(&files);
    refresh(&fixture.open());
    let sound = fs::read(fixture.index_file()).unwrap();
    let mut damaged: Vec<Vec<u8>> = (0..40).map(|nth| sound[..sound.len() * nth / 40].to_vec()).collect();
    damaged.extend((0..40).map(|nth| {
        let mut bytes = sound.clone();
        let at = bytes.len() * nth / 40;
        bytes[at] ^= 1 << (nth % 8);
        bytes
    }));
    damaged.push(b"something else".to_vec());
    for bytes in damaged {
        // A writer never changes a mapped file in place.
        fs::remove_file(fixture.index_file()).unwrap();
        let path = fixture.open().status().path;
        fs::write(path, &bytes).unwrap();
        let index = fixture.open();
        assert!(refresh(&index).is_complete);
        assert_eq!(index.status().files, 30, "{} bytes", bytes.len());
        assert_eq!(first(&index, "compute_value_17").as_deref(), Some("f17.rs"));
    }
}

#[test]
fn an_index_that_cannot_be_written_is_kept_in_memory() {
    let fixture = Fixture::new(&[("a.rs", COOKIES)]);
    fs::write(fixture.cache.path().join("search"), "not a folder").unwrap();
    let index = fixture.open();
    assert!(refresh(&index).is_complete);
    assert_eq!(first(&index, "parse_cookie").as_deref(), Some("a.rs"));
    assert!(index.status().unsaved.is_some());
}

#[test]
fn two_indexes_of_a_project_see_each_others_updates() {
    let fixture = Fixture::new(&[("a.rs", COOKIES)]);
    let (one, other) = (fixture.open(), fixture.open());
    let fixture = &fixture;
    std::thread::scope(|scope| {
        for index in [&one, &other] {
            scope.spawn(move || {
                for round in 0..10 {
                    fixture.write("b.rs", &format!("fn round_{round}() {{}}\n"));
                    refresh(index);
                }
            });
        }
    });
    fixture.write("c.rs", SOCKETS);
    refresh(&one);
    assert_eq!(refresh(&other).updated, 0);
    for index in [&one, &other] {
        assert_eq!(index.status().files, 3);
        assert_eq!(first(index, "accept_connections").as_deref(), Some("c.rs"));
    }
}

#[test]
fn ignored_secret_binary_and_huge_files_and_links_are_not_indexed() {
    let fixture = Fixture::new(&[
        ("a.rs", COOKIES),
        (".gitignore", "ignored/\n"),
        ("ignored/b.rs", COOKIES),
        (".env", "COOKIE_SECRET=1\n"),
        ("data.rs", "cookie\0header"),
        ("minified.js", &format!("var cookie={};", "1+".repeat(20_000))),
    ]);
    let huge = fs::File::create(fixture.project.path().join("huge.txt")).unwrap();
    huge.set_len(500 * 1024 * 1024).unwrap();
    std::os::unix::fs::symlink("..", fixture.project.path().join("ignored/loop")).unwrap();
    std::os::unix::fs::symlink(".", fixture.project.path().join("loop")).unwrap();
    let strange = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"n\xFFme.rs");
    fs::write(fixture.project.path().join(strange), COOKIES).unwrap();
    let index = fixture.open();
    assert!(refresh(&index).is_complete);
    let paths: Vec<String> = results(&index, "cookie").into_iter().map(|hit| hit.path).collect();
    assert_eq!(paths.first().map(String::as_str), Some("a.rs"), "{paths:?}");
    for hidden in ["ignored/b.rs", ".env", "huge.txt", "data.rs"] {
        assert!(!paths.iter().any(|path| path == hidden), "{paths:?}");
    }
}

#[test]
fn a_second_worktree_starts_with_the_index_of_the_first() {
    let fixture = Fixture::new(&[
        ("a.rs", COOKIES),
        ("b.rs", SOCKETS),
        (".git/HEAD", "ref: refs/heads/main\n"),
    ]);
    fs::create_dir_all(fixture.project.path().join(".git/objects")).unwrap();
    fs::create_dir_all(fixture.project.path().join(".git/refs")).unwrap();
    refresh(&fixture.open());
    let admin = fixture
        .project
        .path()
        .canonicalize()
        .unwrap()
        .join(".git/worktrees/second");
    let second = tempfile::tempdir().unwrap();
    let worktree = second.path().canonicalize().unwrap();
    fs::create_dir_all(&admin).unwrap();
    fs::write(admin.join("HEAD"), "ref: refs/heads/second\n").unwrap();
    fs::write(admin.join("commondir"), "../..\n").unwrap();
    fs::write(admin.join("gitdir"), format!("{}\n", worktree.join(".git").display())).unwrap();
    fs::write(worktree.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
    fs::write(worktree.join("a.rs"), COOKIES).unwrap();
    fs::write(worktree.join("b.rs"), SOCKETS).unwrap();
    let index = CodeIndex::new(Workspace::open(Path::new(&worktree)).unwrap(), fixture.cache.path());
    let outcome = refresh(&index);
    assert_eq!((outcome.updated, outcome.is_complete), (0, true));
    assert_eq!(first(&index, "parse_cookie").as_deref(), Some("a.rs"));
}

#[test]
fn an_update_continues_after_its_caller_stops_waiting() {
    let fixture = Fixture::new(&[("src/cookies.rs", COOKIES), ("src/net/socket.rs", SOCKETS)]);
    let index = fixture.open();
    let first_wait = index.update_within(Duration::ZERO).unwrap();
    assert!(first_wait.is_none_or(|outcome| outcome.is_complete));
    let outcome = index.update_within(Duration::from_secs(60)).unwrap().unwrap();
    assert!(outcome.is_complete);
    assert_eq!(index.current().file_count(), 2);
    fixture.write("src/new.rs", COOKIES);
    let outcome = index.update_within(Duration::from_secs(60)).unwrap().unwrap();
    assert_eq!((outcome.updated, outcome.is_complete), (1, true));
    drop(index);
    assert_eq!(fixture.open().load().file_count(), 3);
}

#[test]
fn an_index_that_another_process_updates_is_searched_as_it_is() {
    let fixture = Fixture::new(&[("src/cookies.rs", COOKIES)]);
    refresh(&fixture.open());
    fixture.write("src/net/socket.rs", SOCKETS);
    let lock = fs::OpenOptions::new()
        .write(true)
        .open(fixture.index_file().with_extension("lock"))
        .unwrap();
    lock.lock().unwrap();
    let index = fixture.open();
    assert_eq!(refresh(&index), RefreshOutcome::default());
    assert!(index.status().progress.is_some());
    assert_eq!(first(&index, "parse_cookie").as_deref(), Some("src/cookies.rs"));
    assert_eq!(index.update_within(Duration::ZERO).unwrap(), None);
    drop(lock);
    let outcome = index.update_within(Duration::from_secs(60)).unwrap().unwrap();
    assert!(outcome.is_complete);
    fixture.write("src/new.rs", SOCKETS);
    assert_eq!(refresh(&index).updated, 1);
    assert_eq!(index.status().progress, None);
}

#[test]
fn a_fifo_or_a_folder_in_place_of_an_index_file_does_not_block() {
    for (extension, is_folder) in [("index", false), ("lock", false), ("new", false), ("index", true)] {
        let fixture = Fixture::new(&[("src/cookies.rs", COOKIES)]);
        refresh(&fixture.open());
        let path = fixture.index_file().with_extension(extension);
        fs::remove_file(fixture.index_file()).unwrap();
        drop(fs::remove_file(&path));
        match is_folder {
            true => fs::create_dir(&path).unwrap(),
            false => {
                let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
                assert!(made.success());
            }
        }
        let index = fixture.open();
        assert!(refresh(&index).is_complete, "{extension}");
        assert_eq!(
            first(&index, "parse_cookie").as_deref(),
            Some("src/cookies.rs"),
            "{extension}"
        );
    }
}
