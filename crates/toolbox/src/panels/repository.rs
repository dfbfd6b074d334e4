//! The output of a read-only git or gh command, refreshed whenever it may have changed.

use std::path::PathBuf;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use prompt::panel::{Panel, PanelContext, Volatility};
use sandbox::{CaptureCap, Confinement, ProcessEnvironment, ProcessRequest, ProcessStatus};

use super::PanelSources;
use crate::support::commands::{self as command, shell};

/// Timeouts of git and gh.
const GIT_SECONDS: u64 = 30;
const GITHUB_SECONDS: u64 = 60;
/// Maximum output shown.
const SHOWN_CAP: CaptureCap = CaptureCap {
    head: 5_000,
    tail: 3_000,
};

/// Allowed git subcommands, and options that are not allowed because they have side effects.
const GIT: &[(&str, &[&str])] = &[
    ("status", &[]),
    ("diff", &["--output", "--ext-diff", "--textconv"]),
    ("log", &["--output", "--ext-diff", "--textconv"]),
    ("show", &["--output", "--ext-diff", "--textconv"]),
    ("blame", &[]),
    ("shortlog", &["--output"]),
    ("describe", &[]),
    ("ls-files", &[]),
    ("rev-parse", &[]),
];
/// Allowed gh subcommands.
const GITHUB: &[&str] = &[
    "pr list",
    "pr view",
    "pr status",
    "pr checks",
    "pr diff",
    "issue list",
    "issue view",
    "issue status",
    "run list",
    "run view",
    "release list",
    "release view",
    "repo view",
];

/// The output of a git or gh command.
pub(super) struct RepositoryPanel {
    name: String,
    line: String,
    seconds: u64,
    cwd: PathBuf,
    environment: ProcessEnvironment,
    confinement: Option<Confinement>,
}

/// The command line of a panel.
pub(super) fn line(kind: &str, arguments: &str) -> String {
    match kind {
        "git" => format!("git --no-pager --no-optional-locks {arguments}"),
        _ => format!("gh {arguments}"),
    }
}

impl RepositoryPanel {
    pub(super) fn new(kind: &str, arguments: &str, sources: &PanelSources) -> Result<Self, String> {
        check(kind, arguments)?;
        let confinement = sources.commands.confinement.as_ref();
        Ok(RepositoryPanel {
            name: format!("{kind}:{arguments}"),
            line: line(kind, arguments),
            seconds: if kind == "git" { GIT_SECONDS } else { GITHUB_SECONDS },
            cwd: sources.project.workspace.root().to_owned(),
            environment: sources.environment.clone(),
            confinement: confinement.map(|confinement| command::at_level(confinement, policy::AccessLevel::ReadOnly)),
        })
    }

    async fn ask(&self) -> Option<String> {
        let request = ProcessRequest {
            program: shell::program(self.line.clone()),
            cwd: self.cwd.clone(),
            environment: self.environment.clone(),
            timeout: Some(Duration::from_secs(self.seconds)),
            grace: ProcessRequest::GRACE,
            output: SHOWN_CAP,
            terminal: None,
        };
        let mut process = command::spawn(request, self.confinement.as_ref()).ok()?;
        let exit = process.exit().await;
        let mut text = exit.output.head.trim_end().to_owned();
        if exit.output.omitted_bytes > 0 {
            text.push_str(&format!("\n[… {} bytes left out …]\n", exit.output.omitted_bytes));
        }
        text.push_str(exit.output.tail.trim_end());
        match exit.status {
            ProcessStatus::Exited(0) if text.is_empty() => text.push_str("(nothing)"),
            ProcessStatus::Exited(0) => {}
            ProcessStatus::TimedOut => text.push_str(&format!("\n[timed out after {} s]", self.seconds)),
            _ => text.push_str("\n[failed]"),
        }
        Some(text)
    }
}

impl Panel for RepositoryPanel {
    fn name(&self) -> &str {
        &self.name
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        self.ask().boxed()
    }
}

/// Rejects commands that could have side effects.
fn check(kind: &str, arguments: &str) -> Result<(), String> {
    if arguments.chars().any(|c| "|&;<>$`\\\n\r(){}!".contains(c)) {
        return Err("a panel runs one plain command: no operators, no substitutions".into());
    }
    let words: Vec<&str> = arguments.split_whitespace().collect();
    if kind == "git" {
        let Some((_, never)) = words
            .first()
            .and_then(|first| GIT.iter().find(|(word, _)| word == first))
        else {
            let names: Vec<&str> = GIT.iter().map(|(word, _)| *word).collect();
            return Err(format!("a panel can show git {}", names.join(", ")));
        };
        return match words.iter().find(|word| {
            never
                .iter()
                .any(|never| word.trim_matches(['"', '\'']).starts_with(never))
        }) {
            Some(word) => Err(format!("a panel does not run git with {word}")),
            None => Ok(()),
        };
    }
    let first = words.iter().take(2).copied().collect::<Vec<_>>().join(" ");
    match GITHUB.contains(&first.as_str()) && !words.iter().any(|word| word.contains("--web")) {
        true => Ok(()),
        false => Err(format!("a panel can show gh {}", GITHUB.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_read_only_commands_are_allowed() {
        for (kind, arguments, is_fine) in [
            ("git", "status --short", true),
            ("git", "log --oneline -20", true),
            ("git", "diff --stat HEAD~1", true),
            ("git", "diff --output=x", false),
            ("git", "diff '--output=x'", false),
            ("git", "push", false),
            ("git", "branch -D x", false),
            ("git", "-c core.pager=x status", false),
            ("git", "status; rm x", false),
            ("git", "log $(rm x)", false),
            ("git", "", false),
            ("github", "pr view 3", true),
            ("github", "pr view 3 --web", false),
            ("github", "pr merge 3", false),
            ("github", "api /user", false),
        ] {
            assert_eq!(check(kind, arguments).is_ok(), is_fine, "{kind} {arguments}");
        }
    }
}
