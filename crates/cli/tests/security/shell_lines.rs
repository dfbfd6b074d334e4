//! Commands that run other commands in unusual ways do not evade allow and deny rules.

use crate::Fixture;

/// Each line may run `touch p`, or a program of the project.
#[rustfmt::skip]
const LINES: &[&str] = &[
    "trap -- 'touch p' EXIT",
    "sed 's,x,touch p,ew f' f",
    "tar cfI x 'touch p' y",
    "git difftool --tool=x",
    "git mergetool -t x",
    "git merge -sx y",
    "git merge --strategy=x y",
    "git remote-ext x y",
    "make SHELL=./x",
    "make 'X=$(shell touch p)'",
    "ex -c '!touch p' f",
    "ed f <<< '!touch p'",
    "gdb -ex 'shell touch p'",
    "openssl engine ./x.so",
    "cmake -E env touch p",
    "npm exec touch p",
    "fzf --preview 'touch p'",
    "tmux new 'touch p'",
    "screen touch p",
    "dc -e '!touch p'",
    "socat - EXEC:'touch p'",
    "nc -e touch x 1",
    "tcpdump -z touch -w x",
    "ip netns exec x touch p",
    "emacs --batch --eval '(shell-command \"touch p\")'",
    "rpm --eval '%(touch p)'",
    "hg --config alias.x='!touch p' x",
    "svn diff --diff-cmd=./x",
];

#[tokio::test]
async fn rules_decide_about_commands_that_other_commands_run() {
    let programs = LINES.iter().map(|line| line.split(' ').next().unwrap());
    let allow: Vec<String> = programs.map(|program| format!("'run({program})'")).collect();
    let allow = format!(
        "[permissions]\nallow = [{}]\n[approval]\ncommands = 'ask'",
        allow.join(", ")
    );
    let deny = "[permissions]\ndeny = ['run(touch)', 'run(./x)']".to_owned();
    let mut tried = 0;
    for config in [allow, deny] {
        let fixture = Fixture::new(&config, &[]);
        for line in LINES {
            tried += 1;
            let output = fixture.hew(&["permissions", "test", "run", line]).await;
            assert!(!output.stdout.starts_with("allow"), "{line}: {}", output.stdout);
        }
    }
    let fixture = Fixture::new("[permissions]\ndeny = ['run(git push)']", &[]);
    for line in [
        "git send-pack x",
        "git http-push x",
        "git subtree push -P a x y",
        "git-send-pack x",
    ] {
        tried += 1;
        let output = fixture.hew(&["permissions", "test", "run", line]).await;
        assert!(output.stdout.starts_with("deny"), "{line}: {}", output.stdout);
    }
    println!("attack: tried {tried}");
}
