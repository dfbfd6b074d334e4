//! Listing, finding and searching files.

#![allow(clippy::unwrap_used, reason = "a failed preparation is a failed test")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use rustix::process::{Uid, geteuid};
use workspace::{
    CaseSensitivity, EntryKind, Error, FindMatches, FindQuery, GrepLineKind, GrepMatches, GrepQuery, IgnoreStatus,
    IgnoredFiles, ListEntry, Location, ResultPage, SearchEnd, StopSignal, Workspace,
};

struct Project {
    dir: tempfile::TempDir,
    workspace: Workspace,
}

fn project(files: &[(&str, &str)]) -> Project {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (path, content) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let workspace = Workspace::open(dir.path()).unwrap();
    Project { dir, workspace }
}

impl Project {
    fn at(&self, path: &str) -> Location {
        self.workspace.locate(path).unwrap()
    }

    fn find(&self, path: &str, pattern: &str) -> Vec<String> {
        let page = ResultPage { offset: 0, limit: 100 };
        self.at(path)
            .find(&FindQuery::new(pattern, page), &stop_signal())
            .unwrap()
            .paths
    }

    fn grep(&self, path: &str, grep: GrepQuery<'_>) -> GrepMatches {
        self.at(path).grep(&grep, &stop_signal()).unwrap()
    }
}

fn stop_signal() -> StopSignal {
    StopSignal::after(Duration::from_secs(60))
}

fn pattern(pattern: &str) -> GrepQuery<'_> {
    let page = ResultPage { offset: 0, limit: 100 };
    GrepQuery {
        pattern,
        exclude: None,
        case: CaseSensitivity::Insensitive,
        include: None,
        kind: None,
        ignored: IgnoredFiles::Skip,
        context: 0,
        page,
        max_line: 500,
        multiline: false,
    }
}

/// Matches as `path:line:text`, context lines as `path-line-text`.
fn rendered(matches: &GrepMatches) -> Vec<String> {
    let lines = matches
        .files
        .iter()
        .flat_map(|file| file.lines.iter().map(move |line| (file, line)));
    lines
        .map(|(file, line)| {
            let mark = match line.kind {
                GrepLineKind::Match | GrepLineKind::Inside => ':',
                GrepLineKind::Context => '-',
            };
            format!("{}{mark}{}{mark}{}", file.path, line.number, line.text)
        })
        .collect()
}

fn tree() -> Project {
    project(&[
        (".gitignore", "/target\n*.log\n"),
        (".hewignore", "private/\n"),
        (".github/workflows/ci.yml", "on: push\n"),
        (".git/config", "[core] Alpha\n"),
        ("README.md", "alpha\nbeta\n"),
        ("src/main.rs", "fn main() {\n    alpha();\n}\n"),
        ("src/deep/mod.rs", "// ALPHA\n"),
        ("private/key.rs", "alpha\n"),
        ("target/out.rs", "alpha\n"),
        ("debug.log", "alpha\n"),
    ])
}

#[test]
fn a_listing_shows_folders_first_and_marks_ignored_entries() {
    let project = tree();
    let listing = project.at("").list(100).unwrap();
    let entry = |name: &str, kind, tracked| ListEntry {
        name: name.into(),
        kind,
        ignore_status: tracked,
    };
    let expected = [
        entry(".git", EntryKind::Directory, IgnoreStatus::Ignored),
        entry(".github", EntryKind::Directory, IgnoreStatus::Yes),
        entry("private", EntryKind::Directory, IgnoreStatus::Ignored),
        entry("src", EntryKind::Directory, IgnoreStatus::Yes),
        entry("target", EntryKind::Directory, IgnoreStatus::Ignored),
        entry(".gitignore", EntryKind::File { size: 14 }, IgnoreStatus::Yes),
        entry(".hewignore", EntryKind::File { size: 9 }, IgnoreStatus::Yes),
        entry("README.md", EntryKind::File { size: 11 }, IgnoreStatus::Yes),
        entry("debug.log", EntryKind::File { size: 6 }, IgnoreStatus::Ignored),
    ];
    assert_eq!((listing.entries.as_slice(), listing.total), (&expected[..], 9));
    let short = project.at("").list(2).unwrap();
    assert_eq!((short.entries.as_slice(), short.total), (&expected[..2], 9));
    assert!(matches!(
        project.at("README.md").list(9),
        Err(Error::NotADirectory { .. })
    ));
    assert!(matches!(project.at("missing").list(9), Err(Error::Missing { .. })));
}

