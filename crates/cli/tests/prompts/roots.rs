//! A project with several folders.

use super::{MODEL, configure, hew};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use testkit::{Project, Script, Server, Turn};

fn git(folder: &Path, args: &[&str]) {
    let done = Command::new("git").args(args).current_dir(folder).status().unwrap();
    assert!(done.success());
}

/// A repository with one commit on a branch, and a changed file.
fn repository(branch: &str, files: &[(&str, &str)], changed: (&str, &str)) -> Project {
    let project = Project::new(files).unwrap();
    let identity = ["-c", "user.name=n", "-c", "user.email=n@example.org"];
    git(project.root(), &["init", "-q", "-b", branch]);
    git(project.root(), &["add", "-A"]);
    git(project.root(), &[&identity[..], &["commit", "-qm", "first"]].concat());
    project.write(changed.0, changed.1).unwrap();
    project
}

#[tokio::test]
async fn searches_mentions_the_tree_and_git_cover_all_folders() {
    let main = repository(
        "trunk",
        &[("app.rs", "fn app() {}\n")],
        ("app.rs", "fn app() { run() }\n"),
    );
    let other = repository(
        "topic",
        &[
            ("src/lib.rs", "pub fn library_function() {}\n"),
            ("notes.txt", "old notes\n"),
        ],
        ("notes.txt", "new notes\n"),
    );
    let root = other.root().canonicalize().unwrap();
    let path = |name: &str| root.join(name).display().to_string();
    let name = root.file_name().unwrap().to_str().unwrap();
    let calls = [
        (
            "grep",
            json!({"pattern": "library_function"}),
            format!("{}\n1:pub fn", path("src/lib.rs")),
        ),
        (
            "grep",
            json!({"pattern": "fn", "include": "src/*.rs"}),
            path("src/lib.rs"),
        ),
        (
            "grep",
            json!({"pattern": "fn", "path": "app.rs"}),
            "[1 match in 1 file]".into(),
        ),
        (
            "find_path",
            json!({"pattern": "*.rs"}),
            format!("app.rs\n{}", path("src/lib.rs")),
        ),
        ("find_path", json!({"pattern": "src/*.rs"}), path("src/lib.rs")),
        (
            "find_path",
            json!({"pattern": path("*.txt")}),
            format!("{}\n[1 path]", path("notes.txt")),
        ),
        (
            "find_path",
            json!({"pattern": format!("{name}/**/*.rs")}),
            format!("{}\n[1 path]", path("src/lib.rs")),
        ),
        (
            "definition",
            json!({"symbol": "library_function"}),
            format!("{}:1", path("src/lib.rs")),
        ),
        (
            "read_file",
            json!({"path": format!("{name}/notes.txt")}),
            "new notes".into(),
        ),
        ("list_directory", json!({"path": name}), "notes.txt".into()),
        ("panel", json!({"open": ["tree", "git:status --short"]}), "Open:".into()),
    ];
    let replies: Vec<(String, Value)> = calls
        .iter()
        .map(|(tool, input, _)| ((*tool).to_owned(), input.clone()))
        .collect();
    let script = Script::dynamic(move |seen| {
        match replies.get(seen.results().filter(|it| !it.id.starts_with("panel_")).count()) {
            Some((tool, input)) => Turn::calls(tool.clone(), input.clone()),
            None => Turn::text("Done."),
        }
    });
    let server = Server::start(script).await.unwrap();
    let hew = hew(&main).with_server(&server).env("HEW_TITLE", "false");
    let prompt = format!("see @src/lib.rs and @{name}/notes.txt:1 and @diff and #library_function");
    let args = ["run", "-m", MODEL, "--add-dir", &root.display().to_string(), &prompt];
    let output = hew.args(args).run().await.unwrap();
    assert!(output.is_success(), "{}{}", output.stdout, output.stderr);
    assert!(!output.stderr.contains("not included"), "{}", output.stderr);
    let seen = server.main_requests().last().unwrap().parsed().unwrap();
    let prompt = &seen.messages[0].text;
    for part in [
        format!("{}\n1\tpub fn library_function", path("src/lib.rs")),
        "+new notes".into(),
        "+fn app() { run() }".into(),
        format!("{name}/notes.txt#L1"),
        format!(
            "Git: branch trunk, 1 tracked file changed; {}: branch topic, 1 tracked file changed",
            root.display()
        ),
        format!("  {}/\n    src/\n      lib.rs\n    notes.txt", root.display()),
    ] {
        assert!(prompt.contains(&part), "{part}\n---\n{prompt}");
    }
    let results = seen.results().filter(|result| !result.id.starts_with("panel_"));
    for ((tool, input, expected), result) in calls.iter().zip(results) {
        assert!(result.text.contains(expected), "{tool} {input}: {}", result.text);
    }
    let panels: String = seen.raw.to_string();
    assert!(
        panels.contains(&format!("{}/\\n\\tsrc/\\n\\t\\tlib.rs", root.display())),
        "{panels}"
    );
    assert!(
        panels.contains(&format!("{}:\\n M notes.txt", root.display())),
        "{panels}"
    );
}

#[tokio::test]
async fn without_other_folders_nothing_changes() {
    let main = Project::new(&[("app.rs", "fn app() {}\n")]).unwrap();
    let script = Script::new()
        .turn(Turn::calls("find_path", json!({"pattern": "*.rs"})))
        .turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let hew = hew(&main).with_server(&server).env("HEW_TITLE", "false");
    configure(&hew, &[]);
    let output = hew.args(["run", "-m", MODEL, "find them"]).run().await.unwrap();
    assert!(output.is_success(), "{}", output.stderr);
    let seen = server.main_requests().last().unwrap().parsed().unwrap();
    let results: Vec<&str> = seen.results().map(|result| result.text.as_str()).collect();
    assert_eq!(results, ["app.rs\n[1 path]"]);
}
