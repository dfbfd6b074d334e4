//! Tasks for contributors: `cargo xtask <task>`.
//!
//! One file per task. To add one, write `src/<task>.rs` with a `run` function and add an entry to [`TASKS`].

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

mod attack;
mod ci;
mod real_model;
mod screenshots;
mod search_bench;
mod shape;
mod tidy;
mod tools;

/// A task of `cargo xtask`.
struct Task {
    name: &'static str,
    summary: &'static str,
    run: fn(&Path, &[String]) -> Result<()>,
}

const TASKS: &[Task] = &[
    Task {
        name: "attack",
        summary: "the attack suite as root and as an ordinary user, with a table (--full for long variants)",
        run: attack::run,
    },
    Task {
        name: "ci",
        summary: "all checks: format, tidy, clippy, tests, docs, licences",
        run: ci::run,
    },
    Task {
        name: "real-model",
        summary: "hew with a real small model on this machine, on three wires (downloads a gigabyte once)",
        run: real_model::run,
    },
    Task {
        name: "screenshots",
        summary: "screenshots of the TUI for the book (needs tmux)",
        run: screenshots::run,
    },
    Task {
        name: "search-bench",
        summary: "quality and speed of code search on repositories with questions",
        run: search_bench::run,
    },
    Task {
        name: "shape",
        summary: "figures about names, comments, functions and crates",
        run: shape::run,
    },
    Task {
        name: "tidy",
        summary: "repository rules that the compiler cannot check",
        run: tidy::run,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<()> {
    let Some((name, rest)) = args.split_first() else {
        bail!("no task given\n\n{}", usage());
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        println!("{}", usage());
        return Ok(());
    }
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        bail!("there is no task `{name}`\n\n{}", usage());
    };
    (task.run)(&project_root()?, rest)
}

fn usage() -> String {
    let width = TASKS.iter().map(|task| task.name.len()).max().unwrap_or_default();
    let mut text = String::from("usage: cargo xtask <task>\n\ntasks:");
    for task in TASKS {
        text.push_str(&format!("\n  {:width$}  {}", task.name, task.summary));
    }
    text
}

/// The workspace's folder. Cargo sets the variable at run time, so a moved checkout works too.
fn project_root() -> Result<PathBuf> {
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = package
        .parent()
        .with_context(|| format!("{} has no parent folder", package.display()))?;
    Ok(root.to_path_buf())
}

/// Rejects arguments, for tasks that take none.
fn no_arguments(task: &str, args: &[String]) -> Result<()> {
    match args.first() {
        None => Ok(()),
        Some(extra) => bail!("`cargo xtask {task}` takes no arguments, but got `{extra}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn usage_names_every_task() {
        for task in TASKS {
            assert!(usage().contains(task.name), "{}", task.name);
        }
    }

    #[test]
    fn an_unknown_or_missing_task_is_an_error_that_shows_the_usage() {
        for line in ["", "no-such-task"] {
            let message = dispatch(&words(line)).unwrap_err().to_string();
            assert!(message.contains("usage: cargo xtask"), "{message}");
        }
    }

    #[test]
    fn arguments_to_a_task_without_any_are_refused() {
        assert!(
            no_arguments("ci", &words("--fast"))
                .unwrap_err()
                .to_string()
                .contains("--fast")
        );
        assert!(no_arguments("ci", &[]).is_ok());
    }
}