#[test]
fn a_glob_matches_names_anywhere_and_paths_from_the_searched_folder() {
    let project = tree();
    let absolute = format!("{}/src/*.rs", project.workspace.root().display());
    for (path, pattern, found) in [
        ("", "*.rs", vec!["src/deep/mod.rs", "src/main.rs"]),
        ("", "*.{md,yml}", vec![".github/workflows/ci.yml", "README.md"]),
        ("", "src/*.rs", vec!["src/main.rs"]),
        ("", "./src/**/*.rs", vec!["src/deep/mod.rs", "src/main.rs"]),
        ("", "**/deep/**", vec!["src/deep/mod.rs"]),
        ("", "deep", vec!["src/deep/"]),
        ("", "*.RS", vec![]),
        ("src", "deep/*", vec!["src/deep/mod.rs"]),
        ("", &absolute, vec!["src/main.rs"]),
        ("target", "*.rs", vec!["target/out.rs"]),
        ("", "config", vec![]),
    ] {
        assert_eq!(project.find(path, pattern), found, "{path:?} {pattern:?}");
    }
    let page = ResultPage { offset: 0, limit: 9 };
    let bad = project
        .at("")
        .find(&FindQuery::new("a[", page), &stop_signal())
        .unwrap_err();
    assert_eq!(bad.to_string(), "invalid glob \"a[\"");
}

#[test]
fn found_paths_are_paged_in_a_stable_order() {
    let names: Vec<String> = (0..250)
        .map(|number| format!("d{}/f{number:03}.txt", number % 7))
        .collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let project = project(&files);
    let mut sorted = names.clone();
    sorted.sort();
    let mut seen = Vec::new();
    for offset in (0..300).step_by(100) {
        let page = ResultPage { offset, limit: 100 };
        let found = project
            .at("")
            .find(&FindQuery::new("*.txt", page), &stop_signal())
            .unwrap();
        assert_eq!((found.total, found.ended), (250, SearchEnd::Complete));
        seen.extend(found.paths);
    }
    assert_eq!(seen, sorted);
}

#[test]
fn only_visible_files_are_searched() {
    let project = tree();
    let everywhere = project.grep("", pattern("alpha"));
    assert_eq!(
        rendered(&everywhere),
        [
            "README.md:1:alpha",
            "src/deep/mod.rs:1:// ALPHA",
            "src/main.rs:2:    alpha();"
        ]
    );
    assert_eq!((everywhere.shown, everywhere.total, everywhere.total_files), (3, 3, 3));
    let exact = project.grep(
        "",
        GrepQuery {
            case: CaseSensitivity::Sensitive,
            ..pattern("ALPHA")
        },
    );
    assert_eq!(rendered(&exact), ["src/deep/mod.rs:1:// ALPHA"]);
    let included = project.grep(
        "",
        GrepQuery {
            include: Some("src/*.rs"),
            ..pattern("alpha")
        },
    );
    assert_eq!(rendered(&included), ["src/main.rs:2:    alpha();"]);
    // An explicitly named path is searched even if ignored.
    assert_eq!(
        rendered(&project.grep("debug.log", pattern("alpha"))),
        ["debug.log:1:alpha"]
    );
    assert_eq!(
        rendered(&project.grep("target", pattern("alpha"))),
        ["target/out.rs:1:alpha"]
    );
    assert_eq!(rendered(&project.grep("", pattern("nowhere"))), [""; 0]);
}

