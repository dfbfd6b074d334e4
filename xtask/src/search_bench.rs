//! `cargo xtask search-bench`: measures code search on repositories with questions.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

const USAGE: &str = "cargo xtask search-bench REPOSITORIES QUESTIONS [features]\n\
cargo xtask search-bench PROJECT QUESTIONS speed\n\
cargo xtask search-bench GIT_DIR COMMITS history\n\
REPOSITORIES has a folder per repository; QUESTIONS has repos.json and questions/NAME.json.\n\
`features` prints the training data for xtask/search/train.py instead of the scores; `speed` prints time, memory and size; `history`\n\
finds the files of the last commits by their messages.";

/// The orders that are compared.
const SIGNALS: [&str; 5] = ["bm25", "embedding", "fixed", "lexical", "all"];

pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let (repositories, questions, task) = match args {
        [repositories, questions] => (repositories, questions, "score"),
        [repositories, questions, task] if ["features", "speed", "history"].contains(&task.as_str()) => {
            (repositories, questions, task.as_str())
        }
        _ => bail!("{USAGE}"),
    };
    let signals: &[&str] = match task {
        "score" => &SIGNALS,
        "speed" | "history" => &["all"],
        _ => &["fixed"],
    };
    for signals in signals {
        eprintln!("== {signals}");
        let status = Command::new("cargo")
            .args([
                "run",
                "--quiet",
                "--release",
                "-p",
                "search",
                "--example",
                "search_bench",
                "--",
            ])
            .args([task, repositories, questions, signals])
            .current_dir(root)
            .status()?;
        if !status.success() {
            bail!("search_bench failed");
        }
    }
    Ok(())
}
