//! Outlines of files in each language.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use index::{Error, Outline, OutlineCoverage, languages};
use serde_json::Value;

const LONG: Duration = Duration::from_secs(30);

fn outline(file: &str, text: &str) -> Outline {
    index::outline(Path::new(file), text, LONG).unwrap()
}

/// The outline in short form: depth, lines, kind and name.
fn short(file: &str, text: &str) -> String {
    let lines = outline(file, text).definitions.into_iter().map(|found| {
        let indent = ">".repeat(found.depth);
        format!(
            "{indent}{}-{} {} {}",
            found.first,
            found.last,
            found.kind.name(),
            found.name
        )
    });
    lines.collect::<Vec<_>>().join("; ")
}

#[test]
fn every_language_has_definitions() {
    let mut covered = Vec::new();
    for (file, text, expected) in SAMPLES {
        assert_eq!(short(file, text), *expected, "{file}");
        covered.push(outline(file, text).language);
    }
    for language in languages() {
        assert!(covered.contains(&language.name), "{} has no sample", language.name);
    }
    assert!(covered.len() >= 35);
}

const SAMPLES: &[(&str, &str, &str)] = &[
    (
        "a.sh",
        "X=1\nf() {\n  local y=2\n}\nfunction g {\n  :\n}\n",
        "1-1 variable X; 2-4 function f; 5-7 function g",
    ),
    (
        "a.c",
        "#define N 3\nstruct s {\n  int a;\n};\ntypedef struct s t;\nstatic char *f(int a)\n{\n  return 0;\n}\nint g(void);\n",
        "1-1 macro N; 2-4 struct s; 5-5 type t; 6-9 function f; 10-10 function g",
    ),
    (
        "a.cs",
        "namespace N {\n  class C : B {\n    public int P { get; set; }\n    public C() {}\n    void M() {}\n  }\n  interface I {}\n}\n",
        "1-8 module N; >2-6 class C; >>3-3 property P; >>4-4 method C; >>5-5 method M; >7-7 interface I",
    ),
    (
        "a.cpp",
        "namespace n {\ntemplate <class T>\nclass C {\n public:\n  C();\n  int f() { return 1; }\n  int g();\n};\n}\nint n::C::g() { return 2; }\n",
        "1-9 module n; >2-8 class C; >>5-5 method C; >>6-6 function f; >>7-7 method g; 10-10 function n::C::g",
    ),
    (
        "a.css",
        ":root {\n  --x: 1px;\n}\n.a, .b > c {\n  color: red;\n}\n@media print {\n  p { color: black; }\n}\n",
        "1-3 rule :root; >2-2 variable --x; 4-6 rule .a, .b > c; 7-9 rule @media; >8-8 rule p",
    ),
    (
        "a.dart",
        "class A extends B {\n  A(this.x);\n  int get y => 1;\n  void f() {\n  }\n}\nenum E { a, b }\nvoid main() {\n}\n",
        "1-6 class A; >2-2 method A; >3-3 method y; >4-5 method f; 7-7 enum E; 8-9 function main",
    ),
    (
        "Dockerfile",
        "ARG V=1\nFROM rust:$V AS build\nRUN cargo build\nFROM debian\nCMD [\"x\"]\n",
        "1-1 variable V; 2-2 section rust:$V; 3-3 step RUN; 4-4 section debian; 5-5 step CMD",
    ),
    (
        "a.ex",
        "defmodule A.B do\n  defstruct [:x]\n  def f(x) when x > 1 do\n    x\n  end\n  defp g, do: 1\n  defmacro m(x), do: x\nend\n",
        "1-8 module A.B; >2-2 struct defstruct; >3-5 function f; >6-6 function g; >7-7 macro m",
    ),
    (
        "a.go",
        "package p\n\nconst N = 1\n\ntype S struct {\n\ta int\n}\n\ntype I interface {\n\tM()\n}\n\nfunc (s *S) M() {\n}\n\nfunc F[T any](t T) {}\n",
        "3-3 constant N; 5-7 struct S; 9-11 interface I; >10-10 method M; 13-14 method M; 16-16 function F",
    ),
    (
        "a.hs",
        "module M where\n\ndata T = A | B\n\nclass C a where\n  m :: a -> a\n\nf :: Int -> Int\nf x = x + 1\n",
        "1-1 module M; 3-3 type T; 5-6 interface C; >6-6 function m; 8-8 function f; 9-9 function f",
    ),
    (
        "a.tf",
        "variable \"x\" {\n  default = 1\n}\nresource \"aws_s3_bucket\" \"b\" {\n  lifecycle {\n  }\n}\n",
        "1-3 block variable; 4-7 block resource; >5-6 block lifecycle",
    ),
    (
        "a.html",
        "<html>\n<body>\n<main>\n<div id=\"x\">\n<p>a</p>\n</div>\n<h2>T</h2>\n</main>\n<script>\nf();\n</script>\n</body>\n</html>\n",
        "1-13 element html; >2-12 element body; >>3-8 element main; >>>4-6 element x; >>>7-7 element h2; >>9-11 element script",
    ),
    (
        "a.java",
        "package p;\nclass A<T> {\n  A() {}\n  int f() {\n    return 1;\n  }\n  enum E { X }\n}\ninterface I { void m(); }\nrecord R(int a) {}\n",
        "2-8 class A; >3-3 method A; >4-6 method f; >7-7 enum E; 9-9 interface I; >9-9 method m; 10-10 class R",
    ),
    (
        "a.js",
        "export const f = async (x) => {\n  return x;\n};\nclass A {\n  #p() {}\n  static q = () => 1;\n}\nfunction* g() {}\nmodule.exports.h = function () {};\nconst o = { k() {} };\n",
        "1-3 function f; 4-7 class A; >5-5 method #p; >6-6 method q; 8-8 function g; 9-9 function h; 10-10 variable o; >10-10 method k",
    ),
    (
        "a.json",
        "{\n  \"a\": {\n    \"b\": [1]\n  },\n  \"c\": 2\n}\n",
        "2-4 key a; >3-3 key b; 5-5 key c",
    ),
    (
        "a.kt",
        "package p\ninterface I { fun m() }\ndata class D(val a: Int) {\n  val b = 1\n  companion object {\n    fun make() = D(1)\n  }\n}\nenum class E { A }\nobject O\nfun String.ext(): Int {\n  val local = 1\n  return local\n}\n",
        "2-2 interface I; >2-2 function m; 3-8 class D; >4-4 property b; >5-7 class companion; >>6-6 function make; 9-9 enum E; 10-10 class O; 11-14 function ext",
    ),
    (
        "a.lua",
        "local M = {}\nfunction M.f(x)\n  return x\nend\nlocal function g() end\nM.h = function() end\nfunction M:k() end\n",
        "1-1 variable M; 2-4 function M.f; 5-5 function g; 6-6 function M.h; 7-7 function M:k",
    ),
    (
        "Makefile",
        "CC := gcc\n\nall: x y\n\t$(CC) x\n\n.PHONY: all\n",
        "1-1 variable CC; 3-4 rule all; 6-6 rule .PHONY",
    ),
    (
        "a.md",
        "# A\n\ntext\n\n## B\n\n```\n# no\n```\n\nC\n-\n\nmore\n\n# D\n",
        "1-14 section A; >5-14 section B; >>11-12 section C; 16-16 section D",
    ),
    (
        "a.nix",
        "{\n  a = 1;\n  f = x: x;\n  b.c = {\n    d = 2;\n  };\n}\n",
        "2-2 key a; 3-3 function f; 4-6 key b.c; >5-5 key d",
    ),
    (
        "a.ml",
        "module M = struct\n  type t = int\n  let f x = x\nend\nlet g y =\n  let z = y in\n  z\nexception E\n",
        "1-4 module M; >2-2 type t; >3-3 function f; 5-7 function g; 8-8 type E",
    ),
    (
        "a.php",
        "<?php\nnamespace A\\B;\ninterface I {}\nclass C implements I {\n  const X = 1;\n  public function m(): int {\n    return 1;\n  }\n}\nfunction f() {}\nenum E { case A; }\n",
        "2-2 module A\\B; 3-3 interface I; 4-9 class C; >5-5 constant X; >6-8 method m; 10-10 function f; 11-11 enum E",
    ),
    (
        "a.proto",
        "syntax = \"proto3\";\npackage a.b;\nmessage M {\n  enum E {\n    X = 0;\n  }\n  int32 a = 1;\n}\nservice S {\n  rpc Get(M) returns (M);\n}\n",
        "2-2 module a.b; 3-8 struct M; >4-6 enum E; 9-11 interface S; >10-10 method Get",
    ),
    (
        "a.py",
        "N = 1\n@dec\nclass A(B):\n    x = 1\n    async def f(self):\n        def g(): pass\n\n@dec\ndef h():\n    y = 2\n",
        "1-1 variable N; 2-6 class A; >5-6 function f; >>6-6 function g; 8-10 function h",
    ),
    (
        "a.R",
        "f <- function(x) {\n  y <- 1\n}\nn <- 3\nA <- setClass(\"A\")\n",
        "1-3 function f; 4-4 variable n; 5-5 variable A; >5-5 class A",
    ),
    (
        "a.rb",
        "module M\n  class A < B\n    X = 1\n    def f(x)\n      x\n    end\n    def self.g = 1\n  end\nend\n",
        "1-9 module M; >2-8 class A; >>3-3 constant X; >>4-6 method f; >>7-7 method g",
    ),
    (
        "a.rs",
        "mod m {\n    pub struct S<T>(T);\n    impl<T> S<T> {\n        const N: u8 = 1;\n        fn f(&self) {}\n    }\n    trait Tr { fn g(); }\n}\nenum E { A }\nmacro_rules! mac { () => {} }\n",
        "1-8 module m; >2-2 struct S; >3-6 impl S<T>; >>4-4 constant N; >>5-5 function f; >7-7 interface Tr; >>7-7 function g; 9-9 enum E; 10-10 macro mac",
    ),
    (
        "a.scala",
        "package p\ntrait T {\n  def m: Int\n}\nobject O extends T {\n  val x = 1\n  def m = x\n}\ncase class C(a: Int)\nenum E:\n  case A\n",
        "2-4 interface T; >3-3 function m; 5-8 class O; >6-6 property x; >7-7 function m; 9-9 class C; 10-11 enum E",
    ),
    (
        "a.sol",
        "contract C {\n  uint x;\n  constructor() {}\n  function f() public {}\n  event E();\n}\ninterface I {}\n",
        "1-6 class C; >2-2 property x; >3-3 method constructor; >4-4 function f; >5-5 type E; 7-7 interface I",
    ),
    (
        "a.swift",
        "protocol P {\n  func m()\n}\nstruct S: P {\n  var x = 1\n  init() {}\n  func m() {}\n}\nextension S {\n  func e() {}\n}\nenum E { case a }\nfunc g() {\n  let y = 1\n}\n",
        "1-3 interface P; >2-2 method m; 4-8 struct S; >5-5 property x; >6-6 method init; >7-7 function m; 9-11 impl S; >10-10 function e; 12-12 enum E; 13-15 function g",
    ),
    (
        "a.toml",
        "x = 1\n[a.b]\ny = 2\n\n[[c]]\nz = 3\n",
        "1-1 key x; 2-3 key a.b; 5-6 key c",
    ),
    (
        "a.tsx",
        "export function App(p: Props) {\n  const f = () => <div/>;\n  return <p/>;\n}\ntype Props = { a: number };\n",
        "1-4 function App; >2-2 function f; 5-5 type Props",
    ),
    (
        "a.ts",
        "export interface I {\n  m(): void;\n}\nexport abstract class A<T> {\n  abstract n(): T;\n  private f = <U>(u: U) => u;\n}\nenum E { X }\nnamespace N {\n  export const x = 1;\n}\nconst c = <T>y;\n",
        "1-3 interface I; >2-2 method m; 4-7 class A; >5-5 method n; >6-6 method f; 8-8 enum E; 9-11 module N; 12-12 variable c",
    ),
    (
        "a.yml",
        "a:\n  b: 1\n  c:\n    - d\ne: 2\n",
        "1-4 key a; >2-2 key b; >3-4 key c; 5-5 key e",
    ),
    (
        "a.zig",
        "const std = @import(\"std\");\nconst P = struct {\n    x: f32,\n    fn init() P {\n        return .{};\n    }\n};\ntest \"t\" {\n    const y = 1;\n}\n",
        "1-1 variable std; 2-7 struct P; >4-6 function init; 8-10 test t",
    ),
];

