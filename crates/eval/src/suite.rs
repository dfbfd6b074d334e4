//! A suite: the tasks of a folder or file.

use crate::error::Error;
use crate::readers;
use crate::task::Task;
use sandbox::ProcessEnvironment;
use std::fs;
use std::path::{Path, PathBuf};

/// The maximum depth of tasks in a suite.
const MAX_DEPTH: usize = 8;

/// A set of tasks.
#[derive(Debug)]
pub struct Suite {
    /// The tasks, by id.
    pub tasks: Vec<Task>,
    /// The tasks that cannot run here.
    pub skipped: Vec<SkippedTask>,
}

/// A task that cannot run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTask {
    /// The task.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// Which tasks are read, and how.
#[derive(Debug, Clone, Default)]
pub struct SuiteOptions {
    /// Patterns of ids: `*` matches any characters; a pattern without it matches a part of an id. All tasks if empty.
    pub filters: Vec<String>,
    /// The folder with checkouts of the repositories of SWE-bench instances.
    pub checkouts: Option<PathBuf>,
}

/// A task, or why it cannot run.
pub(crate) type ReadTask = Result<Task, SkippedTask>;

impl Suite {
    /// Reads the tasks of a folder, or of a file with SWE-bench instances. The format is detected.
    pub fn load(path: &Path, options: &SuiteOptions) -> Result<Self, Error> {
        let path = fs::canonicalize(path).map_err(Error::file(path))?;
        let mut read = Vec::new();
        match path.is_file() && path.file_name().is_some_and(|name| name != readers::TASK_FILE) {
            true => readers::swe_bench::read(&path, options.checkouts.as_deref(), &mut read)?,
            false => {
                let root = match path.is_file() {
                    true => path.parent().unwrap_or(&path),
                    false => &path,
                };
                collect(root, root, 0, &mut read)?;
            }
        }
        if read.is_empty() {
            return Err(Error::NoTasks { path });
        }
        let matches =
            |id: &str| options.filters.is_empty() || options.filters.iter().any(|filter| is_match(filter, id));
        read.retain(|task| match task {
            Ok(Task { id, .. }) | Err(SkippedTask { id, .. }) => matches(id),
        });
        if read.is_empty() {
            let patterns = options.filters.join(", ");
            return Err(Error::NoMatch { patterns });
        }
        let (mut tasks, mut skipped) = (Vec::new(), Vec::new());
        for task in read {
            match task {
                Ok(task) => tasks.push(task),
                Err(task) => skipped.push(task),
            }
        }
        tasks.sort_by(|a, b| a.id.cmp(&b.id));
        skipped.sort_by(|a, b| a.id.cmp(&b.id));
        if let Some(pair) = tasks.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(Error::task(&path, format!("two tasks are named {}", pair[0].id)));
        }
        Ok(Self { tasks, skipped })
    }

    /// Moves tasks whose programs are missing to the skipped ones.
    pub fn skip_unavailable(&mut self, environment: &ProcessEnvironment) {
        let (tasks, skipped) = (&mut self.tasks, &mut self.skipped);
        tasks.retain(|task| {
            let missing: Vec<&str> = task
                .needs
                .iter()
                .map(String::as_str)
                .filter(|program| !environment.has_program(program))
                .collect();
            if !missing.is_empty() {
                skipped.push(SkippedTask {
                    id: task.id.clone(),
                    reason: format!("{} is not installed", missing.join(", ")),
                });
            }
            missing.is_empty()
        });
    }
}

/// Reads the tasks below a folder.
fn collect(root: &Path, folder: &Path, depth: usize, tasks: &mut Vec<ReadTask>) -> Result<(), Error> {
    let relative = folder.strip_prefix(root).unwrap_or(folder);
    let id = match relative.as_os_str().is_empty() {
        true => folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        false => relative.to_string_lossy().into_owned(),
    };
    if let Some(task) = readers::read_folder(folder, &id)? {
        tasks.push(task);
        return Ok(());
    }
    if depth == MAX_DEPTH {
        return Ok(());
    }
    let entries = fs::read_dir(folder).map_err(Error::file(folder))?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir() && !is_hidden(path))
        .collect();
    folders.sort();
    folders
        .iter()
        .try_for_each(|folder| collect(root, folder, depth + 1, tasks))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

