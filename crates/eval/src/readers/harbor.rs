//! Task folders of harbor and terminal-bench, as far as they need no container: the files of the environment are the project,
//! and the container's folders become folders of the working copy.

use super::TASK_FILE;
use crate::error::Error;
use crate::files::read_text;
use crate::suite::{ReadTask, SkippedTask};
use crate::task::{Task, TaskLimits, TextReplacement, TreeLayer};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Folders of the container and their counterparts.
const FOLDERS: [(&str, &str); 4] = [
    ("/app", "{project}"),
    ("/tests", "{project}/.harbor/tests"),
    ("/logs", "{project}/.harbor/logs"),
    ("/solution", "{project}/.harbor/solution"),
];
/// Solved if the script succeeds and wrote no reward, or a reward of 1.
const REWARD: &str = "reward=$(cat .harbor/logs/verifier/reward.txt 2>/dev/null || echo 1); \
    [ $status = 0 ] && case \"$reward\" in 1|1.0) true;; *) false;; esac";

/// The part of harbor's `task.toml` that is used.
#[derive(Debug, Deserialize)]
struct HarborTask {
    #[serde(default)]
    agent: HarborLimit,
    #[serde(default)]
    verifier: HarborLimit,
}

#[derive(Debug, Default, Deserialize)]
struct HarborLimit {
    timeout_sec: Option<f64>,
}

/// The part of terminal-bench's `task.yaml` that is used.
#[derive(Debug, Deserialize)]
struct TerminalBenchTask {
    instruction: String,
    max_agent_timeout_sec: Option<f64>,
    max_test_timeout_sec: Option<f64>,
}

pub(super) fn read_harbor(folder: &Path, id: &str) -> Result<ReadTask, Error> {
    let path = folder.join(TASK_FILE);
    let task: HarborTask = toml::from_str(&read_text(&path)?).map_err(|error| Error::task(&path, error.to_string()))?;
    let environment = folder.join("environment");
    if let Some(reason) = container_reason(&environment) {
        return Ok(Err(skipped(id, reason)));
    }
    let exclude = ["Dockerfile", "docker-compose.yaml"].map(PathBuf::from).into();
    let instruction = read_text(&folder.join("instruction.md"))?;
    let limits = limits(task.agent.timeout_sec, task.verifier.timeout_sec);
    Ok(Ok(contained_task(
        id,
        &instruction,
        limits,
        Sources {
            project: environment,
            exclude,
            tests: folder.join("tests"),
            test: ".harbor/tests/test.sh".into(),
            solution: folder
                .join("solution")
                .is_dir()
                .then(|| (folder.join("solution"), "solve.sh")),
        },
    )))
}

pub(super) fn read_terminal_bench(folder: &Path, id: &str) -> Result<ReadTask, Error> {
    let path = folder.join("task.yaml");
    let task: TerminalBenchTask =
        serde_yaml_ng::from_str(&read_text(&path)?).map_err(|error| Error::task(&path, error.to_string()))?;
    if let Some(reason) = container_reason(folder) {
        return Ok(Err(skipped(id, reason)));
    }
    let exclude = [
        "Dockerfile",
        "docker-compose.yaml",
        "task.yaml",
        "tests",
        "run-tests.sh",
        "solution.sh",
        "solution.yaml",
    ];
    let limits = limits(task.max_agent_timeout_sec, task.max_test_timeout_sec);
    let mut read = contained_task(
        id,
        &task.instruction,
        limits,
        Sources {
            project: folder.to_owned(),
            exclude: exclude.map(PathBuf::from).into(),
            tests: folder.join("tests"),
            test: ".harbor/run-tests.sh".into(),
            solution: folder
                .join("solution.sh")
                .exists()
                .then(|| (folder.to_owned(), "solution.sh")),
        },
    );
    let script = read_text(&folder.join("run-tests.sh"))?;
    // It runs in the project.
    let script = script.replace("/tests", ".harbor/tests").replace("/app", ".");
    read.hidden
        .push(TreeLayer::Inline([(".harbor/run-tests.sh".into(), script)].into()));
    Ok(Ok(read))
}

struct Sources {
    project: PathBuf,
    exclude: Vec<PathBuf>,
    tests: PathBuf,
    /// The script that tests, in the project.
    test: String,
    /// The folder and the script of the solution.
    solution: Option<(PathBuf, &'static str)>,
}

fn contained_task(id: &str, instruction: &str, limits: TaskLimits, sources: Sources) -> Task {
    let replace: Vec<TextReplacement> = FOLDERS
        .map(|(old, new)| TextReplacement {
            old: old.into(),
            new: new.into(),
        })
        .into();
    let folder = |path: PathBuf, exclude: Vec<PathBuf>, at: &str| TreeLayer::Folder {
        path,
        exclude,
        at: at.into(),
        replace: replace.clone(),
    };
    let mut hidden = Vec::new();
    if sources.tests.is_dir() {
        hidden.push(folder(sources.tests, Vec::new(), ".harbor/tests"));
    }
    let solution = sources.solution.map(|(path, script)| {
        let run = TreeLayer::Command(format!("bash .harbor/solution/{script}"));
        let others = match script {
            "solution.sh" => ["tests", "Dockerfile", "task.yaml"].map(PathBuf::from).into(),
            _ => Vec::new(),
        };
        vec![folder(path, others, ".harbor/solution"), run]
    });
    Task {
        id: id.into(),
        // Paths in the container are relative to the project.
        prompt: instruction
            .trim()
            .replace("/app/", "")
            .replace("/app", "the project folder"),
        language: None,
        kind: None,
        project: vec![folder(sources.project, sources.exclude, "")],
        setup: None,
        hidden,
        check: format!(
            "mkdir -p .harbor/logs/verifier; export TEST_DIR=$PWD/.harbor/tests; bash {}; status=$?; {REWARD}",
            sources.test
        ),
        solution: solution.unwrap_or_default(),
        answer: None,
        limits,
        needs: vec!["bash".into()],
        network: false,
    }
}

/// Why a task needs a container, if it does.
fn container_reason(folder: &Path) -> Option<String> {
    for name in ["docker-compose.yaml", "docker-compose.yml"] {
        if let Ok(text) = read_text(&folder.join(name))
            && let Ok(compose) = serde_yaml_ng::from_str::<serde_yaml_ng::Value>(&text)
            && compose
                .get("services")
                .and_then(|services| services.as_mapping())
                .is_some_and(|all| all.len() > 1)
        {
            return Some("it needs several containers".into());
        }
    }
    // Without a Dockerfile nothing has to be built.
    let text = read_text(&folder.join("Dockerfile")).ok()?;
    let words = text.lines().filter_map(|line| line.split_whitespace().next());
    let allowed = ["FROM", "WORKDIR", "COPY", "ENV", "LABEL", "CMD", "#", "SHELL", "ARG"];
    let instruction = words
        .map(str::to_uppercase)
        .find(|word| word.chars().all(char::is_alphabetic) && !allowed.contains(&word.as_str()))?;
    Some(format!("it needs a container ({instruction})"))
}

fn limits(agent: Option<f64>, verifier: Option<f64>) -> TaskLimits {
    let default = TaskLimits::default();
    TaskLimits {
        seconds: agent.map_or(default.seconds, |seconds| seconds as u64),
        check_seconds: verifier.map_or(default.check_seconds, |seconds| seconds as u64),
        ..default
    }
}

fn skipped(id: &str, reason: String) -> SkippedTask {
    SkippedTask { id: id.into(), reason }
}
