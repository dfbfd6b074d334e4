//! Tells the model of other agents that work can be handed to, where the person has configured some.

use std::sync::Arc;

use futures::future::BoxFuture;
use model::ToolSpec;
use serde_json::Value;
use tool::{Context, DynTool, Error, Output};

use crate::around::{Around, Wrap, around};

/// What the model reads of a tool that hands work on, with the names of other agents in it.
struct WithAgents(ToolSpec);

/// The same tool, told with these agents.
pub(crate) fn with_agents(tool: Arc<dyn DynTool>, agents: &[String]) -> Arc<dyn DynTool> {
    let mut spec = tool.spec().clone();
    spec.description.push_str(&format!(
        " Other agents can do it too, named as `mode`: {}.",
        agents.join(", ")
    ));
    around(tool, WithAgents(spec))
}

impl Wrap for WithAgents {
    fn spec<'a>(&'a self, _tool: &'a dyn DynTool) -> &'a ToolSpec {
        &self.0
    }

    fn run(around: Arc<Around<Self>>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>> {
        Arc::clone(&around.tool).run(input, context)
    }
}
