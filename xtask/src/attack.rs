//! `cargo xtask attack`: the attack suite, as root and as an ordinary user, with a table of what was tried and what held.
//!
//! The suite consists of tests that also run with all others. A test that makes several attempts prints
//! `attack: tried N`; any other test is one attempt.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A part of the suite: tests of one binary.
struct AttackSuite {
    area: &'static str,
    package: &'static str,
    test: &'static str,
    /// The tests with a name that contains one of these; all if empty.
    filters: &'static [&'static str],
}

const SUITES: &[AttackSuite] = &[
    AttackSuite {
        area: "sandbox: files, processes, network, kernel",
        package: "sandbox",
        test: "confinement",
        filters: &[],
    },
    AttackSuite {
        area: "sandbox: the memory of hew",
        package: "sandbox",
        test: "hardening",
        filters: &[],
    },
    AttackSuite {
        area: "shell: generated lines against bash",
        package: "policy",
        test: "all",
        filters: &["differential::"],
    },
    AttackSuite {
        area: "shell: command rules and known bypasses",
        package: "policy",
        test: "all",
        filters: &["bypasses::", "properties::"],
    },
    AttackSuite {
        area: "shell: programs that run other programs",
        package: "cli",
        test: "security",
        filters: &["shell_lines::"],
    },
    AttackSuite {
        area: "network: named hosts only",
        package: "cli",
        test: "security",
        filters: &["network_hosts::"],
    },
    AttackSuite {
        area: "rules for paths, tools and modes",
        package: "policy",
        test: "all",
        filters: &["permissions::", "modes::"],
    },
    AttackSuite {
        area: "nested patterns, lines and files",
        package: "policy",
        test: "all",
        filters: &["nesting::"],
    },
    AttackSuite {
        area: "races with links",
        package: "toolbox",
        test: "all",
        filters: &["races::"],
    },
    AttackSuite {
        area: "web: addresses, redirects, sizes",
        package: "toolbox",
        test: "all",
        filters: &["fetch_and_download::", "web_server::"],
    },
    AttackSuite {
        area: "denied files in tools and commands",
        package: "cli",
        test: "security",
        filters: &["denied_files::"],
    },
    AttackSuite {
        area: "sessions: git, servers, hooks, hidden files, hew's files",
        package: "cli",
        test: "sandbox_attacks",
        filters: &[],
    },
    AttackSuite {
        area: "repositories: what git runs later",
        package: "cli",
        test: "security",
        filters: &["git_later::"],
    },
    AttackSuite {
        area: "hew serve: tokens, hosts, paths",
        package: "cli",
        test: "serve",
        filters: &["attacks::"],
    },
    AttackSuite {
        area: "leaks: variables and keys",
        package: "cli",
        test: "security",
        filters: &["environment::"],
    },
    AttackSuite {
        area: "terminal escape sequences",
        package: "cli",
        test: "security",
        filters: &["escapes::"],
    },
    AttackSuite {
        area: "untrusted repositories",
        package: "cli",
        test: "security",
        filters: &["untrusted::"],
    },
    AttackSuite {
        area: "depth, pipes and endless files",
        package: "cli",
        test: "security",
        filters: &["nesting::"],
    },
    AttackSuite {
        area: "endless replies and signals",
        package: "cli",
        test: "text_calls",
        filters: &["endless_replies::"],
    },
    AttackSuite {
        area: "faults: kill -9, damaged and full storage",
        package: "cli",
        test: "undo",
        filters: &["killed"],
    },
    AttackSuite {
        area: "bad input",
        package: "cli",
        test: "bad_input",
        filters: &[],
    },
];

/// The user that runs the tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AttackUser {
    /// The user of this process.
    Own,
    /// The user `nobody`, if this process runs as root.
    Nobody,
}

/// What was tried and what held.
#[derive(Clone, Copy, Default)]
struct Tally {
    tried: u64,
    held: u64,
}

pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let is_full = match args {
        [] => false,
        [flag] if flag == "--full" => true,
        _ => bail!("usage: cargo xtask attack [--full]"),
    };
    let is_root = effective_user()? == 0;
    let users: &[AttackUser] = match is_root {
        true => &[AttackUser::Own, AttackUser::Nobody],
        false => &[AttackUser::Own],
    };
    let programs = build(root)?;
    let mut rows = Vec::new();
    for suite in SUITES {
        let program = programs
            .get(&(suite.package.to_owned(), suite.test.to_owned()))
            .with_context(|| format!("{} has no test `{}`", suite.package, suite.test))?;
        let mut tallies = Vec::new();
        for user in users {
            let tally = attack(root, suite, program, *user, is_full)?;
            eprintln!("{}: {} of {} held", suite.area, tally.held, tally.tried);
            tallies.push(tally);
        }
        rows.push((suite.area, tallies));
    }
    print_table(&rows, is_root);
    let escaped = rows
        .iter()
        .flat_map(|(_, tallies)| tallies)
        .any(|tally| tally.held < tally.tried);
    match escaped {
        true => bail!("some attempts succeeded"),
        false => Ok(()),
    }
}

