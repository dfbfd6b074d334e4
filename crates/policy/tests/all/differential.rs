//! Compares the parser with bash: a line that the rules allow never runs a command that they do not allow.
//!
//! Generated lines contain the command `canary`, which leaves a file. The rules either allow everything that the lines
//! use except `canary`, or deny only `canary`. Bash runs each line that one of them allows.

#![allow(clippy::disallowed_methods, reason = "the test runs bash on generated lines")]

use crate::support::{careful, commands, permissions, run, word};
use policy::{AccessLevel, Permissions};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn bash_never_runs_what_the_rules_do_not_allow() {
    check(500, 1);
}

#[test]
#[ignore = "takes minutes; run it after changes to the parser"]
fn bash_never_runs_what_the_rules_do_not_allow_in_many_lines() {
    check(5_000, 2);
}

/// Spellings of the command.
const CANARIES: &[&str] = &[
    "canary",
    "can''ary",
    "\"canary\"",
    "$'canary'",
    "c\\anary",
    "{canary,x}",
    "{,canary}",
    "'can'\"ary\"",
    "ca\\\nnary",
    "$'\\x63anary'",
    "./canary",
    "can{ary,x}",
    "$c",
    "${c}",
    "can$a",
];

/// Lines with a place for the command.
const TEMPLATES: &[&str] = &[
    "@",
    "@ x",
    "! @",
    "time @",
    "echo a; @",
    "echo a && @",
    "false || @",
    "echo a | @",
    "@ | cat",
    "( @ )",
    "{ @; }",
    "echo $(@)",
    "echo \"$(@)\"",
    "echo `@`",
    "echo \"`@`\"",
    "cat <(@)",
    "echo a > >(@)",
    "x=$(@)",
    "x=`@`; echo $x",
    "if true; then @; fi",
    "if @; then true; fi",
    "while @; do break; done",
    "until @; do break; done",
    "for i in 1; do @; done",
    "for i in $(@); do true; done",
    "for ((i = 0; i < 1; i++)); do @; done",
    "case a in a) @;; esac",
    "case $(@) in *) true;; esac",
    "g() { @; }; g",
    "function g { @; }; g",
    "echo() { @; }; echo a",
    "select x in a; do @; break; done <<< 1",
    "coproc @; wait",
    "coproc N { @; }; wait",
    "eval '@'",
    "eval \"@\"",
    "eval echo a\\; @",
    "sh -c '@'",
    "bash -c '@'",
    "bash -c \"@\"",
    "bash -xc '@'",
    "bash <<< '@'",
    "bash <<'E'\n@\nE",
    "cat <<E\n$(@)\nE",
    "cat <<E\n`@`\nE",
    "cat <<'E'\n$(@)\nE\n",
    "cat <<-E\n\t$(@)\n\tE\n",
    "cat <<E\nx\nE\n@",
    "cat <<'E F'\nx\nE F\n@",
    "cat << \\E\n$(@)\nE\n@",
    "trap '@' EXIT",
    "trap '@' DEBUG; true",
    "command @",
    "builtin eval @",
    "exec @",
    "env @",
    "env A=1 @",
    "env -i PATH=. @",
    "env -S '@'",
    "timeout 1 @",
    "nice @",
    "nice -n 1 @",
    "xargs @ < /dev/null",
    "echo a | xargs @",
    "echo a | xargs -I{} @ {}",
    "echo @ | bash",
    "echo @ | sh -s",
    "find . -maxdepth 0 -exec @ \\;",
    "find . -maxdepth 0 -exec sh -c @ \\;",
    "find . -maxdepth 0 -ok @ \\; < /dev/null",
    "A=1 @",
    "> f @",
    "2>&1 @",
    "@ > f",
    "@ <<< x",
    "echo a\\\n@",
    "echo a\n@",
    "echo a # b\n@",
    "echo a #@",
    "echo a\\\n#@",
    "x='a[$(@)]'; echo $((x))",
    "x='a[$(@)]'; ((x))",
    "x='a[$(@)]'; let x",
    "x='a[$(@)]'; [[ $x -eq 1 ]]",
    "x='a[$(@)]'; echo ${PWD:x}",
    "x='a[$(@)]'; echo ${b[x]}",
    "x='a[$(@)]'; b[x]=1",
    "x='a[$(@)]'; declare -i y=x",
    "x='a[$(@)]'; [ -v \"$x\" ]",
    "x='a[$(@)]'; test -v \"$x\"",
    "x='a[$(@)]'; unset \"$x\"",
    "x='a[$(@)]'; read \"$x\" <<< 1",
    "x='a[$(@)]'; printf -v \"$x\" b",
    "x='a[$'; y='(@)]'; echo $((x$y))",
    "x='a[$'; y='(@)]'; z=$x$y; echo $((z))",
    "x='-v a[$(@)]'; [ $x ]",
    "x='a[$(@)]'; y=x; echo $((y))",
    "RANDOM='a[$(@)]'",
    "SECONDS='a[$(@)]'",
    "OPTIND='a[$(@)]'",
    "HISTCMD='a[$(@)]'",
    "SRANDOM='a[$(@)]'",
    "LINENO='a[$(@)]'",
    "RANDOM='a[$(@)]' true",
    "for RANDOM in 'a[$(@)]'; do true; done",
    "read RANDOM <<< 'a[$(@)]'",
    "printf -v RANDOM %s 'a[$(@)]'",
    ": ${RANDOM:='a[$(@)]'}",
    "export RANDOM='a[$(@)]'",
    "declare RANDOM='a[$(@)]'",
    "read x <<< 'a[$(@)]'; echo $((x))",
    "printf 'a[$(@)]' > f; x=$(cat f); echo $((x))",
    "printf 'a[$(@)]' > f; read x < f; echo $((x))",
    "printf 'a[$(@)]' > f; mapfile m < f; echo $((m))",
    "printf 'a[$(@)]' > f; echo $(( $(cat f) ))",
    "set -- 'a[$(@)]'; echo $(($1))",
    "g() { echo $(($1)); }; g 'a[$(@)]'",
    "cd 'a[$(@)]' 2> /dev/null; echo $((PWD))",
    "getopts 'a[$(@)]' x",
    "wait -n -p 'a[$(@)]'",
    "x='a[$'; y='(@)]'; declare -i z; z=$x$y",
    "x='a[$'; y='(@)]'; typeset -xi z; export z=$x$y",
    "x='a[$'; y='(@)]'; declare -i z; read z <<< \"$x$y\"",
    "x='a[$'; y='(@)]'; declare -i z; : ${z:=$x$y}",
    "x='a[$'; y='(@)]'; declare -ai z; z=($x$y)",
    "x='a[$'; y='(@)]'; declare -i z; mapfile z <<< $x$y",
    "x='a[$'; y='(@)]'; declare -i z; printf -v z %s $x$y",
    "x='a[$'; y='(@)]'; g() { local -i z; z=$x$y; }; g",
    "y='(@)'; declare -a \"x=(\\$$y)\"",
    "y='($(@))'; declare -a x=$y",
    "y='(@)'; x=(1); declare \"x=(\\$$y)\"",
    "y='$'; z='(@)'; x=(1); readonly x=\"($y$z)\"",
    "exec {a[$(@)]}> f",
    "echo b {a['$(@)']}> f",
    "x='a[$'; y='(@)]'; exec {b[$x$y]}> f",
    "x='a[$'; y='(@)]'; z=$x$y; [[ 1 -lt z ]]",
    "x='a[$'; y='(@)]'; set -- \"$x$y\"; echo ${@:$1}",
    "env -S '\\_@\\_x'",
    "env -S 'true\\c' @",
    "X=@ env -S '${X} y'",
    "env -S '@ x'",
    "env -iS 'PATH=. @ x'",
    "cat < /bin/true > t; @",
    "timeout -k 1 1 env -S @",
    "compgen -W '$(@)'",
    "compgen -C '@'",
    "compgen -F @ x",
    "complete -C '@' x",
    "mapfile -C '@' -c 1 m < /etc/hostname",
    "mapfile -C@ -c1 m <<< a",
    "readarray -c 1 -C '@ #' m <<< a",
    "hash -p ./canary echo2; echo2",
    "jobs -x @",
    "enable -f @ x",
    "bind -x @",
    "fc -s @",
    "BASH_ENV=<(echo @) bash -c true",
    "BASH_ENV=f bash -c true",
    "echo @ > f; BASH_ENV=f bash -c true",
    "echo @ > f; export BASH_ENV=f; bash -c true",
    "echo @ > f; export \"BASH_ENV=f\"; bash -c true",
    "echo @ > f; env BASH_ENV=f bash -c true",
    "echo @ > f; ENV=f sh -i -c true",
    "env 'BASH_FUNC_echo%%=() { @; }' bash -c 'echo a'",
    "PS4='$(@)'; set -x; true",
    "PS4='$(@)' bash -xc true",
    "x='$(@)'; echo ${x@P}",
    "x='$(@)'; y=x; echo ${!y@P}",
    "y='x[$(@)]'; echo ${!y}",
    "shopt -s expand_aliases\nalias e=@\ne",
    "shopt -s expand_aliases\nalias e='echo a;'\ne @",
    "BASH_ALIASES[e]=@\nshopt -s expand_aliases\ne",
    "BASH_CMDS[e]=./canary; e",
    "PATH=.:$PATH; canary",
    "declare -n r=PATH; r=.; canary",
    "echo ${x:-$(@)}",
    "echo ${x:=$(@)}",
    "echo ${x:-`@`}",
    "echo \"${x:-$(@)}\"",
    "echo ${x/a/$(@)}",
    "echo $((1 + $(@)))",
    "echo $[1 + $(@)]",
    "x='a[$(@)]'; echo $[x]",
    "echo $(echo $(@))",
    "echo $(< f)$(@)",
    "echo {a,$(@)}",
    "echo ~$(@)",
    "echo \"a\"$(@)'b'",
    "echo 'a'\\''$(@)'",
    "echo \\$(@)",
    "echo \"\\$(@)\"",
    "echo '$(@)'",
    "echo $'$(@)'",
    "echo $\"$(@)\"",
    "[[ -n $(@) ]]",
    "[ -n $(@) ]",
    "[[ a =~ $(@) ]]",
    "[ a ] @",
    "test $(@)",
    "echo a &\n@",
    "true & @",
    "echo a |& @",
    "@ &",
    "a=(1 $(@))",
    "a=([$(@)]=1)",
    "declare -a a='($(@))'",
    "echo a ;; @",
    "echo <(@)",
    "exec 3< <(@)",
    "readonly x=$(@)",
    "local x=$(@)",
    "export x=`@`",
    "command_not_found_handle() { @; }; nothing",
    "echo ${x#$(@)}",
    "echo ${x:$(@)}",
    "printf %s \"$(@)\"",
    "true $(@) > f",
    "> $(@)",
    "< <(@) cat",
    "cat < $(@)",
    "x=1 y=$(@)",
    "while read l; do $l; done <<< @",
    "for c in @; do $c; done",
    "c=@; $c",
    "c=@; ${c}",
    "set -- @; $1",
    "set -- @; \"$@\"",
    "$(echo @)",
    "`echo @`",
    "$BASH -c @",
    "exec -a x @",
    "if ! @; then true; fi",
    "{ echo a\n@\n}",
    "(echo a\n@\n)",
    "echo 'a\n'@",
    "echo a;@",
    "echo a&&@",
    "echo a|@",
    "echo\ta;\t@",
    "echo a\\;@",
    "echo a\\&\\&@",
    "echo 'a'#b;@",
    "echo a#b;@",
    "git --version; @",
    "g () ( @ ); g",
];

