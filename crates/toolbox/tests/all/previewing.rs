//! What is shown of a call while the model still writes it.

use serde_json::{Value, json};
use tool::{Glimpse, Op, Sight};

use crate::desk::Desk;

const FILE: &str = "fn a() {\n    go(1);\n}\n\nfn b() {\n    go(2);\n}\n";

/// Everything that is shown of a call whose input arrives in pieces of so many characters.
fn shown(desk: &Desk, tool: &str, input: &Value, size: usize) -> Vec<Glimpse> {
    let mut preview = desk.tools.get(tool).unwrap().preview().unwrap();
    let letters: Vec<char> = input.to_string().chars().collect();
    letters
        .chunks(size)
        .flat_map(|piece| preview.push(&piece.iter().collect::<String>()))
        .collect()
}

/// What all glimpses of a call come to: for each change its file, where it begins, what becomes of the text, and how it ended.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    path: String,
    line: Option<usize>,
    ops: Vec<Op>,
    end: Vec<Sight>,
}

fn sum(glimpses: &[Glimpse]) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    for glimpse in glimpses {
        while seen.len() < glimpse.edit {
            seen.push(Seen::default());
        }
        let own = &mut seen[glimpse.edit - 1];
        own.path = glimpse.path.as_deref().unwrap_or("?".as_ref()).display().to_string();
        match &glimpse.sight {
            Sight::Resolving { first_line, .. } => own.line = Some(*first_line),
            Sight::Edited { first_line, ops } => {
                own.line = Some(*first_line);
                ops.iter().cloned().for_each(|op| push(&mut own.ops, op));
            }
            other => own.end.push(other.clone()),
        }
    }
    seen
}

/// Joins operations of a kind, since the pieces decide where they are cut.
fn push(ops: &mut Vec<Op>, op: Op) {
    match (ops.last_mut(), op) {
        (Some(Op::Keep(all)), Op::Keep(more)) | (Some(Op::Delete(all)), Op::Delete(more)) => *all += more,
        (Some(Op::Insert(all)), Op::Insert(more)) => all.push_str(&more),
        (_, Op::Insert(text)) if text.is_empty() => {}
        (_, op) => ops.push(op),
    }
}

/// Checks what is seen of a call, and that the pieces in which it comes make no difference.
fn check(desk: &Desk, tool: &str, input: &Value, wanted: &[Seen]) {
    for size in [1, 2, 3, 7, 50, 100_000] {
        let glimpses = shown(desk, tool, input, size);
        assert_eq!(sum(&glimpses), wanted, "{tool} in pieces of {size}: {glimpses:#?}");
    }
}

fn seen(path: &str, line: usize, ops: &[Op]) -> Seen {
    Seen {
        path: path.into(),
        line: Some(line),
        ops: ops.to_vec(),
        end: vec![Sight::Finished],
    }
}

fn insert(text: &str) -> Op {
    Op::Insert(text.into())
}

#[test]
fn a_replacement_is_seen_growing_whatever_the_order_of_its_fields() {
    let desk = Desk::with(&[("a.rs", FILE)]);
    let ops = [Op::Keep(9), Op::Keep(7), Op::Delete(1), insert("3"), Op::Keep(3)];
    let mut joined = Vec::new();
    ops.into_iter().for_each(|op| push(&mut joined, op));
    let wanted = [seen("a.rs", 5, &joined)];
    let (old, new) = ("fn b() {\n    go(2);\n", "fn b() {\n    go(3);\n");
    for input in [
        json!({"path": "a.rs", "old_text": old, "new_text": new}),
        json!({"old_string": old, "new_string": new, "file_path": "a.rs"}),
        json!({"path": "a.rs", "edits": [{"old_text": old, "new_text": new}]}),
    ] {
        check(&desk, "edit_file", &input, &wanted);
    }
}