#[test]
fn overlapping_context_lines_are_returned_once() {
    let project = project(&[("f", "1\n2 x\n3\n4 x\n5\n6\n7\n8 x\n")]);
    let near = project.grep(
        "",
        GrepQuery {
            context: 1,
            ..pattern("x")
        },
    );
    assert_eq!(
        rendered(&near),
        ["f-1-1", "f:2:2 x", "f-3-3", "f:4:4 x", "f-5-5", "f-7-7", "f:8:8 x"]
    );
    let page = ResultPage { offset: 1, limit: 1 };
    let second = project.grep(
        "",
        GrepQuery {
            context: 1,
            page,
            ..pattern("x")
        },
    );
    assert_eq!(rendered(&second), ["f-3-3", "f:4:4 x", "f-5-5"]);
}

#[test]
fn a_search_may_ignore_case_include_ignored_files_and_leave_out_lines() {
    let project = tree();
    let page = ResultPage { offset: 0, limit: 100 };
    let find = |query: &FindQuery<'_>| project.at("").find(query, &stop_signal()).unwrap().paths;
    let mut query = FindQuery::new("*.RS", page);
    assert!(find(&query).is_empty());
    query.case = CaseSensitivity::Insensitive;
    assert_eq!(find(&query), ["src/deep/mod.rs", "src/main.rs"]);
    // `.hewignore` still applies.
    query.ignored = IgnoredFiles::IncludeGit;
    assert_eq!(find(&query), ["src/deep/mod.rs", "src/main.rs", "target/out.rs"]);
    let grep = GrepQuery {
        ignored: IgnoredFiles::IncludeGit,
        exclude: Some(r"\(|//"),
        ..pattern("alpha")
    };
    let found = project.grep("", grep);
    assert_eq!(
        rendered(&found),
        ["README.md:1:alpha", "debug.log:1:alpha", "target/out.rs:1:alpha"]
    );
    assert_eq!((found.total, found.total_files), (3, 3));
}

#[test]
fn a_path_or_glob_may_begin_with_the_name_of_the_root() {
    let project = tree();
    let name = project
        .workspace
        .root()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let located = |path: &str| project.at(&path.replace("NAME", &name)).shown().into_owned();
    assert_eq!(located("NAME/src/main.rs"), "src/main.rs");
    assert_eq!(located("NAME/new.rs"), format!("{name}/new.rs"));
    assert_eq!(located("NAME"), name);
    assert_eq!(project.find("", &format!("{name}/src/*.rs")), ["src/main.rs"]);
    fs::create_dir(project.dir.path().join(&name)).unwrap();
    assert_eq!(located("NAME/src/main.rs"), format!("{name}/src/main.rs"));
    assert!(project.find("", &format!("{name}/src/*.rs")).is_empty());
}

#[test]
fn matches_are_paged_in_a_stable_order() {
    let content = "hit\n".repeat(40);
    let names: Vec<String> = (0..60).map(|number| format!("d{}/f{number:02}", number % 5)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), content.as_str())).collect();
    let project = project(&files);
    let mut sorted = names.clone();
    sorted.sort();
    let all: Vec<String> = sorted
        .iter()
        .flat_map(|name| (1..=40).map(move |line| format!("{name}:{line}:hit")))
        .collect();
    let mut seen = Vec::new();
    for offset in (0..=2_400).step_by(100) {
        let page = ResultPage { offset, limit: 100 };
        let matches = project.grep("", GrepQuery { page, ..pattern("hit") });
        assert_eq!((matches.total, matches.total_files), (2_400, 60));
        seen.extend(rendered(&matches));
    }
    assert_eq!(seen, all);
}

