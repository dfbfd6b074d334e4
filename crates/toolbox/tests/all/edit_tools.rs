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
        let said = project.run("edit_file", half).await;
        assert!(said.starts_with("error: invalid input for"), "{said}");
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
    let told = serde_json::to_string(&usual.tools.specs()).unwrap();
    assert!(!told.contains("instructions"), "{told}");
}
