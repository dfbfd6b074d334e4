//! A tool that does something more around another one, and is that one in all else.

use std::sync::Arc;

use futures::future::BoxFuture;
use model::ToolSpec;
use policy::Action;
use serde_json::Value;
use tool::{Context, DynTool, Effect, Error, Output, Preview, Registry};

/// What is done around a tool.
pub(crate) trait Wrap: Send + Sync + Sized + 'static {
    /// What the model reads of the tool.
    fn spec<'a>(&'a self, tool: &'a dyn DynTool) -> &'a ToolSpec {
        tool.spec()
    }

    /// Runs the tool, and does something more.
    fn run(around: Arc<Around<Self>>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>>;
}

/// A tool with something around it.
pub(crate) struct Around<W> {
    pub(crate) tool: Arc<dyn DynTool>,
    pub(crate) wrap: W,
}

/// Puts something around a tool.
pub(crate) fn around(tool: Arc<dyn DynTool>, wrap: impl Wrap) -> Arc<dyn DynTool> {
    Arc::new(Around { tool, wrap })
}

impl<W: Wrap> DynTool for Around<W> {
    fn spec(&self) -> &ToolSpec {
        self.wrap.spec(self.tool.as_ref())
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

    fn source(&self) -> Option<&str> {
        self.tool.source()
    }

    fn resolve(&self, input: &Value, tools: &Registry) -> Option<(Arc<dyn DynTool>, Value)> {
        self.tool.resolve(input, tools)
    }

    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>> {
        W::run(self, input, context)
    }
}
