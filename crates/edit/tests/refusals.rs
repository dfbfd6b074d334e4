//! The refusal messages for models: which edit, why, and the lines to correct it.

use std::path::Path;

use edit::{EditFormat, plan};
use serde_json::json;

const FILE: &str =
    "fn one() {\n    start(1);\n}\n\nfn two() {\n    start(2);\n    stop(2);\n}\n\nfn three() {\n    stop(2);\n}\n";

fn refusal(text: &str, format: EditFormat) -> String {
    let lookup = |path: &Path| (path == Path::new("a.rs")).then(|| FILE.to_owned());
    plan(text, format, Some(Path::new("a.rs")), &lookup)
        .map_or_else(|refused| refused.to_string(), |plan| format!("{plan:?}"))
}

fn check(edits: &[(&str, &str)], expected: &str) {
    let edits: Vec<_> = edits
        .iter()
        .map(|(old, new)| json!({"old_text": old, "new_text": new}))
        .collect();
    let text = json!({"path": "a.rs", "edits": edits}).to_string();
    assert_eq!(
        refusal(&text, EditFormat::Json),
        format!("{expected}\nNothing was changed.")
    );
}

#[test]
fn a_missing_text_is_reported_with_the_nearest_lines() {
    check(
        &[
            ("fn one() {\n    start(1);\n}", "fn uno() {\n    start(1);\n}"),
            ("fn two() {\n    begin(2);\n    stop(2);", "fn two() {"),
        ],
        "Edit 2 (a.rs): the old text is not in the file. The nearest lines in the file are:\n4 | \n5 | fn two() {\n6 |     start(2);\n7 |     \
         stop(2);\n8 | }",
    );
}

#[test]
fn ambiguous_locations_are_listed() {
    check(
        &[("    stop(2);", "    stop(3);")],
        "Edit 1 (a.rs): the old text matches 2 places, at lines 7, 11; quote more lines around it, or give its line number. \
         Next to these places, line 6 is `start(2);`, line 10 is `fn three() {`.",
    );
}

#[test]
fn an_already_applied_change_is_reported() {
    check(
        &[("    begin(1);", "    start(1);")],
        "Edit 1 (a.rs): the old text is not in the file, and the new text is already at line 2: the change seems to be applied already. The \
         nearest lines in the file are:\n1 | fn one() {\n2 |     start(1);\n3 | }",
    );
}

#[test]
fn all_failing_edits_are_reported_together() {
    check(
        &[
            ("missing entirely", "x"),
            ("fn two() {", "fn zwei() {"),
            ("fn two() {\n    start(2);", "fn deux() {\n    start(2);"),
            ("", "y"),
        ],
        "Edit 1 (a.rs): the old text is not in the file.\nEdit 3 (a.rs): the edit touches lines 5-6, which edit 2 changes too; make one edit of \
         the two.\nEdit 4 (a.rs): the old text is empty but the file is not; quote the lines to change.",
    );
}

#[test]
fn a_placeholder_is_quoted_in_the_refusal() {
    check(
        &[(
            "    start(2);\n    stop(2);",
            "    start(2);\n    // ... rest unchanged ...",
        )],
        "Edit 1 (a.rs): the new text leaves code out (`// ... rest unchanged ...`); write it in full or edit only the lines that change. \
         The nearest lines in the file are:\n5 | fn two() {\n6 |     start(2);\n7 |     stop(2);\n8 | }",
    );
}

#[test]
fn broken_text_is_located() {
    for (text, format, expected) in [
        (
            "<<<<<<< SEARCH\nfn one() {\n>>>>>>> REPLACE\n",
            EditFormat::SearchReplace,
            "Edit 1: line 3 of the edit text: `>>>>>>> REPLACE` before any `=======`.",
        ),
        (
            "*** Begin Patch\n*** Update File: a.rs\n*** End Patch\n",
            EditFormat::ApplyPatch,
            "Edit 1: line 2 of the edit text: the update changes nothing: it has no `+` or `-` line.",
        ),
        (
            r#"{"path": "a.rs", "edits": [{"old_text": "x"}]}"#,
            EditFormat::Json,
            "Edit 1: line 1 of the edit text: `old_text` is given but `new_text` is missing.",
        ),
        (
            "just prose",
            EditFormat::Auto,
            "the format of the edit text is not recognised.",
        ),
        (
            "*** Begin Patch\n*** End Patch\n",
            EditFormat::ApplyPatch,
            "the text contains no edit.",
        ),
        (
            "*** Begin Patch\n*** Update File: b.rs\n@@\n-x\n+y\n*** End Patch\n",
            EditFormat::ApplyPatch,
            "Edit 1 (b.rs): the file does not exist.",
        ),
        (
            "*** Begin Patch\n*** Update File: a.rs\n@@ fn four() {\n-    stop(2);\n+    stop(3);\n*** End Patch\n",
            EditFormat::ApplyPatch,
            "Edit 1 (a.rs): the `@@` header `fn four() {` is not a line of the file. The nearest lines in the file are:\n1 | fn one() {\n2 |     start(1);",
        ),
    ] {
        let refusal = refusal(text, format);
        assert_eq!(refusal, format!("{expected}\nNothing was changed."));
    }
}
