//! Commands that delete, move or overwrite files: undo restores every file, or the file is listed before the command runs.

use super::{Fixture, MODEL, shell};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use testkit::{Project, Script, Server, Turn};

/// The files of a project, except those of git, with their contents.
pub(super) fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            match entry.file_type().unwrap() {
                kind if kind.is_dir() && name != ".git" => folders.push(path),
                kind if kind.is_file() => drop(all.insert(name, fs::read(&path).unwrap())),
                _ => {}
            }
        }
    }
    all
}

/// The files that are missing or different.
pub(super) fn missing(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let missing = before
        .iter()
        .filter(|(name, content)| after.get(*name) != Some(content));
    missing.map(|(name, _)| name.clone()).collect()
}

pub(super) fn git(root: &Path, arguments: &[&str]) {
    let git = std::process::Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@localhost",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(
        git.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&git.stderr)
    );
}

/// A model that runs the command in the last prompt.
pub(super) fn prompted_commands() -> Script {
    Script::dynamic(|request| {
        let is_answered = request
            .messages
            .last()
            .is_some_and(|message| !message.results.is_empty());
        match (is_answered, request.last_user_text().split_once("run: ")) {
            (false, Some((_, command))) => shell(command.lines().next().unwrap_or_default()),
            _ => Turn::text("Done."),
        }
    })
}

#[tokio::test]
async fn thousands_of_uncommitted_files_are_restored() {
    let fixture = Fixture::new(&[(".gitignore", "*.log\n"), ("kept.txt", "k\n")], prompted_commands()).await;
    let root = fixture.project.root();
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "start"]);
    // More than the former limits of a single command.
    for number in 0..4_200 {
        let path = format!("data/{}/{number}.txt", number % 10);
        fixture.project.write(path, format!("content {number}\n")).unwrap();
    }
    let before = files(root);
    for command in ["rm -rf data", "git clean -fdq"] {
        fixture.run(&[&format!("run: {command}")]).await;
        assert!(!fixture.exists("data"), "{command}");
        fixture.succeed(&["undo"]).await;
        assert_eq!(missing(&before, &files(root)), Vec::<String>::new(), "{command}");
    }
}

#[tokio::test]
async fn ignored_files_are_restored_and_new_ones_are_not_recorded() {
    let fixture = Fixture::new(
        &[
            (".gitignore", ".env\nbuild/\n*.log\n"),
            (".env", "KEY=1\n"),
            ("build/a.o", "object\n"),
            ("build/deep/b.o", "object b\n"),
            ("a.log", "log\n"),
            ("other", "other\n"),
        ],
        prompted_commands(),
    )
    .await;
    let root = fixture.project.root();
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "start"]);
    let before = files(root);
    let commands = [
        "rm .env",
        "git clean -fdxq",
        "echo KEY=2 > .env",
        "echo KEY=2 | tee .env",
        "python3 -c \"open('.env', 'w')\"",
        "rm -rf build",
        "rm build/a.o && mkdir build/a.o",
        "mv .env moved",
        "sed -i s/1/2/ .env",
        "find . -name '*.log' -delete",
        "rm -f *.log build/*.o",
        "truncate -s 0 .env",
        "dd if=other of=.env",
        "cp other .env",
        "cat other > build/a.o",
    ];
    for command in commands {
        fixture.run(&[&format!("run: {command}")]).await;
        assert_ne!(
            missing(&before, &files(root)),
            Vec::<String>::new(),
            "`{command}` changes nothing"
        );
        fixture.succeed(&["undo"]).await;
        assert_eq!(missing(&before, &files(root)), Vec::<String>::new(), "{command}");
    }
    fixture.run(&["run: echo n > build/new.o"]).await;
    assert!(fixture.hew(&["undo"]).await.stderr.contains("nothing to undo"));
}

