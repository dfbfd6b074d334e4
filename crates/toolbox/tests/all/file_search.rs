//! Tests of grep and find_path.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::project::{TestProject, as_unprivileged_user};

fn tree() -> TestProject {
    let project = TestProject::with(&[
        (".gitignore", "target/\n"),
        ("src/main.rs", "fn main() {\n    Alpha::new();\n}\n"),
        ("src/alpha.rs", "struct Alpha;\n\nimpl Alpha {}\n"),
        ("notes.md", "alpha\n"),
        ("target/alpha.rs", "Alpha\n"),
    ]);
    project.put("data.bin", b"alpha\0");
    symlink("..", project.root.join("src/up")).unwrap();
    project
}

#[tokio::test]
async fn matches_are_grouped_by_file() {
    let project = tree();
    for (input, seen) in [
        (
            json!({"pattern": "alpha"}),
            "notes.md\n1:alpha\nsrc/alpha.rs\n1:struct Alpha;\n3:impl Alpha {}\nsrc/main.rs\n[in main]\n2:    Alpha::new();\n[4 matches in 3 files]",
        ),
        (
            json!({"pattern": "alpha", "case_sensitive": true}),
            "notes.md\n1:alpha\n[1 match in 1 file]",
        ),
        (
            json!({"pattern": "alpha", "include": "*.rs", "path": "src", "offset": 2}),
            "src/main.rs\n[in main]\n2:    Alpha::new();\n[3 matches in 2 files]",
        ),
        (
            json!({"pattern": "^impl", "context": 1}),
            "src/alpha.rs\n2-\n3:impl Alpha {}\n[1 match in 1 file]",
        ),
        (
            json!({"regex": "struct", "path": "src/alpha.rs"}),
            "src/alpha.rs\n1:struct Alpha;\n[1 match in 1 file]",
        ),
        (json!({"pattern": "omega"}), "[no matches]"),
        (
            json!({"pattern": "alpha", "offset": 9}),
            "[4 matches in 3 files; offset 9 is past the end]",
        ),
        (
            json!({"pattern": "new("}),
            "error: invalid regular expression \"new(\": unclosed group; this is Rust regex syntax: escape ( [ { . with \\ to match them literally",
        ),
        (
            json!({"pattern": "a", "include": "{a"}),
            "error: invalid glob \"{a\": unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
        ),
        (
            json!({"pattern": "a", "path": "missing"}),
            "error: missing does not exist",
        ),
    ] {
        assert_eq!(project.run("grep", input.clone()).await, seen, "{input}");
    }
}

#[tokio::test]
async fn context_of_distant_matches_is_separated() {
    let project = TestProject::with(&[("f", "1 x\n2\n3\n4\n5 x\n6\n")]);
    let seen = project.run("grep", json!({"pattern": "x", "context": 1})).await;
    assert_eq!(seen, "f\n1:1 x\n2-2\n--\n4-4\n5:5 x\n6-6\n[2 matches in 1 file]");
}

#[tokio::test]
async fn many_matches_are_paged() {
    let project = TestProject::with(&[("a", &"hit\n".repeat(150)), ("b", &"hit\n".repeat(100))]);
    let first = project.run("grep", json!({"pattern": "hit"})).await;
    assert!(
        first.ends_with("\n100:hit\n[1-100 of 250 matches in 2 files; continue with offset 100]"),
        "{first}"
    );
    let second = project.run("grep", json!({"pattern": "hit", "offset": 100})).await;
    assert!(second.starts_with("a\n101:hit\n") && second.contains("\nb\n1:hit\n"));
    let third = project.run("grep", json!({"pattern": "hit", "offset": "200"})).await;
    assert!(third.starts_with("b\n51:hit\n") && third.ends_with("\n100:hit\n[250 matches in 2 files]"));
}

#[tokio::test]
async fn a_large_page_ends_early_with_the_next_offset() {
    let line = format!("hit {}\n", "x".repeat(600));
    let project = TestProject::with(&[("a", &line.repeat(60)), ("b", &line.repeat(60))]);
    let mut offset = 0;
    let mut lines = Vec::new();
    for _ in 0..9 {
        let page = project
            .run("grep", json!({"pattern": "hit", "offset": offset, "context": 1}))
            .await;
        assert!(page.len() < 45_000, "{}", page.len());
        let file_lines = page
            .lines()
            .filter(|line| line.contains(":hit ") && line.ends_with('…'));
        lines.extend(file_lines.map(|line| line.split(':').next().unwrap().to_owned()));
        match page.rsplit_once("continue with offset ") {
            Some((_, rest)) => offset = rest.trim_end_matches(']').parse().unwrap(),
            None => break,
        }
    }
    let all: Vec<String> = (1..=60).chain(1..=60).map(|number: usize| number.to_string()).collect();
    assert_eq!(lines, all);
}

