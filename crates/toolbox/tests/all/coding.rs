//! code_definitions, definition and references.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::json;
use toolbox::{CodeServer, Diagnostic, Options, Severity, Spot, Symbol};

use crate::desk::{Desk, as_nobody};

const PARSER: &str = "pub struct Parser;\n\nimpl Parser {\n    pub fn next(&mut self) -> u8 {\n        1\n    }\n}\n";
const MAIN: &str =
    "mod parser;\n\nfn main() {\n    // next\n    let p = parser::Parser;\n    p.next();\n    println!(\"next\");\n}\n";
const TOOL: &str = "class Tool:\n    def next(self):\n        return self.next()\n";

fn code() -> Desk {
    let desk = Desk::with(&[
        (".gitignore", "target/\n"),
        ("src/parser.rs", PARSER),
        ("src/main.rs", MAIN),
        ("tool.py", TOOL),
        ("target/x.rs", "fn next() {}\n"),
        ("notes.md", "# Notes\nnext\n"),
        ("data.json", "{\"a\": 1}\n"),
    ]);
    symlink("..", desk.root.join("src/up")).unwrap();
    desk
}

#[tokio::test]
async fn a_file_is_outlined_with_the_lines_of_each_definition() {
    let desk = code();
    for (input, seen) in [
        (
            json!({"path": "src/parser.rs"}),
            "1 pub struct Parser;\n3-7 impl Parser {\n  4-6 pub fn next(&mut self) -> u8 {\n[Rust, 7 lines]",
        ),
        (json!({"path": "notes.md"}), "1-2 # Notes\n[Markdown, 2 lines]"),
        (
            json!({"path": ".gitignore"}),
            "error: .gitignore is in no language that can be outlined; use read_file",
        ),
        (
            json!({"path": "src/nothing.rs"}),
            "error: src/nothing.rs does not exist",
        ),
    ] {
        assert_eq!(desk.run("code_definitions", input.clone()).await, seen, "{input}");
    }
}