#[tokio::test]
async fn what_cannot_be_restored_is_asked_about_or_listed_before_the_command() {
    let fixture = Fixture::new(
        &[
            (".gitignore", "node_modules/\n"),
            ("small", "s\n"),
            ("node_modules/m.js", "m\n"),
        ],
        prompted_commands(),
    )
    .await;
    git(fixture.project.root(), &["init", "-q"]);
    fixture.project.write("big", "b".repeat(20_000)).unwrap();
    let run = async |command: &str| {
        let prompt = format!("run: {command}");
        let hew = fixture
            .hew
            .clone()
            .args(["run", "-m", MODEL, "--set", "checkpoints.max_file=\"10KiB\""]);
        let output = hew.arg(prompt).run().await.unwrap();
        assert_eq!(output.code(), Some(0), "{}", output.stderr);
        output
    };
    for command in [
        "rm big",
        "rm -rf b*",
        "mv big other",
        "find . -name big -delete",
        "echo x > big",
        "git clean -fdq",
    ] {
        run(command).await;
        let seen = fixture.server.main_requests().last().unwrap().json().to_string();
        assert!(seen.contains("undo cannot restore big"), "{command}: {seen}");
        assert_eq!(fixture.read("big").len(), 20_000, "{command}");
        assert!(fixture.exists("small"), "{command}");
    }
    // A command with unknown effects runs, and the list is printed first.
    let output = run("python3 -c \"import os; os.remove('big')\"").await;
    assert!(output.stderr.contains("undo does not cover big"), "{}", output.stderr);
    assert!(!fixture.exists("big"));
    let output = run("rm -rf node_modules").await;
    assert!(
        output.stderr.contains("undo does not cover node_modules"),
        "{}",
        output.stderr
    );
    assert!(!fixture.exists("node_modules"));
}

#[tokio::test]
async fn a_nested_repository_is_deleted_only_after_approval() {
    let fixture = Fixture::new(&[("a", "a\n"), ("lib/b", "b\n")], prompted_commands()).await;
    let root = fixture.project.root();
    let lib = root.join("lib");
    for folder in [root, lib.as_path()] {
        git(folder, &["init", "-q"]);
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-qm", "start"]);
    }
    for command in ["rm -rf lib", "rm -r l*"] {
        fixture.run(&[&format!("run: {command}")]).await;
        let seen = fixture.server.main_requests().last().unwrap().json().to_string();
        assert!(seen.contains("undo cannot restore lib/.git"), "{command}: {seen}");
        git(&lib, &["rev-parse", "HEAD"]);
    }
    // Its files may be deleted.
    fixture.run(&["run: rm -f lib/b"]).await;
    assert!(!fixture.exists("lib/b"));
}

#[tokio::test]
async fn a_file_is_restored_although_its_folder_was_deleted_since() {
    let fixture = Fixture::new(&[("data/deep/a", "a\n"), ("data/b", "b\n")], prompted_commands()).await;
    fixture.run(&["run: rm data/deep/a"]).await;
    fs::remove_dir_all(fixture.project.path("data")).unwrap();
    fixture.succeed(&["undo"]).await;
    assert_eq!(fixture.read("data/deep/a"), "a\n");
}

#[tokio::test]
async fn commands_in_additional_folders_are_undone() {
    let fixture = Fixture::new(&[("a", "a\n")], prompted_commands()).await;
    let other = Project::new(&[
        ("x", "x\n"),
        ("deep/y", "y\n"),
        (".env", "K\n"),
        (".gitignore", ".env\n"),
    ])
    .unwrap();
    let root = other.root().canonicalize().unwrap();
    let before = files(&root);
    let folder = root.display().to_string();
    for command in [
        format!("rm -rf {folder}/deep {folder}/.env a"),
        format!("cd {folder} && echo changed > x && echo new > new"),
        format!("python3 -c \"import shutil; shutil.rmtree('{folder}/deep')\""),
    ] {
        fixture.run(&["--add-dir", &folder, &format!("run: {command}")]).await;
        assert_ne!(files(&root), before, "{command}");
        fixture.succeed(&["undo"]).await;
        assert_eq!(files(&root), before, "{command}");
        assert_eq!(fixture.read("a"), "a\n", "{command}");
    }
}

#[tokio::test]
async fn git_commands_that_delete_history_are_asked_about() {
    let fixture = Fixture::new(&[("a", "a\n")], prompted_commands()).await;
    let root = fixture.project.root();
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "start"]);
    git(root, &["branch", "topic"]);
    for command in [
        "git branch -D topic",
        "git reflog expire --expire=now --all",
        "git gc --prune=now",
        "git -c gc.pruneExpire=now gc",
        "git -C . branch -d -f topic",
        "git stash clear",
    ] {
        fixture.run(&[&format!("run: {command}")]).await;
        let seen = fixture.server.main_requests().last().unwrap().json().to_string();
        assert!(
            seen.contains("deletes history that undo cannot restore"),
            "{command}: {seen}"
        );
    }
    fixture.run(&["run: find .git -name topic -delete"]).await;
    let seen = fixture.server.main_requests().last().unwrap().json().to_string();
    assert!(seen.contains("Not allowed"), "{seen}");
    git(root, &["rev-parse", "topic"]);
}

