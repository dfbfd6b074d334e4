//! Tests of find_tools and call_tool, and of the selection of tools by model and configuration.

use std::sync::Arc;

use futures::future::BoxFuture;
use model::ToolSpec;
use policy::Action;
use serde_json::{Value, json};
use tool::{CallContext, CallInput, CallPreview, DynTool, Error, Output, ToolEffect};
use toolbox::Options;

use crate::project::{TestProject, context};

/// A tool of another program.
struct ExternalTool(ToolSpec);

pub(crate) fn external_tool(name: &str, description: &str) -> Arc<dyn DynTool> {
    Arc::new(ExternalTool(ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema: json!({"type": "object", "properties": {"x": {"type": "string"}}}),
    }))
}

impl DynTool for ExternalTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn aliases(&self) -> &[&'static str] {
        &[]
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Mutating
    }

    fn title(&self, _: &CallInput) -> String {
        "foreign".into()
    }

    fn actions(&self, _: &CallInput) -> Result<Vec<Action>, Error> {
        Ok(vec![Action::Mcp {
            server: "s".into(),
            tool: self.0.name.clone(),
        }])
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        None
    }

    fn run(self: Arc<Self>, input: CallInput, _: CallContext) -> BoxFuture<'static, Result<Output, Error>> {
        let long = input["x"].as_str().unwrap_or_default().repeat(100_000);
        Box::pin(async move { Ok(Output::text(long)) })
    }
}

/// Runs a call like the agent does.
async fn run_call(project: &TestProject, name: &str, input: Value) -> String {
    let (tool, inner) = project.tools.resolve_call(name, &input).unwrap();
    match tool.run(inner.unwrap_or(input).into(), context()).await {
        Ok(output) => match output.content.as_slice() {
            [model::Block::Text { text }] => text.clone(),
            other => format!("{other:?}"),
        },
        Err(error) => format!("error: {error}"),
    }
}

fn listed(project: &TestProject) -> Vec<String> {
    project.tools.specs().iter().map(|spec| spec.name.clone()).collect()
}

#[tokio::test]
async fn a_tool_is_found_by_name_alias_or_keywords() {
    let project = TestProject::with(&[]);
    for (query, found) in [
        ("move_path", "move_path: "),
        ("rename a file", "move_path: "),
        ("delete", "delete_path: "),
        ("mkdir", "create_directory: "),
        ("folders", "create_directory: "),
    ] {
        let result = run_call(&project, "find_tools", json!({"query": query})).await;
        assert!(result.contains(found), "{query}: {result}");
        assert!(result.len() < 12_000);
    }
    let one = run_call(&project, "find_tools", json!({"query": "move_path"})).await;
    assert!(
        one.contains("input: {\"type\":\"object\",\"properties\":{\"source_path\""),
        "{one}"
    );
    assert!(!one.contains("delete_path: "), "{one}");
    let none = run_call(&project, "tool_search", json!({"query": "zzz"})).await;
    assert!(
        none.starts_with("No matching tool besides the listed ones. Available: ") && none.contains("delete_path"),
        "{none}"
    );
    let wrong = run_call(&project, "find_tools", json!({})).await;
    assert_eq!(wrong, "error: invalid input for `find_tools`: missing field `query`");
}

