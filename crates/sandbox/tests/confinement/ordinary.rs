//! Ordinary work is not affected.

use std::path::{Path, PathBuf};

use sandbox::{Confinement, ConfinementLevel, ProcessStatus};

use crate::fixture::Fixture;

/// A required program, a command, and the last line of its output.
const WORK: &[(&str, &str, &str)] = &[
    (
        "sh",
        "mkdir -p a/b && echo x > a/b/c && mv a/b/c d && cat d && rm -r a d",
        "x",
    ),
    ("sh", "f=$(mktemp) && echo temp > $f && cat $f && rm $f", "temp"),
    (
        "sh",
        "echo x > new && cat new && chmod 600 new && touch -d 2001-01-01 new && ln new hard && cat hard",
        "x",
    ),
    ("sh", "echo a > /dev/null; head -c 1 /dev/urandom | wc -c", "1"),
    ("sh", "mkfifo p && (echo through > p &) && cat p", "through"),
    (
        "sh",
        "printf 'b\\na\\n' | sort | head -n 1; ls / > /dev/null && cat /etc/hostname > /dev/null; echo done",
        "done",
    ),
    ("bash", "bash -c 'cat <(echo substituted)'", "substituted"),
    ("sh", "(sleep 0.1; echo late) & wait; echo end", "end"),
    (
        "git",
        "mkdir sub && cd sub && git init -q . && echo x > file && git add file && git -c user.name=x -c user.email=x@y commit -qm first && git log --format=%s",
        "first",
    ),
    (
        "git",
        "git add file && git -c user.name=x -c user.email=x@y commit -qm second && git status --short file && git log --format=%s",
        "second",
    ),
    (
        "git",
        "git add file && git -c user.name=x -c user.email=x@y commit -qm one && git checkout -qb other && git branch --show-current",
        "other",
    ),
    (
        "python3",
        "python3 -c 'import json, tempfile, subprocess; print(json.dumps([subprocess.check_output([\"echo\", \"py\"]).decode().strip()]))'",
        "[\"py\"]",
    ),
    (
        "python3",
        "python3 -c 'import multiprocessing as m; print(m.get_context(\"fork\").Pool(2).map(abs, [-1, -2]))'",
        "[1, 2]",
    ),
    (
        "python3",
        "python3 -c 'import asyncio; print(asyncio.run(asyncio.sleep(0, \"async\")))'",
        "async",
    ),
    (
        "python3",
        "python3 -m venv --without-pip v && v/bin/python -c 'print(1)'",
        "1",
    ),
    (
        "python3",
        "python3 -m unittest -q 2>&1 | head -c 0; printf 'def test_one():\\n    assert True\\n' > test_one.py && python3 -c 'import test_one; test_one.test_one(); print(\"tested\")'",
        "tested",
    ),
    (
        "pytest",
        "printf 'def test_one():\\n    assert True\\n' > test_one.py && pytest -q test_one.py | tail -n 1 | cut -d' ' -f1-2",
        "1 passed",
    ),
    (
        "node",
        "node -e 'const c = require(\"child_process\"); console.log(c.execSync(\"echo js\").toString().trim())'",
        "js",
    ),
    (
        "node",
        "printf 'process.send(\"ipc\")' > child.js && node -e 'require(\"child_process\").fork(\"./child.js\").on(\"message\", m => console.log(m))'",
        "ipc",
    ),
    (
        "npm",
        "echo '{\"name\": \"x\", \"scripts\": {\"test\": \"echo npm\"}}' > package.json && npm test --silent --offline",
        "npm",
    ),
    (
        "make",
        "printf 'all:\\n\\t@echo made\\n' > Makefile && make -s -j2",
        "made",
    ),
    (
        "gcc",
        "printf 'int main(void){return 0;}' > m.c && gcc m.c -o m && ./m && echo compiled",
        "compiled",
    ),
    (
        "cargo",
        "printf '[package]\\nname = \"tiny\"\\nedition = \"2021\"\\n[workspace]\\n' > Cargo.toml && echo 'fn main() { println!(\"built\") }' > src/main.rs && HOME=$CARGO_USER cargo run -q --offline",
        "built",
    ),
    (
        "cargo",
        "printf '[package]\\nname = \"tiny\"\\nedition = \"2021\"\\n[workspace]\\n' > Cargo.toml && echo '#[test] fn works() {}' > src/lib.rs && HOME=$CARGO_USER cargo test -q --offline 2>&1 | grep -c 'test result: ok. 1 passed'",
        "1",
    ),
    (
        "go",
        "printf 'package main\\nfunc main() { println(\"go\") }' > m.go && GOFLAGS=-mod=mod GOCACHE=$PWD/c go run m.go 2>&1",
        "go",
    ),
    (
        "tar",
        "mkdir t && echo x > t/f && tar cf t.tar t && rm -r t && tar xf t.tar && cat t/f",
        "x",
    ),
];

