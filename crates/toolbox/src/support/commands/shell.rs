//! Selects the shell for a command.
//!
//! Models write bash even if asked not to, and plain `sh` misinterprets it silently: `mkdir {a,b}` creates one directory, `&>` runs
//! the command in the background. But `sh` starts twice as fast, so commands that mean the same in both use it.

use sandbox::Program;

/// Characters other than letters and digits that mean the same in every shell.
const PLAIN: &str = " _-./:,@%+=~'\"*|;>\n";
/// Words that `sh` does not support or interprets differently.
const BASH_WORDS: [&str; 17] = [
    "builtin",
    "compgen",
    "coproc",
    "declare",
    "disown",
    "function",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "select",
    "shopt",
    "source",
    "time",
    "typeset",
];
/// Commands whose options differ.
const BASH_OPTIONS: [&str; 5] = ["echo -", "printf -", "read -", "set -o", "type -"];

/// The command for the shell that it needs.
pub(crate) fn program(command: String) -> Program {
    match is_plain(&command) {
        true => Program::Shell(command),
        false => Program::Bash(command),
    }
}

fn is_plain(command: &str) -> bool {
    let rest = command.replace("2>&1", "").replace("&&", "");
    rest.chars()
        .all(|letter| letter.is_ascii_alphanumeric() || PLAIN.contains(letter))
        && !["==", "+=", "=~"].iter().any(|operator| rest.contains(operator))
        && !BASH_OPTIONS.iter().any(|options| rest.contains(options))
        && !rest
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .any(|word| BASH_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_portable_commands_use_sh() {
        for command in [
            "cargo test -p x 2>&1 | tail -20",
            "cd src && ls *.rs; git log --oneline -5 > out.txt",
            "grep -rn 'fn main' src || true",
            "FOO=bar make all",
        ] {
            assert!(is_plain(command), "{command}");
        }
        for command in [
            "mkdir -p src/{a,b}",
            "make &> log",
            "[[ -f x ]] && echo yes",
            "[ a == a ]",
            "source venv/bin/activate && pytest",
            "diff <(ls a) <(ls b)",
            "echo -e 'a\\tb'",
            "set -o pipefail; false | true",
            "time make",
            "sleep 9 &",
            "cat <<EOF\nx\nEOF",
            "for f in *; do echo $f; done",
        ] {
            assert!(!is_plain(command), "{command}");
        }
    }
}
