//! Tests of previews of streaming calls.

use serde_json::{Value, json};
use session::{PreviewState, PreviewUpdate, TextOp};

use crate::project::TestProject;

const FILE: &str = "fn a() {\n    go(1);\n}\n\nfn b() {\n    go(2);\n}\n";

/// All preview updates of a call, with its input in chunks of `size` characters.
fn shown(project: &TestProject, tool: &str, input: &Value, size: usize) -> Vec<PreviewUpdate> {
    let mut preview = project.tools.get(tool).unwrap().preview().unwrap();
    let letters: Vec<char> = input.to_string().chars().collect();
    letters
        .chunks(size)
        .flat_map(|piece| preview.push(&piece.iter().collect::<String>()))
        .collect()
}

/// The combined updates of a change: file, first line, operations, end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    path: String,
    line: Option<usize>,
    ops: Vec<TextOp>,
    end: Vec<PreviewState>,
}

fn sum(updates: &[PreviewUpdate]) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    for glimpse in updates {
        while seen.len() < glimpse.edit {
            seen.push(Seen::default());
        }
        let own = &mut seen[glimpse.edit - 1];
        own.path = glimpse.path.as_deref().unwrap_or("?".as_ref()).display().to_string();
        match &glimpse.state {
            PreviewState::Resolving { first_line, .. } => own.line = Some(*first_line),
            PreviewState::Edited { first_line, ops } => {
                own.line = Some(*first_line);
                ops.iter().cloned().for_each(|op| push(&mut own.ops, op));
            }
            other => own.end.push(other.clone()),
        }
    }
    seen
}

/// Joins adjacent operations of the same kind.
fn push(ops: &mut Vec<TextOp>, op: TextOp) {
    match (ops.last_mut(), op) {
        (Some(TextOp::Keep(all)), TextOp::Keep(more)) | (Some(TextOp::Delete(all)), TextOp::Delete(more)) => {
            *all += more
        }
        (Some(TextOp::Insert(all)), TextOp::Insert(more)) => all.push_str(&more),
        (_, TextOp::Insert(text)) if text.is_empty() => {}
        (_, op) => ops.push(op),
    }
}

/// Checks the preview of a call for all chunk sizes.
fn check(project: &TestProject, tool: &str, input: &Value, expected: &[Seen]) {
    for size in [1, 2, 3, 7, 50, 100_000] {
        let updates = shown(project, tool, input, size);
        assert_eq!(sum(&updates), expected, "{tool} in pieces of {size}: {updates:#?}");
    }
}

fn seen(path: &str, line: usize, ops: &[TextOp]) -> Seen {
    Seen {
        path: path.into(),
        line: Some(line),
        ops: ops.to_vec(),
        end: vec![PreviewState::Finished],
    }
}

fn insert(text: &str) -> TextOp {
    TextOp::Insert(text.into())
}

#[test]
fn a_replacement_is_previewed_in_any_order_of_fields() {
    let project = TestProject::with(&[("a.rs", FILE)]);
    let ops = [
        TextOp::Keep(9),
        TextOp::Keep(7),
        TextOp::Delete(1),
        insert("3"),
        TextOp::Keep(3),
    ];
    let mut joined = Vec::new();
    ops.into_iter().for_each(|op| push(&mut joined, op));
    let expected = [seen("a.rs", 5, &joined)];
    let (old, new) = ("fn b() {\n    go(2);\n", "fn b() {\n    go(3);\n");
    for input in [
        json!({"path": "a.rs", "old_text": old, "new_text": new}),
        json!({"old_string": old, "new_string": new, "file_path": "a.rs"}),
        json!({"path": "a.rs", "edits": [{"old_text": old, "new_text": new}]}),
    ] {
        check(&project, "edit_file", &input, &expected);
    }
}

#[test]
fn the_preview_starts_before_the_input_is_complete() {
    let project = TestProject::with(&[("a.rs", FILE)]);
    let mut preview = project.tools.get("edit_file").unwrap().preview().unwrap();
    let half = r#"{"path": "a.rs", "old_text": "fn b() {\n    go(2);\n", "new_text": "fn b() {\n    run"#;
    let updates = preview.push(half);
    assert!(
        updates
            .iter()
            .any(|glimpse| matches!(glimpse.state, PreviewState::Edited { .. })),
        "{updates:?}"
    );
}

