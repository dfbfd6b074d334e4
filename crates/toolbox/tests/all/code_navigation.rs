//! Tests of code_definitions, definition and references.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::json;
use toolbox::{CodeLocation, CodeServer, Diagnostic, DiagnosticSeverity, Options, SymbolQuery};

use crate::project::{TestProject, as_unprivileged_user};

const PARSER: &str = "pub struct Parser;\n\nimpl Parser {\n    pub fn next(&mut self) -> u8 {\n        1\n    }\n}\n";
const MAIN: &str =
    "mod parser;\n\nfn main() {\n    // next\n    let p = parser::Parser;\n    p.next();\n    println!(\"next\");\n}\n";
const TOOL: &str = "class Tool:\n    def next(self):\n        return self.next()\n";

fn code() -> TestProject {
    let project = TestProject::with(&[
        (".gitignore", "target/\n"),
        ("src/parser.rs", PARSER),
        ("src/main.rs", MAIN),
        ("tool.py", TOOL),
        ("target/x.rs", "fn next() {}\n"),
        ("notes.md", "# Notes\nnext\n"),
        ("data.json", "{\"a\": 1}\n"),
    ]);
    symlink("..", project.root.join("src/up")).unwrap();
    project
}

#[tokio::test]
async fn a_file_outline_has_the_lines_of_each_definition() {
    let project = code();
    for (input, seen) in [
        (
            json!({"path": "src/parser.rs"}),
            "1 pub struct Parser;\n3-7 impl Parser {\n  4-6 pub fn next(&mut self) -> u8 {\n[Rust, 7 lines]",
        ),
        (json!({"path": "notes.md"}), "1-2 # Notes\n[Markdown, 2 lines]"),
        (
            json!({"path": ".gitignore"}),
            "error: .gitignore is in an unsupported language; use read_file",
        ),
        (
            json!({"path": "src/nothing.rs"}),
            "error: src/nothing.rs does not exist",
        ),
    ] {
        assert_eq!(project.run("code_definitions", input.clone()).await, seen, "{input}");
    }
}

