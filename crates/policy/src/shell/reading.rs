//! Commands that plainly only look.

use super::program::{harmless_variable, is_standard};
use super::{Script, Simple, hazard};

/// Programs that write nothing, whatever they are asked, unless an option that [`hazard`] knows says so.
#[rustfmt::skip]
const LOOKING: &[&str] = &[
    "[", "basename", "cat", "cd", "cksum", "cmp", "column", "comm", "cut", "date", "df", "diff", "dirname", "du",
    "echo", "egrep", "expr", "false", "fgrep", "file", "find", "grep", "head", "hexdump", "hostname", "id", "jq",
    "ls", "md5sum", "nl", "nproc", "od", "printf", "ps", "pwd", "readlink", "realpath", "rg", "sed", "seq",
    "sha1sum", "sha256sum", "sleep", "sort", "stat", "strings", "tac", "tail", "test", "tr", "tree", "true", "type",
    "uname", "uptime", "wc", "which", "whoami",
];

/// What git is asked when it only answers.
#[rustfmt::skip]
const GIT: &[&str] = &[
    "blame", "cat-file", "describe", "diff", "grep", "log", "ls-files", "ls-tree", "merge-base", "name-rev",
    "rev-list", "rev-parse", "shortlog", "show", "status", "version",
];

impl Script {
    /// Whether the line plainly changes no file: everything in it is known, and only looks.
    pub fn only_looks(&self) -> bool {
        let is_nowhere = |path: &super::Word| path.plain().is_some_and(|path| path == "/dev/null");
        self.unclear.is_empty()
            && self.writes.iter().all(|target| is_nowhere(&target.path))
            && self.commands.iter().all(looks)
            && self.wrappers.is_empty()
    }
}

fn looks(simple: &Simple) -> bool {
    let (Some(program), Some(name)) = (simple.program(), simple.name()) else {
        // Nothing but variables that are set for the shell itself.
        return simple.words.is_empty();
    };
    let is_known = match name.as_str() {
        "git" => {
            let asked = simple.words.get(1).and_then(super::Word::plain);
            asked.is_some_and(|asked| GIT.contains(&asked.as_str()))
        }
        name => LOOKING.contains(&name),
    };
    is_known
        && is_standard(&program)
        && simple.env.iter().all(|(name, _)| harmless_variable(name))
        && hazard(simple).is_none()
}

#[cfg(test)]
mod tests {
    use crate::shell::parse;

    #[test]
    fn only_what_plainly_looks_counts_as_looking() {
        for line in [
            "ls -la",
            "cat a b | grep -n x 2>/dev/null | head -20",
            "git status --short && git diff HEAD~1 -- src",
            "cd src && sed -n '1,40p' main.rs",
            "find . -name '*.rs' | wc -l",
            "LC_ALL=C sort names",
        ] {
            assert!(parse(line).only_looks(), "{line}");
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
            assert!(!parse(line).only_looks(), "{line}");
        }
    }
}