#[test]
fn the_first_glimpse_comes_long_before_the_input_is_complete() {
    let desk = Desk::with(&[("a.rs", FILE)]);
    let mut preview = desk.tools.get("edit_file").unwrap().preview().unwrap();
    let half = r#"{"path": "a.rs", "old_text": "fn b() {\n    go(2);\n", "new_text": "fn b() {\n    run"#;
    let glimpses = preview.push(half);
    assert!(
        glimpses
            .iter()
            .any(|glimpse| matches!(glimpse.sight, Sight::Edited { .. })),
        "{glimpses:?}"
    );
}

#[test]
fn further_replacements_are_counted_on() {
    let desk = Desk::with(&[("f", "one\ntwo\nthree\n")]);
    let input = json!({"path": "f", "old_text": "one\n", "new_text": "1\n", "edits": [
        {"old_text": "two\n", "new_text": "2\n"},
        {"old_text": "four\n", "new_text": "4\n"},
    ]});
    let glimpses = shown(&desk, "edit_file", &input, 4);
    let seen: Vec<(usize, Option<usize>)> = sum(&glimpses)
        .iter()
        .enumerate()
        .map(|(at, seen)| (at + 1, seen.line))
        .collect();
    assert_eq!(seen, [(1, Some(1)), (2, Some(2)), (3, None)]);
    assert!(
        glimpses
            .iter()
            .any(|glimpse| glimpse.edit == 3 && glimpse.sight == Sight::Unresolved)
    );
}

#[test]
fn a_whole_file_is_compared_with_what_was_there() {
    let desk = Desk::with(&[("f", "one\ntwo\n")]);
    let new = json!({"path": "new", "content": "a\nb\n"});
    check(&desk, "write_file", &new, &[seen("new", 0, &[insert("a\nb\n")])]);
    let more = json!({"path": "f", "content": "one\ntwo\nthree\n"});
    check(
        &desk,
        "write_file",
        &more,
        &[seen("f", 1, &[Op::Keep(8), insert("three\n")])],
    );
}

#[test]
fn each_line_of_a_patch_is_seen_in_its_place() {
    let desk = Desk::with(&[("a.rs", FILE), ("old", "x\n")]);
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
        "-nowhere",
        "+x",
        "*** Delete File: old",
        "*** End Patch",
    ]
    .join("\n");
    let wanted = [
        seen(
            "a.rs",
            5,
            &[
                Op::Keep(9),
                Op::Delete(11),
                insert("    go(3);\n    go(4);\n"),
                Op::Keep(2),
            ],
        ),
        seen("a.rs", 1, &[Op::Keep(9), insert("    go(0);\n")]),
        seen("new.rs", 0, &[insert("fn c() {}\n// ä\n")]),
        Seen {
            path: "a.rs".into(),
            end: vec![Sight::Unresolved, Sight::Finished],
            ..Seen::default()
        },
        Seen {
            path: "old".into(),
            end: vec![Sight::Finished],
            ..Seen::default()
        },
    ];
    for key in ["input", "patch", "patchText"] {
        check(&desk, "apply_patch", &json!({ key: text }), &wanted);
    }
    let blocks = "a.rs\n<<<<<<< SEARCH\nfn b() {\n=======\nfn c() {\n>>>>>>> REPLACE\n";
    let glimpses = shown(&desk, "apply_patch", &json!({ "input": blocks }), 5);
    assert_eq!(sum(&glimpses)[0].line, Some(5), "{glimpses:?}");
}

#[test]
fn bad_input_shows_nothing_and_breaks_nothing() {
    let desk = Desk::with(&[("f", FILE)]);
    for json in [
        "",
        "{",
        "[1]",
        "{\"path\": 3, \"content\": \"x\"}",
        "nonsense",
        "{\"input\": \"*** ",
        "}}]]\"\\u12",
    ] {
        for tool in ["edit_file", "write_file", "apply_patch"] {
            let mut preview = desk.tools.get(tool).unwrap().preview().unwrap();
            let shown: Vec<Glimpse> = json
                .chars()
                .flat_map(|letter| preview.push(&letter.to_string()))
                .collect();
            assert_eq!(shown, [], "{json}");
        }
    }
    let mut preview = desk.tools.get("edit_file").unwrap().preview().unwrap();
    for _ in 0..100 {
        assert_eq!(preview.push(&"x".repeat(10_000)), []);
    }
}
