//! Tests of the edit tools: which one is offered, and which calls are accepted.

use std::sync::Arc;

use serde_json::json;
use tool::Registry;
use toolbox::{EditFormatStats, EditModel, Options};

use crate::edit_instructions::Scripted;
use crate::project::TestProject;

fn names(tools: &Registry) -> Vec<&str> {
    tools.names().collect()
}

fn size(tools: &Registry) -> usize {
    serde_json::to_string(&tools.specs()).unwrap().len()
}

fn offered(model: Option<&str>) -> TestProject {
    TestProject::with_options(
        &[("f", "one\ntwo\n")],
        Options {
            model,
            edit_model: None,
            ..Options::default()
        },
    )
}

#[test]
fn each_model_family_is_offered_its_edit_tool() {
    for (model, edit_tool) in [
        (None, "edit_file"),
        (Some("anthropic/claude-sonnet-4-6"), "edit_file"),
        (Some("gemini/gemini-2.5-pro"), "edit_file"),
        (Some("openai/gpt-5.5"), "apply_patch"),
        (Some("o4-mini"), "apply_patch"),
        (Some("something/new"), "edit_file"),
    ] {
        let project = offered(model);
        let edits: Vec<&str> = names(&project.tools)
            .into_iter()
            .filter(|name| ["edit_file", "apply_patch", "insert"].contains(name))
            .collect();
        assert_eq!(edits, [edit_tool], "{model:?}");
    }
}

#[tokio::test]
async fn every_form_of_edit_call_is_accepted() {
    for model in [None, Some("gpt-5.5")] {
        let project = offered(model);
        project.read("f").await;
        let edit = json!({"path": "f", "old_text": "one", "new_text": "1"});
        assert_eq!(project.run("edit_file", edit).await, "edited f at line 1");
        let edits = json!({"path": "f", "edits": [{"old_text": "1", "new_text": "one"}]});
        assert_eq!(project.run("multi_edit", edits).await, "edited f at line 1");
        let patch = json!({"patch": "*** Begin Patch\n*** Update File: f\n@@\n one\n-two\n+2\n*** End Patch"});
        assert_eq!(project.run("apply_patch", patch).await, "edited f at line 1-2");
        let insert = json!({"path": "f", "line": 1, "text": "half"});
        assert_eq!(project.run("insert", insert).await, "edited f at line 2");
        assert_eq!(project.get("f"), "one\nhalf\n2\n");
        // A replacement without its old text is not an insertion.
        let half = json!({"path": "f", "line": 1, "new_text": "x"});
        let result = project.run("edit_file", half).await;
        assert!(result.starts_with("error: invalid input for"), "{result}");
    }
}

#[test]
fn the_tool_list_is_small() {
    let usual = offered(None);
    let patches = offered(Some("gpt-5.5"));
    let model = Arc::new(Scripted::new("m", []));
    let editor = EditModel {
        model,
        format_stats: EditFormatStats::default(),
    };
    let described = TestProject::with_options(
        &[],
        Options {
            model: None,
            edit_model: Some(editor),
            ..Default::default()
        },
    );
    let sizes = [size(&usual.tools), size(&patches.tools), size(&described.tools)];
    assert!(sizes[0] < 6_300, "{sizes:?}");
    assert!(sizes[1] < 6_100, "{sizes:?}");
    assert!(sizes[2] < sizes[0] + 180, "{sizes:?}");
    let specs = serde_json::to_string(&usual.tools.specs()).unwrap();
    assert!(!specs.contains("instructions"), "{specs}");
}

fn with_anchors(files: &[(&str, &str)]) -> TestProject {
    let edit_format = Some(edit::EditFormat::Anchors);
    TestProject::with_options(
        files,
        Options {
            edit_format,
            ..Options::default()
        },
    )
}

fn anchor(line: u64, text: &str) -> String {
    edit::line_anchor(line, text)
}

#[tokio::test]
async fn a_model_that_uses_anchors_reads_and_edits_with_them() {
    let project = with_anchors(&[("f", "one\ntwo\nthree\n")]);
    assert!(names(&project.tools).contains(&"edit_lines"));
    let (one, two, three) = (anchor(1, "one"), anchor(2, "two"), anchor(3, "three"));
    let read = project.run("read_file", json!({"path": "f"})).await;
    assert_eq!(read, format!("{one}\tone\n{two}\ttwo\n{three}\tthree\n[3 lines]"));
    let found = project.run("grep", json!({"pattern": "two"})).await;
    assert!(found.contains(&format!("{two}:two\n")), "{found}");
    let edits = json!({"path": "f", "edits": [{"op": "insert_after", "anchor": one, "text": "new\nlines"}]});
    let edited = project.run("edit_lines", edits).await;
    let expected = format!(
        "edited f at line 2\n{one}\tone\n{}\tnew\n{}\tlines\n{}\ttwo",
        anchor(2, "new"),
        anchor(3, "lines"),
        anchor(4, "two")
    );
    assert_eq!(edited, expected);
    // The line has moved; its old anchor is still good.
    let edits = json!({"path": "f", "op": "replace", "anchor": three, "text": "3"});
    assert!(project.run("edit_file", edits).await.starts_with("edited f at line 5"));
    let edits = json!({"path": "f", "edits": [{"op": "delete", "anchor": three}]});
    let refused = project.run("edit_lines", edits).await;
    assert!(refused.contains(&format!("{}\t3", anchor(5, "3"))), "{refused}");
    // Other formats still work, also with copied anchors.
    let edit = json!({"path": "f", "old_text": format!("{two}\ttwo"), "new_text": format!("{two}\t2")});
    assert!(project.run("edit_file", edit).await.starts_with("edited f at line 4"));
    let patch = json!({"patch": "*** Begin Patch\n*** Update File: f\n@@\n one\n-new\n+old\n*** End Patch"});
    assert_eq!(project.run("apply_patch", patch).await, "edited f at line 1-2");
    assert_eq!(project.get("f"), "one\nold\nlines\n2\n3\n");
}

#[tokio::test]
async fn a_line_number_from_before_an_edit_selects_the_line_that_it_meant() {
    let lines: Vec<String> = (1..=90)
        .map(|n| {
            if n % 30 == 0 {
                "same".into()
            } else {
                format!("line {n}")
            }
        })
        .collect();
    let text = lines.join("\n") + "\n";
    let project = TestProject::with_options(&[("f", &text)], Options::default());
    project.read("f").await;
    // Thirty new lines above: line 60 is now another copy.
    let added = json!({"path": "f", "old_text": "line 1\n", "new_text": "new\n".repeat(30) + "line 1\n"});
    assert!(project.run("edit_file", added).await.starts_with("edited"));
    let edit = |line: usize| json!({"path": "f", "old_text": "same", "new_text": "changed", "line": line});
    let refused = project.run("edit_file", edit(60)).await;
    assert!(refused.contains("matches 3 places, at lines 60, 90, 120"), "{refused}");
    // A number that is exact in one version only.
    let edited = project.run("edit_file", edit(30)).await;
    assert_eq!(edited, "edited f at line 60");
    project.read("f").await;
    let edited = project.run("edit_file", edit(91)).await;
    assert_eq!(edited, "edited f at line 90", "clearly the nearest after reading");
}