#[test]
fn binary_and_invalid_files_do_not_disturb_a_search() {
    let project = project(&[("text", "needle\n"), ("crlf", "needle\r\nother\r\n")]);
    let root = project.dir.path();
    fs::write(root.join("binary"), b"needle\n\0\x01\x02").unwrap();
    fs::write(root.join("late-binary"), [b"needle\n".repeat(40_000), vec![0]].concat()).unwrap();
    fs::write(root.join("latin1"), b"caf\xE9 needle\n").unwrap();
    fs::write(root.join("utf16"), b"\xFF\xFEn\0e\0e\0d\0l\0e\0\n\0").unwrap();
    fs::write(
        root.join("minified"),
        format!("{}needle{}", "a".repeat(9_000), "b".repeat(9_000)),
    )
    .unwrap();
    fs::write(root.join(OsStr::from_bytes(b"n\xE4me")), "needle\n").unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("..", root.join("up")).unwrap();
    let matches = project.grep(
        "",
        GrepQuery {
            max_line: 40,
            ..pattern("needle$|needleb")
        },
    );
    let expected = [
        "crlf:1:needle",
        "latin1:1:caf\u{FFFD} needle",
        "minified:1:…aaaaaaaaaaneedlebbbbbbbbbbbbbbbbbbbbbbbb…",
        "n\u{FFFD}me:1:needle",
        "text:1:needle",
        "utf16:1:needle",
    ];
    assert_eq!(rendered(&matches), expected);
    let paths = project.find("", "*");
    assert!(paths.contains(&"n\u{FFFD}me".to_owned()) && paths.contains(&"loop".to_owned()));
}

#[test]
fn an_invalid_pattern_is_reported_with_the_reason() {
    let project = tree();
    for (text, message) in [
        ("foo(", "invalid regular expression \"foo(\": unclosed group"),
        (
            "a\\nb",
            "invalid regular expression \"a\\\\nb\": the literal \"\\n\" is not allowed in a regex",
        ),
    ] {
        let error = project.at("").grep(&pattern(text), &stop_signal()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    assert!(matches!(
        project.at("missing").grep(&pattern("x"), &stop_signal()),
        Err(Error::Missing { .. })
    ));
}

#[test]
fn a_search_ends_at_its_deadline_or_when_cancelled() {
    let project = tree();
    let find = FindQuery::new("*", ResultPage { offset: 0, limit: 9 });
    let late = StopSignal::after(Duration::ZERO);
    assert_eq!(project.at("").find(&find, &late).unwrap().ended, SearchEnd::TimedOut);
    assert_eq!(
        project.at("").grep(&pattern("alpha"), &late).unwrap().ended,
        SearchEnd::TimedOut
    );
    assert_eq!(
        project.at("README.md").grep(&pattern("alpha"), &late).unwrap().ended,
        SearchEnd::TimedOut
    );
    let cancelled = stop_signal();
    drop(cancelled.on_drop());
    assert!(matches!(project.at("").find(&find, &cancelled), Err(Error::Cancelled)));
    assert!(matches!(
        project.at("").grep(&pattern("alpha"), &cancelled),
        Err(Error::Cancelled)
    ));
}

#[test]
fn unreadable_entries_are_counted() {
    let project = project(&[("open", "x\n"), ("closed/inner", "x\n"), ("shut", "x\n")]);
    let root = project.dir.path();
    for path in ["closed", "shut"] {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let (found, matches) = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if geteuid().is_root() {
                rustix::thread::set_thread_uid(Uid::from_raw(65_534)).unwrap();
            }
            let find = FindQuery::new("*", ResultPage { offset: 0, limit: 9 });
            (
                project.at("").find(&find, &stop_signal()).unwrap(),
                project.grep("", pattern("x")),
            )
        });
        thread.join().unwrap()
    });
    fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    let paths = ["closed/", "open", "shut"].map(str::to_owned).to_vec();
    assert_eq!(
        found,
        FindMatches {
            paths,
            total: 3,
            ended: SearchEnd::Complete,
            unreadable: 1
        }
    );
    assert_eq!(
        (rendered(&matches), matches.unreadable),
        (vec!["open:1:x".to_owned()], 2)
    );
}