#[tokio::test]
async fn paths_are_found_by_glob() {
    let project = tree();
    fs::write(project.root.join(OsStr::from_bytes(b"n\xE4me.txt")), "").unwrap();
    for (input, seen) in [
        (json!({"pattern": "*.rs"}), "src/alpha.rs\nsrc/main.rs\n[2 paths]"),
        (json!({"pattern": "src"}), "src/\n[1 path]"),
        (json!({"pattern": "src/*.rs", "offset": 1}), "src/main.rs\n[2 paths]"),
        (
            json!({"pattern": "*.rs", "path": "target"}),
            "target/alpha.rs\n[1 path]",
        ),
        (json!({"pattern": "*.txt"}), "n\u{FFFD}me.txt\n[1 path]"),
        (json!({"pattern": "*.c"}), "[nothing found]"),
        (
            json!({"pattern": "*.rs", "offset": 7}),
            "[2 paths in all; offset 7 is past the end]",
        ),
        (
            json!({"pattern": "*", "path": "notes.md"}),
            "error: notes.md: a part of this path is a file, not a directory",
        ),
        (
            json!({"pattern": "[a"}),
            "error: invalid glob \"[a\": unclosed character class; missing ']'",
        ),
    ] {
        assert_eq!(project.run("find_path", input.clone()).await, seen, "{input}");
    }
    for number in 0..130 {
        project.put(&format!("many/{number:03}.c"), "");
    }
    let page = project.run("find_path", json!({"pattern": "*.c"})).await;
    assert!(
        page.ends_with("\nmany/099.c\n[1-100 of 130; continue with offset 100]"),
        "{page}"
    );
    let page = project.run("find_path", json!({"pattern": "*.c", "offset": 100})).await;
    assert!(
        page.starts_with("many/100.c\n") && page.ends_with("\nmany/129.c\n[130 paths]"),
        "{page}"
    );
}

#[test]
fn unreadable_paths_are_counted() {
    let project = TestProject::with(&[("open", "x\n"), ("shut", "x\n"), ("closed/inner", "x\n")]);
    for path in ["shut", "closed"] {
        fs::set_permissions(project.root.join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let result = as_unprivileged_user(async {
        let found = project.run("find_path", json!({"pattern": "inner"})).await;
        [found, project.run("grep", json!({"pattern": "x"})).await]
    });
    fs::set_permissions(project.root.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    let expected = [
        "[nothing found; 1 file or folder could not be read]",
        "open\n1:x\n[1 match in 1 file; 2 files or folders could not be read]",
    ];
    assert_eq!(result, expected);
}

#[tokio::test]
async fn matches_show_the_enclosing_definition() {
    let code = "use x;\n\nimpl Parser {\n    fn next(&mut self) {\n        hit();\n        hit();\n    }\n\n    fn peek(&self) {\n        hit();\n    }\n}\n\nfn hit() {}\n";
    let project = TestProject::with(&[("a.rs", code), ("b.txt", "hit\n")]);
    let seen = project.run("grep", json!({"pattern": r"\bhit\b"})).await;
    assert_eq!(
        seen,
        "a.rs\n[in Parser::next]\n5:        hit();\n6:        hit();\n[in Parser::peek]\n10:        hit();\n14:fn hit() {}\nb.txt\n1:hit\n[5 matches in 2 files]"
    );
    let seen = project
        .run(
            "grep",
            json!({"pattern": "hit", "context": 1, "path": "a.rs", "limit": 3}),
        )
        .await;
    assert_eq!(
        seen,
        "a.rs\n[in Parser::next]\n4-    fn next(&mut self) {\n5:        hit();\n6:        hit();\n7-    }\n--\n[in Parser::peek]\n9-    fn peek(&self) {\n10:        hit();\n11-    }\n[1-3 of 4 matches in 1 file; continue with offset 3]"
    );
    for number in 0..9 {
        project.put(&format!("many/{number}.rs"), "fn f() {\n    many();\n}\n");
    }
    let broad = project.run("grep", json!({"pattern": "many"})).await;
    assert!(!broad.contains("[in "), "{broad}");
}

#[tokio::test]
async fn grep_filters_by_type_and_accepts_arguments_of_other_agents() {
    let project = tree();
    for (input, seen) in [
        (
            json!({"pattern": "alpha", "type": "markdown"}),
            "notes.md\n1:alpha\n[1 match in 1 file]",
        ),
        (json!({"pattern": "alpha", "type": "python"}), "[no matches]"),
        (
            json!({"pattern": "alpha", "type": "rus"}),
            "error: unknown file type \"rus\"; did you mean rust?",
        ),
        (
            json!({"query": "new()", "isRegexp": false}),
            "src/main.rs\n[in main]\n2:    Alpha::new();\n[1 match in 1 file]",
        ),
        (
            json!({"pattern": "Alpha;.*impl", "multiline": true}),
            "src/alpha.rs\n1:struct Alpha;\n2:\n3:impl Alpha {}\n[1 match in 1 file]",
        ),
        (
            json!({"pattern": "a", "path": "notes.md", "-C": 1}),
            "notes.md\n1:alpha\n[1 match in 1 file]",
        ),
    ] {
        assert_eq!(project.run("search_files", input.clone()).await, seen, "{input}");
    }
    for alias in ["grep_search", "ripgrep", "search_file_content"] {
        assert_eq!(project.run(alias, json!({"pattern": "omega"})).await, "[no matches]");
    }
    for alias in ["glob", "file_search"] {
        assert_eq!(project.run(alias, json!({"glob": "*.md"})).await, "notes.md\n[1 path]");
    }
}
