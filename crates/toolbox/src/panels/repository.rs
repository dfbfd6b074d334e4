//! The output of a read-only git or gh command, refreshed when it may have changed.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _, join_all};
use prompt::panel::{Panel, PanelContext, Volatility};
use sandbox::{CaptureCap, Confinement, ProcessEnvironment, ProcessRequest, ProcessStatus};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use workspace::Workspace;

use super::PanelSources;
use super::polled_version::PolledVersion;
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

/// Minimum time between two requests to GitHub.
const GITHUB_INTERVAL: Duration = Duration::from_secs(60);

/// The output of a git command.
pub(super) struct GitPanel {
    name: String,
    command: RepositoryCommand,
    version: PolledVersion,
}

/// The output of a gh command. It is refreshed in the background, because it needs the network.
pub(super) struct GithubPanel {
    name: String,
    command: Arc<RepositoryCommand>,
    /// The newest output.
    output: watch::Sender<Option<String>>,
    refresh: Mutex<BackgroundRefresh>,
}

/// The refresh of a panel in the background.
#[derive(Default)]
struct BackgroundRefresh {
    /// The running or last one. Dropping the set stops it.
    task: JoinSet<()>,
    started: Option<Instant>,
}

/// A git or gh command.
struct RepositoryCommand {
    line: String,
    seconds: u64,
    /// The folders to run in.
    folders: Vec<PathBuf>,
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

/// The folders in which the command of a panel runs: for git one per repository of the project.
pub(super) fn folders(kind: &str, workspace: &Workspace) -> Vec<PathBuf> {
    let repositories = workspace.repositories();
    let others = repositories.iter().map(|(folder, _)| folder.to_path_buf());
    let others = others.filter(|folder| kind == "git" && folder != workspace.root());
    [workspace.root().to_owned()].into_iter().chain(others).collect()
}

/// Creates the panel of a git or gh command.
pub(super) fn create(kind: &str, arguments: &str, sources: &PanelSources) -> Result<Arc<dyn Panel>, RejectedCommand> {
    let (name, command) = (
        format!("{kind}:{arguments}"),
        RepositoryCommand::new(kind, arguments, sources)?,
    );
    Ok(match kind {
        "git" => Arc::new(GitPanel {
            name,
            command,
            version: PolledVersion::default(),
        }),
        _ => Arc::new(GithubPanel {
            name,
            command: Arc::new(command),
            output: watch::Sender::default(),
            refresh: Mutex::default(),
        }),
    })
}

impl RepositoryCommand {
    fn new(kind: &str, arguments: &str, sources: &PanelSources) -> Result<Self, RejectedCommand> {
        check(kind, arguments)?;
        let confinement = sources.commands.confinement.as_ref();
        Ok(RepositoryCommand {
            line: line(kind, arguments),
            seconds: if kind == "git" { GIT_SECONDS } else { GITHUB_SECONDS },
            folders: folders(kind, &sources.project.workspace),
            environment: command::without_repository_programs(sources.environment.clone()),
            confinement: confinement.map(|confinement| command::at_level(confinement, policy::AccessLevel::ReadOnly)),
        })
    }

    /// The output in all folders.
    async fn ask(&self) -> Option<String> {
        if let [folder] = self.folders.as_slice() {
            return self.ask_in(folder).await;
        }
        let outputs = join_all(self.folders.iter().map(|folder| self.ask_in(folder))).await;
        let outputs = self.folders.iter().zip(outputs);
        let outputs = outputs.filter_map(|(folder, output)| Some(format!("{}:\n{}", folder.display(), output?)));
        Some(outputs.collect::<Vec<_>>().join("\n\n"))
    }

    async fn ask_in(&self, folder: &Path) -> Option<String> {
        let request = ProcessRequest {
            program: shell::program(self.line.clone()),
            cwd: folder.to_owned(),
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

impl Panel for GitPanel {
    fn name(&self) -> &str {
        &self.name
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    /// Other programs may change files and the repository.
    fn version(&self) -> BoxFuture<'_, Option<u64>> {
        async { Some(self.version.get(self.command.ask()).await) }.boxed()
    }

    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        self.command.ask().boxed()
    }
}

impl GithubPanel {
    /// Starts the command, unless it is running or has just run.
    fn start_refresh(&self) {
        let mut refresh = self.refresh.lock().unwrap_or_else(PoisonError::into_inner);
        while refresh.task.try_join_next().is_some() {}
        let is_recent = refresh.started.is_some_and(|at| at.elapsed() < GITHUB_INTERVAL);
        if is_recent || !refresh.task.is_empty() {
            return;
        }
        refresh.started = Some(Instant::now());
        let (command, output) = (Arc::clone(&self.command), self.output.clone());
        refresh.task.spawn(async move {
            let text = command.ask().await;
            output.send_replace(Some(text.unwrap_or_else(|| "[failed]".into())));
        });
    }
}

impl Panel for GithubPanel {
    fn name(&self) -> &str {
        &self.name
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    /// A refresh may have ended.
    fn version(&self) -> BoxFuture<'_, Option<u64>> {
        let mut hasher = DefaultHasher::new();
        self.output.borrow().hash(&mut hasher);
        async move { Some(hasher.finish()) }.boxed()
    }

    fn load(&self) -> BoxFuture<'_, ()> {
        self.start_refresh();
        let mut output = self.output.subscribe();
        // The sender is part of this panel.
        async move { drop(output.wait_for(Option::is_some).await) }.boxed()
    }

    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        self.start_refresh();
        let text = self.output.borrow().clone();
        async move { text }.boxed()
    }
}

/// Why a panel does not run a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RejectedCommand {
    /// It is more than one command, or not literal.
    #[error("a panel runs one plain command: no operators, no substitutions")]
    NotPlain,
    /// Another subcommand of git.
    #[error("a panel can show git {}", GIT.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "))]
    Git,
    /// An option of git that writes or runs something.
    #[error("a panel does not run git with {0}")]
    GitOption(String),
    /// Another subcommand of gh.
    #[error("a panel can show gh {}", GITHUB.join(", "))]
    Github,
}

/// Rejects commands that could have side effects.
fn check(kind: &str, arguments: &str) -> Result<(), RejectedCommand> {
    if arguments.chars().any(|c| "|&;<>$`\\\n\r(){}!".contains(c)) {
        return Err(RejectedCommand::NotPlain);
    }
    let words: Vec<&str> = arguments.split_whitespace().collect();
    if kind == "git" {
        let Some((_, never)) = words
            .first()
            .and_then(|first| GIT.iter().find(|(word, _)| word == first))
        else {
            return Err(RejectedCommand::Git);
        };
        return match words.iter().find(|word| {
            never
                .iter()
                .any(|never| word.trim_matches(['"', '\'']).starts_with(never))
        }) {
            Some(word) => Err(RejectedCommand::GitOption((*word).into())),
            None => Ok(()),
        };
    }
    let first = words.iter().take(2).copied().collect::<Vec<_>>().join(" ");
    match GITHUB.contains(&first.as_str()) && !words.iter().any(|word| word.contains("--web")) {
        true => Ok(()),
        false => Err(RejectedCommand::Github),
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