/// The search path: last the Python that `cargo xtask ci` installs, which includes pytest.
fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let python = std::env::var_os("HEW_PYTHON").map(PathBuf::from);
    let beside = python.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    std::env::split_paths(&path).chain(beside).collect()
}

fn has(program: &str) -> bool {
    folders().iter().any(|folder| folder.join(program).is_file())
}

async fn check(simulated: &str) {
    for (program, line, last) in WORK {
        if !has(program) {
            let installed = *program == "pytest" && std::env::var_os("HEW_PYTHON").is_some();
            assert!(!installed, "pytest should be beside the Python of HEW_PYTHON");
            println!("skipped: {program} is not there: {line}");
            continue;
        }
        let fixture = Fixture::new();
        let mut request = fixture.request(line);
        // The toolchain is in the real home directory, which is readable.
        let home = std::env::var("HOME").unwrap_or_default();
        for (name, value) in [("CARGO_USER", home.as_str()), ("PRETEND", simulated)] {
            request.environment = request.environment.with(name, value);
        }
        let path = std::env::join_paths(folders()).unwrap();
        request.environment = request.environment.with("PATH", path);
        for name in ["RUSTUP_HOME", "CARGO_HOME", "PYENV_ROOT"] {
            let default = match name {
                "RUSTUP_HOME" => format!("{home}/.rustup"),
                "CARGO_HOME" => format!("{home}/.cargo"),
                _ => format!("{home}/.pyenv"),
            };
            request.environment = request.environment.with(name, std::env::var(name).unwrap_or(default));
        }
        // No hidden paths next to new files, which would be unreadable without namespaces.
        let confinement = Confinement {
            hidden: Vec::new(),
            ..fixture.confinement()
        };
        let exit = confinement.spawn(&request).unwrap().exit().await;
        let output = exit.output.head.trim_end();
        let found = (exit.status, output.lines().next_back().unwrap_or_default());
        let confined = &exit.confinement;
        assert_eq!(
            found,
            (ProcessStatus::Exited(0), *last),
            "{line}: {output} {confined:?}"
        );
    }
}

#[tokio::test]
async fn ordinary_work_succeeds() {
    check("").await;
}

#[tokio::test]
async fn ordinary_work_succeeds_without_namespaces() {
    check("no-namespaces").await;
}

#[tokio::test]
async fn new_terminals_can_be_opened() {
    let fixture = Fixture::new();
    let line = "python3 -c 'import os, pty; ours, theirs = pty.openpty(); os.write(theirs, b\"tty\"); print(os.read(ours, 3))'";
    let exit = fixture.run(&fixture.confinement(), line).await;
    if !has("python3") || !exit.confinement.unwrap().report.mounts.is_active() {
        println!("skipped: python3 is not there, or there are no namespaces to have terminals in");
        return;
    }
    assert_eq!(
        (exit.status, exit.output.head.as_str()),
        (ProcessStatus::Exited(0), "b'tty'\n")
    );
}

#[tokio::test]
async fn hidden_paths_do_not_affect_their_siblings() {
    let fixture = Fixture::new();
    let line = "echo new > beside && cat beside file && ls .env && ls -d secrets";
    let exit = fixture.run(&fixture.confinement(), line).await;
    if !exit.confinement.as_ref().unwrap().report.mounts.is_active() {
        println!("skipped: without namespaces new files beside hidden ones cannot be read");
        return;
    }
    assert_eq!(
        (exit.status, exit.output.head.as_str()),
        (ProcessStatus::Exited(0), "new\nmine\n.env\nsecrets\n")
    );
}

#[tokio::test]
async fn reading_and_running_succeed_at_the_read_only_level() {
    let fixture = Fixture::new();
    let read_only = Confinement {
        level: ConfinementLevel::ReadOnly,
        ..fixture.confinement()
    };
    for (line, expected) in [
        ("cat file", ProcessStatus::Exited(0)),
        ("ls -la / | wc -l > /dev/null", ProcessStatus::Exited(0)),
        ("sh -c 'echo x'", ProcessStatus::Exited(0)),
        ("! touch new 2>/dev/null", ProcessStatus::Exited(0)),
        ("! touch /tmp/new-$$ 2>/dev/null", ProcessStatus::Exited(0)),
    ] {
        let exit = fixture.run(&read_only, line).await;
        assert_eq!(exit.status, expected, "{line}: {}", exit.output.head);
    }
}
