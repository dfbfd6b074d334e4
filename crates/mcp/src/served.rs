//! A tool of a server, as the model calls it.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, ToolSpec};
use policy::Action;
use serde_json::{Map, Value};
use tool::{Context, DynTool, Effect, Error, Output, Preview};

use crate::content;
use crate::definition::{Definition, Hints};
use crate::offer::ToolOffer;
use crate::servers::Known;

/// Bytes of a call's title.
const MOST_TITLE: usize = 120;

/// A tool of a server.
pub(crate) struct Served {
    servers: Known,
    server: String,
    tool: String,
    spec: ToolSpec,
    effect: Effect,
}

impl Served {
    pub(crate) fn new(servers: &Known, definition: &Definition, offer: &ToolOffer, name: &str) -> Self {
        Served {
            servers: servers.clone(),
            server: definition.name.clone(),
            tool: offer.name.clone(),
            spec: ToolSpec {
                name: name.to_owned(),
                description: offer.description.clone(),
                input_schema: offer.input_schema.clone(),
            },
            effect: match definition.hints {
                Hints::Trusted if offer.read_only => Effect::Reads,
                Hints::Trusted | Hints::Ignored => Effect::Changes,
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

impl DynTool for Served {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        &[]
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn title(&self, input: &Value) -> String {
        let said = match input.as_object().map(Map::is_empty) {
            Some(true) | None => String::new(),
            Some(false) => format!(" {input}"),
        };
        let mut title = format!("{}: {}{said}", self.server, self.tool);
        if title.len() > MOST_TITLE {
            title.truncate(title.floor_char_boundary(MOST_TITLE));
            title.push('…');
        }
        title
    }

    fn actions(&self, input: &Value) -> Result<Vec<Action>, Error> {
        self.arguments(input)?;
        Ok(vec![Action::Mcp {
            server: self.server.clone(),
            tool: self.tool.clone(),
        }])
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        None
    }

    fn source(&self) -> Option<&str> {
        Some(&self.server)
    }

    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            let arguments = self.arguments(&input)?;
            let server = self.servers.server(&self.server)?;
            let result = server.call(&self.tool, arguments, &context).await?;
            let output = content::output(result, context.features);
            match (output, server.instructions(&context.session)) {
                (Ok(mut output), Some(how)) => {
                    let how = format!("[How `{}` wants to be used: {how}]", self.server);
                    output.content.push(Block::text(how));
                    Ok(output)
                }
                (output, _) => output,
            }
        }
        .boxed()
    }
}