#[test]
fn definitions_found_by_another_agent_are_found() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("roo/definitions.json")).unwrap();
    let mut agreement = Vec::new();
    for case in &cases {
        let file = case["file"].as_str().unwrap();
        let outline = outline(file, case["source"].as_str().unwrap());
        assert_eq!(outline.coverage, OutlineCoverage::Complete);
        let theirs: Vec<u64> = case["definitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|theirs| theirs["first"].as_u64().unwrap())
            .collect();
        let found = theirs.iter().filter(|first| {
            let first = **first as usize;
            outline
                .definitions
                .iter()
                .any(|ours| ours.first == first || ours.name_line == first)
        });
        agreement.push(format!(
            "{file} {}/{} of {}",
            found.count(),
            theirs.len(),
            outline.definitions.len()
        ));
    }
    assert_eq!(agreement, AGREEMENT);
}

/// For each sample: how many of the other agent's entries start with one of hew's definitions, the number of its
/// entries, and the number of hew's definitions. The other agent also counts comments, imports, fields, parameters and
/// the file as a whole.
const AGREEMENT: [&str; 24] = [
    "file.cs 68/95 of 70",
    "file.ex 14/22 of 14",
    "file.go 0/1 of 20",
    "file.java 26/65 of 27",
    "file.kt 86/111 of 73",
    "file.lua 17/34 of 13",
    "file.rs 33/57 of 32",
    "file.zig 10/12 of 9",
    "test.c 52/74 of 55",
    "test.cpp 28/43 of 25",
    "test.css 16/41 of 20",
    "test.html 19/65 of 8",
    "test.js 17/19 of 18",
    "test.json 27/61 of 27",
    "test.ml 25/32 of 27",
    "test.php 40/74 of 32",
    "test.py 19/34 of 13",
    "test.rb 76/274 of 65",
    "test.scala 22/24 of 26",
    "test.sol 21/23 of 21",
    "test.toml 14/50 of 7",
    "test.ts 29/34 of 29",
    "test.tsx 25/94 of 25",
    "test.vue 5/5 of 5",
];

