//! `cargo xtask ci`: all checks, ordered so that likely failures come first.
//!
//! The steps share one profile and one target folder, so dependencies are compiled at most twice: once as metadata
//! (clippy, docs) and once as code (tests). Missing tools are installed under `.tools/`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{no_arguments, tidy, tools};

/// A named part of the run. Steps share a [`CiRun`]: they use and add to its prepared tools.
struct Step {
    name: &'static str,
    run: fn(&mut CiRun) -> Result<Outcome>,
}

/// The result of a step that did not fail.
enum Outcome {
    Passed,
    /// It is not possible on this machine, and the run passes without it.
    Skipped {
        why: String,
    },
}

const STEPS: &[Step] = &[
    Step {
        name: "format",
        run: format,
    },
    Step {
        name: "tidy",
        run: tidy_rules,
    },
    Step {
        name: "clippy",
        run: clippy,
    },
    Step {
        name: "python",
        run: python,
    },
    Step {
        name: "node",
        run: node,
    },
    Step {
        name: "chromium",
        run: chromium,
    },
    Step {
        name: "clangd",
        run: clangd,
    },
    Step {
        name: "tmux",
        run: tmux,
    },
    Step {
        name: "tests",
        run: tests,
    },
    Step {
        name: "docs",
        run: docs,
    },
    Step {
        name: "cargo-deny",
        run: cargo_deny,
    },
    Step {
        name: "licences",
        run: licences,
    },
    Step {
        name: "advisories",
        run: advisories,
    },
];

/// The repository and the tools that earlier steps prepared.
struct CiRun {
    root: PathBuf,
    /// Interpreter with the vendors' SDKs, once the `python` step has run.
    python: Option<PathBuf>,
    /// The `node_modules` folder, once the `node` step has run.
    node_modules: Option<PathBuf>,
    /// The browser for tests, once the `chromium` step has run.
    chromium: Option<PathBuf>,
    /// The `cargo-deny` program, once the `cargo-deny` step has run.
    deny: Option<PathBuf>,
}

/// Runs the steps in order and stops at the first failure.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    no_arguments("ci", args)?;
    let mut ci_run = CiRun {
        root: root.to_path_buf(),
        python: None,
        node_modules: None,
        chromium: None,
        deny: None,
    };
    let report = run_steps(STEPS, &mut ci_run)?;
    println!("\n{report}");
    Ok(())
}

fn run_steps(steps: &[Step], run: &mut CiRun) -> Result<String> {
    let start = Instant::now();
    let mut times = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n=== {} ({} of {})", step.name, index + 1, steps.len());
        let step_start = Instant::now();
        let outcome = (step.run)(run)
            .with_context(|| format!("ci failed in step `{}` after {}", step.name, human(start.elapsed())))?;
        let took = human(step_start.elapsed());
        match outcome {
            Outcome::Passed => {
                println!("=== {}: passed in {took}", step.name);
                times.push(format!("{} {took}", step.name));
            }
            Outcome::Skipped { why } => {
                println!("=== {}: skipped, {why}", step.name);
                times.push(format!("{} skipped", step.name));
            }
        }
    }
    Ok(format!(
        "ci passed: {} steps in {} ({})",
        steps.len(),
        human(start.elapsed()),
        times.join(", ")
    ))
}

fn tidy_rules(run: &mut CiRun) -> Result<Outcome> {
    tidy::check(&run.root)?;
    Ok(Outcome::Passed)
}

fn format(run: &mut CiRun) -> Result<Outcome> {
    cargo(run, &["fmt", "--all", "--check"], &[])
}

