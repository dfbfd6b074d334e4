//! Mentions of names.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use index::MentionRole;

/// `line:column`, with `!` for a definition.
fn positions(file: &str, text: &str, name: &str) -> String {
    let (mentions, _) = index::mentions(Path::new(file), text, name, Duration::from_secs(30)).unwrap();
    let positions = mentions.iter().map(|mention| {
        let mark = match mention.role {
            MentionRole::Definition => "!",
            MentionRole::Use => "",
        };
        format!("{}:{}{mark}", mention.line, mention.column)
    });
    positions.collect::<Vec<_>>().join(" ")
}

#[test]
fn names_are_found_only_in_code() {
    for (file, text, name, expected) in [
        (
            "a.rs",
            "struct Foo;\n// Foo\nimpl Foo { fn x() -> Foo { \"Foo\"; Foo } }\nlet Foobar = m!(Foo);\n",
            "Foo",
            "1:8! 3:6 3:22 3:35 4:17",
        ),
        (
            "a.py",
            "def f(x):\n    \"\"\"f\"\"\"\n    return f(x) # f\nprint(f'{f(1)} f')\n",
            "f",
            "1:5! 3:12 4:10",
        ),
        (
            "a.js",
            "const go = () => 1;\no.go(); `go ${go()}`; /* go */ 'go'\n",
            "go",
            "1:7! 2:3 2:15",
        ),
        ("a.ts", "interface A {}\nlet a: A = <A>b;\n", "A", "1:11! 2:8 2:13"),
        (
            "a.go",
            "func F() {}\nfunc g() { x.F(); F() } // F\n",
            "F",
            "1:6! 2:14 2:19",
        ),
        (
            "a.c",
            "int f(void);\nint f(void) { return f(); } /* f */\n",
            "f",
            "1:5! 2:5! 2:22",
        ),
        (
            "a.cpp",
            "struct A { void f(); };\nvoid A::f() { A a; }\n",
            "A",
            "1:8! 2:6 2:15",
        ),
        ("a.java", "class A { A a = new A(); /* A */ }\n", "A", "1:7! 1:11 1:21"),
        (
            "a.rb",
            "def empty?; end\nx.empty?\nsend(:empty?) # empty?\n",
            "empty?",
            "1:5! 2:3 3:6",
        ),
        (
            "a.php",
            "<?php\nfunction f() { $f = f(); } // f\n",
            "f",
            "2:10! 2:17 2:21",
        ),
        ("a.cs", "class A { void M() { M(); } }\n", "M", "1:16! 1:22"),
        ("a.sh", "f() { :; }\nf \"f\" # f\n", "f", "1:1! 2:1"),
        ("a.rs", "fn a() {}\n", "", ""),
        ("a.rs", "fn a() {}\n", "b", ""),
    ] {
        assert_eq!(positions(file, text, name), expected, "{file} {text}");
    }
}