#[test]
fn syntax_errors_do_not_affect_the_rest() {
    for (file, text, expected) in [
        ("a.rs", "fn a() {}\nfn b( {\nfn c() {}\nstruct D;\n", "struct D"),
        ("a.py", "def a(:\n  pass\n\ndef b():\n  pass\n", "function b"),
        ("a.ts", "function a() { if (\n}\nclass B {}\n", "class B"),
        ("a.go", "package p\nfunc a() {\n\tx := \n}\nfunc b() {}\n", "function b"),
        ("a.c", "int a( {\n}\nint b(void) { return 1; }\n", "function b"),
        ("a.java", "class A { void f( { }\n void g() {} }\n", "method g"),
    ] {
        let found = short(file, text);
        assert!(found.contains(expected), "{file}: {found}");
    }
    for language in languages() {
        let file = format!("x.{}", language.extensions[0]);
        for text in ["", "\n", "\u{FEFF}", "}}}]])", "ünï←→ \r\n\0\t(", "\"unclosed\n'\n`"] {
            assert!(outline(&file, text).definitions.len() < 3, "{file} {text:?}");
        }
    }
}

#[test]
fn the_enclosing_definitions_of_a_line_are_found() {
    let text = "mod m {\n    impl S {\n        fn f() {\n            x;\n        }\n    }\n}\nfn g() {}\nstatic X: u8 = 1;\n\n";
    let outline = outline("a.rs", text);
    for (line, path, inner) in [
        (1, "m", Some("m")),
        (4, "m::S::f", Some("f")),
        (6, "m::S", Some("S")),
        (8, "g", Some("g")),
        (10, "", None),
        (99, "", None),
    ] {
        assert_eq!(outline.path_to(line), path);
        assert_eq!(
            outline
                .enclosing_definitions(line)
                .last()
                .map(|found| found.name.as_str()),
            inner,
            "{line}"
        );
    }
}