#[tokio::test]
async fn a_folder_is_outlined_file_by_file_in_pages() {
    let desk = code();
    for alias in [
        "code_definitions",
        "list_code_definition_names",
        "get_symbols",
        "document_symbols",
    ] {
        let seen = desk.run(alias, json!({})).await;
        assert_eq!(
            seen,
            "src/main.rs\n  1 mod parser;\n  3-8 fn main() {\nsrc/parser.rs\n  1 pub struct Parser;\n  3-7 impl Parser {\n    4-6 pub fn next(&mut self) -> u8 {\ntool.py\n  1-3 class Tool:\n    2-3 def next(self):\n[3 source files]"
        );
    }
    let seen = desk.run("code_definitions", json!({"path": "src", "offset": 1})).await;
    assert!(
        seen.starts_with("src/parser.rs\n") && seen.ends_with("[2 source files]"),
        "{seen}"
    );
    let seen = desk.run("code_definitions", json!({"offset": 9})).await;
    assert_eq!(seen, "[3 source files; offset 9 is past the end]");
    let empty = Desk::with(&[("a.txt", "")]);
    assert_eq!(empty.run("code_definitions", json!({})).await, "[no source files here]");

    for number in 0..300 {
        let text: String = (0..30)
            .map(|line| format!("def function_{number}_{line}(argument): pass\n"))
            .collect();
        desk.put(&format!("many/{number:03}.py"), text);
    }
    let (mut offset, mut files) = (0, 0);
    for _ in 0..99 {
        let page = desk
            .run("code_definitions", json!({"path": "many", "offset": offset}))
            .await;
        assert!(page.len() < 40_000, "{}", page.len());
        files += page.lines().filter(|line| line.starts_with("many/")).count();
        match page.rsplit_once("go on with offset ") {
            Some((_, rest)) => offset = rest.trim_end_matches(']').parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(files, 300);
}

#[tokio::test]
async fn large_binary_and_broken_files_are_bounded_or_refused() {
    let desk = Desk::with(&[]);
    desk.put("long.py", "def f(): pass\n".repeat(5_000));
    desk.put("binary.rs", b"fn a() {}\0");
    desk.put("latin.rs", b"fn a() {} // \xE4 \xC3\xBC\n");
    desk.put("huge.rs", "fn a() {}\n".repeat(900_000));
    desk.put("broken.rs", "fn a( {\n\nfn b() {}\n");
    desk.put("empty.rs", "");
    fs::write(desk.root.join(OsStr::from_bytes(b"n\xE4me.rs")), "fn n() {}\n").unwrap();
    let long = desk.run("code_definitions", json!({"path": "long.py"})).await;
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
            "error: huge.rs: it is too long to be outlined (9000000 bytes; the limit is 8388608); use grep",
        ),
        ("empty.rs", "[Rust, 0 lines; no definitions]"),
    ] {
        assert_eq!(desk.run("code_definitions", json!({"path": path})).await, seen);
    }
    assert!(
        desk.run("code_definitions", json!({"path": "broken.rs"}))
            .await
            .contains("3 fn b() {}")
    );
    let all = desk.run("code_definitions", json!({})).await;
    for part in [
        "binary.rs [not UTF-8 text]\n",
        "huge.rs [it is too long",
        "latin.rs [not UTF-8 text]\n",
        "n\u{FFFD}me.rs\n  1 fn n() {}\n",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn what_may_not_be_read_is_named() {
    let desk = Desk::with(&[
        ("a.rs", "fn f() {}\n"),
        ("b.rs", "fn g() { f() }\n"),
        ("closed/c.rs", "fn f() {}\n"),
    ]);
    for path in ["b.rs", "closed"] {
        fs::set_permissions(desk.root.join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let said = as_nobody(async {
        [
            desk.run("code_definitions", json!({"path": "b.rs"})).await,
            desk.run("code_definitions", json!({})).await,
            desk.run("references", json!({"symbol": "f"})).await,
        ]
    });
    fs::set_permissions(desk.root.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    let expected = [
        "error: permission denied: b.rs",
        "a.rs\n  1 fn f() {}\nb.rs [permission denied]\n[2 source files; 1 file or folder could not be read]",
        "a.rs\n1:fn f() {} [definition]\n[1 line in 1 file; 2 files or folders could not be read]",
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn a_definition_is_found_by_its_name() {
    let desk = code();
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
            "error: ~/x: `~` is not expanded here; give a path relative to the project or an absolute one",
        ),
    ] {
        assert_eq!(desk.run("definition", input.clone()).await, seen, "{input}");
    }
    for alias in ["go_to_definition", "find_definition", "find_symbol"] {
        assert!(
            desk.run(alias, json!({"name": "Parser"}))
                .await
                .ends_with("[1 definition]")
        );
    }
}

#[tokio::test]
async fn references_leave_out_comments_strings_and_prose() {
    let desk = code();
    let seen = desk.run("references", json!({"symbol": "next"})).await;
    assert_eq!(
        seen,
        "src/main.rs\n6:p.next(); [in main]\nsrc/parser.rs\n4:pub fn next(&mut self) -> u8 { [definition]\ntool.py\n2:def next(self): [definition]\n3:return self.next() [in Tool::next]\n[4 lines in 3 files]"
    );
    for alias in ["find_references", "find_usages", "list_code_usages", "lsp_references"] {
        assert_eq!(desk.run(alias, json!({"symbol": "next"})).await, seen);
    }
    desk.put("log.txt", "Parser\n");
    assert!(
        desk.run("references", json!({"symbol": "Parser"}))
            .await
            .ends_with("[3 lines in 2 files; also in 1 file outside of code; grep shows them]")
    );
    desk.put("many.py", "hit()\n".repeat(250));
    let first = desk.run("references", json!({"symbol": "hit"})).await;
    assert!(
        first.ends_with("\n100:hit()\n[1-100 of 250 lines in 1 file; go on with offset 100]"),
        "{first}"
    );
    let last = desk.run("references", json!({"symbol": "hit", "offset": 200})).await;
    assert!(
        last.starts_with("many.py\n201:hit()\n") && last.ends_with("[250 lines in 1 file]"),
        "{last}"
    );
}

/// A language server that knows one thing.
pub(crate) struct Server(pub(crate) PathBuf);

impl CodeServer for Server {
    fn definition<'a>(&'a self, symbol: &'a Symbol) -> BoxFuture<'a, Option<Vec<Spot>>> {
        let spot = Spot {
            path: self.0.clone(),
            line: 5,
        };
        async move { (symbol.name == "next").then(|| vec![spot]) }.boxed()
    }

    fn references<'a>(&'a self, symbol: &'a Symbol) -> BoxFuture<'a, Option<Vec<Spot>>> {
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
        let found = vec![diagnostic(Severity::Warning, 1), diagnostic(Severity::Error, 2)];
        async move { path.is_none().then_some(found) }.boxed()
    }
}

#[tokio::test]
async fn a_language_server_answers_first_where_it_can() {
    let files = [("src/main.rs", MAIN), ("src/parser.rs", PARSER)];
    let place = Desk::with(&files);
    let options = Options {
        code: Some(Arc::new(Server(place.root.join("src/main.rs")))),
        ..Options::default()
    };
    let desk = Desk::fitted(&files, options);
    let absolute = place.root.join("src/main.rs");
    assert_eq!(
        desk.run("definition", json!({"symbol": "next"})).await,
        format!("{}:5 let p = parser::Parser;\n[1 definition]", absolute.display())
    );
    assert_eq!(
        desk.run("references", json!({"symbol": "next"})).await,
        format!("{}\n5:let p = parser::Parser;\n[1 line in 1 file]", absolute.display())
    );
    assert_eq!(
        desk.run("definition", json!({"symbol": "Parser"})).await,
        "src/parser.rs:1 pub struct Parser;\n[1 definition]"
    );
    assert_eq!(
        desk.run("diagnostics", json!({})).await,
        "src/main.rs:2 error: bad\nsrc/main.rs:1 warning: bad\n[1 error, 1 warning by the language server]"
    );
}
