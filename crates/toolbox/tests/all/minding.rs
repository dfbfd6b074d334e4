//! Thinking, keeping track, keeping notes, asking, skills, reminders and watches.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use policy::Action;
use serde_json::{Value, json};
use tool::{Choice, Context, Inquiry, Multiple, Next, Notices, Report, Status, Task, Todo, Waiting, Worker};
use toolbox::Options;
use workspace::Workspace;

use crate::desk::{Desk, context, soon};

/// Somebody who answers and takes work on, and remembers what was asked.
#[derive(Default)]
struct Somebody {
    answer: String,
    asked: Mutex<Vec<Inquiry>>,
    tasks: Mutex<Vec<Task>>,
}

impl tool::Desk for Somebody {
    fn permit(&self, _: Action) -> BoxFuture<'static, Result<(), tool::Error>> {
        async { Ok(()) }.boxed()
    }

    fn ask(&self, inquiry: Inquiry) -> BoxFuture<'static, Result<String, tool::Error>> {
        self.asked.lock().unwrap().push(inquiry);
        let answer = self.answer.clone();
        async move { Ok(answer) }.boxed()
    }

    fn delegate(&self, task: Task) -> BoxFuture<'static, Result<Report, tool::Error>> {
        let failed = task.prompt == "fail";
        let text = format!("did {}", task.prompt);
        self.tasks.lock().unwrap().push(task);
        let report = Report {
            session: "s1".into(),
            text,
        };
        async move {
            match failed {
                true => Err(tool::Error::Failed("it could not".into())),
                false => Ok(report),
            }
        }
        .boxed()
    }
}

fn with(somebody: &Arc<Somebody>) -> Context {
    Context {
        desk: Arc::clone(somebody) as Arc<dyn tool::Desk>,
        session: "0199-session".into(),
        ..context()
    }
}

fn text(output: &tool::Output) -> String {
    let texts = output.content.iter().map(|block| match block {
        model::Block::Text { text } => text.as_str(),
        model::Block::Media(_) => "media",
    });
    texts.collect()
}

