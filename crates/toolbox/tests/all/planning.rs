//! Tests of tools for planning, questions, subtasks, reminders and watches.

use session::{Todo, TodoStatus};
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use policy::Action;
use serde_json::{Value, json};
use tool::{
    AnswerChoice, CallContext, ChoiceLimit, NextStep, NotificationSender, SubtaskModel, SubtaskReport, SubtaskRequest,
    SubtaskWait, UserQuestion,
};
use toolbox::Options;

use crate::project::{TestProject, context, with_timeout};

/// A host that answers questions, runs subtasks, and records requests.
#[derive(Default)]
pub(crate) struct RecordingHost {
    answer: String,
    asked: Mutex<Vec<UserQuestion>>,
    tasks: Mutex<Vec<SubtaskRequest>>,
}

impl tool::ToolHost for RecordingHost {
    fn permit(&self, _: Action) -> BoxFuture<'static, Result<(), tool::Error>> {
        async { Ok(()) }.boxed()
    }

    fn ask(&self, inquiry: UserQuestion) -> BoxFuture<'static, Result<String, tool::Error>> {
        self.asked.lock().unwrap().push(inquiry);
        let answer = self.answer.clone();
        async move { Ok(answer) }.boxed()
    }

    fn delegate(&self, task: SubtaskRequest) -> BoxFuture<'static, Result<SubtaskReport, tool::Error>> {
        let failed = task.prompt == "fail";
        let text = format!("did {}", task.prompt);
        self.tasks.lock().unwrap().push(task);
        let report = SubtaskReport {
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

pub(crate) fn with(host: &Arc<RecordingHost>) -> CallContext {
    CallContext {
        host: Arc::clone(host) as Arc<dyn tool::ToolHost>,
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

/// The result or error of a call.
pub(crate) async fn call_text(project: &TestProject, name: &str, input: Value, context: CallContext) -> String {
    match project.call(name, input, context).await {
        Ok(output) => text(&output),
        Err(error) => error.to_string(),
    }
}

#[test]
fn aliases_of_planning_tools_resolve() {
    let skills = tempfile::tempdir().unwrap();
    fs::create_dir(skills.path().join("a")).unwrap();
    fs::write(skills.path().join("a/SKILL.md"), "do it").unwrap();
    let project = TestProject::with_options(
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
        ("memory", &["memory_create", "save_memory"]),
        ("scratchpad", &["create_cell", "edit_cell", "scratchpad_wipe"]),
        (
            "ask_question",
            &["ask_followup_question", "vscode_askQuestions", "ask_user", "question"],
        ),
        ("attempt_completion", &["task_complete"]),
        ("skill", &["skill_load"]),
        ("remind", &["coucou"]),
    ] {
        for name in names.iter().chain([&tool]) {
            let found = project.tools.get(name).map(|found| found.spec().name.clone());
            assert_eq!(found.as_deref(), Some(tool), "{name}");
        }
    }
}

#[tokio::test]
async fn the_todo_list_can_be_replaced_merged_and_shown() {
    let project = TestProject::with(&[]);
    let todo = |text: &str, status| Todo {
        text: text.into(),
        status,
    };
    use TodoStatus::{Cancelled, Completed, InProgress, Pending};
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
        let context = CallContext {
            todos: old.clone().into(),
            ..context()
        };
        let output = project.call("update_todo_list", input.clone(), context).await.unwrap();
        assert_eq!(output.todos, Some(expected), "{input}");
    }
    let context_with = || CallContext {
        todos: old.clone().into(),
        ..context()
    };
    assert_eq!(
        call_text(&project, "todo", json!({}), context_with()).await,
        "1. [x] a\n2. [ ] b"
    );
    let many: Vec<Value> = (0..101).map(|n| json!({"content": n.to_string()})).collect();
    for (input, words) in [
        (json!({"todos": many}), "the maximum is 100"),
        (json!({"todos": [{"status": "pending"}]}), "needs content"),
        (json!({"todos": [{"content": "a", "status": "later"}]}), "invalid input"),
    ] {
        let result = call_text(&project, "todo", input, context_with()).await;
        assert!(result.contains(words), "{result}");
    }
    let long = "x".repeat(9_000);
    let output = project
        .call("todo", json!({"todos": [{"content": long}]}), context())
        .await
        .unwrap();
    assert!(output.todos.unwrap()[0].text.len() < 600);
}

#[tokio::test]
async fn subtasks_run_singly_concurrently_and_in_the_background() {
    let project = TestProject::with(&[]);
    let host = Arc::new(RecordingHost::default());
    let result = call_text(
        &project,
        "spawn_agent",
        json!({"label": "short", "message": "do it", "session_id": "0199"}),
        with(&host),
    )
    .await;
    assert_eq!(result, "did do it\n[subtask session s1]");
    let several =
        json!({"mode": "ask", "background": true, "tasks": [{"prompt": "one"}, {"prompt": "fail", "mode": "code"}]});
    let result = call_text(&project, "new_task", several.clone(), with(&host)).await;
    assert!(
        result.contains("# 1. one\ndid one") && result.contains("# 2. fail\nfailed: it could not"),
        "{result}"
    );
    let tasks = host.tasks.lock().unwrap().clone();
    assert_eq!(
        (tasks[0].title.as_str(), tasks[0].resume.as_deref()),
        ("short", Some("0199"))
    );
    let modes: Vec<_> = tasks.iter().map(|task| (task.mode.as_deref(), task.wait)).collect();
    assert_eq!(
        modes,
        [
            (None, SubtaskWait::UntilDone),
            (Some("ask"), SubtaskWait::Background),
            (Some("code"), SubtaskWait::Background)
        ]
    );
    let asked: Vec<String> = project
        .actions("new_task", several)
        .iter()
        .map(|action| match action {
            Action::Subtask { mode } => mode.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(asked, ["ask", "code"]);
    let many: Vec<Value> = (0..17).map(|n| json!({"prompt": n.to_string()})).collect();
    let result = call_text(&project, "new_task", json!({"tasks": many}), with(&host)).await;
    assert!(result.contains("the maximum is 16"), "{result}");
    let result = call_text(&project, "new_task", json!({"prompt": "fail"}), with(&host)).await;
    assert_eq!(result, "it could not");
}

#[tokio::test]
async fn search_agent_uses_the_small_model() {
    let project = TestProject::with(&[]);
    let host = Arc::new(RecordingHost::default());
    let input = json!({"query": "cookies", "description": "find it", "details": "all of it"});
    assert_eq!(
        call_text(&project, "search_subagent", input, with(&host)).await,
        "did cookies\n\nall of it"
    );
    let tasks = host.tasks.lock().unwrap();
    assert_eq!(
        (tasks[0].model, tasks[0].title.as_str()),
        (SubtaskModel::Small, "find it")
    );
    assert!(project.actions("search_agent", json!({"prompt": "x"})).is_empty());
}

#[tokio::test]
async fn a_question_is_asked_and_a_number_selects_a_choice() {
    let project = TestProject::with(&[]);
    let choices = json!(["red", {"label": "green", "description": "like grass"}]);
    for (answer, input, expected) in [
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
        let host = Arc::new(RecordingHost {
            answer: answer.into(),
            ..RecordingHost::default()
        });
        assert_eq!(call_text(&project, "ask_question", input, with(&host)).await, expected);
    }
    let host = Arc::new(RecordingHost::default());
    call_text(
        &project,
        "ask_user",
        json!({"question": "q", "choices": choices, "several": true}),
        with(&host),
    )
    .await;
    let asked = host.asked.lock().unwrap()[0].clone();
    assert_eq!(asked.limit, ChoiceLimit::Several);
    assert_eq!(
        asked.choices[1],
        AnswerChoice {
            label: "green".into(),
            description: Some("like grass".into())
        }
    );
    for (input, words) in [
        (json!({}), "no question"),
        (json!({"question": "q", "choices": vec!["x"; 11]}), "at most 10"),
    ] {
        let result = call_text(&project, "ask_question", input, with(&host)).await;
        assert!(result.contains(words), "{result}");
    }
    let unavailable = call_text(&project, "ask_question", json!({"question": "q"}), context()).await;
    assert!(unavailable.contains("not available here"), "{unavailable}");
}

#[tokio::test]
async fn attempt_completion_ends_the_turn_and_thinking_has_no_effect() {
    let project = TestProject::with(&[]);
    let output = project
        .output(
            "attempt_completion",
            json!({"result": "It works.", "command": "open x"}),
        )
        .await;
    assert_eq!(
        (output.next.clone(), text(&output)),
        (NextStep::EndTurn, "It works.\n\nTo see it: `open x`".into())
    );
    let result = call_text(&project, "task_complete", json!({"summary": " "}), context()).await;
    assert!(result.contains("empty"), "{result}");
    assert_eq!(
        call_text(&project, "Think", json!({"thought_body": "hm"}), context()).await,
        "Noted."
    );
    assert!(
        call_text(&project, "think", json!({"thought": ""}), context())
            .await
            .contains("thought is empty")
    );
    assert!(
        call_text(&project, "now", json!({"timezone": "local"}), context())
            .await
            .ends_with(" UTC")
    );
}

#[tokio::test]
async fn watches_and_reminders_send_notifications() {
    let (notices, mut news) = NotificationSender::channel();
    let project = TestProject::with_options(
        &[("ok", "")],
        Options {
            commands: toolbox::CommandOptions {
                notifications: notices,
                ..Default::default()
            },
            ..Options::default()
        },
    );
    let watch = json!({"command": "test -e ok || { echo missing; exit 3; }", "paths": ["ok"]});
    assert!(matches!(
        &project.actions("watch", watch.clone())[0],
        Action::Run { .. }
    ));
    let result = project.run("watch", watch).await;
    assert!(result.starts_with("Watch 1 is running"), "{result}");
    assert!(project.run("watch", json!({})).await.starts_with("1: test"));
    project
        .run("remind", json!({"text": "look again", "in_seconds": 0}))
        .await;
    let first = with_timeout(news.recv()).await.unwrap();
    assert_eq!(
        (first.source.as_str(), first.text.as_str()),
        ("reminder 1", "look again")
    );
    fs::remove_file(project.root.join("ok")).unwrap();
    let second = with_timeout(news.recv()).await.unwrap();
    assert_eq!(second.source, "watch 1");
    assert!(second.text.contains("is failing: exit code 3\nmissing"), "{second:?}");
    project.run("watch", json!({"stop": 1})).await;
    assert_eq!(project.run("remind", json!({})).await, "No reminders.");
    for (tool, input, words) in [
        ("watch", json!({"stop": 9}), "no watch 9"),
        ("remind", json!({"text": "x"}), "missing time"),
        ("remind", json!({"text": "x", "at": "tomorrow"}), "is not a time"),
        (
            "remind",
            json!({"text": "x", "at": "2001-01-01T00:00:00Z"}),
            "in the past",
        ),
        ("remind", json!({"text": "x", "in_seconds": 9_999_999}), "too far ahead"),
        ("remind", json!({"cancel": 9}), "no reminder 9"),
    ] {
        let result = call_text(&project, tool, input, context()).await;
        assert!(result.contains(words), "{result}");
    }
    // Watches end when the tools are dropped.
    drop(project);
    tokio::time::timeout(Duration::from_secs(20), async { while news.recv().await.is_some() {} })
        .await
        .unwrap();
    let deaf = call_text(
        &TestProject::with(&[]),
        "remind",
        json!({"text": "x", "in_seconds": 1}),
        context(),
    )
    .await;
    assert!(deaf.contains("reminders are not available"), "{deaf}");
}

#[tokio::test]
async fn a_watch_ends_when_its_command_is_no_longer_allowed() {
    let (notices, mut news) = NotificationSender::channel();
    let project = TestProject::with_options(
        &[("ok", "")],
        Options {
            commands: toolbox::CommandOptions {
                notifications: notices,
                ..Default::default()
            },
            ..Options::default()
        },
    );
    // The first run was approved with the call; later runs are not.
    let refusing = CallContext {
        host: Arc::new(tool::DetachedHost),
        ..context()
    };
    let watch = json!({"command": "echo . >> runs; exit 1", "paths": ["ok"]});
    project.call("watch", watch, refusing).await.unwrap();
    let first = with_timeout(news.recv()).await.unwrap();
    assert!(first.text.contains("is failing"), "{first:?}");
    fs::remove_file(project.root.join("ok")).unwrap();
    let second = with_timeout(news.recv()).await.unwrap();
    assert!(
        second
            .text
            .contains("is no longer watched: approvals are not available here"),
        "{second:?}"
    );
    assert_eq!(project.get("runs"), ".\n");
    assert_eq!(project.run("watch", json!({})).await, "No watches.");
}
