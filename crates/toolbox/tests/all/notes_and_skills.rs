//! Tests of memory, scratchpad and skill.

use std::fs;
use std::sync::Arc;

use policy::Action;
use serde_json::{Value, json};
use tool::CallContext;
use toolbox::Options;
use workspace::Workspace;

use crate::planning::{RecordingHost, call_text, with};
use crate::project::{TestProject, context};

#[tokio::test]
async fn notes_outlive_the_session_and_stay_in_their_directory() {
    let data = tempfile::tempdir().unwrap();
    let options = || Options {
        data: Some(data.path().into()),
        ..Options::default()
    };
    let project = TestProject::with_options(&[], options());
    let memory = async |input: Value| call_text(&project, "memory", input, context()).await;
    assert_eq!(memory(json!({"command": "view"})).await, "There are no notes yet.");
    for (input, result) in [
        (
            json!({"command": "create", "path": "project/build.md", "file_text": "one\ntwo\nthree\n"}),
            "project/build.md is kept: 3 lines.",
        ),
        (
            json!({"command": "create", "path": "/memories/me.md", "file_text": "tabs"}),
            "user/me.md is kept: 1 line.",
        ),
        (
            json!({"command": "create", "path": "/memories/session/plan.md", "file_text": "p"}),
            "session/plan.md is kept: 1 line.",
        ),
        (
            json!({"command": "str_replace", "path": "project/build.md", "old_str": "two", "new_str": "2"}),
            "project/build.md now contains:\n1\tone\n2\t2\n3\tthree",
        ),
        (
            json!({"command": "insert", "path": "/memories/repo/build.md", "insert_line": 0, "insert_text": "zero"}),
            "project/build.md now contains:\n1\tzero\n2\tone\n3\t2\n4\tthree",
        ),
        (
            json!({"command": "view", "path": "project/build.md", "view_range": [2, 3]}),
            "2\tone\n3\t2",
        ),
        (
            json!({"command": "rename", "path": "user/me.md", "new_path": "user/deep/style.md"}),
            "user/me.md is user/deep/style.md now.",
        ),
        (
            json!({"command": "view"}),
            "user/deep/style.md\nproject/build.md\nsession/plan.md",
        ),
        (
            json!({"command": "delete", "path": "session/plan.md"}),
            "Deleted session/plan.md.",
        ),
        (json!({"command": "view", "path": "session"}), "There are no notes yet."),
    ] {
        assert_eq!(memory(input.clone()).await, result, "{input}");
    }
    std::os::unix::fs::symlink("/etc", data.path().join("memory/user/out")).unwrap();
    for (input, words) in [
        (
            json!({"command": "view", "path": "../../../etc/passwd"}),
            "outside the notes",
        ),
        (json!({"command": "view", "path": "user/../../x"}), "outside the notes"),
        (
            json!({"command": "view", "path": "user/out/passwd"}),
            "outside the notes",
        ),
        (
            json!({"command": "create", "path": "user/../project", "file_text": "x"}),
            "outside the notes",
        ),
        (json!({"command": "delete", "path": "user"}), "is a folder"),
        (json!({"command": "view", "path": "user/nothing.md"}), "does not exist"),
        (json!({"command": "create", "path": "user/a.md"}), "needs `file_text`"),
        (
            json!({"command": "create", "path": "user/big.md", "file_text": "x".repeat(70_000)}),
            "the note is too long",
        ),
        (
            json!({"command": "str_replace", "path": "project/build.md", "old_str": "e"}),
            "quote more of it",
        ),
        (
            json!({"command": "insert", "path": "project/build.md", "insert_line": 9, "insert_text": "x"}),
            "past the end",
        ),
    ] {
        let result = memory(input.clone()).await;
        assert!(result.contains(words), "{input}: {result}");
    }
    // Another project sees the user's notes, but not those of this project.
    let other = TestProject::with_options(&[], options());
    let seen = call_text(&other, "memory", json!({"command": "view"}), context()).await;
    assert_eq!(seen, "user/deep/style.md");
    let without_notes = call_text(&TestProject::with(&[]), "memory", json!({"command": "view"}), context()).await;
    assert!(without_notes.contains("notes are not available"), "{without_notes}");
}

#[tokio::test]
async fn the_scratchpad_belongs_to_the_session() {
    let data = tempfile::tempdir().unwrap();
    let project = TestProject::with_options(
        &[],
        Options {
            data: Some(data.path().into()),
            ..Options::default()
        },
    );
    let host = Arc::new(RecordingHost::default());
    for (input, result) in [
        (json!({}), "The page is empty."),
        (json!({"text": "one"}), "one\n"),
        (json!({"cell_title": "T", "cell_contents": "two"}), "one\n## T\ntwo\n"),
        (json!({"text": "new", "replace": true}), "new"),
        (json!({"replace": true}), "The page is empty."),
    ] {
        assert_eq!(
            call_text(&project, "scratchpad", input.clone(), with(&host)).await,
            result,
            "{input}"
        );
    }
    call_text(&project, "scratchpad", json!({"text": "mine"}), with(&host)).await;
    let other = CallContext {
        session: "another".into(),
        ..context()
    };
    assert_eq!(
        call_text(&project, "scratchpad", json!({}), other).await,
        "The page is empty."
    );
}