#[tokio::test]
async fn a_deferred_tool_is_callable_with_call_tool_and_by_name() {
    let project = TestProject::with(&[("a", "x")]);
    let call = json!({"name": "copy_path", "input": {"source_path": "a", "destination_path": "b"}});
    let (tool, inner) = project.tools.resolve_call("call_tool", &call).unwrap();
    let inner = inner.unwrap().into();
    assert_eq!(
        (tool.spec().name.as_str(), tool.effect()),
        ("copy_path", ToolEffect::Mutating)
    );
    assert_eq!(tool.title(&inner), "a to b");
    assert_eq!(tool.actions(&inner).unwrap().len(), 2);
    assert_eq!(run_call(&project, "call_tool", call).await, "copied a to b (1 file)");
    for input in [
        json!({"name": "cp", "input": "{\"from\": \"a\", \"to\": \"c\"}"}),
        json!({"tool_name": "copy_path", "arguments": {"from": "a", "to": "d"}}),
    ] {
        let result = run_call(&project, "call_tool", input).await;
        assert!(result.starts_with("copied a to "), "{result}");
    }
    assert_eq!(project.run("mkdir", json!({"path": "e"})).await, "created e");
    for (input, error) in [
        (
            json!({"name": "nothing", "input": {}}),
            "there is no tool named `nothing`; find_tools shows all",
        ),
        (json!({"input": {}}), "missing field `name`"),
        (json!({"name": "copy_path", "input": 5}), "input: it must be an object"),
        (
            json!({"name": "call_tool", "input": {"name": "open", "input": {}}}),
            "there is no tool named `call_tool`; find_tools shows all",
        ),
    ] {
        let result = run_call(&project, "call_tool", input).await;
        assert_eq!(result, format!("error: invalid input for `call_tool`: {error}"));
    }
    let result = run_call(&project, "call_tool", json!({"name": "copy_path"})).await;
    assert_eq!(
        result,
        "error: invalid input for `copy_path`: missing field `source_path`"
    );
}

#[tokio::test]
async fn external_tools_are_found_and_their_results_are_capped() {
    let further: Vec<Arc<dyn DynTool>> = (0..300)
        .map(|number| {
            external_tool(
                &format!("server_tool_{number:03}"),
                &"Does things with widgets. ".repeat(40),
            )
        })
        .collect();
    let options = Options {
        external: further,
        ..Options::default()
    };
    let mut project = TestProject::with_options(&[], options);
    let specs = project.tools.specs();
    let finder = specs.iter().find(|spec| spec.name == "find_tools").unwrap();
    assert!(finder.description.len() < 900, "{}", finder.description);
    assert!(finder.description.ends_with(" more."), "{}", finder.description);
    let result = run_call(&project, "find_tools", json!({"query": "widget"})).await;
    assert!(
        result.len() < 12_000 && result.contains(" more: server_tool_"),
        "{}",
        result.len()
    );
    let flood = json!({"name": "server_tool_007", "input": {"x": "y"}});
    let result = run_call(&project, "call_tool", flood).await;
    assert!(
        result.len() < 50_000 && result.contains("bytes cut]"),
        "{}",
        result.len()
    );
    // A tool that is added later is found as well, without a change of the tool list.
    project.tools.add_deferred(external_tool("added", "Added later."));
    let result = run_call(&project, "find_tools", json!({"query": "added"})).await;
    assert!(result.starts_with("added: Added later."), "{result}");
}

#[test]
fn model_profiles_and_configuration_select_the_tools() {
    let with = |options: Options<'_>| TestProject::with_options(&[], options);
    let usual = listed(&with(Options::default()));
    assert!(
        usual.contains(&"find_tools".into()) && !usual.contains(&"move_path".into()),
        "{usual:?}"
    );
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let chosen = with(Options {
        enabled: names(&["move_path", "mkdir"]),
        disabled: names(&["bash", "open", "no such tool"]),
        ..Options::default()
    });
    let all = listed(&chosen);
    assert!(
        all.contains(&"move_path".into()) && all.contains(&"create_directory".into()),
        "{all:?}"
    );
    assert!(chosen.tools.get("terminal").is_none() && chosen.tools.get("open").is_none());
    let small = with(Options {
        model: Some("ollama/gemma3:4b"),
        ..Options::default()
    });
    assert!(small.tools.get("find_tools").is_none() && small.tools.get("read_file").is_some());
    assert!(
        small.tools.get("move_path").is_some(),
        "an unlisted tool cannot be called"
    );
    let narrow = with(Options {
        window: Some(8_192),
        ..Options::default()
    });
    assert!(!listed(&narrow).contains(&"find_path".into()) && narrow.tools.get("find_path").is_some());
    let unknown = with(Options {
        window: Some(0),
        ..Options::default()
    });
    assert_eq!(listed(&unknown), usual);
}
