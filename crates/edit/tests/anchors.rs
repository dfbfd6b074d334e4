//! Edits at line anchors: exact lines, moved lines, and refusals with the current anchors.

use std::path::Path;
use std::sync::Arc;

use edit::{EditFormat, FileChange, LineNumberBasis, SeenVersions, line_anchor, plan_seen};
use serde_json::{Value, json};

const FILE: &str = "fn one() {\n    go(1);\n}\n\nfn two() {\n    go(2);\n}\n";

fn anchor(text: &str, line: usize) -> String {
    line_anchor(line as u64, text.lines().nth(line - 1).unwrap_or_default())
}

/// The file after the edits, or the refusal.
fn apply(current: &str, earlier: &[&str], edits: &Value) -> String {
    let lookup = |_: &Path| Some(current.to_owned());
    let seen = |_: &Path| SeenVersions {
        numbers: LineNumberBasis::Current,
        earlier: earlier.iter().map(|text| Arc::from(*text)).collect(),
    };
    let text = json!({"path": "a.rs", "edits": edits}).to_string();
    match plan_seen(&text, EditFormat::Anchors, None, &lookup, &seen) {
        Ok(plan) => match plan.files.as_slice() {
            [FileChange::Update { after, .. }] => after.clone(),
            other => format!("{other:?}"),
        },
        Err(refused) => refused.to_string(),
    }
}

#[test]
fn lines_are_replaced_inserted_and_deleted_at_their_anchors() {
    let at = |line| anchor(FILE, line);
    for (edits, expected) in [
        (
            json!([{"op": "replace", "anchor": at(2), "text": "    go(3);"}]),
            FILE.replace("go(1)", "go(3)"),
        ),
        (
            json!([{"anchor": at(2), "text": "    a();\n    b();\n"}]),
            FILE.replace("    go(1);", "    a();\n    b();"),
        ),
        (
            json!([{"op": "delete", "anchor": at(1), "end": at(4)}]),
            "fn two() {\n    go(2);\n}\n".to_owned(),
        ),
        (
            json!([{"op": "insert_before", "anchor": at(5), "text": "// two"}]),
            FILE.replace("fn two", "// two\nfn two"),
        ),
        (
            json!([{"op": "insert_after", "anchor": at(6), "text": ["    a();", "    b();"]}]),
            FILE.replace("go(2);", "go(2);\n    a();\n    b();"),
        ),
        (
            json!([{"insert_after": at(3), "text": "// end"}]),
            FILE.replacen("}\n", "}\n// end\n", 1),
        ),
        (
            json!([{"op": "replace", "anchor": at(5), "end": at(7), "text": "mod two;"}, {"op": "delete", "anchor": at(2)}]),
            "fn one() {\n}\n\nmod two;\n".to_owned(),
        ),
        // Copied prefixes.
        (
            json!([{"op": "replace", "anchor": at(1), "end": at(2), "text": format!("{}\tfn one() {{\n{}\t    go(9);", at(1), at(2))}]),
            FILE.replace("go(1)", "go(9)"),
        ),
        (
            json!([{"old_text": format!("{}\t    go(1);", at(2)), "new_text": format!("{}\t    go(9);", at(2))}]),
            FILE.replace("go(1)", "go(9)"),
        ),
        // Another format in the same text.
        (
            json!([{"old_text": "go(1)", "new_text": "go(9)"}]),
            FILE.replace("go(1)", "go(9)"),
        ),
    ] {
        assert_eq!(apply(FILE, &[], &edits), expected, "{edits}");
    }
}

#[test]
fn a_moved_line_is_found_through_the_history() {
    let moved = format!("// one\n// two\n{FILE}");
    let edits = json!([{"op": "replace", "anchor": anchor(FILE, 6), "text": "    go(9);"}]);
    assert_eq!(apply(&moved, &[FILE], &edits), moved.replace("go(2)", "go(9)"));
    // Without the history, or if the line itself has changed, it is refused.
    let refused = apply(&moved, &[], &edits);
    let current = format!(
        "\n{}\t}}\n{}\t\n{}\tfn two() {{\n",
        anchor(&moved, 5),
        anchor(&moved, 6),
        anchor(&moved, 7)
    );
    assert!(
        refused.contains(&current) && refused.ends_with("Nothing was changed."),
        "{refused}"
    );
    let changed = FILE.replace("go(2)", "go(4)");
    assert!(apply(&changed, &[FILE], &edits).contains("does not match the file"));
    // `}` is at this line in both versions, at different locations.
    let moved = FILE.replace("fn one() {\n", "fn one() {\n    a();\n    b();\n    c();\n    d();\n");
    let edits = json!([{"op": "replace", "anchor": anchor(FILE, 7), "text": "};"}]);
    assert_eq!(moved.lines().nth(6), Some("}"));
    assert!(apply(&moved, &[FILE], &edits).contains("does not match the file"));
}

#[test]
fn unusable_anchors_are_refused() {
    for (edits, part) in [
        (
            json!([{"op": "replace", "anchor": "2", "text": "x"}]),
            "an anchor has the form",
        ),
        (
            json!([{"op": "replace", "anchor": "2#zzz", "text": "x"}]),
            "does not match the file",
        ),
        (
            json!([{"op": "replace", "anchor": "99#abc", "text": "x"}]),
            "does not match the file",
        ),
        (json!([{"op": "replace", "anchor": anchor(FILE, 2)}]), "no `text`"),
        (
            json!([{"anchor": anchor(FILE, 6), "end": anchor(FILE, 2), "text": "x"}]),
            "above its start",
        ),
        (
            json!([{"anchor": anchor(FILE, 1), "end": "soon", "text": "x"}]),
            "`end` is not an anchor",
        ),
        (
            json!([{"anchor": anchor(FILE, 1), "end": anchor(FILE, 3), "text": "x"}, {"anchor": anchor(FILE, 2), "text": "y"}]),
            "edit 1 changes too",
        ),
        (
            json!([{"anchor": anchor(FILE, 1), "end": anchor(FILE, 7), "text": "fn one() {\n    // ... existing code ...\n}"}]),
            "leaves code out",
        ),
    ] {
        let refusal = apply(FILE, &[], &edits);
        assert!(refusal.contains(part), "{edits}: {refusal}");
    }
}