#[test]
fn several_replacements_are_numbered() {
    let project = TestProject::with(&[("f", "one\ntwo\nthree\n")]);
    let input = json!({"path": "f", "old_text": "one\n", "new_text": "1\n", "edits": [
        {"old_text": "two\n", "new_text": "2\n"},
        {"old_text": "four\n", "new_text": "4\n"},
    ]});
    let updates = shown(&project, "edit_file", &input, 4);
    let seen: Vec<(usize, Option<usize>)> = sum(&updates)
        .iter()
        .enumerate()
        .map(|(at, seen)| (at + 1, seen.line))
        .collect();
    assert_eq!(seen, [(1, Some(1)), (2, Some(2)), (3, None)]);
    assert!(
        updates
            .iter()
            .any(|glimpse| glimpse.edit == 3 && glimpse.state == PreviewState::Unresolved)
    );
}

#[test]
fn a_whole_file_is_diffed_with_the_old_content() {
    let project = TestProject::with(&[("f", "one\ntwo\n")]);
    let new = json!({"path": "new", "content": "a\nb\n"});
    check(&project, "write_file", &new, &[seen("new", 0, &[insert("a\nb\n")])]);
    let more = json!({"path": "f", "content": "one\ntwo\nthree\n"});
    check(
        &project,
        "write_file",
        &more,
        &[seen("f", 1, &[TextOp::Keep(8), insert("three\n")])],
    );
}

#[test]
fn each_line_of_a_patch_is_previewed_at_its_position() {
    let project = TestProject::with(&[("a.rs", FILE), ("old", "x\n")]);
    let text = [
        "*** Begin Patch",
        "*** Update File: a.rs",
        "@@",
        " fn b() {",
        "-    go(2);",
        "+    go(3);",
        "+    go(4);",
        " }",
        "@@",
        " fn a() {",
        "+    go(0);",
        "*** Add File: new.rs",
        "+fn c() {}",
        "+// ä",
        "*** Update File: a.rs",
        "@@",
        "-missing",
        "+x",
        "*** Delete File: old",
        "*** End Patch",
    ]
    .join("\n");
    let expected = [
        seen(
            "a.rs",
            5,
            &[
                TextOp::Keep(9),
                TextOp::Delete(11),
                insert("    go(3);\n    go(4);\n"),
                TextOp::Keep(2),
            ],
        ),
        seen("a.rs", 1, &[TextOp::Keep(9), insert("    go(0);\n")]),
        seen("new.rs", 0, &[insert("fn c() {}\n// ä\n")]),
        Seen {
            path: "a.rs".into(),
            end: vec![PreviewState::Unresolved, PreviewState::Finished],
            ..Seen::default()
        },
        Seen {
            path: "old".into(),
            end: vec![PreviewState::Finished],
            ..Seen::default()
        },
    ];
    for key in ["input", "patch", "patchText"] {
        check(&project, "apply_patch", &json!({ key: text }), &expected);
    }
    let blocks = "a.rs\n<<<<<<< SEARCH\nfn b() {\n=======\nfn c() {\n>>>>>>> REPLACE\n";
    let updates = shown(&project, "apply_patch", &json!({ "input": blocks }), 5);
    assert_eq!(sum(&updates)[0].line, Some(5), "{updates:?}");
}

#[test]
fn invalid_input_has_no_preview() {
    let project = TestProject::with(&[("f", FILE)]);
    for json in [
        "",
        "{",
        "[1]",
        "{\"path\": 3, \"content\": \"x\"}",
        "invalid",
        "{\"input\": \"*** ",
        "}}]]\"\\u12",
    ] {
        for tool in ["edit_file", "write_file", "apply_patch"] {
            let mut preview = project.tools.get(tool).unwrap().preview().unwrap();
            let shown: Vec<PreviewUpdate> = json
                .chars()
                .flat_map(|letter| preview.push(&letter.to_string()))
                .collect();
            assert_eq!(shown, [], "{json}");
        }
    }
    let mut preview = project.tools.get("edit_file").unwrap().preview().unwrap();
    for _ in 0..100 {
        assert_eq!(preview.push(&"x".repeat(10_000)), []);
    }
}
