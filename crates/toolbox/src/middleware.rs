//! A tool wrapped in middleware.

pub(crate) mod checkpoint;
pub(crate) mod diagnostics;
pub(crate) mod dynamic_tools;
pub(crate) mod output_cap;

use std::sync::Arc;

use futures::future::BoxFuture;
use model::ToolSpec;
use policy::Action;
use serde_json::{Map, Value};
use tool::{CallContext, CallInput, CallPreview, DynTool, Error, Output, RebuiltTool, Registry, ToolEffect, ToolFacts};

/// Behaviour added to a tool.
pub(crate) trait Middleware: Send + Sync + Sized + 'static {
    /// The specification to show to the model.
    fn spec<'a>(&'a self, tool: &'a dyn DynTool) -> &'a ToolSpec {
        tool.spec()
    }

    /// The title of a call.
    fn title(&self, tool: &dyn DynTool, input: &CallInput) -> String {
        tool.title(input)
    }

    /// Runs a call of the wrapped tool.
    fn run(
        wrapped: Arc<WrappedTool<Self>>,
        input: CallInput,
        context: CallContext,
    ) -> BoxFuture<'static, Result<Output, Error>> {
        Arc::clone(&wrapped.tool).run(input, context)
    }
}

/// A tool wrapped in middleware.
pub(crate) struct WrappedTool<W> {
    pub(crate) tool: Arc<dyn DynTool>,
    pub(crate) middleware: W,
}

/// Wraps a tool.
pub(crate) fn wrap(tool: Arc<dyn DynTool>, middleware: impl Middleware) -> Arc<dyn DynTool> {
    Arc::new(WrappedTool { tool, middleware })
}

impl<W: Middleware> DynTool for WrappedTool<W> {
    fn spec(&self) -> &ToolSpec {
        self.middleware.spec(self.tool.as_ref())
    }

    fn aliases(&self) -> &[&'static str] {
        self.tool.aliases()
    }

    fn effect(&self) -> ToolEffect {
        self.tool.effect()
    }

    fn facts(&self) -> ToolFacts {
        self.tool.facts()
    }

    fn adapt(&self, called: &str, input: &mut Map<String, Value>) {
        self.tool.adapt(called, input);
    }

    fn answers_to(&self, folded: &str) -> bool {
        self.tool.answers_to(folded)
    }

    fn rebuilt_for(&self, tools: &Registry) -> RebuiltTool {
        match self.tool.rebuilt_for(tools) {
            RebuiltTool::Unchanged | RebuiltTool::Replaced(_) => RebuiltTool::Unchanged,
            RebuiltTool::Removed => RebuiltTool::Removed,
        }
    }

    fn is_forwarder(&self) -> bool {
        self.tool.is_forwarder()
    }

    fn title(&self, input: &CallInput) -> String {
        self.middleware.title(self.tool.as_ref(), input)
    }

    fn actions(&self, input: &CallInput) -> Result<Vec<Action>, Error> {
        self.tool.actions(input)
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        self.tool.preview()
    }

    fn source(&self) -> Option<&str> {
        self.tool.source()
    }

    fn resolve(&self, input: &Value, tools: &Registry) -> Option<(Arc<dyn DynTool>, Value)> {
        self.tool.resolve(input, tools)
    }

    fn check<'a>(&'a self, input: &'a CallInput) -> BoxFuture<'a, Result<(), Error>> {
        self.tool.check(input)
    }

    fn run(self: Arc<Self>, input: CallInput, context: CallContext) -> BoxFuture<'static, Result<Output, Error>> {
        W::run(self, input, context)
    }
}

/// Replaces the specification of a tool.
struct SpecOverride(ToolSpec);

impl Middleware for SpecOverride {
    fn spec<'a>(&'a self, _tool: &'a dyn DynTool) -> &'a ToolSpec {
        &self.0
    }
}

/// Appends a text to the description of a tool.
pub(crate) fn append_description(tool: Arc<dyn DynTool>, text: &str) -> Arc<dyn DynTool> {
    let mut spec = tool.spec().clone();
    spec.description.push_str(text);
    wrap(tool, SpecOverride(spec))
}
