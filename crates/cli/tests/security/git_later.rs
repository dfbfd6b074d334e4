//! What a command leaves in repositories is never executed by a later git.

use crate::Fixture;
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// Runs git as the user does, and returns whether it succeeded.
#[allow(clippy::disallowed_methods, reason = "the user runs git")]
fn git(folder: &Path, args: &[&str]) -> bool {
    let identity = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "safe.directory=*"];
    let mut command = Command::new("git");
    command
        .args(identity)
        .args(args)
        .current_dir(folder)
        .env("GIT_EDITOR", "true");
    command.output().is_ok_and(|done| done.status.success())
}

/// Runs command lines that rules cannot see through.
async fn run(fixture: &Fixture, lines: &[String]) -> String {
    println!("attack: tried {}", lines.len());
    let opaque = |line: &String| {
        let hex: String = line.bytes().map(|byte| format!("{byte:02x}")).collect();
        json!({"command": format!("python3 -c 'import os; os.system(bytes.fromhex(\"{hex}\").decode())'")})
    };
    let calls: Vec<_> = lines.iter().map(|line| ("terminal", opaque(line))).collect();
    let (seen, output) = fixture.calls(&calls).await;
    format!("{seen:#?} {}", output.stderr)
}

/// A program outside of what commands may write, which shows that it was executed.
struct Trap {
    folder: tempfile::TempDir,
}

impl Trap {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
        }
    }

    /// A command that git must not run.
    fn command(&self) -> String {
        format!("touch {}/executed", self.folder.path().display())
    }

    /// Runs git in these folders.
    fn is_held(&self, root: &Path, folders: &[&str]) -> bool {
        for folder in folders
            .iter()
            .map(|folder| root.join(folder))
            .filter(|folder| folder.is_dir())
        {
            for args in [
                ["status", "-s"],
                ["log", "-1"],
                ["rebase", "--continue"],
                ["cherry-pick", "--continue"],
            ] {
                git(&folder, &args);
            }
        }
        !self.folder.path().join("executed").exists()
    }
}

#[tokio::test]
async fn no_spelling_of_a_configuration_hides_a_program() {
    let (fixture, trap) = (Fixture::new("", &[("a.txt", "a")]), Trap::new());
    let key = format!("fsmonitor = {}", trap.command());
    let configs = [
        format!("[core] {key} #]\n"),
        format!("# x \\\n[core] {key}\n"),
        format!("[core]\n bare = false # \\\n {key}\n"),
        format!("[user]\n name = a\\\\\n[core]\n {key}\n"),
        format!("[user \"x\"] [core] {key}\n"),
        format!("[user \"a\\\"]\"]\n[core]{key}\n"),
        format!("\u{feff}[core]{key}\n"),
    ];
    let lines: Vec<String> = configs
        .iter()
        .enumerate()
        .map(|(number, config)| {
            let hex: String = config.bytes().map(|byte| format!("\\{byte:03o}")).collect();
            format!("git init -q r{number} && printf '{hex}' >> r{number}/.git/config")
        })
        .collect();
    let seen = run(&fixture, &lines).await;
    let folders: Vec<String> = (0..configs.len()).map(|number| format!("r{number}")).collect();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    assert!(fixture.project.path("r0/.git/HEAD").exists(), "{seen}");
    assert!(trap.is_held(fixture.project.root(), &folders), "{seen}");
}