#[tokio::test]
async fn skills_are_listed_in_the_description_and_loaded_on_demand() {
    let (own, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let put = |folder: &tempfile::TempDir, path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let long = "word ".repeat(100);
    put(
        &own,
        "release/SKILL.md",
        "---\nname: release\ndescription: old\n---\nold",
    );
    put(
        &project,
        "release/SKILL.md",
        "---\nname: release\ndescription: How to release\n---\n# Steps\n1. tag",
    );
    put(&project, "release/scripts/tag.sh", "git tag");
    put(&project, "bare/SKILL.md", "# Bare skill\nbody");
    put(&project, "long/SKILL.md", &format!("---\ndescription: {long}\n---\nx"));
    put(
        &project,
        "hidden/SKILL.md",
        "---\ndisable-model-invocation: true\n---\nx",
    );
    put(&project, "broken/SKILL.md", "---\n: [\n---\nstill there");
    put(&project, "bad name!/SKILL.md", "x");
    put(&project, "empty/README.md", "no skill");
    let project = TestProject::with_options(
        &[],
        Options {
            skills: vec![own.path().into(), "/no/such/folder".into(), project.path().into()],
            ..Options::default()
        },
    );
    let specs = project.tools.specs();
    let description = &specs.iter().find(|spec| spec.name == "skill").unwrap().description;
    let lines: Vec<&str> = description.lines().collect();
    assert_eq!(lines[1..3], ["- bare: Bare skill", "- broken: still there"]);
    assert!(
        lines[3].starts_with("- long: word") && lines[3].ends_with('…'),
        "{description}"
    );
    assert_eq!(lines[4..], ["- release: How to release"]);
    let loaded = project
        .run("skill_load", json!({"skill": "release", "args": "now"}))
        .await;
    assert!(loaded.contains("# Steps\n1. tag\n\nArguments: now"), "{loaded}");
    assert!(
        loaded.ends_with("scripts/tag.sh") && !loaded.contains("old"),
        "{loaded}"
    );
    let file = project
        .run("skill", json!({"name": "release", "file": "scripts/tag.sh"}))
        .await;
    assert_eq!(file, "git tag");
    for (input, words) in [
        (json!({"name": "pirate"}), "there are: bare, broken, long, release"),
        (
            json!({"name": "release", "file": "../bare/SKILL.md"}),
            "not a file of the skill",
        ),
    ] {
        let result = call_text(&project, "skill", input, context()).await;
        assert!(result.contains(words), "{result}");
    }
    assert!(TestProject::with(&[]).tools.get("skill").is_none());
}

#[tokio::test]
async fn project_skills_cannot_link_outside_or_to_hidden_files() {
    use std::os::unix::fs::symlink;
    let (outside, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = folder.path().canonicalize().unwrap();
    fs::write(outside.path().join("SKILL.md"), "a key").unwrap();
    for (path, text) in [
        (".hew/skills/plain/SKILL.md", "plain"),
        (".hew/skills/plain/.env", "hidden"),
        ("common/SKILL.md", "shared"),
        (".hew/skills/file/README.md", ""),
        (".hew/skills/hidden/README.md", ""),
    ] {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    symlink(outside.path(), root.join(".hew/skills/folder")).unwrap();
    symlink(outside.path().join("SKILL.md"), root.join(".hew/skills/file/SKILL.md")).unwrap();
    symlink("../plain/.env", root.join(".hew/skills/hidden/SKILL.md")).unwrap();
    symlink("../../common", root.join(".hew/skills/linked")).unwrap();
    let workspace = Workspace::open(&root)
        .unwrap()
        .hiding_paths(|path| path.ends_with(".env"));
    let tools = |skills| {
        let options = Options {
            skills,
            ..Options::default()
        };
        toolbox::build_registry(
            workspace.clone(),
            sandbox::ProcessEnvironment::scrubbed([], &[""; 0], &[""; 0]),
            options,
        )
    };
    let names = |tools: &tool::Registry| {
        let text = &tools.get("skill").unwrap().spec().description;
        let lines = text.lines().skip(1).map(ToOwned::to_owned);
        lines.collect::<Vec<String>>()
    };
    let project = tools(vec![root.join(".hew/skills")]);
    assert_eq!(names(&project), ["- linked: shared", "- plain: plain"]);
    let skill = Arc::clone(project.get("skill").unwrap());
    let refused = skill
        .run(json!({"name": "plain", "file": ".env"}).into(), context())
        .await;
    assert!(refused.is_err_and(|error| error.to_string().contains("not a file of the skill")));
    let own = tempfile::tempdir().unwrap();
    symlink(outside.path(), own.path().join("mine")).unwrap();
    assert_eq!(names(&tools(vec![own.path().into()])), ["- mine: a key"]);
}

#[tokio::test]
async fn changing_notes_needs_approval() {
    use policy::PathArea::{Inside, Outside};
    let data = tempfile::tempdir().unwrap();
    let project = TestProject::with_options(
        &[],
        Options {
            data: Some(data.path().into()),
            ..Options::default()
        },
    );
    for (input, areas) in [
        (json!({"command": "view"}), vec![]),
        (json!({"command": "view", "path": "user/a.md"}), vec![]),
        (json!({"command": "create", "path": "user/a.md"}), vec![Outside]),
        (json!({"command": "create", "path": "a.md"}), vec![Outside]),
        (json!({"command": "create", "path": "project/a.md"}), vec![Inside]),
        (json!({"command": "insert", "path": "session/a.md"}), vec![Inside]),
        (json!({"command": "delete", "path": "user/../../x"}), vec![Outside]),
        (
            json!({"command": "rename", "path": "project/a.md", "new_path": "user/a.md"}),
            vec![Inside, Outside],
        ),
    ] {
        let actions = project.actions("memory", input.clone());
        let found: Vec<policy::PathArea> = actions
            .iter()
            .map(|action| match action {
                Action::Write { place, .. } => *place,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(found, areas, "{input}");
    }
}
