//! Exercises of the polyglot benchmark: instructions in `.docs`, the roles of files in `.meta/config.json`.

use crate::error::Error;
use crate::files::read_text;
use crate::suite::{ReadTask, SkippedTask};
use crate::task::{Task, TaskLimits, TreeLayer};
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Debug, Deserialize)]
struct ExerciseConfig {
    files: ExerciseFiles,
}

#[derive(Debug, Deserialize)]
struct ExerciseFiles {
    solution: Vec<PathBuf>,
    #[serde(default)]
    test: Vec<PathBuf>,
    #[serde(default)]
    example: Vec<PathBuf>,
}

pub(super) fn read(folder: &Path, id: &str) -> Result<ReadTask, Error> {
    let path = folder.join(".meta/config.json");
    let config: ExerciseConfig =
        serde_json::from_str(&read_text(&path)?).map_err(|error| Error::task(&path, error.to_string()))?;
    let ExerciseFiles {
        solution,
        test,
        example,
    } = config.files;
    let id = id.replace("exercises/practice/", "");
    let Some((language, check, needs)) = check(folder, &solution) else {
        let reason = "the language of its solution is unknown".into();
        return Ok(Err(SkippedTask { id, reason }));
    };
    let mut exclude: Vec<PathBuf> = [".docs", ".meta", "node_modules", "build"].map(PathBuf::from).into();
    exclude.extend(test.iter().cloned());
    let mut layers = Vec::new();
    for (solution, example) in solution.iter().zip(&example) {
        if let (Some(path), Ok(text)) = (solution.to_str(), read_text(&folder.join(example))) {
            layers.push(TreeLayer::Inline([(path.to_owned(), text)].into()));
        }
    }
    Ok(Ok(Task {
        id,
        prompt: prompt(folder, &solution)?,
        language: Some(language.into()),
        kind: Some("exercise".into()),
        project: vec![TreeLayer::Folder {
            path: folder.to_owned(),
            exclude,
            at: PathBuf::new(),
            replace: Vec::new(),
        }],
        setup: None,
        hidden: vec![TreeLayer::Selected {
            from: folder.to_owned(),
            paths: test,
        }],
        check: check.into(),
        solution: layers,
        answer: None,
        limits: TaskLimits::default(),
        needs: needs.iter().map(ToString::to_string).collect(),
        network: false,
    }))
}

fn prompt(folder: &Path, solution: &[PathBuf]) -> Result<String, Error> {
    let mut prompt = String::new();
    for name in ["introduction.md", "instructions.md", "instructions.append.md"] {
        let path = folder.join(".docs").join(name);
        if path.exists() {
            prompt.push_str(&read_text(&path)?);
            prompt.push_str("\n\n");
        }
    }
    let names: Vec<String> = solution.iter().map(|path| path.display().to_string()).collect();
    prompt.push_str(&format!(
        "Implement this in {}. Keep the names of existing functions, classes and files, since tests use them. Use only the \
         standard library of the language.",
        names.join(" and ")
    ));
    Ok(prompt)
}

/// The language, the check and the programs of an exercise.
fn check(folder: &Path, solution: &[PathBuf]) -> Option<(&'static str, &'static str, &'static [&'static str])> {
    let ending = solution.iter().find_map(|path| path.extension()?.to_str());
    Some(match ending? {
        "py" => ("python", "python3 -m unittest discover -p '*_test.py'", &["python3"]),
        "rs" => ("rust", "cargo test --offline -- --include-ignored", &["cargo"]),
        "go" => ("go", "go test ./...", &["go"]),
        "js" => (
            "javascript",
            "sed -i 's/\\bxtest(/test(/; s/\\bxit(/it(/; s/\\bxdescribe(/describe(/' *.spec.js && npx --no-install jest ./*",
            &["node", "npx"],
        ),
        "java" => (
            "java",
            "find . -name '*Test.java' -exec sed -i '/@Disabled/d' {} + && ./gradlew test --offline",
            &["java"],
        ),
        "cpp" | "cc" | "h" | "c" if folder.join("CMakeLists.txt").exists() => (
            "cpp",
            "mkdir -p build && cd build && cmake -DEXERCISM_RUN_ALL_TESTS=1 .. && cmake --build .",
            &["cmake", "c++"],
        ),
        _ => return None,
    })
}
