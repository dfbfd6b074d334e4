//! The supported languages and how they are detected.

use std::path::Path;
use std::sync::OnceLock;

use tree_sitter::Query;

use crate::highlight::HighlightQuery;
use crate::{Error, grammar};

/// A supported language.
#[derive(Debug)]
pub struct Language {
    /// Its name.
    pub name: &'static str,
    /// File extensions in lower case, without the dot.
    pub extensions: &'static [&'static str],
    /// Complete file names.
    file_names: &'static [&'static str],
    /// Interpreters in a script's first line.
    interpreters: &'static [&'static str],
    /// The grammar's name.
    pub(crate) key: &'static str,
    grammar: fn() -> tree_sitter::Language,
    query: &'static str,
    compiled: OnceLock<Result<CompiledQuery, Error>>,
    /// Its highlight query, compiled on first use.
    pub(crate) colours: OnceLock<Option<HighlightQuery>>,
}

/// A grammar and its compiled query.
#[derive(Debug)]
pub(crate) struct CompiledQuery {
    pub(crate) language: tree_sitter::Language,
    pub(crate) query: Query,
}

/// All supported languages, by name.
pub fn languages() -> &'static [Language] {
    &LANGUAGES
}

macro_rules! language {
    ($name:literal, $grammar:ident, $query:literal, $extensions:expr, $files:expr, $interpreters:expr) => {
        Language {
            name: $name,
            extensions: &$extensions,
            file_names: &$files,
            interpreters: &$interpreters,
            key: stringify!($grammar),
            grammar: grammar::$grammar,
            query: include_str!(concat!("../queries/", $query, ".scm")),
            compiled: OnceLock::new(),
            colours: OnceLock::new(),
        }
    };
}

static LANGUAGES: [Language; 35] = [
    language!(
        "Bash",
        bash,
        "bash",
        ["sh", "bash", "ksh", "zsh", "bats"],
        [".bashrc", ".bash_profile", ".profile", ".zshrc", "PKGBUILD"],
        ["sh", "bash", "dash", "ksh", "zsh"]
    ),
    language!("C", c, "c", ["c", "h"], [], []),
    language!("C#", c_sharp, "c_sharp", ["cs", "csx"], [], []),
    language!(
        "C++",
        cpp,
        "cpp",
        [
            "cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "inl", "cu", "cuh", "ino"
        ],
        [],
        []
    ),
    language!("CSS", css, "css", ["css"], [], []),
    language!("Dart", dart, "dart", ["dart"], [], []),
    language!(
        "Dockerfile",
        containerfile,
        "containerfile",
        ["dockerfile", "containerfile"],
        ["Dockerfile", "Containerfile"],
        []
    ),
    language!("Elixir", elixir, "elixir", ["ex", "exs"], [], ["elixir"]),
    language!("Go", go, "go", ["go"], [], []),
    language!("Haskell", haskell, "haskell", ["hs"], [], ["runhaskell"]),
    language!("HCL", hcl, "hcl", ["hcl", "tf", "tfvars", "nomad"], [], []),
    language!("HTML", html, "html", ["html", "htm", "xhtml", "vue", "svelte"], [], []),
    language!("Java", java, "java", ["java"], [], []),
    language!(
        "JavaScript",
        javascript,
        "javascript",
        ["js", "jsx", "mjs", "cjs"],
        [],
        ["node", "bun"]
    ),
    language!(
        "JSON",
        json,
        "json",
        ["json", "jsonc", "webmanifest"],
        [".babelrc", ".eslintrc", ".prettierrc"],
        []
    ),
    language!("Kotlin", kotlin, "kotlin", ["kt", "kts"], [], []),
    language!("Lua", lua, "lua", ["lua", "rockspec"], [], ["lua", "luajit"]),
    language!(
        "Make",
        make,
        "make",
        ["mk", "mak"],
        ["Makefile", "makefile", "GNUmakefile"],
        ["make"]
    ),
    language!("Markdown", markdown, "markdown", ["md", "markdown", "mdx"], [], []),
    language!("Nix", nix, "nix", ["nix"], [], []),
    language!("OCaml", ocaml, "ocaml", ["ml", "mli"], [], ["ocaml"]),
    language!("PHP", php, "php", ["php", "phtml", "php5", "inc"], [], ["php"]),
    language!("Protocol Buffers", proto, "proto", ["proto"], [], []),
    language!(
        "Python",
        python,
        "python",
        ["py", "pyi", "pyw", "bzl", "star"],
        ["BUILD", "BUILD.bazel", "WORKSPACE", "SConstruct", "wscript"],
        ["python", "python2", "python3", "pypy", "pypy3"]
    ),
    language!("R", r, "r", ["r"], [".Rprofile"], ["Rscript"]),
    language!(
        "Ruby",
        ruby,
        "ruby",
        ["rb", "rake", "gemspec", "ru", "podspec"],
        ["Rakefile", "Gemfile", "Vagrantfile", "Podfile", "Fastfile"],
        ["ruby", "jruby"]
    ),
    language!("Rust", rust, "rust", ["rs"], [], []),
    language!("Scala", scala, "scala", ["scala", "sc", "sbt"], [], ["scala"]),
    language!("Solidity", solidity, "solidity", ["sol"], [], []),
    language!("Swift", swift, "swift", ["swift"], [], ["swift"]),
    language!(
        "TOML",
        toml,
        "toml",
        ["toml"],
        ["Cargo.lock", "Pipfile", "poetry.lock"],
        []
    ),
    language!("TSX", tsx, "typescript", ["tsx"], [], []),
    language!(
        "TypeScript",
        typescript,
        "typescript",
        ["ts", "mts", "cts"],
        [],
        ["deno", "ts-node", "tsx"]
    ),
    language!("YAML", yaml, "yaml", ["yaml", "yml"], [".clang-format"], []),
    language!("Zig", zig, "zig", ["zig", "zon"], [], []),
];