#[tokio::test]
async fn additions_run_nothing_whatever_their_size_and_names() {
    let (fixture, trap) = (Fixture::new("", &[("a.txt", "a")]), Trap::new());
    let root = fixture.project.root();
    git(root, &["init", "-q", "-b", "main"]);
    git(root, &["add", "a.txt"]);
    assert!(git(root, &["commit", "-qm", "one"]));
    let evil = trap.command();
    let copy = format!(
        "E=$(mktemp -d); cp -r .git/HEAD .git/objects .git/refs $E; printf '[core]\\nfsmonitor = {evil}\\n' > $E/config"
    );
    let pad = "python3 -c \"print('# text\\n' * 200000)\"";
    let lines = [
        format!(
            "{copy}; mkdir -p .git/worktrees/x.blocked t; cp .git/HEAD .git/worktrees/x.blocked; \
             echo $E > .git/worktrees/x.blocked/commondir; echo 'gitdir: ../.git/worktrees/x.blocked' > t/.git"
        ),
        format!(
            "{copy}; mkdir -p .git/worktrees/y '.git/worktrees/.. ' u; cp -r $E/* '.git/worktrees/.. '; \
             cp .git/HEAD .git/worktrees/y; printf '../.. ' > .git/worktrees/y/commondir; echo 'gitdir: ../.git/worktrees/y' > u/.git"
        ),
        format!(
            "{copy}; mkdir -p .git/worktrees/w/deep v; cp .git/HEAD .git/worktrees/w; echo ../.. > .git/worktrees/w/commondir; \
             cp .git/HEAD .git/worktrees/w/deep; echo $E > .git/worktrees/w/deep/commondir; echo 'gitdir: ../.git/worktrees/w/deep' > v/.git"
        ),
        format!(
            "git init -q m; {copy}; cd m; mkdir -p .git/modules/a/objects/b t; cp $E/HEAD .git/modules/a; cp -r $E/* .git/modules/a/objects/b; \
             echo 'gitdir: ../.git/modules/a/objects/b' > t/.git"
        ),
        "touch .git/worktrees/x.blocked/HEAD; cp .git/HEAD .git/worktrees/x.blocked/HEAD".to_owned(),
        format!(
            "mkdir -p .git/rebase-merge; cd .git/rebase-merge; ({pad}; echo 'exec {evil}') > git-rebase-todo; \
             git rev-parse HEAD | tee onto > orig-head; echo refs/heads/main > head-name; touch done interactive quiet; \
             echo 0 > msgnum; echo 1 > end"
        ),
        format!("mkdir -p .git/sequencer; ({pad}; printf '[options]\\nstrategy = x/evil\\n') > .git/sequencer/opts"),
        format!(
            "git init -q n; cd n/.git/hooks; touch pre-commit.blocked; seq 12000 | sed 's/.*/pre-commit.&.blocked/' | xargs touch; \
             printf '#!/bin/sh\\n{evil}\\n' > pre-commit; chmod +x pre-commit"
        ),
        "echo 'URL: /tmp/evil' > .git/branches/origin; mkdir .git/remotes; echo 'URL: /tmp/evil' > .git/remotes/origin"
            .to_owned(),
    ];
    let seen = run(&fixture, &lines).await;
    assert!(trap.is_held(root, &["", "t", "u", "v", "m/t"]), "{seen}");
    git(&root.join("n"), &["commit", "--allow-empty", "-qm", "x"]);
    assert!(trap.is_held(root, &["n"]), "{seen}");
    for name in [".git/sequencer/opts", ".git/branches/origin", ".git/remotes/origin"] {
        assert!(!fixture.project.path(name).exists(), "{name}: {seen}");
    }
}

/// A repository above the project, and one with linked worktrees elsewhere, are as protected as the project's own.
#[tokio::test]
async fn a_git_directory_outside_of_the_project_runs_nothing_later() {
    for is_worktree in [false, true] {
        let (mut fixture, trap) = (Fixture::new("", &[("main/sub/a.txt", "a")]), Trap::new());
        let main = fixture.project.path("main");
        git(&main, &["init", "-q", "-b", "main"]);
        git(&main, &["config", "core.hooksPath", "sub/tools"]);
        git(&main, &["add", "-A"]);
        assert!(git(&main, &["commit", "-qm", "one"]));
        let root = match is_worktree {
            true => {
                assert!(git(&main, &["worktree", "add", "-q", "../tree"]));
                fixture.project.path("tree")
            }
            false => main.join("sub"),
        };
        fixture.hew = fixture.hew.current_dir(&root);
        let evil = trap.command();
        let lines = [
            "cd $(git rev-parse --git-dir) && mkdir rebase-merge && cd rebase-merge && touch done interactive quiet && \
             git rev-parse HEAD | tee onto > orig-head && echo refs/heads/main > head-name && echo 0 > msgnum && echo 1 > end && \
             echo 'exec EVIL' > git-rebase-todo"
                .replace("EVIL", &evil),
            "G=$(git rev-parse --git-dir) && mkdir $G/sequencer && printf '[options]\\nstrategy = x/evil\\n' > $G/sequencer/opts".into(),
            "G=$(git rev-parse --git-common-dir); G=$(realpath $G); mkdir -p $G/worktrees/n n; cp $G/HEAD $G/worktrees/n; \
             E=$(mktemp -d); cp -r $G/HEAD $G/objects $G/refs $E; printf '[core]\\nfsmonitor = EVIL\\n' > $E/config; \
             echo $E > $G/worktrees/n/commondir; echo \"gitdir: $G/worktrees/n\" > n/.git"
                .replace("EVIL", &evil),
            "T=$(git rev-parse --show-toplevel)/sub/tools; mkdir -p $T; printf '#!/bin/sh\\nEVIL\\n' > $T/pre-commit; chmod +x $T/pre-commit"
                .replace("EVIL", &evil),
        ];
        let seen = run(&fixture, &lines).await;
        assert!(trap.is_held(&root, &["", "n"]), "{is_worktree}: {seen}");
        git(&root, &["commit", "--allow-empty", "-qm", "two"]);
        assert!(trap.is_held(&root, &[""]), "{is_worktree}: {seen}");
        let place = match is_worktree {
            true => main.join(".git/worktrees/tree"),
            false => main.join(".git"),
        };
        assert!(!place.join("sequencer/opts").exists(), "{is_worktree}: {seen}");
    }
}

