//! Recognises commands that only read.

use super::programs::{harmless_variable, is_standard};
use super::{Script, SimpleCommand, hazardous_option};

/// Programs that never write, unless [`hazardous_option`] finds an option that does.
#[rustfmt::skip]
const READ_ONLY_PROGRAMS: &[&str] = &[
    "[", "basename", "cat", "cd", "cksum", "cmp", "column", "comm", "cut", "date", "df", "diff", "dirname", "du",
    "echo", "egrep", "expr", "false", "fgrep", "file", "find", "grep", "head", "hexdump", "hostname", "id", "jq",
    "ls", "md5sum", "nl", "nproc", "od", "printf", "ps", "pwd", "readlink", "realpath", "rg", "sed", "seq",
    "sha1sum", "sha256sum", "sleep", "sort", "stat", "strings", "tac", "tail", "test", "tr", "tree", "true", "type",
    "uname", "uptime", "wc", "which", "whoami",
];

/// Git subcommands that only read.
#[rustfmt::skip]
const READ_ONLY_GIT: &[&str] = &[
    "blame", "cat-file", "describe", "diff", "grep", "log", "ls-files", "ls-tree", "merge-base", "name-rev",
    "rev-list", "rev-parse", "shortlog", "show", "status", "version",
];

impl Script {
    /// Whether the line certainly changes no file: everything in it is known and only reads.
    pub fn is_read_only(&self) -> bool {
        let is_nowhere = |path: &super::ShellWord| path.plain().is_some_and(|path| path == "/dev/null");
        self.unclear.is_empty()
            && self.writes.iter().all(|target| is_nowhere(&target.path))
            && self.commands.iter().all(is_read_only_command)
            && self.wrappers.is_empty()
    }
}

fn is_read_only_command(simple: &SimpleCommand) -> bool {
    let (Some(program), Some(name)) = (simple.program(), simple.name()) else {
        // Only assignments of shell variables.
        return simple.words.is_empty();
    };
    let is_known = match name.as_str() {
        "git" => {
            let asked = simple.words.get(1).and_then(super::ShellWord::plain);
            asked.is_some_and(|asked| READ_ONLY_GIT.contains(&asked.as_str()))
        }
        name => READ_ONLY_PROGRAMS.contains(&name),
    };
    is_known
        && is_standard(&program)
        && simple.env.iter().all(|(name, _)| harmless_variable(name))
        && hazardous_option(simple).is_none()
}

#[cfg(test)]
mod tests {
    use crate::shell::parse;

    #[test]
    fn only_certain_reads_count_as_read_only() {
        for line in [
            "ls -la",
            "cat a b | grep -n x 2>/dev/null | head -20",
            "git status --short && git diff HEAD~1 -- src",
            "cd src && sed -n '1,40p' main.rs",
            "find . -name '*.rs' | wc -l",
            "LC_ALL=C sort names",
        ] {
            assert!(parse(line).is_read_only(), "{line}");
        }
        for line in [
            "cargo test",
            "cat a > b",
            "sed -i s/a/b/ f",
            "sed 's/a/b/w out' f",
            "sort -o out in",
            "find . -delete",
            "find . -exec rm {} +",
            "git checkout x",
            "git -c core.pager=x log",
            "git diff --output=f",
            "./ls",
            "tee f",
            "$x",
            "echo $(touch f)",
            "sh -c 'ls'",
            "xargs rm",
            "PAGER=x git log",
            "uniq a b",
        ] {
            assert!(!parse(line).is_read_only(), "{line}");
        }
    }
}
