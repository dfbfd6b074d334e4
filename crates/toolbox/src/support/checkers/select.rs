//! Selects the compiler or checker for a file or project, if installed.

use std::path::{Path, PathBuf};

use sandbox::ProcessEnvironment;
use workspace::{Location, Workspace};

/// A checker to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckerRun {
    /// The command line.
    pub(crate) command: String,
    /// The working directory.
    pub(crate) cwd: PathBuf,
    /// The output format.
    pub(crate) output: CheckerFormat,
    /// Only diagnostics in this file or directory, relative to the project root.
    pub(crate) only: Option<String>,
}

impl CheckerRun {
    /// The checker in messages: its command line, or its program if it runs a script.
    pub(crate) fn label(&self) -> String {
        match (self.command.contains('\n'), self.command.split(' ').next()) {
            (true, Some(program)) => format!("{program} (syntax check)"),
            (_, _) => format!("`{}`", self.command),
        }
    }
}

/// The output format of a checker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckerFormat {
    /// JSON lines of cargo.
    Cargo,
    /// JSON lines of ruff.
    Ruff,
    /// The JSON object of pyright.
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

/// The required program, the command line, the output format.
type CheckerCommand = (&'static str, &'static str, CheckerFormat);

/// A kind of project, detected by a file in its directory.
struct ProjectKind {
    /// The file that identifies it.
    sign: &'static str,
    /// Its checkers, best first.
    commands: &'static [CheckerCommand],
    /// The extensions of its source files.
    endings: &'static [&'static str],
}

const PYTHON: &[CheckerCommand] = &[
    ("pyright", "pyright --outputjson {path}", CheckerFormat::Pyright),
    (
        "ruff",
        "ruff check --output-format json-lines --quiet {path}",
        CheckerFormat::Ruff,
    ),
    ("python3", PARSE_PYTHON, CheckerFormat::Colons),
];
/// Compiles without writing files.
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
const TSC: &[CheckerCommand] = &[
    (
        "node_modules/.bin/tsc",
        "node_modules/.bin/tsc --noEmit --pretty false",
        CheckerFormat::Tsc,
    ),
    ("tsc", "tsc --noEmit --pretty false", CheckerFormat::Tsc),
];

const KINDS: &[ProjectKind] = &[
    ProjectKind {
        sign: "Cargo.toml",
        commands: &[(
            "cargo",
            "cargo check --quiet --all-targets --message-format=json",
            CheckerFormat::Cargo,
        )],
        endings: &["rs", "toml"],
    },
    ProjectKind {
        sign: "tsconfig.json",
        commands: TSC,
        endings: &["ts", "tsx", "mts", "cts", "js", "jsx"],
    },
    ProjectKind {
        sign: "go.mod",
        commands: &[("go", "go vet ./...", CheckerFormat::Colons)],
        endings: &["go", "mod"],
    },
    ProjectKind {
        sign: "pyproject.toml",
        commands: PYTHON,
        endings: &["py", "pyi"],
    },
    ProjectKind {
        sign: "setup.py",
        commands: PYTHON,
        endings: &["py", "pyi"],
    },
    ProjectKind {
        sign: "requirements.txt",
        commands: PYTHON,
        endings: &["py", "pyi"],
    },
];

/// Checkers of single files, by extension.
const FILES: &[(&[&str], &[CheckerCommand])] = &[
    (&["py", "pyi"], PYTHON),
    (
        &["c", "h"],
        &[
            ("gcc", "gcc -fsyntax-only -Wall -I. -x c {path}", CheckerFormat::Colons),
            (
                "clang",
                "clang -fsyntax-only -Wall -I. -x c {path}",
                CheckerFormat::Colons,
            ),
        ],
    ),
    (
        &["cpp", "cc", "cxx", "hpp", "hh", "hxx"],
        &[
            (
                "g++",
                "g++ -fsyntax-only -Wall -I. -x c++ {path}",
                CheckerFormat::Colons,
            ),
            (
                "clang++",
                "clang++ -fsyntax-only -Wall -I. -x c++ {path}",
                CheckerFormat::Colons,
            ),
        ],
    ),
    (
        &["js", "mjs", "cjs"],
        &[("node", "node --check {path}", CheckerFormat::Node)],
    ),
    (&["sh", "bash"], &[("bash", "bash -n {path}", CheckerFormat::Bash)]),
    (&["rb"], &[("ruby", "ruby -wc {path}", CheckerFormat::Colons)]),
];

/// The checker for a file or directory: that of the nearest project with a matching language, or one for the file
/// alone.
pub(crate) fn choose(
    workspace: &Workspace,
    location: &Location,
    environment: &ProcessEnvironment,
) -> Option<CheckerRun> {
    let root = workspace.root();
    let is_dir = location.is_dir();
    let start = match is_dir {
        true => location.path(),
        false => location.path().parent()?,
    };
    let ending = location
        .path()
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    let above = start.ancestors().take_while(|folder| folder.starts_with(root));
    let in_project = above
        .flat_map(|folder| KINDS.iter().map(move |kind| (folder, kind)))
        .find_map(|(folder, kind)| {
            let fits = folder.join(kind.sign).is_file() && (is_dir || kind.endings.contains(&ending));
            fits.then(|| command(kind.commands, folder, location, environment))
                .flatten()
        });
    let mut check = in_project.or_else(|| {
        let (_, commands) = FILES.iter().find(|(endings, _)| !is_dir && endings.contains(&ending))?;
        command(commands, root, location, environment)
    })?;
    check.only = (location.path() != root).then(|| location.shown().into_owned());
    Some(check)
}

fn command(
    commands: &[CheckerCommand],
    cwd: &Path,
    location: &Location,
    environment: &ProcessEnvironment,
) -> Option<CheckerRun> {
    let there = |program: &str| match program.contains('/') {
        true => cwd.join(program).is_file(),
        false => environment.has_program(program),
    };
    let (_, line, output) = commands.iter().find(|(program, _, _)| there(program))?;
    let path = location.path().strip_prefix(cwd).unwrap_or(location.path());
    let path = match path.as_os_str().is_empty() {
        true => ".".into(),
        false => path.to_string_lossy(),
    };
    Some(CheckerRun {
        command: line.replace("{path}", &quote(&path)),
        cwd: cwd.to_owned(),
        output: *output,
        only: None,
    })
}

/// Quotes a path for the shell.
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
    fn a_path_is_quoted_as_one_word() {
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