fn is_match(pattern: &str, id: &str) -> bool {
    if !pattern.contains('*') {
        return id.contains(pattern);
    }
    let parts: Vec<&str> = pattern.split('*').collect();
    let Some(mut rest) = id.strip_prefix(parts[0]) else {
        return false;
    };
    for part in &parts[1..parts.len() - 1] {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(parts[parts.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TreeLayer;

    #[test]
    fn patterns_match_whole_ids_or_parts() {
        for (pattern, id, expected) in [
            ("python", "python/fix", true),
            ("rust", "python/fix", false),
            ("python/*", "python/fix", true),
            ("*/fix*", "python/fix-it", true),
            ("fix*", "python/fix", false),
            ("*x", "python/fix", true),
        ] {
            assert_eq!(is_match(pattern, id), expected, "{pattern} {id}");
        }
    }

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            crate::files::write_inside(root, path, text.as_bytes()).unwrap();
        }
    }

    #[test]
    fn formats_are_detected() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            &[
                (
                    "own/a/task.toml",
                    "prompt = 'Fix it.'\ncheck = 'sh test.sh'\n[files]\n'a.txt' = 'x'\n",
                ),
                ("own/b/task.toml", "check = 'true'\n"),
                ("own/b/prompt.md", "Do it.\n"),
                ("own/b/project/b.txt", "y"),
                ("own/b/hidden/test.sh", ""),
                (
                    "harbor/c/task.toml",
                    "version = '1.0'\n[agent]\ntimeout_sec = 60.0\n[verifier]\ntimeout_sec = 30.0\n",
                ),
                ("harbor/c/instruction.md", "Write /app/out.txt.\n"),
                (
                    "harbor/c/environment/Dockerfile",
                    "FROM ubuntu:24.04\nWORKDIR /app\nCOPY data.txt /app/\n",
                ),
                ("harbor/c/environment/data.txt", "1\n"),
                ("harbor/c/tests/test.sh", "grep -q 1 /app/out.txt\n"),
                (
                    "harbor/d/task.yaml",
                    "instruction: |\n  Start the server.\nmax_agent_timeout_sec: 90\n",
                ),
                ("harbor/d/Dockerfile", "FROM ubuntu\nRUN apt-get install -y nginx\n"),
                ("harbor/d/run-tests.sh", "true\n"),
                (
                    "poly/python/exercises/practice/bowling/.meta/config.json",
                    r#"{"files":{"solution":["bowling.py"],"test":["bowling_test.py"],"example":[".meta/example.py"]}}"#,
                ),
                (
                    "poly/python/exercises/practice/bowling/.docs/instructions.md",
                    "# Instructions\n\nScore it.\n",
                ),
                ("poly/python/exercises/practice/bowling/bowling.py", "pass\n"),
                (
                    "poly/python/exercises/practice/bowling/bowling_test.py",
                    "import bowling\n",
                ),
            ],
        );
        let suite = Suite::load(folder.path(), &SuiteOptions::default()).unwrap();
        let ids: Vec<&str> = suite.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["harbor/c", "own/a", "own/b", "poly/python/bowling"]);
        assert_eq!(suite.skipped.len(), 1);
        assert_eq!(suite.skipped[0].reason, "it needs a container (RUN)");
        let harbor = &suite.tasks[0];
        assert_eq!((harbor.limits.seconds, harbor.limits.check_seconds), (60, 30));
        assert_eq!(suite.tasks[2].prompt, "Do it.");
        assert!(suite.tasks[3].prompt.contains("bowling.py") && suite.tasks[3].prompt.contains("Score it."));
        let from = folder
            .path()
            .canonicalize()
            .unwrap()
            .join("poly/python/exercises/practice/bowling");
        assert_eq!(
            suite.tasks[3].hidden,
            [TreeLayer::Selected {
                from,
                paths: vec!["bowling_test.py".into()]
            }]
        );
        let only = SuiteOptions {
            filters: vec!["own/*".into()],
            ..SuiteOptions::default()
        };
        assert_eq!(Suite::load(folder.path(), &only).unwrap().tasks.len(), 2);
        let none = SuiteOptions {
            filters: vec!["zzz".into()],
            ..SuiteOptions::default()
        };
        assert!(matches!(Suite::load(folder.path(), &none), Err(Error::NoMatch { .. })));
    }

    #[test]
    fn a_wrong_key_of_a_task_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            &[("task.toml", "prompt = 'a'\nchek = 'true'\ncheck = 'true'")],
        );
        let error = Suite::load(folder.path(), &SuiteOptions::default()).unwrap_err();
        assert!(error.to_string().contains("chek"), "{error}");
    }

    #[test]
    fn swe_bench_instances_need_a_checkout() {
        let folder = tempfile::tempdir().unwrap();
        let instance = |id: &str, repo: &str| {
            serde_json::json!({"instance_id": id, "repo": repo, "base_commit": "abc", "problem_statement": "It fails.",
                "patch": "p", "test_patch": "t", "FAIL_TO_PASS": "[\"tests/a.py::test_x\"]", "PASS_TO_PASS": ["tests/a.py::test_y[a b]"]})
            .to_string()
        };
        let lines = format!("{}\n{}\n", instance("o__r-1", "o/r"), instance("o__s-2", "o/s"));
        write(
            folder.path(),
            &[("instances.jsonl", &lines), ("checkouts/o__r/.git/HEAD", "")],
        );
        let options = SuiteOptions {
            checkouts: Some(folder.path().join("checkouts")),
            ..SuiteOptions::default()
        };
        let suite = Suite::load(&folder.path().join("instances.jsonl"), &options).unwrap();
        assert_eq!((suite.tasks.len(), suite.skipped.len()), (1, 1));
        assert_eq!(
            suite.tasks[0].check,
            "python3 -m pytest -q 'tests/a.py::test_x' 'tests/a.py::test_y[a b]'"
        );
        assert_eq!(suite.tasks[0].hidden, [TreeLayer::Patch("t".into())]);
        assert!(suite.skipped[0].reason.contains("o/s"), "{:?}", suite.skipped);
    }
}
