//! A tool of a server.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, ToolSpec};
use policy::Action;
use serde_json::{Map, Value};
use tool::{CallContext, CallInput, CallPreview, DynTool, Error, Output, ToolEffect, fold_letters};

use crate::content;
use crate::definition::{McpDefinition, ReadOnlyHints};
use crate::offer::ToolOffer;
use crate::servers::WeakServers;

/// Maximum bytes of a call's title.
const MAX_TITLE: usize = 120;

/// A tool of a server.
pub(crate) struct McpTool {
    servers: WeakServers,
    server: String,
    tool: String,
    spec: ToolSpec,
    effect: ToolEffect,
}

impl McpTool {
    pub(crate) fn new(servers: &WeakServers, definition: &McpDefinition, offer: &ToolOffer, name: &str) -> Self {
        McpTool {
            servers: servers.clone(),
            server: definition.name.clone(),
            tool: offer.name.clone(),
            spec: ToolSpec {
                name: name.to_owned(),
                description: offer.description.clone(),
                input_schema: offer.input_schema.clone(),
            },
            effect: match definition.hints {
                ReadOnlyHints::Trusted if offer.read_only => ToolEffect::ReadOnly,
                ReadOnlyHints::Trusted | ReadOnlyHints::Ignored => ToolEffect::Mutating,
            },
        }
    }

    fn arguments(&self, input: &Value) -> Result<Map<String, Value>, Error> {
        match input {
            Value::Object(arguments) => Ok(arguments.clone()),
            Value::Null => Ok(Map::new()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Err(Error::Input {
                tool: self.spec.name.clone(),
                detail: "it must be an object".into(),
            }),
        }
    }
}

impl DynTool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        &[]
    }

    /// Claude Code writes `mcp__server__tool`, others `mcp_server_tool`, `mcp--server--tool` or `server.tool`.
    fn answers_to(&self, folded: &str) -> bool {
        let own = format!("{}{}", fold_letters(&self.server), fold_letters(&self.tool));
        folded.strip_prefix("mcp").unwrap_or(folded) == own || folded == own
    }

    fn effect(&self) -> ToolEffect {
        self.effect
    }

    fn title(&self, input: &CallInput) -> String {
        let arguments = match input.as_object().map(Map::is_empty) {
            Some(true) | None => String::new(),
            Some(false) => format!(" {}", **input),
        };
        let mut title = format!("{}: {}{arguments}", self.server, self.tool);
        if title.len() > MAX_TITLE {
            title.truncate(title.floor_char_boundary(MAX_TITLE));
            title.push('…');
        }
        title
    }

    fn actions(&self, input: &CallInput) -> Result<Vec<Action>, Error> {
        self.arguments(input)?;
        Ok(vec![Action::Mcp {
            server: self.server.clone(),
            tool: self.tool.clone(),
        }])
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        None
    }

    fn source(&self) -> Option<&str> {
        Some(&self.server)
    }

    fn run(self: Arc<Self>, input: CallInput, context: CallContext) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            let arguments = self.arguments(&input)?;
            let server = self.servers.server(&self.server)?;
            let result = server.call(&self.tool, arguments, &context).await?;
            let output = content::tool_output(result, context.features);
            match (output, server.instructions(&context.session)) {
                (Ok(mut output), Some(how)) => {
                    let how = format!("[Usage instructions of `{}`: {how}]", self.server);
                    output.content.push(Block::text(how));
                    Ok(output)
                }
                (output, _) => output,
            }
        }
        .boxed()
    }
}