#[tokio::test]
async fn a_directory_outline_is_paged_by_file() {
    let project = code();
    for alias in [
        "code_definitions",
        "list_code_definition_names",
        "get_symbols",
        "document_symbols",
    ] {
        let seen = project.run(alias, json!({})).await;
        assert_eq!(
            seen,
            "src/main.rs\n  1 mod parser;\n  3-8 fn main() {\nsrc/parser.rs\n  1 pub struct Parser;\n  3-7 impl Parser {\n    4-6 pub fn next(&mut self) -> u8 {\ntool.py\n  1-3 class Tool:\n    2-3 def next(self):\n[3 source files]"
        );
    }
    let seen = project
        .run("code_definitions", json!({"path": "src", "offset": 1}))
        .await;
    assert!(
        seen.starts_with("src/parser.rs\n") && seen.ends_with("[2 source files]"),
        "{seen}"
    );
    let seen = project.run("code_definitions", json!({"offset": 9})).await;
    assert_eq!(seen, "[3 source files; offset 9 is past the end]");
    let empty = TestProject::with(&[("a.txt", "")]);
    assert_eq!(empty.run("code_definitions", json!({})).await, "[no source files here]");

    for number in 0..300 {
        let text: String = (0..30)
            .map(|line| format!("def function_{number}_{line}(argument): pass\n"))
            .collect();
        project.put(&format!("many/{number:03}.py"), text);
    }
    let (mut offset, mut files) = (0, 0);
    for _ in 0..99 {
        let page = project
            .run("code_definitions", json!({"path": "many", "offset": offset}))
            .await;
        assert!(page.len() < 40_000, "{}", page.len());
        files += page.lines().filter(|line| line.starts_with("many/")).count();
        match page.rsplit_once("continue with offset ") {
            Some((_, rest)) => offset = rest.trim_end_matches(']').parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(files, 300);
}

#[tokio::test]
async fn large_binary_and_broken_files_are_truncated_or_rejected() {
    let project = TestProject::with(&[]);
    project.put("long.py", "def f(): pass\n".repeat(5_000));
    project.put("binary.rs", b"fn a() {}\0");
    project.put("latin.rs", b"fn a() {} // \xE4 \xC3\xBC\n");
    project.put("huge.rs", "fn a() {}\n".repeat(900_000));
    project.put("broken.rs", "fn a( {\n\nfn b() {}\n");
    project.put("empty.rs", "");
    fs::write(project.root.join(OsStr::from_bytes(b"n\xE4me.rs")), "fn n() {}\n").unwrap();
    let long = project.run("code_definitions", json!({"path": "long.py"})).await;
    assert!(
        long.len() < 48_000 && long.ends_with("[Python, 5000 lines; 4600 more inside or after these]"),
        "{long}"
    );
    for (path, seen) in [
        (
            "binary.rs",
            "error: binary.rs is a binary file (10 bytes); inspect it with terminal if needed",
        ),
        (
            "latin.rs",
            "error: latin.rs is not UTF-8 text: invalid bytes in line 1; inspect it with terminal if needed",
        ),
        (
            "huge.rs",
            "error: huge.rs: the file is too long for an outline (9000000 bytes; the limit is 8388608); use grep",
        ),
        ("empty.rs", "[Rust, 0 lines; no definitions]"),
    ] {
        assert_eq!(project.run("code_definitions", json!({"path": path})).await, seen);
    }
    assert!(
        project
            .run("code_definitions", json!({"path": "broken.rs"}))
            .await
            .contains("3 fn b() {}")
    );
    let all = project.run("code_definitions", json!({})).await;
    for part in [
        "binary.rs [not UTF-8 text]\n",
        "huge.rs [the file is too long",
        "latin.rs [not UTF-8 text]\n",
        "n\u{FFFD}me.rs\n  1 fn n() {}\n",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn code_tools_request_approval_for_the_paths_that_they_read() {
    let project = TestProject::with(&[
        ("a.rs", "fn f() {}\n"),
        ("b.rs", "fn g() { f() }\n"),
        ("closed/c.rs", "fn f() {}\n"),
    ]);
    for path in ["b.rs", "closed"] {
        fs::set_permissions(project.root.join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let result = as_unprivileged_user(async {
        [
            project.run("code_definitions", json!({"path": "b.rs"})).await,
            project.run("code_definitions", json!({})).await,
            project.run("references", json!({"symbol": "f"})).await,
        ]
    });
    fs::set_permissions(project.root.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    let expected = [
        "error: permission denied: b.rs",
        "a.rs\n  1 fn f() {}\nb.rs [permission denied]\n[2 source files; 1 file or folder could not be read]",
        "a.rs\n1:fn f() {} [definition]\n[1 line in 1 file; 2 files or folders could not be read]",
    ];
    assert_eq!(result, expected);
}

#[tokio::test]
async fn a_definition_is_found_by_name() {
    let project = code();
    for (input, seen) in [
        (
            json!({"symbol": "next"}),
            "src/parser.rs:4-6 pub fn next(&mut self) -> u8 { [in Parser]\ntool.py:2-3 def next(self): [in Tool]\n[2 definitions]",
        ),
        (
            json!({"symbol": "Parser::next"}),
            "src/parser.rs:4-6 pub fn next(&mut self) -> u8 { [in Parser]\n[1 definition]",
        ),
        (
            json!({"symbol": "Tool.next()"}),
            "tool.py:2-3 def next(self): [in Tool]\n[1 definition]",
        ),
        (
            json!({"symbol": "next", "path": "tool.py", "line": 3}),
            "tool.py:2-3 def next(self): [in Tool]\nsrc/parser.rs:4-6 pub fn next(&mut self) -> u8 { [in Parser]\n[2 definitions]",
        ),
        (
            json!({"symbol": "Parser"}),
            "src/parser.rs:1 pub struct Parser;\n[1 definition]",
        ),
        (
            json!({"symbol": "println"}),
            "[println is not defined in this project, but used 1 time]",
        ),
        (
            json!({"symbol": "absent"}),
            "[absent is not in the code of this project]",
        ),
        (
            json!({"symbol": " :: "}),
            "error: symbol is empty; give the name of a function, type or the like",
        ),
        (
            json!({"symbol": "next", "path": "~/x"}),
            "error: ~/x: `~` is not expanded; use an absolute path or a path relative to the project",
        ),
    ] {
        assert_eq!(project.run("definition", input.clone()).await, seen, "{input}");
    }
    for alias in ["go_to_definition", "find_definition", "find_symbol"] {
        assert!(
            project
                .run(alias, json!({"name": "Parser"}))
                .await
                .ends_with("[1 definition]")
        );
    }
}

#[tokio::test]
async fn references_ignore_comments_strings_and_prose() {
    let project = code();
    let seen = project.run("references", json!({"symbol": "next"})).await;
    assert_eq!(
        seen,
        "src/main.rs\n6:p.next(); [in main]\nsrc/parser.rs\n4:pub fn next(&mut self) -> u8 { [definition]\ntool.py\n2:def next(self): [definition]\n3:return self.next() [in Tool::next]\n[4 lines in 3 files]"
    );
    for alias in ["find_references", "find_usages", "list_code_usages", "lsp_references"] {
        assert_eq!(project.run(alias, json!({"symbol": "next"})).await, seen);
    }
    project.put("log.txt", "Parser\n");
    assert!(
        project
            .run("references", json!({"symbol": "Parser"}))
            .await
            .ends_with("[3 lines in 2 files; also in 1 file outside of code; grep shows them]")
    );
    project.put("many.py", "hit()\n".repeat(250));
    let first = project.run("references", json!({"symbol": "hit"})).await;
    assert!(
        first.ends_with("\n100:hit()\n[1-100 of 250 lines in 1 file; continue with offset 100]"),
        "{first}"
    );
    let last = project.run("references", json!({"symbol": "hit", "offset": 200})).await;
    assert!(
        last.starts_with("many.py\n201:hit()\n") && last.ends_with("[250 lines in 1 file]"),
        "{last}"
    );
}

/// A language server with fixed answers.
pub(crate) struct Server(pub(crate) PathBuf);

impl CodeServer for Server {
    fn definition<'a>(&'a self, symbol: &'a SymbolQuery) -> BoxFuture<'a, Option<Vec<CodeLocation>>> {
        let location = CodeLocation {
            path: self.0.clone(),
            line: 5,
        };
        async move { (symbol.name == "next").then(|| vec![location]) }.boxed()
    }

    fn references<'a>(&'a self, symbol: &'a SymbolQuery) -> BoxFuture<'a, Option<Vec<CodeLocation>>> {
        self.definition(symbol)
    }

    fn diagnostics<'a>(&'a self, path: Option<&'a PathBuf>) -> BoxFuture<'a, Option<Vec<Diagnostic>>> {
        let diagnostic = |severity, line| Diagnostic {
            severity,
            path: "src/main.rs".into(),
            line,
            column: 0,
            code: None,
            message: "bad".into(),
        };
        let found = vec![
            diagnostic(DiagnosticSeverity::Warning, 1),
            diagnostic(DiagnosticSeverity::Error, 2),
        ];
        async move { path.is_none().then_some(found) }.boxed()
    }
}

#[tokio::test]
async fn the_language_server_is_preferred_to_a_search() {
    let files = [("src/main.rs", MAIN), ("src/parser.rs", PARSER)];
    let server_project = TestProject::with(&files);
    let options = Options {
        code_server: Some(Arc::new(Server(server_project.root.join("src/main.rs")))),
        ..Options::default()
    };
    let project = TestProject::with_options(&files, options);
    let absolute = server_project.root.join("src/main.rs");
    assert_eq!(
        project.run("definition", json!({"symbol": "next"})).await,
        // The line of a file outside the project is not shown.
        format!("{}:5 \n[1 definition]", absolute.display())
    );
    assert_eq!(
        project.run("references", json!({"symbol": "next"})).await,
        format!("{}\n5:\n[1 line in 1 file]", absolute.display())
    );
    assert_eq!(
        project.run("definition", json!({"symbol": "Parser"})).await,
        "src/parser.rs:1 pub struct Parser;\n[1 definition]"
    );
    assert_eq!(
        project.run("diagnostics", json!({})).await,
        "src/main.rs:2 error: bad\nsrc/main.rs:1 warning: bad\n[1 error, 1 warning by the language server]"
    );
}
