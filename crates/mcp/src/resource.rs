//! The tool that reads resources of servers.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, ToolSpec};
use policy::Action;
use serde_json::{Value, json};
use tool::{CallContext, CallInput, CallPreview, DynTool, Error, Output, ToolEffect};

use crate::content;
use crate::offer::ResourceOffer;
use crate::servers::WeakServers;

/// The name of the tool.
pub(crate) const NAME: &str = "access_mcp_resource";
/// Maximum bytes of a list.
const MAX_LIST_BYTES: usize = 16_000;

/// Reads resources of servers.
pub(crate) struct AccessResource {
    servers: WeakServers,
    spec: ToolSpec,
}

impl AccessResource {
    pub(crate) fn new(servers: &WeakServers) -> Self {
        AccessResource {
            servers: servers.clone(),
            spec: ToolSpec {
                name: NAME.into(),
                description: "Reads a resource of an MCP server. Without a uri, lists its resources.".into(),
                input_schema: json!({
                    "type": "object",
                    "properties": {"server_name": {"type": "string"}, "uri": {"type": "string"}},
                    "required": ["server_name"],
                }),
            },
        }
    }
}

struct Input {
    server: String,
    uri: Option<String>,
}

fn parse(input: &Value) -> Result<Input, Error> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(key)?.as_str().map(str::to_owned));
    match text(&["server_name", "server", "mcp_name"]) {
        Some(server) => Ok(Input {
            server,
            uri: text(&["uri"]).filter(|uri| !uri.is_empty()),
        }),
        None => Err(Error::Input {
            tool: NAME.into(),
            detail: "missing field `server_name`".into(),
        }),
    }
}

impl DynTool for AccessResource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        &["read_mcp_resource", "list_mcp_resources"]
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::ReadOnly
    }

    fn title(&self, input: &CallInput) -> String {
        match parse(input) {
            Ok(Input { server, uri: Some(uri) }) => format!("{server}: {uri}"),
            Ok(Input { server, uri: None }) => server,
            Err(_) => String::new(),
        }
    }

    fn actions(&self, input: &CallInput) -> Result<Vec<Action>, Error> {
        let input = parse(input)?;
        // Listing only uses cached data.
        Ok(input
            .uri
            .into_iter()
            .map(|_| Action::Mcp {
                server: input.server.clone(),
                tool: NAME.into(),
            })
            .collect())
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        None
    }

    fn run(self: Arc<Self>, input: CallInput, context: CallContext) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            let input = parse(&input)?;
            let server = self.servers.server(&input.server)?;
            match input.uri {
                Some(uri) => {
                    let read = server.read(&uri, &context).await?;
                    Ok(Output {
                        content: content::resource(read.contents, context.features),
                        ..Output::default()
                    })
                }
                None => {
                    let offer = server.snapshot().offer.unwrap_or_default();
                    Ok(list(&offer.resources, &offer.templates))
                }
            }
        }
        .boxed()
    }
}

fn list(resources: &[ResourceOffer], templates: &[ResourceOffer]) -> Output {
    let mut text = String::new();
    let all: Vec<&ResourceOffer> = resources.iter().chain(templates).collect();
    for (place, resource) in all.iter().enumerate() {
        if text.len() > MAX_LIST_BYTES {
            text.push_str(&format!("[{} more]\n", all.len() - place));
            break;
        }
        let about = resource.description.as_deref().unwrap_or(&resource.name);
        let mime = resource
            .mime
            .as_deref()
            .map(|mime| format!(" ({mime})"))
            .unwrap_or_default();
        text.push_str(&format!("{}{mime}: {about}\n", resource.uri));
    }
    if text.is_empty() {
        text = "The server has no resources.".into();
    }
    Output {
        content: vec![Block::text(text)],
        ..Output::default()
    }
}
