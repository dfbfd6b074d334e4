//! Tells the model of other agents that work can be handed to, where the person has configured some.

use std::sync::Arc;

use futures::future::BoxFuture;
use model::ToolSpec;
use policy::Action;
use serde_json::Value;
use tool::{Context, DynTool, Effect, Error, Output, Preview};

/// A tool that hands work on, with the names of other agents in what the model reads of it.
struct WithAgents {
    tool: Arc<dyn DynTool>,
    spec: ToolSpec,
}

/// The same tool, told with these agents.
pub(crate) fn with_agents(tool: Arc<dyn DynTool>, agents: &[String]) -> Arc<dyn DynTool> {
    let mut spec = tool.spec().clone();
    spec.description.push_str(&format!(
        " Other agents can do it too, named as `mode`: {}.",
        agents.join(", ")
    ));
    Arc::new(WithAgents { tool, spec })
}

impl DynTool for WithAgents {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        self.tool.aliases()
    }

    fn effect(&self) -> Effect {
        self.tool.effect()
    }

    fn title(&self, input: &Value) -> String {
        self.tool.title(input)
    }

    fn actions(&self, input: &Value) -> Result<Vec<Action>, Error> {
        self.tool.actions(input)
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        self.tool.preview()
    }

    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>> {
        Arc::clone(&self.tool).run(input, context)
    }
}
