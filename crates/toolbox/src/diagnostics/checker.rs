//! Which compiler or checker fits a file or project, and is there to be run.

use std::path::{Path, PathBuf};

use sandbox::Environment;
use workspace::{Location, Workspace};

/// A command that finds what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    /// The command line.
    pub(crate) command: String,
    /// The folder in which it runs.
    pub(crate) cwd: PathBuf,
    /// How it prints.
    pub(crate) output: Printed,
    /// Only findings in this file or folder are wanted, named from the project's root.
    pub(crate) only: Option<String>,
}

/// How a checker prints its findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Printed {
    /// A JSON object in each line, as cargo writes it.
    Cargo,
    /// A JSON object in each line, as ruff writes it.
    Ruff,
    /// One JSON object, as pyright writes it.
    Pyright,
    /// `path(3,5): error TS2322: message`.
    Tsc,
    /// `path:3:5: error: message`; the column and the word may be missing.
    Colons,
    /// `path:3`, some code, and `SyntaxError: message`.
    Node,
    /// `path: line 3: message`.
    Bash,
}

/// The program that must be there, the command line, how it prints.
type Command = (&'static str, &'static str, Printed);

/// A kind of project, told by a file in its folder.
struct Kind {
    /// The file that tells it.
    sign: &'static str,
    /// Its commands, the best first.
    commands: &'static [Command],
    /// The endings of its sources.
    endings: &'static [&'static str],
}

const PYTHON: &[Command] = &[
    ("pyright", "pyright --outputjson {path}", Printed::Pyright),
    (
        "ruff",
        "ruff check --output-format json-lines --quiet {path}",
        Printed::Ruff,
    ),
    ("python3", PARSE_PYTHON, Printed::Colons),
];
/// Compiles without leaving anything behind.
const PARSE_PYTHON: &str = r#"python3 -c '
import os, sys
def files(top):
    if os.path.isfile(top): yield top
    for folder, inner, names in os.walk(top):
        inner[:] = [name for name in inner if name[0] != "." and name not in ("node_modules", "venv", "__pycache__")]
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))
for name in files(sys.argv[1]):
    try: compile(open(name, "rb").read(), name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as e:
        print("%s:%d:%d: error: %s" % (name, getattr(e, "lineno", 0) or 1, getattr(e, "offset", 0) or 1, getattr(e, "msg", e)))
' {path}"#;
const TSC: &[Command] = &[
    (
        "node_modules/.bin/tsc",
        "node_modules/.bin/tsc --noEmit --pretty false",
        Printed::Tsc,
    ),
    ("tsc", "tsc --noEmit --pretty false", Printed::Tsc),
];

const KINDS: &[Kind] = &[
    Kind {
        sign: "Cargo.toml",
        commands: &[(
            "cargo",
            "cargo check --quiet --all-targets --message-format=json",
            Printed::Cargo,
        )],
        endings: &["rs", "toml"],
    },
    Kind {
        sign: "tsconfig.json",
        commands: TSC,
        endings: &["ts", "tsx", "mts", "cts", "js", "jsx"],
    },
    Kind {
        sign: "go.mod",
        commands: &[("go", "go vet ./...", Printed::Colons)],
        endings: &["go", "mod"],
    },
    Kind {
        sign: "pyproject.toml",
        commands: PYTHON,
        endings: &["py", "pyi"],
    },
    Kind {
        sign: "setup.py",
        commands: PYTHON,
        endings: &["py", "pyi"],
    },
    Kind {
        sign: "requirements.txt",
        commands: PYTHON,
        endings: &["py", "pyi"],
    },
];

/// Checkers of single files, by ending.
const FILES: &[(&[&str], &[Command])] = &[
    (&["py", "pyi"], PYTHON),
    (
        &["c", "h"],
        &[
            ("gcc", "gcc -fsyntax-only -Wall -I. -x c {path}", Printed::Colons),
            ("clang", "clang -fsyntax-only -Wall -I. -x c {path}", Printed::Colons),
        ],
    ),
    (
        &["cpp", "cc", "cxx", "hpp", "hh", "hxx"],
        &[
            ("g++", "g++ -fsyntax-only -Wall -I. -x c++ {path}", Printed::Colons),
            (
                "clang++",
                "clang++ -fsyntax-only -Wall -I. -x c++ {path}",
                Printed::Colons,
            ),
        ],
    ),
    (&["js", "mjs", "cjs"], &[("node", "node --check {path}", Printed::Node)]),
    (&["sh", "bash"], &[("bash", "bash -n {path}", Printed::Bash)]),
    (&["rb"], &[("ruby", "ruby -wc {path}", Printed::Colons)]),
];

/// The check for a file or folder: that of the nearest project which its language belongs to, or one for the file alone.
pub(crate) fn choose(workspace: &Workspace, place: &Location, environment: &Environment) -> Option<Check> {
    let root = workspace.root();
    let is_dir = place.is_dir();
    let start = match is_dir {
        true => place.path(),
        false => place.path().parent()?,
    };
    let ending = place
        .path()
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    let above = start.ancestors().take_while(|folder| folder.starts_with(root));
    let in_project = above
        .flat_map(|folder| KINDS.iter().map(move |kind| (folder, kind)))
        .find_map(|(folder, kind)| {
            let fits = folder.join(kind.sign).is_file() && (is_dir || kind.endings.contains(&ending));
            fits.then(|| command(kind.commands, folder, place, environment))
                .flatten()
        });
    let mut check = in_project.or_else(|| {
        let (_, commands) = FILES.iter().find(|(endings, _)| !is_dir && endings.contains(&ending))?;
        command(commands, root, place, environment)
    })?;
    check.only = (place.path() != root).then(|| place.shown().into_owned());
    Some(check)
}

fn command(commands: &[Command], cwd: &Path, place: &Location, environment: &Environment) -> Option<Check> {
    let there = |program: &str| match program.contains('/') {
        true => cwd.join(program).is_file(),
        false => environment.finds(program),
    };
    let (_, line, output) = commands.iter().find(|(program, _, _)| there(program))?;
    let path = place.path().strip_prefix(cwd).unwrap_or(place.path());
    let path = match path.as_os_str().is_empty() {
        true => ".".into(),
        false => path.to_string_lossy(),
    };
    Some(Check {
        command: line.replace("{path}", &quote(&path)),
        cwd: cwd.to_owned(),
        output: *output,
        only: None,
    })
}

/// A path as one word of a shell.
fn quote(path: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    let safe = match path.starts_with('-') {
        true => format!("./{path}"),
        false => path.to_owned(),
    };
    match safe.chars().all(plain) {
        true => safe,
        false => format!("'{}'", safe.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_one_word() {
        for (path, quoted) in [
            ("src/a.c", "src/a.c"),
            ("-x.c", "./-x.c"),
            ("a b.c", "'a b.c'"),
            ("$(rm x)'.c", r"'$(rm x)'\''.c'"),
        ] {
            assert_eq!(quote(path), quoted);
        }
    }
}