#[test]
fn a_long_outline_drops_its_innermost_definitions_first() {
    let mut text = String::new();
    for number in 0..50 {
        text.push_str(&format!(
            "class C{number}:\n    def f(self): pass\n    def g(self): pass\n"
        ));
    }
    let (some, left) = outline("a.py", &text).truncate(60);
    assert_eq!((some.definitions.len(), left), (50, 100));
    let (few, left) = some.truncate(10);
    assert_eq!((few.definitions.len(), left), (10, 40));
    assert_eq!(few.render().lines().next(), Some("1-3 class C0:"));
}

#[test]
fn long_slow_or_unknown_files_are_rejected() {
    let refused = |file: &str, text: &str, limit| index::outline(Path::new(file), text, limit).unwrap_err();
    assert_eq!(
        refused("a.xyz", "", LONG).to_string(),
        "a.xyz is in no supported language"
    );
    let long = "x\n".repeat(index::MAX_TEXT / 2 + 1);
    assert!(matches!(refused("a.rs", &long, LONG), Error::TooLarge { .. }));
    let work = "fn f() { a(b, c); }\n".repeat(50_000);
    assert_eq!(
        refused("a.rs", &work, Duration::ZERO).to_string(),
        "the outline was not finished within 0 ms"
    );
    // A megabyte on one line, and nesting that would overflow a stack.
    for text in [
        "[".repeat(1_000_000),
        "a".repeat(1_000_000),
        "{\"a\":".repeat(100_000),
        "(".repeat(200_000),
    ] {
        for file in ["a.json", "a.js", "a.py", "a.rs"] {
            match index::outline(Path::new(file), &text, Duration::from_millis(300)) {
                Ok(outline) => assert!(outline.definitions.len() <= 20_000),
                Err(error) => assert!(matches!(error, Error::TooSlow { .. }), "{error}"),
            }
        }
    }
}
