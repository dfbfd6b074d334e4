//! Tests of read_file: several files, unchanged content, notebooks, PDFs, long results.

use std::fs;

use model::Block;
use serde_json::{Value, json};
use tool::CallContext;
use toolbox::Options;

use crate::project::{TestProject, context};

fn lines(count: usize) -> String {
    (1..=count)
        .map(|number| format!("line {number} of the file\n"))
        .collect()
}

async fn seen(project: &TestProject, input: Value, context: CallContext) -> String {
    match project
        .call("read_file", input, context)
        .await
        .unwrap()
        .content
        .as_slice()
    {
        [Block::Text { text }] => text.clone(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn several_files_and_ranges_are_read_in_one_call() {
    let project = TestProject::with(&[("a", "one\ntwo\n"), ("b", "1\n2\n3\n"), ("c:1-2", "other name\n")]);
    let answer = "==> a <==\n1\tone\n2\ttwo\n[2 lines]\n\n==> b:2-3 <==\n2\t2\n3\t3\n[lines 2-3 of 3]\n\n\
                  ==> missing <==\n[missing does not exist]\n\n==> c:1-2 <==\n1\tother name\n[1 line]";
    let input = json!({"path": "a", "more": ["b:2-3", "missing", "c:1-2"]});
    assert_eq!(project.run("read_file", input.clone()).await, answer);
    let title = project.tools.get("read_file").unwrap().title(&input.clone().into());
    assert_eq!(title, "a, b:2-3, missing, c:1-2");
    assert_eq!(project.actions("read_file", input).len(), 4);
    let none = project.run("read_file", json!({"path": "x", "more": ["y"]})).await;
    assert!(none.starts_with("error: ==> x <==\n[x does not exist]"), "{none}");
}

#[tokio::test]
async fn arguments_of_other_agents_are_accepted() {
    let project = TestProject::with(&[("a", "1\n2\n3\n4\n"), ("b", "x\n")]);
    let two = "2\t2\n3\t3\n[lines 2-3 of 4]";
    for (name, input, answer) in [
        ("read_file", json!({"filePath": "a", "startLine": 2, "endLine": 3}), two),
        ("view", json!({"file_path": "a", "offset": 1, "limit": 2}), two),
        ("read", json!({"path": "a:2-3"}), two),
        (
            "read_file",
            json!({"files": [{"path": "a", "line_ranges": [[2, 3]]}]}),
            two,
        ),
        (
            "read_file",
            json!({"path": "a", "start_line": "2", "end_line": "3"}),
            two,
        ),
        ("Open", json!({"path": ["b"]}), "1\tx\n[1 line]"),
        ("read_many_files", json!({"paths": ["b"]}), "1\tx\n[1 line]"),
        (
            "read_file",
            json!({}),
            "error: invalid input for `read_file`: missing field `path`",
        ),
        (
            "read_file",
            json!({"path": ""}),
            "error: invalid input for `read_file`: missing field `path`",
        ),
    ] {
        assert_eq!(project.run(name, input.clone()).await, answer, "{name} {input}");
    }
}

#[tokio::test]
async fn content_in_the_context_is_not_sent_again() {
    let project = TestProject::with(&[("long", &lines(100)), ("short", "x\n")]);
    let read = |lines: Option<usize>| json!({"path": "long", "end_line": lines});
    let full = seen(&project, read(None), context()).await;
    let note = "[unchanged since you last read it: long]";
    assert_eq!(seen(&project, read(None), context()).await, note);
    assert_eq!(
        seen(&project, read(None), context()).await,
        full,
        "a repeated request returns the content again"
    );
    assert_eq!(seen(&project, read(None), context()).await, note);
    // Another range and a short file are sent again.
    assert!(seen(&project, read(Some(90)), context()).await.starts_with("1\t"));
    for _ in 0..3 {
        assert_eq!(
            seen(&project, json!({"path": "short"}), context()).await,
            "1\tx\n[1 line]"
        );
    }
    // After compaction or a rewind it may be out of the context; another session has never read it.
    seen(&project, read(None), context()).await;
    let later = CallContext { view: 1, ..context() };
    assert_eq!(seen(&project, read(None), later.clone()).await, full);
    assert_eq!(seen(&project, read(None), later).await, note);
    let other = CallContext {
        session: "other".into(),
        view: 1,
        ..context()
    };
    assert_eq!(seen(&project, read(None), other).await, full);
    // A changed file is sent again.
    let edit = json!({"path": "long", "old_text": "line 7 of", "new_text": "line seven of"});
    project.output("edit_file", edit).await;
    let now = seen(&project, read(None), CallContext { view: 1, ..context() }).await;
    assert!(now.contains("7\tline seven of"), "{now}");
}

#[tokio::test]
async fn several_long_files_share_the_size_limit() {
    let project = TestProject::with(&[]);
    let names: Vec<String> = (0..40).map(|number| format!("f{number}")).collect();
    for name in &names {
        project.put(name, lines(1_500));
    }
    let answer = project.run("read_file", json!({"paths": names})).await;
    assert!(answer.len() < 170_000, "{}", answer.len());
    assert!(
        answer.contains("[not read, the result is full: f"),
        "{}",
        &answer[answer.len() - 400..]
    );
}

#[tokio::test]
async fn a_long_source_file_is_outlined() {
    let code: String = (0..1_200)
        .map(|number| format!("pub fn number_{number}() -> usize {{\n    {number}\n}}\n\n"))
        .collect();
    let project = TestProject::with(&[("long.rs", &code), ("huge.txt", &lines(9_000))]);
    let outline = project.run("read_file", json!({"path": "long.rs"})).await;
    assert!(outline.starts_with("1-3\tpub fn number_0() -> usize"), "{outline}");
    assert!(outline.len() < 26_000, "{}", outline.len());
    assert!(
        outline.ends_with("read parts with start_line and end_line]") && outline.contains("[outline of 4800 lines"),
        "{}",
        &outline[outline.len() - 200..]
    );
    let part = project
        .run("read_file", json!({"path": "long.rs", "start_line": 5, "end_line": 6}))
        .await;
    assert_eq!(part, "5\tpub fn number_1() -> usize {\n6\t    1\n[lines 5-6 of 4800]");
    let first = project
        .run("read_file", json!({"path": "long.rs", "start_line": 1}))
        .await;
    assert!(first.starts_with("1\tpub fn number_0"), "a range shows lines: {first}");
    let text = project.run("read_file", json!({"path": "huge.txt"})).await;
    assert!(
        text.contains("continue with start_line"),
        "a file without an outline is read in parts"
    );
}

#[tokio::test]
async fn a_notebook_is_rendered_by_cell() {
    let project = TestProject::with(&[]);
    let picture = "iVBORw0KGgo=";
    let notebook = json!({
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {"cell_type": "code", "source": "print(1)", "outputs": [
                {"output_type": "stream", "text": ["\u{1b}[31mred\u{1b}[0m\n", "10%\r100%\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "x".repeat(5_000), "image/png": picture}},
                {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["line 1", "line 2"]},
            ]},
        ],
        "metadata": {"kernelspec": {"language": "python"}},
    });
    project.put("n.ipynb", notebook.to_string());
    project.put("broken.ipynb", "{");
    let text = project.run("read_file", json!({"path": "n.ipynb"})).await;
    for part in [
        "[cell 1: markdown]\n# Title\ntext\n",
        "[cell 2: python]\nprint(1)\n[output]\nred\n100%\n",
        "x\n[+3000 bytes]\n[output: image/png]\n",
        "ValueError: no\nline 1\nline 2\n",
        "[2 cells]",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut with_images = context();
    with_images.session = "with_images".into();
    with_images.features.images = true;
    let output = project
        .call("read_file", json!({"path": "n.ipynb"}), with_images)
        .await
        .unwrap();
    assert!(
        matches!(&output.content[1], Block::Media(media) if media.mime == "image/png"),
        "{output:?}"
    );
    let raw = project
        .run("read_file", json!({"path": "n.ipynb", "start_line": 1}))
        .await;
    assert!(
        raw.starts_with("1\t[cell 1") || raw.starts_with("1\t{\"cells\""),
        "{raw}"
    );
    assert_eq!(
        project.run("read_file", json!({"path": "broken.ipynb"})).await,
        "1\t{\n[1 line]"
    );
    let cells: Vec<Value> = (0..2_000)
        .map(|number| json!({"cell_type": "code", "source": format!("{number}{}", "y".repeat(100)), "outputs": []}))
        .collect();
    project.put("huge.ipynb", json!({"cells": cells}).to_string());
    let huge = project.run("read_file", json!({"path": "huge.ipynb"})).await;
    assert!(huge.len() < 70_000, "{}", huge.len());
    assert!(
        huge.contains(" of 2000; with start_line the file's own lines are shown]"),
        "{}",
        &huge[huge.len() - 200..]
    );
}

#[tokio::test]
async fn pdfs_are_sent_to_models_that_support_them() {
    let project = TestProject::with(&[("plain.pdf", "%PDF-1.4\nall of it is text\n")]);
    let result = project.run("read_file", json!({"path": "plain.pdf"})).await;
    assert!(
        result.starts_with("error: plain.pdf is a PDF, which this model cannot read"),
        "{result}"
    );
    let mut reading = context();
    reading.features.pdf = true;
    let output = project
        .call("read_file", json!({"path": "plain.pdf"}), reading.clone())
        .await
        .unwrap();
    assert!(
        matches!(output.content.as_slice(), [Block::Media(media)] if media.mime == "application/pdf" && media.name.as_deref() == Some("plain.pdf")),
        "{output:?}"
    );
    let large = fs::File::create(project.root.join("large.pdf")).unwrap();
    fs::write(project.root.join("large.pdf"), "%PDF-1.7\n").unwrap();
    large.set_len(20_000_000).unwrap();
    let error = project
        .call("read_file", json!({"path": "large.pdf"}), reading)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("more than the 16000000"), "{error}");
}

#[tokio::test]
async fn a_long_result_is_saved_to_a_readable_file() {
    let temp = tempfile::tempdir().unwrap();
    let options = Options {
        spill: Some(temp.path().join("answers")),
        external: vec![crate::tool_search::external_tool("flood", "Returns long output.")],
        ..Options::default()
    };
    let project = TestProject::with_options(&[], options);
    let result = project.run("flood", json!({"x": "word\n"})).await;
    assert!(result.len() < 50_000, "{}", result.len());
    let path = result.split(" is in ").nth(1).unwrap().split(']').next().unwrap();
    for tool in ["read_file", "list_directory"] {
        assert_eq!(project.actions(tool, json!({"path": path})), []);
    }
    assert_eq!(project.actions("grep", json!({"pattern": "w", "path": path})), []);
    let read = project
        .run("read_file", json!({"path": path, "start_line": 99_999}))
        .await;
    assert_eq!(read, "99999\tword\n100000\tword\n[lines 99999-100000 of 100000]");
    let outside = temp.path().join("other.txt");
    fs::write(&outside, "x").unwrap();
    assert_eq!(
        project
            .actions("read_file", json!({"path": outside.to_str().unwrap()}))
            .len(),
        1
    );
    assert_eq!(
        project
            .actions("write_file", json!({"path": path, "content": ""}))
            .len(),
        1
    );
}
