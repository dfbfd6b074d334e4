//! Calls a tool that is served but not listed. The list of tools stays as it is, and with it what the provider has cached.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::ToolSpec;
use policy::Action;
use serde_json::{Map, Value, json};
use tool::{Context, DynTool, Effect, Error, Output, Preview, Registry};

use crate::find_tools;

/// What the model calls it.
pub(crate) const NAME: &str = "call_tool";

/// Passes a call on. Whoever serves calls asks for the tool that is meant; what remains here is to say what is wrong.
pub(crate) struct CallTool {
    spec: ToolSpec,
}

impl CallTool {
    pub(crate) fn new() -> Self {
        CallTool {
            spec: ToolSpec {
                name: NAME.into(),
                description: format!("Calls a tool that {} has shown.", find_tools::NAME),
                input_schema: json!({
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "input": {"type": "object"}},
                    "required": ["name", "input"],
                }),
            },
        }
    }
}

impl DynTool for CallTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        &["use_tool"]
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    fn title(&self, input: &Value) -> String {
        name(input).unwrap_or_default().to_owned()
    }

    fn actions(&self, input: &Value) -> Result<Vec<Action>, Error> {
        Err(refusal(input))
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        None
    }

    fn resolve(&self, input: &Value, tools: &Registry) -> Option<(Arc<dyn DynTool>, Value)> {
        let tool = tools.find(name(input)?)?;
        if tool.spec().name == NAME {
            return None;
        }
        let inner = inner(input)?;
        // The tool that is meant may pass the call on itself.
        let further = tool.resolve(&inner, tools);
        Some(further.unwrap_or((tool, inner)))
    }

    fn run(self: Arc<Self>, input: Value, _: Context) -> BoxFuture<'static, Result<Output, Error>> {
        async move { Err(refusal(&input)) }.boxed()
    }
}

fn name(input: &Value) -> Option<&str> {
    ["name", "tool", "tool_name"]
        .iter()
        .find_map(|key| input.get(key)?.as_str())
}

/// The input of the call that is passed on, also where it was written as text or left out.
fn inner(input: &Value) -> Option<Value> {
    let given = ["input", "arguments", "args", "parameters"]
        .iter()
        .find_map(|key| input.get(key));
    match given {
        Some(Value::Object(fields)) => Some(Value::Object(fields.clone())),
        Some(Value::String(text)) => serde_json::from_str(text).ok().filter(Value::is_object),
        Some(Value::Null) | None => Some(Value::Object(Map::new())),
        Some(_) => None,
    }
}

fn refusal(input: &Value) -> Error {
    let detail = match (name(input), inner(input)) {
        (None, _) => "missing field `name`".to_owned(),
        (Some(_), None) => "input: it must be an object".to_owned(),
        (Some(name), Some(_)) => format!("there is no tool named `{name}`; {} shows all", find_tools::NAME),
    };
    Error::Input {
        tool: NAME.into(),
        detail,
    }
}