fn clippy(run: &mut CiRun) -> Result<Outcome> {
    cargo(
        run,
        &[
            "clippy",
            "--locked",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    )
}

fn python(run: &mut CiRun) -> Result<Outcome> {
    run.python = Some(tools::python(&run.root)?);
    Ok(Outcome::Passed)
}

fn node(run: &mut CiRun) -> Result<Outcome> {
    run.node_modules = Some(tools::node_modules(&run.root)?);
    Ok(Outcome::Passed)
}

fn chromium(run: &mut CiRun) -> Result<Outcome> {
    run.chromium = Some(tools::chromium()?);
    Ok(Outcome::Passed)
}

fn clangd(_: &mut CiRun) -> Result<Outcome> {
    tools::program("clangd", "clangd", "language server tests")?;
    Ok(Outcome::Passed)
}

fn tmux(_: &mut CiRun) -> Result<Outcome> {
    tools::program("tmux", "tmux", "TUI tests")?;
    Ok(Outcome::Passed)
}

fn tests(run: &mut CiRun) -> Result<Outcome> {
    let python = run
        .python
        .as_ref()
        .context("the `python` step has not run")?
        .display()
        .to_string();
    let node_modules = run
        .node_modules
        .as_ref()
        .context("the `node` step has not run")?
        .display()
        .to_string();
    let chromium = run
        .chromium
        .as_ref()
        .context("the `chromium` step has not run")?
        .display()
        .to_string();
    cargo(
        run,
        &["test", "--locked", "--workspace"],
        &[
            ("HEW_PYTHON", &python),
            ("HEW_NODE_MODULES", &node_modules),
            ("HEW_CHROMIUM", &chromium),
        ],
    )
}

fn docs(run: &mut CiRun) -> Result<Outcome> {
    cargo(
        run,
        &["doc", "--locked", "--workspace", "--no-deps"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )
}

fn cargo_deny(run: &mut CiRun) -> Result<Outcome> {
    run.deny = Some(tools::cargo_deny(&run.root)?);
    Ok(Outcome::Passed)
}

fn licences(run: &mut CiRun) -> Result<Outcome> {
    let deny = run.deny.as_ref().context("the `cargo-deny` step has not run")?;
    succeed(Command::new(deny).current_dir(&run.root).args([
        "--locked",
        "check",
        "--hide-inclusion-graph",
        "licenses",
        "bans",
        "sources",
    ]))
}

/// Checks for known vulnerabilities. Skipped if the advisory database cannot be fetched.
fn advisories(run: &mut CiRun) -> Result<Outcome> {
    let deny = run.deny.as_ref().context("the `cargo-deny` step has not run")?;
    let mut fetch = Command::new(deny);
    fetch.current_dir(&run.root).args(["fetch", "db"]);
    if let Err(why) = tools::quietly(&mut fetch, Duration::from_secs(60)) {
        return Ok(Outcome::Skipped {
            why: format!("the advisory database cannot be fetched here: {why:#}"),
        });
    }
    succeed(
        Command::new(deny)
            .current_dir(&run.root)
            .args(["--offline", "check", "advisories"]),
    )
}

fn cargo(run: &CiRun, args: &[&str], env: &[(&str, &str)]) -> Result<Outcome> {
    let mut command = Command::new(tools::cargo());
    command.current_dir(&run.root).args(args).envs(env.iter().copied());
    succeed(&mut command)
}

/// Runs a command with inherited output. A bad exit status becomes an error that names the command.
fn succeed(command: &mut Command) -> Result<Outcome> {
    let line = tools::shown(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(Outcome::Passed)
}

/// A readable duration: `0.4 s`, `12.0 s`, `3 min 20 s`.
fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        return format!("{:.1} s", duration.as_secs_f64());
    }
    format!("{} min {} s", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn empty_run() -> CiRun {
        CiRun {
            root: PathBuf::from("."),
            python: None,
            node_modules: None,
            chromium: None,
            deny: None,
        }
    }

    #[test]
    fn the_first_failing_step_stops_the_run_and_is_named() {
        let steps = [
            Step {
                name: "good",
                run: |_| Ok(Outcome::Passed),
            },
            Step {
                name: "bad",
                run: |_| bail!("the reason"),
            },
            Step {
                name: "never",
                run: |run| {
                    run.deny = Some("reached".into());
                    Ok(Outcome::Passed)
                },
            },
        ];
        let mut run = empty_run();
        let message = format!("{:#}", run_steps(&steps, &mut run).unwrap_err());
        assert!(
            message.contains("step `bad`") && message.contains("the reason"),
            "{message}"
        );
        assert!(run.deny.is_none(), "a step ran after the failure");
    }

    #[test]
    fn a_whole_run_ends_with_one_line_that_counts_and_times_the_steps() {
        let steps = [
            Step {
                name: "one",
                run: |_| Ok(Outcome::Passed),
            },
            Step {
                name: "two",
                run: |_| Ok(Outcome::Passed),
            },
        ];
        let report = run_steps(&steps, &mut empty_run()).unwrap();
        assert!(report.starts_with("ci passed: 2 steps in "), "{report}");
        assert!(report.contains("one ") && report.contains("two "), "{report}");
    }

    #[test]
    fn a_skipped_step_is_not_reported_as_passed() {
        let steps = [Step {
            name: "one",
            run: |_| {
                Ok(Outcome::Skipped {
                    why: "no network".into(),
                })
            },
        }];
        let report = run_steps(&steps, &mut empty_run()).unwrap();
        assert!(report.contains("one skipped"), "{report}");
    }

    #[test]
    fn a_command_that_fails_is_named_in_the_error() {
        let mut command = Command::new(tools::cargo());
        command.arg("no-such-subcommand").stderr(Stdio::null());
        let message = format!("{:#}", succeed(&mut command).err().unwrap());
        assert!(message.contains("no-such-subcommand"), "{message}");
    }

    #[test]
    fn durations_are_formatted_in_minutes_and_seconds() {
        for (millis, expected) in [(400, "0.4 s"), (12_000, "12.0 s"), (200_000, "3 min 20 s")] {
            assert_eq!(human(Duration::from_millis(millis)), expected);
        }
    }
}