/// The effective user, by the program `id`.
fn effective_user() -> Result<u32> {
    let output = Command::new("id").arg("-u").output().context("cannot run id")?;
    let text = String::from_utf8(output.stdout).context("the output of id")?;
    text.trim().parse().context("the output of id")
}

/// Builds the tests, and returns their programs by package and name.
fn build(root: &Path) -> Result<BTreeMap<(String, String), PathBuf>> {
    let mut build = Command::new(env!("CARGO"));
    build
        .current_dir(root)
        .args(["test", "--no-run", "--message-format=json"]);
    let mut seen = Vec::new();
    for suite in SUITES {
        for (flag, value) in [("-p", suite.package), ("--test", suite.test)] {
            if !seen.contains(&(flag, value)) {
                build.args([flag, value]);
                seen.push((flag, value));
            }
        }
    }
    let output = build
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!("the tests do not build");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let programs = messages.filter_map(|message| {
        let program = PathBuf::from(message["executable"].as_str()?);
        let manifest = Path::new(message["manifest_path"].as_str()?);
        let package = manifest.parent()?.file_name()?.to_str()?.to_owned();
        let is_test = message["target"]["kind"][0] == "test";
        is_test.then(|| {
            (
                (
                    package,
                    message["target"]["name"].as_str().unwrap_or_default().to_owned(),
                ),
                program,
            )
        })
    });
    Ok(programs.collect())
}

/// Runs a part of the suite.
fn attack(root: &Path, suite: &AttackSuite, program: &Path, user: AttackUser, is_full: bool) -> Result<Tally> {
    let home = std::env::temp_dir().join(format!("hew-attack-{}", std::process::id()));
    std::fs::create_dir_all(&home).context("a folder for the tests")?;
    let mut command = match user {
        AttackUser::Own => Command::new(program),
        AttackUser::Nobody => {
            let given = Command::new("chown").arg("65534:65534").arg(&home).status();
            given.context("cannot run chown")?;
            // The tests create projects there, outside of the temporary directories.
            let shared = Command::new("chmod").arg("1777").arg(root.join("target/tmp")).status();
            shared.context("cannot run chmod")?;
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
                .arg(program);
            command.env("HOME", &home).env("TMPDIR", &home);
            command
        }
    };
    command.current_dir(root.join("crates").join(suite.package));
    command.args(suite.filters).args(["--nocapture", "--test-threads=2"]);
    if is_full {
        command.arg("--include-ignored");
    }
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let tally = tally(&text);
    if tally.held < tally.tried || !output.status.success() {
        eprintln!("{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::remove_dir_all(&home).ok();
    match (output.status.success(), tally.tried) {
        (_, 0) => bail!("{}: no test ran", suite.area),
        (true, _) => Ok(tally),
        // At least one attempt of a failed test succeeded.
        (false, _) => Ok(Tally {
            held: tally.held.min(tally.tried - 1),
            ..tally
        }),
    }
}

/// Counts attempts in the output of tests: those that tests print, and one for each other test.
fn tally(output: &str) -> Tally {
    let mut tally = Tally::default();
    let (mut tests, mut failed, mut printing) = (0, 0, 0);
    for line in output.lines() {
        // Without capturing, the output of a test follows its name on the same line.
        if let Some((_, count)) = line.split_once("attack: tried ") {
            let count: u64 = count
                .split(|c: char| !c.is_ascii_digit())
                .next()
                .unwrap_or("0")
                .parse()
                .unwrap_or(0);
            tally.tried += count;
            tally.held += count;
            printing += 1;
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            let number = |what: &str| {
                let part = result.split([';', '.']).find(|part| part.trim_end().ends_with(what));
                part.and_then(|part| part.split_whitespace().next()?.parse::<u64>().ok())
                    .unwrap_or(0)
            };
            tests += number("passed") + number("failed");
            failed += number("failed");
        }
    }
    let others = tests.saturating_sub(printing);
    tally.tried += others;
    tally.held += others;
    tally.held = tally.held.saturating_sub(failed);
    tally
}

fn print_table(rows: &[(&str, Vec<Tally>)], is_root: bool) {
    match is_root {
        true => println!(
            "| attempts | as root: tried | held | as an ordinary user: tried | held |\n|---|---:|---:|---:|---:|"
        ),
        false => println!("| attempts | tried | held |\n|---|---:|---:|"),
    }
    let columns = rows.first().map_or(0, |(_, tallies)| tallies.len());
    let mut sums = vec![Tally::default(); columns];
    let cells = |tallies: &[Tally]| {
        let cells = tallies
            .iter()
            .map(|tally| format!(" {} | {} |", tally.tried, tally.held));
        cells.collect::<String>()
    };
    for (area, tallies) in rows {
        for (sum, tally) in sums.iter_mut().zip(tallies) {
            sum.tried += tally.tried;
            sum.held += tally.held;
        }
        println!("| {area} |{}", cells(tallies));
    }
    println!("| **all** |{}", cells(&sums));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_attempts_and_other_tests_are_counted() {
        let output = "running 3 tests\ntest a ... attack: tried 20\nok\ntest b ... ok\ntest c ... FAILED\n\
                      test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.1s\n";
        let tally = tally(output);
        assert_eq!((tally.tried, tally.held), (22, 21));
    }
}
