//! Builds the grammars with compressed parse tables.
//!
//! Nine tenths of a grammar are tables of small numbers, 4.3 MB for C# alone, which compress to a thirtieth. The tables
//! are extracted from the C source, compressed, and decompressed into zeroed memory on first use of a language.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a build script asks cargo, reads files, and stops the build when anything is wrong"
)]

mod pack;

use pack::Effort;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Each grammar: hew's name, its package, and the directory of its C sources in it.
const GRAMMARS: &[(&str, &str, &str)] = &[
    ("c", "tree-sitter-c", "src"),
    ("c_sharp", "tree-sitter-c-sharp", "src"),
    ("containerfile", "tree-sitter-containerfile", "src"),
    ("cpp", "tree-sitter-cpp", "src"),
    ("css", "tree-sitter-css", "src"),
    ("dart", "tree-sitter-dart", "src"),
    ("elixir", "tree-sitter-elixir", "src"),
    ("go", "tree-sitter-go", "src"),
    ("haskell", "tree-sitter-haskell", "src"),
    ("hcl", "tree-sitter-hcl", "src"),
    ("html", "tree-sitter-html", "src"),
    ("java", "tree-sitter-java", "src"),
    ("javascript", "tree-sitter-javascript", "src"),
    ("json", "tree-sitter-json", "src"),
    ("kotlin", "tree-sitter-kotlin-ng", "src"),
    ("lua", "tree-sitter-lua", "src"),
    ("make", "tree-sitter-make", "src"),
    ("markdown", "tree-sitter-md", "tree-sitter-markdown/src"),
    ("nix", "tree-sitter-nix", "src"),
    ("ocaml", "tree-sitter-ocaml", "grammars/ocaml/src"),
    ("php", "tree-sitter-php", "php/src"),
    ("proto", "tree-sitter-proto", "src"),
    ("python", "tree-sitter-python", "src"),
    ("r", "tree-sitter-r", "src"),
    ("ruby", "tree-sitter-ruby", "src"),
    ("rust", "tree-sitter-rust", "src"),
    ("scala", "tree-sitter-scala", "src"),
    ("solidity", "tree-sitter-solidity", "src"),
    ("swift", "tree-sitter-swift", "src"),
    ("toml", "tree-sitter-toml-ng", "src"),
    ("tsx", "tree-sitter-typescript", "tsx/src"),
    ("typescript", "tree-sitter-typescript", "typescript/src"),
    ("yaml", "tree-sitter-yaml", "src"),
    ("zig", "tree-sitter-zig", "src"),
];

fn main() {
    let endian = env::var("CARGO_CFG_TARGET_ENDIAN").expect("cargo sets it");
    assert_eq!(endian, "little", "the tables are packed for little-endian machines");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=Cargo.toml");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let folders = folders();
    let mut jobs: Vec<_> = GRAMMARS
        .iter()
        .map(|(name, package, inner)| {
            let folder = folders
                .get(*package)
                .unwrap_or_else(|| panic!("{package} is not a dependency"));
            (*name, folder.join(inner))
        })
        .collect();
    // The longest first, so that no core waits for the last one.
    jobs.sort_by_key(|(_, folder)| {
        fs::metadata(folder.join("parser.c"))
            .map(|file| file.len())
            .unwrap_or(0)
    });
    colours(&jobs, &out);
    let jobs = std::sync::Mutex::new(jobs);
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    let declared = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some((name, folder)) = jobs.lock().unwrap().pop() else {
                        break;
                    };
                    declared.lock().unwrap().push((name, grammar(name, &folder, &out)));
                }
            });
        }
    });
    let mut declared = declared.into_inner().unwrap();
    declared.sort_unstable();
    let rust: String = declared.into_iter().map(|(_, rust)| rust).collect();
    fs::write(out.join("grammars.rs"), rust).expect("OUT_DIR is ours");
}

