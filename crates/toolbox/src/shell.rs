//! Which shell a command needs.
//!
//! Models write bash whatever they are told, and plain `sh` fails quietly on it: `mkdir {a,b}` makes one folder, `&>` runs
//! in the background. But `sh` starts twice as fast, so commands that mean the same to both go there.

use sandbox::Program;

/// Besides letters and digits, the characters that mean the same in every shell.
const PLAIN: &str = " _-./:,@%+=~'\"*|;>\n";
/// Words that `sh` lacks or takes otherwise.
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

/// The command, for the shell it needs.
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
    fn only_commands_that_mean_the_same_to_both_shells_go_to_sh() {
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