#[tokio::test]
async fn the_changes_of_a_command_can_be_undone_after_hew_was_killed() {
    let names = ["f", "data/x", "data/y"];
    for resumes in [false, true] {
        let command = "rm -rf data; echo changed > f; echo new > g; echo re''ady; sleep 60";
        let script = Script::new().turn(shell(command)).turn(Turn::text("Done."));
        let fixture = Fixture::new(&names.map(|name| (name, name)), script).await;
        let mut running = fixture
            .hew
            .clone()
            .args(["run", "--json", "-m", MODEL, "go"])
            .spawn()
            .unwrap();
        running.wait_for_output("ready").await.unwrap();
        running.kill().unwrap();
        running.wait().await.unwrap();
        assert!(!fixture.exists("data") && fixture.exists("g"));
        if resumes {
            fixture.run(&["--continue", "what happened?"]).await;
            let seen = fixture.server.main_requests().last().unwrap().json().to_string();
            assert!(seen.contains("hew ended while this call was running"), "{seen}");
        }
        fixture.succeed(&["undo"]).await;
        for name in names {
            assert_eq!(fixture.read(name), name, "resumes: {resumes}");
        }
        assert!(!fixture.exists("g"));
        assert!(fixture.hew(&["undo"]).await.stderr.contains("nothing to undo"));
    }
}

#[tokio::test]
async fn an_undo_that_is_killed_leaves_no_temporary_files_and_can_be_repeated() {
    let server = Server::start(prompted_commands()).await.unwrap();
    let project = Project::new(&[]).unwrap();
    for number in 0..800 {
        project
            .write(format!("data/{number}"), format!("content {number}\n"))
            .unwrap();
    }
    let before = files(project.root());
    let hew = testkit::Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
    let hew = hew.with_server(&server).current_dir(project.root());
    let command = "for f in data/*; do echo changed > $f; done; rm data/1*";
    let prompt = format!("run: {command}");
    let output = hew.clone().args(["run", "-m", MODEL, &prompt]).run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    let after = files(project.root());
    let running = hew.clone().arg("undo").spawn().unwrap();
    while files(project.root()) == after {
        tokio::task::yield_now().await;
    }
    running.kill().unwrap();
    running.wait().await.unwrap();
    let names: Vec<String> = files(project.root()).into_keys().collect();
    assert!(!names.iter().any(|name| name.contains(".hew-")), "{names:?}");
    let again = hew.clone().arg("undo").run().await.unwrap();
    assert!(
        again.code() == Some(0) || again.stderr.contains("nothing to undo"),
        "{}",
        again.stderr
    );
    assert_eq!(files(project.root()), before);
}

#[tokio::test]
async fn commits_succeed_and_hidden_files_stay_as_they_are_in_git() {
    let fixture = Fixture::new(
        &[
            (".hewignore", ".env\nsecrets/\n"),
            (".env", "KEY=1\n"),
            ("secrets/a", "secret\n"),
            ("code", "1\n"),
        ],
        prompted_commands(),
    )
    .await;
    let root = fixture.project.root();
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "start"]);
    git(root, &["config", "user.name", "t"]);
    git(root, &["config", "user.email", "t@localhost"]);
    for command in [
        "echo 2 > code; git commit -qam two && echo do''ne",
        "echo 3 > code; echo new > new; git add -A && git commit -qm three && echo do''ne",
        "test -z \"$(git status --short)\" && echo do''ne",
    ] {
        fixture.run(&[&format!("run: {command}")]).await;
        let request = fixture.server.main_requests().last().unwrap().parsed().unwrap();
        let result = request.results().last().unwrap().text.clone();
        assert!(result.contains("done"), "{command}: {result}");
    }
    for (name, content) in [
        (".env", "KEY=1\n"),
        ("secrets/a", "secret\n"),
        ("code", "3\n"),
        ("new", "new\n"),
    ] {
        let shown = std::process::Command::new("git")
            .args(["show", &format!("HEAD:{name}")])
            .current_dir(root)
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&shown.stdout), content, "{name}");
    }
    // Afterwards git sees changes of hidden files again.
    fixture.project.write(".env", "KEY=2\n").unwrap();
    let status = std::process::Command::new("git")
        .args(["status", "--short"])
        .current_dir(root)
        .output();
    assert_eq!(String::from_utf8_lossy(&status.unwrap().stdout), " M .env\n");
}
