//! `cargo xtask ci`: everything a change must pass, in the order that fails soonest.
//!
//! The steps share one profile and one target folder, so dependencies are compiled twice at most: once as metadata
//! (clippy, docs) and once as code (tests). What a step needs and the machine lacks is installed under `.tools/`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{no_arguments, tidy, tools};

/// A named part of the run. It gets what earlier steps prepared and may add to it.
struct Step {
    name: &'static str,
    run: fn(&mut Bench) -> Result<Outcome>,
}

/// How a step ended, when it did not fail.
enum Outcome {
    Passed,
    /// It could not be done here, and the run is good without it.
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
        run: house_rules,
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

/// What the steps work on.
struct Bench {
    root: PathBuf,
    /// Interpreter with the vendors' SDKs, once the `python` step has run.
    python: Option<PathBuf>,
    /// The folder with packages of Node.js, once the `node` step has run.
    node_modules: Option<PathBuf>,
    /// The browser that the tests drive, once the step of that name has run.
    chromium: Option<PathBuf>,
    /// The `cargo-deny` program, once the step of that name has run.
    deny: Option<PathBuf>,
}

/// Runs every step and stops at the first that fails.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    no_arguments("ci", args)?;
    let mut bench = Bench {
        root: root.to_path_buf(),
        python: None,
        node_modules: None,
        chromium: None,
        deny: None,
    };
    let report = run_steps(STEPS, &mut bench)?;
    println!("\n{report}");
    Ok(())
}

fn run_steps(steps: &[Step], bench: &mut Bench) -> Result<String> {
    let start = Instant::now();
    let mut times = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n=== {} ({} of {})", step.name, index + 1, steps.len());
        let step_start = Instant::now();
        let outcome = (step.run)(bench)
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

fn house_rules(bench: &mut Bench) -> Result<Outcome> {
    tidy::check(&bench.root)?;
    Ok(Outcome::Passed)
}

fn format(bench: &mut Bench) -> Result<Outcome> {
    cargo(bench, &["fmt", "--all", "--check"], &[])
}

fn clippy(bench: &mut Bench) -> Result<Outcome> {
    cargo(
        bench,
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

fn python(bench: &mut Bench) -> Result<Outcome> {
    bench.python = Some(tools::python(&bench.root)?);
    Ok(Outcome::Passed)
}

fn node(bench: &mut Bench) -> Result<Outcome> {
    bench.node_modules = Some(tools::node_modules(&bench.root)?);
    Ok(Outcome::Passed)
}

fn chromium(bench: &mut Bench) -> Result<Outcome> {
    bench.chromium = Some(tools::chromium()?);
    Ok(Outcome::Passed)
}

fn clangd(_: &mut Bench) -> Result<Outcome> {
    tools::program("clangd", "clangd", "the tests of language servers")?;
    Ok(Outcome::Passed)
}

fn tmux(_: &mut Bench) -> Result<Outcome> {
    tools::program("tmux", "tmux", "the tests of the terminal front end")?;
    Ok(Outcome::Passed)
}

fn tests(bench: &mut Bench) -> Result<Outcome> {
    let python = bench
        .python
        .as_ref()
        .context("the `python` step has not run")?
        .display()
        .to_string();
    let node_modules = bench
        .node_modules
        .as_ref()
        .context("the `node` step has not run")?
        .display()
        .to_string();
    let chromium = bench
        .chromium
        .as_ref()
        .context("the `chromium` step has not run")?
        .display()
        .to_string();
    cargo(
        bench,
        &["test", "--locked", "--workspace"],
        &[
            ("HEW_PYTHON", &python),
            ("HEW_NODE_MODULES", &node_modules),
            ("HEW_CHROMIUM", &chromium),
        ],
    )
}

fn docs(bench: &mut Bench) -> Result<Outcome> {
    cargo(
        bench,
        &["doc", "--locked", "--workspace", "--no-deps"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )
}

fn cargo_deny(bench: &mut Bench) -> Result<Outcome> {
    bench.deny = Some(tools::cargo_deny(&bench.root)?);
    Ok(Outcome::Passed)
}

fn licences(bench: &mut Bench) -> Result<Outcome> {
    let deny = bench.deny.as_ref().context("the `cargo-deny` step has not run")?;
    succeed(Command::new(deny).current_dir(&bench.root).args([
        "--locked",
        "check",
        "--hide-inclusion-graph",
        "licenses",
        "bans",
        "sources",
    ]))
}

/// Known vulnerabilities count when their list can be fetched; a machine without the open internet goes on without.
fn advisories(bench: &mut Bench) -> Result<Outcome> {
    let deny = bench.deny.as_ref().context("the `cargo-deny` step has not run")?;
    let mut fetch = Command::new(deny);
    fetch.current_dir(&bench.root).args(["fetch", "db"]);
    if let Err(why) = tools::quietly(&mut fetch, Duration::from_secs(60)) {
        return Ok(Outcome::Skipped {
            why: format!("the advisory database cannot be fetched here: {why:#}"),
        });
    }
    succeed(
        Command::new(deny)
            .current_dir(&bench.root)
            .args(["--offline", "check", "advisories"]),
    )
}

fn cargo(bench: &Bench, args: &[&str], env: &[(&str, &str)]) -> Result<Outcome> {
    let mut command = Command::new(tools::cargo());
    command.current_dir(&bench.root).args(args).envs(env.iter().copied());
    succeed(&mut command)
}

/// Runs a command with its output on our own, and turns a bad exit into an error that names the command.
fn succeed(command: &mut Command) -> Result<Outcome> {
    let line = tools::shown(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(Outcome::Passed)
}

/// A duration as a person says it: `0.4 s`, `12.0 s`, `3 min 20 s`.
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

    fn bench() -> Bench {
        Bench {
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
                run: |bench| {
                    bench.deny = Some("reached".into());
                    Ok(Outcome::Passed)
                },
            },
        ];
        let mut bench = bench();
        let message = format!("{:#}", run_steps(&steps, &mut bench).unwrap_err());
        assert!(
            message.contains("step `bad`") && message.contains("the reason"),
            "{message}"
        );
        assert!(bench.deny.is_none(), "a step ran after the failure");
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
        let report = run_steps(&steps, &mut bench()).unwrap();
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
        let report = run_steps(&steps, &mut bench()).unwrap();
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
    fn durations_read_like_speech() {
        for (millis, expected) in [(400, "0.4 s"), (12_000, "12.0 s"), (200_000, "3 min 20 s")] {
            assert_eq!(human(Duration::from_millis(millis)), expected);
        }
    }
}