/// Copies the highlight queries of the grammars and declares them in Rust.
fn colours(jobs: &[(&str, PathBuf)], out: &Path) {
    let mut rust = String::from("static HIGHLIGHTS: &[(&str, &str)] = &[\n");
    for (name, folder) in jobs {
        let found = folder
            .ancestors()
            .skip(1)
            .take(3)
            .map(|above| above.join("queries/highlights.scm"))
            .find(|path| path.exists());
        let Some(found) = found else {
            continue;
        };
        let file = format!("{name}.scm");
        fs::copy(&found, out.join(&file)).expect("OUT_DIR is ours");
        writeln!(
            rust,
            "    ({name:?}, include_str!(concat!(env!(\"OUT_DIR\"), \"/{file}\"))),"
        )
        .expect("writing to a string");
    }
    rust.push_str("];\n");
    fs::write(out.join("highlights.rs"), rust).expect("OUT_DIR is ours");
}

/// Profiles that optimise little are for building quickly.
fn effort() -> Effort {
    match env::var("OPT_LEVEL").as_deref() {
        Ok("0" | "1") => Effort::Fast,
        _ => Effort::Small,
    }
}

/// Packs and compiles one grammar and returns its declaration in Rust.
fn grammar(name: &str, folder: &Path, out: &Path) -> String {
    let parser = folder.join("parser.c");
    let source = fs::read(&parser).unwrap_or_else(|error| panic!("{}: {error}", parser.display()));
    let packed = pack::pack(&source, effort()).unwrap_or_else(|error| panic!("{}: {error}", parser.display()));
    let c = out.join(format!("{name}.c"));
    fs::write(&c, &packed.source).expect("OUT_DIR is ours");
    fs::write(out.join(format!("{name}.tables")), &packed.tables).expect("OUT_DIR is ours");
    let mut build = cc::Build::new();
    build
        .include(folder)
        .file(&c)
        .warnings(false)
        .cargo_metadata(false)
        .std("c11");
    match effort() {
        // Lexers are large `switch` statements: optimising them takes most of the build script's time.
        Effort::Fast => build.opt_level(0),
        // Speed adds a quarter to their size and saves little time.
        Effort::Small => build.opt_level_str("s"),
    };
    let scanner = folder.join("scanner.c");
    if scanner.exists() {
        build.file(scanner);
    }
    build.out_dir(out.join(name)).compile(&format!("grammar_{name}"));
    let mut rust = String::new();
    println!("cargo::rustc-link-search=native={}", out.join(name).display());
    println!("cargo::rustc-link-lib=static=grammar_{name}");
    let symbol = &packed.symbol;
    writeln!(
        rust,
        "grammar!({name}, {symbol}, {symbol}_parse_table, {symbol}_small_parse_table, {}, {}, {:?});",
        packed.large,
        packed.small,
        format!("{name}.tables")
    )
    .expect("writing to a string");
    rust
}

/// The source directory of each dependency in cargo's registry.
fn folders() -> HashMap<String, PathBuf> {
    let cargo = env::var_os("CARGO").expect("cargo sets it");
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("Cargo.toml");
    // Uses the local registry without network access; missing packages are fetched.
    for more in [&["--offline"][..], &[]] {
        let output = Command::new(&cargo)
            .args(["metadata", "--format-version=1", "--locked", "--manifest-path"])
            .arg(&manifest)
            .args(more)
            .output()
            .expect("cargo runs");
        if output.status.success() {
            return read_folders(&output.stdout);
        }
        if more.is_empty() {
            panic!(
                "the grammars cannot be found; `cargo fetch` gets them\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
    HashMap::new()
}

fn read_folders(metadata: &[u8]) -> HashMap<String, PathBuf> {
    let metadata: serde_json::Value = serde_json::from_slice(metadata).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("cargo lists packages");
    packages
        .iter()
        .filter_map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str()?);
            Some((package["name"].as_str()?.to_owned(), manifest.parent()?.to_owned()))
        })
        .collect()
}