/// Fragments for random lines.
const FRAGMENTS: &[&str] = &[
    "@",
    "echo",
    "true",
    "a",
    "x",
    "$x",
    "\"",
    "'",
    "`",
    "$(",
    ")",
    "${",
    "}",
    "(",
    "{",
    ";",
    "&&",
    "||",
    "|",
    ">f",
    "<f",
    "<<E",
    "<<'E'",
    "<<<",
    "\nE\n",
    "\n",
    " ",
    " ",
    " ",
    "\\",
    "=",
    "a=1",
    "x=",
    "$'",
    "$((",
    "))",
    "[[",
    "]]",
    "[",
    "]",
    "if",
    "then",
    "fi",
    "for i in",
    "do",
    "done",
    "case a in",
    "a)",
    "esac",
    ";;",
    "eval",
    "sh -c",
    "#",
    "!",
    "\\\n",
    "$\"",
    "time",
    "-n",
    "1",
    "2>&1",
    "{a,",
    ",b}",
    "*",
];

struct Generator(u64);

impl Generator {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.next(from.len())]
    }

    fn line(&mut self, number: usize) -> String {
        // Every template occurs at least once, in the plain spelling.
        if let Some(template) = TEMPLATES.get(number) {
            return template.replace('@', "canary");
        }
        let mut line = match self.next(4) {
            0 => (0..3 + self.next(14)).map(|_| self.pick(FRAGMENTS)).collect(),
            1 => self.pick(TEMPLATES).to_owned(),
            // Quotes of the outer template may not fit the inner one; bash and the parser must still agree.
            _ => {
                let inner = self.pick(TEMPLATES);
                self.pick(TEMPLATES).replacen('@', inner, 1)
            }
        };
        if self.next(3) == 0 {
            let extra = self.pick(FRAGMENTS);
            let at = line.floor_char_boundary(self.next(line.len() + 1));
            line.insert_str(at, extra);
        }
        while line.contains('@') {
            line = line.replacen('@', self.pick(CANARIES), 1);
        }
        line
    }
}