/// What a call says, well or not.
async fn say(desk: &Desk, name: &str, input: Value, context: Context) -> String {
    match desk.call(name, input, context).await {
        Ok(output) => text(&output),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_name_that_models_know_leads_to_the_tool() {
    let skills = tempfile::tempdir().unwrap();
    fs::create_dir(skills.path().join("a")).unwrap();
    fs::write(skills.path().join("a/SKILL.md"), "do it").unwrap();
    let desk = Desk::fitted(
        &[],
        Options {
            skills: vec![skills.path().into()],
            ..Options::default()
        },
    );
    for (tool, names) in [
        (
            "new_task",
            &["agent", "spawn_agent", "runSubagent", "task", "execution_subagent"][..],
        ),
        ("search_agent", &["search_subagent"]),
        ("thinking", &["think", "Think"]),
        ("now", &["get_time"]),
        (
            "todo",
            &[
                "update_todo_list",
                "todo_write",
                "manage_todo_list",
                "todos",
                "todo_create",
                "todo_update",
                "update_plan",
            ],
        ),
        ("memory", &["memory_create", "memory_update"]),
        ("scratchpad", &["create_cell", "edit_cell", "scratchpad_wipe"]),
        (
            "ask_question",
            &["ask_followup_question", "vscode_askQuestions", "ask_user", "question"],
        ),
        ("attempt_completion", &["task_complete"]),
        ("skill", &["skill_load"]),
        ("remind", &["coucou"]),
        ("watch", &["console_watch"]),
    ] {
        for name in names.iter().chain([&tool]) {
            let found = desk.tools.get(name).map(|found| found.spec().name.clone());
            assert_eq!(found.as_deref(), Some(tool), "{name}");
        }
    }
}

#[tokio::test]
async fn a_list_of_things_to_do_is_replaced_changed_and_shown() {
    let desk = Desk::with(&[]);
    let todo = |text: &str, status| Todo {
        text: text.into(),
        status,
    };
    use Status::{Cancelled, Completed, InProgress, Pending};
    let old = vec![todo("a", Completed), todo("b", Pending)];
    for (input, expected) in [
        (
            json!({"todos": [{"content": "x", "status": "in_progress"}, {"content": "y"}]}),
            vec![todo("x", InProgress), todo("y", Pending)],
        ),
        (
            json!({"todos": "[x] one\n- [-] two\nnot one\n[ ] three"}),
            vec![todo("one", Completed), todo("two", InProgress), todo("three", Pending)],
        ),
        (
            json!({"todoList": [{"id": 1, "title": "t", "status": "not-started"}]}),
            vec![todo("t", Pending)],
        ),
        (
            json!({"todos": "[{\"content\": \"j\", \"status\": \"done\"}]"}),
            vec![todo("j", Completed)],
        ),
        (
            json!({"plan": [{"step": "p", "status": "completed"}]}),
            vec![todo("p", Completed)],
        ),
        (
            json!({"merge": true, "todos": [{"content": "b", "status": "cancelled"}, {"content": "c"}]}),
            vec![todo("a", Completed), todo("b", Cancelled), todo("c", Pending)],
        ),
        (
            json!({"merge": true, "todos": [{"id": "2", "status": "in progress"}]}),
            vec![todo("a", Completed), todo("b", InProgress)],
        ),
        (json!({"todos": []}), vec![]),
    ] {
        let context = Context {
            todos: old.clone().into(),
            ..context()
        };
        let output = desk.call("update_todo_list", input.clone(), context).await.unwrap();
        assert_eq!(output.todos, Some(expected), "{input}");
    }
    let context_with = || Context {
        todos: old.clone().into(),
        ..context()
    };
    assert_eq!(
        say(&desk, "todo", json!({}), context_with()).await,
        "1. [x] a\n2. [ ] b"
    );
    let many: Vec<Value> = (0..101).map(|n| json!({"content": n.to_string()})).collect();
    for (input, words) in [
        (json!({"todos": many}), "at most 100"),
        (json!({"todos": [{"status": "pending"}]}), "needs a content"),
        (json!({"todos": [{"content": "a", "status": "later"}]}), "invalid input"),
    ] {
        let said = say(&desk, "todo", input, context_with()).await;
        assert!(said.contains(words), "{said}");
    }
    let long = "x".repeat(9_000);
    let output = desk
        .call("todo", json!({"todos": [{"content": long}]}), context())
        .await
        .unwrap();
    assert!(output.todos.unwrap()[0].text.len() < 600);
}

#[tokio::test]
async fn work_is_handed_on_alone_several_at_once_and_in_the_background() {
    let desk = Desk::with(&[]);
    let somebody = Arc::new(Somebody::default());
    let said = say(
        &desk,
        "spawn_agent",
        json!({"label": "short", "message": "do it", "session_id": "0199"}),
        with(&somebody),
    )
    .await;
    assert_eq!(said, "did do it\n[subtask session s1]");
    let several =
        json!({"mode": "ask", "background": true, "tasks": [{"prompt": "one"}, {"prompt": "fail", "mode": "code"}]});
    let said = say(&desk, "new_task", several.clone(), with(&somebody)).await;
    assert!(
        said.contains("# 1. one\ndid one") && said.contains("# 2. fail\nfailed: it could not"),
        "{said}"
    );
    let tasks = somebody.tasks.lock().unwrap().clone();
    assert_eq!(
        (tasks[0].title.as_str(), tasks[0].resume.as_deref()),
        ("short", Some("0199"))
    );
    let modes: Vec<_> = tasks.iter().map(|task| (task.mode.as_deref(), task.waiting)).collect();
    assert_eq!(
        modes,
        [
            (None, Waiting::UntilDone),
            (Some("ask"), Waiting::NotAtAll),
            (Some("code"), Waiting::NotAtAll)
        ]
    );
    let asked: Vec<String> = desk
        .actions("new_task", several)
        .iter()
        .map(|action| match action {
            Action::Subtask { mode } => mode.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(asked, ["ask", "code"]);
    let many: Vec<Value> = (0..17).map(|n| json!({"prompt": n.to_string()})).collect();
    let said = say(&desk, "new_task", json!({"tasks": many}), with(&somebody)).await;
    assert!(said.contains("at most 16"), "{said}");
    let said = say(&desk, "new_task", json!({"prompt": "fail"}), with(&somebody)).await;
    assert_eq!(said, "it could not");
}

#[tokio::test]
async fn a_search_goes_to_a_scout() {
    let desk = Desk::with(&[]);
    let somebody = Arc::new(Somebody::default());
    let input = json!({"query": "where", "description": "find it", "details": "all of it"});
    assert_eq!(
        say(&desk, "search_subagent", input, with(&somebody)).await,
        "did where\n\nall of it"
    );
    let tasks = somebody.tasks.lock().unwrap();
    assert_eq!((tasks[0].worker, tasks[0].title.as_str()), (Worker::Scout, "find it"));
    assert!(desk.actions("search_agent", json!({"prompt": "x"})).is_empty());
}

#[tokio::test]
async fn a_question_is_asked_and_a_number_means_its_choice() {
    let desk = Desk::with(&[]);
    let choices = json!(["red", {"label": "green", "description": "like grass"}]);
    for (answer, input, told) in [
        ("2", json!({"question": "which?", "choices": choices}), "green"),
        (
            "1, 2",
            json!({"question": "which?", "options": choices, "multiSelect": true}),
            "red, green",
        ),
        ("7", json!({"question": "which?", "choices": choices}), "7"),
        (
            "blue",
            json!({"question": "which?", "follow_up": [{"text": "red", "mode": "code"}]}),
            "blue",
        ),
        (
            "1",
            json!({"questions": [{"question": "a?", "options": [{"label": "x"}]}, {"header": "b?"}]}),
            "a?\nx\n\nb?\n1",
        ),
    ] {
        let somebody = Arc::new(Somebody {
            answer: answer.into(),
            ..Somebody::default()
        });
        assert_eq!(say(&desk, "ask_question", input, with(&somebody)).await, told);
    }
    let somebody = Arc::new(Somebody::default());
    say(
        &desk,
        "ask_user",
        json!({"question": "q", "choices": choices, "several": true}),
        with(&somebody),
    )
    .await;
    let asked = somebody.asked.lock().unwrap()[0].clone();
    assert_eq!(asked.multiple, Multiple::Several);
    assert_eq!(
        asked.choices[1],
        Choice {
            label: "green".into(),
            description: Some("like grass".into())
        }
    );
    for (input, words) in [
        (json!({}), "no question"),
        (json!({"question": "q", "choices": vec!["x"; 11]}), "at most 10"),
    ] {
        let said = say(&desk, "ask_question", input, with(&somebody)).await;
        assert!(said.contains(words), "{said}");
    }
    let nobody = say(&desk, "ask_question", json!({"question": "q"}), context()).await;
    assert!(nobody.contains("nobody is there"), "{nobody}");
}

#[tokio::test]
async fn a_result_ends_the_turn_and_a_thought_does_nothing() {
    let desk = Desk::with(&[]);
    let output = desk
        .output(
            "attempt_completion",
            json!({"result": "It works.", "command": "open x"}),
        )
        .await;
    assert_eq!(
        (output.next.clone(), text(&output)),
        (Next::EndTurn, "It works.\n\nTo see it: `open x`".into())
    );
    let said = say(&desk, "task_complete", json!({"summary": " "}), context()).await;
    assert!(said.contains("empty"), "{said}");
    assert_eq!(
        say(&desk, "Think", json!({"thought_body": "hm"}), context()).await,
        "Noted."
    );
    assert!(
        say(&desk, "think", json!({"thought": ""}), context())
            .await
            .contains("no thought")
    );
    assert!(
        say(&desk, "now", json!({"timezone": "local"}), context())
            .await
            .ends_with(" UTC")
    );
}

#[tokio::test]
async fn notes_outlive_the_session_and_cannot_leave_their_folder() {
    let data = tempfile::tempdir().unwrap();
    let options = || Options {
        data: Some(data.path().into()),
        ..Options::default()
    };
    let desk = Desk::fitted(&[], options());
    let memory = async |input: Value| say(&desk, "memory", input, context()).await;
    assert_eq!(memory(json!({"command": "view"})).await, "There are no notes yet.");
    for (input, said) in [
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
            "project/build.md now says:\n1\tone\n2\t2\n3\tthree",
        ),
        (
            json!({"command": "insert", "path": "/memories/repo/build.md", "insert_line": 0, "insert_text": "zero"}),
            "project/build.md now says:\n1\tzero\n2\tone\n3\t2\n4\tthree",
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
        assert_eq!(memory(input.clone()).await, said, "{input}");
    }
    std::os::unix::fs::symlink("/etc", data.path().join("memory/user/out")).unwrap();
    for (input, words) in [
        (
            json!({"command": "view", "path": "../../../etc/passwd"}),
            "outside of the notes",
        ),
        (
            json!({"command": "view", "path": "user/../../x"}),
            "outside of the notes",
        ),
        (
            json!({"command": "view", "path": "user/out/passwd"}),
            "outside of the notes",
        ),
        (
            json!({"command": "create", "path": "user/../project", "file_text": "x"}),
            "outside of the notes",
        ),
        (json!({"command": "delete", "path": "user"}), "is a folder"),
        (json!({"command": "view", "path": "user/nothing.md"}), "does not exist"),
        (json!({"command": "create", "path": "user/a.md"}), "needs `file_text`"),
        (
            json!({"command": "create", "path": "user/big.md", "file_text": "x".repeat(70_000)}),
            "too many for one note",
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
        let said = memory(input.clone()).await;
        assert!(said.contains(words), "{input}: {said}");
    }
    // Another project sees the person's notes, and not those of this one.
    let other = Desk::fitted(&[], options());
    let seen = say(&other, "memory", json!({"command": "view"}), context()).await;
    assert_eq!(seen, "user/deep/style.md");
    let nowhere = say(&Desk::with(&[]), "memory", json!({"command": "view"}), context()).await;
    assert!(nowhere.contains("no notes are kept"), "{nowhere}");
}

#[tokio::test]
async fn the_scratchpad_is_the_sessions_own() {
    let data = tempfile::tempdir().unwrap();
    let desk = Desk::fitted(
        &[],
        Options {
            data: Some(data.path().into()),
            ..Options::default()
        },
    );
    let somebody = Arc::new(Somebody::default());
    for (input, said) in [
        (json!({}), "The page is empty."),
        (json!({"text": "one"}), "one\n"),
        (json!({"cell_title": "T", "cell_contents": "two"}), "one\n## T\ntwo\n"),
        (json!({"text": "new", "replace": true}), "new"),
        (json!({"replace": true}), "The page is empty."),
    ] {
        assert_eq!(
            say(&desk, "scratchpad", input.clone(), with(&somebody)).await,
            said,
            "{input}"
        );
    }
    say(&desk, "scratchpad", json!({"text": "mine"}), with(&somebody)).await;
    let other = Context {
        session: "another".into(),
        ..context()
    };
    assert_eq!(say(&desk, "scratchpad", json!({}), other).await, "The page is empty.");
}

#[tokio::test]
async fn skills_are_told_of_in_a_line_and_loaded_whole() {
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
    let desk = Desk::fitted(
        &[],
        Options {
            skills: vec![own.path().into(), "/nowhere/at/all".into(), project.path().into()],
            ..Options::default()
        },
    );
    let specs = desk.tools.specs();
    let told = &specs.iter().find(|spec| spec.name == "skill").unwrap().description;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[1..3], ["- bare: Bare skill", "- broken: still there"]);
    assert!(
        lines[3].starts_with("- long: word") && lines[3].ends_with('…'),
        "{told}"
    );
    assert_eq!(lines[4..], ["- release: How to release"]);
    let loaded = desk.run("skill_load", json!({"skill": "release", "args": "now"})).await;
    assert!(loaded.contains("# Steps\n1. tag\n\nArguments: now"), "{loaded}");
    assert!(
        loaded.ends_with("scripts/tag.sh") && !loaded.contains("old"),
        "{loaded}"
    );
    let file = desk
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
        let said = say(&desk, "skill", input, context()).await;
        assert!(said.contains(words), "{said}");
    }
    assert!(Desk::with(&[]).tools.get("skill").is_none());
}

#[tokio::test]
async fn the_skills_of_a_project_do_not_lead_out_of_it_nor_to_what_is_hidden() {
    use std::os::unix::fs::symlink;
    let (outside, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = place.path().canonicalize().unwrap();
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
    let workspace = Workspace::open(&root).unwrap().hiding(|path| path.ends_with(".env"));
    let tools = |skills| {
        let options = Options {
            skills,
            ..Options::default()
        };
        toolbox::fitted(
            workspace.clone(),
            sandbox::Environment::scrubbed([], &[""; 0], &[""; 0]),
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
    let refused = skill.run(json!({"name": "plain", "file": ".env"}), context()).await;
    assert!(refused.is_err_and(|error| error.to_string().contains("not a file of the skill")));
    let own = tempfile::tempdir().unwrap();
    symlink(outside.path(), own.path().join("mine")).unwrap();
    assert_eq!(names(&tools(vec![own.path().into()])), ["- mine: a key"]);
}

#[tokio::test]
async fn a_watch_tells_when_it_starts_to_fail_and_a_reminder_when_it_is_due() {
    let (notices, mut news) = Notices::channel();
    let desk = Desk::fitted(
        &[("ok", "")],
        Options {
            commands: toolbox::Commands {
                notices,
                ..Default::default()
            },
            ..Options::default()
        },
    );
    let watch = json!({"command": "test -e ok || { echo gone; exit 3; }", "paths": ["ok"]});
    assert!(matches!(&desk.actions("watch", watch.clone())[0], Action::Run { .. }));
    let said = desk.run("watch", watch).await;
    assert!(said.starts_with("Watch 1 runs"), "{said}");
    assert!(desk.run("watch", json!({})).await.starts_with("1: test"));
    desk.run("remind", json!({"text": "look again", "in_seconds": 0})).await;
    let first = soon(news.recv()).await.unwrap();
    assert_eq!(
        (first.source.as_str(), first.text.as_str()),
        ("reminder 1", "look again")
    );
    fs::remove_file(desk.root.join("ok")).unwrap();
    let second = soon(news.recv()).await.unwrap();
    assert_eq!(second.source, "watch 1");
    assert!(second.text.contains("fails now: exit code 3\ngone"), "{second:?}");
    desk.run("watch", json!({"stop": 1})).await;
    assert_eq!(desk.run("remind", json!({})).await, "Nothing is due.");
    for (tool, input, words) in [
        ("watch", json!({"stop": 9}), "no watch 9"),
        ("remind", json!({"text": "x"}), "say when"),
        ("remind", json!({"text": "x", "at": "tomorrow"}), "is not a time"),
        (
            "remind",
            json!({"text": "x", "at": "2001-01-01T00:00:00Z"}),
            "over already",
        ),
        ("remind", json!({"text": "x", "in_seconds": 9_999_999}), "too far ahead"),
        ("remind", json!({"cancel": 9}), "no reminder 9"),
    ] {
        let said = say(&desk, tool, input, context()).await;
        assert!(said.contains(words), "{said}");
    }
    // What is watched ends with the tools.
    drop(desk);
    tokio::time::timeout(Duration::from_secs(20), async { while news.recv().await.is_some() {} })
        .await
        .unwrap();
    let deaf = say(
        &Desk::with(&[]),
        "remind",
        json!({"text": "x", "in_seconds": 1}),
        context(),
    )
    .await;
    assert!(deaf.contains("nobody would hear"), "{deaf}");
}

#[tokio::test]
async fn changes_of_notes_are_put_before_the_rules() {
    use policy::Place::{Inside, Outside};
    let data = tempfile::tempdir().unwrap();
    let desk = Desk::fitted(
        &[],
        Options {
            data: Some(data.path().into()),
            ..Options::default()
        },
    );
    for (input, places) in [
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
        let actions = desk.actions("memory", input.clone());
        let found: Vec<policy::Place> = actions
            .iter()
            .map(|action| match action {
                Action::Write { place, .. } => *place,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(found, places, "{input}");
    }
}

#[tokio::test]
async fn a_watch_ends_when_its_command_is_not_allowed_any_more() {
    let (notices, mut news) = Notices::channel();
    let desk = Desk::fitted(
        &[("ok", "")],
        Options {
            commands: toolbox::Commands {
                notices,
                ..Default::default()
            },
            ..Options::default()
        },
    );
    // Nobody: the first run was approved with the call, and no other is.
    let refusing = Context {
        desk: Arc::new(tool::Nobody),
        ..context()
    };
    let watch = json!({"command": "echo . >> runs; exit 1", "paths": ["ok"]});
    desk.call("watch", watch, refusing).await.unwrap();
    let first = soon(news.recv()).await.unwrap();
    assert!(first.text.contains("fails now"), "{first:?}");
    fs::remove_file(desk.root.join("ok")).unwrap();
    let second = soon(news.recv()).await.unwrap();
    assert!(
        second
            .text
            .contains("is not watched any more: nobody is there to allow it"),
        "{second:?}"
    );
    assert_eq!(desk.get("runs"), ".\n");
    assert_eq!(desk.run("watch", json!({})).await, "Nothing is watched.");
}