/// Repositories in a git directory, and remotes that commands can change.
#[tokio::test]
async fn repositories_anywhere_and_their_remotes_run_nothing_later() {
    let (fixture, trap) = (Fixture::new("", &[("a.txt", "a")]), Trap::new());
    let root = fixture.project.root();
    git(root, &["init", "-q", "-b", "main"]);
    git(root, &["add", "a.txt"]);
    assert!(git(root, &["commit", "-qm", "one"]));
    let evil = trap.command();
    let arm = |git: &str| {
        format!(
            "printf '[core]\\nfsmonitor = {evil}\\n' >> {git}/config; mkdir -p {git}/hooks; \
             for h in pre-commit pre-receive post-receive update; do printf '#!/bin/sh\\n{evil}\\n' > {git}/hooks/$h; chmod +x {git}/hooks/$h; done"
        )
    };
    let inner = [
        ".git/x",
        ".git/objects/x",
        ".git/objects/ab",
        ".git/refs/x",
        ".git/logs/x",
        ".git/info/x",
        ".git/worktrees/w/x",
        ".git/modules/x",
        ".git/lfs/x",
    ];
    let mut lines: Vec<String> = inner
        .iter()
        .map(|folder| format!("mkdir -p {folder}; git init -q --bare {folder}; {}", arm(folder)))
        .collect();
    lines.push(format!("git init -q .git/tree; {}", arm(".git/tree/.git")));
    // Where hooks run that are not searched.
    let bare = format!("D=$(mktemp -d); git init -q --bare $D; {}", arm("$D"));
    let remotes = [
        ("url", "git config remote.origin.url $D"),
        ("file", "git config remote.origin.url file://$D"),
        (
            "push",
            "git config remote.origin.url https://h.invalid/x; git config remote.origin.pushurl $D",
        ),
        (
            "branch",
            "git config branch.main.remote $D; git config branch.main.merge refs/heads/main",
        ),
        ("default", "git config remote.pushDefault $D"),
        (
            "generated",
            "mv $D $PWD/node_modules; git config remote.origin.url $PWD/node_modules",
        ),
    ];
    for (name, configure) in remotes {
        lines.push(format!(
            "{bare}; git init -q -b main {name}; cd {name}; git -c user.name=A -c user.email=a@b commit -q --allow-empty -m x; {configure}"
        ));
    }
    let seen = run(&fixture, &lines).await;
    let trees = [".git/tree"]
        .into_iter()
        .chain(inner)
        .chain(remotes.map(|(name, _)| name));
    for folder in trees {
        assert!(root.join(folder).is_dir(), "{folder}: {seen}");
        assert!(trap.is_held(root, &[folder]), "{folder}: {seen}");
        for args in [["push", "-q"], ["fetch", "-q"]] {
            git(&root.join(folder), &["-c", "push.default=current", args[0], args[1]]);
        }
        git(&root.join(folder), &["commit", "--allow-empty", "-qm", "x"]);
        assert!(trap.is_held(root, &[]), "{folder}: {seen}");
    }
}

/// What must work: commits in a submodule, from the project that contains it, and if the project is the submodule.
#[tokio::test]
async fn commits_in_submodules_succeed_and_their_hooks_are_protected() {
    for is_project in [false, true] {
        let (mut fixture, trap) = (
            Fixture::new("", &[("super/a.txt", "a"), ("lib/b.txt", "b")]),
            Trap::new(),
        );
        let (main, lib) = (fixture.project.path("super"), fixture.project.path("lib"));
        for folder in [&main, &lib] {
            assert!(git(folder, &["init", "-q", "-b", "main"]) && git(folder, &["add", "-A"]));
            assert!(git(folder, &["commit", "-qm", "one"]));
        }
        let url = lib.display().to_string();
        assert!(git(
            &main,
            &[
                "-c",
                "protocol.file.allow=always",
                "submodule",
                "add",
                "-q",
                &url,
                "sub"
            ]
        ));
        assert!(git(&main, &["commit", "-qm", "two"]));
        let sub = main.join("sub");
        fixture.hew = fixture.hew.current_dir(if is_project { &sub } else { &main });
        let evil = trap.command();
        let enter = if is_project { "" } else { "cd sub; " };
        let lines = [
            format!("{enter}echo c > b.txt; git -c user.name=A -c user.email=a@b commit -qam three"),
            format!(
                "{enter}printf '#!/bin/sh\\n{evil}\\n' > $(git rev-parse --git-dir)/hooks/pre-commit; chmod +x $(git rev-parse --git-dir)/hooks/pre-commit"
            ),
            format!("{enter}printf '[core]\\nfsmonitor = {evil}\\n' >> $(git rev-parse --git-dir)/config"),
            format!(
                "{enter}E=$(mktemp -d); cp -r $(git rev-parse --git-dir)/* $E; printf '[core]\\nfsmonitor = {evil}\\n' >> $E/config; echo gitdir: $E > .git"
            ),
        ];
        let seen = run(&fixture, &lines).await;
        let log = main.join(".git/modules/sub/logs/HEAD");
        let log = std::fs::read_to_string(log).unwrap();
        assert!(log.contains("three"), "{is_project}: {log} {seen}");
        assert!(trap.is_held(&sub, &[""]), "{is_project}: {seen}");
        git(&sub, &["commit", "--allow-empty", "-qm", "four"]);
        assert!(trap.is_held(&sub, &[""]), "{is_project}: {seen}");
    }
}