impl Language {
    /// The language of a file, by its name.
    pub fn of_path(path: &Path) -> Option<&'static Self> {
        let name = path.file_name()?.to_string_lossy();
        let name = name.as_ref();
        let by_name = LANGUAGES.iter().find(|language| language.file_names.contains(&name));
        by_name.or_else(|| {
            // `Dockerfile.dev` is a Dockerfile, `Makefile.am` a makefile.
            let stem = name.split('.').next().filter(|stem| *stem != name);
            let extension = Path::new(name).extension()?.to_str()?.to_ascii_lowercase();
            let known = |language: &&Language| language.extensions.contains(&extension.as_str());
            LANGUAGES.iter().find(known).or_else(|| {
                let stem = stem?;
                LANGUAGES.iter().find(|language| language.file_names.contains(&stem))
            })
        })
    }

    /// The language with this name, file extension or fence info string.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        let name = name.trim_start_matches('.').to_ascii_lowercase();
        let name = match name.as_str() {
            "shell" | "console" | "shellscript" | "fish" => "bash",
            "golang" => "go",
            "csharp" => "c#",
            "node" => "javascript",
            "docker" => "dockerfile",
            "terraform" => "hcl",
            "makefile" => "make",
            "protobuf" => "proto",
            other => other,
        };
        let is_it = |language: &&Language| {
            language.name.eq_ignore_ascii_case(name) || language.key == name || language.extensions.contains(&name)
        };
        LANGUAGES.iter().find(is_it).or_else(|| Self::of_path(Path::new(name)))
    }

    /// Its grammar.
    pub(crate) fn grammar(&self) -> tree_sitter::Language {
        (self.grammar)()
    }

    /// The language of a file, by its name or otherwise by its text.
    pub fn detect(path: &Path, text: &str) -> Option<&'static Self> {
        let named = Self::of_path(path);
        match named {
            Some(language) if language.name == "C" && is_header(path) && looks_like_cpp(text) => by_name("C++"),
            Some(language) => Some(language),
            None => Self::of_first_line(text.lines().next()?),
        }
    }

    /// The language of a script, by the interpreter in its first line.
    fn of_first_line(line: &str) -> Option<&'static Self> {
        let words = line.strip_prefix("#!")?.split_whitespace();
        let mut programs = words
            .filter(|word| !word.starts_with('-') && !word.contains('='))
            .map(|word| word.rsplit('/').next().unwrap_or(word))
            .filter(|word| *word != "env");
        let program = programs.next()?;
        // `python3.12` is python3.
        let program = program.split('.').next().unwrap_or(program);
        LANGUAGES
            .iter()
            .find(|language| language.interpreters.contains(&program))
    }

    /// The grammar and the query, compiled on first use.
    pub(crate) fn compiled(&self) -> Result<&CompiledQuery, Error> {
        let compiled = self.compiled.get_or_init(|| {
            let language = (self.grammar)();
            match Query::new(&language, self.query) {
                Ok(query) => Ok(CompiledQuery { language, query }),
                Err(error) => Err(Error::Grammar {
                    language: self.name,
                    reason: error.to_string(),
                }),
            }
        });
        compiled.as_ref().map_err(Clone::clone)
    }
}

fn by_name(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == name)
}

fn is_header(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("h"))
}

fn looks_like_cpp(text: &str) -> bool {
    [
        "namespace ",
        "template <",
        "template<",
        "class ",
        "std::",
        "public:",
        "private:",
    ]
    .iter()
    .any(|sign| {
        text.lines().any(|line| line.trim_start().starts_with(sign)) || (*sign == "std::" && text.contains(sign))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grammar_accepts_its_query() {
        let broken: Vec<String> = languages()
            .iter()
            .filter_map(|language| language.compiled().err())
            .map(|error| error.to_string())
            .collect();
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }

    #[test]
    fn the_language_of_a_file_is_detected() {
        for (path, text, name) in [
            ("src/main.rs", "", Some("Rust")),
            ("A.PY", "", Some("Python")),
            ("Makefile", "", Some("Make")),
            ("Dockerfile.dev", "", Some("Dockerfile")),
            ("web.Dockerfile", "", Some("Dockerfile")),
            ("x.h", "int f(void);\n", Some("C")),
            ("x.h", "namespace a {\n}\n", Some("C++")),
            ("run", "#!/usr/bin/env -S python3.12 -u\n", Some("Python")),
            ("run", "#!/bin/sh\n", Some("Bash")),
            ("run", "#!/usr/bin/perl\n", None),
            ("run", "", None),
            ("notes.txt", "", None),
        ] {
            let language = Language::detect(Path::new(path), text);
            assert_eq!(language.map(|language| language.name), name, "{path} {text:?}");
        }
    }

    #[test]
    fn no_extension_belongs_to_two_languages() {
        let mut endings: Vec<&str> = languages()
            .iter()
            .flat_map(|language| language.extensions)
            .copied()
            .collect();
        let count = endings.len();
        endings.sort_unstable();
        endings.dedup();
        assert_eq!(endings.len(), count);
    }
}
