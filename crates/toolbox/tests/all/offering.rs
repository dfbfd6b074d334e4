//! Which tools a model is told of, and which calls are served.

use std::sync::Arc;

use serde_json::json;
use tool::Registry;
use toolbox::{Editor, Learned, Options};

use crate::describing::Scripted;
use crate::desk::Desk;

fn names(tools: &Registry) -> Vec<&str> {
    tools.names().collect()
}

fn size(tools: &Registry) -> usize {
    serde_json::to_string(&tools.specs()).unwrap().len()
}

fn offered(model: Option<&str>) -> Desk {
    Desk::fitted(
        &[("f", "one\ntwo\n")],
        Options {
            model,
            editor: None,
            ..Options::default()
        },
    )
}

#[test]
fn a_model_is_offered_the_edit_tool_that_its_family_writes_best() {
    for (model, edit_tool) in [
        (None, "edit_file"),
        (Some("anthropic/claude-sonnet-4-6"), "edit_file"),
        (Some("gemini/gemini-2.5-pro"), "edit_file"),
        (Some("openai/gpt-5.5"), "apply_patch"),
        (Some("o4-mini"), "apply_patch"),
        (Some("something/new"), "edit_file"),
    ] {
        let desk = offered(model);
        let edits: Vec<&str> = names(&desk.tools)
            .into_iter()
            .filter(|name| ["edit_file", "apply_patch", "insert"].contains(name))
            .collect();
        assert_eq!(edits, [edit_tool], "{model:?}");
    }
}

#[tokio::test]
async fn every_edit_tool_is_served_whichever_is_offered() {
    for model in [None, Some("gpt-5.5")] {
        let desk = offered(model);
        desk.read("f").await;
        let edit = json!({"path": "f", "old_text": "one", "new_text": "1"});
        assert_eq!(desk.run("edit_file", edit).await, "edited f at line 1");
        let edits = json!({"path": "f", "edits": [{"old_text": "1", "new_text": "one"}]});
        assert_eq!(desk.run("multi_edit", edits).await, "edited f at line 1");
        let patch = json!({"patch": "*** Begin Patch\n*** Update File: f\n@@\n one\n-two\n+2\n*** End Patch"});
        assert_eq!(desk.run("apply_patch", patch).await, "edited f at line 1-2");
        let insert = json!({"path": "f", "line": 1, "text": "half"});
        assert_eq!(desk.run("insert", insert).await, "edited f at line 2");
        assert_eq!(desk.get("f"), "one\nhalf\n2\n");
        // A replacement without its old text is not taken for an insertion.
        let half = json!({"path": "f", "line": 1, "new_text": "x"});
        let said = desk.run("edit_file", half).await;
        assert!(said.starts_with("error: invalid input for"), "{said}");
    }
}

#[test]
fn the_catalogue_stays_small() {
    let usual = offered(None);
    let patches = offered(Some("gpt-5.5"));
    let model = Arc::new(Scripted::new("m", []));
    let editor = Editor {
        model,
        learned: Learned::default(),
    };
    let described = Desk::fitted(
        &[],
        Options {
            model: None,
            editor: Some(editor),
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