fn check(lines: usize, seed: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).expect("a folder for programs");
    let mark = folder.path().join("ran");
    write_script(&bin.join("canary"), &format!("#!/bin/sh\n: > '{}'\n", mark.display()));
    for name in ["bash", "cat", "env", "find", "nice", "sh", "timeout", "true", "xargs"] {
        let program = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
        let program = program
            .iter()
            .find(|program| program.exists())
            .expect("a standard program");
        symlink(program, bin.join(name)).expect("a link to a program");
    }
    let rules = [allowing(), denying()];
    let mut generator = Generator(0x9e37_79b9_7f4a_7c15 ^ seed);
    let (mut ran, mut wrong) = (0, Vec::new());
    for number in 0..lines {
        let line = generator.line(number);
        let allowed = rules
            .iter()
            .any(|(rules, level)| word(&run(rules, *level, &line)) == "allow");
        if !allowed {
            continue;
        }
        ran += 1;
        let home = folder.path().join("work");
        fs::create_dir(&home).expect("a working directory");
        write_script(&home.join("canary"), &format!("#!/bin/sh\n: > '{}'\n", mark.display()));
        Command::new("timeout")
            .args(["-k", "1", "2", "bash", "--norc", "--noprofile", "-c", &line])
            .current_dir(&home)
            .env_clear()
            .env("PATH", &bin)
            .env("HOME", &home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("bash");
        fs::remove_dir_all(&home).expect("the working directory");
        if fs::remove_file(&mark).is_ok() {
            let decisions = rules.each_ref().map(|(rules, level)| word(&run(rules, *level, &line)));
            wrong.push(format!("{decisions:?} {line:?}"));
        }
    }
    println!("attack: tried {lines}");
    assert!(ran * 20 >= lines, "only {ran} of {lines} lines were allowed");
    assert!(
        wrong.is_empty(),
        "{} of {ran} lines ran it:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn allowing() -> (Permissions, AccessLevel) {
    #[rustfmt::skip]
    let allow = [
        "bash", "bind", "builtin", "cat", "command", "compgen", "complete", "coproc", "declare", "echo", "enable", "env",
        "eval", "exec", "export", "false", "fc", "find", "getopts", "git", "hash", "jobs", "let", "mapfile", "nice",
        "printf", "read", "readarray", "set", "sh", "shopt", "test", "timeout", "trap", "true", "unset", "wait", "xargs",
        "e", "g", "nothing",
    ];
    let mut permissions = permissions(&commands(&allow, &[], &[]));
    permissions.approval = careful().into();
    (permissions, AccessLevel::Workspace)
}

fn denying() -> (Permissions, AccessLevel) {
    (permissions(&commands(&["*"], &[], &["canary"])), AccessLevel::Full)
}

fn write_script(path: &Path, text: &str) {
    fs::write(path, text).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("an executable script");
}