#[test]
fn a_search_is_restricted_by_type_name_or_extension() {
    let project = project(&[
        ("a.rs", "x\n"),
        ("b.py", "x\n"),
        ("c.pyi", "x\n"),
        ("d.ts", "x\n"),
        ("Makefile", "x\n"),
    ]);
    for (kind, found) in [
        ("rust", "a.rs"),
        ("Python", "b.py c.pyi"),
        (".ts", "d.ts"),
        ("*.pyi", "b.py c.pyi"),
        ("make", "Makefile"),
        ("golang", ""),
    ] {
        let matches = project.grep(
            "",
            GrepQuery {
                kind: Some(kind),
                ..pattern("x")
            },
        );
        let paths: Vec<&str> = matches.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths.join(" "), found, "{kind}");
    }
    let folder = project.at("");
    let error = folder
        .grep(
            &GrepQuery {
                kind: Some("rustt"),
                ..pattern("x")
            },
            &stop_signal(),
        )
        .unwrap_err();
    assert!(error.to_string().starts_with("unknown file type \"rustt\""), "{error}");
    assert!(error.to_string().contains("rust"), "{error}");
}

#[test]
fn a_multiline_search_matches_across_lines() {
    let project = project(&[("f", "a {\n  b\n}\nc\na {\n}\n")]);
    let over = |limit| GrepQuery {
        multiline: true,
        page: ResultPage { offset: 0, limit },
        ..pattern(r"a \{.*?\}")
    };
    let matches = project.grep("", over(9));
    assert_eq!((matches.total, matches.shown), (2, 2));
    let lines: Vec<(u64, GrepLineKind)> = matches.files[0]
        .lines
        .iter()
        .map(|line| (line.number, line.kind))
        .collect();
    let expected = [
        (1, GrepLineKind::Match),
        (2, GrepLineKind::Inside),
        (3, GrepLineKind::Inside),
        (5, GrepLineKind::Match),
        (6, GrepLineKind::Inside),
    ];
    assert_eq!(lines, expected);
    assert_eq!(project.grep("", over(1)).files[0].lines.len(), 3);
}

#[test]
fn files_are_listed_without_ignored_ones_and_links() {
    let project = project(&[
        (".gitignore", "out/\n"),
        ("b.rs", ""),
        ("a/c.rs", ""),
        ("out/d.rs", ""),
        ("e.txt", ""),
    ]);
    let is_rust = |path: &std::path::Path| path.extension().is_some_and(|ending| ending == "rs");
    let files = project.at("").files(&is_rust, 1, &stop_signal()).unwrap();
    assert_eq!(
        (files.total, files.ended, files.unreadable),
        (2, SearchEnd::Complete, 0)
    );
    assert_eq!(
        files
            .files
            .iter()
            .map(|file| file.shown().into_owned())
            .collect::<Vec<_>>(),
        ["a/c.rs"]
    );
}

#[test]
fn hidden_paths_are_not_listed_found_searched_or_suggested() {
    let Project { dir, workspace } = project(&[
        ("secret.txt", "needle\n"),
        ("open.txt", "needle\n"),
        ("keys/deep/a.txt", "needle\n"),
    ]);
    let root = workspace.root().to_owned();
    let (secret, keys) = (root.join("secret.txt"), root.join("keys"));
    let workspace = workspace.hiding_paths(move |path| path == secret || path.starts_with(&keys));
    let project = Project { dir, workspace };
    let entries = project.at("").list(100).unwrap().entries;
    assert_eq!(
        entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(),
        ["open.txt"]
    );
    assert_eq!(project.find("", "*.txt"), ["open.txt"]);
    assert_eq!(rendered(&project.grep("", pattern("needle"))), ["open.txt:1:needle"]);
    let error = project.at("secrets.txt").fingerprint().unwrap_err().to_string();
    assert!(
        !error.contains("secret.txt,") && !error.contains("secret.txt?"),
        "{error}"
    );
    let mut hidden = project.workspace.hidden(10).paths;
    hidden.sort();
    assert_eq!(hidden, [root.join("keys"), root.join("secret.txt")]);
}
